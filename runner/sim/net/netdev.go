package net

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"
)

// A Netdev is a network interface.
type Netdev struct {
	// The node that it is in.
	Stack *Stack
	Name  string
	// The kernel's ifindex: from 1, which is lo, and never given again to another while the higher
	// ones stand.
	Index   int
	Kind    string // ether, loopback or bond
	mac     [6]byte
	PermMAC [6]byte // what the hardware was made with; zero where there is none
	// In bytes, of what an Ethernet frame carries.
	MTU int
	// What "ip link set up" sets (IFF_UP); whether it also has a link is Carrier's.
	Up bool // administratively
	// Until then a bond has no queueing discipline (noop), as iproute2 shows it.
	Opened bool // it was up before
	ready  bool // it has had a link since it is up, and so made its IPv6 address
	ran    bool // it had a link when anybody last looked
	// In the kernel's order, which insert keeps: what comes first is what tools take.
	Addrs []Address
	// The bond that holds it; nil where none does.
	Master *Netdev
	Slave  slaveState // while it has a master
	Func   *Function  // nil for lo, the management interface and bonds
	// What the kernel has as carrier_changes: both directions count.
	Changes int // of its carrier
	// The queueing discipline that was set instead of the kernel's own. RDMA bypasses it.
	Queue Queue
	Bond  *BondState

	// Its own, without its slaves'; see Received and Sent.
	RxBytes, RxPackets, TxBytes, TxPackets uint64
}

// A Queue is a queueing discipline that was set on what an interface sends; the zero value is none.
type Queue struct {
	Text  string        // as tc shows it: "tbf 8001: root refcnt 33 rate 5Gbit …"
	Rate  float64       // what it lets through, bits a second; 0 for all
	Loss  float64       // the share of packets that don't arrive whole
	Delay time.Duration // of each packet
}

// An Address is one of an interface's, in the order that the kernel keeps:
// IPv4 first, primary ones before secondary ones, then IPv6.
type Address struct {
	// The address and the length of its network.
	netip.Prefix
	// Invalid where it has none: iproute2 adds none by itself.
	Broadcast netip.Addr
	Scope     string // global, link or host
	// The interface's name, or that with a colon and a word (ifconfig's aliases).
	Label string // of IPv4
	// Another address of the same network came before it, and stands for the network's route.
	Secondary bool
	// Its network gets no route: NetworkManager makes its own.
	NoPrefixRoute bool
	// IPv6's check for a second one with this address is left out.
	NoDAD bool
	// A Dynamic address has lifetimes, which are counted from when they were set.
	Dynamic bool
	// In seconds from Set on; the largest number is for ever. An address that is valid for ever, and preferred for
	// no time, is deprecated.
	Valid, Preferred uint32
	// The nodes' time at which the lifetimes were set.
	Set time.Duration
}

// A BondState is what a bond has in addition to an interface. All other settings of a bond have the driver's
// default.
type BondState struct {
	// One of BondModes, and of BondPolicies.
	Mode, Policy string
	// Milliseconds between two looks at the links; 0 looks never.
	Miimon int
	// It may have lost its link or its bond since: activeSlave checks, and chooses again.
	Active *Netdev // in active-backup
	stolen bool    // its MAC is its first slave's
	Given  bool    // its MAC was set by hand
	made   byte    // how many MACs it has made up
}

// A slaveState is what a bond keeps of an interface that it holds.
type slaveState struct {
	// From 1, in the order of enslaving; the bond's hash counts by it.
	No int // which one it is
	// Its own, which it gets back; the kernel shows it as the permanent one of the slave.
	MAC [6]byte
	mtu int
	// How often its link was lost while it was a slave.
	Failures                               int
	rxBytes, rxPackets, txBytes, txPackets uint64 // what it had counted before
}

// Count adds to the interface's counters, and a bond's to those of the slave that
// a packet without ports takes.
func (d *Netdev) Count(tx, txPackets, rx, rxPackets uint64) {
	if d.Bond != nil {
		if s := d.lane(0); s != nil {
			s.Count(tx, txPackets, rx, rxPackets)
		}
		return
	}
	d.TxBytes += tx
	d.TxPackets += txPackets
	d.RxBytes += rx
	d.RxPackets += rxPackets
}

