package gauges

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

// fleetOf is a board of so many nodes with four rails each, on which gbps move what of each node.
func fleetOf(nodes int, gbps func(no int) float64) (b meter.Board) {
	for no := range nodes {
		for rail := range 4 {
			f := meter.Flow{RDMA: gbps(no)}
			b.Gauges = append(b.Gauges, meter.Gauge{
				Node: fmt.Sprintf("spark-%02d", no+1), No: no, Dev: fmt.Sprintf("rocep%d", rail), LinkGbps: 200,
				Source: meter.PortCounters, Tx: f, Rx: f,
			})
		}
	}
	return b
}

func fleetLines(b meter.Board, width, height int) []string {
	lines := Pane{Width: width, Height: height}.Lines(theme.New(true, colorprofile.TrueColor), b)
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return lines
}

// More rails than lines: a line a node with its sums, the slowest first, and the sum of all. No
// rail is left out without a word.
func TestFleetHasTheSlowestFirst(t *testing.T) {
	b := fleetOf(8, func(no int) float64 {
		return map[int]float64{2: 20, 5: 0}[no] + map[bool]float64{true: 90}[no != 2 && no != 5]
	})
	lines := fleetLines(b, 120, 12)
	if len(lines) != 10 || Height(b, 12) != 10 {
		t.Fatalf("%d lines, wants %d: a title, eight nodes, their sum:\n%s", len(lines), Height(b, 12),
			strings.Join(lines, "\n"))
	}
	for i, want := range []string{
		"scale = 800 a node",
		"spark-03", "spark-01", "spark-02", "spark-04", "spark-05", "spark-07", "spark-08", "spark-06",
		"8 nodes, 7 moving",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, without %q", i, lines[i], want)
		}
	}
	// 20 of 200 on each of four rails, both ways; 80 in all.
	if got := lines[1]; strings.Count(got, "80.0") != 2 || strings.Count(got, "▁▁▁▁") != 2 {
		t.Errorf("spark-03 has not 80 Gb/s both ways and four low rails: %q", got)
	}
	if got := lines[9]; !strings.Contains(got, "tx  2240") || !strings.Contains(got, "slowest spark-03: 80.0 of 360.0") {
		t.Errorf("the sum is %q", got)
	}
}

// Who is as fast as the others is not called the slowest. A node of which nothing was ever heard has its place in the
// strip, which is in the rig file's order whichever link is under test; the title fits 80 columns.
func TestFleetNamesNobodyWithoutACause(t *testing.T) {
	b := fleetOf(8, func(no int) float64 { return 60 + float64(no)/10 })
	if all := strings.Join(fleetLines(b, 80, 12), "\n"); strings.Contains(all, ": 240") ||
		!strings.Contains(all, "alike: each 242.8") ||
		!strings.Contains(all, "nodes, slowest first") || !strings.Contains(all, "scale = 800 a node") {
		t.Error(all)
	}
	for i := range b.Gauges { // two halves of one cable carry no more than the cable
		b.Gauges[i].Cable = 1 + i%2
	}
	if all := strings.Join(fleetLines(b, 80, 12), "\n"); !strings.Contains(all, "scale = 400 a node") {
		t.Error(all)
	}
	b = fleetOf(8, func(no int) float64 { return map[bool]float64{true: 10, false: 100}[no == 0] })
	// spark-02 is here; spark-05 is dead
	b.Gauges = slices.Concat(b.Gauges[4:8], b.Gauges[:4], b.Gauges[8:16], b.Gauges[20:])
	lines := fleetLines(b, 80, 7)
	all := strings.Join(lines, "\n")
	if !strings.Contains(all, "1–8      tx ▁▄▄▄?▄▄▄") || !strings.Contains(all, "slowest spark-01: 40.0 of 400.0") {
		t.Error(all)
	}
	for i := range b.Gauges { // no one has a cable in the second port, and spark-07 has lost one of the first's
		b.Gauges[i].Down = i%4 > 1 || b.Gauges[i].No == 6
	}
	if all := strings.Join(fleetLines(b, 80, 7)[1:3], "\n"); !strings.Contains(all, "spark-07 tx") ||
		!strings.Contains(all, "spark-01 tx") {
		t.Error(all)
	}
	for i := range 4 {
		b.Gauges[i].Stale = "no answer"
	}
	if all := strings.Join(fleetLines(b, 80, 20), "\n"); !strings.Contains(all, "7 nodes, 6 moving") ||
		!strings.Contains(all, "  1 stale") {
		t.Error(all)
	}
}

