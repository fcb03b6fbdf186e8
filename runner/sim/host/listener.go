package host

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// DialLoopback connects a process of the node to a port of its own 127.0.0.1. Only what serves bytes answers:
// a port that the SSH server listens on for its client, and the node's own etcd. It never waits, and never
// touches the network of this machine. The caller closes the connection, at the latest when its process ends.
func (n *Node) DialLoopback(port int) (net.Conn, error) {
	n.Rack.Lock()
	var serve func(net.Conn)
	if l := n.Listeners[port]; l != nil && l.Open != nil {
		serve = l.Open()
	}
	n.Rack.Unlock()
	address := Address(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if serve == nil {
		return nil, &net.OpError{
			Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	process, server := Join(Address("127.0.0.1:"+strconv.Itoa(OriginPort)), address)
	// It ends when either end is closed, which is the dialling end's task.
	go serve(server)
	return process, nil
}

// OriginPort is what every connection of a process says it comes from.
const OriginPort = 50000

// Bound is the address that a listener has, as ss shows it.
func (l *Listener) Bound() string {
	if l.Loopback {
		return "127.0.0.1"
	}
	return "0.0.0.0"
}

// boundHex is the same as /proc/net/tcp has it: in the order of a little-endian
// machine.
func (l *Listener) boundHex() string {
	if l.Loopback {
		return "0100007F"
	}
	return "00000000"
}

// Forget starts a server that no script waits for and that never answers; serves is what programs find there
// when they connect. Where something listens already it stays, and Unforget leaves it there. Callers hold the
// rig's lock, as everywhere here.
func (n *Node) Forget(port int, serves any, args ...string) {
	if n.Listeners[port] != nil {
		return
	}
	p := n.Spawn(args, false)
	p.Started -= ForgottenFor
	n.Listeners[port] = &Listener{Port: port, Proc: p, Serves: serves, forgotten: true}
}

// Unforget ends what Forget started, unless a user has done so.
func (n *Node) Unforget(port int) {
	if l := n.Listeners[port]; l != nil && l.forgotten {
		delete(n.Listeners, port)
		delete(n.Procs, l.Proc.PID)
	}
}

// ForgottenFor is how long a forgotten server has been there.
const ForgottenFor = 3*time.Hour + 12*time.Minute

// A Listener is a TCP port that a process on the node listens on.
type Listener struct {
	// On every address of the node, or on loopback alone.
	Port int
	// The process that ss shows, whose user /proc/net/tcp shows.
	Proc *Process
	// Serves is what the program that listens keeps for those that connect; another program
	// finds nothing that it knows there.
	Serves any
	// Open takes a connection of bytes, and gives what serves it; nil where only programs
	// of the same kind can connect. The fabric's lock is held.
	Open      func() func(net.Conn)
	Loopback  bool // it listens there alone
	forgotten bool // no script waits for it, and any may end it
}

// Served is what the program that listens on a port keeps for those that connect; nil without such a program.
func (n *Node) Served(port int) any {
	if l := n.Listeners[port]; l != nil {
		return l.Serves
	}
	return nil
}

// endForgotten ends a forgotten server.
func (n *Node) endForgotten(p *Process) {
	for port, l := range n.Listeners {
		if l.Proc == p && l.forgotten {
			delete(n.Listeners, port)
			delete(n.Procs, p.PID)
		}
	}
}
