package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/cabling"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/family/discovery"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// What is on the way from rail to rail: who answers, how large a packet may be,
// which GID it has, and what else takes that way.

// planWays gives a check the ways from rail to rail, and the rails' own addresses.
// It refuses nothing: that there are none is for the judge.
func planWays(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	for _, e := range steps.Ends {
		var own []string
		for _, rail := range rig.At(e).Rails {
			if rail.Addr != "" && rail.Netdev.Master == "" {
				own = append(own, rail.Netdev.Name+"="+rail.Addr)
			}
		}
		p.Vars[e] = map[string]string{"WAYS": strings.Join(registry.Ways(rig, e), " "), "OWN_IPS": strings.Join(own, " ")}
	}
	return p
}

// judgeArpFlux: each node has learnt the right interface for the other's rails, and
// nothing can teach it another.
func judgeArpFlux(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "MAC", rep) || !checks.AllTell(rig, facts, "addresses", rep) {
		return rep.Verdict()
	}
	learnt := 0
	var silent []func() // what is said of rails without an answer
	cables := cabling.Link{Rig: rig, Facts: facts}
	// A node whose cables are crossed has learnt the interface that is there: that is reported as what it is.
	crossed := tellCrossed(cables, rep)
	for i, p := range rig.Pairs {
		for _, e := range steps.Ends {
			own, other := rig.Rail(p, e), rig.Rail(p, e.Other())
			node, there := rig.NameOf(e), rig.NameOf(e.Other())
			mac := facts[e][own.Netdev.Name+" neighbour "+other.Addr]
			if mac == "" {
				rep.ShowAt(node, "neighbour entry of "+other.Addr, "none: no answer", "", nil)
				if checks.Linked(rig, p) { // without a link it can't answer, and link-up says so
					silent = append(silent, func() {
						rep.At(rig, e, steps.NoAnswer, steps.Inconclusive, "rail %d (%s) on %s got no answer, so its neighbour entry "+
							"is unknown", i+1, own.Netdev.Name, node)
					})
				}
				continue
			}
			learnt++
			rep.ShowAt(node, "neighbour entry of "+other.Addr, mac, "", nil)
			if want := facts[e.Other()][other.Netdev.Name+" MAC"]; !strings.EqualFold(mac, want) &&
				!slices.Contains(crossed, i) {
				rep.At(rig, e, steps.NeighbourWrong, steps.Fail, "%s has a wrong neighbour entry for %s (rail %d of %s): the MAC "+
					"of %s. RDMA hangs. Run on %s: ip neigh flush dev %s", node, other.Addr, i+1, there,
					ownerOf(facts[e.Other()], mac), node, own.Netdev.Name)
				rep.Decide(fmt.Sprintf("%s neighbour entry of %s", node, other.Addr))
				rep.ByHand()
			}
		}
	}
	all := printed(facts)
	for _, e := range steps.Ends {
		for _, x := range conflicts(rig, e, all) {
			// Two addresses of one interface are answered for by the same one.
			if how := x.mixes(facts[e]); x.netdevs[0] != x.netdevs[1] && how != "" {
				rep.At(rig, e, steps.SubnetShared, steps.Warn, "%s and %s on %s share a subnet and %s: %s may learn the wrong "+
					"MAC. Use two subnets", x.netdevs[0], x.netdevs[1], rig.NameOf(e), how, rig.NameOf(e.Other()))
			}
		}
	}
	// One sentence for all where none answered; else each silent rail is reported, after what was
	// found on those that did.
	if learnt == 0 {
		rep.Add(steps.NoAnswer, steps.Inconclusive, "no rail answered, so no neighbour entry was checked")
		silent = nil
	}
	for _, say := range silent {
		say()
	}
	v := rep.Verdict(fmt.Sprintf("all %d neighbour entries name the right interface, and no two interfaces of a node "+
		"share a subnet", learnt))
	if len(rig.Pairs) > 0 {
		v.Tables = append(v.Tables, cables.Picture())
	}
	return v
}

// ownerOf says whose a MAC is, as a node's script saw it.
func ownerOf(facts map[string]string, mac string) string {
	var names []string
	for name, value := range facts {
		if netdev, ok := strings.CutSuffix(name, " MAC"); ok && strings.EqualFold(value, mac) {
			names = append(names, netdev)
		}
	}
	if names == nil {
		return "an unknown interface"
	}
	slices.Sort(names)
	return registry.And(names)
}

