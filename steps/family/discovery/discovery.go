package discovery

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/verify"
)

// judgeInterfaces: the rails' interfaces are up and have a link.
func judgeInterfaces(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	up := 0
	outputs, ok := registry.OnBoth(r, &rep)
	if !ok { // what one end shows alone may only follow from the other's absence
		return rep.Verdict()
	}
	for _, e := range steps.Ends {
		o, ok := outputs[e]
		if !ok || registry.Exited(r, o, &rep) {
			continue
		}
		links, ok := registry.Value[[]parse.Link](r, o, &rep)
		if !ok {
			continue
		}
		node := r.Rig.NameOf(e)
		if len(r.Rig.At(e).Rails) == 0 {
			rep.Add(steps.RDMADeviceMissing, steps.Fail, "%s has no RDMA device, so no interface belongs to a rail", node)
		}
		for i, rail := range r.Rig.At(e).Rails {
			name := rail.Netdev.Name
			at := slices.IndexFunc(links, func(l parse.Link) bool { return l.Name == name })
			if name == "" || at < 0 {
				rep.Add(steps.InterfaceMissing, steps.Fail, "%s of %s has no interface", rail.Dev, node)
				continue
			}
			if judgeLink(r.Rig, e, links[at], rail.Netdev.Master, r.Rig.InUse(e, i), &rep) {
				up++
			}
			showManagers(node, rail.Netdev, &rep)
		}
	}
	if up == 0 {
		rep.Add(steps.NoRail, steps.Fail, "no interface of a rail is up")
	}
	checkLeftOut(r.Rig, &rep)
	verify.Rates(r.Rig, &rep)
	return rep.Verdict(fmt.Sprintf("all interfaces with a rail are up and have a link (%d on both nodes)", up))
}

// checkLeftOut says which ports lead to no rail, although they should.
func checkLeftOut(rig steps.Rig, rep *registry.Report) {
	for _, why := range rig.LeftOut() {
		rep.Add(steps.PortLeftOut, steps.Warn, "%s, so that port is not a rail. Run: railbench doctor rail-addresses", why)
	}
}

// judgeLink reports whether a rail's interface is up and has a link. What nothing uses may be
// off: a DGX Spark has four functions, and the tutorial addresses two. A slave of a bond works,
// and the cells for single rails won't.
func judgeLink(rig steps.Rig, e steps.End, l parse.Link, master string, used bool, rep *registry.Report) bool {
	node := rig.NameOf(e)
	rep.ShowAt(node, l.Name, fmt.Sprintf("%s, mtu %d, %s", linkState(l), l.MTU,
		registry.OrNone(strings.Join(l.Addrs, " "))), "", nil)
	grade, off, unlinked, use := steps.Fail, steps.InterfaceOff, steps.LinkDown, ""
	if !used {
		grade, off, unlinked, use = steps.Pass, "", "", " (no IPv4 address, not used)"
	}
	switch {
	case !l.Up():
		rep.At(rig, e, off, grade, "%s on %s is switched off%s. Run: ip link set %s up", l.Name, node, use, l.Name)
		return false
	case !l.Carrier():
		rep.At(rig, e, unlinked, grade, "%s on %s has no link%s. Check its cable at both ends", l.Name, node, use)
		return false
	case master != "":
		rep.At(rig, e, steps.RailInBond, steps.Warn, "%s on %s belongs to %s, which has its address and GIDs", l.Name,
			node, master)
	}
	return true
}

// showManagers reports what manages a rail's interface. Two daemons that both configure it take turns: the
// daemon that looks last sets what the other one has removed.
func showManagers(node string, d steps.Netdev, rep *registry.Report) {
	held := d.HeldBy()
	var names, words []string
	for _, m := range held {
		names, words = append(names, m.By), append(words, m.String())
	}
	if len(d.Managers) > 0 {
		rep.ShowAt(node, d.Name+" managed by", registry.OrNone(strings.Join(words, "; ")), "", nil)
	}
	if len(held) > 1 {
		rep.Add(steps.SeveralManagers, steps.Warn, "%s on %s is managed by %s at the same time. Leave it to one of them",
			d.Name, node, registry.List(names))
	}
	for _, m := range held {
		if m.Trouble != "" {
			rep.Add(steps.ManagerTrouble, steps.Warn, "%s on %s is managed by %s, and railbench cannot change it: %s",
				d.Name, node, m.By, m.Trouble)
		}
	}
}

func linkState(l parse.Link) string {
	switch {
	case !l.Up():
		return "off"
	case !l.Carrier():
		return "no link"
	}
	return "up"
}

