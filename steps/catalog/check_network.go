package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
)

// The checks of the network. What a node's script printed says how it is; the rig
// says which interfaces are rails and which of them belong together.

// seenOnBoth are the facts that a check's script printed on both nodes. done is true
// where there is nothing to judge, and then v is the verdict.
func seenOnBoth(c steps.Cell, r steps.Result, rep *report) (facts [2]map[string]string, v steps.Verdict, done bool) {
	if v, done := gate(c, r); done {
		return facts, v, true
	}
	outputs, ok := onBoth(r, rep)
	if !ok {
		return facts, rep.verdict(), true
	}
	for _, e := range steps.Ends {
		if exited(r, outputs[e], rep) {
			ok = false
			continue
		}
		read := false
		facts[e], read = value[map[string]string](r, outputs[e], rep)
		ok = ok && read
	}
	if !ok {
		return facts, rep.verdict(), true
	}
	return facts, v, false
}

// allTell says whether a script told something of every rail's interface; what it
// left out is INCONCLUSIVE and in the report.
func allTell(rig steps.Rig, facts [2]map[string]string, what string, rep *report) bool {
	ok := true
	for _, e := range steps.Ends {
		for _, rail := range rig.Nodes[e].Rails {
			if facts[e][rail.Netdev.Name+" "+what] == "" {
				rep.at(rig, e, steps.Inconclusive, "nothing tells the %s of %s (%s) on %s", what, rail.Dev, orUnknown(rail.Netdev.Name), rig.NameOf(e))
				ok = false
			}
		}
	}
	return ok
}

// counterpart is the rail at the other end that a rail leads to, or should: its
// pair, or the same device. -1 where there is none.
func counterpart(rig steps.Rig, e steps.End, rail int) int {
	for _, p := range rig.Pairs {
		if p.Rails[e] == rail {
			return p.Rails[e.Other()]
		}
	}
	own := rig.Nodes[e].Rails[rail]
	return slices.IndexFunc(rig.Nodes[e.Other()].Rails, func(r steps.Rail) bool { return r.Dev == own.Dev && r.Port == own.Port })
}

// wanted says that a rail is meant to carry something, as seen from either end.
func wanted(rig steps.Rig, e steps.End, rail int) bool {
	if rig.InUse(e, rail) {
		return true
	}
	other := counterpart(rig, e, rail)
	return other >= 0 && rig.InUse(e.Other(), other)
}

// freshBootSeconds is how long after a boot a node is worth a second look.
const freshBootSeconds = 600

// judgeNodes: both nodes answered, and neither has just booted.
func judgeNodes(c steps.Cell, r steps.Result) steps.Verdict {
	var rep report
	for _, e := range steps.Ends {
		if why := r.Rig.Nodes[e].Err; why != "" {
			rep.show(r.Rig.NameOf(e)+" answers", false, "", nil)
			rep.at(r.Rig, e, steps.Fail, "%s can't be looked at, and without it nothing else can: %s", r.Rig.NameOf(e), why)
		}
	}
	if len(rep.findings) > 0 {
		return rep.verdict()
	}
	facts, v, done := seenOnBoth(c, r, &rep)
	if done {
		return v
	}
	var ups []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		up, err := strconv.Atoi(facts[e]["seconds up"])
		if err != nil {
			rep.at(r.Rig, e, steps.Inconclusive, "%s does not say how long it has been up", node)
			continue
		}
		rep.show(node+" up", up, "s", &steps.Expected{Min: new(float64(freshBootSeconds)), From: "what was set by hand since the boot is there still"})
		ups = append(ups, fmt.Sprintf("%s for %s", node, span(up)))
		if up < freshBootSeconds {
			rep.at(r.Rig, e, steps.Warn, "%s booted %s ago: addresses and bonds that were not in its configuration are gone. Run the other checks, and set again what is missing", node, span(up))
		}
	}
	return rep.verdict("both nodes answer, and have been up a while: " + and(ups))
}

// span is a time in the two largest units that it has.
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

// judgeLinkUp: every rail that is meant to be used is switched on and has a signal.
func judgeLinkUp(c steps.Cell, r steps.Result) steps.Verdict {
	var rep report
	facts, v, done := seenOnBoth(c, r, &rep)
	if done {
		return v
	}
	rig := r.Rig
	up := 0
	type port struct {
		no  int
		end steps.End
	}
	dark := map[port][]string{}
	var order []port
	for _, e := range steps.Ends {
		node := rig.NameOf(e)
		if len(rig.Nodes[e].Rails) == 0 {
			rep.at(rig, e, steps.Fail, "%s has no RDMA device, so no interface is a rail's", node)
		}
		for i, rail := range rig.Nodes[e].Rails {
			name := rail.Netdev.Name
			link := facts[e][name+" link"]
			if name == "" || link == "" {
				rep.at(rig, e, steps.Inconclusive, "%s on %s has no interface that can be looked at", rail.Dev, node)
				continue
			}
			rep.show(node+" "+name, fmt.Sprintf("%s, carrier changed %s times", link, orUnknown(facts[e][name+" carrier changes"])), "", nil)
			other := counterpart(rig, e, i)
			switch {
			case link == "up":
				up++
			case !wanted(rig, e, i):
				rep.add(steps.Pass, "%s on %s: %s; neither end has an address, so nothing uses it", name, node, link)
			case link == "off":
				rep.at(rig, e, steps.Fail, "%s on %s is switched off, so %s is DOWN and what is sent to it gets lost. It is switched on with ip link set %s up, which is what fix-link-up does", name, node, rail.Dev, name)
			case other >= 0 && facts[e.Other()][rig.Nodes[e.Other()].Rails[other].Netdev.Name+" link"] == "off":
				// The other end is off, and that is said there.
			default:
				p := port{rail.PhysPort, e}
				if dark[p] == nil {
					order = append(order, p)
				}
				dark[p] = append(dark[p], name)
			}
		}
	}
	said := map[port]bool{}
	for _, p := range order {
		there := port{p.no, p.end.Other()}
		switch both := p.no >= 0 && dark[there] != nil; {
		case said[there] && both:
		case both:
			rep.add(steps.Fail, "%s have no carrier on either node: the cable of port %d is out, or broken. Plug it in at both ends until it clicks, or try another one", and(dark[p]), p.no)
		default:
			rep.at(rig, p.end, steps.Fail, "%s no carrier on %s, and its other end is not switched off: check the cable at both ends", haveOrHas(dark[p]), rig.NameOf(p.end))
		}
		said[p] = true
	}
	if up == 0 && len(rep.findings) == 0 {
		rep.add(steps.Fail, "no rail's interface is up")
	}
	return rep.verdict(fmt.Sprintf("every interface of a rail that is used is switched on and has a carrier (%d on both nodes)", up))
}

