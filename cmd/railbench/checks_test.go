package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
)

// diagnose runs the checklist on the simulated rig and gives the object that --json
// prints, the exit status and what stderr got.
func diagnose(t *testing.T, args ...string) (doctor.Object, int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(append([]string{"doctor", "--rig", "sim", "--speed", "max", "--json"}, args...), strings.NewReader(""),
		&stdout, &stderr)
	var r doctor.Object
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v: exit %d: %v\n%s%s", args, code, err, stdout.String(), stderr.String())
	}
	return r, code, stderr.String()
}

// mayFind lists, by fault, the checks that may see it next to those that have to: it is not a fault of theirs, and
// what they say follows from it. "*" is all of them.
func mayFind(fault string) []string {
	if fault == "peer-dead" {
		return []string{"*"}
	}
	return slices.Concat(networkMay[fault], hardwareMay[fault], softwareMay[fault])
}

// atRest is what checks say of the simulated rig without a fault where that is not a PASS: no container is named.
var atRest = map[string]steps.Grade{"container": steps.Skipped}

// A title is printed after FAIL and PASS alike, so it names what is checked, and not the state that one wishes for.
func TestTitlesOfChecksAreNouns(t *testing.T) {
	t.Parallel()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	verbs := strings.Fields("is are was were has have had may holds leads answers finds works waits goes lets no not " +
		"nothing nobody every")
	for _, p := range tut.Checklist {
		for _, c := range p.Cells {
			words := strings.Fields(strings.ToLower(c.Title))
			if len(words) > 7 || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(verbs, w) }) {
				t.Errorf("%s: %q is a sentence", c.ID, c.Title)
			}
		}
	}
}

// TestDoctorOutOfTime: what has no time left is not run, and is not waited for.
func TestDoctorOutOfTime(t *testing.T) {
	t.Parallel()
	r, code, stderr := diagnose(t, "--timeout", "1ns")
	if code != exitInconclusive && code != exitUnreachable || len(r.Checks) < 30 {
		t.Errorf("exit %d, %d checks: %s", code, len(r.Checks), stderr)
	}
	for _, c := range r.Checks {
		if c.Verdict != steps.Inconclusive || !strings.Contains(c.Reason, "--timeout of 1ns was reached") {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
	}
	// In the middle, with fixes to come.
	if r, code, _ := diagnose(t, "--timeout", "300ms", "--fix", "--yes", "--fault", "link-down", "--speed",
		"1"); code == exitOK || len(r.Checks) < 30 {
		t.Errorf("exit %d, %d checks", code, len(r.Checks))
	}
}

// TestHealthyRigHasNoFinding: on a rig without a fault every check passes, on the
// evidence of something.
func TestHealthyRigHasNoFinding(t *testing.T) {
	t.Parallel()
	seeds := []string{"18446744073709551615", "1"}
	if !testform.Full() {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		r, code, stderr := diagnose(t, "--seed", seed)
		if code != exitOK {
			t.Errorf("seed %s: exit %d: %s", seed, code, stderr)
		}
		for _, c := range r.Checks {
			if want := cmp.Or(atRest[c.ID], steps.Pass); c.Verdict != want || c.Reason == "" || len(c.Evidence) == 0 ||
				c.Fix != "" {
				t.Errorf("seed %s: %s: %s: %q, on %d pieces of evidence, fix %q", seed, c.ID, c.Verdict, c.Reason, len(c.Evidence),
					c.Fix)
			}
		}
	}
}

// TestFixesPutRight: what a check offers to correct is right afterwards, or the cell says why not. A fix that does
// nothing for what was found is not offered.
func TestFixesPutRight(t *testing.T) {
	t.Parallel()
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	byHand := map[string]bool{"link-up/cable-unplugged": true, "arp-flux/arp-flux": true, "arp-flux/crossed": true}
	offered := 0
	for _, c := range list.Checks() {
		for _, f := range c.Check.Finds {
			if c.Check.Fix == "" {
				continue
			}
			name := c.ID + "/" + f
			if offered++; sampled(offered) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r, _, stderr := diagnose(t, c.ID, "--fault", f, "--fix", "--yes")
				found := r.Checks[0]
				if byHand[name] {
					if found.Fix != "" || found.Verdict != steps.Fail || strings.Contains(stderr, c.Check.Fix) {
						t.Errorf("%s, and %q is offered: %s", found.Verdict, found.Fix, stderr)
					}
					return
				}
				if !found.Fixed || found.Verdict != steps.Pass || found.Fix != c.Check.Fix {
					t.Errorf("%s after %q: %s: %s", found.Verdict, found.Fix, found.Reason, stderr)
				}
			})
		}
	}
	if offered < 15 {
		t.Errorf("%d fixes were tried", offered)
	}
}

// TestEveryFaultIsFound breaks the rig in every way that there is and runs every
// check: a check that always passes is found, and so is one that fires at everything.
func TestEveryFaultIsFound(t *testing.T) {
	t.Parallel()
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	finds := map[string][]string{} // checks, by fault
	for _, c := range list.Checks() {
		if len(c.Check.Finds) == 0 {
			t.Errorf("%s finds no fault: a check that can't fail proves nothing", c.ID)
		}
		for _, f := range c.Check.Finds {
			if !slices.ContainsFunc(sim.Faults(), func(known sim.Fault) bool { return known.Name == f }) {
				t.Errorf("%s finds %q, and the rig has no such fault", c.ID, f)
			}
			finds[f] = append(finds[f], c.ID)
		}
	}
	for i, f := range sim.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			if sampled(i) {
				t.Skip("RAILBENCH_FULL=1 runs every fault, and so does its name")
			}
			t.Parallel()
			want, may := finds[f.Name], mayFind(f.Name)
			if len(want) == 0 {
				t.Error("no check finds it")
			}
			r, code, stderr := checksOf(t, f.Name)
			for _, c := range r.Checks {
				switch {
				case c.Reason == "":
					t.Errorf("%s: %s without a reason", c.ID, c.Verdict)
				case slices.Contains(want, c.ID) && (c.Verdict == steps.Pass && c.Advice == nil || c.Verdict == steps.Skipped):
					t.Errorf("%s doesn't find it: %s: %s", c.ID, c.Verdict, c.Reason)
				case !slices.Contains(want, c.ID) && c.Verdict != steps.Pass && c.Verdict != atRest[c.ID] &&
					!slices.Contains(may, c.ID) && !slices.Contains(may, "*"):
					t.Errorf("%s has nothing to do with it: %s: %s", c.ID, c.Verdict, c.Reason)
				}
			}
			if wanted := wantCode(r.Summary, f.Name == "peer-dead"); code != wanted {
				t.Errorf("exit %d, want %d: %s", code, wanted, stderr)
			}
		})
	}
}
