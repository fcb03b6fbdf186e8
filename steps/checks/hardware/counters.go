package hardware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/family/perftest"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// The checks of the counters: that they are there, that nothing moves and no error grows on idle rails; and the
// short test of each rail.

// readTwice is the first and the last reading of both nodes. done is true where there is a
// verdict already; else the clock of each has moved, so that a rate may be divided by it.
// The script prints every counter, waits, and prints them again; each reading has the node's own
// clock.
func readTwice(c steps.Cell, r steps.Result, rep *registry.Report) (was, is [2]parse.Reading, v steps.Verdict,
	done bool,
) {
	read, v, done := checks.ReadBoth[[]parse.Reading](c, r, rep)
	if done {
		return was, is, v, true
	}
	for _, e := range steps.Ends {
		n := len(read[e])
		if n < 2 || read[e][n-1].Clock <= read[e][0].Clock {
			rep.At(r.Rig, e, steps.OutputIncomplete, steps.Inconclusive, "the counters on %s were not read twice",
				r.Rig.NameOf(e))
			continue
		}
		was[e], is[e] = read[e][0], read[e][n-1]
	}
	if len(rep.Findings) > 0 {
		return was, is, rep.Verdict(), true
	}
	return was, is, v, false
}

// A counted is a counter's two values; ok says that both are there.
// A counter that is there once is none: a driver that was loaded in between starts at 0.
type counted struct {
	was, is uint64
	ok      bool
}

func twice(was, is map[string]uint64, name string) counted {
	a, before := was[name]
	b, after := is[name]
	return counted{a, b, before && after}
}

// dataCounters are a port's bytes in words of four, as the InfiniBand specification has them
// (PortXmitData, PortRcvData).
var dataCounters = []string{"port_xmit_data", "port_rcv_data"}

// judgePortCounters: the counters that bytes are read from are there, and don't go
// backwards.
func judgePortCounters(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	was, is, v, done := readTwice(c, r, &rep)
	if done {
		return v
	}
	checks.Missing(r.Rig, &rep)
	counting, standing := 0, 0
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		var missing, silent []string
		for _, rail := range r.Rig.At(e).Rails {
			if rail.Soft() {
				// soft-RoCE never has them: its interface's bytes are all that moves.
				if twice(was[e].Netdevs[rail.Netdev.Name], is[e].Netdevs[rail.Netdev.Name], "tx_bytes").ok {
					standing++
				} else {
					silent = append(silent, rail.Dev)
				}
				continue
			}
			good := true
			for _, name := range dataCounters {
				n := twice(was[e].Devices[rail.Dev], is[e].Devices[rail.Dev], name)
				switch {
				case !n.ok: // said once for the node, below
					good = false
				case n.is < n.was:
					rep.At(r.Rig, e, steps.CounterBad, steps.Warn, "%s of %s on %s went backwards, from %d to %d, so its traffic is "+
						"unknown. Was the driver reloaded? Run again", name, rail.Dev, node, n.was, n.is)
				default:
					rep.ShowAt(node, fmt.Sprintf("%s %s", rail.Dev, name), n.is, "words of 32 bits", nil)
				}
			}
			if good {
				counting++
			} else {
				missing = append(missing, rail.Dev)
			}
		}
		if missing != nil {
			rep.At(r.Rig, e, steps.CounterBad, steps.Warn, "%s on %s %s no port counters, so their traffic is unknown. Load "+
				"the kernel's own mlx5_ib instead of a package's (modinfo -n mlx5_ib)", registry.List(missing), node,
				registry.Plural(len(missing), "has", "have"))
			rep.Explain("An mlx5_ib of an older package may lack them: %s", strings.Join(dataCounters, ", "))
		}
		if silent != nil {
			rep.At(r.Rig, e, steps.CounterBad, steps.Warn, "neither %s on %s nor its interface counts bytes, so its traffic "+
				"is unknown", registry.List(silent), node)
		}
	}
	switch {
	case counting+standing == 0 && len(rep.Findings) == 0:
		return checks.Unseen(rep, steps.CannotRun, "neither node has a rail, so there is nothing to count")
	case standing > 0:
		rep.Show("counted by the interface", standing, "rails of soft-RoCE", nil)
		return rep.Verdict(fmt.Sprintf("soft-RoCE has no port counters; the bytes of its interfaces are used instead (%d "+
			"rails)", standing))
	}
	return rep.Verdict(fmt.Sprintf("all %d rails have port counters (port_xmit_data, port_rcv_data), and none went "+
		"backwards", counting))
}

