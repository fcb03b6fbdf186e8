package fault

import (
	"net/netip"
	"slices"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
	"github.com/railbench/railbench/runner/sim/tool/network"
)

// networkFaults are faults of addresses, MTUs, bonds and boots that come from how a node
// was set up.
func networkFaults() []Fault {
	return []Fault{
		{
			Name: "mtu-mismatch", Title: "The MTUs of rail 1 differ",
			Report: "ssh over the rail connects and then stalls, ping is fine, and iperf3 shows next to nothing",
			Doc: "Rail 1's MTU is 9000 on {node} and 1500 on {peer}. Large pings that may not be fragmented get " +
				"lost, and TCP crawls with one segment at a time; RDMA works, because it negotiates the smaller " +
				"MTU.",
			Do: func(s Spot) func() {
				// Not SetMTU: there is no bond whose slaves would follow.
				s.rail1().Netdev.MTU = 9000
				return func() { s.rail1().Netdev.MTU = 1500 }
			},
		},
		{
			Name: "gid-drift", Title: "The GID index of rail 1 drifted",
			Report: "yesterday's command line says Failed to modify QP to RTR today, and it has not changed",
			Doc: "An address was added and removed on {node}, so the RoCE v2 GID of rail 1's IPv4 address is at " +
				"index 5 there and at 3 on {peer}. Using one index for both fails.",
			Do: func(s Spot) func() {
				// The pair behind the two of the link-local address is the first IPv4 address's.
				s.rail1().MoveGIDs(2, 4)
				return func() { s.rail1().MoveGIDs(4, 2) }
			},
		},
		{
			Name: "autobond", Title: "The bonding module makes bond0 by itself", Where: OnAll,
			Report: "ip link add bond0 says File exists, and I have never made one",
			Doc: "On {node} systemd's \"options bonding max_bonds=0\" is missing: loading the module made an empty " +
				"bond0 in balance-rr. \"ip link add bond0\" fails with \"File exists\", and whatever follows it " +
				"works on the wrong bond.",
			Do: autobond,
		},
		{
			Name: "bond-left-over", Title: "A bond still holds the rails",
			Report: "since we tried bonding, ib_write_bw on either rail can not reach RTR",
			Doc: "bond0 holds rails 1 and 2 on {node}. The ports stay ACTIVE, but their GIDs are the bond's: tests " +
				"per rail fail to reach RTR, or hang.",
			Do: func(s Spot) func() {
				return s.makeBond()
			},
		},
		{
			Name: "roce-lag", Title: "The adapter has merged its ports",
			Report: "my script says IB device rocep1s0f0 wasn't found, and there is an unknown mlx5_bond_0",
			Doc: "bond0 holds rails 1 and 2 on {node}, and the driver has made one RDMA device of their two, " +
				"mlx5_bond_0: rocep1s0f0 and rocep1s0f1 are gone. Without the bond they are back.",
			Do: func(s Spot) func() {
				s.Node.Merges = true
				// The driver merges the ports of a bond that is there, and parts them before it goes.
				apart := s.makeBond()
				s.Node.MergePorts()
				return func() {
					s.Node.Merges = false
					s.Node.MergePorts()
					apart()
				}
			},
		},
		{
			Name: "p2p-ip-conflict", Title: "Two interfaces in one subnet",
			Report: "ping works, and the traffic for rail 1 shows up on another interface",
			Doc: "On {node} enP2p1s0f0np0 also has an address in rail 1's subnet. Two routes lead to the peer, and " +
				"traffic may leave through the wrong half.",
			Do: func(s Spot) func() {
				// The third function is the other half of rail 1's port.
				return s.addAddress(s.Node.Functions[2].Netdev, s.spare(15, 90))
			},
		},
		{
			Name: "rail-ip-missing", Title: "Rail 2 has no address",
			Report: "the first rail can be pinged, the second says Destination Host Unreachable",
			Doc:    "enp1s0f1np1 of {node} has no IPv4 address: it cannot be pinged, and its RDMA device has no IPv4 GID.",
			Do: func(s Spot) func() {
				s.rail2().Netdev.DelAddr(s.rail2().Given)
				return func() { s.rail2().Netdev.AddAddr(s.rail2().Given) }
			},
		},
		{
			Name: "two-managers", Title: "Two daemons configure rail 2",
			Report: "the second rail has its address, then it has none, then it has it again",
			Doc: "On {node} systemd-networkd manages enp1s0f1np1, next to NetworkManager: each sets what the " +
				"other has removed, and which address stays is unknown.",
			Do: func(s Spot) func() {
				undo := flawedBy(linux.TwoManagers)(s)
				// The name that netplan gives such a file: by it a reader knows who wrote it.
				file := s.Node.Set(map[string]*host.Inode{
					"/run/systemd/network/10-netplan-" + s.rail2().Netdev.Name +
						".network": host.NewFile("[Match]\nName=" + s.rail2().Netdev.Name),
				})
				return func() {
					file()
					undo()
				}
			},
		},
		{
			Name: "rail-unmanaged", Title: "NetworkManager leaves rail 2 alone",
			Report: "nmcli says that the device is strictly unmanaged, and it is one that we need after the next boot",
			Doc: "On {node} enp1s0f1np1 is on the list unmanaged-devices. It has its address now; at the next boot its " +
				"profile is not started, and it has none.",
			Do: func(s Spot) func() {
				name := s.rail2().Netdev.Name
				// Unlike LetGo, which nmcli sets, Unmanaged comes from the configuration, and outlives a
				// restart.
				s.Node.Unmanaged[name] = true
				return func() { delete(s.Node.Unmanaged, name) }
			},
		},
		{
			Name: "manager-fights", Title: "A script gives the rails back to NetworkManager",
			Report: "I take the address off an interface, and as soon as I look it is back",
			Doc: "On {node} a script in /etc/NetworkManager/dispatcher.d makes NetworkManager manage the rails whenever " +
				"an interface comes up: what a change sets to unmanaged is managed again at once, and it gives the slaves " +
				"of a new bond their addresses.",
			Do: func(s Spot) func() {
				return s.Node.Set(map[string]*host.Inode{host.Dispatched: host.NewFile("#!/bin/sh\n" +
					"# Whatever came up, the rails are NetworkManager's.\n[ \"$2\" = up ] || exit 0\n" +
					"for rail in enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1; do\n" +
					"\tnmcli device set \"$rail\" managed yes\ndone")})
			},
		},
		{
			Name: "manager-mute", Title: "NetworkManager does not answer",
			Report: "nmcli says that NetworkManager is not running, and systemctl says that it is",
			Doc: "NetworkManager runs on {node} and hangs: nmcli says that it is not running. It can't be asked to let a " +
				"rail go, and so no change begins.",
			Do: flawedBy(network.MuteManager),
		},
		{
			Name: "dhcp-client", Title: "A DHCP client of another user has rail 2",
			Report: "no manager has the rail, or so they say, and no cell will change it",
			Doc: "On {node} dhclient was started for enp1s0f1np1 by hand, next to NetworkManager: when a lease comes, " +
				"or none does, it sets the rail's address, and it cannot be asked to stop.",
			Do: func(s Spot) func() {
				// A process is all there is to see of it: no manager knows of it.
				p := s.Node.Spawn([]string{"/sbin/dhclient", s.rail2().Netdev.Name}, true)
				return func() { delete(s.Node.Procs, p.PID) }
			},
		},
		{
			Name: "address-returned", Title: "The slaves of a bond have their addresses again",
			Report: "the bond came up, and pings over it get lost",
			Doc: "bond0 holds rails 1 and 2 on {node}, made by hand, and NetworkManager has given both their addresses " +
				"back: their routes take the bond's packets, and they get lost.",
			Do: func(s Spot) func() {
				undo := s.makeBond()
				// As NetworkManager does when a slave comes up that was not set to unmanaged.
				for _, f := range []*net.Function{s.rail1(), s.rail2()} {
					s.Node.Activate(f.Netdev)
				}
				return undo
			},
		},
		{
			Name: "profile-stray", Title: "A second profile wants rail 2",
			Report: "nmcli shows Wired connection 2, getting IP configuration, on a rail that is set up",
			Doc: "On {node} NetworkManager has a profile \"Wired connection 2\" for enp1s0f1np1 beside its own. It starts by " +
				"itself and asks for a lease and gets none; when it gives up, what the interface has is gone.",
			Do: func(s Spot) func() {
				name := s.rail2().Netdev.Name
				// The name that NetworkManager itself gives to a profile for an interface without one.
				s.Node.Strays[name] = "Wired connection 2"
				return func() { delete(s.Node.Strays, name) }
			},
		},
		{
			Name: "netplan-broken", Title: "A mistake in a file of netplan's",
			Report: "netplan says Error in network definition, but the network is up",
			Doc: "/etc/netplan/99-rails.yaml on {node} has \"adresses\" for addresses. What is set up stays as it is; at the " +
				"next boot netplan takes none of its files, and nothing that they say is set up.",
			Do: settings(map[string]string{
				"/etc/netplan/99-rails.yaml": "network:\n  version: 2\n  ethernets:\n    enp1s0f1np1:\n      adresses:\n" +
					"      - 192.168.201.10/24",
			}),
		},
		{
			Name: "boot-waits", Title: "The boot waited for the network",
			Report: "the machine takes a minute longer to boot: A start job is running for Wait for Network",
			Doc: "On {node} NetworkManager-wait-online gave up after a minute at the last boot: what starts after " +
				"the network started that much later.",
			Do: flawedBy(linux.SlowBoot),
		},
		{
			Name: "link-local-missing", Title: "Rail 2 has no address of its link",
			Report: "the GID table of the second device is shorter than at the other end",
			Doc: "enp1s0f1np1 of {node} has no fe80:: address, as with link-local: [] in netplan: RoCE v2 over " +
				"link-local GIDs gets no answer there.",
			Do: func(s Spot) func() {
				d := s.rail2().Netdev
				i := slices.IndexFunc(d.Addrs, func(a net.Address) bool { return a.Scope == "link" })
				own := d.Addrs[i]
				d.Addrs = slices.Delete(slices.Clone(d.Addrs), i, i+1)
				return func() { d.Addrs = append(d.Addrs, own) }
			},
		},
		{
			Name: "peer-reboots", Title: "{node} has just booted",
			Report: "it worked an hour ago, and the other node was restarted since, or so he says",
			Doc: "{node} has been up for a minute and a half. Its configuration brought everything back; what was " +
				"set by hand only would be gone.",
			Do: func(s Spot) func() {
				s.Node.UpFor = 95 * time.Second
				return func() { s.Node.UpFor = 0 }
			},
		},
		{
			Name: "rail-ips-left-over", Title: "The tutorial's second-rail addresses are still there", Where: OnPair,
			Report: "both rails answer pings, and a test of rail 2 moves rail 1's counters",
			Doc: "Rail 2's interfaces of {node} and {peer} also have addresses in rail 1's subnet, as an older " +
				"tutorial has it. Two routes lead to the peer.",
			Do: func(s Spot) func() {
				far := Spot{s.Peer, s.Node}
				here := s.addAddress(s.rail2().Netdev, s.spare(12, 160))
				there := far.addAddress(far.rail2().Netdev, far.spare(12, 160))
				return func() {
					here()
					there()
				}
			},
		},
		{
			Name: "duplicate-ip", Title: "Two nodes have one address", Where: OnSecond,
			Report: "the second rail connects to itself",
			Doc: "Rail 2 of {node} has {peer}'s address, as after a clean-up that was run on the wrong node. " +
				"Nothing passes between its ends.",
			Do: func(s Spot) func() {
				d := s.rail2().Netdev
				own, theirs := s.rail2().Given, s.across(s.rail2()).Given
				// One after the other: the route to the network goes and comes back with another
				// source.
				d.DelAddr(own)
				d.AddAddr(theirs)
				return func() {
					d.DelAddr(theirs)
					d.AddAddr(own)
				}
			},
		},
		{
			Name: "default-route-on-rail", Title: "A default route over rail 1",
			Report: "since the cable was plugged in, the node has no internet",
			Doc: "{node} has a default route over enp1s0f0np0 to {peer}, with a lower metric than its own. All " +
				"that leaves the node goes there, and railbench changes no interface that carries it.",
			Do: func(s Spot) func() {
				// The node's own has metric 100, and the lower one is taken.
				over := net.Route{
					Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: s.Peer.Functions[0].Given.Addr(), Dev: s.rail1().Netdev.Name,
					Proto: "static", Scope: "global", Table: net.MainTable, Metric: 50,
				}
				n := s.Node
				// A value, so undo finds it again though others have come and gone.
				n.Routes = append(n.Routes, over)
				return func() { n.Routes = slices.DeleteFunc(n.Routes, func(x net.Route) bool { return x == over }) }
			},
		},
		{
			Name: "address-unsaved", Title: "An address is in no configuration",
			Report: "we reboot tonight: will the second rail have its address tomorrow?",
			Doc: "{node}'s rail 2 has its address from \"ip addr add\": NetworkManager has no profile for it, and " +
				"it is gone after a reboot.",
			Do: func(s Spot) func() {
				name := s.rail2().Netdev.Name
				// The address itself stays: that no one saved it shows only after a reboot.
				saved := s.Node.Profiles[name]
				delete(s.Node.Profiles, name)
				return func() { s.Node.Profiles[name] = saved }
			},
		},
		{
			Name: "mtu-unsaved", Title: "The MTUs are in no configuration", Where: OnPair,
			Report: "after each update the MTU is 1500 again, and we set it by hand",
			Doc: "All rails of {node} and {peer} have an MTU of 9000 from \"ip link set\": NetworkManager's profiles have " +
				"none, and it is 1500 again after a reboot.",
			Do: func(s Spot) func() {
				set := func(mtu int) {
					for _, n := range []*host.Node{s.Node, s.Peer} {
						for _, f := range n.Functions {
							f.Netdev.SetMTU(mtu)
						}
					}
				}
				set(9000)
				return func() { set(1500) }
			},
		},
		{
			Name: "host-route", Title: "A host route leads to rail 1 over rail 2", Where: OnSecond,
			Report: "iperf3 to rail 1 shows good figures, and the gauges say that rail 2 moves",
			Doc: "{node} has a route of its own to the address of {peer}'s rail 1, over enp1s0f1np1: TCP for rail 1 takes " +
				"rail 2, and a ping that names its interface doesn't see it.",
			Do: func(s Spot) func() {
				own := net.Route{
					Dst: netip.PrefixFrom(s.across(s.rail1()).Netdev.IPv4().Addr(), 32), Dev: s.rail2().Netdev.Name,
					Proto: "boot", Scope: "link", Table: net.MainTable,
				}
				s.Node.Routes = append(s.Node.Routes, own)
				return func() {
					s.Node.Routes = slices.DeleteFunc(s.Node.Routes, func(r net.Route) bool { return r == own })
				}
			},
		},
		{
			Name: "shaped", Title: "A shaper was left on rail 1", Where: OnSecond,
			Report: "TCP on rail 1 is slow, 5 Gb/s, and RDMA is as fast as ever",
			Doc: "On {node} enp1s0f0np0 still has a token bucket of 5 Gb/s, of a trial: TCP gets no more through it, while " +
				"RDMA passes by the kernel's queues.",
			Do: func(s Spot) func() {
				d := s.rail1().Netdev
				// As tc qdisc show prints it, behind the word qdisc. The burst is what 5 Gb/s have in 2 ms.
				d.Queue = net.Queue{Text: "tbf 8001: root refcnt 33 rate 5Gbit burst 1250000b lat 50ms", Rate: 5e9}
				return func() { d.Queue = net.Queue{} }
			},
		},
		{
			Name: "arp-flux", Title: "The wrong interface answered for rail 1", Where: OnSecond,
			Report: "ping over rail 1 works, and RDMA over it ends with transport retry counter exceeded",
			Doc: "{node}'s neighbour table has the MAC of enP2p1s0f0np0 for the address of {peer}'s rail 1, which " +
				"is enp1s0f0np0's: packets for rail 1 arrive at the other half of {peer}'s adapter. The kernel there takes " +
				"TCP all the same; RDMA finds no queue pair of its own, and ends with \"transport retry counter exceeded\".",
			Do: func(s Spot) func() {
				n, far := s.Node, s.across(s.rail1())
				n.Fixed = append(n.Fixed, net.Neighbour{
					Addr: far.Given.Addr(), MAC: s.across(n.Functions[2]).Netdev.MACText(), Dev: s.rail1().Netdev.Name, Learnt: true,
				})
				// Remove any learnt entry: a node forgets it when the table is flushed, and asks again.
				return func() { n.Fixed = slices.DeleteFunc(n.Fixed, func(x net.Neighbour) bool { return x.Learnt }) }
			},
		},
	}
}

