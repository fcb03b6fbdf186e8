package cells

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/chart"
	"github.com/railbench/railbench/tui/theme"
)

var update = flag.Bool("update", false, "write the pictures anew")

func rates() steps.Table {
	return steps.Table{
		Title: "Throughput",
		Columns: []steps.Column{
			{Name: "test"},
			{Name: "Gb/s", Number: true},
			{Name: "cell"},
			{Name: "tutorial Gb/s", Number: true},
			{Name: "PCIe Gb/s", Number: true},
		},
		Rows: [][]string{
			{"TCP, 1 stream, rail 1", "33.7", "PASS tcp-single", "33.7", "112"},
			{"RDMA write, rail 1", "✗ 9.35", "FAIL ib-write-bw", "93.4", "112"},
			{"nixlbench, both PCIe halves", "not run", "nixl-halves-dram", "–"},
			{"nixlbench, two rails", "105.4", "WARN nixl-dual-dram", "105.4", "112"},
		},
		Note: "Payload, measured in this session. A figure marked ✗ comes from a cell that did not pass.",
	}
}

func words() steps.Table {
	return steps.Table{
		Title:   "Which approach for which work",
		Columns: []steps.Column{{Name: "work"}, {Name: "use"}, {Name: "because"}},
		Rows: [][]string{
			{
				"KV cache, tensor shards", "NIXL",
				"measured: 92.6 Gb/s with nixlbench, one rail, 33.7 Gb/s with TCP, 1 stream",
			},
			{"collectives (all-reduce)", "NCCL", "general advice: nothing here measures it"},
		},
	}
}

func bars() steps.Chart {
	return steps.Chart{
		Title: "Throughput", Shape: steps.Bars, Unit: "Gb/s",
		Series: []steps.Series{{Points: []steps.Point{
			{Label: "TCP, 1 stream", Y: 33.7},
			{Label: "RDMA write, rail 1", Y: 92.6},
			{Label: "both halves", Y: 184},
			{Label: "nothing", Y: 0},
		}}},
		Limits: []steps.Limit{{Name: "PCIe link of one rail", Value: 111.79}, {Name: "link of one rail", Value: 200}},
	}
}

func latencies() steps.Chart {
	return steps.Chart{
		Title: "Latency", Shape: steps.LogBars, Unit: "us",
		Series: []steps.Series{{Points: []steps.Point{
			{Label: "ping", Y: 631},
			{Label: "RDMA write", Y: 1.94},
			{Label: "NIXL read", Y: 11.1},
		}}},
	}
}

func blocks() steps.Chart {
	series := func(name string, gigabytes ...float64) steps.Series {
		s := steps.Series{Name: name}
		for i, v := range gigabytes {
			s.Points = append(s.Points, steps.Point{X: float64(int(65536) << i), Y: 8 * v})
		}
		return s
	}
	// The tables that the tutorial's outputs hold.
	return steps.Chart{
		Title: "nixlbench: throughput by block size", Shape: steps.Lines, Unit: "Gb/s", XUnit: "bytes",
		Series: []steps.Series{
			series("one rail", 6.805, 7.695, 9.270, 10.267, 11.092, 11.288, 11.375, 11.469, 11.528, 11.554, 11.563),
			series("two rails", 6.561, 8.799, 10.328, 11.561, 12.472, 12.781, 12.933, 13.062, 13.122, 13.160, 13.174),
			series("GPU, one rail", 0.401, 0.400, 0.323, 0.425, 0.398, 0.374, 0.422, 0.605, 0.602, 0.444),
		},
		Limits: []steps.Limit{{Name: "PCIe link of one rail", Value: 111.79}, {Name: "link of one rail", Value: 200}},
	}
}

// TestPictures compares the pictures, without their colours.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
	}{{"54", 54}, {"100", 100}} {
		t.Run(c.name, func(t *testing.T) {
			d := Drawer{Styles: theme.New(true, colorprofile.TrueColor), Width: c.width, Simulated: true}
			var all []string
			for _, lines := range d.Figures([]steps.Table{rates(), words()},
				[]steps.Chart{bars(), latencies(), blocks()}) {
				all = append(append(all, lines...), "")
			}
			got := unstyled(all)
			file := filepath.Join("testdata", "figures-"+c.name+".txt")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s; -update writes it anew", d)
			}
		})
	}
}

// A value of X stands below its mark, whatever the width.
func TestTicksStandBelowTheirMarks(t *testing.T) {
	c := steps.Chart{Shape: steps.Lines, XUnit: "bytes"}
	c.Series = []steps.Series{{Points: []steps.Point{
		{X: 65536, Y: 1}, {X: 1 << 17, Y: 1}, {X: 1 << 18, Y: 1}, {X: 1 << 20, Y: 1}, {X: 1 << 23, Y: 1}, {X: 1 << 26, Y: 1},
	}}}
	x, values := chart.X(c)
	for width := 20; width < 180; width++ {
		in := scale{x, 2*width - 1}
		p := newPlot(width, 3)
		p.series(0, c.Series[0], in, scale{chart.Scale{To: 2}, 11})
		for _, tick := range xTicks(values, c.XUnit, in, width) {
			below := 0
			for row := range 3 {
				if p.marks[row*width+tick.column] != 0 {
					below++
				}
			}
			if below == 0 {
				t.Errorf("%s of %d columns stands at %d, where no mark is", tick.text, width, tick.column)
			}
		}
	}
}

