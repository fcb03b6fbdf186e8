package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// cellEdits add, remove and change the open part's cells, as in Jupyter's command mode. What is edited is the
// session's: no file of a tutorial changes.
type cellEdits struct {
	*screen.Shared
	notebook *notebook
	editor   *editor

	undone []steps.PartChanged // what z brings back, the last one last
	clip   *steps.Cell         // what v pastes; nil for nothing
}

// change makes new cells of a part's, and remembers the old ones for z.
// A part is kept whole: cells share their slices with it, and none of those is written to.
func (ce *cellEdits) change(part string, edit func([]steps.Cell) []steps.Cell) tea.Cmd {
	for _, p := range ce.Book.Tutorial.Parts {
		if p.ID != part {
			continue
		}
		cells := edit(slices.Clone(p.Cells))
		ce.undone = append(ce.undone, steps.PartChanged{Part: part, Cells: p.Cells})
		if over := len(ce.undone) - maxUndo; over > 0 {
			ce.undone = ce.undone[over:]
		}
		return ce.put(steps.PartChanged{Part: part, Cells: cells})
	}
	return nil
}

// maxUndo is how many changes of cells can be taken back.
const maxUndo = 100

// put passes the change to the session, which passes it to all listeners. This screen shows it at once: the
// next key may be about it.
func (ce *cellEdits) put(e steps.PartChanged) tea.Cmd {
	if ce.Opts.ReadOnly == "" {
		ce.Book = ce.Book.Apply(e)
	}
	return ce.Ask(func(s screen.Session) { s.Edit(e.Part, e.Cells) })
}

// undoEdit takes back the last change of cells.
func (ce *cellEdits) undoEdit() tea.Cmd {
	if len(ce.undone) == 0 {
		return ce.Say("no cell was edited, added or removed")
	}
	last := ce.undone[len(ce.undone)-1]
	ce.undone = ce.undone[:len(ce.undone)-1]
	for i, p := range ce.Parts() {
		if p.ID == last.Part {
			ce.notebook.part = i
		}
	}
	ce.Notice = "the last change of the cells is taken back"
	had := ce.notebook.open().Cells
	cmd := ce.put(last)
	for _, c := range ce.notebook.open().Cells {
		if !slices.ContainsFunc(had, func(x steps.Cell) bool { return x.ID == c.ID }) {
			ce.notebook.Show(c.ID)
		}
	}
	return cmd
}

func (ce *cellEdits) insertAbove() tea.Cmd { return ce.insert(0) }

func (ce *cellEdits) insertBelow() tea.Cmd { return ce.insert(1) }

// insert adds a scratch cell before the selected one, or so many after it.
func (ce *cellEdits) insert(after int) tea.Cmd {
	part := ce.notebook.open()
	if part.ID == "" {
		return nil
	}
	c := steps.Cell{
		ID: ce.scratchID(), Part: part.ID, Title: "Scratch", Scratch: true, Judge: "exit-status",
		Roles: []steps.Role{{On: steps.OnHere, Script: ""}},
	}
	cmd := ce.putIn(part, c, after)
	if ce.Opts.ReadOnly != "" {
		return cmd
	}
	ce.notebook.Show(c.ID)
	ce.notebook.editor.editRole(c, 0)
	return cmd
}

// scratchID is one that no cell has, nor has had: its output may still be there.
func (ce *cellEdits) scratchID() string {
	for i := 1; ; i++ {
		id := fmt.Sprintf("scratch-%d", i)
		_, taken := ce.Book.Tutorial.Cell(id)
		_, ran := ce.Book.Cells[id]
		if !taken && !ran && !slices.ContainsFunc(ce.undone, func(e steps.PartChanged) bool {
			return slices.ContainsFunc(e.Cells, func(c steps.Cell) bool { return c.ID == id })
		}) {
			return id
		}
	}
}

// remove takes the selected cell away at the second d. One of the built-in tutorial is hidden, and keeps its result.
func (ce *cellEdits) remove() tea.Cmd {
	c, ok := ce.notebook.Selected()
	switch {
	case !ok:
		return nil
	case ce.Book.Cells[c.ID].Running || slices.Contains(ce.Book.Queue, c.ID):
		return ce.Say("it runs, or waits: i i interrupts")
	case ce.KeyBefore != "d" && ce.hides(c):
		ce.Notice = "d again hides the cell, whose result still counts; z shows it again"
		ce.KeyBefore = "d"
		return nil
	case ce.KeyBefore != "d":
		ce.Notice = "d again removes the cell; z brings it back"
		ce.KeyBefore = "d"
		return nil
	}
	ce.KeyBefore = ""
	if !ce.hides(c) {
		ce.Notice = "removed; z brings it back"
		return ce.takeAway(c)
	}
	ce.Notice = "hidden; z shows it again, and U all that are hidden here"
	cmd := ce.change(c.Part, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			all[i].Hidden = all[i].Hidden || all[i].ID == c.ID
		}
		return all
	})
	ce.notebook.cursor().item = max(0, min(ce.notebook.cursor().item, len(ce.notebook.open().Cells)))
	return cmd
}

