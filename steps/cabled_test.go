package steps

import (
	"fmt"
	"slices"
	"testing"
)

// addressed is a rig whose nodes have rails with these addresses, "" for one that has none.
func addressed(nodes ...[]string) Rig {
	r := Rig{}
	for no, addrs := range nodes {
		n := Node{No: no, Name: fmt.Sprint("n", no)}
		for i, a := range addrs {
			rail := Rail{Dev: fmt.Sprint("dev", i), Addr: a, Prefix: 24}
			rail.Netdev.Carrier = true
			n.Rails = append(n.Rails, rail)
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r
}

// ringed are five nodes, port 0 of each cabled to port 1 of the next.
func ringed() Rig {
	var nodes [][]string
	for i := range 5 {
		nodes = append(nodes, []string{fmt.Sprintf("10.0.%d.1", i), fmt.Sprintf("10.0.%d.2", (i+4)%5)})
	}
	return addressed(nodes...)
}

// Links are where rails lead, or should.
func TestCabled(t *testing.T) {
	around := []Link{{0, 1}, {0, 4}, {1, 2}, {2, 3}, {3, 4}}
	lost, gone := ringed(), ringed()
	lost.Nodes[2].Rails[0].Addr = "" // to node 3
	gone.Nodes[2] = Node{No: 2, Name: "n2", Err: "no route to host"}
	for _, c := range []struct {
		name      string
		rig       Rig
		all, next []Link
	}{
		{
			"a switch", addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}, []string{"10.0.0.3"}, []string{"10.0.0.4"}),
			Links(4), Ring(4),
		},
		{
			"a node on a switch has no address", addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}, []string{""}), Links(3),
			Ring(3),
		},
		{
			"a node on a switch has another network's",
			addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}, []string{"10.0.9.3"}), Links(3), Ring(3),
		},
		{"a ring", ringed(), around, around},
		{"a rail of a ring has no address", lost, around, around},
		{"a node of a ring is away", gone, []Link{{0, 1}, {0, 2}, {0, 4}, {1, 2}, {2, 3}, {2, 4}, {3, 4}}, nil},
		{"two", addressed([]string{""}, []string{""}), Links(2), Ring(2)},
	} {
		all, next := c.rig.Cabled()
		if !slices.Equal(all, c.all) || c.next != nil && !slices.Equal(next, c.next) {
			t.Errorf("%s: %v, one after the other %v", c.name, all, next)
		}
		for i := range c.rig.Nodes {
			if !slices.ContainsFunc(next, func(l Link) bool { return l.Here == i || l.Peer == i }) {
				t.Errorf("%s: no link of node %d is among %v", c.name, i, next)
			}
		}
	}
}

// twoRings are six nodes in two rings of three.
func twoRings() Rig {
	var nodes [][]string
	for i := range 6 {
		nodes = append(nodes, []string{fmt.Sprintf("10.%d.%d.1", i/3, i%3), fmt.Sprintf("10.%d.%d.2", i/3, (i+2)%3)})
	}
	return addressed(nodes...)
}

// What goes around all nodes goes along the cables, whatever the order in which the nodes stand, and from here to
// the peer where these are neighbours.
func TestAround(t *testing.T) {
	for _, c := range []struct {
		name string
		rig  Rig
		want []int // numbers
	}{
		{"a ring", ringed(), []int{0, 1, 2, 3, 4}},
		{"from the second to the first", ringed().Over(Link{1, 0}), []int{1, 0, 4, 3, 2}},
		{"from the last to the first", ringed().Over(Link{4, 0}), []int{4, 0, 1, 2, 3}},
		{"no neighbours", ringed().Over(Link{3, 1}), []int{3, 2, 1, 0, 4}},
		{
			"a switch", addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}, []string{"10.0.0.3"}).Over(Link{2, 0}),
			[]int{2, 0, 1},
		},
		{"two rings", twoRings(), []int{0, 1, 2, 3, 4, 5}},
		{"nobody", Rig{}, nil},
	} {
		var got []int
		for _, e := range c.rig.Around() {
			got = append(got, c.rig.At(e).No)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestInRing(t *testing.T) {
	lost := ringed()
	lost.Nodes[2].Rails[0].Addr = ""
	for _, c := range []struct {
		name string
		rig  Rig
		want bool
	}{
		{"a ring", ringed(), true},
		{"over a link that is not its first", ringed().Over(Link{2, 3}), true},
		{"three", addressed([]string{"10.0.1.1", "10.0.3.1"}, []string{"10.0.1.2", "10.0.2.2"},
			[]string{"10.0.2.3", "10.0.3.3"}), true},
		{"a switch", addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}, []string{"10.0.0.3"}), false},
		{"a line", addressed([]string{"10.0.1.1"}, []string{"10.0.1.2", "10.0.2.2"}, []string{"10.0.2.3"}), false},
		{"a rail has no address", lost, false},
		{"two rings", twoRings(), false},
		{"two", addressed([]string{"10.0.0.1"}, []string{"10.0.0.2"}), false},
		{"nobody", Rig{}, false},
	} {
		if got := c.rig.InRing(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
