package steps

import "testing"

// A rig of two nodes with rails as they are given: the slot of each, and its connector.
func twoNodes(rails ...Rail) Rig {
	r := NewRig("r", false, 2)
	for e := range Ends {
		r.Nodes[e].Rails = rails
	}
	for i := range rails {
		r.Pairs = append(r.Pairs, Pair{Rails: [2]int{i, i}})
	}
	return r
}

func at(slot string, connector int) Rail { return Rail{PCI: PCI{Addr: slot}, PhysPort: connector} }

// Only a rail behind another PCIe link adds bandwidth, and of two such the one on the same
// connector is meant: one cable carries both halves.
func TestHalves(t *testing.T) {
	const a, b, c = "0000:01:00.0", "0002:01:00.0", "0004:01:00.0"
	for _, x := range []struct {
		name   string
		rails  []Rail
		across int // the pair; -1 for none
		shares bool
	}{
		{"one rail", []Rail{at(a, 0)}, -1, true},
		{"two functions of one slot", []Rail{at(a, 0), at("0000:01:00.1", 1)}, -1, true},
		{"two slots", []Rail{at(a, 0), at(b, 1)}, 1, false},
		{"the same connector wins", []Rail{at(a, 0), at(c, 1), at(b, 0)}, 2, false},
		{"the first where no connector is the same", []Rail{at(a, 0), at(b, 1), at(c, 2)}, 1, false},
		{"connectors that nobody knows", []Rail{at(a, -1), at(b, -1), at(c, -1)}, 1, false},
		{"slots that nobody knows", []Rail{at("", 0), at("", 0)}, -1, false},
		{"one that nobody knows", []Rail{at(a, 0), at("", 0)}, -1, false},
	} {
		r := twoNodes(x.rails...)
		p, ok := r.AcrossHalves()
		if ok != (x.across >= 0) || ok && p != r.Pairs[x.across] {
			t.Errorf("%s: across halves is %v, %v", x.name, p, ok)
		}
		if got := r.SharesHalf(r.Pairs[0], r.Pairs[min(1, len(r.Pairs)-1)]); got != x.shares {
			t.Errorf("%s: shares a half: %v", x.name, got)
		}
	}
	if _, ok := (Rig{}).AcrossHalves(); ok {
		t.Error("a rig without pairs has one across halves")
	}
}

func TestNameOf(t *testing.T) {
	for _, c := range []struct {
		nodes [2]Node
		want  [2]string
	}{
		{[2]Node{{Name: "spark-01"}, {Name: "spark-02"}}, [2]string{"spark-01", "spark-02"}},
		// Two forwarded ports of one address.
		{[2]Node{{Name: "host", Host: "a"}, {Name: "host", Host: "b"}}, [2]string{"a", "b"}},
		{[2]Node{{Name: "host", Host: "vm"}, {Name: "host", Host: "vm"}}, [2]string{"here", "peer"}},
		{[2]Node{{}, {Name: "spark-02"}}, [2]string{"here", "spark-02"}},
	} {
		r := Rig{Nodes: c.nodes[:]}
		for _, e := range Ends {
			if got := r.NameOf(e); got != c.want[e] {
				t.Errorf("%+v: %s is %q, want %q", c.nodes, e, got, c.want[e])
			}
		}
	}
}

// A saved result may point anywhere.
func TestHasPairAndInUse(t *testing.T) {
	r := twoNodes(at("0000:01:00.0", 0), Rail{Addr: "192.168.1.1"}, Rail{})
	r.Pairs = []Pair{{Rails: [2]int{0, 0}}, {Rails: [2]int{0, 3}}, {Rails: [2]int{-1, 0}}}
	for i, want := range map[int]bool{-1: false, 0: true, 1: false, 2: false, 3: false} {
		if got := r.HasPair(i); got != want {
			t.Errorf("pair %d: %v", i, got)
		}
	}
	for rail, want := range []bool{true, true, false} {
		if got := r.InUse(Here, rail); got != want {
			t.Errorf("rail %d in use: %v", rail, got)
		}
	}
	if Here.Other() != Peer || Peer.Other() != Here {
		t.Error("an end is not opposite to the other")
	}
}
