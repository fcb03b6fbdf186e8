package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// markOf is the number of the first difference in a cell or an introduction: those of the
// tutorial as it was opened, whatever was edited since.
func (nb *notebook) markOf(id string) int {
	if nb.marks == nil {
		_, nb.marks = nb.opts.Tutorial.Differences()
	}
	return nb.marks[id]
}

// toggleHere turns something on or off for the selected cell or the introduction.
func (nb *notebook) toggleHere(shown map[string]bool) tea.Cmd {
	id := steps.IntroID(nb.open().ID)
	if c, ok := nb.selected(); ok {
		id = c.ID
	}
	shown[id] = !shown[id]
	return nil
}
