package perftest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/decimal"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/pattern"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/theory"
	"github.com/railbench/railbench/steps/wire"
	"github.com/railbench/railbench/steps/witness"
)

// A dualTest is one ib_write_bw of the cell dual-link: alone, or beside another.
type dualTest struct {
	Name string // "first alone", "second beside first"; its first word is the rail
	Exit int    // the script's own 0 or 1, not ib_write_bw's status
	parse.Bandwidth
	Err string // why there is no row; empty where there is one
}

// rail is the pair that a test's name begins with; ok is false where it begins with none.
func (t dualTest) rail(rig steps.Rig) (p steps.Pair, ok bool) {
	word, _, _ := strings.Cut(t.Name, " ")
	switch word {
	case "first":
		return rig.Pairs[0], true
	case "second":
		return rig.Pairs[1], true
	case "half":
		return rig.AcrossHalves()
	}
	return steps.Pair{}, false
}

var dualHeading = pattern.New(`(?m)^== (.*): exit (\d+)[ \t\r]*\n`)

// parseDual reads the outputs of several tests, each under a line "== NAME: exit N". A test
// whose output has no row is kept with the reason: that one failed is a finding, and which.
func parseDual(text string) ([]dualTest, error) {
	var tests []dualTest
	at := dualHeading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		t := dualTest{Name: text[m[2]:m[3]]}
		t.Exit, _ = decimal.Count(text[m[4]:m[5]]) // digits, as the pattern says
		body := text[m[1]:end]
		var err error
		if t.Bandwidth, err = parse.PerftestBandwidth(body); err != nil {
			t.Err = err.Error()
			if said := parse.PerftestErrors(body); len(said) > 0 {
				t.Err = said[0]
			}
		}
		tests = append(tests, t)
	}
	if tests == nil {
		return nil, parse.ErrNoResult
	}
	return tests, nil
}

// A couple is two pairs of rails that are tried together. The first pair is in each: the
// second shares its PCIe link on a DGX Spark, and the one across the halves doesn't.
type couple struct {
	first, second steps.Pair
	names         [2]string // of the rails, in the tests' names
	numbers       [2]int    // of the rails, counted from 1
}

// planDual refuses to test over rails that are down: the servers would wait for
// clients that never come.
func planDual(rig steps.Rig, _ map[string]string) (p steps.Plan) {
	rt := wire.Route{}
	for i, pair := range rig.Pairs {
		if half, ok := rig.AcrossHalves(); i < 2 || ok && pair == half { // those that the script tests
			rt.Add(rig, i)
		}
	}
	var rep kind.Report
	rt.CheckPorts(rig, &rep)
	var said []string
	for _, f := range rep.Findings {
		said = append(said, f.Text)
	}
	p.Refuse = strings.Join(said, ", and ")
	return p
}

// judgeDual holds two rails together against each of them alone: what they add
// up to depends on whether they share a PCIe link, which the rail map knows.
func judgeDual(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := kind.Gate(c, r); done {
		return v
	}
	var rep kind.Report
	tests, ok := dualTests(c, r, &rep)
	if !ok {
		return rep.Verdict()
	}
	// The account is of the whole cell, because the counters are: every test that a rail had
	// stands in them, alone and beside another.
	couples := []couple{{r.Rig.Pairs[0], r.Rig.Pairs[1], [2]string{"first", "second"}, [2]int{1, 2}}}
	if half, ok := r.Rig.AcrossHalves(); ok {
		couples = append(couples, couple{r.Rig.Pairs[0], half, [2]string{"first", "half"}, [2]int{1, number(r.Rig, half)}})
	}
	table := steps.Table{
		Title: "Two rails at once",
		Columns: []steps.Column{
			{Name: "rails"},
			{Name: "alone Gb/s", Number: true},
			{Name: "together Gb/s", Number: true},
			{Name: "sum Gb/s", Number: true},
			{Name: "expected Gb/s", Number: true},
		},
	}
	var texts []string
	_, client := roles(r.Stages[0])
	// In an order of their own: a map's would give the evidence another one each time.
	var flows []wire.Flow
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t := tests[name]
		pair, _ := t.rail(r.Rig)
		mtu := theory.AgreedMTU(r.Rig, pair, t.MTU)
		f := wire.Between(client.End, mtu, mtu, pair)
		f.Writes(float64(t.Rows[0].Iterations), t.Rows[0].Bytes)
		f.Text = "all tests of this rail together"
		flows = append(flows, f)
	}
	for _, cp := range couples {
		text, row := judgeCouple(r, cp, tests, &rep)
		texts = append(texts, text)
		table.Rows = append(table.Rows, row)
	}
	wire.Account(r.Rig, r.Stages[0].Bytes, flows...).Tell(&rep, rep.Add)
	v := rep.Verdict(texts...)
	v.Tables = []steps.Table{table}
	return v
}

