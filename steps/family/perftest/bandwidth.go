package perftest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/pattern"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/theory"
	"github.com/railbench/railbench/steps/wire"
	"github.com/railbench/railbench/steps/witness"
)

// measured checks everything about a stage that has to be right before a number
// means anything. ok is false where the report says why not. What is asked first is what
// explains the rest: that it stopped, that an end never ran, and only then what the ends
// print, because an end that is left alone complains of whatever it saw last.
func measured(r steps.Result, s steps.Stage, rep *kind.Report) (kind.Measurement, bool) {
	if !r.Rig.HasPair(s.Pair) {
		rep.Add(steps.Inconclusive, "a stage belongs to no rail")
		return kind.Measurement{}, false
	}
	m := kind.Measurement{Pair: r.Rig.Pairs[s.Pair]}
	m.No, m.Dev = s.Pair+1, r.Rig.Rail(m.Pair, steps.Here).Dev
	m.Rail = fmt.Sprintf("rail %d (%s)", m.No, m.Dev)
	if s.Err != "" {
		// A server that ends before it listens is the session's to tell, in perftest's words.
		hint := ""
		if strings.Contains(s.Err, "state is Down") {
			hint = "; check its cable at both ends"
		}
		rep.On(m, steps.Inconclusive, "it stopped: %s%s", s.Err, hint)
	}
	server, client := roles(s)
	if client == nil || server == nil {
		// Where it stopped, that the client never came follows from it and needs no word. A
		// client without a server follows from nothing.
		if s.Err == "" || server == nil && client != nil {
			rep.On(m, steps.Inconclusive, "not both ends ran")
		}
		return m, false
	}
	m.Client = *client
	m.Dev = r.Rig.Rail(m.Pair, client.End).Dev // a runbook may start its client at the peer
	m.Rail = fmt.Sprintf("rail %d (%s)", m.No, m.Dev)
	var messages []kind.Message
	for _, o := range witness.Speak(steps.Stage{Outputs: []steps.Output{m.Client, *server}}) {
		messages = append(messages, messagesOf(o.End, parse.PerftestErrors(o.Text))...)
	}
	if !m.Client.Ran || !server.Ran || !m.Client.Exit.OK() || !server.Exit.OK() {
		explain(r.Rig, s, m, *server, messages, rep)
		return m, false
	}
	// perftest may print what went wrong and end with status 0: its status alone proves nothing.
	return m, s.Err == "" && !complains(r.Rig, m, messages, rep)
}

// roles are the outputs of a stage's two ends; nil for one that did not run. Whatever is no
// server is the client: a runbook may call it as it likes, or not at all.
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
var causes = []kind.Cause{
	{
		Pattern: pattern.New(`Couldn't listen to port`), Grade: steps.Inconclusive,
		Means: "its port is taken on %s: end the process that listens there (ss -ltnp), or set PORT",
	},
	{
		Pattern: pattern.New(`Port number \d+ state is Down`), Grade: steps.Fail,
		Means: "the port is down on %s: check the interface (ip link) and the cable",
	},
	{
		Pattern: pattern.New(`IB device \S+ not found|Did not detect devices`), Grade: steps.Fail,
		Means: "the RDMA device is gone on %s: is its driver still loaded (dmesg)?",
	},
	{
		Pattern: pattern.New(`Found Incompatibility issue with GID types`), Grade: steps.Fail,
		Means: "the GIDs of the two ends are of different kinds (seen on %s): run the GID check again",
	},
	{
		Pattern: pattern.New(`(?i)Couldn't allocate MR|create mr`), Grade: steps.Fail,
		Means: "memory could not be registered on %s: raise the memlock limit (ulimit -l)",
	},
	{
		Pattern: pattern.New(`Failed to modify QP`), Grade: steps.Fail,
		Means: "the queue pairs don't reach each other (seen on %s): the GID index or the address behind it has changed; " +
			"run the GID check again, and look for a bond",
	},
	{
		Pattern: pattern.New(`^VALIDATION: FAILED`), Grade: steps.Fail,
		Means: "what arrived on %s is not what was sent (perftest's data validation): look at the memory and at the link's errors",
	},
	{
		Pattern: pattern.New(`^VALIDATION: |^Data validation: |validation context|validation kernel`),
		Grade:   steps.Inconclusive, Means: "perftest on %s was told to check the data, and checked none",
	},
	{
		Pattern: pattern.New(`transport retry counter|Completion with error|Failed to complete run_iter`),
		Grade:   steps.Fail, Means: "packets stopped arriving in the middle (seen on %s): the cable, the link or the MTU",
	},
	{
		Pattern: pattern.New(`mismatch: local=|Failed to negotiate`), Grade: steps.Inconclusive,
		Means: "the two ends did not agree on their options (seen on %s): do the perftest versions differ?",
	},
	{
		Pattern: pattern.New(`unrecognized option|invalid option|Invalid Command`), Grade: steps.Inconclusive,
		Means: "perftest on %s doesn't know one of the options: is it very old?",
	},
	{
		Pattern: pattern.New(`Couldn't connect to`), Grade: steps.Inconclusive,
		Means: "no server could be reached from %s: the peer's address, a firewall, or a server that ended early",
	},
	{
		Pattern: pattern.New(`resolv|Name or service not known`), Grade: steps.Inconclusive,
		Means: "the peer's address could not be resolved on %s",
	},
}

