// Package host is the generic Linux of a simulated node: its file system with sysfs and
// proc as views of what is there, its shell with jobs and pipes, its users, processes and
// listeners, the units of systemd and the kernel's log. It has the interface that programs
// are written against (Tool, Call), and knows none of them, and no fault: what a fault
// changes is in the node's fields.
package host

import (
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/net"
)

// A Node is one of the machines: its hardware, its network and what runs on
// it. The fabric's lock guards everything in it.
type Node struct {
	// The node's network; the lock of its fabric is the rig's.
	*net.Stack
	// What it shares with the others.
	Rack *Rack
	// By port. sshd's 22 is not among them: no script may take it.
	Listeners map[int]*Listener
	// By process id.
	Procs map[int]*Process
	Files map[string]*Inode // what scripts made, by path
	Units map[string]*Unit  // of systemd, by name
	// Of the kernel, in the order of their loading: /proc/modules lists the newest first, and this
	// doesn't mind.
	Modules   []string
	Profiles  map[string]string // of NetworkManager: an interface's address, by name
	LetGo     map[string]bool   // interfaces that NetworkManager was asked to leave alone
	Unmanaged map[string]bool   // those that its configuration leaves alone
	// Further profiles of NetworkManager by interface, which start automatically and ask for a lease that no
	// server gives.
	Strays map[string]string
	// Given back by each tool when it ends, however that is.
	Held int64 // bytes of memory that the tools hold
	// Of NetworkManager, as it has read them from files, by id.
	Keyfiles map[string]Keyfile
	NextPID  int
	// A queue pair's number is the adapter's own, and is never given twice.
	NextQPN int
	tree    *Inode // nil where it has to be built again
	treeOf  int    // the devices that it was built of
	last    lastDir

	// How it is set up, and what a fault changes of that.
	system   map[string]*Inode // the files that it came with, by path
	Versions map[string]string // of packages that are not the usual ones; empty is none
	Absent   map[string]bool   // programs that are not installed
	Flaws    map[Flaw]bool
	Ahead    time.Duration        // of the rig's wall clock
	logged   map[int][]KernelLine // in the kernel's log in addition to the usual
	logs     int                  // how often something was put there
	// For all users of the node alike.
	Password  string        // that sudo asks for; empty where it asks for none
	UpFor     time.Duration // how long it is up, where that is less than the others are
	Boots     int           // since the rig's start, the last of them at booted
	booted    time.Duration
	Full      bool       // nothing more can be written to any of its files
	MemlockKB int64      // that a user may lock; 0 where nothing limits it
	FreeKB    int64      // available while nothing runs
	GPU       bool       // its GPU has a driver
	Card      bool       // it has a GPU card in addition
	Hot       bool       // its adapter is
	HandsOver bool       // its kernel keeps memory for the next one (KHO)
	Box       *Container // what docker runs on it
	LowClock  bool       // its GPU doesn't leave a low clock
	Loads     int        // programs that keep its GPU busy
	Sealed    bool       // it is a container without the node's devices and network
	CutOff    bool       // its boot before this one ended without a shutdown
}

// A Flaw is something wrong with a node that a program minds, or a view of the node shows.
// Who minds it names it.
type Flaw string

// Flawed reports whether the node has a flaw. Callers hold the fabric's lock.
func (n *Node) Flawed(f Flaw) bool { return n.Flaws[f] }

// A Process is what tools show of a script's command.
// Everything of it is set before it is in the table, and nothing after.
type Process struct {
	// Never 1, which is systemd's and in no table.
	PID int
	// With the program's name, which may be a path.
	Args []string
	// Another's processes are root's: only root may end them.
	Root bool
	// Started is the node's uptime at its start.
	Started time.Duration
	// End ends a process that is in a group of its own; nil where the process
	// belongs to a script.
	End func()
}

