package network

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// Addresses that stand in each other's way: two of a node in one subnet, one on both
// nodes, and a neighbour table that has the wrong interface for one.

// addresses are those of a node's interfaces, by interface.
type addresses map[string][]netip.Prefix

// probed are the addresses of both nodes as the rig was found.
// A planner has those alone: it runs before any script. A judge takes printed, what the check
// itself saw.
func probed(rig steps.Rig) (all [2]addresses) {
	for _, e := range steps.Ends {
		all[e] = addresses{}
		for _, d := range rig.At(e).Netdevs {
			for _, a := range d.Addrs {
				if p, err := netip.ParsePrefix(a); err == nil && p.Addr().Is4() {
					all[e][d.Name] = append(all[e][d.Name], p)
				}
			}
		}
	}
	return all
}

// printed are the addresses of both nodes as a check's script saw them.
func printed(facts [2]map[string]string) (all [2]addresses) {
	for _, e := range steps.Ends {
		all[e] = addresses{}
		for name := range facts[e] {
			if netdev, ok := strings.CutSuffix(name, " addresses"); ok {
				all[e][netdev] = checks.AddressesOf(facts[e], netdev)
			}
		}
	}
	return all
}

// A conflict is two addresses of one node in one subnet, at least one of them a
// rail's. stray says that the second one should not be there.
type conflict struct {
	netdevs [2]string
	addrs   [2]netip.Prefix
	stray   bool
}

// conflicts finds those of one node.
func conflicts(rig steps.Rig, e steps.End, all [2]addresses) []conflict {
	// The rails' come first: what isn't a rail's is never compared with another of its kind, as two
	// bridges of containers in one subnet are nothing to the rails.
	type holder struct {
		netdev string
		addr   netip.Prefix
	}
	var holders []holder
	node := rig.At(e)
	for i, rail := range node.Rails {
		// Two RDMA devices may have one interface, as soft-RoCE on a rail's: its addresses count once.
		first := slices.IndexFunc(node.Rails, func(r steps.Rail) bool { return r.Netdev.Name == rail.Netdev.Name }) == i
		if !first || rail.Netdev.Master != "" {
			continue // what a slave kept is a bond's matter
		}
		for _, a := range all[e][rail.Netdev.Name] {
			holders = append(holders, holder{rail.Netdev.Name, a})
		}
	}
	rails := len(holders)
	for _, d := range node.Netdevs {
		if !slices.ContainsFunc(node.Rails, func(r steps.Rail) bool { return r.Netdev.Name == d.Name }) {
			for _, a := range all[e][d.Name] {
				holders = append(holders, holder{d.Name, a})
			}
		}
	}
	var found []conflict
	for i, a := range holders[:rails] {
		for j, b := range holders[i+1:] {
			if !a.addr.Overlaps(b.addr) || a.addr.Addr().IsLoopback() {
				continue
			}
			c := conflict{[2]string{a.netdev, b.netdev}, [2]netip.Prefix{a.addr, b.addr}, false}
			// Of a rail's address and another interface's it is unknown here which one is wrong.
			if i+1+j < rails {
				c.decide(rig, e, all)
			}
			found = append(found, c)
		}
	}
	return found
}

// decide finds out which of two addresses of rails is out of place, and puts it
// second: the one whose rail doesn't lead to the other node there, or leads to it in
// a subnet of its own besides. Of one interface's two it is the later one.
func (c *conflict) decide(rig steps.Rig, e steps.End, all [2]addresses) {
	if c.netdevs[0] == c.netdevs[1] {
		c.stray = true
		return
	}
	// meets: the rail's other end has an address in the subnet in question. elsewhere: rail and other
	// end share another subnet besides, so the rail keeps a way there without this address.
	var meets, elsewhere [2]bool
	for k, netdev := range c.netdevs {
		i := slices.IndexFunc(rig.At(e).Rails, func(r steps.Rail) bool { return r.Netdev.Name == netdev })
		j := checks.Counterpart(rig, e, i)
		if j < 0 {
			continue
		}
		theirs := all[e.Other()][rig.At(e.Other()).Rails[j].Netdev.Name]
		for _, a := range all[e][netdev] {
			// One address at both ends is a duplicate, and no way between them.
			shares := slices.ContainsFunc(theirs, func(b netip.Prefix) bool {
				return a.Masked() == b.Masked() &&
					a.Addr() != b.Addr()
			})
			if a == c.addrs[k] {
				meets[k] = shares
			} else {
				elsewhere[k] = elsewhere[k] || shares && !a.Overlaps(c.addrs[k])
			}
		}
	}
	switch {
	case meets[0] != meets[1]:
		c.stray = true
		if meets[1] {
			c.swap()
		}
	case elsewhere[0] != elsewhere[1]:
		c.stray = true
		if elsewhere[0] {
			c.swap()
		}
	}
}

