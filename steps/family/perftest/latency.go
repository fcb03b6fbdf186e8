package perftest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// judgeWriteLatency looks at the median and the tail. An average hides both
// (assets/docs/facts.md#averages).
func judgeWriteLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	var rails []int
	var medians []float64
	var tail float64 // the largest 99th percentile of all rails, us: one number for the reason
	banded := false  // some rail has hardware to be compared with
	right := 0
	for _, s := range r.Stages {
		one, ok := railTestOf(c, r, s, &rep)
		if !ok {
			continue
		}
		t := latencyTest{railTest: one}
		account, ok := t.line().Verify(&t)
		if !ok {
			continue
		}
		row := t.row()
		banded = banded || t.soft == ""
		if account.OK() {
			right++
		}
		rails = append(rails, t.No)
		medians, tail = append(medians, row.TypicalUS), max(tail, row.P99US)
	}
	verify.EveryRail(c, r, &rep)
	verify.RailsApart(medians, rails, &rep)
	lead := fmt.Sprintf("typically %s one way, 99 %% below %s", verify.Across(rails, medians, registry.Microseconds),
		registry.Microseconds(tail))
	switch usual := limits.WriteLatency.Entry(); {
	case !banded || len(medians) == 0:
	case slices.Min(medians) < usual.Low:
		lead += fmt.Sprintf("; faster than the fastest known, %s", usual.Figures())
	default:
		lead += fmt.Sprintf(", expected %g to %g us",
			limits.WriteLatencyLeast.Value(), limits.WriteLatencyPass.Value())
	}
	carried := ""
	if right > 0 && right == len(r.Stages) {
		carried = "Each rail carried its own writes in both directions, and no other rail " +
			"carried data"
	}
	return rep.Verdict(lead, carried)
}

// A latencyTest is one rail's write latency.
type latencyTest struct {
	railTest
	read parse.Latency
	soft string // why no hardware limits it; empty where some does
}

func (t *latencyTest) row() parse.LatencyRow { return t.read.Rows[0] }

// Output reads what the client measured, in one row.
func (t *latencyTest) Output() bool {
	if !t.quiet() {
		return false
	}
	v, ok := t.Client.Value.(parse.Latency)
	if t.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
		t.unread()
		return false
	}
	t.read = v
	// The ends write in turns, so each message takes its latency twice.
	seconds := 2 * v.Rows[0].MinUS * float64(v.Rows[0].Iterations) / 1e6
	why := cmp.Or(t.ofThisRun(t.Client, v), verify.TooShort(t.Client, seconds), verify.TooShort(t.server, seconds))
	if why != "" {
		t.add(steps.OutputForeign, steps.Inconclusive, "the client's output is not this test's: %s", why)
		return false
	}
	if row := t.row(); row.TypicalUS <= 0 || row.P99US <= 0 || row.Iterations <= 0 || row.Bytes <= 0 {
		// With -D perftest measures an average alone.
		t.add(steps.OutputIncomplete, steps.Inconclusive, "the client reports no typical latency or no 99 %% value")
		return false
	}
	if t.untold() {
		return false
	}
	if at, ok := t.server.Value.(parse.Latency); ok && len(at.Rows) > 0 {
		return t.alike(at)
	}
	return true
}

// alike reports whether the server measured the same: either end takes its own times, and counts the same messages.
func (t *latencyTest) alike(at parse.Latency) bool {
	if a, b := t.row(), at.Rows[0]; a.Bytes != b.Bytes || a.Iterations != b.Iterations {
		t.add(steps.OutputForeign, steps.Inconclusive, "the two ends ran different tests: %d messages of %d bytes at the "+
			"client, %d of %d at the server", a.Iterations, a.Bytes, b.Iterations, b.Bytes)
		return false
	}
	if why := cmp.Or(apart(t.read.Perftest, at.Perftest), unlikeTimes(t.row(), at.Rows[0])); why != "" {
		t.add(steps.OutputForeign, steps.Inconclusive, "the two ends ran different tests: %s", why)
		return false
	}
	if why := t.ofThisRun(t.server, at); why != "" {
		t.add(steps.OutputForeign, steps.Inconclusive, "the server's output is not this test's: %s", why)
		return false
	}
	return true
}

// unlikeTimes says where the ends' medians differ: both measure the same round trips, each from its own side.
func unlikeTimes(client, server parse.LatencyRow) string {
	a, b := client.TypicalUS, server.TypicalUS
	if a <= 0 || b <= 0 || max(a, b) <= limits.LatencyEndsApart.Value()*min(a, b) {
		return ""
	}
	return fmt.Sprintf("typically %s at the client, %s at the server", registry.Microseconds(a),
		registry.Microseconds(b))
}

