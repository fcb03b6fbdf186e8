package catalog

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/probe"
)

// What a packet of RoCE v2 carries beside its payload, bytes: Ethernet, IPv4,
// UDP, BTH, RETH and ICRC, which the port counters see; and on the cable also
// preamble, gap and FCS, which they don't.
const (
	roceHeaders  = 58
	cableHeaders = 82
)

// How near to what the rail can do a bandwidth has to be.
const (
	passShare = 0.95
	warnShare = 0.80
	// overLimit: above the physical limit by more than this, the number or its
	// unit is wrong (INVENTORY D1: 12,000 "MB/sec" over 100G).
	overLimit = 1.02
)

// gen5x4SmallMTU is what one PCIe Gen5 x4 half of a DGX Spark carries at a RoCE
// MTU of 1024 or less: its packet rate ends it, not its bits (INVENTORY D3).
const gen5x4SmallMTU = 92.6

// A band is what a rail should reach, in Gb/s of payload.
type band struct {
	expected float64 // 0 where there is no band
	from     string
	limit    float64 // what physics allow; 0 where unknown
	none     string  // why there is no band
}

// bandOf derives the band of a pair from both of its ends and the RoCE MTU. PCIe
// counts as what the device could have: a link that came up narrower is a cause,
// not an excuse.
func bandOf(rig steps.Rig, p steps.Pair, mtu int) band {
	var b band
	payload := float64(mtu)
	for _, e := range steps.Ends {
		r := rig.Rail(p, e)
		switch {
		case mtu <= 0:
			return band{none: "the RoCE MTU is unknown"}
		case r.PCI.Addr == "" && r.Layer != "InfiniBand":
			return band{none: "soft-RoCE is as fast as the processor"}
		case r.RateGbps <= 0:
			return band{none: fmt.Sprintf("the link rate of %s on %s is unknown", r.Dev, rig.NameOf(e))}
		}
		link := r.RateGbps * payload / (payload + cableHeaders)
		b.lower(link, fmt.Sprintf("a link of %g Gb/s at RoCE MTU %d", r.RateGbps, mtu))
		b.limit = least(b.limit, link)
		pcie, _ := probe.MaxCeiling(r)
		gtps, width := r.PCI.MaxGTps, r.PCI.MaxWidth
		if pcie == 0 {
			pcie, _ = probe.Ceiling(r)
			gtps, width = r.PCI.GTps, r.PCI.Width
		}
		if pcie == 0 {
			continue
		}
		pcie *= payload / (payload + roceHeaders)
		b.lower(pcie, fmt.Sprintf("%s at RoCE MTU %d", probe.Slot(gtps, width), mtu))
		b.limit = least(b.limit, pcie)
		if gtps == 32 && width == 4 && mtu <= 1024 {
			b.lower(gen5x4SmallMTU, fmt.Sprintf("one PCIe Gen5 x4 half at RoCE MTU %d, as measured on DGX Spark", mtu))
		}
	}
	return b
}

func (b *band) lower(gbps float64, from string) {
	if b.expected == 0 || gbps < b.expected {
		b.expected, b.from = gbps, from
	}
}

