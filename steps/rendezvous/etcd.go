// Package rendezvous is where nixlbench's two ends find each other: an etcd, or
// nixlbench's own sockets (ASIO). It holds the services that cells name with
// with=etcd and with=nixl-runtime, and what nixlbench's keys and options mean. How
// an etcd is run is runner/etcd's.
package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

// etcdPort is etcd's own, for a dry run.
const etcdPort = "2379"

// stopLimit is how long the tidying up after a run may take.
const stopLimit = 10 * time.Second

// An Etcd gives both nodes an etcd, in $ETCD and $ETCD_PORT: railbench's own, which
// starts with the first run that needs it and lasts until Close, or one that is
// there already. What listens on loopback, as railbench's own does, is forwarded to
// each node's loopback for the run. The rest is handed over as it is.
type Etcd struct {
	// As it was given; empty for railbench's own.
	endpoint string
	start    Starter // of railbench's own

	mu sync.Mutex
	// nil after Close, and where there is no endpoint.
	client *etcd.Client // of the endpoint
	// nil until a run needs it.
	server *etcd.Server    // railbench's own
	live   map[string]bool // the groups of runs that are under way: links are measured side by side
	claims etcd.Claims
	swept  sync.WaitGroup
	cancel context.CancelFunc // of the sweep; nil where there is none
}

// Remember has the runs that use another user's etcd claimed in a folder, and removes what runs that were killed have
// left in one, meanwhile. It is called once, before the first run.
func (e *Etcd) Remember(dir string) {
	e.claims = etcd.Claims{Dir: dir}
	if e.claims.None() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	e.cancel = cancel
	e.swept.Go(func() { e.claims.Clear(ctx) }) // the run that needs an etcd tries again, and reports, what fails here
}

// A Starter starts an etcd of railbench's own: etcd.Start, or a simulated one. ctx bounds the start.
type Starter func(ctx context.Context) (*etcd.Server, error)

// NewEtcd makes the service. endpoint, where not empty, is the URL of an etcd that
// is there already; start is for where it is empty.
func NewEtcd(endpoint string, start Starter) (*Etcd, error) {
	e := &Etcd{endpoint: endpoint, start: start}
	if endpoint == "" {
		return e, nil
	}
	client, err := etcd.Open(endpoint)
	e.client = client
	return e, err
}

// Close ends railbench's own etcd, and with it everything in it.
func (e *Etcd) Close() error {
	if e.cancel != nil {
		e.cancel()
		e.swept.Wait()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	if e.server != nil {
		errs = append(errs, e.server.Close())
		e.server = nil
	}
	if e.client != nil {
		_ = e.client.Close() // it says that it was cancelled, which it was
		e.client = nil
	}
	return errors.Join(errs...)
}

// open gives the etcd, and starts railbench's own where there is none.
// mu is held while it starts, so that two runs at once get one.
func (e *Etcd) open(ctx context.Context) (*etcd.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		return e.client, nil
	}
	// It ended by itself. A new one has none of its keys, which were of runs that failed with it.
	if e.server != nil && e.server.Err() != nil {
		_ = e.server.Close() // it has failed, and that was reported at the time
		e.server = nil
	}
	if e.server == nil {
		server, err := e.start(ctx)
		if err != nil {
			return nil, absent(ctx, err)
		}
		e.server = server
	}
	return e.server.Client, nil
}

// absent says why there is no etcd of railbench's own. An interrupted start does not show that.
func absent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	why := err.Error()
	// The command that it may end with has a full stop of its own: go install -C DIR .
	if !strings.HasSuffix(why, ".") {
		why += "."
	}
	return session.Absent{Why: why + " Or name an etcd that both nodes reach: --etcd http://HOST:2379. " +
		"nixlbench from 1.1.0 on needs none."}
}

// Failed says why railbench's own etcd has ended; nil while it runs.
func (e *Etcd) Failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	return e.server.Err()
}

// Keys lists what nixlbench's runs have left, by group. It starts no etcd: where
// none runs there is nothing.
func (e *Etcd) Keys(ctx context.Context) ([]Group, error) {
	client := e.running()
	if client == nil {
		return nil, nil
	}
	keys, err := client.List(ctx, root)
	return groups(keys), err
}

