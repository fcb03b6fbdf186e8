package perftest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// A railTest is one stage of a test over one rail: the first two verification stages, which
// bandwidth and latency have in common.
type railTest struct {
	registry.Measurement
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	server steps.Output
	rep    *registry.Report
}

// railTestOf is a stage's test. ok is false where it belongs to no rail.
func railTestOf(c steps.Cell, r steps.Result, s steps.Stage, rep *registry.Report) (t railTest, ok bool) {
	t = railTest{cell: c, result: r, stage: s, rep: rep}
	if !r.Rig.HasPair(s.Pair) {
		rep.Add(steps.NoRail, steps.Inconclusive, "a stage belongs to no rail")
		return t, false
	}
	t.Pair = r.Rig.Pairs[s.Pair]
	t.No, t.Dev = s.Pair+1, r.Rig.Rail(t.Pair, steps.Here).Dev
	server, client := roles(s)
	if server != nil {
		t.server = *server
	}
	if client != nil {
		t.Client = *client
		t.Dev = r.Rig.Rail(t.Pair, client.End).Dev // a runbook may start its client at the peer
	}
	t.Rail = fmt.Sprintf("rail %d (%s)", t.No, t.Dev)
	return t, true
}

// add adds a finding about the test's rail.
func (t *railTest) add(code steps.Code, g steps.Grade, format string, args ...any) {
	t.rep.On(t.Measurement, code, g, format, args...)
}

// line is where the test is heard.
func (t *railTest) line() verify.Line {
	return verify.Line{
		Cell: t.cell, Rig: t.result.Rig, Stage: t.stage, Ports: traffic.EndsOf(t.Pair), Rep: t.rep, Add: t.add,
	}
}

// Ends asks what explains the rest: that it stopped, that an end never ran, and only then what
// the ends print, because an end that is left alone complains of whatever it saw last.
func (t *railTest) Ends() bool {
	s := t.stage
	if s.Err != "" {
		// A server that ends before it listens is the session's to report, in perftest's words.
		code := steps.NotRunToEnd
		text := "not completed: " + s.Err
		if c, _, found := causeOf(t.said()); found && c.Code == steps.PortDown {
			text, code = whyDown(t.result.Rig, t.Pair)
		}
		t.add(code, steps.Inconclusive, "%s", text)
		t.rep.Explain("%s", registry.Capital(s.Err))
	}
	server, client := roles(s)
	if client == nil || server == nil {
		// Where it stopped, that the client never came follows from it and needs no word. A
		// client without a server follows from nothing.
		if s.Err == "" || server == nil && client != nil {
			t.add(steps.NotRunHere, steps.Inconclusive, "not both ends ran")
		}
		return false
	}
	if !client.Ran || !server.Ran || !client.Exit.OK() || !server.Exit.OK() {
		explain(t.result.Rig, s, t.Measurement, t.server, t.said(), t.rep)
		return false
	}
	return s.Err == ""
}

// whyDown is what is known of a rail whose port is down: one end's interface that is switched off takes the
// other's carrier.
func whyDown(rig steps.Rig, p steps.Pair) (text string, code steps.Code) {
	for _, e := range steps.Ends {
		if said, code := traffic.Down(rig, e, p); code == steps.InterfaceOff {
			return said, code
		}
	}
	port := "the port"
	if at := rig.Rail(p, steps.Here).PhysPort; at >= 0 {
		port = fmt.Sprintf("port %d", at)
	}
	return port + " is down. Check its cable at both ends", steps.PortDown
}

// said is what the ends complain of.
func (t *railTest) said() (messages []registry.Message) {
	for _, o := range verify.Speak(steps.Stage{Outputs: []steps.Output{t.Client, t.server}}) {
		messages = append(messages, messagesOf(o.End, parse.PerftestErrors(o.Text))...)
	}
	return messages
}

// quiet reports whether no end complains: perftest may print what went wrong and end with
// status 0, which alone proves nothing.
func (t *railTest) quiet() bool {
	return !complains(t.result.Rig, t.stage, t.Measurement, t.said(), t.rep)
}

// roles are the outputs of a stage's two ends; nil for one that did not run. Whatever is not a server is the client:
// a runbook may call it as it likes, or not at all.
func roles(s steps.Stage) (server, client *steps.Output) {
	for _, o := range s.Outputs {
		if o.Role == "server" {
			server = &o
		} else {
			client = &o
		}
	}
	return server, client
}

