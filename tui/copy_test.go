package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// clipboard is what a command sends there. Bubble Tea's message is a string of a type
// of its own.
func clipboard(t *testing.T, cmd tea.Cmd) string {
	t.Helper()
	if cmd == nil {
		t.Fatal("nothing was sent to the clipboard")
	}
	msg := cmd()
	if got, want := fmt.Sprintf("%T", msg), fmt.Sprintf("%T", tea.SetClipboard("")()); got != want {
		t.Fatalf("a %s, not a %s", got, want)
	}
	return fmt.Sprint(msg)
}

func TestCopyOutput(t *testing.T) {
	s := start(t, 120, 40)
	s.press("3")
	if s.press("y") != nil {
		t.Error("it copies what was not run")
	}
	s.sees("it has not run yet")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: []steps.OutputLine{
			{From: "spark-01", Text: "red", Spans: sampleSpans(3)},
			{Kind: steps.Note, Text: "exit 0"},
			{Kind: steps.FromStderr, From: "spark-02", Text: "bad \x1b[31m"},
		}})
	const printed = "# SIMULATED: nothing of this was measured on hardware\n" +
		"# spark-01\nred\n# exit 0\n# spark-02\nbad \uFFFD[31m\n"
	if got := clipboard(t, s.press("y")); got != printed {
		t.Errorf("copied %q", got)
	}
	s.sees("copied 5 lines, 101 B; the terminal has to allow it (OSC 52)")
	s.tell(passed(1, "gids"))
	if got := clipboard(t, s.press("y")); !strings.HasPrefix(got, printed+"PASS SIMULATED  92.5 Gb/s: all") {
		t.Errorf("copied %q", got)
	}
	s.sees("copied 5 lines and the verdict")
	if got := clipboard(t, s.press("y")); !strings.HasPrefix(got, printed) {
		t.Errorf("without a log the second y copied %q", got)
	}
	s.press("O")
	if got := clipboard(t, s.press("y")); got != printed {
		t.Errorf("from the opened output: %q", got)
	}
	s.press("O")
	logged := passed(2, "gids")
	logged.Log = "/tmp/a log"
	s.tell(steps.CellStarted{Run: 2, Cell: "gids", At: s.now}, logged)
	s.press("y")
	if got := clipboard(t, s.press("y")); got != logged.Log {
		t.Errorf("y y copied %q", got)
	}
}

// What is measured on hardware is not called simulated.
func TestCopyOfARealRig(t *testing.T) {
	s := start(t, 120, 40)
	s.Opts.Rig.Simulated = false
	rig := sampleRig()
	rig.Simulated = false
	s.tell(steps.RigProbed{Rig: rig}, steps.CellStarted{Run: 1, Cell: "gids", At: s.now}, passed(1, "gids"))
	s.press("3")
	got := clipboard(t, s.press("y"))
	if strings.Contains(got, "SIMULATED") || !strings.HasPrefix(got, "PASS  92.5 Gb/s") {
		t.Errorf("copied %q", got)
	}
	s.sees("copied the verdict, ")
}

func TestACopyIsBounded(t *testing.T) {
	s := printed(t, 120, 40, rows(9000, strings.Repeat("long ", 20))...)
	got := clipboard(t, s.press("y"))
	if len(got) > maxCopy || len(got) < maxCopy-200 || !strings.HasSuffix(got, "row 8999\n") {
		t.Errorf("%d bytes, which end in %q", len(got), got[len(got)-40:])
	}
	n := strings.Count(got, "\n") - 1
	s.sees(fmt.Sprintf("copied the last %d,%03d of 9,000 lines, 73.", n/1000, n%1000))
}

func TestCopyScript(t *testing.T) {
	s := start(t, 120, 40)
	s.press("3")
	// Before the rig was probed there are no values.
	if got := clipboard(t, s.press("Y")); got != "show_gids\n" {
		t.Errorf("copied %q", got)
	}
	s.sees("copied the script of GID tables, without values")
	rig := sampleRig()
	rig.Probed = s.now
	s.tell(steps.RigProbed{Rig: rig})
	answer := "PORT='1'\nshow_gids\n"
	s.Opts.Plan.Text = func(b steps.Notebook, c steps.Cell) string {
		if c.ID != "gids" || b.Rig.Name != rig.Name {
			t.Errorf("asked for %s on %s", c.ID, b.Rig.Name)
		}
		return answer
	}
	if got := clipboard(t, s.send(s.press("Y")())); got != answer {
		t.Errorf("copied %q", got)
	}
	s.sees("copied the script of GID tables, 19 B")
	answer = ""
	if got := clipboard(t, s.send(s.press("Y")())); got != "show_gids\n" {
		t.Errorf("copied %q", got)
	}
	answer = strings.Repeat("x", maxCopy+1)
	if s.send(s.press("Y")()) != nil {
		t.Error("a script that is too long is copied")
	}
	s.sees("too long to be copied")
}

