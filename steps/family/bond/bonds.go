package bond

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// A held bond is one that holds rails, as its node reports it.
type held struct {
	parse.NamedBond
	rails []int // indexes into Rig.At(end).Rails
}

// railBonds reads the bonds of both nodes and keeps those that hold rails, or
// nothing yet. ok is false where a node's could not be read.
func railBonds(r steps.Result, rep *registry.Report) (bonds [2][]held, ok bool) {
	all, ok := registry.Both[[]parse.NamedBond](r, rep)
	for _, e := range steps.Ends {
		for _, b := range all[e] {
			h := held{NamedBond: b}
			for i, rail := range r.Rig.At(e).Rails {
				if slices.ContainsFunc(b.Slaves, func(s parse.Slave) bool { return s.Name == rail.Netdev.Name && s.Name != "" }) {
					h.rails = append(h.rails, i)
				}
			}
			if len(h.rails) > 0 || len(b.Slaves) == 0 {
				bonds[e] = append(bonds[e], h)
			} else {
				rep.ShowAt(r.Rig.NameOf(e), b.Name, "holds no rail: "+slaveNames(b.Bond), "", nil)
			}
		}
	}
	return bonds, ok
}

func (h held) slaves() string { return slaveNames(h.Bond) }

func slaveNames(b parse.Bond) string {
	var names []string
	for _, s := range b.Slaves {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	return registry.And(names)
}

// holding are the bonds of an end that hold a rail.
func holding(bonds []held) []held {
	return slices.DeleteFunc(slices.Clone(bonds), func(h held) bool { return len(h.rails) == 0 })
}

// mode is the kernel's word for "load balancing (xor)" as ip takes it.
func mode(b parse.Bond) string {
	for _, m := range [][2]string{
		{"round-robin", "balance-rr"},
		{"active-backup", "active-backup"},
		{"(xor)", "balance-xor"},
		{"(broadcast)", "broadcast"},
		{"802.3ad", "802.3ad"},
		{"transmit load", "balance-tlb"},
		{"adaptive load", "balance-alb"},
	} {
		if strings.Contains(b.Mode, m[0]) {
			return m[1]
		}
	}
	return registry.OrUnknown(b.Mode)
}

// policy is "layer3+4" without the driver's number.
func policy(b parse.Bond) string {
	p, _, _ := strings.Cut(b.HashPolicy, " ")
	return p
}

// judgeBondCheck: is there a bond, is it on both nodes, and what does that mean
// for RDMA. Bond state and rail state exclude each other (assets/docs/facts.md#bonds-and-rdma).
func judgeBondCheck(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	bonds, ok := railBonds(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	var names []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		if len(bonds[e]) == 0 {
			rep.ShowAt(node, "bond", "none", "", nil)
		}
		for _, h := range bonds[e] {
			rep.ShowAt(node, h.Name, fmt.Sprintf("%s, holds %s", mode(h.Bond), h.slaves()), "", nil)
			if len(h.rails) == 0 {
				by := "another process created it, or module settings (/etc/modprobe.d)"
				if MadeByItself(h.Name, mode(h.Bond)) {
					by = "loading the bonding module creates it"
				}
				rep.Add(steps.BondEmpty, steps.Warn, "%s on %s is empty and blocks a later \"ip link add %s\" (\"File exists\"). "+
					"Remove it: bond-teardown", h.Name, node, h.Name)
				rep.Explain("It is in mode %s: %s", mode(h.Bond), by)
				continue
			}
			rep.Measured(steps.Figure{What: steps.BondMode, Words: mode(h.Bond)})
			text := fmt.Sprintf("%s on %s holds %s", h.Name, node, h.slaves())
			names = append(names, text)
			checkKept(r.Rig, e, h, &rep)
		}
	}
	here, peer := holding(bonds[steps.Here]), holding(bonds[steps.Peer])
	switch {
	case len(here) == 0 && len(peer) == 0:
		return rep.Verdict("no bond holds a rail: each rail has its own addresses and GIDs, as RDMA needs",
			"TCP between the nodes uses one rail")
	case len(here) == 0 || len(peer) == 0:
		without := steps.Here
		if len(peer) == 0 {
			without = steps.Peer
		}
		rep.Add(steps.BondOneSided, steps.Fail,
			"%s, but %s has no bond. Set up both nodes alike: bond-setup or bond-teardown",
			registry.List(names), r.Rig.NameOf(without))
		rep.Explain("Meanwhile RDMA over these rails fails or hangs")
	}
	return rep.Verdict(registry.And(names)+": one address for TCP over both links",
		theirs+" until it is removed, although the ports stay ACTIVE")
}

// MadeByItself reports whether loading the module may have made a bond: it makes those of max_bonds under the names
// bond0, bond1 and so on, in its own default mode (bond_main.c, bonding_init).
func MadeByItself(name, mode string) bool {
	number, ok := strings.CutPrefix(name, "bond")
	_, counted := strictnum.Count(number)
	return ok && counted && mode == "balance-rr"
}

// checkKept finds slaves that kept an address. Its route stays too, and answers
// go into nothing: the tutorial's steps leave it like that.
func checkKept(rig steps.Rig, e steps.End, h held, rep *registry.Report) {
	for _, i := range h.rails {
		d := rig.At(e).Rails[i].Netdev
		for _, a := range d.Addrs {
			switch held := d.HeldBy(); {
			case !strings.Contains(a, "."):
			case len(held) > 0:
				rep.Add(steps.BondPortManaged, steps.Fail, "%[1]s on %[2]s is in %[3]s but has %[5]s from %[4]s: its route takes "+
					"packets that are then lost", d.Name, rig.NameOf(e), h.Name, held[0], a)
			default:
				rep.Add(steps.BondPortAddress, steps.Fail,
					"%s on %s is in %s but kept %s, so packets are lost. Run: ip addr flush dev %s",
					d.Name, rig.NameOf(e), h.Name, a, d.Name)
			}
		}
	}
}

// judgeBondStatus: how each bond works, whether its links are up, and what it did
// to the GIDs and RDMA devices.
func judgeBondStatus(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	bonds, ok := railBonds(r, &rep)
	if !ok {
		return rep.Verdict()
	}
	var all [2]*held
	for _, e := range steps.Ends {
		if with := holding(bonds[e]); len(with) > 0 {
			all[e] = &with[0]
		}
	}
	if all[steps.Here] == nil && all[steps.Peer] == nil {
		checkOwnGIDs(r.Rig, &rep)
		return rep.Verdict("no bond holds a rail, and every RDMA port has its own interface's GIDs")
	}
	for _, e := range steps.Ends {
		if all[e] == nil {
			rep.Add(steps.BondOneSided, steps.Fail, "%s bonds its rails but %s does not. Set up both nodes alike",
				r.Rig.NameOf(e.Other()), r.Rig.NameOf(e))
			continue
		}
		checkBond(r.Rig, e, *all[e], &rep)
	}
	h := all[steps.Here]
	if h == nil {
		h = all[steps.Peer]
	} else if p := all[steps.Peer]; p != nil && (mode(h.Bond) != mode(p.Bond) || policy(h.Bond) != policy(p.Bond)) {
		rep.Add(steps.BondsDiffer, steps.Warn, "the ends differ: %s %s on %s, %s %s on %s. Set up both alike", mode(h.Bond),
			policy(h.Bond), r.Rig.NameOf(steps.Here), mode(p.Bond), policy(p.Bond), r.Rig.NameOf(steps.Peer))
	}
	lead := fmt.Sprintf("%s on both nodes: %s", h.Name, mode(h.Bond))
	if p := policy(h.Bond); p != "" {
		lead += " by " + p
	}
	return rep.Verdict(fmt.Sprintf("%s over %s, all links up", lead, h.slaves()),
		theirs+" until they have their own again. GID indexes have changed")
}

// checkOwnGIDs finds GIDs that still belong to another interface than the rail's.
// A port's GIDs move back to its own interface some moments after a bond is gone, or never where the driver
// has missed it.
func checkOwnGIDs(rig steps.Rig, rep *registry.Report) {
	for _, e := range steps.Ends {
		for _, rail := range rig.At(e).Rails {
			own := 0
			for _, g := range rail.GIDs {
				if g.Netdev == "" || g.Netdev == rail.Netdev.Name {
					own++
				} else {
					rep.Add(steps.GIDForeign, steps.Warn, "GIDs of %s on %s belong to %s, which holds no rail. Run the gids cell",
						rail.Dev, rig.NameOf(e), g.Netdev)
				}
			}
			rep.ShowAt(rig.NameOf(e), rail.Dev, fmt.Sprintf("%s, %d of %d GIDs belong to %s", registry.OrUnknown(rail.State),
				own, len(rail.GIDs), registry.OrUnknown(rail.Netdev.Name)), "", nil)
		}
	}
}

// checkBond looks at one bond.
func checkBond(rig steps.Rig, e steps.End, h held, rep *registry.Report) {
	node := rig.NameOf(e)
	show := func(what string, v any, unit string) { rep.ShowAt(node, h.Name+" "+what, v, unit, nil) }
	m := mode(h.Bond)
	show("mode", m, "")
	rep.Measured(steps.Figure{What: steps.BondMode, Words: m})
	if h.HashPolicy != "" {
		show("hash policy", policy(h.Bond), "")
	}
	show("MII", fmt.Sprintf("%s, checked every %d ms", registry.OrUnknown(h.MIIStatus), h.MIIPollMS), "")
	if h.ActiveSlave != "" {
		show("active slave", h.ActiveSlave, "")
	}
	var dev steps.Netdev
	for _, d := range rig.At(e).Netdevs {
		if d.Name == h.Name {
			dev = d
		}
	}
	show("MTU and addresses", fmt.Sprintf("%d, %s", dev.MTU, registry.OrNone(strings.Join(dev.Addrs, " "))), "")
	if !slices.ContainsFunc(dev.Addrs, func(a string) bool { return strings.Contains(a, ".") }) {
		rep.Add(steps.AddressMissing, steps.Fail, "%s on %s has no IPv4 address. Run bond-teardown, then bond-setup", h.Name,
			node)
	}
	checkSlaves(node, h, rep)
	if h.MIIPollMS == 0 && h.ARPPollMS == 0 && m != "802.3ad" {
		rep.Add(steps.BondUnwatched, steps.Warn, "%s on %s does not monitor its links (miimon is 0), so it would use a dead "+
			"link. Set miimon", h.Name,
			node)
	}
	checkMode(node, h, rep)
	for _, i := range h.rails {
		rail := rig.At(e).Rails[i]
		text := gidsUnder(h, rail)
		show(rail.Dev, registry.OrUnknown(rail.State)+", "+text, "")
		if rail.Netdev.MTU != dev.MTU && dev.MTU > 0 {
			rep.Add(steps.BondMTUDiffers, steps.Warn, "%s on %s has MTU %d but %s has %d. Set all alike", rail.Netdev.Name, node,
				rail.Netdev.MTU, h.Name, dev.MTU)
		}
	}
	checkKept(rig, e, h, rep)
}

// checkSlaves looks at the links of a bond.
func checkSlaves(node string, h held, rep *registry.Report) {
	for _, s := range h.Slaves {
		speed := "speed unknown"
		if s.SpeedMbps > 0 {
			speed = fmt.Sprintf("%g Gb/s", float64(s.SpeedMbps)/1000)
		}
		rep.ShowAt(node, h.Name+" slave "+s.Name,
			fmt.Sprintf("MII %s, %s, %d link failures", registry.OrUnknown(s.MIIStatus), speed, s.Failures), "", nil)
		if s.MIIStatus != "up" {
			rep.Add(steps.BondLinkDown, steps.Fail, "%s, a link of %s on %s, is %s. Check its cable", s.Name, h.Name, node,
				registry.OrUnknown(s.MIIStatus))
		}
	}
	if len(h.Slaves) == 1 {
		rep.Add(steps.BondSingle, steps.Warn, "%s on %s has only one link", h.Name, node)
	}
	for _, s := range h.Apart() {
		rep.Add(steps.BondAggregators, steps.Warn, "%s and %s of %s on %s are in two LACP aggregators (%s and %s), so only "+
			"one carries packets",
			h.Slaves[0].Name, s.Name, h.Name, node, h.Slaves[0].Aggregator, s.Aggregator)
		rep.Explain("LACP found no partner that has both links")
	}
}

// checkMode says what a bond's way to spread packets means on a direct cable.
func checkMode(node string, h held, rep *registry.Report) {
	m := mode(h.Bond)
	switch p := policy(h.Bond); {
	case m == "balance-rr":
		rep.Add(steps.BondReorders, steps.Warn, "%s on %s is balance-rr, which reorders the packets of one connection. Use "+
			"balance-xor", h.Name, node)
		rep.Explain("Loading the bonding module creates such a bond, too")
	case m == "802.3ad":
		rep.Add(steps.BondNeedsLACP, steps.Warn, "%s on %s is 802.3ad, which needs LACP at the other end. Use balance-xor",
			h.Name, node)
	case m == "balance-xor" && p != "layer3+4":
		rep.Add(steps.BondOneLinkUsed, steps.Warn, "%s on %s hashes by %s, so all traffic between two nodes uses one link. "+
			"Use layer3+4", h.Name, node, registry.OrUnknown(p))
	}
}

// gidsUnder says whose the GIDs of a bond's rail are.
func gidsUnder(h held, rail steps.Rail) string {
	var indexes []string
	for _, g := range rail.GIDs {
		if g.Netdev == h.Name {
			indexes = append(indexes, fmt.Sprint(g.Index))
		}
	}
	if len(indexes) > 0 {
		return fmt.Sprintf("GIDs of %s at index %s", h.Name, registry.And(indexes))
	}
	return "its GIDs are its own"
}
