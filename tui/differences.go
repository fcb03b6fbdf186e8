package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
)

// What the source documents say otherwise is numbered through the whole tutorial, so that a
// number in a margin, on the page and in a talk is the same one.

// introOf names a part's introduction among cells, whose ids never begin so.
func introOf(p steps.Part) string { return "/" + p.ID }

// markOf is the number of the first difference in a cell or an introduction.
func (m *Model) markOf(id string) int {
	if m.marks == nil {
		m.marks = map[string]int{}
		next := 1
		for _, p := range m.opts.Tutorial.Parts {
			m.marks[introOf(p)] = next
			next += len(cells.Differences(p.Prose))
			for _, c := range p.Cells {
				m.marks[c.ID] = next
				next += len(cells.Differences(c.Prose)) + len(cells.Differences(c.Tail))
			}
		}
	}
	return m.marks[id]
}

// allDifferences is the page with all of them.
func (m *Model) allDifferences() string {
	var b strings.Builder
	n := 0
	add := func(where string, sources ...string) {
		for _, source := range sources {
			for _, text := range cells.Differences(source) {
				n++
				fmt.Fprintf(&b, "## %d  %s\n\n%s\n\n", n, where, text)
			}
		}
	}
	for _, p := range m.opts.Tutorial.Parts {
		add(p.Title, p.Prose)
		for _, c := range p.Cells {
			add(p.Title+": "+c.Title+" ("+c.ID+")", c.Prose, c.Tail)
		}
	}
	if n == 0 {
		return ""
	}
	return "# What the source documents say otherwise\n\nEach has a number in the margin of the notebook; * there shows it in its place.\n\n" +
		b.String()
}

// toggleHere turns something on or off for the selected cell or the introduction.
func (m *Model) toggleHere(shown map[string]bool) tea.Cmd {
	id := introOf(m.open())
	if c, ok := m.selected(); ok {
		id = c.ID
	}
	shown[id] = !shown[id]
	return nil
}
