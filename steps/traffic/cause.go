package traffic

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/registry"
)

// A Rate is what a rail came to, and what its ports counted meanwhile.
type Rate struct {
	registry.Measurement
	Gbps    float64
	Message int // bytes; rates of one size are compared
	MTU     int // RoCE MTU, bytes
	// Share is what the rail can carry next to the other rails of its test, Gb/s; 0 where it was alone.
	Share float64
	Bytes []steps.RailBytes
}

// A Cause is why a rail is slower than it should be.
type Cause struct {
	Code steps.Code // BelowLimit where nothing shows that takes as much as is missing
	Text string     // a sentence without its full stop
	// Known is false where Text only says what to look at.
	Known bool
	// Next to are the other signs, each with how much of the loss it explains, or why it explains none.
	Beside []string
}

// NoCause begins what LikelyCause says where nothing shows.
const NoCause = "Cause unknown"

// A symptom is a sign of what may make a rail slow.
type symptom struct {
	code steps.Code
	text string // as the cause
	is   string // as one of several: a noun with its figures
	// takes is how much it takes from the rail, Gb/s; 0 where a sign has no figure.
	takes float64
	// weak: it takes next to nothing.
	weak bool
	// shared says that a healthy rail has it, too.
	shared bool
	// vague: a rail that is as fast as it should be may have it, too, so that alone it proves nothing.
	vague bool
}

// LikelyCause looks for what makes a rail slow, the sharpest cause first. others are the rates of other rails: what a
// rail that is alike and faster has, too, is not the cause.
func LikelyCause(rig steps.Rig, slow Rate, others ...Rate) Cause {
	l := loss{rig: rig, Rate: slow, ends: EndsOf(slow.Pair)}
	best, ahead := Ahead(rig, slow, others...)
	l.expected = float64(limits.BandOf(rig, limits.Test{MTU: slow.MTU}, slow.Pair).Expected)
	if slow.Share > 0 {
		l.expected = min(l.expected, slow.Share)
	}
	if l.expected == 0 && ahead {
		l.expected = best.Gbps
	}
	signs := l.signs()
	// Where all rails are slow, a shared sign may still be the cause.
	healthy := ahead && best.Gbps >= limits.WarnShare.Value()*l.expected
	if healthy {
		l.compare(signs, best)
	}
	// Where other rails are alike, and none was measured next to this one, a comparison reports more than what a good
	// rail may have, too.
	measured := slices.ContainsFunc(others, func(o Rate) bool { return o.Pair != slow.Pair })
	alone := !measured && slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool {
		return p != slow.Pair && Alike(rig, p, slow.Pair)
	})
	at := l.explaining(signs, alone, ahead)
	c := Cause{Code: steps.BelowLimit, Text: NoCause + ". Run ib-reverse, and check pcie-errors and idle-rails"}
	switch {
	case at >= 0:
		c = Cause{Code: signs[at].code, Text: signs[at].text, Known: true}
		if part := signs[at].takes; part > 0 && part < limits.TrafficExplains.High()*l.lacks() {
			c.Beside = append(c.Beside, explains(signs[at], l.lacks()))
		}
	case ahead:
		c = l.apart(best)
	case slices.ContainsFunc(signs, func(s symptom) bool { return s.code == steps.ErrorsGrew }):
		c.Text = NoCause + "; only a few packets were retransmitted (" + grownErrors(l.Bytes, l.ends...) +
			"). Check the cable, and run ib-reverse"
	}
	if c.Known && slow.Gbps < l.expected {
		c.Beside = append(c.Beside, fmt.Sprintf("A second cause that leaves more than %s does not show until this one is "+
			"fixed", registry.Gbps(slow.Gbps)))
	}
	c.Beside = append(c.Beside, l.beside(signs, at, best)...)
	return c
}

// beside says what all signs but one are worth; best is a rail that is alike and faster.
func (l loss) beside(signs []symptom, but int, best Rate) (all []string) {
	for i, s := range signs {
		switch {
		case i == but:
		case s.shared:
			all = append(all, fmt.Sprintf("Not the cause: %s. Rail %d has the same and carries %s", s.is, best.No,
				registry.Gbps(best.Gbps)))
		default:
			all = append(all, explains(s, l.lacks()))
		}
	}
	return all
}

// lacks is how much less the rail carries than what is expected.
func (l loss) lacks() float64 { return l.expected - l.Gbps }

