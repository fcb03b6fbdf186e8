package sim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Fault is something that can be broken on the rig.
type Fault struct {
	Name  string // as Inject takes it
	Title string
	Doc   string // what is broken and what one sees, in a sentence or two
}

// A defect is a fault with what it does to the rig beyond its name's being set.
type defect struct {
	title, doc string
	on, off    func(r *Rig)
}

// defects is every fault. Most are looked at where they matter, by name.
func defects() map[string]defect {
	one := func(r *Rig, dev string) *function {
		fs := r.nodes[0].functions
		return fs[slices.IndexFunc(fs, func(f *function) bool { return f.own == dev })]
	}
	rail1, rail2, twin1 := "rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0"
	rail2IP := netip.MustParsePrefix("192.168.200.10/24")
	all := map[string]defect{
		"link-down": {
			title: "Rail 2's interface is down",
			doc:   "On spark-01 enp1s0f1np1 is administratively down. Its RDMA port is DOWN, and a test on it ends at once with \"Port number 1 state is Down\".",
			on:    func(r *Rig) { one(r, rail2).net.setUp(false) },
			off:   func(r *Rig) { one(r, rail2).net.setUp(true) },
		},
		"cable-unplugged": {
			title: "Port 0's cable is out",
			doc:   "Both functions of QSFP port 0 have no carrier on both nodes. A test that runs stalls, and fails with \"transport retry counter exceeded\" unless the cable comes back in time.",
			on:    carrierChanged, off: carrierChanged,
		},
		"pcie-x2": {
			title: "A PCIe half runs at x2",
			doc:   "The second PCIe half (domain 0002) of spark-01's adapter came up with two lanes instead of four: its rails stop at about 55 Gb/s, and current_link_width says 2.",
		},
		"degraded-adapter": {
			title: "The adapter runs at 13 Gb/s",
			doc:   "spark-01's adapter moves about 13 Gb/s a function although link and PCIe width look right, as after a bad power state. Only a power cycle helps.",
		},
		"mtu-mismatch": {
			title: "The MTUs of rail 1 differ",
			doc:   "Rail 1's MTU is 9000 on spark-01 and 1500 on spark-02. Large pings that may not be fragmented get lost, and TCP crawls with one segment at a time; RDMA works, because it negotiates the smaller MTU.",
			on:    func(r *Rig) { one(r, rail1).net.mtu = 9000 },
			off:   func(r *Rig) { one(r, rail1).net.mtu = 1500 },
		},
		"gid-drift": {
			title: "The GID index of rail 1 drifted",
			doc:   "An address was added and removed on spark-01, so the RoCE v2 GID of rail 1's IPv4 address is at index 5 there and at 3 on spark-02. Using one index for both fails.",
			on:    func(r *Rig) { one(r, rail1).moveGIDs(2, 4) },
			off:   func(r *Rig) { one(r, rail1).moveGIDs(4, 2) },
		},
		"autobond": {
			title: "The bonding module makes bond0 by itself",
			doc:   "Neither node has systemd's \"options bonding max_bonds=0\": loading the module made an empty bond0 in balance-rr on both. \"ip link add bond0\" fails with \"File exists\", and whatever follows it works on the wrong bond.",
			on:    autobond, off: noAutobond,
		},
		"bond-left-over": {
			title: "A bond still holds the rails",
			doc:   "bond0 holds rails 1 and 2 on spark-01. The ports stay ACTIVE, but their GIDs are the bond's: tests per rail fail to reach RTR, or hang.",
			on: func(r *Rig) {
				n := r.nodes[0]
				if n.netdev("bond0") == nil {
					n.makeBond("bond0", "balance-xor")
				}
			},
			off: func(r *Rig) {
				n := r.nodes[0]
				if n.netdev("bond0") == nil {
					return
				}
				n.deleteBond("bond0")
				for _, f := range n.functions[:2] {
					f.net.setUp(true)
				}
				one(r, rail1).net.addAddr(netip.MustParsePrefix("192.168.100.10/24"))
				one(r, rail2).net.addAddr(rail2IP)
			},
		},
		"p2p-ip-conflict": {
			title: "Two interfaces in one subnet",
			doc:   "On spark-01 enP2p1s0f0np0 also has 192.168.100.15/24, in rail 1's subnet. Two routes lead to the peer, and traffic may leave through the wrong half.",
			on:    func(r *Rig) { one(r, twin1).net.addAddr(netip.MustParsePrefix("192.168.100.15/24")) },
			off: func(r *Rig) {
				one(r, twin1).net.delAddr(netip.MustParsePrefix("192.168.100.15/24"))
			},
		},
		"rail-ip-missing": {
			title: "Rail 2 has no address",
			doc:   "enp1s0f1np1 of spark-01 has no IPv4 address: it cannot be pinged, and its RDMA device has no IPv4 GID.",
			on:    func(r *Rig) { one(r, rail2).net.delAddr(rail2IP) },
			off:   func(r *Rig) { one(r, rail2).net.addAddr(rail2IP) },
		},
		"port-busy": {
			title: "Port 18515 is taken",
			doc:   "A forgotten ib_write_bw on spark-01 listens on TCP port 18515. A new server there fails with \"Couldn't listen to port 18515\".",
			on:    func(r *Rig) { r.nodes[0].forget(defaultPort, "ib_write_bw", "-d", rail1, "-x", "3") },
			off:   func(r *Rig) { r.nodes[0].unforget(defaultPort) },
		},
		"counter-missing": {
			title: "The port counters are missing",
			doc:   "spark-01's RDMA devices have no ports/1/counters directory, as with soft-RoCE. How much a rail moved cannot be told there.",
			on:    treeChanged, off: treeChanged,
		},
		"counter-reset": {
			title: "Counters drop to zero",
			doc:   "Halfway through each test the port counters of both nodes start again at zero, as after a reload of the driver.",
		},
		"tool-missing": {
			title: "perftest is not installed",
			doc:   "ib_write_bw and ib_write_lat do not exist on spark-01: the server ends with status 127.",
			on:    treeChanged, off: treeChanged,
		},
		"tool-differs": {
			title: "Different perftest releases",
			doc:   "spark-01 has perftest 24.07 (6.21, \"MiB/sec\") and spark-02 has 4.5 (6.06, \"MB/sec\"). Both print MiB a second, under different headers.",
		},
		"sudo-password": {
			title: "sudo asks for a password",
			doc:   "Both nodes' sudo wants a password (it is \"engineer\"). Steps that need root fail until it is given.",
		},
		"peer-dead": {
			title: "spark-01 is dead",
			doc:   "spark-01 refuses and ends SSH connections, and answers nothing on the rails.",
			on: func(r *Rig) {
				for c, name := range r.conns {
					if name == r.nodes[0].name {
						c.Close()
					}
				}
				carrierChanged(r)
			},
			off: carrierChanged,
		},
		"retransmits": {
			title: "Packets are sent again",
			doc:   "3 to 6 % of the packets are lost and sent again: the wire carries more than the test, and out_of_sequence and packet_seq_err grow.",
		},
		"slow-rail": {
			title: "Rail 1 is slow",
			doc:   "Rail 1 moves 60 Gb/s instead of 92, and nothing says why.",
		},
		"garbled-output": {
			title: "A result row is cut",
			doc:   "ib_write_bw's result row breaks off in the middle, as when a connection breaks. There is no result in it.",
		},
		"hog": {
			title: "Somebody else uses rail 2",
			doc:   "Other RDMA traffic of 20 Gb/s runs on rail 2 from spark-02 to spark-01. The counters move before a test starts.",
			on: func(r *Rig) {
				r.hog = &flow{
					src: r.nodes[1].function(rail2), dst: one(r, rail2), mtu: 1024, message: 65536,
					demand: 20e9, share: 1,
				}
				r.fabric.add(r.hog)
			},
			off: func(r *Rig) {
				if r.hog != nil {
					r.fabric.stop(r.hog)
					r.hog = nil
				}
			},
		},
	}
	maps.Copy(all, nixlDefects())
	maps.Copy(all, hardwareDefects())
	maps.Copy(all, softwareDefects())
	maps.Copy(all, networkDefects())
	return all
}

