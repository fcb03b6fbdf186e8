package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
)

var dualCell = steps.Cell{ID: "dual-link", Counters: true, Judge: "dual-link"}

// dual is a result of the cell: figures by the tests' names, in Gb/s.
func dual(rig steps.Rig, figures map[string]float64) steps.Result {
	text := ""
	counts := map[int]int{}
	for _, name := range []string{"first alone", "second alone", "first beside second", "second beside first", "half alone", "first beside half", "half beside first"} {
		rate, ran := figures[name]
		if !ran {
			continue
		}
		text += fmt.Sprintf("== %s: exit 0\n%s", name, table(rate, 1024))
		counts[map[byte]int{'f': 0, 's': 1, 'h': 2}[name[0]]]++
	}
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{ran("server", steps.Peer, ""), read(ran("client", steps.Here, text), parseDual)}}
	for _, e := range steps.Ends {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{End: e, Dev: rail.Dev, Rail: i, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{}}
			b.Tx = uint64(counts[i]) * wire(1024)
			if e == steps.Peer {
				b.Tx, b.Rx = 0, b.Tx
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

func healthy() map[string]float64 {
	return map[string]float64{
		"first alone": 92.6, "second alone": 92.6, "first beside second": 52.7, "second beside first": 52.7,
		"half alone": 92.6, "first beside half": 92.5, "half beside first": 92.5,
	}
}

func TestDual(t *testing.T) {
	v := judgeDual(dualCell, dual(spark(), healthy()))
	want(t, "healthy", v, steps.Pass, "rails 1 and 2 together 105.4 Gb/s", "behind one PCIe Gen5 x4", "rails 1 and 3 together 185.0 Gb/s", "PCIe link of its own")
	if len(v.Tables) != 1 || len(v.Tables[0].Rows) != 2 {
		t.Errorf("tables: %+v", v.Tables)
	}
	two := healthy()
	for _, name := range []string{"half alone", "first beside half", "half beside first"} {
		delete(two, name)
	}
	want(t, "a half missing", judgeDual(dualCell, dual(spark(), two)), steps.Inconclusive, `"half alone" is missing`)
	want(t, "no half at all", judgeDual(dualCell, dual(tutorialSpark(), two)), steps.Pass, "rails 1 and 2")

	slow := healthy()
	slow["half beside first"] = 30
	want(t, "a slow half", judgeDual(dualCell, dual(spark(), slow)), steps.Fail, "rails 1 and 3 carry 122.5 Gb/s together, of 185.")
	apart := healthy()
	apart["first beside second"], apart["second beside first"] = 92.6, 92.6
	want(t, "more than one link can carry", judgeDual(dualCell, dual(spark(), apart)), steps.Inconclusive, "more than the", "at the same time")

	wrong := dual(spark(), healthy())
	counter(&wrong.Stages[0], steps.Here, 3).Tx = 10 * wire(1024)
	want(t, "another rail's bytes", judgeDual(dualCell, wrong), steps.Fail, "roceP2p1s0f1 on spark-02 moved")
	lost := dual(spark(), healthy())
	counter(&lost.Stages[0], steps.Peer, 1).Rx /= 2
	want(t, "missing bytes", judgeDual(dualCell, lost), steps.Inconclusive, "rocep1s0f1 on spark-01 counted only")
	blind := dual(spark(), healthy())
	counter(&blind.Stages[0], steps.Here, 0).Known = false
	want(t, "uncounted", judgeDual(dualCell, blind), steps.Inconclusive, "unknown")
	flap := dual(spark(), healthy())
	counter(&flap.Stages[0], steps.Here, 1).Errors["link_downed"] = 1
	want(t, "a flap", judgeDual(dualCell, flap), steps.Fail, "went down during the test")

	again := dual(spark(), healthy())
	for i := range 4 {
		b := counter(&again.Stages[0], steps.Here, i)
		b.Tx, b.Errors["packet_seq_err"] = b.Tx*105/100, 7
	}
	want(t, "sent again", judgeDual(dualCell, again), steps.Warn, "on spark-02 more bytes", "rocep1s0f0 5.0 %", "sent again: packet_seq_err +7")
	portless := dual(spark(), healthy())
	for i := range 4 {
		counter(&portless.Stages[0], steps.Here, i).Source = "netdev bytes"
	}
	want(t, "no port counters", judgeDual(dualCell, portless), steps.Inconclusive, "and roceP2p1s0f0 on spark-02: no port counters")
	degraded := healthy()
	for name := range degraded {
		degraded[name] = 13
	}
	want(t, "degraded", judgeDual(dualCell, dual(spark(), degraded)), steps.Fail, "rails 1 and 2 carry 26.0 Gb/s", "degraded", "power")
	one := healthy()
	one["first alone"], one["first beside half"] = 60, 60
	want(t, "a slow rail", judgeDual(dualCell, dual(spark(), one)), steps.Warn, "rail 1 (rocep1s0f0) carries only 60.0 Gb/s alone")

	cut := dual(spark(), healthy())
	for i := range 2 {
		unread := &cut.Stages[0].Outputs[1].Value.([]dualTest)[i]
		unread.Rows, unread.Err = nil, "a row is cut"
	}
	want(t, "cut rows", judgeDual(dualCell, cut), steps.Inconclusive, `the test "first alone" and "second alone": a row is cut`)

	failed := dual(spark(), healthy())
	o := &failed.Stages[0].Outputs[1]
	tests := o.Value.([]dualTest)
	i := slices.IndexFunc(tests, func(t dualTest) bool { return t.Name == "second alone" })
	tests[i].Exit, tests[i].Rows, tests[i].Err = 1, nil, "Failed to modify QP"
	want(t, "one failed", judgeDual(dualCell, failed), steps.Fail, "second alone", "Failed to modify QP")
	hung := dual(spark(), healthy())
	hung.Stages[0].Outputs[1].Exit.Why = 1
	want(t, "hung", judgeDual(dualCell, hung), steps.Inconclusive, "timed out")
}
