package pairs

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Square is a cell of a heat map: what is seen of it without colour, and what it is.
type Square struct {
	Glyph rune
	State State
	// Diagonal says that it is of nothing that is measured: from a node to itself, to one that no cable leads to, or
	// of a pair that is left out.
	Diagonal bool
}

// Scale says what the shades of a measure's map mean, and between which figures it lies.
func (m *Matrix) Scale(what steps.Measure) string {
	e := m.Extremes(what)
	scale := "█ from 98 %  ▓ 95  ▒ 93 of the best"
	if what == steps.Latency {
		scale = "█ up to 1.25 times  ▓ 1.67  ▒ 2.1 times the least"
	}
	if e.Measured > 0 {
		scale += fmt.Sprintf(", %s; the worst is %s", figure(what, e.Best), figure(what, e.Worst))
	}
	return scale
}

// Key says what is the same in the maps of all measures, a line each.
func (m *Matrix) Key() []string {
	last := "! good with a warning  ? not measured or not usable  · itself"
	if m.Uncabled != nil {
		last += "  - no cable"
	}
	if m.Partners > 0 {
		last += fmt.Sprintf("  blank: not planned, as each node was measured with %d others", m.Partners)
	}
	again := "c bad next to others, good alone"
	if len(m.Nodes) < fewestBeside {
		again = "c bad at first, good again"
	}
	key := []string{"0..9 bad: tenths of the best  x bad, without a value  " + again, last}
	if n := m.fold(); n > 1 {
		key = append(key, fmt.Sprintf("a square is %d nodes to %d, from the one that its row names, and shows the "+
			"worst", n, n))
	}
	return append(key, m.Conditions.String())
}

// Square is the one of a rail from one node to another.
func (m *Matrix) Square(what steps.Measure, rail, from, to int, e Extremes) Square {
	c := m.At(what, rail, from, to)
	switch {
	case from == to:
		return Square{Glyph: '·', Diagonal: true}
	case m.LeftOut(from, to):
		return Square{Glyph: ' ', Diagonal: true}
	case c == nil:
		return Square{Glyph: '-', Diagonal: true}
	}
	share := 0.0
	if c.Value > 0 && e.Best > 0 {
		if share = float64(c.Value) / e.Best; what == steps.Latency {
			share = 1 / share
		}
	}
	s := Square{State: c.State}
	switch {
	case c.State == Unmeasured:
		s.Glyph = '?'
	case c.State == Bad && c.Value == 0:
		s.Glyph = 'x'
	case c.State == Bad:
		s.Glyph = rune('0' + min(9, int(share*10)))
	case c.State == Crowd:
		s.Glyph = 'c'
	case c.State == Warned:
		s.Glyph = '!'
	default:
		s.Glyph = shade(what, share)
	}
	return s
}

// shade is a good figure's. The steps of a latency are wider, as its rule is.
func shade(what steps.Measure, share float64) rune {
	full, most := 0.98, 0.95
	if what == steps.Latency {
		full, most = 0.8, 0.6
	}
	switch {
	case share >= full:
		return '█'
	case share >= most:
		return '▓'
	}
	return '▒'
}

// labelWidth is what a row's label has room for: its number, and the name behind it.
const labelWidth = 14

// MapWidth is how many nodes' columns a width has room for.
func MapWidth(width int) int { return max(1, width-labelWidth-1) }

// Label is a row's: the node's number, from 1, and its name as far as there is room.
func (m *Matrix) Label(node int) string {
	return fmt.Sprintf("%4d %s", node+1, fit(sanitize.Line(m.Nodes[node].Name), labelWidth-5))
}

// mostSquares is how many squares a side of a map has: the nodes of a rack or two, each with its own.
const mostSquares = 64

// fold is how many nodes share a row and a column of a map.
func (m *Matrix) fold() int { return (len(m.Nodes) + mostSquares - 1) / mostSquares }

// folded is the worst square of those from some nodes to some, and where it is: of one each where nodes have rows of
// their own.
func (m *Matrix) folded(what steps.Measure, rail, from, to int, e Extremes) (worst Square, at Pair) {
	fold, n := m.fold(), len(m.Nodes)
	worst = Square{Diagonal: true}
	for i := from; i < min(from+fold, n); i++ {
		for j := to; j < min(to+fold, n); j++ {
			if s := m.Square(what, rail, i, j, e); worst.Glyph == 0 || s.worse(worst) {
				worst, at = s, Pair{i, j}
			}
		}
	}
	return worst, at
}