// causes are how perftest words a failure. The first that matches counts, so what is nearest
// to the cause stands above what follows from it: a port that is down above queue pairs that
// can't be modified, and a connection that was refused last, as every early end makes one.
var causes = []registry.Cause{
	{
		Pattern: lazyregexp.New(`Couldn't listen to port`), Code: steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is in use on %s. Stop the process that listens there (ss -ltnp), or " +
			"set PORT",
	},
	{
		Pattern: lazyregexp.New(`Port number \d+ state is Down`), Code: steps.PortDown, Grade: steps.Fail,
		Means: "the port is down on %s. Check the interface (ip link) and the cable",
	},
	{
		Pattern: lazyregexp.New(`IB device \S+ not found|Did not detect devices`),
		Code:    steps.RDMADeviceMissing, Grade: steps.Fail,
		Means: "the RDMA device is missing on %s. Check that its driver is loaded (dmesg)",
	},
	{
		Pattern: lazyregexp.New(`Found Incompatibility issue with GID types`),
		Code:    steps.GIDTypesDiffer, Grade: steps.Fail,
		Means: "the GIDs of the two ends have different types (seen on %s). Run: " +
			"railbench run gids",
	},
	{
		// ENOMEM is the limit; these are EFAULT, EINVAL, EPROTONOSUPPORT and EOPNOTSUPP.
		Pattern: lazyregexp.New(`Couldn't allocate MR with error=(14|22|93|95)\b`),
		Code:    steps.MemoryKindRefused, Grade: steps.Fail,
		Means: "the adapter on %s cannot register this kind of memory. GPU memory needs " +
			"nvidia-peermem or dma-buf (dmesg)",
	},
	{
		Pattern: lazyregexp.New(`(?i)Couldn't allocate MR|create mr`), Code: steps.MemlockLow, Grade: steps.Fail,
		Means: "memory could not be registered on %s. Raise the memlock limit (ulimit -l)",
	},
	{
		Pattern: lazyregexp.New(`Failed to modify QP`), Code: steps.QueueUnconnected, Grade: steps.Fail,
		Means: "the queue pairs do not reach each other (seen on %s). Look for a " +
			"bond. Run: railbench run gids rail-map",
	},
	{
		Pattern: lazyregexp.New(`^VALIDATION: FAILED`), Code: steps.DataCorrupt, Grade: steps.Fail,
		Means: "data that arrived on %s differs from what was sent (perftest's validation). " +
			"Check memory and link errors",
	},
	{
		Pattern: lazyregexp.New(`^VALIDATION: |^Data validation: |validation context|validation kernel`),
		Code:    steps.DataUnchecked, Grade: steps.Inconclusive,
		Means: "perftest on %s was asked to validate the data but did not",
	},
	// Statuses are distinguished before the sentences that perftest prints around every one of them.
	{Pattern: refused, Code: steps.MemoryAccessRefused, Grade: steps.Fail}, // means has its words
	{
		Pattern: lazyregexp.New(`Failed status(?: |-[^(]*\()13\b`), Code: steps.ReceiverNotReady, Grade: steps.Fail,
		Means: "the receiver was not ready in time (reported on %s). Check that its processor " +
			"is not busy, and rerun",
	},
	{
		Pattern: lazyregexp.New(`Failed status(?: |-[^(]*\()5\b`), Code: steps.QueueFlushed, Grade: steps.Inconclusive,
		Means: "a queue pair on %s had failed before; its first error is not in the output. " +
			"Rerun the test",
	},
	{
		Pattern: lazyregexp.New(`transport retry counter|Completion with error|Failed to complete run_iter`),
		Code:    steps.RDMAUnanswered, Grade: steps.Fail,
		Means: "packets stopped arriving (seen on %s). Run: railbench doctor arp-flux link-up " +
			"mtu-equal duplicate-ip",
	},
	{
		Pattern: lazyregexp.New(`mismatch: local=|Failed to negotiate`),
		Code:    steps.OptionsDiffer, Grade: steps.Inconclusive,
		Means: "the two ends disagree on their options (seen on %s). Compare the perftest " +
			"versions",
	},
	{
		Pattern: lazyregexp.New(`unrecognized option|invalid option|Invalid Command`),
		Code:    steps.ToolTooOld, Grade: steps.Inconclusive,
		Means: "perftest on %s does not know one of the options. Install a newer perftest",
	},
	{
		Pattern: lazyregexp.New(`Couldn't connect to`), Code: steps.ServerUnreachable, Grade: steps.Inconclusive,
		Means: "%s cannot reach perftest's server at the other end. Run: railbench doctor " +
			"firewall rail-addresses",
	},
	{
		Pattern: lazyregexp.New(`resolv|Name or service not known`),
		Code:    steps.NameUnresolved, Grade: steps.Inconclusive,
		Means: "the peer's address could not be resolved on %s. Check DNS or /etc/hosts",
	},
	{
		// sample_get_cpu_mhz in perftest's src/get_clock.c: without it every figure is one of no time.
		Pattern: lazyregexp.New(`^Correlation coefficient`), Code: steps.ClockUnmeasured, Grade: steps.Inconclusive,
		Means: "perftest on %s could not measure its clock because the processor was busy. " +
			"Rerun it on an idle node",
	},
}

