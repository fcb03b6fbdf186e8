package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps/change"
)

// captures looks at the network of nodes, all where none is named. The states stand at
// the nodes' numbers; that of a node that was not looked at is empty.
func captures(ctx context.Context, o Options, nodes ...int) ([]change.State, error) {
	if nodes == nil {
		for i := range o.Nodes {
			nodes = append(nodes, i)
		}
	}
	states, errs := make([]change.State, len(o.Nodes)), make([]error, len(o.Nodes))
	clock := o.clock()
	clock.Join(ctx, func(ctx context.Context) {
		atOnce(ctx, clock, len(nodes), func(ctx context.Context, i int) {
			states[nodes[i]], errs[nodes[i]] = capture(ctx, o.Nodes[nodes[i]])
		})
	})
	return states, errors.Join(errs...)
}

func capture(ctx context.Context, n runner.Node) (change.State, error) {
	out, err := seen(ctx, n, runner.Script{Name: "look at the network", Body: change.Capture, Limit: time.Minute})
	if err != nil {
		return change.State{}, err
	}
	s, err := change.Parse(out)
	if err != nil {
		return s, fmt.Errorf("look at the network of %s: %w", n.Name(), err)
	}
	return s, nil
}

// nodeOf is the number of the node that a place in the journal is now: the one that has
// its name or is reached in the same way. now, where not nil, are the nodes' states.
func nodeOf(o Options, now []change.State, p undo.Place) (int, bool) {
	for _, sameBoot := range []bool{true, false} {
		for i, n := range o.Nodes {
			if (n.Name() == p.Name || o.Where[i] == p.Where && p.Where != "") &&
				(!sameBoot || now != nil && now[i].Boot == p.Boot) {
				return i, true
			}
		}
	}
	return 0, false
}

// openChanges lists the changes of this rig that are still there, oldest first.
func openChanges(o Options, now []change.State) ([]undo.Entry, error) {
	if o.Journal == nil {
		return nil, nil
	}
	all, err := o.Journal.Entries()
	ours := []undo.Entry{}
	for _, e := range all {
		if slices.ContainsFunc(e.Nodes, func(p undo.Place) bool { _, ok := nodeOf(o, now, p); return ok }) {
			ours = append(ours, e)
		}
	}
	return ours, err
}

// Changes lists what was changed on this rig and is not back, oldest first. It looks at every node. Where one can't
// be looked at the list is nil; an error next to a list, which may be empty, is about entries of the journal that
// can't be read.
func Changes(ctx context.Context, o Options) ([]undo.Entry, error) {
	now, err := captures(ctx, o)
	if err != nil {
		return nil, err
	}
	return openChanges(o, now)
}

// Undo takes changes back, the newest first. What could not be put back is in the error; the journal keeps it. report
// is called by one goroutine at a time.
func Undo(ctx context.Context, o Options, entries []undo.Entry, tell func(format string, args ...any)) error {
	var telling sync.Mutex
	say := tell
	tell = func(format string, args ...any) {
		telling.Lock()
		defer telling.Unlock()
		say(format, args...)
	}
	for _, e := range slices.Backward(entries) {
		if left, _ := undoEntry(ctx, o, e, tell); left != nil {
			return fmt.Errorf("undo %s of %s: %s", e.Cell, e.At.Local().Format("15:04"), strings.Join(left, "; "))
		}
	}
	return nil
}

// undoEntry rolls one change back on both nodes, compares them with what was captured, and forgets the
// change. left says what was not restored. kept are nodes that are restored and still have their rollback,
// because the user is no longer root there.
func undoEntry(ctx context.Context, o Options, e undo.Entry, tell func(string, ...any)) (left, kept []string) {
	now, err := captures(ctx, o)
	if err != nil {
		// A node may be cut off until it goes back by itself: what is asked of it
		// waits for that.
		tell("%s", err)
	}
	problems, alone := make([]string, len(e.Nodes)), make([]bool, len(e.Nodes))
	clock := o.clock()
	clock.Join(ctx, func(ctx context.Context) {
		atOnce(ctx, clock, len(e.Nodes), func(ctx context.Context, i int) {
			problems[i], alone[i] = undoPlace(ctx, o, now, e, i, tell)
		})
	})
	for i, p := range problems {
		if p != "" {
			left = append(left, p)
		}
		if alone[i] {
			kept = append(kept, e.Nodes[i].Name)
		}
	}
	if left != nil || kept != nil {
		return left, kept
	}
	if err := o.Journal.Remove(e.ID); err != nil {
		return []string{err.Error()}, nil
	}
	return nil, nil
}

