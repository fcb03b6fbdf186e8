package tcp

import (
	"cmp"
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

// judgeTCP holds what iperf3 measured against the documents' figures and the
// link, and against the bytes that each interface counted: which link carried it?
func judgeTCP(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	path, ok := r.Rig.Path()
	if !ok {
		rep.Add(steps.NoRail, steps.Inconclusive, "no address leads from node to node over the rails: see the rail map")
		return rep.Verdict()
	}
	over := overPath(r.Rig, path)
	rep.Show("TCP path", over, "", nil)
	checkPathLinks(r.Rig, path, &rep)
	t := tcpTest{cell: c, result: r, stage: r.Stages[0], path: path, rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: t.stage, Ports: portsOf(path), Rep: &rep, Add: rep.Add}
	account, ok := line.Hear(&t)
	if !ok {
		// A bond at one end only is why nothing came of it; where there is a figure, it is a
		// warning: some connections get through, and the next one may not.
		checkPathEnds(r.Rig, path, steps.Fail, &rep)
		return rep.Verdict()
	}
	checkPathEnds(r.Rig, path, steps.Warn, &rep)
	test, b, single, links := t.read, t.band, t.single, account.Carried(t.from())
	lead := fmt.Sprintf("%s of TCP with %s over %s", registry.Gbps(test.ReceivedGbps), streams(test.Streams), over)
	switch {
	case b.Expected <= 0:
	case test.Streams == 1 && test.ReceivedGbps > limits.TCPOneStream.High():
		lead += fmt.Sprintf(": more than railbench knows of (%s)", b.From)
	case unseen(path, test):
		lead += fmt.Sprintf(": more than railbench knows of (%s), and the links allow %.1f", b.From, b.Limit)
	default:
		lead += ": " + b.says()
	}
	note := ""
	switch {
	case single != "":
		note = "All streams had one thread, because " + single + ": newer ones have one for each"
	case path.Bonded != [2]bool{true, true} || len(path.Rails[steps.Here]) < 2:
	case path.Netdevs[steps.Here].BondMode == "active-backup":
		note = "An active-backup bond uses one link at a time and keeps the other for when it fails"
	case path.Netdevs[steps.Here].BondMode == "balance-rr" && test.Streams == 1:
		note = "balance-rr deals one connection out to both links, and its packets arrive in disorder"
	case test.Streams == 1:
		note = "A bond hashes each connection to one link, so a single stream is no faster than on one rail"
	case b.Expected > 0:
		note = "(The tutorial shows 93.0 as both links, and counted neither.)"
	}
	return rep.Verdict(lead, links, note)
}

// singleThreads says which end served several streams with one thread, as iperf3 did before
// 3.16: one core then ends them all, as it ends one. It is empty where none did, and where
// no end tells its version.
func singleThreads(rig steps.Rig, s steps.Stage, test parse.Iperf3) string {
	if test.Streams < 2 {
		return ""
	}
	var old []string
	for _, o := range s.Outputs {
		v, _ := o.Value.(parse.Iperf3)
		if threaded, known := v.Threaded(); known && !threaded {
			old = append(old, fmt.Sprintf("%s on %s is older than 3.16", strings.Replace(v.Version, "iperf ", "iperf3 ", 1),
				rig.NameOf(o.End)))
		}
	}
	return registry.And(old)
}

// streams is a number of connections in words.
func streams(n int) string {
	if n == 1 {
		return "one stream"
	}
	return fmt.Sprintf("%d streams", n)
}

// overPath names the way in words.
func overPath(rig steps.Rig, p steps.Path) string {
	var at [2]string
	for _, e := range steps.Ends {
		at[e] = fmt.Sprintf("%s %s", p.Netdevs[e].Name, p.Addrs[e])
	}
	over := "rail"
	if n := railNumber(rig, p); n > 0 {
		over = fmt.Sprintf("rail %d", n)
	}
	if p.Bonded[0] || p.Bonded[1] {
		over = "the bond"
	}
	return fmt.Sprintf("%s (%s to %s)", over, at[steps.Here], at[steps.Peer])
}

// railNumber is that of the one rail that a path leads over, counted from 1; 0 where that
// is a bond, several, or none of the rig's pairs.
func railNumber(rig steps.Rig, p steps.Path) int {
	if all := railNumbers(rig, p); len(all) == 1 {
		return all[0]
	}
	return 0
}

// railNumbers are those of the rails that a path leads over, counted from 1; none where that is a
// bond.
func railNumbers(rig steps.Rig, p steps.Path) (all []int) {
	if p.Bonded[0] || p.Bonded[1] {
		return nil
	}
	for i, q := range rig.Pairs {
		if slices.Contains(p.Rails[steps.Here], q.Rails[steps.Here]) {
			all = append(all, i+1)
		}
	}
	return all
}

// terminated is how iperf3 says that a signal ended it, or that the other end says so.
var terminated = lazyregexp.New(`(?:server|client) has terminated`)

// tcpCauses are how iperf3 words a failure.
var tcpCauses = []registry.Cause{
	{
		Pattern: terminated, Code: steps.ProgramKilled, Grade: steps.Inconclusive,
		Means: "somebody ended an end of iperf3 (seen on %s), and what the other one said follows from that; run it again",
	},
	{
		Pattern: lazyregexp.New(`server is busy`), Code: steps.ServerBusy, Grade: steps.Inconclusive,
		Means: "the iperf3 server on %s is busy with somebody else's test",
	},
	{
		Pattern: lazyregexp.New(`Address already in use`), Code: steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is taken on %s: end the process that listens there (ss -ltnp), or set TCP_PORT",
	},
	{
		Pattern: lazyregexp.New(`Cannot assign requested address`), Code: steps.AddressGone, Grade: steps.Inconclusive,
		Means: "the address is gone on %s: probe the rig again",
	},
	{
		Pattern: lazyregexp.New(`unable to connect|No route|unreachable|timed out`), Code: steps.ServerUnreachable,
		Grade: steps.Inconclusive,
		Means: "no server could be reached from %s: the route, a firewall, or a server that ended early",
	},
	{
		Pattern: lazyregexp.New(`control socket|Connection reset|Broken pipe`), Code: steps.ConnectionBroke, Grade: steps.Fail,
		Means: "the connection broke in the middle (seen on %s): look at the cables and at the server's last lines, and " +
			"run it again",
	},
}

// portsOf are those of a path, at both ends.
func portsOf(p steps.Path) (ports []traffic.Port) {
	for _, e := range steps.Ends {
		for _, i := range p.Rails[e] {
			ports = append(ports, traffic.Port{Node: e, Rail: i})
		}
	}
	return ports
}

// A tcpTest is one run of iperf3.
type tcpTest struct {
	cell   steps.Cell
	result steps.Result
	stage  steps.Stage
	path   steps.Path
	rep    *registry.Report

	client, server steps.Output
	read           parse.Iperf3
	band           tcpBand
	single         string // why all streams had one thread; empty where they had not
}

// Ends: with -J iperf3 ends with status 0 where it failed, so its own word comes before its
// status.
func (t *tcpTest) Ends() bool {
	if t.stage.Err != "" {
		t.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "it stopped: %s", t.stage.Err)
	}
	client, server := tcpRoles(t.stage)
	if client == nil || server == nil {
		if t.stage.Err == "" {
			t.rep.Add(steps.NotRunHere, steps.Inconclusive, "not both ends ran")
		}
		return false
	}
	t.client, t.server = *client, *server
	ends := []steps.Output{t.client, t.server}
	// What the other end of one that was ended says of its connection follows from that.
	slices.SortStableFunc(ends, func(a, b steps.Output) int {
		rank := func(o steps.Output) int {
			v, _ := o.Value.(parse.Iperf3)
			return map[bool]int{false: 1}[terminated.Regexp().MatchString(v.Error)]
		}
		return rank(a) - rank(b)
	})
	for _, o := range ends {
		if ownError(t.result.Rig, o, t.server.End, t.rep) {
			return false
		}
	}
	for _, o := range []steps.Output{t.client, t.server} {
		if f, bad := registry.Trouble(t.result.Rig, o); bad {
			t.rep.Add(f.Code, f.Grade, "%s", f.Text)
			return false
		}
		if !o.Exit.OK() {
			t.rep.Add(steps.ScriptFailed, steps.Inconclusive, "the %s on %s ended with %s", registry.OrUnknown(o.Role),
				t.result.Rig.NameOf(o.End), o.Exit)
			return false
		}
	}
	return t.stage.Err == ""
}

