package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
)

// ranOnTrio runs cells on the simulated rig of three nodes, and gives what they came to.
func ranOnTrio(t *testing.T, link string, faults []string, ids ...string) (*session.Follower, *openRig) {
	t.Helper()
	return ranOn(t, rigFlags{rig: "sim", nodeCount: 3, link: link, faults: faults}, ids...)
}

// ranOn is that for any simulated rig.
func ranOn(t *testing.T, flags rigFlags, ids ...string) (*session.Follower, *openRig) {
	t.Helper()
	flags.speed, flags.seed = speed(sim.Max), 1
	faults := flags.faults
	if slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, "container-") }) {
		flags.container = "vllm"
	}
	b, err := flags.open(t.Context(), runner.NoAsker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	b.options.Confirm = headless.Yes{}
	s := session.New(b.options)
	b.onState = s.State
	f := session.Follow(s, nil)
	s.Open()
	f.Run(t.Context(), ids...)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return f, b
}

// Of three nodes any two can be the link under test: what is measured there, on every rail
// and in the parts that change the network, passes; and it was measured there.
func TestEachLinkOfThreeNodes(t *testing.T) {
	t.Parallel()
	cells := []string{
		"hosts", "rail-map", "ping", "gids", "ib-write-bw", "bond-setup", "tcp-parallel", "bond-teardown",
		"dual-link", "nixl-dual-dram", "cleanup",
	}
	for link, nodes := range map[string][2]string{
		"spark-01:spark-02": {"spark-01", "spark-02"}, "spark-03:spark-01": {"spark-03", "spark-01"},
		"spark-02:spark-03": {"spark-02", "spark-03"},
	} {
		if link == "spark-01:spark-02" && !testform.Full() {
			continue // as on a rig of two
		}
		f, _ := ranOnTrio(t, link, nil, cells...)
		for _, id := range cells {
			if v := f.Ended[id].Verdict; v.Grade != steps.Pass {
				t.Errorf("%s over %s: %s: %s", id, link, v.Grade, v.Reason)
			}
		}
		rig := f.Book.Cells["ib-write-bw"].Rig
		if got := [2]string{rig.At(steps.Here).Name, rig.At(steps.Peer).Name}; got != nodes || len(rig.Nodes) != 3 {
			t.Errorf("over %s the cell saw %q of %d nodes", link, got, len(rig.Nodes))
		}
		for _, b := range f.Book.Cells["ib-write-bw"].Bytes {
			if busy := b.Tx > 1e9 || b.Rx > 1e9; busy && b.End > steps.Peer {
				t.Errorf("over %s %s of the third node moved %d and %d bytes", link, b.Dev, b.Tx, b.Rx)
			}
		}
	}
}

// The checklist looks at every node: nothing is amiss on three healthy ones, and what ails
// one is found whatever link is under test.
func TestChecklistOfThreeNodes(t *testing.T) {
	t.Parallel()
	var ids []string
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Checks() {
		ids = append(ids, c.ID)
	}
	f, _ := ranOnTrio(t, "", nil, ids...)
	for _, id := range ids {
		if v := f.Ended[id].Verdict; v.Grade != cmp.Or(atRest[id], steps.Pass) {
			t.Errorf("%s on three healthy nodes: %s: %s", id, v.Grade, v.Reason)
		}
	}
	for fault, check := range map[string]string{
		"cable-unplugged": "link-up", "mtu-mismatch": "mtu-equal",
		"pcie-x2": "pcie-link", "memlock": "memlock",
	} {
		f, _ := ranOnTrio(t, "spark-02:spark-03", []string{fault}, check)
		if v := f.Ended[check].Verdict; v.Grade != steps.Fail && v.Grade != steps.Warn ||
			!strings.Contains(v.Reason+v.Node, "spark-01") {
			t.Errorf("%s with %s: %s: %s", check, fault, v.Grade, v.Reason)
		}
	}
}

// A fault is found wherever it is: on the third of three nodes, by a check that finds it where
// it is by itself, which says where that is.
func TestEveryFaultIsFoundOnAnotherNode(t *testing.T) {
	t.Parallel()
	findsOnThird(t, 6, rigFlags{rig: "sim", nodeCount: 3, link: "spark-01:spark-03"})
}

// findsOnThird breaks a rig at spark-03 in every way, or where not all of them are tried in each nth, and
// holds that a check which finds it says so.
func findsOnThird(t *testing.T, nth int, flags rigFlags) {
	list, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for i, fault := range sim.Faults() {
		if !testform.Full() && i%nth != 0 {
			continue // all of them are the gate's
		}
		var checks []string
		for _, c := range list.Checks() {
			if slices.Contains(c.Check.Finds, fault.Name) {
				checks = append(checks, c.ID)
			}
		}
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			broken := flags
			broken.faults = []string{fault.Name + "@spark-03"}
			f, _ := ranOn(t, broken, checks...)
			found, says := false, ""
			for _, id := range checks {
				v := f.Ended[id].Verdict
				found = found || v.Grade == steps.Fail || v.Grade == steps.Warn || v.Grade == steps.Inconclusive
				says += fmt.Sprintf("\n%s: %s: %s", id, v.Grade, v.Said())
			}
			if !found || !strings.Contains(says, "spark-03") {
				t.Errorf("nothing finds it on spark-03:%s", says)
			}
		})
	}
}

// A node next to the link that does not answer is not a reason not to run.
func TestThirdNodeIsAway(t *testing.T) {
	t.Parallel()
	f, _ := ranOnTrio(t, "spark-02:spark-03", []string{"peer-dead"}, "hosts", "ib-write-bw", "nodes")
	for _, id := range []string{"hosts", "ib-write-bw"} {
		if v := f.Ended[id].Verdict; v.Grade != steps.Pass {
			t.Errorf("%s: %s: %s", id, v.Grade, v.Reason)
		}
	}
	if v := f.Ended["nodes"].Verdict; v.Grade != steps.Fail || !strings.Contains(v.Said(), "spark-01") {
		t.Errorf("nodes: %s: %s", v.Grade, v.Reason)
	}
}

// Without a link a run of more than two nodes says what to give; a dry run names the nodes.
func TestRunOfThreeNodesAsksForTheLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"run", "hosts", "--nodes", "3"}, exitUsage, "choose the link for hosts with --link A:B"},
		{[]string{"run", "hosts", "--nodes", "3", "--link", "spark-03:spark-04"}, exitUsage, `no node "spark-04"`},
		{
			[]string{"run", "hosts", "--nodes", "3", "--link", "3:2", "--dry-run", "--speed", "max"},
			exitOK,
			"# --- hosts, on spark-03 (simulated)",
		},
		{[]string{"run", "hosts", "--nodes", "1"}, exitUsage, "from 2 to 1024 nodes"},
		{[]string{"run", "hosts", "--nodes", "3", "--peer", "nobody@192.0.2.1"}, exitUsage, "are for the simulated rig"},
		{
			[]string{"run", "hosts", "--link", "spark-01:spark-02", "--speed", "max"},
			exitOK,
			"spark-01 and spark-02 both run",
		},
	} {
		var out, errs bytes.Buffer
		if got := Main(c.args, strings.NewReader(""), &out, &errs); got != c.status ||
			!strings.Contains(out.String()+errs.String(), c.want) {
			t.Errorf("%q: status %d, want %d and %q:\n%s%s", c.args, got, c.status, c.want, out.String(), errs.String())
		}
	}
}
