package notebook

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// TestRoundTrip: what is written comes back, also as Jupyter would write it.
func TestRoundTrip(t *testing.T) {
	for _, sim := range []bool{false, true} {
		d := told(t, story(sim)...)
		measured(d)
		first := encoded(t, d)
		back, err := Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		samePages(t, d, back)
		if d := cmp.Diff(d.samples, back.samples, cmp.AllowUnexported(Samples{}),
			cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); d != "" {
			t.Errorf("the gauges: %s", d)
		}
		if back.Book.Rig.Simulated != sim || back.Book.Rig.Name != "lab" || back.Runs() != 6 ||
			back.Book.Params.All["SIZE"] != "4096" || back.Book.Cells["hosts"].Params["SIZE"] != "1" ||
			back.Book.Running != "bw" {
			t.Errorf("%+v", back.Book.Rig)
		}
		if d := cmp.Diff(d.Book.Rig, back.Book.Rig); d != "" {
			t.Errorf("the rig: %s", d)
		}
		if second := encoded(t, back); !bytes.Equal(first, second) {
			t.Errorf("written again it is another file: %s",
				cmp.Diff(strings.Split(string(first), "\n"), strings.Split(string(second), "\n")))
		}
	}
}

func TestSimulatedIsTold(t *testing.T) {
	for _, sim := range []bool{true, false} {
		all := story(sim)
		b := encoded(t, told(t, all[:len(all)-3]...))
		if strings.Contains(string(b), simulated) != sim {
			t.Errorf("simulated %v: SIMULATED is in the file: %v", sim, !sim)
		}
		if !sim {
			continue
		}
		// Each output that may be looked at alone has it.
		var nb struct {
			Metadata struct{ Railbench head }
			Cells    []struct {
				ID      string
				Source  text
				Outputs []struct {
					Type string          `json:"output_type"`
					Data map[string]text `json:"data"`
				}
			}
		}
		if err := json.Unmarshal(b, &nb); err != nil {
			t.Fatal(err)
		}
		if !nb.Metadata.Railbench.Simulated || !strings.Contains(string(nb.Cells[0].Source), simulated) {
			t.Error("neither the metadata nor the first cell says SIMULATED")
		}
		shows := 0
		for _, c := range nb.Cells {
			for _, o := range c.Outputs {
				for mime, data := range o.Data {
					shows++
					if !strings.Contains(string(data), simulated) {
						t.Errorf("%s: %s has no SIMULATED: %s", c.ID, mime, data)
					}
				}
			}
		}
		if shows < 20 {
			t.Errorf("only %d outputs were looked at", shows)
		}
	}
}

// nbformat runs Python with Debian's nbformat.
func nbformat(t *testing.T, script string, args ...string) string {
	t.Helper()
	testform.NeedsFull(t, "needs nbformat for Python")
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import nbformat").Run() != nil {
			continue
		}
		cmd := exec.Command(python, append([]string{"-W", "error", "-c", script}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("nbformat for Python is missing: install python3-nbformat")
	}
	t.Skip("nbformat for Python is missing: the package is python3-nbformat")
	return ""
}

const validate = "import json, sys, nbformat\nwith open(sys.argv[1]) as f: nbformat.validate(json.load(f))\n" +
	"nb = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT);" +
	" nbformat.write(nb, sys.argv[2]); print(nb.nbformat, nb.nbformat_minor)"

// TestNbformat: Jupyter's own library takes it, and what it saves is read again.
func TestNbformat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ipynb"), filepath.Join(dir, "out.ipynb")
	lesson := lesson()
	lesson.Parts[0].Cells[0].ID = strings.Repeat("x", 90) // longer than nbformat takes one
	empty := New("v1", lesson, began)
	full := told(t, story(true)...)
	measured(full)
	for _, d := range []*Document{empty, full} {
		if err := os.WriteFile(in, encoded(t, d), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := nbformat(t, validate, in, out); strings.TrimSpace(got) != "4 5" {
			t.Errorf("it is of nbformat %s", got)
		}
		back, err := Decode([]byte(contents(t, out)))
		if err != nil {
			t.Fatal(err)
		}
		samePages(t, d, back)
		if again := encoded(t, back); !bytes.Equal(again, encoded(t, d)) {
			t.Error("what Jupyter saved is another session")
		}
	}
}

