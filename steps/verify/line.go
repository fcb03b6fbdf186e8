package verify

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// A Line is one stage of a measured cell, and where what is found goes.
type Line struct {
	Cell  steps.Cell
	Rig   steps.Rig
	Stage steps.Stage
	Ports []traffic.Port // of the rails that it leads over, at both ends; none where no one knows them
	Rep   *registry.Report
	Add   Adder
}

// An Adder adds a finding: to a rail, or to all of a test.
type Adder func(code steps.Code, g steps.Grade, format string, args ...any)

// A Test is what its family knows of one stage. Each method adds what speaks against the run; what all tests have in
// common (who was killed, the account of bytes, error counters, another user's traffic) the line adds by itself.
type Test interface {
	// Ends reports whether both ends ended by themselves and well.
	Ends() bool
	// Output reports whether what they printed is whole, free of complaints, and of this run.
	Output() bool
	// Flows are what it had to move, from what was printed.
	Flows() []traffic.Flow
	// Figure holds what was measured against the theory.
	Figure(traffic.Accounted)
	// Signs looks for what a good figure hides, in what was printed.
	Signs()
}

// EveryRail looks whether a cell that is for each rail has a stage for each, once: what was not
// measured doesn't pass with the rest.
func EveryRail(c steps.Cell, r steps.Result, rep *registry.Report) {
	if !c.EachRail {
		return
	}
	times := map[int]int{}
	for _, s := range r.Stages {
		times[s.Pair]++
	}
	rep.During(steps.ByEnds)
	for i := range r.Rig.Pairs {
		switch {
		case times[i] == 0:
			rep.Add(steps.RailMissing, steps.Inconclusive, "rail %d was not measured", i+1)
		case times[i] > 1:
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "rail %d was measured %d times", i+1, times[i])
		}
	}
}

// Verify runs the stages in their order. ok is false where one of the first two leaves nothing to be measured; of the
// others each is run.
func (l Line) Verify(t Test) (account traffic.Accounted, ok bool) {
	defer l.Rep.During("")
	l.Rep.During(steps.ByEnds)
	if f, known := First(l.Rig, l.Stage, l.Ports...); known {
		l.Add(f.Code, f.Grade, "%s", f.Text)
		return account, false
	}
	if !t.Ends() {
		return account, false
	}
	l.Rep.During(steps.ByOutput)
	if !l.whole() || !t.Output() {
		// A tool may come back after its link did, and then print figures that its options do not lead to.
		if f, down := wentDown(l.Rig, l.Stage, l.Ports); down {
			l.Add(f.Code, f.Grade, "%s", f.Text)
		}
		return account, false
	}
	l.Rep.During(steps.ByBytes)
	account = traffic.Account(l.Rig, l.Stage.Bytes, t.Flows()...)
	account.Tell(l.Rep, l.Add)
	l.Rep.During(steps.ByFigure)
	t.Figure(account)
	l.Rep.During(steps.BySigns)
	account.Signs(l.Add)
	l.links(slices.ContainsFunc(account.Loads, func(load traffic.Load) bool { return load.Traffic == traffic.RDMA }))
	t.Signs()
	return account, true
}
