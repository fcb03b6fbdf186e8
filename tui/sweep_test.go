package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/screen"
)

// states are the pictures that every size is tried with.
func states() map[string]func(t testing.TB, w, h int) *driven {
	start := func(t testing.TB, tutorial steps.Tutorial, w, h int) *driven {
		s := newScreen(t, tutorial, w, h)
		s.tell(connected()...)
		s.send(snapshotMsg(sampleBoard(4, 0)))
		return s
	}
	hostile := []string{
		strings.Repeat("漢字かな交じり", 60),
		strings.Repeat("x", 4<<10),
		strings.Repeat("👩‍👩‍👧‍👦🇩🇪", 200),
		"e\u0301\u0323 \u200b\u200d \u202eright to left\u202c",
		"tab\ttab\t\tescape \x1b[31m red \x1b]0;title\a bell \r return \x9b0m \x00 nul",
		"\xff\xfe broken \xc3",
		"",
	}
	return map[string]func(testing.TB, int, int) *driven{
		"fresh": func(t testing.TB, w, h int) *driven { return newScreen(t, sampleTutorial(), w, h) },
		"empty": func(t testing.TB, w, h int) *driven {
			s := newScreen(t, steps.Tutorial{}, w, h)
			s.press("enter", "space", "j", "k", "tab", "A", "F", "P",
				"o", "O", "e", "S", "s", "c", "x", "v", "V", "H", "M", "i", "i", "end", "home", "pgdown", "3")
			return s
		},
		"bare parts": func(t testing.TB, w, h int) *driven {
			tt := steps.Tutorial{Parts: make([]steps.Part, 40)}
			s := start(t, tt, w, h)
			s.press("tab", "tab", "9", "enter", "space", "end")
			return s
		},
		"running": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("4", "j")
			s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now}, steps.CellQueued{Cell: "ib-write-lat"},
				steps.CellPrinted{Run: 1, Cell: "ib-write-bw", Lines: lines(20_000, "some output")})
			return s
		},
		"done": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("4", "j")
			s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now}, passed(1, "ib-write-bw"))
			s.press("e", "s")
			return s
		},
		"measuring": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("4", "j")
			s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now},
				steps.CellMeasured{Run: 1, Cell: "ib-write-bw", Table: sampleTable(3)})
			return s
		},
		"figures": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("4", "j")
			e := passed(1, "ib-write-bw")
			e.Verdict.Tables = []steps.Table{
				sampleTable(11),
				{
					Title: hostile[0], Columns: []steps.Column{{Name: hostile[4]}, {Name: hostile[2], Number: true}},
					Rows: [][]string{{hostile[1], hostile[3]}, {hostile[5]}}, Note: hostile[0],
				},
			}
			for _, shape := range []steps.Shape{steps.Bars, steps.LogBars, steps.Lines} {
				e.Verdict.Charts = append(e.Verdict.Charts,
					steps.Chart{
						Title: hostile[4], Shape: shape, Unit: hostile[0],
						Series: []steps.Series{{
							Name:   hostile[2],
							Points: []steps.Point{{X: 1, Y: 2}, {X: 1024, Y: 92.5}},
						}},
						Limits: []steps.Limit{{Name: hostile[0], Value: 200}},
					})
			}
			s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now}, e)
			s.press("e", "end")
			return s
		},
		"hostile": func(t testing.TB, w, h int) *driven {
			tt := sampleTutorial()
			for i := range tt.Parts {
				for j := range tt.Parts[i].Cells {
					c := &tt.Parts[i].Cells[j]
					c.Title, c.Prose, c.Tail = hostile[j%len(hostile)], strings.Join(hostile,
						"\n\n"), "| "+strings.Join(hostile, " | ")+" |"
					c.Roles[0].Script = strings.Join(hostile, "\n")
				}
				tt.Parts[i].Title = hostile[i]
			}
			s := start(t, tt, w, h)
			rig := sampleRig()
			rig.Nodes[0].Name, rig.Nodes[1].Name = hostile[0], hostile[4]
			var out []steps.OutputLine
			for i, text := range hostile {
				out = append(out, steps.OutputLine{
					Kind: steps.LineKind(i % 3),
					From: rig.Nodes[i%2].Name, Text: text, Spans: sampleSpans(len(text)),
				})
			}
			e := passed(1, "nodes")
			e.Verdict.Reason = hostile[0] + hostile[4] + hostile[1]
			e.Verdict.Evidence = append(e.Verdict.Evidence,
				steps.Evidence{Name: hostile[1], Value: hostile[2], Unit: hostile[4]})
			s.tell(steps.RigProbed{Rig: rig}, steps.NodeChanged{Node: 1, State: 2, Cause: hostile[4] + hostile[0]},
				steps.CellStarted{
					Run: 1, Cell: "nodes",
					At: s.now,
				}, steps.CellPrinted{Run: 1, Cell: "nodes", Lines: out}, e)
			s.press("j", "e", "end")
			return s
		},
		"open output": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("3", "j")
			s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
				steps.CellPrinted{Run: 1, Cell: "gids", Dropped: 7, Lines: lines(60, strings.Join(hostile[:4], " "))})
			s.press("O", "right", "k", "pgup")
			return s
		},
		"stale": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			b := sampleBoard(4, 0)
			for i := range b.Gauges {
				b.Gauges[i].Stale = "no sample for 3 s: the connection to spark-01 is gone"
				b.Gauges[i].LinkGbps = float64(i%2) * 400
				b.Gauges[i].Source = meter.Source(i % 3)
			}
			s.send(snapshotMsg(b))
			return s
		},
		"no ports": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			b := sampleBoard(1, 0)
			for i := range b.Gauges {
				g := &b.Gauges[i]
				g.LinkGbps, g.CeilingGbps, g.Source = 0, 0, meter.NetdevBytes
				g.Tx.RDMA, g.Tx.IP = 0, 123456.7
			}
			s.send(snapshotMsg(b))
			return s
		},
		"many rails": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			b := sampleBoard(16, 0)
			for i := range b.Gauges {
				b.Gauges[i].Down = false
			}
			s.send(snapshotMsg(b))
			return s
		},
		"checklist": func(t testing.TB, w, h int) *driven {
			s := start(t, withChecklist(), w, h)
			s.press("C")
			s.ends(1, "mtu-equal", steps.Verdict{
				Grade: steps.Fail, Reason: strings.Join(hostile, " "),
				Node: hostile[0], Evidence: []steps.Evidence{{Name: hostile[1], Value: hostile[2], Unit: hostile[4]}},
			})
			s.ends(2, "fix-mtu", steps.Verdict{Grade: steps.Inconclusive, Reason: hostile[3]})
			s.tell(steps.CellStarted{Run: 3, Cell: "gid-index", At: s.now}, steps.CellQueued{Cell: "memlock"})
			s.press("S")
			return s
		},
		"editor": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("3", "E")
			s.send(tea.PasteMsg{Content: strings.Join(hostile, "\n")})
			return s
		},
		"scratch": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("3", "b")
			s.send(tea.PasteMsg{Content: strings.Join(hostile, "\n")})
			s.press("esc", "m")
			return s
		},
		"palette": func(t testing.TB, w, h int) *driven {
			tt := withChecklist()
			tt.Parts[0].Cells[0].Title = hostile[4] + hostile[0]
			s := start(t, tt, w, h)
			s.press("ctrl+p", "down", "down", "o")
			return s
		},
		"symptoms": func(t testing.TB, w, h int) *driven {
			s := start(t, withChecklist(), w, h)
			s.press("C")
			s.send(tea.PasteMsg{Content: strings.Join(hostile, "\n")})
			return s
		},
		"parameters": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("4", "j", "p", "9", "ctrl+g", "down", "x")
			return s
		},
		"all parameters": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.Opts.Params = append(s.Opts.Params,
				steps.Param{Name: hostile[4], Does: hostile[0], Default: hostile[2], Unit: hostile[3], May: hostile[1]})
			s.tell(steps.ParamsSet{Params: steps.Settings{}.With("ib-write-bw",
				"PYTHON", hostile[1]).With("", "PYTHON", hostile[3])})
			s.press("p", "down", "down", "down")
			s.send(tea.PasteMsg{Content: strings.Join(hostile, "\n")})
			s.press("left", "left", "tab", "tab", "tab", "x", "home")
			return s
		},
		"changed parameters": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.Opts.Params = append(s.Opts.Params, steps.Param{
				Name: hostile[4], Does: hostile[0],
				Default: hostile[2], Unit: hostile[3], Cells: []string{"ib-write-bw"},
			})
			s.tell(steps.ParamsSet{Params: steps.Settings{}.With("ib-write-bw",
				hostile[4], hostile[0]).With("", "SIZE", "1048576")})
			s.press("4", "j")
			return s
		},
		"drill": func(t testing.TB, w, h int) *driven {
			s := start(t, withChecklist(), w, h)
			s.Opts.Drill = screen.Drill{Fault: "fault-of-mtu-equal", Title: hostile[0]}
			s.press("C")
			s.ends(1, "mtu-equal", steps.Verdict{Grade: steps.Fail, Reason: hostile[4]})
			return s
		},
		"gauges": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("g")
			return s
		},
		"no gauges": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("g", "g", "j", "j")
			return s
		},
		"help": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("?", "down")
			return s
		},
		"host key": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.send(questionMsg(hostKey(nil)))
			s.send(questionMsg(secret(nil, true)))
			return s
		},
		"secret": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.send(questionMsg(secret(nil, true)))
			s.send(tea.PasteMsg{Content: strings.Repeat("p", 300)})
			return s
		},
		"quitting": func(t testing.TB, w, h int) *driven {
			s := start(t, sampleTutorial(), w, h)
			s.press("ctrl+c")
			return s
		},
	}
}

