package wire

import (
	"testing"

	"github.com/railbench/railbench/steps/kind/kindtest"
)

// TestLeast: two rails with different MTUs have fewer headers than the smaller MTU
// alone would make.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		name      string
		here      [2]int
		low, high float64
	}{
		{"alike", [2]int{1024, 1024}, 0.979, 0.981},
		{"different", [2]int{4096, 1024}, 0.93, 0.95},
		{"unknown", [2]int{}, 0.979, 0.981},
	} {
		rig, rt := kindtest.Spark(), Route{}
		for e := range rig.Nodes {
			for i, mtu := range c.here {
				rig.Nodes[e].Rails[i].MTU = mtu
			}
		}
		rt.Add(rig, 0)
		rt.Add(rig, 1)
		if got := rt.least(); got < c.low || got > c.high {
			t.Errorf("%s: %.4f, want %g to %g", c.name, got, c.low, c.high)
		}
	}
}