// worse reports whether a square is what one looks for before another one.
func (s Square) worse(than Square) bool {
	if s.Diagonal != than.Diagonal {
		return than.Diagonal
	}
	rank := [...]int{Good: 0, Warned: 1, Crowd: 2, Unmeasured: 3, Bad: 4}
	if a, b := rank[s.State], rank[than.State]; a != b {
		return a > b
	}
	return strings.IndexRune(fromWorst, s.Glyph) < strings.IndexRune(fromWorst, than.Glyph)
}

// fromWorst are the glyphs of squares of one state.
const fromWorst = "x0123456789▒▓█"

// roomyUpTo is how many nodes have a blank between their columns: numbers that touch read as one.
const roomyUpTo = 12

// pitch is how far apart the columns of so many nodes stand in a width.
func pitch(nodes, width int) int {
	if nodes <= roomyUpTo && 2*nodes-1 <= width {
		return 2
	}
	return 1
}

// header names rails, and numbers the columns of each from left on, written downwards: by the first of the nodes
// that share one.
func header(rails []string, left, right, own, pitch, fold int) []string {
	digits := len(fmt.Sprint((right-1)*fold + 1))
	lines := make([]string, 1+digits)
	for i := range lines {
		lines[i] = strings.Repeat(" ", labelWidth+1)
	}
	for at, rail := range rails {
		if at > 0 {
			for i := range lines {
				lines[i] += gap
			}
		}
		lines[0] += fit(rail, own)
		for i := range digits {
			var numbers strings.Builder
			for column := left; column < right; column++ {
				numbers.WriteByte(fmt.Sprintf("%*d", digits, column*fold+1)[i])
				if column+1 < right {
					numbers.WriteString(strings.Repeat(" ", pitch-1))
				}
			}
			lines[1+i] += fit(numbers.String(), own)
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// A Row is a line of heat maps, with the squares that are in it.
type Row struct {
	Text    string
	Squares []Placed
}

// A Placed square stands in its row's text at a byte.
type Placed struct {
	At int
	Square
}

// gap is what keeps two maps apart that stand side by side.
const gap = "   "

// Map are the heat maps of a measure, one a rail, as text of a width at most: rows send, columns receive. As
// many rails stand side by side as there is room for. A map that is wider comes in blocks, one below the
// other; of more nodes than it has squares several share one.
func (m *Matrix) Map(what steps.Measure, width int) []Row {
	e := m.Extremes(what)
	var lines []Row
	fold := m.fold()
	side := (len(m.Nodes) + fold - 1) / fold // squares
	apart := pitch(side, MapWidth(width))
	wide := (MapWidth(width) + apart - 1) / apart // squares
	square := side*apart - (apart - 1)
	own := square
	for _, name := range m.Rails {
		own = max(own, utf8.RuneCountInString(name))
	}
	beside := max(1, (MapWidth(width)+len(gap))/(own+len(gap)))
	for first := 0; first < len(m.Rails); first += beside {
		last := min(first+beside, len(m.Rails))
		for left := 0; left < side; left += wide {
			right := min(left+wide, side)
			if len(lines) > 0 {
				lines = append(lines, Row{})
			}
			for _, text := range header(m.Rails[first:last], left, right, min(own, MapWidth(width)), apart, fold) {
				lines = append(lines, Row{Text: text})
			}
			for from := range side {
				var b strings.Builder
				b.WriteString(m.Label(from*fold) + " ")
				var row Row
				for rail := first; rail < last; rail++ {
					if rail > first {
						b.WriteString(strings.Repeat(" ", own-square) + gap)
					}
					for to := left; to < right; to++ {
						if to > left {
							b.WriteString(strings.Repeat(" ", apart-1))
						}
						s, _ := m.folded(what, rail, from*fold, to*fold, e)
						row.Squares = append(row.Squares, Placed{b.Len(), s})
						b.WriteRune(s.Glyph)
					}
				}
				row.Text = b.String()
				lines = append(lines, row)
			}
		}
	}
	return lines
}

// Title is what the maps of a measure are of.
func (m *Matrix) Title(what steps.Measure) string {
	way := "rows send, columns receive"
	if !Both(what) {
		way = "one way of a ping and its answer, so both directions are one"
	}
	title := fmt.Sprintf("%s in %s: %s", what, Unit(what), way)
	if m.Simulated {
		title += "  SIMULATED"
	}
	return title
}

// fit is a text in a width, filled up, and with an end that says that there is more.
func fit(s string, width int) string {
	r := []rune(s)
	if len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s + strings.Repeat(" ", width-len(r))
}

// Shown is a figure with its unit, or that there is none.
func Shown(what steps.Measure, v float64) string {
	if v == 0 {
		return "no value"
	}
	return figure(what, v)
}
