package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestColoursStandBesideTheText(t *testing.T) {
	red, green := Style{Fg: Indexed(1)}, Style{Fg: Indexed(2)}
	for _, c := range []struct {
		in, want string
		spans    []Span
	}{
		{"plain", "plain", nil},
		{"\x1b[31mred\x1b[0m plain", "red plain", []Span{{0, red}, {3, Style{}}}},
		{"\x1b[31mred\x1b[m", "red", []Span{{0, red}}},
		{"a\x1b[31m\x1b[32mb", "ab", []Span{{1, green}}},
		{"\x1b[1;4;3;2;31;42mx", "x", []Span{{0, Style{Indexed(1), Indexed(2), Bold | Faint | Italic | Underline}}}},
		{"\x1b[1;2mx\x1b[22my", "xy", []Span{{0, Style{Attr: Bold | Faint}}, {1, Style{}}}},
		{"\x1b[3;4mx\x1b[23;24my", "xy", []Span{{0, Style{Attr: Italic | Underline}}, {1, Style{}}}},
		{
			"\x1b[91;104mx\x1b[39my\x1b[49mz", "xyz",
			[]Span{{0, Style{Fg: Indexed(9), Bg: Indexed(12)}}, {1, Style{Bg: Indexed(12)}}, {2, Style{}}},
		},
		{"\x1b[38;5;208;1mx", "x", []Span{{0, Style{Fg: Indexed(208), Attr: Bold}}}},
		{"\x1b[38;2;1;2;3;48;2;4;5;6mx", "x", []Span{{0, Style{Fg: RGB(1, 2, 3), Bg: RGB(4, 5, 6)}}}},
		{"\x1b[38:2::1:2:3;1mx", "x", []Span{{0, Style{Fg: RGB(1, 2, 3), Attr: Bold}}}},
		{"\x1b[38:2:1:2:3mx", "x", []Span{{0, Style{Fg: RGB(1, 2, 3)}}}},
		{"\x1b[48:5:7mx", "x", []Span{{0, Style{Bg: Indexed(7)}}}},
		{"\x1b[4:3mx\x1b[4:0my", "xy", []Span{{0, Style{Attr: Underline}}, {1, Style{}}}},
		{"\x1b[58;2;1;31;5mx\x1b[58;5;1m", "x", nil},
		{"\x1b[;31mx", "x", []Span{{0, red}}},
		{"\u009b31mx", "x", []Span{{0, red}}},
		// What says nothing of colours.
		{"\x1b[5;7;8;9;53mx", "x", nil},
		{"\x1b[31;99999999mx", "x", []Span{{0, red}}},
		{"\x1b[38;5;256;1mx", "x", nil},
		{"\x1b[38;5m\x1b[38m\x1b[38;9;1mx", "x", nil},
		{"\x1b[>4;1m\x1b[?1m\x1b[1 m\x1b[31Hx", "x", nil},
		{"\x1b[" + strings.Repeat("0;", 40) + "31mx", "x", nil},
		// Up to the line's end, whatever a line end is.
		{"\x1b[31mred\nplain", "red|plain", []Span{{0, red}}},
		{"\x1b[31m1%\r2%", "1%|2%", []Span{{0, red}}},
		{"\x1b[31m", "", nil},
		{"\x1b[31m\tx", "        x", []Span{{0, red}}},
	} {
		lines, _ := cleaned(strings.NewReader(c.in))
		var spans []Span
		for i, l := range lines {
			spansHold(t, l)
			if i > 0 && len(l.Spans) > 0 {
				t.Errorf("%q: line %d has %v", c.in, i, l.Spans)
			}
			spans = append(spans, l.Spans...)
		}
		if got := strings.Join(texts(lines), "|"); got != c.want || !slices.Equal(spans, c.spans) {
			t.Errorf("%q: got %q %v, want %q %v", c.in, got, spans, c.want, c.spans)
		}
	}
}

// A line that is cut into pieces is one line: its colour goes on.
func TestAColourGoesOnInTheNextPiece(t *testing.T) {
	lines, _ := cleaned(strings.NewReader("\x1b[31m" + strings.Repeat("x", MaxLine+10) + "\nplain\n"))
	if len(lines) != 3 || len(lines[1].Spans) != 1 || lines[1].Spans[0] != (Span{0, Style{Fg: Indexed(1)}}) ||
		lines[2].Spans != nil {
		t.Errorf("the pieces have %v", lines[1].Spans)
	}
}

func TestSpansAreBounded(t *testing.T) {
	var colours, plainBetween strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&colours, "\x1b[38;5;%dmx", i%256)
		fmt.Fprintf(&plainBetween, "\x1b[38;5;%dmx\x1b[mx", i%256)
	}
	// With one more before them the last one to fit would begin a colour.
	odd := "\x1b[1mx" + plainBetween.String()
	for _, c := range []struct {
		name, in       string
		spans, letters int
	}{
		{"a colour a letter", colours.String(), maxSpans, 5000},
		{"plain in between", plainBetween.String(), maxSpans, 10_000},
		{"what begins last is plain already", odd, maxSpans - 1, 10_001},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, _ := cleaned(strings.NewReader(c.in))
			l := lines[0]
			spansHold(t, l)
			if n := len(l.Spans); n != c.spans || l.Spans[n-1].Style != (Style{}) {
				t.Errorf("%d spans, the last one %v", n, l.Spans[n-1].Style)
			}
			if l.Text != strings.Repeat("x", c.letters) {
				t.Errorf("%d letters", len(l.Text))
			}
		})
	}
}
