package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/theory"
)

// evenShare: UCX cuts a block by the speeds that the ports report, so two equal
// rails get half each.
const evenShare = 0.35

// stagedMoreBytes: what is staged travels as messages with headers of UCX's own;
// the tutorial counted 1.5 % more than payload and RoCE's (assets/docs/facts.md#bytes-of-nixlbench).
const stagedMoreBytes = 1.06

// A Route is the rails that a cell told UCX to use.
type Route struct {
	Pairs []steps.Pair
	Nos   []int // their numbers, counted from 1
	mtu   int   // RoCE MTU of the payload: the smallest, bytes
	// most is the largest MTU of a rail: what goes over that one has fewer headers.
	most int
}

// RouteOf reads it off the cell's scripts: the rails that they name.
func RouteOf(c steps.Cell, r steps.Result, s steps.Stage) (Route, bool) {
	var rt Route
	switch {
	case c.EachRail:
		if !r.Rig.HasPair(s.Pair) {
			return rt, false
		}
		rt.Add(r.Rig, s.Pair)
	case len(r.Rig.Pairs) == 0 || !r.Rig.HasPair(0):
		return rt, false
	case names(c, "HALF_DEV"):
		half, ok := r.Rig.AcrossHalves()
		i := slices.Index(r.Rig.Pairs, half)
		if !ok || !r.Rig.HasPair(i) {
			return rt, false
		}
		rt.Add(r.Rig, 0)
		rt.Add(r.Rig, i)
	case names(c, "RAIL2_DEV"):
		if !r.Rig.HasPair(1) {
			return rt, false
		}
		rt.Add(r.Rig, 0)
		rt.Add(r.Rig, 1)
	default:
		rt.Add(r.Rig, 0)
	}
	return rt, true
}

func names(c steps.Cell, variable string) bool {
	return slices.ContainsFunc(c.Roles, func(role steps.Role) bool { return strings.Contains(role.Script, "$"+variable) })
}

func (rt *Route) Add(rig steps.Rig, i int) {
	p := rig.Pairs[i]
	rt.Pairs, rt.Nos = append(rt.Pairs, p), append(rt.Nos, i+1)
	mtu := theory.AgreedMTU(rig, p, 0)
	if rt.mtu == 0 || mtu < rt.mtu {
		rt.mtu = mtu
	}
	rt.most = max(rt.most, mtu)
}

// least is the smallest share of a prediction that is right: the prediction takes
// all packets for as small as the rail with the smallest MTU makes them.
func (rt Route) least() float64 {
	if rt.mtu <= 0 {
		return LessBytes
	}
	return LessBytes * (1 + theory.RoCEHeaders/float64(rt.most)) / (1 + theory.RoCEHeaders/float64(rt.mtu))
}

// String names the rails: "rail 1", "rails 1 and 3".
func (rt Route) String() string {
	var all []string
	for _, n := range rt.Nos {
		all = append(all, fmt.Sprint(n))
	}
	if len(all) == 1 {
		return "rail " + all[0]
	}
	return "rails " + kind.And(all)
}

// devs are the devices at one end.
func (rt Route) devs(rig steps.Rig, e steps.End) []string {
	var all []string
	for _, p := range rt.Pairs {
		all = append(all, rig.Rail(p, e).Dev)
	}
	return all
}

