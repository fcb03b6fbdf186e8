package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// looked is the result of a check that printed facts on both nodes.
func looked(rig steps.Rig, here, peer string) steps.Result {
	return kindtest.Both(rig, parse.Facts, here, peer)
}

// railLines is what a script prints on each node of a rig.
func railLines(rig steps.Rig, line func(e steps.End, rail steps.Rail) string) (texts [2]string) {
	for e, node := range rig.Nodes {
		for _, rail := range node.Rails {
			texts[e] += line(steps.End(e), rail) + "\n"
		}
	}
	return texts
}

// An edit changes what one node's script printed.
type edit struct {
	end      steps.End
	old, new string
}

func (texts edited) with(edits ...edit) edited {
	for _, x := range edits {
		if !strings.Contains(texts[x.end], x.old) {
			panic("nothing to edit: " + x.old)
		}
		texts[x.end] = strings.ReplaceAll(texts[x.end], x.old, x.new)
	}
	return texts
}

type edited [2]string

// holes are the ways in which a check can see less than it should; none is a PASS.
func holes(t *testing.T, name string, judge steps.Judge, rig steps.Rig, texts [2]string) {
	t.Helper()
	cell := steps.Cell{ID: name}
	kindtest.Because(t, name+" that did not run", judge(cell, steps.Result{Rig: rig}), steps.Inconclusive,
		steps.NothingRan)
	because(t, name+" that was skipped", judge(cell, steps.Result{Rig: rig, Skip: "spark-01 has no ip."}), steps.Skipped,
		steps.CannotRun, "no ip")
	half := looked(rig, texts[0], texts[1])
	half.Stages[0].Outputs = half.Stages[0].Outputs[:1]
	because(t, name+" on one node", judge(cell, half), steps.Inconclusive, steps.NotRunHere, "spark-01")
	failed := looked(rig, texts[0], texts[1])
	failed.Stages[0].Outputs[1].Exit.Code = 2
	because(t, name+" with a bad exit", judge(cell, failed), steps.Inconclusive, steps.ScriptFailed, "spark-01",
		"exit 2")
	because(t, name+" without a word", judge(cell, looked(rig, texts[0], "")), steps.Inconclusive, steps.OutputIncomplete,
		"spark-01")
	because(t, name+" on nonsense", judge(cell, looked(rig, texts[0], "nonsense: yes\n")), steps.Inconclusive,
		steps.Unreadable, "spark-01")
}

func TestNodes(t *testing.T) {
	rig := kindtest.Spark()
	up := "host: x\nseconds up: 94271\n"
	judge := func(here, peer string) steps.Verdict { return judgeNodes(steps.Cell{}, looked(rig, here, peer)) }
	kindtest.Want(t, "up", judge(up, up), steps.Pass, "26 h")
	v := judge(up, "seconds up: 95\n")
	because(t, "just booted", v, steps.Warn, steps.JustBooted, "spark-01", "95 s")
	if v.Node != "spark-01" {
		t.Errorf("it is about %q", v.Node)
	}
	kindtest.Want(t, "ten minutes", judge("seconds up: 600\n", "seconds up: 9999999\n"), steps.Pass, "10 min", "115 days")
	because(t, "no number", judge(up, "seconds up: soon\n"), steps.Inconclusive, steps.Unreadable, "spark-01")
	holes(t, "nodes", judgeNodes, rig, [2]string{up, up})

	rig.Nodes[steps.Peer].Err = "connect to spark-01: connection refused."
	because(t, "dead", judgeNodes(steps.Cell{}, steps.Result{Rig: rig}), steps.Fail, steps.NodeAway, "spark-01",
		"connection refused")
}

