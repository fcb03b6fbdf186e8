package sim

import (
	"context"
	"sync"

	"github.com/railbench/railbench/runner/sim/net"
)

// A rack is the nodes, what joins them and what they have in common. Whoever looks at a
// node, or changes it, holds its lock.
type rack struct {
	*net.Fabric
	nodes []*node
	tools map[string]tool // that the nodes have, by name
	// shared is what programs of different nodes know of each other, by keys of their own.
	shared map[any]any

	// What runs apart from connections lives until the rack is closed.
	closed bool
	apart  sync.WaitGroup
	life   context.Context //nolint:containedctx // it is the rack's, which outlives every call
	die    context.CancelFunc
}

// newRack makes the nodes of a fabric, which have so many programs.
func newRack(f *net.Fabric, tools map[string]tool) *rack {
	r := &rack{Fabric: f, tools: tools, shared: map[any]any{}}
	r.life, r.die = context.WithCancel(context.Background())
	for _, s := range f.Stacks {
		r.nodes = append(r.nodes, newNode(r, s))
	}
	return r
}

// shut lets nothing more begin. The lock is held.
func (r *rack) shut() { r.closed = true }

// close ends all that runs apart, once it is shut.
func (r *rack) close() {
	r.die()
	r.apart.Wait()
}

// alone runs f as an actor of its own, which close waits for. What nobody waits for is
// patient. Callers may hold the lock.
func (r *rack) alone(f func()) {
	r.apart.Add(1)
	r.Clock.Run(true, func() {
		defer r.apart.Done()
		f()
	})
}
