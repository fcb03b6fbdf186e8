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

// note says what threads and a bond make of the streams.
func (t *tcpTest) note() string {
	path, one := t.path, t.read.Streams == 1
	switch {
	case t.single != "":
		return "One thread served all streams: " + t.single + ". Newer iperf3 has one thread per stream"
	case path.Bonded != [2]bool{true, true} || len(path.Rails[steps.Here]) < 2:
		return ""
	case path.Netdevs[steps.Here].BondMode == "active-backup":
		return "An active-backup bond uses one link; the other is the spare"
	case path.Netdevs[steps.Here].BondMode == "balance-rr" && one:
		return "balance-rr spreads one connection over both links, so packets arrive out of order"
	case one:
		return "A bond hashes each connection to one link, so one stream is at most as fast as one rail"
	case t.band.Expected > 0:
		return "The tutorial reports 93.0 for both links, but counted neither"
	}
	return ""
}

// judgeTCP holds what iperf3 measured against the documents' figures and the
// link, and against the bytes that each interface counted: which link carried it?
func judgeTCP(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	path, ok := r.Rig.Path()
	if !ok {
		rep.Add(steps.NoRail, steps.Inconclusive, "no address of the rails connects the nodes. Run: railbench run rail-map")
		return rep.Verdict()
	}
	over, ends := overPath(r.Rig, path)
	rep.Show("TCP path", over+" ("+ends+")", "", nil)
	checkPathLinks(r.Rig, path, &rep)
	t := tcpTest{cell: c, result: r, stage: r.Stages[0], path: path, rep: &rep}
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: t.stage, Ports: portsOf(path), Rep: &rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if !ok {
		// A bond at one end only is why nothing came of it; where there is a figure, it is a
		// warning: some connections get through, and the next one may not.
		checkPathEnds(r.Rig, path, steps.Fail, &rep)
		return rep.Verdict()
	}
	checkPathEnds(r.Rig, path, steps.Warn, &rep)
	test, b, links := t.read, t.band, account.Carried(t.from())
	lead := fmt.Sprintf("%s of TCP with %s over %s", registry.Gbps(test.ReceivedGbps), streams(test.Streams), over)
	switch {
	case b.Expected <= 0:
	case test.Streams == 1 && test.ReceivedGbps > limits.TCPOneStream.High():
		lead += fmt.Sprintf("; more than measured so far (%g)", limits.TCPOneStream.High())
	case unseen(path, test):
		lead += fmt.Sprintf("; more than measured so far (%g), within the links' limit (%.1f)",
			limits.TCPFourStreams.High(), b.Limit)
	default:
		lead += fmt.Sprintf(", expected at least %.1f", b.passes)
	}
	floor := ""
	if b.least && b.Expected > 0 {
		floor = "No measurement exists of several streams outside a bond; what one stream reaches is expected"
	}
	return rep.Verdict(lead, links, t.note(), floor)
}

// singleThreads says which end served several streams with one thread, as iperf3 did before 3.16: one core then ends
// them all, as it ends one. It is empty where none did, and where no end reports its version.
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

