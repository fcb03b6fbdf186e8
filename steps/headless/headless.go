// Package headless runs cells without a screen: what is said meanwhile, and the result as lines and as the object that
// scripts read. It knows no flag, no exit status and no width: what is as wide as a terminal is drawn by tui/plain.
package headless

import (
	"context"
	"errors"
	"io"
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
