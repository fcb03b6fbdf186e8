package dialog

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Quit asks whether to quit, or whether to leave a presentation.
type Quit struct {
	*screen.Shared
	screen.Inert
	SaveAs  *SaveAs
	leaving bool // the presentation, and not railbench
}

// quitText says what would be lost: a running cell, and the session only where it is not saved.
func (qb *Quit) quitText() string {
	c, ok := qb.Book.Tutorial.Cell(qb.Book.Running)
	if qb.Unsaved() {
		text := fmt.Sprintf("The session is not saved, and quitting loses the results of %s: %s.",
			steps.Counted(len(qb.Book.Cells), "cell"), theme.Clean(qb.Book.Saved.Why))
		if place := qb.SaveAs.place; place != "" {
			text += " It can be saved in " + theme.Clean(place)
		}
		return text
	}
	if !ok && qb.Layers.Has(screen.Presenting) {
		return "Quitting ends the presentation."
	}
	if !ok && qb.Book.Saved.Path != "" && qb.Book.Saved.Why == "" {
		return "Nothing is running. The session is saved in " + theme.Clean(qb.Book.Saved.Path)
	}
	if !ok {
		return "Nothing is running."
	}
	return fmt.Sprintf("%q is still running. Quitting ends it on its nodes.", theme.Clean(c.Title))
}

// Control is ctrl+c: the first time for the cell, then for railbench.
func (qb *Quit) Control() tea.Cmd {
	if qb.Opts.ReadOnly == "" && qb.Book.Running != "" && qb.Book.Cells[qb.Book.Running].Run != qb.Interrupted {
		cmd := qb.Interrupt()
		qb.NoteRun(screen.Interrupting + " (ctrl+c again asks whether to quit)")
		return cmd
	}
	if qb.Opts.ReadOnly != "" {
		return tea.Quit // nothing ends with it
	}
	return qb.open()
}

func (qb *Quit) open() tea.Cmd {
	qb.leaving = false
	qb.Layers.Push(screen.Quit)
	if qb.Unsaved() {
		return qb.SaveAs.look()
	}
	return nil
}

// Quit asks where something would be lost: what runs, results that are not saved, an audience.
func (qb *Quit) Quit() tea.Cmd {
	if qb.Busy() && qb.Opts.ReadOnly == "" || qb.Unsaved() || qb.Layers.Has(screen.Presenting) {
		return qb.open()
	}
	return tea.Quit
}

// Leave asks before the audience of a presentation sees the notebook.
func (qb *Quit) Leave() tea.Cmd {
	qb.leaving = true
	qb.Layers.Push(screen.Quit)
	return nil
}

// leaveKey answers whether to leave the presentation. What would quit asks that first.
func (qb *Quit) leaveKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "y", "Y":
		qb.Layers.Drop(screen.Quit, screen.Presenting)
	case "n", "N", "esc":
		qb.Layers.Drop(screen.Quit)
	case "q", "ctrl+c":
		return qb.open()
	}
	return nil
}

// Key answers whether to quit. Where that loses results, enter saves them first; ctrl+c quits everywhere.
func (qb *Quit) Key(msg tea.KeyPressMsg) tea.Cmd {
	if qb.leaving {
		return qb.leaveKey(msg)
	}
	unsaved := qb.Unsaved()
	shown := qb.Layers.Has(screen.Presenting) // a key that bounces, or a clicker's, ends none
	switch msg.String() {
	case "y", "Y", "ctrl+c":
		return tea.Quit
	case "q":
		if !unsaved && !shown {
			return tea.Quit
		}
	case "enter", "s", "S":
		if unsaved {
			return qb.SaveAs.Open(true)
		}
		if msg.String() == "enter" && !shown {
			return tea.Quit
		}
	case "n", "N", "esc":
		qb.Layers.Drop(screen.Quit)
	}
	return nil
}

// Draw is the question whether to quit.
func (qb *Quit) Draw(width, _ int) screen.Picture {
	width = min(screen.BoxWidth, width)
	focus := qb.Styles.Focus.Render
	if qb.leaving {
		lines := theme.Wrap("The audience will see the notebook. ctrl+g comes back.", width, "", "")
		return screen.Picture{
			Lines: append(lines, "", focus("y")+" leave   "+focus("n")+" stay"),
			Title: "Leave the presentation?", Columns: width,
		}
	}
	lines := theme.Wrap(qb.quitText(), width, "", "")
	keys := focus("y") + " quit   " + focus("n") + " stay"
	if qb.Unsaved() {
		keys = focus("s") + " save it in another file   " + focus("y") + " quit without it   " + focus("n") + " stay"
	}
	lines = append(lines, "", keys)
	return screen.Picture{Lines: lines, Title: "Quit?", Columns: width}
}

