package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// everyLink runs a check over every link of a rig of more than two nodes, one after the
// other, and folds what they came to: a check looks at all of them. One that moves data goes
// around the nodes, over as many links as there are nodes: each port's way is tried both as
// here and as the peer, and the time grows as the nodes do.
func (r *run) everyLink(ctx context.Context) (steps.Result, steps.Verdict) {
	if onlyLooks(r.cell) {
		if r.seen == nil {
			seen := r.s.look(ctx, fresh)
			r.seen = &seen
		}
		r.gather(ctx)
	}
	var all steps.Result
	var told []linkVerdict
	links := steps.Links(len(r.s.o.Nodes))
	if ring := steps.Ring(len(r.s.o.Nodes)); !onlyLooks(r.cell) && len(ring) < len(links) {
		r.tell("over %d of %d links, each node to the next: it moves data, and all of them take %.1f times as long",
			len(ring), len(links), float64(len(links))/float64(len(ring)))
		links = ring
	}
	for _, l := range links {
		if ctx.Err() != nil && told != nil {
			break
		}
		ends := linkEnds{r.s.o.Nodes[l.Here].Name(), r.s.o.Nodes[l.Peer].Name()}
		r.tell("link %s", ends)
		result, v := r.overLink(ctx, l)
		told = append(told, linkVerdict{ends, v})
		if all.Rig.Nodes == nil {
			all.Rig = result.Rig
		}
		all.Stages = append(all.Stages, r.s.renumbered(result)...)
	}
	return all, foldLinks(told)
}

// askedAtOnce is how many nodes a check asks beside each other.
const askedAtOnce = 32

// asking is a script as one node was asked it.
type asking struct {
	node   int // its number
	script string
}

// gather asks every node once, side by side, what a check asks both ends of a link: what a node
// says of itself it need not say for each link that it is at, and what is compared between nodes
// was said at the same time. A link at which a node is asked something else, as what names its
// peer, asks by itself.
func (r *run) gather(ctx context.Context) {
	c := r.cell
	if r.s.o.refuses(c) != "" || c.EachRail || c.Counters || len(c.With) > 0 || c.Own != "" ||
		r.s.o.Catalog.Plans[c.Judge] != nil {
		return
	}
	type task struct {
		rig  steps.Rig
		end  steps.End
		role steps.Role
		out  steps.Output
	}
	var tasks []task
	nodes := len(r.s.o.Nodes)
	for no := range nodes {
		rig, err := r.seen.over(r.s.o, steps.Link{Here: no, Peer: (no + 1) % nodes})
		if err != nil || r.missing(rig) != "" || r.lacksRails(rig) != "" || r.bonded(rig) != nil {
			continue
		}
		for _, role := range c.Roles {
			if role.On != steps.OnBoth {
				return
			}
			tasks = append(tasks, task{rig: rig, end: steps.Here, role: role})
		}
	}
	next := make(chan *task, len(tasks))
	for i := range tasks {
		next <- &tasks[i]
	}
	close(next)
	atOnce(ctx, r.s.clock, min(askedAtOnce, len(tasks)), func(ctx context.Context, _ int) {
		for t := range next {
			t.out = r.one(ctx, t.rig, -1, t.role, t.end, r.limit(), nil)
		}
	})
	r.gathered = map[asking]steps.Output{}
	for _, t := range tasks {
		asked := r.script(t.rig, -1, t.role, t.end, r.limit())
		r.gathered[asking{t.rig.At(t.end).No, asked.Text()}] = t.out
	}
}

// linkEnds are the names of the nodes at the ends of a link.
type linkEnds [2]string

func (e linkEnds) String() string { return e[0] + ":" + e[1] }

type linkVerdict struct {
	link linkEnds
	steps.Verdict
}

