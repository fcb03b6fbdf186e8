package theme

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

var red = steps.Style{Fg: runner.Indexed(1)}

func TestPaint(t *testing.T) {
	spans := []steps.Span{{At: 0, Style: red}, {At: 3}}
	for _, c := range []struct {
		name          string
		p             Print
		column, width int
		want          string
	}{
		{"plain", Print{Text: "plain"}, 0, 9, "plain"},
		{"to the brim", Print{Text: "plain"}, 0, 5, "plain"},
		{"cut", Print{Text: "plain"}, 0, 4, "pla…"},
		{"one column", Print{Text: "plain"}, 0, 1, "…"},
		{"none", Print{Text: "plain"}, 0, 0, ""},
		{"from the right", Print{Text: "plain"}, 2, 9, "ain"},
		{"behind its end", Print{Text: "plain"}, 9, 9, ""},
		{"wide", Print{Text: "漢字かな"}, 0, 8, "漢字かな"},
		{"wide and cut", Print{Text: "漢字かな"}, 0, 7, "漢字か…"},
		{"wide and cut in the middle of one", Print{Text: "漢字かな"}, 0, 6, "漢字 …"},
		{"from within a wide one", Print{Text: "漢字かな"}, 1, 9, " 字かな"},
		{"from within a tab", Print{Text: "a\tb"}, 5, 9, "   b"},
		{"coloured", Print{Text: "red plain", Spans: spans}, 0, 20, "\x1b[31mred\x1b[m plain"},
		{"coloured to its end", Print{Text: "red", Spans: spans[:1]}, 0, 20, "\x1b[31mred\x1b[m"},
		{"coloured and cut", Print{Text: "red plain", Spans: spans[:1]}, 0, 4, "\x1b[31mred\x1b[m…"},
		{"coloured left of the window", Print{Text: "red plain", Spans: spans[:1]}, 4, 20, "\x1b[31mplain\x1b[m"},
		{"no longer coloured", Print{Text: "red plain", Spans: spans}, 4, 20, "plain"},
		{
			"wide and coloured",
			Print{Text: "漢字かな", Spans: []steps.Span{{At: 3, Style: red}}},
			1, 5, " \x1b[31m字\x1b[m …",
		},
		{"escape sequences that are there nevertheless", Print{Text: "\x1b[31mx\u202e"}, 0, 20, "\uFFFD[31mx\uFFFD"},
		{
			"all of it",
			Print{
				Text: "x",
				Spans: []steps.Span{{Style: steps.Style{
					Fg: runner.RGB(1, 2, 3), Bg: runner.Indexed(208),
					Attr: steps.Bold | steps.Faint | steps.Italic | steps.Underline,
				}}},
			},
			0, 9,
			"\x1b[1;2;3;4;38;2;1;2;3;48;5;208mx\x1b[m",
		},
		{
			"written so that it can't be read",
			Print{Text: "x", Spans: []steps.Span{{Style: steps.Style{Fg: runner.Indexed(1), Bg: runner.Indexed(1)}}}},
			0, 9, "\x1b[31mx\x1b[m",
		},
		{
			"stderr",
			Print{
				Text: "xy", Base: NewStyle(lipgloss.NewStyle().Foreground(lipgloss.Red)),
				Spans: []steps.Span{{At: 1, Style: steps.Style{Attr: steps.Bold}}},
			},
			0, 9,
			"\x1b[31mx\x1b[m\x1b[1;31my\x1b[m",
		},
	} {
		if got := New(true, colorprofile.TrueColor).Paint(c.p, c.column, c.width); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A tool's colours are those that the terminal has, or none.
func TestPaintKnowsTheTerminal(t *testing.T) {
	p := Print{Text: "x", Spans: []steps.Span{{Style: steps.Style{Fg: runner.RGB(250, 10, 10), Attr: steps.Bold}}}}
	for profile, want := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: "\x1b[1;38;2;250;10;10mx\x1b[m",
		colorprofile.ANSI256:   "\x1b[1;38;5;196mx\x1b[m",
		colorprofile.ANSI:      "\x1b[1;91mx\x1b[m",
		colorprofile.ASCII:     "\x1b[1mx\x1b[m",
		colorprofile.NoTTY:     "x",
	} {
		if got := New(true, profile).Paint(p, 0, 9); got != want {
			t.Errorf("%s: got %q, want %q", profile, got, want)
		}
	}
}

func TestFoundTextIsMarked(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI, colorprofile.ASCII} {
		k := New(true, profile)
		p := Print{
			Text: "one two 漢字 two", Spans: []steps.Span{{At: 5, Style: red}},
			Marks: []Mark{{From: 4, To: 7}, {From: 15, To: 18, Here: true}},
		}
		got := k.Paint(p, 0, 40)
		if ansi.Strip(got) != p.Text || !strings.Contains(got, k.Found.Render("two")) ||
			!strings.HasSuffix(got, k.FoundHere.Render("two")) {
			t.Errorf("%s: got %q", profile, got)
		}
		if k.Found.Render("x") == k.FoundHere.Render("x") || k.Found.Render("x") == "x" {
			t.Errorf("%s: what is found can't be told apart", profile)
		}
	}
}

