package traffic

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// Why what goes around nodes was slow is told by the surest sign, with the node that has most of it first, and not by
// one that takes less than what is missing.
func TestSlowedAt(t *testing.T) {
	ports := []Port{{steps.Here, 0}, {steps.Here, 1}, {steps.Peer, 0}, {steps.Peer, 1}}
	count := func(b []steps.RailBytes, p Port, name string, n uint64) { counterOf(b, p).Errors[name] = n }
	for name, c := range map[string]struct {
		do    func(b []steps.RailBytes)
		lacks float64
		want  string
	}{
		"nothing":      {func([]steps.RailBytes) {}, 100, ""},
		"a few errors": {func(b []steps.RailBytes) { count(b, ports[0], "packet_seq_err", 5) }, 100, ""},
		"errors": {
			func(b []steps.RailBytes) {
				count(b, ports[0], "packet_seq_err", 2000)
				count(b, ports[3], "packet_seq_err", 5000)
				counterOf(b, ports[2]).Degrees = 120
			}, 100, "Packets were retransmitted on spark-01, fewer on spark-02. Check the cable and link errors",
		},
		"as many": {
			func(b []steps.RailBytes) {
				count(b, ports[0], "packet_seq_err", 2000)
				count(b, ports[2], "packet_seq_err", 2000)
			}, 100, "Packets were retransmitted on spark-02 and spark-01. Check the cable and link errors",
		},
		"a few time-outs": {
			func(b []steps.RailBytes) { count(b, ports[1], "local_ack_timeout_err", 3) }, 100,
			"Packets timed out on spark-02. Check the cable and link errors",
		},
		"pauses": {
			func(b []steps.RailBytes) {
				count(b, ports[2], "tx_global_pause", 9)
				count(b, ports[0], "rx_global_pause", 9)
			}, 100, "Pause frames were sent on spark-01: data arrived too fast. Check the PCIe link and adapter temperature",
		},
		"heat": {
			func(b []steps.RailBytes) { counterOf(b, ports[2]).Degrees = 120 }, 100,
			"The adapter on spark-01 is at 120 degrees. Improve its airflow (see adapter-temperature)",
		},
		"traffic": {
			func(b []steps.RailBytes) { counterOf(b, ports[1]).IdleGbps = 60 }, 100,
			"Up to 60.0 Gb/s of other traffic ran on rocep1s0f1 on spark-02 before the test. Stop it and rerun",
		},
		"too little traffic": {func(b []steps.RailBytes) { counterOf(b, ports[1]).IdleGbps = 40 }, 100, ""},
		"another port's":     {func(b []steps.RailBytes) { count(b, Port{steps.Here, 2}, "packet_seq_err", 5000) }, 100, ""},
	} {
		rig := kindtest.Spark()
		bytes := moves(rig)
		for i := range bytes {
			bytes[i].Errors = map[string]uint64{}
		}
		c.do(bytes)
		if got := SlowedAt(rig, bytes, ports, c.lacks); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
