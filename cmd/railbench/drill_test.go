package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim"
)

// Every drill begins with what somebody would report, and has hints; none but the last, which
// names the check, names the fault.
func TestDrillFor(t *testing.T) {
	t.Parallel()
	for i, fault := range sim.Faults() {
		d, err := drillFor(fault, "spark-01", uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Report) < 5 || len(d.Hints) != 3 || strings.Contains(d.Report, "*") {
			t.Errorf("%s: %+v", fault.Name, d)
		}
		if text := d.Report + strings.Join(d.Hints[:2], " "); strings.Contains(text, fault.Name) {
			t.Errorf("%s is named: %+v", fault.Name, d)
		}
	}
	if d, err := drillFor(sim.Fault{Name: "nobody-finds-it"}, "", 1); err != nil || d.Report == "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// What was reached is kept, and shown with the best first.
func TestDrillScores(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out bytes.Buffer
	if err := drillScores(&out); err != nil || !strings.Contains(out.String(), "No drill was done yet") {
		t.Errorf("%v: %s", err, out.String())
	}
	for i, points := range []int{40, 90} {
		d := drillScore{At: time.Unix(0, 0), Fault: "slow-rail@spark-01", Seed: uint64(i), Points: points, Took: time.Minute, Checks: 3, Hints: 1}
		if err := d.keep(); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	if err := drillScores(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "    90  1m0s") || !strings.HasPrefix(lines[2], "    40  1m0s") ||
		!strings.Contains(lines[1], "slow-rail@spark-01 (1)") {
		t.Errorf("got:\n%s", out.String())
	}
}
