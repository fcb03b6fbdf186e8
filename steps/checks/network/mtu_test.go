package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestRoCEMTU(t *testing.T) {
	lines := func(rig steps.Rig, netdev, active int) edited {
		return railLines(rig, func(_ steps.End, r steps.Rail) string {
			return fmt.Sprintf("%s MTU: %d\n%s port 1 active_mtu: %d", r.Netdev.Name, netdev, r.Dev, active)
		})
	}
	judge := func(rig steps.Rig, texts edited, edits ...edit) steps.Verdict {
		texts = texts.with(edits...)
		return registered().Judges["roce-mtu"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	full := kindtest.Spark()
	kindtest.Want(t, "the largest", judge(full, lines(full, 4192, 4096)), steps.Pass, "4 rails have a RoCE MTU of 4096")
	kindtest.Advises(t, "1500 at both ends", judge(full, lines(full, 1500, 1024)), steps.MTUSmall,
		"Rails 1, 2, 3 and 4: RoCE MTU 1024", "92.5 Gb/s where 4096 brings 111.7", "costs up to 19.2 Gb/s a rail",
		"4192 or more", "both halves of one cable at once: RoCE MTU 1024 costs 11.1 Gb/s of 196.1")
	kindtest.Advises(t, "at one end of one rail",
		judge(full, lines(full, 9000, 4096),
			edit{steps.Peer, "rocep1s0f1 port 1 active_mtu: 4096", "rocep1s0f1 port 1 active_mtu: 1024"}),
		steps.MTUSmall, "Rail 2: RoCE MTU 1024")
	kindtest.Advises(t, "2048, which nobody measured", judge(full, lines(full, 3000, 2048)), steps.MTUSmall,
		"its headers alone take", "one PCIe Gen5 x4 at RoCE MTU 2048 was never measured")

	slow := kindtest.TutorialSpark()
	for e := range slow.Nodes {
		for i := range slow.Nodes[e].Rails {
			slow.Nodes[e].Rails[i].RateGbps = 100
		}
	}
	// 100 x (4096/4178 - 1024/1106), by hand.
	kindtest.Advises(t, "a link of 100G", judge(slow, lines(slow, 1500, 1024)), steps.MTUSmall,
		"costs up to 5.5 Gb/s a rail")
	soft := kindtest.Virtual()
	kindtest.Because(t, "soft-RoCE", judge(soft, lines(soft, 1500, 1024)), steps.Skipped, steps.NoLimitKnown)

	because(t, "unreadable",
		judge(full, lines(full, 9000, 4096),
			edit{steps.Here, "rocep1s0f0 port 1 active_mtu: 4096", "rocep1s0f0 port 1 active_mtu: 0x1000"}), steps.Inconclusive,
		steps.Unreadable, "nothing tells the RoCE MTU of rail 1")
	untold := edit{steps.Here, "rocep1s0f0 port 1 active_mtu: 4096\n", ""}
	kindtest.Advises(t, "worked out", judge(full, lines(full, 9000, 4096), untold), steps.MTUSmall,
		"Rail 1: RoCE MTU 1024")
	blind := kindtest.Spark()
	blind.Nodes[steps.Here].Rails[0].MTU = 0
	because(t, "nothing tells it", judge(blind, lines(blind, 9000, 4096), untold), steps.Inconclusive, steps.Unreadable,
		"nothing tells the RoCE MTU of rail 1 (rocep1s0f0)")
	ib := kindtest.Spark()
	for _, n := range ib.Nodes {
		n.Rails[1].Layer = "InfiniBand"
	}
	because(t, "InfiniBand", judge(ib, lines(ib, 2044, 2048)), steps.Inconclusive, steps.CannotRun,
		"Rail 2 (rocep1s0f1) is InfiniBand", "the subnet manager's")
	kindtest.Because(t, "no pair", judge(bare(), lines(bare(), 9000, 4096)), steps.Inconclusive, steps.NoRail)
	v := judge(full, lines(full, 1500, 1024))
	for _, x := range v.Evidence {
		if strings.HasPrefix(x.Name, "price") && x.Unit != "Gb/s" {
			t.Errorf("%s has no unit", x.Name)
		}
	}
	holes(t, "roce-mtu", registered().Judges["roce-mtu"], full, lines(full, 9000, 4096))
}