func TestEverySizeFits(t *testing.T) {
	var sizes [][2]int
	stride := 8
	if testform.Full() {
		stride = 1
	}
	for w := 1; w <= 200; w += stride * (1 + w/40) {
		sizes = append(sizes, [2]int{w, 1 + w%60})
	}
	for h := 1; h <= 60; h += 7 * stride {
		sizes = append(sizes, [2]int{60, h}, [2]int{80, h}, [2]int{100, h}, [2]int{140, h}, [2]int{200, h})
	}
	sizes = append(sizes, [2]int{60, 20}, [2]int{80, 24}, [2]int{71, 20},
		[2]int{160, 30}, [2]int{160, 29}, [2]int{0, 0}, [2]int{300, 3}, [2]int{3, 300})
	for name, build := range states() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, size := range sizes {
				if i%9 == 0 {
					// Keys at this size, too.
					fits(t, build(t, size[0], size[1]), size)
				}
			}
			// The same screen at all sizes, one after the other.
			s := build(t, 80, 24)
			for _, size := range sizes {
				s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				fits(t, s, size)
			}
		})
	}
}

// sampleSpans colour a line of so many bytes, each third of them.
func sampleSpans(n int) (spans []steps.Span) {
	for at := 0; at < n; at += 3 {
		spans = append(spans, steps.Span{
			At:    int32(at),
			Style: steps.Style{Fg: runner.Indexed(uint8(at)), Attr: steps.Bold},
		}, steps.Span{At: int32(at + 1)})
	}
	return spans
}

