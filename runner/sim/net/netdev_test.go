package net

import (
	"net/netip"
	"slices"
	"testing"
)

// bonded puts a node's rails 1 and 2 under a bond of a mode, which is up.
func bonded(n *Stack, mode string) *Netdev {
	b := n.NewBond("bond0", BondState{Mode: mode, Policy: "layer3+4", Miimon: 100})
	for _, f := range n.Functions[:2] {
		f.Netdev.SetUp(false)
		f.Netdev.Enslave(b)
	}
	b.SetUp(true)
	return b
}

// The speed of a bond is what the kernel adds up: the slaves that send.
func TestBondSpeed(t *testing.T) {
	for _, c := range []struct {
		mode       string
		both, left int // Mb/s with both links, and with the first one's cable out
	}{
		{"balance-rr", 400000, 200000},
		{"balance-xor", 400000, 200000},
		{"802.3ad", 400000, 200000},
		{"active-backup", 200000, 200000},
		{"broadcast", 200000, 200000},
	} {
		f, _ := wired(t, 2)
		n := f.Stacks[0]
		b := bonded(n, c.mode)
		if got := b.Speed(); got != c.both {
			t.Errorf("%s: %d Mb/s, want %d", c.mode, got, c.both)
		}
		n.Pulled[0] = true
		if got := b.Speed(); got != c.left {
			t.Errorf("%s with one cable: %d Mb/s, want %d", c.mode, got, c.left)
		}
		n.Pulled[1] = true
		if got := b.Speed(); got != -1 {
			t.Errorf("%s without a cable: %d Mb/s, want -1, as the kernel has it", c.mode, got)
		}
	}
}

// Who goes into a bond comes out of it as it was: its MAC, its MTU, its addresses' GIDs; and
// what it has carried meanwhile stays the bond's.
func TestABondGivesBackWhatItTook(t *testing.T) {
	f, _ := wired(t, 2)
	n := f.Stacks[0]
	rail := n.Functions[0].Netdev
	mac, gids := rail.mac, n.Functions[0].GIDs
	rail.SetMTU(9000)
	b := bonded(n, "balance-xor")
	if rail.mac != b.mac || rail.MTU != b.MTU {
		t.Errorf("in the bond it has the MAC %s and the MTU %d", rail.MACText(), rail.MTU)
	}
	rail.Count(1000, 1, 0, 0)
	if bytes, _ := b.Sent(); bytes != 1000 {
		t.Errorf("the bond has sent %d bytes, want 1000", bytes)
	}
	rail.Release()
	if rail.mac != mac || rail.MTU != 9000 || rail.Up || rail.Master != nil {
		t.Errorf("out of the bond: MAC %s, MTU %d, up %v", rail.MACText(), rail.MTU, rail.Up)
	}
	if bytes, _ := b.Sent(); bytes != 1000 {
		t.Errorf("without the slave the bond has sent %d bytes, want 1000", bytes)
	}
	rail.SetUp(true)
	had := func(g GID) bool { return slices.Contains(gids[:], g) }
	for i, g := range n.Functions[0].GIDs {
		if g.Addr.IsValid() && !had(g) {
			t.Errorf("GID %d is %v, which it had not before", i, g)
		}
	}
	if n.DeleteBond("bond0"); n.Netdev("bond0") != nil || n.Functions[1].Netdev.Master != nil {
		t.Error("the deleted bond is there")
	}
}

