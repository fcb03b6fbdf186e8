package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func mac(e steps.End, dev string) string {
	i := strings.IndexByte("rocep1s0f0 rocep1s0f1 roceP2p1s0f0 roceP2p1s0f1", dev[len(dev)-1])
	if strings.Contains(dev, "P2") {
		i += 16
	}
	return fmt.Sprintf("4c:bb:47:2c:%02x:%02x", 0x10+e, 0x30+i)
}

// neighbours is what both nodes print where each has learnt the other's interfaces.
func neighbours(rig steps.Rig) edited {
	texts := addressLines(rig)
	for e := range rig.Nodes {
		for _, r := range rig.Nodes[e].Rails {
			texts[e] += fmt.Sprintf("%s MAC: %s\n%s arp_ignore: 0\n", r.Netdev.Name, mac(steps.End(e), r.Dev), r.Netdev.Name)
		}
	}
	for _, p := range rig.Pairs {
		for _, e := range steps.Ends {
			own, other := rig.Rail(p, e), rig.Rail(p, e.Other())
			texts[e] += fmt.Sprintf("%s neighbour %s: %s\n", own.Netdev.Name, other.Addr, mac(e.Other(), other.Dev))
		}
	}
	return texts
}

func TestArpFlux(t *testing.T) {
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := neighbours(rig).with(edits...)
		return registered().Judges["arp-flux"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	right, twin := mac(steps.Peer, "rocep1s0f0"), mac(steps.Peer, "roceP2p1s0f0")
	learnt := "enp1s0f0np0 neighbour 192.168.100.10: "
	kindtest.Want(t, "right", judge(kindtest.Spark()), steps.Pass, "8 neighbour entries")
	kindtest.Want(t, "in capitals",
		judge(kindtest.Spark(), edit{steps.Here, learnt + right, learnt + strings.ToUpper(right)}), steps.Pass)
	because(t, "the twin's", judge(kindtest.Spark(), edit{steps.Here, learnt + right, learnt + twin}), steps.Fail,
		steps.NeighbourWrong, "spark-02 has a wrong neighbour entry for 192.168.100.10", "rail 1 of spark-01",
		"the MAC of enP2p1s0f0np0", "ip neigh flush dev enp1s0f0np0")
	because(t, "nobody's", judge(kindtest.Spark(), edit{steps.Here, learnt + right, learnt + "02:00:00:00:00:01"}),
		steps.Fail, steps.NeighbourWrong, "an unknown interface")
	because(t, "one silent", judge(kindtest.Spark(), edit{steps.Here, learnt + right, "x: y"}), steps.Inconclusive,
		steps.NoAnswer, "rail 1 (enp1s0f0np0) on spark-02 got no answer")
	dark := kindtest.Spark()
	dark.Nodes[steps.Peer].Rails[0].Netdev.Carrier = false
	kindtest.Want(t, "one without a link", judge(dark, edit{steps.Here, learnt + right, "x: y"}), steps.Pass,
		"7 neighbour entries")
	shared := alsoHas(kindtest.Spark(), steps.Peer, 2, "192.168.100.15/24")
	because(t, "one subnet", judge(shared), steps.Warn, steps.SubnetShared,
		"enp1s0f0np0 and enP2p1s0f0np0 on spark-01 share a subnet", "arp_ignore 0", "spark-02 may learn the wrong MAC")
	set := func(ignore, announce string) []edit {
		return []edit{{steps.Peer, "arp_ignore: 0", "arp_ignore: " + ignore}, {
			steps.Peer, "enp1s0f0np0 MAC",
			"enp1s0f0np0 arp_announce: " + announce + "\nenP2p1s0f0np0 arp_announce: " + announce + "\nenp1s0f0np0 MAC",
		}}
	}
	kindtest.Want(t, "kept apart", judge(shared, set("1", "2")...), steps.Pass)
	because(t, "asks under any", judge(shared, set("1", "0")...), steps.Warn, steps.SubnetShared, "arp_announce 0")
	because(t, "answers for what is no host's", judge(shared, set("3", "2")...), steps.Warn, steps.SubnetShared,
		"arp_ignore 3")
	none := kindtest.Spark()
	texts := neighbours(none)
	for e := range texts {
		texts[e] = strings.ReplaceAll(texts[e], "neighbour", "stranger")
	}
	because(t, "all silent", registered().Judges["arp-flux"](steps.Cell{}, looked(none, texts[0], texts[1])),
		steps.Inconclusive, steps.NoAnswer, "no rail answered")
	holes(t, "arp-flux", registered().Judges["arp-flux"], kindtest.Spark(), neighbours(kindtest.Spark()))
}

func TestDuplicateIP(t *testing.T) {
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		texts := addressLines(rig)
		return registered().Judges["duplicate-ip"](steps.Cell{}, looked(kindtest.Netdevs(rig), texts[0]+here, texts[1]+peer))
	}
	no := "arping: it needs root\n"
	kindtest.Want(t, "none", judge(kindtest.Spark(), no, no), steps.Pass, "8 on both nodes",
		"were not asked (arping) from spark-02 (it needs root) and spark-01 (it needs root)")
	asked := "arping: yes\narping enp1s0f0np0=192.168.100.11: no other host\n"
	kindtest.Want(t, "asked", judge(kindtest.Spark(), asked, no), steps.Pass,
		"No other host on the network answers for 1 of them", "not asked (arping) from spark-01 (it needs root)")
	because(t, "could not ask",
		judge(kindtest.Spark(), strings.Replace(asked, "no other host", "could not ask", 1), no), steps.Inconclusive,
		steps.NotTried, "enp1s0f0np0")
	because(t, "somebody", judge(kindtest.Spark(), strings.Replace(asked, "no other host", "another host", 1), no),
		steps.Fail, steps.AddressTaken, "enp1s0f0np0", "192.168.100.11", "spark-02")
	because(t, "on both", judge(only(kindtest.Spark(), steps.Here, 1, "192.168.200.10/24"), no, no), steps.Fail,
		steps.DuplicateIP, "192.168.200.10 is assigned twice, to enp1s0f1np1 on spark-02 and spark-01")
	because(t, "on a node twice", judge(kindtest.Spark(), no, no+"bond0 addresses: bond0 UP 192.168.100.10/24\n"),
		steps.Fail, steps.DuplicateIP, "192.168.100.10 is assigned twice, to bond0 and enp1s0f0np0 on spark-01")
	docker := "docker0 addresses: docker0 DOWN 172.17.0.1/16\nlo addresses: lo UNKNOWN 127.0.0.1/8\n"
	kindtest.Want(t, "containers and loopback", judge(kindtest.Spark(), no+docker, no+docker), steps.Pass,
		"8 on both nodes")
	because(t, "elsewhere on the other node",
		judge(kindtest.Spark(), no, no+"eth0 addresses: eth0 UP 192.168.100.11/24\n"), steps.Fail, steps.DuplicateIP,
		"192.168.100.11 is assigned twice, to enp1s0f0np0 on spark-02 and eth0 on spark-01")
	kindtest.Want(t, "the other end's",
		judge(kindtest.Spark(), no+"p2p0 addresses: p2p0 UP 10.8.0.2 peer 10.8.0.1/32\n",
			no+"p2p0 addresses: p2p0 UP 10.8.0.1 peer 10.8.0.2/32\n"), steps.Pass, "8 on both nodes")
	texts := addressLines(kindtest.Spark())
	holes(t, "duplicate-ip", registered().Judges["duplicate-ip"], kindtest.Spark(), texts)
}