// TooSmall is the screen of a terminal that is too small to show anything.
type TooSmall struct {
	*screen.Shared
	screen.Inert
	Quit *Quit
}

// Draw says so.
func (ts *TooSmall) Draw(width, height int) screen.Picture {
	text := fmt.Sprintf("railbench needs %dx%d; this terminal has %dx%d", screen.LeastWidth, screen.LeastHeight,
		width, height)
	lines := theme.Wrap(text, width, "", "")
	return screen.Picture{Lines: lines[:min(len(lines), height)]}
}

// Key is a key in a terminal that shows nothing but that it is too small: all that is meant is to leave.
func (ts *TooSmall) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch name := msg.String(); {
	case ts.Layers.Has(screen.Quit):
		return ts.Quit.Key(msg)
	case name == "ctrl+c":
		return ts.Quit.Control()
	case name == "q":
		return ts.Quit.Quit()
	}
	return nil
}

// NotSaved answers what would leave a session that is not saved.
const NotSaved = "this session is not saved: ctrl+s names another file for it"

// SaveAs asks for a file for a session that could not be saved where sessions are.
type SaveAs struct {
	*screen.Shared
	screen.Inert
	line   screen.Line
	quits  bool   // once it is saved
	place  string // where it could be saved
	failed string // why the last file was no good
}

type (
	// PlaceMsg brings a file that the session could be saved in.
	PlaceMsg string
	// MovedMsg says that it was saved in another one, or why not.
	MovedMsg struct{ err error }
)

// maxPath bounds what a paste can bring.
const maxPath = 4096

// look asks where the session could be saved.
func (ub *SaveAs) look() tea.Cmd {
	elsewhere := ub.Opts.Saved.Elsewhere
	if elsewhere == nil {
		return nil
	}
	return func() tea.Msg { return PlaceMsg(elsewhere()) }
}

// Offered has a file that the session could be saved in.
func (ub *SaveAs) Offered(msg PlaceMsg) tea.Cmd {
	ub.Dirty = true
	if ub.place = string(msg); ub.Layers.Has(screen.SaveAs) && ub.line.Text() == "" {
		ub.line.Set(ub.place)
	}
	return nil
}

// Open asks for the file, and quits then where that was meant.
func (ub *SaveAs) Open(quits bool) tea.Cmd {
	ub.quits, ub.failed, ub.line = quits, "", screen.NewLine(maxPath)
	ub.line.Set(ub.place)
	ub.Layers.Push(screen.SaveAs)
	return ub.look()
}

// Key types at the file's name.
func (ub *SaveAs) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		ub.Layers.Drop(screen.SaveAs)
	case "enter":
		save, path := ub.Opts.Saved.In, strings.TrimSpace(ub.line.Text())
		if save == nil || path == "" {
			return nil
		}
		return func() tea.Msg { return MovedMsg{save(path)} }
	default:
		ub.line.Key(msg)
	}
	return nil
}

// Paste puts a path in at the cursor.
func (ub *SaveAs) Paste(text string) tea.Cmd {
	ub.line.Paste(screen.FirstLine(text))
	return nil
}

// Moved closes the box once the session is saved, or says why it is not.
func (ub *SaveAs) Moved(msg MovedMsg) tea.Cmd {
	ub.Dirty = true
	if msg.err != nil {
		ub.failed = msg.err.Error()
		return nil
	}
	ub.Layers.Drop(screen.SaveAs, screen.Quit)
	if ub.quits {
		return tea.Quit
	}
	return ub.Say("saved in " + strings.TrimSpace(ub.line.Text()))
}

// Draw is the file's name as it is typed.
func (ub *SaveAs) Draw(width, _ int) screen.Picture {
	width = min(screen.BoxWidth, width)
	k := ub.Styles
	why := ub.failed
	if why == "" {
		why = ub.Book.Saved.Why
	}
	lines := theme.Wrap(k.Warn.Render(theme.Clean(why)), width, "", "")
	lines = append(lines, "", k.Dim.Render("> ")+ub.line.View(k, theme.Style{}, width-2), "")
	lines = append(lines, theme.Wrap("The name ends in .ipynb, and no file has it yet.", width, "", "")...)
	lines = append(lines, "", k.Focus.Render("enter")+" save   "+k.Focus.Render("esc")+" back")
	return screen.Picture{Lines: lines, Title: "Save the session in", Columns: width}
}
