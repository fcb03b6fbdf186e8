package cabling

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// TestUnnumbered: cables are seen on a real kernel before any rail has an address, by the addresses that links have by
// themselves. The second node's plugs are exchanged, and nothing contradicts that yet.
func TestUnnumbered(t *testing.T) {
	t.Parallel()
	testform.Tool(t, "ping")
	a, b := nodetest.NewNetns(t), nodetest.NewNetns(t)
	a.Sh("ip link add rail0 type veth peer name rail1 netns " + b.Name +
		" && ip link add rail1 type veth peer name rail0 netns " + b.Name)
	rig := steps.NewRig("test", false, 2)
	for i, n := range []nodetest.Netns{a, b} {
		n.Sh("ip link set rail0 up && ip link set rail1 up")
		rig.Nodes[i].Name = []string{"spark-01", "spark-02"}[i]
		for no, name := range []string{"rail0", "rail1"} {
			rig.Nodes[i].Rails = append(rig.Nodes[i].Rails, steps.Rail{
				Dev: "roce" + name, PhysPort: no, Netdev: steps.Netdev{
					Name: name, Carrier: true, MAC: strings.TrimSpace(n.Sh("cat /sys/class/net/" + name + "/address")),
				},
			})
		}
	}
	// An address that is not yet known to be the only one does not ask: some two seconds.
	for _, n := range []nodetest.Netns{a, b} {
		n.Sh("for i in $(seq 100); do ip -6 addr | grep -q tentative || exit 0; sleep 0.1; done; exit 1")
	}
	var facts []map[string]string
	for i, n := range []nodetest.Netns{a, b} {
		out := n.Sh("WAYS='' UNNUMBERED='" + Unnumbered(rig.Nodes[i]) + "'\n" + scripts.Cabling)
		facts = append(facts, Facts(rig.Nodes[i], out))
	}
	const want = `cabling: direct
  spark-01  port 0 ══════ port 1  spark-02
  spark-01  port 1 ══════ port 0  spark-02`
	if got := strings.Join(See(rig, facts).Draw(), "\n"); got != want {
		t.Errorf("%s\nof %v\nwant\n%s", got, facts, want)
	}
}

func TestUnnumberedAre(t *testing.T) {
	n := bare(1).Nodes[0]
	n.Rails[0].Addr = "192.168.0.1"
	n.Rails[1].Netdev.Carrier = false
	n.Rails[2].Netdev.Master = "bond0"
	if got := Unnumbered(n); got != "enP2p1s0f1np1" {
		t.Errorf("%q", got)
	}
}