// mtuLines is what both nodes print where every packet passes.
func mtuLines(rig steps.Rig) edited {
	texts := railLines(rig, func(_ steps.End,
		r steps.Rail,
	) string {
		return fmt.Sprintf("%s MTU: %d", r.Netdev.Name, r.Netdev.MTU)
	})
	for _, p := range rig.Pairs {
		for _, e := range steps.Ends {
			way := rig.Rail(p, e).Netdev.Name + "=" + rig.Rail(p, e.Other()).Addr
			texts[e] += "large ping " + way + ": ok\nsmall ping " + way + ": ok\n"
		}
	}
	return texts
}

func TestMTUEqual(t *testing.T) {
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := edited(mtuLines(rig)).with(edits...)
		return registered().Judges["mtu-equal"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	way := "ping enp1s0f0np0=192.168.100.11: "
	kindtest.Want(t, "equal", judge(kindtest.Spark()), steps.Pass, "4 rails have the same MTU", "pass in both directions")
	kindtest.Want(t, "soft-RoCE", judge(kindtest.Virtual()), steps.Pass, "2 rails")
	because(t, "differ", judge(kindtest.Spark(), edit{steps.Peer, "enp1s0f0np0 MTU: 1500", "enp1s0f0np0 MTU: 9000"},
		edit{steps.Peer, "large " + way + "ok", "large " + way + "no answer"}), steps.Fail, steps.MTUDiffers, "enp1s0f0np0",
		"1500 on spark-02", "9000 on spark-01")
	because(t, "lost on the way",
		judge(kindtest.Spark(), edit{steps.Peer, "large " + way + "ok", "large " + way + "no answer"}), steps.Fail,
		steps.PathMTUSmall, "rail 1", "spark-01")
	because(t, "silent", judge(kindtest.Spark(),
		edit{steps.Peer, "large " + way + "ok", "large " + way + "no answer"},
		edit{steps.Peer, "small " + way + "ok", "small " + way + "no answer"}), steps.Inconclusive, steps.NoAnswer,
		"rail 1 (enp1s0f0np0) on spark-01 gets no answer to any ping")
	silent := edited(mtuLines(kindtest.Spark()))
	for e := range silent {
		silent[e] = strings.ReplaceAll(silent[e], ": ok", ": no answer")
	}
	because(t, "all silent",
		registered().Judges["mtu-equal"](steps.Cell{}, looked(kindtest.Spark(), silent[0], silent[1])), steps.Inconclusive,
		steps.NoAnswer, "no answer to any ping")
	dark := kindtest.Spark()
	dark.Nodes[steps.Peer].Rails[0].Netdev.Carrier = false
	kindtest.Want(t, "without a link",
		judge(dark, edit{steps.Peer, "large " + way + "ok", "large " + way + "no answer"},
			edit{steps.Peer, "small " + way + "ok", "small " + way + "no answer"}), steps.Pass)
	because(t, "not tried", judge(kindtest.Spark(), edit{steps.Peer, "large " + way + "ok", "x: y"}), steps.Inconclusive,
		steps.NotTried, "spark-01")
	roce := kindtest.Spark()
	roce.Nodes[steps.Peer].Rails[0].MTU = 512
	because(t, "RoCE MTUs", judge(roce), steps.Warn, steps.RoCEMTUBehind, "1024 on spark-02", "512 on spark-01")
	bonded := kindtest.BondedAt(steps.Here, steps.Peer)
	texts := mtuLines(bonded)
	for e := range texts {
		texts[e] += "bond0 MTU: 9000\n"
	}
	because(t, "a bond's", registered().Judges["mtu-equal"](steps.Cell{}, looked(bonded, texts[0], texts[1])), steps.Fail,
		steps.BondMTUDiffers, "enp1s0f0np0", "1500", "bond0", "9000")
	unused := kindtest.Spark()
	for e := range unused.Nodes {
		for i := range unused.Nodes[e].Rails {
			unused.Nodes[e].Rails[i].Addr = ""
		}
	}
	unused.Pairs = nil
	kindtest.Because(t, "no addresses", judge(unused), steps.Inconclusive, steps.NoRail)
	holes(t, "mtu-equal", registered().Judges["mtu-equal"], kindtest.Spark(), mtuLines(kindtest.Spark()))
}

func TestGIDIndex(t *testing.T) {
	tables := func(rig steps.Rig) (texts edited) {
		for e := range rig.Nodes {
			texts[e] = "DEV PORT INDEX GID IPv4 VER NETDEV\n"
			for _, r := range rig.Nodes[e].Rails {
				a := netip.MustParseAddr(r.Addr).As4()
				gid := fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x %s", a[0], a[1], a[2], a[3], r.Addr)
				texts[e] += fmt.Sprintf("%s 1 2 %s v1 %s\n%s 1 3 %s v2 %s\n", r.Dev, gid, r.Netdev.Name, r.Dev, gid, r.Netdev.Name)
			}
		}
		return texts
	}
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := tables(rig).with(edits...)
		return judgeGIDIndex(steps.Cell{}, kindtest.Both(rig, parse.ShowGids, texts[0], texts[1]))
	}
	kindtest.Want(t, "as it should be", judge(kindtest.Spark()), steps.Pass,
		"3 on rail 1, 3 on rail 2, 3 on rail 3, 3 on rail 4")
	because(t, "drifted", judge(kindtest.Spark(), edit{steps.Peer, "rocep1s0f0 1 3", "rocep1s0f0 1 5"}), steps.Warn,
		steps.GIDIndexDiffers, "rail 1 (rocep1s0f0)", "3 on spark-02", "5 on spark-01")
	because(t, "gone", judge(kindtest.Spark(), edit{steps.Peer, "192.168.100.10", "192.168.100.99"}), steps.Fail,
		steps.GIDMissing, "rail 1 (rocep1s0f0) has no usable GID on spark-01")
	because(t, "another's", judge(kindtest.Spark(),
		edit{steps.Peer, "192.168.100.10 v2 enp1s0f0np0", "192.168.100.10 v2 bond0"}), steps.Fail, steps.GIDMissing,
		"belongs to bond0")
	ib := kindtest.Spark()
	for e := range ib.Nodes {
		for i := range ib.Nodes[e].Rails {
			ib.Nodes[e].Rails[i].Layer = "InfiniBand"
		}
	}
	own := func(text string) string { return strings.NewReplacer(" 1 2 ", " 1 0 ", " v2 ", " v1 ").Replace(text) }
	of := func(here, peer string) steps.Verdict {
		return judgeGIDIndex(steps.Cell{}, kindtest.Both(ib, parse.ShowGids, own(here), own(peer)))
	}
	good := tables(kindtest.Spark())
	kindtest.Want(t, "InfiniBand", of(good[0], good[1]), steps.Pass, "its GID (InfiniBand)", "0 on rail 1, 0 on rail 2")
	because(t, "InfiniBand without its own",
		of(good[0], strings.ReplaceAll(good[1], "rocep1s0f1 1 2", "rocep1s0f1 1 7")), steps.Fail, steps.SubnetManagerMissing,
		"rail 2 (rocep1s0f1)", "spark-01")
	alone := kindtest.Spark()
	alone.Pairs = nil
	kindtest.Because(t, "no rails", judge(alone), steps.Inconclusive, steps.NoRail)
	half := kindtest.Both(kindtest.Spark(), parse.ShowGids, tables(kindtest.Spark())[0], "")
	because(t, "one table", judgeGIDIndex(steps.Cell{}, half), steps.Inconclusive, steps.OutputIncomplete, "spark-01")
	kindtest.Because(t, "nothing", judgeGIDIndex(steps.Cell{}, steps.Result{Rig: kindtest.Spark()}), steps.Inconclusive,
		steps.NothingRan)
}

