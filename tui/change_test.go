package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// What a change is about is seen first, then its own commands; what is the same before every
// change is folded; and its answers are seen at any size.
func TestTheQuestionBeforeAChange(t *testing.T) {
	tutorial := sampleTutorial()
	own := "set -e\n" + strings.Repeat("ip link set dev $MTU_NETDEVS mtu 9000\n", 30)
	tutorial.Parts[0].Cells[0].Roles[0].Script = own
	rig := sampleRig()
	rig.Nodes[0].Rails = []steps.Rail{{
		Netdev: steps.Netdev{Name: "enp1s0f0np0", MTU: 1500}, Addr: "192.168.100.11",
		Prefix: 24,
	}}
	q := steps.ChangeQuestion{Cell: tutorial.Parts[0].Cells[0].ID, Title: "Jumbo frames", Warnings: []string{"it breaks"}}
	rig.Nodes[1].Netdevs = []steps.Netdev{{Name: "enp1s0f0np0"}} // and no enp9s0
	for node, name := range map[string]string{"spark-02": "enp1s0f0np0", "spark-01": "enp9s0"} {
		q.Places = append(q.Places, steps.ChangePlace{
			Node: node, Set: []string{name}, Script: "A='1'\nMTU_NETDEVS='" + name + "'\n" + own,
			HandOver: "take it\nfrom them\n", Held: []steps.HeldNetdev{{
				Netdev: name, Rail: 1, Manager: steps.Manager{By: "NetworkManager", State: "connected", Profile: "x"},
			}},
		})
	}
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}} {
		s := newScreen(t, tutorial, size[0], size[1])
		s.tell(connected()...)
		s.tell(steps.RigProbed{Rig: rig})
		answer := ""
		s.send(questionMsg{Change: &q, Answer: func(text string, _ bool) { answer = text }})
		s.sees("enp1s0f0np0  MTU 1500  192.168.100.11/24", "NetworkManager", "it breaks", "y make it",
			"n, esc change nothing")
		s.seesNot("take it")
		seen := ""
		for range 60 {
			seen += s.plain()
			s.press("j")
		}
		s.sees("y make it")
		s.sees("Change the network? SIMULATED") // it may hide every other mark
		for _, want := range []string{
			"Rollback:", "enp9s0  not there", "The commands, on each node", "A='1'",
			"MTU_NETDEVS='enp9s0'   # on spark-01", "4 lines release",
		} {
			if !strings.Contains(seen, want) {
				t.Errorf("at %v %q is never seen", size, want)
			}
		}
		s.press("s", "home")
		seen = ""
		for range 20 {
			seen += s.plain()
			s.press("pgdown")
		}
		if !strings.Contains(seen, "take it") || !strings.Contains(seen, "On spark-01") {
			t.Errorf("at %v s does not show what runs before:\n%s", size, seen)
		}
		cmd := s.press("y")
		cmd()
		if answer != "yes" {
			t.Errorf("the answer is %q", answer)
		}
	}
}

// Of more than two nodes it says that all of them are meant.
func TestTheQuestionOfAllNodes(t *testing.T) {
	for nodes, want := range map[int]string{2: "on both nodes or on neither", 3: "on all 3 nodes or on none"} {
		s := newScreen(t, sampleTutorial(), 80, 24)
		q := steps.ChangeQuestion{Title: "Jumbo frames"}
		for i := range nodes {
			q.Places = append(q.Places, steps.ChangePlace{Node: string(rune('a' + i)), Script: "true\n"})
		}
		s.send(questionMsg{Change: &q, Answer: func(string, bool) {}})
		s.sees(want)
		s.press("n")
		q.Keep, q.Deadline = true, s.now.Add(65*time.Second)
		s.send(questionMsg{Change: &q, Answer: func(string, bool) {}})
		s.sees(map[int]string{2: "Both nodes are rolled back", 3: "All 3 nodes are rolled back"}[nodes])
	}
}

// On a screen that is too small to show it no question is answered with yes.
func TestAQuestionThatNobodySees(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 40, 10)
	var answers []string
	q := steps.ChangeQuestion{Title: "Jumbo frames", Places: []steps.ChangePlace{{Node: "a", Script: "true\n"}}}
	s.send(questionMsg{Change: &q, Answer: func(text string, ok bool) { answers = append(answers, text) }})
	s.seesNot("Jumbo frames")
	if cmd := s.press("y"); cmd != nil {
		cmd()
	}
	if len(answers) > 0 {
		t.Errorf("it was answered with %q", answers)
	}
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.sees("Jumbo frames")
	s.press("y")()
	if len(answers) != 1 || answers[0] != "yes" {
		t.Errorf("it was answered with %q", answers)
	}
}

// While the user is asked the cell's time stands.
func TestTheClockStandsWhileAQuestionWaits(t *testing.T) {
	s := start(t, 80, 24)
	q := steps.ChangeQuestion{Cell: "nodes", Title: "Jumbo frames"}
	s.tell(steps.CellStarted{Run: 1, Cell: "nodes", At: s.now})
	began := s.now
	s.now = s.now.Add(2 * time.Second)
	s.send(questionMsg{Change: &q, Answer: func(string, bool) {}})
	s.now = s.now.Add(30 * time.Second)
	if got := s.notebook.Since(began); got != "2.0 s" {
		t.Errorf("while it waits: %s", got)
	}
	s.press("n")
	s.now = s.now.Add(time.Second)
	if got := s.notebook.Since(began); got != "3.0 s" {
		t.Errorf("after the answer: %s", got)
	}
}

// A question's deadline is of the clock of who is asked: a simulated rig's time may be hours
// ahead, and takes none of his.
func TestAQuestionEndsOnThePersonsClock(t *testing.T) {
	s := start(t, 80, 24)
	s.Opts.Clock.Rig = func() time.Time { return s.now.Add(5 * time.Hour) }
	q := steps.ChangeQuestion{Cell: "nodes", Title: "Jumbo frames", Keep: true, Deadline: s.now.Add(65 * time.Second)}
	answered := false
	s.tell(steps.CellStarted{Run: 1, Cell: "nodes", At: s.now})
	s.send(questionMsg{Change: &q, Answer: func(string, bool) { answered = true }})
	s.sees("rolled back automatically in 1:00")
	s.now = s.now.Add(59 * time.Second)
	s.send(s.Spinner.Tick())
	s.sees("in 0:01")
	s.now = s.now.Add(2 * time.Second)
	s.send(s.Spinner.Tick())
	s.seesNot("rolled back automatically")
	if answered {
		t.Error("a question that has lapsed was answered")
	}
}