// Of 64 nodes on a small screen all are in the strip, and the slowest have lines.
func TestFleetOfManyHasAStrip(t *testing.T) {
	b := fleetOf(64, func(no int) float64 { return map[bool]float64{true: 10, false: 100}[no == 40] })
	b.Gauges[7*4].Stale, b.Gauges[7*4+1].Stale = "no answer", "no answer"
	b.Gauges[7*4+2].Stale, b.Gauges[7*4+3].Stale = "no answer", "no answer"
	for i := range 4 {
		b.Gauges[9*4+i].Down, b.Gauges[9*4+i].Tx, b.Gauges[9*4+i].Rx = true, meter.Flow{}, meter.Flow{}
	}
	lines := fleetLines(b, 80, 8)
	if len(lines) != 8 || Height(b, 8) != 8 {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		" spark-08 stale: no answer", " spark-41 tx", "64 nodes, 62 moving",
		"slowest spark-41: 40.0 of 400.0",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	strip := lines[5]
	if got := []rune(strip[strings.Index(strip, "tx ")+3:]); len(got) != 64 || got[7] != '?' || got[9] != '×' ||
		got[40] != '▁' || got[41] != '▄' {
		t.Errorf("the strip is %q", strip)
	}
}

// Of a thousand nodes neighbours share a column of the strip, which shows the slowest of them, and the slowest have
// lines: nothing is below the pane's end.
func TestFleetOfAThousand(t *testing.T) {
	b := fleetOf(1024, func(no int) float64 { return map[bool]float64{true: 10, false: 100}[no == 900] })
	lines := fleetLines(b, 80, 20)
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		" spark-901  tx", "1,024 nodes, 1,024 moving", "slowest spark-901: 40.0 of 400.0",
		"–1024 ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	low := 0
	for _, l := range lines {
		if strings.Contains(l, "–") && strings.Contains(l, " tx ") {
			low += strings.Count(l, "▁")
		}
	}
	if len(lines) != 20 || low != 1 || !strings.Contains(all, " each ") {
		t.Errorf("%d lines, the slow one is there %d times:\n%s", len(lines), low, all)
	}
}

// Two nodes keep their rails, however many, and no size breaks a line.
func TestFleetFitsAnyPane(t *testing.T) {
	if newFleet(theme.New(true, colorprofile.TrueColor), fleetOf(2, func(int) float64 { return 1 }).Gauges, 80) != nil {
		t.Error("two nodes are a fleet")
	}
	for _, nodes := range []int{3, 8, 64, 200} {
		b := fleetOf(nodes, func(no int) float64 { return float64(no) })
		for width := 1; width < 170; width += 23 {
			for height := 1; height < 40; height += 3 {
				lines := Pane{Width: width, Height: height}.Lines(theme.New(true, colorprofile.TrueColor), b)
				if len(lines) > height {
					t.Fatalf("%d nodes in %dx%d take %d lines", nodes, width, height, len(lines))
				}
				for _, l := range lines {
					if lipgloss.Width(l) > width {
						t.Fatalf("%d nodes in %dx%d: %q is %d wide", nodes, width, height, ansi.Strip(l), lipgloss.Width(l))
					}
				}
			}
		}
	}
}

// Where each node has a line, a strip has nothing left to say.
func TestFleetOfFewHasNoStrip(t *testing.T) {
	all := strings.Join(fleetLines(fleetOf(8, func(int) float64 { return 1 }), 120, 13), "\n")
	if strings.Contains(all, "1–8") || !strings.Contains(all, "spark-08 tx") {
		t.Errorf("a strip, or not eight nodes:\n%s", all)
	}
}
