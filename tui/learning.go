package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// learn keeps part of what was read and run. If it can't be kept, that is said once.
func (sh *shared) learn(keep func(Learning) error) tea.Cmd {
	l := sh.opts.Learning
	if l == nil || sh.opts.ReadOnly != "" {
		return nil
	}
	return func() tea.Msg {
		if err := keep(l); err != nil {
			return wroteMsg(err.Error())
		}
		return nil
	}
}

// reading keeps that the open part was read, once its end is on the screen.
func (nb *notebook) reading() tea.Cmd {
	id := nb.open().ID
	if nb.opts.Learning == nil || id == "" || nb.wasRead[id] || nb.layers.top() != notebookLevel {
		return nil
	}
	d, h := nb.lines(), nb.layout().noteHeight
	nb.settle(d, h)
	if nb.top(d)+h < d.total {
		return nil
	}
	nb.wasRead[id] = true
	return nb.learn(func(l Learning) error { return l.PartRead(id) })
}

// ran keeps that a cell passed, or warned.
func (m *Model) ran(e steps.CellEnded) tea.Cmd {
	c, ok := m.book.Tutorial.Cell(e.Cell)
	if g := e.Verdict.Grade; !ok || c.Check.Any() || c.Scratch || c.Edited || g != steps.Pass && g != steps.Warn {
		return nil
	}
	return m.learn(func(l Learning) error { return l.CellRan(e.Cell) })
}
