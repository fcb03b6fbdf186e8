package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
)

// A stack is a node as its network sees it: the adapter's functions, the interfaces and
// the routes. The fabric's lock guards everything in it.
type stack struct {
	fabric    *fabric
	name      string
	index     int // 0 is the first node
	functions []*function
	netdevs   []*netdev // by ifindex
	routes    []route   // of all tables but the local one
	fixed     []neighbour
	// devices counts how often the set of devices, or the name of one, has changed: whoever
	// shows them as a tree looks whether his is of now.
	devices int
	runs    map[string]uint64 // how often each tool drew random numbers

	// What may be wrong with it, or with its cables.
	dead      bool    // answers nothing, and its ports have no light
	pulled    [2]bool // by QSFP port: the cable is out
	resends   bool    // packets from it and to it get lost
	resets    bool    // its counters start again in the middle of each test
	uncounted bool    // its ports have no counters
	merges    bool    // its adapter makes one RDMA device of two ports in one bond
}

// A function is one PCI function of the adapter, which is one RDMA device with
// one netdev.
type function struct {
	stack *stack
	no    int    // 0 to 3
	dev   string // rocep1s0f0
	own   string // dev as it is outside a LAG
	pci   string // 0000:01:00.0
	half  int    // which of the two PCIe x4 halves
	qsfp  int    // which port of the adapter: where the cable goes
	net   *netdev
	gids  [16]gid
	port  portCounters
	hw    map[string]uint64
	// merged says that another function's RDMA device stands for it.
	merged bool
	// lost says that the driver has left it: no device, no interface. kept and
	// keptGIDs are what comes back with it.
	lost     bool
	kept     []netip.Prefix
	keptGIDs [16]gid
	// given is the address that it is set up with.
	given netip.Prefix
	// lanes is the width of the function's PCIe link.
	lanes int
	// caps are what bounds it beside the hardware, in bits a second, by the reason.
	caps map[string]float64
	// worn says that the end of its cable makes errors, since wornAt, in seconds.
	worn   bool
	wornAt float64
}

// portCounters are in octets; sysfs shows them in words of four.
type portCounters struct {
	xmit, rcv, xmitPackets, rcvPackets uint64
}

func (p *portCounters) add(xmit, xmitPackets, rcv, rcvPackets uint64) {
	p.xmit += xmit
	p.xmitPackets += xmitPackets
	p.rcv += rcv
	p.rcvPackets += rcvPackets
}

// A gid is one slot of a port's GID table, empty where addr is invalid.
type gid struct {
	addr netip.Addr
	v2   bool
	ndev string
}

func (g gid) family() int {
	switch {
	case !g.addr.IsValid():
		return 0
	case g.addr.Is4():
		return 4
	default:
		return 6
	}
}

// prefixContains asks whether a GID's address is in a prefix's network.
func prefixContains(g gid) func(address) bool {
	return func(a address) bool { return a.Addr().Is4() && a.Masked().Contains(g.addr) }
}

// bytes is the GID as it is on the wire: an IPv4 address is mapped into IPv6.
func (g gid) bytes() [16]byte {
	if !g.addr.IsValid() {
		return [16]byte{}
	}
	return g.addr.As16()
}