func fits(t *testing.T, s *driven, size [2]int) {
	t.Helper()
	v := s.view()
	if size[0] == 0 {
		return
	}
	rows := strings.Split(v, "\n")
	if len(rows) > size[1] {
		t.Fatalf("%dx%d: %d lines", size[0], size[1], len(rows))
	}
	for i, r := range rows {
		if w := ansi.StringWidth(r); w > size[0] {
			t.Fatalf("%dx%d: line %d is %d wide: %q", size[0], size[1], i, w, r)
		}
		if strings.ContainsAny(ansi.Strip(r), "\x1b\r\t\a\x00") {
			t.Fatalf("%dx%d: line %d controls the terminal: %q", size[0], size[1], i, r)
		}
	}
	if size[0] >= screen.LeastWidth && size[1] >= screen.LeastHeight && len(rows) != size[1] {
		t.Fatalf("%dx%d: %d lines, the screen has %d", size[0], size[1], len(rows), size[1])
	}
}

// sampleTable is what a benchmark has measured after some rows.
func sampleTable(rows int) steps.Table {
	t := steps.Table{
		Title:   "nixlbench",
		Columns: []steps.Column{{Name: "block"}, {Name: "Gb/s", Number: true}, {Name: "latency us", Number: true}},
	}
	for i := range rows {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(64<<i, " KiB"),
			fmt.Sprintf("%.2f", 50+4*float64(i)), fmt.Sprintf("%.1f", 9.6*float64(i+1)),
		})
	}
	return t
}

func TestTooSmallSaysWhatItNeeds(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 59, 24)
	if v := s.view(); !strings.Contains(v, "60x20") || !strings.Contains(v, "59x24") {
		t.Errorf("got %q", v)
	}
}

func hostKey(answer func(string, bool)) steps.Question {
	q := steps.Question{Answer: answer}
	k := fresh(&q.HostKey)
	k.Node, k.Address, k.File = "spark-01", "192.168.100.10:22", "~/.ssh/known_hosts"
	k.KeyType, k.Fingerprint = "ssh-ed25519", "SHA256:abcdef"
	return q
}

func secret(answer func(string, bool), again bool) steps.Question {
	q := steps.Question{Answer: answer}
	p := fresh(&q.Secret)
	p.Node, p.What, p.For, p.Again = "spark-01", "sudo password", "nvidia", again
	return q
}

// plain is the frame without its styles.
func (s *driven) plain() string { return ansi.Strip(s.view()) }

func (s *driven) sees(want ...string) {
	s.t.Helper()
	v := s.plain()
	for _, w := range want {
		if !strings.Contains(v, w) {
			s.t.Errorf("%q is not on the screen:\n%s", w, v)
		}
	}
}

func (s *driven) seesNot(unwanted ...string) {
	s.t.Helper()
	v := s.plain()
	for _, w := range unwanted {
		if strings.Contains(v, w) {
			s.t.Errorf("%q is on the screen:\n%s", w, v)
		}
	}
}

func (s *driven) asked(want ...string) {
	s.t.Helper()
	if got := s.fake.took(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the session was asked %q, not %q", got, want)
	}
}
