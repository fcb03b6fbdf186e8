package traffic

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A slow rail has a cause of its own. What a healthy rail that is alike has, too, is not the cause. What
// explains only a part is reported with how much it explains.
func TestLikelyCause(t *testing.T) {
	type rates = [4]float64
	one := rates{60, 92.5, 92.5, 92.5}
	all := func(b [][]steps.RailBytes, do func(c *steps.RailBytes)) {
		for _, of := range b {
			for i := range of {
				do(&of[i])
			}
		}
	}
	for name, c := range map[string]struct {
		rates  rates
		change func(rig *steps.Rig, b [][]steps.RailBytes) // the bytes of each rail's own test
		want   steps.Code
		beside string
	}{
		"nothing shows":           {one, nil, steps.RailsApart, "alike"},
		"all are as slow":         {rates{60, 60, 60, 60}, nil, steps.BelowLimit, ""},
		"nobody else is measured": {rates{60}, nil, steps.BelowLimit, ""},
		"heat of all": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			all(b, func(c *steps.RailBytes) { c.Degrees = 120 })
		}, steps.RailsApart, "Not the cause: the 120 degrees"},
		"heat of its own": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Peer, 0}).Degrees = 120
		}, steps.AdapterHot, ""},
		"heat, and all are slow": {rates{60, 60, 60, 60}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			all(b, func(c *steps.RailBytes) { c.Degrees = 120 })
		}, steps.AdapterHot, ""},
		"heat, and nothing to compare it with": {rates{60}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			all(b, func(c *steps.RailBytes) { c.Degrees = 120 })
		}, steps.BelowLimit, "may explain a part"},
		"pauses for as long, and nothing to compare it with": {rates{60}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			c := counterOf(b[0], Port{steps.Here, 0})
			c.Errors["rx_prio3_pause_duration"], c.Seconds = 3_500_000, 10
		}, steps.Congestion, ""},
		"pauses for a moment": {rates{60}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			c := counterOf(b[0], Port{steps.Here, 0})
			c.Errors["rx_prio3_pause_duration"], c.Seconds = 3000, 10
		}, steps.BelowLimit, "next to nothing"},
		"pauses of all": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			all(b, func(c *steps.RailBytes) { c.Errors["tx_global_pause"] = 64000 })
		}, steps.RailsApart, "Not the cause: flow control"},
		"pauses of its own": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Peer, 0}).Errors["tx_global_pause"] = 64000
		}, steps.Congestion, ""},
		"errors of all": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			all(b, func(c *steps.RailBytes) { c.Errors["packet_seq_err"] = 5000 })
		}, steps.RailsApart, "Not the cause: retransmission"},
		"errors of its own": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).Errors["packet_seq_err"] = 5000
		}, steps.ErrorsGrew, ""},
		"a few errors": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).Errors["packet_seq_err"] = 5
		}, steps.RailsApart, "next to nothing"},
		"traffic that leaves enough": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 1}).IdleGbps = 21.2
		}, steps.RailsApart, "explains at most 8.3 of the 32.5"},
		"traffic that takes as much": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).IdleGbps = 32
		}, steps.OtherTraffic, ""},
		"traffic on the rail that takes a part": {one, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).IdleGbps = 20
		}, steps.RailsApart, "explains at most 20.0 of the 32.5"},
		"a part, and nothing to compare it with": {rates{60}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).IdleGbps = 20
		}, steps.OtherTraffic, "explains at most 20.0 of the 32.5"},
		"half of the lanes": {one, func(rig *steps.Rig, _ [][]steps.RailBytes) {
			rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2
		}, steps.PCIeNarrow, ""},
		"half of the lanes, and far below": {rates{13.1, 13.1, 13.1, 13.1}, func(rig *steps.Rig, _ [][]steps.RailBytes) {
			rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2
		}, steps.AdapterDegraded, "explains at most 39.8 of the 79.4"},
		"half of the lanes of both": {rates{20, 52, 92.5, 92.5}, func(rig *steps.Rig, _ [][]steps.RailBytes) {
			rig.Nodes[steps.Peer].Rails[0].PCI.Width, rig.Nodes[steps.Peer].Rails[1].PCI.Width = 2, 2
		}, steps.AdapterDegraded, "explains at most"},
		"degraded":     {rates{13.1, 13.1, 13.1, 13.1}, nil, steps.AdapterDegraded, ""},
		"not degraded": {rates{13.1, 92.5, 92.5, 92.5}, nil, steps.RailsApart, "Not the cause: an adapter"},
		"degraded, and shared with somebody": {rates{6.5, 13.1, 13.1, 13.1}, func(_ *steps.Rig, b [][]steps.RailBytes) {
			counterOf(b[0], Port{steps.Here, 0}).IdleGbps = 6.5
		}, steps.AdapterDegraded, "explains at most 6.5 of the 86.0"},
		"another MTU at one end": {one, func(rig *steps.Rig, _ [][]steps.RailBytes) {
			rig.Nodes[steps.Peer].Rails[0].MTU = 4096
		}, steps.RailsApart, "alike"},
		"other rails have other links": {rates{22, 92.5, 92.5, 92.5}, func(rig *steps.Rig, _ [][]steps.RailBytes) {
			for _, e := range steps.Ends {
				rig.Nodes[e].Rails[0].RateGbps = 25
			}
		}, steps.BelowLimit, ""},
		"a neighbour's figure that cannot be": {rates{60, 300, 0, 0}, nil, steps.BelowLimit, ""},
	} {
		rig := kindtest.Spark()
		var bytes [][]steps.RailBytes
		for range rig.Pairs {
			b := moves(rig)
			for i := range b {
				b[i].Errors = map[string]uint64{}
			}
			bytes = append(bytes, b)
		}
		if c.change != nil {
			c.change(&rig, bytes)
		}
		var others []Rate
		for i, gbps := range c.rates {
			if gbps > 0 {
				others = append(others, Rate{
					Measurement: registry.Measurement{No: i + 1, Pair: rig.Pairs[i]}, Gbps: gbps, Message: 65536, MTU: 1024,
					Bytes: bytes[i],
				})
			}
		}
		got := LikelyCause(rig, others[0], others...)
		if got.Code != c.want || got.Known != (c.want != steps.BelowLimit) {
			t.Errorf("%s: %s (%s), want %s", name, got.Code, got.Text, c.want)
		}
		if !strings.Contains(strings.Join(got.Beside, "\n"), c.beside) {
			t.Errorf("%s: %q says nothing of %q", name, got.Beside, c.beside)
		}
		// What is said is not denied next to it.
		if slices.ContainsFunc(got.Beside, func(s string) bool { return strings.Contains(s, got.Text) }) {
			t.Errorf("%s: %q is said twice: %q", name, got.Text, got.Beside)
		}
	}
}

// What is wrong with a rail that carried nothing is not what ended the test.
func TestCauseOfIdleRails(t *testing.T) {
	rig := kindtest.Spark()
	rig.Nodes[steps.Peer].Rails[2].PCI.Width = 2
	for moved, want := range map[uint64]steps.Code{0: steps.RailIdle, 9e9: steps.PCIeNarrow} {
		var rt Route
		rt.Add(rig, 0)
		rt.Add(rig, 2)
		bytes := moves(rig)
		for i := range bytes {
			bytes[i].Tx = map[int]uint64{0: 9e9, 2: moved}[bytes[i].Rail]
			bytes[i].Rx = 0
		}
		said, code := rt.Cause(steps.Result{Rig: rig}, steps.Stage{Bytes: bytes}, 92.4, "")
		if code != want {
			t.Errorf("%d bytes: %s (%s)", moved, code, fmt.Sprint(said))
		}
	}
}
