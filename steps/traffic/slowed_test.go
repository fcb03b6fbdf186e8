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
			}, 100, "packets were sent again on spark-01, and less on spark-02: look at the cable and the link's errors",
		},
		"as many": {
			func(b []steps.RailBytes) {
				count(b, ports[0], "packet_seq_err", 2000)
				count(b, ports[2], "packet_seq_err", 2000)
			}, 100, "packets were sent again on spark-02 and spark-01: look at the cable and the link's errors",
		},
		"a few time-outs": {
			func(b []steps.RailBytes) { count(b, ports[1], "local_ack_timeout_err", 3) }, 100,
			"packets got no answer in time on spark-02: look at the cable and the link's errors",
		},
		"pauses": {
			func(b []steps.RailBytes) {
				count(b, ports[2], "tx_global_pause", 9)
				count(b, ports[0], "rx_global_pause", 9)
			}, 100, "what came was paused on spark-01, where not more could be taken: look at the PCIe link there, and the heat",
		},
		"heat": {
			func(b []steps.RailBytes) { counterOf(b, ports[2]).Degrees = 120 }, 100,
			"nothing shows but the heat of the adapter on spark-01, 120 degrees: give it air (see adapter-temperature)",
		},
		"traffic": {
			func(b []steps.RailBytes) { counterOf(b, ports[1]).IdleGbps = 60 }, 100,
			"up to 60.0 Gb/s of other traffic were on rocep1s0f1 on spark-02 before it began",
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
