package sim

import (
	"net/netip"
	"slices"
	"time"
)

// networkFaults are faults of addresses, MTUs, bonds and boots that come from how a node
// was set up.
func networkFaults() []Fault {
	return []Fault{
		{
			Name: "mtu-mismatch", Title: "The MTUs of rail 1 differ",
			Doc: "Rail 1's MTU is 9000 on {node} and 1500 on {peer}. Large pings that may not be fragmented get lost, and TCP crawls with one segment at a time; RDMA works, because it negotiates the smaller MTU.",
			Do: func(s Spot) func() {
				s.rail1().net.mtu = 9000
				return func() { s.rail1().net.mtu = 1500 }
			},
		},
		{
			Name: "gid-drift", Title: "The GID index of rail 1 drifted",
			Doc: "An address was added and removed on {node}, so the RoCE v2 GID of rail 1's IPv4 address is at index 5 there and at 3 on {peer}. Using one index for both fails.",
			Do: func(s Spot) func() {
				s.rail1().moveGIDs(2, 4)
				return func() { s.rail1().moveGIDs(4, 2) }
			},
		},
		{
			Name: "autobond", Title: "The bonding module makes bond0 by itself", Where: OnAll,
			Doc: "On {node} systemd's \"options bonding max_bonds=0\" is missing: loading the module made an empty bond0 in balance-rr. \"ip link add bond0\" fails with \"File exists\", and whatever follows it works on the wrong bond.",
			Do:  autobond,
		},
		{
			Name: "bond-left-over", Title: "A bond still holds the rails",
			Doc: "bond0 holds rails 1 and 2 on {node}. The ports stay ACTIVE, but their GIDs are the bond's: tests per rail fail to reach RTR, or hang.",
			Do: func(s Spot) func() {
				s.makeBond()
				return s.deleteBond
			},
		},
		{
			Name: "roce-lag", Title: "The adapter has merged its ports",
			Doc: "bond0 holds rails 1 and 2 on {node}, and the driver has made one RDMA device of their two, mlx5_bond_0: rocep1s0f0 and rocep1s0f1 are gone. Without the bond they are back.",
			Do: func(s Spot) func() {
				s.Node.merges = true
				s.makeBond()
				s.Node.mergePorts()
				return func() {
					s.Node.merges = false
					s.Node.mergePorts()
					s.deleteBond()
				}
			},
		},
		{
			Name: "p2p-ip-conflict", Title: "Two interfaces in one subnet",
			Doc: "On {node} enP2p1s0f0np0 also has an address in rail 1's subnet. Two routes lead to the peer, and traffic may leave through the wrong half.",
			Do: func(s Spot) func() {
				return s.addAddress(s.Node.functions[2].net, s.spare(15, 90))
			},
		},
		{
			Name: "rail-ip-missing", Title: "Rail 2 has no address",
			Doc: "enp1s0f1np1 of {node} has no IPv4 address: it cannot be pinged, and its RDMA device has no IPv4 GID.",
			Do: func(s Spot) func() {
				s.rail2().net.delAddr(s.rail2().given)
				return func() { s.rail2().net.addAddr(s.rail2().given) }
			},
		},
		{
			Name: "peer-reboots", Title: "{node} has just booted",
			Doc: "{node} has been up for a minute and a half. Its configuration brought everything back; what was set by hand only would be gone.",
			Do: func(s Spot) func() {
				s.Node.upFor = 95 * time.Second
				return func() { s.Node.upFor = 0 }
			},
		},
		{
			Name: "rail-ips-left-over", Title: "The tutorial's second-rail addresses are still there", Where: OnPair,
			Doc: "Rail 2's interfaces of {node} and {peer} also have addresses in rail 1's subnet, as an older tutorial has it. Two routes lead to the peer.",
			Do: func(s Spot) func() {
				far := Spot{s.Peer, s.Node}
				here, there := s.addAddress(s.rail2().net, s.spare(12, 160)), far.addAddress(far.rail2().net, far.spare(12, 160))
				return func() {
					here()
					there()
				}
			},
		},
		{
			Name: "duplicate-ip", Title: "Two nodes have one address", Where: OnSecond,
			Doc: "Rail 2 of {node} has {peer}'s address, as after a clean-up that was run on the wrong node. Nothing passes between its ends.",
			Do: func(s Spot) func() {
				d := s.rail2().net
				own, theirs := s.rail2().given, s.Peer.functions[1].given
				d.delAddr(own)
				d.addAddr(theirs)
				return func() {
					d.delAddr(theirs)
					d.addAddr(own)
				}
			},
		},
		{
			Name: "default-route-on-rail", Title: "A default route over rail 1",
			Doc: "{node} has a default route over enp1s0f0np0 to {peer}, with a lower metric than its own. All that leaves the node goes there, and railbench changes no interface that carries it.",
			Do: func(s Spot) func() {
				over := route{
					dst: netip.MustParsePrefix("0.0.0.0/0"), via: s.Peer.functions[0].given.Addr(), dev: s.rail1().net.name,
					proto: "static", scope: "global", table: mainTable, metric: 50,
				}
				n := s.Node
				n.routes = append(n.routes, over)
				return func() { n.routes = slices.DeleteFunc(n.routes, func(x route) bool { return x == over }) }
			},
		},
		{
			Name: "address-unsaved", Title: "An address is in no configuration",
			Doc: "{node}'s rail 2 has its address from \"ip addr add\": NetworkManager has no profile for it, and it is gone after a reboot.",
			Do: func(s Spot) func() {
				name := s.rail2().net.name
				saved := s.Node.profiles[name]
				delete(s.Node.profiles, name)
				return func() { s.Node.profiles[name] = saved }
			},
		},
		{
			Name: "arp-flux", Title: "The wrong interface answered for rail 1", Where: OnSecond,
			Doc: "{node}'s neighbour table has the MAC of enP2p1s0f0np0 for the address of {peer}'s rail 1, which is enp1s0f0np0's: packets for rail 1 arrive at the other half of {peer}'s adapter.",
			Do: func(s Spot) func() {
				n, far := s.Node, s.Peer.functions
				n.fixed = append(n.fixed, neighbour{
					addr: far[0].given.Addr(), mac: far[2].net.macText(), dev: s.rail1().net.name, learnt: true,
				})
				return func() { n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.learnt }) }
			},
		},
	}
}

