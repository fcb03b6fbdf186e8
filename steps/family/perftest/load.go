package perftest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// A loadTest is one tool of a cell that keeps rails busy for a time: ib_write_bw -D on a rail, or iperf3 next to it.
type loadTest struct {
	Name string // "rail 1", "half" or "tcp"
	Exit int    // the script's own 0 or 1, not the tool's status
	parse.Bandwidth
	TCP *parse.Iperf3 // nil where it is RDMA
	Err string        // why there is no figure; empty where there is one
}

// tcpLoad is the name of the load that is not RDMA.
const tcpLoad = "tcp"

// parseLoad reads the outputs of several tools, each under a line "== NAME: exit N".
func parseLoad(text string) ([]loadTest, error) {
	var tests []loadTest
	for _, h := range headed(text) {
		t := loadTest{Name: h.name, Exit: h.exit}
		var err error
		if t.Name == tcpLoad {
			var v parse.Iperf3
			v, err = parse.Iperf3Output(h.body)
			t.TCP = &v
			t.Err = v.Error
		} else if t.Bandwidth, err = parse.PerftestBandwidth(h.body); len(t.Errors) > 0 {
			t.Err = t.Errors[0]
		}
		if err != nil {
			t.Err = cmp.Or(t.Err, err.Error())
		}
		tests = append(tests, t)
	}
	if tests == nil {
		return nil, parse.ErrNoResult
	}
	return tests, nil
}

// pair is the rail that a test loads.
func (t loadTest) pair(rig steps.Rig) (p steps.Pair, ok bool) {
	if t.Name == "half" {
		return rig.AcrossHalves()
	}
	number, ok := strings.CutPrefix(t.Name, "rail ")
	n, whole := strictnum.Count(number)
	if !ok || !whole || !rig.HasPair(n-1) {
		return p, false
	}
	return rig.Pairs[n-1], true
}

// bothWays reports whether the figure is of both directions together.
func (t loadTest) bothWays() bool { return strings.Contains(t.Test, "Bidirectional") }

// A loadRun is a cell that keeps rails busy: one test of ib_write_bw a rail, at the same time.
type loadRun struct {
	cell    steps.Cell
	result  steps.Result
	stage   steps.Stage
	rep     *registry.Report
	client  steps.Output
	servers []steps.Output
	tests   []loadTest
	seconds int // that it was asked to last

	rdma     rate.Payload // all rails together
	tcp      rate.Payload
	rails    []steps.Pair
	numbers  []int
	each     []float64          // of rails, Gb/s
	row      parse.BandwidthRow // what all tests are at least
	mtu      int
	bothWays bool
	lead     string
}

// ports are those of every rail: whichever goes down ends the load.
func (l *loadRun) ports() (all []traffic.Port) {
	for _, p := range l.result.Rig.Pairs {
		all = append(all, traffic.EndsOf(p)...)
	}
	return all
}

// judgeLoad holds a load that ran to its end against what its rails can carry, where a user measured that, and
// against what their counters saw.
func judgeLoad(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	l := loadRun{cell: c, result: r, stage: r.Stages[0], rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: l.stage, Ports: l.ports(), Rep: &rep, Add: rep.Add}
	line.Verify(&l)
	return rep.Verdict(l.lead)
}

// Ends asks for the client before its servers: where a test failed, they were ended because of that.
func (l *loadRun) Ends() bool {
	if l.stage.Err != "" {
		l.checkPorts()
		l.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", l.stage.Err)
	}
	ran := false
	for _, o := range l.stage.Outputs {
		if o.Role == "client" {
			l.client, ran = o, true
		} else {
			l.servers = append(l.servers, o)
		}
	}
	if !ran || l.servers == nil {
		if l.stage.Err == "" {
			l.rep.Add(steps.NotRunHere, steps.Inconclusive, "not both ends ran")
		}
		return false
	}
	if f, bad := registry.Trouble(l.result.Rig, l.client); bad {
		l.rep.Add(f.Code, f.Grade, "%s%s", f.Text, hangHint(l.result.Rig, l.stage, l.ports(), l.client, l.client,
			l.servers[0]))
		return false
	}
	// A tool that failed explains the ends' statuses, and Output reports it.
	if all, ok := l.client.Value.([]loadTest); ok &&
		slices.ContainsFunc(all, func(t loadTest) bool { return t.Exit != 0 }) {
		l.checkPorts()
		return true
	}
	if registry.Exited(l.result, l.client, l.rep) || l.stage.Err != "" {
		return false
	}
	for _, o := range l.servers {
		if !serverWell(l.result, o, l.rep) {
			return false
		}
	}
	return true
}

