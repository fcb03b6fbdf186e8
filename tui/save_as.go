package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/theme"
)

// unsaved reports whether results would be lost by quitting.
func (sh *shared) unsaved() bool {
	return sh.opts.ReadOnly == "" && sh.book.Saved.Why != "" && !sh.book.Saved.Kept
}

// notSaved answers what would leave a session that is not saved.
const notSaved = "this session is not saved: ctrl+s names another file for it"

// saveAs asks for a file for a session that could not be saved where sessions are.
type saveAs struct {
	*shared
	inert
	line   line
	quits  bool   // once it is saved
	place  string // where it could be saved
	failed string // why the last file was no good
}

type (
	// placeMsg brings a file that the session could be saved in.
	placeMsg string
	// movedMsg says that it was saved in another one, or why not.
	movedMsg struct{ err error }
)

// maxPath bounds what a paste can bring.
const maxPath = 4096

// look asks where the session could be saved.
func (ub *saveAs) look() tea.Cmd {
	elsewhere := ub.opts.Saved.Elsewhere
	if elsewhere == nil {
		return nil
	}
	return func() tea.Msg { return placeMsg(elsewhere()) }
}

func (ub *saveAs) offered(msg placeMsg) tea.Cmd {
	ub.dirty = true
	if ub.place = string(msg); ub.layers.has(saveAsLevel) && ub.line.text() == "" {
		ub.line.set(ub.place)
	}
	return nil
}

// open asks for the file, and quits then where that was meant.
func (ub *saveAs) open(quits bool) tea.Cmd {
	ub.quits, ub.failed, ub.line = quits, "", newLine(maxPath)
	ub.line.set(ub.place)
	ub.layers.push(saveAsLevel)
	return ub.look()
}

// Key types at the file's name.
func (ub *saveAs) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		ub.layers.drop(saveAsLevel)
	case "enter":
		save, path := ub.opts.Saved.In, strings.TrimSpace(ub.line.text())
		if save == nil || path == "" {
			return nil
		}
		return func() tea.Msg { return movedMsg{save(path)} }
	default:
		ub.line.key(msg)
	}
	return nil
}

// Paste puts a path in at the cursor.
func (ub *saveAs) Paste(text string) tea.Cmd {
	ub.line.paste(firstLine(text))
	return nil
}

func (ub *saveAs) moved(msg movedMsg) tea.Cmd {
	ub.dirty = true
	if msg.err != nil {
		ub.failed = msg.err.Error()
		return nil
	}
	ub.layers.drop(saveAsLevel, quitLevel)
	if ub.quits {
		return tea.Quit
	}
	ub.notice = "saved in " + strings.TrimSpace(ub.line.text())
	return nil
}

// Draw is the file's name as it is typed.
func (ub *saveAs) Draw(width, _ int) picture {
	width = min(boxWidth, width)
	k := ub.styles
	why := ub.failed
	if why == "" {
		why = ub.book.Saved.Why
	}
	lines := theme.Wrap(k.Warn.Render(theme.Clean(why)), width, "", "")
	lines = append(lines, "", k.Dim.Render("> ")+ub.line.view(k, theme.Style{}, width-2), "")
	lines = append(lines, theme.Wrap("The name ends in .ipynb, and no file has it yet.", width, "", "")...)
	lines = append(lines, "", k.Focus.Render("enter")+" save   "+k.Focus.Render("esc")+" back")
	return picture{lines: lines, title: "Save the session in", columns: width}
}