// hides reports whether a cell is hidden where others are removed: it is the tutorial's, and not the user's.
func (ce *cellEdits) hides(c steps.Cell) bool { return !c.Scratch && ce.Opts.Runbook.Write == nil }

// unhide shows all cells of the open part again.
func (ce *cellEdits) unhide() tea.Cmd {
	part := ce.Book.Tutorial.Parts[ce.notebook.part]
	n := screen.HiddenIn(part)
	if n == 0 {
		return ce.Say("no cell of this part is hidden")
	}
	ce.Notice = steps.Counted(n, "cell") + " shown again"
	return ce.change(part.ID, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			all[i].Hidden = false
		}
		return all
	})
}

// takeAway takes a cell out of the open part.
func (ce *cellEdits) takeAway(c steps.Cell) tea.Cmd {
	cmd := ce.change(ce.notebook.open().ID, func(all []steps.Cell) []steps.Cell {
		return slices.DeleteFunc(all, func(x steps.Cell) bool { return x.ID == c.ID })
	})
	ce.notebook.cursor().item = max(0, min(ce.notebook.cursor().item, len(ce.notebook.open().Cells)))
	return cmd
}

// copyCell keeps the selected cell for v.
func (ce *cellEdits) copyCell() tea.Cmd {
	c, ok := ce.notebook.Selected()
	if !ok {
		return ce.Say("select a cell to copy it")
	}
	ce.clip, ce.Notice = &c, "v pastes "+c.Title+" below, V above"
	return nil
}

// cut takes the selected cell away, for v.
func (ce *cellEdits) cut() tea.Cmd {
	c, ok := ce.notebook.Selected()
	switch {
	case !ok:
		return ce.Say("select a cell to cut it")
	case ce.Book.Cells[c.ID].Running || slices.Contains(ce.Book.Queue, c.ID):
		return ce.Say("it runs, or waits: i i interrupts")
	case ce.Opts.ReadOnly != "":
		return ce.Say(screen.OnlyFollows)
	}
	ce.clip, ce.Notice = &c, "cut; v pastes it, z brings it back"
	return ce.takeAway(c)
}

func (ce *cellEdits) pasteAbove() tea.Cmd { return ce.pasteCell(0) }

func (ce *cellEdits) pasteBelow() tea.Cmd { return ce.pasteCell(1) }

// pasteCell puts the kept cell before the selected one, or so many after it. One that was
// cut comes back as it was, with its output; a copy is a scratch cell.
func (ce *cellEdits) pasteCell(after int) tea.Cmd {
	if ce.clip == nil {
		return ce.Say("x cuts a cell, c copies it: then v pastes it")
	}
	part, c := ce.notebook.open(), *ce.clip
	if part.ID == "" {
		return nil
	}
	c.Part = part.ID
	if _, taken := ce.Book.Tutorial.Cell(c.ID); taken {
		c.ID, c.Scratch = ce.scratchID(), true
	}
	cmd := ce.putIn(part, c, after)
	ce.notebook.Show(c.ID)
	return cmd
}

// putIn puts a cell before the selected one, or so many after it.
func (ce *cellEdits) putIn(part steps.Part, c steps.Cell, after int) tea.Cmd {
	at := max(0, min(ce.notebook.cursor().item-1+after, len(part.Cells)))
	return ce.change(part.ID, func(all []steps.Cell) []steps.Cell {
		i := len(all)
		if at < len(part.Cells) { // hidden ones are among all
			i = slices.IndexFunc(all, func(x steps.Cell) bool { return x.ID == part.Cells[at].ID })
		}
		return slices.Insert(all, i, c)
	})
}

// toggleNote makes a scratch cell a note, and a note a script.
func (ce *cellEdits) toggleNote() tea.Cmd {
	return ce.scratch(func(c *steps.Cell) {
		if c.Note() {
			c.Roles, c.Prose, c.Judge = []steps.Role{{On: steps.OnHere, Script: c.Prose}}, "", "exit-status"
		} else {
			c.Prose, c.Roles, c.Judge = c.Roles[0].Script, nil, ""
		}
	})
}

// cyclePlace moves a scratch cell to the other node, and then to both.
func (ce *cellEdits) cyclePlace() tea.Cmd {
	return ce.scratch(func(c *steps.Cell) {
		if len(c.Roles) > 0 {
			c.Roles = slices.Clone(c.Roles)
			c.Roles[0].On = (c.Roles[0].On + 1) % (steps.OnBoth + 1)
		}
	})
}

// scratch changes the selected cell where it is the user's own: the tutorial's say where
// they run.
func (ce *cellEdits) scratch(edit func(*steps.Cell)) tea.Cmd {
	c, ok := ce.notebook.Selected()
	if !ok || !c.Scratch {
		return ce.Say("only a scratch cell can do that: a and b add one")
	}
	return ce.change(ce.notebook.open().ID, func(all []steps.Cell) []steps.Cell {
		for i := range all {
			if all[i].ID == c.ID {
				edit(&all[i])
			}
		}
		return all
	})
}
