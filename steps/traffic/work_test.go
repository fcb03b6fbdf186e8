package traffic_test

import (
	"math"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
	"github.com/railbench/railbench/steps/traffic"
)

// A node's ports are taken together, each the busier way, and held against what one of them can; the node counts that
// carried less.
func TestWorkOf(t *testing.T) {
	t.Parallel()
	rig := kindtest.Spark()
	here := []traffic.Port{{Node: steps.Here, Rail: 0}, {Node: steps.Here, Rail: 1}}
	both := append(here[:2:2], traffic.Port{Node: steps.Peer, Rail: 0})
	moved := func(e steps.End, rail int, tx, rx uint64) steps.RailBytes {
		return steps.RailBytes{End: e, Rail: rail, Tx: tx, Rx: rx, Known: true, Seconds: 10}
	}
	for name, c := range map[string]struct {
		bytes []steps.RailBytes
		ports []traffic.Port
		want  float64 // Gb/s
		any   bool
	}{
		"two ports":    {[]steps.RailBytes{moved(steps.Here, 0, 60e9, 1), moved(steps.Here, 1, 1, 40e9)}, here, 80, true},
		"one less":     {[]steps.RailBytes{moved(steps.Here, 0, 20e9, 0), moved(steps.Peer, 0, 0, 10e9)}, both, 8, true},
		"one nothing":  {[]steps.RailBytes{moved(steps.Here, 0, 20e9, 0), moved(steps.Peer, 0, 0, 0)}, both, 0, false},
		"one unknown":  {[]steps.RailBytes{moved(steps.Here, 0, 20e9, 0)}, both, 0, false},
		"another port": {[]steps.RailBytes{moved(steps.Peer, 1, 60e9, 0)}, both, 0, false},
		"chatter":      {[]steps.RailBytes{moved(steps.Here, 0, 1e6, 1e6)}, here, 0.0008, false},
		"unknown":      {[]steps.RailBytes{{End: steps.Here, Tx: 60e9, Seconds: 10}}, both, 0, false},
		"no port":      {[]steps.RailBytes{moved(steps.Here, 0, 60e9, 0)}, nil, 0, false},
		"no time":      {[]steps.RailBytes{{End: steps.Here, Tx: 60e9, Known: true}}, here, 0, true},
		"nothing":      {nil, both, 0, false},
	} {
		w := traffic.WorkOf(rig, c.bytes, c.ports...)
		if math.Abs(w.Gbps-c.want) > 1e-3 || w.Any() != c.any || (w.Share > 0) != (c.want > 0) {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