func TestRoutes(t *testing.T) {
	own := "default routes: default via 192.168.1.1 dev enP7s7 proto dhcp metric 100\ndefault routes of IPv6: none\n"
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		return registered().Judges["routes"](steps.Cell{},
			looked(rig, here+waysAt(rig, steps.Here), peer+waysAt(rig, steps.Peer)))
	}
	over := kindtest.Spark()
	over.Nodes[steps.Here].SSHDev = "enp1s0f0np0"
	none := "default routes: none\ndefault routes of IPv6: none\n"
	first := strings.Replace(own, "default via",
		"default via 192.168.100.11 dev enp1s0f0np0 proto static metric 50 default via", 1)
	second := strings.Replace(first, "metric 50", "metric 500", 1)
	kindtest.Want(t, "SSH unseen", judge(kindtest.Spark(), own, none), steps.Pass, "no default route",
		"the interface of the SSH session is unknown")
	seen := kindtest.Spark()
	for e := range seen.Nodes {
		seen.Nodes[e].SSHDev = "enP7s7"
	}
	kindtest.Want(t, "its own", judge(seen, own, none), steps.Pass, "no default route and no SSH session")
	because(t, "over a rail", judge(kindtest.Spark(), own, first), steps.Warn, steps.DefaultRouteOverRail,
		"the default route of spark-01 goes over enp1s0f0np0", "ip route del default dev enp1s0f0np0")
	because(t, "a second one", judge(kindtest.Spark(), own, second), steps.Warn, steps.DefaultRouteOverRail,
		"spark-01 has a second default route over enp1s0f0np0")
	because(t, "no metric", judge(kindtest.Spark(), own, strings.Replace(first, "metric 50", "", 1)), steps.Warn,
		steps.DefaultRouteOverRail, "the default route of spark-01 goes over enp1s0f0np0")
	because(t, "IPv6", judge(kindtest.Spark(), own,
		strings.Replace(own, "IPv6: none", "IPv6: default via fe80::1 dev enp1s0f1np1 metric 1024", 1)), steps.Warn,
		steps.DefaultRouteOverRail, "over enp1s0f1np1")
	for _, gateways := range []string{
		"nexthop via 192.168.1.1 dev enP7s7 weight 1 nexthop via 192.168.100.11 dev enp1s0f0np0 weight 1",
		"nexthop via 192.168.100.11 dev enp1s0f0np0 weight 1 nexthop via 192.168.1.1 dev enP7s7 weight 1",
	} {
		because(t, gateways, judge(kindtest.Spark(), own, "default routes: default proto static metric 100 "+gateways+
			"\ndefault routes of IPv6: none\n"), steps.Warn, steps.DefaultRouteOverRail,
			"the default route of spark-01 goes over enp1s0f0np0")
	}
	because(t, "over a bond", judge(kindtest.BondedAt(steps.Peer), own, strings.Replace(own, "enP7s7", "bond0", 1)),
		steps.Warn, steps.DefaultRouteOverRail, "goes over bond0")
	because(t, "SSH", judge(over, own, own), steps.Warn, steps.SSHOverRail, "spark-02", "enp1s0f0np0")
	holes(t, "routes", registered().Judges["routes"], kindtest.Spark(),
		[2]string{own + waysAt(kindtest.Spark(), steps.Here), own + waysAt(kindtest.Spark(), steps.Peer)})
}

