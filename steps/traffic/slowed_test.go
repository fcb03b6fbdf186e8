package traffic

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The surest sign says why traffic between several nodes was slow. The node that has most of that sign comes
// first, and a sign that takes less than what is missing is not reported.
func TestSlowedAt(t *testing.T) {
	ports := []Port{{steps.Here, 0}, {steps.Here, 1}, {steps.Peer, 0}, {steps.Peer, 1}}
	count := func(b []steps.RailBytes, p Port, name string, n uint64) { counterOf(b, p).Errors[name] = n }
	for name, c := range map[string]struct {
		do    func(b []steps.RailBytes)
		lacks float64
		code  steps.Code
		want  string
	}{
		"nothing":      {func([]steps.RailBytes) {}, 100, "", ""},
		"a few errors": {func(b []steps.RailBytes) { count(b, ports[0], "packet_seq_err", 5) }, 100, "", ""},
		"errors": {
			func(b []steps.RailBytes) {
				count(b, ports[0], "packet_seq_err", 2000)
				count(b, ports[3], "packet_seq_err", 5000)
				counterOf(b, ports[2]).Degrees = 120
			}, 100, steps.ErrorsGrew,
			"Packets were retransmitted on spark-01, fewer on spark-02. Run: railbench doctor error-counters",
		},
		"as many": {
			func(b []steps.RailBytes) {
				count(b, ports[0], "packet_seq_err", 2000)
				count(b, ports[2], "packet_seq_err", 2000)
			}, 100, steps.ErrorsGrew,
			"Packets were retransmitted on spark-02 and spark-01. Run: railbench doctor error-counters",
		},
		"a few time-outs": {
			func(b []steps.RailBytes) { count(b, ports[1], "local_ack_timeout_err", 3) }, 100, steps.ErrorsGrew,
			"Packets timed out on spark-02. Run: railbench doctor error-counters",
		},
		"pauses": {
			func(b []steps.RailBytes) {
				count(b, ports[2], "tx_global_pause", 9)
				count(b, ports[0], "rx_global_pause", 9)
			}, 100, steps.Congestion,
			"Pause frames were sent on spark-01: data arrived too fast. Run: railbench doctor pcie-link",
		},
		"heat, which has a finding of its own": {
			func(b []steps.RailBytes) { counterOf(b, ports[2]).Degrees = 120 }, 100, "", "",
		},
		"degraded, with pauses": {
			func(b []steps.RailBytes) { count(b, ports[2], "tx_global_pause", 9) }, 187, steps.AdapterDegraded,
			"About 13 Gb/s per device is typical of a degraded adapter: shut its node down and unplug power for a minute. " +
				"The slowest node is unknown. Run: railbench pairs",
		},
		"traffic": {
			func(b []steps.RailBytes) { counterOf(b, ports[1]).IdleGbps = 60 }, 100, steps.OtherTraffic,
			"Up to 60.0 Gb/s of other traffic ran on rocep1s0f1 on spark-02 before the test. Stop it and rerun",
		},
		"too little traffic": {func(b []steps.RailBytes) { counterOf(b, ports[1]).IdleGbps = 40 }, 100, "", ""},
		"another port's": {
			func(b []steps.RailBytes) { count(b, Port{steps.Here, 2}, "packet_seq_err", 5000) }, 100, "", "",
		},
	} {
		rig := kindtest.Spark()
		bytes := moves(rig)
		for i := range bytes {
			bytes[i].Errors = map[string]uint64{}
		}
		c.do(bytes)
		if code, got := SlowedAt(rig, bytes, ports, c.lacks, 200-c.lacks); code != c.code || got != c.want {
			t.Errorf("%s: %s %q", name, code, got)
		}
	}
}
