package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/probe"
)

// netdevs gives each node of a rig the list of interfaces that a probe finds.
func netdevs(rig steps.Rig) steps.Rig {
	for e := range rig.Nodes {
		for _, r := range rig.Nodes[e].Rails {
			rig.Nodes[e].Netdevs = append(rig.Nodes[e].Netdevs, r.Netdev)
		}
	}
	return rig
}

// bondedAt has its first two rails in bond0, as bond-setup leaves them, at these ends.
func bondedAt(ends ...steps.End) steps.Rig {
	rig := spark()
	for _, e := range ends {
		n := &rig.Nodes[e]
		for i := range 2 {
			r := &n.Rails[i]
			r.Netdev.Master, r.Netdev.Addrs = "bond0", nil
			if i == 0 {
				n.Netdevs = append(n.Netdevs, steps.Netdev{Name: "bond0", MTU: 1500, Up: true, Carrier: true, Addrs: []string{r.Addr + "/24"}})
			}
			r.Addr = ""
		}
	}
	rig.Pairs = probe.PairRails(rig.Nodes)
	return netdevs(rig)
}

var defaults = map[string]string{"BOND": "bond0", "BOND_MODE": "balance-xor", "BOND_HASH": "layer3+4", "BOND_MIIMON": "100", "JUMBO_MTU": "9000"}

func with(name, value string) map[string]string {
	p := maps.Clone(defaults)
	p[name] = value
	return p
}

