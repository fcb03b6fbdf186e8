package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPath(t *testing.T) {
	dev := func(name, master string, addrs ...string) Netdev {
		return Netdev{Name: name, Master: master, Addrs: addrs}
	}
	node := func(netdevs ...Netdev) Node {
		n := Node{Netdevs: netdevs}
		for _, d := range netdevs {
			if d.Name != "bond0" {
				n.Rails = append(n.Rails, Rail{Netdev: d})
			}
		}
		return n
	}
	rails := func(host string) Node {
		return node(dev("r1", "", "10.0.1."+host+"/24"), dev("r2", "", "10.0.2."+host+"/24"))
	}
	bonded := func(host string) Node {
		return node(dev("r1", "bond0"), dev("r2", "bond0"), dev("bond0", "", "fe80::1/64", "10.0.1."+host+"/24"))
	}
	type want struct {
		ok      bool
		netdevs [2]string
		addrs   [2]string
		rails   [2][]int
	}
	for name, c := range map[string]struct {
		nodes [2]Node
		pairs []Pair
		want  want
	}{
		"rails": {
			[2]Node{rails("1"), rails("2")},
			[]Pair{{Rails: [2]int{1, 1}}, {Rails: [2]int{0, 0}}}, // as the rig file orders them
			want{true, [2]string{"r2", "r2"}, [2]string{"", ""}, [2][]int{{1}, {1}}},
		},
		"bonds": {
			[2]Node{bonded("1"), bonded("2")},
			nil,
			want{true, [2]string{"bond0", "bond0"}, [2]string{"10.0.1.1", "10.0.1.2"}, [2][]int{{0, 1}, {0, 1}}},
		},
		"one": {
			[2]Node{rails("1"), bonded("2")},
			nil,
			want{true, [2]string{"r1", "bond0"}, [2]string{"10.0.1.1", "10.0.1.2"}, [2][]int{{0}, {0, 1}}},
		},
		"twice":   {[2]Node{bonded("1"), bonded("1")}, nil, want{}},
		"nothing": {[2]Node{}, nil, want{}},
	} {
		p, ok := Rig{Nodes: c.nodes[:], Pairs: c.pairs}.Path()
		got := want{ok, [2]string{p.Netdevs[0].Name, p.Netdevs[1].Name}, p.Addrs, p.Rails}
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
