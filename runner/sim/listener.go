package sim

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// dialLoopback connects a process of the node to a port of its own 127.0.0.1.
// Only what serves bytes answers: a port that the SSH server listens on for its client,
// and the node's own etcd. It never waits, and nothing of it touches the network of the
// host. Whoever dials closes the connection, at the latest when its process ends.
func (n *node) dialLoopback(port int) (net.Conn, error) {
	n.rack.Lock()
	var serve func(net.Conn)
	if l := n.listeners[port]; l != nil && l.open != nil {
		serve = l.open()
	}
	n.rack.Unlock()
	address := memoryAddr(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if serve == nil {
		return nil, &net.OpError{
			Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	process, server := memoryPipe(memoryAddr("127.0.0.1:"+strconv.Itoa(originPort)), address)
	go serve(server)
	return process, nil
}

// originPort is what every connection of a process says it comes from.
const originPort = 50000

// bound is the address that a listener has, as ss shows it.
func (l *listener) bound() string {
	if l.loopback {
		return "127.0.0.1"
	}
	return "0.0.0.0"
}

// boundHex is the same as /proc/net/tcp has it: in the order of a little-endian
// machine.
func (l *listener) boundHex() string {
	if l.loopback {
		return "0100007F"
	}
	return "00000000"
}

// forget starts a server that nobody waits for and that answers nobody; serves is what
// programs that connect find there.
func (n *node) forget(port int, serves any, args ...string) {
	if n.listeners[port] != nil {
		return
	}
	p := n.spawn(args, false)
	p.started -= forgottenFor
	n.listeners[port] = &listener{port: port, proc: p, serves: serves, forgotten: true}
}

func (n *node) unforget(port int) {
	if l := n.listeners[port]; l != nil && l.forgotten {
		delete(n.listeners, port)
		delete(n.procs, l.proc.pid)
	}
}

// forgottenFor is how long a server that nobody needs has been there.
const forgottenFor = 3*time.Hour + 12*time.Minute
