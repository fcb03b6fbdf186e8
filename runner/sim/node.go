package sim

import (
	"net"
	"time"

	simnet "github.com/railbench/railbench/runner/sim/net"
)

// A node is one of the machines: its hardware, its network and what runs on
// it. The fabric's lock guards everything in it.
type node struct {
	*simnet.Stack
	rack      *rack
	listeners map[int]*listener
	procs     map[int]*process
	files     map[string]*inode // what scripts made, by path
	units     map[string]*unit  // of systemd, by name
	modules   []string
	profiles  map[string]string // of NetworkManager: an interface's address, by name
	held      int64             // bytes of memory that the tools hold
	nextPID   int
	nextQPN   int
	tree      *inode // nil where it has to be built again
	treeOf    int    // the devices that it was built of

	// How it is set up, and what a fault changes of that.
	system    map[string]*inode // the files that it came with, by path
	versions  map[string]string // of packages that are not the usual ones; empty is none
	absent    map[string]bool   // programs that are not installed
	flaws     map[flaw]bool
	logged    map[int][]kernelLine // in the kernel's log beside the usual
	logs      int                  // how often something was put there
	password  string               // that sudo asks for; empty where it asks for none
	upFor     time.Duration        // how long it is up, where that is less than the others are
	memlockKB int64                // that a user may lock; 0 where nothing limits it
	freeKB    int64                // available while nothing runs
	gpu       bool                 // its GPU has a driver
	card      bool                 // it has a GPU card beside that
	hot       bool                 // its adapter is
}

// A flaw is something wrong with a node that a program minds, or a view of the node shows.
// Who minds it names it.
type flaw string

// flawed reports whether the node has a flaw. Callers hold the fabric's lock.
func (n *node) flawed(f flaw) bool { return n.flaws[f] }

// A listener is a TCP port that a process on the node listens on.
type listener struct {
	port int
	proc *process
	// serves is what the program that listens keeps for those that connect; another program
	// finds nothing that it knows there.
	serves any
	// open takes a connection of bytes, and gives what serves it; nil where only programs
	// of the same kind can connect. The fabric's lock is held.
	open      func() func(net.Conn)
	loopback  bool // it listens there alone
	forgotten bool // nobody waits for it, and whoever likes may end it
}

// served is what the program that listens on a port keeps for those that connect; nil
// where nobody does.
func (n *node) served(port int) any {
	if l := n.listeners[port]; l != nil {
		return l.serves
	}
	return nil
}

// A process is what tools show of a script's command.
type process struct {
	pid  int
	args []string
	root bool
	// started is the node's uptime at its start.
	started time.Duration
	// end ends a process that is in a group of its own; nil where the process
	// belongs to a script.
	end func()
}

func newNode(r *rack, st *simnet.Stack) *node {
	n := &node{
		Stack: st, rack: r,
		listeners: map[int]*listener{}, procs: map[int]*process{}, files: map[string]*inode{}, units: map[string]*unit{},
		nextPID: 4210, nextQPN: 0x11a,
		modules: []string{"mlx5_ib", "ib_uverbs", "ib_core", "mlx5_core", "rdma_ucm", "rdma_cm", "nvidia_uvm", "nvidia"},
		system:  systemFiles(), versions: map[string]string{}, absent: map[string]bool{},
		flaws: map[flaw]bool{}, logged: map[int][]kernelLine{}, freeKB: memoryKB - usedKB, gpu: true,
		profiles: map[string]string{},
	}
	for _, d := range n.Netdevs[1:] {
		n.profiles[d.Name] = d.IPv4().String()
	}
	return n
}

// changed says that the node's file system is to be built again.
func (n *node) changed() { n.tree = nil }

// of is the machine that an interface is in.
func (r *rack) of(d *simnet.Netdev) *node { return r.nodes[d.Stack.Index] }

// spawn enters a process into the node's table.
func (n *node) spawn(args []string, root bool) *process {
	p := &process{pid: n.nextPID, args: args, root: root, started: n.rack.Clock.Uptime()}
	n.nextPID += 3
	n.procs[p.pid] = p
	return p
}
