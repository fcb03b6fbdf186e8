package notebook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// The journal: a line that says whose it is, and then one event a line.

// An Owner is who has a session open.
type Owner struct {
	Railbench string    `json:"railbench"`
	Format    int       `json:"format"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Since     time.Time `json:"since"`
}

func (o Owner) String() string {
	return fmt.Sprintf("railbench with the process id %d on %s, since %s",
		o.PID, o.Host, o.Since.Local().Format("2006-01-02 15:04:05"))
}

// An eventWire is one line of the journal. Which fields are set depends on Event; Seq counts all events, also
// those that are not kept.
type eventWire struct {
	Seq       int64          `json:"seq"`
	Event     string         `json:"event"`
	Cell      string         `json:"cell,omitempty"`
	Run       int            `json:"run,omitempty"`
	At        *time.Time     `json:"at,omitempty"`
	Lines     []printedWire  `json:"lines,omitempty"`
	Dropped   int            `json:"dropped,omitempty"`
	Table     *steps.Table   `json:"table,omitempty"`
	ElapsedMS float64        `json:"elapsedMS,omitempty"`
	Exit      *exitWire      `json:"exit,omitempty"`
	Verdict   *steps.Verdict `json:"verdict,omitempty"`
	Rails     []bytesWire    `json:"rails,omitempty"`
	Log       string         `json:"log,omitempty"`
	Rig       *rigWire       `json:"rig,omitempty"`
	Params    *paramsWire    `json:"params,omitempty"`
	End       string         `json:"end,omitempty"`
	State     string         `json:"state,omitempty"`
	Why       string         `json:"why,omitempty"`
	Cause     string         `json:"cause,omitempty"`
	Part      string         `json:"part,omitempty"`
	Cells     []steps.Cell   `json:"cells,omitempty"`
	// Def is the cell that started: the file may not have it yet.
	Def *facts `json:"def,omitempty"`
}

// printedWire are lines of one kind and origin.
type printedWire struct {
	Kind string   `json:"kind"`
	From string   `json:"from,omitempty"`
	Role string   `json:"role,omitempty"`
	Rail int      `json:"rail,omitempty"` // whose test begins here
	Text []string `json:"text"`
}

// wireEvent is an event for the journal; ok is false for one that is not kept.
func (d *Document) wireEvent(seq int64, e steps.Event) (w eventWire, ok bool) {
	w.Seq = seq
	switch e := e.(type) {
	case steps.CellQueued:
		w.Event, w.Cell = "queued", e.Cell
	case steps.CellDequeued:
		w.Event, w.Cell = "dequeued", e.Cell
	case steps.CellStarted:
		w.Event, w.Cell, w.Run, w.At = "started", e.Cell, int(e.Run), &e.At
		// With its scripts as they ran: the tutorial may be another one when the journal is read.
		if c, ok := d.Book.Tutorial.Cell(e.Cell); ok {
			w.Def = new(d.definition(c.Part, asRun(c, e.Scripts)))
		}
	case steps.CellPrinted:
		w.Event, w.Cell, w.Run, w.Dropped = "printed", e.Cell, int(e.Run), e.Dropped
		w.Lines = wireLines(e.Lines)
	case steps.CellMeasured:
		w.Event, w.Cell, w.Run, w.Table = "measured", e.Cell, int(e.Run), &e.Table
	case steps.CellEnded:
		w.Event, w.Cell, w.Run, w.At, w.ElapsedMS = "ended", e.Cell, int(e.Run), &e.At, milliseconds(e.Elapsed)
		w.Verdict, w.Rails, w.Log = new(finite(e.Verdict)), d.wireBytes(e.Bytes), e.Log
		if e.HasExit {
			w.Exit = wireExit(e.Exit)
		}
	case steps.CellCleared:
		w.Event, w.Cell = "cleared", e.Cell
	case steps.RigProbed:
		w.Event, w.Rig = "rig", new(wireRig(e.Rig))
	case steps.ParamsSet:
		w.Event, w.Params = "params", wireParams(e.Params)
	case steps.PartChanged:
		w.Event, w.Part, w.Cells = "part", e.Part, e.Cells
	case steps.NodeChanged:
		w.Event, w.End, w.State, w.Why, w.Cause = "node", steps.End(e.Node).String(), e.State.String(), e.Why, e.Cause
	default:
		return w, false
	}
	return w, true
}

// wireLines puts neighbours of one kind and origin together: a million lines of a tool name
// it once.
func wireLines(lines []steps.OutputLine) (all []printedWire) {
	for _, l := range lines {
		kind, n := kindNames[l.Kind], len(all)
		if n == 0 || all[n-1].Kind != kind || all[n-1].From != l.From || all[n-1].Role != l.Role || l.Rail > 0 {
			all = append(all, printedWire{Kind: kind, From: l.From, Role: l.Role, Rail: l.Rail})
			n++
		}
		all[n-1].Text = append(all[n-1].Text, painted(l))
	}
	return all
}

// event is what a line of the journal says; nil for one of a newer railbench.
func (w eventWire) event() steps.Event {
	run := steps.RunID(w.Run)
	switch w.Event {
	case "queued":
		return steps.CellQueued{Cell: w.Cell}
	case "dequeued":
		return steps.CellDequeued{Cell: w.Cell}
	case "started":
		return steps.CellStarted{Run: run, Cell: w.Cell, At: w.at(), Scripts: w.scripts()}
	case "printed":
		return steps.CellPrinted{Run: run, Cell: w.Cell, Lines: w.lines(), Dropped: w.Dropped}
	case "measured":
		if w.Table != nil {
			return steps.CellMeasured{Run: run, Cell: w.Cell, Table: *w.Table}
		}
	case "ended":
		return w.ended()
	case "cleared":
		return steps.CellCleared{Cell: w.Cell}
	case "rig":
		if w.Rig != nil {
			return steps.RigProbed{Rig: w.Rig.rig()}
		}
	case "params":
		return steps.ParamsSet{Params: w.Params.settings()}
	case "part":
		return steps.PartChanged{Part: w.Part, Cells: w.Cells}
	case "node":
		return w.nodeChanged()
	}
	return nil
}

func (w eventWire) at() time.Time {
	if w.At == nil {
		return time.Time{}
	}
	return *w.At
}

// scripts are those that the cell had when it started. They are never nil: that is for a run whose scripts
// are unknown.
func (w eventWire) scripts() []string {
	all := []string{}
	if w.Def != nil {
		for _, r := range w.Def.Roles {
			all = append(all, r.Script)
		}
	}
	return all
}

func (w eventWire) lines() (all []steps.OutputLine) {
	for _, g := range w.Lines {
		for _, t := range g.Text {
			text, spans := unpainted(t)
			all = append(all,
				steps.OutputLine{Kind: kindOf(g.Kind), From: g.From, Role: g.Role, Rail: g.Rail, Text: text, Spans: spans})
		}
	}
	return all
}

func (w eventWire) ended() steps.CellEnded {
	e := steps.CellEnded{
		Run: steps.RunID(w.Run), Cell: w.Cell, At: w.at(),
		Elapsed: duration(w.ElapsedMS), Bytes: railBytes(w.Rails), Log: w.Log,
	}
	if w.Verdict != nil {
		e.Verdict = *w.Verdict
	}
	if w.Exit != nil {
		e.Exit, e.HasExit = w.Exit.exit(), true
	}
	return e
}

// nodeChanged takes a state that it doesn't know for connecting, the zero value: nothing
// runs over such a connection.
func (w eventWire) nodeChanged() steps.NodeChanged {
	e := steps.NodeChanged{Node: int(endOf(w.End)), Why: w.Why, Cause: w.Cause}
	for _, s := range []runner.State{runner.Connected, runner.Disconnected} {
		if s.String() == w.State {
			e.State = s
		}
	}
	return e
}

// define adds a cell that is new.
func (d *Document) define(f facts) {
	if _, known := d.Book.Tutorial.Cell(f.Cell); known {
		return
	}
	t := &d.Book.Tutorial
	list := &t.Parts
	if f.Check {
		list = &t.Checklist
	}
	p := partOf(list, f.Part)
	p.Cells = append(p.Cells, f.cell())
}

// replay folds what a journal has and the document has not. It stops at a line that can't be read: the last
// one may have been cut off, and lines behind a bad one belong to an unknown state.
func (d *Document) replay(journal []byte) (whole bool) {
	in := bufio.NewReader(bytes.NewReader(journal))
	for first, parts := true, 0; ; first = false {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return len(line) == 0
		}
		if first {
			continue // whose it is
		}
		var w eventWire
		if ofSession.bounded(line, &parts) != nil || json.Unmarshal(line, &w) != nil || !w.named() {
			return false
		}
		// The file has it: railbench ended after a save, and before the journal was emptied.
		if w.Seq <= d.seq {
			continue
		}
		if w.Def != nil {
			d.define(*w.Def)
		}
		// One that this railbench doesn't know is passed over, and counts as read.
		if e := w.event(); e != nil {
			d.Apply(e)
		}
		d.seq = w.Seq
	}
}

// named reports whether every id in an event is one, and every name as long as one.
func (w eventWire) named() bool {
	ids := []string{w.Cell, w.Part}
	for _, l := range w.Lines {
		if ofSession.named(l.From, l.Role) != nil {
			return false
		}
	}
	if w.Rig != nil && ofSession.rigs(*w.Rig) != nil {
		return false
	}
	if w.Def != nil {
		if ofSession.within(*w.Def) != nil {
			return false
		}
		ids = append(ids, w.Def.Cell, w.Def.Part)
	}
	for _, c := range w.Cells {
		if c.ID == "" || ofSession.named(c.Title) != nil {
			return false
		}
		ids = append(ids, c.ID, c.Part)
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return id != "" && !steps.IsID(id) })
}

// owner reads the first line of a journal.
func owner(journal []byte) (Owner, bool) {
	line, _, _ := bytes.Cut(journal, []byte("\n"))
	var o Owner
	// A journal whose first line was cut off has no owner.
	return o, json.Unmarshal(line, &o) == nil && o.PID > 0
}
