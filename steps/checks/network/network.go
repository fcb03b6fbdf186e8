package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// freshBootSeconds is how long after a boot a node is worth a second look.
const freshBootSeconds = 600

// judgeNodes: both nodes answered, and neither has just booted.
func judgeNodes(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	// Before the script is asked for: it did not run where a node is gone, and that is the finding.
	for _, e := range steps.Ends {
		if why := r.Rig.At(e).Err; why != "" {
			rep.ShowAt(r.Rig.NameOf(e), "answers", false, "", nil)
			rep.At(r.Rig, e, steps.NodeAway, steps.Fail, "%s is unreachable: %s", r.Rig.NameOf(e), why)
		}
	}
	if len(rep.Findings) > 0 {
		return rep.Verdict()
	}
	facts, v, done := checks.ReadBoth[map[string]string](c, r, &rep)
	if done {
		return v
	}
	var ups []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		up, ok := strictnum.Count(facts[e]["seconds up"])
		if !ok {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the uptime of %s", node)
			continue
		}
		rep.ShowAt(node, "uptime", up, "s", &steps.Expected{
			Min:  new(float64(freshBootSeconds)),
			From: "addresses set by hand are gone after a boot",
		})
		ups = append(ups, fmt.Sprintf("%s %s", node, span(up)))
		if up < freshBootSeconds {
			rep.At(r.Rig, e, steps.JustBooted, steps.Warn, "%s booted %s ago: unsaved addresses and bonds are lost. "+
				"Run railbench doctor, then set again what it reports missing", node, span(up))
		}
	}
	return rep.Verdict("every node answers; uptime: " + registry.And(ups))
}

// span is a time in one unit, the largest of which there are at least two: 90 s, and not 1 min.
func span(seconds int) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%d min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%d h", seconds/3600)
	}
	return fmt.Sprintf("%d days", seconds/86400)
}

// A connector is one on the outside of an adapter. Both halves of a port are behind one, and go dark together.
type connector struct {
	no  int // as the kernel numbers them; -1 where it doesn't
	end steps.End
}

// judgeDark reports interfaces without a carrier, once for a cable.
func judgeDark(rig steps.Rig, dark map[connector][]string, order []connector, rep *registry.Report) {
	said := map[connector]bool{}
	for _, p := range order {
		there := connector{p.no, p.end.Other()}
		// A cable is one where both ends have the same number. Where the kernel numbers none, or the cables
		// are crossed, each end is a finding of its own.
		switch both := p.no >= 0 && dark[there] != nil; {
		case said[there] && both:
		case both:
			rep.Add(steps.LinkDown, steps.Fail, "%s no carrier on either node. Plug in the cable of port %d at both ends "+
				"until it clicks, or replace it", registry.HaveOrHas(dark[p]), p.no)
			rep.About(dark[p]...)
			for _, e := range steps.Ends {
				rep.Decide(rig.NameOf(e) + " " + dark[p][0])
			}
			rep.ByHand()
		default:
			rep.At(rig, p.end, steps.LinkDown, steps.Fail, "%s no carrier on %s, although the other end is switched on. Check "+
				"the cable at both ends", registry.HaveOrHas(dark[p]), rig.NameOf(p.end))
			rep.About(dark[p]...)
			rep.Decide(rig.NameOf(p.end) + " " + dark[p][0])
			rep.ByHand()
		}
		said[p] = true
	}
}

// judgeLinkUp: every rail that is meant to be used is switched on and has a signal.
func judgeLinkUp(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	up := 0
	dark := map[connector][]string{}
	var order []connector
	for _, e := range steps.Ends {
		node := rig.NameOf(e)
		if len(rig.At(e).Rails) == 0 {
			rep.At(rig, e, steps.RDMADeviceMissing, steps.Fail, "no RDMA device on %s, so no interface belongs to a rail", node)
		}
		seen := map[string][]string{} // devices by interface: soft-RoCE may be on an adapter's
		for _, rail := range rig.At(e).Rails {
			seen[rail.Netdev.Name] = append(seen[rail.Netdev.Name], rail.Dev)
		}
		for i, rail := range rig.At(e).Rails {
			name := rail.Netdev.Name
			link := facts[e][name+" link"]
			if name != "" && seen[name][0] != rail.Dev {
				continue // reported with the first that has it
			}
			if name == "" || link == "" {
				code := steps.Unreadable
				if name == "" {
					code = steps.InterfaceMissing
				}
				rep.At(rig, e, code, steps.Inconclusive, "%s on %s has no interface that can be read", rail.Dev, node)
				continue
			}
			rep.ShowAt(node, name, fmt.Sprintf("%s, carrier changed %s times", link,
				registry.OrUnknown(facts[e][name+" carrier changes"])), "", nil)
			other := checks.Counterpart(rig, e, i)
			switch {
			case link == "up":
				up++
			case !checks.Wanted(rig, e, i): // a port without a cable is not a fault
				rep.Add("", steps.Pass, "%s on %s: %s, but unused: neither end has an address", name, node, link)
			case link == "off":
				rep.At(rig, e, steps.InterfaceOff, steps.Fail, "%s on %s is switched off, so %s %s DOWN. Run: ip link set %s up",
					name, node, registry.List(seen[name]), registry.Plural(len(seen[name]), "is", "are"), name)
				rep.Decide(node + " " + name)
			case other >= 0 && facts[e.Other()][rig.At(e.Other()).Rails[other].Netdev.Name+" link"] == "off":
				// The other end is off, and that is said there.
			default:
				p := connector{rail.PhysPort, e}
				if dark[p] == nil {
					order = append(order, p)
				}
				dark[p] = append(dark[p], name)
			}
		}
	}
	judgeDark(rig, dark, order, rep)
	// Also where nothing is wanted: of a node that lost its addresses with a boot nothing is.
	if up == 0 && rep.Verdict().Grade == steps.Pass {
		rep.Add(steps.NoLinkUp, steps.Fail, "no interface of any rail is up. Check the cables, and run: ip link set "+
			"INTERFACE up")
	}
	return rep.Verdict(fmt.Sprintf("every interface of a used rail is switched on and has a carrier (%d on both nodes)",
		up))
}

