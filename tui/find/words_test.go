package find

import (
	"slices"
	"strings"
	"testing"
)

// TestWords compares with what a plain look at each place finds.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		words, text string
		want        []int
	}{
		{"a", "aAa", []int{0, 1, 2}},
		{"A", "aAa", []int{1}},
		{"aa", "aaaaa", []int{0, 2}},
		{"ä", "Ää", []int{0, 2}},
		{"Ä", "Ää", []int{0}},
		{"x.y", "x.y xzy", []int{0}},
		{"(ü", "a(Ü", []int{1}},
		{"漢", "字漢", []int{3}},
		{"", "abc", nil},
		{"i", "İI", []int{2}},
	} {
		n := New(c.words)
		var got []int
		n.In(c.text, func(from, to int) bool {
			if !strings.EqualFold(c.text[from:to], c.words) {
				t.Errorf("%q in %q: found %q", c.words, c.text, c.text[from:to])
			}
			got = append(got, from)
			return true
		})
		if !slices.Equal(got, c.want) || n.Count(c.text) != len(c.want) {
			t.Errorf("%q in %q at %v, not %v", c.words, c.text, got, c.want)
		}
	}
}
