package steps

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func lines(from, n int) []OutputLine {
	var out []OutputLine
	for i := range n {
		out = append(out, OutputLine{Text: fmt.Sprint(from + i)})
	}
	return out
}

func fold(events ...Event) Notebook {
	n := NewNotebook(Tutorial{})
	for _, e := range events {
		n = n.Apply(e)
	}
	return n
}

func TestNotebookFoldsARun(t *testing.T) {
	n := fold(CellQueued{"a"}, CellQueued{"b"}, CellStarted{Run: 1, Cell: "a"},
		CellPrinted{Run: 1, Cell: "a", Lines: lines(0, 2)})
	if n.Running != "a" || len(n.Queue) != 1 || n.Queue[0] != "b" ||
		n.Cells["a"].Output.Len() != 2 || !n.Cells["a"].Running {
		t.Errorf("%+v", n)
	}
	ended := n.Apply(CellEnded{Run: 1, Cell: "a", Verdict: Verdict{Grade: Pass}})
	if ended.Running != "" || ended.Cells["a"].Verdict.Grade != Pass || ended.Cells["a"].Running {
		t.Errorf("%+v", ended)
	}
	if !n.Cells["a"].Running || n.Cells["a"].Verdict.Grade != NotRun {
		t.Error("Apply changed the notebook it was called on")
	}
}

func TestNotebookDropsWhatIsLate(t *testing.T) {
	n := fold(CellStarted{Run: 1, Cell: "a"}, CellEnded{Run: 1, Cell: "a"}, CellStarted{Run: 2, Cell: "a"},
		CellPrinted{Run: 1, Cell: "a", Lines: lines(0, 1)}, CellEnded{Run: 1, Cell: "a", Verdict: Verdict{Grade: Fail}})
	if c := n.Cells["a"]; !c.Running || c.Output.Len() != 0 || c.Verdict.Grade != NotRun || n.Running != "a" {
		t.Errorf("a late event counts: %+v", c)
	}
	n = fold(CellStarted{Run: 1, Cell: "a"}, CellCleared{"a"})
	if _, ok := n.Cells["a"]; !ok {
		t.Error("a running cell was cleared")
	}
	n = n.Apply(CellEnded{Run: 1, Cell: "a"}).Apply(CellPrinted{Run: 1, Cell: "a", Lines: lines(0, 1)})
	if n.Cells["a"].Output.Len() != 0 {
		t.Error("lines after the end")
	}
	if n = n.Apply(CellCleared{"a"}); len(n.Cells) != 0 {
		t.Error("not cleared")
	}
}

func TestScrollKeepsTheLastLines(t *testing.T) {
	var s Scroll
	const total = KeepLines + 3333
	for i := 0; i < total; {
		n := min(1+i%700, total-i)
		s = s.Append(lines(i, n))
		i += n
	}
	s = s.Skip(5)
	if s.Len() < KeepLines || s.Len() > KeepLines+1000 || s.Len()+s.Dropped() != total+5 {
		t.Fatalf("%d kept, %d dropped", s.Len(), s.Dropped())
	}
	for _, at := range []int{0, 1, 511, 512, 7777, s.Len() - 1} {
		got := s.Lines(at, 1)
		if want := fmt.Sprint(total - s.Len() + at); len(got) != 1 || got[0].Text != want {
			t.Errorf("line %d is %v, want %s", at, got, want)
		}
	}
	if got := s.Lines(s.Len()-10, 100); len(got) != 10 {
		t.Errorf("%d lines at the end", len(got))
	}
	// An older value is untouched by what came later.
	old := Scroll{}.Append(lines(0, 3))
	_ = old.Append(lines(3, 3))
	if more := old.Append(lines(100, 1)); old.Len() != 3 || more.Lines(3, 1)[0].Text != "100" {
		t.Error("an older scroll was changed")
	}
}

