package sim

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/fault"
)

// defectAt is a fault that is there: its name, and the number of the node.
type defectAt struct {
	// By its name: there is one of each on a node.
	fault string
	node  int
}

// A Fault is something that can be broken on the rig, on any of its nodes.
type Fault = fault.Fault

// Faults lists everything that can be broken, sorted by name, as it is where no node is
// named.
func Faults() []Fault {
	all := fault.All()
	for i := range all {
		all[i] = all[i].At("")
	}
	return all
}

// FaultAt is a fault with its place on a node, as commands print it.
func FaultAt(name, node string) (Fault, error) {
	f, err := fault.Named(name)
	return f.At(node), err
}

// Inject breaks something: NAME, where the fault is by itself, or NAME@NODE. Breaking it
// twice is breaking it once.
func (r *Rig) Inject(spec string) error {
	return r.set(spec, func(f Fault, at defectAt) {
		if r.hurt[at] == nil {
			// What undoes it is kept, and is all that Clear needs.
			r.hurt[at] = f.Do(fault.SpotOn(r.rack, at.node))
		}
	})
}

// Clear repairs it, on every node or on the one that is named.
func (r *Rig) Clear(spec string) error {
	return r.set(spec, func(_ Fault, at defectAt) {
		if undo := r.hurt[at]; undo != nil {
			// Clearing it twice is clearing it once.
			delete(r.hurt, at)
			undo()
		}
	})
}

// set does something to a fault on each node that it is on.
func (r *Rig) set(spec string, do func(f Fault, at defectAt)) error {
	name, node, named := strings.Cut(spec, "@")
	f, err := fault.Named(name)
	if err != nil {
		return err
	}
	places := f.Where.Nodes(len(r.rack.Nodes))
	if named {
		n, err := r.node(node)
		if err != nil {
			return fmt.Errorf("put the fault %s on %s: %w", name, node, err)
		}
		places = []int{n.Index}
	}
	var told []func() // what the nodes' users hear, once the lock is free
	defer func() {
		// What a script waits for may have come: a path, or a dead node's end.
		r.clock.Look()
		for _, tell := range told {
			tell()
		}
	}()
	r.rack.Lock()
	defer r.rack.Unlock()
	// Up to now the flows went as before.
	r.rack.Fabric.Advance()
	for _, no := range places {
		do(f, defectAt{name, no})
	}
	r.rack.Fabric.Allocate()
	// The servers' goroutines take the connections off, once the lock is free.
	for c, n := range r.conns {
		if n.Dead {
			c.Close()
		}
	}
	for _, n := range r.direct {
		told = append(told, n.reach()...)
	}
	return nil
}
