package perftest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// A dualTest is one ib_write_bw of the cell dual-link: alone, or next to another.
type dualTest struct {
	Name string // "first alone", "second beside first"; its first word is the rail
	Exit int    // the script's own 0 or 1, not ib_write_bw's status
	// From and To are when ib_write_bw began and ended, seconds by a clock of the node that no one sets; both 0 where
	// the script doesn't report.
	From, To float64
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

// A headedOutput is what one of several tools has printed, under a line "== NAME: exit N", which
// may have ", T1 to T2 s" behind it.
type headedOutput struct {
	name     string
	exit     int
	from, to float64 // seconds of the node's clock; 0 where the line has none
	body     string
}

// headed takes an output apart.
func headed(text string) (all []headedOutput) {
	at := heading.Regexp().FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		h := headedOutput{name: text[m[2]:m[3]], body: text[m[1]:end]}
		h.exit, _ = strictnum.Count(text[m[4]:m[5]]) // digits, as the pattern says
		if m[6] >= 0 {
			from, ok1 := strictnum.Number(text[m[6]:m[7]])
			to, ok2 := strictnum.Number(text[m[8]:m[9]])
			if ok1 && ok2 {
				h.from, h.to = from, to
			}
		}
		all = append(all, h)
	}
	return all
}

var heading = lazyregexp.New(`(?m)^== (.*): exit (\d+)(?:, ([\d.]+) to ([\d.]+) s)?[ \t\r]*\n`)

