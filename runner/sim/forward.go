package sim

import (
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// A forward is a port of a node that its SSH server listens on for a client, who
// asked for it (RFC 4254, section 7.1).
type forward struct {
	server  *ssh.ServerConn
	direct  *directListener // in place of server, where the client is in this process
	host    string          // as the client named it: it knows the connections by this
	port    int
	carried sync.WaitGroup
}

// A portRequest asks for a port, or gives it back.
type portRequest struct {
	Host string
	Port uint32
}

// globalRequests answers what a client asks of the connection as a whole, and
// ends its forwards with it. A keepalive is answered with a failure, as sshd
// does: an answer it is.
func (n *node) globalRequests(server *ssh.ServerConn, requests <-chan *ssh.Request) {
	var all []*forward
	mine := map[int]*forward{}
	for req := range requests {
		var p portRequest
		ok, payload := ssh.Unmarshal(req.Payload, &p) == nil, []byte(nil)
		switch req.Type {
		case "tcpip-forward":
			f := &forward{server: server, host: p.Host, port: int(p.Port)}
			if ok = ok && n.listenFor(f); ok {
				mine[f.port], all = f, append(all, f)
			}
			if ok && p.Port == 0 {
				payload = ssh.Marshal(struct{ Port uint32 }{uint32(f.port)})
			}
		case "cancel-tcpip-forward":
			f := mine[int(p.Port)]
			if ok = ok && f != nil && f.host == p.Host; ok {
				// Connections that were made go on, as sshd's do.
				n.unlisten(f)
				delete(mine, f.port)
			}
		default:
			ok = false
		}
		if req.WantReply {
			req.Reply(ok, payload)
		}
	}
	for _, f := range all {
		n.unlisten(f)
		f.carried.Wait()
	}
}

// listenFor binds a forward's port, and chooses one where it is 0. Whatever
// address was asked for, it is loopback's: sshd without GatewayPorts.
func (n *node) listenFor(f *forward) bool {
	n.rig.mu.Lock()
	defer n.rig.mu.Unlock()
	for rnd := n.random("sshd"); f.port == 0; {
		if port := 32768 + rnd.IntN(28000); n.listeners[port] == nil {
			f.port = port
		}
	}
	if f.port < 1024 || f.port > 65535 || n.listeners[f.port] != nil { // the low ones are root's
		return false
	}
	n.listeners[f.port] = &listener{port: f.port, proc: n.spawn([]string{"sshd"}, false), forward: f}
	return true
}

func (n *node) unlisten(f *forward) {
	n.rig.mu.Lock()
	defer n.rig.mu.Unlock()
	if l := n.listeners[f.port]; l != nil && l.forward == f {
		delete(n.listeners, f.port)
		delete(n.procs, l.proc.pid)
	}
}

// dialLoopback connects a process of the node to a port of its own 127.0.0.1.
// Only forwarded ports answer, and the node's own etcd: no other simulated tool
// serves a byte stream. It never
// waits, and nothing of it touches the network of the host. Whoever dials closes
// the connection, at the latest when its process ends.
func (n *node) dialLoopback(port int) (net.Conn, error) {
	n.rig.mu.Lock()
	l := n.listeners[port]
	own := l != nil && l.store != nil
	ok := own || l != nil && l.forward != nil
	if ok && !own {
		l.forward.carried.Add(1)
	}
	n.rig.mu.Unlock()
	address := memoryAddr(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if !ok {
		return nil, &net.OpError{
			Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	process, server := memoryPipe(memoryAddr("127.0.0.1:"+strconv.Itoa(originPort)), address)
	if own {
		go n.serveEtcd(l.store, server)
	} else {
		go l.forward.carry(server)
	}
	return process, nil
}

// originPort is what every connection of a process says it comes from.
const originPort = 50000

// carry hands a connection to the client that asked for the port. One that the
// client doesn't take is closed again.
func (f *forward) carry(conn net.Conn) {
	defer f.carried.Done()
	if f.direct != nil {
		f.direct.offer(conn)
		return
	}
	defer conn.Close()
	ch, requests, err := f.server.OpenChannel("forwarded-tcpip", ssh.Marshal(struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}{f.host, uint32(f.port), "127.0.0.1", originPort}))
	if err != nil {
		return
	}
	defer ch.Close()
	go ssh.DiscardRequests(requests)
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(ch, conn)
		ch.CloseWrite()
	})
	both.Go(func() {
		io.Copy(conn, ch)
		conn.Close()
	})
	both.Wait()
}

// bound is the address that a listener has, as ss shows it.
func (l *listener) bound() string {
	if l.forward != nil || l.store != nil {
		return "127.0.0.1"
	}
	return "0.0.0.0"
}

// boundHex is the same as /proc/net/tcp has it: in the order of a little-endian
// machine.
func (l *listener) boundHex() string {
	if l.forward != nil || l.store != nil {
		return "0100007F"
	}
	return "00000000"
}
