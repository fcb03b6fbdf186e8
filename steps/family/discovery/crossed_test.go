package discovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// Ports of two numbers are crossed cables between two nodes and on a switch, where others are in the same subnet; in a
// ring each leads to the next node's other port.
func TestCrossedPorts(t *testing.T) {
	for name, c := range map[string]struct {
		nodes   int
		third   string // of its rails, before the number
		crossed bool
	}{
		"two nodes": {2, "", true}, "a switch": {3, "192.168.100.", true}, "a ring": {3, "10.9.9.", false},
	} {
		rig := kindtest.Spark()
		if c.nodes > 2 {
			third := rig.Nodes[steps.Peer]
			third.No, third.Name, third.Rails = 2, "spark-03", slices.Clone(third.Rails)
			for i := range third.Rails {
				third.Rails[i].Addr = c.third + string(rune('5'+i))
			}
			rig.Nodes = append(rig.Nodes, third)
		}
		a, b := rig.Rail(rig.Pairs[0], steps.Here), rig.Rail(rig.Pairs[0], steps.Peer)
		a.PhysPort, b.PhysPort = 0, 1
		var rep registry.Report
		checkAlike(rig, 1, a, b, &rep)
		if got := strings.Contains(rep.Verdict("fine").Reason, "Check for crossed cables"); got != c.crossed {
			t.Errorf("%s: told as crossed: %v: %s", name, got, rep.Verdict("fine").Reason)
		}
	}
}
