package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// Cells are edited, added and removed as in Jupyter's command mode. What is edited is
// the session's: no file of a tutorial changes.

// editor is a cell's script, or a note's text, that is being edited.
type editor struct {
	area textarea.Model
	part string
	cell string
	role int
	was  string // what it was when the editor was opened
	open string // the same as the text area shows it: what it can't show is lost only where something is typed
	tabs bool   // it was indented with tabs, which the text area shows as blanks
}

// edit opens the selected cell's script in the notebook's place.
func (m *Model) edit() tea.Cmd {
	c, ok := m.selected()
	switch {
	case !ok:
		m.notice = "select a cell first: its script is what can be edited"
		return nil
	case c.Own != "":
		m.notice = "railbench does this itself: there is no script"
		return nil
	case m.opts.ReadOnly != "":
		m.notice = onlyFollows
		return nil
	}
	m.editRole(c, 0)
	return nil
}

// tooLong reports whether the text area would cut a text off.
func tooLong(text string) bool {
	shown := strings.ReplaceAll(text, "\t", strings.Repeat(" ", tabColumns))
	return utf8.RuneCountInString(shown) > maxScript || strings.Count(text, "\n") >= maxLines
}

// editRole opens the editor on a script, or on a note's text.
func (m *Model) editRole(c steps.Cell, role int) {
	text := c.Prose
	if len(c.Roles) > 0 {
		text = c.Roles[role].Script
	}
	if tooLong(text) {
		m.notice = "it is too long to be edited here: edit the file that it is from"
		return
	}
	area := textarea.New()
	area.CharLimit = maxScript
	area.MaxHeight = maxLines // its digits are the width of their numbers
	area.Prompt = ""
	area.ShowLineNumbers = true
	area.KeyMap.Paste = key.NewBinding() // the terminal pastes; this would run a program that reads a clipboard
	area.KeyMap.CopySelection = key.NewBinding()
	area.SetVirtualCursor(true)
	area.SetValue(strings.TrimSuffix(text, "\n"))
	area.MoveToBegin()
	m.editor = &editor{
		area: area, part: c.Part, cell: c.ID, role: role, was: text, open: area.Value(),
		tabs: strings.Contains(text, "\n\t") || strings.HasPrefix(text, "\t"),
	}
	if c.Part == "" {
		m.editor.part = m.open().ID
	}
	m.layers.drop(outputLevel)
	m.layers.push(editorLevel)
	m.follow = false
	m.fitEditor()
	m.dressEditor()
	m.editor.area.Focus() // its command makes the cursor blink, which an idle screen pays for
}

// maxScript bounds what a paste can bring into a script.
const maxScript = 64 << 10

// maxLines is how many lines the text area takes.
const maxLines = 9999

func (m *Model) fitEditor() {
	if !m.layers.has(editorLevel) {
		return
	}
	l := m.layout()
	m.editor.area.SetWidth(max(8, l.noteWidth-1))
	m.editor.area.SetHeight(max(1, l.noteHeight-2))
}

// dressEditor gives the text area the screen's colours, and none where it has none.
func (m *Model) dressEditor() {
	if !m.layers.has(editorLevel) {
		return
	}
	style := textarea.StyleState{
		LineNumber: m.ink.Dim.Style, CursorLineNumber: m.ink.Accent.Style, EndOfBuffer: m.ink.Faint.Style,
	}
	m.editor.area.SetStyles(textarea.Styles{
		Focused: style, Blurred: style,
		Cursor: textarea.CursorStyle{Color: m.ink.Accent.GetForeground()},
	})
}

// text is what was typed, in the form that the cell had it.
func (e *editor) text() string {
	text := e.area.Value()
	if text == e.open {
		return e.was
	}
	if e.tabs {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			rest := strings.TrimLeft(line, " ")
			blanks := len(line) - len(rest)
			lines[i] = strings.Repeat("\t", blanks/tabColumns) + strings.Repeat(" ", blanks%tabColumns) + rest
		}
		text = strings.Join(lines, "\n")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// tabColumns is how many blanks the text area makes of a tab.
const tabColumns = 4

// editorKey is a key while a script is edited.
func (m *Model) editorKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+s", "ctrl+c":
		return m.keepEdit()
	case "ctrl+enter", "alt+enter", "ctrl+r":
		return tea.Batch(m.keepEdit(), m.run())
	case "shift+enter":
		return tea.Batch(m.keepEdit(), m.runAndNext())
	case "ctrl+t":
		return m.nextScript()
	case "ctrl+o":
		return m.otherEditor()
	case "tab":
		m.editor.area.InsertString(strings.Repeat(" ", tabColumns))
		return nil
	}
	m.editor.area, _ = m.editor.area.Update(msg)
	return nil
}

