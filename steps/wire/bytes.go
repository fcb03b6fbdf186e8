package wire

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/theory"
)

// How far counted bytes may be from the prediction.
const (
	LessBytes = 0.98
	MoreBytes = 1.03 // above: packets were sent again (assets/docs/facts.md#more-bytes-than-predicted)
	// An interface counts everything, so TCP, ARP and ACKs are in its bytes too.
	MoreNetdevBytes = 1.08
	// Nothing makes a transfer three times as large: the counter jumped.
	jumped = 3
	// OtherRails is the share of the payload that may move on rails that are not
	// under test. The tutorials' rules took anything up to 10^8 bytes for nothing
	// (assets/docs/facts.md#verdicts-of-the-tutorials).
	OtherRails = 0.01
)

// Predict predicts what a rail's counters grow by: each message is cut into
// packets of the MTU, each with its headers.
func Predict(row parse.BandwidthRow, mtu int) float64 {
	packets := (row.Bytes + mtu - 1) / mtu
	return float64(row.Iterations) * float64(row.Bytes+packets*theory.RoCEHeaders)
}

// JudgeBytes compares what every rail's counters moved with the prediction: out
// of the client's rail, into the server's, and nowhere else. ok says that the
// account is right.
func JudgeBytes(r steps.Result, s steps.Stage, m kind.Measurement, row parse.BandwidthRow, mtu int, soft bool, rep *kind.Report) (sent, want float64, ok bool) {
	if len(s.Bytes) == 0 || mtu <= 0 {
		rep.On(m, steps.Inconclusive, "the bytes were not counted, so nothing shows which rail carried them")
		return 0, 0, false
	}
	want = Predict(row, mtu)
	payload := float64(row.Iterations) * float64(row.Bytes)
	if g := Flaps(s, m); g != "" {
		rep.On(m, steps.Fail, "the link went down during the test (%s)", g)
	}
	var problems [2]kind.Finding
	for _, e := range steps.Ends {
		var own float64
		own, problems[e] = judgeEnd(r, s, m, e, want, payload, soft, row, mtu, rep)
		if e == steps.Here {
			sent = own
		}
	}
	if problems[0] == problems[1] {
		if problems[0].Text == "" {
			return sent, want, true
		}
		rep.On(m, problems[0].Grade, "on both nodes %s", problems[0].Text)
		return sent, want, false
	}
	for _, e := range steps.Ends {
		if p := problems[e]; p.Text != "" {
			rep.On(m, p.Grade, "on %s %s", r.Rig.NameOf(e), p.Text)
		}
	}
	return sent, want, false
}

// judgeEnd is the account of one node. The client writes, so Here is looked at
// for what it sent and Peer for what it received. The finding is empty where the
// account is right.
func judgeEnd(r steps.Result, s steps.Stage, m kind.Measurement, e steps.End, want, payload float64, soft bool, row parse.BandwidthRow, mtu int, rep *kind.Report) (own float64, _ kind.Finding) {
	node, verb := r.Rig.NameOf(e), "sent"
	if e == steps.Peer {
		verb = "received"
	}
	problem := func(g steps.Grade, format string, args ...any) kind.Finding {
		return kind.Finding{Grade: g, Text: fmt.Sprintf(format, args...)}
	}
	var mine *steps.RailBytes
	counted := map[int]bool{}
	var foreign float64
	var others []string
	for _, b := range s.Bytes {
		switch {
		case b.End != e:
		case b.Rail == m.Pair.Rails[e]:
			mine = &b
		case b.Known:
			counted[b.Rail] = true
			if n := max(float64(b.Tx), float64(b.Rx)); n > OtherRails*payload {
				foreign += n
				others = append(others, b.Dev)
				rep.Show(fmt.Sprintf("%s bytes on %s of %s", m.Rail, b.Dev, node), int64(n), "bytes", &steps.Expected{
					Max: new(float64(int64(OtherRails * payload))), From: "the test uses one rail",
				})
			}
		}
	}
	rail := r.Rig.Rail(m.Pair, e)
	if mine == nil || !mine.Known {
		why := "nobody counted"
		if mine != nil && mine.Why != "" {
			why = mine.Why
		}
		return 0, problem(steps.Inconclusive, "the bytes of %s are unknown (%s)", rail.Dev, why)
	}
	if own = float64(mine.Tx); e == steps.Peer {
		own = float64(mine.Rx)
	}
	netdev := strings.HasPrefix(mine.Source, "netdev")
	most := MoreBytes
	if netdev {
		most = MoreNetdevBytes
	}
	rep.Show(fmt.Sprintf("%s bytes %s by %s", m.Rail, verb, node), int64(own), "bytes", &steps.Expected{
		Min: new(float64(int64(LessBytes * want))), Max: new(float64(int64(most * want))),
		From: fmt.Sprintf("%d messages of %d bytes in packets of %d with %d bytes of headers each (%s)", row.Iterations, row.Bytes, mtu, theory.RoCEHeaders, mine.Source),
	})
	ratio := own / want
	switch {
	case netdev && !soft && rail.PCI.Addr != "":
		return own, problem(steps.Inconclusive, "%s has no port counters, and RDMA is not in its interface's bytes: nothing shows which rail carried it", rail.Dev)
	case ratio < 0.01 && foreign >= want/2:
		return own, problem(steps.Fail, "nothing went over %s; %s carried the bytes: the wrong rail", rail.Dev, kind.And(others))
	case foreign > 0:
		return own, problem(steps.Fail, "%s moved bytes too, and the test uses one rail: a bond, or something else running?", kind.And(others))
	}
	// A rail that nobody read might have carried anything.
	for i, other := range r.Rig.At(e).Rails {
		if i != m.Pair.Rails[e] && !counted[i] && other.State == "ACTIVE" {
			return own, problem(steps.Inconclusive, "the bytes of %s meanwhile are unknown", other.Dev)
		}
	}
	switch {
	case ratio > jumped:
		return own, problem(steps.Inconclusive, "%s moved %s where %s were predicted: the counter jumped, or other traffic ran", rail.Dev, kind.Size(own), kind.Size(want))
	case ratio > most:
		why := "no error counter grew, so perhaps other traffic"
		if g := GrownErrors(s, m); g != "" {
			why = "packets were sent again: " + g
		}
		return own, problem(steps.Warn, "%.1f %% more bytes than predicted (%s)", 100*(ratio-1), why)
	case ratio < LessBytes:
		return own, problem(steps.Inconclusive, "%s moved only %s of the %s predicted", rail.Dev, kind.Size(own), kind.Size(want))
	}
	return own, kind.Finding{}
}
