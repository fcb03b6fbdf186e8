package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/screen"
)

func TestFirstScreen(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 80, 24)
	s.sees("railbench", "Set-up", "SIMULATED RIG", "here", "⇄", "peer",
		"--peer USER@HOST", "connecting to both nodes", "enter run")
	s.tell(connected()...)
	s.sees("spark-02", "spark-01")
	s.seesNot("connecting")
	s.tell(steps.NodeChanged{Node: 1, State: 2, Cause: "no answer for 5 s"})
	s.sees("spark-01 disconnected: no answer for 5 s")
}

// An alert says what to do at its end, so it may need more than a line.
func TestAnAlertIsReadToItsEnd(t *testing.T) {
	s := start(t, 80, 24)
	s.tell(steps.NodeChanged{
		Node: 1, State: 2,
		Cause: "no key and no password was accepted (offered: the public keys)." +
			" Put a key there with ssh-copy-id nvidia@spark-01",
	})
	s.sees("spark-01 disconnected: no key", "ssh-copy-id", "enter run")
	s.tell(steps.NodeChanged{Node: 1, State: 2, Cause: strings.Repeat("much too long ", 100)})
	s.sees("long much…", "enter run")
}

// A connection can be lost and back before anybody looks.
func TestALostConnectionIsToldOfOnceItIsBack(t *testing.T) {
	s := start(t, 100, 40)
	s.tell(steps.NodeChanged{Node: 1, State: 2}, steps.NodeChanged{Node: 1}, steps.NodeChanged{Node: 1, State: 1})
	s.sees("spark-01 was lost, and is connected again")
	s.press("down")
	s.seesNot("was lost")
}

func TestInterruptingIsToldUntilItIsDone(t *testing.T) {
	s := start(t, 100, 40)
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.press("i", "i")
	s.sees("interrupting …")
	s.tell(steps.CellEnded{Run: 1, Cell: "gids"})
	s.seesNot("interrupting …")
}

func TestABoardThatStaysEmptySaysSo(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 30)
	s.sees("no counters yet")
	rig := sampleRig()
	rig.Probed = s.now
	s.tell(steps.RigProbed{Rig: rig})
	s.sees("neither spark-02 nor spark-01 has an RDMA device")
}

func TestARunFromKeyToVerdict(t *testing.T) {
	s := start(t, 120, 50)
	s.press("4", "enter")
	s.asked("run ib-write-bw")
	s.tell(steps.CellQueued{Cell: "ib-write-bw"})
	s.sees("◌ next")
	s.tell(steps.CellStarted{Run: 7, Cell: "ib-write-bw", At: s.now})
	s.now = s.now.Add(2300 * time.Millisecond)
	s.send(s.Spinner.Tick())
	s.sees("[7]", "running 2.3 s", "server spark-01 · client spark-02", "i interrupt")
	s.tell(steps.CellPrinted{Run: 7, Cell: "ib-write-bw", Lines: lines(5000, "row")})
	s.sees("4999 row", "more lines, O opens")
	s.seesNot("  17 row")
	s.tell(passed(7, "ib-write-bw"))
	s.sees("✓ PASS SIMULATED", "Rail 1 carried 100 %", "6.2 s", "exit 0", "e shows why")
	s.press("e")
	s.sees("rocep1s0f0 bandwidth", "92.5 Gb/s, expected 88 to 92.6 Gb/s · link 200, MTU 1024",
		"350,123,456 bytes", "350.1 MB")
	s.sees("◐ 4 RDMA baseline")
	// Late lines of a run that is over change nothing.
	s.tell(steps.CellPrinted{Run: 7, Cell: "ib-write-bw", Lines: lines(1, "late")})
	s.seesNot("late")
}

// The output under a running cell ends with what was printed last, and the verdict
// is seen without a key, at the smallest size, too.
func TestTheRunningCellStaysInView(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := start(t, size[0], size[1])
			s.press("1", "enter", "A")
			for i, c := range sampleTutorial().Cells() {
				run := steps.RunID(i + 1)
				s.tell(steps.CellStarted{Run: run, Cell: c.ID, At: s.now})
				s.sees("running")
				s.tell(steps.CellPrinted{Run: run, Cell: c.ID, Lines: lines(100, "row")})
				s.sees("99 row", "running")
				s.tell(passed(run, c.ID))
				s.sees("PASS SIMULATED", fmt.Sprintf("[%d]", run))
			}
		})
	}
}

