package cells

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// A Page is a cell's whole output with a window over it. Only the window is drawn: setting all lines for each
// new one would take time for all lines.
type Page struct {
	Cell   steps.Cell
	State  steps.CellState
	Names  []string
	Rows   Rows
	Top    int // first row shown
	Column int // first column shown
	// Marks are what a search has found in a line's text, or in the beginning of it.
	Marks func(line int, text string) []theme.Mark
}

// Room is how many columns of a line's text a window of width columns shows.
func (p Page) Room(width, line int) int {
	t := newTags(p.Cell, p.Names, width)
	return max(1, columnOf(width, len(p.Rows.row(p.Rows.Row(line))))-t.room()-2)
}

// Lines draws the window, exactly height lines of width columns.
func (p Page) Lines(k *theme.Styles, width, height int) []string {
	t := newTags(p.Cell, p.Names, width)
	drawn := make([]string, 0, height)
	for _, row := range p.window(height) {
		column := columnOf(width, len(row))
		text := make([]string, len(row))
		for i, l := range row {
			if l.no == none {
				text[i] = strings.Repeat(" ", column)
				continue
			}
			var marks []theme.Mark
			if p.Marks != nil {
				marks = p.Marks(l.no, theme.Head(l.Text, p.Column+column))
			}
			text[i] = theme.Pad(outputLine(k, l.OutputLine, t, marks, p.Column, column), column)
		}
		drawn = append(drawn, theme.Pad(strings.Join(text, strings.Repeat(" ", nodeGap)), width))
	}
	for len(drawn) < height {
		drawn = append(drawn, strings.Repeat(" ", width))
	}
	return drawn
}

// pageLine is a line of an output with its number; none for a place without one.
type pageLine struct {
	no int
	steps.OutputLine
}

// window are the lines of the rows that are seen.
func (p Page) window(height int) (rows [][]pageLine) {
	out := p.State.Output
	if p.Rows.rows == nil { // they are taken at once
		for i, l := range out.Lines(p.Top, height) {
			rows = append(rows, []pageLine{{p.Top + i, l}})
		}
		return rows
	}
	for row := p.Top; row < min(p.Top+height, p.Rows.Count(out.Len())); row++ {
		var all []pageLine
		for _, no := range p.Rows.row(row) {
			l := pageLine{no: none}
			if no != none {
				if got := out.Lines(no, 1); len(got) > 0 {
					l = pageLine{no, got[0]}
				}
			}
			all = append(all, l)
		}
		rows = append(rows, all)
	}
	return rows
}

// Position says which lines are seen, and how many there are.
func (p Page) Position(height int) string {
	out := p.State.Output
	if out.Len() == 0 {
		return "no output"
	}
	rows := p.Rows.Count(out.Len())
	first := out.Dropped() + p.Top
	s := fmt.Sprintf("%s–%s of %s",
		steps.Thousands(first+1), steps.Thousands(out.Dropped()+min(rows, p.Top+height)), steps.Thousands(out.Dropped()+rows))
	if rows < out.Len() {
		s += fmt.Sprintf(" (%s lines, the nodes' side by side)", steps.Thousands(out.Dropped()+out.Len()))
	}
	if p.Column > 0 {
		s += fmt.Sprintf(" · from column %d", p.Column+1)
	}
	switch {
	case out.Dropped() == 0:
	case p.State.Log != "" || p.State.Running:
		s += fmt.Sprintf(" · the first %s are in the log", steps.Thousands(out.Dropped()))
	default:
		s += fmt.Sprintf(" · the first %s are not kept", steps.Thousands(out.Dropped()))
	}
	return s
}

// Reach is the column from which the end of the window's longest line is seen.
func (p Page) Reach(width, height int) int {
	t := newTags(p.Cell, p.Names, width)
	reach := 0
	for _, row := range p.window(height) {
		for _, l := range row {
			reach = max(reach, lipgloss.Width(theme.Clean(l.Text))+t.room()+2-columnOf(width, len(row)))
		}
	}
	return reach
}
