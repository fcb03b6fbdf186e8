package rendezvous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/session"
)

// The values of $NIXL_RUNTIME, as nixlbench's --runtime_type has them.
const (
	ASIO = "ASIO"
	ETCD = "ETCD"
	auto = "auto"
)

// asioPort is nixlbench's default, and asioTries how many ports from there on are
// looked at for a free one.
const (
	asioPort  = 12345
	asioTries = 20
)

// A Runtime chooses how nixlbench's two ends find each other, in $NIXL_RUNTIME: by
// sockets of their own (ASIO, since v1.1.0), which fixes who is the initiator and
// leaves nothing behind, or through an etcd. It gives ASIO_IP and ASIO_PORT, or what
// Etcd gives. The parameter NIXL_RUNTIME, unless it is auto, decides.
// It may be used by several runs at once, as etcd may.
type Runtime struct{ etcd *Etcd }

// NewRuntime makes the service; e is used where an etcd is needed.
func NewRuntime(e *Etcd) *Runtime { return &Runtime{e} }

// Failed says why the etcd has ended that a run uses; nil while it runs, and for sockets.
func (t *Runtime) Failed() error { return t.etcd.Failed() }

// Plan gives the variables of a dry run, which asks no node: both ways' values.
// A parameter that is wrong shows at the start; a plan shows what it can.
func (t *Runtime) Plan(r session.Request) map[string]string {
	vars := t.etcd.Plan(r)
	vars["NIXL_RUNTIME"], vars["ASIO_IP"], vars["ASIO_PORT"] = ASIO, "", strconv.Itoa(asioPort)
	if chosen, err := choice(r.Params); err == nil && chosen == ETCD {
		vars["NIXL_RUNTIME"] = ETCD
	}
	if port := r.Params["ASIO_PORT"]; port != "" {
		vars["ASIO_PORT"] = port
	}
	if path, ok := r.Rig.Path(); ok {
		vars["ASIO_IP"] = path.Addrs[steps.Here]
	}
	return vars
}

// choice is what the parameter asks for: ASIO, ETCD, or auto.
func choice(params map[string]string) (string, error) {
	switch asked := params["NIXL_RUNTIME"]; {
	case asked == "", strings.EqualFold(asked, auto):
		return auto, nil
	case strings.EqualFold(asked, ASIO):
		return ASIO, nil
	case strings.EqualFold(asked, ETCD):
		return ETCD, nil
	default:
		return "", fmt.Errorf("NIXL_RUNTIME is %q: it is auto, ASIO or ETCD", asked)
	}
}

// Start chooses for a run; see session.Service.
func (t *Runtime) Start(ctx context.Context, r session.Request) (
	vars [2]map[string]string, stop func() error, err error,
) {
	chosen, err := choice(r.Params)
	if err != nil {
		return vars, nil, err
	}
	// Only then are the nodes asked: who says which way is not second-guessed.
	if chosen == auto {
		var why string
		if why, err = t.withoutASIO(ctx, r); err != nil {
			return vars, nil, err
		}
		if chosen = ASIO; why != "" {
			r.Tell("%s: its two ends find each other through etcd", why)
			chosen = ETCD
		}
	}
	if chosen == ASIO {
		vars, err = sockets(ctx, r)
		return vars, nil, err
	}
	vars, stop, err = t.etcd.Start(ctx, r)
	// Where etcd failed there are no variables to add to.
	for _, e := range steps.Ends {
		if vars[e] != nil {
			maps.Copy(vars[e], map[string]string{"NIXL_RUNTIME": ETCD, "ASIO_IP": "", "ASIO_PORT": ""})
		}
	}
	return vars, stop, err
}

// sockets gives both ends the initiator's address and a port that is free there.
func sockets(ctx context.Context, r session.Request) (vars [2]map[string]string, err error) {
	path, ok := r.Rig.Path()
	if !ok {
		return vars, errors.New("NIXL_RUNTIME is ASIO, which needs an address of this end that the other reaches, and " +
			"no two addresses in one subnet join the rails' interfaces: give NIXL_RUNTIME=ETCD")
	}
	port, err := freePort(ctx, r)
	for _, e := range steps.Ends {
		vars[e] = map[string]string{
			"NIXL_RUNTIME": ASIO, "ASIO_IP": path.Addrs[steps.Here], "ASIO_PORT": strconv.Itoa(port),
			"ETCD": "", "ETCD_PORT": "",
		}
	}
	return vars, err
}