// checkPorts looks for a port that is down, which explains more than a server that never listens.
func (l *loadRun) checkPorts() {
	if rt, ok := traffic.RouteOf(l.cell, l.result, l.stage); ok {
		rt.CheckPorts(l.result.Rig, l.rep)
	}
}

// Output reads the tests: each ended well, is there once, and is of this run.
func (l *loadRun) Output() bool {
	var ok bool
	if l.tests, ok = registry.Value[[]loadTest](l.result, l.client, l.rep); !ok || !l.ended() || !l.take() {
		return false
	}
	l.seconds, _ = strictnum.Count(l.client.Asked["LOAD_SECONDS"])
	for _, o := range l.servers {
		if !serverQuiet(l.result, o, l.rep) {
			return false
		}
	}
	return true
}

// Figure holds the sum against what the rails carry together.
func (l *loadRun) Figure(traffic.Accounted) {
	f := verify.Figure{
		Got: l.rdma, Band: l.band(), Of: l.names(),
		Cause: l.cause,
	}
	l.rep.Show("RDMA over "+l.names(), registry.Round(float64(l.rdma)), "Gb/s", f.Expected())
	if l.tcp > 0 {
		l.rep.Show("TCP at the same time", registry.Round(float64(l.tcp)), "Gb/s", nil)
	}
	f.Judge(func(code steps.Code, g steps.Grade, format string, args ...any) {
		l.rep.Add(code, g, "%s%s: "+format, append([]any{registry.Capital(l.names()), l.beside()}, args...)...)
	})
	l.eachRail()
	// A sum of two ways, or what TCP left, is not a figure that another cell could stand next to it.
	if !l.bothWays && l.tcp == 0 {
		l.rep.Measured(steps.Figure{
			What: steps.Throughput, Value: registry.Round(float64(l.rdma)), Unit: "Gb/s", Rails: l.numbers,
			MessageBytes: l.row.Bytes, MTU: l.mtu, Memory: "DRAM",
		})
	}
	l.lead = fmt.Sprintf("%s over %s for %d s", registry.Gbps(float64(l.rdma)), l.names(), l.seconds)
	if f.Band.None == "" {
		l.lead += ", " + f.Range()
	}
}

// eachRail checks each rail's part of the sum: it must be possible for its rail, and not starved by the others.
func (l *loadRun) eachRail() {
	if l.bothWays || l.tcp > 0 {
		return // how two directions, or two protocols, share a rail is unknown
	}
	for i, p := range l.rails {
		b := limits.BandOf(l.result.Rig, limits.Test{MTU: l.mtu}, p)
		limit := limits.Lesser(b.Limit, b.Now)
		if limit > 0 && l.each[i] > limits.OverShare.Value()*float64(limit) {
			l.rep.Add(steps.FigureImpossible, steps.Inconclusive, "rail %d reports %s, more than it can carry (%.1f). "+
				"Check the unit and the route of the data", l.numbers[i], registry.Gbps(l.each[i]), limit)
		}
	}
	unevenly(l.result.Rig, l.rails, l.numbers, l.each, l.rep)
}

// Signs: with -D perftest measures no peak, and nothing else that could show one.
func (l *loadRun) Signs() {
	for _, t := range l.tests {
		if p, ok := t.pair(l.result.Rig); ok && t.TCP == nil {
			otherMTU(l.cell, l.result.Rig, p, l.client, "ib_write_bw", t.MTU, l.rep.Add)
		}
	}
}

// ended reports whether every tool ended well and has a figure.
func (l *loadRun) ended() bool {
	ok := true
	for _, t := range l.tests {
		if t.Exit == 0 && t.Err == "" {
			continue
		}
		ok = false
		if c, msg, found := causeOf(messagesOf(l.client.End, t.Errors)); found {
			code, grade, said := means(l.result.Rig, l.stage, l.result.Rig.Pairs, c, msg)
			l.rep.Add(code, grade, "%s: %s", registry.Capital(t.Name), said)
			continue
		}
		code := steps.OutputIncomplete
		if t.Exit != 0 {
			code = steps.ScriptFailed
		}
		l.rep.Add(code, steps.Inconclusive, "%s has no figure: %s", registry.Capital(t.Name), registry.OrUnknown(t.Err))
	}
	return ok
}

