package perftest

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
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
	kindtest.Want(t, "slow", judgeLoad(c, halves(rig, 40)), steps.Fail, "rails 1 and 3: 80.0 Gb/s of 185.0")
	kindtest.Want(t, "too fast", judgeLoad(c, halves(rig, 130)), steps.Inconclusive, "more than the")

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
		says   string
	}{
		{"stopped", client(func(o *steps.Output) { o.Exit.Why = runner.Cancelled }), steps.Inconclusive, "was interrupted"},
		{"a tool that failed", text("half: exit 0", "half: exit 1"), steps.Inconclusive, "half has no figure"},
		{"a script that failed", client(func(o *steps.Output) { o.Exit.Code = 1 }), steps.Inconclusive, "exit 1"},
		{
			"a server that failed", func(r *steps.Result) { r.Stages[0].Outputs[0].Exit.Code = 1 },
			steps.Inconclusive, "the script on spark-01 ended with exit 1",
		},
		{"another device", text("roceP2p1s0f0", "roceP2p1s0f1"), steps.Inconclusive, "not this test's"},
		{"another rail's name", text("== half", "== rail 9"), steps.Inconclusive, `"rail 9"`},
		{"twice", text("== half", "== rail 1"), steps.Inconclusive, "twice"},
		{"another size", text(" 65536 ", " 4096 "), steps.Inconclusive, "not this test's"},
		{
			"no output", client(func(o *steps.Output) { *o = kindtest.Read(steps.Output{Role: "client", Ran: true}, parseLoad) }),
			steps.Inconclusive, "does not parse",
		},
		{"no bytes", port(steps.Here, 2, func(b *steps.RailBytes) { b.Tx, b.Rx = 0, 0 }), steps.Inconclusive, "nothing went over roceP2p1s0f0"},
		{"no counter", port(steps.Here, 0, func(b *steps.RailBytes) { b.Known = false }), steps.Inconclusive, "unknown"},
		{"more than its margins hold", port(steps.Here, 0, func(b *steps.RailBytes) { b.Tx *= 2 }), steps.Warn, "more bytes"},
		{"another rail's bytes", port(steps.Here, 3, func(b *steps.RailBytes) { b.Tx = 1e11 }), steps.Fail, "moved bytes too"},
		{"errors", port(steps.Here, 0, func(b *steps.RailBytes) { b.Errors["packet_seq_err"] = 100_000 }), steps.Warn, "packet_seq_err"},
	} {
		t.Run(w.name, func(t *testing.T) { kindtest.Want(t, w.name, judge(w.change), w.grade, w.says) })
	}
}

// What nobody measured has no band, and no FAIL; it says what it is.
func TestLoadWithoutABand(t *testing.T) {
	c, rig := kindtest.Cell(t, "load-both-ways"), kindtest.Spark()
	text := strings.Replace(kindtest.LoadSection("rail 1", "rocep1s0f0", 185), "RDMA_Write BW", "RDMA_Write Bidirectional BW", 1)
	text = strings.Replace(text, " 65536 2822876 ", " 65536 1411438 ", 1) // each end's own
	r := kindtest.Loaded(rig, 92.5, text, parseLoad, 0)
	for _, e := range steps.Ends {
		b := kindtest.Counter(&r.Stages[0], e, 0)
		b.Tx = max(b.Tx, b.Rx)
		b.Rx = b.Tx
	}
	v := judgeLoad(c, r)
	kindtest.Want(t, "both ways", v, steps.Inconclusive, "rail 1 in both directions together: 185.0 Gb/s", "nobody measured")
	for _, f := range v.Figures {
		t.Errorf("a figure of both directions is told as one of a rail: %+v", f)
	}
}