// TestStrangers: cells that a user added in Jupyter stay where they are, and streams of a cell that was run there are
// taken as they stand.
func TestStrangers(t *testing.T) {
	var f map[string]any
	if err := json.Unmarshal(encoded(t, told(t, story(false)...)), &f); err != nil {
		t.Fatal(err)
	}
	note := map[string]any{
		"cell_type": "markdown", "id": "mine",
		"metadata": map[string]any{}, "source": []any{"My *note*\n", "of two lines"},
	}
	copied := map[string]any{}
	var all []any
	for _, c := range f["cells"].([]any) {
		all = append(all, c)
		if cell := c.(map[string]any); cell["id"] == "bw" {
			all = append(all, note)
		} else if cell["id"] == "hosts" {
			maps.Copy(copied, cell)
			copied["id"] = "copied"
			all = append(all, copied)
			cell["outputs"] = []any{map[string]any{
				"output_type": "stream",
				"name":        "stderr", "text": "another\nanswer",
			}}
		}
	}
	f["cells"] = append(all, map[string]any{
		"cell_type": "code", "id": "last",
		"metadata": map[string]any{"railbench": 7}, "execution_count": nil, "outputs": []any{}, "source": "1+1",
	})
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Book.Cells["hosts"].Output.Lines(0, 9); len(got) != 2 ||
		got[1].Text != "answer" || got[1].Kind != steps.FromStderr {
		t.Errorf("the streams of a cell that was run elsewhere: %+v", got)
	}
	d.adopt(lesson())
	var again struct{ Cells []cellIn }
	written := encoded(t, d)
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	order := ""
	for _, c := range again.Cells {
		if c.ID == "mine" && c.Source != "My *note*\nof two lines" {
			t.Errorf("the note became %q", c.Source)
		}
		order += c.ID + " "
	}
	if !strings.Contains(order, "hosts copied ") ||
		!strings.Contains(order, "bw mine ") || !strings.HasSuffix(order, "last ") {
		t.Errorf("the cells are %s", order)
	}
	// A note stays where the cell before it has gone.
	short := lesson()
	short.Parts = short.Parts[1:]
	delete(d.Book.Cells, "bw")
	delete(d.Book.Cells, "hosts")
	d.Book.Tutorial = steps.Tutorial{}
	d.adopt(short)
	if b := encoded(t, d); !bytes.Contains(b, []byte("My *note*")) {
		t.Error("the note is gone")
	}
}

// TestOldScripts: a result keeps the script that it came from.
func TestOldScripts(t *testing.T) {
	d, err := Decode(encoded(t, told(t, story(false)...)))
	if err != nil {
		t.Fatal(err)
	}
	now := lesson()
	now.Parts[0].Cells = now.Parts[0].Cells[:1]
	now.Parts[0].Cells[0].Roles = []steps.Role{{On: steps.OnBoth, Script: "hostname"}}
	d.adopt(now)
	if b := string(encoded(t, d)); strings.Contains(b, "hostname") || !strings.Contains(b, "uname -a") {
		t.Error("the old result stands below the new script")
	}
	if c, ok := d.Book.Tutorial.Cell("bw"); !ok || len(c.Roles) != 2 {
		t.Errorf("a result whose cell is no more is gone: %+v", c)
	}
	d.Apply(steps.CellStarted{Run: 9, Cell: "hosts"})
	if b := string(encoded(t, d)); !strings.Contains(b, "hostname") {
		t.Error("the new run has the old script")
	}
}