// Band is what the rails can do together. UCX gives each the same share, so the
// slowest decides; and rails behind one PCIe link, or on one cable, share it.
func (rt Route) Band(rig steps.Rig) theory.Band {
	var b theory.Band
	n := float64(len(rt.Pairs))
	for _, p := range rt.Pairs {
		one := theory.BandOf(rig, p, rt.mtu)
		if one.None != "" {
			return one
		}
		from := one.From
		if n > 1 {
			from = fmt.Sprintf("%g times %s", n, one.From)
		}
		b.Lower(n*one.Expected, from)
		b.Limit = theory.Lesser(b.Limit, n*one.Limit)
	}
	payload := float64(rt.mtu)
	for i, p := range rt.Pairs {
		for _, q := range rt.Pairs[:i] {
			for _, e := range steps.Ends {
				x, y := rig.Rail(p, e), rig.Rail(q, e)
				if pcie, _ := theory.MaxCeiling(x); pcie > 0 && x.PCI.Half() != "" && x.PCI.Half() == y.PCI.Half() {
					pcie *= payload / (payload + theory.RoCEHeaders)
					b.Lower(pcie, fmt.Sprintf("one %s behind both, at RoCE MTU %d", theory.Slot(x.PCI.MaxGTps, x.PCI.MaxWidth), rt.mtu))
					b.Limit = theory.Lesser(b.Limit, pcie)
				}
				if x.PhysPort >= 0 && x.PhysPort == y.PhysPort {
					link := min(x.RateGbps, y.RateGbps) * payload / (payload + theory.CableHeaders)
					b.Lower(link, fmt.Sprintf("one cable of %g Gb/s for both, at RoCE MTU %d", x.RateGbps, rt.mtu))
					b.Limit = theory.Lesser(b.Limit, link)
				}
			}
		}
	}
	return b
}

// Cause looks for what ends the rails early, the surest sign first.
func (rt Route) Cause(r steps.Result, s steps.Stage, got float64) string {
	said := ""
	for i, p := range rt.Pairs {
		m := kind.Measurement{No: rt.Nos[i], Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p}
		said = LikelyCause(r, s, m, got/float64(len(rt.Pairs)), rt.mtu)
		if !strings.HasPrefix(said, "no cause shows") {
			return said
		}
	}
	return "compare with the write bandwidth of the same rails; if that is well, look at UCX (nixl-check) and at the processors"
}

// Moves predicts the wire bytes of n transfers of some bytes.
func (rt Route) Moves(n, bytes float64) (payload, wire float64) {
	packets := math.Ceil(bytes / float64(rt.mtu))
	return n * bytes, n * (bytes + packets*theory.RoCEHeaders)
}

// Account compares the bytes of every rail with the flow: the right ones, as
// many as predicted, and no others. carried tells who carried what, where it is
// right.
func (rt Route) Account(r steps.Result, s steps.Stage, f Flow, rep *kind.Report) (carried string) {
	if len(s.Bytes) == 0 || rt.mtu <= 0 {
		rep.Add(steps.Inconclusive, "the bytes were not counted, so nothing shows which rail carried them")
		return ""
	}
	for i, p := range rt.Pairs {
		m := kind.Measurement{No: rt.Nos[i], Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p}
		if g := Flaps(s, m); g != "" {
			rep.On(m, steps.Fail, "the link went down during the test (%s)", g)
		}
	}
	var problems [2]kind.Finding
	for _, e := range steps.Ends {
		var said string
		if said, problems[e] = rt.accountEnd(r, s, f, e, rep); e == steps.Here {
			carried = said
		}
	}
	switch {
	case problems[0].Text == "" && problems[1].Text == "":
		return carried
	case problems[0] == problems[1]:
		rep.Add(problems[0].Grade, "on both nodes %s", problems[0].Text)
	default:
		for _, e := range steps.Ends {
			if p := problems[e]; p.Text != "" {
				rep.Add(p.Grade, "on %s %s", r.Rig.NameOf(e), p.Text)
			}
		}
	}
	return ""
}

