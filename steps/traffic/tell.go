package traffic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// verb is what a node did with the bytes of one way.
func verb(out bool) string {
	if out {
		return "sent"
	}
	return "received"
}

// OK reports whether the account is right.
func (a Accounted) OK() bool { return len(a.Findings) == 0 }

// Report puts what was found into a judge's report, once where it is the same at all nodes. add is how the judge adds
// a finding: to a rail, or to all of the test.
func (a Accounted) Tell(rep *registry.Report, add func(code steps.Code, g steps.Grade, format string, args ...any)) {
	rep.Evidence = append(rep.Evidence, a.Evidence...)
	a.tell(a.Findings, add)
}

func (a Accounted) tell(findings []Finding, add func(code steps.Code, g steps.Grade, format string, args ...any)) {
	var told []Finding
	for _, f := range findings {
		alike := slices.IndexFunc(told, func(t Finding) bool {
			return t.What == f.What && t.Grade == f.Grade &&
				t.Text == f.Text
		})
		if alike >= 0 {
			continue
		}
		told = append(told, f)
		nodes := map[steps.End]bool{}
		for _, t := range findings {
			if t.What == f.What && t.Grade == f.Grade && t.Text == f.Text {
				nodes[t.Node] = true
			}
		}
		switch {
		case f.What == Uncounted:
			add(f.What.Code(), f.Grade, "%s", f.Text)
		case len(nodes) == 1:
			add(f.What.Code(), f.Grade, "%s", f.on(a.rig.NameOf(f.Node)))
		case len(nodes) == 2 && len(a.rig.Nodes) == 2:
			add(f.What.Code(), f.Grade, "%s", f.on("both nodes"))
		default:
			var names []string
			for i := range a.rig.Nodes {
				if nodes[steps.End(i)] {
					names = append(names, a.rig.NameOf(steps.End(i)))
				}
			}
			add(f.What.Code(), f.Grade, "%s", f.on(registry.And(names)))
		}
	}
}

// on is the text with the nodes that it is about.
func (f Finding) on(nodes string) string { return strings.Replace(f.Text, onNode, "on "+nodes, 1) }