// overPath names a path, and its two ends.
func overPath(rig steps.Rig, p steps.Path) (over, ends string) {
	var at [2]string
	for _, e := range steps.Ends {
		at[e] = fmt.Sprintf("%s %s", p.Netdevs[e].Name, p.Addrs[e])
	}
	var nos []string
	for _, n := range railNumbers(rig, p) {
		nos = append(nos, fmt.Sprint(n))
	}
	switch {
	case p.Bonded[0] || p.Bonded[1]:
		over = "the bond"
	case len(nos) > 1:
		over = "rails " + registry.And(nos)
	default:
		over = strings.TrimSpace("rail " + registry.And(nos))
	}
	return over, at[steps.Here] + " to " + at[steps.Peer]
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

// noRoom is how iperf3 says that /tmp, where it keeps what a stream sends, is full or may not be written.
var noRoom = lazyregexp.New(`failed to read /dev/urandom|No space left on device`)

// tcpCauses are how iperf3 words a failure.
var tcpCauses = []registry.Cause{
	{
		Pattern: noRoom, Code: steps.DiskFull, Grade: steps.Inconclusive,
		Means: "iperf3 on %s could not write its temporary file. Free space in /tmp, then run: railbench doctor disk-space",
	},
	{
		Pattern: terminated, Code: steps.ProgramKilled, Grade: steps.Inconclusive,
		Means: "iperf3 was terminated from outside (seen on %s). Rerun the test",
	},
	{
		Pattern: lazyregexp.New(`server is busy`), Code: steps.ServerBusy, Grade: steps.Inconclusive,
		Means: "the iperf3 server on %s is busy with another test. Wait until it ends, then " +
			"rerun",
	},
	{
		Pattern: lazyregexp.New(`Address already in use`), Code: steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is in use on %s. Stop the process that listens there (ss -ltnp), or " +
			"set TCP_PORT",
	},
	{
		Pattern: lazyregexp.New(`Cannot assign requested address`), Code: steps.AddressGone, Grade: steps.Inconclusive,
		Means: "the address is missing on %s. Probe the rig again",
	},
	{
		Pattern: lazyregexp.New(`unable to connect|No route|unreachable|timed out`), Code: steps.ServerUnreachable,
		Grade: steps.Inconclusive,
		Means: "%s cannot reach the server at the other end. Run: railbench doctor routes " +
			"firewall",
	},
	{
		Pattern: lazyregexp.New(`control socket|Connection reset|Broken pipe`), Code: steps.ConnectionBroke, Grade: steps.Fail,
		Means: "the connection broke during the test (seen on %s). Check the cables and the " +
			"server's last lines, then rerun",
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
	switch {
	case t.stage.Stalled: // what the ends said when they were stopped follows from that
		t.rep.Add(steps.TestStalled, steps.Inconclusive, "no data moved for %s, so iperf3 was stopped. Run: railbench "+
			"doctor firewall path-loss", t.cell.Stall)
		return false
	case t.stage.Err != "":
		t.rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", t.stage.Err)
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
	// What the other end of one that was ended, or gave up, says of its connection follows from that.
	slices.SortStableFunc(ends, func(a, b steps.Output) int {
		rank := func(o steps.Output) int {
			v, _ := o.Value.(parse.Iperf3)
			return map[bool]int{false: 1}[terminated.Regexp().MatchString(v.Error) || noRoom.Regexp().MatchString(v.Error)]
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
			t.rep.Note(f)
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
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "iperf3 reports %g Gb/s in %s and %g s, which is not a result",
			v.ReceivedGbps, streams(v.Streams), v.Seconds)
		return false
	}
	if t.server.ParseErr != "" {
		t.rep.Add(steps.OutputIncomplete, steps.Inconclusive, "the server's output has no readable result")
		return false
	}
	if why := cmp.Or(notOfThisRun(t.cell, t.client, v), otherAddresses(t.path, t.client.End, v)); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the client's output is not from this test: %s", why)
		return false
	}
	at, _ := t.server.Value.(parse.Iperf3)
	if got := at.ReceivedGbps; got > 0 && t.sendsHere() &&
		math.Abs(got-v.ReceivedGbps) > limits.EndsApart.Value()*v.ReceivedGbps {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive,
			"the two ends ran different tests: %s at the client, %s at the server",
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
			t.rep.Add(steps.BondOneLinkUsed, steps.Warn, "all %d streams used one link of the bond on %s. Check its mode and "+
				"hash policy (layer3+4)", t.read.Streams, t.result.Rig.NameOf(t.from()))
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
		return fmt.Sprintf("%s arrived, but only %s were sent", registry.Size(v.ReceivedBytes), registry.Size(v.SentBytes))
	case len(v.Each) == v.Streams && math.Abs(each-v.ReceivedGbps) > limits.EndsApart.Value()*v.ReceivedGbps:
		return fmt.Sprintf("its streams add up to %s, but it reports %s", registry.Gbps(each), registry.Gbps(v.ReceivedGbps))
	case asked && streams != v.Streams:
		return fmt.Sprintf("it reports %d streams, but %d were requested", v.Streams, streams)
	// iperf3 may end a little early, and then the clock of one end has it so.
	case timed && v.Seconds > 0 && v.Seconds < 0.9*float64(seconds):
		return fmt.Sprintf("it lasted %.3g s, but -t asked for %d", v.Seconds, seconds)
	}
	if why := cmp.Or(otherWay(c, client, v), otherOptions(c, client, v), verify.TooShort(client, v.Seconds)); why != "" {
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
			return fmt.Sprintf("it ran from %s to %s, but the path is %s to %s", v.Local, v.Remote, path.Addrs[client],
				path.Addrs[client.Other()])
		}
	}
	return ""
}

// otherWay says if a test sent another way than its script asked for, or was limited to a rate that
// its script did not ask for.
func otherWay(c steps.Cell, client steps.Output, v parse.Iperf3) string {
	const tool = "iperf3"
	back := verify.Calls(c, client, tool, "-R", "--reverse")
	switch {
	case v.Bidir && !verify.Calls(c, client, tool, "--bidir"):
		return "both ends sent at once, so its sum covers both directions"
	case v.Reverse && !back:
		return "the server sent instead of the client"
	case v.LimitGbps > 0 && !verify.Calls(c, client, tool, "-b", "--bitrate", "--bandwidth"):
		return fmt.Sprintf("it was limited to %s", registry.Gbps(v.LimitGbps))
	}
	return ""
}

// iperfWrite is how much a client of iperf3 writes at once where no one asks for another size, bytes.
const iperfWrite = 128 << 10

// otherOptions says if a test ran with other options than its script gave iperf3, or if its
// results contradict its options.
func otherOptions(c steps.Cell, client steps.Output, v parse.Iperf3) string {
	calls := func(options ...string) bool {
		return !verify.Calls(c, client, "iperf3") || verify.Calls(c, client, "iperf3", options...)
	}
	told := v.Asked
	switch {
	case len(v.Each) > 0 && told.Streams > 0 && told.Streams != len(v.Each):
		return fmt.Sprintf("it was asked for %d streams but reports %d", told.Streams, len(v.Each))
	case told.Seconds > 0 && v.Seconds > 0 &&
		math.Abs(v.Seconds-float64(told.Seconds)) > max(1, 0.1*float64(told.Seconds)):
		return fmt.Sprintf("it was asked for %d s but lasted %.3g", told.Seconds, v.Seconds)
	case told.Bytes > 0 && !calls("-n", "--bytes"), told.Blocks > 0 && !calls("-k", "--blockcount"):
		return "it was asked to end after a number of bytes instead of a time"
	case told.Omit > 0 && !calls("-O", "--omit"):
		return fmt.Sprintf("it was asked to omit its first %d s", told.Omit)
	case told.WriteBytes > 0 && told.WriteBytes != iperfWrite && !calls("-l", "--length"):
		return fmt.Sprintf("it wrote %s at once instead of %s",
			registry.Size(float64(told.WriteBytes)),
			registry.Size(iperfWrite))
	case v.ReceivedSeconds > 0 && v.SentSeconds > 0 && v.SentSeconds < v.ReceivedSeconds/2:
		return fmt.Sprintf("it sent for %.3g s but received for %.3g s", v.SentSeconds, v.ReceivedSeconds)
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

// ownError says what iperf3 says went wrong: with -J it ends with status 0 where it failed, so its own word comes
// first.
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
	rep.Add(steps.UnknownError, steps.Inconclusive, "iperf3 on %s reported: %s", rig.NameOf(o.End), v.Error)
	return true
}

// checkPathEnds: a bond at one end only.
func checkPathEnds(rig steps.Rig, p steps.Path, grade steps.Grade, rep *registry.Report) {
	for _, e := range steps.Ends {
		if p.Bonded[e] && !p.Bonded[e.Other()] {
			rep.Add(steps.BondOneSided, grade, "%s bonds its rails but %s does not, so packets on the other link are lost. "+
				"Run: railbench run bond-teardown",
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
				rep.At(rig, e, steps.InterfaceOff, grade, "%s on %s is switched off. Run: ip link set %s up", d.Name, rig.NameOf(e),
					d.Name)
			case !d.Carrier:
				rep.At(rig, e, steps.LinkDown, grade, "%s on %s has no link. Check its cable at both ends", d.Name, rig.NameOf(e))
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

// A tcpBand is what TCP should reach over a path, payload. What one stream reaches is anything between two figures,
// as processors end it: less than usual is not a fault yet, and only less than anybody saw is.
type tcpBand struct {
	limits.Band
	passes, fails rate.Payload // from which it passes, and below which it fails
	// least says that the expected figure is only a floor: no measurement with so many streams is known
	// there.
	least bool
}

// bandOf is the band of some streams over a path: what was measured with as many, or what the
// link carries where that is less. It is limited by the lesser end. single says why they have
// one thread together; empty where each has its own.
func bandOf(rig steps.Rig, p steps.Path, streams int, single string) tcpBand {
	var b tcpBand
	none := func(why string, soft bool) tcpBand {
		declared := min(p.Netdevs[steps.Here].SpeedGbps, p.Netdevs[steps.Peer].SpeedGbps)
		return tcpBand{Band: limits.Band{None: why, Soft: soft, Declared: rate.Payload(declared)}}
	}
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
		return none("no rail is used", false)
	}
	usual, least := limits.TCPTutorialStream.Value(), limits.TCPOneStream.Low()
	b.From = "one stream, limited by a processor core: " + limits.TCPOneStream.Entry().Says()
	switch {
	case streams == 1:
	case single != "":
		b.From = "one thread for all streams, limited by a processor core like one stream: " +
			limits.TCPOneStream.Entry().Says()
	case streams >= 4 && p.Bonded == [2]bool{true, true}:
		usual, least = limits.TCPFourStreams.High(), limits.TCPFourStreams.Low()
		b.From = "four streams over a bond: " + limits.TCPFourStreams.Entry().Says()
	default:
		b.From = "several streams are at least as fast as one, which is " + limits.TCPOneStream.Entry().Says()
		b.least = true
	}
	b.Expected, b.Basis = rate.Payload(usual), limits.Measured
	b.fails = min(rate.Payload(least), rate.Payload(usual*limits.TCPWarnShare.Value()))
	if b.Limit < b.Expected {
		b.Expected, b.Basis, b.From = b.Limit, limits.Derived, fmt.Sprintf("the link carries at most %.1f", b.Limit)
		b.fails = b.Limit * rate.Payload(limits.TCPWarnShare.Value())
		b.least = false
	}
	b.passes = b.Expected * rate.Payload(limits.TCPPassShare.Value())
	return b
}

// tcpLimit is what the links of a path and the PCIe links behind them carry at one end. none says why no one knows,
// and soft that no hardware limits it.
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

// expects is the band as evidence shows it.
func (b tcpBand) expects() *steps.Expected {
	if b.Expected <= 0 {
		return &steps.Expected{From: "no expected range: " + b.None}
	}
	over := rate.Payload(limits.OverShare.Value()) * b.Limit
	return &steps.Expected{
		Min: new(registry.Round(float64(b.passes))), Max: new(registry.Round(float64(over))),
		From: fmt.Sprintf("at least %g of %.1f (%s), at most %g of %.1f (hardware limit)", limits.TCPPassShare.Value(),
			b.Expected, b.From, limits.OverShare.Value(), b.Limit),
	}
}

// below is how bad a figure is that does not pass.
func (b tcpBand) below(got rate.Payload) steps.Grade {
	if got < b.fails {
		return steps.Fail
	}
	return steps.Warn
}

// mtuSuspected says how the MTUs of a path may have lost nearly all packets.
func mtuSuspected(mtus string, differ bool) (steps.Code, string) {
	if differ {
		return steps.MTUDiffers, "they differ: " + mtus
	}
	return steps.PathMTUSmall, "the MTUs look equal (" + mtus + "). Try a ping that fills them: a device in between " +
		"may have a smaller MTU"
}

// judgeTCPFigure puts the figure on record and says how it stands. The order is that of what explains more: more than
// the hardware allows is not a measurement, next to nothing is lost packets whatever the band, and only then is there
// a share of the band.
func judgeTCPFigure(r steps.Result, s steps.Stage, p steps.Path, test parse.Iperf3, b tcpBand, rep *registry.Report) {
	over := rate.Payload(limits.OverShare.Value()) * b.Limit
	showTCP(r.Rig, p, test, b.expects(), rep)
	mtus, differ := pathMTUs(r.Rig, p)
	rep.Show("TCP path MTUs", mtus, "", nil)
	got := rate.Payload(test.ReceivedGbps)
	way, _ := overPath(r.Rig, p)
	said := registry.Gbps(test.ReceivedGbps) + " over " + way
	zero := rate.Payload(limits.TCPNearZero.Value())
	nearZero := got < zero && b.Expected > 2*zero // on a slow link, little is not a sign
	if differ && !nearZero {
		rep.Add(steps.MTUDiffers, steps.Warn, "the MTUs differ: %s. Set all alike", mtus)
	}
	switch {
	case b.Crawls(got):
		rep.Add(steps.BelowLimit, steps.Warn, "%s, but the link declares %.0f Gb/s. Run: railbench doctor shaping path-loss",
			said, float64(b.Declared))
	case b.Soft:
		rep.Add("", steps.Pass, "No expected range: %s", b.None)
	case b.None != "":
		rep.Add(steps.NoLimitKnown, steps.Inconclusive, "%s; whether the path can do more is unknown: %s",
			said, b.None)
	case got > over:
		rep.Add(steps.FigureImpossible, steps.Inconclusive,
			"%s is more than the hardware can carry (%.1f). Check whether it took this path", said, b.Limit)
	case got < b.passes && b.Unless != "" && !(nearZero && differ):
		rep.Add(steps.NoLimitKnown, steps.Inconclusive,
			"%s, usually at least %.1f; whether this path can reach it is unknown: %s%s",
			said, b.passes, b.Unless, lossSigns(test))
	case nearZero:
		code, why := mtuSuspected(mtus, differ)
		rep.Add(code, steps.Fail, "%s although it connects, which is typical of an MTU mismatch: %s%s", said, why,
			lossSigns(test))
	case got < b.passes:
		code, why := tcpCause(r, s, p, test)
		rep.Add(code, b.below(got), "%s, expected at least %.1f. %s", said, b.passes, why)
	case unseen(p, test):
		rep.Show("highest TCP rate measured over a bond", limits.TCPFourStreams.High(), "Gb/s", nil)
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
			rep.Add(steps.StreamsUneven, steps.Warn, "%d of %d streams carried %s. Check the path that their ports hash to",
				of.n, len(test.Each), of.said)
		}
	}
	if test.Stopped > 0 {
		rep.Add(steps.TestStalled, steps.Warn, "no data moved for %.3g s. Check retransmits (path-loss) and the link at "+
			"that time (dmesg)", test.Stopped)
	}
	cause := resent(test)
	if cause == "" || slices.ContainsFunc(rep.Findings,
		func(f registry.Finding) bool { return f.Code == steps.PacketsResent }) {
		return
	}
	rep.Add(steps.PacketsResent, steps.Warn, "%s", cause)
}

// resent reports segments that were sent again, where they are more than a link of one's own loses; empty where they
// aren't, or no one knows. Retransmits are counted in segments, bytes by the receiver: an estimate, and as such it is
// compared with a share far above a link's own.
func resent(test parse.Iperf3) string {
	if test.MSSBytes <= 0 || test.Retransmits <= 0 {
		return ""
	}
	segments := test.ReceivedBytes / float64(test.MSSBytes)
	share := float64(test.Retransmits) / segments
	if share <= limits.TCPResent.Value() {
		return ""
	}
	return fmt.Sprintf("%.2g %% of the segments were retransmitted at %s. Run: railbench doctor path-loss "+
		"shaping", 100*share, registry.Gbps(test.ReceivedGbps))
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
		rep.Show("TCP reordered packets", test.Reordered, "times", nil)
	}
	if test.CwndBytes > 0 {
		rep.Show("TCP largest congestion window", test.CwndBytes, "bytes", nil)
	}
	if test.Asked.Window > 0 {
		rep.Show("TCP socket buffers asked for", test.Asked.Window, "bytes", nil)
	}
	if test.Asked.Omit > 0 {
		rep.Show("TCP seconds left out", test.Asked.Omit, "s", nil)
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
		signs = append(signs, fmt.Sprintf("a congestion window of at most %s", registry.Size(float64(test.CwndBytes))))
	}
	if len(signs) == 0 {
		return ""
	}
	return " (" + registry.And(signs) + ")"
}

// plainMTU is Ethernet's own, below which no one measured TCP.
const plainMTU = 1500

// tcpCause looks for what ends TCP early, the surest sign first.
func tcpCause(r steps.Result, s steps.Stage, p steps.Path, test parse.Iperf3) (steps.Code, string) {
	// A window may be enough for a short way; with one of a megabyte a direct link is full.
	if w := float64(test.Asked.Window); w > 0 && w < limits.TCPOwnWindow.Value() {
		return steps.WindowSmall, fmt.Sprintf("Its socket buffers were limited to %s (-w). Rerun without -w",
			registry.Size(w))
	}
	for _, e := range steps.Ends {
		for _, i := range p.Rails[e] {
			rail := r.Rig.At(e).Rails[i]
			if limits.Narrow(rail) {
				return steps.PCIeNarrow, fmt.Sprintf("%s on %s runs at %s instead of %s. Run: railbench doctor pcie-link",
					rail.Dev, r.Rig.NameOf(e),
					limits.Slot(rail.PCI.GTps, rail.PCI.Width), limits.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth))
			}
		}
	}
	for _, b := range s.Bytes {
		// A third node is not an end of the path, and has no rails in it.
		if int(b.End) < len(p.Rails) && b.IdleGbps > limits.BusyBefore.Value() && slices.Contains(p.Rails[b.End], b.Rail) {
			return steps.OtherTraffic, fmt.Sprintf("Other traffic of %.1f Gb/s was on %s at %s. Stop it", b.IdleGbps,
				b.Dev, r.Rig.NameOf(b.End))
		}
	}
	if said := resent(test); said != "" {
		return steps.PacketsResent, said
	}
	if d := p.Netdevs[steps.Here]; d.MTU > 0 && d.MTU < plainMTU {
		return steps.MTUSmall, fmt.Sprintf("%s has an MTU of %d, which costs processor time. Raise it to at least %d "+
			"(cell mtu)", d.Name, d.MTU, plainMTU) + lossSigns(test)
	}
	// What a degraded adapter lets through is of each link, and several streams may take several.
	links := 1.0
	if test.Streams > 1 {
		links = float64(len(p.Rails[steps.Here]))
	}
	degraded := limits.DegradedAdapter
	if got := test.ReceivedGbps; got >= degraded.Low() && got <= degraded.High()*links {
		return steps.BelowLimit, "Compare with ib-write-bw: if it is as slow, the adapter is degraded. " +
			"Otherwise check processors and path-loss" + lossSigns(test)
	}
	return steps.BelowLimit, "Compare with ib-write-bw: if it is fast, check path-loss, shaping and the processors" +
		lossSigns(test)
}

// Flows are one, counted by the interfaces: RDMA's port counters don't see TCP on an adapter
// that has them.
func (t *tcpTest) Flows() []traffic.Flow {
	from := t.from()
	mss := float64(t.read.MSSBytes)
	if mss <= 0 { // iperf3's text doesn't report it: full segments then
		mss = float64(t.path.Netdevs[from].MTU - limits.TCPHeaders)
	}
	f := traffic.Stream(from, t.path.Rails[from], from.Other(), t.path.Rails[from.Other()], t.read.ReceivedBytes, mss)
	f.Text = registry.Size(f.Payload) + " of payload counted by iperf3"
	if omit := float64(t.read.Asked.Omit); omit > 0 { // what was sent in that time is on the links, and not in its sum
		f.More = limits.BytesMoreIP.Value() * (t.read.Seconds + omit) / t.read.Seconds
		f.Text += fmt.Sprintf(" without its first %.0f s", omit)
	}
	return []traffic.Flow{f}
}
