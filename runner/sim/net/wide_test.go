package net

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
)

// Up to 64 nodes have addresses of which the last byte is theirs; more have two, and in each subnet all nodes have
// one of their own. No two interfaces have one MAC, and no two nodes draw the same numbers.
func TestEveryNodeHasItsOwnAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes int
		bits  int
		last  []string // addresses of the last node, and a MAC
	}{
		{64, 24, []string{
			"192.168.1.164/24", "192.168.100.83/24", "192.168.200.83/24", "192.168.102.83/24",
			"4c:bb:47:2c:4f:31",
		}},
		{300, 16, []string{"10.1.1.144/16", "10.100.1.63/16", "10.200.1.63/16", "10.102.1.63/16", "4c:bb:47:2d:3b:31"}},
		{1024, 16, []string{"10.1.4.100/16", "10.100.4.19/16", "4c:bb:47:30:0f:31"}},
	} {
		f := New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, c.nodes, false)
		addrs, macs, drawn := map[netip.Addr]string{}, map[string]string{}, map[uint64]string{}
		var last strings.Builder
		for _, n := range f.Stacks {
			last.Reset()
			for _, d := range n.Netdevs[1:] {
				where := n.Name + " " + d.Name
				for _, a := range d.Addrs {
					if other := addrs[a.Addr()]; other != "" || a.Addr().Is4() && a.Bits() != c.bits {
						t.Fatalf("%d nodes: %s of %s, which %q has", c.nodes, a, where, other)
					}
					addrs[a.Addr()] = where
					last.WriteString(a.String() + " ")
				}
				if other := macs[d.MACText()]; other != "" {
					t.Fatalf("%d nodes: %s and %s have %s", c.nodes, where, other, d.MACText())
				}
				macs[d.MACText()] = where
				last.WriteString(d.MACText() + " ")
			}
			v := n.Random("test").Uint64()
			if other := drawn[v]; other != "" {
				t.Errorf("%d nodes: %s draws what %s does", c.nodes, n.Name, other)
			}
			drawn[v] = n.Name
			if a, ok := f.Stacks[0].Resolve(n.Name); n.Index > 0 && (!ok || a != f.Management(n.Index).Addr()) {
				t.Errorf("%d nodes: %s is at %s", c.nodes, n.Name, a)
			}
		}
		for _, want := range c.last {
			if !strings.Contains(last.String(), want+" ") {
				t.Errorf("%d nodes: the last has no %s: %s", c.nodes, want, last.String())
			}
		}
	}
}

// A node of a rig that is wide knows those that it has spoken with, and they know it.
func TestNeighboursOfMany(t *testing.T) {
	t.Parallel()
	f := New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, narrow+1, false)
	a, b := f.Stacks[0], f.Stacks[50]
	if len(a.Neighbours()) != 0 {
		t.Errorf("it knows %v and has spoken with nobody", a.Neighbours())
	}
	own, other := a.Functions[1].Netdev, b.Functions[1].Given.Addr()
	if d := a.Answers(own, other); d != b.Functions[1].Netdev {
		t.Fatalf("%v answers for %s", d, other)
	}
	knows := func(n *Stack, addr netip.Addr, mac string) (found bool) {
		for _, x := range n.Neighbours() {
			found = found || x.Addr == addr && x.MAC == mac
		}
		return found
	}
	if !knows(a, other, b.Functions[1].Netdev.MACText()) || !knows(b, a.Functions[1].Given.Addr(), own.MACText()) {
		t.Errorf("they know %v and %v", a.Neighbours(), b.Neighbours())
	}
	if c := f.Stacks[7]; len(c.Neighbours()) != 0 {
		t.Errorf("another one knows %v", c.Neighbours())
	}
}

// Flows that share nothing are worked out apart, and come to what they do together.
func TestFlowsApart(t *testing.T) {
	t.Parallel()
	f, _ := wired(t, narrow+1)
	f.Lock()
	defer f.Unlock()
	f.Add(between(f, 0, 1), between(f, 2, 1), between(f, 5, 6), between(f, 7, 8), between(f, 8, 9), between(f, 3, 2))
	var all []*sharer
	for _, fl := range f.Flows {
		all = append(all, &sharer{fl: fl, usages: fl.usages()})
	}
	var sizes []int
	for _, group := range apart(all) {
		sizes = append(sizes, len(group))
	}
	// What goes into a node and what goes out of it share nothing: 7 to 8 and 8 to 9 are two, and so are 2 to 1, which
	// shares 1 with 0 to 1, and 3 to 2.
	if want := []int{2, 1, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups of %v, want %v", sizes, want)
	}
	for i, want := range []float64{0.5, 0.5, 1, 1, 1, 1} {
		if got := f.Flows[i].rate / f.Flows[2].rate; math.Abs(got-want) > 0.01 {
			t.Errorf("flow %d has %.3f of one that is alone, want %.1f", i, got, want)
		}
	}
}