// Secondary addresses follow the primary one, whose place they take when it goes.
func TestASecondaryAddressIsPromoted(t *testing.T) {
	f, _ := wired(t, 2)
	d := f.Stacks[0].Functions[1].Netdev
	first, second := f.Stacks[0].Functions[1].Given, netip.MustParsePrefix("192.168.200.77/24")
	if !d.AddAddr(second) || d.AddAddr(second) {
		t.Fatal("an address is added once, and not twice")
	}
	if !d.Addrs[1].Secondary {
		t.Errorf("%v is no secondary address", d.Addrs[1])
	}
	d.DelAddr(first)
	i := d.Find(second)
	if i != 0 || d.Addrs[i].Secondary {
		t.Errorf("after the primary one went: %v", d.Addrs)
	}
	if w, ok := f.Stacks[0].Route(netip.MustParseAddr("192.168.200.11")); !ok || w.Out != d || w.Source != second.Addr() {
		t.Errorf("the way to its network is %v, %v", w, ok)
	}
}

// Moving GIDs loses none, whatever is in the other slots, and is undone by itself.
func TestMovedGIDs(t *testing.T) {
	f, _ := wired(t, 2)
	fn := f.Stacks[0].Functions[0]
	fn.Netdev.AddAddr(netip.MustParsePrefix("192.168.100.77/24"))
	was := fn.GIDs
	fn.MoveGIDs(2, 4)
	if fn.GIDs[4] != was[2] || fn.GIDs[5] != was[3] || fn.GIDs[2] != was[4] || fn.GIDs[3] != was[5] {
		t.Errorf("moved: %v, was %v", fn.GIDs[:6], was[:6])
	}
	if fn.MoveGIDs(4, 2); fn.GIDs != was {
		t.Errorf("moved back: %v, was %v", fn.GIDs[:6], was[:6])
	}
}

// The kernel takes the longest prefix, and the least metric of several; an interface that is
// down leads nowhere.
func TestRoutes(t *testing.T) {
	f, _ := wired(t, 2)
	n := f.Stacks[0]
	rail1, rail2 := n.Functions[0].Netdev, n.Functions[1].Netdev
	way := func(to string) string {
		w, ok := n.Route(netip.MustParseAddr(to))
		if !ok {
			return "unreachable"
		}
		return w.Out.Name
	}
	add := func(dst, dev string, metric int) {
		n.Routes = append(n.Routes, Route{
			Dst: netip.MustParsePrefix(dst), Dev: dev, Proto: "static", Scope: "link", Table: MainTable, Metric: metric,
		})
	}
	for _, c := range []struct {
		do       func()
		to, want string
	}{
		{func() {}, "192.168.100.11", rail1.Name},
		{func() {}, "127.0.0.7", "lo"},
		{func() {}, "192.168.100.10", "lo"}, // its own
		{func() {}, "10.1.2.3", "enP7s7"},
		{func() { add("192.168.100.11/32", rail2.Name, 0) }, "192.168.100.11", rail2.Name},
		{func() { add("10.0.0.0/8", rail1.Name, 50) }, "10.1.2.3", rail1.Name},
		{func() { add("10.0.0.0/8", rail2.Name, 20) }, "10.1.2.3", rail2.Name},
		{func() { rail2.SetUp(false) }, "10.1.2.3", rail1.Name},
		{func() { rail1.SetUp(false) }, "10.1.2.3", "enP7s7"},
		{func() { n.Netdev("enP7s7").SetUp(false) }, "10.1.2.3", "unreachable"},
	} {
		c.do()
		if got := way(c.to); got != c.want {
			t.Errorf("the way to %s is %s, want %s", c.to, got, c.want)
		}
	}
}

// The RoCE MTU follows from the Ethernet MTU by the kernel's rule, not by what a packet of a
// write would take.
func TestActiveMTU(t *testing.T) {
	f, _ := wired(t, 2)
	fn := f.Stacks[0].Functions[0]
	for netdev, want := range map[int]int{
		9000: 4096, 4192: 4096, 4191: 2048, 4154: 2048, 2144: 2048, 2143: 1024, 1500: 1024, 1120: 1024, 1119: 512, 68: 256,
	} {
		if fn.Netdev.SetMTU(netdev); fn.ActiveMTU() != want {
			t.Errorf("an MTU of %d gives %d, want %d", netdev, fn.ActiveMTU(), want)
		}
	}
}
