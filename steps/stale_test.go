package steps

import (
	"strings"
	"testing"
	"time"
)

// looked is a rig of one rail on each node, as it was looked at.
func looked(change func(*Rail)) Rig {
	r := NewRig("lab", false, 2)
	r.Probed = time.Unix(1, 0)
	for _, e := range Ends {
		rail := Rail{
			Dev: "rocep1s0f0", Port: 1, State: "ACTIVE", Addr: "192.168.100.1",
			GIDIndex: 3, Netdev: Netdev{Name: "enp1s0f0np0", MTU: 1500}, PCI: PCI{Width: 4},
		}
		if change != nil && e == Peer {
			change(&rail)
		}
		r.Nodes[e] = Node{No: int(e), Name: []string{"spark-02", "spark-01"}[e], Rails: []Rail{rail}}
	}
	return r
}

// ran is a notebook in which the cell has run.
func ran() Notebook {
	c := Cell{ID: "bw", Roles: []Role{{Script: "ib_write_bw -s $SIZE\n"}}}
	n := NewNotebook(Tutorial{Parts: []Part{{ID: "p", Cells: []Cell{c}}}})
	for _, e := range []Event{
		RigProbed{Rig: looked(nil)},
		CellStarted{Run: 1, Cell: "bw", Scripts: c.scripts()},
		CellEnded{Run: 1, Cell: "bw", Verdict: Verdict{Grade: Pass}},
	} {
		n = n.Apply(e)
	}
	return n
}

func TestStale(t *testing.T) {
	for name, c := range map[string]struct {
		event Event
		want  string // empty for none
	}{
		"nothing":       {CellQueued{Cell: "other"}, ""},
		"the same look": {RigProbed{Rig: looked(nil)}, ""},
		"the MTU": {
			RigProbed{Rig: looked(func(r *Rail) { r.Netdev.MTU = 9000 })},
			"the MTU of enp1s0f0np0 on spark-01 is 9000 now, and was 1500",
		},
		"the GID": {
			RigProbed{Rig: looked(func(r *Rail) { r.GIDIndex = 5 })},
			"the GID index of enp1s0f0np0 on spark-01 is 5 now, and was 3",
		},
		"a link down": {
			RigProbed{Rig: looked(func(r *Rail) { r.State = "DOWN" })},
			"the state of enp1s0f0np0 on spark-01 is DOWN now, and was ACTIVE",
		},
		"no address": {
			RigProbed{Rig: looked(func(r *Rail) { r.Addr, r.GIDIndex = "", -1 })},
			"is none now, and was 192.168.100.1",
		},
		"a bond": {RigProbed{Rig: looked(func(r *Rail) {
			r.Netdev.Master, r.Addr,
				r.GIDIndex = "bond0", "", -1
		})}, "enp1s0f0np0 on spark-01 is in bond0 now"},
		"another device": {
			RigProbed{Rig: looked(func(r *Rail) { r.Dev = "mlx5_0" })},
			"mlx5_0 on spark-01 is new; rocep1s0f0 on spark-01 is gone",
		},
		"a script": {
			PartChanged{
				Part:  "p",
				Cells: []Cell{{ID: "bw", Roles: []Role{{Script: "ib_write_bw -s 1\n"}}}},
			},
			"its script was changed after it ran",
		},
		"another part": {PartChanged{Part: "q"}, ""},
		"a parameter": {
			ParamsSet{Params: Settings{All: map[string]string{"SIZE": "4096"}}},
			"SIZE is 4096 now, and was the default",
		},
		"its own parameter": {
			ParamsSet{Params: Settings{}.With("bw", "SIZE", "1")},
			"SIZE is 1 now, and was the default",
		},
		"a parameter of others": {ParamsSet{Params: Settings{All: map[string]string{"BOND": "bond1"}}}, ""},
		"a part of its name":    {ParamsSet{Params: Settings{}.With("", "SIZ", "1")}, ""},
		"it is cleared":         {CellCleared{Cell: "bw"}, ""},
		"it runs again":         {CellStarted{Run: 2, Cell: "bw"}, ""},
	} {
		got := ran().Apply(c.event).Stale("bw")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := ran().Stale("no such cell"); got != "" {
		t.Errorf("a cell that is not there: %q", got)
	}
	// What a change has made is not held against it: the look after it counts.
	n := ran().Apply(CellStarted{Run: 2, Cell: "bw", Scripts: []string{"ib_write_bw -s $SIZE\n"}})
	n = n.Apply(RigProbed{Rig: looked(func(r *Rail) { r.Netdev.MTU = 9000 })}).Apply(CellEnded{
		Run:  2,
		Cell: "bw", Verdict: Verdict{Grade: Pass},
	})
	if got := n.Stale("bw"); got != "" {
		t.Errorf("after its own change: %q", got)
	}
}

// What a cell of the tutorial changes later misleads no one, but what others do after it.
func TestWhatTheTutorialChangesMakesNobodyStale(t *testing.T) {
	mtu := func(to int) Event { return RigProbed{Rig: looked(func(r *Rail) { r.Netdev.MTU = to })} }
	n := ran()
	n = n.Apply(PartChanged{Part: "p", Cells: append(n.Tutorial.Parts[0].Cells,
		Cell{ID: "mtu", Roles: []Role{{}}, Change: Change{Set: []string{"MTU_NETDEVS"}}})})
	changed := func(n Notebook, g Grade) Notebook {
		return n.Apply(CellStarted{Run: 2, Cell: "mtu"}).Apply(mtu(9000)).
			Apply(CellEnded{Run: 2, Cell: "mtu", Verdict: Verdict{Grade: g}})
	}
	if got := changed(n, Pass).Stale("bw"); got != "" {
		t.Errorf("after a change on purpose: %q", got)
	}
	if got := changed(n, Fail).Stale("bw"); !strings.Contains(got, "9000") {
		t.Errorf("after a change that failed and left its MTU: %q", got)
	}
	if got := changed(n, Pass).Apply(mtu(4200)).Stale("bw"); !strings.Contains(got, "is 4200 now, and was 9000") {
		t.Errorf("after somebody else's change: %q", got)
	}
	narrow := looked(func(r *Rail) { r.Netdev.MTU, r.PCI.Width = 9000, 2 })
	if got := changed(n, Pass).Apply(RigProbed{Rig: narrow}).Stale("bw"); !strings.Contains(got, "the PCIe width") {
		t.Errorf("after the slot has become narrower: %q", got)
	}
}
