package session

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/railbench/railbench/steps"
)

// A defect is a panic in what a family brings: a parser, a judge, a planner. It ends one
// cell's verdict and nothing else: the program around it holds guarded changes, which go
// back, and sessions of hours, which are kept.
type defect struct {
	what   string // "the judge bandwidth"
	source string // "steps/family/perftest/bandwidth.go:123"
	said   string // what the panic said, a line
	stack  string // for the log, never for the screen
}

// Error is for the screen: one line, with the place that a report of the defect needs.
func (d *defect) Error() string {
	return fmt.Sprintf("%s of railbench failed at %s (%s): this is a defect of railbench, not of the "+
		"rig",
		d.what, d.source, d.said)
}

// evidence names the place, for readers of the saved session.
func (d *defect) evidence() steps.Evidence {
	return steps.Evidence{Name: "defect of railbench", Value: d.source + ": " + d.said}
}

// verdict is all that is known of a cell whose judge panicked.
func (d *defect) verdict() steps.Verdict {
	return steps.Verdict{
		Grade: steps.Inconclusive, Code: steps.Defect, Reason: sentence(d), Evidence: []steps.Evidence{d.evidence()},
	}
}

// contain does what a family brings, and gives the panic that it ended with; nil where
// it returned.
func contain(what string, do func()) (d *defect) {
	defer func() {
		if p := recover(); p != nil {
			said, _, _ := strings.Cut(fmt.Sprint(p), "\n")
			d = &defect{what: what, source: origin(), said: said, stack: string(debug.Stack())}
		}
	}()
	do()
	return nil
}

// origin is the line of railbench's source that panicked. It is asked for while the panic
// unwinds: below the runtime's frames stands who raised it. A library that panics stands
// there, too; the family that called it says more.
func origin() string {
	const module = "github.com/railbench/railbench/"
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && strings.HasPrefix(f.Function, module):
			// A build with -trimpath has the module's path in front, others a directory's.
			dir, _, _ := strings.Cut(f.Function[len(module):], ".")
			return fmt.Sprintf("%s/%s:%d", dir, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// plans asks a cell's planner; a cell that has none gets the zero Plan. Where the planner
// breaks off, the plan is to refuse: nothing is changed by half a plan.
func (o Options) plans(c steps.Cell, rig steps.Rig, params map[string]string) (steps.Plan, *defect) {
	planner := o.Catalog.Plans[c.Judge]
	if planner == nil {
		return steps.Plan{}, nil
	}
	var plan steps.Plan
	if d := contain("the planner "+c.Judge, func() { plan = planner(rig, params) }); d != nil {
		return steps.Plan{Refuse: d.Error()}, d
	}
	return plan, nil
}

// defect writes what a panic left into the cell's log, and a line of it on the screen.
func (r *run) defect(d *defect) {
	if d == nil {
		return
	}
	r.tell("%s", d)
	for line := range strings.Lines(d.stack) {
		r.write(steps.OutputLine{Kind: steps.Note, Text: strings.TrimRight(line, "\n")}, false)
	}
}

// plan is plans for the run's cell.
func (r *run) plan(rig steps.Rig) steps.Plan {
	plan, d := r.s.o.plans(r.cell, rig, r.params)
	r.defect(d)
	return plan
}
