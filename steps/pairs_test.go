package steps

import (
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
		"node03", "node3x", "node65", "node999999999999999999", "Here",
	} {
		if e, ok := ParseEnd(name); ok {
			t.Errorf("%q is %s", name, e)
		}
	}
}

// A port that one end alone has made a rail of is told; one that nobody has given an address, the way
// out and what may lead to a third node are not.
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
		"whole":      {rig([]Rail{a}, []Rail{b}), nil},
		"nobody's":   {rig([]Rail{a, port("b", "")}, []Rail{b, port("b", "")}), nil},
		"no address": {rig([]Rail{a, port("b", "")}, []Rail{b, port("b", "10.0.1.2")}), []string{"spark-02 has no address on b, and spark-01 has 10.0.1.2 there"}},
		"no port":    {rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b}), []string{"spark-01 has no b, and spark-02 has 10.0.1.1 there"}},
		"apart":      {rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b, port("b", "10.0.2.2")}), []string{"b has 10.0.1.1/24 on spark-02 and 10.0.2.2/24 on spark-01, which are in no subnet together"}},
		"twice":      {rig([]Rail{a, port("b", "10.0.1.1")}, []Rail{b, port("b", "10.0.1.1")}), []string{"both nodes have 10.0.1.1 on b"}},
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
