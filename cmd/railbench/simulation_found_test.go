package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railbench/railbench/steps"
)

// What seeds have found stays found, whatever other seeds do: a test each.

// A measurement that is interrupted on the simulated rig reads its counters and ends. It waited for itself, and with
// it all that came after it: the counters were read by a person who was new to the rig's clock, while the run had the
// turn.
func TestAnInterruptedMeasurementEnds(t *testing.T) {
	t.Parallel()
	withSimulated(t, func(s *simulated) {
		s.open("")
		d := s.desk
		d.session.Run("ib-write-bw")
		s.pass(4 * time.Second)
		d.session.Interrupt()
		s.pass(time.Minute)
		v := d.bookCell("ib-write-bw").Verdict
		if v.Grade != steps.Inconclusive || !strings.Contains(v.Said(), "Interrupted") {
			t.Errorf("%s: %q", v.Grade, v.Reason)
		}
		s.leave()
	})
}

// withSimulated lives through what f does in place of a seed's user.
func withSimulated(t *testing.T, f func(s *simulated)) {
	t.Helper()
	if _, err := theTutorial(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(1, dir)
		s.tutorial, _ = theTutorial()
		s.live(f)
		if len(s.found) > 0 {
			t.Errorf("%s\n\nthe steps:\n%s", strings.Join(s.found, "\n"), s.trace.String())
		}
	})
}

// bookCell is what a cell came to, as it is kept.
func (d *simulatedDesk) bookCell(id string) steps.CellState {
	if d.store == nil {
		return steps.CellState{}
	}
	return d.store.Book().Cells[id]
}

// What a user asks for is judged by a look at the nodes that began after that: a rail that went
// down a moment after another cell had looked was a PASS for two seconds.
func TestACellLooksAfterItWasAskedFor(t *testing.T) {
	t.Parallel()
	withSimulated(t, func(s *simulated) {
		s.open("")
		d := s.desk
		d.session.Run("rail-map")
		s.pass(time.Second / 10)
		s.inject("link-down")
		d.session.Run("rail-map")
		s.pass(time.Second / 10)
		if v := d.bookCell("rail-map").Verdict; v.Grade == steps.Pass || !strings.Contains(v.Said(), "Rail 2 is DOWN") {
			t.Errorf("%s: %q", v.Grade, v.Reason)
		}
		s.leave()
	})
}