// complains reports whether an end that ended with status 0 said that something went wrong:
// its figure is none then.
func complains(rig steps.Rig, s steps.Stage, m registry.Measurement, messages []registry.Message,
	rep *registry.Report,
) bool {
	c, msg, found := causeOf(messages)
	switch {
	case found:
		code, grade, said := means(rig, s, []steps.Pair{m.Pair}, c, msg)
		rep.On(m, code, grade, "%s", said)
		rep.Explain("A program ended with status 0 although it reported an error")
	case len(messages) > 0:
		msg = messages[0]
		rep.On(m, steps.UnknownError, steps.Inconclusive, "%s reported an error despite a result: %s", rig.NameOf(msg.End),
			msg.Text)
	default:
		return false
	}
	rep.ShowOf(m.Rail, "message", msg.Text, "", nil)
	return true
}

// messagesOf are what one end complains of.
func messagesOf(e steps.End, texts []string) []registry.Message {
	var all []registry.Message
	for _, text := range texts {
		all = append(all, registry.Message{End: e, Text: text})
	}
	return all
}

// causeOf finds the first cause that any message names.
func causeOf(messages []registry.Message) (c registry.Cause, said registry.Message, found bool) {
	for _, c := range causes {
		for _, msg := range messages {
			if c.Pattern.Regexp().MatchString(msg.Text) {
				return c, msg, true
			}
		}
	}
	return registry.Cause{}, registry.Message{}, false
}

// explain says why a test has no result.
func explain(rig steps.Rig, s steps.Stage, m registry.Measurement, server steps.Output, messages []registry.Message,
	rep *registry.Report,
) {
	if c, msg, found := causeOf(messages); found {
		code, grade, said := means(rig, s, []steps.Pair{m.Pair}, c, msg)
		rep.On(m, code, grade, "%s", said)
		rep.ShowOf(m.Rail, "message", msg.Text, "", nil)
		return
	}
	// The client first: a server that was left waiting has nothing to report but that.
	alone := verify.Speak(steps.Stage{Outputs: []steps.Output{m.Client, server}})
	for _, o := range []steps.Output{m.Client, server} {
		if o.Exit.Why == runner.Cancelled && len(alone) == 1 {
			continue // it was ended because the other one had
		}
		if f, bad := registry.Trouble(rig, o); bad {
			rep.On(m, f.Code, f.Grade, "%s%s", f.Text, hangHint(rig, s, traffic.EndsOf(m.Pair), o, m.Client, server))
			return
		}
	}
	for _, o := range []steps.Output{m.Client, server} {
		if o.Exit.OK() || o.Exit.Why == runner.Cancelled && len(alone) == 1 {
			continue
		}
		said := ""
		if len(messages) > 0 {
			said = ": " + messages[0].Text
		}
		grade := steps.Fail
		if o.Role == "server" {
			grade = steps.Inconclusive // the client has its number, and no one vouches for it
		}
		rep.On(m, steps.ScriptFailed, grade, "the %s on %s ended with %s%s", registry.OrUnknown(o.Role), rig.NameOf(o.End),
			o.Exit, said)
		return
	}
}

// follows is what an end says of another one that went away in the middle of the exchange.
var follows = lazyregexp.New(`^(ethernet_read_keys: )?Couldn't read remote address|^Unable to (read|write) to socket|` +
	`^(ethernet_read_keys: )?Failed to exchange data|^scnt=`)