// At are the loads of a node that a flow leads over one way.
func (a Accounted) At(e steps.End, out bool) (all []Load) {
	for _, l := range a.Loads {
		if l.Node == e && l.Out == out && l.Wire > 0 && len(l.Moved) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// Carried says who carried what at a node, where the account is right.
func (a Accounted) Carried(e steps.End) string {
	loads := slices.Concat(a.At(e, true), a.At(e, false))
	if !a.OK() || len(loads) == 0 {
		return ""
	}
	l := loads[0]
	measure := "on the wire"
	if l.Traffic == TCP {
		measure = "with headers"
	}
	if len(loads) > 1 {
		// Each flow has its own port: one that carried in both ways is not a news.
		var each []string
		for _, l := range loads {
			if l.Out != loads[0].Out || l.Traffic != loads[0].Traffic || len(l.Ports) != 1 {
				return ""
			}
			each = append(each, fmt.Sprintf("%s %s", a.name(l.Ports[0]), registry.Size(l.Sum())))
		}
		return fmt.Sprintf("Carried %s: %s", measure, registry.And(each))
	}
	shares := a.shares(l)
	if len(shares) == 1 {
		name, _, _ := strings.Cut(shares[0], " ")
		if len(l.Ports) > 1 && l.Traffic == RDMA { // who was asked for both has a figure of one
			return fmt.Sprintf("%s alone carried all of it (%s %s), of %d rails that it could use",
				name, registry.Size(l.Sum()), measure, len(l.Ports))
		}
		return fmt.Sprintf("%s carried all of it, %s %s", name, registry.Size(l.Sum()), measure)
	}
	shares[0] = strings.Replace(shares[0], " ", " carried ", 1)
	return fmt.Sprintf("%s of %s %s", registry.And(shares), registry.Size(l.Sum()), measure)
}

// Alone is the port that carried all of what a node had to move over several; ok is false where none did, or
// the account is not right.
func (a Accounted) Alone(e steps.End) (p Port, ok bool) {
	loads := slices.Concat(a.At(e, true), a.At(e, false))
	if !a.OK() || len(loads) != 1 || len(loads[0].Ports) < 2 || len(a.shares(loads[0])) != 1 {
		return p, false
	}
	l := loads[0]
	i := slices.Index(l.Moved, slices.Max(l.Moved))
	return l.Ports[i], true
}

// show puts a load on record: each of its ports, and what they make together.
func (b *accounting) show(l Load) {
	verb, node := verb(l.Out), b.rig.NameOf(l.Node)
	low, high := l.bounds(b.interfaces(l))
	source := "port_xmit_data"
	if i := slices.IndexFunc(b.bytes, func(c steps.RailBytes) bool { return Port{c.End, c.Rail} == l.Ports[0] }); i >= 0 {
		source = b.bytes[i].Source
	}
	from := strings.Join(l.texts, ", ")
	switch l.Traffic {
	case RDMA:
		if source == "port_xmit_data" && !l.Out {
			source = "port_rcv_data"
		}
		from += fmt.Sprintf(", packets of %d bytes with %d bytes of headers each, and message headers (%s)", l.mtu,
			packetHeaders, source)
	case TCP:
		from += ", with headers (interface bytes)"
	}
	all := &steps.Expected{Min: new(float64(int64(low))), Max: new(float64(int64(high))), From: from}
	for i, p := range l.Ports {
		of := b.label(p)
		name, e := fmt.Sprintf("%s bytes %s by %s", of, verb, node), all
		if l.Traffic == TCP {
			of, name, e = "", fmt.Sprintf("TCP bytes %s by %s over %s", verb, node, b.name(p)), nil
		}
		if len(l.Ports) > 1 {
			e = nil
		}
		b.Evidence = append(b.Evidence, steps.Evidence{
			Name: name, Value: int64(l.Moved[i]), Unit: "bytes", Expected: e, Of: of,
		})
	}
	name := fmt.Sprintf("bytes %s by %s over %s", verb, node, b.over(l.Ports))
	if l.Traffic == TCP {
		name = fmt.Sprintf("TCP bytes %s by %s", verb, node)
	}
	if len(l.Ports) > 1 || l.Traffic == TCP {
		b.Evidence = append(b.Evidence, steps.Evidence{Name: name, Value: int64(l.Sum()), Unit: "bytes", Expected: all})
	}
}

func (b *accounting) showForeign(e steps.End, ports []Port, most float64) {
	of := ""
	if own := b.of(e); len(own) == 1 && b.traffic(own[0]) == RDMA {
		of = b.label(own[0])
	}
	for _, p := range ports {
		for _, t := range b.kinds() {
			if c := counted(b.bytes, p, t); c.known {
				b.Evidence = append(b.Evidence, steps.Evidence{
					Name: strings.TrimPrefix(fmt.Sprintf("%s bytes on %s of %s", of, b.name(p), b.rig.NameOf(e)), " "), Of: of,
					Value: int64(c.most()), Unit: "bytes",
					Expected: &steps.Expected{Max: new(float64(int64(most))), From: "the test uses " + b.over(b.of(e))},
				})
			}
		}
	}
}

// Code is the cause that a verdict has for it.
func (w What) Code() steps.Code {
	switch w {
	case Uncounted, Blind, Unread:
		return steps.NotCounted
	case Unknown, Jumped:
		return steps.CounterBad
	case Flapped:
		return steps.LinkFlapped
	case WrongPort:
		return steps.WrongPort
	case OtherWay:
		return steps.NotRDMA
	case Lost:
		return steps.NothingCarried
	case Foreign, Beside, Busy, Reverse:
		return steps.OtherTraffic
	case Idle:
		return steps.RailIdle
	case More, Less:
		return steps.BytesDiffer
	case Uneven:
		return steps.RailsUneven
	case Damaged:
		return steps.ErrorsGrew
	case Slowed, Paused:
		return steps.Congestion
	case Dropped:
		return steps.PacketsDropped
	case Hot:
		return steps.AdapterHot
	case Nothing:
	}
	return ""
}
