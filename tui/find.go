package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// A search through the whole notebook: what is written in it, and what its cells printed.
// One through an opened output is in search.go.

// lookup is what is looked for, and where it is.
type lookup struct {
	line   line // the words as they are typed
	needle needle
	hits   []match
	at     int // the one that is shown
	part   int // where the search began
	begun  cursor
	where  string // how to see what is found where the screen doesn't show it
	around string // that the last step went past an end of the notebook
}

// A match is an introduction or a cell that has the words.
type match struct {
	part, item int
	// line is the first of the kept lines of its output that has them; -1 where they are
	// in what is written.
	line int
}

// findKeys work while the words are typed; every other key is a letter of them.
func (m *Model) findKeys() []chapter {
	return []chapter{{"search", []binding{
		on("enter", "go on with n and N", "enter").to(m.keepFind).brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").to(m.dropFind).brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").to(m.eraseFind),
		on("ctrl+u", "take all of it back", "ctrl+u").
			to(m.emptyFind).brief(3, "ctrl+u", "empty"),
	}}}
}

// typeFind begins to type what is looked for.
func (m *Model) typeFind() tea.Cmd {
	m.follow, m.watch = false, ""
	m.layers.push(wordsLevel)
	m.lookup = lookup{line: newLine(maxNeedle), part: m.part, begun: *m.cursor()}
	return nil
}

// findKey is a key while the words are typed.
func (m *Model) findKey(msg tea.KeyPressMsg) tea.Cmd {
	for _, b := range m.keys.find[0].bindings {
		if slices.Contains(b.Keys(), msg.String()) {
			return b.act()
		}
	}
	if m.lookup.line.key(msg) {
		return m.lookFor(m.lookup.line.text())
	}
	return nil
}

// lookFor changes the words, and shows the first place from where the search began.
func (m *Model) lookFor(words string) tea.Cmd {
	f := &m.lookup
	if words == f.needle.words {
		return nil
	}
	f.needle = newNeedle(words)
	m.part = f.part
	*m.cursor() = f.begun
	if f.hits, f.at = m.matches(), 0; len(f.hits) == 0 {
		return nil
	}
	f.at = max(0, slices.IndexFunc(f.hits, func(p match) bool {
		return p.part > f.part || p.part == f.part && p.item >= f.begun.item
	}))
	m.showPlace()
	return nil
}

// matches are all that have the words, in the notebook's order: of an output its first line that has them;
// once it is opened, n goes through the others.
func (m *Model) matches() (all []match) {
	n := &m.lookup.needle
	if n.words == "" {
		return nil
	}
	for i, p := range m.parts() {
		if n.count(p.Title+"\n"+p.Prose) > 0 {
			all = append(all, match{i, 0, -1})
		}
		for j, c := range p.Cells {
			state := m.book.Cells[c.ID]
			if n.count(wording(c, state.Verdict)) > 0 {
				all = append(all, match{i, j + 1, -1})
			}
			for k, l := range state.Output.Lines(0, state.Output.Len()) {
				if n.count(l.Text) > 0 {
					all = append(all, match{i, j + 1, k})
					break
				}
			}
		}
	}
	return all
}

// wording is all that is written in a cell, and of it.
func wording(c steps.Cell, v steps.Verdict) string {
	text := []string{c.ID, c.Title, c.Prose, c.Tail, v.Reason}
	for _, r := range c.Roles {
		text = append(text, r.Script)
	}
	for _, e := range v.Evidence {
		text = append(text, e.Name, fmt.Sprint(e.Value), e.Unit)
		if e.Expected != nil {
			text = append(text, e.Expected.From)
		}
	}
	for _, x := range v.Charts {
		text = append(text, x.Title)
	}
	for _, t := range v.Tables {
		text = append(text, t.Title, t.Note)
		for _, c := range t.Columns {
			text = append(text, c.Name)
		}
		for _, row := range t.Rows {
			text = append(text, row...)
		}
	}
	return strings.Join(text, "\n")
}

// showPlace selects the place where the search stands, and shows the line that has the words.
func (m *Model) showPlace() {
	at := m.lookup.hits[m.lookup.at]
	m.goToPart(at.part)
	d, h := m.doc(), m.layout().noteHeight
	m.choose(at.item, d, h)
	m.lookup.where = ""
	if at.line >= 0 {
		m.lookup.where = "in its output; O opens it there"
	}
	for i, l := range d.items[at.item] {
		if m.lookup.needle.count(ansi.Strip(l)) == 0 {
			continue
		}
		m.settle(d, h)
		if line := d.starts[at.item] + i; line < m.top(d) || line >= m.top(d)+h {
			m.setTop(d, line-h/3, h)
			m.cursor().loose = true
		}
		return
	}
	if at.line < 0 {
		c := m.parts()[at.part].Cells[max(0, at.item-1)]
		m.lookup.where = m.foldedIn(c)
	}
}

