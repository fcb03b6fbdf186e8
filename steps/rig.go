package steps

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// End is a node's place in a Rig: Here and Peer are the two ends of the link under test, and higher numbers
// are the other nodes.
type End uint16

// The two ends of the link under test. Here is where railbench's cells start their
// clients; the peer runs the servers. Neither has to be the machine that railbench runs on.
const (
	Here End = iota
	Peer
)

// Ends lists the two ends, in the order in which they are shown.
var Ends = [2]End{Here, Peer}

// String names an end as rig files, logs and saved sessions do: here, peer, node3.
func (e End) String() string {
	if e <= Peer {
		return [...]string{"here", "peer"}[e]
	}
	return fmt.Sprintf("node%d", int(e)+1)
}

// ParseEnd reads what String writes; ok is false for anything else.
func ParseEnd(name string) (e End, ok bool) {
	switch name {
	case "here":
		return Here, true
	case "peer":
		return Peer, true
	}
	n := 0
	if _, err := fmt.Sscanf(name, "node%d", &n); err != nil || n <= 2 || n > MostNodes || name != End(n-1).String() {
		return Here, false
	}
	return End(n - 1), true
}

// Other is the opposite end of the link under test.
func (e End) Other() End { return 1 - e }

// MostNodes is how many nodes a rig can have; assets/docs/scale.md says what reaches a limit first beyond
// that.
const MostNodes = 1024

// A Link is the link under test: two nodes by their numbers in the rig file, from 0. Here
// is where the clients run.
type Link struct{ Here, Peer int }

// DefaultLink joins the first two nodes.
var DefaultLink = Link{0, 1}

// Reorder gives the order of n nodes in which the link's two come first.
func (l Link) Reorder(n int) []int {
	order := append(make([]int, 0, n), l.Here, l.Peer)
	for i := range n {
		if i != l.Here && i != l.Peer {
			order = append(order, i)
		}
	}
	return order
}

// Links lists every two of n nodes, those of the lower numbers first.
func Links(n int) []Link {
	var all []Link
	for a := range n {
		for b := a + 1; b < n; b++ {
			all = append(all, Link{a, b})
		}
	}
	return all
}

// Ring lists the links around n nodes: each node's to the next, and the last one's to the first.
// All links of three are one.
func Ring(n int) []Link {
	var all []Link
	for a := range n {
		if b := (a + 1) % n; a < b {
			all = append(all, Link{a, b})
		} else if n > 2 {
			all = append(all, Link{b, a})
		}
	}
	return all
}

// A Rig is what was found on the two nodes. It is a value: a probe makes a new one.
type Rig struct {
	Name      string
	Simulated bool
	// Nodes are indexed by End: the two of the link under test first. There are at least
	// two, but in the zero Rig.
	Nodes []Node
	// Pairs are the rails of the link under test, in the order in which the cells use
	// them: RAIL1 is Pairs[0].
	Pairs []Pair
	// Missing says, a sentence each, which rails the rig file names and are not pairs now.
	Missing []string
	// Probed is when the nodes were looked at.
	Probed time.Time
}

// OfSlurm is how Where begins for a node of an allocation of Slurm's, before its number.
const OfSlurm = "Slurm, allocation "

// A Node is one machine as it was found.
type Node struct {
	No      int    // its place in the rig file, from 0: it stays when the link under test changes
	Name    string // in the rig file: spark-01
	Where   string // how it is reached: "this machine", "nvidia@192.168.100.10:22"
	Host    string // its own host name
	Kernel  string
	Arch    string
	OS      string
	Adapter string // for example "ConnectX-7, firmware 28.45.4028"
	Rails   []Rail // every RDMA device, sorted by PCI address and name
	Netdevs []Netdev
	Tools   map[string]Tool // by command name; a tool that was looked for and is missing has an empty Path
	// SSHDev and RouteDev are the netdevs that carry the SSH session and the
	// default route; empty where there is none.
	SSHDev, RouteDev string
	// Catches is what ends a script's processes there that clear their environment and leave their
	// session: "group", "parent", "nothing"; empty where that isn't known. It is not saved.
	Catches string
	// Err says why the node could not be probed; empty otherwise.
	Err string
}

// A Tool is one program that the cells call.
type Tool struct {
	Path    string
	Version string // as the tool prints it; empty if it prints none
	Package string // the Debian or Ubuntu package that brings it
}

// A Netdev is a network interface.
type Netdev struct {
	Name      string
	MTU       int // bytes
	Up        bool
	Carrier   bool
	SpeedGbps float64  // declared link speed; 0 where the kernel does not know it
	Addrs     []string // "192.168.100.10/24", IPv4 and IPv6
	Master    string   // the bond that it is enslaved to
	MAC       string
	BondMode  string // balance-xor, active-backup …; empty if it is not a bond
	// Managers are the daemons that configure it, or could.
	Managers []Manager
}

