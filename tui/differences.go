package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// markOf is the number of the first difference in a cell or an introduction: those of the
// tutorial as it was opened, whatever was edited since.
func (m *Model) markOf(id string) int {
	if m.marks == nil {
		_, m.marks = m.opts.Tutorial.Differences()
	}
	return m.marks[id]
}

// toggleHere turns something on or off for the selected cell or the introduction.
func (m *Model) toggleHere(shown map[string]bool) tea.Cmd {
	id := steps.IntroID(m.open().ID)
	if c, ok := m.selected(); ok {
		id = c.ID
	}
	shown[id] = !shown[id]
	return nil
}
