package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// cache holds items that were drawn. A frame draws anew only what has changed,
// which is the running cell and nothing else most of the time.
type cache struct {
	intros map[introKey][]string
	cells  map[string]drawnCell
}

// notebook is the open part of the tutorial with its cells, and where the user is in it.
type notebook struct {
	*shared
	finder *finder
	output *output
	editor *editor
	form   *form
	keys   []chapter

	part    int
	cursors []cursor // by part
	watch   string   // the cell whose end is watched although the next one is selected

	folded map[string]bool // the output is not shown, by cell
	whole  map[string]bool // tables show all of their columns; by cell and introduction
	notes  map[string]bool // what is different in fact stands in its place; the same
	reads  string          // the cell whose script is read before it is trusted

	undone []steps.PartChanged // what z brings back, the last one last
	clip   *steps.Cell         // what v pastes; nil for nothing

	cache cache
	marks map[string]int // the number of the first difference, by cell and introduction; see markOf
}

type introKey struct {
	part, width int
	selected    bool
	whole       bool
	notes       bool
	pretend     string // of the simulated rig, which has more nodes once it is looked at
	outlook     string // what this rig should reach, once it was looked at
}

// cellKey is what a cell's picture was made of: as long as it is the same, so is the
// picture.
type cellKey struct {
	version steps.Version
	view    cells.View
	names   string // the nodes', in lines
	width   int
}

type drawnCell struct {
	key cellKey
	cells.Drawing
}

// doc sets the open part in lines as wide as the notebook's pane.
func (nb *notebook) doc() doc {
	l := nb.layout()
	part := nb.open()
	d := doc{}
	intro := nb.intro(part, l.noteWidth)
	d.add(cells.Drawing{Lines: intro, Verdict: len(intro), End: len(intro)})
	for i, c := range part.Cells {
		d.add(nb.cell(c, i+1, l))
	}
	return d
}

// Spread is the open part from its first line to its last, set as it is on the screen: what
// somebody sees who scrolls through all of it.
func (m *Model) Spread() []string {
	if m.width <= 0 || len(m.parts()) == 0 {
		return nil
	}
	return slices.Concat(m.notebook.doc().items...)
}

func (d *doc) add(x cells.Drawing) {
	d.items = append(d.items, x.Lines)
	d.verdicts = append(d.verdicts, x.Verdict)
	d.ends = append(d.ends, x.End)
	d.starts = append(d.starts, d.total)
	d.total += len(x.Lines)
}

// pretend says of how many nodes the simulated rig is, and where there are more than the
// two that a tutorial speaks of, which it means.
func (nb *notebook) pretend() string {
	names := nb.names()
	text := inWords(len(names)) + " pretend nodes inside this program; nothing here was measured on hardware. "
	if nb.linkable() {
		text += fmt.Sprintf("A cell runs over the link of two of them, now %s ⇄ %s: L chooses. Checks look at all. ",
			theme.Clean(names[steps.Here]), theme.Clean(names[steps.Peer]))
	}
	return text
}

