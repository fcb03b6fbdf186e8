package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// How far counted bytes may be from the prediction.
const (
	lessBytes = 0.98
	moreBytes = 1.03 // above: packets were sent again (INVENTORY A8)
	// An interface counts everything, so TCP, ARP and ACKs are in its bytes too.
	moreNetdevBytes = 1.08
	// Nothing makes a transfer three times as large: the counter jumped.
	jumped = 3
	// otherRails is the share of the payload that may move on rails that are not
	// under test. The seeds' rules took anything up to 10^8 bytes for nothing (V5).
	otherRails = 0.01
)

// wireBytes predicts what a rail's counters grow by: each message is cut into
// packets of the MTU, each with its headers.
func wireBytes(row parse.BandwidthRow, mtu int) float64 {
	packets := (row.Bytes + mtu - 1) / mtu
	return float64(row.Iterations) * float64(row.Bytes+packets*roceHeaders)
}

// judgeBytes compares what every rail's counters moved with the prediction: out
// of the client's rail, into the server's, and nowhere else. ok says that the
// account is right.
func judgeBytes(r steps.Result, s steps.Stage, m measurement, row parse.BandwidthRow, mtu int, soft bool, rep *report) (sent, want float64, ok bool) {
	if len(s.Bytes) == 0 || mtu <= 0 {
		rep.add(steps.Inconclusive, "%s: the bytes were not counted, so nothing shows which rail carried them", m.rail)
		return 0, 0, false
	}
	want = wireBytes(row, mtu)
	payload := float64(row.Iterations) * float64(row.Bytes)
	if g := flaps(s, m); g != "" {
		rep.add(steps.Fail, "%s: the link went down during the test (%s)", m.rail, g)
	}
	sent, okHere := judgeEnd(r, s, m, steps.Here, want, payload, soft, row, mtu, rep)
	_, okPeer := judgeEnd(r, s, m, steps.Peer, want, payload, soft, row, mtu, rep)
	return sent, want, okHere && okPeer
}

// judgeEnd is the account of one node. The client writes, so Here is looked at
// for what it sent and Peer for what it received.
func judgeEnd(r steps.Result, s steps.Stage, m measurement, e steps.End, want, payload float64, soft bool, row parse.BandwidthRow, mtu int, rep *report) (own float64, ok bool) {
	node, verb := nodeName(r.Rig, e), "sent"
	if e == steps.Peer {
		verb = "received"
	}
	moved := func(b steps.RailBytes) float64 {
		if e == steps.Peer {
			return float64(b.Rx)
		}
		return float64(b.Tx)
	}
	ok = true
	fail := func(g steps.Grade, format string, args ...any) {
		rep.add(g, format, args...)
		ok = false
	}

	var mine *steps.RailBytes
	counted := map[int]bool{}
	var foreign float64
	var others []string
	for _, b := range s.Bytes {
		if b.End != e {
			continue
		}
		if b.Rail == m.pair.Rails[e] {
			mine = &b
			continue
		}
		if !b.Known {
			continue
		}
		counted[b.Rail] = true
		if n := max(float64(b.Tx), float64(b.Rx)); n > otherRails*payload {
			foreign += n
			others = append(others, fmt.Sprintf("%s (%s)", b.Dev, size(n)))
		}
	}
	rail := r.Rig.Rail(m.pair, e)
	if mine == nil || !mine.Known {
		why := "nobody counted"
		if mine != nil && mine.Why != "" {
			why = mine.Why
		}
		fail(steps.Inconclusive, "%s: what %s on %s moved is unknown (%s)", m.rail, rail.Dev, node, why)
		return 0, false
	}
	own = moved(*mine)
	netdev := strings.HasPrefix(mine.Source, "netdev")
	if netdev && !soft && rail.PCI.Addr != "" {
		fail(steps.Inconclusive, "%s: %s on %s has no port counters, and RDMA is not in its interface's bytes, so nothing shows which rail carried it", m.rail, rail.Dev, node)
		return own, false
	}
	most := moreBytes
	if netdev {
		most = moreNetdevBytes
	}
	rep.show(fmt.Sprintf("%s bytes %s by %s", m.rail, verb, node), int64(own), "bytes", &steps.Expected{
		Min: ptr(float64(int64(lessBytes * want))), Max: ptr(float64(int64(most * want))),
		From: fmt.Sprintf("%d messages of %d bytes in packets of %d with %d bytes of headers each (%s)", row.Iterations, row.Bytes, mtu, roceHeaders, mine.Source),
	})
	rep.show(fmt.Sprintf("%s bytes on other rails of %s", m.rail, node), int64(foreign), "bytes", &steps.Expected{
		Max: ptr(float64(int64(otherRails * payload))), From: "the test uses one rail",
	})

	switch ratio := own / want; {
	case ratio < 0.01 && foreign >= want/2:
		fail(steps.Fail, "%s: nothing went over it on %s; %s carried the bytes: the wrong rail", m.rail, node, and(others))
	case foreign > 0:
		fail(steps.Fail, "%s: on %s %s moved bytes too, and the test uses one rail: is something else running, or a bond", m.rail, node, and(others))
	case ratio > jumped:
		fail(steps.Inconclusive, "%s: %s on %s %s %s where %s were predicted: the counter jumped, or other traffic ran", m.rail, rail.Dev, node, verb, size(own), size(want))
	case ratio > most:
		why := "no error counter grew, so perhaps other traffic"
		if g := grownErrors(s, m); g != "" {
			why = "packets were sent again: " + g
		}
		fail(steps.Warn, "%s: %s %s %.1f %% more than predicted (%s)", m.rail, node, verb, 100*(ratio-1), why)
	case ratio < lessBytes:
		fail(steps.Inconclusive, "%s: %s on %s %s only %s of the %s predicted", m.rail, rail.Dev, node, verb, size(own), size(want))
	}
	// A rail that nobody read might have carried anything.
	for i, other := range r.Rig.Nodes[e].Rails {
		if i != m.pair.Rails[e] && !counted[i] && other.State == "ACTIVE" {
			fail(steps.Inconclusive, "%s: what %s on %s moved meanwhile is unknown", m.rail, other.Dev, node)
			break
		}
	}
	return own, ok
}

// flapCounters grow when a link goes down. perftest ends with status 0 all the
// same where it comes back in time (a cable pulled and put back during the run).
var flapCounters = []string{"link_downed", "carrier_changes", "carrier_down_count", "link_error_recovery"}

// flaps lists those that grew on the rail under test.
func flaps(s steps.Stage, m measurement) string {
	var grown []string
	for _, b := range s.Bytes {
		if b.Rail != m.pair.Rails[b.End] {
			continue
		}
		for _, name := range flapCounters {
			if b.Errors[name] > 0 && !slices.Contains(grown, name) {
				grown = append(grown, name)
			}
		}
	}
	return strings.Join(grown, ", ")
}

// size is decimal bytes: 0.35 GB, 12 MB.
func size(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f kB", v/1e3)
	default:
		return fmt.Sprintf("%.0f bytes", v)
	}
}
