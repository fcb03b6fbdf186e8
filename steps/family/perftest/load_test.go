package perftest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// loadCell is the cell that keeps both halves busy, as it is in the file.
func loadCell(t *testing.T) steps.Cell {
	t.Helper()
	return kindtest.Cell(t, "load-halves")
}

func halves(rig steps.Rig, gbps float64) steps.Result {
	text := kindtest.LoadSection("rail 1", "rocep1s0f0", gbps) + kindtest.LoadSection("half", "roceP2p1s0f0", gbps)
	return kindtest.Loaded(rig, gbps, text, parseLoad, 0, 2)
}

func TestLoad(t *testing.T) {
	c, rig := loadCell(t), kindtest.Spark()
	judge := func(change func(*steps.Result)) steps.Verdict {
		r := halves(rig, 92.5)
		change(&r)
		return judgeLoad(c, r)
	}
	kindtest.Want(t, "both halves", judge(func(*steps.Result) {}), steps.Pass, "185.0 Gb/s over rails 1 and 3 for 10 s")
	kindtest.Want(t, "slow", judgeLoad(c, halves(rig, 40)), steps.Fail, "rails 1 and 3: 80.0 Gb/s")
	kindtest.Because(t, "too fast", judgeLoad(c, halves(rig, 130)), steps.Inconclusive, steps.FigureImpossible)

	client := func(change func(*steps.Output)) func(*steps.Result) {
		return func(r *steps.Result) { change(&r.Stages[0].Outputs[1]) }
	}
	text := func(old, with string) func(*steps.Result) {
		return client(func(o *steps.Output) {
			*o = kindtest.Read(steps.Output{
				Role: o.Role, End: o.End, Ran: o.Ran, Exit: o.Exit, Asked: o.Asked, Text: strings.Replace(o.Text, old, with, 1),
			}, parseLoad)
		})
	}
	port := func(e steps.End, rail int, change func(*steps.RailBytes)) func(*steps.Result) {
		return func(r *steps.Result) { change(kindtest.Counter(&r.Stages[0], e, rail)) }
	}
	for _, w := range []struct {
		name   string
		change func(*steps.Result)
		grade  steps.Grade
		code   steps.Code
		says   string
	}{
		{
			"stopped", client(func(o *steps.Output) { o.Exit.Why = runner.Cancelled }),
			steps.Inconclusive, steps.Interrupted, "",
		},
		{"a tool that failed", text("half: exit 0", "half: exit 1"), steps.Inconclusive, steps.ScriptFailed, ""},
		{
			"a script that failed", client(func(o *steps.Output) { o.Exit.Code = 1 }),
			steps.Inconclusive, steps.ScriptFailed, "exit 1",
		},
		{
			"a server that failed", func(r *steps.Result) { r.Stages[0].Outputs[0].Exit.Code = 1 },
			steps.Inconclusive, steps.ScriptFailed, "the script on spark-01 ended with exit 1",
		},
		{"another device", text("roceP2p1s0f0", "roceP2p1s0f1"), steps.Inconclusive, steps.OutputForeign, "not this test's"},
		{"another rail's name", text("== half", "== rail 9"), steps.Inconclusive, steps.OutputForeign, `"rail 9"`},
		{"twice", text("== half", "== rail 1"), steps.Inconclusive, steps.OutputForeign, "twice"},
		{"another size", text(" 65536 ", " 4096 "), steps.Inconclusive, steps.OutputForeign, "not this test's"},
		{
			"no output", client(func(o *steps.Output) {
				*o = kindtest.Read(steps.Output{Role: "client", Ran: true},
					parseLoad)
			}),
			steps.Inconclusive, steps.OutputIncomplete, "could not read the output",
		},
		{
			"no bytes", port(steps.Here, 2, func(b *steps.RailBytes) { b.Tx, b.Rx = 0, 0 }),
			steps.Inconclusive, steps.NothingCarried,
			"roceP2p1s0f0",
		},
		{
			"no counter", port(steps.Here, 0, func(b *steps.RailBytes) { b.Known = false }),
			steps.Inconclusive, steps.CounterBad, "unknown",
		},
		{
			"more than its margins hold", port(steps.Here, 0, func(b *steps.RailBytes) { b.Tx *= 2 }),
			steps.Warn, steps.BytesDiffer, "more bytes",
		},
		{
			"another rail's bytes", port(steps.Here, 3, func(b *steps.RailBytes) { b.Tx = 1e11 }),
			steps.Fail, steps.OtherTraffic,
			"",
		},
		{
			"errors", port(steps.Here, 0, func(b *steps.RailBytes) { b.Errors["packet_seq_err"] = 100_000 }),
			steps.Warn, steps.ErrorsGrew,
			"",
		},
	} {
		t.Run(w.name, func(t *testing.T) {
			v := judge(w.change)
			kindtest.Because(t, w.name, v, w.grade, w.code)
			kindtest.Want(t, w.name, v, w.grade, w.says)
		})
	}
}

