package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	tutorial "github.com/railbench/railbench/steps/family/bond"
	"github.com/railbench/railbench/steps/family/discovery"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// Bonds, and the RDMA ports that they change.

// judgeRailBond: no rail's interface is in a bond, or in anything else.
func judgeRailBond(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	var holds [2]map[string][]string // rails' interfaces, by what they are in
	rails := 0
	for _, e := range steps.Ends {
		holds[e] = map[string][]string{}
		if facts[e]["interfaces in another"] == "" {
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the bonds and bridges on %s", rig.NameOf(e))
			continue
		}
		for _, rail := range rig.At(e).Rails {
			master := facts[e][rail.Netdev.Name+" is in"]
			rep.ShowAt(rig.NameOf(e), rail.Netdev.Name+" is in", orNothing(master), "", nil)
			rails++
			if master != "" && !slices.Contains(holds[e][master], rail.Netdev.Name) {
				holds[e][master] = append(holds[e][master], rail.Netdev.Name)
			}
		}
	}
	for _, e := range steps.Ends {
		for _, master := range registry.SortedNames(holds[e]) {
			node, there := rig.NameOf(e), rig.NameOf(e.Other())
			held := registry.List(holds[e][master])
			rep.Decide(node + " " + holds[e][master][0] + " is in")
			switch {
			// A bridge, a team or a VRF: railbench's teardown knows bonds only.
			case facts[e][master+" is"] == "no bond":
				rep.At(rig, e, steps.RailInBridge, steps.Fail, "%s on %s is in %s, which is not a bond: tests per rail fail. "+
					"Run: ip link set %s nomaster", held, node, master, holds[e][master][0])
				rep.Explain("Addresses and GIDs of %s belong to %s", held, master)
			// With a bond at both ends TCP works as meant, and that is a WARN.
			case len(holds[e.Other()]) == 0:
				rep.At(rig, e, steps.BondOneSided, steps.Fail, "%s on %s contains %s, but %s has no bond: tests per rail fail, "+
					"and TCP loses packets. Remove the bond", master, node, held, there)
				rep.Explain("What TCP sends over the second link of %s gets lost. By hand: railbench run bond-teardown", master)
			default:
				rep.At(rig, e, steps.RailInBond, steps.Warn, "%s on %s contains %s: TCP can use both links, but RDMA tests per "+
					"rail fail. Remove the bond", master, node, held)
				rep.Explain("The GIDs belong to %s, not to the rails. By hand: railbench run bond-teardown", master)
			}
		}
	}
	checks.Missing(rig, rep)
	if rails == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "neither node has a rail")
	}
	return rep.Verdict(fmt.Sprintf("no rail is in a bond or a bridge (%d on both nodes)", rails))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// compareBonds holds the bonds that hold rails at one end against those at the other. mode is that of this end's; both
// is false where an end has none.
func compareBonds(
	rig steps.Rig, facts [2]map[string]string, with [2][]string, rep *registry.Report,
) (mode string, both bool) {
	for _, e := range steps.Ends {
		if len(with[e]) > 0 && len(with[e.Other()]) == 0 && facts[e.Other()]["bonds"] != "" {
			rep.At(rig, e, steps.BondOneSided, steps.Fail, "%s on %s has no bond at its other end (%s): packets over the "+
				"second link are lost. Bond both nodes or neither", registry.List(with[e]), rig.NameOf(e), rig.NameOf(e.Other()))
			rep.Decide(rig.NameOf(e) + " " + with[e][0])
		}
	}
	if len(with[0]) == 0 || len(with[1]) == 0 {
		return "", false
	}
	a, b := facts[0][with[0][0]+" mode"], facts[1][with[1][0]+" mode"]
	if a != b {
		rep.Add(steps.BondsDiffer, steps.Warn, "the bond modes differ: %s on %s, %s on %s. Use one mode on both nodes",
			firstWord(a), rig.NameOf(steps.Here), firstWord(b), rig.NameOf(steps.Peer))
		rep.Decide(rig.NameOf(steps.Here)+" "+with[0][0], rig.NameOf(steps.Peer)+" "+with[1][0])
	}
	return firstWord(a), true
}