func TestPlans(t *testing.T) {
	plain := netdevs(spark())
	empty := netdevs(spark()) // what loading the module makes by itself
	empty.Nodes[0].Netdevs = append(empty.Nodes[0].Netdevs, steps.Netdev{Name: "bond0"})
	merged := bondedAt(steps.Peer)
	merged.Nodes[steps.Peer].Rails = slices.Delete(merged.Nodes[steps.Peer].Rails, 1, 2)
	merged.Pairs = nil
	made := netdevs(spark())
	made.Nodes[0].Netdevs = append(made.Nodes[0].Netdevs, steps.Netdev{Name: "bond0", BondMode: "balance-rr", Addrs: []string{"fe80::1/64"}})
	jumbo := netdevs(spark())
	for e := range jumbo.Nodes {
		for i := range jumbo.Nodes[e].Netdevs {
			jumbo.Nodes[e].Netdevs[i].MTU = 9000
		}
	}
	alone := netdevs(spark())
	alone.Pairs = alone.Pairs[:1]
	oneEnd := spark()
	oneEnd.Nodes[steps.Peer].Rails[1].Addr = ""
	oneEnd.Pairs = probe.PairRails(oneEnd.Nodes)
	down := tutorialSpark()
	down.Nodes[steps.Here].Rails[2].State = "DOWN"
	pulled, off := netdevs(spark()), netdevs(spark())
	for e := range pulled.Nodes {
		for _, i := range []int{0, 2} {
			r := &pulled.Nodes[e].Rails[i]
			r.State, r.Netdev.Carrier = "DOWN", false
		}
	}
	r := &off.Nodes[steps.Peer].Rails[1]
	r.State, r.Netdev.Up, r.Netdev.Carrier = "DOWN", false, false
	for _, c := range []struct {
		name, plan        string
		rig               steps.Rig
		params            map[string]string
		refused, nothing  string
		wantHere, wantFor map[string]string // at Here and at Peer
	}{
		{"every rail", "mtu", plain, defaults, "", "", map[string]string{"MTU_NETDEVS": "enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1"}, nil},
		{"the bond too", "mtu", bondedAt(steps.Here, steps.Peer), defaults, "", "", map[string]string{"MTU_NETDEVS": "bond0 enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1"}, nil},
		{"there already", "mtu", jumbo, defaults, "", "9000 on both nodes already", nil, nil},
		{"no number", "mtu", plain, with("JUMBO_MTU", "9k"), "JUMBO_MTU is \"9k\"", "", nil, nil},
		{"too large", "mtu", plain, with("JUMBO_MTU", "65536"), "from 1280 to 9216", "", nil, nil},
		{"a pulled cable", "mtu", pulled, defaults, "enp1s0f0np0 on spark-02 has no link: check its cable at both ends", "", nil, nil},
		{"switched off", "mtu", off, defaults, "enp1s0f1np1 on spark-01 is switched off", "", nil, nil},
		{"bonded at one end", "mtu", bondedAt(steps.Peer), defaults, "spark-01 bonds its rails and spark-02 doesn't", "", nil, nil},
		{"no rails", "mtu", steps.Rig{}, defaults, "see the rail map", "", nil, nil},

		{
			"two rails", "bond-setup", plain, defaults, "", "",
			map[string]string{"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_ADDR": "192.168.100.11/24", "PEER_BOND_IP": "192.168.100.10", "BOND_MTU": "1500"},
			map[string]string{"BOND_ADDR": "192.168.100.10/24", "PEER_BOND_IP": "192.168.100.11"},
		},
		{"a pulled cable", "bond-setup", pulled, defaults, "enp1s0f0np0 on spark-02 has no link", "", nil, nil},
		{"switched off", "bond-setup", off, defaults, "enp1s0f1np1 on spark-01 is switched off", "", nil, nil},
		{"802.3ad", "bond-setup", plain, with("BOND_MODE", "802.3ad"), "switch that speaks LACP", "", nil, nil},
		{"no mode", "bond-setup", plain, with("BOND_MODE", "balance-xro"), "balance-xor", "", nil, nil},
		{"one rail", "bond-setup", alone, defaults, "there are 1", "", nil, nil},
		{"bonded already", "bond-setup", bondedAt(steps.Peer), defaults, "enp1s0f0np0 on spark-01 is in bond0 already", "", nil, nil},
		{"an empty bond", "bond-setup", empty, defaults, "", "", map[string]string{"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1"}, nil},
		{"another bond", "bond-setup", bondedAt(steps.Here), with("BOND", "bond1"), "enp1s0f0np0 on spark-02 is in bond0", "", nil, nil},

		{
			"a port without a device", "bond-teardown", merged, defaults, "", "", nil,
			map[string]string{"BOND": "bond0", "BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_FIRST": "enp1s0f0np0"},
		},
		{"no bond", "bond-teardown", plain, defaults, "", "no bond holds a rail", nil, nil},
		{"what the module made", "bond-teardown", made, defaults, "", "", map[string]string{"BOND": "bond0", "BOND_SLAVES": "", "BOND_ADDRS": ""}, map[string]string{"BOND": ""}},
		{
			"one node's bond", "bond-teardown", bondedAt(steps.Peer), defaults, "", "",
			map[string]string{"BOND": "", "BOND_ADDRS": ""},
			map[string]string{"BOND": "bond0", "BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_FIRST": "enp1s0f0np0", "BOND_ADDRS": "192.168.100.10/24"},
		},

		{"all addressed", "rail-ips", plain, defaults, "", "every rail", nil, nil},
		{
			"two without", "rail-ips", tutorialSpark(), defaults, "", "",
			map[string]string{"ADD_IPS": "enP2p1s0f0np0=192.168.101.11/24 enP2p1s0f1np1=192.168.102.11/24", "ADD_PINGS": "enP2p1s0f0np0=192.168.101.10 enP2p1s0f1np1=192.168.102.10"},
			map[string]string{"ADD_NETDEVS": "enP2p1s0f0np0 enP2p1s0f1np1"},
		},
		{"one end without", "rail-ips", oneEnd, defaults, "", "", map[string]string{"ADD_IPS": ""}, map[string]string{"ADD_IPS": "enp1s0f1np1=192.168.200.10/24"}},
		{"one is down", "rail-ips", down, defaults, "", "", map[string]string{"ADD_NETDEVS": "enP2p1s0f1np1"}, nil},
		{"bonded rails", "rail-ips", bondedAt(steps.Here, steps.Peer), defaults, "", "every rail", nil, nil},
		{"nothing active", "rail-ips", steps.Rig{}, defaults, "no rail is active", "", nil, nil},

		{"as it should be", "dual-link", plain, defaults, "", "", nil, nil},
		{"a pulled cable", "dual-link", pulled, defaults, "roceP2p1s0f0 on spark-01 is DOWN: check its cable", "", nil, nil},
		{"switched off", "dual-link", off, defaults, "rocep1s0f1 on spark-01 is DOWN: its interface enp1s0f1np1 is switched off", "", nil, nil},
		{"from the rails", "netplan", plain, defaults, "", "", map[string]string{"BOND_ADDR": "192.168.100.11/24"}, nil},
		{"from the bond", "netplan", bondedAt(steps.Here, steps.Peer), defaults, "", "", map[string]string{"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_ADDR": "192.168.100.11/24"}, nil},
	} {
		name := c.plan + ", " + c.name
		p := New().Plans[c.plan](c.rig, c.params)
		if (p.Refuse == "") != (c.refused == "") || !strings.Contains(p.Refuse, c.refused) {
			t.Errorf("%s: refused %q, want %q", name, p.Refuse, c.refused)
		}
		if (p.Nothing == "") != (c.nothing == "") || !strings.Contains(p.Nothing, c.nothing) {
			t.Errorf("%s: nothing %q, want %q", name, p.Nothing, c.nothing)
		}
		for e, want := range []map[string]string{c.wantHere, c.wantFor} {
			for _, v := range slices.Sorted(maps.Keys(want)) {
				got := strings.Fields(p.Vars[e][v])
				if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(want[v])))) {
					t.Errorf("%s: %s at %s is %q, want %q", name, v, steps.End(e), p.Vars[e][v], want[v])
				}
			}
		}
	}
}

