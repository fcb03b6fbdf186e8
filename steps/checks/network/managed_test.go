package network

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

const rail2 = "enp1s0f1np1"

func TestRailManagers(t *testing.T) {
	lines := func(rig steps.Rig) edited {
		texts := railLines(rig, func(_ steps.End, r steps.Rail) string {
			d := r.Netdev.Name
			return d + " is in: none\n" + d + " addresses: " + d + " UP 192.168.9.9/24\n" +
				d + " NetworkManager: connected:netplan-" + d
		})
		for e := range texts {
			texts[e] += "daemon NetworkManager: active\nanswer NetworkManager: running\nat a boot NetworkManager: enabled\n" +
				"changes of railbench: no\n" +
				"profile 1: " + rail2 + " starts=yes master= netplan-" + rail2 + "\n"
		}
		return texts
	}
	judge := func(edits ...edit) steps.Verdict {
		texts := lines(kindtest.Spark()).with(edits...)
		return registered().Judges["rail-managers"](steps.Cell{}, looked(kindtest.Spark(), texts[0], texts[1]))
	}
	own := rail2 + " NetworkManager: connected:netplan-" + rail2
	free := edit{steps.Peer, own, rail2 + " NetworkManager: unmanaged:"}
	bonded := edit{steps.Peer, rail2 + " is in: none", rail2 + " is in: bond0"}
	bare := edit{steps.Peer, rail2 + " addresses: " + rail2 + " UP 192.168.9.9/24", rail2 + " addresses: none"}
	slave := edit{steps.Peer, "master= netplan-" + rail2, "master=bond0 netplan-" + rail2}
	kindtest.Want(t, "one each", judge(), steps.Pass, "managed by one daemon (8 on both nodes)")
	both := judge(edit{steps.Peer, own, own + "\n" + rail2 + " networkd: configured"})
	because(t, "two", both, steps.Warn, steps.SeveralManagers,
		rail2+" on spark-01 is managed by NetworkManager and networkd")
	because(t, "the fight", judge(bonded), steps.Fail, steps.BondPortAddress, rail2+" on spark-01 is in bond0",
		"192.168.9.9/24")
	because(t, "before the fight", judge(bonded, bare), steps.Warn, steps.BondPortManaged, "profile netplan-"+rail2)
	kindtest.Want(t, "its own bond", judge(bonded, bare, slave), steps.Pass)
	because(t, "a bond of railbench's", judge(bonded, bare, free), steps.Warn, steps.RailUnmanaged, "never starts")
	kindtest.Want(t, "a bond of railbench's, kept",
		judge(bonded, bare, free, edit{steps.Peer, "railbench: no", "railbench: yes"}),
		steps.Pass, "7 rails are managed by one daemon each, and 1 by none")
	because(t, "left alone", judge(free), steps.Warn, steps.RailUnmanaged,
		"NetworkManager ignores "+rail2+" on spark-01", "no address")
	kindtest.Want(t, "left to networkd", judge(free, edit{
		steps.Peer, rail2 + " NetworkManager: unmanaged:",
		rail2 + " NetworkManager: unmanaged:\n" + rail2 + " networkd: configured",
	}), steps.Pass)
	because(t, "mute", judge(edit{
		steps.Peer, "answer NetworkManager: running",
		"answer NetworkManager: Error: NetworkManager is not running.",
	}), steps.Warn, steps.ManagerSilent,
		"(nmcli: NetworkManager is not running)", "restart")
	because(t, "no nmcli", judge(edit{steps.Peer, "answer NetworkManager: running\n", ""}), steps.Warn,
		steps.ManagerSilent, "(nmcli: unknown)")
	because(t, "masked", judge(edit{
		steps.Here, "at a boot NetworkManager: enabled",
		"at a boot NetworkManager: masked",
	}), steps.Warn, steps.ManagerMasked, "spark-02")
	because(t, "a script", judge(edit{
		steps.Peer, "changes of", "script /etc/NetworkManager/dispatcher.d/30-rails: nmcli device set x managed yes\n" +
			"changes of",
	}), steps.Warn, steps.DispatcherScript, "spark-01",
		"/etc/NetworkManager/dispatcher.d/30-rails: nmcli device set x managed yes")
	because(t, "no lease", judge(edit{
		steps.Peer, own,
		rail2 + " NetworkManager: connecting (getting IP configuration):Wired connection 2",
	}), steps.Warn, steps.ProfileUnfinished, rail2, "Wired connection 2")
	because(t, "two profiles", judge(edit{
		steps.Peer, "profile 1: ", "profile 2: " + rail2 + " starts=yes master= Wired connection 2\nprofile 3: " + rail2 +
			" starts=no master= x\nprofile 1: ",
	}), steps.Warn, steps.ProfilesCompete, "2 NetworkManager profiles start automatically on "+rail2+" on spark-01",
		"netplan-"+rail2, "Wired connection 2")
	for netdev, grade := range map[string]steps.Grade{"any": steps.Warn, "some": steps.Pass} {
		kindtest.Want(t, "a second profile, for "+netdev, judge(edit{
			steps.Peer, "profile 1: ", "profile 2: " + netdev + " starts=yes master= office\nprofile 1: ",
		}), grade)
	}
	none := railLines(kindtest.Spark(),
		func(_ steps.End, r steps.Rail) string { return r.Netdev.Name + " addresses: none" })
	kindtest.Want(t, "nobody", registered().Judges["rail-managers"](steps.Cell{},
		looked(kindtest.Spark(), none[0], none[1])), steps.Pass, "no daemon")
	holes(t, "rail-managers", registered().Judges["rail-managers"], kindtest.Spark(), lines(kindtest.Spark()))
}