// idleGbps is what an idle rail may move: ARP, IPv6's neighbours, a check's pings.
const idleGbps = 0.1

// judgeIdleRails: nothing moves over the rails while nothing runs.
func judgeIdleRails(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	was, is, v, done := readTwice(c, r, &rep)
	if done {
		return v
	}
	checks.Missing(r.Rig, &rep)
	var blind registry.Report
	quiet, most := 0, 0.0
	var busy busyRails
	var ends []steps.End
	for _, e := range steps.Ends {
		node, seconds := r.Rig.NameOf(e), is[e].Clock-was[e].Clock
		var unknown []string
		for _, rail := range r.Rig.At(e).Rails {
			rate, known := moves(rail, was[e], is[e], seconds)
			if !known {
				rep.ShowAt(node, rail.Dev+", both directions", "unknown", "", nil)
				unknown = append(unknown, rail.Dev)
				continue
			}
			rep.ShowAt(node, rail.Dev+", both directions", registry.Round(rate), "Gb/s",
				&steps.Expected{Max: new(idleGbps), From: "an idle rail"})
			if rate < idleGbps {
				quiet++
				most = max(most, rate)
				continue
			}
			if users := holders(is[e], rail.Dev); users != nil {
				rep.Explain("%s on %s is open in %s", rail.Dev, node, registry.And(users))
			}
			busy.add(registry.Gbps(rate)+" over "+rail.Dev, node)
			ends = append(ends, e)
		}
		if unknown != nil {
			blind.At(r.Rig, e, steps.CounterBad, steps.Inconclusive, "%s on %s may be busy: counters are missing or went "+
				"backwards. Run: railbench doctor port-counters", registry.List(unknown), node)
		}
	}
	if busy.order != nil {
		// One finding for all: what one end of a rail sends the other one receives, and it would be said twice.
		note := registry.Finding{Code: steps.OtherTraffic, Grade: steps.Warn}
		note.Text = fmt.Sprintf("Other traffic while railbench is idle: %s. Tests read low. Stop it, or wait",
			registry.And(busy.said()))
		if len(slices.Compact(ends)) == 1 {
			note.Node = r.Rig.NameOf(ends[0])
		}
		rep.Note(note)
	}
	if quiet == 0 && busy.order == nil {
		return checks.Unseen(rep, steps.CounterBad, "no rail has usable counters, so whether the rails are idle is unknown")
	}
	rep.Findings = append(rep.Findings, blind.Findings...)
	return rep.Verdict(fmt.Sprintf("the rails are idle: at most %.3g Gb/s at any of %d ends in half a second", most,
		quiet))
}

// busyRails are rates over devices, with the nodes that have the same.
type busyRails struct {
	order []string
	nodes map[string][]string
}

func (b *busyRails) add(what, node string) {
	if b.nodes == nil {
		b.nodes = map[string][]string{}
	}
	if b.nodes[what] == nil {
		b.order = append(b.order, what)
	}
	b.nodes[what] = append(b.nodes[what], node)
}

func (b *busyRails) said() (all []string) {
	for _, what := range b.order {
		all = append(all, what+" on "+registry.And(b.nodes[what]))
	}
	return all
}