// Clear removes what the runs of one group have left, and says how many keys that
// were.
func (e *Etcd) Clear(ctx context.Context, group string) (int, error) {
	client := e.running()
	if client == nil {
		return 0, nil
	}
	return client.Clear(ctx, prefix(group))
}

// running is the etcd that there is already; nil where there is none. It never starts one.
func (e *Etcd) running() *etcd.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == nil && e.server != nil {
		return e.server.Client
	}
	return e.client
}

// Plan gives the variables of a dry run: which port a node will choose is not
// known before.
func (e *Etcd) Plan(session.Request) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		return given(e.client.URL(), e.client.Port())
	}
	return given("http://127.0.0.1:"+etcdPort, etcdPort)
}

// given is the two variables; nixlbench takes a URL, and the JSON gateway's users need the port.
func given(url, port string) map[string]string {
	return map[string]string{"ETCD": url, "ETCD_PORT": port}
}

// Start gives both nodes the etcd for a run; see session.Service. Keys of other groups are reported and left
// alone: a user may be using them.
func (e *Etcd) Start(ctx context.Context, r session.Request) (vars [2]map[string]string, stop func() error, err error) {
	client, err := e.open(ctx)
	if err != nil {
		return vars, nil, err
	}
	over := e.begin(r.Run)
	defer func() {
		if err != nil {
			over()
		}
	}()
	// Before anything is forwarded: these reports belong above the run's own lines.
	e.tellLeft(ctx, r)
	looked := e.tellOthers(ctx, client, r)
	release := e.claim(client, r, looked)
	var ports [2]*runner.Forwarding
	if e.endpoint != "" && !client.OnLoopback() && !r.Rig.Simulated {
		for _, end := range steps.Ends {
			vars[end] = given(client.URL(), client.Port())
		}
	} else {
		if ports, err = forward(ctx, client, r); err != nil {
			release() // nothing of it is there yet
			return vars, nil, err
		}
		for _, end := range steps.Ends {
			port := strconv.Itoa(ports[end].Port())
			vars[end] = given("http://127.0.0.1:"+port, port)
		}
	}
	return vars, func() error {
		defer over()
		// The run may have been interrupted: its keys are removed all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		// First: that the etcd has failed is why the rest fails.
		errs := []error{e.Failed()}
		if looked {
			err := e.tidy(ctx, client, r)
			if errs = append(errs, err); err == nil {
				release()
			}
		}
		for _, p := range ports {
			if p != nil {
				errs = append(errs, p.Close())
			}
		}
		return errors.Join(errs...)
	}, nil
}

// begin says that a run is under way, until it is over.
func (e *Etcd) begin(run string) (over func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live == nil {
		e.live = map[string]bool{}
	}
	e.live[run] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.live, run)
	}
}

// underWay reports whether a group is that of a run that is under way.
func (e *Etcd) underWay(group string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[group]
}

// claim remembers the run where it leaves something in another user's etcd. What can't be looked into from here can't
// be cleared from here either.
func (e *Etcd) claim(client *etcd.Client, r session.Request, looked bool) (release func()) {
	if e.endpoint == "" || e.claims.Dir == "" || !looked {
		return func() {}
	}
	release, err := e.claims.Take(r.Run, client.URL(), prefix(r.Run))
	if err != nil {
		r.Tell("%s: if railbench is killed, what this run left under %s stays there", err, prefix(r.Run))
		return func() {}
	}
	return release
}

// tellLeft removes what runs that were killed have left, in this or another etcd, and says so.
func (e *Etcd) tellLeft(ctx context.Context, r session.Request) {
	if e.claims.Dir == "" {
		return
	}
	for _, l := range e.claims.Clear(ctx) {
		switch {
		case l.Err != nil:
			r.Tell("what a killed railbench left under %s is still there: %s", l.Prefix, l.Err)
		case l.Keys > 0:
			r.Tell("etcd at %s: removed what a killed railbench left under %s, %d keys", l.Endpoint, l.Prefix, l.Keys)
		}
	}
}

