package steps

import (
	"slices"
	"strings"
	"testing"
)

// Files are named after ids: what is none must not pass.
func TestIsID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "ib-write-bw": true, "2-rails": true, strings.Repeat("a", maxID): true,
		"": false, "-a": false, "A": false, "a_b": false, "a.b": false, "..": false, "a/b": false,
		"a b": false, "a\n": false, "ä": false, strings.Repeat("a", maxID+1): false,
	} {
		if got := IsID(id); got != want {
			t.Errorf("IsID(%q) = %v", id, got)
		}
	}
}

func TestWhatACellIs(t *testing.T) {
	for _, c := range []struct {
		cell                 Cell
		note, check, changes bool
	}{
		{Cell{}, true, false, false},
		{Cell{Own: "summary"}, false, false, false},
		{Cell{Roles: []Role{{}}}, false, false, false},
		{Cell{Roles: []Role{{}}, Check: Check{Finds: []string{"x"}}}, false, true, false},
		{Cell{Roles: []Role{{}}, Check: Check{Finds: []string{"x"}}}, false, true, false},
		// What explains or measures belongs to a check, and makes none.
		{Cell{Roles: []Role{{}}, Check: Check{Explains: []string{"x"}, Measures: true}}, false, false, false},
		{Cell{Roles: []Role{{}}, Change: Change{Set: []string{"BOND"}}}, false, false, true},
		{Cell{Roles: []Role{{}}, Change: Change{Undoes: "x"}}, false, false, false},
	} {
		x := c.cell
		if x.Note() != c.note || x.Check.Any() != c.check || x.Change.Any() != c.changes {
			t.Errorf("%+v: note %v, check %v, change %v", x, x.Note(), x.Check.Any(), x.Change.Any())
		}
	}
	for w, want := range map[Where][]End{OnHere: {Here}, OnPeer: {Peer}, OnBoth: {Here, Peer}} {
		if got := w.Ends(); !slices.Equal(got, want) {
			t.Errorf("%s is on %v", w, got)
		}
	}
}

func TestTutorialLooksInTheChecklistToo(t *testing.T) {
	p := func(name, value string) Param { return Param{Name: name, Default: value} }
	tut := Tutorial{
		Parts: []Part{
			{
				ID: "a", Params: []Param{p("SIZE", "1"), p("QPS", "2")},
				Cells: []Cell{{ID: "make"}, {ID: "unmake", Change: Change{Undoes: "make"}}},
			},
			{ID: "b", Params: []Param{p("SIZE", "3")}},
		},
		Checklist: []Part{{
			ID: "checks", Params: []Param{p("MTU", "4")},
			Cells: []Cell{{ID: "fix"}, {ID: "unfix", Change: Change{Undoes: "fix"}}},
		}},
	}
	// The first part that declares a parameter has its default.
	var got []string
	for _, x := range tut.Params() {
		got = append(got, x.Name+"="+x.Default)
	}
	if want := []string{"SIZE=1", "QPS=2", "MTU=4"}; !slices.Equal(got, want) {
		t.Errorf("parameters %v, want %v", got, want)
	}
	// Of two that take something back it is unknown which one is meant; one that takes back all is none.
	if c, ok := tut.Undoing(); ok {
		t.Errorf("%q is the one that takes back", c.ID)
	}
	one := Tutorial{Checklist: append(tut.Checklist, Part{Cells: []Cell{{ID: "all", Change: Change{Undoes: Everything}}}})}
	if c, ok := one.Undoing(); !ok || c.ID != "unfix" {
		t.Errorf("%q, %t is the one that takes back, want unfix", c.ID, ok)
	}
	if c, ok := (Tutorial{}).Undoing(); ok {
		t.Errorf("%q takes back what nobody has made", c.ID)
	}
	for part, want := range map[string]int{"a": 2, "b": 0, "checks": 2, "none": 0} {
		if got := len(tut.CellsOf(part)); got != want {
			t.Errorf("part %s has %d cells, want %d", part, got, want)
		}
	}
}

func TestProgressCountsTheWay(t *testing.T) {
	n := fold(CellStarted{Run: 1, Cell: "a"}, CellEnded{Run: 1, Cell: "a", Verdict: Verdict{Grade: Pass}},
		CellStarted{Run: 2, Cell: "b"}, CellEnded{Run: 2, Cell: "b", Verdict: Verdict{Grade: Fail}},
		CellStarted{Run: 3, Cell: "c"})
	role := []Role{{}}
	p := Part{Cells: []Cell{
		{ID: "a", Roles: role},
		{ID: "b", Roles: role},
		{ID: "c", Roles: role},
		{ID: "d", Roles: role},
		{ID: "e", Roles: role, Aside: true},
		{ID: "note"},
	}}
	if ran, all := n.Progress(p); ran != 2 || all != 4 {
		t.Errorf("%d of %d ran", ran, all)
	}
	p.Cells = p.Cells[4:]
	if ran, all := n.Progress(p); ran != 0 || all != 1 {
		t.Errorf("where all stand aside, %d of %d ran", ran, all)
	}
}

// A number of a node comes from a journal, which a user may have written.
func TestConnections(t *testing.T) {
	up := Connection{State: 1, Why: "x"}
	for _, node := range []int{-1, MostNodes, 1 << 30} {
		n := fold(NodeChanged{Node: node, State: up.State, Why: up.Why})
		if len(n.Connections) != 0 || n.Connection(node) != (Connection{}) {
			t.Errorf("node %d is taken: %v", node, n.Connections)
		}
	}
	before := fold(NodeChanged{Node: 2, State: up.State, Why: up.Why})
	after := before.Apply(NodeChanged{Node: 2})
	if before.Connection(2) != up || before.Connection(1) != (Connection{}) || after.Connection(2) != (Connection{}) {
		t.Errorf("%v, then %v", before.Connections, after.Connections)
	}
}

// What stands aside is run by its name alone.
func TestAside(t *testing.T) {
	tut := Tutorial{Parts: []Part{{ID: "p", Cells: []Cell{{ID: "a"}, {ID: "b", Aside: true}, {ID: "c"}}}}}
	var got []string
	for _, c := range tut.Main() {
		got = append(got, c.ID)
	}
	if !slices.Equal(got, []string{"a", "c"}) || len(tut.Cells()) != 3 {
		t.Errorf("all runs %v, of %d", got, len(tut.Cells()))
	}
	if cells, err := tut.Select("b"); err != nil || len(cells) != 1 {
		t.Errorf("%v, %v", cells, err)
	}
}