// An owner is an interface that has an address.
type owner struct {
	end    steps.End
	netdev string
}

// ownersOf names them: "a and b on x" for several of one node, and "a on x and y" for one name on several.
func ownersOf(rig steps.Rig, all []owner) []string {
	var order []string
	netdevs, nodes := map[string][]string{}, map[string][]string{}
	for _, o := range all {
		node := rig.NameOf(o.end)
		netdevs[node], nodes[o.netdev] = append(netdevs[node], o.netdev), append(nodes[o.netdev], node)
		order = append(order, o.netdev+" on "+node)
	}
	switch {
	case len(netdevs) == 1:
		return []string{registry.And(netdevs[rig.NameOf(all[0].end)]) + " on " + rig.NameOf(all[0].end)}
	case len(nodes) == 1:
		return []string{all[0].netdev + " on " + registry.And(nodes[all[0].netdev])}
	}
	return order
}

// railAddresses are the addresses that a rail has at an end, in the order in which they were printed, and where each
// is: not each node's own loopback, or a bridge of its containers.
func railAddresses(rig steps.Rig, facts [2]map[string]string) (order []netip.Addr, places map[netip.Addr][]owner) {
	places = map[netip.Addr][]owner{}
	rails := map[netip.Addr]bool{}
	all := printed(facts)
	for _, e := range steps.Ends {
		for _, d := range slices.Sorted(maps.Keys(all[e])) {
			for _, a := range all[e][d] {
				if places[a.Addr()] == nil {
					order = append(order, a.Addr())
				}
				places[a.Addr()] = append(places[a.Addr()], owner{e, d})
				rails[a.Addr()] = rails[a.Addr()] || carries(rig, e, d)
			}
		}
	}
	return slices.DeleteFunc(order, func(a netip.Addr) bool { return !rails[a] }), places
}

// judgeDuplicateIP: no address of a rail is anywhere else.
func judgeDuplicateIP(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "addresses", rep) {
		return rep.Verdict()
	}
	order, places := railAddresses(rig, facts)
	n := 0
	for _, a := range order {
		at := places[a]
		n++
		words := ownersOf(rig, at)
		rep.Show(a.String(), registry.And(words), "", nil)
		switch {
		case len(at) == 1:
		// They were gathered end by end, so first and last say whether both have it.
		case at[0].end != at[len(at)-1].end:
			rep.Add(steps.DuplicateIP, steps.Fail, "%s is assigned twice, to %s, so nothing passes between them. Remove it "+
				"from one node: ip addr del %s dev INTERFACE", a, registry.List(words), a)
			rep.About(at[0].netdev, at[len(at)-1].netdev)
		default:
			rep.At(rig, at[0].end, steps.DuplicateIP, steps.Fail, "%s is assigned twice, to %s: packets take the wrong "+
				"interface and get lost. Remove one: ip addr del %s dev INTERFACE", a, registry.List(words), a)
			rep.About(at[0].netdev, at[len(at)-1].netdev)
		}
	}
	asked := checkArping(rig, facts, rep)
	if n == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.RailUnaddressed, steps.Inconclusive, "no rail has an address on either node")
	}
	var heard, silent string
	if asked > 0 {
		heard = fmt.Sprintf("No other host on the network answers for %d of them (arping)", asked)
	}
	var from []string
	for _, e := range steps.Ends {
		if why := facts[e]["arping"]; why != "yes" {
			from = append(from, fmt.Sprintf("%s (%s)", rig.NameOf(e), registry.OrUnknown(why)))
		}
	}
	if from != nil {
		silent = "Other hosts were not asked (arping) from " + registry.And(from)
	}
	return rep.Verdict(fmt.Sprintf("no address of a rail is assigned twice (%d on both nodes)", n), heard, silent)
}

// checkArping finds addresses that another host on the network answers for; it counts those
// that only the node itself has.
func checkArping(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) (asked int) {
	for _, e := range steps.Ends {
		for _, name := range slices.Sorted(maps.Keys(facts[e])) {
			pair, ok := strings.CutPrefix(name, "arping ")
			if !ok {
				continue
			}
			netdev, addr, _ := strings.Cut(pair, "=")
			answer := facts[e][name]
			rep.ShowAt(rig.NameOf(e), name, answer, "", nil)
			switch answer {
			case "no other host":
				asked++
			case "another host":
				rep.At(rig, e, steps.AddressTaken, steps.Fail, "another host on the network of %s answers for %s, the address of "+
					"%s. Change one of the two", netdev, addr, rig.NameOf(e))
			default:
				rep.At(rig, e, steps.NotTried, steps.Inconclusive, "whether another host has %s was not tested over %s on %s: "+
					"%s", addr, netdev, rig.NameOf(e), registry.OrUnknown(answer))
			}
		}
	}
	return asked
}

