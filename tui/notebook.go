package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/ink"
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
}

// cellKey is everything that a cell's picture depends on.
type cellKey struct {
	run                                 steps.RunID
	running, selected, evidence, script bool
	lines, kept, queued, keep, width    int
	names                               string
	spinner, elapsed, params            string
	stale, prose                        string
	edited, folded                      bool
	// roles is the first of the cell's: an edit makes new ones.
	roles *steps.Role
	// live is the first row of the table so far: each that comes in is a new one.
	live *[]string
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

func (d *doc) add(x cells.Drawing) {
	d.items = append(d.items, x.Lines)
	d.heads = append(d.heads, x.Head)
	d.verdicts = append(d.verdicts, x.Verdict)
	d.ends = append(d.ends, x.End)
	d.starts = append(d.starts, d.total)
	d.total += len(x.Lines)
}

// intro is the part's title and prose, and on the first screen of a simulated rig
// what the user has before them.
func (m *Model) intro(part steps.Part, width int) []string {
	key := introKey{m.part, width, m.place().item == 0}
	if lines, ok := m.cache.intros[key]; ok {
		return lines
	}
	var lines []string
	if m.part == 0 && m.opts.Simulated {
		text := m.ink.Warn.Render("SIMULATED RIG") + ": two pretend nodes inside this program; nothing here was measured on hardware. " + ink.Clean(m.opts.Hint)
		bar := " " + m.ink.Warn.Render("▏") + " "
		lines = append(lines, ink.Wrap(text, min(width-1, 100), bar, bar)...)
		lines = append(lines, "")
	}
	if part.Title == "" && len(m.parts()) == 0 {
		lines = append(lines, " "+m.ink.Dim.Render("This tutorial has no parts."))
	} else {
		bar, style := " ", m.ink.Strong
		if key.selected {
			bar, style = m.ink.Accent.Render("▌"), m.ink.Focus
		}
		lines = append(lines, bar+style.Render(fmt.Sprintf("%d  %s", m.part+1, ink.Clean(part.Title))), "")
	}
	for i, l := range lines {
		lines[i] = ink.Pad(l, width)
	}
	if strings.TrimSpace(part.Prose) != "" {
		lines = append(lines, cells.Prose(part.Prose, m.ink, width)...)
		lines = append(lines, strings.Repeat(" ", width))
	}
	if m.cache.intros == nil {
		m.cache.intros = map[introKey][]string{}
	}
	m.cache.intros[key] = lines
	return lines
}

func (m *Model) cell(c steps.Cell, item int, l layout) cells.Drawing {
	state := m.book.Cells[c.ID]
	key := cellKey{
		run: state.Run, running: state.Running,
		selected: m.place().item == item,
		evidence: m.evidence[c.ID], script: m.scripts[c.ID],
		lines: state.Output.Len() + state.Output.Dropped(), kept: state.Output.Len(),
		queued: slices.Index(m.book.Queue, c.ID) + 1,
		params: m.changedParams(c),
		keep:   l.keep, width: l.noteWidth,
	}
	names := m.ranOn(state)
	key.folded, key.names = m.folded[c.ID], strings.Join(names, "\n")
	key.stale, key.prose, key.edited = m.book.Stale(c.ID), c.Prose, c.Edited
	if len(c.Roles) > 0 {
		key.roles = &c.Roles[0]
	}
	if rows := state.Live.Rows; len(rows) > 0 {
		key.live = &rows[0]
	}
	elapsed := state.Elapsed
	if state.Running {
		elapsed = m.opts.Now().Sub(state.Started)
		key.spinner, key.elapsed = m.spinner.View(), cells.Seconds(elapsed)
	}
	if old, ok := m.cache.cells[c.ID]; ok && old.key == key {
		return old.Drawing
	}
	drawing := cells.Cell{
		Cell: c, State: state, Names: names,
		Elapsed: elapsed, Spinner: key.spinner,
		Selected: key.selected, Queued: key.queued,
		Params:   key.params,
		Evidence: key.evidence, Script: key.script,
		Stale: key.stale, Folded: key.folded, Keep: key.keep, Simulated: m.opts.Simulated || m.book.Rig.Simulated,
	}.Draw(m.ink, l.noteWidth)
	if m.cache.cells == nil {
		m.cache.cells = map[string]drawnCell{}
	}
	m.cache.cells[c.ID] = drawnCell{key, drawing}
	return drawing
}
