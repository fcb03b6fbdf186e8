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
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell which interfaces are in another",
				rig.NameOf(e))
			continue
		}
		for _, rail := range rig.At(e).Rails {
			master := facts[e][rail.Netdev.Name+" is in"]
			rep.Show(rig.NameOf(e)+" "+rail.Netdev.Name+" is in", orNothing(master), "", nil)
			rails++
			if master != "" && !slices.Contains(holds[e][master], rail.Netdev.Name) {
				holds[e][master] = append(holds[e][master], rail.Netdev.Name)
			}
		}
	}
	for _, e := range steps.Ends {
		for _, master := range registry.SortedNames(holds[e]) {
			node, there := rig.NameOf(e), rig.NameOf(e.Other())
			held := registry.And(holds[e][master])
			switch {
			// A bridge, a team or a VRF: railbench's teardown knows bonds only.
			case facts[e][master+" is"] == "no bond":
				rep.At(rig, e, steps.RailInBridge, steps.Fail, "%s on %s is in %s, which is no bond: its addresses and GIDs are "+
					"that one's, and tests per rail fail. ip link set %s nomaster takes it out", held, node, master,
					holds[e][master][0])
			// With a bond at both ends TCP works as meant, and that is a WARN.
			case len(holds[e.Other()]) == 0:
				rep.At(rig, e, steps.BondOneSided, steps.Fail, "%s on %s holds %s, and %s has no bond: a test per rail fails or "+
					"hangs, and what TCP sends over its second link gets lost. bond-teardown removes it", master, node, held, there)
			default:
				rep.At(rig, e, steps.RailInBond, steps.Warn, "%s on %s holds %s: TCP may use both links, and RDMA per rail fails "+
					"or hangs, because the GIDs are the bond's. bond-teardown removes it", master, node, held)
			}
		}
	}
	checks.Missing(rig, rep)
	if rails == 0 && len(rep.Findings) == 0 {
		rep.Add(steps.NoRail, steps.Inconclusive, "there is no rail on either node")
	}
	return rep.Verdict(fmt.Sprintf("no rail's interface is in a bond or a bridge (%d on both nodes), so each has its "+
		"own address and GIDs", rails))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
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
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell its bonds", node)
			continue
		}
		rep.Show(node+" bonding module", registry.OrUnknown(f["bonding module"]), "", nil)
		if strings.Contains(f["bonding module"], "not found") {
			modules = fmt.Sprintf("A bond could not be made on %s: it has no bonding module", node)
		}
		for bond := range strings.FieldsSeq(f["bonds"]) {
			if bond == "none" {
				continue
			}
			slaves := strings.Fields(f[bond+" holds"])
			if f[bond+" holds"] == "none" {
				slaves = nil
			}
			rep.Show(node+" "+bond, fmt.Sprintf("%s, MII %s, holds %s", registry.OrUnknown(f[bond+" mode"]),
				registry.OrUnknown(f[bond+" MII"]), orNothing(registry.And(slaves))), "", nil)
			if len(slaves) == 0 {
				made := "somebody made it, or settings of the bonding module (/etc/modprobe.d)"
				if mode := firstWord(f[bond+" mode"]); tutorial.MadeByItself(bond, mode) {
					made = "loading the bonding module made it"
				}
				// Whoever's it is: its name is in the way of the one that would hold rails.
				rep.At(rig, e, steps.BondEmpty, steps.Warn, "%s on %s is empty: %s, in %s, and a bond of that name can't be made "+
					"any more (\"File exists\"). bond-teardown removes it", bond, node, made, firstWord(f[bond+" mode"]))
				continue
			}
			if !slices.ContainsFunc(slaves, func(s string) bool { return carries(rig, e, s) }) {
				continue // somebody else's
			}
			with[e] = append(with[e], bond) // those alone have another end to compare with
			checkBondFacts(rig, e, bond, slaves, f, rep)
		}
	}
	for _, e := range steps.Ends {
		if len(with[e]) > 0 && len(with[e.Other()]) == 0 && facts[e.Other()]["bonds"] != "" {
			rep.At(rig, e, steps.BondOneSided, steps.Fail, "%s on %s has no bond at its other end: what goes over its second "+
				"link arrives at an interface of %s that doesn't know the address. Bond both nodes or neither",
				registry.And(with[e]),
				rig.NameOf(e), rig.NameOf(e.Other()))
		}
	}
	if len(with[0]) > 0 && len(with[1]) > 0 {
		a, b := facts[0][with[0][0]+" mode"], facts[1][with[1][0]+" mode"]
		if a != b {
			rep.Add(steps.BondsDiffer, steps.Warn, "the two ends bond in different modes: %s on %s and %s on %s", firstWord(a),
				rig.NameOf(steps.Here), firstWord(b), rig.NameOf(steps.Peer))
		}
		return rep.Verdict(fmt.Sprintf("%s on both nodes is whole: %s, its links are up and watched", with[0][0],
			firstWord(a)))
	}
	return rep.Verdict("no bond holds a rail, and none is left over empty", modules)
}