// Output reads what the client reports, and the server where it does.
func (t *tcpTest) Output() bool {
	v, ok := registry.Value[parse.Iperf3](t.result, t.client, t.rep)
	if !ok {
		return false
	}
	t.read = v
	if v.ReceivedGbps <= 0 || v.ReceivedBytes <= 0 || v.Streams <= 0 || v.Seconds <= 0 {
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "iperf3 reports %g Gb/s in %s and %g s", v.ReceivedGbps,
			streams(v.Streams), v.Seconds)
		return false
	}
	if t.server.ParseErr != "" {
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the server's output has no result that can be read: it "+
			"counts what arrived, too")
		return false
	}
	if why := cmp.Or(notOfThisRun(t.cell, t.client, v), otherAddresses(t.path, t.client.End, v)); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the client's output is not this test's: %s", why)
		return false
	}
	at, _ := t.server.Value.(parse.Iperf3)
	if got := at.ReceivedGbps; got > 0 && t.sendsHere() &&
		math.Abs(got-v.ReceivedGbps) > limits.EndsApart.Value()*v.ReceivedGbps {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the two ends' outputs are not of one test: %s at the client and "+
			"%s at the server",
			registry.Gbps(v.ReceivedGbps), registry.Gbps(got))
		return false
	}
	return true
}