// waysAt are the ways of a node to the other's rails, each over its own.
func waysAt(rig steps.Rig, e steps.End) (text string) {
	for _, p := range rig.Pairs {
		own, other := rig.Rail(p, e), rig.Rail(p, e.Other())
		text += fmt.Sprintf("way %s=%s: %s dev %s src %s uid 1000 cache\n", own.Netdev.Name, other.Addr, other.Addr,
			own.Netdev.Name, own.Addr)
	}
	return text
}

func TestRailBond(t *testing.T) {
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		return registered().Judges["rail-bond"](steps.Cell{}, looked(rig, here, peer))
	}
	none, in := "interfaces in another: none\n",
		"enp1s0f0np0 is in: bond0\nenp1s0f1np1 is in: bond0\ninterfaces in another: enp1s0f0np0 enp1s0f1np1\n"
	kindtest.Want(t, "none", judge(kindtest.Spark(), none, none), steps.Pass, "8 on both nodes")
	kindtest.Want(t, "a container's",
		judge(kindtest.Spark(), none, "veth0 is in: docker0\ninterfaces in another: veth0\n"), steps.Pass)
	because(t, "one end", judge(kindtest.BondedAt(steps.Peer), none, in), steps.Fail, steps.BondOneSided,
		"bond0 on spark-01", "enp1s0f0np0 and enp1s0f1np1", "spark-02")
	because(t, "both ends", judge(kindtest.BondedAt(steps.Here, steps.Peer), in, in), steps.Warn, steps.RailInBond,
		"bond0 on spark-02 and spark-01")
	because(t, "a bridge", judge(kindtest.Spark(), none,
		"enp1s0f0np0 is in: br0\nbr0 is: no bond\ninterfaces in another: enp1s0f0np0\n"), steps.Fail, steps.RailInBridge,
		"br0")
	holes(t, "rail-bond", registered().Judges["rail-bond"], kindtest.Spark(), [2]string{none, none})
	kindtest.Because(t, "no rails", registered().Judges["rail-bond"](steps.Cell{}, looked(steps.Rig{}, none, none)),
		steps.Inconclusive, steps.NoRail)
}

