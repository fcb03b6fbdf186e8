package net

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
)

// A Stack is a node as its network sees it: the adapter's functions, the interfaces and
// the routes. The fabric's lock guards everything in it.
type Stack struct {
	// Its lock is the one that guards this stack.
	Fabric *Fabric
	// The host's name, spark-01 and so on.
	Name  string
	Index int // 0 is the first node
	// All four of the adapter, those that are lost or merged too; Present leaves these out.
	Functions []*Function
	Netdevs   []*Netdev // by ifindex
	Routes    []Route   // of all tables but the local one
	Fixed     []Neighbour
	// Devices counts how often the set of devices, or the name of one, has changed: a tree that shows them is
	// current while its number is this one.
	Devices int
	heat    heat
	met     map[*Stack]bool   // of a wide rig, those that it has spoken with
	runs    map[string]uint64 // how often each tool drew random numbers
	// Came is called with an interface that has a link again, with the fabric's lock held: the interfaces'
	// manager sets it as its profiles say. nil without a manager.
	Came func(*Netdev)

	// What may be wrong with it, or with its cables.
	Dead      bool     // answers nothing, and its ports have no light
	Pulled    [2]bool  // by QSFP port: the cable is out
	Cables    [2]Cable // by QSFP port: another than the usual one
	Exchanged bool     // its two plugs are in each other's port
	Resends   bool     // packets from it and to it get lost
	Pauses    bool     // it can't take what comes, and pauses who sends
	Resets    bool     // its counters start again in the middle of each test
	Uncounted bool     // its ports have no counters
	Merges    bool     // its adapter makes one RDMA device of two ports in one bond
}

// A Function is one PCI function of the adapter, which is one RDMA device with
// one netdev.
type Function struct {
	// The node that it is in.
	Stack *Stack
	No    int // 0 to 3
	// Its RDMA device as the kernel has named it after its place (rdma-core's persistent names).
	Dev     string // rocep1s0f0
	OwnName string // dev as it is outside a LAG
	// Domain, bus, device and function. The two halves of a Spark's adapter are in two domains.
	PCI  string // 0000:01:00.0
	Half int    // which of the two PCIe x4 halves
	QSFP int    // which port of the adapter: where the cable goes
	// Its interface, also while the driver has left it.
	Netdev *Netdev
	// A real table has 255 slots; nothing here needs more than a few.
	GIDs [16]GID
	Port portCounters
	// The counters of hw_counters that aren't 0 for ever, by name.
	HW map[string]uint64
	// Pauses of the whole link that came and that it sent, which its interface counts.
	PausedIn, PausedOut uint64
	// Merged says that another function's RDMA device stands for it.
	Merged bool
	// Lost says that the driver has left it: no device, no interface. kept and
	// keptGIDs are what comes back with it.
	Lost     bool
	kept     []netip.Prefix
	keptGIDs [16]GID
	// Given is the address that it is set up with.
	Given netip.Prefix
	// Lanes is the width of the function's PCIe link.
	// 4 as built.
	Lanes int
	// Caps are what bounds it in addition to the hardware, in bits a second, by the reason.
	Caps map[string]float64
	// Unsteady says that its PCIe link makes errors, since UnsteadyAt, in seconds.
	Unsteady   bool
	UnsteadyAt float64
	// Worn says that the end of its cable makes errors, since wornAt, in seconds.
	Worn   bool
	WornAt float64
}

// portCounters are in octets; sysfs shows them in words of four.
type portCounters struct {
	Xmit, Rcv, XmitPackets, RcvPackets uint64
}

func (p *portCounters) add(xmit, xmitPackets, rcv, rcvPackets uint64) {
	p.Xmit += xmit
	p.XmitPackets += xmitPackets
	p.Rcv += rcv
	p.RcvPackets += rcvPackets
}

// A GID is one slot of a port's GID table, empty where addr is invalid.
type GID struct {
	// IPv4 as such; on the wire it is mapped into IPv6 (Bytes).
	Addr netip.Addr
	// RoCE v2, over UDP; v1 is an Ethernet type of its own, and passes no router.
	V2 bool
	// Whose address it is: the function's own interface, or the bond's that holds it.
	Netdev string
}

