package presentation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/tui/theme"
)

// A Way is what goes in one direction between the two nodes, in Gb/s on the wire.
type Way struct {
	RDMA, IP float64
	// Payload is what of it programs see, in full packets; Known is false where that is unknown.
	Payload float64
	Known   bool
}

func (w Way) total() float64 { return w.RDMA + w.IP }

func (w Way) plus(v Way) Way {
	return Way{RDMA: w.RDMA + v.RDMA, IP: w.IP + v.IP, Payload: w.Payload + v.Payload, Known: w.Known && v.Known}
}

// A Dial is a rail, or several together, as the numerals and the bars show it.
type Dial struct {
	Name, Detail string
	To, Back     Way // from here to the peer, and back
	// Link is the rate of its cables and Ceiling that of the PCIe links behind it, on the wire;
	// Limit is the payload that they carry. 0 where unknown.
	Link, Ceiling, Limit float64
	// Mixed says that RDMA and IP cannot be separated.
	Mixed, Down bool
	Lost        int // how many more rails of a node are down than of others; a port without a cable does not count
	Stale       string
	// History and RDMAHistory are of both directions together, on the wire; oldest first.
	History, RDMAHistory []float64
}

// shown is the rate from which something moves: below it 0.0 is read.
const shown = 0.005

// acknowledges is the share below which what comes back is acknowledgements: they carry nothing.
const acknowledges = 0.1

// ways are the directions that carry something, and how they are drawn.
func (d Dial) ways() (arrow string, sum Way) {
	to, back := d.To.total(), d.Back.total()
	switch {
	case to < shown && back < shown:
		return " ", Way{Known: d.To.Known && d.Back.Known}
	case back < acknowledges*to:
		return "→", d.To
	case to < acknowledges*back:
		return "←", d.Back
	}
	return "⇄", d.To.plus(d.Back)
}

// stronger is the direction that a bar shows: each has a link and a PCIe ceiling of its own.
func (d Dial) stronger() Way {
	if d.Back.total() > d.To.total() {
		return d.Back
	}
	return d.To
}

// says is what stands behind a bar: what is on the wire, in both directions where both carry.
func (d Dial) says() string {
	if arrow, _ := d.ways(); arrow == "⇄" {
		return figure(d.To.total()) + " ⇄ " + figure(d.Back.total()) + " wire"
	}
	return figure(d.stronger().total()) + " wire"
}

// value is what the numeral shows: the payload where it is known, and else what is on the wire.
func (d Dial) value() (v float64, unit string) {
	_, w := d.ways()
	if w.Known {
		return w.Payload, "payload"
	}
	return w.total(), "on the wire"
}

// Moves is the payload that all rails move now, in Gb/s, and whether most of it is IP; 0 where that is unknown.
func (d Dials) Moves() (gbps float64, ip bool) {
	_, w := d.All.ways()
	if !w.Known {
		return 0, false
	}
	return w.Payload, w.IP > w.RDMA
}

// Dials are all that a screen shows of a rig: every rail, and what they come to together.
type Dials struct {
	All                   Dial
	Rails, Cables, Halves []Dial
	// Nodes are the sums of each node's rails, To what it sends and Back what it receives, and
	// Everywhere what all nodes send.
	Nodes      []Dial
	Everywhere Dial
	Hosts      []meter.Host
	Health     []health.Node
}

// NewDials groups the gauges of the link under test: rails that lead from node to node, by the
// cable that they share and by the half of the adapter that they are behind.
func NewDials(rig steps.Rig, b meter.Board) Dials {
	d := Dials{Hosts: b.Hosts, Health: b.Health}
	d.Nodes, d.Everywhere = nodeDials(b)
	pairs := rig.Pairs
	for i, p := range pairs {
		d.Rails = append(d.Rails, railDial(rig, b, i, p))
	}
	var alone float64
	if len(pairs) == 0 {
		d.Rails, alone = lone(rig, b)
	}
	// A cable is one link for its rails, and each of them has a PCIe link of its own; a half is one PCIe link
	// for rails with a cable each.
	d.Cables = d.group(pairs, "cable", func(p, q steps.Pair) bool {
		a, b := rig.Rail(p, steps.Here).PhysPort, rig.Rail(q, steps.Here).PhysPort
		return a >= 0 && a == b
	}, func(dials []Dial) (link, ceiling float64) { return largestOf(dials, link1), sumOf(dials, ceiling1) })
	d.Halves = d.group(pairs, "half", rig.SharesHalf, func(dials []Dial) (link, ceiling float64) {
		return sumOf(dials, link1), largestOf(dials, ceiling1)
	})
	d.All = sum("all rails", d.Rails)
	d.All.Link, d.All.Ceiling = sumOf(d.Cables, link1), sumOf(d.Halves, ceiling1)
	if len(pairs) == 0 {
		d.All.Link = alone
	}
	d.All.Limit = limitOf(b, d.All.Link, d.All.Ceiling)
	for _, dials := range [][]Dial{d.Rails, d.Cables, d.Halves} {
		for i := range dials {
			dials[i].Limit = limitOf(b, dials[i].Link, dials[i].Ceiling)
		}
	}
	return d
}