// measured reports whether a test of RDMA over a pair has a result of this run.
func (l *loadRun) measured(t loadTest, p steps.Pair) bool {
	row := t.Rows[0]
	if why := notOfThisRun(l.cell, l.result.Rig, p, l.client, t.Bandwidth); why != "" {
		l.rep.Add(steps.OutputForeign, steps.Inconclusive, "the output of %s is not this test's: %s", t.Name, why)
		return false
	}
	if row.AverageGbps <= 0 || row.Bytes <= 0 || row.Iterations <= 0 {
		l.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "%s reports %g Gb/s, which is not a result", t.Name,
			row.AverageGbps)
		return false
	}
	took := float64(row.Bytes) * float64(row.Iterations) * 8 / row.AverageGbps / 1e9
	if why := verify.TooShort(l.client, took); why != "" && !t.bothWays() {
		l.rep.Add(steps.OutputForeign, steps.Inconclusive, "the output of %s is not this test's: %s", t.Name, why)
		return false
	}
	return true
}

// take adds the tests up; ok is false where one is not of this run.
func (l *loadRun) take() (ok bool) {
	rig, rep := l.result.Rig, l.rep
	seen := map[string]bool{}
	for _, t := range l.tests {
		if seen[t.Name] {
			rep.Add(steps.OutputForeign, steps.Inconclusive, "%s is in the output twice", t.Name)
			return false
		}
		seen[t.Name] = true
		if t.TCP != nil {
			if t.TCP.ReceivedGbps <= 0 || t.TCP.ReceivedBytes <= 0 {
				rep.Add(steps.OutputIncomplete, steps.Inconclusive, "iperf3 reports %g Gb/s, which is not a result",
					t.TCP.ReceivedGbps)
				return false
			}
			l.tcp = rate.Payload(t.TCP.ReceivedGbps)
			continue
		}
		p, known := t.pair(rig)
		if !known {
			rep.Add(steps.OutputForeign, steps.Inconclusive, "this rig has no rail %q", t.Name)
			return false
		}
		if !l.measured(t, p) {
			return false
		}
		row := t.Rows[0]
		mtu := limits.AgreedMTU(rig, p, t.MTU)
		if l.rails == nil {
			l.row, l.mtu = row, mtu
		}
		l.row.Bytes, l.row.Iterations = min(l.row.Bytes, row.Bytes), min(l.row.Iterations, row.Iterations)
		l.mtu = min(l.mtu, mtu)
		l.rdma += rate.Payload(row.AverageGbps)
		l.rails, l.numbers = append(l.rails, p), append(l.numbers, number(rig, p))
		l.each = append(l.each, row.AverageGbps)
		l.bothWays = l.bothWays || t.bothWays()
		rep.Show(fmt.Sprintf("rail %d", number(rig, p)), registry.Round(row.AverageGbps), "Gb/s", nil)
	}
	if l.rails == nil {
		rep.Add(steps.NothingRan, steps.Inconclusive, "no rail was loaded")
	}
	return l.rails != nil && l.whole()
}

// whole reports whether a load of all rails left out none that leads from node to node, and warns
// where the nodes have rails that don't.
func (l *loadRun) whole() bool {
	if l.cell.Rails != steps.AllRails {
		return true
	}
	rig, ok := l.result.Rig, true
	for i := range rig.Pairs {
		if !slices.Contains(l.numbers, i+1) {
			l.rep.Add(steps.RailUnmeasured, steps.Inconclusive, "rail %d was left out, so the sum is not complete", i+1)
			ok = false
		}
	}
	for _, missing := range rig.Missing {
		l.rep.Add(steps.RailMissing, steps.Warn, "%s", missing)
	}
	here, peer := len(rig.At(steps.Here).Rails), len(rig.At(steps.Peer).Rails)
	if here != peer {
		l.rep.Add(steps.DevicesDiffer, steps.Warn,
			"%s has %d rails but %s %d, so the sum is not complete. Run: railbench run rail-map",
			rig.NameOf(steps.Here), here, rig.NameOf(steps.Peer), peer)
	}
	return ok
}