// judgeDevices: the RDMA devices are there, the same on both nodes, and active.
func judgeDevices(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	var names [2][]string
	var firmware [2][]string
	read, active := 0, false
	outputs, ok := registry.OnBoth(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	for _, e := range steps.Ends {
		o, ok := outputs[e]
		if !ok {
			continue
		}
		node := r.Rig.NameOf(e)
		d, ok := o.Value.(parse.Devices)
		// ibv_devinfo answers "No IB devices found" with a status of its own.
		if ok && len(d.HCAs) == 0 && o.ParseErr == "" || o.Ran && len(r.Rig.At(e).Rails) == 0 {
			rep.Add(steps.RDMADeviceMissing, steps.Fail, "%s has no RDMA device. Check that its driver is loaded: lsmod | grep "+
				"-e mlx5_ib -e rdma_rxe", node)
			read++
			continue
		}
		if registry.Exited(r, o, &rep) {
			continue
		}
		if d, ok = registry.Value[parse.Devices](r, o, &rep); !ok {
			continue
		}
		read++
		names[e], firmware[e] = judgeHCAs(r.Rig, e, d.HCAs, &rep)
		active = active || slices.ContainsFunc(d.HCAs, func(h parse.HCA) bool {
			return slices.ContainsFunc(h.Ports, func(p parse.HCAPort) bool { return p.State == "ACTIVE" })
		})
	}
	if read == len(steps.Ends) {
		compareDevices(r.Rig, names, firmware, &rep)
	}
	// Also where nothing is in use: of nodes that lost their addresses no port would be.
	if !active && read > 0 && rep.Verdict().Grade == steps.Pass {
		rep.Add(steps.PortDown, steps.Fail, "no RDMA port is ACTIVE on either node")
	}
	return rep.Verdict(fmt.Sprintf("%d RDMA devices on each node, all used ones ACTIVE: %s", len(names[0]),
		strings.Join(names[0], ", ")))
}

// judgeHCAs gives the devices of a node and their firmware, each release once and in the order
// of ibv_devinfo, in which compareDevices holds the nodes against each other.
func judgeHCAs(rig steps.Rig, e steps.End, hcas []parse.HCA, rep *registry.Report) (names, firmware []string) {
	for _, h := range hcas {
		names = append(names, h.ID)
		if h.Firmware != "" && !slices.Contains(firmware, h.Firmware) {
			firmware = append(firmware, h.Firmware)
		}
		for _, p := range h.Ports {
			text := fmt.Sprintf("%s, active_mtu %d, firmware %s", p.State, p.ActiveMTU, registry.OrUnknown(h.Firmware))
			if rep.ShowAt(rig.NameOf(e), h.ID, text, "", nil); p.State != "ACTIVE" {
				judgeDown(rig, e, h.ID, p.Port, p.State, rep)
			}
		}
	}
	return names, firmware
}

// judgeDown reports a port that is not ACTIVE. One that nothing uses is none of ours.
func judgeDown(rig steps.Rig, e steps.End, dev string, port int, state string, rep *registry.Report) {
	node, rails := rig.NameOf(e), rig.At(e).Rails
	i := slices.IndexFunc(rails, func(x steps.Rail) bool { return x.Dev == dev && x.Port == port })
	if i >= 0 && !rig.InUse(e, i) {
		rep.Add("", steps.Pass, "%s on %s is %s; it has no IPv4 address and is not used", dev, node, state)
		return
	}
	netdev := "its interface"
	if i >= 0 && rails[i].Netdev.Name != "" {
		netdev = rails[i].Netdev.Name
	}
	rep.At(rig, e, steps.PortDown, steps.Fail, "%s on %s is %s. Check %s (ip link) and the port's cable", dev, node,
		registry.OrUnknown(state), netdev)
}

// compareDevices: the two ends have the same.
func compareDevices(rig steps.Rig, names, firmware [2][]string, rep *registry.Report) {
	here, peer := rig.NameOf(steps.Here), rig.NameOf(steps.Peer)
	if a, b := len(names[0]), len(names[1]); a != b {
		rep.Add(steps.DevicesDiffer, steps.Warn, "%s has %d RDMA devices but %s has %d. Run: railbench doctor "+
			"adapter-present rdma-ports", here, a, peer, b)
	}
	if !slices.Equal(firmware[0], firmware[1]) && len(firmware[0]) > 0 && len(firmware[1]) > 0 {
		rep.Add(steps.FirmwareDiffers, steps.Warn, "the adapters' firmware differs: %s on %s, %s on %s",
			registry.List(firmware[0]), here, registry.List(firmware[1]), peer)
	}
}

// judgeRailMap says what each rail is before anything is measured on it. It
// judges the rig as it was probed; the script shows the same to the reader.
func judgeRailMap(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	outputs, ok := registry.OnBoth(r, &rep)
	for _, o := range outputs {
		ok = ok && !registry.Exited(r, o, &rep)
	}
	if !ok {
		return rep.Verdict()
	}
	rig := r.Rig
	for _, e := range steps.Ends {
		if rig.At(e).Err != "" {
			rep.Add(steps.NodeAway, steps.Inconclusive, "%s could not be probed: %s", rig.NameOf(e), rig.At(e).Err)
			continue
		}
		if len(rig.At(e).Rails) == 0 {
			rep.Add(steps.RDMADeviceMissing, steps.Fail, "%s has no RDMA device", rig.NameOf(e))
		}
		for _, rail := range rig.At(e).Rails {
			rep.ShowAt(rig.NameOf(e), rail.Dev, Describe(rail), "", nil)
		}
	}
	// A rail that the rig file names has to be there: a map of the others would look complete.
	for _, m := range rig.Missing {
		rep.Add(steps.RailMissing, steps.Fail, "%s", registry.Capital(m))
	}
	// A node that is missing would make a finding of each of its rails.
	if len(rep.Findings) > 0 {
		return rep.Verdict()
	}
	for i, p := range rig.Pairs {
		if !rig.HasPair(i) {
			return registry.Inconclusive(steps.RailMissing, "The rig's pair %d names a missing rail.", i+1)
		}
		a, b := rig.Rail(p, steps.Here), rig.Rail(p, steps.Peer)
		rep.Show(fmt.Sprintf("rail %d", i+1), fmt.Sprintf("%s %s - %s %s in %s", rig.NameOf(steps.Here), a.Dev,
			rig.NameOf(steps.Peer), b.Dev, p.Subnet), "", nil)
	}
	checkBonds(rig, &rep)
	checkAddresses(rig, &rep)
	checkPairs(rig, &rep)
	checkSlots(rig, &rep)
	verify.Rates(rig, &rep)
	shared := checkSharing(rig, &rep)
	v := rep.Verdict(railsInWords(rig), shared)
	if len(rig.Pairs) > 0 {
		v.Tables = []steps.Table{railTable(rig)}
	}
	return v
}

// railTable is the map: which device leads to which, and through what.
func railTable(rig steps.Rig) steps.Table {
	here, peer := rig.NameOf(steps.Here), rig.NameOf(steps.Peer)
	// What counts is the place: a narrow screen leaves the last columns out.
	place := []steps.Column{
		{Name: "connector"},
		{Name: "PCIe link"},
		{Name: "PCI function"},
		{Name: "interface"},
		{Name: "link Gb/s", Number: true},
	}
	devices := []steps.Column{{Name: here}, {Name: peer}}
	alike := !slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool {
		return rig.Rail(p, steps.Here).Dev != rig.Rail(p, steps.Peer).Dev
	})
	if alike {
		devices = []steps.Column{{Name: "device on both"}}
	}
	t := steps.Table{
		Title:   "rails",
		Columns: slices.Concat([]steps.Column{{Name: "rail", Number: true}}, devices, place),
		Note:    "Connector, PCIe link, function, interface and link rate are those of " + here + ".",
	}
	for i, p := range rig.Pairs {
		a, b := rig.Rail(p, steps.Here), rig.Rail(p, steps.Peer)
		link, connector, rate := "none", "none", "unknown" // as with soft-RoCE
		if a.PCI.Addr != "" {
			link = strings.TrimPrefix(limits.Slot(a.PCI.GTps, a.PCI.Width), "PCIe ")
		}
		if a.PhysPort >= 0 {
			connector = fmt.Sprint(a.PhysPort)
		}
		if a.RateGbps > 0 {
			rate = fmt.Sprint(a.RateGbps)
		}
		devs := []string{a.Dev, b.Dev}
		t.Rows = append(t.Rows, slices.Concat([]string{fmt.Sprint(i + 1)}, devs[:len(devices)],
			[]string{connector, link, cmp.Or(a.PCI.Addr, "none"), cmp.Or(a.Netdev.Name, "none"), rate}))
	}
	return t
}