// judgeBondHealth: every bond that could hold rails holds two, in a mode that works
// on direct cables, and sees its links.
func judgeBondHealth(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	var with [2][]string // bonds that hold rails
	modules := ""        // where a bond could not be made
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		if f["bonds"] == "" {
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the bonds on %s", node)
			continue
		}
		rep.ShowAt(node, "bonding module", registry.OrUnknown(f["bonding module"]), "", nil)
		if strings.Contains(f["bonding module"], "not found") {
			modules = fmt.Sprintf("%s has no bonding module, so it cannot have a bond", node)
		}
		for bond := range strings.FieldsSeq(f["bonds"]) {
			if bond == "none" {
				continue
			}
			slaves := strings.Fields(f[bond+" holds"])
			if f[bond+" holds"] == "none" {
				slaves = nil
			}
			rep.ShowAt(node, bond, fmt.Sprintf("%s, MII %s, contains %s", registry.OrUnknown(f[bond+" mode"]),
				registry.OrUnknown(f[bond+" MII"]), orNothing(registry.And(slaves))), "", nil)
			if len(slaves) == 0 {
				made := "created by hand, or by the bonding module's settings in /etc/modprobe.d"
				if mode := firstWord(f[bond+" mode"]); tutorial.MadeByItself(bond, mode) {
					made = "loading the bonding module created it"
				}
				// It does not matter who made it: its name blocks the bond that would hold rails.
				rep.At(rig, e, steps.BondEmpty, steps.Warn, "%s on %s is empty: %s (%s). Creating it again fails (\"File "+
					"exists\"). Remove it", bond, node, made, firstWord(f[bond+" mode"]))
				rep.Explain("By hand: railbench run bond-teardown")
				rep.Decide(node + " " + bond)
				continue
			}
			if !slices.ContainsFunc(slaves, func(s string) bool { return carries(rig, e, s) }) {
				continue // not of a rail
			}
			with[e] = append(with[e], bond) // those alone have another end to compare with
			checkBondFacts(rig, e, bond, slaves, f, rep)
		}
	}
	if mode, both := compareBonds(rig, facts, with, rep); both {
		return rep.Verdict(fmt.Sprintf("%s on both nodes is healthy: mode %s, links up and monitored", with[0][0], mode))
	}
	return rep.Verdict("no bond contains a rail, and no empty bond is left over", modules)
}

// checkBondFacts looks at one bond that holds rails, as its files in /sys/class/net/BOND/bonding report it.
func checkBondFacts(rig steps.Rig, e steps.End, bond string, slaves []string, f map[string]string,
	rep *registry.Report,
) {
	node, mode := rig.NameOf(e), firstWord(f[bond+" mode"])
	if len(slaves) == 1 {
		rep.At(rig, e, steps.BondSingle, steps.Warn, "%s on %s contains only %s: a bond of one link is neither faster nor "+
			"safer. Add the second link, or remove the bond", bond, node, slaves[0])
	}
	for _, s := range slaves {
		if mii := f[bond+" "+s+" MII"]; mii != "up" {
			rep.At(rig, e, steps.BondLinkDown, steps.Fail, "%s, a link of %s on %s, is %s. Check its cable, and that it is "+
				"switched on", s, bond, node, registry.OrUnknown(mii))
		}
	}
	if mii := f[bond+" MII"]; mii != "up" {
		code, grade := steps.BondDown, steps.Fail
		if mii == "" || mii == unread {
			code, grade = steps.Unreadable, steps.Inconclusive
		}
		rep.At(rig, e, code, grade, "the link state of %s on %s is %s; a bond carries traffic only when it is up", bond, node,
			registry.OrUnknown(mii))
	}
	if miimon := f[bond+" miimon"]; miimon == "" || miimon == unread {
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read how %s on %s monitors its links (miimon)", bond,
			node)
	}
	switch mode {
	case "unknown", unread:
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the mode of %s on %s", bond, node)
	case "balance-rr":
		rep.At(rig, e, steps.BondReorders, steps.Warn, "%s on %s uses balance-rr, which reorders the packets of a "+
			"connection. Create it again: railbench run bond-setup", bond, node)
		rep.Explain("balance-rr sends the packets of one connection over both links in turn. Read the mode back after " +
			"bond-setup")
	case "802.3ad":
		rep.At(rig, e, steps.BondNeedsLACP, steps.Warn, "%s on %s uses 802.3ad, which needs LACP at the other end (a "+
			"switch or a bond). Without LACP, use balance-xor", bond, node)
	}
	// The driver looks by one of two: at the carrier (miimon), or for answers to ARP (bond_main.c, bond_check_params).
	if arp, _ := strictnum.Count(f[bond+" ARP interval"]); f[bond+" miimon"] == "0" && arp == 0 && mode != "802.3ad" {
		rep.At(rig, e, steps.BondUnwatched, steps.Warn, "%s on %s does not monitor its links (miimon 0): a dead link still "+
			"gets packets. Run: ip link set %s type bond miimon 100", bond, node, bond)
	}
}

// unread is how the script writes a file of a bond's that it can't read, or that is empty.
const unread = "none"

func firstWord(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return registry.OrUnknown(first)
}

