package tui

import (
	"slices"

	"github.com/railbench/railbench/tui/screen"
)

// bind gives each layer the table of its keys. Keys, footer, help and the page about keys all come from these.
func (m *Model) bind() {
	m.notebook.Keys, m.finder.Keys, m.editor.Keys = m.notebookKeys(), m.findKeys(), m.editorKeys()
	m.list.Bind(m.common())
	m.output.Bind(m.common())
	m.gauges.Keys = m.gaugeKeys()
	m.presenter.Bind(m.everywhere(), m.notebook.run, m.quit.Leave)
	m.docs.Bind(m.everywhere())
}

// A KeyTable is the keys of one screen and what they do.
type KeyTable struct {
	Screen string
	Rows   [][3]string // keys, what they do, and what Jupyter does with them if that is something else
}

// KeyTables lists the keys of each screen. Those that work on all of them stand with
// the notebook's, which is the first.
func KeyTables() []KeyTable {
	m := New(nil, screen.Options{})
	var tables []KeyTable
	for _, screen := range []struct {
		name     string
		chapters []screen.Chapter
	}{
		{"notebook", m.notebook.Keys},
		{"search", m.finder.Keys},
		{"checklist", m.list.Keys},
		{"output", slices.Concat(m.output.Keys, m.output.SearchKeys())},
		{"editor", m.editor.Keys},
		{"gauges", m.gauges.Keys},
		{"stage", m.presenter.Keys},
		{"pages", m.docs.Keys},
	} {
		t := KeyTable{Screen: screen.name}
		for _, c := range screen.chapters {
			if c.Title == m.everywhere().Title && len(tables) > 0 {
				continue
			}
			for _, b := range c.Bindings {
				t.Rows = append(t.Rows, [3]string{b.Help().Key, b.Help().Desc, b.Jupyter})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// chapters are the bindings of the screen that is shown.
func (m *Model) chapters() []screen.Chapter { return m.all[m.Layers.Screen()].Bindings() }
