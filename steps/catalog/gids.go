package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// tutorialIndex is the GID index that the tutorial writes into its commands
// (INVENTORY C5). In fact it is the first free slot, and differs by port, node
// and time (D7).
const tutorialIndex = 3

// judgeGIDs: every end of every rail has a RoCE v2 entry for its IPv4 address.
func judgeGIDs(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	outputs := onBoth(r, &rep)
	var tables [2][]parse.GIDRow
	read := 0
	for _, e := range steps.Ends {
		o, ok := outputs[e]
		if !ok || exited(r, o, &rep) {
			continue
		}
		if tables[e], ok = value[[]parse.GIDRow](r, o, &rep); ok {
			read++
		}
	}
	if read < len(steps.Ends) {
		return rep.verdict()
	}
	if len(r.Rig.Pairs) == 0 {
		rep.add(steps.Fail, "no rail leads from node to node, so there is no GID to use: see the rail map")
		return rep.verdict()
	}
	var resolved, tutorial []string
	for i, p := range r.Rig.Pairs {
		if !validPair(r.Rig, i) {
			rep.add(steps.Inconclusive, "the rig's pair %d names a rail that isn't there", i+1)
			continue
		}
		var index [2]int
		complete := true
		for _, e := range steps.Ends {
			rail := r.Rig.Rail(p, e)
			found, why := resolve(tables[e], rail)
			index[e] = found
			if found < 0 {
				complete = false
				rep.add(steps.Fail, "rail %d on %s (%s): %s", i+1, nodeName(r.Rig, e), rail.Dev, why)
				continue
			}
			rep.show(fmt.Sprintf("%s %s GID index", nodeName(r.Rig, e), rail.Dev), found, "", &steps.Expected{From: "the RoCE v2 entry of " + rail.Addr + " in sysfs"})
			if rail.GIDIndex != found {
				rep.add(steps.Warn, "rail %d on %s: the index was %s when the rig was probed and is %d now: probe it again", i+1, nodeName(r.Rig, e), indexText(rail.GIDIndex), found)
			}
			meaning := atIndex(tables[e], rail, tutorialIndex)
			rep.show(fmt.Sprintf("%s %s index %d", nodeName(r.Rig, e), rail.Dev, tutorialIndex), meaning, "", nil)
			if found != tutorialIndex {
				tutorial = append(tutorial, fmt.Sprintf("on %s's %s it %s", nodeName(r.Rig, e), rail.Dev, meaning))
			}
		}
		if !complete {
			continue
		}
		if index[0] == index[1] {
			resolved = append(resolved, fmt.Sprintf("rail %d: %d on both nodes", i+1, index[0]))
		} else {
			text := fmt.Sprintf("rail %d: %d on %s and %d on %s", i+1, index[0], nodeName(r.Rig, steps.Here), index[1], nodeName(r.Rig, steps.Peer))
			resolved = append(resolved, text)
			rep.add(steps.Warn, "the GID index of %s: one number for both ends, as in the tutorial, would fail", text)
		}
	}
	lead := "the RoCE v2 index is resolved: " + strings.Join(resolved, ", ")
	note := fmt.Sprintf("The tutorial's index %d is right on every rail here, today", tutorialIndex)
	if len(tutorial) > 0 {
		note = fmt.Sprintf("The tutorial's index %d would have been wrong: %s", tutorialIndex, tutorial[0])
		if len(tutorial) > 1 {
			note += fmt.Sprintf(", and on %d more", len(tutorial)-1)
		}
	}
	return rep.verdict(lead, note)
}

// resolve finds the RoCE v2 entry of the rail's address; -1 and why not.
func resolve(table []parse.GIDRow, rail steps.Rail) (int, string) {
	if rail.Addr == "" {
		return -1, "it has no IPv4 address, and so no IPv4 GID"
	}
	elsewhere := ""
	for _, g := range table {
		if g.Dev != rail.Dev || g.Port != rail.Port || g.Version != "v2" || g.IPv4 != rail.Addr {
			continue
		}
		if g.Netdev == "" || g.Netdev == rail.Netdev.Name {
			return g.Index, ""
		}
		elsewhere = g.Netdev
	}
	if elsewhere != "" {
		return -1, fmt.Sprintf("the GID of %s belongs to %s and not to %s", rail.Addr, elsewhere, rail.Netdev.Name)
	}
	if !slices.ContainsFunc(table, func(g parse.GIDRow) bool { return g.Dev == rail.Dev }) {
		return -1, "its GID table is empty"
	}
	return -1, fmt.Sprintf("no RoCE v2 entry holds %s: is a bond or another interface holding the address", rail.Addr)
}

// atIndex says what an index would have meant on a rail.
func atIndex(table []parse.GIDRow, rail steps.Rail, index int) string {
	for _, g := range table {
		if g.Dev != rail.Dev || g.Port != rail.Port || g.Index != index {
			continue
		}
		kind := map[string]string{"v1": "RoCE v1", "v2": "RoCE v2"}[g.Version]
		switch {
		case g.Version == "v2" && g.IPv4 == rail.Addr && rail.Addr != "":
			return "is the right one"
		case g.IPv4 != "":
			return fmt.Sprintf("is %s of %s", orUnknown(kind), g.IPv4)
		default:
			return fmt.Sprintf("is %s of %s", orUnknown(kind), g.GID)
		}
	}
	return "is empty, and ib_write_bw ends with \"Failed to modify QP to RTR\""
}

func indexText(i int) string {
	if i < 0 {
		return "unknown"
	}
	return fmt.Sprint(i)
}
