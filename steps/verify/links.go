package verify

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
)

// links looks at the links, slots and MTUs of the ports that a test led over: what came up with less than it could,
// or otherwise at its two ends, is a finding of its own next to any figure, and never the new normal. What was said
// of a figure already is not said again.
func (l Line) links(rdma bool) {
	narrow, down := l.found(steps.PCIeNarrow), l.found(steps.PortDown, steps.InterfaceOff)
	var slots []string
	for _, p := range l.Ports {
		r, ok := rail(l.Rig, p)
		if !ok {
			continue
		}
		// A slot that still carries more than the link ends nothing.
		slot, _ := limits.Ceiling(r)
		if limits.Narrow(r) && (r.RateGbps <= 0 || float64(slot) < r.RateGbps) &&
			!narrow && !slices.Contains(slots, limits.Slot(r.PCI.GTps, r.PCI.Width)) {
			slots = append(slots, limits.Slot(r.PCI.GTps, r.PCI.Width))
			l.Add(steps.PCIeNarrow, steps.Warn,
				"%s on %s runs at %s instead of %s. Run: railbench doctor pcie-link",
				r.Dev, l.Rig.NameOf(p.Node), limits.Slot(r.PCI.GTps, r.PCI.Width), limits.Slot(r.PCI.MaxGTps, r.PCI.MaxWidth))
		}
		if r.State != "" && r.State != "ACTIVE" && rdma && !down {
			l.Add(steps.PortDown, steps.Warn,
				"the port of %s on %s was %s at the last probe, although data flowed. Probe "+
					"the nodes again", r.Dev, l.Rig.NameOf(p.Node), r.State)
		}
	}
	unequal := false
	if l.beyond() {
		l.apart(rdma)
	} else {
		unequal = l.ends(rdma)
	}
	l.bonded(unequal)
}

// Rates compares the links of all rails of the link under test with each other and at both ends, as is done next to a
// figure.
func Rates(rig steps.Rig, rep *registry.Report) {
	l := Line{Rig: rig, Rep: rep, Add: rep.Add}
	for i, p := range rig.Pairs {
		if rig.HasPair(i) {
			l.Ports = append(l.Ports, traffic.EndsOf(p)...)
		}
	}
	l.ends(false)
}

// found reports whether there is a finding with one of some codes.
func (l Line) found(codes ...steps.Code) bool {
	return slices.ContainsFunc(l.Rep.Findings, func(f registry.Finding) bool { return slices.Contains(codes, f.Code) })
}

// ends compares the two ends of each rail of the link under test that the test led over. unequal says
// that one has other rates at its ends, which is said once.
func (l Line) ends(rdma bool) (unequal bool) {
	flapped := l.found(steps.LinkFlapped)
	for _, pair := range l.Rig.Pairs {
		a, b := traffic.Port{Node: steps.Here, Rail: pair.Rails[steps.Here]},
			traffic.Port{Node: steps.Peer, Rail: pair.Rails[steps.Peer]}
		here, ok := rail(l.Rig, a)
		peer, both := rail(l.Rig, b)
		if ok && both && slices.Contains(l.Ports, a) && slices.Contains(l.Ports, b) {
			unequal = l.unlike(here, peer, rdma, unequal) || unequal
			if other := faster(l.Rig.At(steps.Here), here); other.RateGbps > 0 && here.RateGbps == peer.RateGbps && !flapped {
				l.Add(steps.LinkSlow, steps.Warn,
					"the link of %s runs at %g Gb/s on both nodes, but %s at %g. Run: railbench doctor link-speed", here.Dev,
					here.RateGbps, other.Dev,
					other.RateGbps)
			} else if slow := here.RateGbps; slow > 0 && slow == peer.RateGbps && slow < limits.Gen5Link.Value() &&
				!here.InfiniBand() &&
				here.PCI.MaxGTps >= gen5 && !flapped {
				l.Add(steps.LinkSlow, steps.Warn,
					"the link of %s runs at %g Gb/s at both ends; PCIe Gen5 adapters usually have "+
						"at least %g. Run: railbench doctor link-speed", here.Dev, slow,
					limits.Gen5Link.Value())
			}
		}
	}
	return unequal
}

// beyond reports whether a test led over nodes next to the link under test, too.
func (l Line) beyond() bool {
	return slices.ContainsFunc(l.Ports, func(p traffic.Port) bool { return p.Node > steps.Peer })
}

// apart compares the ports of several nodes with those that they are in one subnet with, and says once which of a
// node's are unlike the others.
func (l Line) apart(rdma bool) {
	for _, look := range []struct {
		what, unit, says string
		of               func(steps.Rail) float64
	}{
		{"link", " Gb/s", "The slower link limits the traffic (railbench doctor link-speed)", func(r steps.Rail) float64 {
			return r.RateGbps
		}},
		{"RoCE MTU", "", "The smaller MTU is used (railbench doctor mtu-equal)", func(r steps.Rail) float64 {
			if !rdma || r.InfiniBand() {
				return 0
			}
			return float64(r.MTU)
		}},
	} {
		for _, o := range l.outliers(look.of) {
			l.Add(steps.EndsDiffer, steps.Warn,
				"the %s of %s is %g%s on %s but %g%s on %s. %s", look.what, registry.And(o.devs), o.value, look.unit,
				l.Rig.NameOf(o.node), o.usual, look.unit, registry.And(o.others), look.says)
		}
	}
}