// Received is how many bytes and packets the interface has received. A bond has counted what its slaves did
// since it holds them.
// Received and Sent can't take the sum of all slaves alone: one that was let go has taken its own
// counters along, and what it did for the bond is in the bond's (Release).
func (d *Netdev) Received() (bytes, packets uint64) {
	bytes, packets = d.RxBytes, d.RxPackets
	for _, s := range d.Slaves() {
		bytes += s.RxBytes - s.Slave.rxBytes
		packets += s.RxPackets - s.Slave.rxPackets
	}
	return bytes, packets
}

// Sent is Received's other direction.
func (d *Netdev) Sent() (bytes, packets uint64) {
	bytes, packets = d.TxBytes, d.TxPackets
	for _, s := range d.Slaves() {
		bytes += s.TxBytes - s.Slave.txBytes
		packets += s.TxPackets - s.Slave.txPackets
	}
	return bytes, packets
}

// plugged reports whether a cable is in the netdev's port.
func (d *Netdev) plugged() bool {
	if d.Func == nil {
		return true
	}
	return !d.Unplugged() && !slices.ContainsFunc(d.Ends(), func(n *Stack) bool { return n.Dead })
}

// Unplugged reports whether the cable was pulled out of the netdev's port.
func (d *Netdev) Unplugged() bool {
	return d.Func != nil && slices.ContainsFunc(d.Ends(), func(n *Stack) bool { return n.Pulled[n.port(d.Func.Wire())] })
}

// Ends are the nodes at the ends of the netdev's cable: the other end of a cable to a switch is not a node.
func (d *Netdev) Ends() []*Stack {
	if d.Stack.Fabric.switched() {
		return []*Stack{d.Stack}
	}
	all := d.Stack.Fabric.Stacks
	if d.Stack.Fabric.Ring {
		first := d.Func.Wire()
		return []*Stack{all[first], all[(first+1)%len(all)]}
	}
	return all
}

// Carrier reports whether the interface has a link, as the kernel's file carrier says. A bond has
// one while one of its slaves does.
func (d *Netdev) Carrier() bool {
	if d.Kind == "bond" {
		return slices.ContainsFunc(d.Slaves(), (*Netdev).Running)
	}
	return d.plugged()
}

// Running is IFF_RUNNING: up, and with a link. Only such an interface carries anything.
func (d *Netdev) Running() bool { return d.Up && d.Carrier() }

// Slaves are in the order in which the bond got them.
func (d *Netdev) Slaves() []*Netdev {
	if d.Bond == nil {
		return nil
	}
	var s []*Netdev
	for _, x := range d.Stack.Netdevs {
		if x.Master == d {
			s = append(s, x)
		}
	}
	slices.SortFunc(s, func(a, b *Netdev) int { return a.Slave.No - b.Slave.No })
	return s
}

// lane is the slave that a bond sends a flow over; nil where there is none.
func (d *Netdev) lane(hash int) *Netdev {
	var live []*Netdev
	for _, s := range d.Slaves() {
		if s.Running() {
			live = append(live, s)
		}
	}
	switch {
	case len(live) == 0:
		return nil
	case d.Bond.Mode == "active-backup":
		return d.activeSlave()
	default:
		return live[hash%len(live)]
	}
}

// activeSlave is the one that an active-backup bond uses; it fails over to the
// first that has a link, and stays there.
func (d *Netdev) activeSlave() *Netdev {
	b := d.Bond
	if b.Active != nil && b.Active.Master == d && b.Active.Running() {
		return b.Active
	}
	b.Active = nil
	if i := slices.IndexFunc(d.Slaves(), (*Netdev).Running); i >= 0 {
		b.Active = d.Slaves()[i]
	}
	return b.Active
}

// linkLocal is the address that the kernel makes of the MAC: fe80::/64 and the modified EUI-64,
// whose universal bit is turned over (RFC 4291, appendix A).
func (d *Netdev) linkLocal() netip.Addr {
	m := d.mac
	return netip.AddrFrom16([16]byte{
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5],
	})
}