// A Manager is a program that configures an interface by itself, and may take back what was
// set by hand.
type Manager struct {
	By      string // NetworkManager, networkd, ifupdown, ConnMan …
	State   string // in its own words: connected, configured, unmanaged
	Profile string // the profile or the file that it configures the interface from; may be empty
	ID      string // NetworkManager's own of the profile
	// Trouble says why it can't be asked to let the interface go; empty where it can.
	Trouble string
	// Busy says that the trouble may be over in a moment: it is at work, or did not answer in time.
	Busy bool `json:",omitempty"`
}

// Holds reports whether the manager manages the interface now.
func (m Manager) Holds() bool { return m.State != "" && m.State != "unmanaged" }

// String is the manager in a few words: "NetworkManager, profile netplan-enp1s0f0np0".
func (m Manager) String() string {
	switch {
	case !m.Holds():
		return m.By + ", which leaves it alone"
	case m.Profile == "":
		return m.By + ", " + m.State
	case strings.HasPrefix(m.Profile, "/"):
		return m.By + ", " + m.Profile
	}
	return m.By + ", profile " + m.Profile
}

// HeldBy are the managers that manage the interface.
func (d Netdev) HeldBy() []Manager {
	var all []Manager
	for _, m := range d.Managers {
		if m.Holds() {
			all = append(all, m)
		}
	}
	return all
}

// A Rail is one RDMA device's port on one node. It is a place, not a name.
type Rail struct {
	Dev  string // RDMA device: rocep1s0f0
	Port int    // RDMA port number, 1 nearly always
	// Netdev is the interface whose addresses make the port's GIDs.
	Netdev   Netdev
	State    string // ACTIVE, DOWN …
	Phys     string // LinkUp, Disabled, Polling
	Layer    string // Ethernet (RoCE) or InfiniBand
	RateGbps float64
	// PhysPort is the connector on the outside, counted from 0; -1 where unknown.
	PhysPort int
	MTU      int // active RoCE MTU, bytes
	MaxMTU   int
	// MTUDerived says that MTU follows from the netdev's, because the node does not report the active one.
	MTUDerived bool
	PCI        PCI
	GIDs       []GID
	Addr       string // IPv4 address without prefix, of the netdev
	Prefix     int    // its prefix length
	GIDIndex   int    // RoCE v2 entry of Addr; -1 where there is none
	HasOctets  bool   // ports/N/counters/port_xmit_data exists
}

// Soft reports whether a rail is a driver of the kernel's over any interface (rxe, siw), so that no hardware
// limits it. Those have neither a device on the PCI bus nor port counters, which the kernel makes only for a
// driver that answers management datagrams (process_mad, in drivers/infiniband/core/sysfs.c). One sign alone
// is not enough: an adapter's scalable function is not a PCI device, and a container may hide the bus.
func (r Rail) Soft() bool { return r.PCI.Addr == "" && !r.HasOctets && !r.InfiniBand() }

// InfiniBand reports whether a rail's packets are InfiniBand's own, and not RoCE's.
func (r Rail) InfiniBand() bool { return r.Layer == "InfiniBand" }

// MTUName is the name of the MTU of a rail's packets, to separate it from the interface's.
func (r Rail) MTUName() string {
	if r.InfiniBand() {
		return "InfiniBand MTU"
	}
	return "RoCE MTU"
}

// RoCEMTU is the RoCE MTU that follows from an Ethernet MTU, bytes: the largest
// power of two for which the headers leave room (the kernel's iboe_get_mtu takes
// off 96 bytes). 1500 gives 1024, and 4096 needs 4192.
func RoCEMTU(netdev int) int {
	for _, mtu := range []int{4096, 2048, 1024, 512, 256} {
		if netdev-96 >= mtu {
			return mtu
		}
	}
	return 0
}

// A PCI slot as the device sees it. The zero value means unknown, as on soft-RoCE.
type PCI struct {
	Addr  string // 0000:01:00.0
	GTps  float64
	Width int
	// MaxGTps and MaxWidth are what the device could do.
	MaxGTps  float64
	MaxWidth int
	// MaxPayload is how many bytes one packet may carry (MPS), as the device is set; 0 where only root may read it.
	MaxPayload int `json:",omitempty"`
}

// Half names the slot without the function: two rails that share it share one PCIe link,
// and its bandwidth (assets/docs/facts.md#pcie-halves). Empty where unknown.
func (p PCI) Half() string {
	if len(p.Addr) < 2 {
		return ""
	}
	return p.Addr[:len(p.Addr)-2]
}

// A GID is one entry of a port's GID table.
type GID struct {
	Index  int
	GID    string // fe80:0000:…
	Type   string // "RoCE v2", "IB/RoCE v1"
	Netdev string
	IPv4   string // empty where the GID holds none
}

