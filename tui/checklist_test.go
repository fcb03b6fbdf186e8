package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/checklist"
	"github.com/railbench/railbench/tui/screen"
)

// withChecklist is the sample tutorial with four checks, one of which measures, and
// a fix.
func withChecklist() steps.Tutorial {
	t := sampleTutorial()
	sayings := steps.NewSayings([]steps.Saying{
		{Title: "The MTUs differ", Phrases: []string{"TCP near zero"}, Checks: []string{"mtu-equal"}},
		{Title: "The GID index is wrong", Phrases: []string{"Failed to modify QP"}, Checks: []string{"gid-index"}},
		{Title: "Memory is locked", Phrases: []string{"Cannot allocate memory"}, Checks: []string{"memlock"}},
	})
	t.Sayings = func() *steps.Sayings { return sayings }
	check := func(part, id, title string, c steps.Check) steps.Cell {
		c.Finds = append(c.Finds, "fault-of-"+id)
		return steps.Cell{
			ID: id, Part: part, Title: title, Prose: "Why " + title + " matters.",
			Check: c, Roles: []steps.Role{{On: steps.OnBoth, Script: "look at " + id + "\n"}},
		}
	}
	t.Checklist = []steps.Part{
		{ID: "check-network", Title: "Network", Cells: []steps.Cell{
			check("check-network", "rail-speed", "Speed of each rail", steps.Check{Measures: true}),
			check("check-network", "mtu-equal", "MTU on both ends",
				steps.Check{Explains: []string{"ib-*"}, Fix: "fix-mtu"}),
			check("check-network", "gid-index", "GID indexes", steps.Check{Explains: []string{"gid-index-wrong"}}),
		}},
		{
			ID: "check-software", Title: "Software",
			Cells: []steps.Cell{check("check-software", "memlock", "Locked memory", steps.Check{})},
		},
		{
			ID: "fixes", Title: "Fixes",
			Cells: []steps.Cell{{
				ID: "fix-mtu", Part: "fixes", Title: "Set the MTU", Asks: true,
				Roles: []steps.Role{{On: steps.OnBoth, Script: "ip link set\n"}},
			}},
		},
	}
	return t
}

func queued(ids ...string) (events []steps.Event) {
	for _, id := range ids {
		events = append(events, steps.CellQueued{Cell: id})
	}
	return events
}

// ends informs a run of a cell from its start to its verdict.
func (s *driven) ends(run steps.RunID, id string, v steps.Verdict) {
	s.t.Helper()
	s.tell(steps.CellStarted{Run: run, Cell: id, At: s.now}, steps.CellEnded{Run: run, Cell: id, At: s.now, Verdict: v})
}

func TestChecklist(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.press("C")
	s.sees("Checklist", "4 not run", "Network", "MTU on both ends",
		"Software", "Locked memory", "Why MTU on both ends matters.")
	s.seesNot("Set-up", "Set the MTU")
	s.press("A")
	s.asked("run mtu-equal gid-index memlock rail-speed")
	s.tell(queued("mtu-equal", "gid-index", "memlock")...)
	s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Pass, Reason: "All as it should be."})
	s.tell(steps.CellStarted{Run: 2, Cell: "gid-index", At: s.now},
		steps.CellStarted{Run: 3, Cell: "memlock", At: s.now})
	s.sees("2 running", "1 PASS")
	s.tell(steps.CellEnded{
		Run: 3, Cell: "memlock",
		Verdict: steps.Verdict{Grade: steps.Fail, Reason: "Only 8 MiB can be locked on spark-01."},
	})
	s.tell(steps.CellEnded{Run: 2, Cell: "gid-index", Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}})
	if c, _ := s.list.Check(); c.ID != "memlock" {
		t.Errorf("%s is selected after the survey, want the worst finding", c.ID)
	}
	s.sees("1 FAIL", "2 PASS", "1 not run", "Only 8 MiB can be locked on spark-01.", "Why Locked memory matters.")
	s.press("f")
	s.sees("no command fixes this")
	s.press("esc")
	s.sees("Set-up")
	s.asked()
}

// The user who moves while checks run stays where he is.
func TestSurveyLeavesTheUserAlone(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.press("C", "A", "j")
	s.tell(queued("memlock")...)
	s.ends(1, "memlock", steps.Verdict{Grade: steps.Fail, Reason: "no"})
	if c, _ := s.list.Check(); c.ID != "gid-index" {
		t.Errorf("%s is selected", c.ID)
	}
	s.press("n")
	if c, _ := s.list.Check(); c.ID != "memlock" {
		t.Errorf("n selected %s", c.ID)
	}
}

func TestFixFromTheChecklist(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.press("C", "f")
	s.sees("enter runs the check first")
	s.press("enter")
	s.asked("run mtu-equal")
	s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: "1500 here, 9000 there."})
	s.sees("f fix: Set the MTU", "1500 here, 9000 there.")
	s.press("f")
	s.asked("run fix-mtu mtu-equal")
	s.ends(2, "fix-mtu", steps.Verdict{Grade: steps.Pass, Reason: "9000 everywhere."})
	s.ends(3, "mtu-equal", steps.Verdict{Grade: steps.Pass, Reason: "Equal."})
	s.sees("9000 everywhere.", "Equal.")
	s.press("f")
	s.sees("there is nothing to fix")
	s.asked()
}

