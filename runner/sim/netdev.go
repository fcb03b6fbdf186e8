package sim

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"
)

// A netdev is a network interface.
type netdev struct {
	stack   *stack
	name    string
	index   int
	kind    string // ether, loopback or bond
	mac     [6]byte
	perm    [6]byte // what the hardware was made with; zero where there is none
	mtu     int
	up      bool // administratively
	opened  bool // it was up before
	ready   bool // it has had a link since it is up, and so made its IPv6 address
	addrs   []address
	master  *netdev
	slave   slaveState // while it has a master
	fn      *function  // nil for lo, the management interface and bonds
	changes int        // of its carrier
	bond    *bondState

	rxBytes, rxPackets, txBytes, txPackets uint64
}

// An address is one of an interface's, in the order that the kernel keeps:
// IPv4 first, primary ones before secondary ones, then IPv6.
type address struct {
	netip.Prefix
	broadcast     netip.Addr
	scope         string // global, link or host
	label         string // of IPv4
	secondary     bool
	noPrefixRoute bool
	nodad         bool
	// A dynamic address has lifetimes, which are counted from when they were set.
	dynamic          bool
	valid, preferred uint32
	set              time.Duration
}

// A bondState is what a bond is beside an interface. Everything else that a bond
// can be told has the driver's default.
type bondState struct {
	mode, policy string
	miimon       int
	active       *netdev // in active-backup
	stolen       bool    // its MAC is its first slave's
	given        bool    // its MAC was set by hand
	made         byte    // how many MACs it has made up
}

// A slaveState is what a bond keeps of an interface that it holds.
type slaveState struct {
	no                                     int // which one it is
	mac                                    [6]byte
	mtu                                    int
	failures                               int
	rxBytes, rxPackets, txBytes, txPackets uint64 // what it had counted before
}

// count adds to the interface's counters, and a bond's to those of the slave that
// a packet without ports takes.
func (d *netdev) count(tx, txPackets, rx, rxPackets uint64) {
	if d.bond != nil {
		if s := d.lane(0); s != nil {
			s.count(tx, txPackets, rx, rxPackets)
		}
		return
	}
	d.txBytes += tx
	d.txPackets += txPackets
	d.rxBytes += rx
	d.rxPackets += rxPackets
}

// The four counters of an interface. A bond has counted what its slaves did
// since it holds them.
func (d *netdev) received() (bytes, packets uint64) {
	bytes, packets = d.rxBytes, d.rxPackets
	for _, s := range d.slaves() {
		bytes += s.rxBytes - s.slave.rxBytes
		packets += s.rxPackets - s.slave.rxPackets
	}
	return bytes, packets
}

func (d *netdev) sent() (bytes, packets uint64) {
	bytes, packets = d.txBytes, d.txPackets
	for _, s := range d.slaves() {
		bytes += s.txBytes - s.slave.txBytes
		packets += s.txPackets - s.slave.txPackets
	}
	return bytes, packets
}

// plugged says whether a cable is in the netdev's port.
func (d *netdev) plugged() bool {
	if d.fn == nil {
		return true
	}
	return !d.unplugged() && !slices.ContainsFunc(d.ends(), func(n *stack) bool { return n.dead })
}

// unplugged says whether somebody has pulled the cable out of the netdev's port.
func (d *netdev) unplugged() bool {
	return d.fn != nil && slices.ContainsFunc(d.ends(), func(n *stack) bool { return n.pulled[d.fn.qsfp] })
}

// ends are the nodes at the ends of the netdev's cable: the other end of a cable to a
// switch is no node's.
func (d *netdev) ends() []*stack {
	if d.stack.fabric.switched() {
		return []*stack{d.stack}
	}
	return d.stack.fabric.stacks
}

func (d *netdev) carrier() bool {
	if d.kind == "bond" {
		return slices.ContainsFunc(d.slaves(), (*netdev).running)
	}
	return d.plugged()
}