// MACText is six bytes as the kernel writes them.
func MACText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MACText is the address in use, which a bond may have given it.
func (d *Netdev) MACText() string { return MACText(d.mac) }

// IPv4 is the netdev's first IPv4 address.
func (d *Netdev) IPv4() netip.Prefix {
	for _, a := range d.Addrs {
		if a.Addr().Is4() {
			return a.Prefix
		}
	}
	return netip.Prefix{}
}

// has says that the address is one of the netdev's.
func (d *Netdev) has(addr netip.Addr) bool {
	return slices.ContainsFunc(d.Addrs, func(a Address) bool { return a.Addr() == addr })
}

// Find is the place of an address with just this length among the interface's; -1 where it has
// none.
func (d *Netdev) Find(p netip.Prefix) int {
	return slices.IndexFunc(d.Addrs, func(a Address) bool { return a.Prefix == p })
}

// rdma are the functions whose GID tables show the netdev's addresses.
func (d *Netdev) rdma() []*Function {
	if d.Func != nil {
		return []*Function{d.Func}
	}
	var fs []*Function
	for _, s := range d.Slaves() {
		fs = append(fs, s.rdma()...)
	}
	return fs
}

// AddAddr gives the netdev an address as a configured system does, with the
// network's broadcast address.
func (d *Netdev) AddAddr(p netip.Prefix) bool {
	return d.Add(Address{Prefix: p, Broadcast: BroadcastOf(p)})
}

