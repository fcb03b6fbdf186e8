package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/progress"
)

// Every drill begins with what a user would report, and has hints; none but the last, which names the check, names
// the fault. Who looks for the report's own words is led to the check that finds it.
func TestDrillFor(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range sim.Faults() {
		d, err := drillFor(fault, "spark-01")
		if err != nil {
			t.Fatal(err)
		}
		if len(fault.Report) < 20 || len(d.Hints) != 3 {
			t.Errorf("%s: %+v", fault.Name, d)
		}
		if text := d.Report + strings.Join(d.Hints[:2], " "); strings.Contains(text, fault.Name) {
			t.Errorf("%s is named: %+v", fault.Name, d)
		}
		finds := func(c steps.Cell) bool { return slices.Contains(c.Check.Finds, fault.Name) }
		if found := tut.Symptom(fault.Report); !slices.ContainsFunc(found, finds) {
			var ids []string
			for _, c := range found {
				ids = append(ids, c.ID)
			}
			t.Errorf("%s: %q leads to %v", fault.Name, fault.Report, ids)
		}
	}
}

// TestExercises: every part ends with its exercise, and a check finds every fault of it.
func TestExercises(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tut.Parts {
		last := p.Cells[len(p.Cells)-1]
		if !strings.Contains(last.Tail, "`railbench drill "+p.ID+"`") {
			t.Errorf("part %s ends without its exercise", p.ID)
		}
		found := map[string]bool{}
		for seed := range uint64(60) {
			f, _, err := drillFault(seed, 0, progress.Exercise(p.ID))
			if err != nil {
				t.Fatalf("%s: %v", p.ID, err)
			}
			found[f.Name] = true
		}
		if len(found) != len(progress.Exercise(p.ID)) {
			t.Errorf("part %s: a check finds %v of %v", p.ID, found, progress.Exercise(p.ID))
		}
	}
	if err := noExercise("gid-chek"); !strings.Contains(err.Error(), "did you mean \"gid-check\"") {
		t.Error(err)
	}
}