// carries reports whether an interface is a rail's, or a bond that holds one.
func carries(rig steps.Rig, e steps.End, netdev string) bool {
	return slices.ContainsFunc(rig.At(e).Rails, func(r steps.Rail) bool {
		return netdev != "" && (r.Netdev.Name == netdev || r.Netdev.Master == netdev)
	})
}

// judgeMTUEqual: both ends of each rail have one MTU, and packets that fill it pass.
func judgeMTUEqual(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "MTU", rep) {
		return rep.Verdict()
	}
	differ := map[string]bool{} // by interface of Here
	checks.Missing(rig, rep)
	compared := 0
	for i, here := range rig.At(steps.Here).Rails {
		j := checks.Counterpart(rig, steps.Here, i)
		if j < 0 || !checks.Wanted(rig, steps.Here, i) {
			continue
		}
		compared++
		peer := rig.At(steps.Peer).Rails[j]
		ends := [2]steps.Rail{here, peer}
		var mtu [2]string
		for _, e := range steps.Ends {
			mtu[e] = facts[e][ends[e].Netdev.Name+" MTU"]
			rep.ShowAt(rig.NameOf(e), ends[e].Netdev.Name+" MTU", mtu[e], "bytes",
				&steps.Expected{From: "the other end: " + facts[e.Other()][ends[e.Other()].Netdev.Name+" MTU"]})
		}
		switch {
		case mtu[0] != mtu[1]:
			differ[here.Netdev.Name] = true
			rep.Add(steps.MTUDiffers, steps.Fail, "%s has MTU %s on %s but %s on %s: large packets are dropped. Set both "+
				"alike: railbench run mtu, or with -p JUMBO_MTU=%s", here.Netdev.Name, mtu[0], rig.NameOf(steps.Here), mtu[1],
				rig.NameOf(steps.Peer), least(mtu))
			rep.Explain("The rate of TCP falls close to zero, without an error message")
			for _, e := range steps.Ends {
				rep.Decide(rig.NameOf(e) + " " + ends[e].Netdev.Name + " MTU")
			}
		case here.MTU != peer.MTU && here.MTU > 0 && peer.MTU > 0 && here.State == "ACTIVE" && peer.State == "ACTIVE":
			rep.Add(steps.RoCEMTUBehind, steps.Warn, "%s has RoCE MTU %d on %s but %d on %s, although the interfaces' MTUs "+
				"agree. RDMA uses the smaller one", here.Dev, here.MTU, rig.NameOf(steps.Here), peer.MTU, rig.NameOf(steps.Peer))
		}
	}
	tried := fullPackets(rig, facts, differ, rep)
	checkBondMTUs(rig, facts, rep)
	if compared == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail is used at both ends, so no MTU was compared")
	}
	lead := fmt.Sprintf("both ends of %s have the same MTU", registry.Count(compared, "rail", "rails"))
	if tried > 0 {
		return rep.Verdict(lead + ", and full-size packets pass in both directions")
	}
	return rep.Verdict(lead, "No rail could be tested, so whether full-size packets pass is unknown")
}

// least is the smaller of two MTUs, which is where the odd one goes back to.
func least(mtu [2]string) string {
	a, readA := strictnum.Count(mtu[0])
	b, readB := strictnum.Count(mtu[1])
	if readA && (!readB || a < b) {
		return mtu[0]
	}
	return mtu[1]
}

