package steps

import (
	"slices"
	"strings"
	"testing"
)

func checklist() Tutorial {
	check := func(id string, c Check) Cell {
		c.Finds = append(c.Finds, "fault-of-"+id)
		return Cell{ID: id, Check: c}
	}
	sayings := NewSayings([]Saying{
		{"", []string{"TCP near zero", "Cwnd * 1.41 KBytes"}, []string{"mtu-equal"}},
		{"", []string{"Rank * >= global size"}, []string{"ranks"}},
		{"", []string{"Rank 1", "Address already in use"}, []string{"ports"}},
		{"Both of them together", nil, []string{"speed", "ranks"}},
	})
	return Tutorial{
		Sayings: func() *Sayings { return sayings },
		Parts:   []Part{{ID: "part", Cells: []Cell{{ID: "tcp-single"}, {ID: "gids"}}}},
		Checklist: []Part{
			{ID: "first", Cells: []Cell{
				check("speed", Check{Measures: true, Explains: []string{"gids"}}),
				check("mtu-equal", Check{Explains: []string{"tcp-*", "mtu-differs"}}),
			}},
			{ID: "second", Cells: []Cell{
				check("ranks", Check{}),
				check("ports", Check{Explains: []string{"gids"}}),
				{ID: "fix-ports"},
			}},
		},
	}
}

func ids(cells []Cell) string {
	var all []string
	for _, c := range cells {
		all = append(all, c.ID)
	}
	return strings.Join(all, " ")
}

func TestChecks(t *testing.T) {
	list := checklist()
	if got := ids(list.Checks()); got != "mtu-equal ranks ports speed" {
		t.Errorf("checks: %s: those that measure come last", got)
	}
	if got := ids(list.Fixes()); got != "fix-ports" {
		t.Errorf("fixes: %s", got)
	}
	if got := ids(list.Cells()); got != "tcp-single gids" {
		t.Errorf("the tutorial's cells: %s", got)
	}
	if _, ok := list.Cell("ports"); !ok {
		t.Error("a check is not found by its id")
	}
	if found, err := list.Select("second", "gids"); err != nil || ids(found) != "gids ranks ports fix-ports" {
		t.Errorf("selected %s, %v", ids(found), err)
	}
}

func TestSymptom(t *testing.T) {
	for text, want := range map[string]string{
		"E0312 worker.cpp:210] Rank 2 >= global size 2":     "ranks",
		"rank 1 >= GLOBAL size 1":                           "ranks ports", // the longer phrase first
		"[  5]  0.00-1.00 sec  1 MBytes  Cwnd  1.41 KBytes": "mtu-equal",
		"near zero":                      "mtu-equal", // a part of a phrase
		"bind: Address  already\nin use": "ports",
		"":                               "",
		"zero":                           "", // too short to mean it
		"something else":                 "",
		"global size >= Rank":            "ranks",       // the parts in another order
		"both are together":              "speed ranks", // the likeliest check of a saying first
	} {
		if got := ids(checklist().Symptom(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestExplaining(t *testing.T) {
	list := checklist()
	for _, c := range []struct {
		cell    string
		code    Code
		printed string
		want    string
	}{
		{"tcp-parallel", "", "", "mtu-equal"},
		{"gids", "", "Rank 0 >= global size 0", "ranks ports speed"}, // what the words lead to comes first
		{"gids", MTUDiffers, "Rank 0 >= global size 0", "mtu-equal ranks ports speed"},
		{"other", PortTaken, "no words", ""},
	} {
		if got := ids(list.Explaining(c.cell, Verdict{Code: c.code}, c.printed)); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.code, c.cell, got, c.want)
		}
	}
}

// Checks run side by side: the one that began first stands for all of them.
func TestRunningTogether(t *testing.T) {
	n := NewNotebook(checklist())
	for i, id := range []string{"ranks", "ports"} {
		n = n.Apply(CellStarted{Run: RunID(i + 1), Cell: id})
	}
	if n.Running != "ranks" {
		t.Errorf("%q runs", n.Running)
	}
	n = n.Apply(CellEnded{Run: 1, Cell: "ranks"})
	if n.Running != "ports" || n.Cells["ranks"].Running {
		t.Errorf("%q runs after ranks has ended", n.Running)
	}
	if n = n.Apply(CellEnded{Run: 2, Cell: "ports"}); n.Running != "" {
		t.Errorf("%q runs at the end", n.Running)
	}
}

func TestLike(t *testing.T) {
	for _, x := range []struct {
		name, pattern string
		want          bool
	}{
		{"tcp-single", "tcp-*", true},
		{"tcp-", "tcp-*", true},
		{"tc", "tcp-*", false},
		{"gids", "gids", true},
		{"gids2", "gids", false},
		{"ib-write-bw", "*-bw", true},
		{"aa", "a*aa", false},
	} {
		if like(x.name, x.pattern) != x.want {
			t.Errorf("like(%q, %q) is %v", x.name, x.pattern, !x.want)
		}
	}
}

// A sentence reports a phrase by its words in any order, and neither what it denies nor words that are far apart.
func TestTold(t *testing.T) {
	t.Parallel()
	all := slices.Repeat([]Saying{{"something else", nil, nil}}, 50) // words that few have weigh more
	copy(all, []Saying{
		{"RDMA hangs with large messages", nil, nil},
		{"the second port has no address", nil, nil},
		{"bandwidth is low over the bond", nil, nil},
	})
	s := NewSayings(all)
	for text, want := range map[string][]int{
		"We see that for huge messages RoCE freezes now and then":       {0},
		"RDMA does not hang with large messages":                        nil,
		"RDMA hangs, and then we wrote many other lines about messages": nil,
		"our second port on each node has no address":                   {1},
		"our second port on each node has an address":                   nil,
		"our bond reaches only 20 Gb/s":                                 {2},
		"our bond reaches 20 Gb/s":                                      nil,
	} {
		var got []int
		for _, m := range s.Told(text, "") {
			got = append(got, m.Saying)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q tells %v, not %v", text, got, want)
		}
	}
	for context, want := range map[string]int{"We have a bond.": 1, "We have a switch.": 0, "The rate is low.": 0} {
		if got := s.Told("The test shows only 20 Gb/s.", context); len(got) != want {
			t.Errorf("after %q it tells %v", context, got)
		}
	}
}
