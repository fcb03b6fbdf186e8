package meter

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps/health"
)

// The rate that a gauge shows is over this long, so that the jitter of a node's
// shell does not show and a change still does at once.
const window = 0.3 // seconds

// A rate comes from two samples that were read so quickly that it is uncertain by at most this share. A node
// whose shell is delayed has to wait for better samples, for freshSeconds at most.
const (
	uncertain    = 0.01
	freshSeconds = 2.0  // seconds, as long as a sample counts as fresh
	unseen       = 0.05 // of a point of the history, which is drawn in eighths of a row
)

// A sample that comes later than this after the one before is stale.
const freshFor = 2 * time.Second

// staysOdd is how long a gauge says that a counter went backwards.
const staysOdd = 3 * time.Second

// clockJump is how many seconds the node's clock and ours may disagree about the time between two samples; beyond
// that a user has set one of them.
const clockJump = 5

// quiet is the share of the scale below which a rail counts as idle: ARP, LLDP
// and the session's own SSH must not pull the average down.
const quiet = 0.001

// A Node is the gauges of one node. It is for one goroutine.
// places and gauges have the same order, which is that of the sampler's $RAILS.
type Node struct {
	places []Place
	speed  float64
	gauges []Gauge
	layout Layout
	// Two at least are kept, however long ago: a sampler that rests sends one each half second.
	past       []stamped // within patience, oldest first
	estimators []estimator
	moved      float64 // the node's clock when the needles were moved last
	load       load
	host       Host
}

type stamped struct {
	Sample
	at time.Time
}

// An estimator is what a gauge remembers between samples.
type estimator struct {
	tx, rx  memory
	odd     string // what was wrong with the counters
	oddTill time.Time
}

type memory struct {
	busy, bits float64 // seconds in which something moved, and how much did
	step       float64 // seconds since the last point of the history
	stepBits   [2]float64
	burst      burst
}

// NewNode makes the gauges of a node's rails; each comes with its names, scale
// and ceiling, and they stand in the order of places. speed is how much faster
// the node's clock runs than ours, 1 for a real node.
func NewNode(places []Place, gauges []Gauge, speed float64) *Node {
	n := &Node{
		places: places, speed: max(speed, 0.001),
		gauges: slices.Clone(gauges), estimators: make([]estimator, len(places)),
	}
	for i := range n.gauges {
		n.gauges[i].Stale = "waiting for the first sample"
		n.host.Node, n.host.No = n.gauges[i].Node, n.gauges[i].No
	}
	return n
}

// Refit gives the gauges of the same places other scales, ceilings and packets: a node was looked at again. What they
// have measured stays. A link that is down reports no rate, and keeps that which it had.
func (n *Node) Refit(gauges []Gauge) {
	for i := range min(len(gauges), len(n.gauges)) {
		g, to := &n.gauges[i], gauges[i]
		if to.LinkGbps > 0 {
			g.LinkGbps = to.LinkGbps
		}
		g.CeilingGbps, g.RoCE, g.TCP = to.CeilingGbps, to.RoCE, to.TCP
	}
}

// Add takes one line of the sampler that arrived at now. A line that is neither a sample nor reports the files or the
// processors is an error and changes nothing.
func (n *Node) Add(line string, now time.Time) error {
	switch {
	case strings.HasPrefix(line, "C"):
		return n.addLoad(line)
	case strings.HasPrefix(line, "H"):
		layout, err := ParseLayout(line, len(n.places))
		if err == nil {
			n.layout = layout
		}
		return err
	}
	s, err := n.layout.Parse(line)
	if err != nil {
		return err
	}
	latest := stamped{s, now}
	// Clocks are compared as differences: what time it is there doesn't matter.
	if len(n.past) > 0 {
		last := n.past[len(n.past)-1]
		if s.Clock <= last.Clock ||
			math.Abs(s.Clock-last.Clock-now.Sub(last.at).Seconds()*n.speed) > clockJump*n.speed {
			// The node's clock was set: no rate across that.
			n.past, n.moved = nil, 0
		}
	}
	var last stamped
	if len(n.past) > 0 {
		last = n.past[len(n.past)-1]
	}
	from, ok := n.begin(latest)
	for i := range n.places {
		n.rail(i, last, latest, from, ok)
	}
	if ok {
		n.moved = latest.Clock
	}
	n.past = append(n.past, latest)
	for len(n.past) > 2 && latest.Clock-n.past[1].Clock >= freshSeconds*n.speed {
		n.past = n.past[1:]
	}
	return nil
}