// sendsHere reports whether the client sends; with -R the server does.
func (t *tcpTest) sendsHere() bool {
	return !verify.Calls(t.cell, t.client, "iperf3", "-R", "--reverse")
}

// from is the end that sends.
func (t *tcpTest) from() steps.End {
	if t.sendsHere() {
		return t.client.End
	}
	return t.client.End.Other()
}

// Figure is what arrived.
func (t *tcpTest) Figure(account traffic.Accounted) {
	t.single = singleThreads(t.result.Rig, t.stage, t.read)
	t.band = bandOf(t.result.Rig, t.path, t.read.Streams, t.single)
	if t.single != "" {
		t.rep.Show("TCP threads", 1, t.single, nil)
	}
	judgeTCPFigure(t.result, t.stage, t.path, t.read, t.band, t.rep)
	// An active-backup bond uses one link at a time: that is what it is for.
	from := t.path.Netdevs[t.from()]
	for _, l := range account.At(t.from(), true) {
		if t.read.Streams > 1 && t.path.Bonded[t.from()] && len(l.Ports) > 1 && slices.Max(l.Moved) > 0.95*l.Sum() &&
			from.BondMode != "active-backup" {
			t.rep.Add(steps.BondOneLinkUsed, steps.Warn, "all %d streams went over one link of the bond on %s: its mode or its "+
				"hash policy (layer3+4 tells connections apart) sends them there", t.read.Streams, t.result.Rig.NameOf(t.from()))
		}
	}
}

// notOfThisRun says why a report is not that of the test that was started: as long, of as
// many streams, and with a rate that its bytes make.
func notOfThisRun(c steps.Cell, client steps.Output, v parse.Iperf3) string {
	const tool = "iperf3"
	streams, asked := verify.Number(c, client, tool, "-P")
	if !asked && !verify.Calls(c, client, tool, "-P", "--parallel") && verify.Calls(c, client, tool) {
		streams, asked = 1, true // iperf3's own default
	}
	seconds, timed := verify.Number(c, client, tool, "-t")
	each := 0.0
	for _, gbps := range v.Each {
		each += gbps
	}
	switch {
	case v.Protocol != "" && v.Protocol != "TCP":
		return "it is a test of " + v.Protocol
	case v.SentBytes > 0 && v.ReceivedBytes > (1+limits.EndsApart.Value())*v.SentBytes:
		return fmt.Sprintf("%s arrived, and %s were sent", registry.Size(v.ReceivedBytes), registry.Size(v.SentBytes))
	case len(v.Each) == v.Streams && math.Abs(each-v.ReceivedGbps) > limits.EndsApart.Value()*v.ReceivedGbps:
		return fmt.Sprintf("its streams make %s together, and it says %s", registry.Gbps(each), registry.Gbps(v.ReceivedGbps))
	case asked && streams != v.Streams:
		return fmt.Sprintf("it reports %d streams, and %d were asked for", v.Streams, streams)
	// iperf3 may end a little early, and then the clock of one end has it so.
	case timed && v.Seconds > 0 && v.Seconds < 0.9*float64(seconds):
		return fmt.Sprintf("it lasted %.3g s, and -t asked for %d", v.Seconds, seconds)
	}
	if why := cmp.Or(otherWay(c, client, v), otherOptions(c, client, v)); why != "" {
		return why
	}
	if v.ReceivedSeconds > 0 {
		return verify.Makes(v.ReceivedGbps, v.ReceivedBytes, v.ReceivedSeconds, 0.01)
	}
	// Its text has three digits of each figure, and the ends measure their seconds apart.
	return verify.Makes(v.ReceivedGbps, v.ReceivedBytes, v.Seconds, 0.05)
}

