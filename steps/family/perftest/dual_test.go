package perftest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

var dualCell = steps.Cell{ID: "dual-link", Counters: true, Judge: "dual-link"}

func TestDual(t *testing.T) {
	v := judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual))
	kindtest.Want(t, "healthy", v, steps.Pass, "ails 1 and 2 together 105.4 Gb/s",
		"expected 100.1 to 116.1", "ails 1 and 3 together 185.0 Gb/s", "PCIe link")
	if len(v.Tables) != 1 || len(v.Tables[0].Rows) != 2 {
		t.Errorf("tables: %+v", v.Tables)
	}
	two := kindtest.Healthy()
	for _, name := range []string{"half alone", "first beside half", "half beside first"} {
		delete(two, name)
	}
	kindtest.Want(t, "a half missing", judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), two, parseDual)),
		steps.Inconclusive, `"half alone" is missing`)
	kindtest.Want(t, "no half at all", judgeDual(dualCell, kindtest.Dual(kindtest.TutorialSpark(), two, parseDual)),
		steps.Pass, "ails 1 and 2")

	slow := kindtest.Healthy()
	slow["half beside first"] = 30
	kindtest.Want(t, "a slow half", judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), slow, parseDual)), steps.Fail,
		"rails 1 and 3 together: 122.5 Gb/s")
	apart := kindtest.Healthy()
	apart["first beside second"], apart["second beside first"] = 92.6, 92.6
	kindtest.Because(t, "more than one link can carry",
		judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), apart, parseDual)), steps.Inconclusive, steps.FigureImpossible)

	wrong := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	kindtest.Counter(&wrong.Stages[0], steps.Here, 3).Tx = 10 * kindtest.Wire(1024)
	kindtest.Want(t, "another rail's bytes", judgeDual(dualCell, wrong), steps.Fail,
		"roceP2p1s0f1 on spark-02")
	lost := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	kindtest.Counter(&lost.Stages[0], steps.Peer, 1).Rx /= 2
	kindtest.Want(t, "missing bytes", judgeDual(dualCell, lost), steps.Inconclusive, "rocep1s0f1 on spark-01")
	blind := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	kindtest.Counter(&blind.Stages[0], steps.Here, 0).Known = false
	kindtest.Because(t, "uncounted", judgeDual(dualCell, blind), steps.Inconclusive, steps.CounterBad)
	flap := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	kindtest.Counter(&flap.Stages[0], steps.Here, 1).Errors["link_downed"] = 1
	kindtest.Because(t, "a flap", judgeDual(dualCell, flap), steps.Fail, steps.LinkFlapped)

	again := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	for i := range 4 {
		b := kindtest.Counter(&again.Stages[0], steps.Here, i)
		b.Tx, b.Errors["packet_seq_err"] = b.Tx*105/100, 7
	}
	kindtest.Want(t, "retransmi", judgeDual(dualCell, again), steps.Warn, "on spark-02", "rocep1s0f0 5.0 %",
		"packet_seq_err +7")
	portless := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	for i := range 4 {
		kindtest.Counter(&portless.Stages[0], steps.Here, i).Source = "netdev bytes"
	}
	kindtest.Want(t, "port counters", judgeDual(dualCell, portless), steps.Inconclusive,
		"rocep1s0f0, rocep1s0f1 and roceP2p1s0f0 on spark-02")
	degraded := kindtest.Healthy()
	for name := range degraded {
		degraded[name] = 13
	}
	kindtest.Want(t, "degraded", judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), degraded, parseDual)), steps.Fail,
		"rails 1 and 2 together: 26.0 Gb/s", "degraded", "power")
	one := kindtest.Healthy()
	one["first alone"], one["first beside half"] = 60, 60
	kindtest.Because(t, "a slow rail", judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), one, parseDual)), steps.Fail,
		steps.RailsApart)

	cut := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	for i := range 2 {
		unread := &cut.Stages[0].Outputs[1].Value.([]dualTest)[i]
		unread.Rows, unread.Err = nil, "a row is cut"
	}
	kindtest.Want(t, "cut rows", judgeDual(dualCell, cut), steps.Inconclusive,
		"2 tests (the first is \"first alone\")")

	failed := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	o := &failed.Stages[0].Outputs[1]
	tests := o.Value.([]dualTest)
	i := slices.IndexFunc(tests, func(t dualTest) bool { return t.Name == "second alone" })
	tests[i].Exit, tests[i].Rows, tests[i].Err = 1, nil, "Failed to modify QP"
	kindtest.Because(t, "one failed", judgeDual(dualCell, failed), steps.Fail, steps.QueueUnconnected)
	spoiled := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	spoiled.Stages[0].Outputs[0].Text += "\nVALIDATION: FAILED (server) - 3 error(s), first at QP 0\n"
	kindtest.Want(t, "spoiled data", judgeDual(dualCell, spoiled), steps.Fail,
		"arrived on spark-01")
	broke := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	tests = broke.Stages[0].Outputs[1].Value.([]dualTest)
	tests[1].Errors = []string{"Completion with error at client"}
	kindtest.Want(t, "a complaint and status 0", judgeDual(dualCell, broke), steps.Fail, "packets stopped arriving",
		"status 0")
	hung := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
	hung.Stages[0].Outputs[1].Exit.Why = 1
	kindtest.Because(t, "hung", judgeDual(dualCell, hung), steps.Inconclusive, steps.TimedOut)
}

