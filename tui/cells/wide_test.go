package cells

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// A letter may be wider than the narrowest column: it is set, and nothing of a text is lost or waited for.
func TestWideLettersInNarrowColumns(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"漢", "漢字 漢字漢字", "a漢b字c", "✅", "👩‍👩‍👧‍👦x", "ab ✅cd"} {
		for width := range 6 {
			lines := wrapped(s, width)
			if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(s, " ", "") {
				t.Errorf("%q in %d columns is %q", s, width, lines)
			}
			for _, l := range lines {
				if w := lipgloss.Width(l); w > max(2, width) {
					t.Errorf("%q in %d columns has %q", s, width, l)
				}
			}
		}
		if w := inLines(s, 3); w < 1 {
			t.Errorf("%q takes %d columns", s, w)
		}
	}
	for width := 1; width < 80; width++ {
		d := Drawer{Styles: theme.New(true, colorprofile.NoTTY), Width: width}
		drawn := d.Table(steps.Table{
			Title:   "What each has",
			Columns: []steps.Column{{Name: "what it is that one of them has"}, {Name: "✅"}, {Name: "漢"}},
			Rows:    [][]string{{"a feature with a name of many words", "✅", "漢字"}, {"another", "", "漢"}},
		})
		text := strings.Join(drawn, "\n")
		for _, letter := range []string{"✅", "漢", "字"} {
			if width > 3 && !strings.Contains(text, letter) {
				t.Errorf("in %d columns %s is lost:\n%s", width, letter, text)
			}
		}
	}
}