// otherAddresses says that a test went between other addresses than those of the path.
func otherAddresses(path steps.Path, client steps.End, v parse.Iperf3) string {
	for _, a := range []struct{ told, is string }{{v.Local, path.Addrs[client]}, {v.Remote, path.Addrs[client.Other()]}} {
		if a.told != "" && a.is != "" && strings.TrimPrefix(a.told, "::ffff:") != a.is {
			return fmt.Sprintf("it went from %s to %s, and the path leads from %s to %s", v.Local, v.Remote, path.Addrs[client],
				path.Addrs[client.Other()])
		}
	}
	return ""
}

// otherWay says where a report is of a test that sent another way than its script asked for, or no faster
// than it was told to.
func otherWay(c steps.Cell, client steps.Output, v parse.Iperf3) string {
	const tool = "iperf3"
	back := verify.Calls(c, client, tool, "-R", "--reverse")
	switch {
	case v.Bidir && !verify.Calls(c, client, tool, "--bidir"):
		return "both ends sent at once, so its sum is of both ways"
	case v.Reverse && !back:
		return "the server sent, and the client was to"
	case v.LimitGbps > 0 && !verify.Calls(c, client, tool, "-b", "--bitrate", "--bandwidth"):
		return fmt.Sprintf("it was told to send no more than %s", registry.Gbps(v.LimitGbps))
	}
	return ""
}

// iperfWrite is how much a client of iperf3 writes at once where nobody asks for another size, bytes.
const iperfWrite = 128 << 10

// otherOptions says where a report is of a test that was told otherwise than its script tells iperf3, or
// contradicts what it was told.
func otherOptions(c steps.Cell, client steps.Output, v parse.Iperf3) string {
	calls := func(options ...string) bool {
		return !verify.Calls(c, client, "iperf3") || verify.Calls(c, client, "iperf3", options...)
	}
	told := v.Asked
	switch {
	case len(v.Each) > 0 && told.Streams > 0 && told.Streams != len(v.Each):
		return fmt.Sprintf("it was told to use %d streams, and tells of %d", told.Streams, len(v.Each))
	case told.Seconds > 0 && v.Seconds > 0 &&
		math.Abs(v.Seconds-float64(told.Seconds)) > max(1, 0.1*float64(told.Seconds)):
		return fmt.Sprintf("it was told to last %d s, and lasted %.3g", told.Seconds, v.Seconds)
	case told.Bytes > 0 && !calls("-n", "--bytes"), told.Blocks > 0 && !calls("-k", "--blockcount"):
		return "it was told to end after some bytes, and not after a time"
	case told.Omit > 0 && !calls("-O", "--omit"):
		return fmt.Sprintf("it was told to leave out its first %d s", told.Omit)
	case told.WriteBytes > 0 && told.WriteBytes != iperfWrite && !calls("-l", "--length"):
		return fmt.Sprintf("it wrote %s at once, and nobody asked for another size than %s",
			registry.Size(float64(told.WriteBytes)),
			registry.Size(iperfWrite))
	case v.ReceivedSeconds > 0 && v.SentSeconds > 0 && v.SentSeconds < v.ReceivedSeconds/2:
		return fmt.Sprintf("it sent for %.3g s, and took %.3g s to receive that", v.SentSeconds, v.ReceivedSeconds)
	}
	return ""
}

// tcpRoles are the outputs of both ends; nil for one that did not run.
func tcpRoles(s steps.Stage) (client, server *steps.Output) {
	for _, o := range s.Outputs {
		if o.Role == "server" {
			server = &o
		} else {
			client = &o
		}
	}
	return client, server
}

// ownError tells what iperf3 says went wrong: with -J it ends with status 0 where it
// failed, so its own word comes first.
func ownError(rig steps.Rig, o steps.Output, server steps.End, rep *registry.Report) bool {
	v, ok := o.Value.(parse.Iperf3)
	if !ok || v.Error == "" {
		return false
	}
	rep.Show("iperf3's error on "+rig.NameOf(o.End), v.Error, "", nil)
	for _, c := range tcpCauses {
		if !c.Pattern.Regexp().MatchString(v.Error) {
			continue
		}
		where := o.End
		if strings.Contains(v.Error, "busy") { // the client says it of the server
			where = server
		}
		rep.Add(c.Code, c.Grade, c.Means, rig.NameOf(where))
		return true
	}
	rep.Add(steps.UnknownError, steps.Inconclusive, "iperf3 on %s says: %s", rig.NameOf(o.End), v.Error)
	return true
}