// Family is 4 or 6, and 0 for an empty slot. perftest refuses two ends of which one has 4 and the
// other 6.
func (g GID) Family() int {
	switch {
	case !g.Addr.IsValid():
		return 0
	case g.Addr.Is4():
		return 4
	default:
		return 6
	}
}

// PrefixContains asks whether a GID's address is in a prefix's network.
func PrefixContains(g GID) func(Address) bool {
	return func(a Address) bool { return a.Addr().Is4() && a.Masked().Contains(g.Addr) }
}

// Bytes is the GID as it is on the wire: an IPv4 address is mapped into IPv6.
func (g GID) Bytes() [16]byte {
	if !g.Addr.IsValid() {
		return [16]byte{}
	}
	return g.Addr.As16()
}

// NodeName is the name of a node, by its number.
func NodeName(index int) string { return fmt.Sprintf("spark-%02d", index+1) }

// newStack makes a node's adapter, its interfaces and what they are set up with.
func newStack(f *Fabric, index int) *Stack {
	n := &Stack{Fabric: f, Index: index, Name: NodeName(index), runs: map[string]uint64{}, met: map[*Stack]bool{}}
	// The last number of each address of this node.
	host := 10 + index
	if index > 1 {
		host += 10 // .12, .13 and .15 are what faults give the first two
	}
	lo := n.addNetdev("lo", "loopback", [6]byte{}, 65536)
	for _, a := range []string{"127.0.0.1/8", "::1/128"} {
		lo.Add(Address{Prefix: netip.MustParsePrefix(a), Scope: "host"})
	}
	mac := func(i byte) [6]byte {
		number := 0x2c10 + index
		return [6]byte{0x4c, 0xbb, 0x47, byte(number >> 8), byte(number), i}
	}
	// The second interface, which Resolve and others rely on: names of hosts lead to it, and never
	// to a rail.
	n.addNetdev("enP7s7", "ether", mac(0x20), ethernetMTU)
	n.configure()
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
		fn := &Function{
			Stack: n, No: i, Dev: hw.dev, OwnName: hw.dev, PCI: hw.pci, Half: hw.half, QSFP: hw.qsfp,
			HW: map[string]uint64{}, Lanes: 4,
			Caps: map[string]float64{},
		}
		d := n.addNetdev(hw.netdev, "ether", mac(byte(0x31+i)), ethernetMTU)
		fn.Netdev, d.Func = d, fn
		n.Functions = append(n.Functions, fn)
		third := hw.third
		if f.Ring { // two subnets a cable
			third = byte(100*(1+hw.half) + n.wire(hw.qsfp))
		}
		fn.Given = f.address(third, host)
		fn.configure()
		// The ports have seen traffic before.
		rnd := n.Random("history" + hw.dev)
		base := uint64(1+rnd.IntN(1200)) * 1e9
		fn.Port = portCounters{base, base - base/7, base / 1082, (base - base/7) / 1082}
		d.Count(uint64(rnd.IntN(9e6)), 40000, uint64(rnd.IntN(9e6)), 42000)
		fn.HW["lifespan"] = 10
		fn.HW["rx_write_requests"] = fn.Port.RcvPackets / 64
	}
	return n
}

// narrow is how many nodes can have addresses that differ in one byte, with room for those that faults give.
const narrow = 64

// Wide reports whether the rig has more nodes than that. Its subnets are as those of big racks then: the last
// two bytes of an address are the node's.
func (f *Fabric) Wide() bool { return len(f.Stacks) > narrow }

// address is a host's address in a subnet.
func (f *Fabric) address(subnet byte, host int) netip.Prefix {
	if f.Wide() {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, subnet, byte(host >> 8), byte(host)}), 16)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, subnet, byte(host)}), 24)
}

// Next to is the address with another host number in the subnet of the function's own.
func (f *Function) Beside(host int) netip.Prefix {
	given := f.Given.Addr().As4()
	return f.Stack.Fabric.address(given[f.Given.Bits()/8-1], host)
}

// management is the subnet that each node has an address of, by which others know its name.
const management = 1

// Management is the address of a node by its number, in the management network.
func (f *Fabric) Management(index int) netip.Prefix { return f.address(management, 101+index) }