// explaining is the sign that explains a loss, by its number; -1 if none does. alone: no rail that is alike was
// measured. ahead: another rail is faster.
func (l loss) explaining(signs []symptom, alone, ahead bool) int {
	at := slices.IndexFunc(signs, func(s symptom) bool {
		return !s.shared && !s.weak && (s.takes == 0 && !(s.vague && alone) ||
			s.takes > 0 && s.takes >= limits.TrafficExplains.High()*l.lacks())
	})
	if at < 0 && !ahead { // a part of the loss is better than nothing
		at = slices.IndexFunc(signs, func(s symptom) bool {
			return s.takes > 0 && s.takes >= limits.TrafficExplains.Low()*l.lacks()
		})
	}
	return at
}

// explains says how much of what is missing a sign explains.
func explains(s symptom, lacks float64) string {
	what := registry.Capital(s.is)
	switch {
	case s.weak:
		return what + " explains next to nothing of what is missing"
	case s.takes == 0:
		return what + " may explain a part of what is missing; how much is unknown"
	}
	return fmt.Sprintf("%s explains at most %.1f of the %.1f Gb/s that are missing", what, min(s.takes, lacks), lacks)
}

// Ahead is the fastest of other rails that are alike, where a rail stays far behind it: what limits the rail is on its
// own path then.
func Ahead(rig steps.Rig, slow Rate, others ...Rate) (best Rate, ok bool) {
	for _, o := range others {
		limit := float64(limits.BandOf(rig, limits.Test{MTU: o.MTU}, o.Pair).Limit)
		impossible := limit > 0 && o.Gbps > limits.OverShare.Value()*limit
		if o.Pair != slow.Pair && o.Message == slow.Message && !impossible && o.Gbps > best.Gbps &&
			Alike(rig, slow.Pair, o.Pair) {
			best = o
		}
	}
	least := limits.RatesApart
	if limits.Soft(rig, slow.Pair) != "" {
		least = limits.RatesApartSoft
	}
	return best, slow.Gbps < least.Value()*best.Gbps
}

// Alike reports whether two pairs of rails should carry the same.
func Alike(rig steps.Rig, p, q steps.Pair) bool {
	for _, e := range steps.Ends {
		a, b := rig.Rail(p, e), rig.Rail(q, e)
		if a.RateGbps != b.RateGbps || a.Soft() != b.Soft() || a.PCI.MaxGTps != b.PCI.MaxGTps ||
			a.PCI.MaxWidth != b.PCI.MaxWidth || a.PCI.Width != b.PCI.Width || a.PCI.GTps != b.PCI.GTps {
			return false
		}
	}
	return limits.AgreedMTU(rig, p, 0) == limits.AgreedMTU(rig, q, 0)
}

// A loss is a rail's rate, and what it should have been.
type loss struct {
	rig steps.Rig
	Rate
	ends     []Port
	expected float64 // Gb/s; 0 where there is no band
}

// apart says that the rail stays behind another one that is alike.
func (l loss) apart(best Rate) Cause {
	half := ""
	if h := l.rig.Rail(l.Pair, steps.Here).PCI.Half(); h != "" && h == l.rig.Rail(best.Pair, steps.Here).PCI.Half() {
		half = " behind the same PCIe link"
	}
	// An adapter's packets pass the kernel's queues by.
	limit := "rate limits (mlnx_qos)"
	if limits.Soft(l.rig, l.Pair) != "" {
		limit = "kernel queues (see shaping)"
	}
	c := Cause{
		Code: steps.RailsApart, Known: true,
		Text: fmt.Sprintf("Rail %d%s reaches %.1f. Check the cable and %s", best.No, half, best.Gbps, limit),
		Beside: []string{fmt.Sprintf("Rail %d and rail %d are alike, so what limits rail %d is on its own path: its "+
			"adapter, a switch's port or its cable", l.No, best.No, l.No)},
	}
	if l.No == 1 { // the only one that the cell measures
		c.Beside = append(c.Beside, "The cell ib-reverse shows whether only one direction is slow")
	}
	return c
}

