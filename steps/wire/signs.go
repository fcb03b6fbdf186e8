package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/theory"
)

// LikelyCause looks for what ends a rail early, the surest sign first.
func LikelyCause(r steps.Result, s steps.Stage, m kind.Measurement, got float64, mtu int) string {
	if said := narrow(r.Rig, m.Pair, got); said != "" {
		return said
	}
	if said := busyBefore(r.Rig, s.Bytes, m.Pair); said != "" {
		return said
	}
	for _, e := range steps.Ends {
		degraded := theory.DegradedAdapter
		if rail := r.Rig.Rail(m.Pair, e); got >= degraded.Low() && got <= degraded.High() && rail.RateGbps >= 100 {
			return "link and PCIe look right, and some 13 Gb/s is how an adapter looks that came up degraded: " +
				"shut the node down and take its power away for a minute"
		}
	}
	if mtu < 1024 {
		return fmt.Sprintf("a RoCE MTU of %d wastes the link on headers", mtu)
	}
	if grown := grownErrors(s.Bytes, EndsOf(m.Pair)...); grown != "" {
		return "packets were sent again (" + grown + "): look at the cable and the link's errors"
	}
	return NoCause + "; compare the other direction, look for PCIe errors (dmesg) and other traffic behind the same " +
		"PCIe link"
}

// Glance is what the counters say of a test over a pair whose bytes are too few to be
// accounted for, as a latency's are: what some management datagram moves would be a share of
// them. least is the fewest that each end sends, bytes with headers. What can't be told from
// the counters is no finding.
func Glance(rig steps.Rig, bytes []steps.RailBytes, pair steps.Pair, least float64,
	add func(g steps.Grade, format string, args ...any),
) {
	ports := EndsOf(pair)
	for _, p := range ports {
		if g := Flaps(bytes, p); g != "" {
			add(steps.Fail, "the link of %s on %s went down during the test (%s)", Name(rig, p), rig.NameOf(p.Node), g)
		}
		r, ok := p.rail(rig)
		if !ok || r.Soft() {
			continue // what soft-RoCE drops and sends again is how it works
		}
		if g := grownErrors(bytes, p); g != "" {
			add(steps.Warn, "error counters of %s on %s grew meanwhile (%s): packets were lost or damaged, and sent again",
				r.Dev, rig.NameOf(p.Node), g)
		}
		// What an idle rate takes off may be more than all of it.
		c := counted(bytes, p, RDMA)
		idle := slices.ContainsFunc(bytes, func(b steps.RailBytes) bool { return Port{b.End, b.Rail} == p && b.IdleGbps > 0 })
		if c.known && !c.netdev && !idle && c.tx < least/2 {
			add(steps.Inconclusive, "%s on %s sent %s meanwhile, and the test alone sends %s: did it take another way?", r.Dev,
				rig.NameOf(p.Node), kind.Size(c.tx), kind.Size(least))
		}
	}
	if said := busyBefore(rig, bytes, pair); said != "" {
		add(steps.Warn, "%s, so this is not what the rail does alone", said)
	}
}

// NoCause begins what LikelyCause says where nothing shows.
const NoCause = "no cause shows here"

// narrow looks for a PCIe link that came up with less than its device can do, and ends
// about where the rail did.
func narrow(rig steps.Rig, p steps.Pair, got float64) string {
	for _, e := range steps.Ends {
		rail := rig.Rail(p, e)
		if ceiling, _ := theory.Ceiling(rail); theory.Narrow(rail) && got < 1.1*float64(ceiling) {
			return fmt.Sprintf("its PCIe link on %s came up as %s where it can do %s, and that ends at %.0f Gb/s", rig.NameOf(e),
				theory.Slot(rail.PCI.GTps, rail.PCI.Width), theory.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth), ceiling)
		}
	}
	return ""
}

// busyBefore looks for traffic that was there before the test: on its rails, and then
// behind the same PCIe links.
func busyBefore(rig steps.Rig, bytes []steps.RailBytes, pair steps.Pair) string {
	ends := EndsOf(pair)
	for _, b := range bytes {
		if b.IdleGbps > theory.BusyBefore.Value() && slices.Contains(ends, Port{b.End, b.Rail}) {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on the rail at %s before it began", b.IdleGbps,
				rig.NameOf(b.End))
		}
	}
	for _, b := range bytes {
		other, ok := Port{b.End, b.Rail}.rail(rig)
		if !ok || b.IdleGbps <= theory.BusyBefore.Value() {
			continue
		}
		for _, p := range ends {
			own, _ := p.rail(rig)
			if p.Node == b.End && own.PCI.Half() != "" && other.PCI.Half() == own.PCI.Half() {
				return fmt.Sprintf("%.1f Gb/s of other traffic were on %s at %s before it began, behind the same PCIe link",
					b.IdleGbps, other.Dev, rig.NameOf(b.End))
			}
		}
	}
	return ""
}

// busy says what was on a node's rails before the test began.
func busy(bytes []steps.RailBytes, e steps.End) string {
	for _, b := range bytes {
		if b.End == e && b.IdleGbps > theory.BusyBefore.Value() {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on %s before it began", b.IdleGbps, b.Dev)
		}
	}
	return ""
}

// grownErrors lists the error counters of some ports that grew.
func grownErrors(bytes []steps.RailBytes, ports ...Port) string {
	sum := map[string]uint64{}
	for _, b := range bytes {
		if slices.Contains(ports, Port{b.End, b.Rail}) {
			for name, n := range b.Errors {
				if !slices.Contains(flapCounters, name) {
					sum[name] += n
				}
			}
		}
	}
	var names []string
	for name, n := range sum {
		if n > 0 {
			names = append(names, fmt.Sprintf("%s +%d", name, n))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// flapCounters grow when a link goes down. perftest ends with status 0 all the
// same where it comes back in time (a cable pulled and put back during the run).
var flapCounters = []string{"link_downed", "carrier_changes", "carrier_down_count", "link_error_recovery"}

// Flaps lists those that grew on some ports.
func Flaps(bytes []steps.RailBytes, ports ...Port) string {
	var grown []string
	for _, name := range flapCounters {
		if slices.ContainsFunc(bytes, func(b steps.RailBytes) bool {
			return b.Errors[name] > 0 && slices.Contains(ports, Port{b.End, b.Rail})
		}) {
			grown = append(grown, name)
		}
	}
	return strings.Join(grown, ", ")
}
