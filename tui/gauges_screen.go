package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/gauges"
	"github.com/railbench/railbench/tui/theme"
)

// gaugesScreen is the gauges on the whole screen.
type gaugesScreen struct {
	*shared
	tabled
	notebook *notebook
	opened   time.Time
}

// twiceWithin is how soon g follows g where both mean the top, as in vi.
const twiceWithin = 500 * time.Millisecond

// toggleGauges gives the gauges the whole screen, or what was there before; g g goes to the top of that.
func (m *Model) toggleGauges() tea.Cmd {
	now := m.opts.Clock.Now()
	if !m.layers.has(gaugesLevel) {
		m.layers.push(gaugesLevel)
		m.gauges.opened = now
		return nil
	}
	m.layers.drop(gaugesLevel)
	if now.Sub(m.gauges.opened) > twiceWithin {
		return nil
	}
	switch m.layers.top() {
	case notebookLevel:
		return m.notebook.home()
	case checklistLevel:
		return m.list.nextCheck(-len(m.list.checks()))
	case outputLevel:
		return m.output.pageFirst()
	default:
		return nil
	}
}

// hideGauges takes them off the screen of the notebook, or shows them there again.
func (m *Model) hideGauges() tea.Cmd {
	m.noGauges = !m.noGauges
	m.notice = "the gauges are shown while something moves"
	if m.noGauges {
		m.notice = "the gauges are hidden: _ shows them"
	}
	return nil
}

// openFor is how long the gauges stay open after something moved: long enough to read what its rate was.
const openFor = 20 * time.Second

// moves notes when something last moved. The gauges are one line while nothing does.
func (sh *shared) moves() {
	late := false // samples that came, and come no more
	for _, g := range sh.snapshot.Gauges {
		if gauges.Moves(g) {
			sh.movedAt = sh.opts.Clock.Now()
		}
		late = late || g.Stale != "" && !g.Since.IsZero()
	}
	sh.foldGauges = !late && (sh.movedAt.IsZero() || sh.opts.Clock.Now().Sub(sh.movedAt) > openFor)
}

// closeGauges leaves the strip: esc goes back one step and hides nothing.
func (sh *shared) closeGauges() tea.Cmd {
	sh.layers.drop(gaugesLevel)
	return nil
}

func (sh *shared) pane(width, height int, cards bool) gauges.Pane {
	// Who has rails will have gauges: of many nodes the first snapshot takes a moment.
	has := slices.ContainsFunc(sh.book.Rig.Nodes, func(n steps.Node) bool { return len(n.Rails) > 0 })
	return gauges.Pane{
		Width: width, Height: height, Simulated: sh.simulated(),
		Names: sh.names(), Looked: !has && !sh.book.Rig.Probed.IsZero(), Cards: cards,
		Folded: !cards && sh.foldGauges && len(sh.snapshot.Gauges) > 0,
	}
}

// Draw is the gauges alone, with a line about the running cell above them: an
// audience wants to know what moves them.
func (gs *gaugesScreen) Draw(width, height int) picture {
	lines := []string{theme.Pad(gs.caption(), width)}
	lines = append(lines, gs.pane(width, height-1, true).Lines(gs.styles, gs.snapshot)...)
	return picture{lines: fill(lines, height, width)}
}

// caption names the running cell, or the selected one and its verdict.
func (gs *gaugesScreen) caption() string {
	k := gs.styles
	id := gs.book.Running
	if c, ok := gs.notebook.selected(); ok && id == "" {
		id = c.ID
	}
	c, ok := gs.book.Tutorial.Cell(id)
	if !ok {
		return " " + k.Dim.Render("nothing is running")
	}
	state := gs.book.Cells[id]
	left := " " + k.Strong.Render(theme.Clean(c.Title)) + "  " + k.Dim.Render(cells.Places(c, gs.names()))
	switch {
	case state.Running:
		left = " " + k.Accent.Render(gs.spinner.View()) + left
		return theme.Sides(left, k.Accent.Render("running "+gs.since(state.Started))+" ", gs.width)
	case state.Verdict.Grade != steps.NotRun:
		g := state.Verdict.Grade
		verdict := cells.GradeStyle(k, g).Render(cells.Mark(g) + " " + g.String())
		if gs.simulated() {
			verdict += k.Dim.Render(" SIMULATED")
		}
		return left + "  " + verdict + "  " + theme.Clean(state.Verdict.Reason)
	}
	return left
}
