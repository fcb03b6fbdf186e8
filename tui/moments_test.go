package tui

import (
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// A key in a moment in which it can do nothing says so, and asks nothing of the session.
func TestKeysInWrongMoments(t *testing.T) {
	running := func(s *driven) {
		s.tell(steps.CellQueued{Cell: "gids"}, steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	}
	silent := func(s *driven) { // it has run, printed nothing, and nothing judged it
		s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
			steps.CellEnded{Run: 1, Cell: "gids", At: s.now.Add(time.Second)})
	}
	readOnly := func(s *driven) { s.Opts.ReadOnly = "this session is only read" }
	for name, c := range map[string]struct {
		tutorial steps.Tutorial
		before   func(*driven)
		keys     []string
		notice   string
	}{
		"a checklist that isn't there": {sampleTutorial(), nil, []string{"C"}, "this tutorial has no checklist"},
		"a link of two nodes":          {sampleTutorial(), nil, []string{"L"}, "a rig of two nodes has one link"},
		"copy on the introduction":     {sampleTutorial(), nil, []string{"y"}, "select a cell to copy what it printed"},
		"copy a script there":          {sampleTutorial(), nil, []string{"Y"}, "select a cell to copy its script"},
		"page there": {
			sampleTutorial(), nil,
			[]string{"|"},
			"select a cell to page through what it printed",
		},
		"edit there":             {sampleTutorial(), nil, []string{"E"}, "select a cell first"},
		"copy before a run":      {sampleTutorial(), nil, []string{"3", "y"}, "it has not run yet"},
		"copy nothing":           {sampleTutorial(), silent, []string{"3", "y"}, "it has printed nothing"},
		"edit what is only read": {sampleTutorial(), readOnly, []string{"3", "E"}, "this session is only read"},
		"clear all while something runs": {
			sampleTutorial(), running,
			[]string{"3", "0", "0"},
			"something runs: i i interrupts it",
		},
		"no finding": {withChecklist(), nil, []string{"C", "n"}, "no check that ran has found anything"},
		"nothing to save": {
			sampleTutorial(), nil,
			[]string{"ctrl+s"},
			"nothing has run yet that could be saved",
		},
	} {
		s := newScreen(t, c.tutorial, 110, 36)
		if c.before != nil {
			c.before(s)
		}
		s.press(c.keys[:len(c.keys)-1]...)
		s.fake.took()
		s.press(c.keys[len(c.keys)-1])
		if c.notice != "" {
			s.sees(c.notice)
		}
		if calls := s.fake.took(); calls != nil {
			t.Errorf("%s: the session was asked: %q", name, calls)
		}
	}
}

// A symptom can be typed, taken back letter by letter, and left in any way.
func TestASymptomIsTakenBack(t *testing.T) {
	s := newScreen(t, withChecklist(), 110, 36)
	s.press("C", "/", "m", "t", "u", "backspace", "backspace", "backspace", "backspace")
	if s.list.Words.Text() != "" || !s.Layers.Has(screen.Symptom) {
		t.Errorf("after more backspaces than letters: %q, typing %t", s.list.Words.Text(), s.Layers.Has(screen.Symptom))
	}
	s.press("x", "ctrl+c")
	if s.Layers.Has(screen.Symptom) || s.Layers.Has(screen.Quit) {
		t.Errorf("ctrl+c leaves the words and nothing else: typing %t, quitting %t",
			s.Layers.Has(screen.Symptom), s.Layers.Has(screen.Quit))
	}
}
