package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// judgeCable: both ends of each rail are of one cable, and it was made for what its ports
// can do.
func judgeCable(r steps.Result, read [2][]parse.Cable, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	var told []string
	refused := map[string][]string{} // interfaces, by why they report nothing
	seen := map[string]bool{}        // ports: two functions share one
	var wrong places
	for i, p := range rig.Pairs {
		var ends [2]parse.Cable
		known := true
		for _, e := range steps.Ends {
			rail := rig.Rail(p, e)
			at := slices.IndexFunc(read[e], func(c parse.Cable) bool { return c.Netdev == rail.Netdev.Name })
			if at < 0 {
				refused["no device"] = append(refused["no device"], rail.Netdev.Name)
				known = false
				continue
			}
			ends[e] = read[e][at]
			rep.ShowAt(rig.NameOf(e), rail.Netdev.Name+" cable", describe(ends[e]), "", nil)
			if !ends[e].Told {
				why := cmp.Or(ends[e].Refused, "it reports nothing")
				refused[why] = append(refused[why], rail.Netdev.Name+" on "+rig.NameOf(e))
				known = false
			}
		}
		// Both functions of a port read the same cable's memory.
		port := fmt.Sprintf("%d %d", rig.Rail(p, steps.Here).PhysPort, rig.Rail(p, steps.Peer).PhysPort)
		if !known || seen[port] && rig.Rail(p, steps.Here).PhysPort >= 0 {
			continue
		}
		seen[port] = true
		sameCable(rig, i, p, ends, rep)
		for _, e := range steps.Ends {
			wrong.look(rig, e, rig.Rail(p, e), ends[e])
		}
		told = append(told, "rail "+fmt.Sprint(i+1)+": "+describe(ends[steps.Here]))
	}
	if len(rig.Pairs) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail connects the nodes, so no cable to check")
	}
	wrong.tell(rep)
	return cableVerdict(told, refused, rep)
}

// cableVerdict says what was read, and why the rest wasn't.
func cableVerdict(told []string, refused map[string][]string, rep *registry.Report) steps.Verdict {
	var not []string
	code := steps.Unreadable
	for _, why := range registry.SortedNames(refused) {
		advice := ""
		if strings.Contains(why, "permitted") || strings.Contains(why, "password") {
			code, advice = steps.NeedsRoot, ": only root may read it, with sudo ethtool -m"
		}
		names := registry.And(refused[why])
		if n := len(refused[why]); n > 2 {
			names = fmt.Sprintf("%d interfaces", n)
		}
		not = append(not, fmt.Sprintf("%s (%s%s)", names, why, advice))
	}
	if not != nil && len(rep.Findings) == 0 {
		also := ""
		if told != nil {
			also = ". Read: " + registry.And(told)
		}
		return checks.Unseen(*rep, code, "could not read the cables of %s%s", registry.And(not), also)
	}
	return rep.Verdict(registry.And(told))
}

// describe is a cable in a few words.
func describe(c parse.Cable) string {
	if !c.Told {
		return "not read: " + cmp.Or(c.Refused, "it reports nothing")
	}
	m := c.Module
	words := []string{"optical"}
	if m.Copper() {
		words[0] = "copper"
	}
	if m.LengthM > 0 {
		words = append(words, fmt.Sprintf("%g m", m.LengthM))
	}
	for _, w := range []string{strings.TrimSpace(m.Vendor + " " + m.PartNumber), m.Identifier} {
		if w != "" {
			words = append(words, w)
		}
	}
	if c.FEC != "" {
		words = append(words, "FEC "+c.FEC)
	}
	return strings.Join(words, ", ")
}

