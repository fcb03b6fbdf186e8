package doctor

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// Two findings of one code are one fault only where they are at the same node and rail.
func TestCauseOfPlaces(t *testing.T) {
	a0, a1 := []string{"a0"}, []string{"a1"}
	first := Check{ID: "first", Verdict: steps.Fail, Code: steps.LinkDown, Node: "x", Devices: a0}
	for name, c := range map[string]struct {
		of   Check
		want string
	}{
		"the same place":          {Check{Code: steps.LinkDown, Node: "x", Devices: a0}, "first"},
		"no rail is named":        {Check{Code: steps.LinkDown, Node: "both"}, "first"},
		"another node":            {Check{Code: steps.LinkDown, Node: "y", Devices: a0}, ""},
		"another rail":            {Check{Code: steps.LinkDown, Node: "x", Devices: a1}, ""},
		"what follows":            {Check{Code: steps.PortDown, Node: "y", Devices: a0}, "first"},
		"what follows, elsewhere": {Check{Code: steps.PortDown, Node: "y", Devices: a1}, ""},
		"several rails":           {Check{Code: steps.PortDown, Node: "both", Devices: []string{"a1", "a0"}}, "first"},
		"something else":          {Check{Code: steps.AdapterHot, Node: "x", Devices: a0}, ""},
	} {
		c.of.ID, c.of.Verdict = "second", steps.Fail
		if got := causeOf(c.of, []Check{first, c.of}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A sure match that meets another fault's finding does not end the search.
func TestSymptomHits(t *testing.T) {
	about := Symptom{own: map[string][]steps.Code{"reboot-safe": {steps.AddressNotSaved}, "link-speed": nil}}
	for name, c := range map[string]struct {
		check string
		v     steps.Verdict
		want  bool
	}{
		"its own":   {"reboot-safe", steps.Verdict{Grade: steps.Warn, Code: steps.AddressNotSaved}, true},
		"another's": {"reboot-safe", steps.Verdict{Grade: steps.Warn, Code: steps.MTUNotSaved}, false},
		"among others": {"reboot-safe", steps.Verdict{
			Grade: steps.Warn, Code: steps.MTUNotSaved, Codes: []steps.Code{steps.MTUNotSaved, steps.AddressNotSaved},
		}, true},
		"what it follows": {"reboot-safe", steps.Verdict{Grade: steps.Fail, Code: steps.DuplicateIP}, true},
		"by its words":    {"link-speed", steps.Verdict{Grade: steps.Warn, Code: steps.LinkSlow}, true},
		"a weak match":    {"memlock", steps.Verdict{Grade: steps.Fail, Code: steps.MemlockLow}, false},
		"nothing":         {"link-speed", steps.Verdict{Grade: steps.Pass}, false},
	} {
		if got := about.hits(c.check, c.v); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What follows from another finding names the check that made it; the cause itself names none.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	check := func(id string, g steps.Grade, code steps.Code) Check {
		return Check{ID: id, Verdict: g, Code: code}
	}
	all := []Check{
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
