// Package sim is a pretend rig: two DGX Sparks in the process, or more, used directly as
// runner.Nodes, or through a real SSH server by any client. Scripts are interpreted
// over a pretend /sys and /proc; the tools print what the real ones print; counters
// move while a benchmark runs, at the rates that the hardware's ceilings allow; faults
// can be injected by name.
//
// It shares no code with the parsers of railbench: a wrong idea of a format
// would otherwise pass its own test. And it never touches the host: no file, no
// process, no environment of the machine that it runs on is visible in it.
package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	simnet "github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool"
)

// Options say what kind of rig it is.
type Options struct {
	// Nodes is how many there are; 0 is two. Two are cabled to each other, port to port;
	// more are cabled to a switch, which joins all ports 0 and all ports 1.
	Nodes int
	// Ring cables them in a ring, without a switch: port 0 of each to port 1 of the next. 0 nodes are
	// three then.
	Ring bool
	// Seed decides every number that looks random. The same seed and the same
	// commands in the same order print the same numbers.
	Seed uint64
	// Speed is how much faster than real time the nodes' time goes; 0 is 1. At Max it never waits, unless all
	// that runs is patient. It changes only how long the user waits.
	Speed float64
	// Start is what the nodes' clocks show at first; zero is now.
	Start time.Time
	// Faults are the names of faults that are there from the start.
	Faults []string
}

// Max is the speed of a rig whose time doesn't wait for the wall clock.
var Max = clock.Max

// A Rig is the nodes and what joins them. All its methods may be called by
// several goroutines at once.
type Rig struct {
	clock *clock.Clock
	// One lock for the whole rig: what a tool looks at doesn't change while it looks.
	rack *host.Rack // its lock guards what follows
	// Set once, by New.
	hosts  map[string]ssh.Signer
	hurt   map[defectAt]func()     // the faults that are there, and how each is undone
	conns  map[net.Conn]*host.Node // of the SSH servers, and their nodes; nil of an etcd's
	direct []*Node                 // that were made

	// Of connections to SSH servers, and to an etcd.
	serving sync.WaitGroup
}

// New makes a rig. A fault that does not exist is an error.
func New(o Options) (*Rig, error) {
	least, most, what := leastNodes, MostNodes, "rig"
	if o.Ring {
		least, most, what = leastRing, mostRing, "ring"
	}
	if o.Nodes == 0 {
		o.Nodes = least
	}
	if o.Nodes < least || o.Nodes > most {
		return nil, fmt.Errorf("a simulated %s has from %d to %d nodes, not %d", what, least, most, o.Nodes)
	}
	c := clock.New(o.Start, o.Speed)
	r := &Rig{
		clock: c, rack: host.NewRack(simnet.New(c, o.Seed, o.Nodes, o.Ring), tool.All()),
		hosts: map[string]ssh.Signer{}, hurt: map[defectAt]func(){}, conns: map[net.Conn]*host.Node{},
	}
	for _, n := range r.rack.Nodes {
		key, err := hostKey(o.Seed, n.Name)
		if err != nil {
			return nil, fmt.Errorf("make the host key of %s: %w", n.Name, err)
		}
		r.hosts[n.Name] = key
	}
	// In their order: where two break the same the second breaks what the first left.
	for _, name := range o.Faults {
		if err := r.Inject(name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// hostKey derives a node's key from the seed, so that a client that accepted it
// once knows it again.
func hostKey(seed uint64, name string) (ssh.Signer, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "railbench sim host key %d %s", seed, name))
	return ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(sum[:]))
}

// Close ends all connections and everything that runs on the nodes.
func (r *Rig) Close() error {
	r.rack.Lock()
	// Before the connections are closed: no new one begins behind it.
	r.rack.Shut()
	for c := range r.conns {
		c.Close()
	}
	r.rack.Unlock()
	r.rack.Close()
	r.serving.Wait()
	return nil
}

// leastNodes and MostNodes bound a rig; assets/docs/scale.md says what gives way first beyond them.
const (
	leastNodes = 2
	MostNodes  = 1024
	// A ring has two subnets a cable, 192.168.100 to 149 and 200 to 249.
	leastRing = 3
	mostRing  = 50
)

// NodeNames are the names of so many nodes, and of the least number where that is less:
// spark-01, which serves in the tutorials, spark-02 and so on.
func NodeNames(count int) []string {
	names := make([]string, min(max(count, leastNodes), MostNodes))
	for i := range names {
		names[i] = simnet.NodeName(i)
	}
	return names
}

// Nodes are the nodes' names.
func (r *Rig) Nodes() []string {
	return NodeNames(len(r.rack.Nodes))
}

// Count calls f for each process that a script needs on a node: its shell, and each program that it calls.
// Call it before anything runs; f is called concurrently.
func (r *Rig) Count(f func(node, program string)) { r.rack.Ran = f }

// Clock is the rig's time, for who runs scripts on its nodes.
func (r *Rig) Clock() runner.Clock { return r.clock.Joined() }

// HostKey is what the node's SSH server proves itself with; nil for no node.
func (r *Rig) HostKey(node string) ssh.PublicKey {
	if k := r.hosts[node]; k != nil {
		return k.PublicKey()
	}
	return nil
}

// node finds a node by its name, and says which there are where there is none of it.
func (r *Rig) node(name string) (*host.Node, error) {
	for _, n := range r.rack.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	const few = 16
	has := r.Nodes()
	names := strings.Join(has[:min(few, len(has))], ", ")
	if len(has) > few {
		names = fmt.Sprintf("%s to %s", has[0], has[len(has)-1])
	}
	return nil, fmt.Errorf("no node %q on the simulated rig: it has %s", name, names)
}

// Dial connects to the node's SSH server inside the process.
func (r *Rig) Dial(ctx context.Context, node string) (net.Conn, error) {
	n, err := r.node(node)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// In memory: a rig needs no port of the machine, and a test no network.
	client, server := host.Join(host.Address("workbench"), host.Address(n.Name+":22"))
	if !r.serve(n, server) {
		return nil, &net.OpError{
			Op: "dial", Net: "sim", Addr: host.Address(n.Name + ":22"), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	return client, nil
}

// Serve runs the node's SSH server on a listener until ctx ends or the listener
// fails; it closes the listener. Anybody who can reach it gets in (see
// serverConfig), so it belongs on loopback.
func (r *Rig) Serve(ctx context.Context, ln net.Listener, node string) error {
	n, err := r.node(node)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	defer ln.Close()
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
		}
		if !r.serve(n, conn) {
			conn.Close()
		}
	}
}

// serve starts a connection's server; it is false where the node refuses.
func (r *Rig) serve(n *host.Node, conn net.Conn) bool {
	r.rack.Lock()
	defer r.rack.Unlock()
	if r.rack.Closed || n.Dead {
		return false
	}
	// With the lock: a fault that kills the node closes it.
	r.conns[conn] = n
	r.serving.Go(func() {
		serveConn(n, conn, r.hosts[n.Name])
		r.rack.Lock()
		defer r.rack.Unlock()
		delete(r.conns, conn)
	})
	return true
}
