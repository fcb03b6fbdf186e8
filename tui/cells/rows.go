package cells

import (
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// Rows are how the lines of a whole output stand on a page: one below the other, those of
// each node together, or side by side where all of them have room for it. They are what is
// scrolled. The zero value has a row for each line.
type Rows struct {
	rows [][]int // the lines of each row, by columns, and none where a node has no more
	at   []int   // the row of each line
}

// none is a place in a row without a line.
const none = -1

// NewRows sets the output of a cell in width columns.
func NewRows(c steps.Cell, state steps.CellState, names []string, width int) Rows {
	if !c.OnSeveral() {
		return Rows{}
	}
	lines := state.Output.Lines(0, state.Output.Len())
	s := Rows{at: make([]int, len(lines))}
	for i := 0; i < len(lines); {
		if lines[i].From == "" {
			s.add([]int{i})
			i++
			continue
		}
		end := i
		for end < len(lines) && lines[end].From != "" {
			end++
		}
		s.block(c, state.Rig, lines, i, end,
			func(n int) int { return columnOf(width, n) - newTags(c, names, width).room() - 2 })
		i = end
	}
	return s
}

func (s *Rows) add(row []int) {
	for _, line := range row {
		if line != none {
			s.at[line] = len(s.rows)
		}
	}
	s.rows = append(s.rows, row)
}

// block adds what nodes printed side by side, from one line to another. room is what each of so many columns
// has for a line's text.
func (s *Rows) block(c steps.Cell, rig steps.Rig, lines []steps.OutputLine, from, to int, room func(columns int) int) {
	var nodes [][]int
	places := map[[2]string]int{}
	widest := 0
	for i := from; i < to; i++ {
		place := [2]string{lines[i].From, lines[i].Role}
		at, known := places[place]
		if !known {
			at = len(nodes)
			places[place], nodes = at, append(nodes, nil)
		}
		nodes[at] = append(nodes[at], i)
		if !ruled(lines[i].Text) {
			widest = max(widest, lipgloss.Width(theme.Clean(lines[i].Text)))
		}
	}
	place := c.Places(rig)
	slices.SortStableFunc(nodes, func(a, b []int) int { return place(lines[a[0]]) - place(lines[b[0]]) })
	if room := room(len(nodes)); len(nodes) < 2 || room < leastColumn || widest > room {
		for _, lines := range nodes {
			for _, line := range lines {
				s.add([]int{line})
			}
		}
		return
	}
	for i := 0; ; i++ {
		row := make([]int, len(nodes))
		some := false
		for j, lines := range nodes {
			row[j] = none
			if i < len(lines) {
				row[j], some = lines[i], true
			}
		}
		if !some {
			return
		}
		s.add(row)
	}
}

// nodeGap stands between two nodes' columns.
const nodeGap = 2

// columnOf is how wide each of n columns is, with its tags.
func columnOf(width, n int) int { return (width - nodeGap*(n-1)) / max(1, n) }

// Rows is how many rows an output of so many lines has.
func (s Rows) Count(lines int) int {
	if s.rows == nil {
		return lines
	}
	return len(s.rows)
}

// Row is the row in which a line is.
func (s Rows) Row(line int) int {
	switch {
	case s.rows == nil:
		return line
	case line < 0 || len(s.at) == 0:
		return 0
	}
	return s.at[min(line, len(s.at)-1)]
}

// Line is a line of a row: its first.
func (s Rows) Line(row int) int {
	if s.rows == nil {
		return row
	}
	if len(s.rows) == 0 {
		return 0
	}
	for _, line := range s.rows[max(0, min(row, len(s.rows)-1))] {
		if line != none {
			return line
		}
	}
	return 0
}

// row are the lines of a row.
func (s Rows) row(row int) []int {
	if s.rows == nil {
		return []int{row}
	}
	return s.rows[row]
}