func (d *netdev) running() bool { return d.up && d.carrier() }

// slaves are in the order in which the bond got them.
func (d *netdev) slaves() []*netdev {
	if d.bond == nil {
		return nil
	}
	var s []*netdev
	for _, x := range d.stack.netdevs {
		if x.master == d {
			s = append(s, x)
		}
	}
	slices.SortFunc(s, func(a, b *netdev) int { return a.slave.no - b.slave.no })
	return s
}

// lane is the slave that a bond sends a flow over; nil where there is none.
func (d *netdev) lane(hash int) *netdev {
	var live []*netdev
	for _, s := range d.slaves() {
		if s.running() {
			live = append(live, s)
		}
	}
	switch {
	case len(live) == 0:
		return nil
	case d.bond.mode == "active-backup":
		return d.activeSlave()
	default:
		return live[hash%len(live)]
	}
}

// activeSlave is the one that an active-backup bond uses; it fails over to the
// first that has a link, and stays there.
func (d *netdev) activeSlave() *netdev {
	b := d.bond
	if b.active != nil && b.active.master == d && b.active.running() {
		return b.active
	}
	b.active = nil
	if i := slices.IndexFunc(d.slaves(), (*netdev).running); i >= 0 {
		b.active = d.slaves()[i]
	}
	return b.active
}

func (d *netdev) linkLocal() netip.Addr {
	m := d.mac
	return netip.AddrFrom16([16]byte{
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5],
	})
}

func macText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func (d *netdev) macText() string { return macText(d.mac) }

// ipv4 is the netdev's first IPv4 address.
func (d *netdev) ipv4() netip.Prefix {
	for _, a := range d.addrs {
		if a.Addr().Is4() {
			return a.Prefix
		}
	}
	return netip.Prefix{}
}

// has says that the address is one of the netdev's.
func (d *netdev) has(addr netip.Addr) bool {
	return slices.ContainsFunc(d.addrs, func(a address) bool { return a.Addr() == addr })
}

func (d *netdev) find(p netip.Prefix) int {
	return slices.IndexFunc(d.addrs, func(a address) bool { return a.Prefix == p })
}

// rdma are the functions whose GID tables show the netdev's addresses.
func (d *netdev) rdma() []*function {
	if d.fn != nil {
		return []*function{d.fn}
	}
	var fs []*function
	for _, s := range d.slaves() {
		fs = append(fs, s.rdma()...)
	}
	return fs
}

// addAddr gives the netdev an address as a configured system does, with the
// network's broadcast address.
func (d *netdev) addAddr(p netip.Prefix) bool {
	return d.add(address{Prefix: p, broadcast: broadcastOf(p)})
}