// complains reports whether an end that ended with status 0 said that something went wrong:
// its figure is none then.
func complains(rig steps.Rig, m kind.Measurement, messages []kind.Message, rep *kind.Report) bool {
	c, msg, found := causeOf(messages)
	if found {
		rep.On(m, c.Grade, c.Means+", though it ended with status 0", rig.NameOf(msg.End))
		rep.Show(m.Rail+" message", msg.Text, "", nil)
	}
	return found
}

// messagesOf are what one end complains of.
func messagesOf(e steps.End, texts []string) []kind.Message {
	var all []kind.Message
	for _, text := range texts {
		all = append(all, kind.Message{End: e, Text: text})
	}
	return all
}

// causeOf finds the first cause that any message names.
func causeOf(messages []kind.Message) (c kind.Cause, said kind.Message, found bool) {
	for _, c := range causes {
		for _, msg := range messages {
			if c.Pattern.MatchString(msg.Text) {
				return c, msg, true
			}
		}
	}
	return kind.Cause{}, kind.Message{}, false
}

// explain says why a test has no result.
func explain(rig steps.Rig, s steps.Stage, m kind.Measurement, server steps.Output, messages []kind.Message, rep *kind.Report) {
	if f, ok := witness.First(rig, s, wire.EndsOf(m.Pair)...); ok {
		rep.On(m, f.Grade, "%s", f.Text)
		return
	}
	if c, msg, found := causeOf(messages); found {
		rep.On(m, c.Grade, c.Means, rig.NameOf(msg.End))
		rep.Show(m.Rail+" message", msg.Text, "", nil)
		return
	}
	// The client first: a server that was left waiting has nothing to tell but that.
	for _, o := range []steps.Output{m.Client, server} {
		if f, bad := kind.Trouble(rig, o); bad {
			hint := ""
			if strings.Contains(f.Text, "timed out") {
				hint = "; crossed rails and a wrong GID hang like this, without a word"
			}
			rep.On(m, f.Grade, "%s%s", f.Text, hint)
			return
		}
	}
	for _, o := range []steps.Output{m.Client, server} {
		if o.Exit.OK() {
			continue
		}
		said := ""
		if len(messages) > 0 {
			said = ": " + messages[0].Text
		}
		grade := steps.Fail
		if o.Role == "server" {
			grade = steps.Inconclusive // the client has its number, and nobody vouches for it
		}
		rep.On(m, grade, "the %s on %s ended with %s%s", kind.OrUnknown(o.Role), rig.NameOf(o.End), o.Exit, said)
		return
	}
}

// judgeWriteBandwidth holds what ib_write_bw measured on each rail against what
// the rail can do, and against the bytes that each rail's counters moved.
func judgeWriteBandwidth(c steps.Cell, r steps.Result) steps.Verdict {
	return WriteBandwidth(c, r, true)
}

