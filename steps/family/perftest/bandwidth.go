package perftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/pattern"
	"github.com/railbench/railbench/steps/theory"
	"github.com/railbench/railbench/steps/wire"
)

// measured checks everything about a stage that has to be right before a number
// means anything. ok is false where the report says why not.
func measured(r steps.Result, s steps.Stage, rep *kind.Report) (kind.Measurement, bool) {
	if !r.Rig.HasPair(s.Pair) {
		rep.Add(steps.Inconclusive, "a stage belongs to no rail")
		return kind.Measurement{}, false
	}
	m := kind.Measurement{Pair: r.Rig.Pairs[s.Pair]}
	m.No, m.Dev = s.Pair+1, r.Rig.Rail(m.Pair, steps.Here).Dev
	m.Rail = fmt.Sprintf("rail %d (%s)", m.No, m.Dev)
	if s.Err != "" {
		hint := ""
		if strings.Contains(s.Err, "state is Down") {
			hint = "; check its cable at both ends"
		}
		rep.On(m, steps.Inconclusive, "it stopped: %s%s", s.Err, hint)
	}
	server, client := roles(s)
	if client == nil || server == nil {
		if s.Err == "" || server == nil && client != nil {
			rep.On(m, steps.Inconclusive, "not both ends ran")
		}
		return m, false
	}
	m.Client = *client
	var messages []kind.Message
	for _, o := range []steps.Output{m.Client, *server} {
		for _, e := range parse.PerftestErrors(o.Text) {
			messages = append(messages, kind.Message{End: o.End, Text: e})
		}
	}
	if !m.Client.Ran || !server.Ran || !m.Client.Exit.OK() || !server.Exit.OK() {
		explain(r.Rig, m, *server, messages, rep)
		return m, false
	}
	return m, s.Err == ""
}

// roles are the outputs of a stage's two ends; nil for one that did not run.
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

// explain says why a test has no result.
func explain(rig steps.Rig, m kind.Measurement, server steps.Output, messages []kind.Message, rep *kind.Report) {
	for _, c := range causes {
		for _, msg := range messages {
			if c.Pattern.MatchString(msg.Text) {
				rep.On(m, c.Grade, c.Means, rig.NameOf(msg.End))
				rep.Show(m.Rail+" message", msg.Text, "", nil)
				return
			}
		}
	}
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
	var tutorial float64
	var all accounts
	for _, s := range r.Stages {
		m, v, ok := bandwidth(r, s, &rep)
		if !ok {
			continue
		}
		row := v.Rows[0]
		mtu := theory.AgreedMTU(r.Rig, m.Pair, v.MTU)
		b := theory.BandOf(r.Rig, m.Pair, mtu)
		judgeFigure(r, s, m, row, b, mtu, &rep)
		rep.Measured(steps.Figure{
			What: steps.Throughput, Value: kind.Round(row.AverageGbps), Unit: "Gb/s",
			Rails: []int{m.No}, MessageBytes: row.Bytes, MTU: mtu, Memory: "DRAM",
		})
		rep.Show(m.Rail+" messages", row.Iterations, "messages of "+fmt.Sprint(row.Bytes)+" bytes", nil)
		figures, rails = append(figures, kind.Gbps(row.AverageGbps)), append(rails, m.No)
		if b.Expected > 0 {
			if text := fmt.Sprintf("%.1f: %s", b.Expected, b.From); !slices.Contains(expected, text) {
				expected = append(expected, text)
			}
		}
		tutorial = row.AverageGbps * 1e9 / 8 / 1048576 * 8 / 1000
		if c.Counters {
			all.judge(r, s, m, row, mtu, &rep)
		}
	}
	lead := kind.PerRail(rails, figures)
	switch each := map[bool]string{true: "it", false: "each"}[len(rails) == 1]; len(expected) {
	case 0:
	case 1:
		lead += fmt.Sprintf(": all that %s can do (%s)", each, expected[0])
	default:
		lead += fmt.Sprintf(": all that %s can do", each)
	}
	note := ""
	if taught && tutorial >= 10 {
		note = fmt.Sprintf("(The tutorial would call the last one %.1f Gb/s: it takes perftest's MiB for MB.)", tutorial)
	}
	return rep.Verdict(lead, all.String(), note)
}

// bandwidth is what the client of a stage measured, where that can be judged.
func bandwidth(r steps.Result, s steps.Stage, rep *kind.Report) (kind.Measurement, parse.Bandwidth, bool) {
	m, ok := measured(r, s, rep)
	if !ok {
		return m, parse.Bandwidth{}, false
	}
	v, ok := m.Client.Value.(parse.Bandwidth)
	if m.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
		rep.On(m, steps.Inconclusive, "the client's output has no result that can be read")
		return m, v, false
	}
	if row := v.Rows[0]; row.AverageGbps <= 0 || row.Bytes <= 0 || row.Iterations <= 0 {
		rep.On(m, steps.Inconclusive, "the client reports %g Gb/s for %d messages of %d bytes",
			row.AverageGbps, row.Iterations, row.Bytes)
		return m, v, false
	}
	return m, v, true
}