func TestBondHealth(t *testing.T) {
	judge := func(rig steps.Rig, here, peer string) steps.Verdict {
		return registered().Judges["bond-health"](steps.Cell{}, looked(rig, here, peer))
	}
	none := "bonding module: not loaded\nbonds: none\n"
	whole := "bonding module: loaded\nbond0 mode: balance-xor 2\nbond0 MII: up\nbond0 miimon: 100\n" +
		"bond0 holds: enp1s0f0np0 enp1s0f1np1\n" +
		"bond0 enp1s0f0np0 MII: up\nbond0 enp1s0f1np1 MII: up\nbonds: bond0\n"
	empty := "bonding module: loaded\nbond0 mode: balance-rr 0\nbond0 MII: down\nbond0 miimon: 0\nbond0 holds: none\n" +
		"bonds: bond0\n"
	rig := kindtest.BondedAt(steps.Here, steps.Peer)
	edit := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	kindtest.Want(t, "none", judge(kindtest.Spark(), none, none), steps.Pass, "no bond contains a rail")
	kindtest.Want(t, "no module", judge(kindtest.Spark(), none,
		strings.Replace(none, "not loaded", "not loaded, and not found", 1)), steps.Pass,
		"spark-01 has no bonding module")
	kindtest.Want(t, "whole", judge(rig, whole, whole), steps.Pass, "bond0 on both nodes is healthy", "balance-xor")
	because(t, "empty", judge(kindtest.Spark(), none, empty), steps.Warn, steps.BondEmpty, "bond0 on spark-01 is empty",
		"balance-rr", "File exists")
	v := judge(kindtest.Spark(), none, strings.ReplaceAll(empty, "balance-rr 0", "balance-xor 2"))
	because(t, "empty, and made", v, steps.Warn, steps.BondEmpty,
		"settings in /etc/modprobe.d (balance-xor)", "File exists")
	if strings.Contains(v.Said(), "loading") {
		t.Errorf("the module makes none of that mode: %s", v.Reason)
	}
	because(t, "empty, and named", judge(kindtest.Spark(), none, strings.ReplaceAll(empty, "bond0", "lacp")), steps.Warn,
		steps.BondEmpty, "lacp on spark-01 is empty: created by hand")
	because(t, "one end", judge(rig, none, whole), steps.Fail, steps.BondOneSided, "bond0 on spark-01")
	because(t, "half", judge(rig, whole, edit("holds: enp1s0f0np0 enp1s0f1np1", "holds: enp1s0f0np0")), steps.Warn,
		steps.BondSingle, "bond0 on spark-01", "enp1s0f0np0")
	because(t, "a link down", judge(rig, whole, edit("enp1s0f1np1 MII: up", "enp1s0f1np1 MII: down")), steps.Fail,
		steps.BondLinkDown, "enp1s0f1np1", "bond0 on spark-01")
	because(t, "unwatched", judge(rig, whole, edit("miimon: 100", "miimon: 0")), steps.Warn, steps.BondUnwatched,
		"does not monitor its links")
	because(t, "balance-rr", judge(rig, whole, edit("balance-xor 2", "balance-rr 0")), steps.Warn, steps.BondReorders,
		"reorders the packets", "the bond modes differ")
	kindtest.Because(t, "802.3ad", judge(rig, edit("balance-xor 2", "802.3ad 4"), edit("balance-xor 2", "802.3ad 4")),
		steps.Warn, steps.BondNeedsLACP)
	because(t, "itself down", judge(rig, whole, edit("bond0 MII: up", "bond0 MII: down")), steps.Fail, steps.BondDown,
		"bond0 on spark-01")
	kindtest.Want(t, "watched by ARP",
		judge(rig, whole, edit("miimon: 100", "miimon: 0\nbond0 ARP interval: 1000")), steps.Pass, "and monitored")
	because(t, "watched by nothing",
		judge(rig, whole, edit("miimon: 100", "miimon: 0\nbond0 ARP interval: 0")), steps.Warn, steps.BondUnwatched,
		"does not monitor its links")
	for _, line := range []string{"balance-xor 2", "bond0 MII: up", "miimon: 100"} {
		name, _, _ := strings.Cut(line, ": ")
		because(t, "none of "+line, judge(rig, whole, edit(line, strings.TrimPrefix(name+": none", "balance-xor 2: "))),
			steps.Inconclusive, steps.Unreadable, "bond0 on spark-01")
	}
	for _, line := range []string{"bond0 mode: balance-xor 2\n", "bond0 MII: up\n", "bond0 miimon: 100\n"} {
		kindtest.Want(t, "without "+line, judge(rig, whole, edit(line, "")), steps.Inconclusive, "bond0 on spark-01")
	}
	foreign := "bonding module: loaded\nbond7 mode: active-backup 1\nbond7 holds: eth0 eth1\nbonds: bond7\n"
	kindtest.Want(t, "another host's", judge(kindtest.Spark(), none, foreign), steps.Pass, "no bond contains a rail")
	holes(t, "bond-health", registered().Judges["bond-health"], kindtest.Spark(), [2]string{none, none})
}

