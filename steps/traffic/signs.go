package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/registry"
)

// Signs says what an account found next to the bytes.
func (a Accounted) Signs(add func(code steps.Code, g steps.Grade, format string, args ...any)) {
	a.tell(a.signs, add)
}

// look finds the signs: of what a good rate hides, until it doesn't.
func (b *accounting) look() {
	said := slices.ContainsFunc(b.Findings, func(f Finding) bool { return f.What == More || f.What == Flapped })
	for i := range b.rig.Nodes {
		e := steps.End(i)
		ports := b.of(e)
		if g := b.damaged(ports); g != "" && !said {
			b.sign(Damaged, e, ports,
				"the error counters%s {on} grew (%s): packets were retransmitted. Check the cable at both ends", b.where(ports,
					isError), g)
			b.counters(e, ports, isError)
		}
		b.held(e, ports)
		if len(ports) > 0 {
			b.hot(e, ports)
			b.flappedBeside(e)
		}
	}
	b.busyBefore()
}

// where names those of a node's ports on which counters of a kind grew; empty where all of them did.
func (b *accounting) where(ports []Port, of func(string) bool) string {
	var on []Port
	for _, p := range ports {
		if grown(b.bytes, of, p) != "" {
			on = append(on, p)
		}
	}
	if len(on) == len(ports) {
		return ""
	}
	return " on " + registry.And(b.names(on))
}

// held looks for what made a node's ports send less, or drop what came: all of it without a damaged
// packet, and with a rate that may look well.
func (b *accounting) held(e steps.End, ports []Port) {
	for _, sign := range []struct {
		what What
		of   func(string) bool
		says string
	}{
		{
			Dropped, is(meter.Dropped),
			"the adapter dropped packets%s {on} for lack of buffers (%s). Check its PCIe link (railbench doctor " +
				"pcie-link) and flow control (ethtool -a)",
		},
		{
			Slowed, is(meter.Marked),
			"the receiver or a switch signalled congestion%s {on} (%s). Check the receiver: railbench doctor pcie-link",
		},
		{
			Slowed, is(meter.Paused),
			"pause frames slowed sending%s {on} (%s). Check the receiver: railbench doctor pcie-link",
		},
		{
			Paused, is(meter.Pauses),
			"the adapter sent pause frames%s {on} (%s): data arrived too fast. Run: railbench doctor " +
				"pcie-link adapter-temperature",
		},
	} {
		if g := grown(b.bytes, sign.of, ports...); g != "" {
			b.sign(sign.what, e, ports, sign.says, b.where(ports, sign.of), g)
			b.counters(e, ports, sign.of)
		}
	}
}

// counters adds the counters of a kind that grew to the evidence, as what the last sign follows from.
func (b *accounting) counters(e steps.End, ports []Port, of func(string) bool) {
	for _, c := range b.bytes {
		p := Port{c.End, c.Rail}
		if !slices.Contains(ports, p) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Errors)) {
			if n := c.Errors[name]; of(name) && n > 0 {
				b.Evidence = append(b.Evidence, steps.Evidence{
					Name: fmt.Sprintf("%s %s on %s", b.label(p), name, b.rig.NameOf(e)), Of: b.label(p),
					Value: int64(n), Unit: unitOf(name), Decisive: true,
				})
			}
		}
	}
}

// unitOf is what a counter that grew counts.
func unitOf(name string) string {
	if strings.Contains(name, "_duration") || strings.HasSuffix(name, "_1us_count") {
		return "us" // what drivers count the time of pauses in
	}
	return ""
}

// damaged are the error counters of some ports that grew. soft-RoCE counts packets that its own
// queues dropped, as that is how it slows down: only more than a share of what was sent counts.
func (b *accounting) damaged(ports []Port) string {
	var hard, soft []Port
	for _, p := range ports {
		if r, ok := p.rail(b.rig); ok && r.Soft() {
			soft = append(soft, p)
		} else if ok {
			hard = append(hard, p)
		}
	}
	packets := 0.0
	for _, l := range b.Loads {
		if l.mtu > 0 && l.has(soft) {
			packets += l.Wire / float64(l.mtu+packetHeaders)
		}
	}
	if len(soft) > 0 && float64(sum(b.bytes, isError, soft...)) > max(limits.SoftDropped.Value()*packets,
		limits.SoftDropsLeast.Value()) {
		hard = append(hard, soft...)
	}
	return grown(b.bytes, isError, hard...)
}

