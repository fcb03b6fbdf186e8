package bond

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// bondText is what the cell prints for a bond.
func bondText(mode, policy string, slaves ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bond bond0\nEthernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: %s\n", mode)
	if policy != "" {
		fmt.Fprintf(&b, "Transmit Hash Policy: %s (1)\n", policy)
	}
	b.WriteString("MII Status: up\nMII Polling Interval (ms): 100\n")
	for _, s := range slaves {
		name, state, _ := strings.Cut(s, " ")
		if state == "" {
			state = "up"
		}
		fmt.Fprintf(&b, "\nSlave Interface: %s\nMII Status: %s\nSpeed: 200000 Mbps\nDuplex: full\nLink Failure Count: 0\n",
			name, state)
	}
	return b.String()
}

var bondCells = steps.Cell{ID: "bond-check", Judge: "bond-check"}

func TestBonds(t *testing.T) {
	on := func(rig steps.Rig, here, peer string) steps.Result {
		return steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{
			kindtest.Read(kindtest.Ran("", steps.Here, here), parse.Bonds),
			kindtest.Read(kindtest.Ran("", steps.Peer, peer), parse.Bonds),
		}}}}
	}
	const none = "no bond\n"
	xor := bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0", "enp1s0f1np1")
	grouped := func(first, second string) string {
		text := bondText("IEEE 802.3ad Dynamic link aggregation", "layer3+4", "enp1s0f0np0", "enp1s0f1np1")
		return strings.Replace(text, "\n\nSlave Interface: enp1s0f1np1", "\n"+first+"\n\nSlave Interface: enp1s0f1np1", 1) +
			second + "\n"
	}
	rails := kindtest.TutorialSpark()
	both := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	kept := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	kept.Nodes[steps.Peer].Rails[0].Netdev.Addrs = []string{"192.168.100.10/24"}
	jumbo := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	jumbo.Nodes[steps.Here].Netdevs[0].MTU = 9000
	bare := kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer)
	bare.Nodes[steps.Here].Netdevs[0].Addrs = []string{"fe80::1/64"}
	for name, c := range map[string]struct {
		r       steps.Result
		check   steps.Grade
		because steps.Code
		says    string
		status  steps.Grade
		cause   steps.Code
		shows   string
	}{
		"none": {on(rails, none, none), steps.Pass, "", "no bond holds a rail", steps.Pass, "", "its own interface's"},
		"both": {
			on(both, xor, xor), steps.Pass, "",
			"although the ports stay ACTIVE", steps.Pass, "",
			"bond0 on both nodes: balance-xor by layer3+4 over enp1s0f0np0 and enp1s0f1np1",
		},
		"one": {
			on(kindtest.Bonded(kindtest.TutorialSpark(), steps.Peer), none, xor), steps.Fail, steps.BondOneSided,
			"bond0 on spark-01 holds enp1s0f0np0 and enp1s0f1np1, but spark-02", steps.Fail, steps.BondOneSided,
			"spark-01 bonds its rails but spark-02",
		},
		"kept": {
			on(kept, xor, xor), steps.Fail, steps.BondPortAddress, "kept 192.168.100.10/24", steps.Fail,
			steps.BondPortAddress, "kept 192.168.100.10/24",
		},
		"by itself": {
			on(rails, none, bondText("load balancing (round-robin)", "")), steps.Warn, steps.BondEmpty, "File exists",
			steps.Pass, "",
			"",
		},
		"made by somebody": {
			on(rails, none, bondText("load balancing (xor)", "layer2")), steps.Warn, steps.BondEmpty,
			"another process created it",
			steps.Pass, "", "",
		},
		"watched by ARP": {
			on(both, strings.Replace(xor, "(ms): 100\n", "(ms): 0\nARP Polling Interval (ms): 1000\n", 1), xor),
			steps.Pass, "", "", steps.Pass, "", "bond0 on both nodes",
		},
		"unwatched": {
			on(both, strings.Replace(xor, "(ms): 100\n", "(ms): 0\n", 1), xor), steps.Pass, "", "", steps.Warn,
			steps.BondUnwatched,
			"",
		},
		"management": {
			on(rails, bondText("fault-tolerance (active-backup)", "", "eno1", "eno2"), none),
			steps.Pass, "", "no bond holds a rail", steps.Pass, "", "",
		},
		"round-robin": {
			on(both, bondText("load balancing (round-robin)", "", "enp1s0f0np0", "enp1s0f1np1"), xor),
			steps.Pass, "", "", steps.Warn, steps.BondReorders, "",
		},
		"layer2": {
			on(both, bondText("load balancing (xor)", "layer2", "enp1s0f0np0", "enp1s0f1np1"), xor), steps.Pass, "",
			"", steps.Warn, steps.BondOneLinkUsed, "hashes by layer2",
		},
		"LACP": {on(both, bondText("IEEE 802.3ad Dynamic link aggregation", "layer3+4", "enp1s0f0np0", "enp1s0f1np1"),
			xor), steps.Pass, "", "", steps.Warn, steps.BondNeedsLACP, ""},
		"two groups": {
			on(both, grouped("Aggregator ID: 1", "Aggregator ID: 2"), xor), steps.Pass, "", "", steps.Warn,
			steps.BondAggregators,
			"enp1s0f0np0 and enp1s0f1np1 of bond0 on spark-02 are in two",
		},
		"no group": {
			on(both, grouped("Aggregator ID: 1", "Aggregator ID: N/A"), xor), steps.Pass, "", "", steps.Warn,
			steps.BondAggregators,
			"aggregators (1 and N/A)",
		},
		"odd group": {
			on(both, grouped("Aggregator ID: 0x1", "Aggregator ID: 2"), xor), steps.Inconclusive, steps.OutputIncomplete,
			"could not read the output",
			steps.Inconclusive, steps.OutputIncomplete, "Aggregator ID: 0x1",
		},
		"cable": {
			on(both, bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0 down", "enp1s0f1np1"), xor),
			steps.Pass, "", "", steps.Fail, steps.BondLinkDown, "",
		},
		"one link": {
			on(both, bondText("load balancing (xor)", "layer3+4", "enp1s0f0np0"), xor), steps.Pass, "", "", steps.Warn,
			steps.BondSingle,
			"",
		},
		"MTU": {
			on(jumbo, xor, xor), steps.Pass, "", "", steps.Warn, steps.BondMTUDiffers,
			"enp1s0f0np0 on spark-02 has MTU 1500 but bond0 has 9000",
		},
		"no address": {on(bare, xor, xor), steps.Pass, "", "", steps.Fail, steps.AddressMissing, "has no IPv4 address"},
		"unreadable": {
			on(rails, "bond bond0\ncat: No such file\n", none), steps.Inconclusive, steps.OutputIncomplete,
			"could not read the output",
			steps.Inconclusive, steps.OutputIncomplete, "could not read the output",
		},
	} {
		v := judgeBondCheck(bondCells, c.r)
		kindtest.Because(t, name+", check", v, c.check, c.because)
		kindtest.Want(t, name+", check", v, c.check, c.says)
		v = judgeBondStatus(bondCells, c.r)
		kindtest.Because(t, name+", status", v, c.status, c.cause)
		kindtest.Want(t, name+", status", v, c.status, c.shows)
	}
	foreign := kindtest.TutorialSpark()
	foreign.Nodes[steps.Here].Rails[0].GIDs = []steps.GID{{Index: 3, Netdev: "bond7"}}
	kindtest.Want(t, "left over", judgeBondStatus(bondCells, on(foreign, none, none)), steps.Warn, "belong to bond7")
	for _, judge := range []steps.Judge{judgeBondCheck, judgeBondStatus} {
		v := judge(bondCells, on(both, xor, xor))
		if modes := v.Measured(steps.BondMode); len(modes) == 0 || modes[0].Words != "balance-xor" {
			t.Errorf("the mode: %+v", modes)
		}
		if modes := judge(bondCells, on(rails, none, none)).Measured(steps.BondMode); modes != nil {
			t.Errorf("no bond, and the mode is %+v", modes)
		}
	}
	if e, ok := kindtest.Evidence(judgeBondStatus(bondCells, on(both, xor, xor)), "spark-02 bond0 rocep1s0f0"); !ok ||
		e.Value != "ACTIVE, GIDs of bond0 at index 0 and 5" {
		t.Errorf("what happened to the GIDs: %+v", e)
	}
}