// inWords is a small number as it stands in a sentence.
func inWords(n int) string {
	words := [...]string{2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
	if n >= 2 && n < len(words) {
		return words[n]
	}
	return steps.Thousands(n)
}

// intro is the part's title and prose, and on the first screen of a simulated rig
// what the user has before them.
func (nb *notebook) intro(part steps.Part, width int) []string {
	id := steps.IntroID(part.ID)
	key := introKey{
		part: nb.part, width: width, selected: nb.cursor().item == 0, whole: nb.whole[id], notes: nb.notes[id],
	}
	if nb.part == 0 && nb.opts.Simulated {
		key.pretend = nb.pretend()
	}
	if strings.Contains(part.Prose, limits.ThisRig) {
		key.outlook = limits.Outlook(nb.book.Rig)
	}
	if lines, ok := nb.cache.intros[key]; ok {
		return lines
	}
	var lines []string
	if key.pretend != "" {
		text := nb.ink.Warn.Render("SIMULATED RIG") + ": " + key.pretend + theme.Clean(nb.opts.Hint)
		bar := " " + nb.ink.Warn.Render("▏") + " "
		lines = append(lines, theme.Wrap(text, min(width-1, 100), bar, bar)...)
		lines = append(lines, "")
	}
	if part.Title == "" && len(nb.parts()) == 0 {
		lines = append(lines, " "+nb.ink.Dim.Render("This tutorial has no parts."))
	} else {
		bar, style := " ", nb.ink.Strong
		if key.selected {
			bar, style = nb.ink.Accent.Render("▌"), nb.ink.Focus
		}
		lines = append(lines, bar+style.Render(fmt.Sprintf("%d  %s", nb.part+1, theme.Clean(part.Title))), "")
	}
	for i, l := range lines {
		lines[i] = theme.Pad(l, width)
	}
	if strings.TrimSpace(part.Prose) != "" {
		o := cells.Setting{Whole: key.whole, Key: cells.WideKey, Mark: nb.markOf(id), InPlace: key.notes}
		lines = append(lines, o.Prose(strings.Replace(part.Prose, limits.ThisRig, key.outlook, 1), nb.ink, width)...)
		lines = append(lines, strings.Repeat(" ", width))
	}
	if nb.cache.intros == nil {
		nb.cache.intros = map[introKey][]string{}
	}
	nb.cache.intros[key] = lines
	return lines
}

// cell draws a cell, or gives what was drawn of it. All that a drawing depends on is in the key: of the cell's
// state the version, which changes with it.
func (nb *notebook) cell(c steps.Cell, item int, l layout) cells.Drawing {
	state := nb.book.Cells[c.ID]
	view := nb.viewOf(c, nb.cursor().item == item, l)
	view.Whole, view.Notes, view.Mark = nb.whole[c.ID], nb.notes[c.ID], nb.markOf(c.ID)
	view.Params, view.Stale, view.Folded = nb.changedParams(c), nb.book.Stale(c.ID), nb.folded[c.ID]
	names := nb.ranOn(state)
	key := cellKey{nb.book.Version(c.ID), view, strings.Join(names, "\n"), l.noteWidth}
	if old, ok := nb.cache.cells[c.ID]; ok && old.key == key {
		return old.Drawing
	}
	drawing := cells.Cell{Cell: c, State: state, Names: names, View: view}.Draw(nb.ink, l.noteWidth)
	if nb.cache.cells == nil {
		nb.cache.cells = map[string]drawnCell{}
	}
	nb.cache.cells[c.ID] = drawnCell{key, drawing}
	return drawing
}

// viewOf is how a cell or a check is looked at.
func (sh *shared) viewOf(c steps.Cell, selected bool, l layout) cells.View {
	view := cells.View{
		Selected: selected, Queued: slices.Index(sh.book.Queue, c.ID) + 1,
		Evidence: sh.evidence[c.ID], Script: sh.scripts[c.ID], Keep: l.keep, Simulated: sh.simulated(),
	}
	if view.Script {
		view.Values = sh.valuesOf(c)
	}
	if state := sh.book.Cells[c.ID]; state.Running {
		view.Spinner, view.Elapsed = sh.spinner.View(), cells.Seconds(sh.opts.RigNow().Sub(state.Started))
	}
	return view
}

// Key acts by the table of keys.
func (nb *notebook) Key(msg tea.KeyPressMsg) tea.Cmd { return press(nb.keys, msg) }

// Paste does nothing: nothing is typed here.
func (nb *notebook) Paste(string) tea.Cmd { return nil }

// Click selects a part or a cell.
func (nb *notebook) Click(x, row int) tea.Cmd {
	nb.dirty, nb.notice = true, ""
	switch l := nb.layout(); {
	case x < l.partsWidth:
		nb.clickPart(row, l)
	case x >= l.noteLeft && x < l.noteLeft+l.noteWidth:
		nb.clickCell(row)
	}
	return nil
}

// Wheel scrolls.
func (nb *notebook) Wheel(lines int) tea.Cmd { return nb.scroll(lines) }

// Bindings are those of the table.
func (nb *notebook) Bindings() []chapter { return nb.keys }

// Draw is the window over the open part.
func (nb *notebook) Draw(int, int) picture { return picture{lines: nb.note(nb.layout())} }