// spare is an address in rail 1's subnet that no one has: the first two nodes' have low numbers, those of others are
// counted from a base.
func (s Spot) spare(low, base int) netip.Prefix {
	switch {
	case s.Node.Index <= 1:
		base = low
	case s.Node.Fabric.Wide():
		base <<= 8
	}
	return s.rail1().Beside(base + s.Node.Index)
}

// across is the function that one of the node's leads to: the peer's, but in a ring, where it may be
// another node's.
func (s Spot) across(f *net.Function) *net.Function {
	for _, n := range append([]*net.Stack{s.Peer.Stack}, s.Node.Fabric.Stacks...) {
		for _, g := range n.Functions {
			if n != f.Stack && g.Half == f.Half && g.Wire() == f.Wire() {
				return g
			}
		}
	}
	return f
}

// addAddress also makes the route to the address's network, as the kernel does.
func (s Spot) addAddress(d *net.Netdev, p netip.Prefix) (undo func()) {
	d.AddAddr(p)
	return func() { d.DelAddr(p) }
}

// autobond is on a node from its boot: something has loaded the driver.
func autobond(s Spot) func() {
	n := s.Node
	// Without systemd's file the driver's own default holds.
	files := n.Set(map[string]*host.Inode{host.ModprobeFile: nil})
	n.UnloadBonding()
	n.LoadBonding(-1)
	return func() {
		files()
		if d := n.Netdev("bond0"); d != nil && len(d.Slaves()) == 0 {
			n.UnloadBonding()
		}
	}
}