// moves is what a rail moves in both directions, in Gb/s: RDMA where the port counts it, and whatever its
// interface counts. It is known if all of the port's counters are there. Without a port (soft-RoCE) it is
// known if all of the interface's counters are there. An adapter's interface does not count RDMA.
func moves(rail steps.Rail, was, is parse.Reading, seconds float64) (rate float64, known bool) {
	soft := rail.Soft()
	known = true
	for _, c := range []struct {
		was, is map[string]uint64
		names   []string
		unit    float64
		decides bool
	}{
		{was.Devices[rail.Dev], is.Devices[rail.Dev], dataCounters, 4, !soft},
		{was.Netdevs[rail.Netdev.Name], is.Netdevs[rail.Netdev.Name], []string{"tx_bytes", "rx_bytes"}, 1, soft},
	} {
		for _, name := range c.names {
			if n := twice(c.was, c.is, name); n.ok && n.is >= n.was {
				rate += float64(n.is-n.was) * c.unit * 8 / 1e9 / seconds
			} else if c.decides {
				known = false
			}
		}
	}
	return rate, known
}

// holders are the processes that have queue pairs on a device.
func holders(r parse.Reading, dev string) []string {
	var names []string
	for _, u := range r.Users {
		name := fmt.Sprintf("%s, process %d", u.Command, u.PID)
		if u.Dev == dev && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// An errorCounter is what a counter of errors means.
// cable decides the advice and the grade: a cable that damages frames on an idle link is broken,
// while what the other kind counts may come from other traffic.
type errorCounter struct {
	cable bool // the cable, a module or a port, and nothing else
	means string
}

// errorCounters are by name: of mlx5's sysfs (Understanding mlx5 ethtool and sysfs
// counters), of ethtool -S, and of rxe (rxe_hw_counters.c). What piles up in ordinary
// use, as congestion notifications do, is not among them.
var errorCounters = map[string]errorCounter{
	"symbol_error":          {true, "symbols that the error correction could not correct"},
	"rx_symbol_err_phy":     {true, "symbols that the error correction could not correct"},
	"rx_pcs_symbol_err_phy": {true, "symbols that the error correction could not correct"},
	"rx_crc_errors_phy":     {true, "frames that arrived damaged"},
	"rx_crc_errors":         {true, "frames that arrived damaged"},
	"port_rcv_errors":       {true, "packets that arrived damaged"},
	"link_error_recovery":   {true, "the link had to be trained again"},
	"link_downed":           {true, "the link went down"},
	"link_down_events_phy":  {true, "the link went down"},
	"rx_icrc_encapsulated":  {false, "RoCE packets with a wrong checksum: something on the path changes them"},
	"rx_discards_phy": {false, "packets that the port had to drop: PCIe is slower than the link, or pause frames are " +
		"off"},
	"tx_discards_phy":       {false, "packets that could not be sent in time: the other end blocks them"},
	"port_xmit_discards":    {false, "packets that could not be sent: the link was down, or blocked"},
	"tx_errors_phy":         {true, "frames that the port could not send"},
	"out_of_sequence":       {false, "packets out of order, because one was lost: the cable, or congestion"},
	"packet_seq_err":        {false, "requests of the other end to send again: packets are lost on the way there"},
	"implied_nak_seq_err":   {false, "answers that skipped a packet: packets are lost on the path"},
	"local_ack_timeout_err": {false, "acknowledgements that never came: the other end is gone, or packets are lost"},
	"rnr_nak_retry_err":     {false, "a receiver without a buffer: the program at the other end is too slow"},
	"out_of_buffer":         {false, "packets without a receive buffer: the program on this node is too slow"},
	"rx_out_of_buffer":      {false, "packets without a receive buffer: the processor of this node is too slow"},
	"req_cqe_error":         {false, "requests that ended in an error"},
	"resp_cqe_error":        {false, "answers that ended in an error"},
	"roce_adp_retrans":      {false, "packets that were sent again after a time-out"},
	"completer_retry_err":   {false, "requests that were sent again"},
	"out_of_seq_request":    {false, "packets out of order, because one was lost"},
	"rcvd_seq_err":          {false, "requests of the other end to send again"},
	"retry_exceeded_err":    {false, "requests that were given up: the other end is gone"},
	"send_err":              {false, "packets that could not be sent"},
	// bnxt_re, irdma, ionic.
	"to_retransmits":     {false, "packets that were sent again after a time-out"},
	"seq_err_naks_rcvd":  {false, "requests of the other end to send again: packets are lost on the way there"},
	"oos_drop_count":     {false, "packets out of order, because one was lost"},
	"res_oos_drop_count": {false, "packets out of order, because one was lost"},
	"max_retry_exceeded": {false, "requests that were given up: the other end is gone"},
	"RetransSegs":        {false, "packets that were sent again"},
	"tcpRetransSegs":     {false, "packets that were sent again"},
	"CRC_errors":         {true, "frames that arrived damaged"},
	"rx_fcs_err_frames":  {true, "frames that arrived damaged"},
	"rx_crc_errors.nic":  {true, "frames that arrived damaged"},
	"tx_rdma_retx_pkts":  {false, "packets that were sent again"},
}

// A growth is which counters of errors grew, on devices that show the same.
type growth struct {
	devs, names []string
	most        uint64 // of all of them
}

// cable reports whether nothing but the cable, a module or a port makes one of them grow.
func (g growth) cable() bool {
	return slices.ContainsFunc(g.names, func(name string) bool { return errorCounters[name].cable })
}

// worst names the first counter that the cable makes grow, or else the first, and how many others there are.
func (g growth) worst() string {
	name := g.names[max(0, slices.IndexFunc(g.names, func(name string) bool { return errorCounters[name].cable }))]
	if more := len(g.names) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", name, more)
	}
	return name
}

// meanings are the counters with what they mean, each meaning once. What the cable
// does comes first.
func (g growth) meanings() string {
	by := map[string][]string{}
	var order, said []string
	for _, cable := range []bool{true, false} {
		for _, name := range g.names {
			means := errorCounters[name].means
			if errorCounters[name].cable != cable {
				continue
			}
			if by[means] == nil {
				order = append(order, means)
			}
			by[means] = append(by[means], name)
		}
	}
	for _, means := range order {
		said = append(said, fmt.Sprintf("%s (%s)", registry.And(by[means]), means))
	}
	// One damaged cable moves half a dozen of them; the evidence has all.
	if len(said) > 2 {
		said = append(said[:2], fmt.Sprintf("%d more", len(said)-2))
	}
	return registry.And(said)
}

// railErrors looks at one rail's counters of errors, from one reading to the next: those
// that grew, how many are known there, and how many stood still above zero.
func railErrors(rig steps.Rig, e steps.End, rail steps.Rail, was, is parse.Reading,
	rep *registry.Report,
) (g growth, known, still int) {
	g.devs = []string{rail.Dev}
	node, seconds := rig.NameOf(e), is.Clock-was.Clock
	for _, name := range registry.SortedNames(errorCounters) {
		n := twice(was.Devices[rail.Dev], is.Devices[rail.Dev], name)
		if !n.ok { // a name of ethtool -S, which stands with the interface
			n = twice(was.Netdevs[rail.Netdev.Name], is.Netdevs[rail.Netdev.Name], name)
		}
		if !n.ok {
			continue
		}
		known++
		what := rail.Dev + " " + name
		switch {
		case n.is < n.was:
			rep.At(rig, e, steps.CounterBad, steps.Inconclusive, "%s of %s on %s went backwards, from %d to %d, so its growth "+
				"is unknown", name, rail.Dev, node, n.was, n.is)
		case n.is > n.was:
			rep.ShowAt(node, fmt.Sprintf("%s in %.1f s", what, seconds), n.is-n.was, "more",
				&steps.Expected{Max: new(0.0), From: fmt.Sprintf("an idle rail (%d in total)", n.is)})
			g.names = append(g.names, name)
			g.most = max(g.most, n.is-n.was)
		case n.is > 0:
			still++
			rep.ShowAt(node, what, n.is, "since the boot", nil)
		}
	}
	return g, known, still
}

// judgeErrorCounters: no counter of errors grows on an idle rail. What it has reached
// since the boot is evidence only.
func judgeErrorCounters(c steps.Cell, r steps.Result) steps.Verdict {
	var rep registry.Report
	was, is, v, done := readTwice(c, r, &rep)
	if done {
		return v
	}
	checks.Missing(r.Rig, &rep)
	var blind registry.Report // rails without a counter
	looked, still := 0, 0
	for _, e := range steps.Ends {
		node, seconds := r.Rig.NameOf(e), is[e].Clock-was[e].Clock
		var sick []growth
		for _, rail := range r.Rig.At(e).Rails {
			g, known, stood := railErrors(r.Rig, e, rail, was[e], is[e], &rep)
			looked, still = looked+known, still+stood
			if known == 0 {
				blind.At(r.Rig, e, steps.CounterBad, steps.Inconclusive, "%s on %s has no known error counter, so its errors "+
					"are unknown", rail.Dev, node)
			}
			if g.names == nil {
				continue
			}
			// What the port counts, both functions behind it count: one cable, one finding.
			same := func(x growth) bool { return slices.Equal(x.names, g.names) }
			if i := slices.IndexFunc(sick, same); i >= 0 {
				sick[i].devs, sick[i].most = append(sick[i].devs, rail.Dev), max(sick[i].most, g.most)
				continue
			}
			sick = append(sick, g)
		}
		for _, g := range sick {
			code, grade, advice := steps.ErrorsWhileIdle, steps.Warn, "Check the other end, and look for other traffic"
			if g.cable() {
				code, grade, advice = steps.CableErrors, steps.Fail, "Replug or swap the cable"
			}
			rep.At(r.Rig, e, code, grade, "%s on %s: up to %d errors in %.1f s while idle (%s). %s", registry.List(g.devs), node,
				g.most, seconds, g.worst(), advice)
			rep.Explain("%s: %s", node, g.meanings())
		}
	}
	if looked == 0 {
		return checks.Unseen(rep, steps.CounterBad, "no rail has a known error counter")
	}
	rep.Findings = append(rep.Findings, blind.Findings...)
	rep.Show("error counters that were read twice", looked, "", nil)
	note := ""
	if still > 0 {
		note = fmt.Sprintf("%d of them %s not 0 since the boot, which alone proves nothing; the evidence lists them", still,
			registry.Plural(still, "is", "are"))
	}
	return rep.Verdict(fmt.Sprintf("none of %d error counters grows", looked), note)
}

// busyStatus is how the scripts of rail-speed end where a rail is busy: EX_TEMPFAIL.
const busyStatus = 75

// judgeRailSpeed is the write bandwidth of a short test. Where a rail was busy
// nothing was started, and there is nothing to say of it.
func judgeRailSpeed(c steps.Cell, r steps.Result) steps.Verdict {
	if v, done := registry.Gate(c, r); done {
		return v
	}
	var busy []string
	// The status alone is not enough: ib_write_bw may end with any.
	for _, s := range r.Stages {
		for _, o := range s.Outputs {
			if o.Ran && o.Exit.Code == busyStatus && strings.Contains(o.Text, "busy: ") {
				if node := r.Rig.NameOf(o.End); !slices.Contains(busy, node) {
					busy = append(busy, node)
				}
			}
		}
	}
	if busy != nil {
		return steps.Verdict{
			Code:  steps.OtherTraffic,
			Grade: steps.Skipped,
			Reason: fmt.Sprintf("Other traffic uses the rails of %s, so no test was started. Run this check again when they "+
				"are idle.", registry.And(busy)),
			Evidence: []steps.Evidence{},
		}
	}
	return perftest.WriteBandwidth(c, r, false)
}