// code is the cause of a conflict: what removes it differs.
func (c conflict) code() steps.Code {
	switch {
	case c.netdevs[0] == c.netdevs[1]:
		return steps.SecondAddress
	case c.stray:
		return steps.AddressStray
	}
	return steps.SubnetShared
}

func (c *conflict) swap() {
	c.netdevs[0], c.netdevs[1] = c.netdevs[1], c.netdevs[0]
	c.addrs[0], c.addrs[1] = c.addrs[1], c.addrs[0]
}

// shielded reports whether two interfaces answer for their own addresses only, and ask
// from their own: with routes by source address, one subnet for both can work.
func (c conflict) shielded(facts map[string]string) bool { return c.mixes(facts) == "" }

// mixes says how the other node may learn the wrong one of two interfaces; empty where it may not. Of arp_ignore 1
// and 2 are for an interface's own addresses, and 8 is silence; 3, and what is reserved, let it answer for others
// (arp_ignore in the kernel's net/ipv4/arp.c).
func (c conflict) mixes(facts map[string]string) string {
	for _, netdev := range c.netdevs {
		if ignore, _ := strictnum.Count(facts[netdev+" arp_ignore"]); !slices.Contains([]int{1, 2, 8}, ignore) {
			return fmt.Sprintf("answer for each other (arp_ignore %d)", ignore)
		}
	}
	for _, netdev := range c.netdevs {
		if announce, _ := strictnum.Count(facts[netdev+" arp_announce"]); announce < 2 {
			return fmt.Sprintf("send requests with each other's address (arp_announce %d)", announce)
		}
	}
	return ""
}

// judgeAddressConflict: no rail shares its subnet with another address of its node.
func judgeAddressConflict(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	if !checks.AllTell(r.Rig, facts, "addresses", rep) {
		return rep.Verdict()
	}
	all := printed(facts)
	n := 0
	for _, e := range steps.Ends {
		node, there := r.Rig.NameOf(e), r.Rig.NameOf(e.Other())
		for _, rail := range r.Rig.At(e).Rails {
			rep.ShowAt(node, rail.Netdev.Name, registry.OrNone(checks.Joined(all[e][rail.Netdev.Name])), "", nil)
			n += len(all[e][rail.Netdev.Name])
		}
		for _, x := range conflicts(r.Rig, e, all) {
			rep.Decide(node+" "+x.netdevs[0], node+" "+x.netdevs[1])
			switch {
			case x.netdevs[0] == x.netdevs[1]:
				rep.At(r.Rig, e, steps.SecondAddress, steps.Warn, "%s on %s has two addresses in one subnet, %s and %s. Tools "+
					"may use the wrong GID. Run: ip addr del %s dev %s", x.netdevs[0], node, x.addrs[0], x.addrs[1], x.addrs[1],
					x.netdevs[0])
			case x.shielded(facts[e]):
				rep.At(r.Rig, e, steps.SubnetShared, steps.Warn, "%s and %s on %s share the subnet %s: packets may leave through "+
					"either. Give each its own subnet, or add routes by source address", x.netdevs[0], x.netdevs[1], node,
					x.addrs[0].Masked())
				rep.Explain("On %s, arp_ignore and arp_announce keep the ARP answers of %s and %s apart; routes by source "+
					"address do the same for what is sent", node, x.netdevs[0], x.netdevs[1])
			case x.stray:
				rep.At(r.Rig, e, steps.AddressStray, steps.Fail, "%s on %s has %s, in the subnet of %s (%s): traffic to %s may "+
					"take the wrong interface. Remove %s", x.netdevs[1], node, x.addrs[1], x.netdevs[0], x.addrs[0], there,
					x.addrs[1])
				rep.Explain("By hand, on %s: ip addr del %s dev %s", node, x.addrs[1], x.netdevs[1])
			default:
				rep.At(r.Rig, e, steps.SubnetShared, steps.Fail, "%s (%s) and %s (%s) on %s share a subnet: traffic to %s may "+
					"take the wrong interface. Give each its own subnet", x.netdevs[0], x.addrs[0], x.netdevs[1], x.addrs[1], node,
					there)
			}
		}
	}
	return rep.Verdict(fmt.Sprintf("no rail shares its subnet with another interface of its node (%s)", registry.Count(n,
		"address", "addresses")))
}