// parseDual reads the outputs of several tests, each under a line "== NAME: exit N, T1 to T2 s". A test
// whose output has no row is kept with the reason: that one failed is a finding, and which.
func parseDual(text string) ([]dualTest, error) {
	var tests []dualTest
	for _, h := range headed(text) {
		t := dualTest{Name: h.name, Exit: h.exit, From: h.from, To: h.to}
		var err error
		if t.Bandwidth, err = parse.PerftestBandwidth(h.body); err != nil {
			t.Err = err.Error()
			if said := parse.PerftestErrors(h.body); len(said) > 0 {
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
	rt := traffic.Route{}
	for i, pair := range rig.Pairs {
		if half, ok := rig.AcrossHalves(); i < 2 || ok && pair == half { // those that the script tests
			rt.Add(rig, i)
		}
	}
	var rep registry.Report
	rt.CheckPorts(rig, &rep)
	var said []string
	for _, f := range rep.Findings {
		said = append(said, f.Text)
	}
	if len(said) > 1 {
		said = append(said[:1], fmt.Sprintf("And %d more", len(said)-1))
	}
	p.Refuse = strings.Join(said, ". ")
	return p
}

// ports are those of all rails that it tries.
func (t *couplesTest) ports() (all []traffic.Port) {
	for _, cp := range t.couples {
		all = append(all, append(traffic.EndsOf(cp.first), traffic.EndsOf(cp.second)...)...)
	}
	return all
}

// judgeDual holds two rails together against each of them alone: what they add
// up to depends on whether they share a PCIe link, which the rail map knows.
func judgeDual(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	if !r.Rig.HasPair(0) || !r.Rig.HasPair(1) {
		rep.Add(steps.NoRail, steps.Inconclusive, "fewer than two rails connect the nodes. Run: railbench run rail-map")
		return rep.Verdict()
	}
	t := couplesTest{cell: c, result: r, stage: r.Stages[0], rep: &rep}
	t.couples = []couple{{r.Rig.Pairs[0], r.Rig.Pairs[1], [2]string{"first", "second"}, [2]int{1, 2}}}
	if half, ok := r.Rig.AcrossHalves(); ok && half != r.Rig.Pairs[1] { // which is tried already
		t.couples = append(t.couples, couple{
			r.Rig.Pairs[0], half,
			[2]string{"first", "half"},
			[2]int{1, number(r.Rig, half)},
		})
	}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: t.stage, Ports: t.ports(), Rep: &rep, Add: rep.Add}
	if _, ok := line.Verify(&t); !ok {
		return rep.Verdict()
	}
	v := rep.Verdict(t.texts...)
	v.Tables = []steps.Table{{
		Title: "Two rails at once",
		Columns: []steps.Column{
			{Name: "rails"},
			{Name: "alone Gb/s", Number: true},
			{Name: "together Gb/s", Number: true},
			{Name: "sum Gb/s", Number: true},
			{Name: "expected Gb/s", Number: true},
		},
		Rows: t.rows,
	}}
	return v
}

// A couplesTest is the cell dual-link: several tests in one output.
type couplesTest struct {
	cell    steps.Cell
	result  steps.Result
	stage   steps.Stage
	rep     *registry.Report
	couples []couple
	server  steps.Output
	client  steps.Output
	tests   map[string]dualTest
	texts   []string
	rows    [][]string
	low     map[string]bool // rails, by their tests' names, that are slow alone
}

// want are the names of the tests that have to be there.
func (t *couplesTest) want() []string {
	names := []string{"first alone", "second alone", "first beside second", "second beside first"}
	if len(t.couples) > 1 {
		names = append(names, "half alone", "first beside half", "half beside first")
	}
	return names
}

// Ends asks for the client before the server: where a test failed, the server was ended because of that, and says
// nothing about it.
func (t *couplesTest) Ends() bool {
	rep := t.rep
	if t.stage.Err != "" {
		rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", t.stage.Err)
	}
	server, client := roles(t.stage)
	if client == nil || server == nil {
		if t.stage.Err == "" || server == nil && client != nil {
			rep.Add(steps.NotRunHere, steps.Inconclusive, "not both ends ran")
		}
		return false
	}
	t.server, t.client = *server, *client
	if f, bad := registry.Trouble(t.result.Rig, t.client); bad {
		rep.Add(f.Code, f.Grade, "%s%s", f.Text, hangHint(t.result.Rig, t.stage, t.ports(), t.client, t.client, t.server))
		return false
	}
	if registry.Exited(t.result, t.client, rep) || t.stage.Err != "" {
		return false
	}
	// A test that failed explains the server's end, and Output reports it.
	if all, ok := t.client.Value.([]dualTest); ok &&
		slices.ContainsFunc(all, func(one dualTest) bool { return one.Exit != 0 }) {
		return true
	}
	return serverWell(t.result, t.server, rep)
}

// Output reads the tests: each of those that are wanted, once, of its rail, size and count.
func (t *couplesTest) Output() bool {
	rep := t.rep
	all, read := registry.Value[[]dualTest](t.result, t.client, rep)
	if !read {
		return false
	}
	tests, known := byName(all, t.want(), rep)
	if !allMeasured(t.result, tests, t.want(), rep) || !known {
		return false
	}
	t.tests = tests
	for _, name := range t.want() {
		if why := dualNotOfThisRun(t.cell, t.result.Rig, t.client, tests[name]); why != "" {
			rep.Add(steps.OutputForeign, steps.Inconclusive, "the test %q is not as requested: %s", name, why)
			return false
		}
	}
	return serverQuiet(t.result, t.server, rep)
}

// Flows are of the whole cell, because the counters are: every test that a rail had stands in them, alone and next to
// another.
func (t *couplesTest) Flows() (flows []traffic.Flow) {
	for _, name := range t.want() {
		one := t.tests[name]
		pair, _ := one.rail(t.result.Rig)
		mtu := limits.AgreedMTU(t.result.Rig, pair, one.MTU)
		f := traffic.Between(t.client.End, mtu, mtu, pair)
		f.Extra(limits.Extra(t.result.Rig.Rail(pair, t.client.End), one.LocalGID))
		f.Writes(float64(one.Rows[0].Iterations), one.Rows[0].Bytes)
		f.Text = "all tests of this rail together"
		flows = append(flows, f)
	}
	return flows
}

// Figure judges each couple, where it ran at the same time: a sum of two tests of which one was over before the other
// began is not a rate of anything.
func (t *couplesTest) Figure(traffic.Accounted) {
	t.low = map[string]bool{}
	for i, cp := range t.couples {
		if i == 0 { // the first rail is in each couple
			t.low[cp.names[0]] = t.judgeAlone(cp.numbers[0], cp.first, cp.names[0])
		}
		t.low[cp.names[1]] = t.judgeAlone(cp.numbers[1], cp.second, cp.names[1])
	}
	for _, cp := range t.couples {
		text, row := t.judgeCouple(cp)
		t.texts, t.rows = append(t.texts, text), append(t.rows, row)
	}
}

// Signs ignores what each test's peak reports, as other tests run at the same time.
func (t *couplesTest) Signs() {
	for _, name := range t.want() {
		pair, _ := t.tests[name].rail(t.result.Rig)
		otherMTU(t.cell, t.result.Rig, pair, t.client, "ib_write_bw", t.tests[name].MTU, t.rep.Add)
	}
}

func number(rig steps.Rig, p steps.Pair) int {
	for i, other := range rig.Pairs {
		if other == p {
			return i + 1
		}
	}
	return 0
}

func serverWell(r steps.Result, server steps.Output, rep *registry.Report) bool {
	if f, bad := registry.Trouble(r.Rig, server); bad {
		rep.Note(f)
		return false
	}
	return !registry.Exited(r, server, rep)
}

// serverQuiet reports whether the servers had nothing to complain of.
func serverQuiet(r steps.Result, server steps.Output, rep *registry.Report) bool {
	c, msg, found := causeOf(messagesOf(server.End, parse.PerftestErrors(server.Text)))
	if found {
		code, grade, said := means(r.Rig, r.Stages[0], r.Rig.Pairs, c, msg)
		rep.Add(code, grade, "%s", said)
		rep.Explain("A program ended with status 0 although it reported an error")
	}
	return !found
}

// byName sorts tests by their names; ok is false where one is there twice, or that no one wanted. What such a one
// moved is in the counters of some rail, so no account would be right.
func byName(all []dualTest, want []string, rep *registry.Report) (tests map[string]dualTest, ok bool) {
	tests, ok = map[string]dualTest{}, true
	for _, t := range all {
		_, twice := tests[t.Name]
		if tests[t.Name] = t; twice || !slices.Contains(want, t.Name) {
			rep.Add(steps.OutputForeign, steps.Inconclusive, "the output has a test %q that was not requested, or has it twice",
				t.Name)
			ok = false
		}
	}
	return tests, ok
}

// allMeasured reports whether each of the wanted tests has a figure. Output that can't be read is reported
// once for all tests with the same reason, as the reason is mostly the same for all of them. A test that
// failed is a FAIL of the rail; a test whose output can't be read is not a fault yet.
func allMeasured(r steps.Result, tests map[string]dualTest, want []string, rep *registry.Report) bool {
	ok := true
	unread := map[string][]string{} // tests by what is wrong with their output
	var causes []registry.Finding   // why tests failed
	failed := map[registry.Finding][]string{}
	for _, name := range want {
		t, ran := tests[name]
		switch {
		case !ran:
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the test %q is missing", name)
		case t.Exit != 0:
			f := registry.Finding{
				Code: steps.ScriptFailed, Grade: steps.Fail,
				Text: fmt.Sprintf("exit %d: %s. Run: railbench run ib-write-bw", t.Exit, registry.OrUnknown(t.Err)),
			}
			if c, msg, found := causeOf(messagesOf(steps.Here, []string{t.Err})); found {
				f.Code, f.Grade, f.Text = means(r.Rig, r.Stages[0], r.Rig.Pairs, c, msg)
			}
			if failed[f] == nil {
				causes = append(causes, f)
			}
			failed[f] = append(failed[f], strconv.Quote(name))
		case len(t.Rows) == 0 || t.Err != "": // rows of which one could not be read are not result
			unread[registry.OrUnknown(t.Err)] = append(unread[registry.OrUnknown(t.Err)], strconv.Quote(name))
		case t.Rows[0].AverageGbps <= 0 || t.Rows[0].Bytes <= 0 || t.Rows[0].Iterations <= 0:
			rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the test %q reports %g Gb/s, which is not a result", name,
				t.Rows[0].AverageGbps)
		case len(t.Errors) == 0:
			continue
		default:
			c, msg, found := causeOf(messagesOf(steps.Here, t.Errors))
			if !found {
				rep.Add(steps.UnknownError, steps.Inconclusive, "the test %q reported an error despite a result: %s", name,
					t.Errors[0])
				break
			}
			code, grade, said := means(r.Rig, r.Stages[0], r.Rig.Pairs, c, msg)
			rep.Add(code, grade, "the test %q: %s", name, said)
			rep.Explain("It ended with status 0 although it reported an error")
		}
		ok = false
	}
	few := func(names []string) string {
		if len(names) == 1 {
			return names[0]
		}
		return fmt.Sprintf("%d tests (the first is %s)", len(names), names[0])
	}
	for _, f := range causes {
		rep.Add(f.Code, f.Grade, "%s: %s", few(failed[f]), f.Text)
	}
	for _, why := range slices.Sorted(maps.Keys(unread)) {
		rep.Add(steps.OutputIncomplete, steps.Inconclusive, "no readable result of %s (%s). Run it again",
			few(unread[why]), why)
	}
	return ok
}

// dualNotOfThisRun says why a test that has a figure is not the one that its name says, or
// why its figure can't be held against the others'.
func dualNotOfThisRun(c steps.Cell, rig steps.Rig, client steps.Output, t dualTest) string {
	pair, ok := t.rail(rig)
	if !ok {
		return "no rail has this device"
	}
	return cmp.Or(bothWays(t.Perftest), notOfThisRun(c, rig, pair, client, t.Bandwidth))
}

// judgeAlone compares a test that ran alone with what its rail can carry, as ib-write-bw does. low reports whether it
// carried less.
func (t *couplesTest) judgeAlone(number int, pair steps.Pair, name string) (low bool) {
	test := t.tests[name+" alone"]
	row, mtu := test.Rows[0], limits.AgreedMTU(t.result.Rig, pair, test.MTU)
	m := registry.Measurement{No: number, Dev: t.result.Rig.Rail(pair, steps.Here).Dev, Pair: pair}
	f := verify.Figure{
		Got: rate.Payload(row.AverageGbps), Of: "the rail",
		Band: limits.BandOf(t.result.Rig, limits.Test{
			MTU: mtu, Message: row.Bytes, Payload: float64(row.Bytes) * float64(row.Iterations),
		}, pair),
		Cause: func() (string, steps.Code) {
			c := traffic.LikelyCause(t.result.Rig, traffic.Rate{
				Measurement: m, Gbps: row.AverageGbps, MTU: mtu, Bytes: t.stage.Bytes,
			}, t.alone()...)
			if c.Known || c.Code != steps.BelowLimit {
				return c.Text, c.Code
			}
			return traffic.NoCause + ". Run: railbench run ib-write-bw", steps.BelowLimit
		},
	}
	t.rep.Show(fmt.Sprintf("rail %d alone", number), registry.Round(row.AverageGbps), "Gb/s", f.Expected())
	standing := f.Standing()
	if standing == limits.Unjudged {
		return false // a missing band is reported once for both rails
	}
	f.Judge(func(code steps.Code, g steps.Grade, format string, args ...any) {
		t.rep.On(m, code, g, "alone "+format, args...)
	})
	return standing == limits.Low || standing == limits.Short
}

// unevenly warns about a rail that is starved while equal rails run at the same time: a sum hides that. each are Gb/s,
// in the order of the pairs.
func unevenly(rig steps.Rig, pairs []steps.Pair, numbers []int, each []float64, rep *registry.Report) {
	sum := 0.0
	for i, p := range pairs {
		if sum += each[i]; !traffic.Alike(rig, pairs[0], p) {
			return
		}
	}
	less := slices.Index(each, slices.Min(each))
	// The bar is of two rails, and an even part of more is smaller.
	if each[less] >= 2/float64(len(pairs))*limits.EvenShare.Value()*sum {
		return
	}
	rep.Add(steps.RailsUneven, steps.Warn, "together, rail %d got only %s of %s. Check for other traffic (idle-rails), "+
		"pauses and link-speed", numbers[less], registry.Gbps(each[less]), registry.Gbps(sum))
	rep.Explain("Each rate is averaged over its own test's time, so their sum is not a rate of both together")
}

// alone is what each rail came to alone.
func (t *couplesTest) alone() (all []traffic.Rate) {
	r := t.result
	for _, name := range []string{"first alone", "second alone", "half alone"} {
		one := t.tests[name]
		p, ok := one.rail(r.Rig)
		if !ok || len(one.Rows) == 0 {
			continue
		}
		all = append(all, traffic.Rate{
			Measurement: registry.Measurement{No: number(r.Rig, p), Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p},
			Gbps:        one.Rows[0].AverageGbps, MTU: limits.AgreedMTU(r.Rig, p, 0), Bytes: r.Stages[0].Bytes,
		})
	}
	return all
}

// judgeCouple compares the sum of two rails with what both can carry together. The sum is of
// averages, each over its own test's time: where one test ends early the other has the link
// for itself, so a sum may be above what both can do by as much as they did alone in that time.
func (t *couplesTest) judgeCouple(cp couple) (text string, row []string) {
	r, tests, rep := t.result, t.tests, t.rep
	a, b := cp.names[0], cp.names[1]
	gbps := func(name string) float64 { return tests[name].Rows[0].AverageGbps }
	alone := [2]float64{gbps(a + " alone"), gbps(b + " alone")}
	with := [2]float64{gbps(a + " beside " + b), gbps(b + " beside " + a)}
	sum := with[0] + with[1]
	name := fmt.Sprintf("rails %d and %d", cp.numbers[0], cp.numbers[1])
	first, second := tests[a+" beside "+b], tests[b+" beside "+a]
	least, mtu := shorter(first, second), limits.AgreedMTU(r.Rig, cp.first, first.MTU)
	share, why := together(first, second, name, rep)
	band, atOnce := cp.band(r.Rig, first, second), rate.Payload(share)
	band.Limit = max(band.Limit, atOnce*band.Limit+(1-atOnce)*rate.Payload(alone[0]+alone[1]))
	if band.Seen > 0 {
		band.Seen = max(band.Seen, atOnce*band.Seen+(1-atOnce)*rate.Payload(alone[0]+alone[1]))
	}
	f := verify.Figure{
		Got: rate.Payload(sum), Band: band, Of: "they",
		Doubt: "Check that they ran at the same time",
		Cause: func() (string, steps.Code) { return cp.cause(r, alone, with, t.alone()...) },
	}
	for i := range cp.numbers {
		rep.Show(fmt.Sprintf("%s, rail %d together", name, cp.numbers[i]), registry.Round(with[i]), "Gb/s", nil)
	}
	rep.Show(name+" together", registry.Round(sum), "Gb/s", f.Expected())
	rep.Measured(steps.Figure{
		What: steps.Throughput, Value: registry.Round(sum), Unit: "Gb/s", Rails: cp.numbers[:],
		MessageBytes: least.Bytes, MTU: mtu, Memory: "DRAM",
	})
	row = []string{
		fmt.Sprintf("%d and %d", cp.numbers[0], cp.numbers[1]), fmt.Sprintf("%.1f, %.1f", alone[0], alone[1]),
		fmt.Sprintf("%.1f, %.1f", with[0], with[1]), fmt.Sprintf("%.1f", sum), "no range",
	}
	if why != "" {
		rep.During(steps.ByBytes)
		rep.Add(steps.NotTogether, steps.Inconclusive, "%s together: %s", name, why)
		rep.During(steps.ByFigure)
	} else {
		f.Judge(func(code steps.Code, g steps.Grade, format string, args ...any) {
			rep.Add(code, g, "%s together: "+format, append([]any{registry.Capital(name)}, args...)...)
		})
	}
	if !t.low[a] && !t.low[b] { // a rail that is slow alone has a small share for that reason
		unevenly(r.Rig, []steps.Pair{cp.first, cp.second}, cp.numbers[:], with[:], rep)
	}
	text = fmt.Sprintf("%s together %s", name, registry.Gbps(sum))
	if f.Band.None == "" {
		row[4] = fmt.Sprintf("%.1f", f.Band.Expected)
		if !r.Rig.SharesHalf(cp.first, cp.second) {
			text += ", with a PCIe link each"
		}
		text += ", " + f.Range()
	}
	return text, row
}

// cause looks for what ends two rails early: a rail that is slow alone, or what
// else shows on either. alone and with are Gb/s, in the order of the couple. A rail that is
// slow by itself is named before any guess about the two.
func (cp couple) cause(r steps.Result, alone, with [2]float64, others ...traffic.Rate) (text string, code steps.Code) {
	guess, likely := "", steps.BelowLimit
	for i, pair := range []steps.Pair{cp.first, cp.second} {
		m := registry.Measurement{No: cp.numbers[i], Dev: r.Rig.Rail(pair, steps.Here).Dev, Pair: pair}
		mtu := limits.AgreedMTU(r.Rig, pair, 0)
		slow := traffic.Rate{Measurement: m, Gbps: alone[i], MTU: mtu, Bytes: r.Stages[0].Bytes}
		b := limits.BandOf(r.Rig, limits.Test{MTU: mtu}, pair)
		if b.Expected > 0 && alone[i] < limits.WarnShare.Value()*float64(b.Expected) {
			if c := traffic.LikelyCause(r.Rig, slow, others...); c.Known && c.Code != steps.RailsApart {
				return fmt.Sprintf("Rail %d: %s", m.No, c.Text), c.Code
			}
			return fmt.Sprintf("Rail %d alone reaches only %s, expected at least %.1f. Run: railbench run ib-write-bw", m.No,
				registry.Gbps(alone[i]), limits.PassShare.Value()*float64(b.Expected)), steps.BelowLimit
		}
		slow.Gbps = with[i]
		if c := traffic.LikelyCause(r.Rig, slow); guess == "" && c.Known {
			guess, likely = fmt.Sprintf("Rail %d: %s", m.No, c.Text), c.Code
		}
	}
	if guess != "" {
		return guess, likely
	}
	return "Alone, both reach their limit. Check for other traffic, and for PCIe errors " +
		"(dmesg)", steps.SlowTogether
}

// shorter is the smaller message of two tests with the fewer of them: what both are at least.
func shorter(a, b dualTest) parse.BandwidthRow {
	x, y := a.Rows[0], b.Rows[0]
	return parse.BandwidthRow{Bytes: min(x.Bytes, y.Bytes), Iterations: min(x.Iterations, y.Iterations)}
}

// together is the share of the shorter one's time that two tests surely ran at once, and why they are not known to
// have; empty where they are. A test moved its data for its bytes by its rate, somewhere between the moments at which
// its program began and ended, so it surely did from the last moment at which it can have
// begun to the first at which it can have ended.
func together(first, second dualTest, name string, rep *registry.Report) (share float64, why string) {
	const tick = 0.01 // of the clock, seconds
	begin, end, least := 0.0, math.Inf(1), math.Inf(1)
	for _, t := range []dualTest{first, second} {
		row := t.Rows[0]
		took := float64(row.Bytes) * float64(row.Iterations) * 8 / row.AverageGbps / 1e9
		switch {
		case t.From <= 0 || t.To <= t.From:
			return 0, fmt.Sprintf("when the test %q ran is unknown, so the tests may not have overlapped", t.Name)
		case took > t.To-t.From+2*tick:
			return 0, fmt.Sprintf("the test %q took %.2f s, but its %s at %s need %.2f s: its result is not "+
				"usable", t.Name,
				t.To-t.From,
				registry.Size(float64(row.Bytes)*float64(row.Iterations)), registry.Gbps(row.AverageGbps), took)
		}
		begin, end, least = max(begin, t.To-took), min(end, t.From+took), min(least, took)
	}
	share = max(0, end-begin) / least
	rep.Show(name+", certain overlap", registry.Round(100*share), "% of the shorter one's time", &steps.Expected{
		Min: new(100 * limits.Together.Value()), From: "when each began and ended, and how long its bytes took",
	})
	if share < limits.Together.Value() {
		return share, fmt.Sprintf("they certainly overlapped for only %.0f %% of the shorter test (%.2f s). "+
			"Increase ITERATIONS", 100*share, least)
	}
	return share, ""
}

// band is what two rails can carry at once, each with a test of its own.
func (cp couple) band(rig steps.Rig, first, second dualTest) limits.Band {
	mtu := min(limits.AgreedMTU(rig, cp.first, first.MTU), limits.AgreedMTU(rig, cp.second, second.MTU))
	row := shorter(first, second)
	return limits.BandOf(rig, limits.Test{
		MTU: mtu, Message: row.Bytes, Payload: float64(row.Bytes) * float64(row.Iterations),
	}, cp.first, cp.second)
}