// addressesOf are the IPv4 addresses of an interface in the facts of its node: the
// line that ip prints, or "none".
func addressesOf(facts map[string]string, netdev string) []netip.Prefix {
	var all []netip.Prefix
	for word := range strings.FieldsSeq(facts[netdev+" addresses"]) {
		if p, err := netip.ParsePrefix(word); err == nil && p.Addr().Is4() {
			all = append(all, p)
		}
	}
	return all
}

// judgeRailAddresses: every rail that has a link has an address, in a subnet that
// its other end is in, and no other rail.
func judgeRailAddresses(c steps.Cell, r steps.Result) steps.Verdict {
	var rep report
	facts, v, done := seenOnBoth(c, r, &rep)
	if done {
		return v
	}
	rig := r.Rig
	if !allTell(rig, facts, "addresses", &rep) {
		return rep.verdict()
	}
	addressed := 0
	for _, e := range steps.Ends {
		node := rig.NameOf(e)
		for i, rail := range rig.Nodes[e].Rails {
			name := rail.Netdev.Name
			own := addressesOf(facts[e], name)
			rep.show(node+" "+name, orNone(joined(own)), "", nil)
			if name == "" || !rail.Netdev.Up || !rail.Netdev.Carrier || rail.Netdev.Master != "" {
				continue // its link is another check's, and a bond has its rails' addresses
			}
			if len(own) > 0 {
				addressed++
			}
			checkRailAddress(rig, e, i, facts, &rep)
		}
	}
	subnets := map[string]int{}
	for i, p := range rig.Pairs {
		if j, shared := subnets[p.Subnet]; shared {
			rep.add(steps.Warn, "rails %d and %d are both in %s: each end answers for either address, and traffic takes the wrong rail; give each a subnet of its own", j+1, i+1, p.Subnet)
		}
		subnets[p.Subnet] = i
	}
	if addressed == 0 && len(rep.findings) == 0 {
		rep.add(steps.Inconclusive, "no rail has a link and is outside a bond, so there is no address to look at")
	}
	return rep.verdict(fmt.Sprintf("every rail that has a link has an address (%d on both nodes), in one subnet with its other end and with no other rail", addressed))
}

func checkRailAddress(rig steps.Rig, e steps.End, i int, facts [2]map[string]string, rep *report) {
	rail, node := rig.Nodes[e].Rails[i], rig.NameOf(e)
	own := addressesOf(facts[e], rail.Netdev.Name)
	j := counterpart(rig, e, i)
	if j < 0 {
		if len(own) == 0 {
			rep.at(rig, e, steps.Warn, "%s on %s has a link and no address, and %s has no %s", rail.Netdev.Name, node, rig.NameOf(e.Other()), rail.Dev)
		}
		return
	}
	twin, there := rig.Nodes[e.Other()].Rails[j], rig.NameOf(e.Other())
	theirs := addressesOf(facts[e.Other()], twin.Netdev.Name)
	switch {
	case twin.Netdev.Master != "":
	case len(own) == 0 && len(theirs) > 0:
		rep.at(rig, e, steps.Fail, "%s on %s has no address, while %s on %s has %s: this rail leads nowhere, and tests leave it out. fix-rail-address gives it one in that subnet", rail.Netdev.Name, node, twin.Netdev.Name, there, theirs[0])
	case len(own) == 0 && e == steps.Here:
		rep.add(steps.Warn, "%s has a link on both nodes and an address on neither, so no test uses it: rail-ips gives both ends one", rail.Netdev.Name)
	case len(own) == 0 || len(theirs) == 0 || e != steps.Here:
	case own[0].Addr() == theirs[0].Addr():
		rep.add(steps.Fail, "both ends of %s have the address %s, so nothing can pass between them: one of the two is wrong", rail.Dev, own[0].Addr())
	case !slices.ContainsFunc(own, func(p netip.Prefix) bool {
		return slices.ContainsFunc(theirs, func(q netip.Prefix) bool { return p.Masked() == q.Masked() })
	}):
		rep.add(steps.Fail, "the ends of %s are in different subnets: %s on %s and %s on %s. Neither finds the other; give both an address in one subnet", rail.Dev, joined(own), node, joined(theirs), there)
	}
}

func joined(all []netip.Prefix) string {
	var words []string
	for _, p := range all {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}
