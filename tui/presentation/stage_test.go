package presentation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/script"
	"github.com/railbench/railbench/tui/theme"
)

// spark is two nodes with n rails each: two cables, and two halves of the adapter.
func spark(n int, name func(i int) string, layer string) steps.Rig {
	rig := steps.NewRig("test", true, 2)
	for e := range rig.Nodes {
		rig.Nodes[e].No, rig.Nodes[e].Name = e, []string{"spark-02", "spark-01"}[e]
		for i := range n {
			rig.Nodes[e].Rails = append(rig.Nodes[e].Rails, steps.Rail{
				Dev: name(i), Port: 1, Layer: layer, PhysPort: i % 2, RateGbps: 200, MTU: 1024,
				PCI: steps.PCI{Addr: fmt.Sprintf("%04d:01:00.%d", i/2*2, i%2), GTps: 32, Width: 4},
			})
		}
	}
	for i := range n {
		rig.Pairs = append(rig.Pairs, steps.Pair{Rails: [2]int{i, i}})
	}
	return rig
}

func ofSpark(i int) string {
	return []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"}[i%4]
}

// board has what each rail of the first node sends, in Gb/s of RDMA on the wire.
func board(rig steps.Rig, sends ...float64) meter.Board {
	var b meter.Board
	for e, n := range rig.Nodes {
		for i, r := range n.Rails {
			g := meter.Gauge{
				Node: n.Name, No: n.No, Dev: r.Dev, LinkGbps: 200, CeilingGbps: 111.4,
				RoCE: rate.Headers{Payload: 1024, Counted: 58, Cable: 82}, TCP: rate.Headers{Payload: 1448, Counted: 66},
			}
			if i < len(sends) && e == 0 {
				g.Tx, g.Rx = meter.Flow{RDMA: sends[i]}, meter.Flow{RDMA: sends[i] / 500}
			} else if i < len(sends) {
				g.Rx, g.Tx = meter.Flow{RDMA: sends[i]}, meter.Flow{RDMA: sends[i] / 500}
			}
			b.Gauges = append(b.Gauges, g)
		}
		b.Hosts = append(b.Hosts, meter.Host{Node: n.Name, No: n.No, Busy: 1.1, Cores: 20, Known: true})
	}
	return b
}

func TestDials(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	d := NewDials(rig, board(rig, 97.84, 0, 97.84))
	value := func(x Dial) string { v, unit := x.value(); return figure(v) + " " + unit }
	for _, c := range []struct {
		name string
		dial Dial
		want string
	}{
		{"a rail", d.Rails[0], "92.6 payload"},
		{"an idle rail", d.Rails[1], "0.0 payload"},
		{"the half of rails 1 and 2", d.Halves[0], "92.6 payload"},
		{"the half of rails 3 and 4", d.Halves[1], "92.6 payload"},
		{"the cable of rails 1 and 3", d.Cables[0], "185.2 payload"},
		{"the cable of rails 2 and 4", d.Cables[1], "0.0 payload"},
		{"all", d.All, "185.2 payload"},
	} {
		if got := value(c.dial); got != c.want {
			t.Errorf("%s: %s, not %s (%+v)", c.name, got, c.want, c.dial)
		}
	}
	if d.Cables[0].Detail != "rails 1, 3" || d.Halves[1].Detail != "rails 3, 4" || d.All.Link != 400 ||
		math.Abs(d.All.Ceiling-222.8) > 0.01 || math.Abs(d.Rails[0].Limit-105.4) > 0.1 || d.Halves[0].Ceiling != 111.4 {
		t.Errorf("%+v", d)
	}
	if arrow, _ := d.Rails[0].ways(); arrow != "→" {
		t.Errorf("acknowledgements are a direction: %s", arrow)
	}
}