// checkBondFacts looks at one bond that holds rails, as its files in /sys/class/net/BOND/bonding
// tell it.
func checkBondFacts(rig steps.Rig, e steps.End, bond string, slaves []string, f map[string]string,
	rep *registry.Report,
) {
	node, mode := rig.NameOf(e), firstWord(f[bond+" mode"])
	if len(slaves) == 1 {
		rep.At(rig, e, steps.BondSingle, steps.Warn, "%s on %s holds %s only: a bond of one link is no faster and no safer "+
			"than the link",
			bond, node, slaves[0])
	}
	for _, s := range slaves {
		if mii := f[bond+" "+s+" MII"]; mii != "up" {
			rep.At(rig, e, steps.BondLinkDown, steps.Fail, "%s, a link of %s on %s, is %s: check its cable, and that it is "+
				"switched on", s, bond,
				node, registry.OrUnknown(mii))
		}
	}
	if mii := f[bond+" MII"]; mii != "up" {
		code, grade := steps.BondDown, steps.Fail
		if mii == "" || mii == unread {
			code, grade = steps.Unreadable, steps.Inconclusive
		}
		rep.At(rig, e, code, grade, "%s on %s itself is %s: nothing goes over it unless it is up", bond, node,
			registry.OrUnknown(mii))
	}
	if miimon := f[bond+" miimon"]; miimon == "" || miimon == unread {
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells how often %s on %s looks at its links (miimon)",
			bond, node)
	}
	switch mode {
	case "unknown", unread:
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells the mode of %s on %s", bond, node)
	case "balance-rr":
		rep.At(rig, e, steps.BondReorders, steps.Warn, "%s on %s is balance-rr: it deals one connection's packets out to "+
			"both links, and they arrive in disorder. Make it anew with bond-setup, and read the mode back", bond, node)
	case "802.3ad":
		rep.At(rig, e, steps.BondNeedsLACP, steps.Warn, "%s on %s is 802.3ad, which needs another end that speaks LACP: a "+
			"switch, or a bond of the same mode. balance-xor does without", bond, node)
	}
	// The driver looks by one of two: at the carrier (miimon), or for answers to ARP (bond_main.c, bond_check_params).
	if arp, _ := strictnum.Count(f[bond+" ARP interval"]); f[bond+" miimon"] == "0" && arp == 0 && mode != "802.3ad" {
		rep.At(rig, e, steps.BondUnwatched, steps.Warn, "%s on %s never looks at its links (miimon is 0): one that is dead "+
			"would get packets still", bond, node)
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
			rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell which interfaces are an mlx5 adapter's",
				node)
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
			rep.Show(node+" "+netdev, fmt.Sprintf("%s, at %s", registry.OrUnknown(device), registry.OrUnknown(slot)), "", nil)
			// The two ports of an adapter are two functions of one slot: 0000:01:00.0 and .1. The driver merges
			// those.
			half := steps.PCI{Addr: slot}.Half()
			switch {
			case device == "":
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells the RDMA device of %s on %s", netdev, node)
			// By itself no finding: a function without a device is one that has been merged, or all lack their
			// driver. The loop below sees which.
			case device == "none":
				slots[half] = append(slots[half], netdev)
			case strings.Contains(device, "bond"):
				merged = append(merged, half)
				rep.At(r.Rig, e, steps.RoCELAG, steps.Fail, "%s on %s is one RDMA device for both ports of its adapter (RoCE "+
					"LAG), because a bond holds them: the rails' own devices are gone, and tests per rail find none. bond-teardown "+
					"brings them back", device, node)
			}
		}
		for netdev := range strings.FieldsSeq(names) {
			device, half := f[netdev+" RDMA device"], steps.PCI{Addr: f[netdev+" slot"]}.Half()
			if lacks := slots[half]; device != "none" && lacks != nil && half != "" && !slices.Contains(merged, half) {
				merged = append(merged, half)
				rep.At(r.Rig, e, steps.RoCELAG, steps.Fail, "%s on %s has no RDMA device of its own, and %s beside it has %s: the "+
					"adapter has merged its ports (RoCE LAG), or the driver has left one of them (dmesg). bond-teardown puts the "+
					"first right", registry.And(lacks), node, netdev, device)
			}
		}
	}
	v := rep.Verdict(fmt.Sprintf("each interface of the adapters has an RDMA device of its own (%d on both nodes), or "+
		"none has", functions))
	if functions == 0 && told == len(steps.Ends) && len(rep.Findings) == 0 {
		v.Grade, v.Code = steps.Skipped, steps.CannotRun
		v.Reason = "Neither node has an adapter with the mlx5 driver, and only that merges ports."
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
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "%s doesn't tell its RDMA devices", node)
			continue
		case "none":
			rep.At(rig, e, steps.RDMADeviceMissing, steps.Fail, "%s has no RDMA device: its driver is not loaded (lsmod | grep "+
				"-e mlx5_ib -e rdma_rxe), or the adapter is gone. Without one everything takes TCP, or fails", node)
			continue
		}
		for i, rail := range rig.At(e).Rails {
			port := fmt.Sprintf("%s port %d ", rail.Dev, rail.Port)
			state, layer := f[port+"state"], f[port+"link_layer"]
			rep.Show(node+" "+rail.Dev, fmt.Sprintf("%s, %s, %s", registry.OrUnknown(state),
				registry.OrUnknown(f[port+"phys_state"]), discovery.Describe(rail)), "", nil)
			_, word, _ := strings.Cut(state, ": ")
			switch {
			case state == "":
				rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells the state of %s on %s", rail.Dev, node)
			case word == "ACTIVE":
				active++
			case !checks.Wanted(rig, e, i):
				rep.Add("", steps.Pass, "%s on %s is %s; neither end has an address, so nothing uses it", rail.Dev, node, word)
			default:
				rep.At(rig, e, steps.PortDown, steps.Fail, "%s on %s is %s (%s): nothing over RDMA can use it, and a test ends "+
					"with \"Port number %d state is Down\". link-up says whether it is switched off or has no signal", rail.Dev, node,
					registry.OrUnknown(word), registry.OrUnknown(afterColon(f[port+"phys_state"])), rail.Port)
			}
			checkLayer(rig, e, i, layer, rep)
		}
		blind = checkVerbs(rig, e, f, rep) || blind
	}
	checkSameDevices(rig, rep)
	// Also where nothing is wanted, as on nodes that lost their addresses.
	if active == 0 && rep.Verdict().Grade == steps.Pass {
		rep.Add(steps.PortDown, steps.Fail, "no RDMA port is ACTIVE on either node")
	}
	note := "programs see every device"
	if blind {
		note = "Whether programs see the devices was not tried everywhere: ibv_devices is missing"
	}
	by := "RoCE"
	if discovery.Addressing(rig) != "RoCE v2" {
		by = "RDMA"
	}
	return rep.Verdict(fmt.Sprintf("every %s port that is used is ACTIVE (%d on both nodes)", by, active), note)
}

