package cabling

import (
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Script prints what a node learns of the others on its rails: a node learns who has an address
// when it sends there. WAYS are those of Ways. It needs ip and ping, and sends one packet each.
const Script = `PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for way in $WAYS; do
	ping -c 1 -w 1 -W 1 -I "${way%%=*}" "${way#*=}" >/dev/null 2>&1 &
done
wait
ip -4 neigh show 2>/dev/null | while read -r address _ netdev word mac _; do
	[ "$word" != lladdr ] || echo "$netdev neighbour $address: $mac"
done
`

// mostWays is how many addresses a rail asks for: a switch is seen by a few, and a node has better
// things to do than to ping 63 others.
const mostWays = 16

// Ways are what a node asks for, NETDEV=ADDRESS each: on each rail the addresses of the nodes after
// it, which share its subnet.
func Ways(rig steps.Rig, node int) string {
	var ways []string
	asked := map[int]int{}
	for i := 1; i < len(rig.Nodes); i++ {
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

// Facts reads what the script printed, and adds the node's own MACs.
func Facts(n steps.Node, out string) map[string]string {
	facts := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(name, " neighbour ") {
			facts[name] = value
		}
	}
	for _, r := range n.Rails {
		if r.Netdev.MAC != "" {
			facts[r.Netdev.Name+" MAC"] = r.Netdev.MAC
		}
	}
	return facts
}