// Describe puts a rail into one line.
func Describe(r steps.Rail) string {
	port, link, slot := "port unknown", "link rate unknown", "PCI unknown"
	if r.PhysPort >= 0 {
		port = fmt.Sprintf("port %d", r.PhysPort)
	}
	if r.RateGbps > 0 {
		link = fmt.Sprintf("link %g Gb/s", r.RateGbps)
	}
	if r.PCI.Addr != "" {
		slot = r.PCI.Addr + " " + limits.Slot(r.PCI.GTps, r.PCI.Width)
		if ceiling, _ := limits.Ceiling(r); ceiling > 0 {
			slot += fmt.Sprintf(" (about %.1f Gb/s of payload)", ceiling)
		}
	}
	addr := "no IPv4 address"
	if r.Addr != "" {
		addr = fmt.Sprintf("%s/%d", r.Addr, r.Prefix)
	}
	mtu := fmt.Sprintf("MTU %d, %s %d", r.Netdev.MTU, r.MTUName(), r.MTU)
	if r.MTUDerived {
		mtu += " (derived)"
	}
	return strings.Join([]string{
		registry.OrUnknown(r.Netdev.Name), port, slot, link, registry.OrUnknown(r.State), mtu,
		addr,
	}, ", ")
}

func railsInWords(rig steps.Rig) string {
	if len(rig.Pairs) == 1 {
		return "one rail connects the nodes"
	}
	return fmt.Sprintf("%d rails connect the nodes", len(rig.Pairs))
}

