package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/tui/theme"
)

func (sm *small) Draw(width, height int) picture {
	text := fmt.Sprintf("railbench needs %dx%d; this terminal has %dx%d", leastWidth, leastHeight, width, height)
	lines := theme.Wrap(text, width, "", "")
	return picture{lines: lines[:min(len(lines), height)]}
}

// quitText tells what would be lost: a running cell, but not the session.
func (lv *leaving) quitText() string {
	c, ok := lv.book.Tutorial.Cell(lv.book.Running)
	if !ok && lv.book.Saved.Path != "" && lv.book.Saved.Why == "" {
		return "Nothing is running. The session is saved in " + theme.Clean(lv.book.Saved.Path)
	}
	if !ok {
		return "Nothing is running."
	}
	return fmt.Sprintf("%q is still running. Quitting ends it on its nodes.", theme.Clean(c.Title))
}

// leaving asks whether to quit.
type leaving struct {
	*shared
	inert
}

// control is ctrl+c: the first time for the cell, then for railbench.
func (lv *leaving) control() tea.Cmd {
	if lv.opts.ReadOnly == "" && lv.book.Running != "" && lv.book.Cells[lv.book.Running].Run != lv.interrupted {
		cmd := lv.interrupt()
		lv.noteRun(interrupting + " (ctrl+c again asks whether to quit)")
		return cmd
	}
	if lv.opts.ReadOnly != "" {
		return tea.Quit // nothing ends with it
	}
	lv.layers.push(quitLevel)
	return nil
}

// quit asks while anything runs: it would be ended on its nodes.
func (lv *leaving) quit() tea.Cmd {
	if lv.busy() && lv.opts.ReadOnly == "" {
		lv.layers.push(quitLevel)
		return nil
	}
	return tea.Quit
}

// Key answers whether to quit.
func (lv *leaving) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "y", "Y", "enter", "ctrl+c", "q":
		return tea.Quit
	case "n", "N", "esc":
		lv.layers.drop(quitLevel)
	}
	return nil
}

// Draw is the question whether to quit.
func (lv *leaving) Draw(width, _ int) picture {
	width = min(boxWidth, width)
	lines := theme.Wrap(lv.quitText(), width, "", "")
	lines = append(lines, "", lv.styles.Focus.Render("y")+" quit   "+lv.styles.Focus.Render("n")+" stay")
	return picture{lines: lines, title: "Quit?", columns: width}
}

// small is the screen of a terminal that is too small to show anything.
type small struct {
	*shared
	inert
	leaving *leaving
}

// Key is a key in a terminal that shows nothing but that it is too small: all that is meant is to leave.
func (sm *small) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch name := msg.String(); {
	case sm.layers.has(quitLevel):
		return sm.leaving.Key(msg)
	case name == "ctrl+c":
		return sm.leaving.control()
	case name == "q":
		return sm.leaving.quit()
	}
	return nil
}
