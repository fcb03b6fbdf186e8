package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/gauges"
	"github.com/railbench/railbench/tui/ink"
)

// grown is a chart, and whether it grows no worse than linear.
func grown(c chart) result { return result{figures: []figure{c.figure()}, charts: []chart{c}} }

// growCells opens runbooks of more and more cells.
func growCells(b *bench) (result, error) {
	c := chart{title: "First frame of a runbook, by its cells", of: "cells", unit: "ms"}
	for _, cells := range []int{10, 100, 1000} {
		path := filepath.Join(b.dir, fmt.Sprintf("cells-%d.md", cells))
		if err := os.WriteFile(path, []byte(runbook(cells)), 0o600); err != nil {
			return result{}, err
		}
		var all []float64
		for range b.times(7) {
			// The name as the frame draws it, with an escape sequence behind.
			took, err := b.painted("railbench\x1b", "", b.railbench, "--rig", "sim", path)
			if err != nil {
				return result{}, err
			}
			all = append(all, ms(took))
		}
		c.at, c.cost = append(c.at, float64(cells)), append(c.cost, median(all))
	}
	return grown(c), nil
}

// runbook is one part with so many cells, each with some prose to render.
func runbook(cells int) string {
	var b strings.Builder
	b.WriteString("# Many cells {#many}\n\nProse.\n")
	for i := range cells {
		fmt.Fprintf(&b, "\n## Cell %d {#cell-%d}\n\nWhat it *looks* at, and `why`.\n\n", i, i)
		fmt.Fprintf(&b, "```sh cell=cell-%d on=here\necho %d\n```\n", i, i)
	}
	return b.String()
}

// growLines runs a cell that prints more and more.
func growLines(b *bench) (result, error) {
	c := chart{title: "CPU of a cell, by the lines that it prints", of: "lines", unit: "s"}
	for _, lines := range []int{100_000, 300_000, 1_000_000} {
		f, err := b.flooded(lines)
		if err != nil {
			return result{}, err
		}
		c.at, c.cost = append(c.at, float64(lines)), append(c.cost, f.cpu)
	}
	return grown(c), nil
}

// growRails draws boards of more and more rails, all of which move, in a pane that has room
// for them.
func growRails(b *bench) (result, error) {
	c := chart{title: "A frame of the gauges, by the rails of each of two nodes", of: "rails", unit: "us"}
	ends := []string{"spark-02", "spark-01"}
	k := ink.New(true, colorprofile.TrueColor)
	for _, rails := range []int{2, 4, 8, 16, 32, 64} {
		pane := gauges.Pane{Width: 120, Height: 4*rails + 2, Names: ends, Looked: true}
		step := 0
		cost := b.each(func() {
			step++
			pane.Lines(k, board(ends, rails, step))
		})
		c.at, c.cost = append(c.at, float64(rails)), append(c.cost, cost.Seconds()*1e6)
	}
	return grown(c), nil
}

// board is gauges of which every one has another rate and another history at each step, so that
// nothing is drawn from a cache.
func board(ends []string, rails, step int) (b meter.Board) {
	for node, name := range ends {
		for i := range rails {
			rate := float64((step*7 + i*13) % 180)
			history := make([]float64, meter.HistoryLen)
			for j := range history {
				history[j] = float64((step + i + j) % 180)
			}
			f := meter.Flow{RDMA: rate, IP: rate / 50, Peak: 180, Avg: 90, History: history}
			b.Gauges = append(b.Gauges, meter.Gauge{
				Node: name, No: node, Dev: fmt.Sprintf("mlx5_%d", i), Netdev: fmt.Sprintf("eth%d", i),
				LinkGbps: 200, CeilingGbps: 112, Tx: f, Rx: f,
			})
		}
	}
	return b
}

// each is how long one call takes, among many.
func (b *bench) each(f func()) time.Duration {
	span := 500 * time.Millisecond
	if b.quick {
		span = 20 * time.Millisecond
	}
	// Once for what is made at the first call only.
	f()
	began, n := time.Now(), 0
	for time.Since(began) < span {
		f()
		n++
	}
	return time.Since(began) / time.Duration(n)
}

// growNodes watches more and more nodes.
func growNodes(b *bench) (result, error) {
	c := chart{title: "Gauges at 10 Hz, by the nodes with 4 rails each", of: "nodes", unit: "% of a core"}
	for _, nodes := range []int{2, 4, 8} {
		core, _, _, err := b.moving(nodes)
		if err != nil {
			return result{}, err
		}
		c.at, c.cost = append(c.at, float64(nodes)), append(c.cost, core)
	}
	return grown(c), nil
}

// What somebody does in an hour who does nothing else.
const (
	// More than anybody does, so an aim that is reached here is reached.
	runsAnHour  = 60
	linesOfARun = 100
)

// growHours folds the events of a session that stays open for up to a week.
func growHours(b *bench) (result, error) {
	c := chart{title: "Folding a session's events, by its hours", of: "hours", unit: "ms"}
	tutorial := steps.Tutorial{Title: "long", Parts: []steps.Part{{ID: "long", Title: "Long"}}}
	for i := range 40 {
		id := fmt.Sprintf("cell-%d", i)
		tutorial.Parts[0].Cells = append(tutorial.Parts[0].Cells, steps.Cell{ID: id, Part: "long", Title: id})
	}
	lines := make([]steps.OutputLine, linesOfARun)
	for i := range lines {
		lines[i] = steps.OutputLine{From: "spark-02", Text: fmt.Sprintf("65536 5000 11032.64 %d", i)}
	}
	for _, hours := range []int{1, 24, 168} {
		cost := b.each(func() {
			book := steps.NewNotebook(tutorial)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for i := range hours * runsAnHour {
				run, id := steps.RunID(i+1), tutorial.Parts[0].Cells[i%40].ID
				at = at.Add(time.Hour / runsAnHour)
				book = book.Apply(steps.CellStarted{Run: run, Cell: id, At: at})
				book = book.Apply(steps.CellPrinted{Run: run, Cell: id, Lines: lines})
				book = book.Apply(steps.CellEnded{
					Run: run, Cell: id, At: at, Elapsed: time.Second, Verdict: steps.Verdict{Grade: steps.Pass},
				})
			}
		})
		c.at, c.cost = append(c.at, float64(hours)), append(c.cost, ms(cost))
	}
	return grown(c), nil
}
