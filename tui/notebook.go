package tui

import (
	"fmt"
	"slices"
	"strings"

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
func (m *Model) doc() doc {
	l := m.layout()
	part := m.open()
	d := doc{}
	intro := m.intro(part, l.noteWidth)
	d.add(cells.Drawing{Lines: intro, Verdict: len(intro), End: len(intro)})
	for i, c := range part.Cells {
		d.add(m.cell(c, i+1, l))
	}
	return d
}

// Spread is the open part from its first line to its last, set as it is on the screen: what
// somebody sees who scrolls through all of it.
func (m *Model) Spread() []string {
	if m.width <= 0 || len(m.parts()) == 0 {
		return nil
	}
	return slices.Concat(m.doc().items...)
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
func (m *Model) pretend() string {
	names := m.names()
	text := inWords(len(names)) + " pretend nodes inside this program; nothing here was measured on hardware. "
	if m.linkable() {
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
func (m *Model) intro(part steps.Part, width int) []string {
	id := steps.IntroID(part.ID)
	key := introKey{
		part: m.part, width: width, selected: m.cursor().item == 0, whole: m.whole[id], notes: m.notes[id],
	}
	if m.part == 0 && m.opts.Simulated {
		key.pretend = m.pretend()
	}
	if strings.Contains(part.Prose, limits.ThisRig) {
		key.outlook = limits.Outlook(m.book.Rig)
	}
	if lines, ok := m.cache.intros[key]; ok {
		return lines
	}
	var lines []string
	if key.pretend != "" {
		text := m.ink.Warn.Render("SIMULATED RIG") + ": " + key.pretend + theme.Clean(m.opts.Hint)
		bar := " " + m.ink.Warn.Render("▏") + " "
		lines = append(lines, theme.Wrap(text, min(width-1, 100), bar, bar)...)
		lines = append(lines, "")
	}
	if part.Title == "" && len(m.parts()) == 0 {
		lines = append(lines, " "+m.ink.Dim.Render("This tutorial has no parts."))
	} else {
		bar, style := " ", m.ink.Strong
		if key.selected {
			bar, style = m.ink.Accent.Render("▌"), m.ink.Focus
		}
		lines = append(lines, bar+style.Render(fmt.Sprintf("%d  %s", m.part+1, theme.Clean(part.Title))), "")
	}
	for i, l := range lines {
		lines[i] = theme.Pad(l, width)
	}
	if strings.TrimSpace(part.Prose) != "" {
		o := cells.Setting{Whole: key.whole, Key: cells.WideKey, Mark: m.markOf(id), InPlace: key.notes}
		lines = append(lines, o.Prose(strings.Replace(part.Prose, limits.ThisRig, key.outlook, 1), m.ink, width)...)
		lines = append(lines, strings.Repeat(" ", width))
	}
	if m.cache.intros == nil {
		m.cache.intros = map[introKey][]string{}
	}
	m.cache.intros[key] = lines
	return lines
}

// cell draws a cell, or gives what was drawn of it. All that a drawing depends on is in the key: of the cell's
// state the version, which changes with it.
func (m *Model) cell(c steps.Cell, item int, l layout) cells.Drawing {
	state := m.book.Cells[c.ID]
	view := m.viewOf(c, m.cursor().item == item, l)
	view.Whole, view.Notes, view.Mark = m.whole[c.ID], m.notes[c.ID], m.markOf(c.ID)
	view.Params, view.Stale, view.Folded = m.changedParams(c), m.book.Stale(c.ID), m.folded[c.ID]
	names := m.ranOn(state)
	key := cellKey{m.book.Version(c.ID), view, strings.Join(names, "\n"), l.noteWidth}
	if old, ok := m.cache.cells[c.ID]; ok && old.key == key {
		return old.Drawing
	}
	drawing := cells.Cell{Cell: c, State: state, Names: names, View: view}.Draw(m.ink, l.noteWidth)
	if m.cache.cells == nil {
		m.cache.cells = map[string]drawnCell{}
	}
	m.cache.cells[c.ID] = drawnCell{key, drawing}
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