// names are the rails: "rail 1", "rails 1 and 3".
func (l *loadRun) names() string {
	if len(l.numbers) == 1 {
		return fmt.Sprintf("rail %d", l.numbers[0])
	}
	var all []string
	for _, n := range l.numbers {
		all = append(all, strconv.Itoa(n))
	}
	return "rails " + registry.And(all)
}

// next to says what the figure of RDMA is not alone.
func (l *loadRun) beside() string {
	switch {
	case l.bothWays:
		return " in both directions together"
	case l.tcp > 0:
		return " with " + registry.Gbps(float64(l.tcp)) + " next to TCP"
	}
	return ""
}

// band is what the rails can carry; none for what no one measured. The message and the payload are the least of all
// tests, as each has to be long enough for a band to hold.
func (l *loadRun) band() limits.Band {
	switch {
	case l.bothWays:
		return limits.Band{None: "no measurement exists for a rail used in both directions at once"}
	case l.tcp > 0:
		return limits.Band{None: "no measurement exists for RDMA next to TCP on one rail"}
	}
	return limits.BandOf(l.result.Rig, limits.Test{
		MTU: l.mtu, Message: l.row.Bytes, Payload: float64(l.row.Bytes) * float64(l.row.Iterations),
	}, l.rails...)
}

// loadMargin is what the scripts have ib_write_bw leave out at both ends of its time (-f), in
// seconds: it moves bytes then, and doesn't report them. loadSlack is what it takes to begin and
// to end.
const (
	loadMargin = 1
	loadSlack  = 1.1
)

// Flows are what the ports have to carry: what was reported, and as much more as the margins
// may hold.
func (l *loadRun) Flows() (all []traffic.Flow) {
	rig, more := l.result.Rig, 0.0
	if l.seconds > 2*loadMargin {
		more = loadSlack * float64(l.seconds) / float64(l.seconds-2*loadMargin)
	}
	for _, t := range l.tests {
		if t.TCP != nil {
			if f, ok := l.stream(*t.TCP); ok {
				all = append(all, f)
			}
			continue
		}
		p, _ := t.pair(rig)
		mtu := limits.AgreedMTU(rig, p, t.MTU)
		for _, from := range l.senders() {
			f := traffic.Between(from, mtu, mtu, p)
			f.Extra(limits.Extra(rig.Rail(p, l.client.End), t.LocalGID))
			f.Writes(float64(t.Rows[0].Iterations), t.Rows[0].Bytes)
			f.More = more
			f.Text = fmt.Sprintf("the report of %s without its first and last second", t.Name)
			all = append(all, f)
		}
	}
	return all
}

func (l *loadRun) senders() []steps.End {
	if l.bothWays {
		return []steps.End{l.client.End, l.client.End.Other()}
	}
	return []steps.End{l.client.End}
}

func (l *loadRun) stream(v parse.Iperf3) (f traffic.Flow, ok bool) {
	path, ok := l.result.Rig.Path()
	if !ok {
		return f, false
	}
	from, to := l.client.End, l.client.End.Other()
	mss := float64(v.MSSBytes)
	if mss <= 0 {
		mss = float64(path.Netdevs[from].MTU - limits.TCPHeaders)
	}
	f = traffic.Stream(from, path.Rails[from], to, path.Rails[to], v.ReceivedBytes, mss)
	f.Text = registry.Size(f.Payload) + " of payload counted by iperf3"
	return f, true
}

// cause is what shows on one of the rails.
func (l *loadRun) cause() (text string, code steps.Code) {
	r := l.result
	for i, p := range l.rails {
		m := registry.Measurement{No: l.numbers[i], Dev: r.Rig.Rail(p, steps.Here).Dev, Pair: p}
		got := float64(l.rdma) / float64(len(l.rails))
		c := traffic.LikelyCause(r.Rig, traffic.Rate{Measurement: m, Gbps: got, MTU: l.mtu, Bytes: r.Stages[0].Bytes})
		if c.Known {
			return c.Text, c.Code
		}
		text = c.Text
	}
	return text, steps.BelowLimit
}