func newNode(r *Rack, st *net.Stack) *Node {
	n := bareNode(r, st)
	n.Box = newContainer(r, st)
	n.system[NetplanFile] = &Inode{Mode: 0o644, read: n.netplan}
	for _, d := range n.Netdevs[1:] {
		n.system[fmt.Sprintf("/run/NetworkManager/devices/%d", d.Index)] = &Inode{Mode: 0o644, read: n.remembered(d.Name)}
	}
	if st.Fabric.Ring { // as their owners have set them up: older ones don't use all cables
		maps.Copy(n.system, ringFiles())
	}
	st.Came = n.came
	return n
}

// bareNode is a node without a listener for links that come up.
func bareNode(r *Rack, st *net.Stack) *Node {
	n := &Node{
		Stack: st, Rack: r,
		Listeners: map[int]*Listener{}, Procs: map[int]*Process{}, Files: map[string]*Inode{}, Units: map[string]*Unit{},
		NextPID: 4210, NextQPN: 0x11a,
		Modules: []string{"mlx5_ib", "ib_uverbs", "ib_core", "mlx5_core", "rdma_ucm", "rdma_cm", "nvidia_uvm", "nvidia"},
		system:  systemFiles(), Versions: map[string]string{}, Absent: map[string]bool{},
		Flaws: map[Flaw]bool{}, logged: map[int][]KernelLine{}, FreeKB: MemoryKB - usedKB, GPU: true,
		Profiles: map[string]string{}, LetGo: map[string]bool{}, Unmanaged: map[string]bool{}, Strays: map[string]string{},
		Keyfiles: map[string]Keyfile{},
	}
	// All but lo have a profile, with what they are set up with: address-unsaved takes one away.
	for _, d := range n.Netdevs[1:] {
		n.Profiles[d.Name] = d.IPv4().String()
	}
	return n
}

// NetplanFile is where a node's addresses come from. Everybody may read it, as an older installer
// has left it.
const NetplanFile = "/etc/netplan/50-cloud-init.yaml"

// netplan is that file: what NetworkManager has profiles of.
func (n *Node) netplan() (string, error) {
	var b strings.Builder
	b.WriteString("network:\n  version: 2\n  renderer: NetworkManager\n  ethernets:\n")
	for _, d := range n.Netdevs {
		if a := n.Profiles[d.Name]; a != "" {
			fmt.Fprintf(&b, "    %s:\n      dhcp4: false\n      addresses:\n      - %q\n", d.Name, a)
		}
	}
	return b.String(), nil
}

// remembered is what NetworkManager keeps of a device over its own restart: its managed state.
func (n *Node) remembered(name string) func() (string, error) {
	return func() (string, error) { return fmt.Sprintf("[device]\nmanaged=%t\n", !n.LetGo[name]), nil }
}

// A Keyfile is a profile of NetworkManager: a value by SECTION.KEY.
type Keyfile map[string]string

// KeyfileDir is where netplan writes them.
const KeyfileDir = "/run/NetworkManager/system-connections"

// Dispatched is a script that NetworkManager runs whenever an interface has a link again, also an interface
// that another program has made.
const Dispatched = "/etc/NetworkManager/dispatcher.d/30-rails"

// came is what NetworkManager does when an interface has a link again.
func (n *Node) came(d *net.Netdev) {
	if n.system[Dispatched] != nil {
		for _, f := range n.Functions {
			if n.LetGo[f.Netdev.Name] {
				delete(n.LetGo, f.Netdev.Name)
				n.Activate(f.Netdev)
			}
		}
	}
	n.Activate(d)
}

// Manages reports whether NetworkManager manages an interface: it has a profile, and neither a command nor
// the configuration excludes it.
func (n *Node) Manages(name string) bool {
	_, saved := n.Profiles[name]
	return saved && !n.Leaves(name)
}

// Leaves reports whether NetworkManager leaves an interface alone.
func (n *Node) Leaves(name string) bool { return n.LetGo[name] || n.Unmanaged[name] }