// made is the result of a change that both nodes have, and what was seen of it.
func made(before, after steps.Rig, here, peer string) steps.Result {
	s := steps.Stage{Pair: -1}
	for e, text := range []string{here, peer} {
		s.Outputs = append(s.Outputs, ran("change", steps.End(e), ""), read(ran("look", steps.End(e), text), parse.Facts))
	}
	return steps.Result{Rig: before, Stages: []steps.Stage{s}, Changed: &steps.Changed{After: after}}
}

func TestChangeJudges(t *testing.T) {
	plain := netdevs(spark())
	jumbo := netdevs(spark())
	for e := range jumbo.Nodes {
		for i := range jumbo.Nodes[e].Netdevs {
			jumbo.Nodes[e].Netdevs[i].MTU = 9000
		}
	}
	mtu := "wanted MTU: 9000\nping enp1s0f0np0=192.168.100.10: ok\n"
	want(t, "MTU", judgeMTU(steps.Cell{}, made(plain, jumbo, mtu, mtu)), steps.Pass, "9000 on 8 interfaces", "unfragmented")
	want(t, "MTU that is not there", judgeMTU(steps.Cell{}, made(plain, plain, mtu, mtu)), steps.Fail, "an MTU of 1500, not 9000")
	want(t, "MTU that loses packets", judgeMTU(steps.Cell{}, made(plain, jumbo, mtu, strings.Replace(mtu, "ok", "no answer", 1))), steps.Fail, "no answer over enp1s0f0np0=192.168.100.10 from spark-01")
	want(t, "MTU that nobody tried", judgeMTU(steps.Cell{}, made(plain, jumbo, "wanted MTU: 9000\n", "wanted MTU: 9000\n")), steps.Inconclusive, "no rail could be tried")
	want(t, "MTU that one node tried", judgeMTU(steps.Cell{}, made(plain, jumbo, mtu, "wanted MTU: 9000\n")), steps.Inconclusive, "no rail could be tried")
	cut := made(plain, jumbo, mtu, mtu)
	cut.Stages[0].Outputs = cut.Stages[0].Outputs[:2]
	want(t, "MTU that one node looked at", judgeMTU(steps.Cell{}, cut), steps.Inconclusive, "nothing looked at the change on spark-01")

	after := bondedAt(steps.Here, steps.Peer)
	bond := "wanted mode: balance-xor\nwanted hash policy: layer3+4\nwanted slaves: enp1s0f0np0 enp1s0f1np1\n" +
		"mode: balance-xor\nhash policy: layer3+4\nslaves: enp1s0f1np1 enp1s0f0np0\nMII: up\nping bond0=192.168.100.10: ok\n"
	judge := func(change ...string) steps.Verdict {
		return judgeBondSetup(steps.Cell{}, made(plain, after, strings.NewReplacer(change...).Replace(bond), bond))
	}
	want(t, "bond", judge(), steps.Pass, "balance-xor over enp1s0f1np1 and enp1s0f0np0 on both nodes", "bond-teardown")
	want(t, "bond in another mode", judge("mode: balance-xor\nhash", "mode: balance-rr\nhash"), steps.Fail, "in mode balance-rr, not balance-xor")
	want(t, "bond of one", judge("slaves: enp1s0f1np1 enp1s0f0np0", "slaves: enp1s0f0np0"), steps.Fail, "holds enp1s0f0np0, not")
	want(t, "bond by MAC", judge("\nhash policy: layer3+4", "\nhash policy: layer2"), steps.Fail, "hashes by layer2")
	want(t, "bond without a link", judge("MII: up", "MII: down"), steps.Fail, "MII is down")
	want(t, "bond that is silent", judge(": ok", ": no answer"), steps.Fail, "no answer over bond0=192.168.100.10")
	keeps := bondedAt(steps.Here, steps.Peer)
	keeps.Nodes[0].Rails[0].Netdev.Addrs = []string{"192.168.100.11/24"}
	want(t, "bond whose rail kept its address", judgeBondSetup(steps.Cell{}, made(plain, keeps, bond, bond)), steps.Fail, "kept 192.168.100.11/24")

	undone := made(after, plain, "bonds: none\n", "bonds: none\n")
	undone.Changed.Undone = true
	want(t, "teardown", judgeTeardown(steps.Cell{}, undone), steps.Pass, "exactly as they were captured")
	want(t, "teardown of half", judgeTeardown(steps.Cell{}, made(after, bondedAt(steps.Peer), "bonds: none\n", "bonds: bond0\n")), steps.Fail, "enp1s0f0np0 on spark-01 is still in bond0")
	empty := netdevs(spark())
	empty.Nodes[0].Netdevs = append(empty.Nodes[0].Netdevs, steps.Netdev{Name: "bond0", BondMode: "balance-rr"})
	want(t, "teardown of an empty bond", judgeTeardown(steps.Cell{}, made(empty, plain, "bonds: none\n", "bonds: none\n")), steps.Pass, "the bonds that held nothing are gone")
	want(t, "teardown that left it", judgeTeardown(steps.Cell{}, made(empty, empty, "bonds: bond0\n", "bonds: none\n")), steps.Warn, "bond0 on spark-02 is there still")
	bare := netdevs(spark())
	bare.Nodes[0].Rails[1].Addr = ""
	want(t, "teardown of a foreign bond", judgeTeardown(steps.Cell{}, made(after, bare, "bonds: none\n", "bonds: none\n")), steps.Warn, "enp1s0f1np1 on spark-02 has no address", "rail-ips")

	ping := "ping enP2p1s0f0np0=192.168.101.10: ok\n"
	want(t, "addresses", judgeRailIPs(steps.Cell{}, made(tutorialSpark(), spark(), ping, ping)), steps.Pass, "4 rails lead from node to node now, 2 before")
	want(t, "addresses that lead nowhere", judgeRailIPs(steps.Cell{}, made(tutorialSpark(), tutorialSpark(), ping, ping)), steps.Fail, "2 pairs of rails, as before")
	one := spark()
	one.Pairs = slices.Clone(one.Pairs)
	one.Pairs[3].Subnet = one.Pairs[2].Subnet
	want(t, "addresses in one subnet", judgeRailIPs(steps.Cell{}, made(tutorialSpark(), one, ping, ping)), steps.Warn, "roceP2p1s0f0 and roceP2p1s0f1 are both in")
	want(t, "addresses without an answer", judgeRailIPs(steps.Cell{}, made(tutorialSpark(), spark(), ping, "ping x=y: no answer\n")), steps.Fail, "no answer over x=y from spark-01")

	nothing := steps.Result{Rig: plain, Changed: &steps.Changed{Nothing: "it is so already", After: plain}}
	changeNothing := []string{"netplan", "dual-link", "arp-flux", "duplicate-ip", "mtu-equal", "reboot-safe"}
	for name := range New().Plans {
		if !slices.Contains(changeNothing, name) {
			want(t, name+" with nothing to do", New().Judges[name](steps.Cell{}, nothing), steps.Pass, "nothing to do", "Nothing was changed")
		}
	}
}

func TestNetplanJudge(t *testing.T) {
	good := steps.Result{Rig: spark(), Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{
		ran("", steps.Here, "network:\n  bonds:\n"), ran("", steps.Peer, "network:\n  bonds:\n"),
	}}}}
	want(t, "netplan", judgeNetplan(steps.Cell{}, good), steps.Pass, "takes the file on both nodes", "nothing was applied")
	good.Stages[0].Outputs[1].Exit.Code = 78
	good.Stages[0].Outputs[1].Text = "bonds:\nError in network definition: unknown key 'mod'"
	want(t, "a bad file", judgeNetplan(steps.Cell{}, good), steps.Fail, "spark-01", "unknown key")
}