type (
	// editorMsg brings the user's own editor, ready to run.
	editorMsg struct {
		run  tea.ExecCommand
		read func() string
		err  error
	}
	// editedMsg says that it has run.
	editedMsg struct {
		read func() string
		err  error
	}
)

// otherEditor hands what was typed to the user's own editor.
func (m *Model) otherEditor() tea.Cmd {
	open, text := m.opts.Editor, m.editor.text()
	if open == nil {
		m.notice = "there is no other editor here"
		return nil
	}
	return func() tea.Msg {
		run, read, err := open(text)
		return editorMsg{run, read, err}
	}
}

// handOver gives the terminal to the user's editor.
func (m *Model) handOver(msg editorMsg) tea.Cmd {
	m.dirty = true
	switch {
	case msg.err != nil:
		m.notice = msg.err.Error()
		return nil
	case len(m.questions) > 0 || !m.layers.has(editorLevel):
		m.notice = "the editor was not opened: something else came meanwhile"
		return nil
	}
	return tea.Exec(msg.run, func(err error) tea.Msg { return editedMsg{msg.read, err} })
}

// takeOver shows what the user's editor has made of the text; esc keeps it.
func (m *Model) takeOver(msg editedMsg) tea.Cmd {
	m.dirty = true
	switch {
	case msg.err != nil:
		m.notice = "the editor: " + msg.err.Error() + "; the text is as it was"
	case !m.layers.has(editorLevel):
	case tooLong(msg.read()):
		m.notice = "the editor: the text has become too long to be a cell's; it is as it was"
	default:
		m.editor.area.SetValue(strings.TrimSuffix(msg.read(), "\n"))
		m.editor.area.MoveToBegin()
	}
	return nil
}

// nextScript goes to the cell's next script, and keeps this one.
func (m *Model) nextScript() tea.Cmd {
	e := m.editor
	cmd := m.keepEdit()
	c, ok := m.book.Tutorial.Cell(e.cell)
	if !ok || len(c.Roles) < 2 {
		m.notice = "it has one script"
		return cmd
	}
	// What was kept comes back as an event; the other script is as it was.
	next := (e.role + 1) % len(c.Roles)
	for c.Roles[next].Shared { // it is the script that was just kept
		next = (next + 1) % len(c.Roles)
	}
	m.editRole(c, next)
	return cmd
}

// keepEdit puts what was typed into the cell, and closes the editor.
func (m *Model) keepEdit() tea.Cmd {
	e := m.editor
	m.layers.drop(editorLevel)
	text := e.text()
	if text == e.was {
		return nil
	}
	return m.change(e.part, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			if all[i].ID != e.cell {
				continue
			}
			if len(all[i].Roles) == 0 {
				all[i].Prose = text
				continue
			}
			all[i] = all[i].WithScript(e.role, text)
			all[i].Edited = true
		}
		return all
	})
}

// change makes new cells of a part's, and remembers the old ones for z.
// A part is kept whole: cells share their slices with it, and none of those is written to.
func (m *Model) change(part string, edit func([]steps.Cell) []steps.Cell) tea.Cmd {
	for _, p := range m.parts() {
		if p.ID != part {
			continue
		}
		cells := edit(slices.Clone(p.Cells))
		m.undone = append(m.undone, steps.PartChanged{Part: part, Cells: p.Cells})
		if over := len(m.undone) - maxUndo; over > 0 {
			m.undone = m.undone[over:]
		}
		return m.put(steps.PartChanged{Part: part, Cells: cells})
	}
	return nil
}

// maxUndo is how many changes of cells can be taken back.
const maxUndo = 100

// put tells the session, which tells everybody. This screen shows it at once: the next
// key may be about it.
func (m *Model) put(e steps.PartChanged) tea.Cmd {
	if m.opts.ReadOnly == "" {
		m.book = m.book.Apply(e)
	}
	return m.ask(func(s Session) { s.Edit(e.Part, e.Cells) })
}