// A load of all rails covers all rails that lead from node to node, and is judged by the sum of their PCIe
// halves. A rail that is left out, or that a node lacks, is reported, and so is a port that is down.
func TestLoadOfAllRails(t *testing.T) {
	c := kindtest.Cell(t, "load-all")
	judgeOf := func(change func(*steps.Rig), stopped string, gbps float64, names ...string) steps.Verdict {
		rig, text := kindtest.Spark(), ""
		devs := map[string]string{
			"rail 1": "rocep1s0f0", "rail 2": "rocep1s0f1", "rail 3": "roceP2p1s0f0",
			"rail 4": "roceP2p1s0f1",
		}
		change(&rig)
		for _, n := range names {
			text += kindtest.LoadSection(n, devs[n], gbps)
		}
		loaded := []int{0, 1, 2, 3}[:min(len(names), len(rig.Pairs))]
		r := kindtest.Loaded(rig, gbps, text, parseLoad, loaded...)
		r.Stages[0].Err = stopped
		return judgeLoad(c, r)
	}
	judge := func(change func(*steps.Rig), gbps float64, names ...string) steps.Verdict {
		return judgeOf(change, "", gbps, names...)
	}
	same, all := func(*steps.Rig) {}, []string{"rail 1", "rail 2", "rail 3", "rail 4"}
	kindtest.Want(t, "all", judge(same, 52.6, all...), steps.Pass, "210.4 Gb/s over rails 1, 2, 3 and 4 for 10 s")
	kindtest.Want(t, "slow", judge(same, 30, all...), steps.Fail, "120.0 Gb/s")
	kindtest.Because(t, "more than two halves bring", judge(same, 92.5, all...),
		steps.Inconclusive, steps.FigureImpossible)
	kindtest.Want(t, "one is left out", judge(same, 52.6, all[:3]...), steps.Inconclusive, "rail 4 was left out")
	kindtest.Want(t, "the rig file's is missing",
		judge(func(r *steps.Rig) { r.Missing = []string{"mlx5_9 is gone"} }, 52.6, all...),
		steps.Warn, "mlx5_9 is gone")
	kindtest.Want(t, "a node has fewer", judge(func(r *steps.Rig) {
		r.Pairs = r.Pairs[:2]
		r.Nodes[steps.Peer].Rails = r.Nodes[steps.Peer].Rails[:2]
	}, 52.6, all[:2]...), steps.Warn, "spark-01 2, so")
	kindtest.Want(t, "a cable is out", judgeOf(func(r *steps.Rig) {
		r.Nodes[steps.Here].Rails[2].State = "DOWN"
	}, "server on spark-01 is not ready after 15s", 52.6, all...), steps.Fail,
		"roceP2p1s0f0 on spark-02 is DOWN")
}

// Eight InfiniBand adapters of other names, each with a cable and a PCIe link of its own.
func TestLoadOfInfiniBand(t *testing.T) {
	const gbps = 370
	rig, text, loaded := kindtest.Spark(), "", []int{}
	rig.Pairs = nil
	for e := range rig.Nodes {
		like := rig.Nodes[e].Rails[0]
		rig.Nodes[e].Rails = nil
		for i := range 8 {
			r := like
			r.Dev, r.Layer, r.PhysPort, r.RateGbps = fmt.Sprintf("mlx5_%d", i), "InfiniBand", -1, 400
			r.PCI = steps.PCI{Addr: fmt.Sprintf("%04x:01:00.0", i), GTps: 32, Width: 16, MaxGTps: 32, MaxWidth: 16}
			rig.Nodes[e].Rails = append(rig.Nodes[e].Rails, r)
		}
	}
	for i := range 8 {
		rig.Pairs, loaded = append(rig.Pairs, steps.Pair{Rails: [2]int{i, i}}), append(loaded, i)
		text += kindtest.LoadSection(fmt.Sprintf("rail %d", i+1), fmt.Sprintf("mlx5_%d", i), gbps)
	}
	v := judgeLoad(kindtest.Cell(t, "load-all"), kindtest.Loaded(rig, gbps, text, parseLoad, loaded...))
	kindtest.Want(t, "eight adapters", v, steps.Pass, "2960.0 Gb/s over rails 1, 2, 3, 4, 5, 6, 7 and 8",
		"expected 2814.6 to 3022.0")
	if strings.Contains(v.Said(), "RoCE") {
		t.Error(v.Reason)
	}
}

// What no one measured has no band, and no FAIL; it says what it is.
func TestLoadWithoutABand(t *testing.T) {
	c, rig := kindtest.Cell(t, "load-both-ways"), kindtest.Spark()
	text := strings.Replace(kindtest.LoadSection("rail 1", "rocep1s0f0", 185), "RDMA_Write BW",
		"RDMA_Write Bidirectional BW", 1)
	text = strings.Replace(text, " 65536 2822876 ", " 65536 1411438 ", 1) // each end's own
	r := kindtest.Loaded(rig, 92.5, text, parseLoad, 0)
	for _, e := range steps.Ends {
		b := kindtest.Counter(&r.Stages[0], e, 0)
		b.Tx = max(b.Tx, b.Rx)
		b.Rx = b.Tx
	}
	v := judgeLoad(c, r)
	kindtest.Want(t, "both ways", v, steps.Inconclusive, "rail 1 in both directions together: 185.0 Gb/s",
		"no measurement exists")
	for _, f := range v.Figures {
		t.Errorf("a figure of both directions is told as one of a rail: %+v", f)
	}
}
