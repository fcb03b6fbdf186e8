package dialog

import (
	"fmt"

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
