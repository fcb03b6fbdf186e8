package tui

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/tui/screen"
)

func TestPalette(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 40)
	s.press("ctrl+p")
	s.sees("run the selected cell", "Set-up", "what to do, where to go")
	s.press("l", "a", "t", "e", "n", "c", "y")
	s.sees("Latency of one rail  ib-write-lat")
	s.seesNot("run the selected cell and go")
	s.press("enter", "enter")
	s.asked("run ib-write-lat")
	// By an id, from another screen, and to a check.
	s.press("C", "ctrl+k", "m", "e", "m", "l", "o", "c", "k", "enter")
	if c, _ := s.list.Check(); c.ID != "memlock" || !s.Layers.Has(screen.Checklist) {
		t.Errorf("%s is selected", c.ID)
	}
	// An action of this screen.
	s.press("ctrl+p", "e", "v", "e", "r", "y", "t", "h", "i", "n", "g", "enter")
	s.asked("run mtu-equal gid-index memlock rail-speed")
	// Nothing found, nothing done; esc leaves.
	s.press("ctrl+p", "q", "q", "q")
	s.sees("nothing has these words")
	s.press("enter")
	s.asked()
	s.press("ctrl+p", "A", "esc")
	s.asked()
	s.seesNot("what to do, where to go")
}

// Every binding of every screen is in the palette, but for the digits.
func TestPaletteHasEverything(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 40)
	have := map[string]bool{}
	for _, c := range s.choices() {
		have[c.Name] = true
	}
	for _, c := range s.notebookKeys() {
		for _, b := range c.Bindings {
			if b.Digit == nil && b.When == nil && !have[b.Help().Desc] {
				t.Errorf("%q is not in the palette", b.Help().Desc)
			}
		}
	}
	for _, c := range s.Book.Tutorial.Cells() {
		if !have[c.Title+"  "+c.ID] {
			t.Errorf("the cell %s is not in the palette", c.ID)
		}
	}
}

// Letters that no name has as a word find the name that has them in this order.
func TestPaletteIsFuzzy(t *testing.T) {
	s := newScreen(t, withChecklist(), 100, 40)
	s.press("ctrl+p")
	s.types("ibwlat")
	if all := s.palette.Chosen(); len(all) == 0 || !strings.HasSuffix(all[0].Name, "ib-write-lat") {
		t.Errorf("found %v", all)
	}
	s.press("ctrl+u")
	s.types("qqqqzz")
	if all := s.palette.Chosen(); len(all) != 0 {
		t.Errorf("found %d for letters that no name has", len(all))
	}
}
