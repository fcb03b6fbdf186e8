package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// Where the selection goes and what the window over the notebook shows.

// top is the first line of the window.
func (nb *notebook) top(d partLines) int {
	a := nb.cursor().top
	if a.item >= len(d.items) {
		return 0
	}
	return d.starts[a.item] + max(0, min(a.line, len(d.items[a.item])-1))
}

// setTop keeps the place as an item and a line of it: items above may grow while one
// reads.
func (nb *notebook) setTop(d partLines, line, height int) {
	line = max(0, min(line, d.total-height))
	item := d.at(line)
	nb.cursor().top = anchor{item, line - d.starts[item]}
}

// settle makes the selection visible unless the user scrolled away from it.
func (nb *notebook) settle(d partLines, height int) {
	p := nb.cursor()
	p.item = max(0, min(p.item, len(d.items)-1))
	top := nb.top(d)
	if p.loose {
		nb.setTop(d, top, height)
		return
	}
	start, end := d.starts[p.item], d.end(p.item)
	switch w, watching := nb.watched(d); {
	case watching:
		// One line is left for the title of the cell that is selected.
		top = d.result(w, height-1)
	case end-start <= height:
		top = min(top, start)
		top = max(top, end-height)
	case nb.Follow && nb.ran(p.item):
		top = d.result(p.item, height)
	default:
		top = max(start, min(top, end-height))
	}
	nb.setTop(d, top, height)
}

// watched is the item of the cell that was run when the next one was selected.
func (nb *notebook) watched(d partLines) (item int, ok bool) {
	if nb.watch == "" {
		return 0, false
	}
	part, item, ok := nb.find(nb.watch)
	return item, ok && part == nb.part && item < len(d.items) && nb.ran(item)
}

func (nb *notebook) ran(item int) bool {
	all := nb.open().Cells
	return item >= 1 && item <= len(all) && nb.Book.Cells[all[item-1].ID].Run > 0
}

// Enter looks at a part for the first time: at its introduction, or at the first
// cell where both fit.
func (nb *notebook) Enter() {
	p := nb.cursor()
	if p.seen || nb.Width == 0 {
		return
	}
	p.seen = true
	d, h := nb.lines(), nb.Layout().NoteHeight
	if len(d.items) > 1 && d.end(1) <= h {
		p.item = 1
	}
}

// choose selects an item, and shows it from its title on where it is longer than the
// screen.
func (nb *notebook) choose(item int, d partLines, h int) {
	p := nb.cursor()
	p.item, p.loose, nb.Follow, nb.watch = item, false, false, ""
	if len(d.items[item]) > h {
		nb.setTop(d, d.starts[item], h)
	}
}

// down goes to the next cell, however long this one is.
func (nb *notebook) down() tea.Cmd {
	d, h := nb.lines(), nb.Layout().NoteHeight
	p := nb.cursor()
	switch {
	case p.item+1 < len(d.items):
		nb.choose(p.item+1, d, h)
	case d.end(p.item) > nb.top(d)+h:
		nb.Notice = "the last cell: pgdn shows the rest of it, tab goes to the next part"
	case nb.part+1 < len(nb.Parts()):
		nb.Notice = "the end of this part; tab goes to the next"
	}
	return nil
}

func (nb *notebook) up() tea.Cmd {
	if p := nb.cursor(); p.item > 0 {
		nb.choose(p.item-1, nb.lines(), nb.Layout().NoteHeight)
	}
	return nil
}

// advance goes to the next cell, over the end of a part, too.
func (nb *notebook) advance() tea.Cmd {
	d, h := nb.lines(), nb.Layout().NoteHeight
	p := nb.cursor()
	if p.item+1 < len(d.items) {
		nb.choose(p.item+1, d, h)
		return nil
	}
	return nb.nextPart()
}

// goToPart opens a part where it was left.
func (nb *notebook) goToPart(i int) tea.Cmd {
	if i < 0 || i >= len(nb.Parts()) {
		return nb.Say("unknown part")
	}
	nb.part, nb.Follow, nb.watch = i, false, ""
	nb.Layers.Drop(screen.Output)
	nb.Enter()
	return nil
}

func (nb *notebook) nextPart() tea.Cmd {
	if nb.part+1 >= len(nb.Parts()) {
		return nb.Say("this is the last part")
	}
	return nb.goToPart(nb.part + 1)
}

func (nb *notebook) previousPart() tea.Cmd {
	if nb.part == 0 {
		return nb.Say("this is the first part")
	}
	return nb.goToPart(nb.part - 1)
}

// Show selects a cell, wherever it is.
func (nb *notebook) Show(id string) {
	part, item, ok := nb.find(id)
	if !ok {
		return
	}
	if nb.Layers.Has(screen.Output) && nb.output.Cell() != id {
		nb.Layers.Drop(screen.Output)
	}
	nb.part, nb.watch = part, ""
	p := nb.cursor()
	p.item, p.loose, p.seen = item, false, true
}

// scroll moves the window. The selection goes along when it would be out of sight:
// enter must not run what isn't seen.
func (nb *notebook) scroll(lines int) tea.Cmd {
	d, h := nb.lines(), nb.Layout().NoteHeight
	p := nb.cursor()
	nb.settle(d, h)
	before := nb.top(d)
	nb.setTop(d, before+lines, h)
	top := nb.top(d)
	p.loose, nb.watch = true, ""
	if top != before {
		nb.Follow = false
	}
	if d.starts[p.item] >= top+h {
		p.item = d.at(top + h - 1)
	}
	if d.end(p.item) <= top {
		p.item = d.at(top)
		// Better one whose head is seen.
		if p.item+1 < len(d.items) && d.starts[p.item] < top && d.starts[p.item+1] < top+h {
			p.item++
		}
	}
	return nil
}