// Faults lists everything that can be broken, sorted by name.
func Faults() []Fault {
	all := defects()
	var fs []Fault
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fs = append(fs, Fault{Name: name, Title: all[name].title, Doc: all[name].doc})
	}
	return fs
}

// Inject breaks something. Breaking it twice is breaking it once.
func (r *Rig) Inject(fault string) error { return r.set(fault, true) }

// Clear repairs it.
func (r *Rig) Clear(fault string) error { return r.set(fault, false) }

func (r *Rig) set(name string, on bool) error {
	all := defects()
	d, ok := all[name]
	if !ok {
		hint := ""
		if n := nearest(name, slices.Sorted(maps.Keys(all))); n != "" {
			hint = "did you mean " + n + "? "
		}
		return fmt.Errorf("no fault %q: %s`railbench sim --fault list` shows all of them", name, hint)
	}
	var told []func() // what the nodes' users hear, once the lock is free
	defer func() {
		r.clock.look()
		for _, tell := range told {
			tell()
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults[name] == on {
		return nil
	}
	r.fabric.advance()
	r.faults[name] = on
	if change := d.off; !on && change != nil {
		change(r)
	}
	if change := d.on; on && change != nil {
		change(r)
	}
	r.fabric.allocate()
	for _, n := range r.direct {
		told = append(told, n.reach()...)
	}
	return nil
}

// carrierChanged counts what a cable or a dead peer does to carriers.
func carrierChanged(r *Rig) {
	for _, n := range r.nodes {
		for _, f := range n.functions {
			if f.qsfp != 0 || !n.hurt() {
				continue
			}
			f.net.changes++
			if f.net.master != nil && !f.net.running() {
				f.net.slave.failures++
			}
		}
		n.linksReady()
	}
}

// autobond is on the nodes from their boot: something has loaded the driver.
func autobond(r *Rig) {
	treeChanged(r)
	for _, n := range r.nodes {
		n.unloadBonding()
		n.loadBonding(-1)
	}
}

func noAutobond(r *Rig) {
	treeChanged(r)
	for _, n := range r.nodes {
		if d := n.netdev("bond0"); d != nil && len(d.slaves()) == 0 {
			n.unloadBonding()
		}
	}
}

func treeChanged(r *Rig) {
	for _, n := range r.nodes {
		n.tree = nil
	}
}

// moveGIDs moves a pair of entries to other slots.
func (f *function) moveGIDs(from, to int) {
	f.gids[to], f.gids[to+1] = f.gids[from], f.gids[from+1]
	f.gids[from], f.gids[from+1] = gid{}, gid{}
}

// makeBond builds what the tutorial's bonding part leaves behind, step by step:
// both rails under bond0, which has rail 1's address, and whose GIDs have moved
// because the rails had theirs for a while longer.
func (n *node) makeBond(name, mode string) {
	n.loadBonding(0)
	b := n.newBond(name, bondState{mode: mode, policy: "layer3+4", miimon: 100})
	rails := []*netdev{n.functions[0].net, n.functions[1].net}
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

// deleteBond removes a bond and lets its slaves go.
func (n *node) deleteBond(name string) {
	b := n.netdev(name)
	for _, s := range b.slaves() {
		s.release()
	}
	b.setUp(false)
	b.flush(netip.Addr.IsValid)
	n.routes = slices.DeleteFunc(n.routes, func(r route) bool { return r.dev == name })
	n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.dev == name })
	n.netdevs = slices.DeleteFunc(n.netdevs, func(d *netdev) bool { return d == b })
	n.tree = nil
}

// loadBonding loads the driver, which makes as many bonds by itself as it is
// told: by maxBonds, or where that is negative by modprobe's configuration.
func (n *node) loadBonding(maxBonds int) {
	if slices.Contains(n.modules, "bonding") {
		return
	}
	n.modules = append(n.modules, "bonding")
	n.tree = nil
	if maxBonds < 0 {
		maxBonds = n.configuredBonds()
	}
	for i := range maxBonds {
		if name := fmt.Sprint("bond", i); n.netdev(name) == nil {
			n.newBond(name, bondState{mode: "balance-rr", policy: "layer2"})
		}
	}
}

// unloadBonding takes all bonds away with the driver: it has no users that would
// keep it.
func (n *node) unloadBonding() {
	for _, d := range slices.Clone(n.netdevs) {
		if d.bond != nil {
			n.deleteBond(d.name)
		}
	}
	n.modules = slices.DeleteFunc(n.modules, func(m string) bool { return m == "bonding" })
	n.tree = nil
}

// configuredBonds is what modprobe's configuration says: systemd's file says that
// there are none, and without it the driver makes one.
func (n *node) configuredBonds() int {
	bonds := 1
	for _, dir := range []string{"/usr/lib/modprobe.d", "/etc/modprobe.d"} {
		i, _, err := n.lookup(dir, true)
		if err != nil {
			continue
		}
		for _, name := range i.names() {
			text, _ := n.readFile(dir+"/"+name, true)
			for line := range strings.Lines(text) {
				words := strings.Fields(line)
				if len(words) < 2 || words[0] != "options" || words[1] != "bonding" {
					continue
				}
				for _, w := range words[2:] {
					if v, ok := strings.CutPrefix(w, "max_bonds="); ok {
						bonds, _ = strconv.Atoi(v)
					}
				}
			}
		}
	}
	return bonds
}

// resetCounters is called halfway through each flow.
func (r *Rig) resetCounters(fl *flow) {
	if !r.faults["counter-reset"] || fl.ip {
		return
	}
	for _, n := range r.nodes {
		for _, f := range n.functions {
			f.port = portCounters{}
		}
	}
}

// nearest is the name with the fewest changes of a letter; empty where none is near.
func nearest(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if d := distance(name, candidate); d < least || strings.HasPrefix(candidate, name) && d <= least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
