package steps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nodeWith(addrs ...string) Node {
	var n Node
	for _, a := range addrs {
		dev, addr, _ := strings.Cut(a, "=")
		n.Rails = append(n.Rails, Rail{Dev: dev, Port: 1, Addr: addr, Prefix: 24, PhysPort: -1})
	}
	return n
}

func TestPairRails(t *testing.T) {
	for _, c := range []struct {
		name       string
		here, peer Node
		want       [][2]int
	}{
		{
			"one subnet a rail", nodeWith("a=10.0.1.1", "b=10.0.2.1"),
			nodeWith("a=10.0.1.2", "b=10.0.2.2"),
			[][2]int{{0, 0}, {1, 1}},
		},
		{
			"crossed", nodeWith("a=10.0.1.1", "b=10.0.2.1"),
			nodeWith("a=10.0.2.2", "b=10.0.1.2"),
			[][2]int{{0, 1}, {1, 0}},
		},
		{
			"all in one subnet: the same names", nodeWith("a=10.0.1.1", "b=10.0.1.3"),
			nodeWith("b=10.0.1.4", "a=10.0.1.2"),
			[][2]int{{0, 1}, {1, 0}},
		},
		{"a third one in the subnet", nodeWith("a=10.0.1.1"), nodeWith("b=10.0.1.15", "a=10.0.1.2"), [][2]int{{0, 1}}},
		{"no address", nodeWith("a="), nodeWith("a=10.0.1.2"), nil},
		{"different subnets", nodeWith("a=10.0.1.1"), nodeWith("a=10.0.2.1"), nil},
		{"one address twice", nodeWith("a=10.0.1.1"), nodeWith("a=10.0.1.1"), nil},
		{"nothing", Node{}, Node{}, nil},
	} {
		var got [][2]int
		for _, p := range PairRails(c.here, c.peer) {
			got = append(got, p.Rails)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	p := PairRails(nodeWith("a=192.168.100.11"), nodeWith("a=192.168.100.10"))
	if len(p) != 1 || p[0].Subnet != "192.168.100.0/24" {
		t.Errorf("%+v", p)
	}
}

// trio is three nodes in a ring: each pair has one rail.
func trio() Rig {
	r := NewRig("trio", false, 3)
	for i, addrs := range [][2]string{{"10.0.1.1", "10.0.3.1"}, {"10.0.1.2", "10.0.2.2"}, {"10.0.2.3", "10.0.3.3"}} {
		n := nodeWith("a="+addrs[0], "b="+addrs[1])
		n.No, n.Name = i, string(rune('x'+i))
		r.Nodes[i] = n
	}
	return r
}

func TestRigOverALink(t *testing.T) {
	r := trio()
	for _, c := range []struct {
		link  Link
		names string
		rails [2]string // devices of the one pair
	}{
		{Link{0, 1}, "xyz", [2]string{"a", "a"}},
		{Link{1, 0}, "yxz", [2]string{"a", "a"}},
		{Link{1, 2}, "yzx", [2]string{"b", "a"}},
		{Link{2, 0}, "zxy", [2]string{"b", "b"}},
	} {
		r = r.Over(c.link) // from whatever link it was over before
		names := ""
		for _, n := range r.Nodes {
			names += n.Name
		}
		if names != c.names || r.Link() != c.link {
			t.Errorf("%v: nodes %q over %v, want %q", c.link, names, r.Link(), c.names)
		}
		if len(r.Pairs) != 1 {
			t.Errorf("%v: %d pairs", c.link, len(r.Pairs))
			continue
		}
		if got := [2]string{r.Rail(r.Pairs[0], Here).Dev, r.Rail(r.Pairs[0], Peer).Dev}; got != c.rails {
			t.Errorf("%v: the rail joins %v, want %v", c.link, got, c.rails)
		}
	}
}

func TestLinks(t *testing.T) {
	if got := Links(3); !slices.Equal(got, []Link{{0, 1}, {0, 2}, {1, 2}}) {
		t.Errorf("%v", got)
	}
	if got := Links(2); !slices.Equal(got, []Link{DefaultLink}) {
		t.Errorf("%v", got)
	}
}

// What String writes is read back, and nothing else is an end.
func TestEnds(t *testing.T) {
	for e := range End(MostNodes) {
		if got, ok := ParseEnd(e.String()); !ok || got != e {
			t.Errorf("%s: %v, %v", e, got, ok)
		}
	}
	for _, name := range []string{
		"", "node", "node1", "node2", "node0", "node-3",
		"node03", "node3x", fmt.Sprintf("node%d", MostNodes+1), "node999999999999999999", "Here",
	} {
		if e, ok := ParseEnd(name); ok {
			t.Errorf("%q is %s", name, e)
		}
	}
}

// A port that only one end has made a rail is reported. A port without an address on both ends, the port of
// the default route, and a port that may lead to a third node are not.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	port := func(dev, addr string) Rail {
		return Rail{Dev: dev, Port: 1, State: "ACTIVE", Addr: addr, Prefix: 24, Netdev: Netdev{Name: "en" + dev}}
	}
	rig := func(here, peer []Rail) Rig {
		r := NewRig("r", false, 2)
		r.Nodes[0].Name, r.Nodes[1].Name = "spark-02", "spark-01"
		r.Nodes[0].Rails, r.Nodes[1].Rails = here, peer
		r.Pairs = PairRails(r.Nodes[0], r.Nodes[1])
		return r
	}
	a, b := port("a", "10.0.0.1"), port("a", "10.0.0.2")
	for name, c := range map[string]struct {
		rig  Rig
		want []string
	}{
		"whole":    {rig([]Rail{a}, []Rail{b}), nil},
		"nobody's": {rig([]Rail{a, port("b", "")}, []Rail{b, port("b", "")}), nil},
		"no address": {
			rig([]Rail{a, port("b", "")}, []Rail{b, port("b", "10.0.1.2")}),
			[]string{"spark-02 has no address on b, and spark-01 has 10.0.1.2 there"},
		},
		"no port": {
			rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b}),
			[]string{"spark-01 has no b, and spark-02 has 10.0.1.1 there"},
		},
		"apart": {
			rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b, port("b", "10.0.2.2")}),
			[]string{"b has 10.0.1.1/24 on spark-02 and 10.0.2.2/24 on spark-01, which are in no subnet together"},
		},
		"twice": {
			rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b, port("b", "10.0.1.1")}),
			[]string{"both nodes have 10.0.1.1 on b"},
		},
		"the way out": {func() Rig {
			r := rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b})
			r.Nodes[0].RouteDev = "enb"
			return r
		}(), nil},
		"a third node": {func() Rig {
			r := rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b})
			r.Nodes = append(r.Nodes, Node{No: 2})
			return r
		}(), nil},
	} {
		if got := c.rig.LeftOut(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// switchboard is a rig of nodes with two rails each, in two subnets of a switch.
func switchboard(nodes int) Rig {
	r := NewRig("rack", false, nodes)
	for i := range r.Nodes {
		r.Nodes[i] = nodeWith(fmt.Sprintf("r1=10.1.%d.%d", i>>8, i&255), fmt.Sprintf("r2=10.2.%d.%d", i>>8, i&255))
		r.Nodes[i].No = i
		for j, rail := range r.Nodes[i].Rails {
			rail.Prefix = 16
			r.Nodes[i].Rails[j].Prefix = 16
			d := Netdev{Name: "en" + rail.Dev, Addrs: []string{fmt.Sprintf("%s/%d", rail.Addr, rail.Prefix)}}
			r.Nodes[i].Rails[j].Netdev = d
			r.Nodes[i].Netdevs = append(r.Nodes[i].Netdevs, d, Netdev{Name: "docker0", Addrs: []string{"172.17.0.1/16"}})
		}
	}
	return r
}

// Behind a switch all links are there, whatever the number of nodes, also where one can't be looked at; where one of
// two has lost what joins them that is looked at link by link.
func TestCabledOnASwitch(t *testing.T) {
	t.Parallel()
	const nodes = 80
	for name, c := range map[string]struct {
		spoil func(r Rig)
		all   int
	}{
		"whole":             {func(Rig) {}, nodes * (nodes - 1) / 2},
		"one is away":       {func(r Rig) { r.Nodes[7] = Node{No: 7, Err: "refused"} }, nodes * (nodes - 1) / 2},
		"one address twice": {func(r Rig) { r.Nodes[7].Rails[0].Addr = r.Nodes[9].Rails[0].Addr }, nodes * (nodes - 1) / 2},
		"two groups": {func(r Rig) {
			for i := range r.Nodes[:20] {
				r.Nodes[i].Rails[0].Addr, r.Nodes[i].Rails[1].Addr = fmt.Sprintf("10.3.0.%d", i+1), fmt.Sprintf("10.4.0.%d", i+1)
			}
		}, 20*19/2 + 60*59/2},
	} {
		r := switchboard(nodes)
		c.spoil(r)
		all, next := r.Cabled()
		if len(all) != c.all || len(next) != nodes && c.all == nodes*(nodes-1)/2 {
			t.Errorf("%s: %d links, %d from each to the next", name, len(all), len(next))
		}
	}
	if all, _ := switchboard(MostNodes).Cabled(); len(all) != MostNodes*(MostNodes-1)/2 {
		t.Errorf("%d links", len(all))
	}
}

// Nodes that have a rail's address in common are found wherever they stand, and the order of the nodes is another's.
func TestDoubled(t *testing.T) {
	t.Parallel()
	r := switchboard(100)
	if got := r.Doubled(); got != nil {
		t.Errorf("%v have nothing in common but their docker0", got)
	}
	twice := func(no int, addr string) { r.Nodes[no].Netdevs[0].Addrs = append(r.Nodes[no].Netdevs[0].Addrs, addr) }
	twice(70, "10.1.0.3/16")
	twice(40, "10.1.0.3/24")
	r.Nodes[99].Netdevs[1].Addrs = append(r.Nodes[99].Netdevs[1].Addrs, "10.2.0.0/16") // a bridge has a rail's
	want := []Link{{0, 99}, {3, 40}, {40, 70}}
	if got := r.Doubled(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := r.Over(Link{70, 3}).Doubled(); !slices.Equal(got, want) {
		t.Errorf("over another link: %v, want %v", got, want)
	}
}