// ethernetMTU is what a driver begins with.
const ethernetMTU = 1500

// configure sets the management interface up, and the way out.
func (n *Stack) configure() {
	mgmt := n.Netdevs[1]
	mgmt.AddAddr(n.Fabric.Management(n.Index))
	n.Routes = append(n.Routes, Route{
		Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: n.Fabric.address(management, 1).Addr(), Dev: mgmt.Name,
		Proto: "static", Scope: "global", Table: MainTable, Metric: 100,
	})
}

// configure gives the function's interface its address.
func (f *Function) configure() {
	f.defaultGIDs()
	// The twin of rail 1 had another address once: its IPv4 entry is not
	// where everybody expects it. A GID index is whatever slot was free.
	host := f.Given.Addr().As4()[3]
	old := netip.PrefixFrom(netip.AddrFrom4([4]byte{169, 254, 7, host}), 16)
	if f.No == 2 {
		f.Netdev.AddAddr(old)
	}
	f.Netdev.AddAddr(f.Given)
	f.Netdev.DelAddr(old)
}

// Reboot is what a boot makes of the node's network: what its configuration says is there again, what was set
// by hand is gone, and counters begin at zero. The interfaces' manager is not notified.
func (n *Stack) Reboot() {
	n.Fabric.Advance()
	came := n.Came
	n.Came = nil
	for _, d := range slices.Clone(n.Netdevs) {
		if d.Bond != nil {
			n.DeleteBond(d.Name)
		}
	}
	for _, d := range n.Netdevs[1:] {
		d.SetUp(false)
		d.Flush(netip.Addr.IsValid)
	}
	n.Routes, n.Fixed = nil, nil
	clear(n.met)
	for _, d := range n.Netdevs[1:] {
		d.SetMTU(ethernetMTU)
		d.SetMAC(d.PermMAC)
		d.Up, d.Opened, d.Changes = true, true, 2
		d.TxBytes, d.TxPackets, d.RxBytes, d.RxPackets = 0, 0, 0, 0
		d.Queue = Queue{}
	}
	n.configure()
	for _, f := range n.Functions {
		f.GIDs, f.Port, f.PausedIn, f.PausedOut = [16]GID{}, portCounters{}, 0, 0
		clear(f.HW)
		f.configure()
	}
	n.LinksReady()
	n.Came = came
	n.Fabric.Allocate()
}

// NearEnd leaves the counters of the node's ports, and of their interfaces, so many bytes until they
// begin again at zero.
func (n *Stack) NearEnd(bytes uint64) {
	for _, f := range n.Functions {
		f.Port.Xmit, f.Port.Rcv = -bytes, -bytes-bytes/3
		f.Netdev.TxBytes, f.Netdev.RxBytes = -bytes-bytes/5, -bytes
	}
}

func (n *Stack) addNetdev(name, kind string, mac [6]byte, mtu int) *Netdev {
	index := 1
	for _, d := range n.Netdevs {
		index = max(index, d.Index+1)
	}
	d := &Netdev{
		Stack: n, Name: name, Index: index, Kind: kind, mac: mac, PermMAC: mac, MTU: mtu, Up: true, Opened: true, Changes: 2,
	}
	n.Netdevs = append(n.Netdevs, d)
	n.Devices++
	return d
}

// others are all nodes but this one, in order.
func (n *Stack) others() []*Stack {
	return slices.DeleteFunc(slices.Clone(n.Fabric.Stacks), func(x *Stack) bool { return x == n })
}

// Random is a source that depends on the seed and on how often the same tool
// drew before on this node, and not on time: the same commands in the same
// order print the same numbers.
func (n *Stack) Random(tool string) *rand.Rand {
	// Not the clock: figures would change with whatever was run in between.
	n.runs[tool]++
	var word [16]byte
	copy(word[:], tool)
	mix := binary.LittleEndian.Uint64(word[:8]) ^ binary.LittleEndian.Uint64(word[8:])*0x9e3779b97f4a7c15
	low, high := uint64(n.Index)&0xff, uint64(n.Index)>>8
	return rand.New(rand.NewPCG(n.Fabric.Seed^mix, high<<56|n.runs[tool]<<8|low))
}

