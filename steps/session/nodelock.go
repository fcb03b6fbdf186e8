package session

import (
	"context"
	"slices"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// Of two railbenches on one rig one runs; the other is shown who does, and comes after it. The nodes are
// locked for as long as cells follow each other: what would collide with another's load, ports and changes
// has the link's nodes to itself.

// lockLinger is how long nodes stay locked after a cell: run gives the next one only then.
const lockLinger = 3 * time.Second

// lockPause is between two tries for nodes that another has.
const lockPause = 2 * time.Second

// alone reports whether a cell needs its nodes for itself. What only looks doesn't.
func alone(c steps.Cell) bool {
	return c.Pairs != nil || c.Counters || c.Asks || c.Change.Any() || len(c.With) > 0 ||
		slices.ContainsFunc(c.Roles, func(r steps.Role) bool { return r.Ready != (steps.Ready{}) })
}

// lockNodes locks the nodes of a run, and waits for who has them, for as long as the user
// does; the error is that he did not.
func (r *run) lockNodes(ctx context.Context) error {
	if r.wide() {
		return r.lockSome(ctx, everyNode(len(r.s.o.Nodes)))
	}
	return r.lockSome(ctx, []int{r.link.Here, r.link.Peer})
}

// lockSome is lockNodes for some nodes.
func (r *run) lockSome(ctx context.Context, nodes []int) error {
	o := r.s.o
	if o.LockOwner.Token == "" || !alone(r.cell) || r.locked {
		return nil
	}
	return r.s.await(ctx, nodes, func(by string, first bool) {
		if first {
			r.seen = nil
			text := by + ": " + r.cell.ID + " waits until that ends, or until you interrupt it"
			r.tell("%s", text)
			if o.OnWait != nil {
				o.OnWait(text)
			}
		}
		// What the other has changed by then was not there when the nodes were looked at.
		r.s.mu.Lock()
		r.s.asks++
		r.s.mu.Unlock()
	})
}

// await locks nodes, and waits for who has them; the error is that ctx ended before. Before each wait
// it calls waits with who that is, and whether that was not said yet.
func (s *Session) await(ctx context.Context, nodes []int, waits func(by string, first bool)) error {
	for told := ""; ; {
		by := s.tryLock(ctx, nodes)
		switch {
		case by != "":
			waits(by, by != told)
			told = by
			s.clock.Await(ctx, s.o.pause)
		case ctx.Err() == nil:
			return nil
		}
		// An interrupt while a node is asked again has waited for the same one.
		switch {
		case ctx.Err() == nil:
		case told != "":
			return busyError(told)
		default:
			return ctx.Err()
		}
	}
}

// busyError says who has a node.
type busyError string

func (e busyError) Error() string { return string(e) }

// tryLock locks all of some nodes or none, and says who holds one. Keeping the first lock while waiting for
// another could be a deadlock. A node that can't be asked counts as free; what runs on it next reports why.
func (s *Session) tryLock(ctx context.Context, nodes []int) (by string) {
	for _, i := range nodes {
		if c := s.locks[i]; c != nil && !c.Lost() {
			continue
		}
		c, who, err := s.o.LockOwner.Lock(ctx, s.o.Nodes[i])
		switch {
		case err != nil:
		case c == nil:
			s.release()
			return s.o.Nodes[i].Name() + " is in use by " + sanitize.Line(who)
		default:
			s.locks[i] = c
		}
	}
	return ""
}

// release gives all nodes back.
func (s *Session) release() {
	for i, c := range s.locks {
		c.Release()
		delete(s.locks, i)
	}
}

// released is when the nodes are given back where nothing more runs; never where none is locked.
func (s *Session) released() <-chan time.Time {
	if len(s.locks) == 0 {
		return nil
	}
	return time.After(time.Until(s.ranUntil.Add(s.o.linger)))
}