func TestRDMAPorts(t *testing.T) {
	lines := func(rig steps.Rig) edited {
		texts := railLines(rig, func(_ steps.End, r steps.Rail) string {
			return fmt.Sprintf("%s port 1 state: 4: ACTIVE\n%s port 1 phys_state: 5: LinkUp\n%s port 1 link_layer: Ethernet",
				r.Dev, r.Dev, r.Dev)
		})
		for e, n := range rig.Nodes {
			var devs []string
			for _, r := range n.Rails {
				devs = append(devs, r.Dev)
			}
			names := strings.Join(devs, " ")
			texts[e] += "RDMA devices: " + names + "\ndevice files that may be opened: 4\ndevices that programs see: " + names +
				"\n"
		}
		return texts
	}
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := lines(rig).with(edits...)
		return registered().Judges["rdma-ports"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	down := edit{steps.Peer, "roceP2p1s0f0 port 1 state: 4: ACTIVE", "roceP2p1s0f0 port 1 state: 1: DOWN"}
	kindtest.Want(t, "active", judge(kindtest.Spark()), steps.Pass, "8 on both nodes", "programs see every device")
	because(t, "down", judge(kindtest.Spark(), down), steps.Fail, steps.PortDown,
		"roceP2p1s0f0 on spark-01 is DOWN (LinkUp)", "link-up")
	kindtest.Want(t, "an unused one down", judge(kindtest.TutorialSpark(), down), steps.Pass, "unused")
	var dead []edit
	for _, e := range steps.Ends {
		dead = append(dead, edit{e, "4: ACTIVE", "1: DOWN"})
	}
	because(t, "no addresses, and down", judge(bare(), dead...), steps.Fail, steps.PortDown, "no RDMA port is ACTIVE")
	kindtest.Want(t, "an unused one of InfiniBand", judge(kindtest.TutorialSpark(), down, edit{
		steps.Peer, "roceP2p1s0f0 port 1 link_layer: Ethernet", "roceP2p1s0f0 port 1 link_layer: InfiniBand",
	}), steps.Pass, "unused")
	because(t, "InfiniBand",
		judge(kindtest.Spark(), edit{
			steps.Peer, "rocep1s0f0 port 1 link_layer: Ethernet",
			"rocep1s0f0 port 1 link_layer: InfiniBand",
		}), steps.Warn, steps.LinkLayersDiffer, "is an InfiniBand port")
	ib := kindtest.Spark()
	for e := range ib.Nodes {
		for i := range ib.Nodes[e].Rails {
			ib.Nodes[e].Rails[i].Layer = "InfiniBand"
		}
	}
	of := func(texts edited) steps.Verdict {
		for e := range texts {
			texts[e] = strings.ReplaceAll(texts[e], "link_layer: Ethernet", "link_layer: InfiniBand")
		}
		return registered().Judges["rdma-ports"](steps.Cell{}, looked(ib, texts[0], texts[1]))
	}
	kindtest.Want(t, "InfiniBand at both ends", of(lines(ib)), steps.Pass, "every used RDMA port is ACTIVE")
	ib.Nodes[steps.Here].Rails[0].Layer = "Ethernet"
	because(t, "Ethernet at the other end", of(lines(ib)), steps.Warn, steps.LinkLayersDiffer,
		"spark-01 is an InfiniBand port")
	because(t, "no link layer",
		judge(kindtest.Spark(), edit{steps.Peer, "rocep1s0f0 port 1 link_layer: Ethernet", "x: y"}), steps.Inconclusive,
		steps.Unreadable, "rocep1s0f0 on spark-01")
	kindtest.Want(t, "files untold",
		judge(kindtest.Spark(), edit{steps.Peer, "device files that may be opened: 4", "x: y"}), steps.Pass,
		"it is unknown whether programs see")
	because(t, "closed files", judge(kindtest.Spark(), edit{steps.Peer, "opened: 4", "opened: 0"}), steps.Fail,
		steps.UverbsClosed, "spark-01")
	because(t, "hidden", judge(kindtest.Spark(),
		edit{steps.Peer, "see: rocep1s0f0 rocep1s0f1 roceP2p1s0f0 roceP2p1s0f1", "see: none"}), steps.Fail,
		steps.VerbsProviderMissing, "rocep1s0f0, rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1")
	kindtest.Want(t, "no tool", judge(kindtest.Spark(),
		edit{steps.Peer, "see: rocep1s0f0 rocep1s0f1 roceP2p1s0f0 roceP2p1s0f1", "see: ibv_devices is not installed"}),
		steps.Pass, "ibv_devices is missing")
	because(t, "no devices",
		registered().Judges["rdma-ports"](steps.Cell{},
			looked(kindtest.Spark(), lines(kindtest.Spark())[0],
				"RDMA devices: none\ndevice files that may be opened: 0\ndevices that programs see: none\n")), steps.Fail,
		steps.RDMADeviceMissing, "spark-01")
	lost := kindtest.Spark()
	lost.Nodes[steps.Peer].Rails = lost.Nodes[steps.Peer].Rails[:2]
	lost.Pairs = steps.PairRails(lost.Nodes[0], lost.Nodes[1])
	because(t, "half of the adapter gone", judge(lost), steps.Warn, steps.DevicesDiffer, "spark-02",
		"spark-01 lacks roceP2p1s0f0 and roceP2p1s0f1")
	holes(t, "rdma-ports", registered().Judges["rdma-ports"], kindtest.Spark(), lines(kindtest.Spark()))
}

func TestRoceLAG(t *testing.T) {
	names := "enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1"
	lines := railLines(kindtest.Spark(), func(_ steps.End, r steps.Rail) string {
		return fmt.Sprintf("%s RDMA device: %s\n%s slot: %s", r.Netdev.Name, r.Dev, r.Netdev.Name, r.PCI.Addr)
	})
	for e := range lines {
		lines[e] += "interfaces of such adapters: " + names + "\n"
	}
	judge := func(edits ...edit) steps.Verdict {
		texts := edited(lines).with(edits...)
		return registered().Judges["roce-lag"](steps.Cell{}, looked(kindtest.Spark(), texts[0], texts[1]))
	}
	gone := edit{steps.Peer, "enp1s0f1np1 RDMA device: rocep1s0f1", "enp1s0f1np1 RDMA device: none"}
	kindtest.Want(t, "own devices", judge(), steps.Pass, "8 on both nodes")
	v := judge(edit{steps.Peer, "RDMA device: rocep1s0f0", "RDMA device: mlx5_bond_0"}, gone)
	because(t, "merged", v, steps.Fail, steps.RoCELAG, "mlx5_bond_0 on spark-01 is one RDMA device for both",
		"bond-teardown")
	if strings.Contains(v.Said(), "beside it") {
		t.Errorf("it is said twice: %s", v.Reason)
	}
	because(t, "merged under the first one's name", judge(gone), steps.Fail, steps.RoCELAG,
		"enp1s0f1np1 on spark-01 has no RDMA device, but enp1s0f0np0 has rocep1s0f0")
	var none []edit
	for _, dev := range []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"} {
		none = append(none, edit{steps.Peer, "RDMA device: " + dev, "RDMA device: none"})
	}
	kindtest.Want(t, "no devices at all", judge(none...), steps.Pass, "no adapter has merged its ports")
	other := "interfaces of such adapters: none\n"
	kindtest.Because(t, "another adapter",
		registered().Judges["roce-lag"](steps.Cell{}, looked(kindtest.Virtual(), other, other)), steps.Skipped,
		steps.CannotRun)
	kindtest.Want(t, "one such adapter",
		registered().Judges["roce-lag"](steps.Cell{}, looked(kindtest.Virtual(), lines[0], other)), steps.Pass,
		"4 on both nodes")
	holes(t, "roce-lag", registered().Judges["roce-lag"], kindtest.Spark(), lines)
}
