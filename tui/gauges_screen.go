package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// gaugesScreen is the gauges on the whole screen.
type gaugesScreen struct {
	*screen.Shared
	screen.Tabled
	notebook *notebook
	opened   time.Time
}

// twiceWithin is how soon g follows g where both mean the top, as in vi.
const twiceWithin = 500 * time.Millisecond

// toggleGauges gives the gauges the whole screen, or what was there before; g g goes to the top of that.
func (m *Model) toggleGauges() tea.Cmd {
	now := m.Opts.Clock.Now()
	if !m.Layers.Has(screen.Gauges) {
		m.Layers.Push(screen.Gauges)
		m.gauges.opened = now
		return nil
	}
	m.Layers.Drop(screen.Gauges)
	if now.Sub(m.gauges.opened) > twiceWithin {
		return nil
	}
	switch m.Layers.Top() {
	case screen.Notebook:
		return m.notebook.home()
	case screen.Checklist:
		return m.list.Next(-len(m.list.Checks()))
	case screen.Output:
		return m.output.First()
	default:
		return nil
	}
}

// hideGauges takes them off the screen of the notebook, or shows them there again.
func (m *Model) hideGauges() tea.Cmd {
	m.NoGauges = !m.NoGauges
	m.Notice = "the gauges are shown while something moves"
	if m.NoGauges {
		m.Notice = "the gauges are hidden: _ shows them"
	}
	return nil
}

// Draw is the gauges alone, with a line about the running cell above them: an
// audience wants to know what moves them.
func (gs *gaugesScreen) Draw(width, height int) screen.Picture {
	lines := []string{theme.Pad(gs.caption(), width)}
	lines = append(lines, gs.Pane(width, height-1, true).Lines(gs.Styles, gs.Snapshot)...)
	return screen.Picture{Lines: screen.Fill(lines, height, width)}
}

// caption names the running cell, or the selected one and its verdict.
func (gs *gaugesScreen) caption() string {
	k := gs.Styles
	id := gs.Book.Running
	if c, ok := gs.notebook.Selected(); ok && id == "" {
		id = c.ID
	}
	c, ok := gs.Book.Tutorial.Cell(id)
	if !ok {
		return " " + k.Dim.Render("nothing is running")
	}
	state := gs.Book.Cells[id]
	left := " " + k.Strong.Render(theme.Clean(c.Title)) + "  " + k.Dim.Render(cells.Places(c, gs.Names()))
	switch {
	case state.Running:
		left = " " + k.Accent.Render(gs.Spinner.View()) + left
		return theme.Sides(left, k.Accent.Render("running "+gs.Since(state.Started))+" ", gs.Width)
	case state.Verdict.Grade != steps.NotRun:
		g := state.Verdict.Grade
		verdict := cells.GradeStyle(k, g).Render(cells.Mark(g) + " " + g.String())
		if gs.Simulated() {
			verdict += k.Dim.Render(" SIMULATED")
		}
		return left + "  " + verdict + "  " + theme.Clean(state.Verdict.Reason)
	}
	return left
}
