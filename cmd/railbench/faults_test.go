package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
)

// A symptom is what a fault has to do to the verdicts.
type symptom struct {
	// seen are the cells that must see it, and words that their reasons must hold,
	// one line of words a cell. None of them may PASS, and none may be SKIPPED.
	seen map[string][]string
	// skipped are the cells that can't be run because of it, in the same way.
	skipped map[string][]string
	// says are words in the reason of a cell that may PASS: it must not claim more
	// than what is whole.
	says map[string][]string
	// may are further cells that it is right to warn in. All others PASS.
	may []string
}

// tcpTests say these words where a fault is on the way that TCP takes.
func tcpTests(seen map[string][]string, words ...string) map[string][]string {
	seen["tcp-single"], seen["tcp-parallel"] = words, words
	return seen
}

var everyTest = []string{"ib-write-bw", "ib-write-lat"}

// symptoms is by fault. One that is missing here fails the test: a fault that no
// cell sees teaches nobody anything.
var symptoms = map[string]symptom{
	"bond-left-over": {
		seen: tcpTests(map[string][]string{
			"rail-map": {"bond0 on spark-01 holds enp1s0f0np0"}, "gids": {"bond0", "spark-01"},
			"bond-check": {"bond0 on spark-01 holds enp1s0f0np0", "spark-02 has no bond"}, "bond-status": {"spark-01 bonds its rails and spark-02 doesn't"},
		}, "spark-01 bonds its rails and spark-02 doesn't"),
		says: map[string][]string{"ping": {"Both rails"}, "ib-write-bw": {"each of the 2 rails"}, "ib-write-lat": {"each of the 2 rails"}},
		may:  append([]string{"interfaces", "devices", "ping"}, everyTest...),
	},
	"cable-unplugged": {
		seen: tcpTests(map[string][]string{
			"interfaces": {"enp1s0f0np0", "no link", "cable"}, "devices": {"rocep1s0f0", "DOWN", "cable"}, "rail-map": {"Rail 1 is DOWN", "cable"},
			"ping": {"Rail 1", "does not answer"}, "ib-write-bw": {"Rails 1 and 3", "state is Down"}, "ib-write-lat": {"Rails 1 and 3", "state is Down"},
		}, "enp1s0f0np0", "no link", "cable"),
		may: []string{"gids"},
	},
	"counter-missing":  {seen: map[string][]string{"ib-write-bw": {"spark-01", "no port counters", "nothing shows which rail"}}, may: []string{"rail-map"}},
	"counter-reset":    {seen: map[string][]string{"ib-write-bw": {"port_xmit_data", "went backwards"}}},
	"degraded-adapter": {seen: tcpTests(map[string][]string{"ib-write-bw": {"Rails 1, 2, 3 and 4", "degraded", "power"}}, " Gb/s", "degraded")},
	"garbled-output":   {seen: map[string][]string{"ib-write-bw": {"Rails 1, 2, 3 and 4", "no result that can be read"}}},
	"gid-drift":        {seen: map[string][]string{"gids": {"Rail 1", "3 on spark-02", "5 on spark-01"}}},
	"hog":              {seen: map[string][]string{"ib-write-bw": {"Rail 2", "other traffic"}}, may: []string{"ib-write-lat"}},
	"link-down": {
		seen: map[string][]string{
			"interfaces": {"enp1s0f1np1 on spark-01", "switched off"}, "devices": {"rocep1s0f1 on spark-01 is DOWN"}, "rail-map": {"Rail 2 is DOWN on spark-01"},
			"ping": {"Rail 2", "does not answer"}, "ib-write-bw": {"Rail 2", "state is Down"}, "ib-write-lat": {"Rail 2", "state is Down"},
		},
		may: []string{"gids"},
	},
	"mtu-mismatch": {
		seen: tcpTests(map[string][]string{"rail-map": {"Rail 1", "1500 on spark-02", "9000 on spark-01"}, "ping": {"Rail 1", "1500 on spark-02", "9000 on spark-01"}},
			"MTU mismatch", "1500 on enp1s0f0np0 of spark-02", "9000 on enp1s0f0np0 of spark-01", "retransmits"),
		may: everyTest,
	},
	"p2p-ip-conflict": {
		seen: map[string][]string{"rail-map": {"enp1s0f0np0", "enP2p1s0f0np0", "spark-01", "one subnet"}},
		may:  append([]string{"interfaces", "ping"}, everyTest...),
	},
	"pcie-x2": {
		seen: map[string][]string{"rail-map": {"spark-01", "x2", "56 Gb/s"}, "ib-write-bw": {"Rails 3 and 4", "x2"}},
		may:  []string{"devices"},
	},
	"peer-dead": {
		seen: tcpTests(map[string][]string{
			"hosts": {"spark-01", "connection refused"}, "tools": {"Not run"}, "privileges": {"Not run"}, "interfaces": {"Not run"}, "devices": {"Not run"},
			"rail-map": {"Not run"}, "ping": {"Not run"}, "gids": {"Not run"}, "ib-write-bw": {"Not run"}, "ib-write-lat": {"Not run"},
			"bond-check": {"Not run"}, "bond-status": {"Not run"},
		}, "Not run"),
	},
	"port-busy": {
		seen: map[string][]string{"ib-write-bw": {"port 18515 on spark-01 is in use"}, "ib-write-lat": {"port 18515 on spark-01 is in use"}},
	},
	"rail-ip-missing": {
		seen: map[string][]string{"rail-map": {"rocep1s0f1", "enp1s0f1np1", "no address"}},
		says: map[string][]string{"ping": {"3 rails"}, "ib-write-bw": {"each of the 3 rails"}, "ib-write-lat": {"each of the 3 rails"}},
		may:  append([]string{"interfaces", "ping", "gids"}, everyTest...),
	},
	"retransmits": {seen: map[string][]string{"ib-write-bw": {"sent again", "out_of_sequence", "packet_seq_err"}}, may: []string{"ib-write-lat"}},
	"slow-rail":   {seen: map[string][]string{"ib-write-bw": {"Rail 1 (rocep1s0f0)", "Gb/s of 92.6"}, "tcp-parallel": {"Gb/s of 93.0"}}, may: []string{"ib-write-lat"}},
	"sudo-password": {
		skipped: map[string][]string{"privileges": {"spark-02", "root"}},
	},
	"tool-differs": {seen: map[string][]string{"tools": {"6.06 on spark-02", "6.21 on spark-01"}}},
	"tool-missing": {
		seen:    map[string][]string{"tools": {"spark-01 has no ib_write_bw", "install perftest"}},
		skipped: map[string][]string{"ib-write-bw": {"spark-01 has no ib_write_bw", "install perftest"}, "ib-write-lat": {"spark-01 has no ib_write_lat", "install perftest"}},
	},
}