// S shows what the variables of a script are on this rig: of each rail, and never of another rig.
func TestScriptHasItsValues(t *testing.T) {
	s := start(t, 120, 40)
	s.press("3", "S")
	s.seesNot("with ")
	rig := sampleRig()
	rig.Probed = s.now
	gid := "3"
	planned := 0
	s.Opts.Plan.Values = func(steps.Notebook, steps.Cell) []steps.PlannedValues {
		planned++
		return []steps.PlannedValues{
			{Rail: 1, Values: map[string]string{"DEV": "mlx5_0", "GID": gid, "PY": "two\nlines", "NONE": ""}},
			{Rail: 2, Values: map[string]string{"DEV": "mlx5_1", "GID": "3"}},
			{Rail: 3, Values: map[string]string{"DEV": "mlx5_2", "GID": "3"}},
		}
	}
	s.tell(steps.RigProbed{Rig: rig})
	s.sees("with DEV = mlx5_0, mlx5_1, mlx5_2; GID = 3; NONE = (empty)")
	gid = "5"
	s.tell(steps.RigProbed{Rig: rig})
	s.sees("GID = 5, 3, 3")
	for range 10 {
		s.Dirty = true
		s.view()
	}
	if planned != 2 {
		t.Errorf("it was planned %d times for two rigs: a frame must not plan", planned)
	}
	s.press("S")
	s.seesNot("with DEV")
}

// fakePager is one that was found.
type fakePager struct{ tea.ExecCommand }

func (fakePager) SetStdin(io.Reader) {}

func TestPager(t *testing.T) {
	s := start(t, 120, 40)
	s.press("3", "|")
	s.sees("it has printed nothing")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.prints(rows(30, "x")...)
	s.press("|")
	s.sees("no pager is available here")
	var log, text string
	missing := errors.New("neither less nor more is on this machine")
	fail := missing
	s.Opts.Programs.Pager = func(l string, read func() string) (tea.ExecCommand, error) {
		log, text = l, read()
		return fakePager{}, fail
	}
	s.send(s.press("|")())
	s.sees("neither less nor more")
	if log != "" || !strings.HasPrefix(text, simulatedHead+"spark-01: row 0\n") ||
		!strings.HasSuffix(text, "row 29\n") {
		t.Errorf("the pager was asked to show %q, %q", log, text)
	}
	// With a log, and where lines were dropped.
	fail = nil
	s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Dropped: 5})
	e := passed(1, "gids")
	e.Log = "/logs/001-gids.log"
	s.tell(e)
	s.press("O")
	exec := s.send(s.press("|")())
	if exec == nil || log != e.Log || !strings.Contains(text, "# 5 lines came before these") {
		t.Fatalf("the pager was asked to show %q, %q", log, text)
	}
	if got, want := fmt.Sprintf("%T", exec()), fmt.Sprintf("%T", tea.Exec(fakePager{}, nil)()); got != want {
		t.Errorf("a %s, not a %s", got, want)
	}
	s.send(pagedMsg{errors.New("exit status 3")})
	s.sees("the pager: exit status 3")
	s.press("esc")
	s.send(pagedMsg{})
	s.seesNot("the pager:")
	// A question has a deadline: no one would see it behind a pager.
	ready := s.press("|")()
	s.send(questionMsg(hostKey(nil)))
	if s.send(ready) != nil {
		t.Error("the pager hides a question")
	}
}

// The same keys are about the selected check where the checklist is open.
func TestCopyFromTheChecklist(t *testing.T) {
	s := newScreen(t, withChecklist(), 120, 40)
	s.tell(connected()...)
	s.press("C")
	s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: "The MTUs differ."})
	for range 3 {
		if c, _ := s.list.Check(); c.ID == "mtu-equal" {
			break
		}
		s.press("j")
	}
	if got := clipboard(t, s.press("y")); got != simulatedHead+"FAIL SIMULATED  The MTUs differ.\n" {
		t.Errorf("copied %q", got)
	}
}
