package network

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestRebootSafe(t *testing.T) {
	lines := func(rig steps.Rig) edited {
		texts := railLines(rig, func(_ steps.End, r steps.Rail) string {
			return r.Netdev.Name + "=" + r.Addr + " is in: the profile x of NetworkManager\n" +
				r.Netdev.Name + " MTU: 1500\n" + r.Netdev.Name + " saved MTU: none"
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
	lost := edit{
		steps.Peer, "enp1s0f1np1=192.168.200.10 is in: the profile x of NetworkManager",
		"enp1s0f1np1=192.168.200.10 is in: nothing",
	}
	closed := edit{steps.Peer, "may read: nothing", "may read: /etc/netplan/40-cx7.yaml"}
	nobody := func(e steps.End) edit { return edit{e, "by: NetworkManager netplan", "by: nothing"} }
	dark := kindtest.Spark()
	dark.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	kindtest.Want(t, "saved", judge(kindtest.Spark()), steps.Pass, "8 addresses")
	because(t, "one is not", judge(kindtest.Spark(), lost), steps.Warn, steps.AddressNotSaved,
		"192.168.200.10 of enp1s0f1np1 on spark-01")
	because(t, "a profile that no boot starts", judge(kindtest.Spark(), closed, edit{
		lost.end, lost.old, lost.new + "\nenp1s0f1np1=192.168.200.10 only now: the profile Wired: 1 of NetworkManager",
	}), steps.Warn, steps.NoAutoconnect, "192.168.200.10 of enp1s0f1np1 on spark-01")
	because(t, "one may be", judge(kindtest.Spark(), lost, closed), steps.Skipped, steps.NeedsRoot,
		"/etc/netplan/40-cx7.yaml")
	kindtest.Want(t, "without a link", judge(dark, lost), steps.Pass, "7 addresses")
	because(t, "nobody configures", judge(kindtest.Spark(), nobody(0), nobody(1)), steps.Skipped, steps.ManagerUnknown,
		"Neither node has NetworkManager")
	because(t, "one node is configured", judge(kindtest.Spark(), nobody(0)), steps.Inconclusive, steps.ManagerUnknown,
		"it is unknown what sets the addresses on spark-02")
	nine := edit{steps.Peer, "enp1s0f1np1 MTU: 1500", "enp1s0f1np1 MTU: 9000"}
	saved := func(text string) edit {
		return edit{steps.Peer, "enp1s0f1np1 saved MTU: none", "enp1s0f1np1 saved MTU: " + text}
	}
	because(t, "an MTU that nobody saved", judge(kindtest.Spark(), nine), steps.Warn, steps.MTUNotSaved,
		"MTU 9000 of enp1s0f1np1 on spark-01",
		"in no configuration of NetworkManager or netplan", "802-3-ethernet.mtu 9000")
	kindtest.Want(t, "an MTU that is saved", judge(kindtest.Spark(), nine, saved("9000 in /etc/netplan/40-cx7.yaml")),
		steps.Pass,
		"so do the MTUs of 1 interface")
	because(t, "another is saved", judge(kindtest.Spark(), saved("9000 in the profile x of NetworkManager")), steps.Warn,
		steps.BootMTUDiffers, "MTU 1500 now", "9000")
	kindtest.Want(t, "an MTU in a file that is hard to read",
		judge(kindtest.Spark(), nine, saved("unclear in /etc/netplan/40-cx7.yaml")),
		steps.Pass, "8 addresses")
	kindtest.Want(t, "an MTU that root may have saved", judge(kindtest.Spark(), nine, closed,
		edit{
			steps.Peer, "enp1s0f1np1=192.168.200.10 is in: the profile x of NetworkManager",
			"enp1s0f1np1=192.168.200.10 is in: /etc/netplan/1.yaml",
		}),
		steps.Pass, "8 addresses")
	because(t, "an MTU that a profile lacks", judge(kindtest.Spark(), nine, closed), steps.Warn, steps.MTUNotSaved,
		"resets MTU 9000")
	because(t, "no MTU", judge(kindtest.Spark(), edit{steps.Peer, "enp1s0f1np1 MTU: 1500\n", ""}), steps.Inconclusive,
		steps.Unreadable, "the MTU of enp1s0f1np1 on spark-01")
	kindtest.Because(t, "no addresses", judge(bare()), steps.Skipped, steps.CannotRun)

	bonded := kindtest.BondedAt(steps.Here, steps.Peer)
	onBond := func(where string) edit {
		return edit{
			steps.Here, "configured by",
			"bond0=192.168.100.11 is in: " + where + "\nbond0 MTU: 1500\nbond0 saved MTU: none\nconfigured by",
		}
	}
	there := edit{
		steps.Peer, "configured by",
		"bond0=192.168.100.10 is in: the profile netplan-bond0 of NetworkManager\n" +
			"bond0 MTU: 1500\nbond0 saved MTU: none\nconfigured by",
	}
	kindtest.Want(t, "a bond that lasts", judge(bonded, onBond("/etc/netplan/60-roce-bond.yaml"), there), steps.Pass,
		"6 addresses of rails and their bonds")
	because(t, "a bond that goes", judge(bonded, onBond("nothing"), there), steps.Warn, steps.BondNotSaved, "bond0",
		"(192.168.100.11) on spark-02")
	because(t, "a bond of which nothing is told", judge(bonded, there), steps.Inconclusive, steps.Unreadable,
		"which configuration sets 192.168.100.11 of bond0")
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
