package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/theme"
)

// quitBox asks whether to quit, or whether to leave a presentation.
type quitBox struct {
	*shared
	inert
	saveAs  *saveAs
	leaving bool // the presentation, and not railbench
}

// quitText says what would be lost: a running cell, and the session only where it is not saved.
func (qb *quitBox) quitText() string {
	c, ok := qb.book.Tutorial.Cell(qb.book.Running)
	if qb.unsaved() {
		text := fmt.Sprintf("The session is not saved, and quitting loses the results of %s: %s.",
			plural(len(qb.book.Cells), "cell"), theme.Clean(qb.book.Saved.Why))
		if place := qb.saveAs.place; place != "" {
			text += " It can be saved in " + theme.Clean(place)
		}
		return text
	}
	if !ok && qb.layers.has(presentationLevel) {
		return "Quitting ends the presentation."
	}
	if !ok && qb.book.Saved.Path != "" && qb.book.Saved.Why == "" {
		return "Nothing is running. The session is saved in " + theme.Clean(qb.book.Saved.Path)
	}
	if !ok {
		return "Nothing is running."
	}
	return fmt.Sprintf("%q is still running. Quitting ends it on its nodes.", theme.Clean(c.Title))
}

// control is ctrl+c: the first time for the cell, then for railbench.
func (qb *quitBox) control() tea.Cmd {
	if qb.opts.ReadOnly == "" && qb.book.Running != "" && qb.book.Cells[qb.book.Running].Run != qb.interrupted {
		cmd := qb.interrupt()
		qb.noteRun(interrupting + " (ctrl+c again asks whether to quit)")
		return cmd
	}
	if qb.opts.ReadOnly != "" {
		return tea.Quit // nothing ends with it
	}
	return qb.open()
}

func (qb *quitBox) open() tea.Cmd {
	qb.leaving = false
	qb.layers.push(quitLevel)
	if qb.unsaved() {
		return qb.saveAs.look()
	}
	return nil
}

// quit asks where something would be lost: what runs, results that are not saved, an audience.
func (qb *quitBox) quit() tea.Cmd {
	if qb.busy() && qb.opts.ReadOnly == "" || qb.unsaved() || qb.layers.has(presentationLevel) {
		return qb.open()
	}
	return tea.Quit
}

// leave asks before the audience of a presentation sees the notebook.
func (qb *quitBox) leave() tea.Cmd {
	qb.leaving = true
	qb.layers.push(quitLevel)
	return nil
}

// leaveKey answers whether to leave the presentation. What would quit asks that first.
func (qb *quitBox) leaveKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "y", "Y":
		qb.layers.drop(quitLevel, presentationLevel)
	case "n", "N", "esc":
		qb.layers.drop(quitLevel)
	case "q", "ctrl+c":
		return qb.open()
	}
	return nil
}

// Key answers whether to quit. Where that loses results, enter saves them first; ctrl+c quits everywhere.
func (qb *quitBox) Key(msg tea.KeyPressMsg) tea.Cmd {
	if qb.leaving {
		return qb.leaveKey(msg)
	}
	unsaved := qb.unsaved()
	shown := qb.layers.has(presentationLevel) // a key that bounces, or a clicker's, ends none
	switch msg.String() {
	case "y", "Y", "ctrl+c":
		return tea.Quit
	case "q":
		if !unsaved && !shown {
			return tea.Quit
		}
	case "enter", "s", "S":
		if unsaved {
			return qb.saveAs.open(true)
		}
		if msg.String() == "enter" && !shown {
			return tea.Quit
		}
	case "n", "N", "esc":
		qb.layers.drop(quitLevel)
	}
	return nil
}

// Draw is the question whether to quit.
func (qb *quitBox) Draw(width, _ int) picture {
	width = min(boxWidth, width)
	focus := qb.styles.Focus.Render
	if qb.leaving {
		lines := theme.Wrap("The audience will see the notebook. ctrl+g comes back.", width, "", "")
		return picture{
			lines: append(lines, "", focus("y")+" leave   "+focus("n")+" stay"),
			title: "Leave the presentation?", columns: width,
		}
	}
	lines := theme.Wrap(qb.quitText(), width, "", "")
	keys := focus("y") + " quit   " + focus("n") + " stay"
	if qb.unsaved() {
		keys = focus("s") + " save it in another file   " + focus("y") + " quit without it   " + focus("n") + " stay"
	}
	lines = append(lines, "", keys)
	return picture{lines: lines, title: "Quit?", columns: width}
}

// tooSmall is the screen of a terminal that is too small to show anything.
type tooSmall struct {
	*shared
	inert
	quit *quitBox
}

// Draw says so.
func (ts *tooSmall) Draw(width, height int) picture {
	text := fmt.Sprintf("railbench needs %dx%d; this terminal has %dx%d", leastWidth, leastHeight, width, height)
	lines := theme.Wrap(text, width, "", "")
	return picture{lines: lines[:min(len(lines), height)]}
}

// Key is a key in a terminal that shows nothing but that it is too small: all that is meant is to leave.
func (ts *tooSmall) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch name := msg.String(); {
	case ts.layers.has(quitLevel):
		return ts.quit.Key(msg)
	case name == "ctrl+c":
		return ts.quit.control()
	case name == "q":
		return ts.quit.quit()
	}
	return nil
}
