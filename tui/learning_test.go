package tui

import (
	"slices"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// learned is what was kept, in order.
type learned struct {
	mu  sync.Mutex
	all []string
}

func (l *learned) put(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
	return nil
}

func (l *learned) PartRead(id string) error { return l.put("read " + id) }
func (l *learned) CellRan(id string) error  { return l.put("ran " + id) }

// A part is read when its end was seen, and a cell has run when it passed or warned. A page reports the state of now.
func TestLearning(t *testing.T) {
	s := start(t, 80, 24)
	var l learned
	s.Opts.Learning = &l
	do := func(cmd tea.Cmd) {
		if cmd != nil {
			cmd()
		}
	}
	do(s.press("1"))
	do(s.press("pgdown"))
	if len(l.all) != 0 {
		t.Errorf("after a screen of several: %v", l.all)
	}
	do(s.press("end"))
	do(s.press("home"))
	do(s.press("end"))
	failed := passed(1, "nodes")
	failed.Verdict.Grade = steps.Fail
	for _, e := range []steps.CellEnded{failed, passed(2, "gids")} {
		s.tell(steps.CellStarted{Run: e.Run, Cell: e.Cell, At: s.now})
		do(s.ran(e))
	}
	if want := []string{"read setup", "ran gids"}; !slices.Equal(l.all, want) {
		t.Errorf("kept %v, want %v", l.all, want)
	}
	now := "# One"
	s.Opts.Docs = func() []screen.Doc { return []screen.Doc{{Name: "progress", Now: func() string { return now }}} }
	s.press("D", "enter")
	s.sees("One")
	now = "# Two"
	s.press("esc", "enter")
	s.sees("Two")
}