// planAddresses takes the addresses away that are out of place.
// It takes only what decide is sure of; where it is sure of nothing it refuses, and says what a
// person has to look at.
func planAddresses(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	all := probed(rig)
	removed, unsure := 0, ""
	for _, e := range steps.Ends {
		var ips, devs []string
		for _, c := range conflicts(rig, e, all) {
			if !c.stray {
				unsure = fmt.Sprintf("%s (%s) and %s (%s) on %s share a subnet, and railbench cannot decide which one is wrong. "+
					"Remove one: ip addr del ADDRESS dev INTERFACE", c.netdevs[0], c.addrs[0], c.netdevs[1], c.addrs[1], rig.NameOf(e))
				continue
			}
			if ip := c.netdevs[1] + "=" + c.addrs[1].String(); !slices.Contains(ips, ip) {
				ips = append(ips, ip)
			}
			if !slices.Contains(devs, c.netdevs[1]) {
				devs = append(devs, c.netdevs[1])
			}
		}
		removed += len(ips)
		p.Vars[e] = map[string]string{
			"DEL_IPS": strings.Join(ips, " "), "DEL_NETDEVS": strings.Join(devs, " "),
			"WAYS": strings.Join(registry.Ways(rig, e), " "),
		}
	}
	switch {
	case removed > 0:
	case unsure != "":
		p.Refuse = unsure
	default:
		p.Nothing = "no rail shares its subnet with another address of its node. To clear a wrong neighbour entry: ip " +
			"neigh flush dev INTERFACE"
	}
	return p
}

// judgeFixAddresses: what was out of place is gone, and every rail answers.
func judgeFixAddresses(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	after := r.Changed.After
	all := probed(after)
	for _, e := range steps.Ends {
		for _, rail := range after.At(e).Rails {
			rep.ShowAt(r.Rig.NameOf(e), rail.Netdev.Name, registry.OrNone(checks.Joined(all[e][rail.Netdev.Name])), "", nil)
		}
		for _, x := range conflicts(after, e, all) {
			grade := steps.Warn
			if x.stray {
				grade = steps.Fail
			}
			rep.At(r.Rig, e, x.code(), grade, "%s (%s) and %s (%s) on %s still share a subnet", x.netdevs[0], x.addrs[0],
				x.netdevs[1], x.addrs[1], r.Rig.NameOf(e))
		}
	}
	if len(after.Pairs) < len(r.Rig.Pairs) {
		rep.Add(steps.RailLost, steps.Fail, "%d rails connect the nodes now; before the change there were %d",
			len(after.Pairs), len(r.Rig.Pairs))
	}
	if ok, asked := registry.Pings(r.Rig, facts, &rep); asked == 0 {
		rep.Add(steps.ChangeUntried, steps.Inconclusive, "no rail could be tested after the change")
	} else if ok == asked {
		return rep.Verdict(fmt.Sprintf("every rail has its own subnet on its node, and all %d rails answer in both "+
			"directions", len(after.Pairs)), registry.Kept)
	}
	return rep.Verdict()
}