// What is kept is bounded in bytes, too, however the lines come: a line has up to
// 16 kB, and a colour for each of its letters.
func TestScrollKeepsSoManyBytes(t *testing.T) {
	spans := make([]Span, 256)
	long := OutputLine{Text: strings.Repeat("x", 16<<10), Spans: spans}
	for _, batch := range []int{1, 7, 100, 3000} {
		var s Scroll
		total := 0
		for ; total < 6000; total += batch {
			all := make([]OutputLine, batch)
			for i := range all {
				all[i] = long
				all[i].From = fmt.Sprint(total + i)
			}
			s = s.Append(all)
		}
		size := 0
		for _, l := range s.Lines(0, s.Len()) {
			size += l.Size()
		}
		if size != s.bytes || size > 2*KeepBytes || size < KeepBytes*3/4 {
			t.Errorf("in batches of %d: %d bytes are kept, %d counted", batch, size, s.bytes)
		}
		if last := s.Lines(s.Len()-1, 1); s.Len()+s.Dropped() != total || last[0].From != fmt.Sprint(total-1) {
			t.Errorf("in batches of %d: %d kept, %d dropped of %d, the last is %s",
				batch, s.Len(), s.Dropped(), total, last[0].From)
		}
	}
	// At least the last line, whatever it takes.
	huge := OutputLine{Text: strings.Repeat("x", 2*KeepBytes)}
	if s := (Scroll{}).Append([]OutputLine{{Text: "a"}, huge}); s.Len() != 1 || s.Dropped() != 1 {
		t.Errorf("%d kept, %d dropped", s.Len(), s.Dropped())
	}
}

// A quarter of a gigabyte goes through a notebook, and what it had is given back.
func TestAFloodLeavesNoMemoryBehind(t *testing.T) {
	n := NewNotebook(Tutorial{}).Apply(CellStarted{Run: 1, Cell: "a"})
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	for range 1024 {
		all := make([]OutputLine, 16)
		for i := range all {
			all[i].Text = strings.Repeat("x", 16<<10)
		}
		n = n.Apply(CellPrinted{Run: 1, Cell: "a", Lines: all})
	}
	if now := used(); now > before+4*KeepBytes {
		t.Errorf("%d bytes more are in use", now-before)
	}
	if out := n.Cells["a"].Output; out.Len()+out.Dropped() != 16*1024 {
		t.Errorf("%d kept, %d dropped", out.Len(), out.Dropped())
	}
}

func TestSelect(t *testing.T) {
	tut := Tutorial{Parts: []Part{
		{ID: "p1", Cells: []Cell{{ID: "a"}, {ID: "b"}}},
		{ID: "p2", Cells: []Cell{{ID: "ib-write-bw"}}},
	}}
	cells, err := tut.Select("p2", "b", "p1", "b")
	if err != nil || len(cells) != 3 || cells[0].ID != "a" || cells[1].ID != "b" || cells[2].ID != "ib-write-bw" {
		t.Errorf("%v, %v", cells, err)
	}
	if _, err := tut.Select("ib-wirte-bw"); err == nil || !strings.Contains(err.Error(), `did you mean "ib-write-bw"`) {
		t.Errorf("%v", err)
	}
	if _, err := tut.Select("zzzzzzzz"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%v", err)
	}
}