func link1(d Dial) float64    { return d.Link }
func ceiling1(d Dial) float64 { return d.Ceiling }

func sumOf(dials []Dial, of func(Dial) float64) float64 {
	total := 0.0
	for _, d := range dials {
		if of(d) <= 0 {
			return 0 // if it is unknown for one, it is unknown for all
		}
		total += of(d)
	}
	return total
}

func largestOf(dials []Dial, of func(Dial) float64) float64 {
	most := 0.0
	for _, d := range dials {
		most = max(most, of(d))
	}
	return most
}

// limitOf is the payload that a link and the PCIe links behind it carry, whichever ends first; 0
// where the packets' size is unknown, or not that of all.
func limitOf(b meter.Board, link, ceiling float64) float64 {
	h := rate.Headers{}
	for _, g := range b.Gauges {
		if h.Payload > 0 && g.RoCE.Payload > 0 && g.RoCE != h {
			return 0
		}
		if g.RoCE.Payload > 0 {
			h = g.RoCE
		}
	}
	if h.Payload <= 0 || link <= 0 {
		return 0
	}
	limit := float64(h.Carries(link))
	if ceiling > 0 {
		limit = min(limit, float64(rate.Wire(ceiling).Carried(h)))
	}
	return limit
}

// railDial is one pair of rails. Each direction is what its sender counted or, if that node sends no samples,
// what the receiver counted.
func railDial(rig steps.Rig, b meter.Board, i int, p steps.Pair) Dial {
	here, peer := gaugeOf(rig, b, p, steps.Here), gaugeOf(rig, b, p, steps.Peer)
	d := Dial{
		Name: fmt.Sprintf("rail %d", i+1), Detail: here.Dev, Link: lesser(here.LinkGbps, peer.LinkGbps),
		Ceiling: lesser(here.CeilingGbps, peer.CeilingGbps), Down: here.Down || peer.Down,
		Mixed: here.Source == meter.NetdevBytes || peer.Source == meter.NetdevBytes,
	}
	if peer.Dev != here.Dev && peer.Dev != "" {
		d.Detail += " ⇄ " + peer.Dev
	}
	to, back := sent(here, here.Tx, peer, peer.Rx), sent(peer, peer.Tx, here, here.Rx)
	d.To, d.Back = to.way(), back.way()
	if here.Stale != "" && peer.Stale != "" {
		d.Stale = here.Stale
	}
	d.History = add(to.flow.History, back.flow.History)
	d.RDMAHistory = add(to.flow.RDMAHistory, back.flow.RDMAHistory)
	return d
}

// A counted is a direction by the counters of one end.
type counted struct {
	gauge meter.Gauge
	flow  meter.Flow
}

func sent(from meter.Gauge, tx meter.Flow, to meter.Gauge, rx meter.Flow) counted {
	if from.Stale != "" && to.Stale == "" {
		return counted{to, rx}
	}
	return counted{from, tx}
}

func (c counted) way() Way {
	p, known := c.gauge.Payload(c.flow.RDMA, c.flow.IP)
	return Way{RDMA: c.flow.RDMA, IP: c.flow.IP, Payload: float64(p), Known: known}
}

