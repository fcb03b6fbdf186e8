package sim

import (
	"fmt"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// What happens to nodes in addition to faults. Faults are states; for these events no table says which check
// must see them.

// Reboot starts a dead node (peer-dead) again: what ran there and what lay in its memory is gone, and its
// network is as its configuration has it. The node answers once that fault is repaired.
func (r *Rig) Reboot(node string) error {
	return r.disturb(node, func(n *host.Node) error {
		if !n.Dead {
			return fmt.Errorf("reboot %s: it is up", node)
		}
		n.Reboot()
		return nil
	})
}

// NearEnd leaves the counters of a node's ports so many bytes until they begin again at zero.
func (r *Rig) NearEnd(node string, bytes uint64) error {
	return r.disturb(node, func(n *host.Node) error {
		n.NearEnd(bytes)
		return nil
	})
}

// Fill fills a node's disk, or makes room again.
func (r *Rig) Fill(node string, full bool) error {
	return r.disturb(node, func(n *host.Node) error {
		n.Full = full
		return nil
	})
}

// ShiftClock sets a node's wall clock forward, or back.
func (r *Rig) ShiftClock(node string, by time.Duration) error {
	return r.disturb(node, func(n *host.Node) error {
		n.Ahead += by
		return nil
	})
}

func (r *Rig) disturb(node string, do func(*host.Node) error) error {
	n, err := r.node(node)
	if err != nil {
		return err
	}
	defer r.clock.Look()
	r.rack.Lock()
	defer r.rack.Unlock()
	r.rack.Fabric.Advance()
	return do(n)
}
