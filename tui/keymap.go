package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/tui/theme"
)

// bind gives each layer the table of its keys. Keys, footer, help and the page about keys all come from these.
func (m *Model) bind() {
	m.notebook.keys, m.finder.keys, m.list.keys = m.notebookKeys(), m.findKeys(), m.checklistKeys()
	m.output.keys, m.output.searchKeys, m.editor.keys = m.outputKeys(), m.searchKeys(), m.editorKeys()
	m.wide.keys, m.presenter.keys, m.docs.keys = m.gaugeKeys(), m.presenterKeys(), m.docsKeys()
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
		{"gauges", m.wide.keys},
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

// press finds the binding of a key and acts.
func press(chapters []chapter, msg tea.KeyPressMsg) tea.Cmd {
	for _, c := range chapters {
		for _, b := range c.bindings {
			switch {
			case !key.Matches(msg, b.Binding):
			case b.digit != nil:
				return b.digit(int(msg.String()[0] - '1'))
			default:
				return b.act()
			}
		}
	}
	return nil
}

// footer is the line of keys, as many as fit.
func (m *Model) footer(width int) string {
	if m.layers.top().boxed() { // it has the keys, and says which
		return ""
	}
	var bs []binding
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			if b.foot.Key == "" || b.acts && m.opts.ReadOnly != "" || b.when != nil && !b.when() {
				continue
			}
			if b.does != nil {
				b.foot.Desc = b.does()
			}
			bs = append(bs, b)
		}
	}
	// The order on the screen is the keymap's; what is left out goes by rank.
	byRank := slices.Clone(bs)
	slices.SortStableFunc(byRank, func(a, b binding) int { return a.rank - b.rank })
	const gap = "  "
	fits, room := map[key.Help]bool{}, width-1+len(gap)
	for _, b := range byRank {
		if w := lipgloss.Width(b.foot.Key+" "+b.foot.Desc) + len(gap); w <= room {
			fits[b.foot] = true
			room -= w
		}
	}
	var shown []string
	for _, b := range bs {
		if fits[b.foot] {
			name := m.ink.Strong
			if b.rank == 0 {
				name = m.ink.Focus
			}
			shown = append(shown, name.Render(b.foot.Key)+" "+m.ink.Dim.Render(b.foot.Desc))
		}
	}
	return " " + strings.Join(shown, gap)
}

// besideJupyter is the least width of a help that has a column for Jupyter's keys: in a
// narrower one they stand behind what the key does here.
const besideJupyter = 90

// helpLines is the text of the help, from the same bindings.
func (hp *help) helpLines(width int) []string {
	column, differs := 0, 0
	for _, c := range hp.chapters() {
		for _, b := range c.bindings {
			column = max(column, lipgloss.Width(b.Help().Key))
			differs = max(differs, lipgloss.Width(b.jupyter))
		}
	}
	column = min(column, width/3)
	if differs = min(differs, width/4); width < besideJupyter {
		differs = 0
	}
	rest := width - column - 2
	if differs > 0 {
		rest -= differs + 2
	}
	keys := hp.ink.Strong.Width(column).MarginRight(2)
	text := lipgloss.NewStyle().Width(rest)
	other := hp.ink.Dim.Width(differs).MarginLeft(2)
	var blocks []string
	for i, c := range hp.chapters() {
		title := hp.ink.Focus.Render(c.title)
		if i == 0 && differs > 0 {
			title = theme.Pad(title, column+2+rest+2) + hp.ink.Dim.Render("in Jupyter")
		}
		blocks = append(blocks, title)
		for _, b := range c.bindings {
			does := b.Help().Desc
			if differs == 0 && b.jupyter != "" {
				does += hp.ink.Dim.Render(" (Jupyter: " + b.jupyter + ")")
			}
			row := []string{keys.Render(b.Help().Key), text.Render(does)}
			if differs > 0 && b.jupyter != "" {
				row = append(row, other.Render(b.jupyter))
			}
			blocks = append(blocks, lipgloss.JoinHorizontal(lipgloss.Top, row...))
		}
		blocks = append(blocks, "")
	}
	blocks = append(blocks, hp.ink.Focus.Render("mouse"))
	blocks = append(blocks,
		theme.Wrap("Click selects a part or a cell, the wheel scrolls. Hold shift to select text, as the terminal does, or "+
			"press M.",
			width, "", "")...)
	blocks = append(blocks, "", hp.ink.Focus.Render("marks"))
	blocks = append(blocks,
		theme.Wrap("✓ PASS   ! WARN   ✗ FAIL   ? INCONCLUSIVE   – SKIPPED   ● running   ◌ waits   ○ another railbench asks "+
			"this node   ◐ a part of which some cells passed, and others have not run", width, "", "")...)
	return strings.Split(lipgloss.JoinVertical(lipgloss.Left, blocks...), "\n")
}