func number(rig steps.Rig, p steps.Pair) int {
	for i, other := range rig.Pairs {
		if other == p {
			return i + 1
		}
	}
	return 0
}

// dualTests checks everything that has to be right before a number means anything. Where ok
// is true, each of the tests has a rail and at least one row, and there is a client.
func dualTests(c steps.Cell, r steps.Result, rep *kind.Report) (tests map[string]dualTest, ok bool) {
	if !r.Rig.HasPair(0) || !r.Rig.HasPair(1) {
		rep.Add(steps.Inconclusive, "there are not two rails that lead from node to node")
		return nil, false
	}
	s := r.Stages[0]
	server, client, ok := dualEnds(r, s, rep)
	if !ok {
		return nil, false
	}
	kind.Exited(r, *client, rep)
	all, read := kind.Value[[]dualTest](r, *client, rep)
	if !read {
		return nil, false
	}
	want := []string{"first alone", "second alone", "first beside second", "second beside first"}
	if _, across := r.Rig.AcrossHalves(); across {
		want = append(want, "half alone", "first beside half", "half beside first")
	}
	tests, known := byName(all, want, rep)
	if !allMeasured(r.Rig, tests, want, rep) || !known || s.Err != "" || !client.Exit.OK() {
		return tests, false
	}
	for _, name := range want {
		if why := dualNotOfThisRun(c, r.Rig, *client, tests[name]); why != "" {
			rep.Add(steps.Inconclusive, "the test %q is not as it was asked for: %s", name, why)
			return tests, false
		}
	}
	// The server last: where a test failed it was ended because of that, and is no witness.
	return tests, serverWell(r, *server, rep)
}

func serverWell(r steps.Result, server steps.Output, rep *kind.Report) bool {
	if f, bad := kind.Trouble(r.Rig, server); bad {
		rep.Add(f.Grade, "%s", f.Text)
		return false
	}
	if kind.Exited(r, server, rep) {
		return false
	}
	if c, _, found := causeOf(messagesOf(steps.Peer, parse.PerftestErrors(server.Text))); found {
		rep.Add(c.Grade, c.Means+", though it ended with status 0", r.Rig.NameOf(steps.Peer))
		return false
	}
	return true
}

// dualEnds are the outputs of both ends; ok is false where one of them, or what ended the
// client, leaves nothing to be read.
func dualEnds(r steps.Result, s steps.Stage, rep *kind.Report) (server, client *steps.Output, ok bool) {
	if s.Err != "" {
		rep.Add(steps.Inconclusive, "it stopped: %s", s.Err)
	}
	server, client = roles(s)
	if client == nil || server == nil {
		if s.Err == "" || server == nil && client != nil {
			rep.Add(steps.Inconclusive, "not both ends ran")
		}
		return server, client, false
	}
	if f, known := witness.First(r.Rig, s); known {
		rep.Add(f.Grade, "%s", kind.Capital(f.Text))
		return server, client, false
	}
	if f, bad := kind.Trouble(r.Rig, *client); bad {
		hint := ""
		if client.Exit.Why == runner.TimedOut {
			hint = "; crossed rails and a wrong GID hang like this, without a word"
		}
		rep.Add(f.Grade, "%s%s", f.Text, hint)
		return server, client, false
	}
	return server, client, true
}

