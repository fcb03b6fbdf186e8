package nixl

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/network"
)

// asioWait is how long a process waits for the other one, each time.
const asioWait = 15 * time.Second

// asioRuntime lets two processes meet over a socket, without a third party.
type asioRuntime struct {
	b *nixlbench
	// --asio_port, which is one at both ends.
	port int
	// nil where the other end was not there when this one connected: it never comes, and receive
	// times out.
	link     *asioLink
	owner    *host.Listener // of the end that bound the address
	refused  bool           // of the end that connects
	barriers int
}

// An asioLink is the socket between the two, by rank.
type asioLink struct {
	addr netip.Addr
	// Under the rig's lock, as ends is.
	taken bool
	ends  [2]*nixlbench
	// What each rank has not read yet. More than fit are lost, as no one ever sends.
	in [2]chan string
}

// join binds the address, and connects to it where it can't be bound: so whose
// address it is decides who is who. A connection that fails shows at the first wait.
func (a *asioRuntime) join(context.Context) (rank, code int) {
	b := a.b
	a.port = b.set.number("asio_port")
	addr, err := netip.ParseAddr(b.set["asio_address"])
	if err != nil {
		return 0, a.abort("from_string: Invalid argument")
	}
	// The line comes before the socket, and no one is as fast as that.
	b.c.Locked(func() {
		if !a.bind(addr) {
			rank = 1
			a.connect(addr)
		}
	})
	b.say("Using address %s port %d for ASIO runtime", addr, a.port)
	if rank == 1 {
		b.say("ASIO runtime bind/listen error -- using connect() instead")
	}
	return rank, 0
}

// bind makes the listener; it is false where the address is not the node's or is
// taken. Callers hold the rig's lock.
func (a *asioRuntime) bind(addr netip.Addr) bool {
	n := a.b.c.Node
	if !addr.IsUnspecified() && !n.Has(addr) || n.Listeners[a.port] != nil || a.port == 22 {
		return false
	}
	a.link = &asioLink{addr: addr, in: [2]chan string{make(chan string, 256), make(chan string, 256)}}
	a.link.ends[0] = a.b
	a.owner = &host.Listener{Port: a.port, Proc: a.b.proc, Serves: a.link}
	n.Listeners[a.port] = a.owner
	return true
}

// connect takes the other end of the socket, once. Callers hold the rig's lock.
func (a *asioRuntime) connect(addr netip.Addr) {
	way, ok := a.b.c.Node.Route(addr)
	if !ok || way.Peer == nil {
		return // nothing answers, not even with a refusal
	}
	far := a.b.c.Node.Rack.Of(way.Peer)
	link, ok := far.Served(a.port).(*asioLink)
	if !ok || network.Rejects(far, way.Peer, a.port) || link.addr != addr && !link.addr.IsUnspecified() {
		a.refused = true
		return
	}
	if !link.taken { // a third one stays in the queue of the listener
		link.taken, link.ends[1] = true, a.b
		a.link = link
		// What the whole run says over the socket, its metadata among it: some 3 kB.
		way.Out.Count(2960, 28, 2788, 24)
		way.Peer.Count(2788, 24, 2960, 28)
	}
}

// barrier reports the other end and waits for its word.
func (a *asioRuntime) barrier(ctx context.Context, id string) int {
	a.barriers++
	a.send(fmt.Sprintf("%s/%d", id, a.barriers))
	return a.receive(ctx)
}

func (a *asioRuntime) send(text string) {
	if a.link == nil {
		return
	}
	select {
	case a.link.in[1-a.b.rank] <- text:
	default:
	}
}

// receive waits for the other end's next word.
func (a *asioRuntime) receive(ctx context.Context) int {
	if a.refused {
		return a.abort("ASIO Connection failed: Connection refused")
	}
	b := a.b
	r := b.c.Node.Rack
	var in chan string
	var gone chan struct{}
	if a.link != nil {
		in = a.link.in[b.rank]
	}
	came, left := clock.Happened(in), func() bool {
		// The other end may come while this one waits.
		other := (*nixlbench)(nil)
		if a.link != nil {
			other = a.link.ends[1-b.rank]
		}
		if other != nil {
			gone = other.gone
		}
		return gone != nil && clock.Happened(gone)()
	}
	late := r.Clock.Park(ctx, r.Clock.After(asioWait), func() bool { return came() || left() })
	switch {
	case came():
		<-in
		return 0
	case ctx.Err() != nil:
		return b.interrupted(1, "")
	case late:
		return a.abort("ASIO Receive timeout")
	default:
		return a.abort("ASIO Read head failed: End of file")
	}
}

// exchange is one message, and both processes are in this one.
func (a *asioRuntime) exchange(ctx context.Context) int {
	if a.b.rank == 1 {
		a.send("metadata")
		return 0
	}
	code := a.receive(ctx)
	if code == 0 {
		a.b.c.Locked(func() { a.b.peer = a.link.ends[1] })
	}
	return code
}

func (a *asioRuntime) leave(context.Context) {}

func (a *asioRuntime) close() {
	a.b.c.Locked(func() {
		if l := a.b.c.Node.Listeners; a.owner != nil && l[a.port] == a.owner {
			delete(l, a.port)
		}
	})
}

// abort is the end by an exception that no one catches.
func (a *asioRuntime) abort(what string) int {
	return a.b.c.Fail(abort, "terminate called after throwing an instance of 'std::runtime_error'\n  what():  %s", what)
}
