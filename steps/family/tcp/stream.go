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
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
	"github.com/railbench/railbench/steps/traffic"
	"github.com/railbench/railbench/steps/verify"
)

// blockHeader is what railbench stream puts in front of each block, bytes.
const blockHeader = 24

// judgeStream holds what railbench stream moved, over one rail or several at once, against what
// TCP reached elsewhere and what the links carry, against its blocks' numbers and checksums, and
// against the bytes that each interface counted.
func judgeStream(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var rep registry.Report
	t := streamTest{cell: c, result: r, stage: r.Stages[0], rep: &rep}
	t.client, t.server = streamRoles(t.stage)
	if !t.findRails() {
		return rep.Verdict()
	}
	over := registry.Plural(len(t.numbers), "rail ", "rails ") + registry.And(texts(t.numbers))
	checkPathLinks(r.Rig, t.path, &rep)
	line := verify.Line{Cell: c, Rig: r.Rig, Stage: t.stage, Ports: portsOf(t.path), Rep: &rep, Add: rep.Add}
	account, ok := line.Verify(&t)
	if !ok {
		return rep.Verdict()
	}
	lead := fmt.Sprintf("%s of TCP by railbench stream, with %s, over %s", registry.Gbps(t.got.Gbps), streams(t.streams),
		over)
	if t.band.Expected > 0 {
		lead += fmt.Sprintf(", expected at least %.1f", t.band.passes)
	}
	blocks := fmt.Sprintf("all %.0f blocks of %s arrived intact", t.got.Blocks,
		registry.Size(t.got.Bytes/t.got.Blocks))
	return rep.Verdict(lead, blocks, account.Carried(t.client.End))
}

// A streamTest is one run of railbench stream.
// Numbers, pairs and addrs have one entry a rail, in the order in which the sender's script names them.
type streamTest struct {
	cell           steps.Cell
	result         steps.Result
	stage          steps.Stage
	rep            *registry.Report
	client, server *steps.Output // nil for one that did not run

	path    steps.Path // of all its rails together
	numbers []int      // of the rails, counted from 1
	pairs   []steps.Pair
	addrs   []string // the receiver's, in the same order

	sent, got parse.Stream
	streams   int
	band      tcpBand
}

func streamRoles(s steps.Stage) (client, server *steps.Output) {
	for _, o := range s.Outputs {
		if o.Role == "server" {
			server = &o
		} else {
			client = &o
		}
	}
	return client, server
}

func texts(numbers []int) (all []string) {
	for _, n := range numbers {
		all = append(all, fmt.Sprint(n))
	}
	return all
}

// findRails looks for the rails that its sender was given, by the variables that its script reads.
func (t *streamTest) findRails() bool {
	i := slices.IndexFunc(t.cell.Roles, func(r steps.Role) bool { return r.Name != "server" })
	from := steps.Here
	if i >= 0 {
		from = t.cell.Roles[i].On.Ends()[0]
	}
	rig := t.result.Rig
	half, hasHalf := rig.AcrossHalves()
	for n, p := range rig.Pairs {
		named := i >= 0 && rig.HasPair(n) && (t.cell.Roles[i].Reads(fmt.Sprintf("PEER_RAIL%d_IP", n+1)) ||
			hasHalf && p == half && t.cell.Roles[i].Reads("PEER_HALF_IP"))
		if !named {
			continue
		}
		if t.pairs == nil {
			for _, e := range steps.Ends {
				t.path.Netdevs[e], t.path.Addrs[e] = rig.Rail(p, e).Netdev, rig.Rail(p, e).Addr
			}
		}
		for _, e := range steps.Ends {
			t.path.Rails[e] = append(t.path.Rails[e], p.Rails[e])
		}
		t.pairs, t.numbers, t.addrs = append(t.pairs, p), append(t.numbers, n+1),
			append(t.addrs, rig.Rail(p, from.Other()).Addr)
	}
	if t.pairs == nil {
		t.rep.Add(steps.NoRail, steps.Inconclusive, "no rail that it can use connects the nodes. Run: railbench run rail-map")
	}
	return t.pairs != nil
}