// checkBonds: a bond takes the addresses, and with them the GIDs, away from the
// rails that it holds.
func checkBonds(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		held := map[string][]string{}
		var bonds []string
		for _, rail := range rig.At(e).Rails {
			if m := rail.Netdev.Master; m != "" {
				if held[m] == nil {
					bonds = append(bonds, m)
				}
				held[m] = append(held[m], rail.Netdev.Name)
			}
		}
		for _, b := range bonds {
			rep.Add(steps.RailInBond, steps.Fail, "%s on %s holds %s and has taken over their GIDs. Remove the bond before "+
				"RDMA tests: railbench run bond-teardown", b, rig.NameOf(e), registry.List(held[b]))
		}
	}
}

// checkAddresses: no address twice, and one subnet per rail. Of IPv4 alone: a RoCE v2 GID that
// the cells use is made of one, and link-local IPv6 is in one subnet everywhere.
func checkAddresses(rig steps.Rig, rep *registry.Report) {
	type owner struct{ node, netdev string }
	owners := map[string][]owner{}
	var order []string
	for _, e := range steps.Ends {
		subnets := map[netip.Prefix][]string{}
		var seen []netip.Prefix
		for _, rail := range rig.At(e).Rails {
			for _, a := range rail.Netdev.Addrs {
				p, err := netip.ParsePrefix(a)
				if err != nil || !p.Addr().Is4() {
					continue
				}
				addr := p.Addr().String()
				if owners[addr] == nil {
					order = append(order, addr)
				}
				// Two devices may be of one interface: soft-RoCE next to an adapter's own.
				if o := (owner{rig.NameOf(e), rail.Netdev.Name}); !slices.Contains(owners[addr], o) {
					owners[addr] = append(owners[addr], o)
				}
				net := p.Masked()
				if subnets[net] == nil {
					seen = append(seen, net)
				}
				if !slices.Contains(subnets[net], rail.Netdev.Name) {
					subnets[net] = append(subnets[net], rail.Netdev.Name)
				}
			}
		}
		for _, net := range seen {
			if names := subnets[net]; len(names) > 1 {
				rep.Add(steps.SubnetShared, steps.Warn, "%s on %s share the subnet %s, so replies may take the wrong rail. Give "+
					"each rail its own subnet", registry.List(names), rig.NameOf(e), net)
			}
		}
	}
	for _, addr := range order {
		o := owners[addr]
		if len(o) > 1 {
			rep.Add(steps.DuplicateIP, steps.Fail, "address %s is assigned twice: %s on %s and %s on %s. Run: "+
				"railbench doctor duplicate-ip --fix",
				addr, o[0].netdev, o[0].node, o[1].netdev, o[1].node)
		}
	}
	if len(rig.Pairs) == 0 {
		checkNoPair(rig, rep)
	}
}

// checkNoPair says why no rail leads to the other node.
func checkNoPair(rig steps.Rig, rep *registry.Report) {
	var without []string
	for _, e := range steps.Ends {
		if ip, looked := rig.At(e).Tools["ip"]; looked && ip.Path == "" {
			rep.At(rig, e, steps.CommandMissing, steps.Inconclusive, "the addresses of %s are unknown: ip is missing there. "+
				"Install iproute2, then probe the rig again", rig.NameOf(e))
			return
		}
		if !slices.ContainsFunc(rig.At(e).Rails, func(x steps.Rail) bool { return x.Addr != "" }) {
			without = append(without, rig.NameOf(e))
		}
	}
	if len(without) > 0 {
		rep.Add(steps.AddressMissing, steps.Fail,
			"no rail connects the nodes: no rail of %s has an IPv4 address. Run rail-ips", registry.List(without))
	} else {
		rep.Add(steps.SubnetsDiffer, steps.Fail, "no rail connects the nodes: their rails are in different subnets. Check "+
			"rail-addresses")
	}
}