// foldLinks makes one verdict of a check's, a link each. SKIPPED everywhere is SKIPPED;
// otherwise the worst counts, and is told with its link. What several links say in the
// same words, as they do of a node that they share, is told once.
func foldLinks(told []linkVerdict) steps.Verdict {
	v := steps.Verdict{Evidence: []steps.Evidence{}}
	for _, t := range told {
		v.Grade = v.Grade.Worst(t.Grade)
		v.Tables = append(v.Tables, t.Tables...)
		for _, e := range t.Evidence {
			if !slices.ContainsFunc(v.Evidence, func(x steps.Evidence) bool { return sameEvidence(x, e) }) {
				v.Evidence = append(v.Evidence, e)
			}
		}
	}
	var reasons []string
	links := map[string][]string{}
	// A verdict is about one node where all links that have this grade name the same one:
	// that is the node that they share.
	node, several := "", false
	for _, t := range told {
		if t.Grade != v.Grade {
			continue
		}
		if links[t.Reason] == nil {
			reasons = append(reasons, t.Reason)
		}
		links[t.Reason] = append(links[t.Reason], t.link.String())
		several = several || node != "" && t.Node != node
		node = t.Node
	}
	if !several {
		v.Node = node
	}
	if len(reasons) == 1 {
		if v.Reason = reasons[0]; len(links[reasons[0]]) < len(told) {
			v.Reason = strings.Join(links[reasons[0]], ", ") + ": " + v.Reason
		}
		return v
	}
	wrong := v.Grade != steps.Pass && v.Grade != steps.Skipped
	if nodes := outliers(told, v.Grade); wrong && len(nodes) > 0 {
		v.Reason = outlierReason(told, nodes)
		if len(nodes) == 1 {
			v.Node = nodes[0]
		}
		return v
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(links[reason], ", ") + ": " + reason
	}
	v.Reason = strings.Join(reasons, " ")
	return v
}

// outliers are the nodes that explain a grade: all of their links have it, no link between two
// others has it, and they are fewer than the others. Three nodes have no majority that would be
// worth the name.
func outliers(told []linkVerdict, g steps.Grade) []string {
	var nodes, ill []string
	for _, t := range told {
		for _, node := range t.link {
			if !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
	}
	for _, node := range nodes {
		well := func(t linkVerdict) bool { return slices.Contains(t.link[:], node) && t.Grade != g }
		if !slices.ContainsFunc(told, well) {
			ill = append(ill, node)
		}
	}
	elsewhere := func(t linkVerdict) bool {
		return t.Grade == g && !slices.Contains(ill, t.link[0]) && !slices.Contains(ill, t.link[1])
	}
	if len(nodes) <= 3 || 2*len(ill) >= len(nodes) || slices.ContainsFunc(told, elsewhere) {
		return nil
	}
	return ill
}

// outlierReason says of each outlier that it is one, and what one of its links came to.
func outlierReason(told []linkVerdict, nodes []string) string {
	var all []string
	for _, node := range nodes {
		own := slices.DeleteFunc(slices.Clone(told), func(t linkVerdict) bool { return !slices.Contains(t.link[:], node) })
		// One to a node that is well tells what is the matter with this one: they are the majority.
		i := slices.IndexFunc(own, func(t linkVerdict) bool {
			return !slices.Contains(nodes, t.link[0]) || !slices.Contains(nodes, t.link[1])
		})
		all = append(all, fmt.Sprintf("%s at each of its %d links: %s: %s", node, len(own), own[i].link, own[i].Reason))
	}
	return strings.Join(all, " ") + " The links between all other nodes are better."
}

func sameEvidence(a, b steps.Evidence) bool {
	return a.Name == b.Name && a.Unit == b.Unit && fmt.Sprint(a.Value) == fmt.Sprint(b.Value)
}

// renumbered are a result's stages with the ends of the rig as the session has it: what
// ran over another link has its own order of nodes.
func (s *Session) renumbered(result steps.Result) []steps.Stage {
	order := s.currentLink().Reorder(len(s.o.Nodes))
	end := func(e steps.End) steps.End { return steps.End(max(0, slices.Index(order, result.Rig.At(e).No))) }
	for _, st := range result.Stages {
		for i := range st.Outputs {
			st.Outputs[i].End = end(st.Outputs[i].End)
		}
		for i := range st.Bytes {
			st.Bytes[i].End = end(st.Bytes[i].End)
		}
	}
	return result.Stages
}