// undoEdit takes back the last change of cells.
func (m *Model) undoEdit() tea.Cmd {
	if len(m.undone) == 0 {
		m.notice = "no cell was edited, added or removed"
		return nil
	}
	last := m.undone[len(m.undone)-1]
	m.undone = m.undone[:len(m.undone)-1]
	for i, p := range m.parts() {
		if p.ID == last.Part {
			m.part = i
		}
	}
	m.notice = "the last change of the cells is taken back"
	had := m.open().Cells
	cmd := m.put(last)
	for _, c := range m.open().Cells {
		if !slices.ContainsFunc(had, func(x steps.Cell) bool { return x.ID == c.ID }) {
			m.show(c.ID)
		}
	}
	return cmd
}

func (m *Model) insertAbove() tea.Cmd { return m.insert(0) }
func (m *Model) insertBelow() tea.Cmd { return m.insert(1) }

// insert adds a scratch cell before the selected one, or so many after it.
func (m *Model) insert(after int) tea.Cmd {
	part := m.open()
	if part.ID == "" {
		return nil
	}
	at := max(0, min(m.cursor().item-1+after, len(part.Cells)))
	c := steps.Cell{
		ID: m.scratchID(), Part: part.ID, Title: "Scratch", Scratch: true, Judge: "exit-status",
		Roles: []steps.Role{{On: steps.OnHere, Script: ""}},
	}
	cmd := m.change(part.ID, func(all []steps.Cell) []steps.Cell { return slices.Insert(all, at, c) })
	if m.opts.ReadOnly != "" {
		return cmd
	}
	m.show(c.ID)
	m.editRole(c, 0)
	return cmd
}

// scratchID is one that no cell has, nor has had: its output may still be there.
func (m *Model) scratchID() string {
	for i := 1; ; i++ {
		id := fmt.Sprintf("scratch-%d", i)
		_, taken := m.book.Tutorial.Cell(id)
		_, ran := m.book.Cells[id]
		if !taken && !ran && !slices.ContainsFunc(m.undone, func(e steps.PartChanged) bool {
			return slices.ContainsFunc(e.Cells, func(c steps.Cell) bool { return c.ID == id })
		}) {
			return id
		}
	}
}

// remove takes the selected cell away at the second d.
func (m *Model) remove() tea.Cmd {
	c, ok := m.selected()
	switch {
	case !ok:
		return nil
	case m.book.Cells[c.ID].Running || slices.Contains(m.book.Queue, c.ID):
		m.notice = "it runs, or waits: i i interrupts"
		return nil
	case m.before != "d":
		m.notice = "d again removes the cell; z brings it back"
		m.before = "d"
		return nil
	}
	m.notice, m.before = "removed; z brings it back", ""
	return m.takeAway(c)
}

// takeAway takes a cell out of the open part.
func (m *Model) takeAway(c steps.Cell) tea.Cmd {
	cmd := m.change(m.open().ID, func(all []steps.Cell) []steps.Cell {
		return slices.DeleteFunc(all, func(x steps.Cell) bool { return x.ID == c.ID })
	})
	m.cursor().item = max(0, min(m.cursor().item, len(m.open().Cells)))
	return cmd
}

// copyCell keeps the selected cell for v.
func (m *Model) copyCell() tea.Cmd {
	c, ok := m.selected()
	if !ok {
		m.notice = "select a cell to copy it"
		return nil
	}
	m.clip, m.notice = &c, "v pastes "+c.Title+" below, V above"
	return nil
}

// cut takes the selected cell away, for v.
func (m *Model) cut() tea.Cmd {
	c, ok := m.selected()
	switch {
	case !ok:
		m.notice = "select a cell to cut it"
		return nil
	case m.book.Cells[c.ID].Running || slices.Contains(m.book.Queue, c.ID):
		m.notice = "it runs, or waits: i i interrupts"
		return nil
	case m.opts.ReadOnly != "":
		m.notice = onlyFollows
		return nil
	}
	m.clip, m.notice = &c, "cut; v pastes it, z brings it back"
	return m.takeAway(c)
}

func (m *Model) pasteAbove() tea.Cmd { return m.pasteCell(0) }
func (m *Model) pasteBelow() tea.Cmd { return m.pasteCell(1) }