// checkPairs: both ends of a rail are alike and alive.
func checkPairs(rig steps.Rig, rep *registry.Report) {
	paired := [2]map[int]bool{{}, {}}
	for i, p := range rig.Pairs {
		for _, e := range steps.Ends {
			paired[e][p.Rails[e]] = true
			if rail := rig.Rail(p, e); rail.State != "ACTIVE" {
				rep.Add(steps.PortDown, steps.Fail, "rail %d is %s on %s (%s). Check %s and its cable", i+1,
					registry.OrUnknown(rail.State), rig.NameOf(e), rail.Dev, registry.OrUnknown(rail.Netdev.Name))
			}
		}
		checkAlike(rig, i+1, rig.Rail(p, steps.Here), rig.Rail(p, steps.Peer), rep)
	}
	if len(rig.Pairs) == 0 {
		return
	}
	for _, e := range steps.Ends {
		for i, rail := range rig.At(e).Rails {
			// Of a bond's the address is the bond's, and in a rig of more nodes a rail may lead to another of
			// them.
			if paired[e][i] || rail.Addr == "" || rail.Netdev.Master != "" || rig.LeadsElsewhere(rail) {
				continue
			}
			code, todo := steps.SubnetsDiffer, "Run: railbench doctor rail-addresses"
			for j, twin := range rig.At(e.Other()).Rails {
				if twin.Dev == rail.Dev && twin.Addr == "" && !paired[e.Other()][j] {
					code = steps.AddressMissing
					todo = fmt.Sprintf("Its %s has no IPv4 address. Run: railbench run rail-ips", twin.Netdev.Name)
				}
			}
			rep.Add(code, steps.Warn, "%s on %s has %s/%d, but %s has no rail in that subnet. %s", rail.Dev, rig.NameOf(e),
				rail.Addr, rail.Prefix, rig.NameOf(e.Other()), todo)
		}
	}
}

// checkAlike compares the two ends of a rail. The interfaces' MTU comes first, because the RoCE
// MTU follows from it: the largest of 256 to 4096 that fits.
func checkAlike(rig steps.Rig, no int, a, b steps.Rail, rep *registry.Report) {
	here, peer := rig.NameOf(steps.Here), rig.NameOf(steps.Peer)
	if a.Netdev.MTU != b.Netdev.MTU {
		rep.Add(steps.MTUDiffers, steps.Warn, "rail %d has MTU %d on %s but %d on %s. Large packets are dropped. Set both "+
			"alike: railbench run mtu", no, a.Netdev.MTU, here, b.Netdev.MTU, peer)
	} else if a.MTU != b.MTU {
		rep.Add(steps.MTUDiffers, steps.Warn, "rail %d has %s %d on %s but %d on %s. The smaller is used. "+
			"Run: railbench doctor mtu-equal", no, a.MTUName(),
			a.MTU, here, b.MTU, peer)
	}
	// In a ring a port leads to the next node's other one, and no third node is in the subnet of both.
	ring := len(rig.Nodes) > len(steps.Ends) && !rig.LeadsElsewhere(a)
	if a.PhysPort >= 0 && b.PhysPort >= 0 && a.PhysPort != b.PhysPort && !ring {
		rep.Add(steps.CablesCrossed, steps.Warn, "rail %d connects port %d of %s to port %d of %s. Check for crossed cables",
			no, a.PhysPort, here, b.PhysPort, peer)
	}
}

// checkSlots: a PCIe link that came up narrower or slower than it could. Said once for all
// functions behind it.
func checkSlots(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		halves := map[string][]string{}
		var order []string
		by := map[string]steps.Rail{}
		for _, rail := range rig.At(e).Rails {
			if limits.Narrow(rail) {
				h := rail.PCI.Half()
				if halves[h] == nil {
					order = append(order, h)
					by[h] = rail
				}
				halves[h] = append(halves[h], rail.Dev)
			}
		}
		for _, h := range order {
			rail := by[h]
			ceiling, _ := limits.Ceiling(rail)
			rep.Add(steps.PCIeNarrow, steps.Warn,
				"%s on %s run at %s instead of %s (about %.0f Gb/s). Run: railbench doctor pcie-link",
				registry.List(halves[h]), rig.NameOf(e), limits.Slot(rail.PCI.GTps, rail.PCI.Width), limits.Slot(rail.PCI.MaxGTps,
					rail.PCI.MaxWidth), ceiling)
		}
	}
}

