package nccl

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/kind/kindtest"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/wire"
)

// The vendor's bar is for one port: over two, a collective is held to what two PCIe halves carry, too, and what
// no hardware can do is no measurement.
func TestBarAndReach(t *testing.T) {
	for name, x := range map[string]struct {
		ports int // of each node
		mtu   int
		got   float64 // GB/s
		want  steps.Grade
		words string
	}{
		"two ports, all":         {2, 4096, 27.93, steps.Pass, "of the 27.98 that a node's 2 PCIe links carry, as far as anybody saw; the vendor's bar, 21.875, is for one port"},
		"two ports, one's worth": {2, 4096, 22.5, steps.Warn, "of the 27.98 that a node's 2 PCIe links carry, as far as anybody saw, and we expect 24.48"},
		"two ports, too little":  {2, 4096, 20, steps.Fail, "we expect 21.875 GB/s"},
		"two ports, unseen":      {2, 4096, 30, steps.Warn, "more than the 27.98 that a node's 2 PCIe links carry"},
		"two ports, nonsense":    {2, 4096, 50, steps.Inconclusive, "can carry: is the unit misread?"},
		"one port":               {1, 4096, 22.5, steps.Pass, "we expect 21.875 GB/s"},
		"one port, cable":        {1, 4096, 22.5, steps.Pass, "and 24.51 is what a node's cable can carry"},
		"one port, nonsense":     {1, 4096, 26, steps.Inconclusive, "more than the 24.51"},
		"headers of MTU 1024":    {1, 1024, 24.5, steps.Inconclusive, "more than the 23.15"},
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
		var rep kind.Report
		c := collective{
			cell: kindtest.Cell(t, "nccl-allreduce"), result: steps.Result{Rig: rig}, rep: &rep,
			run: parse.NCCLTest{Rows: []parse.NCCLRow{{Bytes: 4 << 30, OutOfPlace: &row, InPlace: &row}}},
		}
		c.Figure(wire.Accounted{})
		v := rep.Verdict(c.lead)
		if v.Grade != x.want || !strings.Contains(v.Reason, x.words) {
			t.Errorf("%s: %s: %s", name, v.Grade, v.Reason)
		}
	}
}
