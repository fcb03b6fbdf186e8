// Package meter turns samples of counters into rates. It draws nothing and runs
// nothing: samples come in, a Board comes out.
package meter

import (
	"time"

	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/rate"
)

// Source says which counters a rail's bytes come from, because they count
// different things: a ConnectX has RDMA in port_xmit_data and not in the
// interface's bytes; soft-RoCE has no port counters, and RDMA is in the
// interface's bytes together with everything else (drivers/infiniband/sw/rxe has no
// port counters: seen on Linux 6.1).
type Source uint8

// The sources.
const (
	PortCounters Source = iota // ports/N/counters/port_{xmit,rcv}_data, 4-byte words
	NetdevBytes                // net/IF/statistics/{tx,rx}_bytes
	NoCounters
)

func (s Source) String() string {
	return [...]string{"port counters", "netdev bytes", "none"}[s]
}

// A Board is every gauge at one moment: both nodes, all rails.
type Board struct {
	Gauges []Gauge
	Hosts  []Host // a node each; see Host
	// Health is how the nodes' adapters and GPUs are, a node each.
	Health []health.Node
}

// A Gauge is one rail of one node.
type Gauge struct {
	Node, Dev, Netdev string
	Port              int // of the device; 0 where no one reports
	No                int // the node's number in the rig file, from 0
	Cable             int // the connector behind which it is, from 1: two halves share one; 0 where unknown
	// LinkGbps is the scale, CeilingGbps where PCIe ends it; 0 where unknown.
	LinkGbps, CeilingGbps float64
	Source                Source
	// RoCE and TCP are the packets that the rail's rates are made of when they are full: what of
	// the wire is payload. Their zero value is where an MTU is unknown.
	RoCE, TCP rate.Headers
	// Down is set where the port is not active.
	Down   bool
	Tx, Rx Flow
	// Stale says why there is no fresh sample; empty while there is one. The flows
	// then hold the last known rates.
	Stale string
	// Since is when the last sample arrived here.
	Since time.Time
}

// LinkOf is what the cables of a node's gauges carry together, Gb/s; 0 where one's rate is unknown.
func LinkOf(gauges []Gauge) (sum float64) {
	cables := map[int]float64{}
	for _, g := range gauges {
		switch {
		case g.LinkGbps <= 0:
			return 0
		case g.Cable == 0:
			sum += g.LinkGbps
		default:
			cables[g.Cable] = max(cables[g.Cable], g.LinkGbps)
		}
	}
	for _, gbps := range cables {
		sum += gbps
	}
	return sum
}

// A Flow is one direction of a rail. Rates are 10^9 bits per second on the wire.
type Flow struct {
	// RDMA and IP are the present rates. With NetdevBytes they cannot be distinguished, and IP is all there is.
	RDMA, IP float64
	// Peak is the highest total since the last Reset that the samples prove, Avg the mean over the
	// time in which anything moved.
	Peak, Avg float64
	// Run is the last time in which something moved without a pause, or the one under way.
	Run Run
	// History holds the last totals, oldest first, HistoryStep apart, HistoryLen at most, and
	// RDMAHistory what of them RDMA was.
	History, RDMAHistory []float64
}

// Total is everything on the wire in this direction.
func (f Flow) Total() float64 { return f.RDMA + f.IP }

// A Run is one stretch of traffic, from the last sample before which nothing had moved to the
// first after which nothing did.
type Run struct {
	Bytes   float64 // on the wire
	Seconds float64 // by the node's clock
	// Gbps is the rate between its first whole interval and its last; Least says that it was too
	// short to have any, and that Gbps is all that its bytes prove.
	Gbps  float64
	Least bool
	// Share of its bytes that RDMA moved.
	RDMA float64
}

// Payload is what programs see of a gauge's rates, at most: packets that aren't full have more headers. ok is false
// where the packets' size is unknown, or where RDMA and IP can't be distinguished.
func (g Gauge) Payload(rdma, ip float64) (p rate.Payload, ok bool) {
	switch {
	case g.Source != PortCounters || rdma > 0 && g.RoCE.Payload <= 0 || ip > 0 && g.TCP.Payload <= 0:
		return 0, false
	}
	return rate.Wire(rdma).Carried(g.RoCE) + rate.Wire(ip).Carried(g.TCP), true
}

// A Host is how busy a node's processors are. RDMA leaves them alone, TCP doesn't.
type Host struct {
	Node string
	No   int
	// Busy is how many of Cores were at work in the last half second.
	Busy  float64
	Cores int
	Known bool
}

// A gauge's history: two minutes.
const (
	HistoryStep = 500 * time.Millisecond
	HistoryLen  = 240
)
