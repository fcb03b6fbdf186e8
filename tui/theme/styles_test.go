package theme

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

var pieces = []string{
	"rail", "a", "verylongtokenwithoutanyblank0123456789012345678901234567890123456789",
	"漢字かな", "👩‍👩‍👧‍👦", "e\u0301", "\n", "  ", "-", "--peer", "`x`",
}

func TestWrapKeepsEveryWordAndTheWidth(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	k := New(true, colorprofile.TrueColor)
	styles := []Style{{}, k.Code, k.Em}
	for range 5000 {
		styled, text := "", ""
		for range r.IntN(12) {
			s := pieces[r.IntN(len(pieces))]
			if r.IntN(2) == 0 && s != "\n" {
				s += " "
			}
			styled += styles[r.IntN(len(styles))].Render(s)
			text += s
		}
		width := 4 + r.IntN(60)
		lines := Wrap(styled, width, "  ", " ")
		for _, l := range lines {
			if w := ansi.StringWidth(l); w > width {
				t.Fatalf("%q: %d columns of %d", l, w, width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := ansi.Strip(strings.Join(lines, "")); squeeze(got) != squeeze(text) {
			t.Fatalf("%q became %q", text, got)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":             "plain",
		"a\tb":              "a       b",
		"漢\tb":              "漢      b",
		"\x1b[31mred":       "\uFFFD[31mred",
		"bell\a\r\x00\x7f":  "bell\uFFFD\uFFFD\uFFFD\uFFFD",
		"c1 \u009b0m":       "c1 \uFFFD0m",
		"\xff":              "\uFFFD",
		"rtl \u202e gnirts": "rtl \uFFFD gnirts",
		"line\u2028end":     "line\uFFFDend",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q became %q, not %q", in, got, want)
		}
	}
}

func TestWidths(t *testing.T) {
	for _, s := range []string{
		"", "plain", "漢字かな",
		New(true, colorprofile.TrueColor).Code.Render("styled text"), "👩‍👩‍👧‍👦 family",
	} {
		for w := range 20 {
			if got := ansi.StringWidth(Pad(s, w)); got != w {
				t.Errorf("Pad(%q, %d) is %d wide", s, w, got)
			}
			if got := ansi.StringWidth(Sides(s, s, w)); got != w {
				t.Errorf("Sides(%q, %d) is %d wide", s, w, got)
			}
		}
	}
}

func TestFoldBreaksAtABlank(t *testing.T) {
	got := Fold(`ib_write_bw -d "$RAIL1_DEV" -x "$RAIL1_GID"`, 30)
	want := []string{`ib_write_bw -d "$RAIL1_DEV" -x`, `    "$RAIL1_GID"`}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	for _, l := range Fold(strings.Repeat("x", 300)+" y", 20) {
		if len(l) > 20 {
			t.Errorf("%q is too long", l)
		}
	}
	if got := Fold("an option: \u2011x", 12); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"/logs/1/036-a.log", 20, "/logs/1/036-a.log"},
		{"/logs/1/036-a.log", 10, "…036-a.log"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"漢字かな", 5, "…かな"},
	} {
		if got := Tail(c.in, c.width); got != c.want || ansi.StringWidth(got) > max(0, c.width) {
			t.Errorf("%q in %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}
