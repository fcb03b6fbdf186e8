package nixl

import (
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// What real processes printed and how they ended, judged as a run of the cell: what
// happened to them is what the verdict says.
func TestNIXLBenchReplayed(t *testing.T) {
	c := kindtest.Cell(t, "nixl-single-dram")
	byUs := func(o *steps.Output) { o.Exit.Why = runner.Cancelled }
	for _, x := range []struct {
		name       string
		here, peer string // of the corpus; a peer that never was started has none
		codes      [2]int
		change     func(*steps.Result)
		grade      steps.Grade
		code       steps.Code
		words      []string
	}{
		{
			"over sockets, the target was killed", "asio_kill9_target.a", "asio_kill9_target.b",
			[2]int{1, 137},
			nil,
			steps.Inconclusive, steps.ProgramKilled,
			[]string{"target on spark-01 was killed (exit 137)"},
		},
		{
			"over an etcd, the target was killed", "kill9_target.a", "kill9_target.b",
			[2]int{1, 137},
			nil,
			steps.Inconclusive, steps.ProgramKilled,
			[]string{"target on spark-01 was killed (exit 137)"},
		},
		{
			"the target was killed, and we ended the initiator", "kill9_target.a", "kill9_target.b",
			[2]int{134, 137},
			func(r *steps.Result) { byUs(&r.Stages[0].Outputs[0]) }, steps.Inconclusive, steps.ProgramKilled,
			[]string{"was killed (exit 137)"},
		},
		{
			"the initiator ran into its limit, and its target says so in its way", "kill9_target.a", "asio_kill9_target.b",
			[2]int{1, 1},
			func(r *steps.Result) {
				r.Stages[0].Outputs[0].Exit.Why = runner.TimedOut
				byUs(&r.Stages[0].Outputs[1])
			}, steps.Inconclusive, steps.TimedOut,
			[]string{"initiator on spark-02 timed out"},
		},
		{
			"nothing was printed, and we ended both", "asio_kill9_target.a", "asio_kill9_target.b",
			[2]int{1, 143},
			func(r *steps.Result) {
				r.Stages[0].Err, r.Stages[0].Stalled = "nothing was printed for 3m20s: it was ended", true
				byUs(&r.Stages[0].Outputs[0])
				byUs(&r.Stages[0].Outputs[1])
			}, steps.Inconclusive, steps.TestStalled,
			[]string{"nothing was printed for 3m20s", "after 1 row"},
		},
		{
			"a rail went down", "ns_rail1_down_midrun.a", "ns_rail1_down_midrun.b", [2]int{134, 1}, func(r *steps.Result) {
				byUs(&r.Stages[0].Outputs[0])
				kindtest.Counter(&r.Stages[0], steps.Here, 0).Errors["carrier_changes"] = 1
			}, steps.Fail, steps.LinkFlapped, []string{"link of rocep1s0f0 on spark-02 went down during the test"},
		},
		{
			"two pairs at one port, the first", "asio_two_pairs_one_port.a", "asio_two_pairs_one_port.b",
			[2]int{0, 134},
			nil,
			steps.Inconclusive, steps.ForeignPeer,
			[]string{"end on spark-01 was"},
		},
		{
			"two pairs at one port, the second", "asio_two_pairs_one_port.c", "asio_two_pairs_one_port.d",
			[2]int{0, 134},
			nil,
			steps.Inconclusive, steps.ForeignPeer,
			[]string{"end on spark-01 was"},
		},
		{
			"no plugin here", "noplugin.a", "noplugin.b",
			[2]int{1, 134},
			nil,
			steps.Fail, steps.PluginMissing,
			[]string{"NIXL on spark-02"},
		},
		{
			"no plugin there", "noplugin.b", "noplugin.a",
			[2]int{134, 1},
			nil,
			steps.Fail, steps.PluginMissing,
			[]string{"NIXL on spark-01"},
		},
		{
			"built for another processor", "wrong_arch_dash", "", [2]int{126, 0}, func(r *steps.Result) {
				r.Stages[0].Err = "initiator on spark-02 ended before it was ready, with exit 126"
			}, steps.Fail, steps.ProgramUnable, []string{"nixlbench on spark-02 can"},
		},
		{
			"built for another processor, the target", "asio_kill9_target.b", "wrong_arch_bash",
			[2]int{143, 126},
			func(r *steps.Result) { byUs(&r.Stages[0].Outputs[0]) },
			steps.Fail, steps.ProgramUnable,
			[]string{"nixlbench on spark-01 can"},
		},
		{
			"a library is missing", "missing_library", "", [2]int{127, 0}, func(r *steps.Result) {
				r.Stages[0].Err = "initiator on spark-02 ended before it was ready, with exit 127"
			}, steps.Fail, steps.ProgramUnable, []string{"nixlbench on spark-02 does not start"},
		},
		{
			"what arrived is not what was sent", "consistency_fail.a", "consistency_fail.b",
			[2]int{1, 1},
			nil,
			steps.Fail, steps.DataCorrupt,
			[]string{"arrived on spark-01"},
		},
		{
			"the ranks of another run", "stale_size2.a", "stale_size2.b",
			[2]int{1, 1},
			nil,
			steps.Inconclusive, steps.EtcdStaleKeys,
			nil,
		},
		{
			"the etcd ended", "etcd_dies.a", "etcd_dies.b",
			[2]int{1, 1},
			nil,
			steps.Inconclusive, steps.OtherEndGone,
			[]string{"lost contact", "or etcd ended"},
		},
		{
			"only one of two devices is there", "ns_onebogus.a", "ns_onebogus.b",
			[2]int{0, 0},
			nil,
			steps.Inconclusive, steps.CounterBad, nil,
		},
	} {
		r := steps.Result{Rig: kindtest.TutorialSpark(), Stages: []steps.Stage{{Pair: -1}}}
		s := &r.Stages[0]
		for e, file := range []string{x.here, x.peer} {
			if file == "" {
				continue
			}
			role := []string{"initiator", "target"}[e]
			o := kindtest.Read(kindtest.Ran(role, steps.End(e), kindtest.Corpus(t, "nixlbench/"+file)), parse.NIXLBenchOutput)
			o.Exit.Code = x.codes[e]
			s.Outputs = append(s.Outputs, o)
		}
		s.Bytes = kindtest.Moved(r.Rig, steps.Here, 1e9, kindtest.OnlyOne)
		if x.change != nil {
			x.change(&r)
		}
		v := judgeNIXLBench(c, r)
		kindtest.Because(t, x.name, v, x.grade, x.code)
		kindtest.Want(t, x.name, v, x.grade, x.words...)
	}
}
