package bond

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// managed is a rig whose first node's rails are NetworkManager's and whose second's networkd's.
func managed() steps.Rig {
	rig := kindtest.Spark()
	for e, by := range []string{"NetworkManager", "networkd"} {
		for i := range rig.Nodes[e].Rails {
			rig.Nodes[e].Rails[i].Netdev.Managers = []steps.Manager{{By: by, State: "connected", Profile: "p"}}
		}
	}
	return rig
}

// netplan's file is for the manager that has a node's rails, or, while a bond holds those, its
// other interfaces.
func TestRenderer(t *testing.T) {
	rig := managed()
	p := planNetplan(rig, nil)
	if p.Vars[0]["RENDERER"] != "NetworkManager" || p.Vars[1]["RENDERER"] != "networkd" {
		t.Errorf("%q, %q", p.Vars[0]["RENDERER"], p.Vars[1]["RENDERER"])
	}
	taken := steps.Node{
		Rails: []steps.Rail{{Netdev: steps.Netdev{
			Name:     "rail0",
			Managers: []steps.Manager{{By: "networkd", State: "unmanaged"}},
		}}},
		Netdevs: []steps.Netdev{{Name: "eth0", Managers: []steps.Manager{{By: "NetworkManager", State: "connected"}}}},
	}
	if got := renderer(taken); got != "NetworkManager" {
		t.Errorf("while a bond has the rails: %q", got)
	}
	// A change that was kept has taken the rails, and another manager has the rest.
	taken.Rails[0].Netdev.Managers[0].Profile = "/run/systemd/network/10-netplan-rail0.network"
	if got := renderer(taken); got != "networkd" {
		t.Errorf("netplan has written networkd's file of the rail: %q", got)
	}
	if got := renderer(steps.Node{}); got != "networkd" {
		t.Errorf("nobody: %q", got)
	}
}

func TestNetplanTry(t *testing.T) {
	params := map[string]string{"BOND": "bond0", "BOND_MODE": "balance-xor"}
	p := planNetplanTry(managed(), params)
	if p.Refuse != "" || p.Nothing != "" || p.Vars[1]["RENDERER"] != "networkd" || p.Vars[0]["BOND_SLAVES"] == "" {
		t.Errorf("%+v", p)
	}
	if p := planNetplanTry(kindtest.Spark(), params); !strings.Contains(p.Nothing, "netplan would have no effect") {
		t.Errorf("nobody manages the rails: %+v", p)
	}
	// As a change that was kept leaves them, mtu say.
	taken := managed()
	for e := range taken.Nodes {
		for i := range taken.Nodes[e].Rails {
			taken.Nodes[e].Rails[i].Netdev.Managers[0].State = "unmanaged"
		}
	}
	if p := planNetplanTry(taken, params); p.Refuse != "" || p.Nothing != "" ||
		p.Vars[0]["RENDERER"] != "NetworkManager" || p.Vars[1]["RENDERER"] != "networkd" {
		t.Errorf("a change has taken the rails: %+v", p)
	}
	mixed := managed()
	mixed.Nodes[1].Rails[1].Netdev.Managers = mixed.Nodes[0].Rails[1].Netdev.Managers
	if p := planNetplanTry(mixed, params); !strings.Contains(p.Refuse,
		"on spark-01 NetworkManager has enp1s0f1np1 and networkd has enp1s0f0np0") {
		t.Errorf("two renderers on one node: %+v", p)
	}
	mixed = managed()
	mixed.Nodes[1].Rails[3].Netdev.Managers = mixed.Nodes[0].Rails[3].Netdev.Managers
	if p := planNetplanTry(mixed, params); p.Refuse != "" {
		t.Errorf("another manager has a rail that stays out of the bond: %+v", p)
	}
	params["BOND_MODE"] = "802.3ad"
	if p := planNetplanTry(managed(), params); !strings.Contains(p.Refuse, "LACP") {
		t.Errorf("%+v", p)
	}
}

// A slave that has an address got it from the manager of its interface.
func TestKeptAddressNamesItsManager(t *testing.T) {
	rig := managed()
	rig.Nodes[0].Rails[0].Netdev.Master = "bond0"
	var rep registry.Report
	checkKept(rig, steps.Here, held{rails: []int{0}}, &rep)
	if len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0].Text,
		"has 192.168.100.11/24 from NetworkManager, profile p") {
		t.Errorf("%+v", rep.Findings)
	}
}
