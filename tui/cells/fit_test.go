package cells

import (
	"reflect"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
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
	lines, fits := fit(lines, width-2, most)
	for _, r := range fits {
		rows = append(rows, strings.TrimRight(unstyled([]string{r.draw(theme.New(true, colorprofile.NoTTY), lines[r.line],
			width)}), " \n"))
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
	gids := printedLines("DEV\tPORT\tGID", "rocep1s0f0\t1\t0000:0000:0000:0000:0000:ffff:c0a8:640b 192.168.100.11\tv2",
		"roceP2p1s0f0\t1\t0000:0000:0000:0000:0000:ffff:c0a8:660b 192.168.102.11\tv2")
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
		{
			"long words lose their middles before ends are cut", gids, 52, 5, "│ DEV     PORT  GID\n" +
				"│ rocep1s0f0    1    0000:000…:c0a8:640b\n┊ 192.168.100.11  v2\n" +
				"│ roceP2p1s0f0  1    0000:000…:c0a8:660b\n┊ 192.168.102.11  v2",
		},
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

// The columns of a table that is drawn with rules stay those of its head, below the rules as well.
func TestDrawnTableKeepsItsColumns(t *testing.T) {
	rule := "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+"
	table := printedLines(rule,
		"|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |", rule,
		"[thread 0]               925    874.796  1083.686  1083.686     8800.28    8800.28         923         923",
		"Final:                 10000      0.716     0.741     0.741     2633.63    2633.63     1349871     1349871")
	for _, part := range [][]steps.OutputLine{table, table[1:]} { // its first rule may be cut off
		for width := 50; width <= 120; width++ {
			_, rows := fit(part, width-2, 20)
			var head, last [][]strip
			for _, r := range rows {
				switch text := part[r.line].Text; {
				case r.rule != strings.HasPrefix(text, "+"):
					t.Fatalf("in %d columns %q is a rule, or no rule", width, text)
				case strings.HasPrefix(text, "|"):
					head = append(head, r.strips)
				case strings.HasPrefix(text, "Final"):
					last = append(last, r.strips)
				}
			}
			if !reflect.DeepEqual(head, last) {
				t.Errorf("in %d columns: %v above %v", width, head, last)
			}
		}
	}
}

// A row that fits only in two has its long words shortened first: what stands below its head is read by it.
func TestLongWordsRatherThanBrokenRows(t *testing.T) {
	gids := printedLines("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV",
		"rocep1s0f0\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:640b\t192.168.100.11  \tv2\tenp1s0f0np0",
		"roceP2p1s0f0\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:660b\t192.168.102.11  \tv2\tenP2p1s0f0np0")
	want := "│ DEV           PORT  INDEX  GID                  IPv4            VER  DEV\n" +
		"│ rocep1s0f0    1     3      0000:000…:c0a8:640b  192.168.100.11  v2   enp1s0f0np0\n" +
		"│ roceP2p1s0f0  1     3      0000:000…:c0a8:660b  192.168.102.11  v2   enP2p1s0f0np0"
	if got := drawnIn(gids, 88, 10); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Output that is cut begins at a line that names the object, as long as most of the output stays. The output
// of a failed cell is kept whole.
func TestCutOutputBeginsAtAHead(t *testing.T) {
	for _, x := range []struct {
		name  string
		lines []string
		want  string // the first that is seen of the last six
	}{
		{"ibv_devinfo", []string{
			"hca_id:\trocep1s0f0", "\t\tactive_mtu: 1024", "\t\tlink_layer: Ethernet",
			"hca_id:\trocep1s0f1", "\t\tactive_mtu: 1024", "\t\tlink_layer: Ethernet",
			"hca_id:\troceP2p1s0f0", "\t\tactive_mtu: 1024",
		}, "hca_id:\trocep1s0f1"},
		{"perftest", []string{
			" local address:", " GID: 1", " remote address:", " GID: 2", "------------", " #bytes",
			" 65536", "------------", "a", "b",
		}, "------------"},
		{"iperf3's JSON", []string{
			"\t\t\"streams\":\t[{", "\t\t\t\"bits_per_second\": 1", "\t\t\t\"bits_per_second\": 2",
			"\t\t\"sum_sent\":\t{", "\t\t\t\"bits_per_second\": 3", "\t\t\"sum_received\":\t{", "\t\t\t\"bits_per_second\": 3",
			"\t\t}",
		}, "\t\t\"sum_sent\":\t{"},
		{"ucx_info", []string{
			"#      Transport: tcp", "#         Device: enp1s0f0np0", "#      Transport: rc_mlx5",
			"#         Device: rocep1s0f0:1",
			"#      Transport: cma", "#         Device: memory", "    -asio_address", "    -etcd_endpoints", "Python has nixl",
		}, "#      Transport: cma"},
		{"a head that comes late", []string{"a", " b", " c", " d", " e", " f", " g", "h"}, " c"},
		{"no heads", []string{"  a", "  b", "  c", "  d", "  e", "  f", "  g", "  h"}, "  c"},
	} {
		c := Cell{State: steps.CellState{HasExit: true}}
		if few, _ := c.few(printedLines(x.lines...), 6); few[0].Text != x.want {
			t.Errorf("%s: it begins with %q, not %q", x.name, few[0].Text, x.want)
		}
		c.State.Exit.Code = 1
		if few, _ := c.few(printedLines(x.lines...), 6); len(few) != 6 {
			t.Errorf("%s failed, and %d lines are left", x.name, len(few))
		}
	}
}

// A rule closes a table as well: the row above it stays, whatever railbench says after it.
func TestCutOutputKeepsTheLastRow(t *testing.T) {
	lines := printedLines("a", "b", "c", perftestHead,
		" 65536      500000           0.00               11032.34             0.176517", strings.Repeat("-", 88))
	lines = append(lines, steps.OutputLine{From: "a", Text: "server: exit 0", Kind: steps.Note})
	few, _ := Cell{State: steps.CellState{HasExit: true}}.few(lines, 4)
	if len(few) != 4 || few[0].Text != perftestHead {
		t.Errorf("%+v", few)
	}
}

// No width and no text breaks the frame, and none of what fits is lost.
func TestOutputFitsAnyWidth(t *testing.T) {
	texts := []string{
		"", " ", perftestHead, "\ttab\there", "…", strings.Repeat("x", 300), strings.Repeat("a b", 200),
		"速度" + strings.Repeat(" ", 90) + "x",
		"\x1b[31mno escape\x07", strings.Repeat("=", 40), "e\u0301 e\u0301", "\xff\xfe",
	}
	k := theme.New(true, colorprofile.TrueColor)
	for width := range 100 {
		for i := range texts {
			for n := 1; i+n <= len(texts) && n < 4; n++ {
				lines := printedLines(texts[i : i+n]...)
				for _, most := range []int{1, 4, 100} {
					lines, rows := fit(lines, width-2, most)
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

// Of a long output those lines are seen that report something, unless it failed.
func TestTellingLines(t *testing.T) {
	c := Cell{Cell: steps.Cell{Shows: "^state|mtu", Roles: []steps.Role{{Script: "look"}}}, View: View{Keep: 5}}
	lines := printedLines("device", "state: UP", "lid 1", "mtu: 1024", "lid 2", "", "lid 3", "lid 4", "lid 5", "")
	c.State = steps.CellState{Run: 1, HasExit: true, Output: steps.Scroll{}.Append(lines)}
	draw := func() string {
		return unstyled(c.Draw(theme.New(true, colorprofile.NoTTY), 60).Lines)
	}
	if got := draw(); !strings.Contains(got, "7 more lines, O opens") ||
		!strings.Contains(got, "│ state: UP\n   │ mtu: 1024") ||
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

// Of a long table the last rows are seen, below its head; what only stands above other lines is none.
func TestCutTableKeepsItsHead(t *testing.T) {
	rule := strings.Repeat("-", 88)
	row := func(size string) string {
		return " " + size + "      500000           0.00               11032.34             0.176517"
	}
	for _, x := range []struct {
		name  string
		lines []string
		want  string // the first that is seen of the last three
		seen  int
	}{
		{
			"perftest",
			[]string{"Connection type : RC", rule, perftestHead, row("2"), row("4"), row("8"), row("16"), row("32")},
			perftestHead, 3,
		},
		{
			"a rule below the head",
			[]string{"Block  Batch  Rate", rule, "1 2 3", "2 2 3", "4 2 3", "8 2 3", "16 2 3"},
			"Block  Batch  Rate", 3,
		},
		{"another line above", []string{"a b c", "two words", "1 2 3", "2 2 3", "4 2 3", "8 2 3", "16 2 3"}, "4 2 3", 3},
		{"no table", []string{"state: 4 ACTIVE", "a b c", "d e f", "g h i", "j k l", "m n o"}, "g h i", 3},
		{
			"a sentence",
			[]string{
				"--- 192.168.202.10 ping statistics ---", "3 packets transmitted, 3 received, time 424ms",
				"rtt min/avg/max", "b", "c",
			},
			"rtt min/avg/max", 3,
		},
		{
			"a sentence is first",
			[]string{
				"a", "--- 192.168.202.10 ping statistics ---",
				"3 packets transmitted, 3 received, time 424ms", "rtt min/avg/max", "c",
			},
			"3 packets transmitted, 3 received, time 424ms", 3,
		},
		{"iperf3", []string{
			"[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
			"[  5]   0.00-1.00   sec  10.9 GBytes  93.7 Gbits/sec    0   3.05 MBytes",
			"[  5]   1.00-2.00   sec  10.9 GBytes  93.7 Gbits/sec    0   3.05 MBytes",
			"[  5]   2.00-3.00   sec  10.9 GBytes  93.7 Gbits/sec    0   3.05 MBytes",
			"[  5]   3.00-4.00   sec  10.9 GBytes  93.7 Gbits/sec    0   3.05 MBytes",
			"[  5]   4.00-5.00   sec  10.9 GBytes  93.7 Gbits/sec    0   3.05 MBytes",
		}, "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd", 3},
		{"nothing above", []string{"1 2 3", "2 2 3", "4 2 3", "8 2 3", "16 2 3"}, "4 2 3", 3},
	} {
		few, seen := Cell{}.few(printedLines(x.lines...), 3)
		last := x.lines[len(x.lines)-1]
		if len(few) != 3 || few[0].Text != x.want || few[2].Text != last || seen != x.seen {
			t.Errorf("%s: %d, %v", x.name, seen, few)
		}
	}
}

// Between the head of a table and its rows a log may say how the program begins. Where it failed, that may be why.
func TestALogIsNoRow(t *testing.T) {
	const head = "|    Stage     | # iterations | 50.0%ile | average | overall |"
	const said = "[1795221363.494806] [spark-02:1950 :0]     ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from " +
		"/lib/libucp.so.0)"
	lines := printedLines("a", head, said, "[thread 0]   414  4799.427  4813.869  4813.869",
		"[thread 0]   424  4799.427  4813.869  4813.869",
		"[thread 0]   434  4799.427  4813.869  4813.869", "Final:   500  4809.026  4869.844  4823.497")
	var c Cell
	c.State.HasExit = true
	if few, _ := c.few(lines, 3); len(few) != 3 || few[0].Text != head {
		t.Errorf("where it ended well: %v", few)
	}
	c.State.Exit.Code = 1
	if few, _ := c.few(lines[:4], 2); len(few) != 2 || few[0].Text != said {
		t.Errorf("where it failed: %v", few)
	}
	// Where there is nothing else, it is seen.
	c.State.Exit.Code = 0
	if few, _ := c.few(printedLines(said), 3); len(few) != 1 {
		t.Errorf("alone: %v", few)
	}
}
