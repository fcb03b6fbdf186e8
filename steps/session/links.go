package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// everyLink runs a check over every link of a rig of more than two nodes, one after the
// other, and folds what they came to: a check looks at all of them.
func (r *run) everyLink(ctx context.Context) (steps.Result, steps.Verdict) {
	var all steps.Result
	var told []linkVerdict
	for _, l := range steps.Links(len(r.s.o.Nodes)) {
		if ctx.Err() != nil && told != nil {
			break
		}
		names := r.s.o.Nodes[l.Here].Name() + ":" + r.s.o.Nodes[l.Peer].Name()
		r.tell("link %s", names)
		result, v := r.overLink(ctx, l)
		told = append(told, linkVerdict{names, v})
		if all.Rig.Nodes == nil {
			all.Rig = result.Rig
		}
		all.Stages = append(all.Stages, r.s.renumbered(result)...)
	}
	return all, foldLinks(told)
}

type linkVerdict struct {
	link string
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
		links[t.Reason] = append(links[t.Reason], t.link)
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
	for i, reason := range reasons {
		reasons[i] = strings.Join(links[reason], ", ") + ": " + reason
	}
	v.Reason = strings.Join(reasons, " ")
	return v
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