// checkSharing names rails that share one PCIe link and so can't be added up,
// and a pair that doesn't. It returns what there is to say where another pair is
// at hand already.
// Where two pairs are behind different links already that is a piece of advice; else it is a WARN, as another
// rail has to get an address first.
func checkSharing(rig steps.Rig, rep *registry.Report) string {
	var sharing [2]int
	found := false
	apart := ""
	for i := range rig.Pairs {
		for j := i + 1; j < len(rig.Pairs); j++ {
			a, b := rig.Pairs[i], rig.Pairs[j]
			if rig.SharesHalf(a, b) {
				// Two slow ports behind a wide link don't get in each other's way.
				if sum, ceiling := together(rig, a, b); !found && (sum == 0 || sum > ceiling) {
					sharing, found = [2]int{i, j}, true
				}
				continue
			}
			known := rig.Rail(a, steps.Here).PCI.Half() != "" && rig.Rail(b, steps.Here).PCI.Half() != ""
			if apart == "" && known {
				apart = fmt.Sprintf("rails %d and %d use two links ", i+1, j+1) + cables(rig, a, b)
			}
		}
	}
	if !found {
		return ""
	}
	a := rig.Rail(rig.Pairs[sharing[0]], steps.Here)
	_, ceiling := together(rig, rig.Pairs[sharing[0]], rig.Pairs[sharing[1]])
	text := fmt.Sprintf("rails %d and %d share one %s link (%s): about %.0f Gb/s together",
		sharing[0]+1, sharing[1]+1, limits.Slot(a.PCI.GTps, a.PCI.Width), a.PCI.Half(), ceiling)
	if apart != "" {
		return text + "; " + apart
	}
	if better := betterPair(rig); better != "" {
		text += ". Better: " + better
	}
	rep.Add(steps.RailsSharePCIe, steps.Warn, "%s", text)
	return ""
}

// cables says over what two pairs of rails add up. Rails at one connector share its cable.
func cables(rig steps.Rig, a, b steps.Pair) string {
	for _, e := range steps.Ends {
		x, y := rig.Rail(a, e), rig.Rail(b, e)
		switch {
		case x.PhysPort < 0 || y.PhysPort < 0:
			return "and add up to their cables' limit"
		case x.PhysPort == y.PhysPort && x.RateGbps > 0:
			gbps := x.RateGbps // a cable is as fast as its slower end
			if other := rig.Rail(a, e.Other()).RateGbps; other > 0 {
				gbps = min(gbps, other)
			}
			return fmt.Sprintf("and share one cable of %.0f Gb/s", gbps)
		case x.PhysPort == y.PhysPort:
			return "and share one cable"
		}
	}
	return "and have one cable each"
}

// together is the sum of two rails' link rates and the ceiling of the PCIe link
// that they share, at the tighter end.
func together(rig steps.Rig, a, b steps.Pair) (sum, ceiling float64) {
	ceiling = math.Inf(1)
	for _, e := range steps.Ends {
		x, y := rig.Rail(a, e), rig.Rail(b, e)
		if c, _ := limits.Ceiling(x); x.PCI.Half() != "" && x.PCI.Half() == y.PCI.Half() && c > 0 {
			ceiling = min(ceiling, float64(c))
		}
		if x.RateGbps > 0 && y.RateGbps > 0 {
			sum = max(sum, x.RateGbps+y.RateGbps)
		}
	}
	return sum, ceiling
}

// betterPair names two rails of the first pair's connector that are behind
// different PCIe links: the two halves of one port.
func betterPair(rig steps.Rig) string {
	if len(rig.Pairs) == 0 {
		return ""
	}
	a := rig.Rail(rig.Pairs[0], steps.Here)
	for _, e := range steps.Ends {
		for _, b := range rig.At(e).Rails {
			if a.PhysPort < 0 || b.PhysPort != a.PhysPort || b.PCI.Half() == "" || b.PCI.Half() == a.PCI.Half() {
				continue
			}
			text := fmt.Sprintf("%s with %s, the two PCIe halves of port %d", a.Dev, b.Dev, a.PhysPort)
			switch {
			case b.State != "ACTIVE":
				text += fmt.Sprintf(" (%s is %s)", b.Dev, b.State)
			case b.Addr == "":
				text += fmt.Sprintf(" (%s needs an address in its own subnet)", b.Netdev.Name)
			}
			return text
		}
	}
	return ""
}

// judgePing: each rail answers, also to a packet of its full MTU.
func judgePing(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	for _, s := range r.Stages {
		judgePingStage(r, s, &rep)
	}
	pingsApart(r, &rep)
	n := len(r.Stages)
	pass := fmt.Sprintf("all %d rails answer, also to packets of full MTU without fragmentation", n)
	switch n {
	case 1:
		pass = "the rail answers, also to packets of full MTU without fragmentation"
	case 2:
		pass = "both rails answer, also to packets of full MTU without fragmentation"
	}
	return rep.Verdict(pass)
}

