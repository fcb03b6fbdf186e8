package network

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
)

func TestRebootSafe(t *testing.T) {
	lines := func(rig steps.Rig) edited {
		texts := railLines(rig, func(_ steps.End, r steps.Rail) string {
			return r.Netdev.Name + "=" + r.Addr + " is in: the profile x of NetworkManager"
		})
		for e := range texts {
			texts[e] += "configured by: NetworkManager netplan\nonly root may read: nothing\n"
		}
		return texts
	}
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := lines(rig).with(edits...)
		return registered().Judges["reboot-safe"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	lost := edit{steps.Peer, "enp1s0f1np1=192.168.200.10 is in: the profile x of NetworkManager", "enp1s0f1np1=192.168.200.10 is in: nothing"}
	closed := edit{steps.Peer, "may read: nothing", "may read: /etc/netplan/40-cx7.yaml"}
	nobody := func(e steps.End) edit { return edit{e, "by: NetworkManager netplan", "by: nothing"} }
	dark := kindtest.Spark()
	dark.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	kindtest.Want(t, "saved", judge(kindtest.Spark()), steps.Pass, "8 addresses")
	kindtest.Want(t, "one is not", judge(kindtest.Spark(), lost), steps.Warn, "192.168.200.10 of enp1s0f1np1 on spark-01 is in no configuration of NetworkManager netplan", "gone after a reboot")
	kindtest.Want(t, "one may be", judge(kindtest.Spark(), lost, closed), steps.Skipped, "only root reads /etc/netplan/40-cx7.yaml")
	kindtest.Want(t, "without a link", judge(dark, lost), steps.Pass, "7 addresses")
	kindtest.Want(t, "nobody configures", judge(kindtest.Spark(), nobody(0), nobody(1)), steps.Skipped, "Neither node has NetworkManager")
	kindtest.Want(t, "one node is configured", judge(kindtest.Spark(), nobody(0)), steps.Inconclusive, "where spark-02 has its rails' addresses from is not known")
	kindtest.Want(t, "no addresses", judge(bare()), steps.Skipped, "No rail with a link")
	holes(t, "reboot-safe", registered().Judges["reboot-safe"], kindtest.Spark(), lines(kindtest.Spark()))
}

// bare is a rig whose rails have no address.
func bare() steps.Rig {
	rig := kindtest.Spark()
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].Addr = ""
		}
	}
	rig.Pairs = nil
	return rig
}