// accountEnd is the account of one node.
func (rt Route) accountEnd(r steps.Result, s steps.Stage, f Flow, e steps.End, rep *kind.Report) (carried string, _ kind.Finding) {
	problem := func(g steps.Grade, format string, args ...any) (string, kind.Finding) {
		return "", kind.Finding{Grade: g, Text: fmt.Sprintf(format, args...)}
	}
	node, verb := r.Rig.NameOf(e), "sent"
	if e != f.From {
		verb = "received"
	}
	mine := make([]*steps.RailBytes, len(rt.Pairs))
	counted := map[int]bool{}
	var others []string
	var foreign float64
	for _, b := range s.Bytes {
		if b.End != e {
			continue
		}
		if i := slices.IndexFunc(rt.Pairs, func(p steps.Pair) bool { return p.Rails[e] == b.Rail }); i >= 0 {
			mine[i] = &b
			continue
		}
		if !b.Known {
			continue
		}
		counted[b.Rail] = true
		if n := max(float64(b.Tx), float64(b.Rx)); n > OtherRails*f.Payload {
			foreign += n
			others = append(others, b.Dev)
			rep.Show(fmt.Sprintf("bytes on %s of %s", b.Dev, node), int64(n), "bytes", &steps.Expected{
				Max: new(float64(int64(OtherRails * f.Payload))), From: "the test uses " + rt.String(),
			})
		}
	}
	most, sum := max(MoreBytes, f.most), 0.0
	own := make([]float64, len(mine))
	for i, b := range mine {
		dev := r.Rig.Rail(rt.Pairs[i], e).Dev
		if b == nil || !b.Known {
			why := "nobody counted"
			if b != nil && b.Why != "" {
				why = b.Why
			}
			return problem(steps.Inconclusive, "the bytes of %s are unknown (%s)", dev, why)
		}
		if netdev := strings.HasPrefix(b.Source, "netdev"); netdev {
			most = max(most, MoreNetdevBytes)
			if r.Rig.Rail(rt.Pairs[i], e).PCI.Addr != "" {
				return problem(steps.Inconclusive, "%s has no port counters, and RDMA is not in its interface's bytes: nothing shows which rail carried it", dev)
			}
		}
		if own[i] = float64(b.Rx); e == f.From {
			own[i] = float64(b.Tx)
		}
		sum += own[i]
		rep.Show(fmt.Sprintf("rail %d (%s) bytes %s by %s", rt.Nos[i], dev, verb, node), int64(own[i]), "bytes", nil)
	}
	devs := rt.devs(r.Rig, e)
	rep.Show(fmt.Sprintf("bytes %s by %s over %s", verb, node, rt), int64(sum), "bytes", &steps.Expected{
		Min: new(float64(int64(rt.least() * f.Wire))), Max: new(float64(int64(most * f.Wire))),
		From: fmt.Sprintf("%s, in packets of %d with %d bytes of headers each (%s)", f.Text, rt.mtu, theory.RoCEHeaders, mine[0].Source),
	})
	var idle, busy, shares []string
	smallest := 1.0
	for i, n := range own {
		if n < OtherRails*f.Payload {
			idle = append(idle, devs[i])
			continue
		}
		busy = append(busy, devs[i])
		shares = append(shares, fmt.Sprintf("%s %.0f %%", devs[i], 100*n/sum))
		smallest = min(smallest, n/sum)
	}
	switch {
	case len(busy) == 0 && foreign >= f.Wire/2:
		return problem(steps.Fail, "nothing went over %s; %s carried the bytes: the wrong rail", kind.And(idle), kind.And(others))
	case len(busy) == 0:
		if over := overInterfaces(r, s, e, f.Payload/2); len(over) > 0 {
			return problem(steps.Fail, "nothing went over %s by RDMA; the data went over %s as TCP", kind.And(idle), kind.And(over))
		}
		return problem(steps.Inconclusive, "nothing went over %s, and no interface moved it either: a counter that was reset, or shared memory?", kind.And(idle))
	case foreign > 0:
		why := "a bond, or something else running?"
		if was := otherTraffic(s, e); was != "" {
			why = was
		}
		return problem(steps.Fail, "%s moved bytes too, and the test uses %s: %s", kind.And(others), rt, why)
	case len(idle) > 0 && !f.oneRail:
		return problem(steps.Fail, "nothing went over %s: UCX used %s alone, and that is no error to it%s", kind.And(idle), kind.And(busy), rt.idleHint(r.Rig, f.Warned))
	}
	for i, other := range r.Rig.At(e).Rails {
		on := slices.ContainsFunc(rt.Pairs, func(p steps.Pair) bool { return p.Rails[e] == i })
		if !on && !counted[i] && other.State == "ACTIVE" {
			return problem(steps.Inconclusive, "the bytes of %s meanwhile are unknown", other.Dev)
		}
	}
	switch ratio := sum / f.Wire; {
	case ratio > jumped:
		return problem(steps.Inconclusive, "%s moved %s where %s were predicted: a counter jumped, or other traffic ran", kind.And(devs), kind.Size(sum), kind.Size(f.Wire))
	case ratio > most:
		why := "no error counter grew, so perhaps other traffic"
		if was := otherTraffic(s, e); was != "" {
			why = was
		}
		for _, p := range rt.Pairs {
			if g := GrownErrors(s, kind.Measurement{Pair: p}); g != "" {
				why = "packets were sent again: " + g
			}
		}
		return problem(steps.Warn, "%.1f %% more bytes than predicted (%s)", 100*(ratio-1), why)
	case ratio < rt.least():
		why := ""
		if was := otherTraffic(s, e); was != "" {
			why = " (" + was + ", and what it would have been meanwhile is taken off)"
		}
		return problem(steps.Inconclusive, "%s moved only %s of the %s predicted%s", kind.And(devs), kind.Size(sum), kind.Size(f.Wire), why)
	case len(busy) > 1 && smallest < evenShare:
		return problem(steps.Warn, "the rails did not share evenly (%s): does a port report another speed?", kind.And(shares))
	}
	if len(busy) == 1 {
		return fmt.Sprintf("%s carried all of it, %s on the wire", busy[0], kind.Size(sum)), kind.Finding{}
	}
	return fmt.Sprintf("Of %s on the wire %s", kind.Size(sum), kind.And(shares)), kind.Finding{}
}

