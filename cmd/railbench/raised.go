package main

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/metrics"
)

// A raised is an alarm of the hardware as it was told last.
type raised struct {
	health.Alarm
	better int // samples in a row in which it was not as bad
}

// betterFor is how many samples an alarm has to be gone for, or less bad, to be told so: a
// temperature at its limit would be told again and again.
const betterFor = 4

// alarm tells what is new of a node's hardware: an alarm, one that has become worse, one that is
// over. What stands since the node came up is the checks' to tell.
func (w *watcher) alarm(node string, now []health.Alarm) {
	for _, a := range now {
		if !a.Standing && !slices.ContainsFunc(w.raised, func(r raised) bool { return r.Same(a) }) {
			w.raised = append(w.raised, raised{Alarm: health.Alarm{Kind: a.Kind, Node: a.Node, Of: a.Of}})
		}
	}
	for i := range w.raised {
		if r := &w.raised[i]; r.Node == node && r.take(now) {
			what := "ALARM"
			if r.Grade == steps.Pass {
				what = "CLEAR"
			}
			w.tell(what, fmt.Sprintf("%s %s on %s: %s", r.Grade, r.Kind, r.Node, r.Text))
		}
	}
	w.raised = slices.DeleteFunc(w.raised, func(r raised) bool { return r.Grade == steps.Pass })
}

// take makes it what it is now, and reports whether that is news.
func (r *raised) take(now []health.Alarm) (news bool) {
	a := health.Alarm{Kind: r.Kind, Node: r.Node, Of: r.Of, Grade: steps.Pass, Text: "it is right again"}
	if i := slices.IndexFunc(now, r.Same); i >= 0 {
		a = now[i]
	}
	if a.Grade >= r.Grade {
		r.better = 0
	} else if r.better++; r.better < betterFor {
		return false
	}
	news = a.Grade != r.Grade
	r.Alarm, r.better = a, 0
	return news
}

// sampled reports whether the samples tell what a check has found: they do, where each node tells
// its links and temperatures.
func (w *watcher) sampled(a metrics.Alarm) bool {
	if a.Cell.ID != health.AdapterHeat && a.Cell.ID != health.PCIeLink || a.Now.Grade == steps.Inconclusive {
		return false
	}
	for _, n := range w.follow.Book.Rig.Nodes {
		r, ok := w.before[n.No]
		if !ok || r.Health.Stale != "" || len(r.Health.Links) == 0 || len(r.Health.Heat) < len(r.Health.Links) {
			return false
		}
	}
	return true
}