// hangHint says what else makes an end reach its limit without a word, where nothing else
// explains it: neither end complains of anything but that, and no connection was lost.
func hangHint(rig steps.Rig, s steps.Stage, ports []traffic.Port, o steps.Output, all ...steps.Output) string {
	if o.Exit.Why != runner.TimedOut {
		return ""
	}
	if g := traffic.Gaps(s.Bytes, ports...); g != "" {
		return ". Packets were lost and retransmitted (" + g + "). Check the cable " +
			"at both ends (railbench doctor path-loss)"
	}
	if hint := verify.Reached(rig, s, ports...); hint != "" {
		return hint
	}
	for _, other := range all {
		complains := slices.ContainsFunc(parse.PerftestErrors(other.Text), func(said string) bool {
			return other.End == o.End || !follows.Regexp().MatchString(said)
		})
		if !other.Ran || complains {
			return ""
		}
	}
	return " arp-flux gid-index firewall" // behind: Run: railbench doctor
}

// judgeWriteBandwidth holds what ib_write_bw measured on each rail against what
// the rail can do, and against the bytes that each rail's counters moved.
func judgeWriteBandwidth(c steps.Cell, r steps.Result) steps.Verdict {
	return WriteBandwidth(c, r, c.ID == "ib-write-bw")
}

// gpuSkips are what the scripts that take GPU memory say where they can't, and why that is not a fault of the rig.
var gpuSkips = []registry.Cause{
	{
		Pattern: lazyregexp.New(`(?m)^perftest: built without CUDA`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "perftest on %s is built without CUDA. Install one configured with " +
			"CUDA_H_PATH=.../cuda.h",
	},
	{
		Pattern: lazyregexp.New(`(?m)^GPU: no GPUDirect RDMA`), Code: steps.CannotRun, Grade: steps.Skipped,
		Means: "the adapter of %s cannot reach GPU memory: a GB10 has no GPUDirect RDMA. The " +
			"NIXL cells measure staged transfers",
	},
}

// gpuCauses are how perftest says that it got no GPU memory, or could not register it.
var gpuCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`Couldn't allocate MR|create mr`),
		Code:    steps.MemoryUnregistered, Grade: steps.Inconclusive,
		Means: "GPU memory could not be registered on %s. Load nvidia-peermem (lsmod), or see " +
			"the cell host-staging",
	},
	{
		Pattern: lazyregexp.New(`(?i)\bcu[A-Z]\w+\S* (?:returned|error|failed)|CUDA error|no CUDA`),
		Code:    steps.CUDAFailed, Grade: steps.Inconclusive,
		Means: "CUDA gave no memory on %s. Check nvidia-smi for other users of the GPU",
	},
}

// judgeGPUWriteBandwidth is judgeWriteBandwidth with GPU memory at one end or at both: no one measured that where
// railbench knows of it.
func judgeGPUWriteBandwidth(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	for _, causes := range [][]registry.Cause{gpuSkips, gpuCauses} {
		for _, s := range r.Stages {
			for _, o := range s.Outputs {
				for _, cause := range causes {
					if !cause.Pattern.Regexp().MatchString(o.Text) {
						continue
					}
					text := registry.Sentences([]string{fmt.Sprintf(cause.Means, r.Rig.NameOf(o.End))})
					return steps.Verdict{Code: cause.Code, Grade: cause.Grade, Reason: text, Evidence: []steps.Evidence{}}
				}
			}
		}
	}
	return writeBandwidth(c, r, writes{memory: gpuMemory(c)})
}

// gpuMemory is where a cell's client writes from and to.
func gpuMemory(c steps.Cell) string {
	for _, role := range c.Roles {
		if role.Name == "client" && strings.Contains(role.Script, "--use_cuda") {
			return "VRAM"
		}
	}
	return "DRAM to VRAM"
}

// WriteBandwidth judges it; where it is a cell of the tutorial it also says what the
// tutorial would make of the figure.
func WriteBandwidth(c steps.Cell, r steps.Result, taught bool) steps.Verdict {
	return writeBandwidth(c, r, writes{memory: "DRAM", taught: taught})
}

// writes are what a test of write bandwidth is of.
type writes struct {
	memory string // "DRAM", or a kind of memory that has no band
	taught bool   // the tutorial has a figure of it
}