// planRailAddress gives each rail that lacks an address one in the subnet of its
// other end, and each that has its other end's own: with the host number that the node
// has on its other rails, or the one that the user says.
func planRailAddress(rig steps.Rig, params map[string]string) (p steps.Plan) {
	given := params["RAIL_ADDRESS"]
	all := probed(rig)
	var adds, dels, devs, pings [2][]string
	lacking, refuse := 0, ""
	for _, e := range steps.Ends {
		for i, rail := range rig.At(e).Rails {
			d := rail.Netdev
			twin, subnet, ok := twinOf(rig, e, i)
			if !ok {
				continue
			}
			addr, why := hostIn(rig, e, i, subnet)
			switch {
			// Both ends have one address: whose it is follows from the host number of the node's other rails.
			case rail.Addr != "" && why == "" && addr.String() == rail.Addr:
				continue // this end has its own; the other one is wrong
			case given != "":
				addr, why = givenIn(given, subnet)
			}
			lacking++
			if why == "" {
				why = taken(rig, all, addr, subnet)
			}
			if why != "" {
				refuse = fmt.Sprintf("%s on %s needs an address in %s: %s", d.Name, rig.NameOf(e), subnet.Masked(), why)
				continue
			}
			if rail.Addr != "" {
				dels[e] = append(dels[e], fmt.Sprintf("%s=%s/%d", d.Name, rail.Addr, rail.Prefix))
			}
			adds[e] = append(adds[e], fmt.Sprintf("%s=%s/%d", d.Name, addr, subnet.Bits()))
			devs[e] = append(devs[e], d.Name)
			// Tried from both ends: the routes of one end may differ from the other's.
			pings[e] = append(pings[e], fmt.Sprintf("%s=%s", d.Name, subnet.Addr()))
			pings[e.Other()] = append(pings[e.Other()], fmt.Sprintf("%s=%s", twin.Netdev.Name, addr))
		}
	}
	for _, e := range steps.Ends {
		p.Vars[e] = map[string]string{
			"DEL_IPS": strings.Join(dels[e], " "), "ADD_IPS": strings.Join(adds[e], " "),
			"ADD_NETDEVS": strings.Join(devs[e], " "), "ADD_PINGS": strings.Join(pings[e], " "),
		}
	}
	switch {
	case lacking == 0:
		p.Nothing = "no rail with a link lacks an address that its other end has. For rails without addresses: railbench " +
			"run rail-ips"
	case given != "" && lacking > 1:
		p.Refuse = fmt.Sprintf("RAIL_ADDRESS is one address, but %d ends of rails need one", lacking)
	case refuse != "":
		p.Refuse = refuse
	}
	return p
}

// twinOf is the other end of a rail that lacks an address, or that has its other end's, and
// the subnet that it is in. ok is false for a rail that needs none.
func twinOf(rig steps.Rig, e steps.End, i int) (twin steps.Rail, subnet netip.Prefix, ok bool) {
	rail := rig.At(e).Rails[i]
	d, j := rail.Netdev, checks.Counterpart(rig, e, i)
	if d.Name == "" || !d.Up || !d.Carrier || d.Master != "" || j < 0 {
		return twin, subnet, false
	}
	twin = rig.At(e.Other()).Rails[j]
	subnet, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", twin.Addr, twin.Prefix))
	if err != nil || !subnet.Addr().Is4() || twin.Netdev.Master != "" {
		return twin, subnet, false // neither end has one: rail-ips gives both theirs
	}
	return twin, subnet, rail.Addr == "" || rail.Addr == twin.Addr
}

// hostIn is the address that a node should have in a subnet: the host number that
// all its other rails have.
func hostIn(rig steps.Rig, e steps.End, but int, subnet netip.Prefix) (netip.Addr, string) {
	const say = ". Choose one: -p RAIL_ADDRESS=ADDRESS"
	if subnet.Bits() < 16 || subnet.Bits() > 30 {
		return netip.Addr{}, fmt.Sprintf("a host number can only be derived in subnets from /16 to /30%s", say)
	}
	var number uint32
	found := ""
	for i, rail := range rig.At(e).Rails {
		a, err := netip.ParseAddr(rail.Addr)
		if i == but || err != nil || !a.Is4() || rail.Prefix != subnet.Bits() {
			continue
		}
		own := a.As4()
		low := binary.BigEndian.Uint32(own[:]) & (1<<(32-subnet.Bits()) - 1)
		if found != "" && low != number {
			return netip.Addr{}, fmt.Sprintf("its other rails have different host numbers, %s and %s%s", found, a, say)
		}
		number, found = low, a.String()
	}
	if found == "" {
		return netip.Addr{}, "it has no other rail to take the host number from" + say
	}
	b := subnet.Masked().Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|number)
	return netip.AddrFrom4(b), ""
}

// givenIn reads the address that the user says, with or without a prefix.
func givenIn(given string, subnet netip.Prefix) (netip.Addr, string) {
	text, bits, prefixed := strings.Cut(given, "/")
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || !a.Is4():
		return a, fmt.Sprintf("RAIL_ADDRESS is %q, which is not an IPv4 address", given)
	case prefixed && bits != strconv.Itoa(subnet.Bits()):
		return a, fmt.Sprintf("RAIL_ADDRESS is %s, but the other end has a /%d", given, subnet.Bits())
	case !subnet.Contains(a):
		return a, fmt.Sprintf("RAIL_ADDRESS is %s, which is not in that subnet", given)
	}
	return a, ""
}