// Each figure of the table is judged: what a rail does alone as ib-write-bw does, and its part of the two together.
func TestDualEachFigure(t *testing.T) {
	for _, c := range []struct {
		name    string
		figures map[string]float64
		grade   steps.Grade
		code    steps.Code
	}{
		{"next to nothing alone", map[string]float64{"half alone": 1}, steps.Fail, steps.RailsApart},
		{"a fifth alone", map[string]float64{"second alone": 20}, steps.Fail, steps.RailsApart},
		{"half alone", map[string]float64{"first alone": 46}, steps.Fail, steps.RailsApart},
		{"a little less alone", map[string]float64{"half alone": 80}, steps.Warn, steps.BelowLimit},
		{"more than the link alone", map[string]float64{"second alone": 180}, steps.Inconclusive, steps.FigureImpossible},
		{"more than the cable alone", map[string]float64{"half alone": 300}, steps.Inconclusive, steps.FigureImpossible},
		{
			"one starved behind one link",
			map[string]float64{"first beside second": 104, "second beside first": 1.4},
			steps.Warn, steps.RailsUneven,
		},
		{
			"a third behind one link",
			map[string]float64{"first beside second": 72, "second beside first": 33},
			steps.Warn, steps.RailsUneven,
		},
		{
			"as good as it may be unlike",
			map[string]float64{"first beside second": 65, "second beside first": 40},
			steps.Pass, "",
		},
		{
			"one starved behind two",
			map[string]float64{"first beside half": 20, "half beside first": 92.5},
			steps.Fail, steps.AdapterDegraded,
		},
	} {
		figures := kindtest.Healthy()
		maps.Copy(figures, c.figures)
		v := judgeDual(dualCell, kindtest.Dual(kindtest.Spark(), figures, parseDual))
		kindtest.Because(t, c.name, v, c.grade, c.code)
	}
}

// Servers over rails that are down would wait for clients that never come.
func TestPlanOfDual(t *testing.T) {
	plain, pulled, off := kindtest.Netdevs(kindtest.Spark()), kindtest.Netdevs(kindtest.Spark()),
		kindtest.Netdevs(kindtest.Spark())
	for e := range pulled.Nodes {
		for _, i := range []int{0, 2} {
			r := &pulled.Nodes[e].Rails[i]
			r.State, r.Netdev.Carrier = "DOWN", false
		}
	}
	off.Nodes[steps.Peer].Rails[1].State, off.Nodes[steps.Peer].Rails[1].Netdev.Up = "DOWN", false
	for _, c := range []struct {
		name    string
		rig     steps.Rig
		refused string
	}{
		{"as it should be", plain, ""},
		{"a pulled cable", pulled, "is DOWN. Check its cable at both ends"},
		{
			"switched off", off,
			"rocep1s0f1 on spark-01 is DOWN, because its interface is switched off. Run: ip link set enp1s0f1np1 up",
		},
	} {
		p := planDual(c.rig, nil)
		if (p.Refuse == "") != (c.refused == "") || !strings.Contains(p.Refuse, c.refused) {
			t.Errorf("%s: refused %q, want %q", c.name, p.Refuse, c.refused)
		}
	}
}

// A sum is of two tests that surely ran at the same time, or there is none.
func TestDualAtTheSameTime(t *testing.T) {
	for name, c := range map[string]struct {
		change func(first, second *dualTest)
		grade  steps.Grade
		code   steps.Code
		words  string
	}{
		"as it should be": {func(_, _ *dualTest) {}, steps.Pass, "", "together"},
		"one after the other": {
			func(a, b *dualTest) { b.From, b.To = a.To, a.To+b.To-b.From }, steps.Inconclusive, steps.NotTogether,
			"overlapped for only 0 %",
		},
		"for a while": {
			func(a, b *dualTest) { b.From, b.To = b.From+0.15, b.To+0.15 }, steps.Inconclusive, steps.NotTogether,
			"0.20 s",
		},
		"long programs": {
			func(a, b *dualTest) { a.From, b.To = a.From-3, b.To+3 }, steps.Inconclusive, steps.NotTogether,
			"overlapped for only 0 %",
		},
		"nobody tells": {
			func(a, _ *dualTest) { a.From, a.To = 0, 0 },
			steps.Inconclusive, steps.NotTogether, "ran is unknown",
		},
		"backwards": {
			func(a, _ *dualTest) { a.From, a.To = a.To, a.From }, steps.Inconclusive, steps.NotTogether,
			"ran is unknown",
		},
		"faster than the clock": {
			func(a, _ *dualTest) { a.To = a.From + 0.1 },
			steps.Inconclusive, steps.NotTogether, "0.10 s",
		},
	} {
		r := kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), parseDual)
		tests := r.Stages[0].Outputs[1].Value.([]dualTest)
		at := func(name string) *dualTest {
			return &tests[slices.IndexFunc(tests, func(t dualTest) bool { return t.Name == name })]
		}
		c.change(at("first beside second"), at("second beside first"))
		v := judgeDual(dualCell, r)
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words)
		if c.grade != steps.Pass && v.Decided != steps.ByBytes {
			t.Errorf("%s: %q decided", name, v.Decided)
		}
	}
}
