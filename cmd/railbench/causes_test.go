package main

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// Two findings of one code are one fault only where they are at the same node and rail.
func TestCauseOfPlaces(t *testing.T) {
	rails := []railObject{{Dev: "a0", Netdev: "n0"}, {Dev: "a1", Netdev: "n1"}}
	first := checkObject{
		ID: "first", Verdict: steps.Fail, Code: steps.LinkDown, Node: "x", Reason: "n0 on x has no carrier.",
	}
	for name, c := range map[string]struct {
		of   checkObject
		want string
	}{
		"the same place":          {checkObject{Code: steps.LinkDown, Node: "x", Reason: "n0 is down."}, "first"},
		"the same device":         {checkObject{Code: steps.LinkDown, Node: "x", Reason: "a0 is down."}, "first"},
		"no rail is named":        {checkObject{Code: steps.LinkDown, Node: "both", Reason: "It is down."}, "first"},
		"another node":            {checkObject{Code: steps.LinkDown, Node: "y", Reason: "n0 is down."}, ""},
		"another rail":            {checkObject{Code: steps.LinkDown, Node: "x", Reason: "n1 is down."}, ""},
		"what follows":            {checkObject{Code: steps.PortDown, Node: "y", Reason: "a0 is DOWN."}, "first"},
		"what follows, elsewhere": {checkObject{Code: steps.PortDown, Node: "y", Reason: "a1 is DOWN."}, ""},
		"several rails": {checkObject{
			Code: steps.PortDown, Node: "both", Reason: "And 1 more finding.",
			Findings: []steps.Found{{Grade: steps.Fail, Text: "a1 is DOWN."}, {Grade: steps.Fail, Text: "a0 is DOWN."}},
		}, "first"},
		"something else": {checkObject{Code: steps.AdapterHot, Node: "x", Reason: "n0 is hot."}, ""},
	} {
		c.of.ID, c.of.Verdict = "second", steps.Fail
		if got := causeOf(c.of, []checkObject{first, c.of}, rails); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A sure match that meets another fault's finding does not end the search.
func TestSymptomHits(t *testing.T) {
	about := symptomObject{own: map[string][]steps.Code{"reboot-safe": {steps.AddressNotSaved}, "link-speed": nil}}
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
