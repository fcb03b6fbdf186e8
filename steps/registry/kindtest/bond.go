package kindtest

import (
	"maps"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Netdevs gives each node of a rig the list of interfaces that a probe finds.
func Netdevs(rig steps.Rig) steps.Rig {
	for e := range rig.Nodes {
		for _, r := range rig.Nodes[e].Rails {
			rig.Nodes[e].Netdevs = append(rig.Nodes[e].Netdevs, r.Netdev)
		}
	}
	return rig
}

// BondedAt has its first two rails in bond0, as bond-setup leaves them, at these ends.
func BondedAt(ends ...steps.End) steps.Rig {
	rig := Spark()
	for _, e := range ends {
		n := &rig.Nodes[e]
		for i := range 2 {
			r := &n.Rails[i]
			r.Netdev.Master, r.Netdev.Addrs = "bond0", nil
			if i == 0 {
				n.Netdevs = append(n.Netdevs, steps.Netdev{
					Name: "bond0", MTU: 1500, Up: true, Carrier: true, Addrs: []string{r.Addr + "/24"},
					BondMode: "balance-xor",
				})
			}
			r.Addr = ""
		}
	}
	rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
	return Netdevs(rig)
}

var Defaults = map[string]string{
	"BOND": "bond0", "BOND_MODE": "balance-xor", "BOND_HASH": "layer3+4", "BOND_MIIMON": "100", "JUMBO_MTU": "9000",
}

func With(name, value string) map[string]string {
	p := maps.Clone(Defaults)
	p[name] = value
	return p
}

// Made is the result of a change that both nodes have, and what was seen of it.
func Made(before, after steps.Rig, here, peer string) steps.Result {
	s := steps.Stage{Pair: -1}
	for e, text := range []string{here, peer} {
		s.Outputs = append(s.Outputs, Ran("change", steps.End(e), ""), Read(Ran("look", steps.End(e), text), parse.Facts))
	}
	return steps.Result{Rig: before, Stages: []steps.Stage{s}, Changed: &steps.Changed{After: after}}
}