// byName sorts tests by their names; ok is false where one is there twice, or that nobody
// wanted. What such a one moved is in the counters of some rail, so no account would be right.
func byName(all []dualTest, want []string, rep *kind.Report) (tests map[string]dualTest, ok bool) {
	tests, ok = map[string]dualTest{}, true
	for _, t := range all {
		_, twice := tests[t.Name]
		if tests[t.Name] = t; twice || !slices.Contains(want, t.Name) {
			rep.Add(steps.Inconclusive, "there is a test %q that nobody asked for, or that is there twice", t.Name)
			ok = false
		}
	}
	return tests, ok
}

// allMeasured looks whether each of the tests that are wanted has a figure. What can't be
// read is told once for all tests of one reason, as it mostly is the same for all of them.
func allMeasured(rig steps.Rig, tests map[string]dualTest, want []string, rep *kind.Report) bool {
	ok := true
	unread := map[string][]string{} // tests by what is wrong with their output
	for _, name := range want {
		t, ran := tests[name]
		switch {
		case !ran:
			rep.Add(steps.Inconclusive, "the test %q is missing", name)
		case t.Exit != 0:
			rep.Add(steps.Fail, "the test %q ended with exit %d: %s", name, t.Exit, kind.OrUnknown(t.Err))
		case len(t.Rows) == 0:
			unread[kind.OrUnknown(t.Err)] = append(unread[kind.OrUnknown(t.Err)], strconv.Quote(name))
		case t.Rows[0].AverageGbps <= 0 || t.Rows[0].Bytes <= 0 || t.Rows[0].Iterations <= 0:
			rep.Add(steps.Inconclusive, "the test %q reports %g Gb/s", name, t.Rows[0].AverageGbps)
		case len(t.Errors) == 0:
			continue
		default:
			c, _, found := causeOf(messagesOf(steps.Here, t.Errors))
			if !found {
				rep.Add(steps.Inconclusive, "the test %q has a figure, and says %s", name, t.Errors[0])
				break
			}
			rep.Add(c.Grade, "the test %q: "+c.Means+", though it ended with status 0", name, rig.NameOf(steps.Here))
		}
		ok = false
	}
	for _, why := range slices.Sorted(maps.Keys(unread)) {
		rep.Add(steps.Inconclusive, "no result that can be read came from the test %s: %s", kind.And(unread[why]), why)
	}
	return ok
}

// dualNotOfThisRun says why a test that has a figure is not the one that its name says, or
// why its figure can't be held against the others'.
func dualNotOfThisRun(c steps.Cell, rig steps.Rig, client steps.Output, t dualTest) string {
	pair, ok := t.rail(rig)
	if !ok {
		return "no rail has its name"
	}
	return notOfThisRun(c, client, t.Bandwidth, rig.Rail(pair, client.End).Dev)
}