func least(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// A measurement is what a stage of perftest gave, where it can be judged.
type measurement struct {
	no     int    // of the rail, counted from 1
	dev    string // the client's RDMA device
	rail   string // both, for evidence: "rail 1 (rocep1s0f0)"
	pair   steps.Pair
	client steps.Output
}

// measured checks everything about a stage that has to be right before a number
// means anything. ok is false where the report says why not.
func measured(r steps.Result, s steps.Stage, rep *report) (measurement, bool) {
	if !r.Rig.HasPair(s.Pair) {
		rep.add(steps.Inconclusive, "a stage belongs to no rail")
		return measurement{}, false
	}
	m := measurement{pair: r.Rig.Pairs[s.Pair]}
	m.no, m.dev = s.Pair+1, r.Rig.Rail(m.pair, steps.Here).Dev
	m.rail = fmt.Sprintf("rail %d (%s)", m.no, m.dev)
	if s.Err != "" {
		hint := ""
		if strings.Contains(s.Err, "state is Down") {
			hint = "; check its cable at both ends"
		}
		rep.on(m, steps.Inconclusive, "it stopped: %s%s", s.Err, hint)
	}
	var server *steps.Output
	found := false
	for _, o := range s.Outputs {
		if o.Role == "server" {
			server = &o
		} else {
			m.client, found = o, true
		}
	}
	if !found || server == nil {
		if s.Err == "" || server == nil && found {
			rep.on(m, steps.Inconclusive, "not both ends ran")
		}
		return m, false
	}
	var messages []message
	for _, o := range []steps.Output{m.client, *server} {
		for _, e := range parse.PerftestErrors(o.Text) {
			messages = append(messages, message{o.End, e})
		}
	}
	if !m.client.Ran || !server.Ran || !m.client.Exit.OK() || !server.Exit.OK() {
		explain(r.Rig, m, *server, messages, rep)
		return m, false
	}
	return m, s.Err == ""
}

// A message is an error line and where it was printed.
type message struct {
	end  steps.End
	text string
}

// A cause is how perftest words a failure, and what it means here. The first
// that matches counts, so what is only a consequence comes last.
type cause struct {
	pattern *regexp.Regexp
	grade   steps.Grade
	// means may hold %s for the node's name.
	means string
}

var causes = []cause{
	{regexp.MustCompile(`Couldn't listen to port`), steps.Inconclusive, "its port is taken on %s: end the process that listens there (ss -ltnp), or set PORT"},
	{regexp.MustCompile(`Port number \d+ state is Down`), steps.Fail, "the port is down on %s: check the interface (ip link) and the cable"},
	{regexp.MustCompile(`IB device \S+ not found|Did not detect devices`), steps.Fail, "the RDMA device is gone on %s: is its driver still loaded (dmesg)?"},
	{regexp.MustCompile(`Found Incompatibility issue with GID types`), steps.Fail, "the GIDs of the two ends are of different kinds (seen on %s): run the GID check again"},
	{regexp.MustCompile(`(?i)Couldn't allocate MR|create mr`), steps.Fail, "memory could not be registered on %s: raise the memlock limit (ulimit -l)"},
	{regexp.MustCompile(`Failed to modify QP`), steps.Fail, "the queue pairs don't reach each other (seen on %s): the GID index or the address behind it has changed; run the GID check again, and look for a bond"},
	{regexp.MustCompile(`transport retry counter|Completion with error|Failed to complete run_iter`), steps.Fail, "packets stopped arriving in the middle (seen on %s): the cable, the link or the MTU"},
	{regexp.MustCompile(`mismatch: local=|Failed to negotiate`), steps.Inconclusive, "the two ends did not agree on their options (seen on %s): do the perftest versions differ?"},
	{regexp.MustCompile(`unrecognized option|invalid option|Invalid Command`), steps.Inconclusive, "perftest on %s doesn't know one of the options: is it very old?"},
	{regexp.MustCompile(`Couldn't connect to`), steps.Inconclusive, "no server could be reached from %s: the peer's address, a firewall, or a server that ended early"},
	{regexp.MustCompile(`resolv|Name or service not known`), steps.Inconclusive, "the peer's address could not be resolved on %s"},
}

// explain says why a test has no result.
func explain(rig steps.Rig, m measurement, server steps.Output, messages []message, rep *report) {
	for _, c := range causes {
		for _, msg := range messages {
			if c.pattern.MatchString(msg.text) {
				rep.on(m, c.grade, c.means, rig.NameOf(msg.end))
				rep.show(m.rail+" message", msg.text, "", nil)
				return
			}
		}
	}
	for _, o := range []steps.Output{m.client, server} {
		if f, bad := trouble(rig, o); bad {
			hint := ""
			if strings.Contains(f.text, "timed out") {
				hint = "; crossed rails and a wrong GID hang like this, without a word"
			}
			rep.on(m, f.grade, "%s%s", f.text, hint)
			return
		}
	}
	for _, o := range []steps.Output{m.client, server} {
		if o.Exit.OK() {
			continue
		}
		said := ""
		if len(messages) > 0 {
			said = ": " + messages[0].text
		}
		grade := steps.Fail
		if o.Role == "server" {
			grade = steps.Inconclusive // the client has its number, and nobody vouches for it
		}
		rep.on(m, grade, "the %s on %s ended with %s%s", orUnknown(o.Role), rig.NameOf(o.End), o.Exit, said)
		return
	}
}

// judgeWriteBandwidth holds what ib_write_bw measured on each rail against what
// the rail can do, and against the bytes that each rail's counters moved.
func judgeWriteBandwidth(c steps.Cell, r steps.Result) steps.Verdict {
	return writeBandwidth(c, r, true)
}

// writeBandwidth judges it; where it is a cell of the tutorial it also says what the
// tutorial would make of the figure.
func writeBandwidth(c steps.Cell, r steps.Result, taught bool) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	var figures, expected []string // one figure per rail
	var rails []int
	var sent, predicted, tutorial float64
	accounts := 0
	for _, s := range r.Stages {
		m, ok := measured(r, s, &rep)
		if !ok {
			continue
		}
		v, ok := m.client.Value.(parse.Bandwidth)
		if m.client.ParseErr != "" || !ok || len(v.Rows) == 0 {
			rep.on(m, steps.Inconclusive, "the client's output has no result that can be read")
			continue
		}
		row := v.Rows[0]
		if row.AverageGbps <= 0 || row.Bytes <= 0 || row.Iterations <= 0 {
			rep.on(m, steps.Inconclusive, "the client reports %g Gb/s for %d messages of %d bytes", row.AverageGbps, row.Iterations, row.Bytes)
			continue
		}
		mtu := agreedMTU(r.Rig, m.pair, v.MTU)
		b := bandOf(r.Rig, m.pair, mtu)
		judgeFigure(r, s, m, row, b, mtu, &rep)
		rep.show(m.rail+" messages", row.Iterations, "messages of "+fmt.Sprint(row.Bytes)+" bytes", nil)
		figures, rails = append(figures, gbps(row.AverageGbps)), append(rails, m.no)
		if b.expected > 0 {
			if text := fmt.Sprintf("%.1f: %s", b.expected, b.from); !slices.Contains(expected, text) {
				expected = append(expected, text)
			}
		}
		tutorial = row.AverageGbps * 1e9 / 8 / 1048576 * 8 / 1000
		if c.Counters {
			got, want, ok := judgeBytes(r, s, m, row, mtu, b.none != "", &rep)
			if sent, predicted = sent+got, predicted+want; ok {
				accounts++
			}
		}
	}
	lead := perRail(rails, figures)
	switch each := map[bool]string{true: "it", false: "each"}[len(rails) == 1]; len(expected) {
	case 0:
	case 1:
		lead += fmt.Sprintf(": all that %s can do (%s)", each, expected[0])
	default:
		lead += fmt.Sprintf(": all that %s can do", each)
	}
	account := ""
	switch {
	case accounts == 1:
		account = fmt.Sprintf("The rail carried 100 %% of it: %s on the wire, %s predicted", size(sent), size(predicted))
	case accounts > 1:
		account = fmt.Sprintf("Each rail carried its own test alone: %s on the wire in all, %s predicted", size(sent), size(predicted))
	}
	note := ""
	if taught && tutorial >= 10 {
		note = fmt.Sprintf("(The tutorial would call the last one %.1f Gb/s: it takes perftest's MiB for MB.)", tutorial)
	}
	return rep.verdict(lead, account, note)
}

