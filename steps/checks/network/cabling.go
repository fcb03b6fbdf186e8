package network

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/cabling"
	"github.com/railbench/railbench/steps/registry"
)

// tellCrossed names rails that are crossed, each two once, and gives the pairs that are told of.
func tellCrossed(w cabling.Link, rep *registry.Report) (told []int) {
	for i, p := range w.Rig.Pairs {
		j := w.Crossed(i)
		if j < 0 || slices.Contains(told, i) {
			continue
		}
		told = append(told, i, j)
		q := w.Rig.Pairs[j]
		here, there := w.Rig.Rail(p, steps.Here), w.Rig.Rail(q, steps.Peer)
		// Where the ports have the same number the cable is as it should be.
		code, what := steps.CablesCrossed, "their cables are crossed"
		cure := "exchange the two plugs at one end, or the two rails' addresses on one node"
		if here.PhysPort == there.PhysPort && here.PhysPort >= 0 {
			code, what = steps.AddressesExchanged, "their cables are straight, and their addresses are exchanged on one node"
			cure = "exchange the two rails' addresses on one node, in what sets them at boot, too"
		}
		rep.Add(code, steps.Fail, "rails %d and %d are crossed: %s (%s) on %s is cabled to %s (%s) on %s, which has an "+
			"address of rail %d, and the other way round; %s. RDMA hangs on both, and a ping passes: %s, so that both ends of "+
			"a cable are in one subnet",
			i+1, j+1, here.Netdev.Name, here.Dev, w.Rig.NameOf(steps.Here), there.Netdev.Name, there.Dev,
			w.Rig.NameOf(steps.Peer),
			j+1, what, cure)
		rep.ByHand()
	}
	return told
}