// pingsApart compares the fastest answers of the rails: an average has whatever woke late.
func pingsApart(r steps.Result, rep *registry.Report) {
	least, best := map[int]float64{}, 0.0
	for _, s := range r.Stages {
		if len(s.Outputs) == 0 || !r.Rig.HasPair(s.Pair) || r.Rig.Rail(r.Rig.Pairs[s.Pair], steps.Here).Soft() {
			continue
		}
		pings, _ := s.Outputs[len(s.Outputs)-1].Value.([]parse.Ping)
		if len(pings) == 0 || pings[0].Received == 0 || pings[0].MinMS <= 0 {
			continue
		}
		least[s.Pair] = pings[0].MinMS
		if best == 0 || least[s.Pair] < best {
			best = least[s.Pair]
		}
	}
	for _, s := range r.Stages {
		if ms := least[s.Pair]; ms > limits.RailsApart.Value()*best && ms-best > limits.PathDelay.Value() {
			m := registry.Measurement{No: s.Pair + 1, Dev: r.Rig.Rail(r.Rig.Pairs[s.Pair], steps.Here).Netdev.Name}
			rep.On(m, steps.PathDelay, steps.Warn, "fastest ping %.3g ms, %.3g on the fastest rail: something delays packets. "+
				"Check shaping and routes", ms, best)
		}
	}
}

func showPing(name string, p parse.Ping, rep *registry.Report) {
	rep.Show(name+", lost", p.LossPercent, "%",
		&steps.Expected{Max: new(0.0), From: "a direct cable loses no packet"})
	if p.Received > 0 {
		rep.Show(name+", round trip", p.AvgMS, "ms",
			&steps.Expected{
				Max: new(limits.SlowPing.Value()), From: "an idle direct link answers well below a millisecond",
			})
	}
}