// What a dial shows where its counters say less.
func TestDialsThatKnowLess(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	for name, c := range map[string]struct {
		change func(b *meter.Board)
		want   string
	}{
		"both directions": {func(b *meter.Board) {
			b.Gauges[0].Rx, b.Gauges[4].Tx = meter.Flow{RDMA: 97.84}, meter.Flow{RDMA: 97.84}
		}, "185.2 payload"},
		"the sender is not heard of": {
			func(b *meter.Board) { b.Gauges[0].Stale, b.Gauges[0].Tx = "gone", meter.Flow{} },
			"92.6 payload",
		},
		"another MTU": {func(b *meter.Board) { b.Gauges[0].RoCE.Payload = 4096 }, "96.5 payload"},
		"no MTU":      {func(b *meter.Board) { b.Gauges[0].RoCE = rate.Headers{} }, "97.8 on the wire"},
		"soft-RoCE": {func(b *meter.Board) {
			b.Gauges[0].Source, b.Gauges[0].Tx = meter.NetdevBytes, meter.Flow{IP: 3}
		}, "3.0 on the wire"},
	} {
		b := board(rig, 97.84)
		c.change(&b)
		d := NewDials(rig, b)
		if v, unit := d.Rails[0].value(); figure(v)+" "+unit != c.want {
			t.Errorf("%s: %s %s, not %s", name, figure(v), unit, c.want)
		}
	}
	b := board(rig, 97.84)
	b.Gauges[0].Stale, b.Gauges[4].Stale = "no connection", "no connection"
	if d := NewDials(rig, b); total(d.All) > shown || d.All.Detail != "1 stale" {
		t.Errorf("a rail of which nobody hears is in the sum: %+v", d.All)
	}
	lines := strings.Join(screen(rig, b, 120, 40), "\n")
	if !strings.Contains(lines, "stale") {
		t.Errorf("a rail of which nobody hears shows a rate:\n%s", lines)
	}
}

func screen(rig steps.Rig, b meter.Board, width, height int) []string {
	return viewed(Rails, rig, b, width, height)
}

func viewed(v View, rig steps.Rig, b meter.Board, width, height int) []string {
	return Screen{
		Width: width, Height: height, Dials: NewDials(rig, b), View: v, Names: [2]string{"spark-02", "spark-01"},
		Simulated: true, Results: []Result{{Name: "x", Gbps: 1}, {Name: strings.Repeat("long ", 20), Grade: steps.Fail}},
		Foot: " ? help", Caption: strings.Repeat("What the audience is told. ", 9), Title: "Half-mates",
		Cell: Cell{
			Title: "Both halves", Places: "server spark-01", Command: strings.Repeat("ib_write_bw -d mlx5_0 ", 9),
			Grade: steps.Pass, Verdict: strings.Repeat("185.0 Gb/s over rails 1 and 3. ", 9),
		},
	}.Lines(theme.New(true, colorprofile.TrueColor))
}

// Rails that lead nowhere share their cables, too: all rails together carry at most what these cables carry.
func TestRailsThatLeadNowhere(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	b := board(rig, 97.84)
	for i := range b.Gauges {
		b.Gauges[i].Cable = 1 + i%2
	}
	rig.Pairs = nil
	if d := NewDials(rig, b); len(d.Rails) != 4 || d.All.Link != 400 {
		t.Errorf("%d rails and %v Gb/s, not four on two cables of 200", len(d.Rails), d.All.Link)
	}
}

