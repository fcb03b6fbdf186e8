package nixl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// ucxCauses are how ucx_perftest words a failure of its own. What UCX itself says below it is the
// same as below nixlbench.
var ucxCauses = slices.Concat([]registry.Cause{
	{
		Pattern: lazyregexp.New(`bind\(\) failed|Address already in use`),
		Code:    steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is in use on %s. Stop the process that listens there (ss -ltnp), or " +
			"set UCXPERF_PORT",
	},
	{
		Pattern: lazyregexp.New(`(?i)unsupported (?:send |recv )?memory types?`),
		Code:    steps.CannotRun, Grade: steps.Skipped,
		Means: "ucx_perftest on %s was built without CUDA and cannot use GPU memory",
	},
	silent,
	{
		Pattern: lazyregexp.New(`Destination is unreachable`), Code: steps.RailUnreachable, Grade: steps.Fail,
		Means: "the rails do not reach the other end (seen on %s). Check addresses, GIDs " +
			"(railbench doctor arp-flux) and UCX versions (railbench run nixl-check)",
	},
}, nixlCauses, []registry.Cause{
	{
		Pattern: lazyregexp.New(`connect\(\) failed`), Code: steps.ServerUnreachable, Grade: steps.Inconclusive,
		Means: "%s cannot reach the server at the other end. Run: railbench doctor firewall " +
			"rail-addresses",
	},
	{
		Pattern: lazyregexp.New(`Failed to run test`), Code: steps.TransferFailed, Grade: steps.Fail,
		Means: "ucx_perftest failed on %s. Read its messages",
	},
})

// What is compared where no cause shows: with UCX alone, and that with the adapter alone.
const (
	besideUCX   = "Run: railbench run ib-write-bw ucx-perftest. If both pass: railbench run nixl-check"
	besideVerbs = "Run: railbench run ib-write-bw. If it passes: railbench run nixl-check"
)

// readUCXPerftest reads either end. A server prints what is measured, and no figure. So the lack of a figure is not
// an error where the server said what is measured.
func readUCXPerftest(text string) (parse.UCXPerftest, error) {
	v, err := parse.UCXPerftestOutput(text)
	if errors.Is(err, parse.ErrNoResult) && v.Test != "" && len(v.Rows) == 0 {
		err = nil
	}
	return v, err
}

// judgeUCXPerftest holds what UCX does by itself, without NIXL above it, against what the rail can
// do, and against the bytes that every rail moved.
func judgeUCXPerftest(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	s := r.Stages[0]
	rt, ok := traffic.RouteOf(c, r, s)
	if !ok {
		rep.Add(steps.NoRail, steps.Inconclusive,
			"the rails of this cell do not connect the nodes. Run: railbench run rail-map")
		return rep.Verdict()
	}
	rt.CheckPorts(r.Rig, &rep)
	t := ucxTest{cell: c, result: r, stage: s, route: rt, rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: s, Ports: rt.Ports(), Rep: &rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if v, skipped := registry.Skips(&rep); skipped && !ok {
		return v
	}
	return rep.Verdict(t.lead, account.Carried(t.client.End))
}

// ucxEnded is what either end says as railbench ends the other one at its limit. A packet without an answer ends a
// test long before that.
var ucxEnded = lazyregexp.New(`Failed to run test|Transport retry count exceeded|Connection reset by remote peer`)

// A ucxTest is one run of ucx_perftest.
type ucxTest struct {
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	route  traffic.Route
	rep    *registry.Report

	server, client steps.Output
	head, read     parse.UCXPerftest // what the server and the client printed
	warmup         int               // messages that were asked for before it measures
	lead           string
}

// Ends: both have to have ended by themselves and well, and neither may complain.
func (t *ucxTest) Ends() bool {
	var messages []registry.Message
	for _, o := range t.stage.Outputs {
		if o.Role == "server" {
			t.server = o
		} else {
			t.client = o
		}
	}
	for _, o := range verify.Speak(t.stage) {
		v, _ := o.Value.(parse.UCXPerftest)
		for _, text := range v.Errors {
			if !limited(t.stage) || !ucxEnded.Regexp().MatchString(text) {
				messages = append(messages, registry.Message{End: o.End, Text: text})
			}
		}
	}
	seen, well := endedWell(t.stage)
	explained := explainNIXL(t.result.Rig, t.stage, ucxCauses, messages, t.rep)
	for _, m := range messages {
		t.rep.Show("message on "+t.result.Rig.NameOf(m.End), m.Text, "", nil)
	}
	if t.stage.Err != "" {
		t.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", t.stage.Err)
	}
	if explained || t.stage.Err != "" {
		return false
	}
	if !well {
		explainExits(t.result, t.stage, seen, t.rep, t.route.Ports()...)
		return false
	}
	if len(messages) > 0 {
		t.rep.Add(steps.UnknownError, steps.Inconclusive, "%s ended with status 0 but reported: %s",
			t.result.Rig.NameOf(messages[0].End), messages[0].Text)
		return false
	}
	return true
}

// Output: the server says what was measured, and the client how fast that was.
func (t *ucxTest) Output() bool {
	for _, o := range []steps.Output{t.client, t.server} {
		if _, read := o.Value.(parse.UCXPerftest); o.ParseErr != "" || !read {
			t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the output on %s has no readable result",
				t.result.Rig.NameOf(o.End))
			return false
		}
	}
	t.head, _ = t.server.Value.(parse.UCXPerftest)
	t.read, _ = t.client.Value.(parse.UCXPerftest)
	if why := cmp.Or(t.notWhole(), t.notAsked(), t.contradicts(),
		verify.TooShort(t.client, t.row().OverallUS*float64(t.row().Iterations)/1e6)); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "its output is not this test's: %s", why)
		return false
	}
	return true
}