// Activate is what NetworkManager does with an interface of its own that has a link: it sets its profile's
// address again, also on one that a bond holds by now, which is how a bond that is made next to it breaks.
func (n *Node) Activate(d *net.Netdev) {
	if !n.Manages(d.Name) || n.Keyfiles["netplan-"+d.Name]["connection.master"] != "" {
		return
	}
	if p, err := netip.ParsePrefix(n.Profiles[d.Name]); err == nil {
		d.AddAddr(p)
	}
}

// Changed says that the node's file system is to be built again.
// It must be called wherever a file of the system, a program or a module comes or goes. Devices are
// counted by themselves (net.Stack.Devices).
func (n *Node) Changed() { n.tree = nil }

// Of is the machine that an interface is in.
func (r *Rack) Of(d *net.Netdev) *Node { return r.Nodes[d.Stack.Index] }

// Spawn enters a process into the node's table.
// Callers hold the rig's lock, and take it out again.
func (n *Node) Spawn(args []string, root bool) *Process {
	p := &Process{PID: n.NextPID, Args: args, Root: root, Started: n.sinceBoot()}
	n.NextPID += 3
	n.Procs[p.PID] = p
	return p
}

// installed reports whether the node has a program. Callers hold the rig's lock.
func (n *Node) installed(name string) bool {
	_, ok := n.Rack.tools[name]
	return ok && !n.Absent[name]
}

// installedLocked takes the lock itself.
func (n *Node) installedLocked(name string) bool {
	n.Rack.Lock()
	defer n.Rack.Unlock()
	return n.installed(name)
}

// name is what comm holds: the file's name, without its directories. The kernel cuts it at 15
// bytes, and this does not.
func (p *Process) name() string {
	return p.Args[0][strings.LastIndexByte(p.Args[0], '/')+1:]
}

// procDir is what /proc has of a process that is in the node's table.
func (n *Node) procDir(name string) *Inode {
	pid, err := strconv.Atoi(name)
	p := n.Procs[pid]
	if err != nil || p == nil {
		return nil
	}
	dir := newDir()
	// Each argument ends with a NUL byte (proc(5)).
	dir.put("cmdline", &Inode{
		Mode: 0o444, read: func() (string, error) { return strings.Join(p.Args, "\x00") + "\x00", nil },
	})
	dir.fixed("comm", p.name())
	// The 22nd field is when it started, in hundredths of a second. A process id that was given again has
	// another start.
	dir.fixed("stat", fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 4194304 812 0 0 0 3 2 0 0 20 0 1 0 %d 24645632 1408",
		pid, p.name(), pid, pid, p.Started/(10*time.Millisecond)))
	uid := 1000
	if p.Root {
		uid = 0
	}
	dir.fixed("status", fmt.Sprintf("Name:\t%s\nState:\tS (sleeping)\nPid:\t%d\nPPid:\t1\nUid:\t%d\t%d\t%d\t%d",
		p.name(), pid, uid, uid, uid, uid))
	dir.Mode = fs.ModeDir | 0o555
	return dir
}

// Entries are a directory's, sorted; in /proc the processes are among them, which are not in the tree.
func (n *Node) Entries(dir *Inode) iter.Seq2[string, *Inode] {
	return func(yield func(string, *Inode) bool) {
		names := dir.Names()
		if dir == n.tree.Kids["proc"] {
			names = slices.Clone(names)
			for pid := range n.Procs {
				names = append(names, strconv.Itoa(pid))
			}
			slices.Sort(names)
		}
		for _, name := range names {
			kid := dir.Kids[name]
			if kid == nil {
				kid = n.procDir(name)
			}
			if !yield(name, kid) {
				return
			}
		}
	}
}

// Processes are the node's, by pid. Callers hold the rig's lock.
func (n *Node) Processes() []*Process {
	var ps []*Process
	for _, p := range n.Procs {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *Process) int { return a.PID - b.PID })
	return ps
}