// The results of slides are in large numerals at any usual size, and nothing of a verdict is cut. Where there
// is no room for numerals each result is a line.
func TestResults(t *testing.T) {
	var all []Result
	for _, r := range []Result{
		{Name: "One rail", Gbps: 92.6, Why: "rail 1"},
		{Name: "One half", Gbps: 105.1, Why: "rails 1, 2, 1 PCIe link"},
		{Name: "Both halves", Gbps: 184.9, Why: "rails 1, 3, 2 PCIe links"},
		{Name: "TCP on one rail", Gbps: 76.9, TCP: true, Why: "4 streams, rail 1"},
		{Name: "RDMA on that rail", Gbps: 92.5, Why: "rail 1"},
		{Name: "GPU memory", Gbps: 4.84, Why: "host-staged: a processor copies"},
		{Name: "A cable is pulled", Grade: steps.Fail, Code: steps.LinkDown, Cell: "link-up", Pulled: true},
		{Name: "The cable is back", Gbps: 92.6, Why: "rail 1"},
	} {
		if r.Grade == steps.NotRun {
			r.Grade = steps.Pass
		}
		all = append(all, r)
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, c := range []struct {
		width, height int
		columns       int
		dot           size
	}{{60, 20, 0, size{}}, {80, 24, 4, size{1, 1}}, {160, 50, 3, size{3, 2}}, {200, 60, 2, size{4, 2}}} {
		s := Screen{
			Width: c.width, Height: c.height, View: Results, Results: all, Foot: " ? help",
			Caption: "Every act, and what it reached.",
			Cell:    Cell{Title: "Summary", Grade: steps.Pass, Verdict: strings.Repeat("word ", 24)},
		}
		lines := s.Lines(theme.New(true, colorprofile.TrueColor))
		text := ansi.Strip(strings.Join(lines, "\n"))
		for _, r := range all {
			if !strings.Contains(text, r.Name) {
				t.Errorf("%dx%d: no %q in\n%s", c.width, c.height, r.Name, text)
			}
		}
		d := drawing{Screen: s, k: theme.New(true, colorprofile.TrueColor), roomy: c.width >= wideEnough}
		room := c.height - 2 - len(d.caption()) - len(d.cell())
		columns, dot := d.grid(room)
		if columns != c.columns || dot != c.dot {
			t.Errorf("%dx%d: %d columns of %v, not %d of %v\n%s", c.width, c.height, columns, dot, c.columns, c.dot, text)
		}
		for _, r := range all {
			_, said := r.says(d.k)
			if fail := words(string(r.Code)); columns == 0 && !strings.Contains(text, fail) {
				t.Errorf("%dx%d: no %q in\n%s", c.width, c.height, fail, text)
			}
			if columns > 0 && !strings.Contains(words(ansi.Strip(strings.Join(d.result(r, dot, c.width/columns,
				room/((len(all)+columns-1)/columns)), "\n"))), words(said)) {
				t.Errorf("%dx%d: %q is cut", c.width, c.height, said)
			}
		}
	}
}

// Numerals grow with the screen, whatever stands next to them, and the history has at most a third of a large one.
func TestTheStageGrows(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	b := board(rig, 97.84, 97.84)
	for _, c := range []struct{ width, height, numerals int }{
		{80, 24, 7}, {120, 40, 12}, {160, 50, 17}, {200, 60, 24}, {300, 80, 22},
	} {
		for _, caption := range []string{"", "What the audience is told."} {
			s := Screen{
				Width: c.width, Height: c.height, Dials: NewDials(rig, b), Caption: caption, Foot: " ? help",
				Cell: Cell{Title: "One rail", Grade: steps.Pass, Verdict: "92.6 Gb/s over rail 1."},
			}
			d := drawing{Screen: s, roomy: c.width >= wideEnough, k: theme.New(true, colorprofile.TrueColor)}
			if n := len(d.numerals(c.height)); n != c.numerals {
				t.Errorf("%dx%d: numerals of %d rows, not %d", c.width, c.height, n, c.numerals)
			}
			history := 0
			for _, l := range s.Lines(d.k) {
				if strings.Contains(l, "┤") || strings.Contains(l, "└") {
					history++
				}
			}
			if history < leastHistory || d.roomy && history > c.height/3 {
				t.Errorf("%dx%d: the history has %d rows", c.width, c.height, history)
			}
		}
	}
}

// On a narrow screen the title and the clock are whole; the nodes' names go before them.
func TestAHeadIsNotCut(t *testing.T) {
	s := Screen{
		Width: 60, Height: 20, Title: "What was reached", Place: "10/10", Clock: "4:14", Simulated: true,
		Names: [2]string{"spark-02", "spark-01"},
	}
	for width, names := range map[int]bool{60: false, 80: true} {
		s.Width = width
		head := ansi.Strip(s.Lines(theme.New(true, colorprofile.TrueColor))[0])
		for _, want := range []string{"What was reached", "SIMULATED", "10/10  4:14"} {
			if !strings.Contains(head, want) {
				t.Errorf("%d columns, no %q: %s", width, want, head)
			}
		}
		if strings.Contains(head, "spark-01") != names {
			t.Errorf("%d columns: %s", width, head)
		}
	}
}

// On a large screen a caption is in large letters; one that they can't say, or that is too long, is not cut for them.
func TestLargeCaptions(t *testing.T) {
	for r, rows := range letters {
		for i, row := range rows {
			if len(row) != len(rows[0]) {
				t.Errorf("row %d of %c has %d dots", i, r, len(row))
			}
		}
	}
	show, err := os.ReadFile("../../assets/show/show.md")
	if err != nil {
		t.Fatal(err)
	}
	built, err := script.Parse("show.md", string(show))
	if err != nil {
		t.Fatal(err)
	}
	type caption struct {
		text  string
		ascii bool
		large bool
	}
	all := []caption{
		{"One rail.", true, false},
		{"92 Gb/s of payload", false, false}, // GB/S is another unit
		{"Zwei Knoten, größer", false, false},
		{strings.Repeat("Too long a caption. ", 12), false, false},
	}
	for _, s := range built.Slides {
		all = append(all, caption{s.Caption, false, true})
	}
	for _, c := range all {
		s := Screen{Width: 200, Height: 60, Caption: c.text, ASCII: c.ascii, Foot: " ? help"}
		d := drawing{Screen: s, k: theme.New(true, colorprofile.TrueColor), roomy: true}
		lines := d.caption()
		text := ansi.Strip(strings.Join(lines, " "))
		if strings.Contains(text, "█") != c.large || strings.Contains(text, strings.Fields(c.text)[0]) == c.large {
			t.Errorf("%+v:\n%s", c, strings.Join(lines, "\n"))
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w > 200 {
				t.Errorf("%+v: a line of %d columns", c, w)
			}
		}
	}
	if got := strings.Join(halves("ON"), "\n"); got != "█▀█ █▄ █ \n█ █ █ ▀█ \n▀▀▀ ▀  ▀ " {
		t.Errorf("got\n%s", got)
	}
}

// Nothing is cut off what a FAIL says, as long as it is: what to do stands at its end.
func TestAFailIsNotCut(t *testing.T) {
	rig := spark(8, ofSpark, "Ethernet")
	reason := strings.TrimSpace(strings.Repeat("carrier_changes went down. ", 8)) + " Check the cable."
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}, {200, 60}} {
		for _, g := range []steps.Grade{steps.Fail, steps.Warn, steps.Inconclusive} {
			s := Screen{
				Width: size[0], Height: size[1], Dials: NewDials(rig, board(rig, 97.84)), View: Rails, Simulated: true,
				Foot: " ? help", Caption: strings.Repeat("caption ", 30), Alert: strings.Repeat("alert ", 30),
				Cell: Cell{Title: "One rail", Command: strings.Repeat("ib_write_bw ", 30), Grade: g, Verdict: reason},
			}
			all := ansi.Strip(strings.Join(s.Lines(theme.New(true, colorprofile.TrueColor)), "\n"))
			if _, below, _ := strings.Cut(all, g.String()); !strings.Contains(strings.Join(strings.Fields(below), " "), reason) {
				t.Errorf("%v: %s is cut:\n%s", size, g, all)
			}
		}
	}
}