// newStack makes a node's adapter, its interfaces and what they are set up with.
func newStack(f *fabric, index int) *stack {
	n := &stack{fabric: f, index: index, name: fmt.Sprintf("spark-%02d", index+1), runs: map[string]uint64{}}
	host := 10 + index
	if index > 1 {
		host += 10 // .12, .13 and .15 are what faults give the first two
	}
	lo := n.addNetdev("lo", "loopback", [6]byte{}, 65536)
	for _, a := range []string{"127.0.0.1/8", "::1/128"} {
		lo.add(address{Prefix: netip.MustParsePrefix(a), scope: "host"})
	}
	mac := func(i byte) [6]byte { return [6]byte{0x4c, 0xbb, 0x47, 0x2c, byte(0x10 + index), i} }
	mgmt := n.addNetdev("enP7s7", "ether", mac(0x20), 1500)
	mgmt.addAddr(netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 1, byte(101 + index)}), 24))
	n.routes = append(n.routes, route{
		dst: netip.MustParsePrefix("0.0.0.0/0"), via: netip.MustParseAddr("192.168.1.1"), dev: "enP7s7",
		proto: "static", scope: "global", table: mainTable, metric: 100,
	})
	for i, hw := range []struct {
		dev, netdev, pci string
		half, qsfp       int
		third            byte
	}{
		{"rocep1s0f0", "enp1s0f0np0", "0000:01:00.0", 0, 0, 100},
		{"rocep1s0f1", "enp1s0f1np1", "0000:01:00.1", 0, 1, 200},
		{"roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0", 1, 0, 102},
		{"roceP2p1s0f1", "enP2p1s0f1np1", "0002:01:00.1", 1, 1, 202},
	} {
		fn := &function{
			stack: n, no: i, dev: hw.dev, own: hw.dev, pci: hw.pci, half: hw.half, qsfp: hw.qsfp, hw: map[string]uint64{}, lanes: 4,
			caps: map[string]float64{},
		}
		d := n.addNetdev(hw.netdev, "ether", mac(byte(0x31+i)), 1500)
		fn.net, d.fn = d, fn
		n.functions = append(n.functions, fn)
		fn.defaultGIDs()
		// The twin of rail 1 had another address once: its IPv4 entry is not
		// where everybody expects it. A GID index is whatever slot was free.
		old := netip.PrefixFrom(netip.AddrFrom4([4]byte{169, 254, 7, byte(host)}), 16)
		if i == 2 {
			d.addAddr(old)
		}
		fn.given = netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, hw.third, byte(host)}), 24)
		d.addAddr(fn.given)
		d.delAddr(old)
		// The ports have seen traffic before.
		rnd := n.random("history" + hw.dev)
		base := uint64(1+rnd.IntN(1200)) * 1e9
		fn.port = portCounters{base, base - base/7, base / 1082, (base - base/7) / 1082}
		d.count(uint64(rnd.IntN(9e6)), 40000, uint64(rnd.IntN(9e6)), 42000)
		fn.hw["lifespan"] = 10
		fn.hw["rx_write_requests"] = fn.port.rcvPackets / 64
	}
	n.linksReady()
	return n
}

func (n *stack) addNetdev(name, kind string, mac [6]byte, mtu int) *netdev {
	index := 1
	for _, d := range n.netdevs {
		index = max(index, d.index+1)
	}
	d := &netdev{
		stack: n, name: name, index: index, kind: kind, mac: mac, perm: mac, mtu: mtu, up: true, opened: true, changes: 2,
	}
	n.netdevs = append(n.netdevs, d)
	n.devices++
	return d
}

// others are all nodes but this one, in order.
func (n *stack) others() []*stack {
	return slices.DeleteFunc(slices.Clone(n.fabric.stacks), func(x *stack) bool { return x == n })
}

// random is a source that depends on the seed and on how often the same tool
// drew before on this node, and not on time: the same commands in the same
// order print the same numbers.
func (n *stack) random(tool string) *rand.Rand {
	n.runs[tool]++
	var word [16]byte
	copy(word[:], tool)
	mix := binary.LittleEndian.Uint64(word[:8]) ^ binary.LittleEndian.Uint64(word[8:])*0x9e3779b97f4a7c15
	return rand.New(rand.NewPCG(n.fabric.seed^mix, n.runs[tool]<<8|uint64(n.index)))
}

func (n *stack) netdev(name string) *netdev {
	for _, d := range n.netdevs {
		if d.name == name {
			return d
		}
	}
	return nil
}

func (n *stack) function(dev string) *function {
	for _, f := range n.present() {
		if f.dev == dev {
			return f
		}
	}
	return nil
}

// live says whether packets can pass the function's port.
func (f *function) live() bool { return !f.lost && f.net.running() }

// halfRate is what the function's PCIe half carries.
func (f *function) halfRate() float64 {
	return halfRate * float64(f.lanes) / 4
}

// cap is the least of what bounds the function beside the hardware; 0 where nothing does.
func (f *function) cap() float64 {
	least := 0.0
	for _, rate := range f.caps {
		if least == 0 || rate < least {
			least = rate
		}
	}
	return least
}

// activeMTU is the largest RoCE MTU that the netdev's frames can hold.
func (f *function) activeMTU() int {
	best := 256
	for _, m := range []int{512, 1024, 2048, 4096} {
		if m+roceHeader <= f.net.mtu {
			best = m
		}
	}
	return best
}

func (f *function) addGID(g gid) {
	for i := range f.gids {
		if !f.gids[i].addr.IsValid() {
			f.gids[i] = g
			return
		}
	}
}

func (f *function) delGIDs(match func(gid) bool) {
	for i := range f.gids {
		if f.gids[i].addr.IsValid() && match(f.gids[i]) {
			f.gids[i] = gid{}
		}
	}
}

// bestGID is what perftest takes where no -x is given.
func (f *function) bestGID() int {
	for i, g := range f.gids {
		if g.family() == 4 && g.v2 {
			return i
		}
	}
	return 1
}