// checkLayer finds a port that is of another kind than the other end of its rail, or of a kind that
// nobody tells. Rails that are InfiniBand at both ends are right.
func checkLayer(rig steps.Rig, e steps.End, i int, layer string, rep *registry.Report) {
	rail, node := rig.At(e).Rails[i], rig.NameOf(e)
	alike := slices.ContainsFunc(rig.Pairs, func(p steps.Pair) bool {
		return int(e) < len(p.Rails) && p.Rails[e] == i && rig.Rail(p, e).Layer == layer &&
			rig.Rail(p, e.Other()).Layer == layer
	})
	switch {
	case layer == "":
		rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "nothing tells whether %s on %s is a port of Ethernet", rail.Dev,
			node)
	case layer != "Ethernet" && !alike && checks.Wanted(rig, e, i):
		rep.At(rig, e, steps.LinkLayersDiffer, steps.Warn, "%s on %s is an %s port, and the other end of its rail is none: "+
			"it needs a subnet manager, and has no IPv4 GIDs. mlxconfig sets LINK_TYPE_P%d to ETH", rail.Dev, node, layer, max(1,
			rail.Port))
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
			rep.At(rig, e.Other(), steps.DevicesDiffer, steps.Warn, "%s has %s and %s has not, so there is no rail between "+
				"them: the driver may have left the adapter (dmesg says so), a bond may have merged its ports, or the adapters "+
				"differ", rig.NameOf(e), registry.And(lacks), rig.NameOf(e.Other()))
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
// nobody could tell.
// A device file that can't be opened comes first: then ibv_devices lists every device all the same,
// as it reads sysfs.
func checkVerbs(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) (blind bool) {
	node, seen := rig.NameOf(e), f["devices that programs see"]
	files := f["device files that may be opened"]
	rep.Show(node+" device files that may be opened", registry.OrUnknown(files), "", nil)
	rep.Show(node+" devices that programs see", registry.OrUnknown(seen), "", nil)
	if files == "0" {
		rep.At(rig, e, steps.UverbsClosed, steps.Fail, "on %s no program of this user can open an RDMA device: "+
			"/dev/infiniband/uverbs* is missing or closed to it. modprobe ib_uverbs makes them, and udev's rules of rdma-core "+
			"open them", node)
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
		rep.At(rig, e, steps.VerbsProviderMissing, steps.Fail, "on %s the kernel has %s and programs don't see it: the "+
			"library's part for this adapter is missing. It comes with ibverbs-providers, of the same release as libibverbs1",
			node, registry.And(hidden))
	}
	return false
}