// judgeCouple compares the sum of two rails with what both can carry together. The sum is of
// averages, each over its own test's time: where one test ends early the other has the link
// for itself, so a sum may be a little above what both can do (OverTogether).
func judgeCouple(r steps.Result, cp couple, tests map[string]dualTest, rep *kind.Report) (text string, row []string) {
	a, b := cp.names[0], cp.names[1]
	gbps := func(name string) float64 { return tests[name].Rows[0].AverageGbps }
	alone := [2]float64{gbps(a + " alone"), gbps(b + " alone")}
	with := [2]float64{gbps(a + " beside " + b), gbps(b + " beside " + a)}
	sum := with[0] + with[1]
	name := fmt.Sprintf("rails %d and %d", cp.numbers[0], cp.numbers[1])
	first, second := tests[a+" beside "+b], tests[b+" beside "+a]
	least, mtu := shorter(first, second), theory.AgreedMTU(r.Rig, cp.first, first.MTU)
	f := witness.Figure{
		Got: rate.Payload(sum), Band: cp.band(r.Rig, first, second), Over: theory.OverTogether, Of: "they",
		Doubt: "did they run at the same time?",
		Cause: func() string { return cp.cause(r, alone, with) },
	}
	for i := range cp.numbers {
		rep.Show(fmt.Sprintf("%s, rail %d alone", name, cp.numbers[i]), kind.Round(alone[i]), "Gb/s", nil)
		rep.Show(fmt.Sprintf("%s, rail %d together", name, cp.numbers[i]), kind.Round(with[i]), "Gb/s", nil)
	}
	rep.Show(name+" together", kind.Round(sum), "Gb/s", f.Expected())
	rep.Measured(steps.Figure{
		What: steps.Throughput, Value: kind.Round(sum), Unit: "Gb/s", Rails: cp.numbers[:],
		MessageBytes: least.Bytes, MTU: mtu, Memory: "DRAM",
	})
	row = []string{
		fmt.Sprintf("%d and %d", cp.numbers[0], cp.numbers[1]), fmt.Sprintf("%.1f, %.1f", alone[0], alone[1]),
		fmt.Sprintf("%.1f, %.1f", with[0], with[1]), fmt.Sprintf("%.1f", sum), "no band",
	}
	f.Judge(func(g steps.Grade, format string, args ...any) {
		rep.Add(g, "%s together: "+format, append([]any{name}, args...)...)
	})
	text = fmt.Sprintf("%s together %s, alone %.1f and %.1f", name, kind.Gbps(sum), alone[0], alone[1])
	if f.Band.None == "" {
		row[4] = fmt.Sprintf("%.1f", f.Band.Expected)
		if !r.Rig.SharesHalf(cp.first, cp.second) {
			text += ", each behind a PCIe link of its own"
		}
		text += ": " + f.Band.Says("they")
	}
	return text, row
}

// cause looks for what ends two rails early: a rail that is slow alone, or what
// else shows on either. alone and with are Gb/s, in the order of the couple. A rail that is
// slow by itself is named before any guess about the two.
func (cp couple) cause(r steps.Result, alone, with [2]float64) string {
	var said string
	for i, pair := range []steps.Pair{cp.first, cp.second} {
		m := kind.Measurement{No: cp.numbers[i], Dev: r.Rig.Rail(pair, steps.Here).Dev, Pair: pair}
		mtu := theory.AgreedMTU(r.Rig, pair, 0)
		said = fmt.Sprintf("rail %d (%s): %s", m.No, m.Dev, wire.LikelyCause(r, r.Stages[0], m, with[i], mtu))
		if !strings.Contains(said, wire.NoCause) {
			return said
		}
		b := theory.BandOf(r.Rig, theory.Test{MTU: mtu}, pair)
		if b.Expected > 0 && alone[i] < theory.WarnShare.Value()*float64(b.Expected) {
			return fmt.Sprintf("rail %d (%s) carries only %s alone, of %.1f: see the write bandwidth of each rail", m.No,
				m.Dev, kind.Gbps(alone[i]), b.Expected)
		}
	}
	return "both are well alone; look for other traffic, and for PCIe errors (dmesg)"
}

// shorter is the smaller message of two tests with the fewer of them: what both are at least.
func shorter(a, b dualTest) parse.BandwidthRow {
	x, y := a.Rows[0], b.Rows[0]
	return parse.BandwidthRow{Bytes: min(x.Bytes, y.Bytes), Iterations: min(x.Iterations, y.Iterations)}
}

// band is what two rails can carry at once, each with a test of its own. Nobody tells when
// each of them began: only tests that are much longer than it takes to start one are known
// to have run beside each other (LeastTogether).
func (cp couple) band(rig steps.Rig, first, second dualTest) theory.Band {
	mtu := min(theory.AgreedMTU(rig, cp.first, first.MTU), theory.AgreedMTU(rig, cp.second, second.MTU))
	row := shorter(first, second)
	return theory.BandOf(rig, theory.Test{
		MTU: mtu, Message: row.Bytes, Payload: float64(row.Bytes) * float64(row.Iterations),
		LeastPayload: theory.LeastTogether,
	}, cp.first, cp.second)
}