// judgePingStage judges one rail by its two runs of ping: small packets, and such as fill the MTU.
func judgePingStage(r steps.Result, s steps.Stage, rep *registry.Report) {
	if !r.Rig.HasPair(s.Pair) {
		rep.Add(steps.NoRail, steps.Inconclusive, "a stage belongs to no rail")
		return
	}
	pair := r.Rig.Pairs[s.Pair]
	here, peer := r.Rig.Rail(pair, steps.Here), r.Rig.Rail(pair, steps.Peer)
	m := registry.Measurement{No: s.Pair + 1, Dev: here.Netdev.Name}
	if s.Err != "" {
		rep.On(m, steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", s.Err)
	}
	if len(s.Outputs) == 0 {
		rep.On(m, steps.NothingRan, steps.Inconclusive, "nothing ran")
		return
	}
	o := s.Outputs[len(s.Outputs)-1]
	if f, bad := registry.Trouble(r.Rig, o); bad {
		rep.On(m, f.Code, f.Grade, "%s", f.Text)
		return
	}
	pings, ok := registry.Value[[]parse.Ping](r, o, rep)
	if !ok {
		return
	}
	if len(pings) != 2 {
		rep.On(m, steps.OutputIncomplete, steps.Inconclusive, "%d of 2 pings were made", len(pings))
		return
	}
	normal, full := pings[0], pings[1]
	showPing(here.Dev+" ping", normal, rep)
	showPing(here.Dev+" ping at full MTU, unfragmented", full, rep)
	if why := cmp.Or(contradicts(normal, peer), contradicts(full, peer)); why != "" {
		rep.On(m, steps.OutputForeign, steps.Inconclusive, "ping's output is not from this test: %s", why)
		return
	}
	if size := full.Bytes + icmpHeaders; full.Bytes > 0 && here.Netdev.MTU > 0 && size != here.Netdev.MTU {
		rep.On(m, steps.SizeTooSmall, steps.Inconclusive, "the second ping is of %d bytes and does not fill the MTU of %d. "+
			"Rerun this cell", size, here.Netdev.MTU)
	}
	judgePings(r.Rig, m, here, peer, normal, full, rep)
	// Losses were reported above. A status other than 0 with no loss was not.
	back := func(p parse.Ping) bool { return p.Received > 0 && p.LossPercent == 0 }
	if back(normal) && back(full) && !o.Exit.OK() {
		rep.On(m, steps.ScriptFailed, steps.Inconclusive, "every ping was answered, but the script ended with %s",
			o.Exit)
	}
}

// icmpHeaders are those of a ping, with IPv4's, bytes.
const icmpHeaders = 28

// contradicts says why a run of ping is none of a rail's other end, or none at all.
func contradicts(p parse.Ping, peer steps.Rail) string {
	switch {
	case p.Addr != "" && peer.Addr != "" && p.Addr != peer.Addr:
		return fmt.Sprintf("it asked %s, but the rail's other end is %s", p.Addr, peer.Addr)
	case p.Received > p.Sent:
		return fmt.Sprintf("%d answers to %d packets", p.Received, p.Sent)
	case p.Received > 0 && p.AvgMS <= 0:
		return "answers without a time"
	}
	return ""
}

// strange reports answers that came otherwise than from the other end of a cable, unchanged.
func strange(m registry.Measurement, p parse.Ping, rep *registry.Report) {
	if len(p.Strange) > 0 {
		rep.On(m, steps.AnswerChanged, steps.Warn, "a ping answer was changed or took another path than the cable: %s",
			p.Strange[0])
	}
	// 64, 128 and 255 are what systems begin with, and each router takes one.
	if p.TTL > 0 && p.TTL != 64 && p.TTL != 128 && p.TTL != 255 {
		rep.On(m, steps.RouterBetween, steps.Warn,
			"answers have a TTL of %d, so a router is in the path. A rail should have none", p.TTL)
	}
}

// judgePings looks at small packets, and at those that fill the MTU.
// Small ones first: where they get lost, a large one that does so too says nothing about the MTU.
func judgePings(rig steps.Rig, m registry.Measurement, here, peer steps.Rail, normal, full parse.Ping,
	rep *registry.Report,
) {
	if normal.Received > 0 {
		rep.Measured(steps.Figure{
			What: steps.RoundTrip, Value: 1000 * normal.AvgMS, Unit: "us", Rails: []int{m.No},
			MTU: here.Netdev.MTU,
		})
	}
	switch {
	case normal.Received == 0:
		why := ""
		if len(normal.Errors) > 0 {
			why = " (" + normal.Errors[0] + ")"
		}
		rep.On(m, steps.NoAnswer, steps.Fail, "%s does not answer at %s%s. Run: railbench doctor link-up rail-addresses",
			rig.NameOf(steps.Peer), peer.Addr, why)
		return
	case normal.LossPercent > 0:
		rep.On(m, steps.PacketsLost, steps.Warn, "%g %% of the pings were lost. Check the cable. Run: "+
			"railbench doctor path-loss",
			normal.LossPercent)
	case here.Soft() || peer.Soft(): // whose processors answer when they come to it
	case normal.AvgMS > limits.SlowPing.Value():
		rep.On(m, steps.LatencyHigh, steps.Warn, "%.1f ms round trip is too slow for a direct cable. Check the route",
			normal.AvgMS)
	case max(normal.MaxMS, full.MaxMS) > limits.SlowPing.Value():
		rep.On(m, steps.LatencyTail, steps.Warn, "one answer took %.1f ms, the average is %.3g. Check power saving and "+
			"other traffic", max(normal.MaxMS, full.MaxMS), normal.AvgMS)
	}
	strange(m, normal, rep)
	strange(m, full, rep)
	if twice := normal.Duplicates + full.Duplicates; twice > 0 {
		rep.On(m, steps.DuplicateAnswers, steps.Warn, "%d duplicate answers: two machines have %s (railbench doctor "+
			"duplicate-ip), or packets are repeated on the path", twice, peer.Addr)
	}
	differ := fmt.Sprintf("MTU %d on %s but %d on %s", here.Netdev.MTU, rig.NameOf(steps.Here), peer.Netdev.MTU,
		rig.NameOf(steps.Peer))
	switch {
	case full.Received == 0 && here.Netdev.MTU != peer.Netdev.MTU:
		rep.On(m, steps.MTUDiffers, steps.Fail, "packets of full MTU are dropped: %s. Set both alike", differ)
	case full.Received == 0:
		why := ""
		if full.PathMTU > 0 {
			why = fmt.Sprintf(" (path MTU %d)", full.PathMTU)
		}
		rep.On(m, steps.PathMTUSmall, steps.Fail, "small packets arrive, but packets of MTU %d do not%s. Check devices in "+
			"between, such as a switch", here.Netdev.MTU, why)
	case full.LossPercent > 0:
		rep.On(m, steps.PacketsLost, steps.Warn, "%g %% of the packets of full MTU were lost. Check the cable. Run: "+
			"railbench doctor path-loss",
			full.LossPercent)
	case here.Netdev.MTU != peer.Netdev.MTU:
		rep.On(m, steps.MTUDiffers, steps.Warn, "the ends differ: %s. Large packets may be dropped in the other direction. "+
			"Set both alike", differ)
	}
}
