package main

import (
	"slices"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
)

// loadsSee is a symptom of the load of all rails, by its words.
func loadsSee(words ...string) symptom { return symptom{seen: by([]string{"load-all"}, words...)} }

// loadSymptoms is by fault, as symptoms is; one that is missing here leaves the load of all rails as it is.
var loadSymptoms = map[string]symptom{
	"adapter-lost":     loadsSee("spark-01 2, so", "the sum is not complete"),
	"rail-ip-missing":  loadsSee(leftOut["rail-ip-missing"]...),
	"duplicate-ip":     loadsSee(leftOut["duplicate-ip"]...),
	"slow-cable":       loadsSee(slower...),
	"address-returned": loadsSee("in bond0", "bond-teardown"),
	"bond-left-over":   loadsSee("in bond0", "bond-teardown"),
	"roce-lag":         loadsSee("in bond0", "bond-teardown"),
	"peer-dead":        loadsSee("connection refused"),
	"port-busy":        loadsSee("port 18515 on spark-01 is in use"),
	"bad-cable":        loadsSee("rror counters", "symbol_error"),
	"hot-adapter":      loadsSee("reached 1", "degrees", "Improve its airflow"), // it is warmer the longer it is loaded
	"crossed":          loadsSee("timed out", "arp-flux"),
	"arp-flux":         loadsSee("packets stopped arriving", "arp-flux"),
	"cable-unplugged":  loadsSee("rocep1s0f0 on spark-02", "Check its cable"),
	"link-down":        loadsSee("rocep1s0f1 on spark-01 is DOWN", "switched off"),
	"counter-missing":  loadsSee("spark-01", "no port counters"),
	"counter-reset":    loadsSee("went backwards"),
	"degraded-adapter": loadsSee("degraded", "power"),
	"firewall":         loadsSee("Rail 3", "spark-02 cannot reach", "firewall", "3 more"),
	"garbled-output":   loadsSee("no result in the output"),
	"hog":              loadsSee("Gb/s, expected at least 200.3", "21.2 Gb/s"),
	"mtu-mismatch":     loadsSee("The smaller"),
	"pcie-x2":          loadsSee("157.9 Gb/s", "PCIe Gen5 x2"),
	"retransmits":      loadsSee("retransmitted", "out_of_sequence"),
	"pauses":           loadsSee("tx_global_pause", "rx_global_pause"),
	"tool-missing": {skipped: map[string][]string{
		"load-all": {"spark-01 has no ib_write_bw", "nstall perftest"},
	}},
}

// TestLoadFaults breaks the rig and loads all of its rails at once.
func TestLoadFaults(t *testing.T) {
	t.Parallel()
	for name := range loadSymptoms {
		if !slices.ContainsFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == name }) {
			t.Errorf("the table has %q, and the rig hasn't", name)
		}
	}
	for i, f := range sim.Faults() {
		want, concerned := loadSymptoms[f.Name]
		if !concerned && !testform.Full() || sampled(i) {
			continue // what has nothing to do with it is the gate's
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r, code, stderr := headlessly(t, "load-all", "--fault", f.Name)
			for _, c := range r.Cells {
				want.check(t, c)
			}
			if wanted := wantCode(r.Summary, f.Name == "peer-dead"); code != wanted {
				t.Errorf("exit %d, want %d: %s", code, wanted, stderr)
			}
		})
	}
}