func TestLinkLocal(t *testing.T) {
	lines := func(rig steps.Rig) edited {
		return railLines(rig, func(_ steps.End, r steps.Rail) string {
			d := r.Netdev.Name
			return d + " link-local: fe80::1/64\n" + d + " IPv6 off: 0\n" + d + " makes addresses: 0"
		})
	}
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := lines(rig).with(edits...)
		return registered().Judges["link-local"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	gone := edit{steps.Peer, rail2 + " link-local: fe80::1/64", rail2 + " link-local: none"}
	kindtest.Want(t, "all", judge(kindtest.Spark()), steps.Pass, "8 on both nodes")
	because(t, "one is gone", judge(kindtest.Spark(), gone), steps.Warn, steps.LinkLocalMissing,
		rail2+" on spark-01 has no fe80:: address", "it was removed")
	because(t, "none is made",
		judge(kindtest.Spark(), gone, edit{steps.Peer, rail2 + " makes addresses: 0", rail2 + " makes addresses: 1"}),
		steps.Warn, steps.LinkLocalMissing, "link-local: [] in netplan")
	because(t, "IPv6 is off",
		judge(kindtest.Spark(), gone, edit{steps.Peer, rail2 + " IPv6 off: 0", rail2 + " IPv6 off: 1"}), steps.Warn,
		steps.LinkLocalMissing, "disable_ipv6")
	everywhere := []edit{{0, "fe80::1/64", "none"}, {1, "fe80::1/64", "none"}}
	kindtest.Want(t, "nowhere", judge(kindtest.Spark(), everywhere...), steps.Pass, "no rail has a link-local address")
	dark := kindtest.Spark()
	dark.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	kindtest.Want(t, "no carrier", judge(dark, gone), steps.Pass, "7 on both nodes")
	holes(t, "link-local", registered().Judges["link-local"], kindtest.Spark(), lines(kindtest.Spark()))
}

func TestBootWaits(t *testing.T) {
	const nm, nd = "NetworkManager-wait-online", "systemd-networkd-wait-online"
	unit := func(name, load, active, result, began, ended string) string {
		return name + " LoadState: " + load + "\n" + name + " ActiveState: " + active + "\n" + name + " Result: " + result +
			"\n" +
			name + " ExecMainStartTimestampMonotonic: " + began + "\n" + name + " ExecMainExitTimestampMonotonic: " + ended +
			"\n"
	}
	healthy := "systemd: runs\n" + unit(nm, "loaded", "active", "success", "9000000", "15200000") +
		unit(nd, "masked", "inactive", "success", "0", "0")
	judge := func(peer string) steps.Verdict {
		return registered().Judges["boot-waits"](steps.Cell{}, looked(kindtest.Spark(), healthy, peer))
	}
	kindtest.Want(t, "soon", judge(healthy), steps.Pass, "2 services waited for the network")
	failed := "systemd: runs\n" + unit(nm, "not-found", "inactive", "success", "0", "0") +
		unit(nd, "loaded", "failed", "exit-code", "9000000", "129000000")
	because(t, "it gave up", judge(failed+rail2+" carrier: 0\n"), steps.Warn, steps.BootWaits,
		nd+" on spark-01 gave up after 120 s", rail2+" has no carrier", "optional: true")
	because(t, "for two", judge(failed+"enp1s0f0np0 carrier: 0\n"+rail2+" carrier: 0\n"), steps.Warn, steps.BootWaits,
		"enp1s0f0np0 and "+rail2+" have no carrier")
	because(t, "long", judge("systemd: runs\n"+unit(nm, "loaded", "active", "success", "9000000", "52000000")+
		unit(nd, "masked", "inactive", "success", "0", "0")), steps.Warn, steps.BootWaits, "the last boot by 43 s")
	because(t, "still", judge("systemd: runs\n"+unit(nm, "loaded", "activating", "success", "9000000", "0")+
		unit(nd, "masked", "inactive", "success", "0", "0")), steps.Warn, steps.BootWaits, "still waiting")
	because(t, "one says nothing", judge("systemd: runs\n"), steps.Inconclusive, steps.Unreadable, "the state of "+nm)
	kindtest.Because(t, "no systemd",
		registered().Judges["boot-waits"](steps.Cell{}, looked(kindtest.Spark(), "systemd: none\n", "systemd: none\n")),
		steps.Skipped, steps.CannotRun)
	idle := "systemd: runs\n" + unit(nm, "loaded", "inactive", "success", "0", "0") +
		unit(nd, "masked", "inactive", "success", "0", "0")
	kindtest.Want(t, "nobody waits", registered().Judges["boot-waits"](steps.Cell{}, looked(kindtest.Spark(), idle, idle)),
		steps.Pass, "no service waited")
	holes(t, "boot-waits", registered().Judges["boot-waits"], kindtest.Spark(), [2]string{healthy, healthy})
}