// idleHint says where to look when a rail carried nothing.
func (rt Route) idleHint(rig steps.Rig, warned string) string {
	if warned != "" {
		return warned
	}
	for _, e := range steps.Ends {
		for _, p := range rt.Pairs {
			if rig.Rail(p, e).State != "ACTIVE" {
				return "; is its port up, at both ends?"
			}
		}
	}
	return "; its port is up, so look at its addresses and GIDs at both ends (rail map, GID check)"
}

// overInterfaces names the interfaces that moved bytes as TCP does.
func overInterfaces(r steps.Result, s steps.Stage, e steps.End, least float64) []string {
	var all []string
	for _, b := range s.Bytes {
		if b.End == e && b.IPKnown && b.Rail < len(r.Rig.At(e).Rails) && max(float64(b.IPTx), float64(b.IPRx)) > least {
			all = append(all, r.Rig.At(e).Rails[b.Rail].Netdev.Name)
		}
	}
	return all
}

// otherTraffic says what was on the node's rails before the test began.
func otherTraffic(s steps.Stage, e steps.End) string {
	for _, b := range s.Bytes {
		if b.End == e && b.IdleGbps > 1 {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on %s before it began", b.IdleGbps, b.Dev)
		}
	}
	return ""
}

// checkPorts: a port that is down explains more than what UCX says.
func (rt Route) CheckPorts(rig steps.Rig, rep *kind.Report) {
	for _, e := range steps.Ends {
		for _, p := range rt.Pairs {
			switch rail := rig.Rail(p, e); {
			case rail.State == "" || rail.State == "ACTIVE":
			case !rail.Netdev.Up:
				rep.Add(steps.Fail, "%s on %s is %s: its interface %s is switched off", rail.Dev, rig.NameOf(e), rail.State, rail.Netdev.Name)
			default:
				rep.Add(steps.Fail, "%s on %s is %s: check its cable at both ends", rail.Dev, rig.NameOf(e), rail.State)
			}
		}
	}
}