// WriteBandwidth judges it; where it is a cell of the tutorial it also says what the
// tutorial would make of the figure.
func WriteBandwidth(c steps.Cell, r steps.Result, taught bool) steps.Verdict {
	if v, done := kind.Gate(c, r); done {
		return v
	}
	var rep kind.Report
	var figures, expected []string // one figure per rail
	var rails []int
	var tutorial float64 // what the tutorial would call the last rail's figure, Gb/s
	var all accounts
	each := "each"
	if len(r.Stages) == 1 {
		each = "it"
	}
	for _, s := range r.Stages {
		m, v, ok := bandwidth(c, r, s, &rep)
		if !ok {
			continue
		}
		row := v.Rows[0]
		mtu := theory.AgreedMTU(r.Rig, m.Pair, v.MTU)
		f := witness.Figure{
			Got: rate.Payload(row.AverageGbps), Of: "the rail",
			Band: theory.BandOf(r.Rig, theory.Test{
				MTU: mtu, Message: row.Bytes, Payload: float64(row.Bytes) * float64(row.Iterations),
			}, m.Pair),
			Cause: func() string { return wire.LikelyCause(r, s, m, row.AverageGbps, mtu) },
		}
		rep.Show(m.Rail+" bandwidth", kind.Round(row.AverageGbps), "Gb/s", f.Expected())
		f.Judge(func(g steps.Grade, format string, args ...any) { rep.On(m, g, format, args...) })
		rep.Measured(steps.Figure{
			What: steps.Throughput, Value: kind.Round(row.AverageGbps), Unit: "Gb/s",
			Rails: []int{m.No}, MessageBytes: row.Bytes, MTU: mtu, Memory: "DRAM",
		})
		if v.NUMANode != nil {
			rep.Show(m.Rail+" processors", *v.NUMANode, "(the NUMA node that perftest chose)", nil)
		}
		rep.Show(m.Rail+" messages", row.Iterations, "messages of "+fmt.Sprint(row.Bytes)+" bytes", nil)
		figures, rails = append(figures, kind.Gbps(row.AverageGbps)), append(rails, m.No)
		// Rails of one rig mostly have one band: it is said once.
		if text := f.Band.Says(each); f.Band.None == "" && !slices.Contains(expected, text) {
			expected = append(expected, text)
		}
		tutorial = float64(rate.Payload(row.AverageGbps).MiB()) * 8 / 1000
		if c.Counters {
			all.judge(r, s, m, row, mtu, &rep)
		}
	}
	lead := kind.PerRail(rails, figures)
	if len(expected) > 0 {
		lead += ": " + kind.And(expected)
	}
	note := ""
	if taught && tutorial >= 10 { // below that nobody would look for the tutorial's figure
		note = fmt.Sprintf("(The tutorial would call the last one %.1f Gb/s: it takes perftest's MiB for MB.)", tutorial)
	}
	return rep.Verdict(lead, all.String(), note)
}

// bandwidth is what the client of a stage measured, where that can be judged.
func bandwidth(c steps.Cell, r steps.Result, s steps.Stage, rep *kind.Report) (kind.Measurement, parse.Bandwidth, bool) {
	m, ok := measured(r, s, rep)
	if !ok {
		return m, parse.Bandwidth{}, false
	}
	v, ok := m.Client.Value.(parse.Bandwidth)
	if m.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
		rep.On(m, steps.Inconclusive, "the client's output has no result that can be read")
		return m, v, false
	}
	if why := notOfThisRun(c, m.Client, v, m.Dev); why != "" {
		rep.On(m, steps.Inconclusive, "the client's output is not this test's: %s", why)
		return m, v, false
	}
	if row := v.Rows[0]; row.AverageGbps <= 0 || row.Bytes <= 0 || row.Iterations <= 0 {
		rep.On(m, steps.Inconclusive, "the client reports %g Gb/s for %d messages of %d bytes",
			row.AverageGbps, row.Iterations, row.Bytes)
		return m, v, false
	}
	return m, v, true
}

// notOfThisRun says why a report with at least one row is not that of the test that was
// started over a device: of its rail, sizes and counts, and one row for one test.
func notOfThisRun(c steps.Cell, o steps.Output, v parse.Bandwidth, dev string) string {
	row := v.Rows[0]
	rows := 0
	for _, r := range v.Rows {
		if r.Side == "" { // the others are parts of the first
			rows++
		}
	}
	all := ""
	if rows > 1 {
		all = fmt.Sprintf("it has %d rows, where one test has one", rows)
	}
	return cmp.Or(all, witness.OfTest(v.Test, "Write", "BW"), witness.OfDevice(v.Device, dev),
		asked(c, o, "ib_write_bw", row.Bytes, row.Iterations), contradicts(row))
}

// asked compares the size and the number of messages with what the script asked for. With
// several queue pairs perftest prints the messages of all of them, and -n is for each.
func asked(c steps.Cell, o steps.Output, tool string, bytes, iterations int) string {
	count := ""
	if !witness.Calls(c, o, tool, "-q", "--qp") {
		count = witness.Asked(c, o, tool, "-n", iterations, "messages")
	}
	return cmp.Or(witness.Asked(c, o, tool, "-s", bytes, "bytes a message"), count)
}

