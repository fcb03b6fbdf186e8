package host

import (
	"github.com/railbench/railbench/runner/sim/net"
)

// A Container is one that docker runs on a node. What is in it has files of its own, and the
// node's devices and network as far as it was given them.
type Container struct {
	Name, Image string
	// Inside is what a program in it sees.
	Inside *Node
	// Network, IPC and Shm are as docker inspect has them.
	Network, IPC string
	Shm          int64 // bytes
}

const (
	// ContainerName is that of the one that each node has.
	ContainerName  = "vllm"
	containerImage = "nvcr.io/nvidia/vllm:25.11-py3"
)

// newContainer is started as RDMA needs it: with the host's network and IPC, its devices, and
// without a limit of locked memory.
func newContainer(r *Rack, st *net.Stack) *Container {
	c := &Container{Name: ContainerName, Image: containerImage, Inside: bareNode(r, st)}
	c.give(true)
	return c
}

// give is how it was started: with all that RDMA needs, or as docker does by itself.
func (c *Container) give(all bool) {
	c.Network, c.IPC, c.Shm = "host", "host", 64<<30
	c.Inside.Sealed, c.Inside.MemlockKB = false, 0
	if !all {
		c.Network, c.IPC, c.Shm = "bridge", "private", 64<<20
		c.Inside.Sealed, c.Inside.MemlockKB = true, 8192
	}
	c.Inside.Changed()
}

// Bare starts it again as docker does automatically, and gives its starter the state it had.
func (c *Container) Bare() (undo func()) {
	c.give(false)
	return func() { c.give(true) }
}