// agreedMTU is the RoCE MTU of a test: what perftest says, or the smaller one of
// the two ends.
func agreedMTU(rig steps.Rig, p steps.Pair, reported int) int {
	if reported > 0 {
		return reported
	}
	return min(rig.Rail(p, steps.Here).MTU, rig.Rail(p, steps.Peer).MTU)
}

func gbps(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.3g Gb/s", v)
	}
	return fmt.Sprintf("%.1f Gb/s", v)
}

func microseconds(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g us", v)
	}
	return fmt.Sprintf("%.0f us", v)
}

// judgeFigure compares a bandwidth with its band.
func judgeFigure(r steps.Result, s steps.Stage, m measurement, row parse.BandwidthRow, b band, mtu int, rep *report) {
	e := &steps.Expected{From: b.from}
	if b.expected > 0 {
		e.Min, e.Max = new(round(passShare*b.expected)), new(round(overLimit*b.limit))
	} else {
		e.From = "no band: " + b.none
	}
	rep.show(m.rail+" bandwidth", round(row.AverageGbps), "Gb/s", e)
	if b.expected == 0 {
		rep.add(steps.Pass, "There is no band to judge by: %s", b.none)
		return
	}
	switch share := row.AverageGbps / b.expected; {
	case row.AverageGbps > overLimit*b.limit:
		rep.on(m, steps.Inconclusive, "%s is more than the %.1f that the hardware can carry: is the unit misread?", gbps(row.AverageGbps), b.limit)
	case share < warnShare:
		rep.on(m, steps.Fail, "%s of %.1f (%s): %s", gbps(row.AverageGbps), b.expected, b.from, likelyCause(r, s, m, row.AverageGbps, mtu))
	case share < passShare:
		rep.on(m, steps.Warn, "%s of %.1f (%s): %s", gbps(row.AverageGbps), b.expected, b.from, likelyCause(r, s, m, row.AverageGbps, mtu))
	}
}