// writeBandwidth judges each rail by itself, and then holds rails that are alike against each other.
func writeBandwidth(c steps.Cell, r steps.Result, w writes) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	var expected []string
	var figures []float64 // Gb/s, one a rail
	var rails []int
	var tutorial float64 // what the tutorial would call the last rail's figure, Gb/s
	var all accounts
	var measured []traffic.Rate
	var unmeasured []string // rails
	others := rates(c, r)
	for _, s := range r.Stages {
		one, ok := railTestOf(c, r, s, &rep)
		if !ok {
			continue
		}
		t := bandwidthTest{railTest: one, memory: w.memory, rates: others}
		account, ok := t.line().Verify(&t)
		if !ok {
			unmeasured = append(unmeasured, fmt.Sprint(t.No))
			continue
		}
		all.add(account, t.Client.End)
		measured = append(measured, t.rate())
		figures, rails = append(figures, t.row().AverageGbps), append(rails, t.No)
		// Rails of one rig mostly have one band: it is said once.
		if text := t.expected; t.band.None == "" && !slices.Contains(expected, text) {
			expected = append(expected, text)
		}
		// As the tutorial does: perftest's column, which is of 2^20 bytes, times 8, by 1000.
		tutorial = float64(rate.Payload(t.row().AverageGbps).MiB()) * 8 / 1000
	}
	verify.EveryRail(c, r, &rep)
	ratesApart(r.Rig, measured, &rep)
	if unmeasured != nil {
		rep.Explain("No figure of rail %s: other faults there do not show until this one is fixed", registry.And(unmeasured))
	}
	lead := verify.Across(rails, figures, registry.Gbps)
	if len(expected) > 0 {
		lead += ", " + registry.And(expected)
	}
	note := ""
	if w.taught && tutorial >= 10 { // below that no one would look for the tutorial's figure
		note = fmt.Sprintf("The tutorial would print %.1f Gb/s for the last one, because it reads "+
			"perftest's MiB as MB", tutorial)
	}
	return rep.Verdict(lead, all.String(), note)
}

// ratesApart compares rails with each other, also where no limit is known and so no figure was too low.
func ratesApart(rig steps.Rig, all []traffic.Rate, rep *registry.Report) {
	for _, m := range all {
		best, apart := traffic.Ahead(rig, m, all...)
		if !apart || explained(m.Measurement, rep) {
			continue
		}
		c := traffic.LikelyCause(rig, m, all...)
		rep.During(steps.ByFigure)
		rep.On(m.Measurement, c.Code, steps.Warn, "%s. %s", registry.Gbps(m.Gbps), c.Text)
		otherSigns(c, rep)
		if c.Code != steps.RailsApart {
			rep.Explain("Rail %d is alike and reaches %s", best.No, registry.Gbps(best.Gbps))
		}
	}
}

// otherSigns adds to the evidence what else was seen next to a cause.
func otherSigns(c traffic.Cause, rep *registry.Report) {
	for _, said := range c.Beside {
		rep.Explain("%s", said)
	}
}

// explained reports whether a finding explains a rail's rate. Missing counters explain nothing.
func explained(m registry.Measurement, rep *registry.Report) bool {
	return slices.ContainsFunc(rep.Findings, func(f registry.Finding) bool {
		return f.Rail == m.No && f.Grade > steps.Pass && f.Code != steps.NotCounted && f.Code != steps.CounterBad
	})
}

// rates are what all rails came to, where their clients ended well: what each of them is compared with.
func rates(c steps.Cell, r steps.Result) (all []traffic.Rate) {
	for _, s := range r.Stages {
		t, ok := railTestOf(c, r, s, &registry.Report{})
		v, read := t.Client.Value.(parse.Bandwidth)
		if !ok || !read || t.Client.ParseErr != "" || !t.Client.Exit.OK() || len(v.Rows) == 0 {
			continue
		}
		all = append(all, traffic.Rate{
			Measurement: t.Measurement, Gbps: v.Rows[0].AverageGbps, Message: v.Rows[0].Bytes,
			MTU: limits.AgreedMTU(r.Rig, t.Pair, v.MTU), Bytes: s.Bytes,
		})
	}
	return all
}

// A bandwidthTest is one rail's write bandwidth.
type bandwidthTest struct {
	railTest
	memory string
	read   parse.Bandwidth
	band   limits.Band
	// expected is the range, as a clause.
	expected string
	rates    []traffic.Rate // of all rails
}

