package meter

import (
	"math"
	"slices"
	"strings"
	"time"
)

// The rate that a gauge shows is over this long, so that the jitter of a node's
// shell does not show and a change still does at once.
const window = 0.3 // seconds

// A sample that comes later than this after the one before is stale.
const freshFor = 2 * time.Second

// staysOdd is how long a gauge says that a counter went backwards.
const staysOdd = 3 * time.Second

// clockJump is how many seconds the node's clock and ours may disagree about the
// time between two samples; beyond that somebody has set one of them.
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
	past   []stamped // within the window, oldest first
	needle []needle
}

type stamped struct {
	Sample
	at time.Time
}

// needle is what a gauge remembers between samples.
type needle struct {
	tx, rx  memory
	odd     string // what was wrong with the counters
	oddTill time.Time
}

type memory struct {
	busy, bits float64 // seconds in which something moved, and how much did
	step       float64 // seconds since the last point of the history
	stepBits   float64
}

// NewNode makes the gauges of a node's rails; each comes with its names, scale
// and ceiling, and they stand in the order of places. speed is how much faster
// the node's clock runs than ours, 1 for a real node.
func NewNode(places []Place, gauges []Gauge, speed float64) *Node {
	n := &Node{
		places: places, speed: max(speed, 0.001),
		gauges: slices.Clone(gauges), needle: make([]needle, len(places)),
	}
	for i := range n.gauges {
		n.gauges[i].Stale = "waiting for the first sample"
	}
	return n
}

// Add takes one line of the sampler that arrived at now. A line that is neither
// a sample nor tells the files is an error and changes nothing.
func (n *Node) Add(line string, now time.Time) error {
	if strings.HasPrefix(line, "H") {
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
			n.past = nil
		}
	}
	var last stamped
	if len(n.past) > 0 {
		last = n.past[len(n.past)-1]
	}
	for i := range n.places {
		n.rail(i, last, latest)
	}
	n.past = append(n.past, latest)
	// The window begins with the last sample that is older than it.
	for len(n.past) > 2 && latest.Clock-n.past[1].Clock >= window*n.speed {
		n.past = n.past[1:]
	}
	return nil
}

// rail moves the needles of one rail, from the sample before the window to the latest.
func (n *Node) rail(i int, last, latest stamped) {
	g, nd := &n.gauges[i], &n.needle[i]
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
	old := n.past[0].Rails[i]
	seconds := latest.Clock - n.past[0].Clock
	point := HistoryStep.Seconds() * n.speed
	step := latest.Clock - last.Clock
	before := last.Rails[i]
	if back(before.Xmit, r.Xmit) || back(before.Rcv, r.Rcv) || back(before.Tx, r.Tx) || back(before.Rx, r.Rx) {
		nd.odd, nd.oddTill = "a counter went backwards:"+
			" the driver was loaded anew, or it was reset", latest.at.Add(staysOdd)
		for j := range n.past {
			n.past[j].Rails[i] = r // no rate across the gap
		}
		g.Tx.RDMA, g.Tx.IP, g.Rx.RDMA, g.Rx.IP = 0, 0, 0, 0
		g.Stale = nd.odd
		return
	}
	if latest.at.Before(nd.oddTill) {
		g.Stale = nd.odd
	}
	g.Tx.move(&nd.tx, rate(old.Xmit, r.Xmit, seconds), rate(old.Tx, r.Tx, seconds),
		moved(before.Xmit, r.Xmit)+moved(before.Tx, r.Tx), step, point, g.LinkGbps)
	g.Rx.move(&nd.rx, rate(old.Rcv, r.Rcv, seconds), rate(old.Rx, r.Rx, seconds),
		moved(before.Rcv, r.Rcv)+moved(before.Rx, r.Rx), step, point, g.LinkGbps)
}

// back reports whether a counter is lower than before: the driver was loaded anew, or
// reset it.
func back(before, now Count) bool { return before.Known && now.Known && now.Bytes < before.Bytes }

// moved is in bits, since all rates are; 0 where one of both readings is missing, and where
// the counter is lower than before: it may have been away for a sample in between, and begun
// anew, which nobody has seen. The difference of the two would be 2^64 bytes.
func moved(before, now Count) float64 {
	if !before.Known || !now.Known || back(before, now) {
		return 0
	}
	return float64(now.Bytes-before.Bytes) * 8
}

// rate is in Gb/s. The time is that between the samples' own stamps, not the interval that
// was asked for.
func rate(before, now Count, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return moved(before, now) / seconds / 1e9
}

// move shows a new rate, and adds what passed since the last sample to the average and to
// the history. The average is over the time in which something moved: a pause between two
// cells says nothing of the link.
func (f *Flow) move(m *memory, rdma, ip, bits, seconds, point, scale float64) {
	f.RDMA, f.IP = rdma, ip
	f.Peak = max(f.Peak, f.Total())
	if seconds > 0 && bits/seconds/1e9 > max(scale, 10)*quiet {
		m.busy += seconds
		m.bits += bits
		// A burst shorter than the window has a peak that is flattened over it, and an
		// average above that would be nonsense.
		f.Avg = min(m.bits/m.busy/1e9, f.Peak)
	}
	m.step += seconds
	m.stepBits += bits
	if m.step >= point {
		f.History = append(f.History[max(0, len(f.History)-HistoryLen+1):len(f.History):len(f.History)],
			m.stepBits/m.step/1e9)
		m.step, m.stepBits = 0, 0
	}
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
			f.Peak, f.Avg, f.History = 0, 0, nil
		}
		n.needle[i].tx, n.needle[i].rx = memory{}, memory{}
	}
}

// Same reports whether two boards draw the same picture: figures are shown with one
// digit after the point.
func (b Board) Same(c Board) bool {
	return slices.EqualFunc(b.Gauges, c.Gauges, func(x, y Gauge) bool {
		return x.Node == y.Node && x.Dev == y.Dev && x.Netdev == y.Netdev && x.Stale == y.Stale && x.Down == y.Down &&
			x.Source == y.Source && x.LinkGbps == y.LinkGbps &&
			x.CeilingGbps == y.CeilingGbps && x.Tx.same(y.Tx) && x.Rx.same(y.Rx)
	})
}

func (f Flow) same(g Flow) bool {
	digit := func(v float64) float64 { return math.Round(v * 10) }
	return digit(f.RDMA) == digit(g.RDMA) && digit(f.IP) == digit(g.IP) &&
		digit(f.Peak) == digit(g.Peak) && digit(f.Avg) == digit(g.Avg) &&
		(slices.Equal(f.History, g.History) ||
			!slices.ContainsFunc(f.History, isSeen) && !slices.ContainsFunc(g.History, isSeen))
}

// isSeen reports whether a figure is more than 0.0 when it is shown with one digit.
func isSeen(v float64) bool { return v >= 0.05 }