// likelyCause looks for what ends a rail early, the surest sign first.
func likelyCause(r steps.Result, s steps.Stage, m measurement, got float64, mtu int) string {
	for _, e := range steps.Ends {
		rail := r.Rig.Rail(m.pair, e)
		if narrow(rail) {
			ceiling, _ := probe.Ceiling(rail)
			if got < 1.1*ceiling {
				return fmt.Sprintf("its PCIe link on %s came up as %s where it can do %s, and that ends at %.0f Gb/s", r.Rig.NameOf(e),
					probe.Slot(rail.PCI.GTps, rail.PCI.Width), probe.Slot(rail.PCI.MaxGTps, rail.PCI.MaxWidth), ceiling)
			}
		}
	}
	for _, b := range s.Bytes {
		if b.IdleGbps > 1 && b.Rail == m.pair.Rails[b.End] {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on the rail at %s before it began", b.IdleGbps, r.Rig.NameOf(b.End))
		}
	}
	for _, b := range s.Bytes {
		own := r.Rig.Rail(m.pair, b.End).PCI.Half()
		if other := r.Rig.Nodes[b.End].Rails[b.Rail]; b.IdleGbps > 1 && own != "" && other.PCI.Half() == own {
			return fmt.Sprintf("%.1f Gb/s of other traffic were on %s at %s before it began, behind the same PCIe link", b.IdleGbps, other.Dev, r.Rig.NameOf(b.End))
		}
	}
	for _, e := range steps.Ends {
		// NVIDIA/dgx-spark-playbooks PR 108: 8 to 25 Gb/s with healthy links.
		if rail := r.Rig.Rail(m.pair, e); got >= 8 && got <= 25 && rail.RateGbps >= 100 {
			return "link and PCIe look right, and some 13 Gb/s is how an adapter looks that came up degraded: shut the node down and take its power away for a minute"
		}
	}
	if mtu < 1024 {
		return fmt.Sprintf("a RoCE MTU of %d wastes the link on headers", mtu)
	}
	if grown := grownErrors(s, m); grown != "" {
		return "packets were sent again (" + grown + "): look at the cable and the link's errors"
	}
	return "no cause shows here; compare the other direction, look for PCIe errors (dmesg) and other traffic behind the same PCIe link"
}

