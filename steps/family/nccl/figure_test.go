package nccl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/traffic"
)

// The vendor's bar is for one port: over two, a collective is held to what two PCIe halves carry, too, and what no
// hardware can do is not a measurement.
func TestBarAndReach(t *testing.T) {
	for name, x := range map[string]struct {
		ports int // of each node
		mtu   int
		got   float64 // GB/s
		want  steps.Grade
		words string
	}{
		"two ports, all": {2, 4096, 27.93, steps.Pass, "expected 24.48 to 27.98"},
		"two ports, one's worth": {
			2, 4096, 22.5, steps.Warn,
			"expected at least 24.48",
		},
		"two ports, too little": {2, 4096, 20, steps.Fail, "expected at least 21.88"},
		"two ports, unseen": {
			2, 4096, 30, steps.Warn,
			"more than 27.98, the highest measured through a node's 2 PCIe links",
		},
		"two ports, nonsense": {2, 4096, 50, steps.Inconclusive, "can carry (31.35)"},
		"one port":            {1, 4096, 22.5, steps.Pass, "expected at least 21.88"},
		"one port, cable":     {1, 4096, 22.5, steps.Pass, "at most 24.51"},
		"one port, nonsense":  {1, 4096, 26, steps.Inconclusive, "can carry (24.51)"},
		"headers of MTU 1024": {1, 1024, 24.5, steps.Inconclusive, "can carry (23.15)"},
	} {
		rig := kindtest.Spark()
		for i := range rig.Nodes {
			for j := range rig.Nodes[i].Rails {
				r := &rig.Nodes[i].Rails[j]
				r.MTU = x.mtu
				if r.PhysPort >= x.ports {
					r.State = "DOWN"
				}
			}
		}
		row := parse.NCCLFigure{BusGBps: x.got, AlgGBps: x.got}
		var rep registry.Report
		c := collective{
			cell: kindtest.Cell(t, "nccl-allreduce"), result: steps.Result{Rig: rig}, rep: &rep,
			run: parse.NCCLTest{Rows: []parse.NCCLRow{{Bytes: 4 << 30, OutOfPlace: &row, InPlace: &row}}},
		}
		c.Figure(traffic.Accounted{})
		v := rep.Verdict(c.lead)
		if v.Grade != x.want || !strings.Contains(v.Said(), x.words) {
			t.Errorf("%s: %s: %s", name, v.Grade, v.Reason)
		}
	}
}

// Ranks that were not started in the order of a ring's cables are reported, with the first rank that sends to
// one without a cable.
func TestRanksAlongTheCables(t *testing.T) {
	rig := steps.NewRig("", false, 4)
	for i := range rig.Nodes {
		n := &rig.Nodes[i]
		n.Name = fmt.Sprint("n", i)
		n.Host = n.Name
		for port, cable := range []int{i, (i + 3) % 4} {
			n.Rails = append(n.Rails, steps.Rail{
				Dev: "dev", State: "ACTIVE", Addr: fmt.Sprintf("10.0.%d.%d", cable, port+1),
				Prefix: 24,
			})
		}
	}
	for _, x := range []struct {
		order []int
		words string
	}{
		{[]int{0, 1, 2, 3}, ""},
		{[]int{2, 1, 0, 3}, ""},
		{[]int{0, 2, 1, 3}, "Rank 0 on n0 sends to rank 1 on n2 without a cable between them. Start the ranks in cable " +
			"order: n0, n1, n2 and n3"},
		{[]int{0, 1, 3, 2}, "Rank 1 on n1 sends to rank 2 on n3"},
		{[]int{0, 1, 2, 9}, ""}, // a stranger is another's finding
	} {
		c := collective{result: steps.Result{Rig: rig}}
		for rank, no := range x.order {
			c.run.Ranks = append(c.run.Ranks, parse.NCCLRank{Rank: rank, Host: fmt.Sprintf("n%d.lan", no)})
		}
		if why := c.unjoined(); !strings.HasPrefix(why, x.words) || x.words == "" && why != "" {
			t.Errorf("%v: %q", x.order, why)
		}
	}
}