// lesser is the smaller of two rates, of which 0 is unknown.
func lesser(a, b float64) float64 {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

func gaugeOf(rig steps.Rig, b meter.Board, p steps.Pair, e steps.End) meter.Gauge {
	n := rig.At(e)
	if i := p.Rails[e]; i >= 0 && i < len(n.Rails) {
		for _, g := range b.Gauges {
			if g.No == n.No && g.Dev == n.Rails[i].Dev {
				return g
			}
		}
	}
	return meter.Gauge{Source: meter.NoCounters, Stale: "no sample yet"}
}

// longestName leaves room for a bar.
const longestName = 16

// nodeDials are the gauges by node, in the order of the board.
func nodeDials(b meter.Board) (nodes []Dial, all Dial) {
	of, order := map[int][]Dial{}, []int{}
	gauges := map[int][]meter.Gauge{}
	names := map[int]string{}
	for _, g := range b.Gauges {
		if names[g.No] = g.Node; of[g.No] == nil {
			order = append(order, g.No)
		}
		of[g.No], gauges[g.No] = append(of[g.No], gaugeDial(g)), append(gauges[g.No], g)
	}
	var sent []Dial
	least := math.MaxInt
	for _, no := range order {
		n := sum(ansi.Truncate(theme.Clean(names[no]), longestName, "…"), of[no])
		// halves share a PCIe link, which is known for a link under test only
		n.Link, n.Ceiling = meter.LinkOf(gauges[no]), 0
		for _, d := range of[no] {
			if d.Down {
				n.Lost++
			}
		}
		if n.Stale == "" {
			least = min(least, n.Lost)
		}
		if n.Detail = fmt.Sprintf("%d rails", len(of[no])); n.Lost > 0 {
			n.Detail = fmt.Sprintf("%d of %s up", len(of[no])-n.Lost, n.Detail)
		}
		nodes = append(nodes, n)
		n.Back = Way{Known: n.Back.Known}
		sent = append(sent, n)
	}
	for i := range nodes {
		nodes[i].Lost = max(0, nodes[i].Lost-least)
	}
	all = sum("all nodes", sent)
	all.Link = sumOf(nodes, link1)
	for _, h := range [][]float64{all.History, all.RDMAHistory} {
		for i := range h {
			h[i] /= 2 // what one node sent another received: a byte counts once
		}
	}
	return nodes, all
}

// byNode are the dials of a view in which each node is one.
func (d Dials) byNode() Dials {
	d.All, d.Rails = d.Everywhere, d.Nodes
	return d
}

// slowest are the n dials that lag most: those that are not heard or have lost rails, those that move least of all
// that move, and then those at rest. A tenth of the fastest is one step, so that equals keep their places.
func slowest(dials []Dial, n int) []Dial {
	fastest := largestOf(dials, total)
	step := func(d Dial) int {
		switch {
		case d.Stale != "":
			return -2
		case d.Lost > 0:
			return -1
		case total(d) < shown:
			return math.MaxInt
		}
		return int(10 * total(d) / fastest)
	}
	dials = slices.Clone(dials)
	slices.SortStableFunc(dials, func(a, b Dial) int { return cmp.Compare(step(a), step(b)) })
	return dials[:min(n, len(dials))]
}

// gaugeDial is one rail by the counters of its own node.
func gaugeDial(g meter.Gauge) Dial {
	return Dial{
		Detail: g.Dev, To: counted{g, g.Tx}.way(), Back: counted{g, g.Rx}.way(), Link: g.LinkGbps,
		Ceiling: g.CeilingGbps, Down: g.Down, Stale: g.Stale, Mixed: g.Source == meter.NetdevBytes,
		History: add(g.Tx.History, g.Rx.History), RDMAHistory: add(g.Tx.RDMAHistory, g.Rx.RDMAHistory),
	}
}

// lone are the rails of the first node where none leads to the other, and what their cables carry together.
func lone(rig steps.Rig, b meter.Board) (dials []Dial, link float64) {
	no := rig.At(steps.Here).No
	var gauges []meter.Gauge
	for _, g := range b.Gauges {
		if g.No != no {
			continue
		}
		x := gaugeDial(g)
		x.Name = fmt.Sprintf("rail %d", len(dials)+1)
		dials, gauges = append(dials, x), append(gauges, g)
	}
	return dials, meter.LinkOf(gauges)
}

// group puts the rails together that share something. capacity is what they share and what not.
func (d Dials) group(pairs []steps.Pair, name string, share func(p, q steps.Pair) bool,
	capacity func([]Dial) (link, ceiling float64),
) (groups []Dial) {
	taken := map[int]bool{}
	for i, p := range pairs {
		if taken[i] {
			continue
		}
		var of []Dial
		var names []string
		for j, q := range pairs {
			if j == i || !taken[j] && share(p, q) {
				taken[j] = true
				of = append(of, d.Rails[j])
				names = append(names, fmt.Sprint(j+1))
			}
		}
		g := sum(fmt.Sprintf("%s %d", name, len(groups)+1), of)
		g.Detail = "rails " + strings.Join(names, ", ")
		if len(of) == 1 {
			g.Detail = "rail " + names[0]
		}
		g.Link, g.Ceiling = capacity(of)
		groups = append(groups, g)
	}
	return groups
}

// sum is what some rails come to together: those that are heard of, because a rate of before is none of now. Of rails
// none of which is, it is what they came to last, and stale.
func sum(name string, dials []Dial) Dial {
	all := Dial{Name: name}
	heard := slices.DeleteFunc(slices.Clone(dials), func(d Dial) bool { return d.Stale != "" })
	switch silent := len(dials) - len(heard); {
	case silent > 0 && len(heard) == 0:
		all.Stale = dials[0].Stale
	case silent > 0:
		all.Detail = fmt.Sprintf("%d stale", silent)
		dials = heard
	}
	all.Down = len(dials) > 0
	all.To.Known, all.Back.Known = len(dials) > 0, len(dials) > 0
	for _, d := range dials {
		all.To, all.Back = all.To.plus(d.To), all.Back.plus(d.Back)
		all.Mixed = all.Mixed || d.Mixed
		all.Down = all.Down && d.Down
		all.History = add(all.History, d.History)
		all.RDMAHistory = add(all.RDMAHistory, d.RDMAHistory)
	}
	return all
}

// add sums two histories up from their ends, which are now.
func add(a, b []float64) []float64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i := range b {
		out[len(out)-1-i] += b[len(b)-1-i]
	}
	return out
}