// Whatever is measured and however large the terminal is, the screen is as large as that; what is
// simulated says so wherever there is room for a word.
func TestAnyScreenFits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	odd := []float64{0, 0.04, 1, 97.84, 199.99, 999.95, 1e6, -3, math.NaN(), math.Inf(1)}
	pick := func() float64 { return odd[r.IntN(len(odd))] }
	screens := 500
	if testform.Full() {
		screens = 1500
	}
	for range screens {
		rig := spark(r.IntN(9), ofSpark, "Ethernet")
		b := board(rig, pick(), pick(), pick())
		for i := range b.Gauges {
			g := &b.Gauges[i]
			g.LinkGbps, g.CeilingGbps, g.Down = pick(), pick(), r.IntN(5) == 0
			g.Tx.IP, g.Source = pick(), meter.Source(r.IntN(3))
			for range r.IntN(300) {
				g.Tx.History = append(g.Tx.History, pick())
			}
			if r.IntN(5) == 0 {
				g.Stale = "\x1b[31mno sample"
			}
			g.No = r.IntN(9)
			g.Node = strings.Repeat("node\x1b[2J", g.No)
		}
		width, height := 1+r.IntN(220), 1+r.IntN(70)
		lines := viewed(View(r.IntN(int(views))), rig, b, width, height)
		if len(lines) != height {
			t.Fatalf("%d lines in %d (%d wide)", len(lines), height, width)
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w != width {
				t.Fatalf("a line of %d columns in %d: %q", w, width, l)
			}
		}
		if all := ansi.Strip(strings.Join(lines, "\n")); width >= 60 && height >= 20 && !strings.Contains(all, "SIMULATED") {
			t.Fatalf("%dx%d doesn't say SIMULATED:\n%s", width, height, all)
		}
	}
}