// notWhole says what is missing in the outputs, or too much.
func (t *ucxTest) notWhole() string {
	finals := 0
	for i, r := range t.read.Rows {
		if r.Final {
			finals++
		}
		if i > 0 && r.Iterations < t.read.Rows[i-1].Iterations {
			return "its rows are of several runs"
		}
	}
	switch row := t.row(); {
	case t.head.Test == "":
		return "the server did not report what was measured"
	case len(t.head.Rows) > 0:
		return "the server printed results, which only a client does"
	case finals != 1:
		return fmt.Sprintf("it has %d final rows", finals)
	case row.OverallGbps <= 0 || row.OverallUS <= 0 || row.Iterations <= 0:
		return fmt.Sprintf("the client reports %g Gb/s for %d messages, which is not a result", row.OverallGbps,
			row.Iterations)
	}
	return ""
}

// row is the whole run, as the client reports it.
func (t *ucxTest) row() (row parse.UCXPerftestRow) {
	if n := len(t.read.Rows); n > 0 {
		row = t.read.Rows[n-1]
	}
	return row
}

// notAsked says what both ends say otherwise than the client's script asked for.
func (t *ucxTest) notAsked() string {
	const tool = "ucx_perftest"
	options := verify.Options(t.cell, t.client, tool)
	send, recv, two := strings.Cut(cmp.Or(options["-m"], "host"), ",")
	if !two {
		recv = send
	}
	warmup, ok := verify.Number(t.cell, t.client, tool, "-w")
	if !ok {
		warmup = math.MaxInt // its own is more than a tenth, which is the most
	}
	// A warm-up is a tenth of the test at most (ucx_perf_set_warmup).
	t.warmup = min(warmup, (t.row().Iterations+9)/10)
	switch {
	case !strings.HasPrefix(t.head.Test, "put bandwidth") || t.head.API != "protocol layer":
		return fmt.Sprintf("the server ran another test (%s, %s)", registry.OrUnknown(t.head.Test),
			registry.OrUnknown(t.head.API))
	case t.read.Latency:
		return "it is the output of a latency test"
	case t.head.SendMemory != send || t.head.RecvMemory != recv:
		return fmt.Sprintf("it used %s to %s memory, but %s to %s was requested", registry.OrUnknown(t.head.SendMemory),
			registry.OrUnknown(t.head.RecvMemory), send, recv)
	case t.head.SizeBytes <= 0:
		return "the server did not report the size of a message"
	}
	return cmp.Or(
		verify.Asked(t.cell, t.client, tool, "-s", t.head.SizeBytes, "bytes a message"),
		verify.Asked(t.cell, t.client, tool, "-n", t.row().Iterations, "messages"),
	)
}