// spare is an address in rail 1's subnet that nobody has: the first two nodes' have low
// numbers, those of others are counted from a base.
func (s Spot) spare(low, base byte) netip.Prefix {
	last := low + byte(s.Node.index)
	if s.Node.index > 1 {
		last = base + byte(s.Node.index)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 100, last}), 24)
}

func (s Spot) addAddress(d *netdev, p netip.Prefix) (undo func()) {
	d.addAddr(p)
	return func() { d.delAddr(p) }
}

// autobond is on a node from its boot: something has loaded the driver.
func autobond(s Spot) func() {
	n := s.Node
	files := n.set(map[string]*inode{modprobeFile: nil})
	n.unloadBonding()
	n.loadBonding(-1)
	return func() {
		files()
		if d := n.netdev("bond0"); d != nil && len(d.slaves()) == 0 {
			n.unloadBonding()
		}
	}
}

// makeBond builds what the tutorial's bonding part leaves behind, step by step:
// both rails under bond0, which has rail 1's address, and whose GIDs have moved
// because the rails had theirs for a while longer.
func (s Spot) makeBond() {
	n := s.Node
	if n.netdev("bond0") != nil {
		return
	}
	n.loadBonding(0)
	b := n.newBond("bond0", bondState{mode: "balance-xor", policy: "layer3+4", miimon: 100})
	rails := []*netdev{s.rail1().net, s.rail2().net}
	first := rails[0].ipv4()
	for _, d := range rails {
		d.setUp(false)
		d.enslave(b)
	}
	b.addAddr(first)
	b.setUp(true)
	for _, d := range rails {
		d.flush(netip.Addr.IsValid)
	}
}

// deleteBond takes it apart, unless somebody has, and gives the rails their addresses.
func (s Spot) deleteBond() {
	if s.Node.netdev("bond0") == nil {
		return
	}
	s.Node.stack.deleteBond("bond0")
	for _, f := range []*function{s.rail1(), s.rail2()} {
		f.net.setUp(true)
		f.net.addAddr(f.given)
	}
}