// undoPlace takes one change back on one node, and says what is not back. alone says that the node went back by
// itself, and that no one can remove what it keeps of the change.
func undoPlace(ctx context.Context, o Options, now []change.State,
	e undo.Entry, at int, tell func(format string, args ...any),
) (problem string, alone bool) {
	p := e.Nodes[at]
	i, ok := nodeOf(o, now, p)
	if !ok {
		return fmt.Sprintf("%s (%s) is not a node of this rig", p.Name, p.Where), false
	}
	node := o.Nodes[i]
	if boot := now[i].Boot; boot != "" && boot != p.Boot {
		tell("%s has restarted since, which removed the change", node.Name())
		return "", false
	}
	g := undo.Guard{Node: node, ID: p.Guard}
	report, err := g.Back(ctx, p.Back)
	for line := range strings.Lines(report.Output) {
		tell("%s: %s", node.Name(), line)
	}
	switch {
	case rootless(err) && !e.Until.IsZero():
		tell("%s: %s", node.Name(), err)
		problem = byItself(ctx, node, p, e.Until, tell)
		return problem, problem == ""
	case err != nil:
		return err.Error(), false
	case report.Code != 0:
		return fmt.Sprintf("the rollback ended with exit %d on %s: %s",
			report.Code, node.Name(), or(lastLine(report.Output), "no message")), false
	}
	diff, moved, err := differs(ctx, node, p)
	if err != nil {
		return err.Error(), false
	} else if diff != nil {
		return fmt.Sprintf("%s differs from before: %s", node.Name(), strings.Join(diff, ", ")), false
	}
	for _, m := range moved {
		tell("%s: %s", node.Name(), m)
	}
	if err := g.Forget(ctx); err != nil {
		return err.Error(), false
	}
	tell("%s is as it was before", node.Name())
	return "", false
}

// rootless reports whether an error is that of a person who can't become root.
func rootless(err error) bool {
	e, ok := errors.AsType[*runner.Error](err)
	return ok && e.Kind == runner.SudoPassword
}

// byItself waits for a node's own switch, which is root since it was armed, and compares: looking
// needs no root. It says what is not back.
func byItself(ctx context.Context, n runner.Node, p undo.Place, until time.Time, tell func(string, ...any)) string {
	clock := runner.ClockOf(n)
	if wait := until.Sub(clock.Now()); wait > 0 {
		tell("%s rolls back automatically in %.0f s; waiting for that", n.Name(), wait.Seconds())
		if clock.Await(ctx, wait) == runner.Interrupted {
			return fmt.Sprintf("whether %s has rolled back is unknown (%s)", n.Name(), context.Cause(ctx))
		}
	}
	for {
		diff, _, err := differs(ctx, n, p)
		switch {
		case err == nil && diff == nil:
			tell("%s has rolled back automatically and is as it was before", n.Name())
			return ""
		case ctx.Err() != nil && err != nil:
			return err.Error()
		case ctx.Err() != nil:
			return fmt.Sprintf("%s differs from before: %s", n.Name(), strings.Join(diff, ", "))
		}
	}
}

// settleTime is how long what follows from a change by itself may take: a carrier, the
// address of a link, a GID, a profile that starts.
const settleTime = 20 * time.Second

// differs compares a node's change set with what was captured. moved are the GIDs that are
// at another index.
func differs(ctx context.Context, n runner.Node, p undo.Place) (diff, moved []string, err error) {
	var before change.State
	if err := json.Unmarshal(p.Before, &before); err != nil {
		return nil, nil, errors.New("the journal does not contain the state before")
	}
	clock := runner.ClockOf(n)
	of := func(link string) bool { return slices.Contains(p.Set, link) }
	for end := clock.Now().Add(settleTime); ; {
		now, err := capture(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		diff, moved = change.Differences(before, now, of), change.Moved(before, now, of)
		if diff == nil || clock.Now().After(end) || clock.Await(ctx, time.Second) == runner.Interrupted {
			return diff, moved, nil
		}
	}
}
