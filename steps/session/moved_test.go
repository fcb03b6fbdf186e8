package session

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// A run that was interrupted says what its rails had sent until then, and nothing where no one knows.
func TestMoved(t *testing.T) {
	rig := example()
	rail := func(end steps.End, i int, tx uint64, known bool) steps.RailBytes {
		return steps.RailBytes{
			End: end, Dev: rig.At(end).Rails[i].Dev, Rail: i, Tx: tx, Known: known, IPKnown: known, IPTx: 1000,
			Source: "port_xmit_data", Seconds: 10,
		}
	}
	for _, c := range []struct {
		name  string
		rails []steps.RailBytes
		want  string
	}{
		{"nothing was counted", nil, ""},
		{"counters that are unknown", []steps.RailBytes{rail(steps.Here, 0, 122e9, false)}, ""},
		{"hardly anything", []steps.RailBytes{rail(steps.Here, 0, 5000, true)}, ""},
		{
			"a rail, its acknowledgements and an idle one",
			[]steps.RailBytes{rail(steps.Here, 0, 122e9, true), rail(steps.Here, 1, 0, true), rail(steps.Peer, 0, 1e8, true)},
			" Until then mlx5_0 of here sent 122.00 GB in 10.0 s (97.6 Gb/s).",
		},
	} {
		if got := moved(steps.Result{Rig: rig, Stages: []steps.Stage{{Bytes: c.rails}}}); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