// checkPathEnds: a bond at one end only.
func checkPathEnds(rig steps.Rig, p steps.Path, grade steps.Grade, rep *registry.Report) {
	for _, e := range steps.Ends {
		if p.Bonded[e] && !p.Bonded[e.Other()] {
			rep.Add(steps.BondOneSided, grade, "%s bonds its rails and %s doesn't: what the bond sends over the other link "+
				"gets lost",
				rig.NameOf(e), rig.NameOf(e.Other()))
		}
	}
}

// checkPathLinks: a link that is down explains more than what iperf3 says.
// By what the probe saw before the run.
func checkPathLinks(rig steps.Rig, p steps.Path, rep *registry.Report) {
	for _, e := range steps.Ends {
		for _, i := range p.Rails[e] {
			d := rig.At(e).Rails[i].Netdev
			grade := steps.Fail
			if p.Bonded[e] && len(p.Rails[e]) > 1 {
				grade = steps.Warn // the bond has another
			}
			switch {
			case !d.Up:
				rep.Add(steps.InterfaceOff, grade, "%s on %s is switched off", d.Name, rig.NameOf(e))
			case !d.Carrier:
				rep.Add(steps.LinkDown, grade, "%s on %s has no link: check its cable at both ends", d.Name, rig.NameOf(e))
			}
		}
	}
}

// pathMTUs lists the MTUs on the way: of both ends, and of a bond's link where it
// has another than its bond. The bonds alone may look alike, and large packets get lost.
func pathMTUs(rig steps.Rig, p steps.Path) (text string, differ bool) {
	var all []string
	mtu := p.Netdevs[steps.Here].MTU
	for _, e := range steps.Ends {
		devs := []steps.Netdev{p.Netdevs[e]}
		for _, i := range p.Rails[e] {
			if d := rig.At(e).Rails[i].Netdev; d.MTU != devs[0].MTU {
				devs = append(devs, d)
			}
		}
		for _, d := range devs {
			all = append(all, fmt.Sprintf("%d on %s of %s", d.MTU, d.Name, rig.NameOf(e)))
			differ = differ || d.MTU != mtu
		}
	}
	return registry.And(all), differ
}

// A tcpBand is what TCP should reach over a path, payload. What one stream reaches is
// anything between two figures, as processors end it: less than usual is no fault yet, and
// only less than anybody saw is.
type tcpBand struct {
	limits.Band
	passes, fails rate.Payload // from which it passes, and below which it fails
	// least says that what is expected is no more than a floor: nobody measured so many streams there.
	least bool
}

// bandOf is the band of some streams over a path: what was measured with as many, or what the
// link carries where that is less. It is limited by the lesser end. single says why they have
// one thread together; empty where each has its own.
func bandOf(rig steps.Rig, p steps.Path, streams int, single string) tcpBand {
	var b tcpBand
	none := func(why string, soft bool) tcpBand { return tcpBand{Band: limits.Band{None: why, Soft: soft}} }
	for _, e := range steps.Ends {
		mtu := p.Netdevs[e].MTU
		if mtu <= limits.TCPHeaders {
			return none("the MTU is unknown", false)
		}
		sum, why, soft := tcpLimit(rig, e, p.Rails[e], mtu, streams)
		if why != "" {
			return none(why, soft)
		}
		b.Limit = limits.Lesser(b.Limit, sum)
	}
	if b.Limit == 0 {
		return none("no rail carries it", false)
	}
	usual, least := limits.TCPTutorialStream.Value(), limits.TCPOneStream.Low()
	b.From = "one stream, which a processor core limits: " + limits.TCPOneStream.Entry().Says()
	switch {
	case streams == 1:
	case single != "":
		b.From = "one thread for all streams, which a processor core limits as it does one: " +
			limits.TCPOneStream.Entry().Says()
	case streams >= 4 && p.Bonded == [2]bool{true, true}:
		usual, least = limits.TCPFourStreams.High(), limits.TCPFourStreams.Low()
		b.From = "four streams over a bond: " + limits.TCPFourStreams.Entry().Says()
	default:
		b.From = "several streams are no slower than one, and of one " + limits.TCPOneStream.Entry().Says()
		b.least = true
	}
	b.Expected, b.Basis = rate.Payload(usual), limits.Measured
	b.fails = min(rate.Payload(least), rate.Payload(usual*limits.TCPWarnShare.Value()))
	if b.Limit < b.Expected {
		b.Expected, b.Basis, b.From = b.Limit, limits.Derived, fmt.Sprintf("%.1f is all that the link can carry", b.Limit)
		b.fails = b.Limit * rate.Payload(limits.TCPWarnShare.Value())
		b.least = false
	}
	b.passes = b.Expected * rate.Payload(limits.TCPPassShare.Value())
	return b
}

