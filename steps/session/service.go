package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// A Service is what railbench itself runs while a cell runs, for its scripts. Several runs may use one at once, as
// those of a check do that measures links side by side.
type Service interface {
	// Start makes it ready for one run and gives the variables that the scripts
	// read at each end. stop, which may be nil, ends it and cleans up after the run
	// once none of its scripts is alive; its error says what could not be cleaned.
	// Where this machine has not what it takes the error is an Absent.
	Start(ctx context.Context, r Request) (vars [2]map[string]string, stop func() error, err error)
	// Plan gives the variables as a dry run shows them; it starts nothing, has no nodes, and prints nothing.
	Plan(r Request) map[string]string
}

// A Mortal is a service that may end by itself during a run, which cannot go on then.
type Mortal interface {
	// Failed says why it has ended; nil while it runs.
	Failed() error
}

// An Absent is the error of a service that this machine can't run, for want of a program. The cell is skipped
// then, because that says nothing of the rig.
type Absent struct {
	Why string // whole sentences: what is missing, and what to do
}

func (a Absent) Error() string { return a.Why }

// A Request is the run that a service is started for.
type Request struct {
	Run    string            // a name that no other run has: $RUN
	Nodes  [2]runner.Node    // the link's, by End
	Every  []runner.Node     // the rig's, by End
	Rig    steps.Rig         // as it was found for this run
	Params map[string]string // of the scripts, with their defaults
	// Report prints a line under the cell.
	Tell func(format string, args ...any)
}

// newRun names one run of a cell on the nodes: $RUN.
func newRun() string { return "rb-" + strings.ToLower(rand.Text()[:10]) }

// plannedRun is $RUN in a dry run.
const plannedRun = "rb-dry-run"

// services starts what a cell is run with. The variables it gives are for both
// ends; stop ends everything again.
func (r *run) services(ctx context.Context, rig steps.Rig) (stop func(), err error) {
	r.vars[steps.Here], r.vars[steps.Peer] = map[string]string{"RUN": r.name}, map[string]string{"RUN": r.name}
	var stops []func() error
	stop = func() {
		for _, end := range slices.Backward(stops) {
			r.s.clock.Apart(ctx, true, func() {
				if err := end(); err != nil {
					r.tell("%s", err)
				}
			})
		}
	}
	for _, name := range r.cell.With {
		service, ok := r.s.o.Services[name]
		if !ok {
			return stop, fmt.Errorf("railbench has no service %q", name)
		}
		var vars [2]map[string]string
		var end func() error
		r.s.clock.Apart(ctx, true, func() {
			vars, end, err = service.Start(ctx, Request{
				r.name, [2]runner.Node{r.node(rig, steps.Here), r.node(rig, steps.Peer)}, r.every(rig), rig, r.params, r.tell,
			})
		})
		if end != nil {
			stops = append(stops, end)
			if m, ok := service.(Mortal); ok {
				r.mortal = append(r.mortal, m)
			}
		}
		if err != nil {
			return stop, fmt.Errorf("start %s: %w", name, err)
		}
		for _, e := range steps.Ends {
			maps.Copy(r.vars[e], vars[e])
		}
	}
	return stop, nil
}

// every are the rig's nodes in its order.
func (r *run) every(rig steps.Rig) (all []runner.Node) {
	for e := range rig.Nodes {
		all = append(all, r.node(rig, steps.End(e)))
	}
	return all
}

var errStalled = errors.New("nothing was printed")

// errHalted ends a run of which a process is stopped, by a signal or a debugger.
var errHalted = errors.New("a process of this test is stopped")

// errService ends a run whose service ended.
var errService = errors.New("a service of this test ended")

// errLinkDown ends a run whose link went down meanwhile.
var errLinkDown = errors.New("a link of this test went down")
