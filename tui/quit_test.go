package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/screen"
)

// quits reports whether a command ends the program.
func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

// Quitting a session that is not saved asks, says where it could be, and takes another file.
func TestQuitUnsaved(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 40)
	var in string
	refuses := errors.New("read-only file system")
	s.Opts.Saved.Elsewhere = func() string { return "/tmp/other.ipynb" }
	s.Opts.Saved.In = func(path string) error {
		in = path
		return refuses
	}
	s.tell(steps.CellStarted{Run: 1, Cell: "nodes", At: s.now}, passed(1, "nodes"),
		steps.Saved{Why: "mkdir /home/x: no space left on device"})
	s.sees("no space left on device")
	cmd := s.press("q")
	if quits(cmd) || s.Layers.Top() != screen.Quit {
		t.Fatal("it quits without a word")
	}
	s.send(dialog.PlaceMsg("/tmp/other.ipynb"))
	s.sees("the results of 1 cell", "/tmp/other.ipynb")
	if quits(s.press("q")) {
		t.Error("q loses the session")
	}
	s.press("s")
	s.send(s.press("enter")())
	if in != "/tmp/other.ipynb" || s.Layers.Top() != screen.SaveAs {
		t.Fatalf("saved in %q, layer %d", in, s.Layers.Top())
	}
	s.sees("read-only file system")
	refuses = nil
	s.press("ctrl+u", "m")
	s.send(tea.PasteMsg{Content: "ine.ipynb\n"})
	if cmd := s.send(s.press("enter")()); in != "mine.ipynb" || !quits(cmd) {
		t.Errorf("saved in %q, and it does not quit", in)
	}
	for _, key := range []string{"y", "ctrl+c"} {
		if !quits(s.press("n", "q", key)) {
			t.Errorf("%s does not quit", key)
		}
	}
	// A presentation asks, whatever is saved; q twice is a key that bounces, and quits nothing.
	s.press("n")
	s.tell(steps.Saved{Path: "a"})
	s.press("ctrl+g")
	for _, keys := range [][]string{{"q", "q", "enter"}, {"esc", "enter", "q", "q"}, {"esc", "ctrl+c"}} {
		if quits(s.press(keys...)) || s.Layers.Top() != screen.Quit ||
			strings.Contains(s.view(), "Leave the presentation?") {
			t.Errorf("%q: layer %d", keys, s.Layers.Top())
		}
		s.press("n")
	}
	if !quits(s.press("esc", "q", "y")) {
		t.Error("y does not quit")
	}
	s.press("n", "ctrl+g")
	// Saved by now: nothing is asked. Nor where another file has it.
	for _, saved := range []steps.Saved{{Path: "a"}, {Path: "a", Why: "another program has written it", Kept: true}} {
		s.press("n")
		s.tell(saved)
		if !quits(s.press("q")) {
			t.Errorf("%+v: q asks", saved)
		}
	}
}
