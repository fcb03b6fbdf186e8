package gauges

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

func TestBar(t *testing.T) {
	g := meter.Gauge{LinkGbps: 200, CeilingGbps: 100}
	for _, c := range []struct {
		name string
		g    meter.Gauge
		f    meter.Flow
		want string
	}{
		{"idle", g, meter.Flow{}, "          ╎         "},
		{"below the ceiling", g, meter.Flow{RDMA: 50}, "█████     ╎         "},
		{"above the ceiling", g, meter.Flow{RDMA: 150}, "██████████╎████     "},
		{"above the link", g, meter.Flow{RDMA: 250}, "██████████╎█████████"},
		{"eighths", g, meter.Flow{RDMA: 55}, "█████▌    ╎         "},
		{"IP alone", g, meter.Flow{IP: 50}, "▒▒▒▒▒     ╎         "},
		{"both", g, meter.Flow{RDMA: 50, IP: 30}, "█████▒▒▒  ╎         "},
		{"a little IP is seen", g, meter.Flow{RDMA: 50, IP: 0.1}, "█████▒    ╎         "},
		{
			"netdev bytes",
			meter.Gauge{LinkGbps: 200, Source: meter.NetdevBytes},
			meter.Flow{IP: 50},
			"▓▓▓▓▓               ",
		},
		{
			"link unknown: the highest seen",
			meter.Gauge{Tx: meter.Flow{Peak: 20}},
			meter.Flow{RDMA: 10, Peak: 20},
			"██████████          ",
		},
		{"no number", g, meter.Flow{RDMA: math.NaN()}, "          ╎         "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ansi.Strip(newTable(theme.New(true, colorprofile.TrueColor), nil, 20).bar(c.g, c.f, 20))
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTheScaleSaysWhatAFullBarIs(t *testing.T) {
	for want, links := range map[string][]float64{
		"link 200":           {200, 200},
		"each link's rate":   {200, 100},
		"link rate unknown":  {0, 0},
		"seen where unknown": {200, 0},
	} {
		var b meter.Board
		for _, l := range links {
			b.Gauges = append(b.Gauges, meter.Gauge{LinkGbps: l})
		}
		if got := scale(b); !strings.Contains(got, want) {
			t.Errorf("links %v: %q doesn't say %q", links, got, want)
		}
	}
}

// Eight InfiniBand adapters of two nodes fit a small terminal, a line each, and a large one with all
// that is known; nothing calls their packets RoCE's.
func TestManyAdapters(t *testing.T) {
	var b meter.Board
	for i := range 16 {
		f := meter.Flow{RDMA: 392.1, Peak: 393, Avg: 390}
		b.Gauges = append(b.Gauges, meter.Gauge{
			Node: []string{"dgx-a", "dgx-b"}[i/8], No: i / 8, Dev: fmt.Sprintf("mlx5_%d", i%8),
			Netdev:   fmt.Sprintf("ibp%ds0", i%8),
			LinkGbps: 400, CeilingGbps: 504, Tx: f, Rx: f,
		})
	}
	for width, want := range map[int]string{80: "392.1 wire", 200: "link 400 · PCIe 504"} {
		p := Pane{Width: width, Height: 24, Cards: true}
		if width > 100 {
			p.Height = 60
		}
		all := ansi.Strip(strings.Join(p.Lines(theme.New(true, colorprofile.TrueColor), b), "\n"))
		for i := range 8 {
			if dev := fmt.Sprintf("mlx5_%d ", i); strings.Count(all, dev) != 2 {
				t.Errorf("%d columns, not twice %s:\n%s", width, dev, all)
			}
		}
		if !strings.Contains(all, want) || strings.Contains(all, "RoCE") || strings.Contains(all, "payload") ||
			strings.Contains(all, "more than fit") {
			t.Errorf("%d columns:\n%s", width, all)
		}
	}
}

func TestSpark(t *testing.T) {
	if got := Spark([]float64{0, 25, 50, 100, 300}, 6, 100); got != "  ▂▄██" {
		t.Errorf("got %q", got)
	}
	if got := Area([]float64{50, 100}, 2, 2, 100); got[0] != " █" || got[1] != "██" {
		t.Errorf("got %q", got)
	}
	if got := Spark(nil, 3, 0); got != "   " {
		t.Errorf("got %q", got)
	}
}

// Whatever the numbers and the room are, every line is as wide as the pane, and there are not more lines than
// fit.
func TestAnyBoardFits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	values := []float64{0, 0.04, 1, 92.5, 199.99, 999.95, 1e6, 1e12, -3, math.NaN(), math.Inf(1)}
	pick := func() float64 { return values[r.IntN(len(values))] }
	boards := 1000
	if testform.Full() {
		boards = 3000
	}
	for range boards {
		var b meter.Board
		for i := range r.IntN(12) {
			flow := func() meter.Flow {
				return meter.Flow{
					RDMA: pick(), IP: pick(), Peak: pick(),
					Avg: pick(), History: []float64{pick(), pick(), pick()},
				}
			}
			g := meter.Gauge{
				Node: "節点-" + fmt.Sprint(i%2), Dev: strings.Repeat("d", r.IntN(20)), No: i % 2,
				LinkGbps: pick(), CeilingGbps: pick(), Source: meter.Source(r.IntN(3)), Down: r.IntN(4) == 0,
				Tx: flow(), Rx: flow(),
			}
			if r.IntN(4) == 0 {
				g.Stale = "\x1b[31mno sample\n for 3 s"
			}
			b.Gauges = append(b.Gauges, g)
		}
		p := Pane{Width: 1 + r.IntN(200), Height: 1 + r.IntN(60), Simulated: r.IntN(2) == 0, Cards: r.IntN(2) == 0}
		lines := p.Lines(theme.New(true, colorprofile.TrueColor), b)
		if len(lines) > p.Height {
			t.Fatalf("%d lines in %d", len(lines), p.Height)
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w != p.Width {
				t.Fatalf("a line of %d columns in %d: %q", w, p.Width, l)
			}
		}
		if h := Height(b, 10); h < 1 || h > 10 {
			t.Fatalf("height %d", h)
		}
	}
}

// A rate that a processor produces is not shown as 0.0 next to a bar that moves; a rate that is almost
// nothing is.
func TestSlowRatesHaveFigures(t *testing.T) {
	for v, want := range map[float64]string{
		0: "   0.0", 0.0001: "   0.0", 0.0005: " 0.001", 0.012: " 0.012", 0.0499: " 0.050", 0.05: "   0.1", 98.1: "  98.1",
		999.4: " 999.4", 1200: "  1200",
	} {
		if got := value(v); got != want {
			t.Errorf("%v: %q, not %q", v, got, want)
		}
	}
}

// A narrow card drops what its pane says already and keeps the MTU and both figures of the ceiling whole; the
// glyphs have a line of their own where the title has no room.
func TestNarrowCardsCutNothing(t *testing.T) {
	g := meter.Gauge{Node: "spark-02", Dev: "roceP2p1s0f0", Netdev: "enP2p1s0f0np0", LinkGbps: 200, CeilingGbps: 111.37}
	g.RoCE.Payload, g.RoCE.Counted = 1024, 58
	for width := 68; width < 120; width++ {
		lines := Pane{Width: width, Height: 40, Cards: true}.Lines(theme.New(true, colorprofile.ASCII),
			meter.Board{Gauges: []meter.Gauge{g}})
		text := ansi.Strip(strings.Join(lines, "\n"))
		for _, w := range []string{"MTU 1024 · PCIe 111.4 wire, 105.4 payload", "╎ PCIe ceiling"} {
			if !strings.Contains(text, w) || strings.Contains(text, "…") {
				t.Fatalf("%d columns lack %q:\n%s", width, w, text)
			}
		}
	}
}

// One PCIe link has a number with headers, which the bar has, and one without, which verdicts have: both
// say which they are. Soft-RoCE's bytes are of IP as well, and have no such pair.
func TestTheCeilingSaysWhichItIs(t *testing.T) {
	g := meter.Gauge{LinkGbps: 200, CeilingGbps: 111.37, Source: meter.PortCounters}
	g.RoCE.Payload, g.RoCE.Counted = 1024, 58
	if got, want := facts(g)[0], "link 200 · RoCE MTU 1024 · PCIe 111.4 wire, 105.4 payload"; !strings.HasPrefix(got,
		want) {
		t.Errorf("%q, want %q", got, want)
	}
	g.RoCE.Payload, g.CeilingGbps = 4096, 113.48
	if got, want := facts(g)[0], "PCIe 113.5 wire, 111.9 payload"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	g.Source = meter.NetdevBytes
	if got := facts(g)[2]; !strings.Contains(got, "PCIe 113.5 wire ·") {
		t.Errorf("%q", got)
	}
}
