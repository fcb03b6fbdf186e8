package probe

import (
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Which interface is a port's: the sure ways first, and none rather than a wrong one.
func TestNetdevOf(t *testing.T) {
	const dev = "mlx5_0"
	gid := func(netdev string) []steps.GID { return []steps.GID{{}, {Netdev: netdev}} }
	for _, c := range []struct {
		name  string
		own   []string // of its PCI function
		files files
		gids  []steps.GID
		port  int
		want  string
	}{
		{"soft-RoCE stands on it", nil, files{"infiniband/mlx5_0/parent": "eth0"}, gid("eth9"), 1, "eth0"},
		{"the only one", []string{"eth0"}, nil, gid("bond0"), 1, "eth0"},
		{"the GIDs name one of two", []string{"eth0", "eth1"}, nil, gid("eth1"), 1, "eth1"},
		{
			"a bond has taken the GIDs",
			[]string{"eth0", "eth1"},
			files{"net/eth0/dev_port": "0", "net/eth1/dev_port": "1"},
			gid("bond0"), 2, "eth1",
		},
		{"the GIDs alone", nil, nil, gid("eth3"), 1, "eth3"},
		{"nothing", nil, nil, nil, 1, ""},
		{"two, and nothing tells", []string{"eth0", "eth1"}, nil, nil, 5, ""},
	} {
		p := links{net: map[string][]string{dev: c.own}}
		if got := netdevOf(dev, c.port, c.files, p, c.gids); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An index of the wrong address, version or interface sends over another network.
func TestGIDIndex(t *testing.T) {
	r := steps.Rail{
		Addr: "192.168.1.10", Netdev: steps.Netdev{Name: "eth0"},
		GIDs: []steps.GID{
			{Index: 0, Type: "IB/RoCE v1", IPv4: "192.168.1.10", Netdev: "eth0"},
			{Index: 1, Type: "RoCE v2", IPv4: "192.168.1.11", Netdev: "eth0"},
			{Index: 2, Type: "RoCE v2", IPv4: "192.168.1.10", Netdev: "eth1"},
			{Index: 3, Type: "RoCE v2", IPv4: "192.168.1.10", Netdev: "eth0"},
			{Index: 5, Type: "RoCE v2", IPv4: "192.168.1.10"},
		},
	}
	if got := gidIndex(r); got != 3 {
		t.Errorf("index %d, want 3", got)
	}
	r.GIDs = r.GIDs[4:] // a kernel that names no interface
	if got := gidIndex(r); got != 5 {
		t.Errorf("index %d, want 5", got)
	}
	r.Addr = ""
	r.GIDs[0].IPv4 = "" // no address is not the address of a GID without one
	if got := gidIndex(r); got != -1 {
		t.Errorf("index %d of a rail without an address", got)
	}
	ib := steps.Rail{
		Layer: "InfiniBand",
		GIDs:  []steps.GID{{Index: 1, Type: "RoCE v2"}, {Index: 0, Type: "IB/RoCE v1", GID: "fe80::1"}},
	}
	if got := gidIndex(ib); got != 0 {
		t.Errorf("index %d of an InfiniBand port, want its own", got)
	}
	ib.GIDs = ib.GIDs[:1]
	if got := gidIndex(ib); got != -1 {
		t.Errorf("index %d of an InfiniBand port without its own", got)
	}
}

func TestMTUs(t *testing.T) {
	hcas := []parse.HCA{{ID: "mlx5_0", Ports: []parse.HCAPort{{Port: 2, ActiveMTU: 1024, MaxMTU: 4096}, {Port: 1}}}}
	for _, c := range []struct {
		dev, layer   string
		port, netMTU int
		active, most int
		derived      bool
	}{
		{"mlx5_0", "Ethernet", 2, 9000, 1024, 4096, false},
		{"mlx5_0", "Ethernet", 1, 9000, 4096, 0, true},
		{"mlx5_1", "Ethernet", 2, 1500, 1024, 0, true},
		{"mlx5_1", "Ethernet", 2, 0, 0, 0, false},
		{"mlx5_1", "InfiniBand", 2, 2044, 0, 0, false}, // IPoIB's MTU says nothing of the port's
	} {
		r := steps.Rail{Dev: c.dev, Port: c.port, Layer: c.layer, Netdev: steps.Netdev{MTU: c.netMTU}}
		active, most, derived := mtus(r, hcas)
		if active != c.active || most != c.most || derived != c.derived {
			t.Errorf("%+v: %d, %d, %v", c, active, most, derived)
		}
	}
}

// Eight adapters of one port each count their connectors from 0: no cable is all of theirs. Two
// that share one are a Spark's halves.
func TestOwnConnectors(t *testing.T) {
	for _, c := range []struct{ has, want []int }{
		{[]int{0, 1, 0, 1}, []int{0, 1, 0, 1}},
		{[]int{0, 0, 0, 0, 0, 0, 0, 0}, []int{-1, -1, -1, -1, -1, -1, -1, -1}},
		{[]int{0, 0, 0, 1}, []int{-1, -1, -1, 1}},
	} {
		var rs []steps.Rail
		for _, n := range c.has {
			rs = append(rs, steps.Rail{PhysPort: n})
		}
		var got []int
		for _, r := range ownConnectors(rs) {
			got = append(got, r.PhysPort)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.has, got, c.want)
		}
	}
}
