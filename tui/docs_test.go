package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
)

func withDocs(t *testing.T, w, h int) *screen {
	s := start(t, w, h)
	s.opts.Docs = func() []Doc {
		return []Doc{
			{"keys", "every key", "# Keys\n\n| key | what |\n|---|---|\n| `a` | " +
				strings.Repeat("word ", 40) + "|\n"},
			{"glossary", "the words", "# Glossary\n\n" + strings.Repeat("A word.\n\n", 60) + "The last word.\n"},
		}
	}
	return s
}

func TestDocsAreRead(t *testing.T) {
	s := withDocs(t, 80, 24)
	s.press("D")
	s.sees("railbench's pages", "▸ keys", "every key", "glossary")
	s.press("j", "enter")
	s.sees("glossary", "A word.", "1–")
	s.seesNot("The last word.")
	s.press("space", "G")
	s.sees("The last word.")
	s.press("home")
	s.seesNot("The last word.")
	s.press("tab") // there is none after the last
	s.sees("Glossary")
	s.press("shift+tab")
	s.sees("Keys", "word word")
	s.press("esc")
	s.sees("▸ keys")
	s.press("esc")
	s.seesNot("railbench's pages")
	s.press("D", "enter", "D")
	s.seesNot("word word")
	s.press("D")
	s.sees("word word") // where it was left
	s.asked()
}

func TestDocsAreFoundByThePalette(t *testing.T) {
	s := withDocs(t, 80, 24)
	s.press("ctrl+p")
	for _, r := range "page gloss" {
		s.press(map[rune]string{' ': "space"}[r] + strings.TrimSpace(string(r)))
	}
	s.press("enter")
	s.sees("A word.")
	s.press("ctrl+p", "h", "o", "s", "t")
	s.press("esc", "esc", "esc")
	s.seesNot("A word.")
}

// A cell that runs and a gauge that moves go on below, and nothing is wider than the
// screen at any size.
func TestDocsAtEverySize(t *testing.T) {
	for width := 1; width < 200; width += 7 {
		for height := 1; height < 60; height += 5 {
			s := withDocs(t, width, height)
			s.press("g", "D", "enter")
			s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
			s.send(boardMsg(sampleBoard(4, 1)))
			s.press("G", "pgup", "tab", "esc", "end", "enter", "?", "esc")
			lines := strings.Split(ansi.Strip(s.view()), "\n")
			if len(lines) > height {
				t.Fatalf("%dx%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width {
					t.Fatalf("%dx%d: %q is wider", width, height, l)
				}
			}
		}
	}
}

func TestWithoutDocs(t *testing.T) {
	s := start(t, 80, 24)
	s.press("D")
	s.sees("there are no pages here")
}