// neighbour is the other node's netdev that answers for dst on the same wire as out.
// A node answers for any of its addresses on any of its interfaces, but only
// from a wire that is joined to out.
func (n *stack) neighbour(out *netdev, dst netip.Addr) *netdev {
	if !out.running() || out.master != nil || n.dead {
		return nil
	}
	for _, x := range n.others() {
		if x.dead {
			continue
		}
		for _, d := range x.netdevs {
			if d.running() && d.master == nil && d.has(dst) && out.joined(d) && d.joined(out) {
				return d
			}
		}
	}
	return nil
}

// joined says whether what the netdev sends arrives at the other one. A bond at
// one end only sends answers over the other cable too, to an interface that
// doesn't take them; one that uses a single link doesn't.
func (d *netdev) joined(other *netdev) bool {
	from := d.wires()
	if d.bond != nil && other.bond == nil {
		for _, s := range d.slaves() {
			if s.running() && (d.bond.mode != "active-backup" || s == d.activeSlave()) &&
				!slices.Equal(s.wires(), other.wires()) {
				return false
			}
		}
	}
	return slices.ContainsFunc(from, func(w int) bool { return slices.Contains(other.wires(), w) })
}

// wires are the cables that the netdev is on: QSFP port 0 or 1, or the
// management network.
func (d *netdev) wires() []int {
	switch {
	case d.fn != nil:
		return []int{d.fn.qsfp}
	case d.kind == "bond":
		var w []int
		for _, s := range d.slaves() {
			w = append(w, s.wires()...)
		}
		return w
	case d.kind == "ether":
		return []int{-1}
	default:
		return nil
	}
}

// resolve turns a host name or an address into an address.
func (n *stack) resolve(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	name := strings.ToLower(host)
	if name == "localhost" || name == n.name {
		return netip.MustParseAddr("127.0.0.1"), true
	}
	for _, x := range n.others() {
		if x.name == name {
			return x.netdevs[1].ipv4().Addr(), true
		}
	}
	return netip.Addr{}, false
}

// moveGIDs moves a pair of entries to other slots.
func (f *function) moveGIDs(from, to int) {
	f.gids[to], f.gids[to+1] = f.gids[from], f.gids[from+1]
	f.gids[from], f.gids[from+1] = gid{}, gid{}
}

// loseHalf takes the driver away from the functions of a PCIe half, and with it
// their RDMA devices and interfaces.
func (n *stack) loseHalf(half int) {
	for _, f := range n.functions {
		if f.half != half || f.lost {
			continue
		}
		d, gids := f.net, f.gids
		if d.master != nil {
			d.release()
		}
		f.kept = nil
		for _, a := range d.addrs {
			if a.Addr().Is4() {
				f.kept = append(f.kept, a.Prefix)
			}
		}
		d.setUp(false)
		d.flush(netip.Addr.IsValid)
		f.gids, f.keptGIDs = [16]gid{}, gids
		f.lost = true
		n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.dev == d.name })
		n.netdevs = slices.DeleteFunc(n.netdevs, func(x *netdev) bool { return x == d })
	}
	n.devices++
}

// regainHalf is what a restart does: the devices are back, with the addresses
// that they had.
func (n *stack) regainHalf(half int) {
	for _, f := range n.functions {
		if f.half != half || !f.lost {
			continue
		}
		f.lost = false
		n.netdevs = append(n.netdevs, f.net)
		slices.SortStableFunc(n.netdevs, func(a, b *netdev) int { return a.index - b.index })
		f.defaultGIDs()
		f.net.setUp(true)
		for _, a := range f.kept {
			f.net.addAddr(a)
		}
		f.gids = f.keptGIDs
	}
	n.devices++
}

// present are the functions that the driver has: the others have no device.
func (n *stack) present() []*function {
	var fs []*function
	for _, f := range n.functions {
		if !f.lost && !f.merged {
			fs = append(fs, f)
		}
	}
	return fs
}

// cableErrors are what a bad end of a cable has added to the port's counters of errors.
func (f *function) cableErrors() uint64 {
	if !f.worn {
		return 0
	}
	const perSecond = 40
	return uint64(perSecond * max(0, f.stack.fabric.now()-f.wornAt))
}

// mergePorts is what mlx5 may do with two ports of an adapter that are in one bond:
// the first one's RDMA device stands for both, under another name.
func (n *stack) mergePorts() {
	a, b := n.functions[0], n.functions[1]
	b.merged = n.merges &&
		a.net.master != nil && a.net.master == b.net.master && !a.lost && !b.lost
	a.dev = a.own
	if b.merged {
		a.dev = "mlx5_bond_0"
	}
	n.devices++
}

// has reports whether the address is one of the node's own.
func (n *stack) has(a netip.Addr) bool {
	return slices.ContainsFunc(n.netdevs, func(d *netdev) bool { return d.has(a) })
}
