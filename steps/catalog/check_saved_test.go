package catalog

import (
	"testing"

	"github.com/railbench/railbench/steps"
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
		return judgeRebootSafe(steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	lost := edit{steps.Peer, "enp1s0f1np1=192.168.200.10 is in: the profile x of NetworkManager", "enp1s0f1np1=192.168.200.10 is in: nothing"}
	closed := edit{steps.Peer, "may read: nothing", "may read: /etc/netplan/40-cx7.yaml"}
	nobody := func(e steps.End) edit { return edit{e, "by: NetworkManager netplan", "by: nothing"} }
	dark := spark()
	dark.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	want(t, "saved", judge(spark()), steps.Pass, "8 addresses")
	want(t, "one is not", judge(spark(), lost), steps.Warn, "192.168.200.10 of enp1s0f1np1 on spark-01 is in no configuration of NetworkManager netplan", "gone after a reboot")
	want(t, "one may be", judge(spark(), lost, closed), steps.Skipped, "only root reads /etc/netplan/40-cx7.yaml")
	want(t, "without a link", judge(dark, lost), steps.Pass, "7 addresses")
	want(t, "nobody configures", judge(spark(), nobody(0), nobody(1)), steps.Skipped, "Neither node has NetworkManager")
	want(t, "one node is configured", judge(spark(), nobody(0)), steps.Pass, "4 addresses")
	want(t, "no addresses", judge(bare()), steps.Skipped, "No rail with a link")
	holes(t, "reboot-safe", judgeRebootSafe, spark(), lines(spark()))
}

// bare is a rig whose rails have no address.
func bare() steps.Rig {
	rig := spark()
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].Addr = ""
		}
	}
	rig.Pairs = nil
	return rig
}
