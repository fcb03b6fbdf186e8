package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// run starts the selected cell, and follows it; on a text it goes on to the next cell.
func (nb *notebook) run() tea.Cmd {
	c, ok := nb.Selected()
	if !ok || c.Note() {
		return nb.advance()
	}
	if nb.Book.Cells[c.ID].Running {
		return nb.NoteRun(screen.IsRunning)
	}
	nb.Follow, nb.watch = true, ""
	nb.cursor().loose = false
	return nb.Start(c.ID)
}

// space reads on to the end of the selected cell's text, as a pager does, and then runs it and goes on.
func (nb *notebook) space() tea.Cmd {
	if nb.readOn() {
		return nil
	}
	return nb.runAndNext()
}

// runAndNext runs the selected cell and selects the next one, while the window stays with
// what runs until its verdict is there. The last cell of a part stays selected: only what is
// asked for again goes on to the next part, whose screen would hide the verdict.
func (nb *notebook) runAndNext() tea.Cmd {
	c, ok := nb.Selected()
	if !ok || c.Note() {
		return nb.advance()
	}
	if nb.Opts.ReadOnly != "" {
		return nb.advance()
	}
	last := nb.cursor().item == len(nb.open().Cells)
	if nb.atEnd(c.ID) {
		return nb.nextPart()
	}
	cmd := tea.Cmd(nil)
	if nb.Book.Running != c.ID {
		cmd = nb.Start(c.ID)
	}
	if last {
		nb.Follow, nb.cursor().loose = true, false
	} else {
		nb.advance()
	}
	nb.watch = c.ID
	return cmd
}

// spaceDoes is what the footer calls it.
func (nb *notebook) spaceDoes() string {
	switch c, ok := nb.Selected(); {
	case nb.readsOn():
		return "read on"
	case nb.Opts.ReadOnly != "" || !ok || c.Note():
		return "go on"
	case nb.atEnd(c.ID) && nb.part+1 == len(nb.Parts()):
		return "the end"
	case nb.atEnd(c.ID):
		return "next part"
	default:
		return "run+next"
	}
}

// atEnd reports whether a part's last cell was run by runAndNext, and waits to be left.
func (nb *notebook) atEnd(cell string) bool {
	return nb.watch == cell && nb.cursor().item == len(nb.open().Cells)
}

func (nb *notebook) runAll() tea.Cmd { return nb.runCells(nb.Book.Tutorial.Main()) }

func (nb *notebook) runPart() tea.Cmd { return nb.runCells(nb.open().Cells) }

func (nb *notebook) runFromHere() tea.Cmd { return nb.runCells(nb.fromHere()) }

// fromHere is the selected cell and all after it that don't stand aside.
func (nb *notebook) fromHere() (cells []steps.Cell) {
	here, _ := nb.Selected()
	for i := nb.part; i < len(nb.Parts()); i++ {
		p := nb.Parts()[i].Cells
		if i == nb.part {
			p = p[min(len(p), max(0, nb.cursor().item-1)):]
		}
		cells = append(cells, p...)
	}
	return slices.DeleteFunc(cells, func(c steps.Cell) bool { return c.Aside && c.ID != here.ID })
}

// runRest runs what is left from the selected cell on: what never ran, went wrong, or
// is stale.
func (nb *notebook) runRest() tea.Cmd {
	var left []steps.Cell
	for _, c := range nb.fromHere() {
		switch nb.Book.Cells[c.ID].Verdict.Grade {
		case steps.Pass, steps.Warn, steps.Skipped:
			if nb.Book.Stale(c.ID) == "" {
				continue
			}
		case steps.NotRun, steps.Fail, steps.Inconclusive:
		}
		left = append(left, c)
	}
	if len(left) == 0 {
		return nb.Say("nothing is left to run from here on")
	}
	return nb.runCells(left)
}

func (nb *notebook) runCells(cells []steps.Cell) tea.Cmd {
	ids := steps.Each(cells, func(c steps.Cell) string { return c.ID })
	if len(ids) == 0 {
		return nb.Say("no cell to run")
	}
	nb.Follow, nb.watch = true, ""
	return nb.Start(ids...)
}

func (nb *notebook) clear() tea.Cmd {
	c, ok := nb.Selected()
	if !ok {
		return nil
	}
	if nb.Book.Cells[c.ID].Running {
		return nb.NoteRun(screen.IsRunning)
	}
	return nb.Ask(func(s screen.Session) { s.Clear(c.ID) })
}

// reading keeps that the open part was read, once its end is on the screen.
func (nb *notebook) reading() tea.Cmd {
	id := nb.open().ID
	if nb.Opts.Learning == nil || id == "" || nb.wasRead[id] || nb.Layers.Top() != screen.Notebook {
		return nil
	}
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.settle(d, h)
	if nb.top(d)+h < d.total {
		return nil
	}
	nb.wasRead[id] = true
	return nb.Learn(func(l screen.Learning) error { return l.PartRead(id) })
}

// ran keeps that a cell passed, or warned.
func (m *Model) ran(e steps.CellEnded) tea.Cmd {
	c, ok := m.Book.Tutorial.Cell(e.Cell)
	if g := e.Verdict.Grade; !ok || c.Check.Any() || c.Scratch || c.Edited || g != steps.Pass && g != steps.Warn {
		return nil
	}
	return m.Learn(func(l screen.Learning) error { return l.CellRan(e.Cell) })
}