// Flows are two: the ends write in turns, so each sends every message.
func (t *latencyTest) Flows() []traffic.Flow {
	mtu := limits.AgreedMTU(t.result.Rig, t.Pair, t.read.MTU)
	var flows []traffic.Flow
	for _, from := range steps.Ends {
		f := traffic.Between(from, mtu, mtu, t.Pair)
		f.Extra(limits.Extra(t.result.Rig.Rail(t.Pair, t.Client.End), t.read.LocalGID))
		f.Writes(float64(t.row().Iterations), t.row().Bytes)
		f.Text = fmt.Sprintf("%s messages of %d bytes each way", steps.Thousands(t.row().Iterations), t.row().Bytes)
		flows = append(flows, f)
	}
	return flows
}

// Figure is the median.
func (t *latencyTest) Figure(traffic.Accounted) {
	row := t.row()
	t.soft = limits.Soft(t.result.Rig, t.Pair)
	f := verify.Time{
		MedianUS: row.TypicalUS, Soft: t.soft, Usual: limits.WriteLatency, Least: limits.WriteLatencyLeast,
		Pass: limits.WriteLatencyPass, Warn: limits.WriteLatencyWarn,
		Far: "is far from RDMA's " + limits.WriteLatency.Entry().Figures() +
			"Check for a switch, another route or soft-RoCE",
	}
	t.rep.Measured(steps.Figure{
		What: steps.Latency, Value: row.TypicalUS, P99: row.P99US, Unit: "us",
		Rails: []int{t.No}, MessageBytes: row.Bytes, MTU: limits.AgreedMTU(t.result.Rig, t.Pair, t.read.MTU), Memory: "DRAM",
	})
	t.rep.ShowOf(t.Rail, "latency, typical", row.TypicalUS, "us", f.Expected())
	t.rep.ShowOf(t.Rail, "latency, 99 %", row.P99US, "us", nil)
	t.rep.ShowOf(t.Rail, "latency, maximum", row.MaxUS, "us", nil)
	f.Judge(t.rep, t.add)
}

// Signs: the tail.
func (t *latencyTest) Signs() {
	row := t.row()
	otherMTU(t.cell, t.result.Rig, t.Pair, t.Client, "ib_write_lat", t.read.MTU, t.add)
	if t.soft != "" {
		return
	}
	if row.P99US > limits.WriteLatencyTail.Value()*row.TypicalUS {
		t.add(steps.LatencyTail, steps.Warn, "1 %% of the writes take %s or longer, the median is %s. %s",
			registry.Microseconds(row.P99US),
			registry.Microseconds(row.TypicalUS), traffic.Outliers(t.stage.Bytes, traffic.EndsOf(t.Pair),
				"Check power saving (cpufreq), interrupts and other traffic"))
		return
	}
	// A few that stand still for long are less than one in a hundred, and show in the average alone.
	if row.AvgUS > limits.WriteLatencyMean.Value()*row.TypicalUS {
		t.add(steps.LatencyTail, steps.Warn, "average %s, median %s, longest %s: a few writes were delayed. Check for link "+
			"errors, pauses and power saving",
			registry.Microseconds(row.AvgUS), registry.Microseconds(row.TypicalUS), registry.Microseconds(row.MaxUS))
	}
}

// ofThisRun is notOfThisRun for a latency.
func (t *latencyTest) ofThisRun(o steps.Output, v parse.Latency) string {
	row, rows := v.Rows[0], ""
	if len(v.Rows) > 1 {
		rows = fmt.Sprintf("it has %d rows, expected one", len(v.Rows))
	}
	mean := ""
	if row.AvgUS > 0 && (row.AvgUS < row.MinUS || row.MaxUS > 0 && row.AvgUS > row.MaxUS) {
		mean = fmt.Sprintf("its average is %g us, outside its range of %g to %g", row.AvgUS, row.MinUS, row.MaxUS)
	}
	return cmp.Or(rows, mean, verify.OfTest(v.Test, "Write", "Latency"),
		otherHead(t.cell, t.result.Rig, t.Pair, o, "ib_write_lat", v.Perftest),
		asked(t.cell, o, "ib_write_lat", row.Bytes, row.Iterations),
		verify.Ascending(verify.Quantile{Name: "least", Value: row.MinUS},
			verify.Quantile{Name: "median", Value: row.TypicalUS},
			verify.Quantile{Name: "99 %", Value: row.P99US}, verify.Quantile{Name: "99.9 %", Value: row.P999US},
			verify.Quantile{Name: "most", Value: row.MaxUS}))
}