// judgeRoceLAG: no adapter has merged its ports into one RDMA device.
func judgeRoceLAG(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	functions, told := 0, 0
	for _, e := range steps.Ends {
		node, f := r.Rig.NameOf(e), facts[e]
		names := f["interfaces of such adapters"]
		if names == "" {
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read which interfaces on %s use the mlx5 "+
				"driver", node)
			continue
		}
		told++
		slots := map[string][]string{} // interfaces without a device, by slot without its function
		var merged []string
		for netdev := range strings.FieldsSeq(names) {
			if netdev == "none" {
				continue
			}
			functions++
			device, slot := f[netdev+" RDMA device"], f[netdev+" slot"]
			rep.ShowAt(node, netdev, fmt.Sprintf("%s, at %s", registry.OrUnknown(device), registry.OrUnknown(slot)), "", nil)
			// The two ports of an adapter are two functions of one slot: 0000:01:00.0 and .1. The driver merges
			// those.
			half := steps.PCI{Addr: slot}.Half()
			switch {
			case device == "":
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the RDMA device of %s on %s", netdev, node)
			// By itself no finding: a function without a device is one that has been merged, or all lack their
			// driver. The loop below sees which.
			case device == "none":
				slots[half] = append(slots[half], netdev)
			case strings.Contains(device, "bond"):
				merged = append(merged, half)
				rep.At(r.Rig, e, steps.RoCELAG, steps.Fail, "%s on %s is one RDMA device for both adapter ports (RoCE LAG): a "+
					"bond merged them. Tests per rail fail. Remove the bond", device, node)
				rep.Explain("The rails' own RDMA devices are back once the bond is removed. By hand: railbench run bond-teardown")
				rep.Decide(node + " " + netdev)
			}
		}
		for netdev := range strings.FieldsSeq(names) {
			device, half := f[netdev+" RDMA device"], steps.PCI{Addr: f[netdev+" slot"]}.Half()
			if lacks := slots[half]; device != "none" && lacks != nil && half != "" && !slices.Contains(merged, half) {
				merged = append(merged, half)
				rep.At(r.Rig, e, steps.RoCELAG, steps.Fail, "%s on %s has no RDMA device, but %s has %s: RoCE LAG merged the "+
					"ports, or the driver failed (dmesg). Remove any bond", registry.List(lacks), node, netdev, device)
				rep.Decide(node+" "+lacks[0], node+" "+netdev)
			}
		}
	}
	v := rep.Verdict(fmt.Sprintf("no adapter has merged its ports into one RDMA device (%d on both nodes)", functions))
	if functions == 0 && told == len(steps.Ends) && len(rep.Findings) == 0 {
		v.Grade, v.Code = steps.Skipped, steps.CannotRun
		v.Reason = "Neither node has an mlx5 adapter, and only mlx5 merges ports."
	}
	return v
}

// judgeRDMAPorts: the rails' ports are ACTIVE RoCE ports that programs see.
// sysfs has the state as "4: ACTIVE", the number of the verbs' enum before the word.
func judgeRDMAPorts(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	active, blind := 0, false
	for _, e := range steps.Ends {
		node, f := rig.NameOf(e), facts[e]
		devices := f["RDMA devices"]
		switch devices {
		case "":
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the RDMA devices on %s", node)
			continue
		case "none":
			rep.At(rig, e, steps.RDMADeviceMissing, steps.Fail, "no RDMA device on %s: its driver is not loaded, or the "+
				"adapter is gone. Run: lsmod | grep -e mlx5_ib -e rdma_rxe", node)
			rep.Explain("Without an RDMA device everything uses TCP, or fails")
			continue
		}
		for i, rail := range rig.At(e).Rails {
			port := fmt.Sprintf("%s port %d ", rail.Dev, rail.Port)
			state, layer := f[port+"state"], f[port+"link_layer"]
			rep.ShowAt(node, rail.Dev, fmt.Sprintf("%s, %s, %s", registry.OrUnknown(state),
				registry.OrUnknown(f[port+"phys_state"]), discovery.Describe(rail)), "", nil)
			_, word, _ := strings.Cut(state, ": ")
			switch {
			case state == "":
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the state of %s on %s", rail.Dev, node)
			case word == "ACTIVE":
				active++
			case !checks.Wanted(rig, e, i):
				rep.Add("", steps.Pass, "%s on %s is %s, but unused: neither end has an address", rail.Dev, node, word)
			default:
				rep.At(rig, e, steps.PortDown, steps.Fail, "%s on %s is %s (%s): RDMA over it fails with \"Port number %d state "+
					"is Down\". Run: railbench doctor link-up", rail.Dev, node, registry.OrUnknown(word),
					registry.OrUnknown(afterColon(f[port+"phys_state"])), rail.Port)
				rep.Decide(node + " " + rail.Dev)
			}
			checkLayer(rig, e, i, layer, rep)
		}
		blind = checkVerbs(rig, e, f, rep) || blind
	}
	checkSameDevices(rig, rep)
	// Also where nothing is wanted, as on nodes that lost their addresses.
	if active == 0 && rep.Verdict().Grade == steps.Pass {
		rep.Add(steps.PortDown, steps.Fail, "no RDMA port is ACTIVE on either node: see link-up")
	}
	note := "programs see every device"
	if blind {
		note = "ibv_devices is missing, so it is unknown whether programs see every device"
	}
	by := "RoCE"
	if discovery.Addressing(rig) != "RoCE v2" {
		by = "RDMA"
	}
	return rep.Verdict(fmt.Sprintf("every used %s port is ACTIVE (%d on both nodes)", by, active), note)
}