func TestOutputIsBounded(t *testing.T) {
	d := told(t, steps.CellStarted{Run: 1, Cell: "hosts", At: began})
	long := strings.Repeat("x", 16<<10)
	for range 11 {
		var lines []steps.OutputLine
		for range 1000 {
			lines = append(lines, out("spark-02", "", long))
		}
		d.Apply(steps.CellPrinted{Run: 1, Cell: "hosts", Lines: lines})
	}
	d.Apply(steps.CellPrinted{Run: 1, Cell: "hosts", Lines: []steps.OutputLine{out("spark-02", "", "the end")}})
	b := encoded(t, d)
	if len(b) > keepBytes*5/4 {
		t.Errorf("the file has %d bytes", len(b))
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	s := back.Book.Cells["hosts"].Output
	if last := s.Lines(s.Len()-1, 1)[0].Text; last != "the end" || s.Len()+s.Dropped() != 11001 {
		t.Errorf("the last line is %q, and of %d lines %d were dropped", last, s.Len()+s.Dropped(), s.Dropped())
	}
}

func TestErrorOutput(t *testing.T) {
	b := string(encoded(t, told(t, story(false)...)))
	if !strings.Contains(b, `"output_type": "error"`) ||
		!strings.Contains(b, `"evalue": "spark-01 can't be reached."`) {
		t.Error("a cell that could not be run has no error")
	}
}

// TestFiguresThatJSONHasNot: what no judge should give does not cost the session.
func TestFiguresThatJSONHasNot(t *testing.T) {
	v := verdict()
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, math.MaxFloat64, 5e-324, 1e17}
	for _, y := range bad {
		v.Evidence = append(v.Evidence,
			steps.Evidence{Name: "odd", Value: y, Expected: &steps.Expected{Min: new(y), Max: new(y)}})
		for i := range v.Charts {
			v.Charts[i].Series = append(v.Charts[i].Series,
				steps.Series{Name: "odd", Points: []steps.Point{{X: y, Y: y}, {X: 1, Y: y}}})
			v.Charts[i].Limits = append(v.Charts[i].Limits, steps.Limit{Name: "odd", Value: y})
		}
	}
	v.Charts = append(v.Charts, steps.Chart{Shape: steps.Lines}, steps.Chart{Shape: steps.LogBars}, steps.Chart{})
	v.Tables = append(v.Tables, steps.Table{},
		steps.Table{Columns: []steps.Column{{Name: "a"}}, Rows: [][]string{{}, {"1", "2"}}})
	d := told(t, steps.CellStarted{Run: 1, Cell: "hosts", At: began},
		steps.CellEnded{Run: 1, Cell: "hosts", Verdict: v})
	if _, err := Decode(encoded(t, d)); err != nil {
		t.Error(err)
	}
	for _, c := range v.Charts {
		for _, alone := range []bool{true, false} {
			svg := chartSVG(c, alone)
			wellFormed(t, svg)
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("a figure that is none in %.3000s", svg)
			}
		}
		if text := chartText(c); strings.Contains(text, "NaN") {
			t.Error(text)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %.3000s", err, text)
		}
	}
}

func TestGauges(t *testing.T) {
	d := told(t, steps.CellStarted{Run: 1, Cell: "bw", At: began})
	at := began
	for i := range 2000 { // 20 minutes
		d.Sample(meter.Board{Gauges: []meter.Gauge{{Node: "n", Dev: "r", Tx: meter.Flow{RDMA: float64(i % 100)}}}}, at)
		at = at.Add(600 * time.Millisecond)
	}
	s := d.Samples("bw")
	if n := len(s.Rails[0].Tx); n > keepSamples || n < keepSamples/2 {
		t.Errorf("%d samples", n)
	}
	if s.StepMS != 8000 || s.Rails[0].Tx.peak() != 99 {
		t.Errorf("a step of %d ms, and a peak of %g", s.StepMS, s.Rails[0].Tx.peak())
	}
	wellFormed(t, gaugesSVG("t", s, true))
	if !s.curve() {
		t.Error("twenty minutes are no curve")
	}
	// Two samples are none, and what the counters say stands there instead.
	d = told(t, steps.CellStarted{Run: 1, Cell: "bw", At: began})
	for i, rdma := range []float64{45.2, 22.6} {
		d.Sample(meter.Board{Gauges: []meter.Gauge{{Node: "n", Dev: "r", Tx: meter.Flow{
			RDMA: rdma, Run: meter.Run{Bytes: 8.8e9, Seconds: 1.1, Gbps: 97.84},
		}}}}, began.Add(time.Duration(i)*500*time.Millisecond))
	}
	page, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if html := string(page); strings.Contains(html, "45.2") || strings.Contains(html, "22.6") ||
		!strings.Contains(html, "97.8") ||
		!strings.Contains(html, "Too short for a curve") {
		t.Errorf("a run of two samples: %.4000s", html)
	}
	// What is stale is not a sample, and what is idle no picture.
	d = told(t, steps.CellStarted{Run: 1, Cell: "bw", At: began})
	d.Sample(meter.Board{Gauges: []meter.Gauge{{
		Node: "n", Dev: "r",
		Stale: "no connection", Tx: meter.Flow{RDMA: 50},
	}}}, began)
	if s := d.Samples("bw"); len(s.Rails) != 1 || len(s.Rails[0].Tx) != 0 || s.moved() {
		t.Errorf("%+v", s)
	}
	d.Apply(steps.CellEnded{Run: 1, Cell: "bw"})
	d.Sample(meter.Board{Gauges: []meter.Gauge{{Node: "n", Dev: "r", Tx: meter.Flow{RDMA: 50}}}}, began)
	if len(d.Samples("bw").Rails[0].Tx) != 0 {
		t.Error("a sample after the end")
	}
}

