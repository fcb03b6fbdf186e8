package session

import (
	"context"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/cabling"
)

// Survey probes all nodes, some at a time, and asks those that answered for their neighbours on their rails.
// errs are by node: why one could not be probed. It delays nothing else.
func Survey(ctx context.Context, o Options) (rig steps.Rig, cables cabling.Map, errs []error) {
	l := lookAt(ctx, o)
	facts := make([]map[string]string, len(o.Nodes))
	clock := o.clock()
	clock.Join(ctx, func(ctx context.Context) {
		some(ctx, clock, len(o.Nodes), func(ctx context.Context, i int) {
			if l.errs[i] != nil {
				return
			}
			out, err := seen(ctx, o.Nodes[i], runner.Script{
				Name: "cabling", Body: scripts.Cabling, Limit: 20 * time.Second,
				Vars: map[string]string{"WAYS": cabling.Ways(l.rig, i), "UNNUMBERED": cabling.Unnumbered(l.rig.Nodes[i])},
			})
			if err == nil {
				facts[i] = cabling.Facts(l.rig.Nodes[i], out)
			}
			l.errs[i] = err
		})
	})
	return l.rig, cabling.See(l.rig, facts), l.errs
}

// some does n things, askedAtOnce of them at a time.
func some(ctx context.Context, clock runner.Clock, n int, do func(context.Context, int)) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	atOnce(ctx, clock, min(askedAtOnce, n), func(ctx context.Context, _ int) {
		for i := range next {
			do(ctx, i)
		}
	})
}
