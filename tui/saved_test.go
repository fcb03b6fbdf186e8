package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// A session that goes on shows what it had; one that another user has open shows it, and runs nothing.
func TestSavedSession(t *testing.T) {
	book := steps.NewNotebook(sampleTutorial())
	for _, e := range []steps.Event{
		steps.CellStarted{Run: 7, Cell: "gids"},
		steps.CellPrinted{Run: 7, Cell: "gids", Lines: lines(1, "from before")},
		steps.CellEnded{Run: 7, Cell: "gids", Verdict: steps.Verdict{Grade: steps.Warn, Reason: "It drifted."}},
		steps.NodeChanged{Node: 1, Why: "gone"},
		steps.Saved{Why: "old"},
	} {
		book = book.Apply(e)
	}
	for _, readOnly := range []string{"", "read-only: railbench with the process id 7 has it open"} {
		s := newScreen(t, sampleTutorial(), 100, 30)
		s.Model = New(s.fake, screen.Options{
			Tutorial: sampleTutorial(),
			Terminal: screen.Terminal{Background: screen.Dark},
			Book:     &book,
			ReadOnly: readOnly,
			Notice:   "welcome back",
		})
		s.send(tea.WindowSizeMsg{Width: 100, Height: 30})
		s.sees("welcome back")
		s.seesNot("not saved")
		s.press("3")
		s.sees("[7]", "It drifted.", "from before")
		s.press("enter")
		if readOnly == "" {
			s.asked("run gids")
			continue
		}
		s.asked()
		s.sees(readOnly)
	}
}

func TestNotSavedIsSaid(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 30)
	s.tell(steps.Saved{Path: "/home/s.ipynb"})
	s.seesNot("not saved")
	s.press("ctrl+s")
	s.sees("saved in /home/s.ipynb")
	s.press("ctrl+c")
	s.sees("The session is saved in /home/s.ipynb")
	s.press("n")
	s.tell(steps.Saved{Path: "/home/s.ipynb", Why: "no space left on device"})
	s.sees("not saved: no space left on device")
	s.tell(steps.Saved{Path: "/home/s.ipynb"})
	s.seesNot("not saved")
}
