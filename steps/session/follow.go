package session

import (
	"context"
	"errors"

	"github.com/railbench/railbench/steps"
)

// A Follower folds a session's events without a screen, for a run and a checklist.
type Follower struct {
	Session *Session
	Book    steps.Notebook
	// Ended is what the cells came to, by their ids.
	Ended map[string]steps.CellEnded
	// Report is called with each event once it is folded; nil is allowed.
	Tell func(steps.Event)
}

// Follow makes a Follower of a session, which is not open yet.
func Follow(s *Session, tell func(steps.Event)) *Follower {
	return &Follower{Session: s, Book: steps.NewNotebook(s.o.Tutorial), Ended: map[string]steps.CellEnded{}, Tell: tell}
}

// Run runs cells, and returns when all have ended or were taken from the queue. Where ctx
// ends first they are interrupted, and their ends are waited for all the same. What never
// ran is INCONCLUSIVE, and says why.
func (f *Follower) Run(ctx context.Context, ids ...string) {
	stop := context.AfterFunc(ctx, f.Session.Interrupt)
	defer stop()
	left := map[string]bool{}
	if ctx.Err() == nil {
		for _, id := range ids {
			left[id] = true
			delete(f.Ended, id)
		}
		f.Session.Run(ids...)
		if ctx.Err() != nil {
			f.Session.Interrupt() // it may have come before there was a queue
		}
	}
	for len(left) > 0 {
		events, ok := f.Session.Next(context.WithoutCancel(ctx))
		for _, e := range events {
			f.fold(ctx, e, left)
		}
		if !ok {
			break
		}
	}
	for _, id := range ids {
		if _, ok := f.Ended[id]; !ok {
			f.Leave(id, Reason(ctx))
		}
	}
}

// Watch folds what happens until ctx or the session ends, and runs nothing.
func (f *Follower) Watch(ctx context.Context) {
	for {
		events, ok := f.Session.Next(ctx)
		for _, e := range events {
			f.fold(ctx, e, nil)
		}
		if !ok {
			return
		}
	}
}

// Leave says why a cell is not run.
func (f *Follower) Leave(id, why string) {
	f.Ended[id] = steps.CellEnded{
		Cell: id, Verdict: steps.Verdict{Grade: steps.Inconclusive, Code: steps.NothingRan, Reason: "Not run: " + why + "."},
	}
}

func (f *Follower) fold(ctx context.Context, e steps.Event, left map[string]bool) {
	switch x := e.(type) {
	case steps.CellDequeued:
		delete(left, x.Cell)
	case steps.CellEnded:
		if ctx.Err() != nil && x.Verdict.Grade == steps.Inconclusive {
			x.Verdict.Reason = "Interrupted before it was done."
			if why := Reason(ctx); why != interrupted {
				x.Verdict.Reason = "Interrupted: " + why + "."
			}
			e = x
		}
		f.Ended[x.Cell] = x
		delete(left, x.Cell)
	}
	f.Book = f.Book.Apply(e)
	if f.Tell != nil {
		f.Tell(e)
	}
}

const interrupted = "interrupted"

// Reason is why a context has ended, for people: its cause, or that the user interrupted it.
func Reason(ctx context.Context) string {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause.Error()
	}
	return interrupted
}