// streamCauses are how railbench stream words a failure.
var streamCauses = []registry.Cause{
	{
		Pattern: lazyregexp.New(`address already in use`), Code: steps.PortTaken, Grade: steps.Inconclusive,
		Means: "its port is in use on %s. Stop the process that listens there (ss -ltnp), or " +
			"set STREAM_PORT",
	},
	{
		Pattern: lazyregexp.New(`cannot assign requested address`), Code: steps.AddressGone, Grade: steps.Inconclusive,
		Means: "the rail's address is missing on %s. Probe the rig again",
	},
	{
		Pattern: lazyregexp.New(`connection refused|no route to host|network is unreachable|i/o timeout|host is unreachable`),
		Code:    steps.ServerUnreachable, Grade: steps.Inconclusive,
		Means: "%s cannot reach the receiver at the other end. Run: railbench doctor routes " +
			"firewall",
	},
	{
		Pattern: lazyregexp.New(`no stream of railbench's`), Code: steps.ForeignPeer, Grade: steps.Inconclusive,
		Means: "the other end of %s uses another protocol: another program connected, or the " +
			"railbench versions differ",
	},
	{
		Pattern: lazyregexp.New(`connection reset|broken pipe|use of closed`), Code: steps.ConnectionBroke, Grade: steps.Fail,
		Means: "the connection broke during the test (seen on %s). Check the cables and the " +
			"other end's last lines",
	},
	{
		Pattern: lazyregexp.New(`cannot allocate memory|make a buffer`), Code: steps.MemoryShort, Grade: steps.Inconclusive,
		Means: "not enough memory for a block on %s. Lower STREAM_BLOCK",
	},
}

// Ends: a receiver that got something else than was sent ends with status 1, and says so in its result, which Output
// reports.
func (t *streamTest) Ends() bool {
	rig, rep := t.result.Rig, t.rep
	for _, o := range []*steps.Output{t.server, t.client} {
		if o == nil {
			continue
		}
		for _, c := range streamCauses {
			if !o.Exit.OK() && c.Pattern.Regexp().MatchString(o.Text) {
				rep.Show("railbench stream on "+rig.NameOf(o.End), strings.TrimSpace(o.Complaint), "", nil)
				rep.Add(c.Code, c.Grade, c.Means, rig.NameOf(o.End))
				return false
			}
		}
	}
	if t.stage.Err != "" {
		rep.Add(steps.NotRunToEnd, steps.Inconclusive, "not completed: %s", t.stage.Err)
	}
	if t.client == nil || t.server == nil {
		if t.stage.Err == "" {
			rep.Add(steps.NotRunHere, steps.Inconclusive, "not both ends ran")
		}
		return false
	}
	for _, o := range []*steps.Output{t.client, t.server} {
		if f, bad := registry.Trouble(rig, *o); bad {
			rep.Note(f)
			return false
		}
		v, _ := o.Value.(parse.Stream)
		if !o.Exit.OK() && v.Lost+v.Corrupt+v.Cut == 0 {
			rep.Add(steps.ScriptFailed, steps.Inconclusive, "the %s on %s ended with %s: %s", o.Role, rig.NameOf(o.End), o.Exit,
				registry.OrUnknown(strings.TrimSpace(o.Complaint)))
			return false
		}
	}
	return t.stage.Err == ""
}

// Output reads what both ends report, and holds one against the other.
func (t *streamTest) Output() bool {
	var ok1, ok2 bool
	t.sent, ok1 = registry.Value[parse.Stream](t.result, *t.client, t.rep)
	t.got, ok2 = registry.Value[parse.Stream](t.result, *t.server, t.rep)
	if !ok1 || !ok2 || !t.whole() {
		return false
	}
	if why := cmp.Or(t.notOfThisRun(), t.disagree()); why != "" {
		t.rep.Add(steps.OutputForeign, steps.Inconclusive, "the outputs are not from this test: %s", why)
		return false
	}
	for _, o := range []*steps.Output{t.client, t.server} {
		v, _ := o.Value.(parse.Stream)
		t.rep.Show("railbench on "+t.result.Rig.NameOf(o.End), v.Railbench, "", nil)
	}
	for i, w := range t.got.Ways {
		if len(t.got.Ways) > 1 {
			t.rep.Show(fmt.Sprintf("rail %d", t.numbers[i]), registry.Round(w.Gbps), "Gb/s", nil)
		}
		t.streams += t.sent.Ways[i].Streams
	}
	return true
}

