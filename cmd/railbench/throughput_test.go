package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// The cells of the part on throughput that move data. They are aside: no run of all cells has them.
var (
	streamCells = []string{"stream-rail", "stream-half", "stream-halves"}
	gpuWrites   = []string{"rdma-host-gpu", "rdma-gpu"}
	demoCells   = slices.Concat(streamCells, []string{"rdma-host"}, gpuWrites)
)

// demosSee is a symptom of all cells of railbench stream, and of the writes.
func demosSee(stream []string, writes ...string) symptom {
	s := symptom{seen: map[string][]string{}}
	if stream != nil {
		also(s.seen, streamCells, stream...)
	}
	if writes != nil {
		s.seen["rdma-host"] = writes
	}
	return s
}

// everywhere is one that keeps any of them from running.
func everywhere(words ...string) symptom {
	return symptom{seen: by(demoCells, words...)}
}

// demoSymptoms is by fault, as symptoms is; one that is missing here leaves all cells as they are.
var demoSymptoms = map[string]symptom{
	"adapter-lost": {
		seen:    by([]string{"stream-half", "rdma-host"}, leftOut["adapter-lost"]...),
		skipped: map[string][]string{"stream-halves": {"other PCIe half"}},
	},
	"rail-ip-missing":  {seen: by([]string{"stream-half", "stream-halves", "rdma-host"}, leftOut["rail-ip-missing"]...)},
	"duplicate-ip":     {seen: by([]string{"stream-half", "stream-halves", "rdma-host"}, leftOut["duplicate-ip"]...)},
	"slow-cable":       {seen: by([]string{"stream-half", "rdma-host"}, slower...)},
	"address-returned": everywhere("in bond0", "bond-teardown"),
	"bond-left-over":   everywhere("in bond0", "bond-teardown"),
	"roce-lag":         everywhere("in bond0", "bond-teardown"),
	"peer-dead":        {seen: also(by(demoCells[1:], "Not run"), demoCells[:1], "connection refused")},
	"port-busy":        {seen: by(append([]string{"rdma-host"}, gpuWrites...), "port 18515 on spark-01 is in use")},
	"stream-busy":      demosSee([]string{"port is in use on spark-01", "STREAM_PORT"}),
	"bad-cable": demosSee([]string{"rror counters", "symbol_error"}, "Rails 1 and 3", "rx_crc_errors_phy",
		"symbol_error"),
	"arp-flux":        {seen: by([]string{"rdma-host"}, "Rail 1", "packets stopped arriving", "arp-flux")},
	"hot-adapter":     demosSee([]string{"reached 10"}, "reached 10"),
	"cable-unplugged": demosSee([]string{"enp1s0f0np0", "no link", "cable"}, "Rails 1 and 3", "state is Down"),
	"link-down": {seen: map[string][]string{
		"stream-half": {"enp1s0f1np1 on spark-01 is switched off"}, "rdma-host": {"Rail 2", "state is Down"},
	}},
	"counter-missing":  demosSee(nil, "spark-01", "no port counters"),
	"counter-reset":    demosSee(nil, "went backwards"),
	"degraded-adapter": demosSee([]string{"expected at least 27.0", "degraded"}, "degraded", "power"),
	"firewall": demosSee([]string{"spark-02 cannot reach the receiver", "firewall"},
		"spark-02 cannot reach"),
	"host-route":     demosSee([]string{"enp1s0f1np1 carried the data: wrong rail"}),
	"garbled-output": demosSee(nil, "no readable result"),
	"gpu-missing":    {skipped: by(gpuWrites, "spark-01 has no nvidia-smi")},
	"hog":            demosSee([]string{"21.2 Gb/s"}, "Rail 2", "other traffic"),
	"mtu-mismatch": demosSee([]string{
		"MTU mismatch", "1500 on enp1s0f0np0 of spark-02",
		"9000 on enp1s0f0np0 of spark-01",
	}, "Rail 1", "The smaller"),
	"pcie-x2": {seen: also(demosSee(nil, "Rail 3", "Rail 4", "x2").seen, []string{"stream-halves"},
		"Gen5 x2 instead of")},
	"retransmits": demosSee([]string{"expected at least 27.0", "path-loss"}, "retransmitted", "out_of_sequence"),
	"crossed": {seen: also(by([]string{"stream-rail", "stream-halves"}, "enp1s0f0np0", "wrong rail"),
		[]string{"rdma-host"}, "timed out", "arp-flux")},
	"pauses": demosSee(nil, "global_pause"),
	"shaped": {seen: also(map[string][]string{"stream-rail": {"over rail 1, expected at least 27.0"}}, []string{
		"stream-half",
		"stream-halves",
	}, "Rail 1 carried only", "Test it alone")},
	"slow-rail": demosSee(nil, "Rail 1 (rocep1s0f0)", "Gb/s, expected at least"),
	"tool-missing": {skipped: by(append([]string{"rdma-host"}, gpuWrites...), "spark-01 has no ib_write_bw",
		"nstall perftest")},
}

