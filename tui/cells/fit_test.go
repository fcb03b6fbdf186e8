package cells

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/ink"
)

func printedLines(texts ...string) (lines []steps.OutputLine) {
	for _, text := range texts {
		lines = append(lines, steps.OutputLine{From: "a", Text: text})
	}
	return lines
}

// drawnIn is what is seen of lines in so many columns.
func drawnIn(lines []steps.OutputLine, width, most int) string {
	var rows []string
	for _, r := range fit(lines, width-2, most) {
		rows = append(rows, strings.TrimRight(unstyled([]string{r.draw(ink.New(true, colorprofile.NoTTY), lines[r.line], width)}), " \n"))
	}
	return strings.Join(rows, "\n")
}

const perftestHead = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"

// What is too wide closes up and then goes on below, a table at the same columns; where that
// would take too much room, it says that something is cut.
func TestOutputFits(t *testing.T) {
	table := printedLines(
		strings.Repeat("-", 88), perftestHead,
		" 65536      500000           0.00               11032.34             0.176517", strings.Repeat("-", 88))
	address := printedLines("enp1s0f0np0      UP             192.168.100.11/24 fe80::4ebb:47ff:fe2c:1131/64")
	key := printedLines("hca_id: rocep1s0f1", "                        active_mtu:             1024 (3)")
	for _, x := range []struct {
		name        string
		lines       []steps.OutputLine
		width, most int
		want        string
	}{
		{"wide enough", table, 100, 4, "│ " + strings.Repeat("-", 88) + "\n│ " + perftestHead +
			"\n│  65536      500000           0.00               11032.34             0.176517\n│ " + strings.Repeat("-", 88)},
		{"closed up", table, 76, 4, "│ " + strings.Repeat("-", 74) + "\n" +
			"│  #bytes  #iterations  BW peak[MB/sec]  BW average[MB/sec]  MsgRate[Mpps]\n" +
			"│  65536   500000         0.00             11032.34            0.176517\n│ " + strings.Repeat("-", 74)},
		{"goes on", table, 52, 7, "│ " + strings.Repeat("-", 50) + "\n" +
			"│  #bytes  #iterations  BW peak[MB/sec]\n┊ BW average[MB/sec]  MsgRate[Mpps]\n" +
			"│  65536   500000         0.00\n┊   11032.34            0.176517\n│ " + strings.Repeat("-", 50)},
		{"no room to go on", table, 52, 4, "│ " + strings.Repeat("-", 50) + "\n" +
			"│  #bytes  #iterations  BW peak[MB/sec]  BW average…\n" +
			"│  65536   500000         0.00             11032.34…\n│ " + strings.Repeat("-", 50)},
		{"words of one line", address, 40, 7, "│ enp1s0f0np0  UP  192.168.100.11/24\n┊ fe80::4ebb:47ff:fe2c:1131/64"},
		{
			"a word wider than the pane", printedLines("a /sys/class/infiniband/rocep1s0f0/ports/1"), 22, 7,
			"│ a\n┊ /sys/class/infiniban\n┊ d/rocep1s0f0/ports/1",
		},
		{"indents", key, 42, 7, "│ hca_id: rocep1s0f1\n│                     active_mtu:\n┊ 1024 (3)"},
		{
			"no more than four rows", printedLines(strings.Repeat("word ", 40)), 22, 9,
			"│ word word word word\n┊ word word word word\n┊ word word word word\n┊ word word word word…",
		},
		{"wide letters", printedLines("速度 測定 結果 良好"), 13, 7, "│ 速度 測定\n┊ 結果 良好"},
	} {
		if got := drawnIn(x.lines, x.width, x.most); got != x.want {
			t.Errorf("%s, in %d columns:\n%s\nwant:\n%s", x.name, x.width, got, x.want)
		}
	}
}

// No width and no text breaks the frame, and none of what fits is lost.
func TestOutputFitsAnyWidth(t *testing.T) {
	texts := []string{
		"", " ", perftestHead, "\ttab\there", "…", strings.Repeat("x", 300), strings.Repeat("a b", 200), "速度" + strings.Repeat(" ", 90) + "x",
		"\x1b[31mno escape\x07", strings.Repeat("=", 40), "e\u0301 e\u0301", "\xff\xfe",
	}
	k := ink.New(true, colorprofile.TrueColor)
	for width := range 100 {
		for i := range texts {
			for n := 1; i+n <= len(texts) && n < 4; n++ {
				lines := printedLines(texts[i : i+n]...)
				for _, most := range []int{1, 4, 100} {
					rows := fit(lines, width-2, most)
					seen := map[int]bool{}
					for _, r := range rows {
						seen[r.line] = true
						if got := r.draw(k, lines[r.line], width); lipgloss.Width(got) > width {
							t.Fatalf("%q in %d columns: %q is %d wide", lines[r.line].Text, width, got, lipgloss.Width(got))
						}
					}
					if len(seen) != n {
						t.Fatalf("%q in %d columns: %d lines are seen of %d", texts[i:i+n], width, len(seen), n)
					}
				}
			}
		}
	}
}

// Of a long output those lines are seen that tell something, unless it failed.
func TestTellingLines(t *testing.T) {
	c := Cell{Cell: steps.Cell{Shows: "^state|mtu", Roles: []steps.Role{{Script: "look"}}}, View: View{Keep: 5}}
	lines := printedLines("device", "state: UP", "lid 1", "mtu: 1024", "lid 2", "", "lid 3", "lid 4", "lid 5", "")
	c.State = steps.CellState{Run: 1, HasExit: true, Output: steps.Scroll{}.Append(lines)}
	draw := func() string {
		return unstyled(c.Draw(ink.New(true, colorprofile.NoTTY), 60).Lines)
	}
	if got := draw(); !strings.Contains(got, "7 more lines, O opens") || !strings.Contains(got, "│ state: UP\n   │ mtu: 1024") ||
		strings.Contains(got, "lid") {
		t.Errorf("got:\n%s", got)
	}
	c.State.Exit.Code = 1
	if got := draw(); !strings.Contains(got, "lid 5") {
		t.Errorf("of a failure the end is not seen:\n%s", got)
	}
	c.State.Exit.Code, c.Shows = 0, "nothing of it"
	if got := draw(); !strings.Contains(got, "lid 5") || !strings.Contains(got, "4 more lines") {
		t.Errorf("where no line matches:\n%s", got)
	}
}