// whole reports whether everything arrived as it was sent. What went through a queue before was
// counted by the sender, all else by the receiver.
// TCP's checksum has 16 bits and is taken by the adapter, mostly, before the data crosses PCIe and memory:
// railbench's own is over what its program has.
func (t *streamTest) whole() bool {
	lost, corrupt := t.got.Lost+t.sent.Lost, t.got.Corrupt+t.sent.Corrupt
	name := t.result.Rig.NameOf(t.server.End)
	if corrupt > 0 {
		t.rep.Add(steps.DataCorrupt, steps.Fail, "%.0f of %.0f blocks arrived on %s with a wrong checksum. Check memory "+
			"(edac, dmesg) and checksum offload (ethtool -k)", corrupt,
			t.got.Blocks, name)
	}
	if lost > 0 {
		t.rep.Add(steps.DataLost, steps.Fail, "%.0f blocks are missing on %s", lost, name)
	}
	cut := max(t.got.Cut, t.sent.Cut)
	if cut > 0 {
		code, why := steps.ConnectionBroke, "the connection broke, or is too slow for such blocks (STREAM_BLOCK)"
		if mtus, differ := pathMTUs(t.result.Rig, t.path); differ {
			code, why = steps.MTUDiffers, "probably an MTU mismatch: "+mtus
		}
		t.rep.Add(code, steps.Fail, "%.0f %s in the middle of a block on %s, after %s in %.0f s: %s", cut,
			registry.Plural(int(cut), "stream ended", "streams ended"), name, registry.Size(t.got.Bytes), t.got.Seconds, why)
	}
	return lost+corrupt+cut == 0
}

// notOfRail says why what an end reports of a rail, by its place among those of the test, is not of the run that was
// started.
func (t *streamTest) notOfRail(i int, w parse.StreamWay) string {
	const tool = "send"
	want, counted := verify.Number(t.cell, *t.client, tool, "--streams")
	block, sized := verify.Number(t.cell, *t.client, tool, "--bytes")
	at, _, _ := strings.Cut(w.At, ":")
	switch {
	case at != t.addrs[i]:
		return fmt.Sprintf("it is for %s, but rail %d has %s", w.At, t.numbers[i], t.addrs[i])
	case w.Bytes <= 0 || w.Blocks <= 0 || w.Gbps <= 0 || w.Seconds <= 0:
		return fmt.Sprintf("it reports %g bytes in %g blocks and %g s over rail %d", w.Bytes, w.Blocks, w.Seconds,
			t.numbers[i])
	case counted && want > 0 && w.Streams > 0 && w.Streams != want:
		return fmt.Sprintf("it reports %d streams, but %d were requested", w.Streams, want)
	case sized && w.Bytes != w.Blocks*float64(block):
		return fmt.Sprintf("%.0f blocks have %.0f bytes instead of %d each", w.Blocks, w.Bytes, block)
	}
	// It reports rates with six digits and times to the microsecond: what is further apart is not a rounding.
	return verify.Makes(w.Gbps, w.Bytes, w.Seconds, 0.001)
}

// notOfThisRun says why what the ends report is not of the run that was started: other addresses, streams, blocks or
// a shorter time.
func (t *streamTest) notOfThisRun() string {
	for _, s := range []parse.Stream{t.sent, t.got} {
		if len(s.Ways) != len(t.addrs) {
			return fmt.Sprintf("it reports %d addresses, but %d were requested", len(s.Ways), len(t.addrs))
		}
		var sum parse.StreamMoved
		for i, w := range s.Ways {
			if why := t.notOfRail(i, w); why != "" {
				return why
			}
			sum.Bytes, sum.Blocks = sum.Bytes+w.Bytes, sum.Blocks+w.Blocks
		}
		if sum.Bytes != s.Bytes || sum.Blocks != s.Blocks {
			return fmt.Sprintf("its rails add up to %.0f bytes, but it reports %.0f", sum.Bytes, s.Bytes)
		}
		if why := verify.TooShort(*t.client, s.Seconds); why != "" {
			return why
		}
		if why := verify.Makes(s.Gbps, s.Bytes, s.Seconds, 0.001); why != "" {
			return why
		}
		if asked, ok := strictnum.Count(t.client.Asked["STREAM_SECONDS"]); ok && s.Seconds < 0.9*float64(asked) {
			return fmt.Sprintf("it lasted %.3g s, but STREAM_SECONDS asked for %d", s.Seconds, asked)
		}
	}
	return ""
}