// TestHealthyRig is a rig without a fault: nothing but PASS.
func TestHealthyRig(t *testing.T) {
	t.Parallel()
	for _, seed := range []string{"1", "2", "18446744073709551615"} {
		t.Run("seed "+seed, func(t *testing.T) {
			t.Parallel()
			r, code, _ := headlessly(t, "--all", "--seed", seed)
			if code != exitOK || !r.Rig.Simulated {
				t.Errorf("exit %d, simulated %v", code, r.Rig.Simulated)
			}
			for _, c := range r.Cells {
				if c.Verdict != steps.Pass || c.Reason == "" || len(c.Evidence) == 0 {
					t.Errorf("%s: %s: %q, on %d pieces of evidence", c.ID, c.Verdict, c.Reason, len(c.Evidence))
				}
			}
		})
	}
}

// TestFaults breaks the rig in every way that there is and runs every cell.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name := range symptoms {
		if !slices.ContainsFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == name }) {
			t.Errorf("the table has %q, and the rig hasn't", name)
		}
	}
	for _, f := range sim.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := symptoms[f.Name]
			if !ok {
				t.Fatal("the table doesn't say which cells must see it")
			}
			r, code, stderr := headlessly(t, "--all", "--fault", f.Name)
			for _, c := range r.Cells {
				want.check(t, c)
			}
			if wantCode := r.wantCode(f.Name == "peer-dead"); code != wantCode {
				t.Errorf("exit %d, want %d: %s", code, wantCode, stderr)
			}
		})
	}
}

func (s symptom) check(t *testing.T, c cellReport) {
	t.Helper()
	words, seen := s.seen[c.ID]
	lacks, skipped := s.skipped[c.ID]
	words = append(slices.Clip(append(slices.Clip(words), lacks...)), s.says[c.ID]...)
	switch {
	case c.Reason == "":
		t.Errorf("%s: %s without a reason", c.ID, c.Verdict)
	case skipped && c.Verdict != steps.Skipped:
		t.Errorf("%s can't be run: %s: %s", c.ID, c.Verdict, c.Reason)
	case seen && (c.Verdict == steps.Pass || c.Verdict == steps.Skipped):
		t.Errorf("%s doesn't see it: %s: %s", c.ID, c.Verdict, c.Reason)
	case !seen && !skipped && c.Verdict != steps.Pass && !slices.Contains(s.may, c.ID):
		t.Errorf("%s has nothing to do with it: %s: %s", c.ID, c.Verdict, c.Reason)
	}
	for _, w := range words {
		if !strings.Contains(c.Reason, w) {
			t.Errorf("%s doesn't say %q: %s: %s", c.ID, w, c.Verdict, c.Reason)
		}
	}
}

// wantCode is the exit status that follows from the verdicts.
func (r report) wantCode(unreachable bool) int {
	switch {
	case unreachable:
		return exitUnreachable
	case slices.ContainsFunc(r.Cells, func(c cellReport) bool { return c.Verdict == steps.Fail }):
		return exitFail
	case slices.ContainsFunc(r.Cells, func(c cellReport) bool { return c.Verdict == steps.Inconclusive }):
		return exitInconclusive
	default:
		return exitOK
	}
}
