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

// editor is the layer in which a cell's script, or a note's text, is edited.
type editor struct {
	*shared
	inert
	notebook *notebook
	keys     []chapter
	edited
}

// edited is what is being edited.
type edited struct {
	area textarea.Model
	part string
	cell string
	role int
	was  string // what it was when the editor was opened
	open string // the same as the text area shows it: what it can't show is lost only where something is typed
	tabs bool   // it was indented with tabs, which the text area shows as blanks
}

// edit opens the selected cell's script in the notebook's place.
func (nb *notebook) edit() tea.Cmd {
	c, ok := nb.selected()
	switch {
	case !ok:
		nb.notice = "select a cell first: its script is what can be edited"
		return nil
	case c.Own != "":
		nb.notice = "railbench does this itself: there is no script"
		return nil
	case nb.opts.ReadOnly != "":
		nb.notice = onlyFollows
		return nil
	}
	nb.editor.editRole(c, 0)
	return nil
}

// tooLong reports whether the text area would cut a text off.
func tooLong(text string) bool {
	shown := strings.ReplaceAll(text, "\t", strings.Repeat(" ", tabColumns))
	return utf8.RuneCountInString(shown) > maxScript || strings.Count(text, "\n") >= maxLines
}

// editRole opens the editor on a script, or on a note's text.
func (ed *editor) editRole(c steps.Cell, role int) {
	text := c.Prose
	if len(c.Roles) > 0 {
		text = c.Roles[role].Script
	}
	if tooLong(text) {
		ed.notice = "it is too long to be edited here: edit the file that it is from"
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
	ed.edited = edited{
		area: area, part: c.Part, cell: c.ID, role: role, was: text, open: area.Value(),
		tabs: strings.Contains(text, "\n\t") || strings.HasPrefix(text, "\t"),
	}
	if c.Part == "" {
		ed.part = ed.notebook.open().ID
	}
	ed.layers.drop(outputLevel)
	ed.layers.push(editorLevel)
	ed.follow = false
	ed.fitEditor()
	ed.dressEditor()
	ed.area.Focus() // its command makes the cursor blink, which an idle screen pays for
}

// maxScript bounds what a paste can bring into a script.
const maxScript = 64 << 10

// maxLines is how many lines the text area takes.
const maxLines = 9999

func (ed *editor) fitEditor() {
	if !ed.layers.has(editorLevel) {
		return
	}
	l := ed.layout()
	ed.area.SetWidth(max(8, l.noteWidth-1))
	ed.area.SetHeight(max(1, l.noteHeight-2))
}

// dressEditor gives the text area the screen's colours, and none where it has none.
func (ed *editor) dressEditor() {
	if !ed.layers.has(editorLevel) {
		return
	}
	style := textarea.StyleState{
		LineNumber: ed.ink.Dim.Style, CursorLineNumber: ed.ink.Accent.Style, EndOfBuffer: ed.ink.Faint.Style,
	}
	ed.area.SetStyles(textarea.Styles{
		Focused: style, Blurred: style,
		Cursor: textarea.CursorStyle{Color: ed.ink.Accent.GetForeground()},
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

// Key is a key while a script is edited.
func (ed *editor) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+s", "ctrl+c":
		return ed.keepEdit()
	case "ctrl+enter", "alt+enter", "ctrl+r":
		return tea.Batch(ed.keepEdit(), ed.notebook.run())
	case "shift+enter":
		return tea.Batch(ed.keepEdit(), ed.notebook.runAndNext())
	case "ctrl+t":
		return ed.nextScript()
	case "ctrl+o":
		return ed.otherEditor()
	case "tab":
		ed.area.InsertString(strings.Repeat(" ", tabColumns))
		return nil
	}
	ed.area, _ = ed.area.Update(msg)
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
func (ed *editor) otherEditor() tea.Cmd {
	open, text := ed.opts.Editor, ed.text()
	if open == nil {
		ed.notice = "there is no other editor here"
		return nil
	}
	return func() tea.Msg {
		run, read, err := open(text)
		return editorMsg{run, read, err}
	}
}

// handOver gives the terminal to the user's editor.
func (ed *editor) handOver(msg editorMsg) tea.Cmd {
	ed.dirty = true
	switch {
	case msg.err != nil:
		ed.notice = msg.err.Error()
		return nil
	case ed.layers.has(questionLevel) || !ed.layers.has(editorLevel):
		ed.notice = "the editor was not opened: something else came meanwhile"
		return nil
	}
	return tea.Exec(msg.run, func(err error) tea.Msg { return editedMsg{msg.read, err} })
}

// takeOver shows what the user's editor has made of the text; esc keeps it.
func (ed *editor) takeOver(msg editedMsg) tea.Cmd {
	ed.dirty = true
	switch {
	case msg.err != nil:
		ed.notice = "the editor: " + msg.err.Error() + "; the text is as it was"
	case !ed.layers.has(editorLevel):
	case tooLong(msg.read()):
		ed.notice = "the editor: the text has become too long to be a cell's; it is as it was"
	default:
		ed.area.SetValue(strings.TrimSuffix(msg.read(), "\n"))
		ed.area.MoveToBegin()
	}
	return nil
}

// nextScript goes to the cell's next script, and keeps this one.
func (ed *editor) nextScript() tea.Cmd {
	cmd := ed.keepEdit()
	c, ok := ed.book.Tutorial.Cell(ed.cell)
	if !ok || len(c.Roles) < 2 {
		ed.notice = "it has one script"
		return cmd
	}
	// What was kept comes back as an event; the other script is as it was.
	next := (ed.role + 1) % len(c.Roles)
	for c.Roles[next].Shared { // it is the script that was just kept
		next = (next + 1) % len(c.Roles)
	}
	ed.editRole(c, next)
	return cmd
}

// keepEdit puts what was typed into the cell, and closes the editor.
func (ed *editor) keepEdit() tea.Cmd {
	ed.layers.drop(editorLevel)
	text := ed.text()
	if text == ed.was {
		return nil
	}
	return ed.notebook.change(ed.part, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			if all[i].ID != ed.cell {
				continue
			}
			if len(all[i].Roles) == 0 {
				all[i].Prose = text
				continue
			}
			all[i] = all[i].WithScript(ed.role, text)
			all[i].Edited = true
		}
		return all
	})
}

// change makes new cells of a part's, and remembers the old ones for z.
// A part is kept whole: cells share their slices with it, and none of those is written to.
func (nb *notebook) change(part string, edit func([]steps.Cell) []steps.Cell) tea.Cmd {
	for _, p := range nb.parts() {
		if p.ID != part {
			continue
		}
		cells := edit(slices.Clone(p.Cells))
		nb.undone = append(nb.undone, steps.PartChanged{Part: part, Cells: p.Cells})
		if over := len(nb.undone) - maxUndo; over > 0 {
			nb.undone = nb.undone[over:]
		}
		return nb.put(steps.PartChanged{Part: part, Cells: cells})
	}
	return nil
}

// maxUndo is how many changes of cells can be taken back.
const maxUndo = 100

// put tells the session, which tells everybody. This screen shows it at once: the next
// key may be about it.
func (nb *notebook) put(e steps.PartChanged) tea.Cmd {
	if nb.opts.ReadOnly == "" {
		nb.book = nb.book.Apply(e)
	}
	return nb.ask(func(s Session) { s.Edit(e.Part, e.Cells) })
}

// undoEdit takes back the last change of cells.
func (nb *notebook) undoEdit() tea.Cmd {
	if len(nb.undone) == 0 {
		nb.notice = "no cell was edited, added or removed"
		return nil
	}
	last := nb.undone[len(nb.undone)-1]
	nb.undone = nb.undone[:len(nb.undone)-1]
	for i, p := range nb.parts() {
		if p.ID == last.Part {
			nb.part = i
		}
	}
	nb.notice = "the last change of the cells is taken back"
	had := nb.open().Cells
	cmd := nb.put(last)
	for _, c := range nb.open().Cells {
		if !slices.ContainsFunc(had, func(x steps.Cell) bool { return x.ID == c.ID }) {
			nb.show(c.ID)
		}
	}
	return cmd
}

func (nb *notebook) insertAbove() tea.Cmd { return nb.insert(0) }
func (nb *notebook) insertBelow() tea.Cmd { return nb.insert(1) }

// insert adds a scratch cell before the selected one, or so many after it.
func (nb *notebook) insert(after int) tea.Cmd {
	part := nb.open()
	if part.ID == "" {
		return nil
	}
	at := max(0, min(nb.cursor().item-1+after, len(part.Cells)))
	c := steps.Cell{
		ID: nb.scratchID(), Part: part.ID, Title: "Scratch", Scratch: true, Judge: "exit-status",
		Roles: []steps.Role{{On: steps.OnHere, Script: ""}},
	}
	cmd := nb.change(part.ID, func(all []steps.Cell) []steps.Cell { return slices.Insert(all, at, c) })
	if nb.opts.ReadOnly != "" {
		return cmd
	}
	nb.show(c.ID)
	nb.editor.editRole(c, 0)
	return cmd
}

// scratchID is one that no cell has, nor has had: its output may still be there.
func (nb *notebook) scratchID() string {
	for i := 1; ; i++ {
		id := fmt.Sprintf("scratch-%d", i)
		_, taken := nb.book.Tutorial.Cell(id)
		_, ran := nb.book.Cells[id]
		if !taken && !ran && !slices.ContainsFunc(nb.undone, func(e steps.PartChanged) bool {
			return slices.ContainsFunc(e.Cells, func(c steps.Cell) bool { return c.ID == id })
		}) {
			return id
		}
	}
}

// remove takes the selected cell away at the second d.
func (nb *notebook) remove() tea.Cmd {
	c, ok := nb.selected()
	switch {
	case !ok:
		return nil
	case nb.book.Cells[c.ID].Running || slices.Contains(nb.book.Queue, c.ID):
		nb.notice = "it runs, or waits: i i interrupts"
		return nil
	case nb.before != "d":
		nb.notice = "d again removes the cell; z brings it back"
		nb.before = "d"
		return nil
	}
	nb.notice, nb.before = "removed; z brings it back", ""
	return nb.takeAway(c)
}

// takeAway takes a cell out of the open part.
func (nb *notebook) takeAway(c steps.Cell) tea.Cmd {
	cmd := nb.change(nb.open().ID, func(all []steps.Cell) []steps.Cell {
		return slices.DeleteFunc(all, func(x steps.Cell) bool { return x.ID == c.ID })
	})
	nb.cursor().item = max(0, min(nb.cursor().item, len(nb.open().Cells)))
	return cmd
}

// copyCell keeps the selected cell for v.
func (nb *notebook) copyCell() tea.Cmd {
	c, ok := nb.selected()
	if !ok {
		nb.notice = "select a cell to copy it"
		return nil
	}
	nb.clip, nb.notice = &c, "v pastes "+c.Title+" below, V above"
	return nil
}

// cut takes the selected cell away, for v.
func (nb *notebook) cut() tea.Cmd {
	c, ok := nb.selected()
	switch {
	case !ok:
		nb.notice = "select a cell to cut it"
		return nil
	case nb.book.Cells[c.ID].Running || slices.Contains(nb.book.Queue, c.ID):
		nb.notice = "it runs, or waits: i i interrupts"
		return nil
	case nb.opts.ReadOnly != "":
		nb.notice = onlyFollows
		return nil
	}
	nb.clip, nb.notice = &c, "cut; v pastes it, z brings it back"
	return nb.takeAway(c)
}

func (nb *notebook) pasteAbove() tea.Cmd { return nb.pasteCell(0) }
func (nb *notebook) pasteBelow() tea.Cmd { return nb.pasteCell(1) }

// pasteCell puts the kept cell before the selected one, or so many after it. One that was
// cut comes back as it was, with its output; a copy is a scratch cell.
func (nb *notebook) pasteCell(after int) tea.Cmd {
	if nb.clip == nil {
		nb.notice = "x cuts a cell, c copies it: then v pastes it"
		return nil
	}
	part, c := nb.open(), *nb.clip
	if part.ID == "" {
		return nil
	}
	c.Part = part.ID
	if _, taken := nb.book.Tutorial.Cell(c.ID); taken {
		c.ID, c.Scratch = nb.scratchID(), true
	}
	at := max(0, min(nb.cursor().item-1+after, len(part.Cells)))
	cmd := nb.change(part.ID, func(all []steps.Cell) []steps.Cell { return slices.Insert(all, at, c) })
	nb.show(c.ID)
	return cmd
}

// toggleNote makes a scratch cell a note, and a note a script.
func (nb *notebook) toggleNote() tea.Cmd {
	return nb.scratch(func(c *steps.Cell) {
		if c.Note() {
			c.Roles, c.Prose, c.Judge = []steps.Role{{On: steps.OnHere, Script: c.Prose}}, "", "exit-status"
		} else {
			c.Prose, c.Roles, c.Judge = c.Roles[0].Script, nil, ""
		}
	})
}

// cyclePlace moves a scratch cell to the other node, and then to both.
func (nb *notebook) cyclePlace() tea.Cmd {
	return nb.scratch(func(c *steps.Cell) {
		if len(c.Roles) > 0 {
			c.Roles = slices.Clone(c.Roles)
			c.Roles[0].On = (c.Roles[0].On + 1) % (steps.OnBoth + 1)
		}
	})
}

// scratch changes the selected cell where it is the user's own: the tutorial's say where
// they run.
func (nb *notebook) scratch(edit func(*steps.Cell)) tea.Cmd {
	c, ok := nb.selected()
	if !ok || !c.Scratch {
		nb.notice = "only a scratch cell can do that: a and b add one"
		return nil
	}
	return nb.change(nb.open().ID, func(all []steps.Cell) []steps.Cell {
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
func (nb *notebook) restart() tea.Cmd {
	if nb.before != "0" {
		cmd := nb.resetPeaks()
		nb.notice, nb.before = "peaks and averages start anew; 0 again clears all outputs and verdicts", "0"
		return cmd
	}
	if nb.busy() {
		nb.notice = "something runs: i i interrupts it"
		return nil
	}
	nb.notice = "all outputs and verdicts are cleared"
	var ids []string
	for id := range nb.book.Cells {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return nb.ask(func(s Session) {
		for _, id := range ids {
			s.Clear(id)
		}
	})
}

// Draw is the editor, exactly as large as the notebook.
func (ed *editor) Draw(width, height int) picture {
	c, _ := ed.book.Tutorial.Cell(ed.cell)
	title := " " + ed.ink.Focus.Render(theme.Clean(c.Title)) + ed.ink.Dim.Render(" · edit")
	if ed.role < len(c.Roles) {
		one := c
		one.Roles, one.EachRail = c.Roles[ed.role:ed.role+1], false
		title += ed.ink.Dim.Render(" " + cells.Places(one, ed.names()))
	}
	right := ""
	if ed.text() != ed.was {
		right = ed.ink.Accent.Render("changed ")
	}
	lines := []string{theme.Pad(theme.Sides(title, right, width), width), strings.Repeat(" ", width)}
	for line := range strings.SplitSeq(ed.area.View(), "\n") {
		lines = append(lines, theme.Pad(" "+line, width))
	}
	return picture{lines: fill(lines, height, width)}
}

// editorKeys are told in the footer; the editor's Key has them.
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

// Paste puts a text in at the cursor.
func (ed *editor) Paste(text string) tea.Cmd {
	ed.area, _ = ed.area.Update(tea.PasteMsg{Content: text})
	return nil
}

// Bindings are those of the table.
func (ed *editor) Bindings() []chapter { return ed.keys }