// accounts are those of the rails that were right, and the bytes of all of them.
type accounts struct {
	right           int
	sent, predicted float64
}

func (a *accounts) judge(r steps.Result, s steps.Stage, m kind.Measurement, row parse.BandwidthRow, mtu int,
	rep *kind.Report,
) {
	f := wire.Between(steps.Here, mtu, mtu, m.Pair)
	f.Writes(float64(row.Iterations), row.Bytes)
	f.Text = fmt.Sprintf("%d messages of %d bytes", row.Iterations, row.Bytes)
	account := wire.Account(r.Rig, s.Bytes, f)
	account.Tell(rep, func(g steps.Grade, format string, args ...any) { rep.On(m, g, format, args...) })
	if account.OK() {
		a.right++
	}
	for _, l := range account.At(steps.Here, true) {
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

// judgeFigure compares a bandwidth with its band.
func judgeFigure(r steps.Result, s steps.Stage, m kind.Measurement, row parse.BandwidthRow, b theory.Band, mtu int,
	rep *kind.Report,
) {
	e := &steps.Expected{From: b.From}
	if b.Expected > 0 {
		e.Min, e.Max = new(kind.Round(theory.PassShare*b.Expected)), new(kind.Round(theory.OverLimit*b.Limit))
	} else {
		e.From = "no band: " + b.None
	}
	rep.Show(m.Rail+" bandwidth", kind.Round(row.AverageGbps), "Gb/s", e)
	if b.Expected == 0 {
		rep.Add(steps.Pass, "There is no band to judge by: %s", b.None)
		return
	}
	switch share := row.AverageGbps / b.Expected; {
	case row.AverageGbps > theory.OverLimit*b.Limit:
		rep.On(m, steps.Inconclusive, "%s is more than the %.1f that the hardware can carry: is the unit misread?",
			kind.Gbps(row.AverageGbps), b.Limit)
	case share < theory.WarnShare:
		rep.On(m, steps.Fail, "%s of %.1f (%s): %s", kind.Gbps(row.AverageGbps), b.Expected, b.From,
			wire.LikelyCause(r, s, m, row.AverageGbps, mtu))
	case share < theory.PassShare:
		rep.On(m, steps.Warn, "%s of %.1f (%s): %s", kind.Gbps(row.AverageGbps), b.Expected, b.From,
			wire.LikelyCause(r, s, m, row.AverageGbps, mtu))
	}
}

// judgeTypical compares a median with what adapters take.
func judgeTypical(m kind.Measurement, us float64, b theory.Band, rep *kind.Report) {
	said := kind.Microseconds(us)
	switch {
	case b.None != "":
		rep.Add(steps.Pass, "There is no band to judge by: %s", b.None)
	case us < leastLatency:
		rep.On(m, steps.Inconclusive, "%s is less than a cable and two adapters can take", said)
	case us > warnLatencyUS:
		rep.On(m, steps.Fail, "%s typical is far from RDMA's 1 to 2.5: does a switch, another route or soft-RoCE stand "+
			"between?", said)
	case us > passLatencyUS:
		rep.On(m, steps.Warn, "%s typical, where 1 to 2.5 is usual: power saving (cpufreq), or other traffic", said)
	}
}

// Latency thresholds in microseconds: ConnectX-7 back to back takes 1.4 to 2
// (assets/docs/facts.md#latency).
const (
	passLatencyUS = 2.5
	warnLatencyUS = 10
	leastLatency  = 0.3
)

// judgeWriteLatency looks at the median and the tail. An average hides both
// (assets/docs/facts.md#averages).
func judgeWriteLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := kind.Gate(c, r); done {
		return v
	}
	var rep kind.Report
	var figures []string
	var rails []int
	var tail float64
	banded := false
	for _, s := range r.Stages {
		m, ok := measured(r, s, &rep)
		if !ok {
			continue
		}
		v, ok := m.Client.Value.(parse.Latency)
		if m.Client.ParseErr != "" || !ok || len(v.Rows) == 0 {
			rep.On(m, steps.Inconclusive, "the client's output has no result that can be read")
			continue
		}
		row := v.Rows[0]
		if row.TypicalUS <= 0 || row.Iterations <= 0 {
			rep.On(m, steps.Inconclusive, "the client reports no typical latency")
			continue
		}
		b := theory.BandOf(r.Rig, m.Pair, theory.AgreedMTU(r.Rig, m.Pair, v.MTU))
		e := &steps.Expected{From: "no band: " + b.None}
		if b.None == "" {
			banded = true
			e = &steps.Expected{Min: new(leastLatency), Max: new(passLatencyUS), From: "two ConnectX-7 back to back"}
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
		judgeTypical(m, row.TypicalUS, b, &rep)
		if g := wire.Flaps(s.Bytes, wire.EndsOf(m.Pair)...); g != "" {
			rep.On(m, steps.Fail, "the link went down during the test (%s)", g)
		}
	}
	lead := fmt.Sprintf("typically %s, one way; at most %s for 99 %%", kind.PerRail(rails, figures),
		kind.Microseconds(tail))
	if banded {
		lead += ": as it should be (1 to 2.5 us)"
	}
	return rep.Verdict(lead)
}
