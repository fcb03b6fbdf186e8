package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// trio is a screen on a rig of three nodes, with a cell over a link and one on every node.
func trio(t *testing.T) *driven {
	t.Helper()
	s := newScreen(t, steps.Tutorial{
		Parts: []steps.Part{{
			ID: "p", Title: "Part",
			Cells: []steps.Cell{{
				ID: "all", Part: "p", Title: "Collective", With: []string{steps.LaunchService},
				Roles: []steps.Role{{On: steps.OnHere, Script: "true"}},
			}, {
				ID: "bw", Part: "p", Title: "Bandwidth",
				Roles: []steps.Role{{On: steps.OnHere, Script: "true"}},
			}},
		}},
		Checklist: []steps.Part{{
			ID: "c",
			Cells: []steps.Cell{{
				ID: "look", Title: "Look", Check: steps.Check{Finds: []string{"x"}},
				Roles: []steps.Role{{On: steps.OnBoth, Script: "true"}},
			}},
		}},
	}, 120, 40)
	rig := steps.NewRig("trio", false, 3)
	for i, name := range []string{"spark-01", "spark-02", "spark-03"} {
		rig.Nodes[i].Name = name
	}
	s.tell(steps.NodeChanged{Node: 0, State: 1}, steps.NodeChanged{Node: 1, State: 1},
		steps.NodeChanged{Node: 2, State: 1}, steps.RigProbed{Rig: rig})
	return s
}

func TestAllNodesAreInTheHeader(t *testing.T) {
	s := trio(t)
	head, _, _ := strings.Cut(ansi.Strip(s.view()), "\n")
	for _, name := range []string{"spark-01 ⇄ spark-02", "spark-03"} {
		if !strings.Contains(head, name) {
			t.Errorf("%q has no %q", head, name)
		}
	}
	// Where there is no room for a node's name, the header still shows whether the node answers.
	s.tell(steps.NodeChanged{Node: 2, State: 2, Why: "gone", Cause: "gone"})
	for width := 40; width < 160; width++ {
		s.Width = width
		if head := ansi.Strip(s.Header(s.title())); ansi.StringWidth(head) > width {
			t.Errorf("the header is %d columns of %d: %q", ansi.StringWidth(head), width, head)
		}
	}
	if !strings.Contains(ansi.Strip(s.view()), "spark-03 disconnected") {
		t.Error("nothing says that the third node is gone")
	}
}

// The first screen speaks of as many nodes as there are, and follows the link.
func TestTheFirstScreenCountsTheNodes(t *testing.T) {
	// sees is of the text, wherever its lines end.
	sees := func(s *driven, want string) {
		t.Helper()
		view := strings.Join(strings.Fields(strings.ReplaceAll(ansi.Strip(s.view()), "▏", "")), " ")
		if !strings.Contains(view, want) {
			t.Errorf("the first screen lacks %q:\n%s", want, view)
		}
	}
	s := trio(t)
	s.Opts.Rig.Simulated = true
	sees(s, "three pretend nodes")
	sees(s, "now spark-01 ⇄ spark-02: L chooses")
	rig := steps.NewRig("four", false, 4)
	for i, name := range []string{"spark-03", "spark-01", "spark-02", "spark-04"} {
		rig.Nodes[i].Name = name
	}
	s.tell(steps.RigProbed{Rig: rig})
	sees(s, "four pretend nodes")
	sees(s, "now spark-03 ⇄ spark-01: L chooses")
	two := newScreen(t, sampleTutorial(), 120, 40)
	two.Opts.Rig.Simulated = true
	sees(two, "two pretend nodes")
	two.seesNot("L chooses")
}

// The link under test is asked for once, before the first cell that runs over it; a check
// asks for none, and neither does what runs on every node.
func TestTheLinkIsAskedFor(t *testing.T) {
	s := trio(t)
	s.press("j", "enter")
	if calls := s.fake.took(); calls != nil {
		t.Errorf("ran before a link was chosen: %q", calls)
	}
	if got := ansi.Strip(s.view()); !strings.Contains(got, "spark-02 ⇄ spark-03") ||
		!strings.Contains(got, "spark-03 ⇄ spark-01") {
		t.Fatalf("the links are not offered:\n%s", got)
	}
	s.press("0", "3", " ", "-", "0", "1")
	s.press("down", "enter")
	if calls := s.fake.took(); !slices.Equal(calls, []string{"link 2:0", "run bw"}) {
		t.Errorf("%q", calls)
	}
	s.press("enter")
	if calls := s.fake.took(); !slices.Equal(calls, []string{"run bw"}) {
		t.Errorf("asked again: %q", calls)
	}
	again := trio(t)
	again.press("C", "enter")
	if calls := again.fake.took(); !slices.Equal(calls, []string{"run look"}) {
		t.Errorf("a check asked for a link: %q", calls)
	}
	everywhere := trio(t)
	everywhere.press("enter")
	if calls := everywhere.fake.took(); !slices.Equal(calls, []string{"run all"}) {
		t.Errorf("a cell of every node asked for a link: %q", calls)
	}
	// The link that is under test now stands first.
	now := trio(t)
	now.press("j", "enter", "enter")
	if calls := now.fake.took(); !slices.Equal(calls, []string{"link 0:1", "run bw"}) {
		t.Errorf("%q", calls)
	}
	declined := trio(t)
	declined.press("j", "enter", "esc")
	if calls := declined.fake.took(); calls != nil || declined.Layers.Has(screen.Palette) {
		t.Errorf("%q", calls)
	}
}