func TestGradeRoundTrip(t *testing.T) {
	for g := NotRun; g <= Fail; g++ {
		b, err := g.MarshalJSON()
		var back Grade
		if err != nil || back.UnmarshalJSON(b) != nil || back != g {
			t.Errorf("%s: %s, %v", g, b, err)
		}
	}
	var g Grade
	if g.UnmarshalJSON([]byte(`"SPLENDID"`)) == nil {
		t.Error("an unknown verdict is read")
	}
}

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{
		"rnu": "run", "lst": "list",
		"ib-wirte-bw": "ib-write-bw", "list": "list", "zzzzz": "", "": "",
	} {
		got := DidYouMean(word, []string{"rig", "run", "list", "ib-write-bw"})
		if want == "" && got != "" || want != "" && !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// A picture of a cell is drawn again where its version is another: each event of the cell makes one, those of others
// don't, and a cleared cell that runs again has none of before.
func TestVersion(t *testing.T) {
	n := NewNotebook(Tutorial{Parts: []Part{{ID: "p", Cells: []Cell{{ID: "a"}, {ID: "b"}}}}})
	seen := map[Version]bool{n.Version("a"): true}
	for i, e := range []Event{
		CellStarted{Run: 1, Cell: "a"},
		CellPrinted{Run: 1, Cell: "a", Lines: []OutputLine{{Text: "x"}}},
		CellMeasured{Run: 1, Cell: "a", Table: Table{Title: "t"}},
		CellEnded{Run: 1, Cell: "a"},
		PartChanged{Part: "p", Cells: []Cell{{ID: "a", Prose: "new"}, {ID: "b"}}},
		CellCleared{Cell: "a"},
		CellStarted{Run: 2, Cell: "a"},
	} {
		n = n.Apply(e)
		if v := n.Version("a"); seen[v] {
			t.Errorf("event %d, %T: the version is one of before", i, e)
		} else {
			seen[v] = true
		}
	}
	was := n.Version("a")
	for _, e := range []Event{
		CellStarted{Run: 3, Cell: "b"},
		CellEnded{Run: 3, Cell: "b"},
		NodeChanged{Node: 1},
		CellPrinted{Run: 1, Cell: "a", Lines: []OutputLine{{Text: "of a run that is over"}}},
	} {
		if n = n.Apply(e); n.Version("a") != was {
			t.Errorf("%T of something else changed the version", e)
		}
	}
}

// All outputs together are bounded: the longest lose their oldest lines first. A caller that holds an older
// notebook keeps what it saw, and the space of a cleared cell is free again.
func TestOutputsAreBoundedTogether(t *testing.T) {
	n := NewNotebook(Tutorial{})
	line := OutputLine{Text: strings.Repeat("x", 1000)}
	text := make([]OutputLine, KeepBytes/line.Size())
	for i := range text {
		text[i] = line
	}
	printed := func(id string, lines []OutputLine) {
		n = n.Apply(CellStarted{Run: 1, Cell: id}).Apply(CellPrinted{Run: 1, Cell: id, Lines: lines}).
			Apply(CellEnded{Run: 1, Cell: id})
	}
	taken := func() (all int) {
		for _, c := range n.Cells {
			for _, l := range c.Output.Lines(0, c.Output.Len()) {
				all += l.Size()
			}
		}
		return all
	}
	printed("short", text[:10])
	var before Notebook
	for i := range 12 {
		if i == 3 {
			before = n
		}
		printed(fmt.Sprint("cell-", i), slices.Clone(text))
		if all := taken(); all > KeepAll {
			t.Fatalf("%d cells take %d bytes", i+1, all)
		}
	}
	for id, c := range n.Cells {
		want := len(text)
		if id == "short" {
			want = 10
		}
		if c.Output.Len()+c.Output.Dropped() != want || c.Output.Len() < min(want, len(text)/8) {
			t.Errorf("%s has %d of %d lines, and dropped %d", id, c.Output.Len(), want, c.Output.Dropped())
		}
	}
	if c := n.Cells["short"].Output; c.Dropped() != 0 {
		t.Errorf("the shortest lost %d lines", c.Dropped())
	}
	if c := n.Cells["cell-11"].Output; c.Dropped() != 0 {
		t.Errorf("the last lost %d lines", c.Dropped())
	}
	if c := before.Cells["cell-0"].Output; c.Dropped() != 0 {
		t.Errorf("an older notebook lost %d lines", c.Dropped())
	}
	for i := range 12 {
		n = n.Apply(CellCleared{Cell: fmt.Sprint("cell-", i)})
	}
	if n.kept != taken() || n.kept == 0 {
		t.Errorf("%d bytes are counted, and %d taken", n.kept, taken())
	}
}

// Which rail is being tested is a field of the line with which its test begins, and stays until the next.
func TestRailUnderTest(t *testing.T) {
	n := NewNotebook(Tutorial{}).Apply(CellStarted{Run: 1, Cell: "c"})
	for _, step := range []struct {
		lines []OutputLine
		want  int
	}{
		{[]OutputLine{{Text: "rail 7: a tool's own words"}}, 0},
		{[]OutputLine{{Kind: Note, Rail: 1, Text: "rail 1"}, {Text: "65536"}}, 1},
		{[]OutputLine{{Text: "65536"}}, 1},
		{[]OutputLine{{Kind: Note, Rail: 2, Text: "rail 2"}}, 2},
	} {
		n = n.Apply(CellPrinted{Run: 1, Cell: "c", Lines: step.lines})
		if got := n.Cells["c"].Rail; got != step.want {
			t.Errorf("after %+v it is rail %d, want %d", step.lines, got, step.want)
		}
	}
	if n = n.Apply(CellStarted{Run: 2, Cell: "c"}); n.Cells["c"].Rail != 0 {
		t.Error("a new run begins with no rail")
	}
}
