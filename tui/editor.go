package tui

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// editor is the layer in which a cell's script, or a note's text, is edited.
type editor struct {
	*screen.Shared
	screen.Tabled
	notebook *notebook
	edits    *cellEdits
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
		ed.Notice = "it is too long to be edited here: edit the file that it is from"
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
	ed.Layers.Drop(screen.Output)
	ed.Layers.Push(screen.Editor)
	ed.Follow = false
	ed.fitEditor()
	ed.dressEditor()
	ed.area.Focus() // its command makes the cursor blink, which an idle screen pays for
}

// maxScript bounds what a paste can bring into a script.
const maxScript = 64 << 10

// maxLines is how many lines the text area takes.
const maxLines = 9999

func (ed *editor) fitEditor() {
	if !ed.Layers.Has(screen.Editor) {
		return
	}
	l := ed.Layout()
	ed.area.SetWidth(max(8, l.NoteWidth-1))
	ed.area.SetHeight(max(1, l.NoteHeight-2))
}

// dressEditor gives the text area the screen's colours, and none where it has none.
func (ed *editor) dressEditor() {
	if !ed.Layers.Has(screen.Editor) {
		return
	}
	style := textarea.StyleState{
		LineNumber: ed.Styles.Dim.Style, CursorLineNumber: ed.Styles.Accent.Style, EndOfBuffer: ed.Styles.Faint.Style,
	}
	ed.area.SetStyles(textarea.Styles{
		Focused: style, Blurred: style,
		Cursor: textarea.CursorStyle{Color: ed.Styles.Accent.GetForeground()},
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
	open, text := ed.Opts.Programs.Editor, ed.text()
	if open == nil {
		return ed.Say("no other editor is available here")
	}
	return func() tea.Msg {
		run, read, err := open(text)
		return editorMsg{run, read, err}
	}
}

// handOver gives the terminal to the user's editor.
func (ed *editor) handOver(msg editorMsg) tea.Cmd {
	ed.Dirty = true
	switch {
	case msg.err != nil:
		return ed.Say(msg.err.Error())
	case ed.Layers.Has(screen.Question) || !ed.Layers.Has(screen.Editor):
		return ed.Say("the editor was not opened: something else came meanwhile")
	}
	return tea.Exec(msg.run, func(err error) tea.Msg { return editedMsg{msg.read, err} })
}

// takeOver shows what the user's editor has made of the text; esc keeps it.
func (ed *editor) takeOver(msg editedMsg) tea.Cmd {
	ed.Dirty = true
	switch {
	case msg.err != nil:
		ed.Notice = "the editor: " + msg.err.Error() + "; the text is as it was"
	case !ed.Layers.Has(screen.Editor):
	case tooLong(msg.read()):
		ed.Notice = "the editor: the text has become too long to be a cell's; it is as it was"
	default:
		ed.area.SetValue(strings.TrimSuffix(msg.read(), "\n"))
		ed.area.MoveToBegin()
	}
	return nil
}

// nextScript goes to the cell's next script, and keeps this one.
func (ed *editor) nextScript() tea.Cmd {
	cmd := ed.keepEdit()
	c, ok := ed.Book.Tutorial.Cell(ed.cell)
	if !ok || len(c.Roles) < 2 {
		ed.Notice = "it has one script"
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
	ed.Layers.Drop(screen.Editor)
	text := ed.text()
	if text == ed.was {
		return nil
	}
	return ed.edits.change(ed.part, func(all []steps.Cell) []steps.Cell {
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

// Draw is the editor, exactly as large as the notebook.
func (ed *editor) Draw(width, height int) screen.Picture {
	c, _ := ed.Book.Tutorial.Cell(ed.cell)
	title := " " + ed.Styles.Focus.Render(theme.Clean(c.Title)) + ed.Styles.Dim.Render(" · edit")
	if ed.role < len(c.Roles) {
		one := c
		one.Roles, one.EachRail = c.Roles[ed.role:ed.role+1], false
		title += ed.Styles.Dim.Render(" " + cells.Places(one, ed.Names()))
	}
	right := ""
	if ed.text() != ed.was {
		right = ed.Styles.Accent.Render("changed ")
	}
	lines := []string{theme.Pad(theme.Sides(title, right, width), width), strings.Repeat(" ", width)}
	for line := range strings.SplitSeq(ed.area.View(), "\n") {
		lines = append(lines, theme.Pad(" "+line, width))
	}
	return screen.Picture{Lines: screen.Fill(lines, height, width)}
}

// Paste puts a text in at the cursor.
func (ed *editor) Paste(text string) tea.Cmd {
	ed.area, _ = ed.area.Update(tea.PasteMsg{Content: text})
	return nil
}