func TestMovingAwayStopsFollowing(t *testing.T) {
	s := start(t, 100, 30)
	s.press("1", "A")
	s.tell(steps.CellStarted{Run: 1, Cell: "nodes", At: s.now})
	s.press("tab") // to have a look at the next part
	s.tell(passed(1, "nodes"), steps.CellStarted{Run: 2, Cell: "tools", At: s.now})
	if s.notebook.open().ID != "devices" {
		t.Errorf("the screen went to %s by itself", s.notebook.open().ID)
	}
}

// Every line of a part can be brought into view, whatever the size.
func TestEverythingCanBeRead(t *testing.T) {
	for _, keys := range [][]string{{"pgdown"}, {"ctrl+d"}} {
		s := start(t, 60, 20)
		s.press("home")
		seen := map[string]bool{}
		look := func() {
			for l := range strings.SplitSeq(s.plain(), "\n") {
				if _, note, ok := strings.Cut(l, "│"); ok {
					seen[strings.TrimRight(strings.TrimLeft(note, "▌ "), " ▐")] = true
				}
			}
		}
		for range 200 {
			look()
			s.press(keys...)
		}
		d := s.notebook.lines()
		for _, it := range d.items {
			for _, l := range it {
				text := strings.TrimRight(strings.TrimLeft(ansi.Strip(l), "▌ "), " ")
				// The same test for the pane's own rules.
				if _, note, ok := strings.Cut("│"+text, "│"); ok && !seen[note] && note != "" {
					t.Errorf("%v never showed %q", keys, text)
				}
			}
		}
	}
}

func TestTheSelectionIsAlwaysSeen(t *testing.T) {
	s := start(t, 80, 24)
	keys := []string{
		"j", "pgdown", "k", "4", "ctrl+d", "end", "pgup", "home", "tab", "j", "j", "ctrl+u",
		"1", "pgdown", "pgdown", "k", "2", "up", "up", "end", "g", "g", "j", "g", "s", "j", "s",
	}
	for i := range 300 {
		k := keys[(i*7+i/5)%len(keys)]
		s.press(k)
		if i%11 == 0 {
			s.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown, X: 40, Y: 5})
		}
		if s.Layers.Has(screen.Gauges) {
			continue
		}
		s.view()
		d, h := s.notebook.lines(), s.Model.Layout().NoteHeight
		top, p := s.notebook.top(d), s.notebook.cursor()
		if d.starts[p.item] >= top+h || d.end(p.item) <= top {
			t.Fatalf("after key %d (%s) item %d (%d–%d) is outside of %d–%d",
				i, k, p.item, d.starts[p.item], d.end(p.item), top, top+h)
		}
	}
}

// A tool's colours are on the screen, in the notebook and in an opened output, and
// are gone where the user wants none.
func TestColoursOfTools(t *testing.T) {
	s := start(t, 100, 40)
	s.press("3")
	const red = "\x1b[31mred\x1b[m plain"
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: []steps.OutputLine{
			{Text: "red plain", Spans: []steps.Span{{Style: steps.Style{Fg: runner.Indexed(1)}}, {At: 3}}},
			{Text: "\x1b[32mnot cleaned"},
		}})
	for _, where := range []string{"the notebook", "the opened output"} {
		if !strings.Contains(s.view(), red) {
			t.Errorf("no colour in %s: %q", where, s.view())
		}
		s.sees("\uFFFD[32mnot cleaned")
		s.press("O")
	}
	s.Opts.Terminal.NoColor = true
	s.restyle()
	if strings.Contains(s.view(), red) {
		t.Error("colours although the user wants none")
	}
}

func TestOpenOutput(t *testing.T) {
	s := start(t, 80, 24)
	s.press("3", "j")
	s.press("O")
	s.sees("it has printed nothing")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(1000, strings.Repeat("wide ", 30)+"END")})
	s.press("O")
	s.sees("GID tables · output", "follows", "   999 wide", "of 1,000")
	s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(10, "more")})
	s.sees("     9 more", "of 1,010")

	// Scrolled up it stays where it is, even while old lines are dropped.
	s.press("pgup")
	s.seesNot("follows")
	for range 25 {
		s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(900, "flood")})
	}
	if s.output.PageState().Output.Dropped() == 0 {
		t.Fatal("nothing was dropped: the test tests nothing")
	}
	if s.output.Page.Top != 0 {
		t.Errorf("the window is at line %d of what is kept, not at the first: its lines are gone", s.output.Page.Top)
	}
	s.press("end")
	s.press("pgup")
	at := s.output.PageState().Output.Lines(s.output.Page.Top, 1)[0].Text
	s.tell(steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(900, "flood")})
	if now := s.output.PageState().Output.Lines(s.output.Page.Top, 1)[0].Text; now != at {
		t.Errorf("the window moved from %q to %q", at, now)
	}
	s.press("end")
	s.sees("follows")

	// Long lines can be read to their end.
	s.press("home")
	s.tell(steps.CellStarted{Run: 2, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 2, Cell: "gids", Lines: lines(3, strings.Repeat("wide ", 30)+"END")})
	s.seesNot("END")
	for range 6 {
		s.press("right")
	}
	s.sees("END")
	s.press("esc")
	s.seesNot("· output")
}

