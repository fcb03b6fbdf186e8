package network

import (
	"net/netip"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// A tcpReach is where a TCP connection of a node leads.
type tcpReach struct {
	served    any // what the program keeps that listens there
	addr, src netip.Addr
	way       net.Way
	why       string // it can't be made, in the kernel's words; empty where it can
	late      bool   // no one says so: it takes until the kernel gives up
}

// reachTCP looks for what listens on a port: by routes and listeners. bind, where not empty, is the
// address that it comes from. Callers hold the lock.
func reachTCP(n *host.Node, name, bind string, port int) (r tcpReach) {
	addr, ok := n.Resolve(name)
	if !ok {
		r.why = "Temporary failure in name resolution"
		return r
	}
	r.addr = addr
	r.way, ok = n.Route(addr)
	r.src = r.way.Source
	if bind != "" {
		if r.src, _ = n.Resolve(bind); !n.Has(r.src) {
			r.why = "Cannot assign requested address"
			return r
		}
	}
	switch {
	case !ok:
		r.why = "Network is unreachable"
	case r.way.Peer == nil:
		r.why, r.late = "No route to host", true
	case Rejects(n.Rack.Of(r.way.Peer), r.way.Peer, port):
		r.why = "No route to host"
	// The management network has no function on which anything could flow.
	case r.way.Local || r.way.Out.Kind == "ether" && r.way.Out.Func == nil:
		r.why = "only the rails are simulated"
	default:
		if r.served = n.Rack.Of(r.way.Peer).Served(port); r.served == nil {
			r.why = "Connection refused"
		}
	}
	return r
}

// tcpDemand is what each of some streams asks for, on an otherwise idle rig, and the share of it
// that is sent again.
func tcpDemand(way net.Way, mss, streams int) (demand, resent float64) {
	demand = net.TCPFlowRate / net.HostCost(mss)
	if rate := way.Out.Queue.Rate; rate > 0 {
		// A shaper is one for all streams.
		demand = min(demand, rate/float64(streams))
	}
	if way.Mismatch() {
		// Each segment is lost until it is sent small.
		// The streams share what comes through; the share that is sent again is chosen.
		return net.TCPMismatchRate / float64(streams), 0.4
	}
	limit, resent := way.Loss(mss)
	return min(demand, limit), resent
}
