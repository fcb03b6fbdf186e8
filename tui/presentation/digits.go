package presentation

import (
	"fmt"
	"math"
	"strings"

	"charm.land/lipgloss/v2"
)

// digitRows is how high a numeral is, in dots.
const digitRows = 5

// dots are the numerals' shapes, a row each, five rows of them.
var dots = map[rune][digitRows]string{
	'0': {"###", "# #", "# #", "# #", "###"},
	'1': {" # ", "## ", " # ", " # ", "###"},
	'2': {"###", "  #", "###", "#  ", "###"},
	'3': {"###", "  #", "###", "  #", "###"},
	'4': {"# #", "# #", "###", "  #", "  #"},
	'5': {"###", "#  ", "###", "  #", "###"},
	'6': {"###", "#  ", "###", "# #", "###"},
	'7': {"###", "  #", "  #", "  #", "  #"},
	'8': {"###", "# #", "###", "# #", "###"},
	'9': {"###", "# #", "###", "  #", "###"},
	'.': {" ", " ", " ", " ", "#"},
	'-': {"   ", "   ", "###", "   ", "   "},
}

// A size is how many columns and rows a numeral's dot has.
type size struct{ columns, rows int }

// sizes are those that numerals come in, the largest first. A dot that is twice as wide as high
// is a square on most terminals.
var sizes = []size{{8, 4}, {6, 3}, {4, 2}, {3, 2}, {2, 1}, {1, 1}}

// numeral draws text of digits in a size.
func numeral(text string, s size) []string {
	lines := make([]string, digitRows*s.rows)
	for i := range lines {
		var b strings.Builder
		for j, r := range text {
			if j > 0 {
				b.WriteString(strings.Repeat(" ", s.columns))
			}
			for _, dot := range dots[r][i/s.rows] {
				glyph := " "
				if dot == '#' {
					glyph = "█"
				}
				b.WriteString(strings.Repeat(glyph, s.columns))
			}
		}
		lines[i] = b.String()
	}
	return lines
}

// widest is the rate that numerals have room for, whatever they show: they would jump in size with
// what they say.
const widest = "888.8"

// largest is the size that a room allows for. It is never less than the smallest, which the room's
// owner has to have room for.
func largest(width, height int) size {
	for _, s := range sizes {
		if digitRows*s.rows <= height && lipgloss.Width(numeral(widest, s)[0]) <= width {
			return s
		}
	}
	return sizes[len(sizes)-1]
}

// leastNumeral is the room of a rate in the smallest size, and largeNumeral that of one whose dots
// are squares.
// That is four digits of three columns, a point, and the four gaps between them.
const (
	leastNumeral = 4*3 + 1 + 4
	largeNumeral = 2 * leastNumeral
)

// figure writes a rate as its numerals show it: one below 1 with two decimals, as a soft rail's is.
// The bounds are where what is rounded would have a digit more.
func figure(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
		return "--"
	case v < shown:
		return "0.0"
	case v < 0.995:
		return fmt.Sprintf("%.2f", v)
	case v < 999.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", min(v, 99999))
	}
}
