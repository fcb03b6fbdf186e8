package host

import (
	"context"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner/sim/net"
)

// A Rack is the nodes, what joins them and what they have in common. Reading or changing a node needs its
// lock.
type Rack struct {
	*net.Fabric
	// By number, as the fabric's stacks are.
	Nodes []*Node
	tools map[string]Tool // that the nodes have, by name
	// Shared is what programs of different nodes know of each other, by keys of their own.
	// Guarded by the lock. Keys are of types of their own, as a context's are.
	Shared map[any]any

	// Ran, where not nil, is called for each process that a script needs on a node: its shell, and each
	// program that it calls. It is set before anything runs, and called concurrently.
	Ran func(node, program string)

	// What runs apart from connections lives until the rack is closed.
	// Set under the lock: who looks there and starts something while he holds it is waited for.
	Closed bool
	apart  sync.WaitGroup
	// It ends with Close, and everything that runs apart ends with it.
	Life context.Context //nolint:containedctx // it is the rack's, which outlives every call
	die  context.CancelFunc
}

// NewRack makes the nodes of a fabric, which have these programs besides the shell's own.
func NewRack(f *net.Fabric, tools map[string]Tool) *Rack {
	r := &Rack{Fabric: f, tools: builtins(), Shared: map[any]any{}}
	maps.Copy(r.tools, tools)
	r.Life, r.die = context.WithCancel(context.Background())
	for _, s := range f.Stacks {
		r.Nodes = append(r.Nodes, newNode(r, s))
	}
	return r
}

func (r *Rack) ran(n *Node, program string) {
	if r.Ran != nil && !strings.HasPrefix(program, "@") { // a builtin of a shell
		r.Ran(n.Name, path.Base(program))
	}
}

// Shut lets nothing more begin. The lock is held.
func (r *Rack) Shut() { r.Closed = true }

// Close ends all that runs apart, once it is shut.
// The lock must be free: what ends takes it.
func (r *Rack) Close() {
	r.die()
	r.apart.Wait()
}

// alone runs f as an actor of its own, which close waits for. What no script waits for is patient. Callers
// may hold the lock.
func (r *Rack) alone(f func()) {
	// Before the actor is started: Close may be waiting already.
	r.apart.Add(1)
	r.Clock.Run(true, func() {
		defer r.apart.Done()
		f()
	})
}
