package main

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// A screen of text on a terminal of 80x24: what the title, the rails while nothing moves and the footer leave.
const screenRows = 21

// How many screens a part and all parts together have, at most.
const longestPart, longestTutorial = 12, 90

// TestTutorialIsShort counts the lines of each part as it is opened, on the smallest terminal. What the next cell
// doesn't need is for assets/docs/notes.md.
func TestTutorialIsShort(t *testing.T) {
	t.Parallel()
	whole := recordedWhole(t)
	all := 0
	for i, part := range whole.options.Tutorial.Parts {
		lines := 0
		synctest.Test(t, func(t *testing.T) {
			p := play(t, whole, bookSizes[0][0], bookSizes[0][1], nil)
			defer p.quit()
			p.press(fmt.Sprint(min(i+1, 9)))
			for range i - 8 { // keys lead to nine parts
				p.press("tab")
			}
			lines = len(p.Spread())
		})
		screens := (lines + screenRows - 1) / screenRows
		if screens > longestPart {
			t.Errorf("%s: %d lines, %d screens, %d at most", part.ID, lines, screens, longestPart)
		}
		t.Logf("%s: %d lines, %d screens", part.ID, lines, screens)
		all += screens
	}
	if all > longestTutorial {
		t.Errorf("the tutorial has %d screens, %d at most", all, longestTutorial)
	}
}
