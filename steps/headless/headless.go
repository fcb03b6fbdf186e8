// Package headless runs cells without a screen: what is said meanwhile, and the result as lines and as the object that
// scripts read. It knows no flag, no exit status and no width: what is as wide as a terminal is drawn by tui/plain.
package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

// A Runner follows a session and says what happens on stderr.
type Runner struct {
	*session.Follower
	out     io.Writer
	verbose bool
	said    string // the last complaint about a connection
	unsaved string // the same about saving
	unkept  bool   // whether the log's failed write was reported: each cell's log has its own name
	// Figures prints what a cell measured; nil if only verdicts are shown.
	Figures func(steps.Verdict)
	// OnEnded gets each verdict that is printed elsewhere; nil if the progress shows the verdicts.
	OnEnded func(steps.CellEnded)
}

// New follows a session on out; verbose with the lines that cells print.
func New(s *session.Session, out io.Writer, verbose bool) *Runner {
	h := &Runner{out: out, verbose: verbose}
	h.Follower = session.Follow(s, h.tell)
	return h
}

// RunAll runs the cells one after the other; a FAIL does not stop it, a node that
// cannot be reached does.
func (h *Runner) RunAll(ctx context.Context, cells []steps.Cell) {
	for _, c := range cells {
		// A FAIL empties the queue after it was reported; this cell must not be in the queue then.
		_ = h.Session.Wait(ctx) // that ctx has ended is seen below
		switch {
		case ctx.Err() != nil:
			h.Leave(c.ID, session.Reason(ctx))
		// The first cell says itself what it is about a node; each after it would wait for that as long again.
		case h.Session.Unreachable() != nil && len(h.Ended) > 0:
			node := "a node"
			if e, ok := errors.AsType[*runner.Error](h.Session.Unreachable()); ok {
				node = e.Node
			}
			h.Leave(c.ID, "an earlier cell could not reach "+node+". Run: railbench doctor nodes")
		default:
			h.Run(ctx, c.ID)
		}
	}
}

// tell prints one event.
func (h *Runner) tell(e steps.Event) {
	switch e := e.(type) {
	case steps.CellStarted:
		c, _ := h.Book.Tutorial.Cell(e.Cell)
		sanitize.Fprintf(h.out, "▸ %s  %s\n", c.ID, c.Title)
	case steps.CellPrinted:
		h.lines(e)
	case steps.NodeChanged:
		// Each reconnection has its own; the same complaint twice says no more.
		if e.State == runner.Disconnected && e.Why != h.said {
			h.said = e.Why
			sanitize.Fprintf(h.out, "  %s\n", e.Why)
		}
	case steps.Saved:
		if e.Why != "" && e.Why != h.unsaved {
			h.unsaved = e.Why
			sanitize.Fprintf(h.out, "  %s\n", e.Why)
		}
	case steps.CellEnded:
		h.cellEnded(e)
	}
}

func (h *Runner) cellEnded(e steps.CellEnded) {
	took := e.Elapsed.Round(100 * time.Millisecond)
	if h.OnEnded == nil {
		sanitize.Fprintf(h.out, "  %s  %s  %s\n", e.Verdict.Grade, took, e.Verdict.Reason)
	} else {
		sanitize.Fprintf(h.out, "  %s  %s\n", e.Verdict.Grade, took)
		h.OnEnded(e)
	}
	// Those of railbench's own cells are part of the result.
	if c, ok := h.Book.Tutorial.Cell(e.Cell); h.Figures != nil && ok && c.Own == "" {
		h.Figures(e.Verdict)
	}
	if e.Unkept != "" && !h.unkept && !h.verbose {
		h.unkept = true
		sanitize.Fprintf(h.out, "  %s\n", e.Unkept)
	}
}

func (h *Runner) lines(e steps.CellPrinted) {
	if !h.verbose {
		return
	}
	if e.Dropped > 0 {
		sanitize.Fprintf(h.out, "    … %d lines are only in the log\n", e.Dropped)
	}
	for _, l := range e.Lines {
		from := l.From
		if l.Kind == steps.Note {
			from = "·"
		}
		sanitize.Fprintf(h.out, "    %s  %s\n", from, l.Text)
	}
}

// A Listing is the result of a run for people, on stdout: a line for each cell as soon as it has ended.
type Listing struct {
	out   io.Writer
	rig   steps.Rig
	wide  int // of the longest cell's name
	began bool
	done  map[string]bool
	err   error // the first
}

// NewListing prints what cells come to on a rig.
func NewListing(out io.Writer, rig steps.Rig, cells []steps.Cell) *Listing {
	l := &Listing{out: out, rig: rig, done: map[string]bool{}}
	for _, c := range cells {
		l.wide = max(l.wide, len(c.ID))
	}
	return l
}

func (l *Listing) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = sanitize.Fprintf(l.out, format, args...)
	}
}

// cell prints a cell's verdict, and below it the findings that its reason only counts.
func (l *Listing) cell(id string, grade steps.Grade, reason string, findings []steps.Found) {
	if !l.began {
		l.began = true
		simulated := ""
		if l.rig.Simulated {
			simulated = "  SIMULATED"
		}
		l.print("rig %s%s\n", l.rig.Name, simulated)
	}
	l.print("%-12s  %-*s  %s\n", grade, l.wide, id, reason)
	for _, f := range findings[min(1, len(findings)):] { // the reason has the first
		l.print("%-12s  %-*s  + %s: %s\n", "", l.wide, "", f.Grade, f.Text)
	}
	l.done[id] = true
}

// Ended prints a cell's verdict.
func (l *Listing) Ended(e steps.CellEnded) {
	l.cell(e.Cell, e.Verdict.Grade, e.Verdict.Reason, e.Verdict.Findings)
}

// Rest prints the cells that did not begin, and the sums.
func (l *Listing) Rest(r Object) error {
	for _, c := range r.Cells {
		if !l.done[c.ID] {
			l.cell(c.ID, c.Verdict, c.Reason, c.Findings)
		}
	}
	l.print("%s\n", Sums(r.Summary))
	return l.err
}

// WritePlan writes what running cells on a rig would execute.
func WritePlan(out io.Writer, o session.Options, rig steps.Rig, cells []steps.Cell) {
	for i, p := range session.Plan(o, rig, cells) {
		if i > 0 {
			sanitize.Fprintln(out)
		}
		what := []string{p.Cell.ID}
		if p.Role.Name != "" {
			what = append(what, p.Role.Name)
		}
		if p.Pair >= 0 {
			what = append(what, fmt.Sprintf("rail %d", p.Pair+1))
		}
		if p.Note != "" {
			sanitize.Fprintf(out, "# --- %s: nothing would run: %s\n", p.Cell.ID, p.Note)
			continue
		}
		where := o.Where[p.Node]
		simulated := ""
		if rig.Simulated {
			simulated = " SIMULATED"
		}
		asRoot := ""
		if p.Script.Root {
			asRoot = ", as root"
		}
		sanitize.Fprintf(out, "# --- %s, on %s (%s)%s%s\n%s", strings.Join(what, ", "),
			o.Nodes[p.Node].Name(), where, asRoot, simulated, sanitize.Several(p.Script.Text()))
	}
}
