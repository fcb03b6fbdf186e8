package nccl

import (
	"fmt"
	"math"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// A half is one PCIe half of a node's adapter, and what its active ports carried.
type half struct {
	node  steps.End
	name  string   // the PCI slot without its function
	devs  []string // of its active rails
	tx    float64  // bytes
	rx    float64
	known bool
}

// countHalves adds up what the active ports of each half counted.
func (t *collective) countHalves() (all []half) {
	for _, p := range t.active() {
		rail := t.result.Rig.At(p.Node).Rails[p.Rail]
		i := slices.IndexFunc(all, func(h half) bool { return h.node == p.Node && h.name == rail.PCI.Half() })
		if i < 0 {
			i = len(all)
			all = append(all, half{node: p.Node, name: rail.PCI.Half(), known: true})
		}
		h := &all[i]
		h.devs = append(h.devs, rail.Dev)
		at := slices.IndexFunc(t.stage.Bytes, func(b steps.RailBytes) bool { return b.End == p.Node && b.Rail == p.Rail })
		if at < 0 || !t.stage.Bytes[at].Known {
			h.known = false
			continue
		}
		h.tx, h.rx = h.tx+float64(t.stage.Bytes[at].Tx), h.rx+float64(t.stage.Bytes[at].Rx)
	}
	return all
}

// idleHalves are those that carried nothing to speak of, where the node's other one did.
func (t *collective) idleHalves() (idle []half) {
	for _, h := range t.halves {
		sum := 0.0
		for _, other := range t.halves {
			if other.node == h.node {
				sum += other.tx + other.rx
			}
		}
		if h.known && h.name != "" && sum > 0 && h.tx+h.rx < limits.BytesBeside.Value()*sum {
			idle = append(idle, h)
		}
	}
	return idle
}

// tellHalves says which halves carried nothing. It gives a clause for the figure's cause.
func (t *collective) tellHalves() (code steps.Code, why string) {
	for _, h := range t.idleHalves() {
		rig := t.result.Rig
		text := fmt.Sprintf("on %s only one PCIe half was used: %s carried nothing", rig.NameOf(h.node), registry.And(h.devs))
		net, told := t.net(h.node, "IB")
		code = steps.RailIdle
		if lacks, why := lacking(rig, h.devs); why != "" {
			code = lacks
			text += ", because " + why
		} else if told && !slices.ContainsFunc(h.devs, func(d string) bool { return slices.Contains(net.Devices, d) }) {
			code = steps.HalfLeftOut
			text += fmt.Sprintf(". NCCL used %s there: check that NCCL_IB_HCA names both halves",
				registry.And(net.Devices))
		} else {
			text += ". Run: railbench doctor nccl-settings"
		}
		t.rep.At(rig, h.node, code, steps.Fail, "%s", text)
		why = "only one PCIe half of a port was used"
	}
	return code, why
}

// lacking says which node has no such device, or one without a link: a collective is of what all have. Devices
// may have other names on other nodes: only who has fewer of them than another lacks one.
func lacking(rig steps.Rig, devs []string) (steps.Code, string) {
	most := 0
	for _, n := range rig.Nodes {
		most = max(most, len(n.Rails))
	}
	for i, n := range rig.Nodes {
		if n.Err != "" || len(n.Rails) == 0 {
			continue
		}
		var away, down []string
		for _, dev := range devs {
			at := slices.IndexFunc(n.Rails, func(r steps.Rail) bool { return r.Dev == dev })
			switch {
			case at < 0 && len(n.Rails) < most:
				away = append(away, dev)
			case at >= 0 && n.Rails[at].State != "" && n.Rails[at].State != "ACTIVE":
				down = append(down, dev)
			}
		}
		name := rig.NameOf(steps.End(i))
		switch {
		case away != nil:
			return steps.RDMADeviceMissing,
				fmt.Sprintf("%s lacks %s, which the other nodes have. Run: railbench doctor adapter-present", name,
					registry.And(away))
		case down != nil:
			return steps.PortDown, fmt.Sprintf("%s on %s %s up. Run: railbench doctor link-up", registry.And(down), name,
				registry.Plural(len(down), "is not", "are not"))
		}
	}
	return "", ""
}

// tellSockets says where NCCL itself said that it does not use RDMA.
// A node that said IB as well used RDMA: NCCL names sockets for its bootstrap, too.
func (t *collective) tellSockets() (why string) {
	silent := true
	for _, h := range t.halves {
		silent = silent && h.tx+h.rx < limits.BytesBeside.Value()*t.moved()
	}
	for i := range t.result.Rig.Nodes {
		e := steps.End(i)
		net, told := t.net(e, "Socket")
		if _, verbs := t.net(e, "IB"); !told || verbs {
			continue
		}
		counters := "although RDMA counters moved"
		if silent {
			counters = "and RDMA counters did not move"
		}
		t.rep.Add(steps.NotRDMA, steps.Fail,
			"NCCL used TCP (NET/Socket over %s on %s), %s. Run: railbench doctor nccl-settings", registry.List(net.Devices),
			t.result.Rig.NameOf(e), counters)
		return "It used TCP"
	}
	return ""
}

// A bar is what the bandwidth is held against; none says why there is none.
type bar struct {
	limit limits.Limit
	none  string
}

// portRate is the rate of a Spark's port, Gb/s: the bar is for that.
const portRate = 200

// bar is the limit for such nodes as these are.
func (t *collective) bar() bar {
	rig := t.result.Rig
	for _, p := range t.active() {
		if rail := rig.At(p.Node).Rails[p.Rail]; rail.Soft() || rail.RateGbps != portRate {
			return bar{none: fmt.Sprintf("no limit is known for ports of %g Gb/s such as %s of %s", rail.RateGbps, rail.Dev,
				rig.NameOf(p.Node))}
		}
	}
	switch {
	case len(rig.Nodes) == 2 || rig.Switched():
		return bar{limit: limits.NCCLSwitched}
	case rig.InRing() && len(rig.Nodes) == 3:
		return bar{limit: limits.NCCLRing}
	case rig.InRing():
		return bar{limit: limits.NCCLLongRing}
	}
	return bar{none: "no limit is known for nodes cabled like this"}
}

// show puts the figures of the largest size on record, of which got is the bus bandwidth, and the bytes of each half.
func (t *collective) show(got float64, b bar) {
	expected := &steps.Expected{From: "no expected range: " + b.none}
	if b.none == "" {
		expected = &steps.Expected{Min: new(b.limit.Value()), From: b.limit.Entry().Source}
		if reach := t.reach(); reach.Most() > 0 {
			expected.Max = new(registry.Round(float64(reach.Most()) / 8))
			expected.From += "; at most the " + reach.By("a node's")
		}
	}
	last := t.run.Rows[len(t.run.Rows)-1]
	t.rep.Show("bus bandwidth with "+t.size(last.Bytes), registry.Round(got), "GB/s", expected)
	t.rep.Show("algorithm bandwidth with "+t.size(last.Bytes),
		registry.Round(min(last.OutOfPlace.AlgGBps, last.InPlace.AlgGBps)), "GB/s", nil)
	from := "the table (no -J file from rank 0's nccl-tests)"
	if t.run.Exact {
		from = "-J file, and the table agrees"
	}
	t.rep.Show("figures", from, "", nil)
	for _, h := range t.halves {
		for _, way := range []struct {
			verb  string
			bytes float64
		}{{"sent", h.tx}, {"received", h.rx}} {
			if h.known {
				t.rep.Show(fmt.Sprintf("bytes %s by %s over the half %s", way.verb, t.result.Rig.NameOf(h.node),
					registry.OrUnknown(h.name)),
					int64(way.bytes), "bytes", nil)
			}
		}
	}
}

// share holds the bus bandwidth of nodes with several ports to its share of what those can carry.
func (t *collective) share(got float64, b bar, reach limits.Reach) {
	most := float64(reach.Most()) / 8 // GB/s
	usual := most * limits.NCCLPorts.Value()
	if got >= usual {
		t.lead += fmt.Sprintf(", expected %.2f to %.2f", usual, most)
		return
	}
	code, why := t.cause(8 * got)
	t.rep.Add(code, steps.Warn, "%.2f GB/s of bus bandwidth, expected at least %.2f. %s", got, usual, why)
	t.rep.Explain("The vendor's limit for one port, %g, is taken in the same share for several: %.2f is the %s",
		b.limit.Value(), most, reach.By("a node's"))
}

// Figure holds the bus bandwidth of the largest size to the bar. The slower of both ways counts.
func (t *collective) Figure(traffic.Accounted) {
	t.halves = t.countHalves()
	code, why := steps.NotRDMA, t.tellSockets()
	if why == "" {
		code, why = t.tellHalves()
	}
	last := t.run.Rows[len(t.run.Rows)-1]
	got := min(last.OutOfPlace.BusGBps, last.InPlace.BusGBps)
	b, reach := t.bar(), t.reach()
	most := float64(reach.Most()) / 8 // GB/s
	t.show(got, b)
	t.rep.Measured(steps.Figure{
		What: steps.Throughput, Value: registry.Round(got * 8), Unit: "Gb/s", MessageBytes: last.Bytes,
		Memory: "VRAM",
	})
	ports := registry.Plural(t.connectors(), "one port", fmt.Sprintf("%d ports", t.connectors()))
	t.lead = fmt.Sprintf("%.2f GB/s of bus bandwidth (%.0f Gb/s) with %s on %d nodes over %s each", got, 8*got,
		t.size(last.Bytes),
		len(t.result.Rig.Nodes), ports)
	switch {
	case b.none != "":
		t.rep.Add(steps.NoLimitKnown, steps.Inconclusive,
			"%.2f GB/s of bus bandwidth; whether the nodes can do more is unknown: %s", got, b.none)
	// Two borders: above what physics allow the figure is not a figure, and nothing is said of it; above what anybody
	// has seen it may still be true, and is a WARN.
	case reach.Limit > 0 && got > float64(reach.Limit)/8*limits.OverShare.Value():
		t.rep.Add(steps.FigureImpossible, steps.Inconclusive, "%.2f GB/s of bus bandwidth is more than a node's cables and "+
			"PCIe links can carry (%.2f). Check the unit", got, reach.Limit/8)
	// An all-gather's size falls short of what was asked for by less than 16 bytes a node.
	case got < b.limit.Value() && why == "" && last.Bytes+16*len(t.result.Rig.Nodes) <= int(limits.NCCLLeast.Value()):
		t.rep.Add(steps.SizeTooSmall, steps.Inconclusive, "%.2f GB/s with %s, usually at least %.3g. The size is too small "+
			"to judge: set NCCL_BYTES to at least %s",
			got, t.size(last.Bytes), b.limit.Value(), registry.BlockSize(int(limits.NCCLLeast.Value())))
	case got < b.limit.Value():
		if why == "" {
			code, why = t.cause(8 * got)
		}
		t.rep.Add(code, steps.Fail, "%.2f GB/s of bus bandwidth, expected at least %.4g. %s", got, b.limit.Value(), why)
	case most > 0 && got > most*limits.OverShare.Value():
		t.rep.Add(steps.FigureUnseen, steps.Warn, "%.2f GB/s of bus bandwidth is more than %.2f, the %s. Check "+
			"the unit",
			got, most, reach.By("a node's"))
	case most > 0 && t.several():
		t.share(got, b, reach)
	default:
		if t.lead += fmt.Sprintf(", expected at least %.4g", b.limit.Value()); most > 0 {
			t.lead += fmt.Sprintf(" and at most %.2f", most)
		}
	}
}

// several reports whether more than the one port is used that the vendor's bar for nodes on a switch is for.
func (t *collective) several() bool {
	return t.connectors() > 1 && t.bar().limit == limits.NCCLSwitched
}

// reach is what the ports that are used carry on the node that carries least, by the PCIe links that its devices
// could have: one that came up narrower is a cause, and no excuse.
func (t *collective) reach() (least limits.Reach) {
	for i := range t.result.Rig.Nodes {
		var rails []steps.Rail
		mtu := 0
		for _, p := range t.used(steps.End(i)) {
			rail := t.result.Rig.At(p.Node).Rails[p.Rail]
			rails, mtu = append(rails, rail), max(mtu, rail.MTU)
		}
		r := limits.CarryAtBest(rails, limits.RoCE(mtu), false)
		if r.Most() > 0 && (least.Most() == 0 || r.Most() < least.Most()) {
			least = r
		}
	}
	return least
}

// connectors is how many ports with a cable the first node uses.
func (t *collective) connectors() int {
	seen := map[int]bool{}
	for _, p := range t.used(steps.Here) {
		seen[t.result.Rig.At(p.Node).Rails[p.Rail].PhysPort] = true
	}
	return len(seen)
}

// size names a size as it was asked for: an all-gather's is a little less.
func (t *collective) size(bytes int) string {
	asked := 1
	for asked < bytes {
		asked *= 2
	}
	if asked-bytes < 16*len(t.result.Rig.Nodes) {
		bytes = asked
	}
	return registry.BlockSize(bytes)
}

// cause looks for a node that is unlike the others: a collective is as fast as the slowest. got is in Gb/s. The
// surest first: what the probe saw of links and devices, then the order of ranks, then what counters report, and at
// last what nothing reports.
func (t *collective) cause(got float64) (steps.Code, string) {
	rig := t.result.Rig
	for i := range rig.Nodes {
		e := steps.End(i)
		for _, p := range t.used(e) {
			rail := rig.At(e).Rails[p.Rail]
			if rail.PCI.Width > 0 && rail.PCI.Width < rail.PCI.MaxWidth {
				return steps.PCIeNarrow,
					fmt.Sprintf("The PCIe link of %s on %s is x%d instead of x%d. Run: railbench doctor pcie-link", rail.Dev,
						rig.NameOf(e), rail.PCI.Width,
						rail.PCI.MaxWidth)
			}
		}
	}
	if code, why := lacking(rig, t.devices()); why != "" {
		return code, why
	}
	if why := t.unjoined(); why != "" {
		return steps.RanksUnjoined, why
	}
	lacks := 0.0
	if most := float64(t.reach().Most()); most > got {
		lacks = most - got
	}
	each := got / float64(len(t.used(steps.Here)))
	if code, why := traffic.SlowedAt(rig, t.stage.Bytes, t.active(), lacks, each); why != "" {
		return code, why
	}
	unknown := "The slowest node is unknown. Run: railbench pairs; railbench doctor gpu-clock"
	if why := t.ringNeeds(); why != "" {
		return steps.NCCLTooOld, why + ". " + unknown
	}
	return steps.BelowLimit, unknown
}

// unjoined says which rank of a ring sends to one that it has no cable to: NCCL goes around the ranks in their order.
func (t *collective) unjoined() string {
	rig := t.result.Rig
	if !rig.InRing() {
		return ""
	}
	n := len(t.run.Ranks)
	at := make([]steps.End, n)
	for _, k := range t.run.Ranks {
		e := slices.IndexFunc(rig.Nodes, func(n steps.Node) bool { return short(n.Host) == short(k.Host) })
		if e < 0 || k.Rank < 0 || k.Rank >= n {
			return ""
		}
		at[k.Rank] = steps.End(e)
	}
	for rank, e := range at {
		if to := at[(rank+1)%n]; !rig.Joined(e, to) {
			var around []string
			for _, e := range rig.Around() {
				around = append(around, rig.NameOf(e))
			}
			return fmt.Sprintf("Rank %d on %s sends to rank %d on %s without a cable between them. Start the "+
				"ranks in cable order: %s", rank, rig.NameOf(e), (rank+1)%n, rig.NameOf(to), registry.And(around))
		}
	}
	return ""
}

// ringNeeds says what nodes in a ring need, where these have an older NCCL; empty elsewhere.
func (t *collective) ringNeeds() string {
	if t.run.NCCL == 0 || t.run.NCCL >= limits.NCCLRingRelease || !t.result.Rig.InRing() {
		return ""
	}
	return limits.NCCLRingNeeds + ", but these have " + limits.NCCLRelease(t.run.NCCL)
}

// devices are those that were used on any node, each once.
func (t *collective) devices() (all []string) {
	for i := range t.result.Rig.Nodes {
		for _, p := range t.used(steps.End(i)) {
			if dev := t.result.Rig.At(p.Node).Rails[p.Rail].Dev; !slices.Contains(all, dev) {
				all = append(all, dev)
			}
		}
	}
	return all
}

// Signs: a node that lacks what others used. A collective may look well without it.
func (t *collective) Signs() {
	code, why := lacking(t.result.Rig, t.devices())
	said := func(f registry.Finding) bool { return f.Code == code }
	if why != "" && !slices.ContainsFunc(t.rep.Findings, said) {
		t.rep.Add(code, steps.Warn, "%s. Its other nodes use theirs, so this result is not the full capability", why)
	}
}

// carried says how the halves shared what they carried, where all did.
func (t *collective) carried() string {
	sum, used, most, least := map[steps.End]float64{}, map[steps.End]int{}, 1, 1.0
	for _, h := range t.halves {
		sum[h.node] += h.tx
		used[h.node]++
		most = max(most, used[h.node])
	}
	for _, h := range t.halves {
		if sum[h.node] > 0 {
			least = min(least, h.tx/sum[h.node])
		}
	}
	if t.halves == nil || least >= 1 {
		return ""
	}
	// Rounded to whole percent, no half could have carried more than this.
	if math.Round(100*least) >= math.Round(100/float64(most)) {
		return "The PCIe halves of each node carried equal shares"
	}
	return fmt.Sprintf("Each PCIe half carried at least %.0f %%", 100*least)
}

// table is the sweep, a size a row.
func table(run parse.NCCLTest) steps.Table {
	t := steps.Table{Title: "nccl-tests", Columns: []steps.Column{
		{Name: "size"},
		{Name: "bus GB/s", Number: true},
		{Name: "in place", Number: true},
		{Name: "alg GB/s", Number: true},
		{Name: "time us", Number: true},
	}}
	for _, r := range run.Rows {
		if r.OutOfPlace == nil {
			continue
		}
		in := "-"
		if r.InPlace != nil {
			in = fmt.Sprintf("%.2f", r.InPlace.BusGBps)
		}
		t.Rows = append(t.Rows, []string{
			registry.BlockSize(r.Bytes), fmt.Sprintf("%.2f", r.OutOfPlace.BusGBps), in,
			fmt.Sprintf("%.2f", r.OutOfPlace.AlgGBps),
			fmt.Sprintf("%.1f", r.OutOfPlace.TimeUS),
		})
	}
	return t
}

// live is the table of a run that goes on.
func live(stdout string) (steps.Table, bool) {
	run, _ := parse.NCCLTests(stdout)
	return table(run), len(run.Rows) > 0
}

// chart is the bus bandwidth by size, in one line where both ways come to the same.
func (t *collective) chart() steps.Chart {
	series := make([]steps.Series, 2)
	series[0].Name, series[1].Name = "out of place", "in place"
	alike := true
	for _, r := range t.run.Rows {
		both := figures(r)
		alike = alike && math.Abs(both[0].BusGBps-both[1].BusGBps) <= 0.01*both[0].BusGBps
		for i, f := range both {
			series[i].Points = append(series[i].Points,
				steps.Point{Label: registry.BlockSize(r.Bytes), X: float64(r.Bytes), Y: registry.Round(f.BusGBps)})
		}
	}
	if alike {
		series = series[:1]
		series[0].Name = "out of place, and in place within 1 %"
	}
	c := steps.Chart{
		Title: t.cell.Title + ", bus bandwidth", Shape: steps.Lines, Unit: "GB/s", XUnit: "bytes",
		Series: series,
	}
	if b := t.bar(); b.none == "" {
		c.Limits = append(c.Limits, steps.Limit{Name: "at least", Value: b.limit.Value()})
	}
	if most := t.reach().Most(); most > 0 {
		c.Limits = append(c.Limits, steps.Limit{Name: "at most", Value: registry.Round(float64(most) / 8)})
	}
	return c
}
