package sim

import (
	"io"
	"net"
	"sync"

	"github.com/railbench/railbench/runner/sim/host"
	"golang.org/x/crypto/ssh"
)

// A forward is a port of a node that its SSH server listens on for a client, who
// asked for it (RFC 4254, section 7.1).
type forward struct {
	server *ssh.ServerConn
	direct *directListener // in place of server, where the client is in this process
	host   string          // as the client named it: it knows the connections by this
	port   int
	// Connections that go on; added to with the rig's lock held, so none begins after it is taken
	// off.
	carried sync.WaitGroup
}

// A portRequest asks for a port, or gives it back.
// RFC 4254 has the two fields in this order, for both requests.
type portRequest struct {
	Host string
	Port uint32
}

// globalRequests answers what a client asks of the connection as a whole, and
// ends its forwards with it. A keepalive is answered with a failure, as sshd
// does: an answer it is.
func globalRequests(n *host.Node, server *ssh.ServerConn, requests <-chan *ssh.Request) {
	// All that there were, since a cancelled one's connections go on.
	var all []*forward
	mine := map[int]*forward{}
	for req := range requests {
		var p portRequest
		ok, payload := ssh.Unmarshal(req.Payload, &p) == nil, []byte(nil)
		switch req.Type {
		case "tcpip-forward":
			f := &forward{server: server, host: p.Host, port: int(p.Port)}
			if ok = ok && listenFor(n, f); ok {
				mine[f.port], all = f, append(all, f)
			}
			if ok && p.Port == 0 {
				// The port is answered only where the client left the choice to the server (RFC
				// 4254, section 7.1).
				payload = ssh.Marshal(struct{ Port uint32 }{uint32(f.port)})
			}
		case "cancel-tcpip-forward":
			f := mine[int(p.Port)]
			if ok = ok && f != nil && f.host == p.Host; ok {
				// Established connections go on, as with sshd. For cancelled ports this is the second call,
				// which does nothing: another listener may have the port by now, which Serves shows.
				unlisten(n, f)
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
		unlisten(n, f)
		f.carried.Wait()
	}
}

// listenFor binds a forward's port, and chooses one where it is 0. Whatever
// address was asked for, it is loopback's: sshd without GatewayPorts.
func listenFor(n *host.Node, f *forward) bool {
	n.Rack.Lock()
	defer n.Rack.Unlock()
	for rnd := n.Random("sshd"); f.port == 0; {
		if port := 32768 + rnd.IntN(28000); n.Listeners[port] == nil {
			f.port = port
		}
	}
	if f.port < 1024 || f.port > 65535 || n.Listeners[f.port] != nil { // the low ones are root's
		return false
	}
	n.Listeners[f.port] = &host.Listener{
		Port: f.port, Proc: n.Spawn([]string{"sshd"}, false), Serves: f, Open: f.open, Loopback: true,
	}
	return true
}

// unlisten gives the port back, if it is this forward's.
func unlisten(n *host.Node, f *forward) {
	n.Rack.Lock()
	defer n.Rack.Unlock()
	if l := n.Listeners[f.port]; l != nil && l.Serves == f {
		delete(n.Listeners, f.port)
		delete(n.Procs, l.Proc.PID)
	}
}

// open takes a connection to the port: those are waited for.
func (f *forward) open() func(net.Conn) {
	f.carried.Add(1)
	return f.carry
}

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
	}{f.host, uint32(f.port), "127.0.0.1", host.OriginPort}))
	if err != nil {
		return
	}
	defer ch.Close()
	go ssh.DiscardRequests(requests)
	var both sync.WaitGroup
	// Each direction ends by itself; the client's end of its own is handed on as the end of the
	// channel.
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