func TestMouse(t *testing.T) {
	s := start(t, 100, 30)
	row := func(text string) int {
		for y, l := range strings.Split(s.plain(), "\n") {
			if strings.Contains(l, text) {
				return y
			}
		}
		t.Fatalf("%q is not on the screen", text)
		return 0
	}
	s.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: row("Device discovery")})
	s.sees("Interfaces")
	s.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 60, Y: row("[ ] RDMA devices")})
	s.press("enter")
	s.asked("run devices")
	s.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 6, Y: row("    The rail map")})
	s.press("enter")
	s.asked("run rail-map")
	s.press("1")
	s.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown, X: 60, Y: 8})
	if s.notebook.cursor().top == (anchor{}) {
		t.Error("the wheel doesn't scroll")
	}
	// Nowhere does a click do harm.
	for y := range 30 {
		for x := 0; x < 100; x += 9 {
			s.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: x, Y: y})
			s.view()
		}
	}
	s.asked()
}

func TestGaugesAndTheirModes(t *testing.T) {
	s := start(t, 120, 40)
	s.sees("rails  SIMULATED", "scale = link 200", "rocep1s0f0",
		"92.5 wire  87.5 payload", "down: rocep1s0f1", "╎")
	s.press("g")
	s.sees("RDMA+IP", "PCIe 126", "avg  90.1", "51 s", "200┤", "RoCE MTU 1024", "all nodes   tx 113.8 wire 107.8 payload",
		"SIMULATED")
	s.press("g", "_")
	s.seesNot("scale =")
	s.press("_")
	s.sees("scale =")
	// Twice at once is the top, of whatever is open; a g that comes later only goes back.
	s.press("end", "g", "g")
	if s.Layers.Top() != screen.Notebook || s.notebook.cursor().item != 0 {
		t.Error("g g is not the top")
	}
	s.press("end", "g")
	s.now = s.now.Add(twiceWithin + 1)
	if s.press("g"); s.Layers.Top() != screen.Notebook || s.notebook.cursor().item == 0 {
		t.Error("a later g is the top")
	}
	b := sampleBoard(1, 0)
	b.Gauges[0].Stale = "no sample for 3 s"
	b.Gauges[1].LinkGbps = 0
	s.send(snapshotMsg(b))
	s.send(paceMsg{})
	s.sees("stale: no sample for 3 s", "highest seen where unknown")
}

// Events and boards are drawn 30 times a second at most, and nothing is lost.
func TestPace(t *testing.T) {
	s := start(t, 100, 30)
	s.press("3")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now})
	s.view()
	s.now = s.now.Add(framePace)
	s.Update(eventsMsg{steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(1, "one")}})
	s.sees("0 one") // at once: nothing was drawn lately
	for range 100 {
		s.Update(eventsMsg{steps.CellPrinted{Run: 1, Cell: "gids", Lines: lines(1, "two")}})
	}
	s.seesNot("0 two")
	s.Update(paceMsg{})
	s.sees("0 two")
	if s.pacing {
		t.Error("the pace goes on with nothing to draw")
	}
	s.tell(passed(1, "gids"))
	s.send(s.Spinner.Tick())
	if s.ticking {
		t.Error("the clock runs while no cell does: an idle screen costs time")
	}
}

func TestDistinctNamesAndNumbers(t *testing.T) {
	s := start(t, 80, 24)
	s.press("3", "j")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now},
		steps.CellPrinted{Run: 1, Cell: "gids", Lines: []steps.OutputLine{
			{From: "spark-02", Text: "mine"},
			{From: "spark-01", Text: "theirs"},
			{Kind: steps.Note, Text: "a note"},
			{Kind: steps.FromStderr, From: "spark-01", Text: "an error"},
		}})
	s.sees("02 │ mine", "01 │ theirs", "· a note", "01 ╏ an error")
}

