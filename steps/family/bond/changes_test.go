package bond

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestPlans(t *testing.T) {
	plain := kindtest.Netdevs(kindtest.Spark())
	empty := kindtest.Netdevs(kindtest.Spark()) // what loading the module makes by itself
	empty.Nodes[0].Netdevs = append(empty.Nodes[0].Netdevs, steps.Netdev{Name: "bond0"})
	merged := kindtest.BondedAt(steps.Peer)
	merged.Nodes[steps.Peer].Rails = slices.Delete(merged.Nodes[steps.Peer].Rails, 1, 2)
	merged.Pairs = nil
	made := kindtest.Netdevs(kindtest.Spark())
	made.Nodes[0].Netdevs = append(made.Nodes[0].Netdevs,
		steps.Netdev{Name: "bond0", BondMode: "balance-rr", Addrs: []string{"fe80::1/64"}})
	jumbo := kindtest.Netdevs(kindtest.Spark())
	for e := range jumbo.Nodes {
		for i := range jumbo.Nodes[e].Netdevs {
			jumbo.Nodes[e].Netdevs[i].MTU = 9000
		}
	}
	kept, half := kindtest.Spark(), kindtest.Spark()
	for e := range kept.Nodes {
		for i := range kept.Nodes[e].Rails {
			kept.Nodes[e].Rails[i].Netdev.MTU, half.Nodes[e].Rails[i].Netdev.MTU = 9000, 9000
		}
	}
	half.Nodes[steps.Here].Rails[1].Netdev.MTU = 1500
	alone := kindtest.Netdevs(kindtest.Spark())
	alone.Pairs = alone.Pairs[:1]
	oneEnd := kindtest.Spark()
	oneEnd.Nodes[steps.Peer].Rails[1].Addr = ""
	oneEnd.Pairs = steps.PairRails(oneEnd.Nodes[0], oneEnd.Nodes[1])
	// The nodes end in 11 and 10, and a /30 has no such address.
	narrow := kindtest.Netdevs(kindtest.Spark())
	narrow.Nodes[steps.Here].Rails[1].Addr, narrow.Nodes[steps.Here].Rails[1].Prefix = "192.168.200.1", 30
	narrow.Nodes[steps.Peer].Rails[1].Addr = ""
	narrow.Pairs = steps.PairRails(narrow.Nodes[0], narrow.Nodes[1])
	// In a /16 the last numbers may be the same.
	alike := kindtest.TutorialSpark()
	for e, addr := range []string{"10.0.1.5", "10.0.2.5"} {
		alike.Nodes[e].Rails[0].Addr, alike.Nodes[e].Rails[0].Prefix = addr, 16
	}
	down := kindtest.TutorialSpark()
	down.Nodes[steps.Here].Rails[2].State = "DOWN"
	pulled, off := kindtest.Netdevs(kindtest.Spark()), kindtest.Netdevs(kindtest.Spark())
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
		{
			"every rail", "mtu", plain, kindtest.Defaults, "", "",
			map[string]string{"MTU_NETDEVS": "enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1"},
			nil,
		},
		{
			"the bond too", "mtu", kindtest.BondedAt(steps.Here, steps.Peer), kindtest.Defaults, "", "",
			map[string]string{"MTU_NETDEVS": "bond0 enp1s0f0np0 enp1s0f1np1 enP2p1s0f0np0 enP2p1s0f1np1"},
			nil,
		},
		{"there already", "mtu", jumbo, kindtest.Defaults, "", "MTU 9000 on both nodes", nil, nil},
		{"no number", "mtu", plain, kindtest.With("JUMBO_MTU", "9k"), "JUMBO_MTU is \"9k\"", "", nil, nil},
		{"too large", "mtu", plain, kindtest.With("JUMBO_MTU", "65536"), "from 1280 to 9216", "", nil, nil},
		{
			"a pulled cable", "mtu", pulled, kindtest.Defaults,
			"enp1s0f0np0 on spark-02 has no link. Check its cable at both ends", "", nil, nil,
		},
		{"switched off", "mtu", off, kindtest.Defaults, "enp1s0f1np1 on spark-01 is switched off", "", nil, nil},
		{
			"bonded at one end", "mtu", kindtest.BondedAt(steps.Peer), kindtest.Defaults,
			"spark-01 bonds its rails but spark-02", "", nil, nil,
		},
		{"no rails", "mtu", steps.Rig{}, kindtest.Defaults, "Run: railbench run rail-map", "", nil, nil},

		{
			"two rails", "bond-setup", plain, kindtest.Defaults, "", "",
			map[string]string{
				"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_ADDR": "192.168.100.11/24",
				"PEER_BOND_IP": "192.168.100.10", "BOND_MTU": "1500",
			},
			map[string]string{"BOND_ADDR": "192.168.100.10/24", "PEER_BOND_IP": "192.168.100.11"},
		},
		{"a pulled cable", "bond-setup", pulled, kindtest.Defaults, "enp1s0f0np0 on spark-02 has no link", "", nil, nil},
		{"switched off", "bond-setup", off, kindtest.Defaults, "enp1s0f1np1 on spark-01 is switched off", "", nil, nil},
		{
			"802.3ad", "bond-setup", plain, kindtest.With("BOND_MODE", "802.3ad"), "need LACP at the other end", "", nil,
			nil,
		},
		{"no mode", "bond-setup", plain, kindtest.With("BOND_MODE", "balance-xro"), "balance-xor", "", nil, nil},
		{"one rail", "bond-setup", alone, kindtest.Defaults, "there are 1", "", nil, nil},
		{
			"bonded already", "bond-setup", kindtest.BondedAt(steps.Peer), kindtest.Defaults,
			"bond0 already exists on spark-01 with 192.168.100.10/24", "", nil, nil,
		},
		{
			"an empty bond", "bond-setup", empty, kindtest.Defaults, "", "",
			map[string]string{"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1"},
			nil,
		},
		{
			"another bond", "bond-setup", kindtest.BondedAt(steps.Here), kindtest.With("BOND", "bond1"),
			"enp1s0f0np0 on spark-02 is in bond0", "", nil, nil,
		},

		{
			"a port without a device", "bond-teardown", merged, kindtest.Defaults, "", "", nil,
			map[string]string{"BOND": "bond0", "BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_FIRST": "enp1s0f0np0"},
		},
		{"no bond", "bond-teardown", plain, kindtest.Defaults, "", "no bond holds a rail", nil, nil},
		{
			"what the module made", "bond-teardown", made, kindtest.Defaults, "", "",
			map[string]string{"BOND": "bond0", "BOND_SLAVES": "", "BOND_ADDRS": ""},
			map[string]string{"BOND": ""},
		},
		{
			"one node's bond", "bond-teardown", kindtest.BondedAt(steps.Peer), kindtest.Defaults, "", "",
			map[string]string{"BOND": "", "BOND_ADDRS": ""},
			map[string]string{
				"BOND": "bond0", "BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_FIRST": "enp1s0f0np0",
				"BOND_ADDRS": "192.168.100.10/24",
			},
		},

		{"all addressed", "rail-ips", plain, kindtest.Defaults, "", "every rail", nil, nil},
		{
			"two without", "rail-ips", kindtest.TutorialSpark(), kindtest.Defaults, "", "",
			map[string]string{
				"ADD_IPS":   "enP2p1s0f0np0=192.168.101.11/24 enP2p1s0f1np1=192.168.102.11/24",
				"ADD_PINGS": "enP2p1s0f0np0=192.168.101.10 enP2p1s0f1np1=192.168.102.10",
			},
			map[string]string{"ADD_NETDEVS": "enP2p1s0f0np0 enP2p1s0f1np1"},
		},
		{
			"one end without", "rail-ips", oneEnd, kindtest.Defaults, "", "",
			map[string]string{"ADD_IPS": ""},
			map[string]string{"ADD_IPS": "enp1s0f1np1=192.168.200.10/24"},
		},
		{"one is down", "rail-ips", down, kindtest.Defaults, "", "", map[string]string{"ADD_NETDEVS": "enP2p1s0f1np1"}, nil},
		{
			"bonded rails", "rail-ips", kindtest.BondedAt(steps.Here, steps.Peer), kindtest.Defaults, "", "every rail", nil,
			nil,
		},
		{
			"a subnet without the number", "rail-ips", narrow, kindtest.Defaults,
			"192.168.200.10 in 192.168.200.0/30: run fix-rail-address", "", nil, nil,
		},
		{
			"nodes that end in one number", "rail-ips", alike, kindtest.Defaults,
			"192.168.101.5 and 192.168.101.5", "", nil, nil,
		},
		{"nothing active", "rail-ips", steps.Rig{}, kindtest.Defaults, "no rail is active", "", nil, nil},

		{
			"from the rails", "netplan", plain, kindtest.Defaults, "", "",
			map[string]string{"BOND_ADDR": "192.168.100.11/24", "BOND_MTU": "1500"},
			nil,
		},
		{
			"from the bond", "netplan", kindtest.BondedAt(steps.Here, steps.Peer), kindtest.Defaults, "", "",
			map[string]string{"BOND_SLAVES": "enp1s0f0np0 enp1s0f1np1", "BOND_ADDR": "192.168.100.11/24", "BOND_MTU": "1500"},
			nil,
		},
		// What mtu has kept lasts, whatever a later mtu would set.
		{
			"what mtu has kept", "netplan", kept, kindtest.With("JUMBO_MTU", "4000"), "", "",
			map[string]string{"BOND_MTU": "9000"},
			map[string]string{"BOND_MTU": "9000"},
		},
		{
			"one rail alone has it", "netplan", half, kindtest.Defaults, "", "",
			map[string]string{"BOND_MTU": "1500"},
			map[string]string{"BOND_MTU": "9000"},
		},
	} {
		name := c.plan + ", " + c.name
		p := registered().Plans[c.plan](c.rig, c.params)
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

// The user reads what a bond costs before the answer, and not after it.
func TestBondTellsWhatItCosts(t *testing.T) {
	p := planBond(kindtest.Spark(), kindtest.Defaults)
	for _, e := range steps.Ends {
		if !strings.Contains(p.Becomes[e], "are removed until rollback. RDMA over rail 1 or 2 does not work meanwhile") {
			t.Errorf("%s: %q", e, p.Becomes[e])
		}
	}
}

func TestChangeJudges(t *testing.T) {
	plain := kindtest.Netdevs(kindtest.Spark())
	jumbo := kindtest.Netdevs(kindtest.Spark())
	for e := range jumbo.Nodes {
		for i := range jumbo.Nodes[e].Netdevs {
			jumbo.Nodes[e].Netdevs[i].MTU = 9000
		}
		for i := range jumbo.Nodes[e].Rails {
			jumbo.Nodes[e].Rails[i].MTU, jumbo.Nodes[e].Rails[i].Netdev.MTU = 4096, 9000
		}
	}
	mtu := "wanted MTU: 9000\nping enp1s0f0np0=192.168.100.10: ok\n"
	kindtest.Want(t, "MTU", judgeMTU(steps.Cell{}, kindtest.Made(plain, jumbo, mtu, mtu)), steps.Pass,
		"9000 on 8 interfaces", "unfragmented",
		"RoCE MTU is 4096 on 8 devices")
	with := func(change func(*steps.Rail)) steps.Result {
		after := jumbo
		after.Nodes = slices.Clone(jumbo.Nodes)
		after.Nodes[steps.Peer].Rails = slices.Clone(jumbo.Nodes[steps.Peer].Rails)
		change(&after.Nodes[steps.Peer].Rails[0])
		return kindtest.Made(plain, after, mtu, mtu)
	}
	kindtest.Want(t, "a RoCE MTU that stays", judgeMTU(steps.Cell{}, with(func(r *steps.Rail) { r.MTU = 1024 })),
		steps.Warn,
		"the RoCE MTU on spark-01 is 1024 of rocep1s0f0 (4096 follows from 9000)")
	kindtest.Want(t, "a RoCE MTU that nobody tells",
		judgeMTU(steps.Cell{}, with(func(r *steps.Rail) { r.MTUDerived = true })), steps.Warn,
		"rocep1s0f0 on spark-01")
	unchanged := func(rig steps.Rig) steps.Result {
		return steps.Result{Rig: rig, Changed: &steps.Changed{Nothing: "MTU 9000 on both nodes"}}
	}
	kindtest.Want(t, "nothing to do", judgeMTU(steps.Cell{}, unchanged(jumbo)), steps.Pass, "MTU 9000 on both nodes",
		"RoCE MTU is 4096 on 8 devices")
	stuck := with(func(r *steps.Rail) { r.MTU = 1024 }).Changed.After
	kindtest.Want(t, "nothing to do, and a RoCE MTU that stays", judgeMTU(steps.Cell{}, unchanged(stuck)), steps.Warn,
		"the RoCE MTU on spark-01 is 1024 of rocep1s0f0")
	small := kindtest.Netdevs(kindtest.Spark())
	for e := range small.Nodes {
		for i := range small.Nodes[e].Netdevs {
			small.Nodes[e].Netdevs[i].MTU = 4000
		}
		for i := range small.Nodes[e].Rails {
			small.Nodes[e].Rails[i].MTU, small.Nodes[e].Rails[i].Netdev.MTU = 2048, 4000
		}
	}
	to4000 := strings.Replace(mtu, "9000", "4000", 1)
	kindtest.Want(t, "an MTU with no room for 4096", judgeMTU(steps.Cell{}, kindtest.Made(plain, small, to4000, to4000)),
		steps.Pass,
		"RoCE MTU is 2048 on 8 devices")
	kindtest.Want(t, "MTU that is not there", judgeMTU(steps.Cell{}, kindtest.Made(plain, plain, mtu, mtu)), steps.Fail,
		"1500 instead of 9000")
	kindtest.Want(t, "MTU that loses packets",
		judgeMTU(steps.Cell{}, kindtest.Made(plain, jumbo, mtu, strings.Replace(mtu, "ok", "no answer", 1))), steps.Fail,
		"no answer over enp1s0f0np0=192.168.100.10 from spark-01")
	kindtest.Because(t, "MTU that nobody tried",
		judgeMTU(steps.Cell{}, kindtest.Made(plain, jumbo, "wanted MTU: 9000\n", "wanted MTU: 9000\n")),
		steps.Inconclusive, steps.ChangeUntried)
	kindtest.Because(t, "MTU that one node tried",
		judgeMTU(steps.Cell{}, kindtest.Made(plain, jumbo, mtu, "wanted MTU: 9000\n")), steps.Inconclusive,
		steps.ChangeUntried)
	cut := kindtest.Made(plain, jumbo, mtu, mtu)
	cut.Stages[0].Outputs = cut.Stages[0].Outputs[:2]
	kindtest.Want(t, "MTU that one node looked at", judgeMTU(steps.Cell{}, cut), steps.Inconclusive,
		"the change was not checked on spark-01")

	after := kindtest.BondedAt(steps.Here, steps.Peer)
	bond := "wanted mode: balance-xor\nwanted hash policy: layer3+4\nwanted slaves: enp1s0f0np0 enp1s0f1np1\n" +
		"wanted MTU: 1500\n" +
		"MTU: 1500\nmode: balance-xor\nhash policy: layer3+4\nslaves: enp1s0f1np1 enp1s0f0np0\nMII: up\n" +
		"ping bond0=192.168.100.10: ok\n"
	judge := func(change ...string) steps.Verdict {
		return judgeBondSetup(steps.Cell{}, kindtest.Made(plain, after, strings.NewReplacer(change...).Replace(bond), bond))
	}
	kindtest.Want(t, "bond", judge(), steps.Pass, "balance-xor over enp1s0f1np1 and enp1s0f0np0 on both nodes",
		"bond-teardown")
	kindtest.Want(t, "bond in another mode", judge("mode: balance-xor\nhash", "mode: balance-rr\nhash"), steps.Fail,
		"in mode balance-rr")
	kindtest.Want(t, "bond of one", judge("slaves: enp1s0f1np1 enp1s0f0np0", "slaves: enp1s0f0np0"), steps.Fail,
		"holds enp1s0f0np0")
	kindtest.Want(t, "bond by MAC", judge("\nhash policy: layer3+4", "\nhash policy: layer2"), steps.Fail,
		"hashes by layer2")
	kindtest.Because(t, "bond without a link", judge("MII: up", "MII: down"), steps.Fail, steps.BondDown)
	kindtest.Want(t, "bond with another MTU", judge("\nMTU: 1500", "\nMTU: 9000"), steps.Fail,
		"9000 instead of 1500")
	kindtest.Want(t, "bond without its MTU", judge("\nMTU: 1500", ""), steps.Fail, "has MTU unknown instead of 1500")
	kindtest.Want(t, "bond of two MTUs", judge("MTU: 1500", "MTU: 9000"), steps.Warn,
		"9000 on spark-02 and 1500 on spark-01")
	kindtest.Want(t, "bond that is silent", judge(": ok", ": no answer"), steps.Fail,
		"no answer over bond0=192.168.100.10")
	keeps := kindtest.BondedAt(steps.Here, steps.Peer)
	keeps.Nodes[0].Rails[0].Netdev.Addrs = []string{"192.168.100.11/24"}
	kindtest.Want(t, "bond whose rail kept its address",
		judgeBondSetup(steps.Cell{}, kindtest.Made(plain, keeps, bond, bond)), steps.Fail, "kept 192.168.100.11/24")

	undone := kindtest.Made(after, plain, "bonds: none\n", "bonds: none\n")
	undone.Changed.Undone = true
	kindtest.Want(t, "teardown", judgeTeardown(steps.Cell{}, undone), steps.Pass, "as captured before")
	kindtest.Want(t, "teardown of half",
		judgeTeardown(steps.Cell{}, kindtest.Made(after, kindtest.BondedAt(steps.Peer), "bonds: none\n", "bonds: bond0\n")),
		steps.Fail, "enp1s0f0np0 on spark-01 is still in bond0")
	empty := kindtest.Netdevs(kindtest.Spark())
	empty.Nodes[0].Netdevs = append(empty.Nodes[0].Netdevs, steps.Netdev{Name: "bond0", BondMode: "balance-rr"})
	kindtest.Want(t, "teardown of an empty bond",
		judgeTeardown(steps.Cell{}, kindtest.Made(empty, plain, "bonds: none\n", "bonds: none\n")), steps.Pass,
		"the empty bonds are removed")
	kindtest.Want(t, "teardown that left it",
		judgeTeardown(steps.Cell{}, kindtest.Made(empty, empty, "bonds: bond0\n", "bonds: none\n")), steps.Warn,
		"bond0 on spark-02")
	bare := kindtest.Netdevs(kindtest.Spark())
	bare.Nodes[0].Rails[1].Addr = ""
	kindtest.Want(t, "teardown of a foreign bond",
		judgeTeardown(steps.Cell{}, kindtest.Made(after, bare, "bonds: none\n", "bonds: none\n")), steps.Warn,
		"enp1s0f1np1 on spark-02 has no address", "rail-ips")
	// What is said of both nodes is not cut off for what is said of each.
	both := kindtest.BondedAt(steps.Here, steps.Peer)
	for i := range both.Nodes {
		both.Nodes[i].Netdevs = slices.Clone(both.Nodes[i].Netdevs)
		at := slices.IndexFunc(both.Nodes[i].Netdevs, func(d steps.Netdev) bool { return d.Name == "bond0" })
		both.Nodes[i].Netdevs[at].Managers = []steps.Manager{{
			By: networkManager, State: "connected",
			Profile: "netplan-bond0",
		}}
	}
	bare.Nodes[1].Rails = slices.Clone(bare.Nodes[1].Rails)
	bare.Nodes[1].Rails[1].Addr = ""
	kindtest.Want(t, "teardown of netplan's on both",
		judgeTeardown(steps.Cell{}, kindtest.Made(both, bare, "bonds: none\n", "bonds: none\n")), steps.Warn,
		"netplan has bond0 on spark-02", "netplan has bond0 on spark-01",
		"enp1s0f1np1 on spark-02 and enp1s0f1np1 on spark-01 have no address")
	// What a configuration has comes back, and the verdict says how to remove it for good.
	for name, c := range map[string]struct {
		by   steps.Manager
		want string
	}{
		"netplan, NetworkManager": {
			steps.Manager{By: networkManager, State: "connected", Profile: "netplan-bond0"},
			"netplan has bond0 on spark-01 in its files",
		},
		"netplan, networkd": {
			steps.Manager{
				By: networkd, State: "configured",
				Profile: "/run/systemd/network/10-netplan-bond0.network",
			},
			"netplan has bond0 on spark-01 in its files",
		},
		"a profile": {
			steps.Manager{By: networkManager, State: "connected", Profile: "Bond 1"},
			"bond0 on spark-01 again",
		},
		"a file": {steps.Manager{
			By: networkd, State: "configured",
			Profile: "/etc/systemd/network/b.network",
		}, "bond0 on spark-01"},
		"made by hand": {steps.Manager{By: networkManager, State: "connected (externally)", Profile: "bond0"}, ""},
		"left alone":   {steps.Manager{By: networkManager, State: "unmanaged"}, ""},
	} {
		rig := kindtest.BondedAt(steps.Here, steps.Peer)
		node := &rig.Nodes[rig.At(steps.Peer).No]
		i := slices.IndexFunc(node.Netdevs, func(d steps.Netdev) bool { return d.Name == "bond0" })
		node.Netdevs = slices.Clone(node.Netdevs)
		node.Netdevs[i].Managers = []steps.Manager{c.by}
		if got := lasting(*node, "bond0"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		nothing := planCleanup(rig, nil).Nothing
		if !strings.Contains(nothing, "bond0 on spark-01 was not made by railbench and stays (bond-teardown removes it)") ||
			!strings.Contains(nothing, c.want) {
			t.Errorf("%s: cleanup says %q", name, nothing)
		}
		if c.want == "" {
			continue
		}
		kindtest.Want(t, "teardown of one that lasts: "+name,
			judgeTeardown(steps.Cell{}, kindtest.Made(rig, plain, "bonds: none\n", "bonds: none\n")), steps.Warn, c.want)
		if becomes := planTeardown(rig, nil).Becomes[steps.Peer]; !strings.HasPrefix(becomes,
			"bond0 is removed until the next boot") {
			t.Errorf("%s: it becomes %q", name, becomes)
		}
	}

	ping := "ping enP2p1s0f0np0=192.168.101.10: ok\n"
	kindtest.Want(t, "addresses", JudgeRailIPs(steps.Cell{},
		kindtest.Made(kindtest.TutorialSpark(), kindtest.Spark(), ping, ping)), steps.Pass,
		"4 rails connect the nodes, 2")
	kindtest.Want(t, "addresses that lead nowhere",
		JudgeRailIPs(steps.Cell{}, kindtest.Made(kindtest.TutorialSpark(), kindtest.TutorialSpark(), ping, ping)), steps.Fail,
		"2 pairs of rails")
	kindtest.Want(t, "addresses that took one away",
		JudgeRailIPs(steps.Cell{}, kindtest.Made(kindtest.Spark(), kindtest.TutorialSpark(), ping, ping)), steps.Fail,
		"2 pairs of rails, but 4")
	one := kindtest.Spark()
	one.Pairs = slices.Clone(one.Pairs)
	one.Pairs[3].Subnet = one.Pairs[2].Subnet
	kindtest.Want(t, "addresses in one subnet",
		JudgeRailIPs(steps.Cell{}, kindtest.Made(kindtest.TutorialSpark(), one, ping, ping)), steps.Warn,
		"roceP2p1s0f0 and roceP2p1s0f1")
	kindtest.Want(t, "addresses without an answer",
		JudgeRailIPs(steps.Cell{}, kindtest.Made(kindtest.TutorialSpark(), kindtest.Spark(), ping, "ping x=y: no answer\n")),
		steps.Fail, "no answer over x=y from spark-01")

	nothing := steps.Result{Rig: plain, Changed: &steps.Changed{Nothing: "it is so already", After: plain}}
	for name := range registered().Plans {
		switch name {
		case "netplan": // it changes nothing that is to be taken back
		case "netplan-try": // nothing is known of what was not tried
			kindtest.Want(t, name+" with nothing to do", registered().Judges[name](steps.Cell{}, nothing), steps.Skipped,
				"tried: it is so already")
		default:
			kindtest.Want(t, name+" with nothing to do", registered().Judges[name](steps.Cell{}, nothing), steps.Pass,
				"nothing to do", "Nothing was changed")
		}
	}
}

func TestNetplanJudge(t *testing.T) {
	judge := func(code int, here, peer string) steps.Verdict {
		outputs := []steps.Output{kindtest.Ran("", steps.Here, here), kindtest.Ran("", steps.Peer, peer)}
		outputs[1].Exit.Code = code
		return judgeNetplan(steps.Cell{},
			steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: -1, Outputs: outputs}}})
	}
	const file = "network:\n  bonds:\n    bond0:\n      mtu: 9000\n"
	kindtest.Want(t, "netplan", judge(0, file, file), steps.Pass,
		"accepts the file on both nodes with the rails' MTU of 9000", "nothing was applied")
	kindtest.Want(t, "a bad file", judge(78, file, "bonds:\nError in network definition: unknown key 'mod'"), steps.Fail,
		"spark-01", "unknown key")
	kindtest.Want(t, "two MTUs", judge(0, file, strings.Replace(file, "9000", "1500", 1)), steps.Warn,
		"9000 on spark-02 and 1500 on spark-01")
}

