package launch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/strictnum"
)

// The parameters that the service reads.
const (
	Param      = "LAUNCHER"
	HostsParam = "LAUNCH_HOSTS"
)

// Variable is what a cell's scripts read: the launcher's command line, a word a line.
const Variable = "LAUNCH"

// sweepLimit is for looking at one node once a run is over.
const sweepLimit = 30 * time.Second

// A Service gives cells with with=launch the launcher's command line, and looks afterwards for
// what was started. It is a session.Service.
type Service struct {
	// Launchers gives those that are known. The error says which files were left out, and why.
	Launchers func() (Launchers, error)
}

// Start gives $LAUNCH; stop ends what is left of the run on any node.
func (s Service) Start(_ context.Context, r session.Request) (vars [2]map[string]string, stop func() error, err error) {
	words, err := s.words(r)
	if err != nil {
		return vars, nil, err
	}
	given := map[string]string{Variable: strings.Join(words, "\n")}
	vars[steps.Here], vars[steps.Peer] = given, given
	return vars, func() error { return sweep(r) }, nil
}

// Plan is what a dry run shows.
func (s Service) Plan(r session.Request) map[string]string {
	words, err := s.words(r)
	if err != nil {
		words = []string{"# " + err.Error()}
	}
	return map[string]string{Variable: strings.Join(words, "\n")}
}

func (s Service) words(r session.Request) ([]string, error) {
	name := r.Params[Param]
	all, err := s.Launchers()
	l, ok := all[name]
	switch {
	case !ok && err != nil:
		return nil, fmt.Errorf("launcher %q cannot be used: %w", name, err)
	case !ok:
		return nil, fmt.Errorf("unknown launcher %q: %s", name, strings.Join(all.Names(), ", "))
	}
	hosts, err := hostsOf(r.Rig, l.Nodes, r.Params[HostsParam])
	if err != nil {
		return nil, err
	}
	return l.Words(Request{Hosts: hosts, PerNode: 1, Mark: r.Run})
}

// hostsOf are the nodes as a launcher is given them, in the order in which ranks send to each other: NCCL
// goes from each rank to the next, and in a ring without a switch only neighbours have a cable. chosen, where
// not empty, are the user's own names, in the rig file's order.
func hostsOf(rig steps.Rig, by, chosen string) (all []string, err error) {
	var own []string
	if chosen != "" {
		if own = strings.Split(chosen, ","); len(own) != len(rig.Nodes) {
			return nil, fmt.Errorf("LAUNCH_HOSTS names %d hosts, and the rig has %d nodes", len(own), len(rig.Nodes))
		}
	}
	for _, e := range rig.Around() {
		n := rig.At(e)
		host := n.Host
		switch {
		case own != nil:
			host = own[standing(rig, n)]
		case n.Err != "":
			return nil, fmt.Errorf("%s could not be looked at, and a collective needs every node: %s", n.Name, n.Err)
		case strings.HasPrefix(n.Where, steps.OfSlurm):
			host = n.Name // Slurm, and mpirun inside an allocation, knows no other
		case e != steps.Here && by == "address": // the launcher runs on the first node, which knows its own name
			host = address(rig, n)
		}
		all = append(all, host)
	}
	return all, nil
}

// standing is a node's among those of the rig, in the rig file's order.
func standing(rig steps.Rig, n steps.Node) (before int) {
	for _, other := range rig.Nodes {
		if other.No < n.No {
			before++
		}
	}
	return before
}

// address is where the first node reaches another: as railbench does, or over a rail that both
// have, where railbench is on that node itself or reaches it through a forwarded port.
func address(rig steps.Rig, n steps.Node) string {
	_, host, named := strings.Cut(n.Where, "@")
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	ip, err := netip.ParseAddr(host)
	if named && host != "localhost" && (err != nil || ip.Is4() && !ip.IsLoopback()) {
		return host
	}
	here := rig.At(steps.Here)
	pairs := steps.PairRails(here, n)
	up := slices.IndexFunc(pairs, func(p steps.Pair) bool {
		return here.Rails[p.Rails[steps.Here]].State == "ACTIVE" && n.Rails[p.Rails[steps.Peer]].State == "ACTIVE"
	})
	if len(pairs) > 0 {
		return n.Rails[pairs[max(up, 0)].Rails[steps.Peer]].Addr
	}
	return n.Host
}

// sweep looks on every node for what the run has left behind, and ends it.
func sweep(r session.Request) error {
	texts, errs := each(context.Background(), r.Every, runner.Script{
		Name: "look for what is left of " + r.Run, Body: scripts.Sweep, Limit: sweepLimit,
		Vars: map[string]string{"MARK": r.Run, "ENTRY": MarkVariable + "=" + r.Run},
	})
	var wrong []error
	for i, text := range texts {
		node := r.Every[i].Name()
		found, left, ok := swept(text)
		switch {
		case errs[i] != nil:
			wrong = append(wrong, fmt.Errorf("it is unknown what the run left on %s: %w", node, errs[i]))
		case !ok:
			wrong = append(wrong, fmt.Errorf("it is unknown what the run left on %s", node))
		case left > 0:
			wrong = append(wrong, fmt.Errorf("%d processes of the run are still on %s: end those with %s=%s in their "+
				"environment",
				left, node, MarkVariable, r.Run))
		case found > 0:
			r.Tell("%d processes of the run were still on %s, and were ended", found, node)
		}
	}
	return errors.Join(wrong...)
}

// swept reads what scripts.Sweep printed.
func swept(text string) (found, left int, ok bool) {
	words := strings.Fields(text)
	if len(words) != 4 || words[0] != "found" || words[2] != "left" {
		return 0, 0, false
	}
	found, a := strictnum.Count(words[1])
	left, b := strictnum.Count(words[3])
	return found, left, a && b
}

// each runs a script on all nodes at once.
func each(ctx context.Context, nodes []runner.Node, s runner.Script) (texts []string, errs []error) {
	texts, errs = make([]string, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		// Each writes its own place, and Wait orders them before the reading.
		all.Go(func() { texts[i], errs[i] = runner.Text(ctx, n, s) })
	}
	all.Wait()
	return texts, errs
}