var sgrOnly = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// FuzzPaint looks through a window at whatever a tool may print: it is as wide as it
// may be, sets colours and nothing else, leaves none behind, and shows what stands
// there.
func FuzzPaint(f *testing.F) {
	f.Add("plain", uint64(1), 0, 10)
	f.Add("\x1b[31m red \x1b]0;title\a bell \r return \u009b0m \x00 \u202e \xff", uint64(2), 3, 7)
	f.Add("漢字かな交じり\tab\u0301\u0323👩‍👩‍👧‍👦🇩🇪🇩 \u200b\u200d", uint64(3), 2, 9)
	f.Add("00000🇩🇪\xf0", uint64(3), 0, 9)
	f.Add("e"+strings.Repeat("\u0301", 5000), uint64(4), 0, 3)
	f.Fuzz(paints)
}

// TestPaintSweep is the same with what a tool rather prints.
func TestPaintSweep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	hostile := append([]string{
		"\x1b[31m", "\x1b]0;t\a", "\x1b[2J", "\u009b1m", "\x00", "\x7f", "\t",
		"\r", "\u202e", "\u2066", "\u2028", "\xff", "\xe2\x82", "\u200d", "\u0301", "🇩", "🇪",
	}, pieces...)
	for range 3000 {
		text := ""
		for range r.IntN(30) {
			text += hostile[r.IntN(len(hostile))]
		}
		paints(t, text, r.Uint64(), r.IntN(80), r.IntN(80))
	}
}

func paints(t *testing.T, text string, seed uint64, column, width int) {
	column, width = max(0, column)%200, max(0, width)%200
	r := rand.New(rand.NewPCG(seed, 1))
	p := Print{Text: text, Spans: randomSpans(r, len(text))}
	if len(text) > 2 {
		at := r.IntN(len(text))
		p.Marks = []Mark{{From: at, To: at + 1 + r.IntN(len(text)-at), Here: r.IntN(2) == 0}}
	}
	got := New(true, colorprofile.Profile(r.IntN(int(colorprofile.TrueColor)+1))).Paint(p, column, width)
	if w := ansi.StringWidth(got); w > width {
		t.Fatalf("%d columns of %d: %q", w, width, got)
	}
	plain := sgrOnly.ReplaceAllString(got, "")
	if strings.ContainsFunc(strings.ReplaceAll(plain, "\uFFFD", ""), unclean) {
		t.Fatalf("%q controls the terminal", got)
	}
	if all := sgrOnly.FindAllString(got, -1); len(all) > 0 && all[len(all)-1] != "\x1b[m" {
		t.Fatalf("%q leaves a colour behind", got)
	}
	if whole := Clean(text); column == 0 && ansi.StringWidth(whole) <= width &&
		len(whole) < width*bytesPerColumn && plain != whole {
		t.Fatalf("%q of %q", plain, whole)
	}
}

func randomSpans(r *rand.Rand, n int) (spans []steps.Span) {
	for at := 0; at < n; at += 1 + r.IntN(9) {
		s := steps.Style{Attr: 0}
		for _, c := range []*steps.Color{&s.Fg, &s.Bg} {
			switch r.IntN(3) {
			case 0:
				*c = runner.Indexed(uint8(r.IntN(256)))
			case 1:
				*c = runner.RGB(uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)))
			}
		}
		for _, a := range []runner.Attr{steps.Bold, steps.Faint, steps.Italic, steps.Underline} {
			if r.IntN(2) == 0 {
				s.Attr |= a
			}
		}
		spans = append(spans, steps.Span{At: int32(at), Style: s})
	}
	return spans
}

// Columns stay where they are however far the window has been moved.
func TestPaintKeepsColumns(t *testing.T) {
	const text = "ab漢字 c\td 👩‍👩‍👧‍👦 e\u0301f かな"
	whole := New(true, colorprofile.TrueColor).Paint(Print{Text: text}, 0, 200)
	spans := []steps.Span{{At: 2, Style: red}, {At: 9}, {At: 14, Style: red}}
	end := ansi.StringWidth(whole)
	for column := range end + 2 {
		for width := 1; width < end+3; width++ {
			got := ansi.Strip(New(true, colorprofile.TrueColor).Paint(Print{Text: text, Spans: spans}, column, width))
			// What stands in the last column but one has not been moved by what was cut.
			for x := range min(width-2, end-column) {
				want := ansi.Cut(whole, column+x, column+x+1)
				if is := ansi.Cut(got, x, x+1); want != "" && is != want && is != " " {
					t.Fatalf("column %d, width %d: %q at %d, not %q in %q", column, width, is, x, want, got)
				}
			}
			if w := ansi.StringWidth(got); w > width || width > end-column && w != max(0, end-column) {
				t.Fatalf("column %d, width %d: %q", column, width, got)
			}
		}
	}
}

func BenchmarkPaint(b *testing.B) {
	text := strings.Repeat("65536      5000             11032.64            11032.34            0.176518", 3)
	r := rand.New(rand.NewPCG(1, 1))
	k := New(true, colorprofile.ANSI256)
	for name, p := range map[string]Print{"plain": {Text: text}, "coloured": {Text: text, Spans: randomSpans(r, 200)}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k.Paint(p, 0, 200)
			}
		})
	}
}
