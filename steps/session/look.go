package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/probe"
)

// fresh is how long a look at the nodes can be used again, by cells that were asked for
// together: what a user asks for after a look is judged by another.
const fresh = 2 * time.Second

// watchEvery is how often the nodes are looked at while nothing runs: a result that
// the rig has outlived is marked. A look costs a node some 100 ms.
const watchEvery = 30 * time.Second

// A look is what was found on all nodes at once. The checks of a survey share one.
type look struct {
	rig  steps.Rig // in the order of the nodes' numbers
	errs []error   // by number: why a node could not be looked at
	asks int       // how often cells had been queued when it began
}

// over is what was found, with a link under test. The error is about its two nodes only: another node that does not
// answer is not a reason not to run, and its Node says so.
func (l look) over(o Options, link steps.Link) (steps.Rig, error) {
	return o.over(l.rig, link), errors.Join(l.errs[link.Here], l.errs[link.Peer])
}

// lookAt looks at all nodes, some at a time.
func lookAt(ctx context.Context, o Options) look {
	l := look{rig: steps.NewRig(o.Rig, o.Simulated, len(o.Nodes)), errs: make([]error, len(o.Nodes))}
	all := make([]int, len(o.Nodes))
	for i := range all {
		all[i] = i
	}
	l.renew(ctx, o, all)
	return l
}

// of is a look in which some nodes are probed again; the others are as they were seen last.
func (l look) of(ctx context.Context, o Options, nodes []int) look {
	l.rig.Nodes, l.errs = slices.Clone(l.rig.Nodes), slices.Clone(l.errs)
	l.renew(ctx, o, nodes)
	return l
}

// renew looks at some of the nodes, which it names by their numbers, some at a time.
func (l *look) renew(ctx context.Context, o Options, nodes []int) {
	clock, commands := o.clock(), o.commands()
	clock.Join(ctx, func(ctx context.Context) {
		some(ctx, clock, len(nodes), func(ctx context.Context, i int) {
			i = nodes[i]
			n, node := &l.rig.Nodes[i], o.Nodes[i]
			*n = steps.Node{}
			asked := o.versions.toAsk(i, commands)
			out, err := seen(ctx, node, probe.Script(asked))
			if err == nil {
				*n, err = probe.Parse(out, asked)
			}
			if err == nil {
				o.versions.keep(i, n.Tools)
			}
			n.No, n.Name, n.Where = i, node.Name(), o.Where[i]
			if err != nil {
				n.Err = err.Error()
			}
			l.errs[i] = err
		})
	})
	l.rig.Probed = clock.Now()
}

// looks is how often a look is begun whose connection breaks.
const looks = 3

// seen is the output of a script that only looks. A connection may break with the interfaces that a
// change moves, and a node may be too busy to answer the watch over it: that says nothing of what
// was to be seen, and the next look makes a connection of its own.
func seen(ctx context.Context, n runner.Node, s runner.Script) (out string, err error) {
	for range looks {
		out, err = runner.Text(ctx, n, s)
		e, ok := errors.AsType[*runner.Error](err)
		if !ok || e.Kind != runner.Lost && e.Kind != runner.Silent || ctx.Err() != nil {
			break
		}
	}
	return out, err
}

// commands are those that a node is looked at for: the families', and what else a cell needs.
func (o Options) commands() []steps.Command {
	all := slices.Clone(o.Catalog.Commands)
	for _, p := range slices.Concat(o.Tutorial.Parts, o.Tutorial.Checklist) {
		for _, c := range p.Cells {
			for _, need := range c.Needs {
				i := slices.IndexFunc(all, func(known steps.Command) bool { return known.Name == need })
				switch {
				case i >= 0:
					all[i].Probed = true
				case steps.IsCommand(need): // it may come from an untrusted file, and becomes a word of a script
					all = append(all, steps.Command{Name: need, Probed: true})
				}
			}
		}
	}
	return all
}

// Probe looks at all nodes at once. The error says which of the link under test could not
// be looked at.
func Probe(ctx context.Context, o Options) (steps.Rig, error) {
	return lookAt(ctx, o).over(o, o.link())
}