// At the size of a projector's terminal all of it is there; names of other adapters, eight rails
// and InfiniBand look as they should.
func TestScreens(t *testing.T) {
	for _, c := range []struct {
		name          string
		rails         int
		dev           func(int) string
		layer         string
		width, height int
		want          []string
	}{
		{"a Spark at 80x24", 4, ofSpark, "Ethernet", 80, 24, []string{
			"rail 1", "rail 4", "█ █", "CPU spark-02", "1.1/20 cores", "-120 s", "now", "PASS", "PCIe 105.4 payload ┊",
			"╎ 111.4 wire", "link 200",
			"█ RDMA  ▒ IP  ░ headers", // in the head: the scale has no room for them
		}},
		{"a Spark at 200x60", 4, ofSpark, "Ethernet", 200, 60, []string{
			"all rails", "rail 1  rocep1s0f0", "→ Gb/s payload · 97.8 wire", "░ headers", "1.1 of 20 cores", "RDMA",
		}},
		{
			"eight rails of another name", 8, func(i int) string { return fmt.Sprintf("mlx5_%d", i) }, "Ethernet", 160, 50,
			[]string{
				"rail 8", "mlx5_0", "mlx5_7",
			},
		},
		{
			"InfiniBand", 2, func(i int) string { return fmt.Sprintf("ibp%ds0", i) }, "InfiniBand", 120, 40,
			[]string{"ibp0s0", "all rails"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rig := spark(c.rails, c.dev, c.layer)
			all := ansi.Strip(strings.Join(screen(rig, board(rig, 97.84, 97.84, 97.84), c.width, c.height), "\n"))
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q is missing:\n%s", want, all)
				}
			}
		})
	}
}

// Where there is no room for all bars the screen shows how many are missing. Of a FAIL the end is shown,
// which says what to do.
func TestALowStage(t *testing.T) {
	rig := spark(8, func(i int) string { return fmt.Sprintf("mlx5_%d", i) }, "InfiniBand")
	s := Screen{
		Width: 80, Height: 24, Dials: NewDials(rig, board(rig, 1, 1, 1, 1, 1, 1, 1, 1)), View: Rails, Foot: " ? help",
		Caption: "two\nlines",
		Cell: Cell{
			Title: "Both halves", Command: "ib_write_bw", Grade: steps.Fail,
			Verdict: "the link of rocep1s0f0 on spark-02 went down during the test " +
				"(carrier_changes): what the ends said afterwards follows from that; check its cable at both ends.",
		},
	}
	all := ansi.Strip(strings.Join(s.Lines(theme.New(true, colorprofile.TrueColor)), "\n"))
	all = strings.Join(strings.Fields(all), " ") // a line may end anywhere
	for _, want := range []string{"more ", "check its cable at both ends.", "now", "? help"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q:\n%s", want, all)
		}
	}
}

// Eight InfiniBand adapters behind PCIe links that are faster than their cables: the scale ends at the link,
// nothing names a payload that is unknown, and the screen says what has no room.
func TestManyAdapters(t *testing.T) {
	rig := spark(8, func(i int) string { return fmt.Sprintf("mlx5_%d", i) }, "InfiniBand")
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Rails {
			r := &rig.Nodes[e].Rails[i]
			r.RateGbps, r.PhysPort, r.PCI.Addr, r.PCI.Width = 400, -1, fmt.Sprintf("%04x:01:00.0", i), 16
		}
	}
	b := board(rig, 392.1, 392.1, 392.1, 392.1, 392.1, 392.1, 392.1, 392.1)
	for i := range b.Gauges {
		b.Gauges[i].RoCE, b.Gauges[i].LinkGbps, b.Gauges[i].CeilingGbps = rate.Headers{}, 400, 504
	}
	for width, want := range map[int][]string{
		80:  {"rail 1  mlx5_0", "rail 4  +4 more", "rail 8 ▕", "link 400", "Gb/s on the wire", "3200"},
		200: {"rail 1  mlx5_0", "rail 8  mlx5_7", "link 400", "3200"},
	} {
		s := Screen{
			Width: width, Height: 24, Dials: NewDials(rig, b), View: Rails, Names: [2]string{"a", "b"},
			Foot: " ? help",
		}
		if width > 100 {
			s.Height = 60
		}
		all := ansi.Strip(strings.Join(s.Lines(theme.New(true, colorprofile.TrueColor)), "\n"))
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%d columns, no %q:\n%s", width, w, all)
			}
		}
		for _, w := range []string{"504", "payload", "RoCE"} {
			if strings.Contains(all, w) {
				t.Errorf("%d columns have %q:\n%s", width, w, all)
			}
		}
	}
	// Where no link is known a bar's end says whose it is.
	for _, c := range []struct {
		dial Dial
		want string
	}{
		{Dial{Link: 200, Ceiling: 100}, "link 200"},
		{Dial{Link: 400, Ceiling: 504}, "link 400"},
		{Dial{Ceiling: 100}, "PCIe 100"},
		{Dial{}, "1"},
	} {
		if _, name := scaleOf([]Dial{c.dial}); name != c.want {
			t.Errorf("%+v ends at %q, not %q", c.dial, name, c.want)
		}
	}
}

