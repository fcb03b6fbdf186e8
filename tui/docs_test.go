package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

func withDocs(t *testing.T, w, h int) *driven {
	s := start(t, w, h)
	s.Opts.Docs = func() []screen.Doc {
		return []screen.Doc{
			{
				Name: "keys", About: "every key",
				Text: "# Keys\n\n| key | what |\n|---|---|\n| `a` | " +
					strings.Repeat("word ", 40) + "|\n",
			},
			{
				Name: "glossary", About: "the words",
				Text: "# Glossary\n\n" + strings.Repeat("A word.\n\n", 60) + "The last word.\n",
			},
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

// / looks in all pages, n and N go to the next place and back, around the end, and esc leaves the search first.
func TestDocsAreSearched(t *testing.T) {
	s := withDocs(t, 80, 24)
	s.press("D", "/", "W", "O", "R", "D", "enter")
	s.sees("no page has WORD", "railbench's pages")
	s.press("/", "w", "o", "r", "d", "enter")
	s.sees("Keys", "/word")
	s.press("tab")
	var places []int
	for range 61 {
		s.press("n")
		places = append(places, s.docs.Found)
	}
	if s.docs.All[s.docs.Item].Name != "glossary" || !slices.IsSorted(places) || slices.Compact(places)[60] != places[60] {
		t.Errorf("places %v of %s", places, s.docs.All[s.docs.Item].Name)
	}
	s.sees("The last word.")
	s.press("n")
	s.sees("Keys")
	s.press("N")
	s.sees("The last word.")
	s.press("esc")
	s.seesNot("/word")
	s.press("esc", "/", "esc")
	s.sees("railbench's pages")
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
	wide, high := 17, 7
	if testform.Full() {
		wide, high = 7, 5
	}
	for width := 1; width < 200; width += wide {
		for height := 1; height < 60; height += high {
			s := withDocs(t, width, height)
			s.press("g", "D", "enter")
			s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
			s.send(snapshotMsg(sampleBoard(4, 1)))
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

// A chapter of a page that names checks to confirm it runs them with a key, and one goes from
// chapter to chapter also where the page can't scroll any more.
func TestChaptersRunTheirChecks(t *testing.T) {
	s := newScreen(t, withChecklist(), 80, 24)
	s.tell(connected()...)
	s.Opts.Docs = func() []screen.Doc {
		return []screen.Doc{{
			Name: "troubleshooting", About: "what to do",
			Text: "# Troubleshooting\n\nText. `railbench doctor mtu-equal` is in no chapter.\n\n" +
				"## Slow\n\n**Confirm:** `railbench doctor mtu-equal\nno-such gids`, or `railbench doctor mtu-equal`.\n\n" +
				"```sh\n## no chapter\n```\n\n## Nothing\n\nNo checks.\n\n## Slower\n\n`railbench doctor mtu-equal`\n",
		}}
	}
	s.press("D", "enter")
	s.sees("▸Slow", "w: mtu-equal")
	s.seesNot("w: mtu-equal no-such", "w: mtu-equal gids")
	s.press("n")
	s.seesNot("w: mtu-equal")
	s.press("w") // it names none
	s.asked()
	s.press("n")
	s.sees("▸Slower", "w: mtu-equal")
	s.press("n")
	s.sees("this is the last chapter")
	s.press("w")
	s.asked("run mtu-equal")
	s.sees("Checklist", `how to confirm "Slower"`)
	s.press("D")
	s.sees("▸Slower")
}

func TestWithoutDocs(t *testing.T) {
	s := start(t, 80, 24)
	s.press("D")
	s.sees("no pages here")
}