// signs are what shows of the rail, the sharpest first: what has a figure that fits, then what only grew or is hot.
func (l loss) signs() (all []symptom) {
	if s, ok := l.narrow(); ok {
		all = append(all, s)
	}
	busy, traffic := l.traffic()
	if traffic {
		all = append(all, busy)
	}
	errors := grownErrors(l.Bytes, l.ends...)
	many := float64(sum(l.Bytes, isError, l.ends...)) >= limits.ManyErrors.Value()
	degraded := limits.DegradedAdapter
	for _, e := range steps.Ends {
		// Other traffic shares what such an adapter moves.
		moved := l.Gbps
		if moved < degraded.Low() && traffic {
			moved += l.idle(l.ends)
		}
		fits := moved >= degraded.Low() && moved <= degraded.High()
		if fits && l.rig.Rail(l.Pair, e).RateGbps >= 100 && !many {
			all = append(all, symptom{
				code: steps.AdapterDegraded, is: fmt.Sprintf("an adapter that moves %.1f Gb/s, as degraded ones do", moved),
				text: "An adapter is probably degraded: shut both nodes down and unplug their power for a minute",
			})
			break
		}
	}
	if l.MTU < 1024 {
		all = append(all, symptom{
			code: steps.MTUSmall, is: fmt.Sprintf("a RoCE MTU of %d", l.MTU),
			text: fmt.Sprintf("RoCE MTU %d spends the link on headers. Raise the interface's MTU (cell mtu)", l.MTU),
		})
	}
	if errors != "" {
		all = append(all, symptom{
			code: steps.ErrorsGrew, is: "retransmission (" + errors + ")",
			text: "Packets were retransmitted (" + errors + "). Run: railbench doctor error-counters, and check the cable",
			// A few that were lost take next to nothing.
			weak: !many && sum(l.Bytes, isTimeout, l.ends...) == 0,
		})
	}
	if g := grown(l.Bytes, isHeld, l.ends...); g != "" {
		s := symptom{
			code: steps.Congestion, is: "flow control (" + g + ")",
			text:  "Flow control or congestion limited the rate (" + g + ")",
			takes: l.paused() * l.expected, vague: true,
		}
		s.weak = s.takes > 0 && s.takes < (1-limits.PassShare.Value())*l.expected
		all = append(all, s)
	}
	if c, ok := l.hot(l.ends); ok {
		node := l.rig.NameOf(c.End)
		all = append(all, symptom{
			code: steps.AdapterHot, vague: true, is: fmt.Sprintf("the %.0f degrees of the adapter on %s", c.Degrees, node),
			text: fmt.Sprintf("The adapter on %s is at %.0f degrees. Improve its airflow (see adapter-temperature)", node,
				c.Degrees),
		})
	}
	return all
}

// paused is the share of the test's time for which pause frames stopped a port, by the counters that have it.
func (l loss) paused() (share float64) {
	for _, b := range l.Bytes {
		if !slices.Contains(l.ends, Port{b.End, b.Rail}) || b.Seconds <= 0 {
			continue
		}
		for name, us := range b.Errors {
			if pauseTime.Regexp().MatchString(name) {
				share = max(share, min(1, float64(us)/1e6/b.Seconds))
			}
		}
	}
	return share
}

// pauseTime are the counters of microseconds for which pause frames stopped a port (mlx5).
var pauseTime = lazyregexp.New(`^rx_(?:global|prio\d+)_pause_duration$`)

// isHeld are the counters of what makes a sender wait.
var isHeld = is(meter.Marked, meter.Paused, meter.Pauses, meter.Dropped)

// compare marks the signs that a healthy rail shares: one that is alike has the same links, slots and MTU, and the
// others are looked up.
func (l loss) compare(signs []symptom, best Rate) {
	other := loss{rig: l.rig, Rate: best, ends: EndsOf(best.Pair), expected: l.expected}
	as := func(of func(string) bool) bool {
		const part = 4 // counts of two tests are never the same
		return part*sum(other.Bytes, of, other.ends...) >= sum(l.Bytes, of, l.ends...)
	}
	for i, s := range signs {
		switch s.code { //nolint:exhaustive // no other sign can be a neighbour's, too
		case steps.PCIeNarrow, steps.MTUSmall:
			signs[i].shared = true
		case steps.AdapterDegraded:
			signs[i].shared = l.rig.SharesHalf(l.Pair, best.Pair)
		case steps.OtherTraffic:
			b, ok := other.traffic()
			signs[i].shared = ok && b.takes >= s.takes
		case steps.ErrorsGrew:
			signs[i].shared = as(isError)
		case steps.Congestion:
			signs[i].shared = as(isHeld)
		case steps.AdapterHot:
			_, signs[i].shared = other.hot(other.ends)
		}
	}
}