// fullPackets looks at packets that fill the MTU, over each rail whose ends have one, and
// says how many passed.
func fullPackets(rig steps.Rig, facts [2]map[string]string, differ map[string]bool, rep *registry.Report) (tried int) {
	for i, p := range rig.Pairs {
		// Without a link nothing passes, and link-up says so; where the ends differ it was said why full
		// packets don't.
		linked := checks.Linked(rig, p)
		if differ[rig.Rail(p, steps.Here).Netdev.Name] {
			continue
		}
		for _, e := range steps.Ends {
			own, other := rig.Rail(p, e), rig.Rail(p, e.Other())
			way := own.Netdev.Name + "=" + other.Addr
			large, small := facts[e]["large ping "+way], facts[e]["small ping "+way]
			rep.ShowAt(rig.NameOf(e), "full packet over "+way, registry.OrUnknown(large), "", nil)
			switch {
			case large == "" || small == "":
				rep.At(rig, e, steps.NotTried, steps.Inconclusive, "rail %d (%s) was not tested from %s", i+1, own.Netdev.Name,
					rig.NameOf(e))
			case large == "ok":
				tried++
			// A small packet that fails too says nothing about the MTU.
			case small != "ok" && linked:
				rep.At(rig, e, steps.NoAnswer, steps.Inconclusive, "rail %d (%s) on %s gets no answer to any ping, so its path "+
					"MTU is unknown: see ping", i+1, own.Netdev.Name, rig.NameOf(e))
			case small == "ok":
				rep.At(rig, e, steps.PathMTUSmall, steps.Fail, "rail %d (%s): packets of the full MTU (%s) from %s get lost; "+
					"small ones arrive. Check the MTU of the switch", i+1, own.Netdev.Name, facts[e][own.Netdev.Name+" MTU"],
					rig.NameOf(e))
				rep.Explain("Both ends have that MTU, so something between them takes less: a switch, or an adapter whose MTU " +
					"was changed while it ran")
				rep.Decide(rig.NameOf(e) + " full packet over " + way)
			}
		}
	}
	return tried
}

// checkBondMTUs: a bond and what it holds have one MTU.
// The kernel keeps them alike as long as the bond's is set; a slave's may still be set separately.
func checkBondMTUs(rig steps.Rig, facts [2]map[string]string, rep *registry.Report) {
	for _, e := range steps.Ends {
		for _, rail := range rig.At(e).Rails {
			bond := rail.Netdev.Master
			own, its := facts[e][rail.Netdev.Name+" MTU"], facts[e][bond+" MTU"]
			if bond != "" && its != "" && own != its {
				rep.At(rig, e, steps.BondMTUDiffers, steps.Fail, "%s has MTU %s but its bond %s has %s, on %s. Set the MTU of "+
					"the bond; its links follow", rail.Netdev.Name, own, bond, its, rig.NameOf(e))
			}
		}
	}
}

// gidTables are the tables of both ends; ok is false where one could not be read.
func gidTables(
	r steps.Result, outputs map[steps.End]steps.Output, rep *registry.Report,
) (tables [2][]parse.GIDRow, ok bool) {
	ok = true
	for _, e := range steps.Ends {
		if registry.Exited(r, outputs[e], rep) {
			ok = false
			continue
		}
		read := false
		tables[e], read = registry.Value[[]parse.GIDRow](r, outputs[e], rep)
		ok = ok && read
	}
	return tables, ok
}

// judgeGIDIndex: every end of every rail has a RoCE v2 GID of its IPv4 address, or InfiniBand's own, and
// what its number is.
func judgeGIDIndex(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	outputs, ok := registry.OnBoth(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	tables, ok := gidTables(r, outputs, &rep)
	if !ok {
		return rep.Verdict()
	}
	if len(r.Rig.Pairs) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail connects the nodes, so no GID to check: see "+
			"rail-addresses and link-up")
		return rep.Verdict()
	}
	var found []string
	for i, p := range r.Rig.Pairs {
		var index [2]int
		for _, e := range steps.Ends {
			rail, why := r.Rig.Rail(p, e), ""
			if index[e], why = discovery.Resolve(tables[e], rail); index[e] < 0 {
				code := steps.GIDMissing
				if rail.InfiniBand() {
					code = steps.SubnetManagerMissing
				}
				rep.At(r.Rig, e, code, steps.Fail, "rail %d (%s) has no usable GID on %s: %s. Switch its interface off and on, "+
					"or reload the driver", i+1, rail.Dev, r.Rig.NameOf(e), strings.TrimRight(why, "?. "))
				rep.Explain("A rail in a bond has no GIDs of its own: remove the bond first")
				continue
			}
			rep.ShowAt(r.Rig.NameOf(e), fmt.Sprintf("%s: %s", rail.Dev, discovery.Entry(rail)),
				fmt.Sprintf("index %d, of %s", index[e], registry.OrUnknown(rail.Netdev.Name)), "", nil)
		}
		switch {
		case index[0] < 0 || index[1] < 0:
		case index[0] != index[1]:
			rep.Add(steps.GIDIndexDiffers, steps.Warn, "rail %d (%s) has its GID at index %d on %s but %d on %s. In manual "+
				"tests pass each node its own index (-x)", i+1, r.Rig.Rail(p, steps.Here).Dev, index[0], r.Rig.NameOf(steps.Here),
				index[1], r.Rig.NameOf(steps.Peer))
			rep.Explain("railbench looks up the index at each end")
			for _, e := range steps.Ends {
				rail := r.Rig.Rail(p, e)
				rep.Decide(fmt.Sprintf("%s %s: %s", r.Rig.NameOf(e), rail.Dev, discovery.Entry(rail)))
			}
		default:
			found = append(found, fmt.Sprintf("%d on rail %d", index[0], i+1))
		}
	}
	has := "every rail has the RoCE v2 GID of its IPv4 address at both ends"
	if by := discovery.Addressing(r.Rig); by != "RoCE v2" {
		has = "every rail has its GID (" + by + ") at both ends"
	}
	return rep.Verdict(has + ", with the same index: " + strings.Join(found, ", "))
}