// tellOthers says what other groups have left. It is false where this machine
// cannot look into the etcd, which the nodes may reach all the same.
func (e *Etcd) tellOthers(ctx context.Context, client *etcd.Client, r session.Request) bool {
	keys, err := client.List(ctx, root)
	if err != nil {
		r.Tell("%s: what earlier runs left there is not known, and what this one leaves will not be removed", err)
		return false
	}
	var others []string
	why := "they are not in this run's way, whose group is " + r.Run
	for _, g := range groups(keys) {
		if g.Name == "" {
			why = "a nixlbench before 0.5.0, which knows no groups, fails because of those without one"
		}
		if !e.underWay(g.Name) {
			others = append(others, g.String())
		}
	}
	if others != nil {
		r.Tell("etcd at %s holds keys of other runs under %s: %s. They stay there; %s",
			client.URL(), root, strings.Join(others, ", "), why)
	}
	return true
}

// tidy removes what the run has left: nixlbench itself leaves its barriers and
// messages behind, and everything where it was killed.
func (e *Etcd) tidy(ctx context.Context, client *etcd.Client, r session.Request) error {
	n, err := client.Clear(ctx, prefix(r.Run))
	switch {
	case err != nil:
		return fmt.Errorf("%w: what this run left under %s is still there", err, prefix(r.Run))
	// 0 is silent: nixlbench has cleaned up itself.
	case n == 1:
		r.Tell("etcd: removed 1 key under %s", prefix(r.Run))
	case n > 1:
		r.Tell("etcd: removed %d keys under %s", n, prefix(r.Run))
	}
	return nil
}

// forward makes the etcd listen on the loopback of both nodes.
func forward(ctx context.Context, client *etcd.Client, r session.Request) (ports [2]*runner.Forwarding, err error) {
	var both sync.WaitGroup
	var errs [2]error
	for _, end := range steps.Ends {
		// Each end writes its own place, and Wait orders them before the reading.
		both.Go(func() { ports[end], errs[end] = forwardTo(ctx, client, r, end) })
	}
	both.Wait()
	if err = errors.Join(errs[:]...); err == nil {
		return ports, nil
	}
	for _, p := range ports {
		if p != nil {
			_ = p.Close() // the reason to report is err
		}
	}
	return ports, err
}

func forwardTo(ctx context.Context, client *etcd.Client, r session.Request, end steps.End) (*runner.Forwarding, error) {
	node, ok := r.Nodes[end].(runner.Forwarder)
	if !ok {
		return nil, fmt.Errorf("forward a port of %s: this kind of node has none to forward", r.Nodes[end].Name())
	}
	f, err := node.Forward(ctx, 0, client.Dial)
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Kind == runner.NoForwarding {
		err = fmt.Errorf("%w. Or name an etcd that both nodes reach: --etcd http://HOST:2379", err)
	}
	if err != nil {
		return nil, err
	}
	tellOpen(ctx, r, end, f.Port())
	return f, nil
}

// addresses prints the addresses that a port, $HEX, listens on, as the kernel
// writes them.
// The last line keeps grep's status, which is 1 where nothing matches, from being the script's.
const addresses = `grep -hs " [0-9A-F]*:$HEX [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6
:`

// tellOpen warns where a node's sshd, with GatewayPorts yes, listens for everybody:
// the etcd has no password.
func tellOpen(ctx context.Context, r session.Request, end steps.End, port int) {
	rows, err := runner.Text(ctx, r.Nodes[end], runner.Script{
		Name: "look at port " + strconv.Itoa(port), Body: addresses, Limit: stopLimit,
		Vars: map[string]string{"HEX": fmt.Sprintf("%04X", port)},
	})
	if err != nil {
		return // the run itself will say what is wrong with the node
	}
	for row := range strings.Lines(rows) {
		fields := strings.Fields(row)
		if len(fields) < 2 {
			continue
		}
		switch address, _, _ := strings.Cut(fields[1], ":"); address {
		// 127.0.0.1 and ::1, in the order of a little-endian machine, as aarch64 and x86 are.
		case "0100007F", "00000000000000000000000001000000":
		default:
			r.Tell("while this runs, everybody who reaches %s can use the etcd on its port %d: "+
				"its sshd has GatewayPorts yes, and listens on every address", r.Nodes[end].Name(), port)
			return
		}
	}
}
