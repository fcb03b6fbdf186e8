package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// While no one fetches, two checks print side by side and a benchmark's table grows with each line: what waits stays
// bounded, and in order.
func TestWhatWaitsIsBounded(t *testing.T) {
	o := newOutbox()
	for run := range steps.RunID(3) {
		o.put(steps.CellStarted{Run: run, Cell: fmt.Sprint(run)})
	}
	long := strings.Repeat("x", 8<<10)
	const each = 20_000
	for i := range each {
		for run := range steps.RunID(3) {
			text := fmt.Sprint(i)
			if run == 2 {
				text = long
			}
			o.put(steps.CellPrinted{Run: run, Cell: fmt.Sprint(run), Lines: []steps.OutputLine{{Text: text}}})
			o.put(steps.CellMeasured{Run: run, Cell: fmt.Sprint(run), Table: steps.Table{Title: fmt.Sprint(i)}})
		}
		o.put(steps.NodeChanged{})
	}
	o.put(steps.CellEnded{Run: 1, Cell: "1"})
	events, _ := o.next(context.Background())
	printed, changed := 0, 0
	book := steps.NewNotebook(steps.Tutorial{})
	for _, e := range events {
		book = book.Apply(e)
		switch e := e.(type) {
		case steps.NodeChanged:
			changed++
		case steps.CellPrinted:
			printed++
			size := 0
			for _, l := range e.Lines {
				size += l.Size()
			}
			if size > steps.KeepBytes*5/4 || len(e.Lines) > steps.KeepLines*5/4 || e.Dropped+len(e.Lines) != each {
				t.Errorf("run %d: %d lines of %d bytes, %d dropped", e.Run, len(e.Lines), size, e.Dropped)
			}
		}
	}
	if printed != 3 || changed != each || len(events) != 3+3+3+each+1 {
		t.Errorf("%d events, %d with lines, %d changes", len(events), printed, changed)
	}
	for id, c := range book.Cells {
		last := c.Output.Lines(c.Output.Len()-1, 1)
		if c.Live.Title != fmt.Sprint(each-1) || c.Running != (id != "1") || len(last) != 1 ||
			id != "2" && last[0].Text != fmt.Sprint(each-1) {
			t.Errorf("cell %s: %v, %v, running %v", id, c.Live.Title, last, c.Running)
		}
	}
	// What comes after is an event of its own: those before are gone.
	o.put(steps.CellPrinted{Run: 0, Cell: "0", Lines: []steps.OutputLine{{Text: "more"}}})
	if events, _ = o.next(context.Background()); len(events) != 1 || len(events[0].(steps.CellPrinted).Lines) != 1 {
		t.Errorf("then %v", events)
	}
}
