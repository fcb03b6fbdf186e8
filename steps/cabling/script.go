package cabling

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// lldpMark begins the lines of LLDP of what scripts.Cabling prints.
const lldpMark = "lldp: "

// mostWays is how many addresses a rail asks for: a switch is seen by a few, and a node has better
// things to do than to ping 63 others.
const mostWays = 16

// Ways are what a node asks for, NETDEV=ADDRESS each: on each rail the addresses of the nodes after
// it, which share its subnet.
func Ways(rig steps.Rig, node int) string {
	var ways []string
	asked := map[int]int{}
	enough := func() bool { // of many nodes most need not be looked at
		for i, r := range rig.Nodes[node].Rails {
			if r.Addr != "" && asked[i] < mostWays {
				return false
			}
		}
		return true
	}
	for i := 1; i < len(rig.Nodes) && !enough(); i++ {
		other := rig.Nodes[(node+i)%len(rig.Nodes)]
		for _, p := range steps.PairRails(rig.Nodes[node], other) {
			own, far := rig.Nodes[node].Rails[p.Rails[0]], other.Rails[p.Rails[1]]
			if asked[p.Rails[0]]++; asked[p.Rails[0]] > mostWays || own.Netdev.Master != "" {
				continue
			}
			ways = append(ways, own.Netdev.Name+"="+far.Addr)
		}
	}
	slices.Sort(ways)
	return strings.Join(slices.Compact(ways), " ")
}

// Unnumbered are the interfaces of a node's rails that have a link and no address that another node could ask for.
func Unnumbered(n steps.Node) string {
	var all []string
	for _, r := range n.Rails {
		if r.Addr == "" && r.Netdev.Carrier && r.Netdev.Master == "" && !r.InfiniBand() {
			all = append(all, r.Netdev.Name)
		}
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " ")
}

// What an interface hears at the other end of its cable: a name, that of the port, and whether it calls itself a
// bridge or a router.
const (
	hears        = " hears"
	hearsPort    = " hears at"
	hearsForward = " hears a switch"
)

// Facts reads what the script printed, and adds the node's own MACs.
func Facts(n steps.Node, out string) map[string]string {
	facts := map[string]string{}
	var heard strings.Builder
	for line := range strings.Lines(out) {
		if said, ok := strings.CutPrefix(line, lldpMark); ok {
			heard.WriteString(said)
			continue
		}
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(name, " neighbour ") {
			facts[name] = value
		}
	}
	neighbors, _ := parse.Neighbors(heard.String()) // most nodes have none
	for _, h := range neighbors {
		if facts[h.Link+hears] == "" && h.System != "" {
			facts[h.Link+hears], facts[h.Link+hearsPort] = h.System, h.Port
			if h.Forwards {
				facts[h.Link+hearsForward] = "yes"
			}
		}
	}
	for _, r := range n.Rails {
		if r.Netdev.MAC != "" {
			facts[r.Netdev.Name+" MAC"] = r.Netdev.MAC
		}
	}
	return facts
}
