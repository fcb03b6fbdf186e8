package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// bind gives each layer the table of its keys. Keys, footer, help and the page about keys all come from these.
func (m *Model) bind() {
	m.notebook.keys, m.finder.keys, m.list.keys = m.notebookKeys(), m.findKeys(), m.checklistKeys()
	m.output.keys, m.output.searchKeys, m.editor.keys = m.outputKeys(), m.searchKeys(), m.editorKeys()
	m.gauges.keys, m.presenter.keys, m.docs.keys = m.gaugeKeys(), m.presenterKeys(), m.docsKeys()
}

// A KeyTable is the keys of one screen and what they do.
type KeyTable struct {
	Screen string
	Rows   [][3]string // keys, what they do, and what Jupyter does with them if that is something else
}

// KeyTables lists the keys of each screen. Those that work on all of them stand with
// the notebook's, which is the first.
func KeyTables() []KeyTable {
	m := New(nil, Options{})
	var tables []KeyTable
	for _, screen := range []struct {
		name     string
		chapters []chapter
	}{
		{"notebook", m.notebook.keys},
		{"search", m.finder.keys},
		{"checklist", m.list.keys},
		{"output", slices.Concat(m.output.keys, m.output.searchKeys)},
		{"editor", m.editor.keys},
		{"gauges", m.gauges.keys},
		{"stage", m.presenter.keys},
		{"pages", m.docs.keys},
	} {
		t := KeyTable{Screen: screen.name}
		for _, c := range screen.chapters {
			if c.title == m.everywhere().title && len(tables) > 0 {
				continue
			}
			for _, b := range c.bindings {
				t.Rows = append(t.Rows, [3]string{b.Help().Key, b.Help().Desc, b.jupyter})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// chapters are the bindings of the screen that is shown.
func (m *Model) chapters() []chapter { return m.all[m.layers.screen()].Bindings() }

// press finds the binding of a key and acts. ok is false where there is none.
func press(chapters []chapter, msg tea.KeyPressMsg) (cmd tea.Cmd, ok bool) {
	for _, c := range chapters {
		for _, b := range c.bindings {
			switch {
			case !key.Matches(msg, b.Binding):
			case b.digit != nil:
				return b.digit(int(msg.String()[0] - '1')), true
			default:
				return b.act(), true
			}
		}
	}
	return nil, false
}