// begin is the sample at which the present rate begins: the last sample that is a window ago and gives the
// rate sharply. ok is false where there is none, as long as the needles can wait for a better sample.
func (n *Node) begin(latest stamped) (from stamped, ok bool) {
	for _, s := range slices.Backward(n.past) {
		if latest.Clock-s.Clock >= window*n.speed && sharp(s, latest) {
			return s, true
		}
	}
	if len(n.past) == 0 {
		return stamped{}, false
	}
	from = n.past[0]
	young := latest.Clock-from.Clock < window*n.speed // no window has passed since the first one
	return from, young && sharp(from, latest) || latest.Clock-n.moved >= freshSeconds*n.speed
}

// sharp reports whether two samples give a rate that is as certain as it has to be.
func sharp(a, b stamped) bool { return (a.Took+b.Took)/2 <= uncertain*(b.Clock-a.Clock) }

// longest is the most time that may have passed between the readings of two samples, in seconds.
func longest(a, b stamped) float64 { return b.Clock - a.Clock + (a.Took+b.Took)/2 }

// rail moves the needles of one rail to the rate since from, where ok, and takes what moved since
// last.
func (n *Node) rail(i int, last, latest, from stamped, ok bool) {
	g, nd := &n.gauges[i], &n.estimators[i]
	r := latest.Rails[i]
	g.Since, g.Down, g.Stale = latest.at, !r.Active, ""
	switch {
	case r.Xmit.Known && r.Rcv.Known:
		g.Source = PortCounters
	case r.Tx.Known && r.Rx.Known:
		g.Source = NetdevBytes
	default:
		g.Source = NoCounters
		g.Stale = "no counters to read"
		return
	}
	if len(n.past) == 0 {
		return
	}
	before := last.Rails[i]
	if back(before.Xmit, r.Xmit) || back(before.Rcv, r.Rcv) || back(before.Tx, r.Tx) || back(before.Rx, r.Rx) {
		nd.odd, nd.oddTill = "a counter went backwards:"+
			" the driver was loaded again, or it was reset", latest.at.Add(staysOdd)
		for j := range n.past {
			n.past[j].Rails[i] = r // no rate across the gap
		}
		g.Tx.RDMA, g.Tx.IP, g.Rx.RDMA, g.Rx.IP = 0, 0, 0, 0
		nd.tx.burst, nd.rx.burst = burst{}, burst{}
		g.Stale = nd.odd
		return
	}
	if latest.at.Before(nd.oddTill) {
		g.Stale = nd.odd
	}
	if ok {
		old := from.Rails[i]
		g.Tx.point(n, from, latest, moved(old.Xmit, r.Xmit), moved(old.Tx, r.Tx))
		g.Rx.point(n, from, latest, moved(old.Rcv, r.Rcv), moved(old.Rx, r.Rx))
	}
	g.Tx.take(n, &nd.tx, last, latest, [2]float64{moved(before.Xmit, r.Xmit), moved(before.Tx, r.Tx)}, g.LinkGbps)
	g.Rx.take(n, &nd.rx, last, latest, [2]float64{moved(before.Rcv, r.Rcv), moved(before.Rx, r.Rx)}, g.LinkGbps)
}

// back reports whether a counter is lower than before: the driver was loaded again, or
// reset it.
func back(before, now Count) bool { return before.Known && now.Known && now.Bytes < before.Bytes }

// moved is in bits, since all rates are; 0 where one of both readings is missing, and where the counter is lower than
// before: it may have been away for a sample in between, and begun again, which no one has seen. The difference of
// the two would be 2^64 bytes.
func moved(before, now Count) float64 {
	if !before.Known || !now.Known || back(before, now) {
		return 0
	}
	return float64(now.Bytes-before.Bytes) * 8
}

// point shows the rate between two samples, in Gb/s: the time is that between the samples' own
// stamps, not the interval that was asked for. For the peak it is the most that it may have been,
// and a whole window: what stands there as reached was reached.
func (f *Flow) point(n *Node, from, to stamped, rdma, ip float64) {
	seconds := to.Clock - from.Clock
	f.RDMA, f.IP = rdma/seconds/1e9, ip/seconds/1e9
	if seconds >= window*n.speed {
		f.Peak = max(f.Peak, (rdma+ip)/longest(from, to)/1e9)
	}
}

