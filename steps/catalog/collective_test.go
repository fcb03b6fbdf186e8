package catalog

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// collective is a run of nccl-tests on two Sparks over one cable, which both of its halves carry.
func collective(t *testing.T, id string) good {
	c := kindtest.Cell(t, id)
	return good{
		name: id, cell: c, parse: "nccl-tests", client: 0, server: -1, own: 0, beside: 3,
		make: func() steps.Result { return gathered(kindtest.Spark(), strings.HasSuffix(id, "gather")) },
		rate: regexp.MustCompile(`(?m)^( *4294967296 +\d+ +float +\w+ +-1 +[\d.]+ +)([\d.]+)`),
	}
}

// gathered is what both nodes print and count of a good run, at 22.5 GB/s.
func gathered(rig steps.Rig, gather bool) steps.Result {
	program, op, each := "all_reduce_perf", "sum", 1.0
	if gather {
		program, op, each = "all_gather_perf", "none", 0.5
	}
	var b strings.Builder
	b.WriteString("NCCL version 2.28.9+cuda13.0\n")
	for i := range rig.Nodes {
		rig.Nodes[i].Host = rig.Nodes[i].Name
		fmt.Fprintf(&b, "%s:4300:4300 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; "+
			"OOB enP7s7:192.168.1.1<0>\n",
			rig.Nodes[i].Host)
	}
	fmt.Fprintf(&b, "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n# Collective test starting: %s\n",
		program)
	for i, n := range rig.Nodes {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid 4300 on %s device  0 [000f:01:00] NVIDIA GB10\n", i, n.Host)
	}
	b.WriteString("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   " +
		"algbw   busbw #wrong\n")
	sizes, sum, rows, exact := 0.0, 0.0, 0, "{\"results\":["
	for size := 64 << 10; size <= 4<<30; size *= 2 {
		us := float64(size)/(22.5e3/each) + 30
		alg := float64(size) / us / 1e3
		fmt.Fprintf(&b, "%12d %13d     float  %6s      -1", size, size/4, op)
		for range 2 {
			fmt.Fprintf(&b, "  %9.2f  %6.2f  %6.2f      0", us, alg, alg*each)
		}
		b.WriteString("\n")
		figure := fmt.Sprintf(`{"time":%f,"alg_bw":%f,"bus_bw":%f,"nwrong":0.000000}`, us, alg, alg*each)
		if rows > 0 {
			exact += "},\n{"
		} else {
			exact += "{"
		}
		exact += fmt.Sprintf(`"size":%d,"count":%d,"type":"float","out_of_place":%s,"in_place":%s`, size, size/4, figure,
			figure)
		sizes, sum, rows = sizes+2*22*float64(size), sum+alg*each, rows+1
	}
	sizes += 64<<10 + 4<<30
	fmt.Fprintf(&b, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.4f\n# Collective test concluded: %s\n",
		sum/float64(rows), program)
	exact += fmt.Sprintf(`}],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":%f,`+
		`"okay":"unchecked"},"end_time":"2026-11-22 08:01:00"}`, sum/float64(rows))
	if !strings.HasPrefix(parse.NCCLReport, steps.ForRailbench) {
		panic("what only railbench reads would be shown")
	}
	for piece := range strings.SplitSeq(exact, "\n") {
		b.WriteString(parse.NCCLReport + piece + "\n")
	}

	o := kindtest.Read(kindtest.Ran("", steps.Here, b.String()), parse.NCCLTests)
	o.Asked = map[string]string{"NCCL_BYTES": "4294967296", "NCCL_ITERATIONS": "20"}
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{o}}
	for i, n := range rig.Nodes {
		for j, rail := range n.Rails {
			c := steps.RailBytes{
				End: steps.End(i), Rail: j, Dev: rail.Dev, Known: true, IPKnown: true, Source: "port_xmit_data",
				Errors: map[string]uint64{},
			}
			if j%2 == 0 {
				packets := sizes * each / 2 / float64(rail.MTU)
				c.Tx = uint64(packets * float64(rail.MTU+58))
				c.Rx = c.Tx
			}
			s.Bytes = append(s.Bytes, c)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

// If the table differs from what -J wrote, neither figure counts. Without -J the table is used.
func TestACollectivesTwoReports(t *testing.T) {
	for _, id := range []string{"nccl-allreduce", "nccl-allgather"} {
		g := collective(t, id)
		judge := func(alter func(string) string) steps.Verdict {
			r := g.make()
			o := &r.Stages[0].Outputs[0]
			text := alter(o.Text)
			asked := o.Asked
			*o = kindtest.Read(kindtest.Ran("", steps.Here, text), parse.NCCLTests)
			o.Asked = asked
			return New().Judges[g.cell.Judge](g.cell, r)
		}
		figures := func(v steps.Verdict) string {
			for _, e := range v.Evidence {
				if e.Name == "figures" {
					return e.Value.(string)
				}
			}
			return ""
		}
		same := judge(func(s string) string { return s })
		if same.Grade != steps.Pass || !strings.HasPrefix(figures(same), "-J") {
			t.Errorf("%s: %s: %s, of %q", id, same.Grade, same.Reason, figures(same))
		}
		old := judge(func(s string) string { return s[:strings.Index(s, parse.NCCLReport)] })
		if old.Grade != steps.Pass || !strings.HasPrefix(figures(old), "the table") {
			t.Errorf("%s: %s: %s, of %q", id, old.Grade, old.Reason, figures(old))
		}
		other := judge(func(s string) string {
			return strings.Replace(s, `"average_bus_bandwidth":{"bandwidth":`, `"average_bus_bandwidth":{"bandwidth":9`, 1)
		})
		kindtest.Want(t, id, other, steps.Inconclusive, "contradict each other")
	}
}