// foldedIn says which key shows what a search has found in a cell and the screen doesn't show.
func (m *Model) foldedIn(c steps.Cell) string {
	n, v := &m.lookup.needle, m.book.Cells[c.ID].Verdict
	evidence, scripts := v, c
	evidence.Tables, evidence.Charts = nil, nil
	scripts.Prose, scripts.Tail = "", ""
	tables := v
	tables.Evidence, tables.Reason = nil, ""
	var keys []string
	for _, one := range []struct {
		key  string
		text string
	}{
		{"e", wording(steps.Cell{}, evidence)},
		{"S", wording(scripts, steps.Verdict{})},
		{cells.WideKey, wording(steps.Cell{}, tables)},
	} {
		if n.count(one.text) > 0 {
			keys = append(keys, one.key)
		}
	}
	if keys == nil {
		return "folded"
	}
	return "folded: " + strings.Join(keys, " or ") + " shows it"
}

// nextPlace goes to the next place that has the words, or to the one before.
func (m *Model) nextPlace(way int) tea.Cmd {
	f := &m.lookup
	if f.needle.words == "" {
		m.notice = "/ looks for something"
		return nil
	}
	f.hits = m.matches() // cells may have run since
	if len(f.hits) == 0 {
		m.notice = "nothing found"
		return nil
	}
	to := f.at + way
	if f.at >= len(f.hits) || f.hits[f.at].part != m.part || f.hits[f.at].item != m.cursor().item {
		// One has moved on since: what is selected counts.
		to = slices.IndexFunc(f.hits, func(p match) bool {
			return p.part > m.part || p.part == m.part && p.item > m.cursor().item
		})
		if to < 0 {
			to = len(f.hits)
		}
		if way < 0 {
			to--
		}
	}
	wrapped := to < 0 || to >= len(f.hits)
	f.at = (to + len(f.hits)) % len(f.hits)
	m.showPlace()
	// Beside the count and not in its place: it tells why that has jumped.
	if f.around = ""; wrapped {
		f.around = map[bool]string{true: "on from the beginning", false: "on from the end"}[way > 0]
	}
	return nil
}

func (m *Model) eraseFind() tea.Cmd {
	if m.lookup.line.text() == "" {
		return m.dropFind()
	}
	m.lookup.line.key(tea.KeyPressMsg{Code: tea.KeyBackspace})
	return m.lookFor(m.lookup.line.text())
}

func (m *Model) emptyFind() tea.Cmd {
	m.lookup.line.set("")
	return m.lookFor("")
}

// keepFind ends the typing.
func (m *Model) keepFind() tea.Cmd {
	m.layers.drop(wordsLevel)
	if m.lookup.needle.words != "" && len(m.lookup.hits) == 0 {
		m.notice = "nothing found"
	}
	return nil
}

// dropFind leaves the search and goes back to where it began.
func (m *Model) dropFind() tea.Cmd {
	m.part = m.lookup.part
	*m.cursor() = m.lookup.begun
	m.layers.drop(wordsLevel)
	m.lookup = lookup{}
	return nil
}

// leaveFind takes the marks away.
func (m *Model) leaveFind() tea.Cmd {
	m.lookup = lookup{}
	return nil
}

// finding reports whether something is looked for in the notebook.
func (m *Model) finding() bool { return m.lookup.needle.words != "" }

// openFound opens the selected cell's output, and where something is looked for, at that.
func (m *Model) openFound() tea.Cmd {
	cmd := m.openOutput()
	if m.layers.has(outputLevel) && m.finding() {
		m.page.follow = false
		m.page.search.sought(m.lookup.needle.words)
		m.page.search.scan(m.pageState().Output)
		if m.page.search.total == 0 {
			m.page.search = search{}
			return cmd
		}
		m.nextFound(1)
	}
	return cmd
}

// lookedFor tells what is looked for and in how many places it is; empty where nothing is.
func (m *Model) lookedFor() string {
	f := &m.lookup
	if !m.layers.has(wordsLevel) && !m.finding() {
		return ""
	}
	k := m.ink
	text := " " + k.Accent.Render("/"+theme.Clean(f.needle.words))
	if m.layers.has(wordsLevel) {
		text = " " + k.Accent.Render("/") + f.line.view(k, k.Accent, m.width)
	}
	switch {
	case f.needle.words == "":
	case len(f.hits) == 0:
		text += "  " + k.Warn.Render("nothing found")
	default:
		text += "  " + k.Strong.Render(fmt.Sprintf("%s of %s", steps.Thousands(f.at+1), steps.Thousands(len(f.hits))))
		if more := strings.TrimSpace(f.around + "  " + f.where); more != "" {
			text += "  " + k.Accent.Render(more)
		}
	}
	return text + "  "
}

// marked shows the words in a drawn line.
func (m *Model) marked(line string) string {
	if !m.finding() {
		return line
	}
	text := ansi.Strip(line)
	var b strings.Builder
	end := 0
	m.lookup.needle.in(text, func(from, to int) bool {
		a, z := ansi.StringWidth(text[:from]), ansi.StringWidth(text[:to])
		b.WriteString(ansi.Cut(line, end, a) + m.ink.Found.Render(text[from:to]))
		end = z
		return true
	})
	if end == 0 {
		return line
	}
	return b.String() + ansi.Cut(line, end, ansi.StringWidth(text))
}