func TestLinkUp(t *testing.T) {
	links := func(rig steps.Rig) edited {
		return railLines(rig, func(_ steps.End, r steps.Rail) string {
			return r.Netdev.Name + " link: up\n" + r.Netdev.Name + " carrier changes: 2"
		})
	}
	judge := func(rig steps.Rig, edits ...edit) steps.Verdict {
		texts := links(rig).with(edits...)
		return registered().Judges["link-up"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	full, half := kindtest.Spark(), kindtest.TutorialSpark()
	kindtest.Want(t, "all up", judge(full), steps.Pass, "8 on both nodes")
	kindtest.Want(t, "soft-RoCE", judge(kindtest.Virtual()), steps.Pass, "4 on both nodes")
	because(t, "one off", judge(full, edit{steps.Peer, "enp1s0f1np1 link: up", "enp1s0f1np1 link: off"}), steps.Fail,
		steps.InterfaceOff, "enp1s0f1np1 on spark-01 is switched off", "rocep1s0f1 is DOWN", "ip link set enp1s0f1np1 up")
	two := kindtest.Spark()
	for e := range two.Nodes {
		soft := two.Nodes[e].Rails[1]
		soft.Dev = "rxe0"
		two.Nodes[e].Rails = append(two.Nodes[e].Rails, soft)
	}
	kindtest.Want(t, "two devices of one interface", judge(two), steps.Pass, "8 on both nodes")
	because(t, "two devices, and off", judge(two, edit{steps.Peer, "enp1s0f1np1 link: up", "enp1s0f1np1 link: off"}),
		steps.Fail, steps.InterfaceOff, "rocep1s0f1 and rxe0 are DOWN")
	dark := judge(two, edit{steps.Here, "enp1s0f1np1 link: up", "enp1s0f1np1 link: no carrier"},
		edit{steps.Peer, "enp1s0f1np1 link: up", "enp1s0f1np1 link: no carrier"})
	kindtest.Because(t, "two devices, dark", dark, steps.Fail, steps.LinkDown)
	if strings.Contains(dark.Reason, "and enp1s0f1np1") {
		t.Errorf("an interface is named twice: %s", dark.Reason)
	}
	because(t, "off, and the other end dark", judge(full,
		edit{steps.Peer, "enp1s0f1np1 link: up", "enp1s0f1np1 link: off"},
		edit{steps.Here, "enp1s0f1np1 link: up", "enp1s0f1np1 link: no carrier"}), steps.Fail, steps.InterfaceOff,
		"enp1s0f1np1 on spark-01 is switched off")
	var out []edit
	for _, e := range steps.Ends {
		for _, d := range []string{"enp1s0f0np0", "enP2p1s0f0np0"} {
			out = append(out, edit{e, d + " link: up", d + " link: no carrier"})
		}
	}
	v := judge(full, out...)
	because(t, "a pulled cable", v, steps.Fail, steps.LinkDown,
		"enp1s0f0np0 and enP2p1s0f0np0 have no carrier on either node", "the cable of port 0")
	if strings.Contains(v.Said(), "more") {
		t.Errorf("one cable is one sentence: %s", v.Reason)
	}
	because(t, "dark at one end", judge(full, out[0], out[1]), steps.Fail, steps.LinkDown, "have no carrier on spark-02",
		"the other end is switched on")
	kindtest.Want(t, "an unused one off",
		judge(half, edit{steps.Peer, "enP2p1s0f0np0 link: up", "enP2p1s0f0np0 link: off"}), steps.Pass, "unused")
	unwanted := bare()
	kindtest.Want(t, "no addresses, and up", judge(unwanted), steps.Pass, "8 on both nodes")
	var off []edit
	for _, e := range steps.Ends {
		off = append(off, edit{e, "link: up", "link: no carrier"})
	}
	kindtest.Because(t, "no addresses, and no link", judge(unwanted, off...), steps.Fail, steps.NoLinkUp)
	because(t, "one that only the other end uses",
		judge(oneAddress(), edit{steps.Peer, "enp1s0f1np1 link: up", "enp1s0f1np1 link: off"}), steps.Fail,
		steps.InterfaceOff, "enp1s0f1np1 on spark-01 is switched off")
	holes(t, "link-up", registered().Judges["link-up"], full, links(full))
}

// oneAddress is a rig whose second rail has an address on spark-02 only.
func oneAddress() steps.Rig {
	rig := kindtest.Spark()
	r := &rig.Nodes[steps.Peer].Rails[1]
	r.Addr, r.Prefix, r.Netdev.Addrs = "", 0, nil
	rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
	return rig
}

func addressLines(rig steps.Rig) edited {
	return railLines(rig, func(_ steps.End, r steps.Rail) string {
		found := "none"
		if len(r.Netdev.Addrs) > 0 {
			found = r.Netdev.Name + " UP " + strings.Join(r.Netdev.Addrs, " metric 100 ")
		}
		return r.Netdev.Name + " addresses: " + found
	})
}

func TestRailAddresses(t *testing.T) {
	judge := func(rig steps.Rig) steps.Verdict {
		texts := addressLines(rig)
		return registered().Judges["rail-addresses"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	set := func(rig steps.Rig, e steps.End, rail int, addr string) steps.Rig {
		r := &rig.Nodes[e].Rails[rail]
		r.Addr, r.Netdev.Addrs = addr, []string{addr + "/24"}
		rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
		return rig
	}
	down := oneAddress()
	down.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	alone := kindtest.Spark()
	alone.Nodes[steps.Peer].Rails = alone.Nodes[steps.Peer].Rails[:3]
	alone.Nodes[steps.Here].Rails[3].Addr, alone.Nodes[steps.Here].Rails[3].Netdev.Addrs = "", nil
	alone.Pairs = steps.PairRails(alone.Nodes[0], alone.Nodes[1])
	kindtest.Want(t, "all", judge(kindtest.Spark()), steps.Pass, "8 on both nodes")
	kindtest.Want(t, "soft-RoCE", judge(kindtest.Virtual()), steps.Pass, "4 on both nodes")
	because(t, "one missing", judge(oneAddress()), steps.Fail, steps.AddressMissing, "enp1s0f1np1 on spark-01",
		"enp1s0f1np1 on spark-02", "192.168.200.11/24")
	because(t, "the tutorial's two", judge(kindtest.TutorialSpark()), steps.Warn, steps.RailUnaddressed, "enP2p1s0f0np0")
	kindtest.Want(t, "down", judge(down), steps.Pass, "7 on both nodes")
	kindtest.Want(t, "in a bond", judge(kindtest.BondedAt(steps.Peer)), steps.Pass, "6 on both nodes")
	because(t, "two subnets", judge(set(kindtest.Spark(), steps.Peer, 1, "192.168.201.10")), steps.Fail,
		steps.SubnetsDiffer, "rocep1s0f1", "192.168.201.10/24 on spark-01")
	because(t, "one address", judge(set(kindtest.Spark(), steps.Peer, 1, "192.168.200.11")), steps.Fail, steps.DuplicateIP,
		"both ends of rocep1s0f1 have the address 192.168.200.11")
	because(t, "a second address that both have",
		judge(alsoHas(alsoHas(kindtest.Spark(), steps.Here, 1, "10.0.0.9/24"), steps.Peer, 1, "10.0.0.9/24")), steps.Fail,
		steps.DuplicateIP, "both ends of rocep1s0f1 have the address 10.0.0.9")
	because(t, "no other end", judge(alone), steps.Warn, steps.RailUnpaired, "enP2p1s0f1np1 on spark-02", "spark-01")
	shared := set(set(kindtest.Spark(), steps.Here, 1, "192.168.100.13"), steps.Peer, 1, "192.168.100.12")
	because(t, "one subnet for two", judge(shared), steps.Warn, steps.SubnetShared, "rails 1 and 2", "192.168.100.0/24")
	texts := addressLines(kindtest.Spark())
	holes(t, "rail-addresses", registered().Judges["rail-addresses"], kindtest.Spark(), texts)
}

// alsoHas gives an interface another address.
func alsoHas(rig steps.Rig, e steps.End, rail int, addrs ...string) steps.Rig {
	d := &rig.Nodes[e].Rails[rail].Netdev
	d.Addrs = append(slices.Clone(d.Addrs), addrs...)
	return rig
}

// only gives an interface one address in place of its own.
func only(rig steps.Rig, e steps.End, rail int, addr string) steps.Rig {
	r := &rig.Nodes[e].Rails[rail]
	r.Addr, _, _ = strings.Cut(addr, "/")
	r.Netdev.Addrs = []string{addr}
	return rig
}

func conflictRigs() map[string]steps.Rig {
	onBothEnds := func(of func(steps.Rig, steps.End, string) steps.Rig) steps.Rig {
		rig := kindtest.Spark()
		for _, e := range steps.Ends {
			rig = of(rig, e, fmt.Sprintf("192.168.100.1%d/24", 3-e))
		}
		return rig
	}
	rigs := map[string]steps.Rig{
		"plain":     kindtest.Spark(),
		"the twin":  alsoHas(kindtest.Spark(), steps.Peer, 2, "192.168.100.15/24"),
		"only that": only(kindtest.TutorialSpark(), steps.Peer, 2, "192.168.100.15/24"),
		"left over": onBothEnds(func(rig steps.Rig, e steps.End, a string) steps.Rig { return alsoHas(rig, e, 1, a) }),
		"tutorial":  onBothEnds(func(rig steps.Rig, e steps.End, a string) steps.Rig { return only(rig, e, 1, a) }),
		"second":    alsoHas(kindtest.Spark(), steps.Peer, 0, "192.168.100.20/24"),
	}
	for name, rig := range rigs {
		rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
		rigs[name] = kindtest.Netdevs(rig)
	}
	lan := kindtest.Netdevs(kindtest.Spark())
	lan.Nodes[steps.Peer].Netdevs = append(lan.Nodes[steps.Peer].Netdevs,
		steps.Netdev{Name: "eth0", Addrs: []string{"192.168.0.7/16"}})
	rigs["the office"] = lan
	return rigs
}

func TestAddressConflict(t *testing.T) {
	rigs := conflictRigs()
	judge := func(name string, more ...string) steps.Verdict {
		rig := rigs[name]
		var texts [2]string
		for e, node := range rig.Nodes {
			for _, d := range node.Netdevs {
				texts[e] += d.Name + " addresses: " + d.Name + " UP " + strings.Join(d.Addrs, " ") + "\n"
			}
			texts[e] += strings.Join(more, "\n")
		}
		return registered().Judges["address-conflict"](steps.Cell{}, looked(rig, texts[0], texts[1]))
	}
	kindtest.Want(t, "plain", judge("plain"), steps.Pass, "8 addresses")
	because(t, "the twin", judge("the twin"), steps.Fail, steps.AddressStray,
		"enP2p1s0f0np0 on spark-01 has 192.168.100.15/24, in the subnet of enp1s0f0np0 (192.168.100.10/24)",
		"Remove 192.168.100.15/24")
	because(t, "only that", judge("only that"), steps.Fail, steps.AddressStray,
		"enP2p1s0f0np0 on spark-01 has 192.168.100.15/24", "Remove 192.168.100.15/24")
	because(t, "left over", judge("left over"), steps.Fail, steps.AddressStray,
		"enp1s0f1np1 on spark-02 has 192.168.100.13/24", "enp1s0f1np1 on spark-01 has 192.168.100.12/24")
	because(t, "tutorial", judge("tutorial"), steps.Fail, steps.SubnetShared, "share a subnet",
		"Give each its own subnet")
	because(t, "second", judge("second"), steps.Warn, steps.SecondAddress, "enp1s0f0np0 on spark-01")
	because(t, "the office", judge("the office"), steps.Fail, steps.SubnetShared, "eth0 (192.168.0.7/16) on spark-01",
		"share a subnet")
	var apart []string
	for _, d := range []string{"enp1s0f0np0", "enP2p1s0f0np0"} {
		apart = append(apart, d+" arp_ignore: 1", d+" arp_announce: 2")
	}
	because(t, "kept apart", judge("the twin", apart...), steps.Warn, steps.SubnetShared,
		"arp_ignore and arp_announce keep")
	texts := addressLines(kindtest.Spark())
	holes(t, "address-conflict", registered().Judges["address-conflict"], kindtest.Spark(), texts)
}

func TestPlansOfNetworkFixes(t *testing.T) {
	rigs := conflictRigs()
	for _, c := range []struct {
		rig           string
		refuse, none  string
		here, peerDel string
	}{
		{"plain", "", "no rail shares its subnet", "", ""},
		{"the twin", "", "", "", "enP2p1s0f0np0=192.168.100.15/24"},
		{"only that", "", "", "", "enP2p1s0f0np0=192.168.100.15/24"},
		{"left over", "", "", "enp1s0f1np1=192.168.100.13/24", "enp1s0f1np1=192.168.100.12/24"},
		{"tutorial", "cannot decide which one is wrong", "", "", ""},
		{"second", "", "", "", "enp1s0f0np0=192.168.100.20/24"},
		{"the office", "eth0 (192.168.0.7/16) on spark-01", "", "", ""},
	} {
		p := planAddresses(rigs[c.rig], kindtest.Defaults)
		if (p.Refuse == "") != (c.refuse == "") || !strings.Contains(p.Refuse, c.refuse) ||
			(p.Nothing == "") != (c.none == "") || !strings.Contains(p.Nothing, c.none) {
			t.Errorf("%s: refuses %q, nothing %q", c.rig, p.Refuse, p.Nothing)
		}
		if p.Vars[0]["DEL_IPS"] != c.here || p.Vars[1]["DEL_IPS"] != c.peerDel {
			t.Errorf("%s: removes %q and %q", c.rig, p.Vars[0]["DEL_IPS"], p.Vars[1]["DEL_IPS"])
		}
	}

	lonely := kindtest.Netdevs(only(oneAddress(), steps.Peer, 2, "192.168.102.77/24"))
	// racks are two nodes of many: rail 2 of the peer lacks its address.
	racks := func(bits int) steps.Rig {
		rig := kindtest.Spark()
		for e := range rig.Nodes {
			for i := range rig.Nodes[e].Rails {
				r := &rig.Nodes[e].Rails[i]
				r.Addr, r.Prefix = fmt.Sprintf("10.%d.4.%d", []int{100, 200, 102, 202}[i], 19-e), bits
				r.Netdev.Addrs = []string{fmt.Sprintf("%s/%d", r.Addr, bits)}
			}
		}
		r := &rig.Nodes[steps.Peer].Rails[1]
		r.Addr, r.Netdev.Addrs = "", nil
		rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
		return kindtest.Netdevs(rig)
	}
	used := kindtest.Netdevs(oneAddress())
	used.Nodes[steps.Here].Netdevs = append(used.Nodes[steps.Here].Netdevs,
		steps.Netdev{Name: "veth0", Addrs: []string{"192.168.200.10/32"}})
	for _, c := range []struct {
		name         string
		rig          steps.Rig
		address      string
		refuse, none string
		peer         string
	}{
		{"all there", kindtest.Netdevs(kindtest.Spark()), "", "", "no rail with a link lacks an address", ""},
		{"one end", kindtest.Netdevs(oneAddress()), "", "", "", "enp1s0f1np1=192.168.200.10/24"},
		{
			"both have the other's", kindtest.Netdevs(only(kindtest.Spark(), steps.Peer, 1, "192.168.200.11/24")), "", "", "",
			"enp1s0f1np1=192.168.200.10/24",
		},
		{"neither end", kindtest.Netdevs(kindtest.TutorialSpark()), "", "", "rail-ips", ""},
		{"given", kindtest.Netdevs(oneAddress()), "192.168.200.42", "", "", "enp1s0f1np1=192.168.200.42/24"},
		{
			"given with its prefix", kindtest.Netdevs(oneAddress()), "192.168.200.42/24", "", "",
			"enp1s0f1np1=192.168.200.42/24",
		},
		{"given with another", kindtest.Netdevs(oneAddress()), "192.168.200.42/16", "the other end has a /24", "", ""},
		{"given elsewhere", kindtest.Netdevs(oneAddress()), "10.0.0.1", "which is not in that subnet", "", ""},
		{"given nonsense", kindtest.Netdevs(oneAddress()), "second", "not an IPv4 address", "", ""},
		{
			"given the other end's", kindtest.Netdevs(oneAddress()), "192.168.200.11", "already used by enp1s0f1np1 on spark-02",
			"", "",
		},
		{"given the last", kindtest.Netdevs(oneAddress()), "192.168.200.255", "broadcast", "", ""},
		{"two host numbers", lonely, "", "different host numbers", "", ""},
		{"a subnet of two bytes", racks(16), "", "", "", "enp1s0f1np1=10.200.4.18/16"},
		{"a large subnet", racks(15), "", "from /16 to /30", "", ""},
		{"in use", used, "", "192.168.200.10 is already used by veth0 on spark-02", "", ""},
	} {
		p := planRailAddress(c.rig, map[string]string{"RAIL_ADDRESS": c.address})
		if (p.Refuse == "") != (c.refuse == "") || !strings.Contains(p.Refuse, c.refuse) ||
			(p.Nothing == "") != (c.none == "") || !strings.Contains(p.Nothing, c.none) {
			t.Errorf("%s: refuses %q, nothing %q", c.name, p.Refuse, p.Nothing)
		}
		if p.Vars[0]["ADD_IPS"] != "" || p.Refuse == "" && p.Vars[1]["ADD_IPS"] != c.peer {
			t.Errorf("%s: adds %q and %q", c.name, p.Vars[0]["ADD_IPS"], p.Vars[1]["ADD_IPS"])
		}
	}

	p := planRailAddress(kindtest.Netdevs(only(kindtest.Spark(), steps.Here, 1, "192.168.200.10/24")), map[string]string{})
	if v := p.Vars[0]; p.Refuse+p.Nothing != "" || v["DEL_IPS"] != "enp1s0f1np1=192.168.200.10/24" ||
		v["ADD_IPS"] != "enp1s0f1np1=192.168.200.11/24" || p.Vars[1]["ADD_IPS"]+p.Vars[1]["DEL_IPS"] != "" {
		t.Errorf("both have the other end's: %+v", p)
	}

	off := kindtest.Netdevs(kindtest.Spark())
	off.Nodes[steps.Peer].Rails[1].Netdev.Up = false
	p = planLinkUp(off, kindtest.Defaults)
	if p.Refuse+p.Nothing != "" || p.Vars[0]["LINK_NETDEVS"] != "" || p.Vars[1]["LINK_NETDEVS"] != "enp1s0f1np1" ||
		p.Vars[1]["WAYS"] != "enp1s0f1np1=192.168.200.11" || p.Vars[0]["WAYS"] != "enp1s0f1np1=192.168.200.10" {
		t.Errorf("one off: %+v", p)
	}
	unused := kindtest.Netdevs(kindtest.TutorialSpark())
	unused.Nodes[steps.Peer].Rails[2].Netdev.Up = false
	if p := planLinkUp(unused, kindtest.Defaults); p.Nothing == "" {
		t.Errorf("an unused one off: %+v", p)
	}
}

func TestNetworkFixJudges(t *testing.T) {
	rigs := conflictRigs()
	ping := "ping enp1s0f0np0=192.168.100.10: ok\n"
	fixed := func(after string, peer string) steps.Verdict {
		return judgeFixAddresses(steps.Cell{}, kindtest.Made(rigs["the twin"], rigs[after], ping, peer))
	}
	kindtest.Want(t, "removed", fixed("plain", ping), steps.Pass, "has its own subnet", "railbench undo")
	because(t, "there still", fixed("the twin", ping), steps.Fail, steps.AddressStray,
		"enP2p1s0f0np0 (192.168.100.15/24) on spark-01")
	because(t, "silent", fixed("plain", strings.Replace(ping, "ok", "no answer", 1)), steps.Fail, steps.NoAnswer,
		"no answer over enp1s0f0np0")
	because(t, "not tried", fixed("plain", "x: y\n"), steps.Inconclusive, steps.ChangeUntried, "no rail could be tested")
	fewer := kindtest.Netdevs(oneAddress())
	because(t, "a rail lost", judgeFixAddresses(steps.Cell{}, kindtest.Made(rigs["the twin"], fewer, ping, ping)),
		steps.Fail, steps.RailLost, "3 rails", "there were 4")

	off, on := kindtest.Netdevs(kindtest.Spark()), kindtest.Netdevs(kindtest.Spark())
	off.Nodes[steps.Peer].Rails[1].Netdev.Up = false
	kindtest.Want(t, "on", judgeFixLinkUp(steps.Cell{}, kindtest.Made(off, on, ping, ping)), steps.Pass,
		"switched on: enp1s0f1np1 on spark-01")
	because(t, "off still", judgeFixLinkUp(steps.Cell{}, kindtest.Made(off, off, ping, ping)), steps.Fail,
		steps.InterfaceOff, "enp1s0f1np1 on spark-01")
	dark := kindtest.Netdevs(kindtest.Spark())
	dark.Nodes[steps.Peer].Rails[1].Netdev.Carrier = false
	kindtest.Because(t, "dark", judgeFixLinkUp(steps.Cell{}, kindtest.Made(off, dark, ping, ping)), steps.Warn,
		steps.LinkDown)
	because(t, "on and silent", judgeFixLinkUp(steps.Cell{}, kindtest.Made(off, on, ping, "ping x=y: no answer\n")),
		steps.Fail, steps.NoAnswer, "no answer over x=y")
	because(t, "on and without an address",
		judgeFixLinkUp(steps.Cell{}, kindtest.Made(off, on, "switched on: nothing on this node\n",
			"switched on: enp1s0f1np1\n")), steps.Warn, steps.ChangeUntried, "No address was available")
}

// A fix that finds nothing to do says so, and passes.
func TestNetworkFixesWithNothingToDo(t *testing.T) {
	registered := registry.Merge(registry.Base(), Kind())
	plain := kindtest.Netdevs(kindtest.TutorialSpark())
	nothing := steps.Result{Rig: plain, Changed: &steps.Changed{Nothing: "it is so already", After: plain}}
	for _, name := range []string{"fix-link-up", "fix-rail-address", "fix-addresses"} {
		if registered.Plans[name] == nil {
			t.Errorf("%s has no plan", name)
			continue
		}
		kindtest.Want(t, name+" with nothing to do", registered.Judges[name](steps.Cell{}, nothing), steps.Pass,
			"nothing to do", "Nothing was changed")
	}
}

// What holds of one end alone is not what a check of rails says.
func TestAnEndWithoutRails(t *testing.T) {
	for _, id := range []string{"mtu-equal", "rail-addresses", "rail-bond"} {
		rig, one := kindtest.Spark(), kindtest.Spark()
		one.Nodes[steps.Peer].Rails, one.Pairs = nil, nil
		texts := addressLines(rig).with()
		mtus := mtuLines(rig)
		for e := range texts {
			texts[e] += mtus[e] + "interfaces in another: none\n"
		}
		if v := registered().Judges[id](steps.Cell{ID: id}, looked(one, texts[0], texts[1])); v.Grade == steps.Pass {
			t.Errorf("%s passes where spark-01 has no rail: %s", id, v.Reason)
		}
	}
}
