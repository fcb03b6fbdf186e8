package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// loadable is a tutorial that has the cells of three loads next to it.
func loadable() steps.Tutorial {
	t := sampleTutorial()
	role := steps.Role{
		Name: "client", Before: "serve() {\n\tib_write_bw \"$1\" &\n}\n",
		Script: "ib_write_bw -d \"$RAIL1_DEV\" \\\n\t-D 30 >\"$dir\"\n",
	}
	t.Checklist = append(t.Checklist, steps.Part{ID: "load", Title: "Keep the rails busy", Cells: []steps.Cell{
		{ID: "load-rail", Part: "load", Title: "One rail", Roles: []steps.Role{role}, Needs: []string{"ib_write_bw"}},
		{ID: "load-half", Part: "load", Title: "One half", Roles: []steps.Role{role}, Needs: []string{"ib_write_bw"}},
		{ID: "load-all", Part: "load", Title: "All rails", Roles: []steps.Role{role}, Needs: []string{"ib_write_bw"}},
	}})
	return t
}

func TestStage(t *testing.T) {
	s := newScreen(t, loadable(), 120, 40)
	s.send(eventsMsg(connected()))
	s.send(snapshotMsg(sampleBoard(4, 0)))
	s.press("ctrl+g")
	s.sees("all rails", "SIMULATED", "nothing is running", "Gb/s on the wire", "now", "1-8 load")
	s.press("1")
	s.asked("run load-rail")
	s.send(eventsMsg{steps.CellQueued{Cell: "load-rail"}, steps.CellStarted{Run: 1, Cell: "load-rail", At: s.now}})
	s.sees("One rail", "$ ib_write_bw -d $RAIL1_DEV -D 30", "running")
	s.press("1")
	s.asked()
	s.sees(screen.IsRunning)
	// Another one in its place: what runs is interrupted before.
	s.press("2")
	s.asked("interrupt", "run load-half")
	s.press("7")
	s.asked()
	s.sees("no cell load-nixl")
	s.press("8")
	s.asked("interrupt", "run load-all")
	s.press("9")
	s.asked()
	s.press("h")
	s.asked("set .LOAD_SECONDS=86400")
	s.press("h")
	s.asked("set .LOAD_SECONDS=")
	s.press("x")
	s.asked("interrupt")
	s.send(eventsMsg{steps.CellEnded{Run: 1, Cell: "load-rail", Verdict: steps.Verdict{
		Grade: steps.Inconclusive, Reason: "Interrupted before it was done. Until then r sent 9 GB.",
	}}})
	s.sees("INCONCLUSIVE", "Until then r sent 9 GB")
	s.press("tab")
	s.sees("numerals of the cables")
	s.press("esc")
	s.sees("Leave the presentation?", "all rails")
	s.press("y")
	s.sees("Set-up")
	s.seesNot("1-8 load")
}

// The command has names until the rig is known, and values then; a frame works out nothing.
func TestTheCommandHasItsValues(t *testing.T) {
	s := newScreen(t, loadable(), 120, 40)
	plans := 0
	s.Opts.Plan.Values = func(steps.Notebook, steps.Cell) []steps.PlannedValues {
		plans++
		return []steps.PlannedValues{{Role: "client", Values: map[string]string{"RAIL1_DEV": "mlx5_0"}}}
	}
	s.press("ctrl+g")
	s.tell(steps.CellQueued{Cell: "load-rail"}, steps.CellStarted{Run: 1, Cell: "load-rail", At: s.now})
	s.sees("$ ib_write_bw -d $RAIL1_DEV -D 30")
	rig := sampleRig()
	rig.Probed = s.now
	s.tell(steps.RigProbed{Rig: rig})
	s.sees("$ ib_write_bw -d mlx5_0 -D 30")
	for range 10 {
		s.Dirty = true
		s.view()
	}
	if plans != 1 {
		t.Errorf("it was planned %d times", plans)
	}
}

// The footer names the views that tab goes through: those of nodes where there are more than two.
func TestStageViews(t *testing.T) {
	two := newScreen(t, loadable(), 120, 40)
	two.send(eventsMsg(connected()))
	two.press("ctrl+g")
	two.sees("tab halves/cables/rails  ")
	three := trio(t)
	three.press("ctrl+g")
	three.sees("tab halves/cables/rails/nodes")
	for _, view := range []string{"cables", "rails", "nodes", "halves"} {
		three.press("tab")
		three.sees("numerals of the " + view)
	}
}

// Whatever it shows, every size of terminal has a frame as large as it is.
func TestStageSizes(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {40, 10}, {60, 20}, {80, 24}, {120, 40}, {200, 60}, {300, 20}} {
		s := newScreen(t, loadable(), size[0], size[1])
		s.send(eventsMsg(connected()))
		s.send(snapshotMsg(sampleBoard(4, 0)))
		s.press("ctrl+g", "?", "esc")
		lines := strings.Split(s.view(), "\n")
		if len(lines) > size[1] || size[0] >= screen.LeastWidth && size[1] >= screen.LeastHeight && len(lines) != size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w > size[0] {
				t.Errorf("%v: a line of %d columns: %q", size, w, l)
			}
		}
	}
}
