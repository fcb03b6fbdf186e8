package cells

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/ink"
)

// A Page is a cell's whole output with a window over it. Only the window is ever
// drawn: setting all lines anew for each that arrives costs the time of all lines.
type Page struct {
	Cell   steps.Cell
	State  steps.CellState
	Names  []string
	Top    int // first line shown
	Column int // first column shown
	// Marks are what a search has found in a line's text, or in the beginning of it.
	Marks func(line int, text string) []ink.Mark
}

// Room is how many columns of a line's text a window of width columns shows.
func (p Page) Room(width int) int {
	t := newTags(p.Cell, p.Names, width)
	return max(1, width-lipgloss.Width(t.of(steps.OutputLine{}))-2)
}

// Lines draws the window, exactly height lines of width columns.
func (p Page) Lines(k *ink.Ink, width, height int) []string {
	out := p.State.Output
	t := newTags(p.Cell, p.Names, width)
	lines := make([]string, 0, height)
	for i, l := range out.Lines(p.Top, height) {
		var marks []ink.Mark
		if p.Marks != nil {
			marks = p.Marks(p.Top+i, ink.Head(l.Text, p.Column+width))
		}
		lines = append(lines, ink.Pad(outputLine(k, l, t, marks, p.Column, width), width))
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

// Position says which lines are seen, and how many there are.
func (p Page) Position(height int) string {
	out := p.State.Output
	if out.Len() == 0 {
		return "no output"
	}
	first := out.Dropped() + p.Top
	s := fmt.Sprintf("%s–%s of %s",
		Thousands(first+1), Thousands(out.Dropped()+min(out.Len(), p.Top+height)), Thousands(out.Dropped()+out.Len()))
	if p.Column > 0 {
		s += fmt.Sprintf(" · from column %d", p.Column+1)
	}
	switch {
	case out.Dropped() == 0:
	case p.State.Log != "" || p.State.Running:
		s += fmt.Sprintf(" · the first %s are in the log", Thousands(out.Dropped()))
	default:
		s += fmt.Sprintf(" · the first %s are not kept", Thousands(out.Dropped()))
	}
	return s
}

// Reach is the column from which the end of the window's longest line is seen.
func (p Page) Reach(width, height int) int {
	t := newTags(p.Cell, p.Names, width)
	widest := 0
	for _, l := range p.State.Output.Lines(p.Top, height) {
		widest = max(widest, lipgloss.Width(ink.Clean(l.Text))+lipgloss.Width(t.of(l))+2)
	}
	return max(0, widest-width)
}