// help prints what nixlbench says about its flags: it does not report its version in any other way. It ends with 1
// even where all is well.
const help = `PATH=$PATH:/usr/local/nixlbench/bin
command -v nixlbench >/dev/null 2>&1 || { echo 'no nixlbench'; exit 0; }
nixlbench --help 2>&1
:`

// withoutASIO says why nixlbench can't use its own sockets on this rig; empty where
// it can.
func (t *Runtime) withoutASIO(ctx context.Context, r session.Request) (why string, err error) {
	var texts [2]string
	var errs [2]error
	var both sync.WaitGroup
	for _, e := range steps.Ends {
		both.Go(func() {
			texts[e], errs[e] = runner.Text(ctx, r.Nodes[e],
				runner.Script{Name: "look at nixlbench", Body: help, Limit: stopLimit})
		})
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return "", err
	}
	for _, e := range steps.Ends {
		// The cell itself then says that it is missing, and with which package it comes; here it
		// only decides the way.
		if strings.HasPrefix(texts[e], "no nixlbench") {
			return "nixlbench is missing on " + r.Nodes[e].Name(), nil
		}
		if !strings.Contains(texts[e], "etcd_endpoints") { // every release has it
			said, _, _ := strings.Cut(texts[e], "\n")
			return "nixlbench on " + r.Nodes[e].Name() + " does not print its flags (" + cmp.Or(said, "it prints nothing") + ")",
				nil
		}
		if !strings.Contains(texts[e], "asio_address") {
			return "nixlbench on " + r.Nodes[e].Name() + " has no ASIO (" + release(texts[e]) + ")", nil
		}
	}
	if a, b := release(texts[steps.Here]), release(texts[steps.Peer]); a != b {
		r.Tell("nixlbench is not the same at the two ends: %s on %s, %s on %s",
			a, r.Nodes[steps.Here].Name(), b, r.Nodes[steps.Peer].Name())
	}
	if _, ok := r.Rig.Path(); !ok {
		return "no two addresses in one subnet join the rails' interfaces, and ASIO needs one", nil
	}
	return "", nil
}

// release says which nixlbench printed a --help.
func release(help string) string {
	return parse.NIXLBenchRelease(func(option string) bool { return strings.Contains(help, "-"+option+" ") })
}

// taken prints the ports, in hexadecimal, that something listens on.
const taken = `grep -hs " 0A " /proc/net/tcp /proc/net/tcp6
:`

// freePort is the first port from $ASIO_PORT on that nothing listens on at the
// initiator: its nixlbench would take a listener for its own peer.
func freePort(ctx context.Context, r session.Request) (int, error) {
	first := asioPort
	if asked := r.Params["ASIO_PORT"]; asked != "" {
		n, err := strconv.ParseUint(asked, 10, 16)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("ASIO_PORT is %q: it is a port, 1 to 65535", asked)
		}
		first = int(n)
	}
	rows, err := runner.Text(ctx, r.Nodes[steps.Here],
		runner.Script{Name: "look at the ports", Body: taken, Limit: stopLimit})
	if err != nil {
		return 0, err
	}
	used := map[int]bool{}
	for row := range strings.Lines(rows) {
		if fields := strings.Fields(row); len(fields) > 3 && fields[3] == "0A" {
			_, hex, _ := strings.Cut(fields[1], ":")
			// What is not a number is port 0, which no one listens on.
			n, _ := strconv.ParseUint(hex, 16, 16)
			used[int(n)] = true
		}
	}
	for port := first; port < first+asioTries && port <= 65535; port++ {
		if !used[port] {
			if port != first {
				r.Tell("something listens on port %d of %s: nixlbench's ends meet at %d", first, r.Nodes[steps.Here].Name(), port)
			}
			return port, nil
		}
	}
	return 0, fmt.Errorf("port %d of %s and the %d after it are all in use: give another as ASIO_PORT",
		first, r.Nodes[steps.Here].Name(), asioTries-1)
}