// checkLayer finds a port that is of another kind than the other end of its rail, or whose kind is
// unknown. Rails that are InfiniBand at both ends are right.
func checkLayer(rig steps.Rig, e steps.End, i int, layer string, rep *registry.Report) {
	rail, node := rig.At(e).Rails[i], rig.NameOf(e)
	alike := slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool {
		return int(e) < len(p.Rails) && p.Rails[e] == i && rig.Rail(p, e).Layer == layer &&
			rig.Rail(p, e.Other()).Layer == layer
	})
	switch {
	case layer == "":
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read whether %s on %s is an Ethernet port", rail.Dev,
			node)
	case layer != "Ethernet" && !alike && checks.Wanted(rig, e, i):
		rep.At(rig, e, steps.LinkLayersDiffer, steps.Warn, "%s on %s is an %s port, but the other end of its rail is not. "+
			"Set LINK_TYPE_P%d to ETH with mlxconfig", rail.Dev, node, layer, max(1, rail.Port))
		rep.Explain("An InfiniBand port needs a subnet manager and has no IPv4 GIDs")
	}
}

// checkSameDevices finds RDMA devices that one node has and the other lacks.
func checkSameDevices(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		other := rig.At(e.Other()).Rails
		var lacks []string
		for i, rail := range rig.At(e).Rails {
			same := func(r steps.Rail) bool { return r.Dev == rail.Dev && r.Port == rail.Port }
			if len(other) > 0 && checks.Counterpart(rig, e, i) < 0 && !slices.ContainsFunc(other, same) {
				lacks = append(lacks, rail.Dev)
			}
		}
		if lacks != nil {
			rep.At(rig, e.Other(), steps.DevicesDiffer, steps.Warn, "%s lacks %s, which %s has: the driver failed (see "+
				"dmesg), a bond merged ports, or the adapters differ", rig.NameOf(e.Other()), registry.List(lacks), rig.NameOf(e))
		}
	}
}

func afterColon(s string) string {
	if _, word, ok := strings.Cut(s, ": "); ok {
		return word
	}
	return s
}

// checkVerbs: the library sees the devices that the kernel has. blind says that
// it is unknown.
// A device file that can't be opened comes first: then ibv_devices lists every device all the same,
// as it reads sysfs.
func checkVerbs(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) (blind bool) {
	node, seen := rig.NameOf(e), f["devices that programs see"]
	files := f["device files that may be opened"]
	rep.ShowAt(node, "device files that may be opened", registry.OrUnknown(files), "", nil)
	rep.ShowAt(node, "devices that programs see", registry.OrUnknown(seen), "", nil)
	if files == "0" {
		rep.At(rig, e, steps.UverbsClosed, steps.Fail, "no program of this user can open an RDMA device on %s "+
			"(/dev/infiniband/uverbs*). Run: modprobe ib_uverbs", node)
		rep.Explain("The files are missing, or closed to this user: the udev rules of rdma-core open them")
		rep.Decide(node + " device files that may be opened")
		return false
	}
	if strings.Contains(seen, "not installed") || seen == "" || files == "" {
		return true
	}
	var hidden []string
	names := strings.Fields(seen)
	for dev := range strings.FieldsSeq(f["RDMA devices"]) {
		if !slices.Contains(names, dev) && !slices.Contains(hidden, dev) {
			hidden = append(hidden, dev)
		}
	}
	if hidden != nil {
		rep.At(rig, e, steps.VerbsProviderMissing, steps.Fail, "programs on %s do not see %s, which the kernel has: the "+
			"verbs provider is missing. Install ibverbs-providers", node, registry.List(hidden))
		rep.Explain("ibverbs-providers has to be of the same release as libibverbs1")
		rep.Decide(node + " devices that programs see")
	}
	return false
}
