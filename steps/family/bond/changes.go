package bond

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// bondModes are the ones that two nodes on direct cables can use.
var bondModes = []string{"balance-xor", "active-backup", "balance-rr"}

// planMTU sets one MTU on every interface of the rails, and of the bond that
// holds them.
func planMTU(rig steps.Rig, params map[string]string) (p steps.Plan) {
	mtu, err := strconv.Atoi(params["JUMBO_MTU"])
	// Below 1280 the kernel takes IPv6 off an interface, and with it the GID of its link-local address.
	if err != nil || mtu < 1280 || mtu > 9216 {
		p.Refuse = fmt.Sprintf("JUMBO_MTU is %q; it must be a number from 1280 to 9216", params["JUMBO_MTU"])
		return p
	}
	if p.Refuse = unready(rig, rig.Pairs); p.Refuse != "" {
		return p
	}
	set := true
	for _, e := range steps.Ends {
		var devs []string
		for _, d := range rig.At(e).Netdevs {
			if carriesRails(rig, e, d.Name) {
				devs = append(devs, d.Name)
				set = set && d.MTU == mtu
			}
		}
		if len(devs) == 0 {
			p.Refuse = fmt.Sprintf("no rail of %s leads to the other node. Run: railbench run rail-map", rig.NameOf(e))
		}
		p.Vars[e] = map[string]string{
			"MTU_NETDEVS": strings.Join(devs, " "),
			"MTU_PINGS":   strings.Join(registry.Ways(rig, e), " "),
		}
		p.Becomes[e] = fmt.Sprintf("MTU %d on each", mtu)
	}
	if set && p.Refuse == "" {
		p.Nothing = fmt.Sprintf("every rail interface already has MTU %d on both nodes", mtu)
	}
	return p
}

// unready says why rails can't be changed and then tried: a link that is missing
// would be found only afterwards, and under another name.
func unready(rig steps.Rig, pairs []steps.Pair) string {
	var held [2]bool
	for _, e := range steps.Ends {
		for _, p := range pairs {
			switch d := rig.Rail(p, e).Netdev; {
			case !d.Up:
				return fmt.Sprintf("%s on %s is switched off. Run: ip link set %s up", d.Name, rig.NameOf(e), d.Name)
			case !d.Carrier:
				return fmt.Sprintf("%s on %s has no link. Check its cable at both ends", d.Name, rig.NameOf(e))
			}
		}
		held[e] = slices.ContainsFunc(rig.At(e).Rails, func(r steps.Rail) bool { return r.Netdev.Master != "" })
	}
	for _, e := range steps.Ends {
		if held[e] && !held[e.Other()] {
			return fmt.Sprintf("%s bonds its rails but %s does not. Remove the bond first: bond-teardown", rig.NameOf(e),
				rig.NameOf(e.Other()))
		}
	}
	return ""
}

// carriesRails reports whether an interface is a paired rail's, or in the same bond as
// rails, or that bond.
func carriesRails(rig steps.Rig, e steps.End, dev string) bool {
	for _, p := range rig.Pairs {
		if rig.Rail(p, e).Netdev.Name == dev {
			return true
		}
	}
	for _, r := range rig.At(e).Rails {
		if m := r.Netdev.Master; m != "" && (m == dev || r.Netdev.Name == dev) {
			return true
		}
	}
	return false
}

