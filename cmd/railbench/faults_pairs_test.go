package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
)

// A trace is how one fault shows next to another: a code, with a word of its text where another fault has the code,
// too.
type trace struct {
	code steps.Code
	word string
}

// ownTraces are, by fault, what the write bandwidth says of it, and one of the checklist; the zero trace where a tool
// does not see it.
var ownTraces = map[string]struct{ cell, check trace }{
	"adapter-lost":     {trace{steps.PortLeftOut, "not used as"}, trace{steps.AdapterLost, ""}},
	"bad-cable":        {trace{steps.ErrorsGrew, "rx_crc"}, trace{steps.CableErrors, ""}},
	"counter-missing":  {trace{steps.NotCounted, "no port counters"}, trace{steps.CounterBad, ""}},
	"degraded-adapter": {trace{steps.AdapterDegraded, ""}, trace{steps.AdapterDegraded, ""}},
	"hog":              {trace{steps.OtherTraffic, ""}, trace{steps.OtherTraffic, ""}},
	"hot-adapter":      {trace{steps.AdapterHot, ""}, trace{steps.AdapterHot, ""}},
	"mtu-mismatch":     {trace{steps.MTUDiffers, ""}, trace{steps.MTUDiffers, ""}},
	"pauses":           {trace{steps.Congestion, "_pause"}, trace{steps.Congestion, "_pause"}},
	"pcie-x2":          {trace{steps.PCIeNarrow, ""}, trace{steps.PCIeNarrow, ""}},
	"rail-ip-missing":  {trace{steps.PortLeftOut, "not used as"}, trace{steps.AddressMissing, ""}},
	"retransmits":      {trace{steps.ErrorsGrew, "packet_seq_err"}, trace{steps.PacketsLost, ""}},
	"slow-cable":       {trace{steps.LinkSlow, ""}, trace{steps.CableSlow, ""}},
	"slow-rail":        {trace{steps.RailsApart, "Rail 1"}, trace{steps.RailsApart, "Rail 1"}},
	"firewall":         {trace{steps.ServerUnreachable, ""}, trace{steps.FirewallBlocks, ""}},
	"bond-left-over":   {trace{steps.NotRunToEnd, "bond0"}, trace{steps.BondOneSided, ""}},
	"cable-unplugged":  {trace{steps.PortDown, ""}, trace{steps.LinkDown, ""}},
}

// hiddenBy are, by fault, the faults that cannot show next to it. Each says so: the checklist has what it hides, or
// the evidence that a second cause does not show.
var hiddenBy = map[string][]string{
	"adapter-lost":     {"pcie-x2"}, // it has taken the half that is narrow
	"hog":              {"pauses", "slow-rail", "degraded-adapter"},
	"degraded-adapter": {"slow-rail"},
	"retransmits":      {"degraded-adapter", "slow-rail", "hog"},
	"cable-unplugged":  {"bad-cable", "mtu-mismatch", "slow-rail", "slow-cable"},
	"firewall":         {"*"},
	"bond-left-over":   {"*"},
}

func hides(by, fault string) bool {
	return slices.Contains(hiddenBy[by], "*") || slices.Contains(hiddenBy[by], fault)
}

// shows reports whether a verdict has a trace in it.
func (tr trace) shows(code steps.Code, codes []steps.Code, reason string, findings []steps.Found) bool {
	for _, f := range findings {
		if f.Code == tr.code && strings.Contains(f.Text, tr.word) {
			return true
		}
	}
	return (code == tr.code || slices.Contains(codes, tr.code)) && strings.Contains(reason, tr.word)
}

// TestTwoFaults: of two faults at once both are named, or one is said to hide the other.
func TestTwoFaults(t *testing.T) {
	t.Parallel()
	var names []string
	for name := range ownTraces {
		names = append(names, name)
	}
	slices.Sort(names)
	n := 0
	for i, a := range names {
		for _, b := range names[i+1:] {
			both := a + "," + b
			// What concerns one slow rail is what went wrong here: everybody runs that.
			if n++; sampled(n) && (a != "slow-rail" && b != "slow-rail" || hides(a, b) || hides(b, a)) {
				continue
			}
			t.Run(both, func(t *testing.T) {
				t.Parallel()
				twoFaults(t, a, b)
			})
		}
	}
	if testform.Full() && n < 100 {
		t.Errorf("only %d pairs", n)
	}
}

func twoFaults(t *testing.T, a, b string) {
	t.Helper()
	r, _, stderr := headlessly(t, "ib-write-bw", "--fault", a+","+b)
	d, _, _ := diagnose(t, "--fault", a+","+b)
	if len(r.Cells) != 1 {
		t.Fatal(stderr)
	}
	c := r.Cells[0]
	for fault, by := range map[string]string{a: b, b: a} {
		own := ownTraces[fault]
		if !own.cell.shows(c.Code, nil, c.Reason, c.Findings) && !hides(by, fault) {
			t.Errorf("the cell does not name %s: %s", fault, steps.Verdict{Reason: c.Reason, Findings: c.Findings}.Said())
		}
		named := slices.ContainsFunc(d.Checks, func(c doctor.Check) bool {
			return c.Verdict > steps.Pass && own.check.shows(c.Code, c.Codes, c.Reason, c.Findings)
		})
		if named {
			continue
		}
		hidden := slices.ContainsFunc(d.Checks, func(c doctor.Check) bool {
			second := slices.ContainsFunc(c.Evidence, func(e steps.Evidence) bool {
				text, _ := e.Value.(string)
				return strings.HasPrefix(text, "A second cause")
			})
			return c.Verdict > steps.Pass && (len(c.Hidden) > 0 || second)
		})
		if !hides(by, fault) || !hidden && by != "adapter-lost" {
			t.Errorf("the checklist does not name %s", fault)
		}
	}
}
