package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// reading keeps that the open part was read, once its end is on the screen.
func (nb *notebook) reading() tea.Cmd {
	id := nb.open().ID
	if nb.Opts.Learning == nil || id == "" || nb.wasRead[id] || nb.Layers.Top() != screen.Notebook {
		return nil
	}
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.settle(d, h)
	if nb.top(d)+h < d.total {
		return nil
	}
	nb.wasRead[id] = true
	return nb.Learn(func(l screen.Learning) error { return l.PartRead(id) })
}

// ran keeps that a cell passed, or warned.
func (m *Model) ran(e steps.CellEnded) tea.Cmd {
	c, ok := m.Book.Tutorial.Cell(e.Cell)
	if g := e.Verdict.Grade; !ok || c.Check.Any() || c.Scratch || c.Edited || g != steps.Pass && g != steps.Warn {
		return nil
	}
	return m.Learn(func(l screen.Learning) error { return l.CellRan(e.Cell) })
}