// contradicts says where a row's message rate doesn't make its bandwidth: one of them was
// changed on the way.
func contradicts(row parse.BandwidthRow) string {
	made := row.MessageRateMpps * float64(row.Bytes) * 8 / 1e3
	// perftest prints six decimals of the one, and two of the other. Where the message rate has
	// hardly a digit (large messages), it shows nothing.
	digits := 0.006 + 1e-6*float64(row.Bytes)*8/1e3
	if made <= 0 || row.AverageGbps <= 0 || row.MessageRateMpps < 1e-4 || math.Abs(made-row.AverageGbps) < digits+0.003*made {
		return ""
	}
	return fmt.Sprintf("%g million messages a second of %d bytes are %s, and it says %s", row.MessageRateMpps, row.Bytes,
		kind.Gbps(made), kind.Gbps(row.AverageGbps))
}

// accounts are those of the rails that were right, and the bytes of all of them.
type accounts struct {
	right           int     // how many
	sent, predicted float64 // bytes with headers, by the ports of the clients' end
}

func (a *accounts) judge(r steps.Result, s steps.Stage, m kind.Measurement, row parse.BandwidthRow, mtu int,
	rep *kind.Report,
) {
	f := wire.Between(m.Client.End, mtu, mtu, m.Pair) // a client writes, and its server's memory is written
	f.Writes(float64(row.Iterations), row.Bytes)
	f.Text = fmt.Sprintf("%d messages of %d bytes", row.Iterations, row.Bytes)
	account := wire.Account(r.Rig, s.Bytes, f)
	account.Tell(rep, func(g steps.Grade, format string, args ...any) { rep.On(m, g, format, args...) })
	if account.OK() {
		a.right++
	}
	for _, l := range account.At(m.Client.End, true) {
		a.sent, a.predicted = a.sent+l.Sum(), a.predicted+l.Wire
	}
}

func (a *accounts) String() string {
	switch a.right {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("The rail carried 100 %% of it: %s on the wire, %s predicted", kind.Size(a.sent),
			kind.Size(a.predicted))
	}
	return fmt.Sprintf("Each rail carried its own test alone: %s on the wire in all, %s predicted",
		kind.Size(a.sent), kind.Size(a.predicted))
}

// judgeTypical compares a median with what adapters take, us. soft says why no hardware
// limits it; empty where some does.
func judgeTypical(m kind.Measurement, us float64, soft string, rep *kind.Report) {
	said, usual := kind.Microseconds(us), theory.WriteLatency.Entry()
	switch {
	case soft != "":
		rep.Add(steps.Pass, "There is no band to judge by: %s", soft)
	case us < theory.WriteLatencyLeast.Value():
		rep.On(m, steps.Inconclusive, "%s is less than a cable and two adapters can take", said)
	case us > theory.WriteLatencyWarn.Value():
		rep.On(m, steps.Fail, "%s typical is far from RDMA's %s: does a switch, another route or soft-RoCE stand between?",
			said, usual.Figures())
	case us > theory.WriteLatencyPass.Value():
		rep.On(m, steps.Warn, "%s typical, where %s: power saving (cpufreq), or other traffic", said, usual.Says())
	}
}

// apart compares rails with each other: those of one machine are alike, also where nobody
// knows what each should take.
func apart(medians []float64, rails []int, rep *kind.Report) {
	if len(medians) < 2 {
		return
	}
	best, worst := slices.Index(medians, slices.Min(medians)), slices.Index(medians, slices.Max(medians))
	if medians[worst] > theory.RailsApart.Value()*medians[best] {
		rep.Add(steps.Warn, "rail %d takes %s and rail %d %s: rails of one rig are alike, so look at what differs (rail map, "+
			"routes, other traffic)", rails[worst], kind.Microseconds(medians[worst]), rails[best], kind.Microseconds(medians[best]))
	}
}