// planBond makes a bond of the first two pairs of rails. It takes the address of
// the first.
// A bond has one address for both rails, so rail 1's is what the other node finds it by, and rail 2's is gone
// meanwhile.
func planBond(rig steps.Rig, params map[string]string) (p steps.Plan) {
	name, mode := params["BOND"], params["BOND_MODE"]
	switch {
	case mode == "802.3ad":
		p.Refuse = "railbench does not create 802.3ad bonds, which need LACP at the other end. " +
			"Use balance-xor"
		return p
	case !slices.Contains(bondModes, mode):
		p.Refuse = fmt.Sprintf("BOND_MODE is %q: %s%s", mode, strings.Join(bondModes, ", "),
			steps.DidYouMean(mode, bondModes))
		return p
	}
	var held []string
	for _, e := range steps.Ends {
		// One that holds nothing is what loading the module made: the script removes it.
		for _, d := range rig.At(e).Netdevs {
			if d.Name == name && len(d.Addrs) > 0 {
				held = append(held, fmt.Sprintf("%s already exists on %s with %s", name, rig.NameOf(e), registry.And(d.Addrs)))
			}
			if d.Master == name {
				held = append(held, fmt.Sprintf("%s on %s is already in %s", d.Name, rig.NameOf(e), name))
			}
		}
		for _, r := range rig.At(e).Rails {
			if m := r.Netdev.Master; m != "" && m != name {
				held = append(held, fmt.Sprintf("%s on %s is in %s", r.Netdev.Name, rig.NameOf(e), m))
			}
		}
	}
	switch {
	case held != nil:
		if len(held) > 2 {
			held = append(held[:1], fmt.Sprintf("%d more", len(held)-1))
		}
		p.Refuse = strings.Join(held, ", and ") + ". First run: railbench run bond-teardown"
		return p
	case len(rig.Pairs) < 2:
		p.Refuse = fmt.Sprintf("a bond needs two rails that connect the nodes, and there are %d. Run: railbench run "+
			"rail-map and rail-ips", len(rig.Pairs))
		return p
	}
	if p.Refuse = unready(rig, rig.Pairs[:2]); p.Refuse != "" {
		return p
	}
	first, second := rig.Pairs[0], rig.Pairs[1]
	for _, e := range steps.Ends {
		a, b := rig.Rail(first, e), rig.Rail(second, e)
		p.Vars[e] = map[string]string{
			"BOND_SLAVES":  a.Netdev.Name + " " + b.Netdev.Name,
			"BOND_ADDR":    fmt.Sprintf("%s/%d", a.Addr, a.Prefix),
			"PEER_BOND_IP": rig.Rail(first, e.Other()).Addr,
			"BOND_MTU":     railsMTU(rig, e),
		}
		p.Becomes[e] = fmt.Sprintf("%s (%s) of %s and %s with %s/%d; %s/%d and the rails' other settings are "+
			"removed until rollback. RDMA over rail 1 or 2 does not work meanwhile",
			name, mode, a.Netdev.Name, b.Netdev.Name, a.Addr, a.Prefix, b.Addr, b.Prefix)
	}
	return p
}

// railsMTU is what a bond of an end's first two rails gets: what both of them take now.
func railsMTU(rig steps.Rig, e steps.End) string {
	return strconv.Itoa(min(rig.Rail(rig.Pairs[0], e).Netdev.MTU, rig.Rail(rig.Pairs[1], e).Netdev.MTU))
}

// planTeardown removes bonds that hold rails and that railbench knows no state
// before of. Their addresses go to their first rail, as in the tutorial. On a node
// without one it removes what loading the module made: a bond that holds nothing.
func planTeardown(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	found := false
	for _, e := range steps.Ends {
		bond, slaves := holder(rig.At(e))
		found = found || bond != ""
		if bond == "" {
			bond = emptyBond(rig, e)
			found = found || bond != ""
		}
		first := ""
		if len(slaves) > 0 {
			first = slaves[0]
		}
		addrs := addressesOn(rig.At(e), bond)
		p.Vars[e] = map[string]string{
			"BOND": bond, "BOND_SLAVES": strings.Join(slaves, " "), "BOND_FIRST": first,
			"BOND_ADDRS": strings.Join(addrs, " "),
		}
		if bond != "" {
			p.Becomes[e] = bond + " is removed"
			if lasting(rig.At(e), bond) != "" {
				p.Becomes[e] += " until the next boot"
			}
			if first != "" && len(addrs) > 0 {
				p.Becomes[e] += fmt.Sprintf(", and %s has %s", first, registry.And(addrs))
			}
		}
	}
	if !found {
		p.Nothing = "no bond holds a rail on either node, and none is empty"
	}
	return p
}

// lasting says who makes a bond again at the next boot, and what to do so that no one does; empty where no one has it
// in a configuration. What another user has made, NetworkManager only shows.
func lasting(n steps.Node, bond string) string {
	i := slices.IndexFunc(n.Netdevs, func(d steps.Netdev) bool { return d.Name == bond && bond != "" })
	if i < 0 {
		return ""
	}
	for _, m := range planned(n.Netdevs[i]) {
		for _, by := range n.Netdevs[i].Managers {
			switch file := by.Profile; {
			case by.By != m || file == "" || strings.Contains(by.State, "externally"):
			case strings.HasPrefix(file, "netplan-") || strings.Contains(file, "/10-netplan-"):
				return fmt.Sprintf("netplan has %s on %s in its files for %s and creates it again at boot. Remove "+
					"it from /etc/netplan", bond,
					n.Name, m)
			case m == networkManager:
				return fmt.Sprintf("NetworkManager's profile %s creates %s on %s again at boot. Run nmcli "+
					"connection delete for it and its ports", file, bond, n.Name)
			default:
				return fmt.Sprintf("networkd creates %s on %s again at boot from %s. Move that file and its "+
					".netdev away", bond, n.Name, file)
			}
		}
	}
	return ""
}

