package cells

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

var runs = regexp.MustCompile(`  +`)

// The output of two nodes is never mixed line by line: each node has a column where there is room, and
// otherwise one node follows the other. A server stands before its client, whichever printed first.
func TestNodesAreNotMixed(t *testing.T) {
	c := Cell{
		Cell: steps.Cell{Roles: []steps.Role{
			{Name: "server", On: steps.OnPeer, Script: "a"},
			{Name: "client", Script: "b"},
		}},
		Names: []string{"spark-02", "spark-01"}, View: View{Keep: 10},
		State: steps.CellState{Run: 1, Output: steps.Scroll{}.Append([]steps.OutputLine{
			{Kind: steps.Note, Text: "rail 1"},
			{From: "spark-02", Role: "client", Text: "c1"},
			{From: "spark-01", Role: "server", Text: "s1"},
			{Kind: steps.Note, Text: "rail 2"},
			{From: "spark-02", Role: "client", Text: "c2"},
			{From: "spark-01", Role: "server", Text: "s2"},
			{From: "spark-02", Role: "client", Text: "c3"},
			{From: "spark-01", Role: "server", Text: "s3"},
			{Kind: steps.Note, Text: "the log ends here"},
		})},
	}
	for _, x := range []struct {
		width int
		want  string
	}{
		{60, "· rail 2\nspark-01 · server\n│ s2\n│ s3\nspark-02 · client\n│ c2\n│ c3\n· the log ends here"},
		{120, "· rail 2\nspark-01 · server  spark-02 · client\n│ s2  │ c2\n│ s3  │ c3\n· the log ends here"},
	} {
		var got []string
		for l := range strings.SplitSeq(unstyled(c.Draw(theme.New(true, colorprofile.ASCII), x.width).Lines), "\n") {
			got = append(got, strings.TrimSpace(runs.ReplaceAllString(l, "  ")))
		}
		text := strings.Join(got, "\n")
		if !strings.Contains(text, x.want) || !strings.Contains(text, "3 more lines, O opens") {
			t.Errorf("at %d columns:\n%s\nwant:\n%s", x.width, text, x.want)
		}
	}
}

// What railbench says itself is a sentence, which is not cut, and names its node.
func TestNotesAreWhole(t *testing.T) {
	c := Cell{
		Cell: steps.Cell{Roles: []steps.Role{{On: steps.OnBoth}}}, Names: []string{"spark-02", "spark-01"},
		View: View{Keep: 10},
		State: steps.CellState{Run: 1, Output: steps.Scroll{}.Append([]steps.OutputLine{
			{Kind: steps.Note, Text: "armed: both nodes go back in 120 s unless you keep it"},
			{Kind: steps.Note, From: "spark-02", Text: "look on spark-02: exit 0"},
			{Kind: steps.Note, From: "spark-01", Text: "look on spark-01: exit 0"},
		})},
	}
	got := unstyled(c.Draw(theme.New(true, colorprofile.ASCII), 50).Lines)
	if !strings.Contains(got, "\n   · look on spark-02: exit 0\n   · look on spark-01: exit 0") ||
		!strings.Contains(strings.Join(strings.Fields(got), " "), "unless you keep it") {
		t.Errorf("got:\n%s", got)
	}
}

// A number and its unit are never parted, and no word is broken that fits in a line.
func TestWordsOfATableAreWhole(t *testing.T) {
	for width := 8; width < 30; width++ {
		for _, l := range wrapped("MTU 4096, 8 MiB, GPU memory", width) {
			if len(l) > width || strings.Contains(l, "8") != strings.Contains(l, "8 MiB") && !strings.Contains(l, "4096, ") {
				t.Errorf("at %d columns: %q", width, l)
			}
			for word := range strings.FieldsSeq(l) {
				if !strings.Contains(" MTU 4096, 8 MiB, GPU memory ", " "+word+" ") {
					t.Errorf("at %d columns a word is broken: %q", width, l)
				}
			}
		}
	}
}

// Roles with one script show it once.
func TestOneScriptIsShownOnce(t *testing.T) {
	c := Cell{
		Cell: steps.Cell{Roles: []steps.Role{
			{Name: "target", Script: "nixlbench\n"},
			{Name: "initiator", Script: "nixlbench\n", Shared: true},
		}},
		View: View{Keep: 10},
	}
	got := unstyled(c.Draw(theme.New(true, colorprofile.ASCII), 80).Lines)
	if strings.Count(got, "┃ nixlbench") != 1 || !strings.Contains(got, "target, initiator") {
		t.Errorf("got:\n%s", got)
	}
}

// A difference is a number in the margin until a user wants to read it, and a page for all.
func TestDifferencesStandInTheMargin(t *testing.T) {
	const source = "One rail.\n\n> **The tutorial says** two. **In\n> fact** it is one.\n\n> A quotation.\n\n| a |\n" +
		"|---|\n| 1 |\n\n> **The report** has **In fact** more.\n"
	k := theme.New(true, colorprofile.TrueColor)
	closed := unstyled(Setting{Mark: 7}.Prose(source, k, 50))
	if strings.Contains(closed, "In fact") || !strings.Contains(closed, "A quotation") ||
		!strings.Contains(closed, " One rail.") {
		t.Errorf("closed:\n%s", closed)
	}
	lines := strings.Split(closed, "\n")
	if !strings.HasSuffix(lines[0], " ◂7") || !strings.Contains(closed, " ◂8") {
		t.Errorf("no numbers in the margin:\n%s", closed)
	}
	if open := unstyled(Setting{Mark: 7, InPlace: true}.Prose(source, k, 50)); !strings.Contains(open, "◂7") ||
		!strings.Contains(open, "it is one") {
		t.Errorf("open:\n%s", open)
	}
	if plain := unstyled(Prose(source, k, 50)); strings.Contains(plain, "◂") || !strings.Contains(plain, "it is one") {
		t.Errorf("as it is written:\n%s", plain)
	}
}
