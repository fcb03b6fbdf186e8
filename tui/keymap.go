package tui

import (
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/ink"
)

// keymap is every binding, by the screen on which it works. Keys, footer, help and
// README all come from it.
type keymap struct {
	notebook, output, gauges []chapter
}

func newKeymap() keymap {
	return keymap{notebook: notebookKeys(), output: outputKeys(), gauges: gaugeKeys()}
}

// KeyTable lists the notebook's keys and what they do, as README shows them.
func KeyTable() [][2]string {
	var rows [][2]string
	for _, c := range notebookKeys() {
		for _, b := range c.bindings {
			rows = append(rows, [2]string{b.shown, b.does})
		}
	}
	return rows
}

// chapters are the bindings of the screen that is shown.
func (m *Model) chapters() []chapter {
	switch {
	case m.gauges == gaugeFull:
		return m.keys.gauges
	case m.page != nil:
		return m.keys.output
	default:
		return m.keys.notebook
	}
}

// press finds the binding of a key and acts.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			for _, k := range b.keys {
				if k != name {
					continue
				}
				if b.digit != nil {
					return b.digit(m, int(name[0]-'1'))
				}
				return b.act(m)
			}
		}
	}
	return nil
}

// footer is the line of keys, as many as fit.
func (m *Model) footer(width int) string {
	var bs []binding
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			if b.brief != "" && (b.when == nil || b.when(m)) {
				bs = append(bs, b)
			}
		}
	}
	// The order on the screen is the keymap's; what is left out goes by rank.
	byRank := make([]int, len(bs))
	for i := range bs {
		byRank[i] = i
	}
	sort.SliceStable(byRank, func(i, j int) bool { return bs[byRank[i]].rank < bs[byRank[j]].rank })
	keep := make([]bool, len(bs))
	used := 1
	for _, i := range byRank {
		if w := ink.Width(footerKey(bs[i])) + 1 + ink.Width(bs[i].brief) + 2; used+w <= width+2 {
			keep[i] = true
			used += w
		}
	}
	var parts []string
	for i, b := range bs {
		if keep[i] {
			style := m.ink.Strong
			if b.rank == 0 {
				style = m.ink.Accent
			}
			parts = append(parts, style.Paint(footerKey(b))+" "+m.ink.Dim.Paint(b.brief))
		}
	}
	return " " + strings.Join(parts, "  ")
}

// footerKey is the first of a binding's keys, in the shortest form.
func footerKey(b binding) string {
	if b.brief == "run+next" {
		return "space"
	}
	key, _, _ := strings.Cut(b.shown, ", ")
	if b.brief == "move" || b.brief == "scroll" {
		key = "↑↓"
	}
	if b.brief == "long lines" {
		key = "←→"
	}
	return key
}

// helpLines is the text of the help, from the same bindings.
func (m *Model) helpLines(width int) []string {
	var lines []string
	column := 0
	for _, c := range m.chapters() {
		for _, b := range c.bindings {
			column = max(column, ink.Width(b.shown))
		}
	}
	column = min(column, width/3)
	for i, c := range m.chapters() {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, m.ink.Focus.Paint(c.title))
		for _, b := range c.bindings {
			keys := ink.Wrap([]ink.Span{{Text: b.shown, Style: m.ink.Strong}}, column, "", "")
			does := ink.Wrap([]ink.Span{{Text: b.does}}, width-column-2, "", "")
			for j := range max(len(keys), len(does)) {
				left, right := "", ""
				if j < len(keys) {
					left = keys[j]
				}
				if j < len(does) {
					right = does[j]
				}
				lines = append(lines, ink.Pad(left, column)+"  "+right)
			}
		}
	}
	lines = append(lines, "", m.ink.Focus.Paint("mouse"))
	lines = append(lines, ink.Wrap([]ink.Span{{Text: "Click selects a part or a cell, the wheel scrolls. Hold shift to select text, as the terminal does."}}, width, "", "")...)
	lines = append(lines, "", m.ink.Focus.Paint("marks"))
	lines = append(lines, ink.Wrap([]ink.Span{{Text: "✓ PASS   ! WARN   ✗ FAIL   ? INCONCLUSIVE   – SKIPPED   ● running   ◌ waits"}}, width, "", "")...)
	return lines
}