// hot looks for adapters near the temperature at which they switch themselves off. An adapter that the test
// doesn't use is often the same one, or in the same case, and is reported where none of the test's is hot.
func (b *accounting) hot(e steps.End, ports []Port) {
	limits := limits.HeatOf(b.rig.At(e).Adapter)
	var own, beside []steps.RailBytes
	for _, c := range b.bytes {
		p := Port{c.End, c.Rail}
		_, known := p.rail(b.rig)
		switch {
		case p.Node != e || c.Degrees < limits.Warm.Value():
		case slices.Contains(ports, p):
			own = append(own, c)
		case known:
			beside = append(beside, c)
		}
	}
	note := ""
	if own == nil && beside != nil {
		own, note = beside[:1], " (not used by the test)"
	}
	var hot []Port
	most := 0.0
	for _, c := range own {
		hot, most = append(hot, Port{c.End, c.Rail}), max(most, c.Degrees)
	}
	if hot != nil {
		b.sign(Hot, e, hot, "the adapter of %s%s {on} reached %.0f degrees. Improve its airflow",
			registry.And(b.names(hot)), note, most)
		b.explain(registry.Capital(limits.Says(most)))
	}
}

// flappedBeside looks for links next to the test's that went down: they share its adapter, and often its cable.
func (b *accounting) flappedBeside(e steps.End) {
	for i := range b.rig.At(e).Rails {
		p := Port{e, i}
		if g := Flaps(b.bytes, p); g != "" && !slices.Contains(b.used, p) {
			b.sign(Flapped, e, []Port{p}, "the link of %s {on}, not used by the test, went down meanwhile (%s). Check "+
				"its cable at both ends", b.name(p), g)
		}
	}
}

// busyBefore looks for traffic of another user on the test's ports, or behind the same PCIe link, before it began:
// what was measured next to that is not a figure of the rig's.
func (b *accounting) busyBefore() {
	if len(b.Findings) > 0 {
		return // it is named there where it explains something
	}
	for _, c := range b.bytes {
		p := Port{c.End, c.Rail}
		r, ok := p.rail(b.rig)
		if !ok || c.IdleGbps <= limits.BusyBefore.Value() {
			continue
		}
		if slices.ContainsFunc(b.used, func(q Port) bool {
			own, ok := q.rail(b.rig)
			return ok && q.Node == p.Node && (q == p || own.PCI.Half() != "" && own.PCI.Half() == r.PCI.Half())
		}) {
			b.sign(Busy, p.Node, []Port{p}, "%.1f Gb/s of other traffic was on %s {on} before the test and distorts "+
				"the result. Stop it and rerun", c.IdleGbps, b.name(p))
		}
	}
}

// SlowedAt looks for the nodes whose ports say why what goes around all of them was slow, the surest sign first: each
// is as fast as the slowest. It gives a clause; empty where nothing shows that takes as much. lacks is what the test
// lacks, and each what a device carried, Gb/s.
func SlowedAt(rig steps.Rig, bytes []steps.RailBytes, ports []Port, lacks, each float64) (steps.Code, string) {
	if said := trafficAt(rig, bytes, ports, lacks); said != "" {
		return steps.OtherTraffic, said
	}
	degraded := limits.DegradedAdapter
	for _, sign := range []struct {
		code  steps.Code
		of    func(string) bool
		least float64
		says  string // of the nodes
	}{
		{
			steps.ErrorsGrew, isError, limits.ManyErrors.Value(),
			"Packets were retransmitted on %s. Run: railbench doctor error-counters",
		},
		{steps.ErrorsGrew, isTimeout, 1, "Packets timed out on %s. Run: railbench doctor error-counters"},
		{code: steps.AdapterDegraded},
		{steps.Congestion, is(meter.Dropped), 1, "Packets were dropped on %s for lack of buffers"},
		{
			steps.Congestion, is(meter.Pauses), 1,
			"Pause frames were sent on %s: data arrived too fast. Run: railbench doctor pcie-link",
		},
		{steps.Congestion, is(meter.Marked, meter.Paused), 1, "The other ends or a switch signalled congestion on %s"},
	} {
		if sign.of == nil {
			if each >= degraded.Low() && each <= degraded.High() {
				return sign.code, fmt.Sprintf("About %.0f Gb/s per device is typical of a degraded adapter: shut its node down "+
					"and unplug power for a minute. The slowest node is unknown. Run: railbench pairs", each)
			}
			continue
		}
		counts := make([]uint64, len(rig.Nodes))
		for i := range counts {
			counts[i] = sum(bytes, sign.of, portsAt(ports, steps.End(i))...)
		}
		most := slices.Max(counts)
		if most == 0 || float64(most) < sign.least {
			continue
		}
		var worst, less []string
		for i, n := range counts {
			switch {
			case n == most:
				worst = append(worst, rig.NameOf(steps.End(i)))
			case n > 0:
				less = append(less, rig.NameOf(steps.End(i)))
			}
		}
		where := registry.And(worst)
		if less != nil {
			where += ", fewer on " + registry.And(less)
		}
		return sign.code, fmt.Sprintf(sign.says, where)
	}
	return "", ""
}

