package cabling

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Script prints what a node learns about the other nodes on its rails: a node learns which interface has an
// address when it sends to that address. WAYS is the list that Ways returns. The script needs ip and ping,
// and sends one packet to each address. An interface without an address (UNNUMBERED) asks all nodes that hear
// it: every RoCE port has a GID of its link-local address. If something on the node listens to LLDP, the
// script asks it for the names that it heard; lldpd answers root only.
const Script = `PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for way in $WAYS; do
	ping -c 1 -w 1 -W 1 -I "${way%%=*}" "${way#*=}" >/dev/null 2>&1 &
done
for netdev in $UNNUMBERED; do
	ping -6 -c 2 -i 0.3 -w 2 -I "$netdev" ff02::1 >/dev/null 2>&1 &
done
wait
for netdev in $UNNUMBERED; do
	ip -6 neigh show dev "$netdev" 2>/dev/null | while read -r address word mac _; do
		[ "$word" != lladdr ] || echo "$netdev neighbour $address: $mac"
	done
done
ip -4 neigh show 2>/dev/null | while read -r address _ netdev word mac _; do
	[ "$word" != lladdr ] || echo "$netdev neighbour $address: $mac"
done
{
	timeout 5 lldpctl -f keyvalue
	timeout 5 networkctl --no-pager --no-legend -l lldp
} 2>/dev/null | while IFS= read -r line; do
	echo "` + lldpMark + `$line"
done
exit 0
`

// lldpMark begins the lines of LLDP.
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