// judgeRailAddresses: every rail that has a link has an address, in a subnet that
// its other end is in, and no other rail.
func judgeRailAddresses(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "addresses", rep) {
		return rep.Verdict()
	}
	checks.Missing(rig, rep)
	addressed := 0
	for _, e := range steps.Ends {
		node := rig.NameOf(e)
		for i, rail := range rig.At(e).Rails {
			name := rail.Netdev.Name
			own := checks.AddressesOf(facts[e], name)
			rep.ShowAt(node, name, registry.OrNone(checks.Joined(own)), "", nil)
			if name == "" || !rail.Netdev.Up || !rail.Netdev.Carrier || rail.Netdev.Master != "" {
				continue // its link is another check's, and a bond has its rails' addresses
			}
			if len(own) > 0 {
				addressed++
			}
			checkRailAddress(rig, e, i, facts, rep)
		}
	}
	subnets := map[string]int{}
	for i, p := range rig.Pairs {
		if j, shared := subnets[p.Subnet]; shared {
			rep.Add(steps.SubnetShared, steps.Warn, "rails %d and %d share the subnet %s, so traffic may take the wrong rail. "+
				"Give each rail a subnet of its own", j+1, i+1, p.Subnet)
		}
		subnets[p.Subnet] = i
	}
	if addressed == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.CannotRun, steps.Inconclusive, "no rail outside a bond has a link, so no address was checked")
	}
	return rep.Verdict(fmt.Sprintf("every rail with a link has an address (%d on both nodes), and every rail has its "+
		"own subnet", addressed))
}

// checkRailAddress holds a rail's addresses against those of the rail that it leads to. That one
// may be unpaired: a pair is found by its addresses, so a rail whose address is missing or wrong is
// in none.
func checkRailAddress(rig steps.Rig, e steps.End, i int, facts [2]map[string]string, rep *registry.Report) {
	rail, node := rig.At(e).Rails[i], rig.NameOf(e)
	own := checks.AddressesOf(facts[e], rail.Netdev.Name)
	j := checks.Counterpart(rig, e, i)
	if j < 0 {
		if len(own) == 0 {
			rep.At(rig, e, steps.RailUnpaired, steps.Warn, "%s on %s has a link but no IPv4 address, and %s has no rail that "+
				"it leads to", rail.Netdev.Name, node, rig.NameOf(e.Other()))
		}
		return
	}
	twin, there := rig.At(e.Other()).Rails[j], rig.NameOf(e.Other())
	theirs := checks.AddressesOf(facts[e.Other()], twin.Netdev.Name)
	twice := shared(own, theirs)
	switch {
	case twin.Netdev.Master != "":
	case len(own) == 0 && len(theirs) > 0:
		rep.At(rig, e, steps.AddressMissing, steps.Fail, "%s on %s has no IPv4 address, but %s on %s has %s. Tests skip "+
			"this rail. Give it an address in that subnet", rail.Netdev.Name, node, twin.Netdev.Name, there, theirs[0])
		rep.Decide(node + " " + rail.Netdev.Name)
	case len(own) == 0 && e == steps.Here:
		rep.Add(steps.RailUnaddressed, steps.Warn, "%s has a link but no IPv4 address on either node, so no test uses "+
			"it. Run: railbench run rail-ips", rail.Netdev.Name)
	// What follows is the same for both ends, and is reported once, from here.
	case len(own) == 0 || len(theirs) == 0 || e != steps.Here:
	case twice != nil:
		rep.Add(steps.DuplicateIP, steps.Fail, "both ends of %s have the address %s, so no packet for it leaves its node. "+
			"Change one of the two", rail.Dev, registry.List(twice))
		rep.Decide(node + " " + rail.Netdev.Name)
	case !slices.ContainsFunc(own, func(p netip.Prefix) bool {
		return slices.ContainsFunc(theirs, func(q netip.Prefix) bool { return p.Masked() == q.Masked() })
	}):
		rep.Add(steps.SubnetsDiffer, steps.Fail, "the ends of %s are in different subnets: %s on %s, %s on %s. Give both "+
			"an address in one subnet", rail.Dev, checks.Joined(own), node, checks.Joined(theirs), there)
		rep.Decide(node + " " + rail.Netdev.Name)
	}
}

// shared are the addresses that both have, whatever their networks.
func shared(own, theirs []netip.Prefix) (all []string) {
	for _, p := range own {
		if slices.ContainsFunc(theirs, func(q netip.Prefix) bool { return p.Addr() == q.Addr() }) {
			all = append(all, p.Addr().String())
		}
	}
	return all
}