// An outlier are ports of a node with another value than most of those that they meet.
type outlier struct {
	node         steps.End
	devs, others []string // the ports' devices, and the nodes with the usual value
	value, usual float64
}

// usual is the value that most have of a port's rail and those that it meets; met are their ports.
func (l Line) usual(p traffic.Port, r steps.Rail, of func(steps.Rail) float64) (usual float64, met []traffic.Port) {
	usual = of(r)
	times := map[float64]int{usual: 1}
	for _, q := range l.Ports {
		if other, ok := rail(l.Rig, q); ok && q.Node != p.Node && of(other) > 0 && steps.Meet(r, other) {
			met = append(met, q)
			times[of(other)]++
		}
	}
	for value, n := range times {
		if n > times[usual] || n == times[usual] && value > usual {
			usual = value
		}
	}
	return usual, met
}

// outliers finds the ports that differ in a value, 0 for one that is unknown. What most have is usual, and of two that
// are as frequent the larger.
func (l Line) outliers(of func(steps.Rail) float64) (all []outlier) {
	for _, p := range l.Ports {
		r, ok := rail(l.Rig, p)
		if !ok || of(r) == 0 {
			continue
		}
		usual, met := l.usual(p, r, of)
		if of(r) == usual {
			continue
		}
		o := outlier{node: p.Node, devs: []string{r.Dev}, value: of(r), usual: usual}
		for _, q := range met {
			other, _ := rail(l.Rig, q)
			if name := l.Rig.NameOf(q.Node); of(other) == usual && !slices.Contains(o.others, name) {
				o.others = append(o.others, name)
			}
		}
		at := slices.IndexFunc(all, func(x outlier) bool {
			return x.node == o.node && x.value == o.value && x.usual == o.usual && slices.Equal(x.others, o.others)
		})
		if at >= 0 {
			all[at].devs = append(all[at].devs, r.Dev)
			continue
		}
		all = append(all, o)
	}
	return all
}

// gen5 is what a lane of PCIe Gen5 does, GT/s.
const gen5 = 32

// faster is the fastest of a node's ports that are like a rail's, where it is faster; the zero Rail else.
// What a port could do is not on record where the nodes are looked at, and its like says so.
func faster(n steps.Node, r steps.Rail) (most steps.Rail) {
	for _, other := range n.Rails {
		like := other.Layer == r.Layer && other.PCI.MaxGTps == r.PCI.MaxGTps && other.PCI.MaxWidth == r.PCI.MaxWidth &&
			r.PCI.MaxWidth > 0
		if like && other.State == "ACTIVE" && r.State == "ACTIVE" && r.RateGbps > 0 &&
			other.RateGbps > max(r.RateGbps, most.RateGbps) {
			most = other
		}
	}
	return most
}

// unlike compares the two ends of a rail, and reports whether their rates differ. told says that another
// rail's difference was already reported.
func (l Line) unlike(here, peer steps.Rail, rdma, told bool) (unequal bool) {
	unequal = here.RateGbps > 0 && peer.RateGbps > 0 && here.RateGbps != peer.RateGbps
	if unequal && !told {
		l.Add(steps.LinkSlow, steps.Warn,
			"the link of %s runs at %g Gb/s on %s but %g on %s. Run: railbench doctor link-speed", here.Dev, here.RateGbps,
			l.Rig.NameOf(steps.Here), peer.RateGbps, l.Rig.NameOf(steps.Peer))
	}
	if rdma && here.MTU > 0 && peer.MTU > 0 && here.MTU != peer.MTU {
		l.Add(steps.MTUDiffers, steps.Warn,
			"the %s of %s is %d on %s but %d on %s. The smaller is used (railbench doctor mtu-equal)",
			here.MTUName(),
			here.Dev, here.MTU, l.Rig.NameOf(steps.Here), peer.MTU, l.Rig.NameOf(steps.Peer))
	}
	return unequal
}

// bonded compares the links of one end's bond with each other: the slowest of them ends what is hashed
// to it, whatever the sum is.
func (l Line) bonded(told bool) {
	rates := map[string][]float64{} // by node and bond
	for _, p := range l.Ports {
		r, ok := rail(l.Rig, p)
		if !ok || r.Netdev.Master == "" || r.RateGbps <= 0 {
			continue
		}
		name := r.Netdev.Master + " on " + l.Rig.NameOf(p.Node)
		if rates[name] = append(rates[name], r.RateGbps); rates[name][0] != r.RateGbps && !told {
			l.Add(steps.LinksUnequal, steps.Warn,
				"%s has links of %g and %g Gb/s: a stream hashed to the slower link is slower. "+
					"Run: railbench doctor link-speed", name,
				rates[name][0],
				r.RateGbps)
		}
	}
}

// rail is the rail of a port; ok is false where the rig has none.
func rail(rig steps.Rig, p traffic.Port) (r steps.Rail, ok bool) {
	if int(p.Node) >= len(rig.Nodes) || p.Rail < 0 || p.Rail >= len(rig.Nodes[p.Node].Rails) {
		return r, false
	}
	return rig.Nodes[p.Node].Rails[p.Rail], true
}