// contradicts says where a row's time a message doesn't make its rate, or its number of messages
// a second doesn't.
func (t *ucxTest) contradicts() string {
	row, bits := t.row(), float64(t.head.SizeBytes)*8
	made := bits / row.OverallUS / 1e3
	// Two decimals of MiB a second, three of a microsecond, and whole messages a second.
	room := 0.005*8.0*(1<<20)/1e9 + made*0.0005/row.OverallUS + 0.001*made
	if math.Abs(made-row.OverallGbps) > room {
		return fmt.Sprintf("messages of %s in %s each are %s, but it reports %s", registry.Size(float64(t.head.SizeBytes)),
			registry.Microseconds(row.OverallUS), registry.Gbps(made), registry.Gbps(row.OverallGbps))
	}
	perSecond := 1e6 / row.OverallUS
	room = 0.51 + 0.001*perSecond + perSecond*0.0005/row.OverallUS
	if row.OverallRate > 0 && math.Abs(perSecond-row.OverallRate) > room {
		return fmt.Sprintf("%s a message are %.0f messages a second, but it reports %.0f",
			registry.Microseconds(row.OverallUS), perSecond,
			row.OverallRate)
	}
	return ""
}

func (t *ucxTest) gpu() bool {
	return strings.HasPrefix(t.head.SendMemory, "cuda") || strings.HasPrefix(t.head.RecvMemory, "cuda")
}

// Flows are one: what was measured, and the warm-up. Newer releases send one message more after
// either, so that the server knows that it is over.
// The two messages more are in the most that a port may carry, and not in the least.
func (t *ucxTest) Flows() []traffic.Flow {
	n := t.row().Iterations + t.warmup
	f := t.route.Flow(t.client.End)
	f.Writes(float64(n), t.head.SizeBytes)
	least := f.Least
	f.Writes(2, t.head.SizeBytes)
	f.Least = least
	f.Text = fmt.Sprintf("%d messages with warm-up, and two that end the test", n)
	if t.gpu() {
		f.Staged()
	}
	return []traffic.Flow{f}
}

// Figure is the overall rate.
func (t *ucxTest) Figure(traffic.Accounted) {
	row, size := t.row(), t.head.SizeBytes
	figure := t.route.Measured(steps.Throughput, "Gb/s")
	figure.Value, figure.MessageBytes, figure.Memory = registry.Round(row.OverallGbps), size, segment(t.gpu())
	t.rep.Measured(figure)
	payload := float64(row.Iterations) * float64(size)
	f := verify.Figure{
		Got: rate.Payload(row.OverallGbps), Band: t.route.Band(t.result.Rig, size, payload), Of: t.route.String(),
		Over:  " over " + t.route.String(),
		Cause: func() (string, steps.Code) { return t.route.Cause(t.result, t.stage, row.OverallGbps, besideVerbs) },
	}
	if least := limits.UCXMessages.Value(); float64(row.Iterations) < least {
		f.Band.Unless = fmt.Sprintf("only %s, fewer than %.0f, so its end counts too much",
			registry.Count(row.Iterations, "message", "messages"), least)
	}
	lead := fmt.Sprintf("%s with messages of %s",
		registry.Gbps(row.OverallGbps), registry.BlockSize(size))
	e := f.Expected()
	switch {
	case t.gpu():
		t.lead, e = staged(f, limits.Unified(t.result.Rig, t.route.Pairs...), lead, "", t.rep)
	case f.Band.None == "":
		t.lead = lead + ", " + f.Range()
		f.Judge(t.rep.Add)
	default:
		t.lead = lead
		f.Judge(t.rep.Add)
	}
	t.rep.Show("throughput", registry.Round(row.OverallGbps), "Gb/s", e)
	t.rep.Show("median of a message's time", row.TypicalUS, "us", nil)
	link := t.result.Rig.Rail(t.route.Pairs[0], t.client.End).RateGbps
	if link <= 0 {
		return
	}
	line, report := limits.WireOf100G, limits.UCXOfReport
	t.rep.Show(fmt.Sprintf("share of the link's %.4g GB/s", line.Value()*link/100),
		registry.Round(100*row.OverallGbps/link), "%",
		&steps.Expected{From: fmt.Sprintf("no expected range: %s, %.0f %% of %s", report.Entry().Says(),
			100*report.Value()/line.Value(),
			line.Entry().Figures())})
}

// Signs: a while in which it was much slower than on the whole.
func (t *ucxTest) Signs() {
	var told [2]parse.UCXLog
	told[t.client.End], told[t.server.End] = t.read.UCXLog, t.head.UCXLog
	otherUCX(t.result, t.rep, t.rep.Add, told)
	row := t.row()
	for _, r := range t.read.Rows {
		// The last stretch ends with waiting for the last message.
		if !r.Final && r.AverageGbps < limits.WarnShare.Value()*row.OverallGbps && !t.gpu() {
			t.rep.Add(steps.RateUnsteady, steps.Warn, "temporarily %s, %s overall. Check other traffic, pauses and power saving",
				registry.Gbps(r.AverageGbps), registry.Gbps(row.OverallGbps))
			return
		}
	}
}