// says is what a figure deserves that is no less than the band asks for, after it and a colon.
func (b tcpBand) says() string {
	if b.least {
		return fmt.Sprintf("no slower than one stream (from %.1f: %s); nobody measured several outside a bond", b.passes,
			limits.TCPTutorialStream.Entry().Says())
	}
	return fmt.Sprintf("as expected (%s)", b.From)
}

// tcpLimit is what the links of a path and the PCIe links behind them carry at one end.
// none says why nobody knows, and soft that no hardware limits it.
func tcpLimit(rig steps.Rig, e steps.End, rails []int, mtu, streams int) (limit rate.Payload, none string, soft bool) {
	together := func(a, b rate.Payload) rate.Payload { return a + b }
	if streams == 1 {
		together = func(a, b rate.Payload) rate.Payload { return max(a, b) } // one connection, one link
	}
	segments := limits.TCP(mtu)
	links, halves, order := map[string]rate.Payload{}, map[string]rate.Payload{}, []string(nil)
	cables := map[string]rate.Payload{}
	for _, i := range rails {
		rail := rig.At(e).Rails[i]
		switch {
		case rail.Soft():
			return 0, "a virtual link is as fast as the processor", true
		case rail.RateGbps <= 0:
			return 0, fmt.Sprintf("the link rate of %s on %s is unknown", rail.Netdev.Name, rig.NameOf(e)), false
		}
		// Rails are added up by the PCIe link that they share: two functions of one half have a
		// cable each and one PCIe link for both. Two halves may share a cable, which limits both.
		half := rail.PCI.Half()
		if links[half] == 0 {
			order = append(order, half)
		}
		links[half] = together(links[half], segments.Carries(rail.RateGbps))
		halves[half] = limits.PCIeLimit(rail, segments)
		cable := rail.Dev
		if rail.PhysPort >= 0 {
			cable = fmt.Sprint("port ", rail.PhysPort)
		}
		cables[cable] = segments.Carries(rail.RateGbps)
	}
	for _, half := range order {
		limit = together(limit, limits.Lesser(links[half], halves[half]))
	}
	var all rate.Payload
	for _, cable := range cables {
		all = together(all, cable)
	}
	return limits.Lesser(limit, all), "", false
}

// judgeTCPFigure puts the figure on record and says how it stands. The order is that of what
// explains more: more than the hardware allows is no measurement, next to nothing is lost
// packets whatever the band, and only then is there a share of the band.
func judgeTCPFigure(r steps.Result, s steps.Stage, p steps.Path, test parse.Iperf3, b tcpBand, rep *registry.Report) {
	e := &steps.Expected{From: b.From}
	over := rate.Payload(limits.OverShare.Value()) * b.Limit
	if b.Expected > 0 {
		e.Min, e.Max = new(registry.Round(float64(b.passes))), new(registry.Round(float64(over)))
		e.From = fmt.Sprintf("passes from %g of %.1f (%s), to %g of the %.1f that the hardware can carry",
			limits.TCPPassShare.Value(),
			b.Expected, b.From, limits.OverShare.Value(), b.Limit)
	} else {
		e.From = "no band: " + b.None
	}
	showTCP(r.Rig, p, test, e, rep)
	mtus, differ := pathMTUs(r.Rig, p)
	rep.Show("TCP path MTUs", mtus, "", nil)
	got, said := rate.Payload(test.ReceivedGbps), registry.Gbps(test.ReceivedGbps)
	zero := rate.Payload(limits.TCPNearZero.Value())
	nearZero := got < zero && b.Expected > 2*zero // on a slow link, little is no sign
	if differ && !nearZero {
		rep.Add(steps.MTUDiffers, steps.Warn, "the MTUs differ: %s; set all alike", mtus)
	}
	switch {
	case b.Soft:
		rep.Add("", steps.Pass, "There is no band to judge by: %s", b.None)
	case b.None != "":
		rep.Add(steps.NoLimitKnown, steps.Inconclusive, "%s, and nothing says whether that is what the path can do: %s",
			said, b.None)
	case got > over:
		rep.Add(steps.FigureImpossible, steps.Inconclusive, "%s is more than the %.1f that the hardware can carry: did it "+
			"take this path?", said,
			b.Limit)
	case got < b.passes && b.Unless != "" && !(nearZero && differ):
		rep.Add(steps.NoLimitKnown, steps.Inconclusive, "%s of %.1f (%s), and nothing says whether that is what the path "+
			"can do: %s%s", said,
			b.Expected, b.From, b.Unless, lossSigns(test))
	case nearZero:
		code, why := steps.PathMTUSmall, "the MTUs look alike ("+mtus+"), so try a ping that fills them: something between "+
			"may take less"
		if differ {
			code, why = steps.MTUDiffers, "they differ: "+mtus
		}
		rep.Add(code, steps.Fail, "%s although it connects: an MTU mismatch looks like this, and %s%s", said, why,
			lossSigns(test))
	case got < b.passes:
		grade := steps.Warn
		if got < b.fails {
			grade = steps.Fail
		}
		code, why := tcpCause(r, s, p, test)
		rep.Add(code, grade, "%s of %.1f (%s): %s", said, b.Expected, b.From, why)
	case unseen(p, test):
		rep.Show("the most that was measured of TCP over a bond", limits.TCPFourStreams.High(), "Gb/s", nil)
	}
}

