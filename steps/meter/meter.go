// Package meter turns samples of counters into rates. It draws nothing and runs
// nothing: samples come in, a Board comes out.
package meter

import "time"

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
	return [...]string{"port_xmit_data", "netdev bytes", "none"}[s]
}

// A Board is every gauge at one moment: both nodes, all rails.
type Board struct {
	Gauges []Gauge
}

// A Gauge is one rail of one node.
type Gauge struct {
	Node, Dev, Netdev string
	No                int // the node's number in the rig file, from 0
	// LinkGbps is the scale, CeilingGbps where PCIe ends it; 0 where unknown.
	LinkGbps, CeilingGbps float64
	Source                Source
	// Down is set where the port is not active.
	Down   bool
	Tx, Rx Flow
	// Stale says why there is no fresh sample; empty while there is one. The flows
	// then hold the last known rates.
	Stale string
	// Since is when the last sample arrived here.
	Since time.Time
}

// A Flow is one direction of a rail. Rates are 10^9 bits per second on the wire.
type Flow struct {
	// RDMA and IP are the present rates. With NetdevBytes they cannot be told
	// apart, and IP is all there is.
	RDMA, IP float64
	// Peak is the highest total since the last Reset, Avg the mean over the time
	// in which anything moved.
	Peak, Avg float64
	// History holds the last totals, oldest first, HistoryStep apart, HistoryLen at most.
	History []float64
}

// Total is everything on the wire in this direction.
func (f Flow) Total() float64 { return f.RDMA + f.IP }

// A gauge's history: 30 seconds.
const (
	HistoryStep = 500 * time.Millisecond
	HistoryLen  = 60
)
