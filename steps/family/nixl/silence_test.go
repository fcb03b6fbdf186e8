package nixl

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A time-out of UCX's own is not a proof that a rail is broken: it says what to try. Where the adapter counted that
// no one answered it, too, it is one.
func TestNobodyAnswers(t *testing.T) {
	const ud = "[spark-02:1858 :0:1858]       ud_ep.c:276  Fatal: UD endpoint 0x55d1b01c87c0 to x: unhandled timeout " +
		"error\n"
	const rc = "[1795221293.840784] [spark-02:1904 :0]        rc_iface.c:412  UCX  ERROR Transport retry count " +
		"exceeded on " +
		"rocep1s0f0:1/RoCE (synd 0x15 vend 0x81)\n"
	const endpoint = "[1795221293.840784] [spark-02:1904 :0]        ucp_worker.c:373  UCX  ERROR Error Endpoint " +
		"timeout was not handled for ep 0xac1510\n"
	soft := func(r *steps.Result) {
		for e := range r.Rig.Nodes {
			for i := range r.Rig.Nodes[e].Rails {
				r.Rig.Nodes[e].Rails[i].PCI, r.Rig.Nodes[e].Rails[i].HasOctets = steps.PCI{}, false
			}
		}
	}
	waited := func(r *steps.Result) {
		kindtest.Counter(&r.Stages[0], steps.Here, 0).Errors = map[string]uint64{"local_ack_timeout_err": 7}
	}
	both := func(r *steps.Result) { soft(r); waited(r) }
	reads := map[string]func(string) any{
		"ucx-perftest":     func(text string) any { v, _ := readUCXPerftest(text); return v },
		"nixl-single-dram": func(text string) any { v, _ := parse.NIXLBenchOutput(text); return v },
		"nixl-transfer":    func(text string) any { v, _ := parse.NIXLPythonOutput(text); return v },
	}
	judges := map[string]steps.Judge{
		"ucx-perftest": judgeUCXPerftest, "nixl-single-dram": judgeNIXLBench, "nixl-transfer": judgeNIXLTransfer,
	}
	for _, c := range []struct {
		name, said string
		do         func(*steps.Result)
		grade      steps.Grade
		words      []string
	}{
		{"UD", ud, nil, steps.Inconclusive, []string{"timed out", "ib-write-bw", "UCX_UD_VERBS_TIMEOUT"}},
		{"an endpoint", endpoint, nil, steps.Inconclusive, []string{"timed out", "4791"}},
		{"RC", rc, nil, steps.Inconclusive, []string{"timed out"}},
		{"soft-RoCE", ud, soft, steps.Inconclusive, []string{"soft-RoCE"}},
		{"soft-RoCE that counts its own drops", ud, both, steps.Inconclusive, []string{"soft-RoCE"}},
		{"RC, and the adapter", rc, waited, steps.Fail, []string{"no answer over", "local_ack_timeout_err +7"}},
		{"UD, and the adapter", ud, waited, steps.Fail, []string{"no answer over"}},
	} {
		for _, id := range []string{"ucx-perftest", "nixl-single-dram", "nixl-transfer"} {
			cell := kindtest.Cell(t, id)
			rig := kindtest.Spark()
			var r steps.Result
			switch id {
			case "ucx-perftest":
				r = kindtest.UCXPerftest(cell, rig, kindtest.UCXServer("put bandwidth", "host", 64<<20),
					kindtest.UCXClient(500, 64<<20, 92.4), 510)
			case "nixl-single-dram":
				r = kindtest.Benched(cell, rig, kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM), kindtest.OnlyOne)
			default:
				r = steps.Result{Rig: rig, Stages: []steps.Stage{kindtest.Transferred(cell, rig, -1,
					kindtest.ReadBack("cpu", 1<<30, 16, 88, true), kindtest.Served, kindtest.OnlyOne)}}
			}
			for i := range r.Stages[0].Outputs {
				o := &r.Stages[0].Outputs[i]
				if o.End != steps.Here {
					continue
				}
				o.Text, o.Exit.Code = c.said, 134
				o.Value = reads[id](c.said)
			}
			if c.do != nil {
				c.do(&r)
			}
			v := judges[id](cell, r)
			kindtest.Because(t, id+", "+c.name, v, c.grade, steps.RDMAUnanswered)
			kindtest.Want(t, id+", "+c.name, v, c.grade, c.words...)
		}
	}
}