func TestASecretsQuestionSaysWhereItGoes(t *testing.T) {
	for _, c := range []struct {
		what, of string
		sees     []string
		lacks    string
	}{
		{"sudo password", "spark-01", []string{"sudo password", "enter send", "sent on a stream"}, "for  "},
		{
			"passphrase", "/home/me/.ssh/id",
			[]string{"/home/me/.ssh/id", "enter unlock", "on this machine only"},
			"sent on",
		},
	} {
		s := start(t, 100, 40)
		q := steps.Question{Answer: func(string, bool) {}}
		secret := fresh(&q.Secret)
		secret.Node, secret.What, secret.For = "spark-01", c.what, c.of
		s.send(questionMsg(q))
		s.sees(c.sees...)
		s.seesNot(c.lacks)
	}
}

// What a running cell measures is seen row by row, and its verdict first of all
// that is below it.
func TestTheTableGrowsWhileACellRuns(t *testing.T) {
	s := newScreen(t, sampleTutorial(), 100, 30)
	s.tell(connected()...)
	s.press("4", "j", "enter")
	s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now},
		steps.CellMeasured{Run: 1, Cell: "ib-write-bw", Table: sampleTable(1)})
	s.sees("nixlbench", "64 KiB")
	s.seesNot("128 KiB")
	s.tell(steps.CellMeasured{Run: 1, Cell: "ib-write-bw", Table: sampleTable(2)})
	s.sees("64 KiB", "128 KiB")
	e := passed(1, "ib-write-bw")
	for range 4 {
		e.Verdict.Tables = append(e.Verdict.Tables, sampleTable(11))
	}
	s.tell(e)
	s.sees("PASS", "nixlbench", "64 KiB")
}

// A queue that a FAIL has emptied says where it stopped and how to go on.
func TestAStoppedQueueSaysSo(t *testing.T) {
	for width, want := range map[int]string{
		120: "stopped at The two nodes (FAIL), 2 cells not run: w looks for why, R runs the rest",
		80:  "stopped at a FAIL, 2 cells not run: w looks for why, R runs the rest",
	} {
		s := start(t, width, 24)
		s.press("A")
		s.tell(steps.CellQueued{Cell: "nodes"}, steps.CellQueued{Cell: "tools"}, steps.CellQueued{Cell: "gids"},
			steps.CellStarted{Run: 1, Cell: "nodes", At: s.now})
		failed := passed(1, "nodes")
		failed.Verdict.Grade = steps.Fail
		s.tell(failed, steps.CellDequeued{Cell: "tools"}, steps.CellDequeued{Cell: "gids"})
		s.sees(want)
	}
}

// space selects the next cell, and what it has run is watched to its verdict.
func TestTheVerdictIsSeenAfterSpace(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}} {
		s := start(t, size[0], size[1])
		s.press("4", "home", "j")
		s.readsOn()
		s.press("space")
		s.asked("run ib-write-bw")
		s.tell(steps.CellStarted{Run: 1, Cell: "ib-write-bw", At: s.now},
			steps.CellPrinted{Run: 1, Cell: "ib-write-bw", Lines: lines(100, "row")}, passed(1, "ib-write-bw"))
		s.sees("PASS SIMULATED", "Latency of one rail")
		if c, _ := s.notebook.Selected(); c.ID != "ib-write-lat" {
			t.Errorf("%s is selected", c.ID)
		}
		// The last one of a part stays, with its verdict, until it is asked for again.
		s.readsOn()
		s.press("space")
		s.tell(steps.CellStarted{Run: 2, Cell: "ib-write-lat", At: s.now}, passed(2, "ib-write-lat"))
		s.sees("PASS SIMULATED", "[2]")
	}
	// Asked for again it goes on to the next part, and runs nothing a second time.
	s := start(t, 120, 40)
	s.press("3", "home", "j", "space")
	s.asked("run gids")
	s.tell(steps.CellStarted{Run: 1, Cell: "gids", At: s.now}, passed(1, "gids"))
	s.sees("space next part")
	s.press("space")
	s.asked()
	if s.notebook.part != 3 {
		t.Errorf("part %d is open", s.notebook.part+1)
	}
}

// readsOn presses space as long as it shows more of the selected cell, and looks that nothing of it is left out.
func (s *driven) readsOn() {
	s.t.Helper()
	for s.notebook.spaceDoes() == "read on" {
		d, h := s.notebook.lines(), s.notebook.Layout().NoteHeight
		before := s.notebook.top(d)
		item := s.notebook.cursor().item
		s.press("space")
		after := s.notebook.top(d)
		if s.notebook.cursor().item != item || after <= before || after > max(before+h-1, d.starts[item]) {
			s.t.Fatalf("item %d: from line %d to %d of %d", item, before, after, d.end(item))
		}
	}
}