// How hot a node is stands next to its processors wherever there is room, and what is wrong with it in any room.
func TestHosts(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	b := board(rig, 97.84)
	hot := health.Node{
		Node: "spark-02", Heat: []health.Heat{{Dev: "rocep1s0f0", Celsius: 117}}, GPUs: []health.GPU{{Celsius: 44}},
		Links: []health.Link{{Dev: "rocep1s0f0", GTps: 32, Width: 2, Most: 32, Lanes: 4}}, Slots: []health.Slot{{Watts: 26}},
	}
	b.Health = []health.Node{hot, {
		Node: "spark-01", No: 1, Heat: []health.Heat{{Celsius: 58}},
		GPUs: []health.GPU{{Celsius: 61}},
	}}
	for width, want := range map[int][]string{
		80:  {"117 °C PCIe slow", "1.1/20", " 58 °C"},
		120: {"117 °C", "PCIe slow", "58 °C"},
		200: {"1.1 of 20 cores adapter 117 °C GPU 44 °C PCIe slow slot 26 W", "adapter 58 °C GPU 61 °C"},
	} {
		line := ""
		for _, l := range screen(rig, b, width, 50) {
			if l = ansi.Strip(l); strings.Contains(l, "CPU spark-02") {
				line = l
			}
		}
		for _, w := range want {
			if !strings.Contains(line, w) {
				t.Errorf("%d columns, no %q: %s", width, w, line)
			}
		}
	}
	b.Health[0].Stale = "no connection"
	if all := strings.Join(screen(rig, b, 200, 50), "\n"); strings.Contains(all, "117") {
		t.Errorf("a node of which nobody hears has a temperature:\n%s", all)
	}
}

// Of more nodes than a line has room for the others are counted, and none is cut in the middle.
func TestManyHosts(t *testing.T) {
	rig := spark(4, ofSpark, "Ethernet")
	b := board(rig, 97.84)
	for no := 2; no < 8; no++ {
		b.Hosts = append(b.Hosts, meter.Host{
			Node: fmt.Sprintf("spark-%02d", no+1), No: no, Busy: 0.1, Cores: 20,
			Known: true,
		})
	}
	for width, want := range map[int]string{
		80: "CPU spark-02 1.1/20   CPU spark-01 1.1/20   CPU spark-03 0.1/20   and 5 more", 200: "CPU spark-08 0.1/20",
	} {
		if all := ansi.Strip(strings.Join(screen(rig, b, width, 50), "\n")); !strings.Contains(all, want) {
			t.Errorf("%d columns: no %q in\n%s", width, want, all)
		}
	}
}

