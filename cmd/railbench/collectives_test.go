package main

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
)

// collectives are the cells that run on every node.
var collectives = []string{"mpi-launch", "nccl-allreduce", "nccl-allgather"}

// On three nodes, whichever link is under test, every node takes part, and both halves of each
// carry what a collective sends.
func TestCollectivesOfThreeNodes(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"", "spark-03:spark-01"} {
		f, b := ranOnTrio(t, link, nil, collectives...)
		for _, id := range collectives {
			if v := f.Ended[id].Verdict; v.Grade != steps.Pass {
				t.Errorf("%s over %q: %s: %s", id, link, v.Grade, v.Reason)
			}
		}
		v := f.Ended["nccl-allreduce"].Verdict
		if !strings.Contains(v.Reason, "with 4096 MiB on 3 nodes over 2 ports each") ||
			!strings.Contains(v.Said(), "The PCIe halves of each node carried equal shares") {
			t.Error(v.Reason)
		}
		halves := 0
		for _, e := range v.Evidence {
			if strings.Contains(e.Name, "over the half") {
				halves++
			}
		}
		if halves != 12 || len(v.Charts) != 1 || len(v.Tables) != 1 || len(v.Tables[0].Rows) != 17 {
			t.Errorf("%d counts of halves, %d charts, %d tables", halves, len(v.Charts), len(v.Tables))
		}
		nothingRuns(t, b)
	}
}

// nothingRuns: no collective has left a process on any node.
func nothingRuns(t *testing.T, b *openRig) {
	t.Helper()
	for _, name := range b.simRig.Nodes() {
		n, err := b.simRig.Node(name, sim.NodeOptions{}) // the session has closed its own
		if err != nil {
			t.Fatal(err)
		}
		out, err := runner.Text(t.Context(), n,
			runner.Script{Name: "look", Body: "pgrep -f 'orted|mpirun|_perf'; echo looked"})
		if out != "looked\n" && (err == nil || name != "spark-01") { // it is dead in one of the tests
			t.Errorf("%s has %q, %v", name, out, err)
		}
		n.Close()
	}
}

// What is wrong with NCCL on one node is found, named, and never passes.
func TestCollectivesFindFaults(t *testing.T) {
	t.Parallel()
	for fault, c := range map[string]struct {
		grade steps.Grade
		words []string
	}{
		"nccl-half@spark-03": {
			steps.Fail,
			[]string{"On spark-03 only one PCIe half", "roceP2p1s0f0 and roceP2p1s0f1 carried nothing", "NCCL_IB_HCA"},
		},
		"nccl-tcp": {
			steps.Fail,
			[]string{"the data went over enp1s0f0np0 as TCP", "NET/Socket", "RDMA counters did not move"},
		},
		"nccl-socket@spark-03": {steps.Fail, []string{"NCCL on spark-03 finds no interface", "NCCL_SOCKET_IFNAME"}},
		"nccl-gid@spark-03": {
			steps.Fail,
			[]string{
				"NCCL on spark-03 could not connect a queue pair of rocep1s0f0: it", "is at 3",
				"NCCL_IB_GID_INDEX",
			},
		},
		"nccl-version@spark-03": {
			steps.Fail,
			[]string{"2.28.9 and 2.27.7", "Run: railbench doctor nccl-version"},
		},
		"nccl-hang@spark-03": {steps.Inconclusive, []string{"timed out", "ended after 3 rows", "nccl-settings"}},
		"pcie-x2@spark-03": {
			steps.Fail,
			[]string{"GB/s of bus bandwidth", "roceP2p1s0f0 on spark-03 is x2"},
		},
		"adapter-lost@spark-03": {
			steps.Fail,
			[]string{"spark-03 lacks roceP2p1s0f0 and roceP2p1s0f1"},
		},
		"link-down@spark-03":   {steps.Fail, []string{"rocep1s0f1 on spark-03 is not up"}},
		"gpu-missing@spark-03": {steps.Skipped, []string{"spark-03 has no GPU", "mpi-launch"}},
		"peer-dead":            {steps.Inconclusive, []string{"spark-01"}},
	} {
		f, b := ranOnTrio(t, "spark-02:spark-03", []string{fault}, "nccl-allreduce")
		v := f.Ended["nccl-allreduce"].Verdict
		if v.Grade != c.grade {
			t.Errorf("%s: %s: %s", fault, v.Grade, v.Reason)
		}
		for _, w := range c.words {
			if !strings.Contains(v.Said(), w) {
				t.Errorf("%s: %q is missing in %q", fault, w, v.Said())
			}
		}
		nothingRuns(t, b)
	}
}