// An introduction that is longer than the screen is read to its end before space leaves it.
func TestSpaceReadsOn(t *testing.T) {
	s := start(t, 80, 24)
	s.press("home")
	if got := s.notebook.spaceDoes(); got != "read on" {
		t.Fatalf("space would %s", got)
	}
	s.readsOn()
	d, h := s.notebook.lines(), s.notebook.Layout().NoteHeight
	if end := d.end(0); s.notebook.top(d)+h < end {
		t.Errorf("read to line %d of %d", s.notebook.top(d)+h, end)
	}
	if s.press("space"); s.notebook.cursor().item != 1 {
		t.Error("space does not go on")
	}
	s.asked()
}

// A key that does nothing says so, where no one gives a presentation.
func TestNoKeyIsSilent(t *testing.T) {
	s := start(t, 120, 40)
	for key, says := range map[string]string{
		"Q": "Q does nothing here", "ctrl+z": "ctrl+z does nothing here", "e": "select a cell", "o": "printed nothing",
		"S": "no script here", "*": "note 1", "W": "all columns",
	} {
		s.press("1", "home", key)
		if !strings.Contains(s.Notice, says) {
			t.Errorf("%s: %q", key, s.Notice)
		}
	}
	s.press("j", "e")
	s.sees("it has not run yet")
}

// While nothing moves the gauges are a line, which says what is down; they open with the first rate.
func TestGaugesFold(t *testing.T) {
	s := start(t, 120, 40)
	b := sampleBoard(4, 0)
	for i := range b.Gauges {
		b.Gauges[i].Tx, b.Gauges[i].Rx = meter.Flow{}, meter.Flow{}
	}
	s.now = s.now.Add(screen.OpenFor + 1)
	s.send(snapshotMsg(b))
	s.send(paceMsg{})
	s.sees("4 ports idle, 4 down: g shows them")
	s.seesNot("scale =")
	b.Gauges[0].Tx.RDMA = 0.1
	s.send(snapshotMsg(b))
	s.send(paceMsg{})
	s.sees("scale = link 200")
	// What moved is read for a while.
	b.Gauges[0].Tx.RDMA = 0
	s.send(snapshotMsg(b))
	s.send(paceMsg{})
	s.sees("scale = link 200")
}

// j and k go cell by cell, however long a cell is.
func TestCellByCell(t *testing.T) {
	s := start(t, 60, 20)
	s.press("1", "home")
	for _, want := range []string{"nodes", "tools", "tools"} {
		s.press("j")
		if c, _ := s.notebook.Selected(); c.ID != want {
			t.Errorf("%s is selected, not %s", c.ID, want)
		}
	}
	s.press("k", "k", "k")
	if s.notebook.cursor().item != 0 {
		t.Errorf("item %d is selected", s.notebook.cursor().item)
	}
}

func TestFoldingTheListAndFreeingTheMouse(t *testing.T) {
	s := start(t, 100, 30)
	s.sees("2 Device discovery")
	s.press("H")
	s.seesNot("2 Device discovery")
	s.press("H", "M")
	s.sees("2 Device discovery", "the mouse is the terminal's")
	if s.View().MouseMode != tea.MouseModeNone {
		t.Error("railbench still takes the mouse")
	}
}

// A part is done when every cell of the way has run. Cells that stand next to it don't count, unless the part has no
// others.
func TestAPartOfCellsBesideTheWay(t *testing.T) {
	cell := func(part, id string, aside bool) steps.Cell {
		return steps.Cell{
			ID: id, Part: part, Title: id, Aside: aside,
			Roles: []steps.Role{{On: steps.OnHere, Script: "true"}},
		}
	}
	s := newScreen(t, steps.Tutorial{Parts: []steps.Part{
		{ID: "way", Title: "Way", Cells: []steps.Cell{cell("way", "one", false), cell("way", "more", true)}},
		{ID: "demos", Title: "Demos", Cells: []steps.Cell{cell("demos", "first", true), cell("demos", "last", true)}},
	}}, 120, 40)
	run := func(n steps.RunID, id string) {
		s.tell(steps.CellStarted{Run: n, Cell: id, At: s.now}, passed(n, id))
	}
	run(1, "one")
	run(2, "first")
	s.sees("✓ 1 Way", "◐ 2 Demos")
	run(3, "last")
	s.sees("✓ 2 Demos")
}