// TestThroughputFaults breaks the rig and runs the part on throughput.
func TestThroughputFaults(t *testing.T) {
	t.Parallel()
	for name := range demoSymptoms {
		if !slices.ContainsFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == name }) {
			t.Errorf("the table has %q, and the rig hasn't", name)
		}
	}
	for i, f := range sim.Faults() {
		want, concerned := demoSymptoms[f.Name]
		if !concerned && !testform.Full() || sampled(i) {
			continue // what has nothing to do with it is the gate's
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			want.skipped = maps.Clone(want.skipped)
			if want.skipped == nil {
				want.skipped = map[string][]string{}
			}
			for _, c := range gpuWrites { // a Spark's can't be run on a rig without a fault, either
				if want.skipped[c] == nil && want.seen[c] == nil {
					want.skipped[c] = []string{"built without CUDA"}
				}
			}
			r, code, stderr := headlessly(t, append(slices.Clone(demoCells), "--fault", f.Name)...)
			for _, c := range r.Cells {
				want.check(t, c)
			}
			if wanted := wantCode(r.Summary, f.Name == "peer-dead"); code != wanted {
				t.Errorf("exit %d, want %d: %s", code, wanted, stderr)
			}
		})
	}
}

// TestThroughputPart runs all of it, with iperf3 as many streams next to it: the table has a row for each test, says
// where two compare, and has the report's figures as they are.
func TestThroughputPart(t *testing.T) {
	t.Parallel()
	r, code, stderr := headlessly(t, "tcp-parallel", "throughput")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	last := r.Cells[len(r.Cells)-1]
	if last.ID != "throughput-table" || last.Verdict != steps.Pass ||
		!strings.Contains(last.Reason, "4 of 6 cells of this part ran, 2 were skipped.") {
		t.Fatalf("%s: %s: %s", last.ID, last.Verdict, last.Reason)
	}
	for _, c := range r.Cells {
		want := steps.Pass
		if slices.Contains(gpuWrites, c.ID) {
			want = steps.Skipped
		}
		if c.Verdict != want {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
	}
	if len(last.Tables) != 1 || len(last.Charts) != 1 {
		t.Fatalf("%d tables, %d charts", len(last.Tables), len(last.Charts))
	}
	rows := map[string][]string{}
	for _, row := range last.Tables[0].Rows {
		rows[row[0]] = row
	}
	if row := rows["railbench stream, rail 1"]; len(row) < 6 || row[5] == "" ||
		!strings.HasSuffix(row[5], " of tcp-parallel") {
		t.Errorf("railbench stream stands beside no iperf3: %q", row)
	}
	for _, name := range []string{"railbench stream, one half", "verbs, host to host, rail 1"} {
		if row := rows[name]; len(row) < 6 || row[5] != "" {
			t.Errorf("%s is compared with what has other conditions: %q", name, row)
		}
	}
	if row := rows["the report: UCX, GPU to GPU"]; len(row) < 3 || row[1] != "46.2" || row[2] != "5.78" {
		t.Errorf("the report's figure: %q", row)
	}
	if row := rows["the report: one wire"]; len(row) < 3 || row[1] != "100.0" || row[2] != "12.5" {
		t.Errorf("the report's wire: %q", row)
	}
}