// pasteCell puts the kept cell before the selected one, or so many after it. One that was
// cut comes back as it was, with its output; a copy is a scratch cell.
func (m *Model) pasteCell(after int) tea.Cmd {
	if m.clip == nil {
		m.notice = "x cuts a cell, c copies it: then v pastes it"
		return nil
	}
	part, c := m.open(), *m.clip
	if part.ID == "" {
		return nil
	}
	c.Part = part.ID
	if _, taken := m.book.Tutorial.Cell(c.ID); taken {
		c.ID, c.Scratch = m.scratchID(), true
	}
	at := max(0, min(m.cursor().item-1+after, len(part.Cells)))
	cmd := m.change(part.ID, func(all []steps.Cell) []steps.Cell { return slices.Insert(all, at, c) })
	m.show(c.ID)
	return cmd
}

// toggleNote makes a scratch cell a note, and a note a script.
func (m *Model) toggleNote() tea.Cmd {
	return m.scratch(func(c *steps.Cell) {
		if c.Note() {
			c.Roles, c.Prose, c.Judge = []steps.Role{{On: steps.OnHere, Script: c.Prose}}, "", "exit-status"
		} else {
			c.Prose, c.Roles, c.Judge = c.Roles[0].Script, nil, ""
		}
	})
}

// cyclePlace moves a scratch cell to the other node, and then to both.
func (m *Model) cyclePlace() tea.Cmd {
	return m.scratch(func(c *steps.Cell) {
		if len(c.Roles) > 0 {
			c.Roles = slices.Clone(c.Roles)
			c.Roles[0].On = (c.Roles[0].On + 1) % (steps.OnBoth + 1)
		}
	})
}

// scratch changes the selected cell where it is the user's own: the tutorial's say where
// they run.
func (m *Model) scratch(edit func(*steps.Cell)) tea.Cmd {
	c, ok := m.selected()
	if !ok || !c.Scratch {
		m.notice = "only a scratch cell can do that: a and b add one"
		return nil
	}
	return m.change(m.open().ID, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			if all[i].ID == c.ID {
				edit(&all[i])
			}
		}
		return all
	})
}

// restart is the second 0: all that ran is forgotten, and the nodes are looked at anew
// by the next cell.
func (m *Model) restart() tea.Cmd {
	if m.before != "0" {
		cmd := m.resetPeaks()
		m.notice, m.before = "peaks and averages start anew; 0 again clears all outputs and verdicts", "0"
		return cmd
	}
	if m.busy() {
		m.notice = "something runs: i i interrupts it"
		return nil
	}
	m.notice = "all outputs and verdicts are cleared"
	var ids []string
	for id := range m.book.Cells {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return m.ask(func(s Session) {
		for _, id := range ids {
			s.Clear(id)
		}
	})
}

// editPane is the editor, exactly as large as the notebook.
func (m *Model) editPane(width, height int) []string {
	e := m.editor
	c, _ := m.book.Tutorial.Cell(e.cell)
	title := " " + m.ink.Focus.Render(theme.Clean(c.Title)) + m.ink.Dim.Render(" · edit")
	if e.role < len(c.Roles) {
		one := c
		one.Roles, one.EachRail = c.Roles[e.role:e.role+1], false
		title += m.ink.Dim.Render(" " + cells.Places(one, m.names()))
	}
	right := ""
	if e.text() != e.was {
		right = m.ink.Accent.Render("changed ")
	}
	lines := []string{theme.Pad(theme.Sides(title, right, width), width), strings.Repeat(" ", width)}
	for line := range strings.SplitSeq(e.area.View(), "\n") {
		lines = append(lines, theme.Pad(" "+line, width))
	}
	return fill(lines, height, width)
}

// editorKeys are told in the footer; editorKey has them.
func (m *Model) editorKeys() []chapter {
	return []chapter{{"edit", []binding{
		on("esc, ctrl+s, ctrl+c", "keep what was typed, and close the editor; z in the notebook takes it back", "esc").
			brief(1, "esc", "keep (z takes back)"),
		on("ctrl+enter, ctrl+r", "keep it and run the cell (many terminals can't send ctrl+enter)", "ctrl+r").
			brief(2, "ctrl+r", "keep and run"),
		on("shift+enter", "keep it, run the cell and select the next one", "shift+enter"),
		on("ctrl+o", "edit it in $VISUAL or $EDITOR", "ctrl+o").brief(5, "ctrl+o", "$EDITOR"),
		on("ctrl+t", "the cell's next script", "ctrl+t").brief(4, "ctrl+t", "next script"),
	}}}
}
