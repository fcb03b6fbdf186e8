package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

var (
	usesDevices = regexp.MustCompile(`(spark-\d+):\d+:\d+ \[0\] NCCL INFO NET/IB : Using (.*) \[RO\]`)
	usesSockets = regexp.MustCompile(`(spark-\d+):\d+:\d+ \[0\] NCCL INFO NET/Socket : Using`)
	tookIndex   = regexp.MustCompile(`(spark-\d+):\d+:\d+ \[0\] NCCL WARN Call to ibv_modify_qp .* local GID index (\d+)`)
	bracketed   = regexp.MustCompile(`\[\d+\]([^ ]+)/RoCE`)
)

// What nccl-check says that NCCL will take is what NCCL then says that it takes, on each node of every kind of rig
// with each fault of NCCL's; and it finds what the two checks find.
func TestNCCLCheckForetellsTheCollective(t *testing.T) {
	t.Parallel()
	i := 0
	for _, rig := range []rigFlags{{rig: "sim"}, {rig: "sim", nodeCount: 4}, {rig: ringRig}} {
		for _, fault := range []string{
			"", "nccl-socket", "nccl-half", "nccl-tcp", "nccl-gid", "nccl-hang", "nccl-version", "link-down",
		} {
			if i++; fault != "nccl-half" && sampled(i) {
				continue
			}
			t.Run(fmt.Sprint(rig.rig, rig.nodeCount, fault), func(t *testing.T) {
				t.Parallel()
				flags := rig
				if fault != "" {
					flags.faults = []string{fault}
				}
				f, _ := ranOn(t, flags, "nccl-check", "nccl-settings", "nccl-version", "nccl-allreduce")
				v := f.Ended["nccl-check"].Verdict
				checks := f.Ended["nccl-settings"].Verdict.Grade.Worst(f.Ended["nccl-version"].Verdict.Grade)
				if v.Grade != checks {
					t.Errorf("%s: %s; the checks come to %s", v.Grade, v.Reason, checks)
				}
				if c := f.Ended["nccl-allreduce"].Verdict; fault != "" && fault != "link-down" && v.Grade == steps.Pass {
					t.Errorf("it passes, and the collective is %s: %s", c.Grade, c.Reason)
				}
				nodes := max(2, rig.nodeCount)
				if rig.rig == ringRig {
					nodes = 3
				}
				if len(v.Tables) != 1 || len(v.Tables[0].Rows) != nodes {
					t.Fatalf("%d tables for %d nodes: %v", len(v.Tables), nodes, v.Tables)
				}
				output := f.Book.Cells["nccl-allreduce"].Output
				foretold(t, v.Tables[0].Rows, output.Lines(0, output.Len()))
			})
		}
	}
}

// foretold compares the rows of nccl-check with the lines of a collective.
func foretold(t *testing.T, rows [][]string, lines []steps.OutputLine) {
	t.Helper()
	row := map[string][]string{}
	for _, r := range rows {
		row[r[0]] = r
	}
	said := 0
	for _, l := range lines {
		if m := usesDevices.FindStringSubmatch(l.Text); m != nil {
			var devices []string
			for _, d := range bracketed.FindAllStringSubmatch(m[2], -1) {
				devices = append(devices, d[1])
			}
			told := strings.Fields(row[m[1]][1])
			slices.Sort(told)
			slices.Sort(devices)
			if said++; !slices.Equal(told, devices) {
				t.Errorf("%s: NCCL takes %q, and nccl-check says %q", m[1], devices, told)
			}
		}
		if m := usesSockets.FindStringSubmatch(l.Text); m != nil {
			if said++; !strings.HasPrefix(row[m[1]][1], "no RDMA device: ") {
				t.Errorf("%s: NCCL goes over sockets, and nccl-check says %q", m[1], row[m[1]][1])
			}
		}
		if m := tookIndex.FindStringSubmatch(l.Text); m != nil && row[m[1]][2] != m[2]+" (set)" {
			t.Errorf("%s: NCCL took GID index %s, and nccl-check says %q", m[1], m[2], row[m[1]][2])
		}
	}
	if said == 0 {
		t.Error("NCCL said nothing of what it takes")
	}
}

// A parameter that the collectives are given is what nccl-check looks at, and a container is looked into next to the
// node.
func TestNCCLCheckLooksWhereNCCLDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags rigFlags
		grade steps.Grade
		words []string
	}{
		{
			rigFlags{params: []string{"NCCL_IB_HCA=rocep1s0f0"}},
			steps.Warn,
			[]string{"sets NCCL_IB_HCA", "roceP2p1s0f0, the other PCIe half"},
		},
		{rigFlags{container: "vllm"}, steps.Pass, []string{"Inside vllm"}},
		{rigFlags{container: "other"}, steps.Inconclusive, []string{"No container other"}},
	} {
		c.flags.rig = "sim"
		f, _ := ranOn(t, c.flags, "nccl-check")
		v := f.Ended["nccl-check"].Verdict
		if v.Grade != c.grade {
			t.Errorf("%v: %s: %s", c.flags, v.Grade, v.Reason)
		}
		for _, w := range c.words {
			if !strings.Contains(v.Said(), w) {
				t.Errorf("%v: %q is missing in %q", c.flags, w, v.Reason)
			}
		}
	}
}
