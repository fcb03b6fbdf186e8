package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// What a script prints for railbench alone is judged, and in the log; the screen has the rest.
func TestWhatOnlyRailbenchReads(t *testing.T) {
	c := check("c", "echo shown; echo '"+steps.ForRailbench+"figures'; echo '"+steps.ForRailbench+"said' >&2", "passes")
	o := Options{Logs: t.TempDir()}
	text := ""
	o.Catalog.Judges = map[string]steps.Judge{"passes": func(_ steps.Cell, r steps.Result) steps.Verdict {
		text = r.Stages[0].Outputs[0].Text
		return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
	}}
	s := openNodes(t, o, []string{"n1", "n2"}, c)
	s.Run("c")
	state := s.until("c")
	var lines []string
	for _, l := range state.Output.Lines(0, 10) {
		lines = append(lines, l.Text)
	}
	slices.Sort(lines) // two streams
	if want := []string{"#railbench said", "shown"}; !slices.Equal(lines, want) {
		t.Errorf("the screen has %q, want %q", lines, want)
	}
	log, err := os.ReadFile(state.Log)
	if err != nil || !strings.Contains(string(log), "#railbench figures\n") ||
		!strings.Contains(text, "#railbench figures\n") {
		t.Errorf("%v: the log has %q, and what is judged is %q", err, log, text)
	}
}

// What two nodes print at once stands in the log a node at a time, in lines that are whole, and
// on the right side of what railbench itself said.
func TestLogsAreNotMixed(t *testing.T) {
	said := func(from, text string) steps.OutputLine {
		return steps.OutputLine{Kind: steps.FromStdout, From: from, Text: text}
	}
	note := func(text string) steps.OutputLine { return steps.OutputLine{Kind: steps.Note, Text: text} }
	beside := func(from, text string) steps.OutputLine {
		return steps.OutputLine{Kind: steps.FromStderr, From: from, Text: text}
	}
	type piece struct {
		steps.OutputLine
		cut bool
	}
	for name, c := range map[string]struct {
		lines []piece
		want  string
	}{
		"a node at a time": {
			[]piece{{said("b", "1"), false}, {said("a", "1"), false}, {said("b", "2"), false}, {said("a", "2"), false}},
			"b: 1\nb: 2\na: 1\na: 2\n",
		},
		"a note stays where it was said": {
			[]piece{{said("b", "1"), false}, {said("a", "1"), false}, {note("now"), false}, {said("b", "2"), false}},
			"b: 1\na: 1\n# now\nb: 2\n",
		},
		"a long line in pieces": {
			[]piece{{said("b", "lo"), true}, {said("a", "1"), false}, {note("now"), false}, {said("b", "ng"), false}},
			"a: 1\n# now\nb: long\n",
		},
		"another stream ends it": {
			[]piece{{said("b", "lo"), true}, {beside("b", "oh"), false}, {said("b", "ng"), false}},
			"b: lo\nb: oh\nb: ng\n",
		},
		"it never ended": {[]piece{{said("b", "lo"), true}}, "b: lo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{id: 1, cell: steps.Cell{ID: "a", Roles: []steps.Role{{On: steps.OnBoth}}}, s: &Session{}}
			r.s.o.LogBytes = 1 << 20
			r.openLog(t.TempDir())
			for _, l := range c.lines {
				r.write(l.OutputLine, l.cut)
			}
			got, err := os.ReadFile(r.closeLog())
			if err != nil || string(got) != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// What waits is bounded, also where a line has no end; and no byte is lost.
func TestWhatWaitsForTheLogIsBounded(t *testing.T) {
	r := &run{id: 1, cell: steps.Cell{ID: "a", Roles: []steps.Role{{On: steps.OnBoth}}}, s: &Session{}}
	r.s.o.LogBytes = 1 << 30
	r.openLog(t.TempDir())
	const pieces = 100
	text := strings.Repeat("x", 64<<10)
	for range pieces {
		for _, from := range []string{"a", "b"} {
			r.write(steps.OutputLine{Kind: steps.FromStdout, From: from, Text: text}, true)
			if r.log.waits > aside {
				t.Fatalf("%d bytes wait", r.log.waits)
			}
		}
	}
	got, err := os.ReadFile(r.closeLog())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), "x"); n != 2*pieces*len(text) {
		t.Errorf("%d of %d bytes", n, 2*pieces*len(text))
	}
	for line := range strings.Lines(string(got)) {
		if !strings.HasPrefix(line, "a: x") && !strings.HasPrefix(line, "b: x") {
			t.Fatalf("a line begins with %.10q", line)
		}
	}
}