// What was checked before a fix is checked again after it, and stands next to no fresh verdict as it was.
func TestChecksRunAgainAfterAFix(t *testing.T) {
	for name, c := range map[string]struct {
		fix   steps.Grade
		asked []string
	}{
		"it changed something": {steps.Pass, []string{"run gid-index"}},
		"it was declined":      {steps.Skipped, nil},
	} {
		s := newScreen(t, withChecklist(), 100, 30)
		s.press("C", "enter")
		s.asked("run mtu-equal")
		s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: "1500 here, 9000 there."})
		s.ends(2, "gid-index", steps.Verdict{Grade: steps.Warn, Reason: "By the old MTU."})
		s.press("f")
		s.asked("run fix-mtu mtu-equal")
		s.Model.Book = s.Book.Apply(steps.CellStarted{Run: 3, Cell: "fix-mtu", At: s.now})
		// What comes of it waits for events, too, so the call is run by itself.
		if cmd := s.list.Recheck(steps.CellEnded{
			Run: 3, Cell: "fix-mtu", At: s.now, Verdict: steps.Verdict{Grade: c.fix, Reason: name},
		}); cmd != nil {
			s.Update(cmd())
		}
		s.asked(c.asked...)
	}
}

func TestSymptoms(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.press("C", "/", "n", "e", "a", "r", "space", "z", "e", "r", "o")
	s.sees("MTU on both ends", "symptom: near zero")
	s.seesNot("GID indexes", "Locked memory")
	s.press("enter")
	s.asked("run mtu-equal")
	s.press("esc")
	s.sees("GID indexes", "Locked memory")
	// A paste is a search, whatever keys it would be.
	s.send(tea.PasteMsg{Content: "qp 7\r\nFailed to modify QP 8 to RTR\n"})
	s.sees("GID indexes")
	s.seesNot("Locked memory")
	s.press("ctrl+u", "x", "x", "x", "x", "x", "x")
	s.sees("No check knows that")
	s.press("enter")
	s.sees("Locked memory")
	s.asked()
	s.send(tea.PasteMsg{Content: strings.Repeat("y", 3*checklist.MaxSymptom)})
	if len(s.list.Words.Text()) > checklist.MaxSymptom {
		t.Errorf("%d bytes are kept of a paste", len(s.list.Words.Text()))
	}
}

// A pasted log is explained on a page; E shows it again, and explains typed words, too.
func TestExplainPasted(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.Opts.Explain = func(text string) string {
		return "# What follows\n\n## The MTUs differ\n\nIt says " + strings.Fields(text)[0] +
			": `railbench doctor mtu-equal`\n"
	}
	s.press("C", "E")
	s.sees("then E explains it")
	s.send(s.send(tea.PasteMsg{Content: "ping\rmessage too long\r"})()) // as terminals send lines
	s.sees("The MTUs differ", "It says ping")
	if s.Layers.Top() != screen.Docs {
		t.Errorf("the top is layer %d", s.Layers.Top())
	}
	s.press("esc")
	if s.Layers.Top() != screen.Checklist {
		t.Errorf("after esc the top is layer %d", s.Layers.Top())
	}
	s.send(s.press("E")())
	s.press("w")
	s.asked("run mtu-equal")
	s.press("esc", "/", "n", "e", "a", "r", "space", "z", "e", "r", "o", "enter")
	s.send(s.press("E")())
	s.sees("It says near")
}

func TestWhy(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.press("w")
	s.sees("it looks for what could explain a FAIL")
	s.notebook.Show("ib-write-bw")
	s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now},
		steps.CellPrinted{
			Run: 1, Cell: "ib-write-bw",
			Lines: []steps.OutputLine{{Text: "Failed to modify QP 1234 to RTR"}},
		},
		steps.CellEnded{
			Run: 1, Cell: "ib-write-bw",
			Verdict: steps.Verdict{Grade: steps.Fail, Reason: "It did not connect."},
		})
	s.sees("w why?")
	// A WARN has something to explain, too.
	state := s.Book.Cells["ib-write-bw"]
	warned := state
	warned.Verdict.Grade = steps.Warn
	s.Book.Cells["ib-write-bw"] = warned
	if !s.list.Explainable() {
		t.Error("w works on a WARN, and the footer does not offer it")
	}
	s.Book.Cells["ib-write-bw"] = state
	s.press("w")
	s.asked("run gid-index mtu-equal")
	s.sees("what could explain \"Bandwidth of one rail\"", "GID indexes", "MTU on both ends")
	s.seesNot("Locked memory")
	s.press("esc", "esc")
	s.sees("Bandwidth of one rail")
}