// take adds what passed since the last sample to the run under way, to the average and to the
// history. The average is over the time in which something moved: a pause between two cells says
// nothing of the link.
func (f *Flow) take(n *Node, m *memory, last, latest stamped, moved [2]float64, scale float64) {
	seconds, bits := latest.Clock-last.Clock, moved[0]+moved[1]
	if seconds > 0 && bits/seconds/1e9 > max(scale, 10)*quiet {
		m.busy += seconds
		m.bits += bits
		m.burst.add(last, latest, moved)
		var proven float64
		f.Run, proven = m.burst.run(Every * n.speed)
		// A burst shorter than the window has a peak that is flattened over it, and an average above
		// that would be nonsense.
		f.Peak = max(f.Peak, proven)
		f.Avg = min(m.bits/m.busy/1e9, f.Peak)
	} else {
		m.burst = burst{}
	}
	m.step += seconds
	m.stepBits[0] += moved[0]
	m.stepBits[1] += moved[1]
	point := HistoryStep.Seconds() * n.speed
	if m.step >= point && (latest.Took <= unseen*m.step || m.step >= 4*point) {
		f.History = passed(f.History, (m.stepBits[0]+m.stepBits[1])/m.step/1e9)
		f.RDMAHistory = passed(f.RDMAHistory, m.stepBits[0]/m.step/1e9)
		m.step, m.stepBits = 0, [2]float64{}
	}
}

// passed is a history with one more point. A caller that holds the old one keeps what it saw.
func passed(history []float64, v float64) []float64 {
	return append(history[max(0, len(history)-HistoryLen+1):len(history):len(history)], v)
}

// Gauges is the state at now. A sample that is overdue makes them stale; why,
// where it is known, says more than that.
func (n *Node) Gauges(now time.Time, why string) []Gauge {
	gauges := slices.Clone(n.gauges)
	for i := range gauges {
		g := &gauges[i]
		switch {
		case why != "":
			g.Stale = why
		case !g.Since.IsZero() && now.Sub(g.Since) > freshFor:
			g.Stale = "no sample for " + now.Sub(g.Since).Round(time.Second).String()
		}
	}
	return gauges
}

// Reset forgets peaks, averages and histories.
func (n *Node) Reset() {
	for i := range n.gauges {
		for _, f := range []*Flow{&n.gauges[i].Tx, &n.gauges[i].Rx} {
			f.Peak, f.Avg, f.History, f.RDMAHistory, f.Run = 0, 0, nil, nil, Run{}
		}
		n.estimators[i].tx, n.estimators[i].rx = memory{}, memory{}
	}
}

// Same reports whether two boards draw the same picture: figures are shown with one
// digit after the point.
func (b Board) Same(c Board) bool {
	return slices.EqualFunc(b.Hosts, c.Hosts, Host.same) && slices.EqualFunc(b.Health, c.Health, health.Node.Same) &&
		slices.EqualFunc(b.Gauges, c.Gauges, func(x, y Gauge) bool {
			return x.Node == y.Node && x.Dev == y.Dev && x.Netdev == y.Netdev && x.Stale == y.Stale && x.Down == y.Down &&
				x.Source == y.Source && x.LinkGbps == y.LinkGbps && x.RoCE == y.RoCE && x.TCP == y.TCP &&
				x.CeilingGbps == y.CeilingGbps && x.Tx.same(y.Tx) && x.Rx.same(y.Rx)
		})
}

func (f Flow) same(g Flow) bool {
	digit := func(v float64) float64 { return math.Round(v * 10) }
	return digit(f.RDMA) == digit(g.RDMA) && digit(f.IP) == digit(g.IP) &&
		digit(f.Peak) == digit(g.Peak) && digit(f.Avg) == digit(g.Avg) && digit(f.Run.Gbps) == digit(g.Run.Gbps) &&
		(slices.Equal(f.History, g.History) ||
			!slices.ContainsFunc(f.History, isSeen) && !slices.ContainsFunc(g.History, isSeen))
}

// isSeen reports whether a figure is more than 0.0 when it is shown with one digit.
func isSeen(v float64) bool { return v >= 0.05 }
