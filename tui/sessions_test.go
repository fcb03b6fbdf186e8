package tui

import (
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// The palette finds saved sessions, opens one once it is known that it can be, and compares.
func TestSessionsInThePalette(t *testing.T) {
	s := start(t, 120, 40)
	s.Opts.Saved.List = func() []screen.SessionFile {
		return []screen.SessionFile{
			{Path: "/a/monday.ipynb", Name: "monday", About: "saved then"},
			{Path: "/a/this.ipynb", Name: "this", About: "saved now"},
		}
	}
	refuses := errors.New("it is of another rig")
	s.Opts.Saved.Check = func(string) error { return refuses }
	s.Opts.Saved.Compare = func(open, path string) (string, error) { return "one of " + open + " and " + path, nil }
	s.tell(steps.Saved{Path: "/a/this.ipynb"})
	s.send(s.press(":")())
	s.types("monday")
	s.sees("open monday", "compare with monday")
	s.seesNot("open this")
	s.send(s.press("enter")())
	s.sees("it is of another rig")
	refuses = nil
	s.send(s.press(":")())
	s.types("monday")
	if _, ok := s.send(s.press("enter")())().(tea.QuitMsg); !ok || s.Next() != (Next{Session: "/a/monday.ipynb"}) {
		t.Errorf("next is %+v", s.Next())
	}
	s.send(s.press(":")())
	s.types("compare monday")
	s.send(s.press("enter")())
	s.sees("comparison", "one of /a/this.ipynb and /a/monday.ipynb")
}

// What another railbench does is followed in a screen that changes nothing and says so.
func TestASessionOfSomebodyElseIsFollowed(t *testing.T) {
	s := &driven{t: t, fake: newFake()}
	book := steps.NewNotebook(sampleTutorial())
	s.Model = New(s.fake, screen.Options{
		Tutorial: sampleTutorial(),
		Rig:      screen.Rig{Simulated: true},
		Terminal: screen.Terminal{Background: screen.Dark},
		Book:     &book,
		ReadOnly: "read-only, and live: somebody has it open",
		Saved:    screen.Saved{Follow: func() *steps.Notebook { return nil }},
	})
	s.send(tea.WindowSizeMsg{Width: 100, Height: 40})
	s.press("3")
	s.sees("read-only, and live: somebody has it open")
	s.seesNot("connecting", "no counters", "enter run", "run+next", "A all")
	s.sees("↑↓ move", "/ search")
	for _, screen := range []string{"C", "C", "g", "g", "ctrl+g"} {
		s.press(screen)
		s.seesNot("enter check", "check all", "enter run", "load", "reset")
	}
	s.press("esc", "y")
	for _, e := range append(connected(), steps.CellStarted{Run: 1, Cell: "gids"},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(3, "from there")}, passed(1, "gids")) {
		book = book.Apply(e)
	}
	s.send(followedMsg(&book))
	s.sees("from there", "✓ PASS SIMULATED", "read-only, and live")
	s.press("3", "j", "enter")
	s.asked()
	// What to do is said next to the keys that work here, and not in place of them.
	s.sees("end the other railbench to run here", "↑↓ move")
	book = book.Apply(steps.CellStarted{Run: 2, Cell: "gids"})
	s.send(followedMsg(&book))
	if _, ok := s.press("q")().(tea.QuitMsg); !ok {
		t.Error("q asks although nothing ends with it")
	}
}

// A runbook that changed on disk is offered again, in a line that stays.
func TestAChangedRunbookIsOffered(t *testing.T) {
	s := start(t, 100, 40)
	s.press("r")
	s.sees("no runbook has changed on disk")
	s.send(changedMsg("mine.md"))
	s.press("j")
	s.sees("mine.md has changed on disk: r opens it again")
	s.tell(steps.Saved{Path: "/a/this.ipynb"})
	if _, ok := s.press("r")().(tea.QuitMsg); !ok || s.Next() != (Next{Session: "/a/this.ipynb", Again: true}) {
		t.Errorf("next is %+v", s.Next())
	}
}

// The runbook of a session that is followed may have more parts, or fewer, than when it was opened.
func TestAFollowedSessionHasOtherParts(t *testing.T) {
	s := &driven{t: t, fake: newFake()}
	whole := sampleTutorial()
	some := whole
	some.Parts = whole.Parts[:1]
	book := steps.NewNotebook(some)
	s.Model = New(s.fake, screen.Options{
		Tutorial: some,
		Rig:      screen.Rig{Simulated: true},
		Terminal: screen.Terminal{Background: screen.Dark},
		Book:     &book,
		ReadOnly: "read-only",
		Saved:    screen.Saved{Follow: func() *steps.Notebook { return nil }},
	})
	s.send(tea.WindowSizeMsg{Width: 100, Height: 40})
	more := steps.NewNotebook(whole)
	s.send(followedMsg(&more))
	for range whole.Parts {
		s.press("tab", "end")
	}
	s.sees(whole.Parts[len(whole.Parts)-1].Title)
	s.send(followedMsg(&book))
	s.press("end", "shift+tab")
	s.sees(some.Parts[0].Title)
}