// grownErrors lists the error counters of the rail under test that grew.
func grownErrors(s steps.Stage, m measurement) string {
	sum := map[string]uint64{}
	for _, b := range s.Bytes {
		if b.Rail == m.pair.Rails[b.End] {
			for name, n := range b.Errors {
				sum[name] += n
			}
		}
	}
	var names []string
	for name, n := range sum {
		if n > 0 {
			names = append(names, fmt.Sprintf("%s +%d", name, n))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// round leaves digits enough for another rounding, to be shown, to come out the same.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// Latency thresholds in microseconds: ConnectX-7 back to back takes 1.4 to 2
// (INVENTORY V16, N1).
const (
	passLatencyUS = 2.5
	warnLatencyUS = 10
	leastLatency  = 0.3
)

// judgeWriteLatency looks at the median and the tail. An average hides both
// (INVENTORY D24).
func judgeWriteLatency(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := gate(c, r); done {
		return v
	}
	var rep report
	var figures []string
	var rails []int
	var tail float64
	banded := false
	for _, s := range r.Stages {
		m, ok := measured(r, s, &rep)
		if !ok {
			continue
		}
		v, ok := m.client.Value.(parse.Latency)
		if m.client.ParseErr != "" || !ok || len(v.Rows) == 0 {
			rep.on(m, steps.Inconclusive, "the client's output has no result that can be read")
			continue
		}
		row := v.Rows[0]
		if row.TypicalUS <= 0 || row.Iterations <= 0 {
			rep.on(m, steps.Inconclusive, "the client reports no typical latency")
			continue
		}
		b := bandOf(r.Rig, m.pair, agreedMTU(r.Rig, m.pair, v.MTU))
		e := &steps.Expected{From: "no band: " + b.none}
		if b.none == "" {
			banded = true
			e = &steps.Expected{Min: new(leastLatency), Max: new(passLatencyUS), From: "two ConnectX-7 back to back"}
		}
		rep.show(m.rail+" latency, typical", row.TypicalUS, "us", e)
		rep.show(m.rail+" latency, 99 %", row.P99US, "us", nil)
		rep.show(m.rail+" latency, maximum", row.MaxUS, "us", nil)
		figures, rails = append(figures, microseconds(row.TypicalUS)), append(rails, m.no)
		tail = max(tail, row.P99US)
		switch {
		case b.none != "":
			rep.add(steps.Pass, "There is no band to judge by: %s", b.none)
		case row.TypicalUS < leastLatency:
			rep.on(m, steps.Inconclusive, "%s is less than a cable and two adapters can take", microseconds(row.TypicalUS))
		case row.TypicalUS > warnLatencyUS:
			rep.on(m, steps.Fail, "%s typical is far from RDMA's 1 to 2.5: does a switch, another route or soft-RoCE stand between?", microseconds(row.TypicalUS))
		case row.TypicalUS > passLatencyUS:
			rep.on(m, steps.Warn, "%s typical, where 1 to 2.5 is usual: power saving (cpufreq), or other traffic", microseconds(row.TypicalUS))
		}
		if g := flaps(s, m); g != "" {
			rep.on(m, steps.Fail, "the link went down during the test (%s)", g)
		}
	}
	lead := fmt.Sprintf("typically %s, one way; at most %s for 99 %%", perRail(rails, figures), microseconds(tail))
	if banded {
		lead += ": as it should be (1 to 2.5 us)"
	}
	return rep.verdict(lead)
}

// perRail lists a figure for each rail, or one for all where they are alike.
func perRail(rails []int, figures []string) string {
	if len(figures) > 1 && !slices.ContainsFunc(figures, func(f string) bool { return f != figures[0] }) {
		return fmt.Sprintf("%s on each of the %d rails", figures[0], len(rails))
	}
	var all []string
	for i, f := range figures {
		all = append(all, fmt.Sprintf("%s on rail %d", f, rails[i]))
	}
	return strings.Join(all, ", ")
}