func (t *bandwidthTest) row() parse.BandwidthRow { return t.read.Rows[0] }

func (t *bandwidthTest) mtu() int { return limits.AgreedMTU(t.result.Rig, t.Pair, t.read.MTU) }

func (t *bandwidthTest) rate() traffic.Rate {
	return traffic.Rate{
		Measurement: t.Measurement, Gbps: t.row().AverageGbps, Message: t.row().Bytes, MTU: t.mtu(), Bytes: t.stage.Bytes,
	}
}

// Output reads what the client measured.
func (t *bandwidthTest) Output() bool {
	if !t.quiet() {
		return false
	}
	v, ok := t.Client.Value.(parse.Bandwidth)
	if t.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
		t.unread()
		return false
	}
	t.read = v
	if why := cmp.Or(bothWays(v.Perftest), t.ofThisRun(t.Client, v), t.tooShort(v.Rows[0])); why != "" {
		t.add(steps.OutputForeign, steps.Inconclusive, "the client's output is not this test's: %s", why)
		return false
	}
	if row := t.row(); row.AverageGbps <= 0 || row.Bytes <= 0 || row.Iterations <= 0 {
		t.add(steps.OutputIncomplete, steps.Inconclusive,
			"the client reports %g Gb/s for %d messages of %d bytes, which is not a result",
			row.AverageGbps, row.Iterations, row.Bytes)
		return false
	}
	if t.untold() {
		return false
	}
	// The server prints the client's report. What it prints of another run it kept from that one.
	if at, ok := t.server.Value.(parse.Bandwidth); ok && len(at.Rows) > 0 {
		if why := cmp.Or(apart(v.Perftest, at.Perftest), twoReports(t.row(), at.Rows[0])); why != "" {
			t.add(steps.OutputForeign, steps.Inconclusive, "the two ends ran different tests: %s", why)
			return false
		}
		if why := t.ofThisRun(t.server, at); why != "" {
			t.add(steps.OutputForeign, steps.Inconclusive, "the server's output is not this test's: %s", why)
			return false
		}
	}
	return true
}

// ofThisRun says why an end's report is not of this test.
func (t *bandwidthTest) ofThisRun(o steps.Output, v parse.Bandwidth) string {
	return notOfThisRun(t.cell, t.result.Rig, t.Pair, o, v)
}

// tooShort says that an end ran for less time than the data of a row take.
func (t *bandwidthTest) tooShort(row parse.BandwidthRow) string {
	if row.AverageGbps <= 0 {
		return ""
	}
	seconds := float64(row.Bytes) * float64(row.Iterations) * 8 / row.AverageGbps / 1e9
	return cmp.Or(verify.TooShort(t.Client, seconds), verify.TooShort(t.server, seconds))
}

// unread says that the client has no figure, and why: what could not be read, and how its output ends.
func (t *railTest) unread() {
	last := registry.LastLine(t.Client.Text)
	if last == "" {
		t.add(steps.OutputIncomplete, steps.Inconclusive, "the client ended with status 0 and printed nothing")
		return
	}
	t.add(steps.OutputIncomplete, steps.Inconclusive, "the client's output has no readable result (last line: %.60q). "+
		"Run it again", last)
	if t.Client.ParseErr != "" {
		t.rep.Explain("rail %d: %s", t.No, t.Client.ParseErr)
	}
}

// untold reports whether the server, which prints its own report, ended well without one: then nothing
// confirms the client's report.
func (t *railTest) untold() bool {
	if t.server.ParseErr == "" || !t.server.Exit.OK() {
		return false
	}
	t.add(steps.OutputIncomplete, steps.Inconclusive, "the server's output has no readable result. Run it again")
	return true
}

// twoReports says what the reports of a test's two ends don't agree on.
func twoReports(client, server parse.BandwidthRow) string {
	apart := math.Abs(client.AverageGbps-server.AverageGbps) > limits.EndsApart.Value()*client.AverageGbps
	switch {
	case client.Bytes != server.Bytes:
		return fmt.Sprintf("messages of %d bytes at the client, %d at the server", client.Bytes, server.Bytes)
	case client.Iterations != server.Iterations:
		return fmt.Sprintf("%d messages at the client, %d at the server", client.Iterations, server.Iterations)
	case apart && server.AverageGbps > 0:
		return fmt.Sprintf("%s at the client, %s at the server", registry.Gbps(client.AverageGbps),
			registry.Gbps(server.AverageGbps))
	}
	return ""
}