// trafficAt names the ports that another user used before a test, where that is about what it lacks.
func trafficAt(rig steps.Rig, bytes []steps.RailBytes, ports []Port, lacks float64) string {
	var names []string
	most := 0.0
	for _, c := range bytes {
		if slices.Contains(ports, Port{c.End, c.Rail}) && c.IdleGbps > limits.BusyBefore.Value() {
			names, most = append(names, fmt.Sprintf("%s on %s", c.Dev, rig.NameOf(c.End))), max(most, c.IdleGbps)
		}
	}
	if names == nil || most <= limits.TrafficExplains.Low()*lacks {
		return ""
	}
	return fmt.Sprintf("Up to %.1f Gb/s of other traffic ran on %s before the test. Stop it and rerun", most,
		registry.And(names))
}

// portsAt are those of some ports that are a node's.
func portsAt(ports []Port, e steps.End) (own []Port) {
	for _, p := range ports {
		if p.Node == e {
			own = append(own, p)
		}
	}
	return own
}

// busy says what was on a node's rails before the test began.
func busy(bytes []steps.RailBytes, e steps.End) string {
	for _, b := range bytes {
		if b.End == e && b.IdleGbps > limits.BusyBefore.Value() {
			return fmt.Sprintf("%.1f Gb/s of other traffic ran on %s before the test", b.IdleGbps, b.Dev)
		}
	}
	return ""
}

// grownErrors lists the error counters of some ports that grew.
func grownErrors(bytes []steps.RailBytes, ports ...Port) string {
	return grown(bytes, isError, ports...)
}

// Outliers says what some messages may have waited for that took much longer than the others: what was lost on a
// rail, where its counters report that, and what else may be the case where they don't.
func Outliers(bytes []steps.RailBytes, ports []Port, otherwise string) string {
	if g := grownErrors(bytes, ports...); g != "" {
		return "packets were lost (" + g + "), and each is waited for"
	}
	return otherwise
}

// Unanswered lists the counters that say that an adapter sent to a person who did not answer: of hardware only, as
// soft-RoCE counts those of its own queues, too.
func Unanswered(rig steps.Rig, bytes []steps.RailBytes) string {
	var ports []Port
	for _, b := range bytes {
		p := Port{b.End, b.Rail}
		if r, ok := p.rail(rig); ok && !r.Soft() {
			ports = append(ports, p)
		}
	}
	// It grows with each packet that no one acknowledged in time (mlx5).
	return grown(bytes, func(name string) bool { return name == "local_ack_timeout_err" }, ports...)
}

// isError reports whether a counter reports packets that were lost or damaged. One that isn't known any more, as of a
// session that was saved by another release, counts as such.
func isError(name string) bool {
	t := meter.TroubleOf(name)
	return t == meter.Lost || t == meter.None
}

// is reports whether a counter reports one of some troubles.
func is(troubles ...meter.Trouble) func(name string) bool {
	return func(name string) bool { return slices.Contains(troubles, meter.TroubleOf(name)) }
}

// grown lists the counters of a kind that grew on some ports.
func grown(bytes []steps.RailBytes, of func(name string) bool, ports ...Port) string {
	by := map[string]uint64{}
	for _, b := range bytes {
		if slices.Contains(ports, Port{b.End, b.Rail}) {
			for name, n := range b.Errors {
				if of(name) {
					by[name] += n
				}
			}
		}
	}
	var names []string
	for name, n := range by {
		if n > 0 {
			names = append(names, strings.TrimSpace(fmt.Sprintf("%s +%d %s", name, n, unitOf(name))))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sum adds up the counters of a kind of some ports.
func sum(bytes []steps.RailBytes, of func(name string) bool, ports ...Port) (n uint64) {
	for _, b := range bytes {
		if slices.Contains(ports, Port{b.End, b.Rail}) {
			for name, v := range b.Errors {
				if of(name) {
					n += v
				}
			}
		}
	}
	return n
}

// Flaps lists the counters that grew on some ports where a link goes down, or is trained again.
func Flaps(bytes []steps.RailBytes, ports ...Port) string {
	var names []string
	for _, b := range bytes {
		if !slices.Contains(ports, Port{b.End, b.Rail}) {
			continue
		}
		for name, n := range b.Errors {
			if n > 0 && meter.TroubleOf(name) == meter.Flapped && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
