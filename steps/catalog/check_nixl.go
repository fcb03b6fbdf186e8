package catalog

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// A nixlRun is what nixlbench's two ends told, of a run that both ended well.
type nixlRun struct {
	route  route
	init   parse.NIXLBench
	warned string
}

// nixlRunOf reads a run; ok is false where there was none to be judged, and then the
// report, or the verdict, says why.
func nixlRunOf(c steps.Cell, r steps.Result, rep *report) (run nixlRun, v *steps.Verdict) {
	over := func(v steps.Verdict) *steps.Verdict { return &v }
	if v, done := gate(c, r); done {
		return run, over(v)
	}
	s := r.Stages[0]
	var ok bool
	if run.route, ok = routeOf(c, r, s); !ok {
		rep.add(steps.Inconclusive, "the rails that it uses do not lead from node to node: see the rail map")
		return run, over(rep.verdict())
	}
	run.route.checkPorts(r.Rig, rep)
	ends, all := nixlEnds(r, s, rep)
	run.init, _ = ends[steps.Here].Value.(parse.NIXLBench)
	target, _ := ends[steps.Peer].Value.(parse.NIXLBench)
	switch {
	case !all:
		if v, skipped := skips(rep); skipped {
			return run, over(v)
		}
		return run, over(rep.verdict())
	case run.init.Role != "initiator" || target.Role != "target":
		rep.add(steps.Inconclusive, "nothing shows that %s was the initiator and %s the target: run it again", r.Rig.NameOf(steps.Here), r.Rig.NameOf(steps.Peer))
		return run, over(rep.verdict())
	case !complete(run.init, rep):
		return run, over(rep.verdict())
	}
	run.warned = unavailable(ends)
	return run, nil
}

// judgeNIXLRails: both rails carried their half. How fast is not asked.
func judgeNIXLRails(c steps.Cell, r steps.Result) steps.Verdict {
	var rep report
	run, v := nixlRunOf(c, r, &rep)
	if v != nil {
		return *v
	}
	f := nixlFlow(run.route, run.init)
	f.warned = run.warned
	carried := run.route.account(r, r.Stages[0], f, &rep)
	last := run.init.Rows[len(run.init.Rows)-1]
	rep.show("throughput, not judged", round(last.Gbps()), "Gb/s", nil)
	return rep.verdict("NIXL used both rails", carried)
}

// judgeNIXLThreads: a run with several threads comes to its end.
func judgeNIXLThreads(c steps.Cell, r steps.Result) steps.Verdict {
	var rep report
	run, v := nixlRunOf(c, r, &rep)
	if v != nil {
		rows := len(run.init.Rows)
		if rows > 0 && strings.Contains(r.Stages[0].Err, errStalled) && v.Grade == steps.Inconclusive {
			v.Grade = steps.Fail
			v.Reason = fmt.Sprintf("With two threads nixlbench stood still after %d of its 4 rows, and was ended: its threads wait for each other, or a link went down. Use one thread, and look for a newer NIXL and for a UCX that was built with --enable-mt.", rows)
		}
		return *v
	}
	threads := run.init.Config["num_threads"]
	rep.show("threads", threads, "", nil)
	last := run.init.Rows[len(run.init.Rows)-1]
	rep.show("throughput, not judged", round(last.Gbps()), "Gb/s", nil)
	if threads != "2" {
		rep.add(steps.Inconclusive, "nixlbench says that it ran with %s threads, and 2 were asked for", orUnknown(threads))
	}
	return rep.verdict(fmt.Sprintf("with two threads nixlbench came to its end, with all of its %d rows", len(run.init.Rows)))
}

// errStalled is how the session words that a run was silent for too long.
const errStalled = "nothing was printed"