// disagree says what the two ends don't agree on: what was sent is what arrived, to the byte.
func (t *streamTest) disagree() string {
	for i, s := range t.sent.Ways {
		g := t.got.Ways[i]
		switch {
		case s.Bytes != g.Bytes || s.Blocks != g.Blocks:
			return fmt.Sprintf("%.0f bytes were sent over rail %d, but %.0f arrived", s.Bytes, t.numbers[i], g.Bytes)
		case s.Streams == 0:
			return "the sender does not report its streams"
		}
	}
	if math.Abs(t.sent.Gbps-t.got.Gbps) > limits.EndsApart.Value()*t.got.Gbps {
		return fmt.Sprintf("%s at the sender, %s at the receiver", registry.Gbps(t.sent.Gbps), registry.Gbps(t.got.Gbps))
	}
	return ""
}

// Flows are one a rail, counted by the interfaces. What is counted next to the payload is railbench's own header of
// each block, and TCP's of each segment.
func (t *streamTest) Flows() (all []traffic.Flow) {
	from, to := t.client.End, t.client.End.Other()
	for i, w := range t.got.Ways {
		p := t.pairs[i]
		mtu := min(t.result.Rig.Rail(p, from).Netdev.MTU, t.result.Rig.Rail(p, to).Netdev.MTU)
		f := traffic.Stream(from, []int{p.Rails[from]}, to, []int{p.Rails[to]}, w.Bytes+blockHeader*w.Blocks,
			float64(mtu-limits.TCPHeaders))
		f.Pieces(w.Blocks)
		f.Text = registry.Size(w.Bytes) + " of payload counted by railbench"
		all = append(all, f)
	}
	return all
}

// Figure is what arrived, of all rails together.
func (t *streamTest) Figure(traffic.Accounted) {
	t.band = bandOf(t.result.Rig, t.path, t.streams, "")
	if block := t.got.Bytes / t.got.Blocks; block < limits.StreamBlock.Value() {
		t.band.Unless = fmt.Sprintf("blocks of %s are smaller than %s, so system calls may limit it",
			registry.BlockSize(int(block)), registry.BlockSize(int(limits.StreamBlock.Value())))
	}
	test := parse.Iperf3{
		Streams: t.streams, Seconds: t.got.Seconds, ReceivedBytes: t.got.Bytes, ReceivedGbps: t.got.Gbps,
		Retransmits: -1, Reordered: -1,
	}
	judgeTCPFigure(t.result, t.stage, t.path, test, t.band, t.rep)
}

// Signs are stalls, and what a good sum hides: a rail that carried less than it does alone anywhere.
func (t *streamTest) Signs() {
	if n := t.sent.Stalls + t.got.Stalls; n > 0 {
		t.rep.Add(steps.TestStalled, steps.Warn, "no data moved for two seconds (%s). Check retransmits and the link (dmesg)",
			registry.Plural(n, "once", fmt.Sprintf("%d times", n)))
	}
	n := len(t.pairs)
	for i, w := range t.got.Ways {
		if n == 1 || t.band.Expected == 0 || t.band.Unless != "" {
			continue
		}
		least := min(float64(t.band.fails), limits.TCPWarnShare.Value()*float64(t.band.Limit)/float64(n))
		if w.Gbps < least {
			t.rep.Add(steps.BelowLimit, steps.Warn, "rail %d carried only %s, but one rail should reach at least %.3g. Test it "+
				"alone",
				t.numbers[i], registry.Gbps(w.Gbps), least)
		}
	}
}