// holder is the bond that holds rails of a node, and all that it holds.
func holder(n steps.Node) (bond string, slaves []string) {
	for _, r := range n.Rails {
		if m := r.Netdev.Master; m != "" && (bond == "" || m == bond) && !slices.Contains(slaves, r.Netdev.Name) {
			bond, slaves = m, append(slaves, r.Netdev.Name)
		}
	}
	// It may hold more: a port whose RDMA device the adapter has merged into another.
	for _, d := range n.Netdevs {
		if bond != "" && d.Master == bond && !slices.Contains(slaves, d.Name) {
			slaves = append(slaves, d.Name)
		}
	}
	return bond, slaves
}

// addressesOn are the IPv4 addresses of an interface.
func addressesOn(n steps.Node, netdev string) (addrs []string) {
	for _, d := range n.Netdevs {
		for _, a := range d.Addrs {
			if d.Name == netdev && netdev != "" && strings.Contains(a, ".") {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// emptyBond is a bond that holds nothing and has no address.
func emptyBond(rig steps.Rig, e steps.End) string {
	for _, d := range rig.At(e).Netdevs {
		holds := slices.ContainsFunc(rig.At(e).Netdevs, func(s steps.Netdev) bool { return s.Master == d.Name })
		addressed := slices.ContainsFunc(d.Addrs, func(a string) bool { return strings.Contains(a, ".") })
		if d.BondMode != "" && !holds && !addressed {
			return d.Name
		}
	}
	return ""
}

// planRailIPs finds rails that could lead from node to node and have no address:
// the same RDMA device, active on both nodes. Each gets a subnet of its own,
// because two interfaces in one subnet answer for each other
// (assets/docs/facts.md#one-subnet-per-rail).
func planRailIPs(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	var lists [2][]string
	var devs [2][]string
	var pings [2][]string
	without := "" // why a rail can't be given an address
	taken := subnets(rig)
	for _, here := range rig.At(steps.Here).Rails {
		i := slices.IndexFunc(rig.At(steps.Peer).Rails,
			func(r steps.Rail) bool { return r.Dev == here.Dev && r.Port == here.Port })
		if i < 0 {
			continue
		}
		ends := [2]steps.Rail{here, rig.At(steps.Peer).Rails[i]}
		net, ok := addressable(ends)
		if !ok {
			continue
		}
		if !net.IsValid() {
			if net, ok = unused(taken); !ok {
				continue
			}
		}
		taken = append(taken, net)
		addrs := [2]netip.Addr{host(rig, steps.Here, net), host(rig, steps.Peer, net)}
		for _, e := range steps.Ends {
			if a, err := netip.ParseAddr(ends[e].Addr); err == nil {
				addrs[e] = a
			}
		}
		if why := unfit(ends, addrs, net); why != "" {
			without = cmp.Or(without, why)
			continue
		}
		for _, e := range steps.Ends {
			dev := ends[e].Netdev.Name
			pings[e] = append(pings[e], dev+"="+addrs[e.Other()].String())
			if ends[e].Addr == "" {
				lists[e] = append(lists[e], fmt.Sprintf("%s=%s/%d", dev, addrs[e], net.Bits()))
				devs[e] = append(devs[e], dev)
			}
		}
	}
	for _, e := range steps.Ends {
		p.Vars[e] = map[string]string{
			"ADD_IPS": strings.Join(lists[e], " "), "ADD_NETDEVS": strings.Join(devs[e], " "),
			"ADD_PINGS": strings.Join(pings[e], " "),
		}
		p.Becomes[e] = strings.ReplaceAll(strings.Join(lists[e], ", "), "=", " has ")
	}
	if len(lists[0])+len(lists[1]) == 0 {
		switch {
		case without != "":
			p.Refuse = without
		case len(rig.Pairs) == 0:
			p.Refuse = "no rail is active on both nodes. Run: railbench run rail-map"
		default:
			p.Nothing = fmt.Sprintf("every rail active on both nodes already has an address (%d rails)", len(rig.Pairs))
		}
	}
	return p
}

// unfit says why a rail can't have the addresses that were worked out for it: a prefix other than /24 may have no
// host with a node's last number, or the same for both nodes. It is empty where they are two of the subnet.
func unfit(ends [2]steps.Rail, addrs [2]netip.Addr, net netip.Prefix) string {
	if addrs[0] != addrs[1] && net.Contains(addrs[0]) && net.Contains(addrs[1]) {
		return ""
	}
	how := "set one at both ends by hand"
	if ends[0].Addr+ends[1].Addr != "" {
		how = "run fix-rail-address with RAIL_ADDRESS"
	}
	return fmt.Sprintf("%s lacks an address. By the last numbers of rail 1 it would be %s and %s in "+
		"%s: %s", ends[0].Netdev.Name, addrs[0], addrs[1], net, how)
}

// addressable says that a rail may get an address at one end or both; net is the
// subnet that the other end is in already.
func addressable(ends [2]steps.Rail) (net netip.Prefix, ok bool) {
	for _, r := range ends {
		if r.State != "ACTIVE" || r.Netdev.Name == "" || r.Netdev.Master != "" {
			return net, false
		}
		if r.Addr != "" {
			p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", r.Addr, r.Prefix))
			if err != nil || ok {
				return net, false // both have one: whether they agree is the rail map's
			}
			net, ok = p.Masked(), true
		}
	}
	return net, true
}

// subnets are those of every address on both nodes.
func subnets(rig steps.Rig) []netip.Prefix {
	var all []netip.Prefix
	for _, n := range rig.Nodes {
		for _, d := range n.Netdevs {
			for _, a := range d.Addrs {
				if p, err := netip.ParsePrefix(a); err == nil && p.Addr().Is4() {
					all = append(all, p.Masked())
				}
			}
		}
	}
	return all
}

// unused is a private subnet that nothing on the nodes overlaps.
// From 192.168.101.0/24 on, as the tutorials number second rails; 100 is their first one's.
func unused(taken []netip.Prefix) (netip.Prefix, bool) {
	for third := 101; third < 255; third++ {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(third), 0}), 24)
		if !slices.ContainsFunc(taken, p.Overlaps) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// host gives a node the last byte that its first rail has, so that its addresses
// look alike.
// 10 and 11 are the tutorials' own, where there is no rail to follow.
func host(rig steps.Rig, e steps.End, net netip.Prefix) netip.Addr {
	last := byte(10 + e)
	if len(rig.Pairs) > 0 {
		if a, err := netip.ParseAddr(rig.Rail(rig.Pairs[0], e).Addr); err == nil && a.Is4() {
			last = a.As4()[3]
		}
	}
	b := net.Addr().As4()
	b[3] = last
	return netip.AddrFrom4(b)
}

// judgeMTU: the MTU is there on both nodes, and whole packets get through.
func judgeMTU(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	if r.Skip == "" && r.Changed != nil && r.Changed.Nothing != "" {
		roce := judgeFollows(r, r.Rig, &rep)
		return rep.Verdict("nothing to do: "+r.Changed.Nothing, roce, "Nothing was changed")
	}
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	after := r.Changed.After
	want := facts[steps.Here]["wanted MTU"]
	n := 0
	for _, e := range steps.Ends {
		for _, d := range after.At(e).Netdevs {
			if !carriesRails(after, e, d.Name) {
				continue
			}
			n++
			rep.ShowAt(r.Rig.NameOf(e), d.Name+" MTU", d.MTU, "bytes", nil)
			if strconv.Itoa(d.MTU) != want {
				rep.Add(steps.NotAsAsked, steps.Fail, "%s on %s has MTU %d instead of %s", d.Name, r.Rig.NameOf(e), d.MTU,
					registry.OrUnknown(want))
			}
		}
	}
	roce := judgeFollows(r, after, &rep)
	if ok, asked := registry.Pings(r.Rig, facts, &rep); asked == 0 || n == 0 {
		rep.Add(steps.ChangeUntried, steps.Inconclusive, "no rail was tested")
	} else if ok == asked {
		return rep.Verdict(fmt.Sprintf("MTU %s on %d interfaces; packets of that size pass every rail unfragmented in "+
			"both directions", want, n), roce, registry.Kept)
	}
	return rep.Verdict()
}

// judgeFollows checks that the RoCE MTU of every device has followed its interface's. It reports how many
// devices have each MTU.
func judgeFollows(r steps.Result, rig steps.Rig, rep *registry.Report) (says string) {
	having := map[int]int{}
	for _, e := range steps.Ends {
		var untold, others []string
		for _, rail := range rig.At(e).Rails {
			if rail.InfiniBand() || !carriesRails(rig, e, rail.Netdev.Name) {
				continue
			}
			rep.ShowAt(r.Rig.NameOf(e), rail.Dev+" RoCE MTU", rail.MTU, "bytes", nil)
			switch want := steps.RoCEMTU(rail.Netdev.MTU); {
			case rail.MTUDerived: // worked out from what was just set: it proves nothing
				untold = append(untold, rail.Dev)
			case rail.MTU != want:
				others = append(others, fmt.Sprintf("%d of %s (%d follows from %d)", rail.MTU, rail.Dev, want, rail.Netdev.MTU))
			default:
				having[want]++
			}
		}
		if untold != nil {
			rep.Add(steps.Unreadable, steps.Warn, "the RoCE MTU of %[2]s on %[1]s is unknown (ibv_devinfo)", r.Rig.NameOf(e),
				registry.List(untold))
		}
		if others != nil {
			rep.Add(steps.RoCEMTUBehind, steps.Warn, "the RoCE MTU on %s is %s, which RDMA keeps using. Check active_mtu and "+
				"max_mtu in ibv_devinfo",
				r.Rig.NameOf(e), registry.List(others))
		}
	}
	var all []string
	for _, mtu := range slices.Sorted(maps.Keys(having)) {
		all = append(all, fmt.Sprintf("%d on %d devices", mtu, having[mtu]))
	}
	if all == nil {
		return ""
	}
	return "The RoCE MTU is " + registry.And(all)
}

// theirs is what a bond does to the RDMA of its rails, as far as it is known
// (assets/docs/facts.md#bonds-and-rdma).
const theirs = "Their addresses and GIDs are the bond's: RDMA over it was not tested, and " +
	"tests per rail fail or hang"

// judgeBondSetup: the bond is what was asked for on both nodes, and answers.
func judgeBondSetup(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	for _, e := range steps.Ends {
		node, f := r.Rig.NameOf(e), facts[e]
		for _, name := range []string{"mode", "hash policy", "slaves", "MII", "address", "MTU"} {
			rep.ShowAt(node, name, registry.OrUnknown(f[name]), "", nil)
		}
		// Loading the module can make a bond of the same name, in another mode.
		if f["mode"] != f["wanted mode"] || f["mode"] == "" {
			rep.Add(steps.NotAsAsked, steps.Fail, "the bond on %s is in mode %s instead of %s", node,
				registry.OrUnknown(f["mode"]), registry.OrUnknown(f["wanted mode"]))
		}
		if f["mode"] == "balance-xor" && f["hash policy"] != f["wanted hash policy"] {
			rep.Add(steps.NotAsAsked, steps.Fail, "the bond on %s hashes by %s instead of %s", node,
				registry.OrUnknown(f["hash policy"]), registry.OrUnknown(f["wanted hash policy"]))
		}
		if !registry.SameWords(f["slaves"], f["wanted slaves"]) {
			rep.Add(steps.NotAsAsked, steps.Fail, "the bond on %s holds %s instead of %s", node, registry.OrUnknown(f["slaves"]),
				registry.OrUnknown(f["wanted slaves"]))
		}
		if f["MTU"] != f["wanted MTU"] {
			rep.Add(steps.NotAsAsked, steps.Fail, "the bond on %s has MTU %s instead of %s", node, registry.OrUnknown(f["MTU"]),
				registry.OrUnknown(f["wanted MTU"]))
		}
		if f["MII"] != "up" {
			rep.Add(steps.BondDown, steps.Fail, "the bond on %s has no link (MII is %s). Check its cables", node,
				registry.OrUnknown(f["MII"]))
		}
		for i, rail := range r.Changed.After.At(e).Rails {
			if m := rail.Netdev.Master; m != "" {
				checkKept(r.Changed.After, e, held{NamedBond: parse.NamedBond{Name: m}, rails: []int{i}}, &rep)
			}
		}
	}
	if facts[steps.Here]["MTU"] != facts[steps.Peer]["MTU"] {
		rep.Add(steps.MTUDiffers, steps.Warn, "the bond's MTU differs (%s), so larger packets are lost. Run bond-teardown, "+
			"then mtu",
			each(r.Rig, func(e steps.End) string { return registry.OrUnknown(facts[e]["MTU"]) }))
	}
	if ok, asked := registry.Pings(r.Rig, facts, &rep); asked == 0 {
		rep.Add(steps.ChangeUntried, steps.Inconclusive, "the bond was not tested")
	} else if ok == asked {
		return rep.Verdict(fmt.Sprintf("%s over %s on both nodes; it answers in both directions", facts[0]["mode"],
			registry.And(strings.Fields(facts[0]["slaves"]))),
			theirs+" until bond-teardown", registry.Kept)
	}
	return rep.Verdict()
}

// judgeTeardown: no bond holds a rail, and the rails are as they were. Undone says which way it went: back to what
// was captured before bond-setup, which is exact, or by the script, which knows no state before.
func judgeTeardown(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	after := r.Changed.After
	var bare []string
	for _, e := range steps.Ends {
		rep.ShowAt(r.Rig.NameOf(e), "bonds", registry.OrUnknown(facts[e]["bonds"]), "", nil)
		for _, rail := range after.At(e).Rails {
			rep.ShowAt(r.Rig.NameOf(e), rail.Netdev.Name,
				fmt.Sprintf("%s, MTU %d, %s, GID index %d", registry.OrNone(rail.Addr), rail.Netdev.MTU,
					registry.OrUnknown(rail.State), rail.GIDIndex), "", nil)
			switch {
			case rail.Netdev.Master != "":
				rep.Add(steps.BondLeft, steps.Fail, "%s on %s is still in %s. Run bond-teardown", rail.Netdev.Name, r.Rig.NameOf(e),
					rail.Netdev.Master)
			case rail.Addr == "" && !r.Changed.Undone && rail.Netdev.Carrier:
				bare = append(bare, rail.Netdev.Name+" on "+r.Rig.NameOf(e))
			}
		}
	}
	if r.Changed.Undone {
		return rep.Verdict("the bond is removed; addresses, MTUs, MACs and routes are as captured before, " +
			"on both nodes")
	}
	held := false
	for _, e := range steps.Ends {
		bond, _ := holder(r.Rig.At(e))
		if again := lasting(r.Rig.At(e), bond); again != "" {
			rep.At(r.Rig, e, steps.BondComesBack, steps.Warn, "%s", again)
		}
		held = held || slices.ContainsFunc(r.Rig.At(e).Rails, func(x steps.Rail) bool { return x.Netdev.Master != "" })
		if name := emptyBond(after, e); name != "" {
			rep.At(r.Rig, e, steps.BondEmpty, steps.Warn, "%s on %s still exists and is empty. Run bond-teardown again", name,
				r.Rig.NameOf(e))
		}
	}
	if len(bare) > 0 {
		rep.Add(steps.AddressMissing, steps.Warn,
			"%s no address, because the state before this bond is unknown. Run rail-ips", registry.HaveOrHas(bare))
	}
	if !held {
		return rep.Verdict("the empty bonds are removed", registry.Kept)
	}
	return rep.Verdict("the bond is removed; its first rail has its address")
}

// JudgeRailIPs: every rail has an address, leads to the other node, and is alone
// in its subnet.
func JudgeRailIPs(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	after := r.Changed.After
	owner := map[string]string{}
	for _, p := range after.Pairs {
		dev := after.Rail(p, steps.Here).Dev
		rep.Show(fmt.Sprintf("%s to %s", dev, after.Rail(p, steps.Peer).Dev), p.Subnet, "", nil)
		if other := owner[p.Subnet]; other != "" {
			rep.Add(steps.SubnetShared, steps.Warn, "%s and %s share %s, so each answers for the other's address. Use one "+
				"subnet per rail", other,
				dev, p.Subnet)
		}
		owner[p.Subnet] = dev
	}
	switch now, before := len(after.Pairs), len(r.Rig.Pairs); {
	case now == before:
		rep.Add(steps.NotAsAsked, steps.Fail, "there are still %d pairs of rails", now)
	case now < before:
		rep.Add(steps.RailLost, steps.Fail, "there are %d pairs of rails, but %d before", now, before)
	}
	if ok, asked := registry.Pings(r.Rig, facts, &rep); asked == 0 {
		rep.Add(steps.ChangeUntried, steps.Inconclusive, "no rail was tested")
	} else if ok == asked {
		return rep.Verdict(fmt.Sprintf("%d rails connect the nodes, %d before, each in its own subnet; all new ones "+
			"answer", len(after.Pairs), len(r.Rig.Pairs)), registry.Kept)
	}
	return rep.Verdict()
}

// planCleanup is for a rig on which the journal has nothing to take back.
func planCleanup(rig steps.Rig, _ map[string]string) steps.Plan {
	p := steps.Plan{Nothing: "everything that railbench changed on this rig is undone"}
	for _, e := range steps.Ends {
		bond, _ := holder(rig.At(e))
		if bond == "" {
			continue
		}
		p.Nothing += fmt.Sprintf("; %s on %s was not made by railbench and stays (bond-teardown removes it)", bond,
			rig.NameOf(e))
		if again := lasting(rig.At(e), bond); again != "" {
			p.Nothing += " until the next boot. " + again
		}
	}
	return p
}

// judgeCleanup: what was changed is back, and nothing of it is left on the nodes.
func judgeCleanup(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	facts, v, done := registry.Changed(c, r, &rep)
	if done {
		return v
	}
	for _, e := range steps.Ends {
		rep.ShowAt(r.Rig.NameOf(e), "bonds", registry.OrUnknown(facts[e]["bonds"]), "", nil)
		rep.ShowAt(r.Rig.NameOf(e), "changes left", registry.OrUnknown(facts[e]["changes left"]), "", nil)
		if left := facts[e]["changes left"]; left != "none" {
			rep.Add(steps.RollbackLeft, steps.Warn, "%s still has the rollback of another change (%s). If another machine made "+
				"it, run railbench undo there", r.Rig.NameOf(e), registry.OrUnknown(left))
		}
	}
	return rep.Verdict("everything that railbench changed is undone on both nodes: addresses, MTUs, " +
		"MACs, bonds and routes")
}

// planNetplan fills in the persistent form: from the bond that is there, or from
// the rails that would make it. Its MTU is theirs now, one that mtu has kept too: the lasting form
// promises nothing that was not tried.
func planNetplan(rig steps.Rig, params map[string]string) (p steps.Plan) {
	path, ok := rig.Path()
	for _, e := range steps.Ends {
		var slaves []string
		addr, mtu := "", ""
		if ok && path.Bonded[e] {
			for _, i := range path.Rails[e] {
				slaves = append(slaves, rig.At(e).Rails[i].Netdev.Name)
			}
			for _, a := range path.Netdevs[e].Addrs {
				if strings.HasPrefix(a, path.Addrs[e]+"/") {
					addr = a
				}
			}
			mtu = strconv.Itoa(path.Netdevs[e].MTU)
		} else if len(rig.Pairs) >= 2 {
			first, second := rig.Rail(rig.Pairs[0], e), rig.Rail(rig.Pairs[1], e)
			slaves = []string{first.Netdev.Name, second.Netdev.Name}
			addr, mtu = fmt.Sprintf("%s/%d", first.Addr, first.Prefix), railsMTU(rig, e)
		}
		if len(slaves) < 2 {
			p.Refuse = "a bond needs two rails that connect the nodes. Run: railbench run rail-map"
		}
		p.Vars[e] = map[string]string{
			"BOND_SLAVES": strings.Join(slaves, " "), "BOND_ADDR": addr, "BOND_MTU": mtu,
			"RENDERER": renderer(rig.At(e)),
		}
	}
	return p
}

// renderer is whom netplan gives a node's rails, or else who has its other interfaces. networkd is
// netplan's own default.
func renderer(n steps.Node) string {
	for _, r := range n.Rails {
		if by := planned(r.Netdev); by != nil {
			return by[0]
		}
	}
	for _, d := range n.Netdevs {
		for _, m := range d.HeldBy() {
			if tends(m) {
				return m.By
			}
		}
	}
	return networkd
}

// planned is for which managers netplan has a file of an interface: the one that manages it, or, while a change has
// it, the one whose file is still there.
func planned(d steps.Netdev) (all []string) {
	for _, m := range d.Managers {
		if tends(m) && (m.Holds() || m.Profile != "") {
			all = append(all, m.By)
		}
	}
	return all
}

// The managers for which netplan writes files.
const (
	networkManager = "NetworkManager"
	networkd       = "networkd"
)

// tends reports whether a manager is one for which netplan writes files.
func tends(m steps.Manager) bool { return m.By == networkManager || m.By == networkd }

// managedElsewhere names those that have a node's rails, and that netplan writes nothing for.
func managedElsewhere(n steps.Node) string {
	var all []string
	for _, r := range n.Rails {
		for _, m := range r.Netdev.HeldBy() {
			if !tends(m) && !slices.Contains(all, m.By) {
				all = append(all, m.By)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + registry.And(all) + " manages them)"
}

// planNetplanTry lets the managers make what netplan would report them. There have to be some: they manage the rails,
// or a change that was kept has made these unmanaged.
func planNetplanTry(rig steps.Rig, params map[string]string) steps.Plan {
	p := planBond(rig, params)
	for _, e := range steps.Ends {
		if p.Vars[e] != nil {
			p.Vars[e]["RENDERER"] = renderer(rig.At(e))
		}
		if two := bothRenderers(rig.At(e), p.Vars[e]["BOND_SLAVES"]); two != "" {
			p.Nothing, p.Refuse = "", fmt.Sprintf("on %s %s, so two managers would create one bond. Give its rails one "+
				"renderer first", rig.NameOf(e), two)
		}
		if !slices.ContainsFunc(rig.At(e).Rails,
			func(r steps.Rail) bool { return slices.ContainsFunc(r.Netdev.Managers, tends) }) {
			// Not a refusal: without a manager there is nothing to try, and that is not a fault.
			p.Refuse, p.Nothing = "", fmt.Sprintf("neither NetworkManager nor networkd knows a rail of %s%s, so netplan would "+
				"have no effect", rig.NameOf(e), managedElsewhere(rig.At(e)))
		}
	}
	return p
}

// bothRenderers says where a node's rails for a bond are different managers'.
func bothRenderers(n steps.Node, slaves string) string {
	of := map[string]string{} // a rail of each
	for _, r := range n.Rails {
		if !slices.Contains(strings.Fields(slaves), r.Netdev.Name) {
			continue
		}
		by := planned(r.Netdev)
		if by == nil && slices.ContainsFunc(r.Netdev.Managers, tends) {
			by = []string{networkManager} // its files are not readable
		}
		for _, m := range by {
			of[m] = r.Netdev.Name
		}
	}
	if len(of) < 2 {
		return ""
	}
	return fmt.Sprintf("NetworkManager has %s and networkd has %s", of[networkManager], of[networkd])
}

// judgeNetplanTry: the managers made the bond that the file says, and it answered. Where no one could be asked to,
// nothing is known of the file.
func judgeNetplanTry(c steps.Cell, r steps.Result) steps.Verdict {
	if r.Skip == "" && r.Changed != nil && r.Changed.Nothing != "" {
		var rep registry.Report
		return rep.Skipped(steps.CannotRun, "nothing was tried: %s", r.Changed.Nothing)
	}
	v := judgeBondSetup(c, r)
	if v.Grade == steps.Pass && r.Changed.Tried {
		v.Reason = registry.Sentences([]string{
			registry.Capital(fmt.Sprintf("%s made the bond from netplan's files with MTU %s; it answered in both "+
				"directions",
				each(r.Rig, func(e steps.End) string { return renderer(r.Rig.At(e)) }), railsMTU(r.Rig, steps.Here))),
		})
		v.Evidence = append(v.Evidence, steps.Evidence{
			Name: steps.NoteName, Value: "Both nodes are as they were before. The cell netplan shows how to keep the " +
				"bond.",
		})
	}
	return v
}

// each is what both ends have, or what either has.
func each(rig steps.Rig, of func(steps.End) string) string {
	here, peer := of(steps.Here), of(steps.Peer)
	if here == peer {
		return here + " on both nodes"
	}
	return fmt.Sprintf("%s on %s and %s on %s", here, rig.NameOf(steps.Here), peer, rig.NameOf(steps.Peer))
}

// judgeNetplan: netplan itself takes the file on both nodes, and it says the same MTU on both.
// It is asked in a folder of its own (netplan generate --root-dir), which changes nothing of the node.
func judgeNetplan(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	outputs, ok := registry.OnBoth(r, &rep)
	var mtu [2]string
	for _, e := range steps.Ends {
		o, ran := outputs[e]
		switch {
		case !ran:
		case !o.Exit.OK():
			rep.Add(steps.NetplanRefuses, steps.Fail, "netplan on %s rejects the file: %s", r.Rig.NameOf(e),
				registry.LastLine(o.Text))
		case !strings.Contains(o.Text, "bonds:"):
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the file was not shown on %s", r.Rig.NameOf(e))
		default:
			rep.ShowAt(r.Rig.NameOf(e), "netplan", "accepts the file", "", nil)
			if m := plannedMTU.Regexp().FindStringSubmatch(o.Text); m != nil {
				mtu[e] = m[1]
			}
			rep.ShowAt(r.Rig.NameOf(e), "MTU of the file", registry.OrUnknown(mtu[e]), "", nil)
		}
	}
	if !ok {
		return rep.Verdict()
	}
	if mtu[steps.Here] != mtu[steps.Peer] {
		rep.Add(steps.MTUDiffers, steps.Warn, "the files would keep two MTUs (%s), so larger packets would be lost. Run mtu "+
			"first",
			each(r.Rig, func(e steps.End) string { return registry.OrUnknown(mtu[e]) }))
	}
	return rep.Verdict("netplan accepts the file on both nodes with the rails' MTU of "+
		registry.OrUnknown(mtu[steps.Here])+
		"; nothing was applied", "A bond made with ip is lost at reboot")
}

// plannedMTU is a line of netplan's file: all of its interfaces get one MTU.
var plannedMTU = lazyregexp.New(`(?m)^ *mtu: ([0-9]{1,9})$`)
