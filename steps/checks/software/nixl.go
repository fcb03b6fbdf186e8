package software

import (
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/nixl"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// A nixlRun is what nixlbench's two ends printed, of a run that both ended well.
type nixlRun struct {
	route  traffic.Route
	init   parse.NIXLBench
	warned string
}

// nixlRunOf reads a run; ok is false where there was none to be judged, and then the
// report, or the verdict, says why.
func nixlRunOf(c steps.Cell, r steps.Result, rep *registry.Report) (run nixlRun, v *steps.Verdict) {
	over := func(v steps.Verdict) *steps.Verdict { return &v }
	if v, done := registry.Gate(c, r); done {
		return run, over(v)
	}
	s := r.Stages[0]
	var ok bool
	if run.route, ok = traffic.RouteOf(c, r, s); !ok {
		rep.Add(steps.NoRail, steps.Inconclusive, "the rails of this test do not connect the nodes: see the rail map")
		return run, over(rep.Verdict())
	}
	run.route.CheckPorts(r.Rig, rep)
	ends, all := nixl.BenchEnds(r, s, rep)
	run.init, _ = ends[steps.Here].Value.(parse.NIXLBench)
	target, _ := ends[steps.Peer].Value.(parse.NIXLBench)
	switch {
	case !all:
		if v, skipped := registry.Skips(rep); skipped {
			return run, over(v)
		}
		return run, over(rep.Verdict())
	case run.init.Role != "initiator" || target.Role != "target":
		rep.Add(steps.RolesSwapped, steps.Inconclusive, "it is unclear whether %s was the initiator and %s the target. Run "+
			"it again", r.Rig.NameOf(steps.Here), r.Rig.NameOf(steps.Peer))
		return run, over(rep.Verdict())
	case !nixl.Complete(run.init, rep):
		return run, over(rep.Verdict())
	}
	run.warned = nixl.Unavailable(ends)
	return run, nil
}

// judgeNIXLRails: both rails carried their half. How fast is not asked.
func judgeNIXLRails(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	run, v := nixlRunOf(c, r, &rep)
	if v != nil {
		return *v
	}
	f := nixl.BenchFlow(run.route, run.init)
	f.Warned = run.warned
	account := traffic.Account(r.Rig, r.Stages[0].Bytes, f)
	account.Tell(&rep, rep.Add)
	carried := account.Carried(steps.Here)
	last := run.init.Rows[len(run.init.Rows)-1]
	rep.Show("throughput, not checked", registry.Round(last.Gbps()), "Gb/s", nil)
	return rep.Verdict("NIXL used both rails", carried)
}

// judgeNIXLThreads: a run with several threads comes to its end.
// One that printed rows and then no more hung in the middle, which is a FAIL; one without a row may never have
// begun.
func judgeNIXLThreads(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	run, v := nixlRunOf(c, r, &rep)
	if v != nil {
		rows := len(run.init.Rows)
		if rows > 0 && r.Stages[0].Stalled && v.Grade == steps.Inconclusive {
			v.Grade, v.Code, v.Codes = steps.Fail, steps.TestStalled, nil
			v.Evidence = append(v.Evidence, steps.Evidence{
				Name:  steps.NoteName,
				Value: "Its threads wait for each other, or a link went down. A newer NIXL may not hang",
			})
			v.Reason = fmt.Sprintf("nixlbench between %s and %s hung with two threads, after %d of 4 rows. Use one thread, or "+
				"a UCX built with --enable-mt on both.", r.Rig.NameOf(steps.Here), r.Rig.NameOf(steps.Peer), rows)
		}
		return *v
	}
	threads := run.init.Config["num_threads"]
	rep.Show("threads", threads, "", nil)
	last := run.init.Rows[len(run.init.Rows)-1]
	rep.Show("throughput, not checked", registry.Round(last.Gbps()), "Gb/s", nil)
	if threads != "2" {
		rep.Add(steps.OutputForeign, steps.Inconclusive, "%s ran with %s threads, but 2 were requested", "nixlbench",
			registry.OrUnknown(threads))
	}
	return rep.Verdict(fmt.Sprintf("a run of nixlbench with two threads finished all of its %d rows", len(run.init.Rows)))
}