// BroadcastOf is the last address of an IPv4 network that has more than two.
func BroadcastOf(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// Add gives the netdev an address, the route that leads to its network, and its
// RDMA devices the two GIDs that come with it; it is false where the netdev has
// it already.
func (d *Netdev) Add(a Address) bool {
	if d.Find(a.Prefix) >= 0 {
		return false
	}
	if a.Scope == "" {
		a.Scope = "global"
	}
	if a.Addr().Is4() && a.Label == "" {
		a.Label = d.Name
	}
	if a.Valid == 0 {
		a.Valid, a.Preferred = math.MaxUint32, math.MaxUint32
	}
	// The kernel compares masks as well: 10.0.0.2/16 is not a secondary address of 10.0.0.1/24.
	a.Secondary = a.Addr().Is4() && slices.ContainsFunc(d.Addrs, func(x Address) bool {
		return x.Addr().Is4() && !x.Secondary && x.Bits() == a.Bits() && x.Masked() == a.Masked()
	})
	d.insert(a)
	if !a.Secondary {
		d.connect(a)
	}
	for _, f := range d.rdma() {
		f.addGIDs(a.Addr(), d)
	}
	return true
}

// insert keeps the kernel's order.
func (d *Netdev) insert(a Address) {
	rank := func(a Address) int {
		switch {
		case a.Addr().Is4() && !a.Secondary:
			return 0
		case a.Addr().Is4():
			return 1
		case a.Scope != "link":
			return 2
		default:
			return 3
		}
	}
	at := slices.IndexFunc(d.Addrs, func(x Address) bool { return rank(x) > rank(a) })
	if at < 0 {
		at = len(d.Addrs)
	}
	if a.Addr().Is6() {
		// The newest of a scope comes first.
		if i := slices.IndexFunc(d.Addrs, func(x Address) bool { return rank(x) == rank(a) }); i >= 0 {
			at = i
		}
	}
	d.Addrs = slices.Insert(d.Addrs, at, a)
}

// DelAddr takes an address away. A secondary one takes a primary one's place, as
// systemd sets the kernel up to do.
func (d *Netdev) DelAddr(p netip.Prefix) bool {
	i := d.Find(p)
	if i < 0 {
		return false
	}
	gone := d.Addrs[i]
	d.Addrs = slices.Delete(d.Addrs, i, i+1)
	for _, f := range d.rdma() {
		f.delGIDs(func(g GID) bool { return g.Addr == p.Addr() && g.Netdev == d.Name && !d.has(g.Addr) })
		f.defaultGIDs()
	}
	if gone.Addr().Is6() {
		return true
	}
	if !gone.Secondary {
		d.disconnect(gone)
		d.promote(gone)
	}
	d.Stack.Routes = slices.DeleteFunc(d.Stack.Routes, func(r Route) bool {
		return r.Src == p.Addr() && !slices.ContainsFunc(d.Stack.Netdevs, func(x *Netdev) bool { return x.has(p.Addr()) }) ||
			r.Dev == d.Name && r.Dst.Addr().Is4() && !d.IPv4().IsValid()
	})
	return true
}

// promote makes the first secondary address of a network its primary one, where
// net.ipv4.conf.all.promote_secondaries is 1: systemd's sysctl.d sets that.
func (d *Netdev) promote(gone Address) {
	i := slices.IndexFunc(d.Addrs, func(a Address) bool { return a.Secondary && a.Masked() == gone.Masked() })
	if i < 0 {
		return
	}
	a := d.Addrs[i]
	a.Secondary = false
	d.Addrs = slices.Delete(d.Addrs, i, i+1)
	d.insert(a)
	d.connect(a)
}

// Flush takes all addresses of a family away.
func (d *Netdev) Flush(wanted func(netip.Addr) bool) {
	for _, a := range slices.Clone(d.Addrs) {
		if wanted(a.Addr()) {
			d.DelAddr(a.Prefix)
		}
	}
}

// SetUp changes the administrative state. IPv4 addresses stay with an interface
// that goes down, and nothing else does. The fabric looks again at who has a path.
func (d *Netdev) SetUp(up bool) {
	if d.Up == up {
		return
	}
	d.Stack.Fabric.Advance()
	// Before Up is changed: a link that was lost already doesn't fail once more.
	if !up && d.Master != nil && d.Running() {
		d.Slave.Failures++
	}
	d.Up = up
	d.Changes++
	if up {
		d.Opened = true
		for _, a := range d.Addrs {
			if a.Addr().Is4() && !a.Secondary {
				d.connect(a)
			}
		}
	} else {
		d.ready = false
		// net.ipv6.conf.all.keep_addr_on_down is 0 by default.
		d.Flush(netip.Addr.Is6)
		d.Stack.Routes = slices.DeleteFunc(d.Stack.Routes, func(r Route) bool { return r.Dev == d.Name })
	}
	d.Stack.LinksReady()
	d.Stack.Fabric.Allocate()
}

// LinksReady gives each interface that has a link for the first time since it is
// up its link-local address. A slave has none.
func (n *Stack) LinksReady() {
	for _, d := range n.Netdevs {
		if d.ready || d.Kind == "loopback" || d.Master != nil || !d.Running() {
			continue
		}
		d.ready = true
		d.Add(Address{Prefix: netip.PrefixFrom(d.linkLocal(), 64), Scope: "link"})
	}
	for _, d := range n.Netdevs {
		came := d.Running() && !d.ran
		if d.ran = d.Running(); came && n.Came != nil {
			n.Came(d)
		}
	}
}

// SetMAC changes the hardware address; all slaves of a bond have its own.
func (d *Netdev) SetMAC(mac [6]byte) {
	d.mac = mac
	for _, s := range d.Slaves() {
		s.mac = mac
	}
	for _, f := range d.rdma() {
		f.defaultGIDs()
	}
}

// SetMTU changes the MTU; the slaves of a bond follow it.
func (d *Netdev) SetMTU(mtu int) {
	d.MTU = mtu
	for _, s := range d.Slaves() {
		s.MTU = mtu
	}
}

// Enslave puts a netdev that is down under a bond, which switches it on. Its
// addresses and its routes stay on it, where nothing reaches them.
func (d *Netdev) Enslave(bond *Netdev) {
	// The kernel wants it down, which setMaster of ip looks at: here it is only taken.
	no := 1
	for _, s := range bond.Slaves() {
		no = s.Slave.No + 1
	}
	// The bond has the first slave's MAC, unless it was given one (bond_enslave in
	// drivers/net/bonding/bond_main.c).
	if no == 1 && !bond.Bond.Given {
		bond.SetMAC(d.mac)
		bond.Bond.stolen = true
	}
	d.Slave = slaveState{
		No: no, MAC: d.mac, mtu: d.MTU,
		rxBytes: d.RxBytes, rxPackets: d.RxPackets, txBytes: d.TxBytes, txPackets: d.TxPackets,
	}
	d.MTU, d.mac, d.Master = bond.MTU, bond.mac, bond
	d.SetUp(true)
	for _, f := range d.rdma() {
		f.defaultGIDs()
		for _, a := range bond.Addrs {
			f.addGIDs(a.Addr(), bond)
		}
	}
	d.Stack.LinksReady()
	d.Stack.MergePorts()
}

// Release takes the netdev out of its bond, which switches it off and gives back
// the MAC and the MTU that it had.
func (d *Netdev) Release() {
	bond := d.Master
	// The bond goes on from what it has shown: counters of an interface never go back.
	bond.RxBytes += d.RxBytes - d.Slave.rxBytes
	bond.RxPackets += d.RxPackets - d.Slave.rxPackets
	bond.TxBytes += d.TxBytes - d.Slave.txBytes
	bond.TxPackets += d.TxPackets - d.Slave.txPackets
	d.SetUp(false)
	d.Master = nil
	d.mac, d.MTU = d.Slave.MAC, d.Slave.mtu
	d.Slave = slaveState{}
	for _, f := range d.rdma() {
		f.delGIDs(func(g GID) bool { return g.Netdev == bond.Name })
		f.defaultGIDs()
		for _, a := range d.Addrs {
			f.addGIDs(a.Addr(), d)
		}
	}
	if len(bond.Slaves()) == 0 {
		bond.Bond.Given, bond.Bond.stolen = false, false
		// A bond that has its MAC from a slave must not keep it once that is free.
		bond.SetMAC(bond.madeUpMAC())
	}
	d.Stack.MergePorts()
}

// madeUpMAC is what a bond without slaves has.
func (d *Netdev) madeUpMAC() [6]byte {
	d.Bond.made++
	number := 0x5c10 + d.Stack.Index
	return [6]byte{0x9e, 0x31, byte(number >> 8), d.Bond.made, byte(d.Index), byte(number)}
}

// NewBond makes a bond that holds nothing and is down.
func (n *Stack) NewBond(name string, state BondState) *Netdev {
	b := n.addNetdev(name, "bond", [6]byte{}, 1500)
	b.Bond, b.Up, b.Opened, b.Changes = &state, false, false, 0
	b.mac = b.madeUpMAC()
	return b
}

// addGIDs adds an address's two entries, for RoCE v1 and v2, where they are not
// there yet.
func (f *Function) addGIDs(addr netip.Addr, of *Netdev) {
	if slices.ContainsFunc(f.GIDs[:], func(g GID) bool { return g.Addr == addr && g.Netdev == of.Name }) {
		return
	}
	f.addGID(GID{addr, false, of.Name})
	f.addGID(GID{addr, true, of.Name})
}

// defaultGIDs are the first two entries: the port always has them, and a bond's
// where it is in one.
func (f *Function) defaultGIDs() {
	of := f.Netdev
	if of.Master != nil {
		of = of.Master
	}
	f.GIDs[0], f.GIDs[1] = GID{of.linkLocal(), false, of.Name}, GID{of.linkLocal(), true, of.Name}
}

// DeleteBond removes a bond and lets its slaves go.
func (n *Stack) DeleteBond(name string) {
	b := n.Netdev(name)
	for _, s := range b.Slaves() {
		s.Release()
	}
	b.SetUp(false)
	b.Flush(netip.Addr.IsValid)
	n.Routes = slices.DeleteFunc(n.Routes, func(r Route) bool { return r.Dev == name })
	n.Fixed = slices.DeleteFunc(n.Fixed, func(x Neighbour) bool { return x.Dev == name })
	n.Netdevs = slices.DeleteFunc(n.Netdevs, func(d *Netdev) bool { return d == b })
	n.Devices++
}

// Speed is in Mb/s as sysfs has it: -1 where the driver doesn't know it, which is so without a link.
func (d *Netdev) Speed() int {
	switch {
	case d.Kind == "loopback" || !d.Carrier():
		return -1
	case d.Kind == "bond":
		return d.bondSpeed()
	case d.Func == nil:
		return 10000
	default:
		return int(d.Cable().Rate / 1e6)
	}
}

// Cable is what is plugged into the interface's port: with a direct one both ends see the
// same.
func (d *Netdev) Cable() Cable {
	for _, n := range d.Ends() {
		if c := n.Cables[n.port(d.Func.Wire())]; c.Rate > 0 {
			return c
		}
	}
	return usualCable
}

// A Cable is one that a port can have, as its EEPROM describes it.
type Cable struct {
	Rate             float64 // what it lets a link come up with, bits a second; 0 for the usual one
	Vendor, PN, Type string  // Type is a line of ethtool's, empty where it prints none
	Length           string  // with its unit
}

// usualCable is one of those that NVIDIA's guide to connecting two Sparks names.
var usualCable = Cable{Rate: cableRate, Vendor: "Amphenol", PN: "NJAAKK-N911", Length: "0.5m"}

// bondSpeed is the sum of the slaves that send; in broadcast, where all send the same, the
// slowest's (bond_ethtool_get_link_ksettings in drivers/net/bonding/bond_main.c).
func (d *Netdev) bondSpeed() int {
	sum, least := 0, math.MaxInt
	for _, s := range d.Slaves() {
		if s.Running() && s.Role() == "active" {
			sum, least = sum+s.Speed(), min(least, s.Speed())
		}
	}
	if d.Bond.Mode == "broadcast" {
		return least
	}
	return sum
}

// OperState is RFC 2863's, as the kernel names it. lo's driver never says more than unknown.
func (d *Netdev) OperState() string {
	switch d.Kind {
	case "loopback":
		return "unknown"
	default:
		return UpDown(d.Running())
	}
}

// FlagBits are the flags of sysfs (include/uapi/linux/if.h): IFF_BROADCAST and IFF_MULTICAST, or
// IFF_LOOPBACK; IFF_UP, IFF_SLAVE and IFF_MASTER. IFF_RUNNING isn't shown there.
func (d *Netdev) FlagBits() int {
	bits := 0x1002
	if d.Kind == "loopback" {
		bits = 0x8
	}
	if d.Up {
		bits |= 1
	}
	if d.Master != nil {
		bits |= 0x800
	}
	if d.Bond != nil {
		bits |= 0x400
	}
	return bits
}

// UpDown is the word that the bonding driver has for the state of a link.
func UpDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// Role is whether a slave carries what its bond sends.
func (d *Netdev) Role() string {
	if d.Master.Bond.Mode == "active-backup" && d.Master.activeSlave() != d {
		return "backup"
	}
	return "active"
}

// ShownActive is the slave that a bond of such a mode uses; empty for the others.
func (d *Netdev) ShownActive() string {
	if !UsesPrimary(d.Bond.Mode) {
		return ""
	}
	if a := d.activeSlave(); a != nil {
		return a.Name
	}
	return ""
}

// UsesPrimary reports whether a mode has one active slave that it shows (bond_uses_primary in
// include/net/bonding.h).
func UsesPrimary(mode string) bool {
	return mode == "active-backup" || mode == "balance-tlb" || mode == "balance-alb"
}

// MaxMTU is what the interface's driver takes.
func (d *Netdev) MaxMTU() int {
	switch d.Kind {
	// ETH_MAX_MTU; mlx5 says 9978, and lo's driver sets no limit.
	case "bond":
		return 65535
	case "loopback":
		return 0
	default:
		return 9978
	}
}

// MinMTU is ETH_MIN_MTU, the least that IPv4 asks of a link (RFC 791).
func (d *Netdev) MinMTU() int {
	if d.Kind == "loopback" {
		return 0
	}
	return 68
}

// Permanent is the hardware's MAC where another one is in use; empty otherwise.
func (d *Netdev) Permanent() string {
	if d.Kind != "ether" || d.PermMAC == d.mac {
		return ""
	}
	return MACText(d.PermMAC)
}

var (
	// By the number that the driver has for each: an option may be given as that.
	BondModes = []string{
		"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
	}
	BondPolicies = []string{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}
)