// Flows are one: a client writes, and its server's memory is written.
func (t *bandwidthTest) Flows() []traffic.Flow {
	f := traffic.Between(t.Client.End, t.mtu(), t.mtu(), t.Pair)
	f.Extra(limits.Extra(t.result.Rig.Rail(t.Pair, t.Client.End), t.read.LocalGID))
	f.Writes(float64(t.row().Iterations), t.row().Bytes)
	f.Text = fmt.Sprintf("%s messages of %d bytes", steps.Thousands(t.row().Iterations), t.row().Bytes)
	return []traffic.Flow{f}
}

// Figure is the average.
func (t *bandwidthTest) Figure(traffic.Accounted) {
	row, mtu := t.row(), t.mtu()
	var f verify.Figure
	var cause traffic.Cause
	f = verify.Figure{
		Got: rate.Payload(row.AverageGbps), Of: "the rail",
		Band: limits.BandOf(t.result.Rig, limits.Test{
			MTU: mtu, Message: row.Bytes, Payload: float64(row.Bytes) * float64(row.Iterations),
			Extra: limits.Extra(t.result.Rig.Rail(t.Pair, t.Client.End), t.read.LocalGID),
		}, t.Pair),
		Cause: func() (string, steps.Code) {
			cause = traffic.LikelyCause(t.result.Rig, t.rate(), t.rates...)
			if on := t.read.RelaxedOrdering; on != nil && !*on && !cause.Known && cause.Code == steps.BelowLimit {
				cause.Text = traffic.NoCause + ", but PCIe relaxed ordering was off. Rerun without --disable_pcie_relaxed"
			}
			return cause.Text, cause.Code
		},
	}
	if t.memory != "DRAM" && !f.Band.Soft {
		f.Band = limits.Band{None: "no measurement exists for writes of " + t.memory + " like this", Limit: f.Band.Limit}
	}
	t.band, t.expected = f.Band, f.Range()
	t.rep.ShowOf(t.Rail, "bandwidth", registry.Round(row.AverageGbps), "Gb/s", f.Expected())
	f.Judge(t.add)
	otherSigns(cause, t.rep)
	t.rep.Measured(steps.Figure{
		What: steps.Throughput, Value: registry.Round(row.AverageGbps), Unit: "Gb/s",
		Rails: []int{t.No}, MessageBytes: row.Bytes, MTU: mtu, Memory: t.memory,
	})
	if t.read.NUMANode != nil {
		t.rep.ShowOf(t.Rail, "processors", *t.read.NUMANode, "(NUMA node chosen by perftest)", nil)
	}
	if on := t.read.RelaxedOrdering; on != nil {
		t.rep.ShowOf(t.Rail, "PCIe relaxed ordering", *on, "", nil)
	}
	t.rep.ShowOf(t.Rail, fmt.Sprintf("messages of %d bytes", row.Bytes), row.Iterations, "", nil)
}

// Signs: perftest prints nothing of how a bandwidth came about but its peak.
func (t *bandwidthTest) Signs() {
	otherMTU(t.cell, t.result.Rig, t.Pair, t.Client, "ib_write_bw", t.read.MTU, t.add)
	if row := t.row(); !t.band.Soft && row.PeakGbps > limits.PeakApart.Value()*row.AverageGbps {
		t.add(steps.RateUnsteady, steps.Warn, "peak %s, average %s: something interrupted the test. Check for other "+
			"traffic, pauses and power saving", registry.Gbps(row.PeakGbps),
			registry.Gbps(row.AverageGbps))
	}
}

// notOfThisRun says why an end's report with at least one row is not that of the test that was
// started over a rail: of its ports, sizes and counts, and one row for one test.
func notOfThisRun(c steps.Cell, rig steps.Rig, p steps.Pair, o steps.Output, v parse.Bandwidth) string {
	row := v.Rows[0]
	rows := 0
	for _, r := range v.Rows {
		if r.Side == "" { // the others are parts of the first
			rows++
		}
	}
	all := ""
	if rows > 1 {
		all = fmt.Sprintf("it has %d rows, expected one", rows)
	}
	return cmp.Or(all, verify.OfTest(v.Test, "Write", "BW"), otherHead(c, rig, p, o, "ib_write_bw", v.Perftest),
		asked(c, o, "ib_write_bw", row.Bytes, row.Iterations), contradicts(row))
}

