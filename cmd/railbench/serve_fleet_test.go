package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/web"
)

// laggingBoard is so many nodes with two rails each at 90 Gb/s, of which the third is slow and the fourth has lost a
// rail.
func laggingBoard(nodes int) (b meter.Board) {
	for i := range nodes {
		for k := range 2 {
			f := meter.Flow{RDMA: 90}
			if i == 2 {
				f.RDMA = 20
			}
			down := i == 3 && k == 1
			if down {
				f.RDMA = 0
			}
			b.Gauges = append(b.Gauges, meter.Gauge{
				Node: fmt.Sprintf("spark-%04d", i+1), No: i, Dev: fmt.Sprintf("rocep1s0f%d", k), LinkGbps: 200,
				Tx: f, Rx: f, Down: down,
			})
		}
	}
	return b
}

// openFleet serves the page of a simulated rig of many nodes.
func openFleet(t *testing.T, nodes int) (address string, tell func(meter.Board)) {
	t.Helper()
	s := &stage{options: web.Options{Simulated: true, RigName: "sim"}, listen: "127.0.0.1:0"}
	address, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	s.page.Board(laggingBoard(nodes))
	return address, s.page.Board
}

// A rig of more than two nodes is shown by node, the slowest first, in words and figures. Where there are
// more nodes than lines, a strip replaces their rails. The page fits, the keyboard reaches the strip, and the
// strip stands out in the light and the dark theme.
func TestPageOfManyNodes(t *testing.T) {
	t.Parallel()
	tab := newTab(t, testform.Tool(t, "chromium"))
	for _, nodes := range []int{3, 8, 1024} {
		address, tell := openFleet(t, nodes)
		tab.shown(address, "moving")
		said := func(script string) string { return fmt.Sprint(tab.run(script)) }
		if nodes > 3 {
			got := said(`[...document.querySelectorAll("#members .name")].slice(0, 2).map((e) => e.textContent).join()`)
			if got != "spark-0004,spark-0003" { // one has lost a rail, the other is slow
				t.Errorf("%d: the first two are %s", nodes, got)
			}
			first := said(`document.querySelector("#members li").textContent`)
			for _, want := range []string{"1 of 2 rails down", "sent", "received", "rocep1s0f1 down", "rocep1s0f0 90.0 sent"} {
				if !strings.Contains(first, want) {
					t.Errorf("%d: no %q in %q", nodes, want, first)
				}
			}
			if got := said(`document.getElementById("told").textContent`); !strings.Contains(got, "slowest spark-0003: 40.0 of") {
				t.Errorf("%d: %q", nodes, got)
			}
		}
		lines, columns, dials := nodes, 0, nodes
		if nodes > 16 {
			lines, columns, dials = 8, nodes, 0
		}
		got := said(`[document.querySelectorAll("#members li").length, document.querySelectorAll("#strip g").length,
			drawn.length, document.querySelectorAll("#gauges .node").length].join()`)
		if want := fmt.Sprintf("%d,%d,%d,0", lines, columns, dials); got != want {
			t.Errorf("%d: lines, columns, nodes with dials, shown: %s, want %s", nodes, got, want)
		}
		if columns > 0 {
			low := said(`(() => { const g = [...document.querySelectorAll("#strip g")];
				return g[2].querySelector("rect").getAttribute("height") < g[1].querySelector("rect").getAttribute("height") &&
					g[2].querySelector("title").textContent })()`)
			if low != "spark-0003: sent 1 of 8, received 1 of 8" {
				t.Errorf("the slow node's column: %s", low)
			}
			b := laggingBoard(nodes)
			b.Gauges[0].Stale, b.Gauges[1].Stale = "no sample for 3s", "no sample for 3s"
			tell(b)
			tab.shown(address, "1 stale")
			label := said(`document.querySelector("#strip svg").getAttribute("aria-label")`)
			if !strings.Contains(label, "spark-0001 to spark-0064") || !strings.Contains(label, "spark-0001 not heard") {
				t.Errorf("the strip is called %q", label)
			}
		} else { // the rails of a node are a key away, and stay open whatever comes in front
			tab.run(`document.querySelector("#members li button").focus(); document.querySelector("#members li button").click()`)
			b := laggingBoard(nodes)
			for i := range 2 {
				b.Gauges[i].Tx.RDMA, b.Gauges[i].Rx.RDMA, b.Gauges[i].Down = 1, 1, i == 1
			}
			tell(b)
			tab.run(`new Promise((done) => { const look = () => document.querySelector("#members li").textContent.
				startsWith("spark-0001") ? done() : setTimeout(look, 20); look(); })`)
			if got := said(`[document.querySelectorAll("#gauges .node").length, document.activeElement.tagName,
				document.activeElement.getAttribute("aria-expanded")].join()`); got != "1,BUTTON,true" {
				t.Errorf("%d: opened, the focus, and whether it is told: %s", nodes, got)
			}
		}
		for _, size := range [][2]int{{320, 640}, {1280, 800}} {
			for _, dark := range []bool{false, true} {
				if len(tab.picture(size[0], size[1], dark)) == 0 {
					t.Error("there is no picture")
				}
				if wide := tab.run(`document.documentElement.scrollWidth`); wide != float64(size[0]) {
					t.Errorf("%d nodes are %v wide on a screen of %d", nodes, wide, size[0])
				}
				if low, _ := tab.run(lowContrast).(string); low != "" {
					t.Errorf("%d nodes, dark %v: %s", nodes, dark, low)
				}
			}
		}
	}
}
