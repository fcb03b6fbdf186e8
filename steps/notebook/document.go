// Package notebook is the saved session: what steps.Notebook folds, as an .ipynb
// (nbformat 4.5) that Jupyter opens, with railbench's own facts under
// metadata.railbench; the journal that keeps what happened since the last save; and
// the same session as Markdown, HTML and CSV, or compared with another one.
//
// It reads and writes files, and knows neither nodes nor screens. What an event
// means is steps.Notebook's.
package notebook

import (
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// keepBytes bounds what is saved of one cell's output, in addition to steps.KeepLines. The rest is in the
// log, and a browser can still open the notebook.
const keepBytes = 4 << 20

// A Document is a session as it is saved.
type Document struct {
	Railbench string // the version that wrote it
	Created   time.Time
	Book      steps.Notebook

	seq     int64                 // of the last event in it
	ran     map[string]steps.Cell // the cells as they were when they ran
	samples map[string]*Samples   // of the gauges, by cell id
	edited  map[string]bool       // the parts whose cells were changed
	numbers map[string]int        // of the differences, by their texts
	strange []stranger            // what other programs put into the file
}

// New is the empty session of a tutorial.
func New(version string, t steps.Tutorial, now time.Time) *Document {
	book := steps.NewNotebook(t)
	book.Rig = steps.NewRig("", false, 0) // as it is read again from a file without nodes
	return &Document{
		Railbench: version, Created: now, Book: book,
		ran: map[string]steps.Cell{}, edited: map[string]bool{}, samples: map[string]*Samples{},
		numbers: numbersOf(t),
	}
}

// Apply folds one event.
func (d *Document) Apply(e steps.Event) {
	switch e := e.(type) {
	case steps.CellStarted:
		if c, ok := d.Book.Tutorial.Cell(e.Cell); ok {
			d.ran[e.Cell] = asRun(c, e.Scripts)
		}
		delete(d.samples, e.Cell)
	case steps.CellCleared:
		if !d.Book.Cells[e.Cell].Running {
			delete(d.ran, e.Cell)
			delete(d.samples, e.Cell)
		}
	case steps.PartChanged:
		d.edited[e.Part] = true
	}
	d.Book = d.Book.Apply(e)
}

// asRun is a cell with the scripts that it ran.
func asRun(c steps.Cell, scripts []string) steps.Cell {
	if len(scripts) != len(c.Roles) {
		return c
	}
	c.Roles = slices.Clone(c.Roles)
	for i := range c.Roles {
		c.Roles[i].Script = scripts[i]
	}
	return c
}

// Sample keeps what the gauges show while cells run.
func (d *Document) Sample(b meter.Board, at time.Time) {
	for id, c := range d.Book.Cells {
		if !c.Running {
			continue
		}
		if d.samples[id] == nil {
			d.samples[id] = newSamples(c.Started)
		}
		d.samples[id].add(b, at)
	}
}

// Samples are what the gauges showed while a cell ran; nil where there are none.
func (d *Document) Samples(cell string) *Samples { return d.samples[cell] }

// Runs is the highest run of the session: the next one follows it.
func (d *Document) Runs() steps.RunID {
	most := steps.RunID(0)
	for _, c := range d.Book.Cells {
		most = max(most, c.Run)
	}
	return most
}

// unfinished is the reason of a cell whose end was not seen.
const unfinished = "railbench ended before this was done."

// settle ends what ran when the session was cut off and empties its queue. It gives
// the cells that were not done, in order.
func (d *Document) settle() []string {
	var left []string
	for id, c := range d.Book.Cells {
		if c.Running {
			left = append(left, id)
		}
	}
	slices.SortFunc(left, func(a, b string) int { return int(d.Book.Cells[a].Run - d.Book.Cells[b].Run) })
	for _, id := range left {
		c := d.Book.Cells[id]
		d.Apply(steps.CellEnded{
			Run: c.Run, Cell: id, At: c.Started, Bytes: c.Bytes, Log: c.Log,
			Exit: runner.Exit{Why: runner.Cancelled},
			Verdict: steps.Verdict{
				Grade: steps.Inconclusive, Code: steps.Interrupted, Reason: unfinished, Evidence: []steps.Evidence{},
			},
		})
	}
	for _, id := range d.Book.Queue {
		left = append(left, id)
		d.Apply(steps.CellDequeued{Cell: id})
	}
	// The connections were those of a program that has ended.
	d.Book.Connections = nil
	return left
}

// Under is the tutorial that a session with this document would have: t with what was
// edited, added, moved and removed in it.
func (d *Document) Under(t steps.Tutorial) steps.Tutorial {
	c := *d
	c.adopt(t)
	return c.Book.Tutorial
}

// adopt puts the results of an older document of the same session under a tutorial, which may have changed
// since. A result keeps the script that it came from. A cell that ran and is not in the tutorial any more
// stays, and so does what was edited, added, moved or removed.
func (d *Document) adopt(t steps.Tutorial) {
	t.Parts = slices.Clone(t.Parts)
	d.numbers = numbersOf(t)
	for _, p := range everyPart(d.Book.Tutorial) {
		i := slices.IndexFunc(t.Parts, func(q steps.Part) bool { return q.ID == p.ID })
		if i >= 0 && d.edited[p.ID] {
			t.Parts[i].Cells = edited(t, p.Cells)
			continue
		}
		var gone []steps.Cell
		for _, c := range p.Cells {
			_, known := t.Cell(c.ID)
			if _, ran := d.Book.Cells[c.ID]; ran && !known {
				gone = append(gone, c)
			}
		}
		if len(gone) == 0 {
			continue
		}
		if i < 0 {
			t.Parts, i = append(t.Parts, steps.Part{ID: p.ID, Title: p.Title}), len(t.Parts)
		}
		t.Parts[i].Cells = slices.Concat(t.Parts[i].Cells, gone)
	}
	d.Book.Tutorial = t
}

// edited are the cells of a part as they were left; untouched ones are the tutorial's.
func edited(t steps.Tutorial, saved []steps.Cell) []steps.Cell {
	var all []steps.Cell
	for _, c := range saved {
		known, ok := t.Cell(c.ID)
		if !ok {
			all = append(all, c)
			continue
		}
		if known.Hidden = c.Hidden; c.Edited {
			known.Roles, known.Edited = c.Roles, true
		}
		all = append(all, known)
	}
	return all
}

func everyPart(t steps.Tutorial) []steps.Part { return slices.Concat(t.Parts, t.Checklist) }

// shown are the parts that are saved: those of the tutorial, and of the checklist
// what ran.
func (d *Document) shown() []steps.Part {
	parts := slices.Clone(d.Book.Tutorial.Parts)
	for _, p := range d.Book.Tutorial.Checklist {
		p.Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c steps.Cell) bool {
			_, ran := d.Book.Cells[c.ID]
			return !ran
		})
		if len(p.Cells) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// cell is a cell as it ran, or as it would.
func (d *Document) cell(c steps.Cell) steps.Cell {
	if ran, ok := d.ran[c.ID]; ok {
		return ran
	}
	return c
}

// node is a node's name, or its place where it has none.
func (d *Document) node(e steps.End) string {
	if name := d.Book.Rig.At(e).Name; name != "" {
		return name
	}
	return e.String()
}

// mark ends a text with SIMULATED if what it says is simulated.
func (d *Document) mark(text string) string {
	if !d.Book.Rig.Simulated {
		return text
	}
	if text == "" {
		return simulated
	}
	return text + " " + simulated
}

const simulated = "SIMULATED"
