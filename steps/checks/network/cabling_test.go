package network

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// cabled is what both nodes learn where the peer's ports are joined with these of this end, by rail.
func cabled(rig steps.Rig, leads map[int]int) (texts edited) {
	back := map[int]int{}
	for i, j := range leads {
		back[j] = i
	}
	texts = neighbours(rig)
	for e := range texts {
		to := leads
		if steps.End(e) == steps.Peer {
			to = back
		}
		for _, p := range rig.Pairs {
			own, other := rig.Rail(p, steps.End(e)), rig.Rail(p, steps.End(e).Other())
			line := own.Netdev.Name + " neighbour " + other.Addr + ": "
			was, rest, _ := strings.Cut(texts[e], line)
			_, rest, _ = strings.Cut(rest, "\n")
			far, ok := to[p.Rails[e]]
			if !ok {
				texts[e] = was + rest
				continue
			}
			texts[e] = was + line + mac(steps.End(e).Other(), rig.Nodes[steps.End(e).Other()].Rails[far].Dev) + "\n" + rest
		}
	}
	return texts
}

// Rails that are joined with each other's partner are reported as crossed. The verdict says whether the
// cables or the addresses are exchanged, with a fix that helps; and the picture shows what leads where.
func TestCabling(t *testing.T) {
	exchanged := kindtest.Spark()
	rails := exchanged.Nodes[steps.Peer].Rails
	rails[0].Addr, rails[1].Addr = rails[1].Addr, rails[0].Addr
	rails[0].Netdev.Addrs, rails[1].Netdev.Addrs = rails[1].Netdev.Addrs, rails[0].Netdev.Addrs
	exchanged.Pairs = steps.PairRails(exchanged.Nodes[0], exchanged.Nodes[1])
	straight := map[int]int{0: 0, 1: 1, 2: 2, 3: 3}
	for name, c := range map[string]struct {
		rig     steps.Rig
		leads   map[int]int
		grade   steps.Grade
		code    steps.Code
		names   []string
		picture string // of rail 1
	}{
		"straight": {kindtest.Spark(), straight, steps.Pass, "", nil, "1|enp1s0f0np0, port 0|═══|enp1s0f0np0, port 0"},
		"crossed cables": {
			kindtest.Spark(),
			map[int]int{0: 1, 1: 0, 2: 3, 3: 2},
			steps.Fail, steps.CablesCrossed,
			[]string{
				"rails 1 and 2 are crossed",
				"enp1s0f0np0 on spark-02 is cabled to enp1s0f1np1 on spark-01", "swap the plugs",
				"swap the plugs", "ails 3 and 4",
			},
			"1|enp1s0f0np0, port 0|═╳═|enp1s0f1np1, port 1",
		},
		"crossed cables, and the other half answered first": {
			kindtest.Spark(),
			map[int]int{0: 3, 1: 2, 2: 1, 3: 0},
			steps.Fail, steps.CablesCrossed,
			[]string{"swap the plugs", "swap the plugs"},
			"1|enp1s0f0np0, port 0|═╳═|enP2p1s0f1np1, port 1",
		},
		"exchanged addresses": {
			exchanged, straight, steps.Fail, steps.AddressesExchanged,
			[]string{"rails 1 and 2", "enp1s0f0np0 on spark-01 has one of rail 2"},
			"1|enp1s0f0np0, port 0|═╳═|enp1s0f0np0, port 0",
		},
		"one half, that is flux": {
			kindtest.Spark(),
			map[int]int{0: 2, 1: 1, 3: 3},
			steps.Fail, steps.NeighbourWrong,
			[]string{"ip neigh flush"},
			"1|enp1s0f0np0, port 0|═╳═|enP2p1s0f0np0, port 0",
		},
		"half-connected": {
			kindtest.Spark(),
			map[int]int{1: 1, 2: 2, 3: 3},
			steps.Inconclusive, steps.NoAnswer,
			nil,
			"1|enp1s0f0np0, port 0|unknown: no answer|–",
		},
	} {
		texts := cabled(c.rig, c.leads)
		v := registered().Judges["arp-flux"](steps.Cell{}, looked(c.rig, texts[0], texts[1]))
		because(t, name, v, c.grade, c.code, c.names...)
		if strings.Contains(v.Said(), "crossed") && strings.Contains(v.Reason, "flush") {
			t.Errorf("%s: two cures: %s", name, v.Reason)
		}
		if len(v.Tables) != 1 || strings.Join(v.Tables[0].Rows[0], "|") != c.picture {
			t.Errorf("%s: %v", name, v.Tables)
		}
	}
}