// narrow looks for a PCIe link that came up with less than its device can do, and ends about where the rail did, or
// two of them that share it.
func (l loss) narrow() (s symptom, ok bool) {
	for _, e := range steps.Ends {
		rail := l.rig.Rail(l.Pair, e)
		c, _ := limits.Ceiling(rail)
		ceiling := float64(c)
		if !limits.Narrow(rail) || l.Gbps >= float64(limits.NowLimit(rail)) {
			continue
		}
		is, was := limits.Slot(rail.PCI.GTps, rail.PCI.Width), limits.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth)
		s = symptom{
			code: steps.PCIeNarrow, is: fmt.Sprintf("%s of %s on %s", is, rail.Dev, l.rig.NameOf(e)),
			text: fmt.Sprintf("%s on %s runs at %s instead of %s. Run: railbench doctor pcie-link", rail.Dev, l.rig.NameOf(e),
				is, was),
		}
		s.takes = max(l.expected-l.Gbps, 0)
		if l.Gbps <= limits.NarrowLeast.Value()*ceiling { // a rate far below comes from something else
			s.takes = max(l.expected-ceiling, 0)
			s.weak = s.takes == 0
		}
		return s, true
	}
	return s, false
}

// traffic looks for traffic that was there before the test: on the rail, behind the same PCIe link, and in the same
// cable, which two halves share. It takes what the two have no room for.
func (l loss) traffic() (s symptom, ok bool) {
	for _, b := range l.Bytes {
		if b.IdleGbps > limits.BusyBefore.Value() && slices.Contains(l.ends, Port{b.End, b.Rail}) {
			node := l.rig.NameOf(b.End)
			return symptom{
				code: steps.OtherTraffic, takes: b.IdleGbps,
				is:   fmt.Sprintf("other traffic of %.1f Gb/s on the rail at %s", b.IdleGbps, node),
				text: fmt.Sprintf("Other traffic of %.1f Gb/s was on the rail at %s. Stop it", b.IdleGbps, node),
			}, true
		}
	}
	for _, b := range l.Bytes {
		port := Port{b.End, b.Rail}
		other, known := port.rail(l.rig)
		if !known || b.IdleGbps <= limits.BusyBefore.Value() {
			continue
		}
		for _, p := range l.ends {
			own, _ := p.rail(l.rig)
			where := ""
			switch {
			case p.Node != b.End:
			case own.PCI.Half() != "" && other.PCI.Half() == own.PCI.Half():
				where = "behind the same PCIe link"
			case own.PhysPort >= 0 && other.PhysPort == own.PhysPort:
				where = "in the same cable"
			}
			if where == "" {
				continue
			}
			node := l.rig.NameOf(b.End)
			s = symptom{
				code: steps.OtherTraffic, takes: b.IdleGbps,
				is:   fmt.Sprintf("other traffic of %.1f Gb/s on %s at %s, %s,", b.IdleGbps, other.Dev, node, where),
				text: fmt.Sprintf("Other traffic of %.1f Gb/s was on %s at %s, %s. Stop it", b.IdleGbps, other.Dev, node, where),
			}
			if room := l.room(port); room > 0 && l.expected > 0 {
				s.takes = max(0, l.expected-(room-b.IdleGbps))
				s.weak = s.takes == 0
			}
			return s, true
		}
	}
	return s, false
}

// room is what the rail and the one of another port carry together, Gb/s; 0 where that is unknown.
func (l loss) room(port Port) float64 {
	for _, p := range l.rig.Pairs {
		if p.Rails[port.Node] == port.Rail {
			b := limits.BandOf(l.rig, limits.Test{MTU: l.MTU}, l.Pair, p)
			return float64(max(b.Expected, b.Seen))
		}
	}
	return 0
}

// idle is what was on some ports before the test, Gb/s.
func (l loss) idle(ports []Port) (gbps float64) {
	for _, b := range l.Bytes {
		if slices.Contains(ports, Port{b.End, b.Rail}) {
			gbps = max(gbps, b.IdleGbps)
		}
	}
	return gbps
}

// hot is the hottest of some ports whose adapters are too warm.
func (l loss) hot(ports []Port) (c steps.RailBytes, ok bool) {
	for _, b := range l.Bytes {
		if slices.Contains(ports, Port{b.End, b.Rail}) && b.Degrees > c.Degrees &&
			b.Degrees >= limits.HeatOf(l.rig.At(b.End).Adapter).Warm.Value() {
			c, ok = b, true
		}
	}
	return c, ok
}
