package discovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// tutorialIndex is the GID index that the tutorial writes into its commands. In fact
// it is the first free slot, and differs by port, node and time
// (assets/docs/facts.md#gid-index).
const tutorialIndex = 3

// judgeGIDs: every end of every rail has a RoCE v2 entry for its IPv4 address; of InfiniBand, its
// own.
func judgeGIDs(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	tables, ok := registry.Both[[]parse.GIDRow](r, &rep)
	if !ok {
		return rep.Verdict()
	}
	if len(r.Rig.Pairs) == 0 {
		rep.Add(steps.NoRail, steps.Fail, "no rail connects the nodes, so no GID can be used. Run: railbench run rail-map")
		return rep.Verdict()
	}
	var resolved, tutorial []string
	differ := false
	for i, p := range r.Rig.Pairs {
		if !r.Rig.HasPair(i) {
			rep.Add(steps.RailMissing, steps.Inconclusive, "the rig's pair %d names a missing rail", i+1)
			continue
		}
		m := registry.Measurement{No: i + 1, Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p}
		index, wrong := resolveEnds(r.Rig, m, tables, &rep)
		tutorial = append(tutorial, wrong...)
		switch {
		case index[0] < 0 || index[1] < 0:
		case index[0] == index[1]:
			resolved = append(resolved, fmt.Sprintf("rail %d: %d", m.No, index[0]))
		default:
			differ = true
			resolved = append(resolved, fmt.Sprintf("rail %d: %d and %d", m.No, index[0], index[1]))
			rep.On(m, steps.GIDIndexDiffers, steps.Warn,
				"the GID index is %d on %s but %d on %s. A command with one index for both ends fails: give each end "+
					"its own (-x)", index[0],
				r.Rig.NameOf(steps.Here), index[1], r.Rig.NameOf(steps.Peer))
		}
	}
	for _, e := range steps.Ends {
		checkForeignGIDs(r.Rig, e, tables[e], &rep)
	}
	checkLeftOut(r.Rig, &rep)
	lead := "the " + Addressing(r.Rig) + " GID index of each rail: " + strings.Join(resolved, ", ")
	if !differ {
		lead += " (the same on both nodes)"
	}
	note := fmt.Sprintf("The tutorial's index %d is right on every rail at present", tutorialIndex)
	if n := len(tutorial); n > 0 {
		note = fmt.Sprintf("The tutorial's index %d would be wrong %s: %s", tutorialIndex, times(n), tutorial[0])
	}
	return rep.Verdict(lead, note)
}