// unseen reports whether several streams over a bond came to more than anybody measured.
func unseen(p steps.Path, test parse.Iperf3) bool {
	return test.Streams > 1 && p.Bonded == [2]bool{true, true} &&
		test.ReceivedGbps > limits.TCPUnseen.Value()*limits.TCPFourStreams.High()
}

// Signs are what a good sum hides: streams that stood still, and segments that were sent again.
func (t *tcpTest) Signs() {
	test, rep := t.read, t.rep
	still, slow := 0, 0
	for _, gbps := range test.Each {
		switch even := test.ReceivedGbps / float64(len(test.Each)); {
		case gbps < limits.BytesBeside.Value()*even:
			still++
		case gbps < limits.TCPStarved.Value()*even:
			slow++
		}
	}
	for _, of := range []struct {
		n    int
		said string
	}{{still, "nothing"}, {slow, "next to nothing"}} {
		if of.n > 0 && len(test.Each) > 1 {
			rep.Add(steps.StreamsUneven, steps.Warn, "%d of %d streams carried %s: look at the path that its ports hash to, "+
				"and at the other streams' figures", of.n, len(test.Each), of.said)
		}
	}
	if test.Stopped > 0 {
		rep.Add(steps.TestStalled, steps.Warn, "nothing at all was moved in %.3g s of it: look at what it lost "+
			"(retransmits, path-loss) and at the link in that time (dmesg)", test.Stopped)
	}
	cause := resent(test)
	if cause == "" || slices.ContainsFunc(rep.Findings,
		func(f registry.Finding) bool { return strings.Contains(f.Text, cause) }) {
		return
	}
	rep.Add(steps.PacketsResent, steps.Warn, "%s", cause)
}

// resent tells of segments that were sent again, where they are more than a link of one's own loses; empty where they
// aren't, or nobody knows.
// Retransmits are counted in segments, bytes by the receiver: an estimate, and as such it is compared with a
// share far above a link's own.
func resent(test parse.Iperf3) string {
	if test.MSSBytes <= 0 || test.Retransmits <= 0 {
		return ""
	}
	segments := test.ReceivedBytes / float64(test.MSSBytes)
	share := float64(test.Retransmits) / segments
	if share <= limits.TCPResent.Value() {
		return ""
	}
	return fmt.Sprintf("%d of some %.0f segments were sent again (%.2g %%): packets are lost on the way, or a queue is "+
		"too short (ethtool -S, tc -s qdisc, the check path-loss)", test.Retransmits, segments, 100*share)
}

// showTCP puts a test on record, and its figure.
func showTCP(rig steps.Rig, p steps.Path, test parse.Iperf3, e *steps.Expected, rep *registry.Report) {
	f := steps.Figure{
		What: steps.Throughput, Value: registry.Round(test.ReceivedGbps), Unit: "Gb/s",
		Streams: test.Streams, MTU: p.Netdevs[steps.Here].MTU, Memory: "DRAM", Rails: railNumbers(rig, p),
	}
	rep.Measured(f)
	rep.Show("TCP rate", f.Value, "Gb/s", e)
	rep.Show("TCP streams", test.Streams, "", nil)
	if len(test.Each) > 1 {
		rep.Show("TCP slowest and fastest stream", fmt.Sprintf("%s and %s", registry.Gbps(slices.Min(test.Each)),
			registry.Gbps(slices.Max(test.Each))), "", nil)
	}
	if test.Retransmits >= 0 {
		rep.Show("TCP retransmits", test.Retransmits, "segments", nil)
	}
	if test.Reordered >= 0 {
		rep.Show("TCP packets in another order", test.Reordered, "times", nil)
	}
	if test.CwndBytes > 0 {
		rep.Show("TCP largest congestion window", test.CwndBytes, "bytes", nil)
	}
	if test.MSSBytes > 0 {
		rep.Show("TCP segment size", test.MSSBytes, "bytes", nil)
	}
}