// No figure is ever wider than its place, whatever is in it.
func TestFiguresFitEveryWidth(t *testing.T) {
	hostile := steps.Table{
		Title: strings.Repeat("漢字", 40) + "\x1b[31m",
		Columns: []steps.Column{
			{Name: "👩‍👩‍👧‍👦 name"},
			{Name: "", Number: true},
			{Name: strings.Repeat("x", 60)},
			{Name: "tab\ta", Number: true},
		},
		Rows: [][]string{
			{strings.Repeat("y", 80), "1.5", "漢字かな交じり文", "-3"},
			{},
			{"a", "✗ 2", "b", "c", "too many"},
			{"\x1b[2J", "1e300", "", strings.Repeat("9", 50)},
		},
		Note: "a\nb " + strings.Repeat("z", 200),
	}
	odd := steps.Chart{
		Title: "odd \x1b[31m", Shape: steps.Bars, Unit: "漢字",
		Series: []steps.Series{{Name: strings.Repeat("漢", 50), Points: []steps.Point{
			{Y: math.NaN()},
			{Y: math.Inf(1)},
			{Y: -5},
			{Y: 1e300},
			{Label: "tiny", Y: 1e-300, X: 1},
			{Y: 7, X: 1e18},
		}}},
		Limits: []steps.Limit{
			{Name: strings.Repeat("limit ", 30), Value: math.NaN()},
			{Value: -1},
			{Name: "far", Value: 1e12},
		},
	}
	tables := []steps.Table{rates(), words(), hostile, {}, {Title: "no rows", Columns: rates().Columns}}
	charts := []steps.Chart{bars(), latencies(), blocks(), {}, {Shape: steps.Lines}, {Shape: "unknown"}}
	for _, shape := range []steps.Shape{steps.Bars, steps.LogBars, steps.Lines} {
		odd.Shape = shape
		charts = append(charts, odd)
	}
	k := theme.New(true, colorprofile.TrueColor)
	for width := 0; width <= 200; width += 1 + width/50 {
		d := Drawer{Styles: k, Width: width, Simulated: width%2 == 0}
		for _, lines := range d.Figures(tables, charts) {
			for _, l := range lines {
				if w := ansi.StringWidth(l); w > width {
					t.Fatalf("%d columns: %d: %q", width, w, l)
				}
				if strings.ContainsAny(ansi.Strip(l), "\x1b\t\r\n") {
					t.Fatalf("%d columns: controls the terminal: %q", width, l)
				}
			}
		}
	}
}

// Columns give way from the right, and a table of words becomes a list.
func TestNarrowTables(t *testing.T) {
	d := Drawer{Styles: theme.New(true, colorprofile.ASCII), Width: 46}
	if got := unstyled(d.Table(rates())); !strings.Contains(got, "Not shown: tutorial Gb/s, PCIe Gb/s.") ||
		!strings.Contains(got, "FAIL") {
		t.Errorf("got:\n%s", got)
	}
	d.Width = 30
	if got := unstyled(d.Table(words())); !strings.Contains(got, "• KV cache, tensor shards") ||
		!strings.Contains(got, "  use: NIXL") {
		t.Errorf("got:\n%s", got)
	}
}

// While a cell runs its table grows below it; afterwards the verdict's own stand there.
func TestLiveTable(t *testing.T) {
	k := theme.New(true, colorprofile.ASCII)
	live := steps.Table{
		Title: "nixlbench", Columns: []steps.Column{{Name: "block"}, {Name: "Gb/s", Number: true}},
		Rows: [][]string{{"64 KiB", "54.4"}},
	}
	c := Cell{
		Cell:  steps.Cell{Own: "summary"},
		State: steps.CellState{Run: 1, Running: true, Live: live}, View: View{Keep: 5, Simulated: true},
	}
	draw := func() string { return unstyled(c.Draw(k, 60).Lines) }
	if got := draw(); !strings.Contains(got, "nixlbench SIMULATED") || !strings.Contains(got, "64 KiB  54.4") {
		t.Errorf("running:\n%s", got)
	}
	c.State.Running = false
	c.State.Verdict = steps.Verdict{Grade: steps.Inconclusive, Reason: "Interrupted."}
	if got := draw(); !strings.Contains(got, "64 KiB  54.4") {
		t.Errorf("broken off:\n%s", got)
	}
	c.State.Verdict = steps.Verdict{Grade: steps.Pass, Tables: []steps.Table{rates()}, Charts: []steps.Chart{bars()}}
	if got := draw(); strings.Contains(got, "64 KiB") ||
		!strings.Contains(got, "Throughput SIMULATED") || !strings.Contains(got, "╎") {
		t.Errorf("done:\n%s", got)
	}
}

// A label says under which conditions a bar was measured: what is cut of it is what two bars
// differ in.
func TestLabelsOfBarsAreWhole(t *testing.T) {
	c := bars()
	names := []string{"railbench stream, both halves (8 streams, MTU 9000)", "RDMA write, rail 1 (MTU 1024)"}
	for i, name := range names {
		c.Series[0].Points[i].Label = name
	}
	for width := 24; width <= 130; width++ {
		lines := Drawer{Styles: theme.New(true, colorprofile.ASCII), Width: width}.Chart(c)
		got := strings.Join(strings.Fields(unstyled(lines)), " ")
		for _, name := range names {
			if !strings.Contains(got, name) {
				t.Errorf("%d columns: no %q in\n%s", width, name, unstyled(lines))
			}
		}
	}
}

// A value of any size is written as that value.
func TestFiguresOfAnySize(t *testing.T) {
	for v, want := range map[float64]string{
		1e19: "1e+19", -1e300: "-1e+300", 999e12: "999,000,000,000,000", 92.57: "92.6", 1500: "1,500",
	} {
		if got := figure(v); got != want {
			t.Errorf("%g is written %q, not %q", v, got, want)
		}
	}
}