// What netplan's bond is tried with stands in the verdict, and who made it; what could not be tried is not a good
// result.
func TestNetplanTryJudge(t *testing.T) {
	const look = "wanted mode: balance-xor\nwanted hash policy: layer3+4\nwanted slaves: enp1s0f0np0 enp1s0f1np1\n" +
		"wanted MTU: 1500\n" +
		"MTU: 1500\nmode: balance-xor\nhash policy: layer3+4\nslaves: enp1s0f0np0 enp1s0f1np1\nMII: up\n" +
		"ping bond0=192.168.100.10: ok\n"
	made := kindtest.Made(managed(), kindtest.BondedAt(steps.Here, steps.Peer), look, look)
	made.Changed.Tried = true
	kindtest.Want(t, "two managers", judgeNetplanTry(steps.Cell{}, made), steps.Pass,
		"NetworkManager on spark-02 and networkd on spark-01 made the bond", "with MTU 1500",
		"Both nodes are as they were")
	silent := strings.Replace(look, ": ok", ": no answer", 1)
	made = kindtest.Made(managed(), kindtest.BondedAt(steps.Here, steps.Peer), look, silent)
	made.Changed.Tried = true
	kindtest.Want(t, "no answer", judgeNetplanTry(steps.Cell{}, made), steps.Fail, "no answer over bond0")
}

func registered() steps.Catalog { return registry.Merge(registry.Base(), Kind()) }