// A result is shown with the nodes that it was measured on, whatever link is chosen later.
func TestResultsKeepTheirNodes(t *testing.T) {
	s := trio(t)
	c := "bw"
	rig := s.Book.Rig
	rig.Probed = s.now
	s.tell(steps.RigProbed{Rig: rig}, steps.CellStarted{Run: 1, Cell: c},
		steps.CellEnded{Run: 1, Cell: c, Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}})
	s.tell(steps.RigProbed{Rig: rig.Over(steps.Link{Here: 2, Peer: 1})})
	if got := s.RanOn(s.Book.Cells[c]); got[0] != "spark-01" {
		t.Errorf("the result is told of %q", got)
	}
	if got := s.Names(); got[0] != "spark-03" || s.NodeName(0) != "spark-01" {
		t.Errorf("the next run is on %q", got)
	}
}

// Two nodes look as they always did: no key, no chooser, no third name.
func TestTwoNodesHaveOneLink(t *testing.T) {
	s := newScreen(t,
		steps.Tutorial{Parts: []steps.Part{{
			ID: "p", Title: "Part",
			Cells: []steps.Cell{{ID: "bw", Part: "p", Title: "Bandwidth", Roles: []steps.Role{{Script: "true"}}}},
		}}}, 120,
		40)
	s.tell(connected()...)
	s.press("L")
	if s.Layers.Has(screen.Palette) || s.Linkable() || s.links.Choices() != nil {
		t.Error("there is a link to choose on a rig of two nodes")
	}
	s.press("j", "enter")
	if calls := s.fake.took(); !slices.Equal(calls, []string{"run bw"}) {
		t.Errorf("%q", calls)
	}
}

// Alerts of many nodes have room for a few: the worst are shown, the others are counted.
func TestAlertsOfManyNodes(t *testing.T) {
	for _, nodes := range []int{2, 6, 7, 8, 64} {
		s := newScreen(t, sampleTutorial(), 110, 36)
		s.tell(steps.RigProbed{Rig: steps.NewRig("many", false, nodes)})
		for no := range nodes {
			e := steps.NodeChanged{Node: no, Cause: "no answer"} // connecting
			if no == nodes-1 {
				e.State = 2 // disconnected
			}
			s.tell(e)
		}
		lines := s.AlertLines()
		all := ansi.Strip(strings.Join(lines, "\n"))
		if len(lines) > screen.AlertsHeight || len(lines) == 0 {
			t.Errorf("%d nodes: %d lines of alerts", nodes, len(lines))
		}
		if !strings.Contains(all, "disconnected") {
			t.Errorf("%d nodes: that one is disconnected is not among\n%s", nodes, all)
		}
		if nodes > screen.AlertsHeight && !strings.Contains(all, fmt.Sprintf("%d more", nodes-screen.AlertsHeight+1)) {
			t.Errorf("%d nodes: the others are not counted:\n%s", nodes, all)
		}
		s.View()
	}
}

// Of a thousand nodes the header counts the dots, connecting ones are one line, a link is found by words of its ends,
// and no list has a million lines.
func TestAThousandNodes(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 80, 24)
	rig := steps.NewRig("racks", false, steps.MostNodes)
	for i := range rig.Nodes {
		rig.Nodes[i].Name = fmt.Sprintf("n%04d", i)
		rig.Nodes[i].Rails = []steps.Rail{{Dev: "mlx5_0", Port: 1, Addr: fmt.Sprintf("10.1.%d.%d", i>>8, i&255), Prefix: 16}}
	}
	var states []steps.Event
	for i := range rig.Nodes {
		states = append(states, steps.NodeChanged{Node: i, State: 1})
	}
	states[7], states[9] = steps.NodeChanged{Node: 7, State: 2, Why: "gone", Cause: "gone"}, steps.NodeChanged{Node: 9}
	s.tell(append(states, steps.RigProbed{Rig: rig})...)
	head, _, _ := strings.Cut(ansi.Strip(s.view()), "\n")
	for _, want := range []string{"n0000 ⇄ n0001", "✗ 1 ", "◌ 1 ", "● 1,020"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q has no %q", head, want)
		}
	}
	if !strings.Contains(ansi.Strip(s.view()), "n0007 disconnected: gone") {
		t.Errorf("nothing says which is gone:\n%s", ansi.Strip(s.view()))
	}
	s.press("L")
	if n := len(s.links.Choices()); n != 2*steps.MostNodes {
		t.Errorf("%d links are offered before a word is typed", n)
	}
	for _, key := range "0900 0007" {
		s.press(string(key))
	}
	var found []string
	for _, c := range s.palette.Chosen() {
		found = append(found, c.Name)
	}
	if want := []string{"n0007 ⇄ n0900", "n0900 ⇄ n0007"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	for range "0007" {
		s.press("backspace")
	}
	if n := len(s.palette.Chosen()); n != 2*(steps.MostNodes-1) {
		t.Errorf("of one node there are %d links", n)
	}
	s.press("esc")
	early := newScreen(t, sampleTutorial(), 80, 24)
	rig.Probed = s.now
	early.tell(states[0], states[1], steps.RigProbed{Rig: rig})
	view := ansi.Strip(early.view())
	if !strings.Contains(view, "connecting to 1,022 more nodes") || strings.Contains(view, "n0003") {
		t.Errorf("those that connect are not one line:\n%s", view)
	}
}
