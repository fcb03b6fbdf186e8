package main

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// What follows from another finding names the check that made it; the cause itself names none.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	check := func(id string, g steps.Grade, code steps.Code) checkObject {
		return checkObject{ID: id, Verdict: g, Code: code}
	}
	all := []checkObject{
		check("nodes", steps.Pass, ""),
		check("link-up", steps.Fail, steps.LinkDown),
		check("rdma-ports", steps.Fail, steps.PortDown),
		check("memlock", steps.Fail, steps.MemlockLow),
		check("nixl-rails", steps.Fail, steps.MemlockLow),
		check("container", steps.Skipped, steps.CannotRun),
		check("clocks", steps.Warn, steps.ClocksApart),
	}
	want := map[string]string{"rdma-ports": "link-up", "nixl-rails": "memlock"}
	for _, c := range all {
		if got := causeOf(c, all); got != want[c.ID] {
			t.Errorf("%s is caused by %q, want %q", c.ID, got, want[c.ID])
		}
	}
}