func newDrill(t *testing.T) *driven {
	t.Helper()
	s := newScreen(t, withChecklist(), 100, 30)
	s.Model = New(s.fake,
		screen.Options{
			Tutorial: withChecklist(),
			Rig:      screen.Rig{Simulated: true},
			Terminal: screen.Terminal{Background: screen.Dark},
			Clock:    screen.Clock{Now: func() time.Time { return s.now }},
			Drill: screen.Drill{
				Fault: "fault-of-memlock", Title: "Little memory can be locked", Report: "Cannot allocate memory",
				Hints: []string{"it is software", "it is on spark-01"},
			},
		})
	s.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	return s
}

// A user who runs all checks pays for all checks, also where the first check finds the fault.
func TestADrillByBruteForce(t *testing.T) {
	s := newDrill(t)
	s.tell(queued("memlock", "mtu-equal", "gid-index")...)
	s.tell(steps.CellStarted{Run: 1, Cell: "memlock", At: s.now})
	s.tell(steps.CellEnded{Run: 1, Cell: "memlock", Verdict: steps.Verdict{Grade: steps.Fail, Reason: "8 MiB."}})
	s.sees("94 of 100 points: 3 checks and 0 hints")
}

func TestDrill(t *testing.T) {
	s := newDrill(t)
	s.sees("Drill", "Checklist")
	s.seesNot("memlock", "fault-of")
	s.sees("Reported: Cannot allocate memory", "100 points", "h a hint for 15")
	s.press("h")
	s.sees("hint: it is software", "85 points")
	// An alarm would say what the fault is, and where.
	hot := health.Node{Node: "spark-01", No: 1, Heat: []health.Heat{{Dev: "rocep1s0f0", Celsius: 117}}}
	s.send(snapshotMsg(meter.Board{Health: []health.Node{hot}}))
	s.seesNot("117")
	s.now = s.now.Add(72 * time.Second)
	s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Warn, Reason: "It is odd."})
	if s.Drilled() != 0 {
		t.Error("another check has found it")
	}
	s.ends(2, "memlock", steps.Verdict{Grade: steps.Pass, Reason: "Fine."})
	if s.Drilled() != 0 {
		t.Error("a check that passed has found it")
	}
	s.tell(steps.CellStarted{Run: 3, Cell: "memlock", At: s.now})
	s.press("i", "i")
	s.tell(steps.CellEnded{Run: 3, Cell: "memlock", Verdict: steps.Verdict{
		Grade: steps.Inconclusive, Reason: "Interrupted before it was done.",
	}})
	if s.Drilled() != 0 {
		t.Error("a check that was interrupted has found it")
	}
	s.ends(4, "memlock", steps.Verdict{Grade: steps.Fail, Reason: "8 MiB."})
	// 4 checks, a hint, a minute.
	s.sees("Found", "Little memory can be locked, after 1:12 min.", "fault-of-memlock",
		"75 of 100 points: 4 checks and 1 hint")
	if s.Drilled() != 72*time.Second {
		t.Errorf("it took %s", s.Drilled())
	}
	s.press("x")
	s.seesNot("any key")
	s.sees("points, in 1:12")
}

// From a FAIL to the cure on one path: w runs the checks, what explains it best stands first,
// f puts it right and runs the cell again, whose verdict is shown then.
func TestFromAFailToTheCure(t *testing.T) {
	s := newScreen(t, withChecklist(), 110, 40)
	s.tell(connected()...)
	s.press("4", "home", "j")
	failed := passed(1, "ib-write-bw")
	failed.Verdict = steps.Verdict{Grade: steps.Fail, Code: steps.GIDIndexWrong, Reason: "It ended."}
	s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now}, failed)
	s.press("w")
	s.asked("run gid-index mtu-equal")
	s.tell(queued("mtu-equal")...)
	s.ends(2, "gid-index", steps.Verdict{Grade: steps.Pass, Reason: "Fine."})
	s.ends(3, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: "They differ."})
	if c, _ := s.list.Check(); c.ID != "mtu-equal" || s.list.Checks()[0].ID != "mtu-equal" {
		t.Errorf("%s is selected", c.ID)
	}
	s.sees("f fixes it, and runs \"Bandwidth of one rail\" again", "They differ.")
	s.press("f")
	s.asked("run fix-mtu mtu-equal ib-write-bw")
	s.tell(queued("mtu-equal", "ib-write-bw")...)
	s.ends(4, "fix-mtu", steps.Verdict{Grade: steps.Pass})
	s.ends(5, "mtu-equal", steps.Verdict{Grade: steps.Pass})
	s.ends(6, "ib-write-bw", steps.Verdict{Grade: steps.Pass, Reason: "92.5 Gb/s."})
	s.sees("after the fix: PASS", "92.5 Gb/s.", "[6]")
	if c, _ := s.notebook.Selected(); c.ID != "ib-write-bw" || s.Layers.Has(screen.Checklist) {
		t.Errorf("%s is selected, and the checklist is open: %t", c.ID, s.Layers.Has(screen.Checklist))
	}
}

// f in the box at a drill's end corrects what was found.
func TestADrillsFaultIsPutRight(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 30)
	s.Opts.Drill = screen.Drill{Fault: "fault-of-mtu-equal", Title: "MTUs differ"}
	s.press("C")
	s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: "They differ."})
	s.sees("Found", "f fix it")
	s.press("f")
	s.asked("run fix-mtu mtu-equal")
}