// bothWays says that a test sent both ways at once, so that its figure is a sum.
func bothWays(v parse.Perftest) string {
	if strings.Contains(v.Test, "Bidirectional") {
		return fmt.Sprintf("it is the output of another test (%s)", v.Test)
	}
	return ""
}

// otherGID says that a test went by another GID than the one that was asked for.
func otherGID(c steps.Cell, o steps.Output, tool string, v parse.Perftest) string {
	if v.GIDIndex < 0 {
		return ""
	}
	return verify.Asked(c, o, tool, "-x", v.GIDIndex, "as its GID index")
}

// otherKind says that a test went over other connections, or more of them, than its script asked for:
// without an option that is one reliable connection, over RDMA.
func otherKind(c steps.Cell, o steps.Output, tool string, v parse.Perftest) string {
	switch {
	case v.DualPort && !verify.Calls(c, o, tool, "-O", "--dualport"):
		return "it used two ports at once, so its result is a sum"
	case strings.Contains(v.Test, "Imm") && !verify.Calls(c, o, tool, "--write_with_imm"):
		return fmt.Sprintf("it is the output of another test (%s)", v.Test)
	case v.Connection != "" && v.Connection != "RC" && !verify.Calls(c, o, tool, "-c", "--connection"):
		return fmt.Sprintf("it used connections of type %s instead of RC", v.Connection)
	case v.QueuePairs > 1 && !verify.Calls(c, o, tool, "-q", "--qp"):
		return fmt.Sprintf("it used %d queue pairs instead of one", v.QueuePairs)
	case v.Transport != "" && v.Transport != "IB":
		return fmt.Sprintf("its transport is %s, which is neither InfiniBand nor RoCE", v.Transport)
	}
	return ""
}

// asked compares the size and the number of messages with what the script asked for. With
// several queue pairs perftest prints the messages of all of them, and -n is for each.
func asked(c steps.Cell, o steps.Output, tool string, bytes, iterations int) string {
	count := ""
	if !verify.Calls(c, o, tool, "-q", "--qp") {
		count = verify.Asked(c, o, tool, "-n", iterations, "messages")
	}
	return cmp.Or(verify.Asked(c, o, tool, "-s", bytes, "bytes a message"), count)
}

// contradicts says where a row's message rate doesn't make its bandwidth: one of them was
// changed on the way.
func contradicts(row parse.BandwidthRow) string {
	made := row.MessageRateMpps * float64(row.Bytes) * 8 / 1e3
	// perftest prints six decimals of the one, and two of the other. Where the message rate has
	// hardly a digit (large messages), it shows nothing.
	digits := 0.006 + 1e-6*float64(row.Bytes)*8/1e3
	if row.PeakGbps > 0 && row.PeakGbps < row.AverageGbps-0.01 {
		return fmt.Sprintf("its peak is %s, less than its average %s", registry.Gbps(row.PeakGbps),
			registry.Gbps(row.AverageGbps))
	}
	if made <= 0 || row.AverageGbps <= 0 || row.MessageRateMpps < 1e-4 || math.Abs(made-row.AverageGbps) < digits+
		0.003*made {
		return ""
	}
	return fmt.Sprintf("%g million messages a second of %d bytes are %s, but it reports %s", row.MessageRateMpps,
		row.Bytes, registry.Gbps(made), registry.Gbps(row.AverageGbps))
}

// accounts are those of the rails that were right, and the bytes of all of them.
type accounts struct {
	right           int     // how many
	sent, predicted float64 // bytes with headers, by the ports of the clients' end
}

func (a *accounts) add(account traffic.Accounted, client steps.End) {
	if account.OK() {
		a.right++
	}
	for _, l := range account.At(client, true) {
		a.sent, a.predicted = a.sent+l.Sum(), a.predicted+l.Wire
	}
}

func (a *accounts) String() string {
	switch a.right {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("The rail carried all of it: %s on the wire, expected %s", registry.Size(a.sent),
			registry.Size(a.predicted))
	}
	return fmt.Sprintf("Each rail carried its own test: %s on the wire in total, expected %s",
		registry.Size(a.sent), registry.Size(a.predicted))
}