// A bar is RDMA, IP and the headers of both, on a scale that doesn't move.
func TestBar(t *testing.T) {
	d := drawing{k: theme.New(true, colorprofile.TrueColor)}
	dial := Dial{Ceiling: 100, Limit: 90}
	for _, c := range []struct {
		name string
		way  Way
		want string
	}{
		{"idle", Way{}, "         ┊╎         "},
		{"RDMA", Way{RDMA: 60, Payload: 50, Known: true}, "█████░   ┊╎         "},
		{"IP", Way{IP: 60, Payload: 50, Known: true}, "▒▒▒▒▒░   ┊╎         "},
		{"both", Way{RDMA: 40, IP: 40, Payload: 80, Known: true}, "████▒▒▒▒ ┊╎         "},
		{"a little is seen", Way{IP: 0.2}, "▒        ┊╎         "},
		{"above the scale", Way{RDMA: 900}, "█████████┊╎█████████"},
	} {
		if got := ansi.Strip(d.bar(dial, c.way, 200, 20)); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

func TestNumerals(t *testing.T) {
	for r, rows := range dots {
		for i, row := range rows {
			if len(row) != len(rows[0]) {
				t.Errorf("row %d of %c has %d dots", i, r, len(row))
			}
		}
	}
	got := strings.Join(numeral("1.0", size{1, 1}), "\n")
	if want := " █    ███\n██    █ █\n █    █ █\n █    █ █\n███ █ ███"; got != want {
		t.Errorf("got\n%s", got)
	}
	for v, want := range map[float64]string{
		0: "0.0", 0.004: "0.0", 0.04: "0.04", 0.406: "0.41", 0.996: "1.0", 92.55: "92.5", 999.96: "1000", 1e9: "99999",
		-1: "--", math.NaN(): "--", math.Inf(1): "--",
	} {
		if got := figure(v); got != want {
			t.Errorf("%v: %s", v, got)
		}
	}
}

// Of eight nodes the numerals and the bars are a node each, the one that lags in front, and the total
// is what all send.
func TestNodesView(t *testing.T) {
	var b meter.Board
	for no := range 8 {
		gbps := 90.0
		if no == 5 {
			gbps = 30
		}
		for rail := range 2 {
			b.Gauges = append(b.Gauges, meter.Gauge{
				Node: fmt.Sprintf("spark-%02d", no+1), No: no, Dev: fmt.Sprintf("rocep%d", rail), LinkGbps: 200,
				Source: meter.PortCounters,
				Tx:     meter.Flow{RDMA: gbps, History: []float64{gbps}}, Rx: meter.Flow{RDMA: gbps, History: []float64{gbps}},
			})
		}
	}
	rig := spark(2, ofSpark, "Ethernet")
	d := NewDials(rig, b)
	if v, unit := d.Everywhere.value(); figure(v)+" "+unit != "1320 on the wire" || d.Everywhere.Link != 3200 ||
		d.Everywhere.History[0] != 1320 {
		t.Errorf("7 x 180 and 60 Gb/s sent on 16 links of 200: %v %s, link %v, history %v", v, unit, d.Everywhere.Link,
			d.Everywhere.History)
	}
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		lines := viewed(Nodes, rig, b, size[0], size[1])
		all := ansi.Strip(strings.Join(lines, "\n"))
		for _, want := range []string{"all nodes", "8 nodes", "spark-06", "60.0 ⇄ 60.0"} {
			if !strings.Contains(all, want) {
				t.Errorf("%v: no %q in\n%s", size, want, all)
			}
		}
		if strings.Index(all, "spark-06") > strings.Index(all, "spark-01") {
			t.Errorf("%v: the node that lags does not stand first:\n%s", size, all)
		}
	}
	// Two halves of one cable carry no more than the cable.
	for i := range b.Gauges {
		b.Gauges[i].Cable = 1
	}
	if d := NewDials(rig, b); d.Everywhere.Link != 1600 || d.Nodes[0].Link != 200 {
		t.Errorf("8 cables of 200 are %v, one is %v", d.Everywhere.Link, d.Nodes[0].Link)
	}
	// One that has lost a rail stands before it, and says so on any screen.
	b.Gauges[6].Down, b.Gauges[6].Tx, b.Gauges[6].Rx = true, meter.Flow{}, meter.Flow{}
	for width, want := range map[int]string{80: "spark-04 1 down ▕", 200: "spark-04 1 of 2 rails up ▕"} {
		all := ansi.Strip(strings.Join(viewed(Nodes, rig, b, width, 24), "\n"))
		if !strings.Contains(all, want) || strings.Index(all, "spark-04") > strings.Index(all, "spark-06") {
			t.Errorf("%d: no %q in\n%s", width, want, all)
		}
	}
	// What is not heard of any more is none of what moves now, whatever it was last, and has no bar.
	b.Gauges[0].Stale, b.Gauges[1].Stale = "no sample for 9 s", "no sample for 9 s"
	d = NewDials(rig, b)
	if v, _ := d.Everywhere.value(); figure(v) != "1050" || d.Everywhere.Detail != "1 stale" ||
		d.Everywhere.History[0] != 1050 {
		t.Errorf("5 x 180, 90 and 60 Gb/s are sent: %+v", d.Everywhere)
	}
	all := ansi.Strip(strings.Join(viewed(Nodes, rig, b, 200, 40), "\n"))
	if !regexp.MustCompile(`spark-01[^▕]*▕ *▏ stale`).MatchString(all) {
		t.Errorf("a node that is stale has a bar, or none is there:\n%s", all)
	}
	if Rails.Next(2) != Halves || Rails.Next(8) != Nodes || Nodes.Next(8) != Halves {
		t.Error("the views of two nodes and of eight")
	}
}