// judgeWriteLatency looks at the median and the tail. An average hides both
// (assets/docs/facts.md#averages).
func judgeWriteLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := kind.Gate(c, r); done {
		return v
	}
	var rep kind.Report
	var figures []string
	var rails []int
	var medians []float64
	var tail float64 // the largest 99th percentile of all rails, us: one number for the reason
	banded := false  // some rail has hardware to be compared with
	for _, s := range r.Stages {
		m, v, ok := latency(c, r, s, &rep)
		if !ok {
			continue
		}
		row := v.Rows[0]
		soft := theory.Soft(r.Rig, m.Pair)
		e := &steps.Expected{From: "no band: " + soft}
		if soft == "" {
			banded = true
			e = &steps.Expected{
				Min: new(theory.WriteLatencyLeast.Value()), Max: new(theory.WriteLatencyPass.Value()),
				From: theory.WriteLatency.Entry().Says(),
			}
		}
		rep.Measured(steps.Figure{
			What: steps.Latency, Value: row.TypicalUS, P99: row.P99US, Unit: "us",
			Rails: []int{m.No}, MessageBytes: row.Bytes, MTU: theory.AgreedMTU(r.Rig, m.Pair, v.MTU), Memory: "DRAM",
		})
		rep.Show(m.Rail+" latency, typical", row.TypicalUS, "us", e)
		rep.Show(m.Rail+" latency, 99 %", row.P99US, "us", nil)
		rep.Show(m.Rail+" latency, maximum", row.MaxUS, "us", nil)
		figures, rails = append(figures, kind.Microseconds(row.TypicalUS)), append(rails, m.No)
		tail = max(tail, row.P99US)
		judgeTypical(m, row.TypicalUS, soft, &rep)
		medians = append(medians, row.TypicalUS)
		if soft == "" && row.P99US > theory.WriteLatencyTail.Value()*row.TypicalUS {
			rep.On(m, steps.Warn, "one write of a hundred takes %s and more, where the median is %s: power saving (cpufreq), "+
				"interrupts on its core, or other traffic", kind.Microseconds(row.P99US), kind.Microseconds(row.TypicalUS))
		}
		// The two ends write in turns, so each sends every message, in one packet or more.
		wire.Glance(r.Rig, s.Bytes, m.Pair, float64(row.Iterations)*float64(row.Bytes+theory.RoCEHeaders),
			func(g steps.Grade, format string, args ...any) { rep.On(m, g, format, args...) })
	}
	apart(medians, rails, &rep)
	lead := fmt.Sprintf("typically %s, one way; at most %s for 99 %%", kind.PerRail(rails, figures),
		kind.Microseconds(tail))
	switch usual := theory.WriteLatency.Entry(); {
	case !banded || len(medians) == 0:
	case slices.Min(medians) < usual.Low:
		lead += fmt.Sprintf(": faster than what railbench knows of (%s)", usual.Says())
	default:
		lead += fmt.Sprintf(": as it should be (%s)", usual.Says())
	}
	return rep.Verdict(lead)
}

// latency is what the client of a stage measured, with one row; ok is false where it can't be
// judged, and the report says why.
func latency(c steps.Cell, r steps.Result, s steps.Stage, rep *kind.Report) (kind.Measurement, parse.Latency, bool) {
	m, ok := measured(r, s, rep)
	if !ok {
		return m, parse.Latency{}, false
	}
	v, ok := m.Client.Value.(parse.Latency)
	if m.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
		rep.On(m, steps.Inconclusive, "the client's output has no result that can be read")
		return m, v, false
	}
	if why := latencyNotOfThisRun(c, v, m); why != "" {
		rep.On(m, steps.Inconclusive, "the client's output is not this test's: %s", why)
		return m, v, false
	}
	if row := v.Rows[0]; row.TypicalUS <= 0 || row.P99US <= 0 || row.Iterations <= 0 {
		// With -D perftest measures an average alone.
		rep.On(m, steps.Inconclusive, "the client reports no typical latency, or no tail")
		return m, v, false
	}
	return m, v, true
}

// latencyNotOfThisRun is notOfThisRun for a latency.
func latencyNotOfThisRun(c steps.Cell, v parse.Latency, m kind.Measurement) string {
	row, rows := v.Rows[0], ""
	if len(v.Rows) > 1 {
		rows = fmt.Sprintf("it has %d rows, where one test has one", len(v.Rows))
	}
	return cmp.Or(rows, witness.OfTest(v.Test, "Write", "Latency"), witness.OfDevice(v.Device, m.Dev),
		asked(c, m.Client, "ib_write_lat", row.Bytes, row.Iterations),
		witness.Ascending(witness.Quantile{Name: "least", Value: row.MinUS}, witness.Quantile{Name: "median", Value: row.TypicalUS},
			witness.Quantile{Name: "99 %", Value: row.P99US}, witness.Quantile{Name: "99.9 %", Value: row.P999US},
			witness.Quantile{Name: "most", Value: row.MaxUS}))
}