// sameCable compares what both ends of a rail report.
func sameCable(rig steps.Rig, i int, p steps.Pair, ends [2]parse.Cable, rep *registry.Report) {
	a, b := ends[0].Module, ends[1].Module
	rail := fmt.Sprintf("rail %d (%s)", i+1, rig.Rail(p, steps.Here).Dev)
	copper, optical := rig.NameOf(steps.Here), rig.NameOf(steps.Peer)
	if b.Copper() {
		copper, optical = optical, copper
	}
	var shown []string
	for _, e := range steps.Ends {
		shown = append(shown, fmt.Sprintf("%s %s cable", rig.NameOf(e), rig.Rail(p, e).Netdev.Name))
	}
	switch {
	case a.Copper() != b.Copper():
		rep.Add(steps.CableEndsDiffer, steps.Warn, "%s: copper on %s but optical on %s, so not one cable. Check for "+
			"crossed cables or a switch", rail, copper, optical)
		rep.Decide(shown...)
	// Ends of a copper or an active cable are made together; modules are bought one by one.
	case a.LengthM > 0 && b.LengthM > 0 && (a.PartNumber != b.PartNumber || a.LengthM != b.LengthM):
		rep.Add(steps.CableEndsDiffer, steps.Warn, "%s: part number or length differ between %s and %s, so not one cable. "+
			"Check for crossed cables or a switch", rail, rig.NameOf(steps.Here), rig.NameOf(steps.Peer))
		rep.Decide(shown...)
	}
	// A port that is down uses none, whatever it is set to.
	up := rig.Rail(p, steps.Here).Netdev.Up && rig.Rail(p, steps.Peer).Netdev.Up
	if x, y := ends[0].FEC, ends[1].FEC; up && x != "" && y != "" && x != y {
		rep.Add(steps.FECDiffers, steps.Warn, "%s uses FEC %s on %s but %s on %s. Run on both: ethtool --set-fec %s "+
			"encoding auto. Then replug the cable", rail, x, rig.NameOf(steps.Here), y, rig.NameOf(steps.Peer), rig.Rail(p,
			steps.Here).Netdev.Name)
		rep.Decide(shown...)
	}
}

// madeForGbps finds the 200 of "200GBASE-CR4" and the 100 of "100G Base": rates stand before a G,
// with and without BASE.
var madeForGbps = lazyregexp.New(`(?:^|[^\d])(\d{1,3})G(?:[ A-Z]|$)`)

// fastestType is the fastest that a cable's types name, Gb/s; 0 where they name none.
func fastestType(types []string) (most int) {
	for _, t := range types {
		for _, m := range madeForGbps.Regexp().FindAllStringSubmatch(t, -1) {
			if v, ok := strictnum.Count(m[1]); ok {
				most = max(most, v)
			}
		}
	}
	return most
}

// An end is an interface that a cable is in.
type end struct{ netdev, node string }

// ends names them: "a on x and y" where an interface has one name on several nodes.
func ends(all []end) string {
	var names []string
	nodes := map[string][]string{}
	for _, e := range all {
		if nodes[e.netdev] == nil {
			names = append(names, e.netdev)
		}
		nodes[e.netdev] = append(nodes[e.netdev], e.node)
	}
	for i, name := range names {
		names[i] = name + " on " + registry.And(nodes[name])
	}
	return registry.And(names)
}

// places are where a cable is that something is to be said of: one cable has two ends.
type places struct {
	order []string
	where map[string][]end
	shown map[string][]string // names of evidence
	codes map[string]steps.Code
}

func (w *places) add(code steps.Code, says string, where end, shown string) {
	if w.where == nil {
		w.where, w.shown, w.codes = map[string][]end{}, map[string][]string{}, map[string]steps.Code{}
	}
	if w.where[says] == nil {
		w.order, w.codes[says] = append(w.order, says), code
	}
	w.where[says], w.shown[says] = append(w.where[says], where), append(w.shown[says], shown)
}

// look holds what a cable was made for against the port that it is in.
func (w *places) look(rig steps.Rig, e steps.End, rail steps.Rail, c parse.Cable) {
	where := end{rail.Netdev.Name, rig.NameOf(e)}
	shown := fmt.Sprintf("%s %s cable", rig.NameOf(e), rail.Netdev.Name)
	port := c.PortMbps / 1000
	// A link that is faster than all types that its cable names shows that the list is not complete:
	// then it is not a finding.
	if most := fastestType(c.Module.Types); most > 0 && most < port && rail.RateGbps <= float64(most) {
		w.add(steps.CableSlow, fmt.Sprintf("is rated for %d Gb/s, but the port can do %d. Replace it", most, port), where,
			shown)
	}
	if limit := limits.CopperLength.Value(); c.Module.Copper() && !c.Module.Active() &&
		c.Module.LengthM > limit {
		w.add(steps.CableTooLong, fmt.Sprintf("is %g m long; passive copper reaches %g m at 50 Gb/s per lane. Use a "+
			"shorter or an optical cable", c.Module.LengthM, limit), where, shown)
	}
}

func (w *places) tell(rep *registry.Report) {
	for _, says := range w.order {
		rep.Add(w.codes[says], steps.Warn, "the cable of %s %s", ends(w.where[says]), says)
		for _, where := range w.where[says] {
			rep.About(where.netdev)
		}
		rep.Decide(w.shown[says]...)
	}
}