// resolveEnds finds the index at both ends of a rail, -1 where there is none; and where the
// tutorial's would have been wrong.
func resolveEnds(rig steps.Rig, m registry.Measurement, tables [2][]parse.GIDRow, rep *registry.Report) (index [2]int,
	wrong []string,
) {
	for _, e := range steps.Ends {
		rail := rig.Rail(m.Pair, e)
		found, code, why := resolve(tables[e], rail)
		if index[e] = found; found < 0 {
			rep.On(m, code, steps.Fail, "on %s: %s", rig.NameOf(e), why)
			continue
		}
		rep.ShowAt(rig.NameOf(e), rail.Dev+" GID index", found, "",
			&steps.Expected{From: Entry(rail) + " in sysfs"})
		if rail.GIDIndex != found {
			rep.On(m, steps.GIDIndexChanged, steps.Warn,
				"the GID index on %s was %s at the last probe but is %d now. Probe again", rig.NameOf(e), indexText(rail.GIDIndex),
				found)
		}
		meaning := atIndex(tables[e], rail, tutorialIndex)
		rep.ShowAt(rig.NameOf(e), fmt.Sprintf("%s index %d", rail.Dev, tutorialIndex), meaning, "", nil)
		if found != tutorialIndex {
			wrong = append(wrong, fmt.Sprintf("on %s's %s it %s", rig.NameOf(e), rail.Dev, meaning))
		}
	}
	return index, wrong
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// checkForeignGIDs finds GIDs of an address that belong to the bond which holds
// the rail's interface.
// The kernel gives a port the addresses of whatever its interface is a part of.
func checkForeignGIDs(rig steps.Rig, e steps.End, table []parse.GIDRow, rep *registry.Report) {
	for _, g := range table {
		for _, rail := range rig.At(e).Rails {
			if g.Dev == rail.Dev && g.Port == rail.Port && g.Netdev != "" && g.Netdev == rail.Netdev.Master {
				rep.Add(steps.RailInBond, steps.Fail, "the GIDs of %s on %s belong to %s. Remove the bond before RDMA tests: "+
					"railbench run bond-teardown",
					rail.Dev, rig.NameOf(e), g.Netdev)
			}
		}
	}
}

// Resolve finds the RoCE v2 entry of the rail's address; -1 and why not. InfiniBand's packets have
// the addresses of its subnet manager, and the first entry is the port's own (steps/probe).
func Resolve(table []parse.GIDRow, rail steps.Rail) (int, string) {
	index, _, why := resolve(table, rail)
	return index, why
}

// resolve is Resolve with the code of why not.
func resolve(table []parse.GIDRow, rail steps.Rail) (int, steps.Code, string) {
	if rail.InfiniBand() {
		if !slices.ContainsFunc(table,
			func(g parse.GIDRow) bool { return g.Dev == rail.Dev && g.Port == rail.Port && g.Index == 0 }) {
			return -1, steps.SubnetManagerMissing, "GID table without entry 0. Check that a subnet manager runs"
		}
		return 0, "", ""
	}
	if rail.Addr == "" {
		return -1, steps.AddressMissing, "no IPv4 address, and so no IPv4 GID"
	}
	elsewhere := ""
	for _, g := range table {
		if g.Dev != rail.Dev || g.Port != rail.Port || g.Version != "v2" || g.IPv4 != rail.Addr {
			continue
		}
		// Where gid_attrs/ndevs names no interface the address alone decides.
		if g.Netdev == "" || g.Netdev == rail.Netdev.Name {
			return g.Index, "", ""
		}
		elsewhere = g.Netdev
	}
	if elsewhere != "" {
		return -1, steps.GIDForeign, fmt.Sprintf("the GID of %s belongs to %s instead of %s", rail.Addr, elsewhere,
			rail.Netdev.Name)
	}
	if !slices.ContainsFunc(table, func(g parse.GIDRow) bool { return g.Dev == rail.Dev }) {
		return -1, steps.GIDMissing, "the GID table is empty"
	}
	return -1, steps.GIDMissing, fmt.Sprintf("no RoCE v2 GID for %s. Check whether a bond or another interface has the "+
		"address", rail.Addr)
}

// Entry names the entry of the GID table that a rail's packets need.
func Entry(rail steps.Rail) string {
	if rail.InfiniBand() {
		return "the InfiniBand port's own GID"
	}
	return "the RoCE v2 entry of " + rail.Addr
}

// Addressing says in one word whose entries the rails' packets need: RoCE v2's, the ports' own, or
// both.
func Addressing(rig steps.Rig) string {
	var infiniband, roce bool
	for _, p := range rig.Pairs {
		if rig.Rail(p, steps.Here).InfiniBand() {
			infiniband = true
		} else {
			roce = true
		}
	}
	switch {
	case infiniband && roce:
		return "RoCE v2 or InfiniBand"
	case infiniband:
		return "InfiniBand"
	default:
		return "RoCE v2"
	}
}

// atIndex says what an index would have meant on a rail.
func atIndex(table []parse.GIDRow, rail steps.Rail, index int) string {
	for _, g := range table {
		if g.Dev != rail.Dev || g.Port != rail.Port || g.Index != index {
			continue
		}
		version := map[string]string{"v1": "RoCE v1", "v2": "RoCE v2"}[g.Version]
		switch {
		case rail.InfiniBand():
			return "is " + g.GID
		case g.Version == "v2" && g.IPv4 == rail.Addr && rail.Addr != "":
			return "is right"
		case g.IPv4 != "":
			return fmt.Sprintf("is %s of %s", registry.OrUnknown(version), g.IPv4)
		default:
			return fmt.Sprintf("is %s of %s", registry.OrUnknown(version), g.GID)
		}
	}
	return "is empty (ib_write_bw: \"Failed to modify QP to RTR\")"
}

func indexText(i int) string {
	if i < 0 {
		return "unknown"
	}
	return fmt.Sprint(i)
}