// Netdev finds an interface by its name; nil where there is none, as of a function that is lost.
func (n *Stack) Netdev(name string) *Netdev {
	for _, d := range n.Netdevs {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Function finds an RDMA device by the name that it has now; nil where there is none.
func (n *Stack) Function(dev string) *Function {
	for _, f := range n.Present() {
		if f.Dev == dev {
			return f
		}
	}
	return nil
}

// Live reports whether packets can pass the function's port.
func (f *Function) Live() bool { return !f.Lost && f.Netdev.Running() }

// halfRate is what the function's PCIe half carries.
func (f *Function) halfRate() float64 {
	return halfRate * float64(f.Lanes) / 4
}

// Cap is the lowest bound of the function in addition to the hardware; 0 without one.
func (f *Function) Cap() float64 {
	least := 0.0
	for _, rate := range f.Caps {
		if least == 0 || rate < least {
			least = rate
		}
	}
	return least
}

// ActiveMTU is the largest RoCE MTU that the netdev's frames can hold, in bytes.
func (f *Function) ActiveMTU() int {
	best := 256
	for _, m := range []int{512, 1024, 2048, 4096} {
		if m+roceRoom <= f.Netdev.MTU {
			best = m
		}
	}
	return best
}

// addGID takes the first free slot, as ib_core does (drivers/infiniband/core/cache.c): so an index
// follows from the order of events, and drifts. A full table takes nothing more.
func (f *Function) addGID(g GID) {
	for i := range f.GIDs {
		if !f.GIDs[i].Addr.IsValid() {
			f.GIDs[i] = g
			return
		}
	}
}

func (f *Function) delGIDs(match func(GID) bool) {
	for i := range f.GIDs {
		if f.GIDs[i].Addr.IsValid() && match(f.GIDs[i]) {
			f.GIDs[i] = GID{}
		}
	}
}

// BestGID is what perftest takes where no -x is given.
func (f *Function) BestGID() int {
	for i, g := range f.GIDs {
		if g.Family() == 4 && g.V2 {
			return i
		}
	}
	return 1
}

// Answers is the other node's netdev that answers for dst on the same wire as out.
// A node answers for any of its addresses on any of its interfaces (arp_ignore is 0), but only
// from a wire that is joined to out. The one that has the address comes first where it is there, and
// without it, on exchanged cables, the one at the same place of the adapter.
func (n *Stack) Answers(out *Netdev, dst netip.Addr) *Netdev {
	if !out.Running() || out.Master != nil || n.Dead {
		return nil
	}
	for _, x := range n.Fabric.Stacks {
		if x == n || x.Dead || x.own(dst) == nil { // of many nodes most have another address
			continue
		}
		at := slices.IndexFunc(x.Netdevs, func(d *Netdev) bool {
			return d.Running() && d.Master == nil && d.has(dst) && out.joined(d) && d.joined(out)
		})
		var d *Netdev
		if at >= 0 {
			d = x.Netdevs[at]
		} else {
			// Cables or addresses that are exchanged, or a host route that leads over another rail.
			d = x.stranger(out, dst)
		}
		if d != nil {
			n.meet(x)
			return d
		}
	}
	return nil
}

// meet notes that two nodes have spoken with each other, where that is not taken for granted.
func (n *Stack) meet(x *Stack) {
	if n.Fabric.Wide() {
		n.met[x], x.met[n] = true, true
	}
}

// stranger is the node's interface at the end of out's cable where another of its own has an IPv4 address; nil
// where none does. Neither is in a bond.
func (n *Stack) stranger(out *Netdev, dst netip.Addr) *Netdev {
	owner := n.own(dst)
	if !dst.Is4() || owner == nil || !owner.Up || owner.Func == nil || owner.Master != nil || out.Func == nil {
		return nil
	}
	for _, f := range n.Functions {
		d := f.Netdev
		if f.Half == out.Func.Half && d.Running() && d.Master == nil && slices.Equal(d.Wires(), out.Wires()) {
			return d
		}
	}
	return nil
}

// joined reports whether what the netdev sends arrives at the other one. A bond at
// one end only sends answers over the other cable too, to an interface that
// doesn't take them; one that uses a single link doesn't.
func (d *Netdev) joined(other *Netdev) bool {
	from := d.Wires()
	if d.Bond != nil && other.Bond == nil {
		for _, s := range d.Slaves() {
			if s.Running() && (d.Bond.Mode != "active-backup" || s == d.activeSlave()) &&
				!slices.Equal(s.Wires(), other.Wires()) {
				return false
			}
		}
	}
	return slices.ContainsFunc(from, func(w int) bool { return slices.Contains(other.Wires(), w) })
}

// Wire is the cable in the function's port: 0 or 1, as the ports that it should be in are numbered;
// in a ring the number of the node whose port 0 it should be in.
func (f *Function) Wire() int { return f.Stack.wire(f.QSFP) }

// wire is the cable in a port.
func (n *Stack) wire(port int) int {
	if n.Exchanged {
		port = 1 - port
	}
	if all := len(n.Fabric.Stacks); n.Fabric.Ring {
		return (n.Index - port + all) % all
	}
	return port
}

// port is the port that a cable is in.
func (n *Stack) port(wire int) int {
	if n.wire(0) == wire {
		return 0
	}
	return 1
}

// Wires are the cables that the netdev is on, or the
// management network.
func (d *Netdev) Wires() []int {
	switch {
	case d.Func != nil:
		return []int{d.Func.Wire()}
	case d.Kind == "bond":
		var w []int
		for _, s := range d.Slaves() {
			w = append(w, s.Wires()...)
		}
		return w
	case d.Kind == "ether":
		return []int{-1}
	default:
		return nil
	}
}

// Resolve turns a host name or an address into an address.
func (n *Stack) Resolve(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	name := strings.ToLower(host)
	if name == "localhost" || name == n.Name {
		return netip.MustParseAddr("127.0.0.1"), true
	}
	for _, x := range n.others() {
		if x.Name == name {
			return x.Netdevs[1].IPv4().Addr(), true
		}
	}
	return netip.Addr{}, false
}

// MoveGIDs moves a pair of entries, an address's for RoCE v1 and v2, to other slots, and
// what is there to theirs: no address loses its GIDs, and the same again undoes it.
func (f *Function) MoveGIDs(from, to int) {
	for i := range 2 {
		f.GIDs[from+i], f.GIDs[to+i] = f.GIDs[to+i], f.GIDs[from+i]
	}
}

// LoseHalf takes the driver away from the functions of a PCIe half, and with it
// their RDMA devices and interfaces.
func (n *Stack) LoseHalf(half int) {
	for _, f := range n.Functions {
		if f.Half != half || f.Lost {
			continue
		}
		// The GIDs come back where they were: after a restart the configuration adds the addresses
		// in the same order.
		d, gids := f.Netdev, f.GIDs
		if d.Master != nil {
			d.Release()
		}
		f.kept = nil
		for _, a := range d.Addrs {
			if a.Addr().Is4() {
				f.kept = append(f.kept, a.Prefix)
			}
		}
		d.SetUp(false)
		d.Flush(netip.Addr.IsValid)
		f.GIDs, f.keptGIDs = [16]GID{}, gids
		f.Lost = true
		n.Fixed = slices.DeleteFunc(n.Fixed, func(x Neighbour) bool { return x.Dev == d.Name })
		n.Netdevs = slices.DeleteFunc(n.Netdevs, func(x *Netdev) bool { return x == d })
	}
	n.Devices++
}

// RegainHalf is what a restart does: the devices are back, with the addresses
// that they had.
func (n *Stack) RegainHalf(half int) {
	for _, f := range n.Functions {
		if f.Half != half || !f.Lost {
			continue
		}
		f.Lost = false
		// By its index, as if it had never been away: tools list by that.
		n.Netdevs = append(n.Netdevs, f.Netdev)
		slices.SortStableFunc(n.Netdevs, func(a, b *Netdev) int { return a.Index - b.Index })
		f.defaultGIDs()
		f.Netdev.SetUp(true)
		for _, a := range f.kept {
			f.Netdev.AddAddr(a)
		}
		f.GIDs = f.keptGIDs
	}
	n.Devices++
}

// Present are the functions that the driver has: the others have no device.
func (n *Stack) Present() []*Function {
	var fs []*Function
	for _, f := range n.Functions {
		if !f.Lost && !f.Merged {
			fs = append(fs, f)
		}
	}
	return fs
}

// CableErrors are what a bad end of a cable has added to the port's counters of errors.
func (f *Function) CableErrors() uint64 {
	if !f.Worn {
		return 0
	}
	const perSecond = 40
	return uint64(perSecond * max(0, f.Stack.Fabric.Now()-f.WornAt))
}

// LinkErrors are what an unsteady PCIe link has corrected so far.
func (f *Function) LinkErrors() uint64 {
	if !f.Unsteady {
		return 0
	}
	const perSecond = 12
	return uint64(perSecond * max(0, f.Stack.Fabric.Now()-f.UnsteadyAt))
}

// MergePorts is what mlx5 may do with two ports of an adapter that are in one bond:
// the first one's RDMA device stands for both, under another name.
func (n *Stack) MergePorts() {
	a, b := n.Functions[0], n.Functions[1]
	b.Merged = n.Merges &&
		a.Netdev.Master != nil && a.Netdev.Master == b.Netdev.Master && !a.Lost && !b.Lost
	a.Dev = a.OwnName
	if b.Merged {
		a.Dev = "mlx5_bond_0"
	}
	n.Devices++
}

// Has reports whether the address is one of the node's own.
func (n *Stack) Has(a netip.Addr) bool {
	return slices.ContainsFunc(n.Netdevs, func(d *Netdev) bool { return d.has(a) })
}

// DevicePath is where the function sits in sysfs.
func (f *Function) DevicePath() string {
	domain := f.PCI[:4]
	return fmt.Sprintf("/sys/devices/pci%s:00/%s:00:00.0/%s", domain, domain, f.PCI)
}

// GUID is the device's node GUID as sysfs prints it.
func (f *Function) GUID() string {
	// As mlx5 makes it of the base MAC: its bytes with 03 and 00 in the middle.
	m := f.Netdev.PermMAC
	return fmt.Sprintf("%02x%02x:%02x03:00%02x:%02x%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// GIDText is a GID as sysfs prints it: eight groups of four digits, none left out.
func GIDText(g GID) string {
	b := g.Bytes()
	var parts []string
	for i := 0; i < 16; i += 2 {
		parts = append(parts, fmt.Sprintf("%02x%02x", b[i], b[i+1]))
	}
	return strings.Join(parts, ":")
}

// GUIDDigits are the same without colons, as ibstat and ibv_devices have them.
func (f *Function) GUIDDigits() string { return strings.ReplaceAll(f.GUID(), ":", "") }

// SystemGUID is the function whose GUID stands for the whole adapter.
func (f *Function) SystemGUID() *Function { return f.Stack.Functions[0] }

// Text is the GID as tools print it: IPv4 addresses in their mapped form.
func (g GID) Text() string {
	if g.Addr.Is4() {
		return "::ffff:" + g.Addr.String()
	}
	return g.Addr.String()
}

// Kind is what ibv_devinfo calls it; sysfs says "IB/RoCE v1" for the first.
func (g GID) Kind() string {
	if g.V2 {
		return "RoCE v2"
	}
	return "RoCE v1"
}

// StateWords are the port's two states as ibstat has them: the logical, which says whether it may
// be used, and the physical, which says why not.
func (f *Function) StateWords() (state, physical string) {
	switch {
	case f.Live():
		return "Active", "LinkUp"
	case !f.Netdev.Up:
		return "Down", "Disabled"
	default:
		return "Down", "Polling"
	}
}

// Reaches reports whether two ports have RoCE v2 addresses in one subnet, on one wire.
func (f *Function) Reaches(g *Function) bool {
	return f.Wire() == g.Wire() && slices.ContainsFunc(f.GIDs[:], func(a GID) bool {
		return a.Family() == 4 && a.V2 && a.Netdev == f.Netdev.Name && slices.ContainsFunc(g.GIDs[:], func(b GID) bool {
			return b.Family() == 4 && b.V2 && b.Netdev == g.Netdev.Name &&
				slices.ContainsFunc(f.Netdev.Addrs, func(p Address) bool {
					return p.Addr() == a.Addr && p.Masked().Contains(b.Addr)
				})
		})
	})
}