// A Pair is a rail that leads from one node to the other, found by its subnet.
type Pair struct {
	// Rails are indexes into Nodes[end].Rails.
	Rails  [2]int
	Subnet string // 192.168.100.0/24
}

// NewRig is a rig of n nodes of which nothing is known but their numbers.
func NewRig(name string, simulated bool, n int) Rig {
	r := Rig{Name: name, Simulated: simulated, Nodes: make([]Node, max(n, len(Ends)))}
	for i := range r.Nodes {
		r.Nodes[i].No = i
	}
	return r
}

// At is the node at an end; the zero Node where the rig has none there.
func (r Rig) At(e End) Node {
	if int(e) >= len(r.Nodes) {
		return Node{}
	}
	return r.Nodes[e]
}

// PackageOf names the package that brings a command, as one of the nodes has it on record;
// empty where none has.
func (r Rig) PackageOf(command string) string {
	for _, n := range r.Nodes {
		if t := n.Tools[command]; t.Package != "" {
			return t.Package
		}
	}
	return ""
}

// Link is the link under test.
func (r Rig) Link() Link { return Link{r.At(Here).No, r.At(Peer).No} }

// byNo are the rig's nodes in the order of their numbers. They may be the rig's own list, and are only read.
func (r Rig) byNo() []Node {
	sorted := true
	for i := range r.Nodes[:max(0, len(r.Nodes)-1)] {
		sorted = sorted && r.Nodes[i].No <= r.Nodes[i+1].No
	}
	if sorted {
		return r.Nodes
	}
	all := slices.Clone(r.Nodes)
	slices.SortStableFunc(all, func(a, b Node) int { return a.No - b.No })
	return all
}

// Over is the rig with another link under test, and its rails paired again.
func (r Rig) Over(l Link) Rig {
	byNo := r.byNo()
	r.Nodes = make([]Node, len(byNo))
	for at, i := range l.Reorder(len(byNo)) {
		r.Nodes[at] = byNo[i]
	}
	r.Pairs = PairRails(r.At(Here), r.At(Peer))
	return r
}

// Rail gives the rail of a pair at one end.
func (r Rig) Rail(p Pair, e End) Rail { return r.At(e).Rails[p.Rails[e]] }

// AcrossHalves is the pair that adds PCIe bandwidth to the first one: behind
// another PCIe link at both ends, and on the same connector where there is one
// such, because one cable carries both halves (assets/docs/facts.md#pcie-halves). ok is false where
// the rig has none, or where its PCI slots are not known.
func (r Rig) AcrossHalves() (p Pair, ok bool) {
	if !r.HasPair(0) {
		return Pair{}, false
	}
	first := r.Pairs[0]
	for i, other := range r.Pairs {
		if i == 0 || !r.HasPair(i) {
			continue
		}
		apart, same := true, true
		for _, e := range Ends {
			a, b := r.Rail(first, e), r.Rail(other, e)
			apart = apart && a.PCI.Half() != "" && b.PCI.Half() != "" && a.PCI.Half() != b.PCI.Half()
			same = same && a.PhysPort >= 0 && a.PhysPort == b.PhysPort
		}
		if apart && (same || !ok) {
			if p, ok = other, true; same {
				return p, true
			}
		}
	}
	return p, ok
}

// SharesHalf reports whether two pairs are behind one PCIe link, at either end.
func (r Rig) SharesHalf(a, b Pair) bool {
	for _, e := range Ends {
		x, y := r.Rail(a, e).PCI.Half(), r.Rail(b, e).PCI.Half()
		if x != "" && x == y {
			return true
		}
	}
	return false
}

// NameOf is a node's name in the rig file, or its own where both have one name, as
// behind two forwarded ports of one address.
func (r Rig) NameOf(e End) string {
	n := r.At(e)
	alone := func(name func(Node) string) bool {
		for i, x := range r.Nodes {
			if End(i) != e && name(x) == name(n) {
				return false
			}
		}
		return name(n) != ""
	}
	switch {
	case alone(func(x Node) string { return x.Name }):
		return n.Name
	case alone(func(x Node) string { return x.Host }):
		return n.Host
	}
	return e.String()
}

// InUse reports whether a rail is meant to carry something: it leads to the other
// node, or has an address.
func (r Rig) InUse(e End, rail int) bool {
	for _, p := range r.Pairs {
		if p.Rails[e] == rail {
			return true
		}
	}
	return r.At(e).Rails[rail].Addr != ""
}

// HasPair reports whether the rig has a pair i, and its rails: a saved result may
// point anywhere.
func (r Rig) HasPair(i int) bool {
	if i < 0 || i >= len(r.Pairs) {
		return false
	}
	for _, e := range Ends {
		if n := r.Pairs[i].Rails[e]; n < 0 || n >= len(r.At(e).Rails) {
			return false
		}
	}
	return true
}
