package network

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/cabling"
	"github.com/railbench/railbench/steps/registry"
)

// tellCrossed names rails that are crossed, each two once, and returns the pairs that it reported.
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
		code := steps.CablesCrossed
		says := fmt.Sprintf("are crossed: %s on %s is cabled to %s on %s. RDMA hangs. Swap the plugs at one end",
			here.Netdev.Name, w.Rig.NameOf(steps.Here), there.Netdev.Name, w.Rig.NameOf(steps.Peer))
		note := "Or swap the two rails' addresses on one node: both ends of a cable have to be in one subnet"
		if here.PhysPort == there.PhysPort && here.PhysPort >= 0 {
			code = steps.AddressesExchanged
			says = fmt.Sprintf("have exchanged addresses: %s on %s has one of rail %d. RDMA over both hangs. Swap the "+
				"addresses on one node", there.Netdev.Name, w.Rig.NameOf(steps.Peer), j+1)
			note = "The cables are straight (same ports at both ends). Swap the addresses in the configuration for the boot, too"
		}
		rep.Add(code, steps.Fail, "rails %d and %d %s", i+1, j+1, says)
		rep.Explain("A ping over crossed rails passes. %s", note)
		rep.ByHand()
	}
	return told
}