// Of four nodes behind a switch one is slow: a collective, which is as fast as that one, names it where something on
// it reports, and else says what would find it.
func TestACollectiveNamesTheSlowNode(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		fault string
		grade steps.Grade
		words []string
	}{
		{"adapter-lost", steps.Fail, []string{"spark-03 lacks roceP2p1s0f0 and roceP2p1s0f1"}},
		{"bad-cable", steps.Warn, []string{
			"rocep1s0f0 and roceP2p1s0f0 on spark-03",
			"symbol_error",
		}},
		{
			"cable-unplugged", steps.Warn,
			[]string{"rocep1s0f0 and roceP2p1s0f0 on spark-03 are not up", "other nodes"},
		},
		{"crossed", steps.Fail, []string{
			"NCCL on spark-01 could not connect a queue pair of rocep1s0f0 to spark-03 (192.168.100.22 of rocep1s0f0)",
			"doctor arp-flux",
		}},
		{"degraded-adapter", steps.Fail, []string{
			"13 Gb/s", "unplug power", "The slowest node is unknown", "railbench pairs",
		}},
		{"duplicate-ip", steps.Fail, []string{
			"NCCL's packets from spark-02 (rocep1s0f1) to 192.168.200.10 got no answer: " +
				"spark-01 and spark-03",
		}},
		{"hog", steps.Fail, []string{"p to 21.2 Gb/s of other traffic", "rocep1s0f1 on spark-03 before"}},
		{
			"hot-adapter", steps.Warn,
			[]string{"rocep1s0f0, rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1 on spark-03 reached 114"},
		},
		{"link-down", steps.Fail, []string{"rocep1s0f1 on spark-03 is not up"}},
		{"mtu-mismatch", steps.Warn, []string{"rocep1s0f0 is 4096 on spark-03 but 1024 on spark-02, spark-01 and spark-04"}},
		{"nccl-half", steps.Fail, []string{"On spark-03"}},
		{"pauses", steps.Warn, []string{"on spark-", "Pause frames slowed"}},
		{"pcie-x2", steps.Fail, []string{"roceP2p1s0f0 on spark-03 is x2"}},
		{"retransmits", steps.Fail, []string{"spark-03, fewer on spark-01 and spark-04"}},
		{"slow-cable", steps.Inconclusive, []string{"100 Gb/s such as rocep1s0f1 of spark-03"}},
		// Two rails of a half share its PCIe link, which ends them before this one's 60 Gb/s would.
		{"slow-rail", steps.Pass, nil},
	} {
		if sampled(i) {
			continue
		}
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			f, _ := ranOn(t, rigFlags{rig: "sim", nodeCount: 4, faults: []string{c.fault + "@spark-03"}}, "nccl-allreduce")
			v := f.Ended["nccl-allreduce"].Verdict
			if v.Grade != c.grade {
				t.Errorf("%s: %s", v.Grade, v.Reason)
			}
			for _, w := range c.words {
				if !strings.Contains(v.Said(), w) {
					t.Errorf("%q is missing in %q", w, v.Said())
				}
			}
		})
	}
}

// A rig whose NCCL is too old for a ring gets the required version in the verdict: before a collective, and
// where a collective is slow.
func TestARingNeedsItsNCCL(t *testing.T) {
	t.Parallel()
	old := []string{"nccl-version@spark-01", "nccl-version@spark-02", "nccl-version@spark-03"}
	f, _ := ranOn(t, rigFlags{rig: "ring", faults: append(old, "degraded-adapter@spark-03")}, "nccl-version",
		"nccl-allreduce")
	for cell, want := range map[string]steps.Grade{"nccl-version": steps.Warn, "nccl-allreduce": steps.Fail} {
		v := f.Ended[cell].Verdict
		if v.Grade != want || !strings.Contains(strings.ToLower(v.Reason), "nodes in a ring need nccl 2.30.7 or later") ||
			!strings.Contains(v.Said(), "2.27.7") {
			t.Errorf("%s: %s: %s", cell, v.Grade, v.Reason)
		}
	}
}