// broadcastOf is the last address of an IPv4 network that has more than two.
func broadcastOf(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// add gives the netdev an address, the route that leads to its network, and its
// RDMA devices the two GIDs that come with it; it is false where the netdev has
// it already.
func (d *netdev) add(a address) bool {
	if d.find(a.Prefix) >= 0 {
		return false
	}
	if a.scope == "" {
		a.scope = "global"
	}
	if a.Addr().Is4() && a.label == "" {
		a.label = d.name
	}
	if !a.dynamic {
		a.valid, a.preferred = math.MaxUint32, math.MaxUint32
	}
	a.secondary = a.Addr().Is4() && slices.ContainsFunc(d.addrs, func(x address) bool {
		return x.Addr().Is4() && !x.secondary && x.Bits() == a.Bits() && x.Masked() == a.Masked()
	})
	d.insert(a)
	if !a.secondary {
		d.connect(a)
	}
	for _, f := range d.rdma() {
		f.addGIDs(a.Addr(), d)
	}
	return true
}

// insert keeps the kernel's order.
func (d *netdev) insert(a address) {
	rank := func(a address) int {
		switch {
		case a.Addr().Is4() && !a.secondary:
			return 0
		case a.Addr().Is4():
			return 1
		case a.scope != "link":
			return 2
		default:
			return 3
		}
	}
	at := slices.IndexFunc(d.addrs, func(x address) bool { return rank(x) > rank(a) })
	if at < 0 {
		at = len(d.addrs)
	}
	if a.Addr().Is6() {
		// The newest of a scope comes first.
		if i := slices.IndexFunc(d.addrs, func(x address) bool { return rank(x) == rank(a) }); i >= 0 {
			at = i
		}
	}
	d.addrs = slices.Insert(d.addrs, at, a)
}

// delAddr takes an address away. A secondary one takes a primary one's place, as
// systemd sets the kernel up to do.
func (d *netdev) delAddr(p netip.Prefix) bool {
	i := d.find(p)
	if i < 0 {
		return false
	}
	gone := d.addrs[i]
	d.addrs = slices.Delete(d.addrs, i, i+1)
	for _, f := range d.rdma() {
		f.delGIDs(func(g gid) bool { return g.addr == p.Addr() && g.ndev == d.name && !d.has(g.addr) })
		f.defaultGIDs()
	}
	if gone.Addr().Is6() {
		return true
	}
	if !gone.secondary {
		d.disconnect(gone)
		d.promote(gone)
	}
	d.stack.routes = slices.DeleteFunc(d.stack.routes, func(r route) bool {
		return r.src == p.Addr() && !slices.ContainsFunc(d.stack.netdevs, func(x *netdev) bool { return x.has(p.Addr()) }) ||
			r.dev == d.name && r.dst.Addr().Is4() && !d.ipv4().IsValid()
	})
	return true
}

func (d *netdev) promote(gone address) {
	i := slices.IndexFunc(d.addrs, func(a address) bool { return a.secondary && a.Masked() == gone.Masked() })
	if i < 0 {
		return
	}
	a := d.addrs[i]
	a.secondary = false
	d.addrs = slices.Delete(d.addrs, i, i+1)
	d.insert(a)
	d.connect(a)
}

// flush takes all addresses of a family away.
func (d *netdev) flush(wanted func(netip.Addr) bool) {
	for _, a := range slices.Clone(d.addrs) {
		if wanted(a.Addr()) {
			d.delAddr(a.Prefix)
		}
	}
}

// setUp changes the administrative state. IPv4 addresses stay with an interface
// that goes down, and nothing else does. The fabric looks again at who has a path.
func (d *netdev) setUp(up bool) {
	if d.up == up {
		return
	}
	d.stack.fabric.advance()
	if !up && d.master != nil && d.running() {
		d.slave.failures++
	}
	d.up = up
	d.changes++
	if up {
		d.opened = true
		for _, a := range d.addrs {
			if a.Addr().Is4() && !a.secondary {
				d.connect(a)
			}
		}
	} else {
		d.ready = false
		d.flush(netip.Addr.Is6)
		d.stack.routes = slices.DeleteFunc(d.stack.routes, func(r route) bool { return r.dev == d.name })
	}
	d.stack.linksReady()
	d.stack.fabric.allocate()
}

// linksReady gives each interface that has a link for the first time since it is
// up its link-local address. A slave has none.
func (n *stack) linksReady() {
	for _, d := range n.netdevs {
		if d.ready || d.kind == "loopback" || d.master != nil || !d.running() {
			continue
		}
		d.ready = true
		d.add(address{Prefix: netip.PrefixFrom(d.linkLocal(), 64), scope: "link"})
	}
}

// setMAC changes the hardware address; all slaves of a bond have its own.
func (d *netdev) setMAC(mac [6]byte) {
	d.mac = mac
	for _, s := range d.slaves() {
		s.mac = mac
	}
	for _, f := range d.rdma() {
		f.defaultGIDs()
	}
}

// setMTU changes the MTU; the slaves of a bond follow it.
func (d *netdev) setMTU(mtu int) {
	d.mtu = mtu
	for _, s := range d.slaves() {
		s.mtu = mtu
	}
}

// enslave puts a netdev that is down under a bond, which switches it on. Its
// addresses and its routes stay on it, where nothing reaches them.
func (d *netdev) enslave(bond *netdev) {
	no := 1
	for _, s := range bond.slaves() {
		no = s.slave.no + 1
	}
	if no == 1 && !bond.bond.given {
		bond.setMAC(d.mac)
		bond.bond.stolen = true
	}
	d.slave = slaveState{
		no: no, mac: d.mac, mtu: d.mtu,
		rxBytes: d.rxBytes, rxPackets: d.rxPackets, txBytes: d.txBytes, txPackets: d.txPackets,
	}
	d.mtu, d.mac, d.master = bond.mtu, bond.mac, bond
	d.setUp(true)
	for _, f := range d.rdma() {
		f.defaultGIDs()
		for _, a := range bond.addrs {
			f.addGIDs(a.Addr(), bond)
		}
	}
	d.stack.linksReady()
	d.stack.mergePorts()
}

// release takes the netdev out of its bond, which switches it off and gives back
// the MAC and the MTU that it had.
func (d *netdev) release() {
	bond := d.master
	bond.rxBytes += d.rxBytes - d.slave.rxBytes
	bond.rxPackets += d.rxPackets - d.slave.rxPackets
	bond.txBytes += d.txBytes - d.slave.txBytes
	bond.txPackets += d.txPackets - d.slave.txPackets
	d.setUp(false)
	d.master = nil
	d.mac, d.mtu = d.slave.mac, d.slave.mtu
	d.slave = slaveState{}
	for _, f := range d.rdma() {
		f.delGIDs(func(g gid) bool { return g.ndev == bond.name })
		f.defaultGIDs()
		for _, a := range d.addrs {
			f.addGIDs(a.Addr(), d)
		}
	}
	if len(bond.slaves()) == 0 {
		bond.bond.given, bond.bond.stolen = false, false
		bond.setMAC(bond.madeUpMAC())
	}
	d.stack.mergePorts()
}

// madeUpMAC is what a bond without slaves has.
func (d *netdev) madeUpMAC() [6]byte {
	d.bond.made++
	return [6]byte{0x9e, 0x31, 0x5c, d.bond.made, byte(d.index), byte(0x10 + d.stack.index)}
}

// newBond makes a bond that holds nothing and is down.
func (n *stack) newBond(name string, state bondState) *netdev {
	b := n.addNetdev(name, "bond", [6]byte{}, 1500)
	b.bond, b.up, b.opened, b.changes = &state, false, false, 0
	b.mac = b.madeUpMAC()
	return b
}

// addGIDs adds an address's two entries, for RoCE v1 and v2, where they are not
// there yet.
func (f *function) addGIDs(addr netip.Addr, of *netdev) {
	if slices.ContainsFunc(f.gids[:], func(g gid) bool { return g.addr == addr && g.ndev == of.name }) {
		return
	}
	f.addGID(gid{addr, false, of.name})
	f.addGID(gid{addr, true, of.name})
}

// defaultGIDs are the first two entries: the port always has them, and a bond's
// where it is in one.
func (f *function) defaultGIDs() {
	of := f.net
	if of.master != nil {
		of = of.master
	}
	f.gids[0], f.gids[1] = gid{of.linkLocal(), false, of.name}, gid{of.linkLocal(), true, of.name}
}

// deleteBond removes a bond and lets its slaves go.
func (n *stack) deleteBond(name string) {
	b := n.netdev(name)
	for _, s := range b.slaves() {
		s.release()
	}
	b.setUp(false)
	b.flush(netip.Addr.IsValid)
	n.routes = slices.DeleteFunc(n.routes, func(r route) bool { return r.dev == name })
	n.fixed = slices.DeleteFunc(n.fixed, func(x neighbour) bool { return x.dev == name })
	n.netdevs = slices.DeleteFunc(n.netdevs, func(d *netdev) bool { return d == b })
	n.devices++
}
