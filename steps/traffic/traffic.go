// Package traffic is the account of bytes: what every port had to carry for a test, both ways, what its
// counters say that it did, and the signs next to it (error counters, flaps, other traffic). A test is a list
// of flows between ports, and Account is the only place where they are compared with counters. A family says
// what a figure is worth, and package limits what hardware can do.
package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
)

// A Port is one rail of one node.
type Port struct {
	Node steps.End
	Rail int // index into the node's rails
}

func (p Port) compare(q Port) int {
	return cmp.Or(cmp.Compare(p.Node, q.Node), cmp.Compare(p.Rail, q.Rail))
}

// EndsOf are the ports at both ends of a pair.
func EndsOf(p steps.Pair) []Port {
	return []Port{{steps.Here, p.Rails[steps.Here]}, {steps.Peer, p.Rails[steps.Peer]}}
}

// at are the ports of some rails of a node.
func at(node steps.End, rails ...int) []Port {
	var ports []Port
	for _, i := range rails {
		ports = append(ports, Port{node, i})
	}
	return ports
}

// rail is the rail behind a port; ok is false where the rig has none there: what was
// counted may be of a rig that has changed.
func (p Port) rail(rig steps.Rig) (r steps.Rail, ok bool) {
	rails := rig.At(p.Node).Rails
	if p.Rail < 0 || p.Rail >= len(rails) {
		return steps.Rail{}, false
	}
	return rails[p.Rail], true
}

// Name is what a port's rail is called; its number where the rig has none there.
func Name(rig steps.Rig, p Port) string {
	if r, ok := p.rail(rig); ok {
		return r.Dev
	}
	return fmt.Sprintf("rail %d", p.Rail)
}

// Traffic is what a flow's packets are, and so which counter of a port has them: an
// adapter's port counters see RDMA and its interface all else.
type Traffic uint8

// The kinds of traffic.
const (
	RDMA Traffic = iota
	TCP
)

// Sharing says how the ports of one side of a flow share it.
type Sharing uint8

// The ways. A side with one port shares nothing.
const (
	Evenly      Sharing = iota // each carries its part: UCX over equal rails
	EvenlyOrOne                // as Evenly, or one carries all: UCX sends messages as it likes
	Freely                     // as it comes: a bond hashes connections
)

// A Flow is bytes that a test sends one way, and what has to come back for them.
type Flow struct {
	// From and To are where it leaves and arrives. Several ports of a side share it, as
	// Sharing says; the sides of a bond need not have as many.
	From, To []Port
	Sharing  Sharing
	Traffic  Traffic

	Payload float64 // bytes
	// Wire is the bytes with headers as the ports count them, and Least the fewest that
	// are right, where something about the headers is not known.
	Wire, Least float64
	// Back is the most that comes back for it, bytes: acknowledgements, requests.
	Back float64
	// Text says where the prediction comes from.
	Text string
	// More is how many times Wire is still right, where the flow has a reason of its own.
	More float64
	// Warned is what the tool warned about the ports.
	Warned string

	mtu, largest int     // bytes; the smallest and the largest of the links that it takes
	packets      float64 // the fewest
	sent         float64 // messages
	headers      float64 // bytes; what the headers of more packets may add to Wire
	message      int     // bytes, of the largest message
	extra        int     // more bytes of headers in each packet than IPv4's: limits.Extra
}

// Over is an empty flow of RDMA from some ports to others, in packets of a RoCE MTU.
func Over(from, to []Port, mtu int) Flow { return Flow{From: from, To: to, mtu: mtu, largest: mtu} }

// Between is an empty flow of RDMA from one end of some pairs to the other. mtu is the
// RoCE MTU that all packets are taken to have, and largest the most that those of one of
// the pairs have.
func Between(from steps.End, mtu, largest int, pairs ...steps.Pair) Flow {
	f := Flow{mtu: mtu, largest: max(mtu, largest)}
	for _, p := range pairs {
		f.From = append(f.From, Port{from, p.Rails[from]})
		f.To = append(f.To, Port{from.Other(), p.Rails[from.Other()]})
	}
	return f
}

// splitLeast is the smallest piece of a message that UCX gives to a rail, bytes
// (UCX_MIN_RMA_CHUNK_SIZE): 16 KiB go over two rails, and 4 KiB over one.
const splitLeast = 8192

// Extra sets how many more bytes of headers each packet has than with IPv4 and without a VLAN. Call it first.
func (f *Flow) Extra(bytes int) { f.extra = bytes }

// Writes adds n RDMA WRITEs of some bytes each.
func (f *Flow) Writes(n float64, size int) { f.messages(write, n, size) }

// Reads adds n RDMA READs of some bytes each; From is the end that they are read at.
func (f *Flow) Reads(n float64, size int) { f.messages(read, n, size) }

func (f *Flow) messages(op operation, n float64, size int) {
	if f.mtu <= 0 || size <= 0 {
		return
	}
	f.message = max(f.message, size)
	// What is too small for a piece on each rail goes over one, and that is not an error.
	if f.Sharing != Freely && len(f.From) > 1 {
		if f.Sharing = Evenly; f.message < len(f.From)*splitLeast {
			f.Sharing = EvenlyOrOne
		}
	}
	wire, back := op.message(size, f.mtu, f.extra)
	f.Payload += n * float64(size)
	f.Wire += n * float64(wire)
	f.Back += n * float64(back)
	// Least: as many packets as the largest MTU makes.
	least, _ := op.message(size, f.largest, f.extra)
	f.Least += n * float64(least)
	f.packets += n * float64(packets(size, f.largest))
	f.sent += n
}

// overInfiniBand are flows with the fewest headers that are right where one of their ports is
// InfiniBand's. The most are RoCE's but for a few bytes, as a packet may have a GRH there.
func overInfiniBand(rig steps.Rig, flows []Flow) []Flow {
	flows = slices.Clone(flows)
	for i, f := range flows {
		if f.Traffic == RDMA && slices.ContainsFunc(f.ports(), func(p Port) bool {
			r, ok := p.rail(rig)
			return ok && r.InfiniBand()
		}) {
			flows[i].Least -= f.packets * (packetHeaders - limits.InfiniBandHeaders)
		}
	}
	return flows
}

// stagedHeader is what UCX's own header of a staged message has at most, bytes: of large ones that is nothing.
const stagedHeader = 64

// Staged makes the allowances for GPU memory: messages, which UCX may send over one rail
// of several (the tutorial's went over one).
func (f *Flow) Staged() {
	f.Sharing, f.More = EvenlyOrOne, limits.BytesMoreStaged.Value()
	f.headers = f.sent * stagedHeader
}

// Stream is a flow of TCP: payload bytes in segments of mss bytes, from some rails of a
// node to those of another, which share it as a bond does.
func Stream(from steps.End, out []int, to steps.End, in []int, payload, mss float64) Flow {
	f := Flow{From: at(from, out...), To: at(to, in...), Sharing: Freely, Traffic: TCP, Payload: payload, Wire: payload}
	// An adapter that cuts segments by itself counts a header for many of them.
	f.Least = payload
	if mss > 0 {
		f.Wire = payload * (mss + segmentHeaders) / mss
		f.Back = payload / mss * segmentHeaders
	}
	return f
}

// Pieces says that a stream was written in n pieces. One that finds nothing waiting before it goes at once, as a
// segment of its own that may be answered by itself; those that wait go together.
func (f *Flow) Pieces(n float64) {
	f.headers = n * segmentHeaders
	f.Back += f.headers
}

// ports are those of the flow, of both ends.
func (f Flow) ports() []Port { return slices.Concat(f.From, f.To) }