func TestColours(t *testing.T) {
	bold, red, faint := steps.Style{
		Attr: steps.Bold,
		Fg:   runner.Indexed(1),
	}, steps.Style{Fg: runner.Indexed(9)},
		steps.Style{Attr: steps.Faint | steps.Italic | steps.Underline}
	for name, c := range map[string]struct {
		line       steps.OutputLine
		file, page string
	}{
		"plain": {steps.OutputLine{Text: "as it is äö <b>"}, "as it is äö <b>", "as it is äö &lt;b&gt;"},
		"whole": {
			steps.OutputLine{Text: "red", Spans: []steps.Span{{Style: bold}}},
			"\x1b[0;1;31mred\x1b[0m", `<span class="bold f1">red</span>`,
		},
		"part": {
			steps.OutputLine{Text: "a <b> c", Spans: []steps.Span{{At: 2, Style: red}, {At: 5}}},
			"a \x1b[0;91m<b>\x1b[0m c", `a <span class="f9">&lt;b&gt;</span> c`,
		},
		"attrs": {
			steps.OutputLine{Text: "ä", Spans: []steps.Span{{Style: faint}}},
			"\x1b[0;2;3;4mä\x1b[0m", `<span class="faint italic underline">ä</span>`,
		},
		"palette": {
			steps.OutputLine{
				Text:  "x",
				Spans: []steps.Span{{Style: steps.Style{Fg: runner.Indexed(196), Bg: runner.Indexed(244)}}},
			},
			"\x1b[0;38;5;196;48;5;244mx\x1b[0m", `<span style="color:#ff0000;background:#808080">x</span>`,
		},
		"direct": {
			steps.OutputLine{
				Text:  "x",
				Spans: []steps.Span{{Style: steps.Style{Fg: runner.RGB(0, 255, 1), Bg: runner.Indexed(15)}}},
			},
			"\x1b[0;38;2;0;255;1;107mx\x1b[0m", `<span class="b15" style="color:#00ff01">x</span>`,
		},
		"repeated": {
			steps.OutputLine{Text: "xy", Spans: []steps.Span{{Style: red}, {At: 1, Style: bold}}},
			"\x1b[0;91mx\x1b[0;1;31my\x1b[0m", `<span class="f9">x</span><span class="bold f1">y</span>`,
		},
	} {
		if got := painted(c.line); got != c.file {
			t.Errorf("%s: in the file it is %q, want %q", name, got, c.file)
		}
		if got := markup(c.line); got != c.page {
			t.Errorf("%s: on the page it is %q, want %q", name, got, c.page)
		}
		if text, spans := unpainted(c.file); text != c.line.Text || !slices.Equal(spans, c.line.Spans) {
			t.Errorf("%s: read again it is %q with %v", name, text, spans)
		}
	}
	// Spans that don't fit are those of another text.
	for _, spans := range [][]steps.Span{
		{{At: 9, Style: red}},
		{{At: -1, Style: red}},
		{{At: 2, Style: red}, {At: 1, Style: bold}},
	} {
		l := steps.OutputLine{Text: "abc", Spans: spans}
		if text, _ := unpainted(painted(l)); text != "abc" {
			t.Errorf("%v: the text became %q", spans, text)
		}
	}
	// What another program, or it is unknown who, put into a file.
	for in, want := range map[string]string{
		"a\x1b[2Jb\x1b[?25lc\x1b[10;10Hd": "abcd", "\x1b]0;title\x07x\x1b]8;;http://e\x1b\\y": "xy",
		"\x1b]0;never ends": "", "\x1b[mx": "x",
		"bell\x07 back\x08\u009b tab\t.": "bell back tab\t.", "\x1b": "", "\x1b(Bx\x1b": "x", "\x1b[38;5mx": "x",
		"\x1b[99999999999999999999mx": "x", "\x1b[38;2;999;2;3;1mx": "x", "\x1b[4:3mx": "x",
	} {
		if text, spans := unpainted(in); text != want || plain(in) != want || len(spans) > 0 {
			t.Errorf("%q: %q with %v, and plain %q", in, text, spans, plain(in))
		}
	}
}
