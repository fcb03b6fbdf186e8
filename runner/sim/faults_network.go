package sim

import (
	"net/netip"
	"slices"
	"time"
)

// networkDefects are faults of links, addresses and boots that come from how a node
// was set up.
func networkDefects() map[string]defect {
	leftOver := [2]netip.Prefix{netip.MustParsePrefix("192.168.100.12/24"), netip.MustParsePrefix("192.168.100.13/24")}
	own := [2]netip.Prefix{netip.MustParsePrefix("192.168.200.10/24"), netip.MustParsePrefix("192.168.200.11/24")}
	overRail := route{
		dst: netip.MustParsePrefix("0.0.0.0/0"), via: netip.MustParseAddr("192.168.100.11"), dev: "enp1s0f0np0",
		proto: "static", scope: "global", table: mainTable, metric: 50,
	}
	return map[string]defect{
		"peer-reboots": {
			title: "spark-01 has just booted",
			doc:   "spark-01 has been up for a minute and a half. Its configuration brought everything back; what was set by hand only would be gone.",
		},
		"rail-ips-left-over": {
			title: "The tutorial's second-rail addresses are still there",
			doc:   "Rail 2's interfaces also have 192.168.100.12 and .13, in rail 1's subnet, as an older tutorial has it. Two routes lead to the peer.",
			on: func(r *Rig) {
				for i, n := range r.nodes[:leastNodes] {
					n.functions[1].net.addAddr(leftOver[i])
				}
			},
			off: func(r *Rig) {
				for i, n := range r.nodes[:leastNodes] {
					n.functions[1].net.delAddr(leftOver[i])
				}
			},
		},
		"duplicate-ip": {
			title: "Both nodes have one address",
			doc:   "Rail 2 of spark-02 has spark-01's address, 192.168.200.10, as after a clean-up that was run on the wrong node. Nothing passes between its ends.",
			on: func(r *Rig) {
				d := r.nodes[1].functions[1].net
				d.delAddr(own[1])
				d.addAddr(own[0])
			},
			off: func(r *Rig) {
				d := r.nodes[1].functions[1].net
				d.delAddr(own[0])
				d.addAddr(own[1])
			},
		},
		"default-route-on-rail": {
			title: "A default route over rail 1",
			doc:   "spark-01 has a default route over enp1s0f0np0 to spark-02, with a lower metric than its own. All that leaves the node goes there, and railbench changes no interface that carries it.",
			on: func(r *Rig) {
				n := r.nodes[0]
				n.routes = append(n.routes, overRail)
			},
			off: func(r *Rig) {
				n := r.nodes[0]
				n.routes = slices.DeleteFunc(n.routes, func(x route) bool { return x == overRail })
			},
		},
		"address-unsaved": {
			title: "An address is in no configuration",
			doc:   "spark-01's rail 2 has its address from \"ip addr add\": NetworkManager has no profile for it, and it is gone after a reboot.",
		},
		"roce-lag": {
			title: "The adapter has merged its ports",
			doc:   "bond0 holds rails 1 and 2 on spark-01, and the driver has made one RDMA device of their two, mlx5_bond_0: rocep1s0f0 and rocep1s0f1 are gone. Without the bond they are back.",
			on: func(r *Rig) {
				n := r.nodes[0]
				if n.netdev("bond0") == nil {
					n.makeBond("bond0", "balance-xor")
				}
				n.mergePorts()
			},
			off: func(r *Rig) {
				n := r.nodes[0]
				n.mergePorts()
				if n.netdev("bond0") == nil {
					return
				}
				n.deleteBond("bond0")
				for i, a := range []string{"192.168.100.10/24", "192.168.200.10/24"} {
					n.functions[i].net.setUp(true)
					n.functions[i].net.addAddr(netip.MustParsePrefix(a))
				}
			},
		},
		"arp-flux": {
			title: "The wrong interface answered for rail 1",
			doc:   "spark-02's neighbour table has the MAC of enP2p1s0f0np0 for 192.168.100.10, which is enp1s0f0np0's: packets for rail 1 arrive at the other half of spark-01's adapter.",
			on: func(r *Rig) {
				n := r.nodes[1]
				n.fixed = append(n.fixed, neighbour{
					addr: netip.MustParseAddr("192.168.100.10"),
					mac:  r.nodes[0].functions[2].net.macText(), dev: n.functions[0].net.name, learnt: true,
				})
			},
			off: func(r *Rig) {
				n := r.nodes[1]
				n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.learnt })
			},
		},
	}
}

// uptime is how long the node is up. One that has just booted stays so: at the
// speed of a test a minute is over at once.
func (n *node) uptime() time.Duration {
	if n.index == 0 && n.rig.faults["peer-reboots"] {
		return 95 * time.Second
	}
	return n.rig.clock.uptime()
}

// mergePorts is what mlx5 may do with two ports of an adapter that are in one bond:
// the first one's RDMA device stands for both, under another name.
func (n *node) mergePorts() {
	a, b := n.functions[0], n.functions[1]
	b.merged = n.index == 0 && n.rig.faults["roce-lag"] &&
		a.net.master != nil && a.net.master == b.net.master && !a.lost && !b.lost
	a.dev = a.own
	if b.merged {
		a.dev = "mlx5_bond_0"
	}
	n.tree = nil
}