// judgeRoutes: no default route and no SSH session goes over a rail, and what is for a rail does.
func judgeRoutes(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	unseen := ""
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		for _, name := range []string{"default routes", "default routes of IPv6"} {
			text := facts[e][name]
			rep.ShowAt(node, name, registry.OrUnknown(text), "", nil)
			if text == "" {
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the %s on %s", name, node)
			}
			routes, before := defaultRoutes(text), len(rep.Findings)
			for _, route := range routes {
				switch {
				case !carries(r.Rig, e, route.dev):
				// Of routes with the least metric any may be taken; one with more waits for all of them to go.
				case route.metric == routes[0].metric:
					rep.At(r.Rig, e, steps.DefaultRouteOverRail, steps.Warn, "the default route of %s goes over %s (a rail), so all "+
						"its traffic goes to %s. Run: ip route del default dev %s", node, route.dev, r.Rig.NameOf(e.Other()), route.dev)
					rep.Explain("railbench changes no interface that carries the default route. Where %s is meant to forward the "+
						"traffic, keep it", r.Rig.NameOf(e.Other()))
				default:
					rep.At(r.Rig, e, steps.DefaultRouteOverRail, steps.Warn, "%s has a second default route over %s (a rail), used "+
						"when the first one fails. Run: ip route del default dev %s", node, route.dev, route.dev)
				}
			}
			if len(rep.Findings) > before {
				rep.Decide(node + " " + name)
			}
		}
		dev := r.Rig.At(e).SSHDev
		rep.ShowAt(node, "SSH session over", registry.OrUnknown(dev), "", nil)
		if dev == "" {
			unseen = "The interface of the SSH session is unknown on some nodes"
		}
		if carries(r.Rig, e, dev) {
			rep.At(r.Rig, e, steps.SSHOverRail, steps.Warn, "the SSH session to %s uses the rail %s: it breaks when that rail "+
				"changes, and slows tests. Use another address in the rig file", node, dev)
			rep.Decide(node + " SSH session over")
		}
	}
	wayTo(r.Rig, facts, rep)
	direct := fmt.Sprintf("each node reaches the other's %d rails directly", len(r.Rig.Pairs))
	if len(r.Rig.Pairs) == 0 {
		direct = ""
	}
	if unseen != "" {
		return rep.Verdict("no default route uses a rail on either node", direct, unseen)
	}
	return rep.Verdict("no default route and no SSH session uses a rail on either node", direct)
}

type defaultRoute struct {
	dev    string
	metric int
}

// defaultRoutes reads what ip shows of them, all on one line; the one that is taken
// comes first.
// A route without a metric has 0, which wins.
func defaultRoutes(text string) (all []defaultRoute) {
	before := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case word == "default":
			all = append(all, defaultRoute{})
		case len(all) == 0:
		// One over several gateways names them behind its metric: each is taken by a part of the connections.
		case word == "nexthop" && all[len(all)-1].dev != "":
			all = append(all, defaultRoute{metric: all[len(all)-1].metric})
		case before == "dev":
			all[len(all)-1].dev = word
		case before == "metric":
			all[len(all)-1].metric, _ = strictnum.Count(word)
		}
		before = word
	}
	slices.SortStableFunc(all, func(a, b defaultRoute) int { return a.metric - b.metric })
	return all
}
