package session

import (
	"context"
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
)

// inRounds measures links in rounds, none of which has a node in two links, and alone what
// looked bad. The results stand in the order of the links.
func (r *run) inRounds(ctx context.Context, links []steps.Link) (results []steps.Result, told []linkVerdict) {
	at := map[pairs.Pair]int{}
	all := make([]pairs.Pair, len(links))
	results, told = make([]steps.Result, len(links)), make([]linkVerdict, len(links))
	for i, l := range links {
		all[i] = pairs.Pair{From: l.Here, To: l.Peer}
		at[all[i]] = i
		told[i] = linkVerdict{r.ends(l), steps.Verdict{
			Grade: steps.Inconclusive, Code: steps.Interrupted, Reason: "Interrupted before it was done.",
		}}
	}
	if err := r.lockSome(ctx, everyNode(len(r.s.o.Nodes))); err != nil {
		for i := range told {
			told[i].Reason = "Interrupted before it began: " + err.Error() + "."
		}
		return results, told
	}
	if r.seen == nil { // a user had them, and what he changed was not there when they were looked at
		seen := r.s.look(ctx, 0)
		r.seen = &seen
	}
	last := *r.seen
	rounds := pairs.Beside(all, len(all))
	for n, round := range rounds {
		if ctx.Err() != nil {
			return results, told
		}
		if n > 0 { // what was measured took its time
			last = last.of(ctx, r.s.o, nodesIn(round))
			r.seen = &last
		}
		if len(round) == 1 { // it can be shown as it comes
			l := at[round[0]]
			r.tell("link %s", told[l].link)
			results[l], told[l].Verdict = r.overLink(ctx, links[l])
			continue
		}
		r.tell("round %d of %d: %d links at once", n+1, len(rounds), len(round))
		subs := make([]*run, len(round))
		atOnce(ctx, r.s.clock, len(round), func(ctx context.Context, i int) {
			l := at[round[i]]
			subs[i] = &run{
				s: r.s, id: r.id, cell: r.cell, name: newRun(), seen: &last, params: r.params,
				locked: true, held: &heldLines{},
			}
			results[l], told[l].Verdict = subs[i].overLink(ctx, links[l])
		})
		for i, sub := range subs {
			if sub != nil {
				r.tell("link %s", told[at[round[i]]].link)
				r.replay(sub.held)
			}
		}
	}
	r.again(ctx, last, links, results, told, len(rounds[0]))
	return results, told
}

// mostAlone is how many links are measured again, one after the other: where nearly all are bad, a
// few say as much.
const mostAlone = 8

// again measures alone what looked bad while others ran. What is good then was bad because of them.
func (r *run) again(ctx context.Context, last look, links []steps.Link, results []steps.Result, told []linkVerdict,
	beside int,
) {
	if beside < 2 {
		return
	}
	left := mostAlone
	for i, l := range links {
		first := told[i].Verdict
		if ctx.Err() != nil || first.Grade == steps.Pass || first.Grade == steps.Skipped {
			continue
		}
		if left--; left < 0 {
			told[i].Reason += fmt.Sprintf(" Measured with %d links at once, not again alone.", beside)
			continue
		}
		last = last.of(ctx, r.s.o, []int{l.Here, l.Peer})
		r.seen = &last
		r.tell("link %s again, alone", told[i].link)
		result, alone := r.overLink(ctx, l)
		if ctx.Err() != nil { // its result while others ran is all that is known
			return
		}
		if results[i], told[i].Verdict = result, alone; alone.Grade == steps.Pass && first.Grade != steps.Inconclusive {
			told[i].Grade, told[i].Code, told[i].Decided = steps.Warn, steps.SlowTogether, first.Decided
			told[i].Reason = fmt.Sprintf("Good alone, but not with %d links at once: a shared part is too narrow, such "+
				"as a link between switches. With the others: %s", beside, first.Reason)
		}
	}
}

func (r *run) ends(l steps.Link) linkEnds {
	return linkEnds{r.s.o.Nodes[l.Here].Name(), r.s.o.Nodes[l.Peer].Name()}
}

// nodesIn are the nodes of pairs that have none in common.
func nodesIn(round []pairs.Pair) (nodes []int) {
	for _, p := range round {
		nodes = append(nodes, p.From, p.To)
	}
	return nodes
}

// heldLines are what a run prints while others run, until they can be shown in one piece. They are guarded by
// the run's logMu.
type heldLines struct {
	lines []heldLine
	bytes int // of them; no more than a parser gets
	left  int // that it had no room for
}

type heldLine struct {
	steps.OutputLine
	cut, logged bool // logged says that it is for the log alone
}

func (r *run) hold(line heldLine) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.held.bytes += line.Size(); r.held.bytes > keepText {
		r.held.left++
		return
	}
	r.held.lines = append(r.held.lines, line)
}

// replay prints what another run has held.
func (r *run) replay(h *heldLines) {
	for _, l := range h.lines {
		if l.logged {
			r.write(l.OutputLine, l.cut)
		} else {
			r.print(l.OutputLine, l.cut)
		}
	}
	if h.left > 0 {
		r.tell("%d more lines were printed over this link", h.left)
	}
}
