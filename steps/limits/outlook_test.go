package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
)

// The outlook shows what a probed rig should reach; what is unknown is not a figure.
func TestOutlook(t *testing.T) {
	rig := steps.NewRig("lab", true, 2)
	if text := Outlook(rig); text != "" {
		t.Errorf("nobody has looked at it: %s", text)
	}
	rig.Probed = time.Unix(1, 0)
	for e := range rig.Nodes {
		rig.Nodes[e].Name = []string{"a", "b"}[e]
		for i, slot := range []string{"0000:01:00.0", "0000:01:00.1", "0002:01:00.0"} {
			rig.Nodes[e].Rails = append(rig.Nodes[e].Rails, steps.Rail{
				Dev: slot, RateGbps: 200, MTU: 1024, PhysPort: i % 2, State: "ACTIVE", Netdev: steps.Netdev{MTU: 1500},
				PCI: steps.PCI{Addr: slot, GTps: 32, Width: 4, MaxGTps: 32, MaxWidth: 4},
			})
		}
	}
	for i := range 3 {
		rig.Pairs = append(rig.Pairs, steps.Pair{Rails: [2]int{i, i}})
	}
	text := Outlook(rig)
	for _, want := range []string{
		"SIMULATED", "a (client) and b (peer), 3 rails",
		"a link of 200 Gb/s, behind PCIe Gen5 x4, RoCE MTU 1024, interface MTU 1500",
		"| rail 1 | 92.5 | 111.7 |", "| rails 1 and 2, behind one PCIe link |", "| rails 1 and 3, behind two | 185.0 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].MTU = 4096
		}
	}
	if text := Outlook(rig); strings.Contains(text, "at 4096 |") || !strings.Contains(text, "| rail 1 | 111.7 |") {
		t.Errorf("at the largest MTU:\n%s", text)
	}
	rig.Nodes[1].Rails[0].RateGbps = 0
	if text := Outlook(rig); strings.Contains(text, "| rail") || !strings.Contains(text, "is unknown") {
		t.Errorf("with a link whose rate is unknown:\n%s", text)
	}
}
