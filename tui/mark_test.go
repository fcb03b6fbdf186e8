package tui

import "testing"

// What stands over the screen hides no mark of a simulated rig, however much of the screen it takes.
func TestBoxesHideNoMark(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}} {
		for name, keys := range map[string][]string{"help": {"?"}, "palette": {"ctrl+p"}, "form": {"home", "p"}} {
			s := newScreen(t, sampleTutorial(), size[0], size[1])
			s.tell(connected()...)
			s.press(keys...)
			if !s.Layers.Top().Boxed() {
				t.Fatalf("%s opens no box", name)
			}
			s.sees("SIMULATED")
		}
	}
}