// readOn shows more of the selected item where it goes on below the window, and reports whether it does. What just ran
// is read: its verdict was on the screen.
func (nb *notebook) readOn() bool {
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.settle(d, h)
	p := nb.cursor()
	top, start, end := nb.top(d), d.starts[p.item], d.end(p.item)
	if c, ok := nb.Selected(); ok && nb.watch == c.ID || end <= top+h {
		return false
	}
	next := min(top+max(1, h-2), end-h)
	if start > top {
		next = min(start, end-h)
	}
	nb.setTop(d, next, h)
	p.loose, nb.watch, nb.Follow = true, "", false
	return true
}

// readsOn reports whether readOn would show more.
func (nb *notebook) readsOn() bool {
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.settle(d, h)
	c, ok := nb.Selected()
	return !(ok && nb.watch == c.ID) && d.end(nb.cursor().item) > nb.top(d)+h
}

func (nb *notebook) pageDown() tea.Cmd { return nb.scroll(max(1, nb.Layout().NoteHeight-2)) }
func (nb *notebook) pageUp() tea.Cmd   { return nb.scroll(-max(1, nb.Layout().NoteHeight-2)) }
func (nb *notebook) halfDown() tea.Cmd { return nb.scroll(max(1, nb.Layout().NoteHeight/2)) }
func (nb *notebook) halfUp() tea.Cmd   { return nb.scroll(-max(1, nb.Layout().NoteHeight/2)) }

func (nb *notebook) home() tea.Cmd {
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.choose(0, d, h)
	nb.setTop(d, 0, h)
	return nil
}

func (nb *notebook) end() tea.Cmd {
	d, h := nb.lines(), nb.Layout().NoteHeight
	nb.choose(len(d.items)-1, d, h)
	nb.setTop(d, d.total, h)
	return nil
}

// openOutput opens the selected cell's output in the notebook's place.
func (nb *notebook) openOutput() tea.Cmd {
	c, ok := nb.Selected()
	if !ok {
		return nil
	}
	return nb.output.Open(c)
}

func (nb *notebook) toggleEvidence() tea.Cmd {
	switch c, ok := nb.Selected(); {
	case !ok:
		nb.Notice = "select a cell: evidence belongs to its verdict"
	case nb.Book.Cells[c.ID].Verdict.Grade == steps.NotRun:
		nb.Notice = "no evidence: it has not run yet"
	default:
		nb.Evidence[c.ID]++
	}
	return nil
}

func (nb *notebook) toggleOutput() tea.Cmd {
	switch c, ok := nb.Selected(); {
	case !ok || nb.Book.Cells[c.ID].Output.Len() == 0:
		nb.Notice = "it has printed nothing"
	default:
		nb.folded[c.ID] = !nb.folded[c.ID]
	}
	return nil
}

func (nb *notebook) toggleScript() tea.Cmd {
	c, ok := nb.Selected()
	if !ok || c.Note() || c.Own != "" {
		return nb.Say("no script here")
	}
	nb.Scripts[c.ID] = !nb.Scripts[c.ID]
	nb.Notice = "the script is folded"
	if nb.Scripts[c.ID] {
		nb.Notice = "the whole script and its values"
	}
	return nil
}

// trust shows the selected cell's script whole, and when it is asked for again at once,
// lets it run: the user has read it.
func (nb *notebook) trust() tea.Cmd {
	c, ok := nb.Selected()
	if !ok || c.Note() {
		return nb.Say("no script here")
	}
	if nb.KeyBefore != "T" || nb.reads != c.ID {
		nb.Scripts[c.ID] = true
		nb.Notice = "this is all of " + c.ID + ": read it; T again lets it run, in your name"
		nb.KeyBefore, nb.reads = "T", c.ID
		return nil
	}
	nb.Notice = c.ID + " is trusted until it changes"
	return nb.Try(func(s screen.Session) error { return s.Trust(c.ID) })
}

// toggleParts folds the list of parts away, for a wider notebook.
func (nb *notebook) toggleParts() tea.Cmd {
	nb.NoParts = !nb.NoParts
	return nil
}

// toggleMouse leaves the mouse to the terminal, which can select text then.
func (nb *notebook) toggleMouse() tea.Cmd {
	nb.NoMouse = !nb.NoMouse
	nb.Notice = "the mouse is railbench's: it selects and scrolls"
	if nb.NoMouse {
		nb.Notice = "the mouse is the terminal's, to select text; M takes it back"
	}
	return nil
}

// clickPart goes to what a row of the list of parts names.
func (nb *notebook) clickPart(row int, l screen.Layout) {
	_, targets := nb.partList(l)
	if row >= len(targets) || targets[row].part < 0 {
		return
	}
	t := targets[row]
	nb.goToPart(t.part)
	if t.item > 0 {
		nb.choose(t.item, nb.lines(), l.NoteHeight)
	}
}

// clickCell selects the cell that a row of the notebook belongs to.
func (nb *notebook) clickCell(row int) {
	d := nb.lines()
	if line := nb.top(d) + row; line < d.total {
		p := nb.cursor()
		p.item, p.loose, nb.Follow, nb.watch = d.at(line), true, false, ""
	}
}