// link is the one under test at the start.
func (o Options) link() steps.Link {
	if o.Link == (steps.Link{}) {
		return steps.DefaultLink
	}
	return o.Link
}

// over is a rig with a link under test, and its rails as the rig file chooses them.
func (o Options) over(rig steps.Rig, l steps.Link) steps.Rig {
	rig, rig.Missing = rig.Over(l), nil
	choose(&rig, o.Rails)
	return rig
}

// node is the one that a rig has at an end.
func (o Options) node(rig steps.Rig, e steps.End) runner.Node { return o.Nodes[rig.At(e).No] }

// choose keeps the pairs that the rig file names for the link under test, in its order,
// and notes those that are none now: a rig is looked at because it is broken, too. A
// link that the file names no rail of keeps all that were found.
func choose(rig *steps.Rig, choices []RailChoice) {
	l := rig.Link()
	var rails [][2]string
	for _, c := range choices {
		switch c.Link {
		case l:
			rails = append(rails, [2]string{c.Here, c.Peer})
		case steps.Link{Here: l.Peer, Peer: l.Here}:
			rails = append(rails, [2]string{c.Peer, c.Here})
		}
	}
	if rails == nil || rig.At(steps.Here).Err != "" || rig.At(steps.Peer).Err != "" {
		return
	}
	found := rig.Pairs
	rig.Pairs = nil
	var known []string
	for _, p := range found {
		known = append(known, rig.Rail(p, steps.Here).Dev+"-"+rig.Rail(p, steps.Peer).Dev)
	}
	for _, want := range rails {
		i := slices.Index(known, want[0]+"-"+want[1])
		if i < 0 {
			rig.Missing = append(rig.Missing, fmt.Sprintf("the rig file names a rail from %s on %s to %s on %s, but no two "+
				"addresses in one subnet connect them",
				want[0], rig.At(steps.Here).Name, want[1], rig.At(steps.Peer).Name))
			continue
		}
		rig.Pairs = append(rig.Pairs, found[i])
	}
}

// lookFor gives the rig for a run over a link: from a look that was just taken, where
// seen is not nil, or the session's own.
func (s *Session) lookFor(ctx context.Context, l steps.Link, seen *look) (steps.Rig, error) {
	if seen == nil {
		own := s.look(ctx, fresh)
		seen = &own
	}
	return seen.over(s.o, l)
}

// probe looks at the nodes, unless the last look is younger than age, and gives the rig
// with the session's link under test.
func (s *Session) probe(ctx context.Context, age time.Duration) (steps.Rig, error) {
	return s.look(ctx, age).over(s.o, s.currentLink())
}

// look probes the nodes, unless the last look is younger than age and began after cells were queued last, and
// reports what it found. What was seen of nodes that do not answer now is kept as it was.
func (s *Session) look(ctx context.Context, age time.Duration) look {
	s.mu.Lock()
	last, ok, asks := s.last, s.probed && s.last.asks == s.asks, s.asks
	s.mu.Unlock()
	if ok && s.clock.Now().Sub(last.rig.Probed) < age {
		return last
	}
	l := lookAt(ctx, s.o)
	l.asks = asks
	s.keep(l, true)
	return l
}

// keep makes a look the session's, if both ends of the link under test answered. It is reported if it is new,
// or always.
func (s *Session) keep(l look, always bool) {
	s.mu.Lock()
	rig, err := l.over(s.o, s.link)
	if err != nil {
		s.mu.Unlock()
		return
	}
	changed := always || !s.probed || rig.Since(s.rig) != ""
	s.last, s.rig, s.probed = l, rig, true
	s.mu.Unlock()
	if changed {
		s.out.put(steps.RigProbed{Rig: rig})
		s.sampler.follow(rig)
	}
}

// watch is the time for the next look; never if there is no screen.
func (s *Session) watch() <-chan time.Time {
	if !s.o.Sample {
		return nil
	}
	return time.After(watchEvery)
}

// lookAgain probes the nodes and reports what has changed. For a node that does not answer, its connection
// does.
func (s *Session) lookAgain() { s.keep(lookAt(s.life, s.o), false) }