// makeBond builds what the tutorial's bonding part leaves behind, step by step:
// both rails under bond0, which has rail 1's address, and whose GIDs have moved
// because the rails had theirs for a while longer.
func (s Spot) makeBond() (undo func()) {
	n := s.Node
	// Who had the driver before keeps it.
	driver := slices.Contains(n.Modules, "bonding")
	undo = func() {
		s.deleteBond()
		others := slices.ContainsFunc(n.Netdevs, func(d *net.Netdev) bool { return d.Bond != nil })
		if !driver && !others {
			n.UnloadBonding()
		}
	}
	// A user has made one already: it is the fault, and goes with it.
	if n.Netdev("bond0") != nil {
		return undo
	}
	n.LoadBonding(0)
	b := n.NewBond("bond0", net.BondState{Mode: "balance-xor", Policy: "layer3+4", Miimon: 100})
	rails := []*net.Netdev{s.rail1().Netdev, s.rail2().Netdev}
	first := rails[0].IPv4()
	for _, d := range rails {
		d.SetUp(false)
		d.Enslave(b)
	}
	b.AddAddr(first)
	b.SetUp(true)
	for _, d := range rails {
		d.Flush(netip.Addr.IsValid)
	}
	return undo
}

// deleteBond takes it apart, unless a user has, and gives the rails their addresses.
func (s Spot) deleteBond() {
	// A user may have cleaned up, which is what the drill is for.
	if s.Node.Netdev("bond0") == nil {
		return
	}
	s.Node.Stack.DeleteBond("bond0")
	for _, f := range []*net.Function{s.rail1(), s.rail2()} {
		f.Netdev.SetUp(true)
		f.Netdev.AddAddr(f.Given)
	}
}