// taken says why an address can't be given to a rail.
func taken(rig steps.Rig, all [2]addresses, addr netip.Addr, subnet netip.Prefix) string {
	// The broadcast address: the subnet's own with every bit of the host set.
	last := subnet.Masked().Addr().As4()
	for i := subnet.Bits(); i < 32; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	if addr == subnet.Masked().Addr() || addr == netip.AddrFrom4(last) {
		return fmt.Sprintf("%s is the network or broadcast address. Choose another: -p RAIL_ADDRESS=ADDRESS", addr)
	}
	for _, e := range steps.Ends {
		for _, d := range rig.At(e).Netdevs {
			for _, a := range all[e][d.Name] {
				if a.Addr() == addr {
					return fmt.Sprintf("%s is already used by %s on %s. Choose another: -p RAIL_ADDRESS=ADDRESS", addr, d.Name,
						rig.NameOf(e))
				}
			}
		}
	}
	return ""
}

// planLinkUp switches on the interfaces of rails that are meant to be used.
func planLinkUp(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	off := 0
	var devs, pings [2][]string
	for _, e := range steps.Ends {
		for i, rail := range rig.At(e).Rails {
			d := rail.Netdev
			if d.Up || d.Name == "" || slices.Contains(devs[e], d.Name) || !checks.Wanted(rig, e, i) {
				continue
			}
			j := checks.Counterpart(rig, e, i)
			if j < 0 && rig.LeadsElsewhere(rail) { // where it leads it can be tried
				continue
			}
			off++
			devs[e] = append(devs[e], d.Name)
			if j >= 0 && rail.Addr != "" && rig.At(e.Other()).Rails[j].Addr != "" {
				twin := rig.At(e.Other()).Rails[j]
				pings[e] = append(pings[e], d.Name+"="+twin.Addr)
				pings[e.Other()] = append(pings[e.Other()], twin.Netdev.Name+"="+rail.Addr)
			}
		}
	}
	for _, e := range steps.Ends {
		p.Vars[e] = map[string]string{"LINK_NETDEVS": strings.Join(devs[e], " "), "WAYS": strings.Join(pings[e], " ")}
	}
	if off == 0 {
		p.Nothing = "every interface of a used rail is already switched on. If one has no carrier, check its cable"
	}
	return p
}

// judgeFixLinkUp: what was switched off is on, has a carrier, and answers.
func judgeFixLinkUp(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	var on []string
	dark := false
	for _, e := range steps.Ends {
		for i, rail := range r.Rig.At(e).Rails {
			if rail.Netdev.Up || !checks.Wanted(r.Rig, e, i) {
				continue
			}
			where := rail.Netdev.Name + " on " + r.Rig.NameOf(e)
			at := slices.IndexFunc(r.Changed.After.At(e).Rails,
				func(x steps.Rail) bool { return x.Dev == rail.Dev && x.Port == rail.Port })
			if at < 0 {
				rep.At(r.Rig, e, steps.RailLost, steps.Fail, "%s disappeared", where)
				continue
			}
			now := r.Changed.After.At(e).Rails[at]
			rep.ShowAt(r.Rig.NameOf(e), now.Dev, fmt.Sprintf("%s, %s", registry.OrUnknown(now.State),
				registry.OrNone(now.Addr)), "", nil)
			switch {
			case !now.Netdev.Up:
				rep.At(r.Rig, e, steps.InterfaceOff, steps.Fail, "%s is still switched off", where)
			case !now.Netdev.Carrier:
				dark = true
				rep.At(r.Rig, e, steps.LinkDown, steps.Warn, "%s is switched on but has no carrier: check its cable", where)
			default:
				on = append(on, where)
			}
		}
	}
	if dark {
		return rep.Verdict()
	}
	if ok, asked := registry.Pings(r.Rig, facts, &rep); asked == 0 {
		rep.Add(steps.ChangeUntried, steps.Warn, "%s been switched on and found a carrier. No address was available to "+
			"test the link", registry.HaveOrHas(on))
	} else if ok == asked {
		return rep.Verdict(fmt.Sprintf("switched on: %s. The link is up and answers in both directions", registry.And(on)),
			registry.Kept)
	}
	return rep.Verdict()
}