// lossSigns are what else shows that large packets get lost.
func lossSigns(test parse.Iperf3) string {
	var signs []string
	if test.Retransmits > 0 {
		signs = append(signs, fmt.Sprintf("%d retransmits", test.Retransmits))
	}
	if test.CwndBytes > 0 && float64(test.CwndBytes) < limits.TCPSmallWindow.Value() {
		signs = append(signs, fmt.Sprintf("a congestion window of %s at most", registry.Size(float64(test.CwndBytes))))
	}
	if len(signs) == 0 {
		return ""
	}
	return " (" + registry.And(signs) + ")"
}

// plainMTU is Ethernet's own, below which nobody measured TCP.
const plainMTU = 1500

// tcpCause looks for what ends TCP early, the surest sign first.
func tcpCause(r steps.Result, s steps.Stage, p steps.Path, test parse.Iperf3) (steps.Code, string) {
	for _, e := range steps.Ends {
		for _, i := range p.Rails[e] {
			rail := r.Rig.At(e).Rails[i]
			if limits.Narrow(rail) {
				ceiling, _ := limits.Ceiling(rail)
				return steps.PCIeNarrow, fmt.Sprintf("the PCIe link of %s on %s came up as %s, of which we expect %.0f Gb/s, "+
					"where it can do %s",
					rail.Dev, r.Rig.NameOf(e),
					limits.Slot(rail.PCI.GTps, rail.PCI.Width), ceiling, limits.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth))
			}
		}
	}
	for _, b := range s.Bytes {
		// A third node is no end of the path, and has no rails in it.
		if int(b.End) < len(p.Rails) && b.IdleGbps > limits.BusyBefore.Value() && slices.Contains(p.Rails[b.End], b.Rail) {
			return steps.OtherTraffic, fmt.Sprintf("%.1f Gb/s of other traffic were on %s at %s before it began", b.IdleGbps,
				b.Dev, r.Rig.NameOf(b.End))
		}
	}
	if said := resent(test); said != "" {
		return steps.PacketsResent, said
	}
	if d := p.Netdevs[steps.Here]; d.MTU > 0 && d.MTU < plainMTU {
		return steps.MTUSmall, fmt.Sprintf("%s has an MTU of %d: TCP needs more packets for the same bytes, and each costs "+
			"a processor; compare with %d "+
			"and more (the cell mtu)", d.Name, d.MTU, plainMTU) + lossSigns(test)
	}
	// What a degraded adapter lets through is of each link, and several streams may take several.
	links := 1.0
	if test.Streams > 1 {
		links = float64(len(p.Rails[steps.Here]))
	}
	degraded := limits.DegradedAdapter
	if got := test.ReceivedGbps; got >= degraded.Low() && got <= degraded.High()*links {
		return steps.BelowLimit, "if RDMA is as slow on this rail, the adapter came up degraded; if not, look at the " +
			"processors (power saving, interrupts on one core) and at retransmits (path-loss)" + lossSigns(test)
	}
	return steps.BelowLimit, "compare with RDMA on the same rail; if that is well, the kernel's way limits it: packets " +
		"that get lost (path-loss), a shaper (the check shaping finds one), or the processors (top, power saving, " +
		"interrupts on one core)" +
		lossSigns(test)
}

// Flows are one, counted by the interfaces: RDMA's port counters don't see TCP on an adapter
// that has them.
func (t *tcpTest) Flows() []traffic.Flow {
	from := t.from()
	mss := float64(t.read.MSSBytes)
	if mss <= 0 { // iperf3's text doesn't tell it: full segments then
		mss = float64(t.path.Netdevs[from].MTU - limits.TCPHeaders)
	}
	f := traffic.Stream(from, t.path.Rails[from], from.Other(), t.path.Rails[from.Other()], t.read.ReceivedBytes, mss)
	f.Text = registry.Size(f.Payload) + " of payload that iperf3 counted"
	return []traffic.Flow{f}
}
