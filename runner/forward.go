package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Dialer connects to what a forwarded port leads to.
type Dialer func(context.Context) (net.Conn, error)

// A Forwarder is a Node that can lend its scripts a service of this side.
type Forwarder interface {
	Node
	// Forward makes the node listen on its own 127.0.0.1:port, on no other address, and carries each
	// connection there to dial, on this side. Port 0 lets the node choose one. Other users who are logged in
	// on the node can connect, too.
	//
	// ctx bounds how long it takes until the node listens. The forwarding itself goes on when ctx ends: an
	// interrupted script may need it until the script's end. It ends with Close of the Forwarding or of the
	// node, and with the connection to the node. A new connection to the node does not restore it, because a
	// program that used it has lost its peer anyway.
	Forward(ctx context.Context, port int, dial Dialer) (*Forwarding, error)
}

// A Forwarding is a port of a node that leads to this side.
type Forwarding struct {
	// As it was given: 0 is never kept.
	port int
	end  context.CancelFunc
	done chan struct{}
	err  error // set before done is closed
}

// Port is where the node listens.
func (f *Forwarding) Port() int { return f.port }

// Done is closed when it has ended: nothing listens any more, and no connection
// is carried.
func (f *Forwarding) Done() <-chan struct{} { return f.done }

// Err says why it ended without being closed: an *Error. It is nil before the end, and after a Close.
func (f *Forwarding) Err() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// Close ends it and waits for its end; it may be called more than once. The
// error is Err's.
// f.err is read after done was closed, which is what orders the two.
func (f *Forwarding) Close() error {
	f.end()
	<-f.done
	return f.err
}

// A forwarded is a listener on a node, as the two kinds of node have it.
type forwarded struct {
	net.Listener
	port int
	// gone is closed when the connection to the node has ended; nil where there is none.
	gone <-chan struct{}
	// abandon makes a Close of the listener return that the node doesn't answer.
	abandon func()
	// lost says what an unexpected end means.
	lost func(error) error
}

// NewForwarding carries the connections that a listener on a node accepts to dial, for kinds of nodes outside
// this package. lost says what an unexpected end of the listener means; runs is called when the forwarding is
// over.
func NewForwarding(node context.Context, runs *sync.WaitGroup, ln net.Listener,
	port int, lost func(error) error, dial Dialer,
) *Forwarding {
	runs.Add(1)
	return newForwarding(node, runs, forwarded{Listener: ln, port: port, abandon: func() {}, lost: lost}, dial)
}

// newForwarding starts to carry. node is the node's life; runs, which the caller has
// added to already, knows when it is over.
func newForwarding(node context.Context, runs *sync.WaitGroup, l forwarded, dial Dialer) *Forwarding {
	life, cancel := context.WithCancel(node)
	f := &Forwarding{port: l.port, end: cancel, done: make(chan struct{})}
	go func() {
		defer runs.Done()
		defer close(f.done)
		f.err = l.serve(life, cancel, dial)
		// Closing the node ends its listeners, too, and their errors may arrive here before the end of the
		// life does.
		if node.Err() != nil {
			f.err = nil
		}
	}()
	return f
}

// mostCarried is how many connections a forwarding carries at once. Every user of the node, and its server,
// can open one, and each takes a socket here.
const mostCarried = 128

// serve accepts until the end. It must not stop before the listener is closed: connections that are not
// accepted would block the whole SSH connection.
func (l forwarded) serve(ctx context.Context, cancel context.CancelFunc, dial Dialer) error {
	// Only this closes the listener, so closed means that the node has been informed.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case <-ctx.Done():
		case <-l.gone:
		}
		l.close()
	}()
	var carried sync.WaitGroup
	var why error
	room := make(chan struct{}, mostCarried)
	for why == nil {
		var near net.Conn
		if near, why = l.Accept(); why != nil {
			break
		}
		select {
		case room <- struct{}{}:
			carried.Go(func() {
				defer func() { <-room }()
				carry(ctx, near, dial)
			})
		default:
			near.Close()
		}
	}
	// Before cancel, which would make it true.
	asked := ctx.Err() != nil
	cancel()
	<-closed
	carried.Wait()
	if asked {
		return nil
	}
	return l.lost(why)
}

func (l forwarded) close() {
	// A cancel-tcpip-forward waits for its answer.
	late := time.AfterFunc(keepaliveWait, l.abandon)
	defer late.Stop()
	_ = l.Listener.Close() // it fails where the connection is gone, and the port with it
}

// carry joins a connection on the node with one on this side, until both have sent everything. If none can be
// made here, the node's is closed.
func carry(ctx context.Context, near net.Conn, dial Dialer) {
	defer near.Close()
	far, err := dial(ctx)
	if err != nil {
		return
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() {
		near.Close()
		far.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() { pour(far, near) })
	both.Go(func() { pour(near, far) })
	both.Wait()
}

// pour copies one direction. Its end is handed on as such: the other direction
// may have more to say.
func pour(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	// A pipe has no half: its other direction ends with it.
	half, ok := to.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		to.Close()
	}
}

// Forward listens on this machine's own loopback; see Forwarder.
func (l *Local) Forward(ctx context.Context, port int, dial Dialer) (*Forwarding, error) {
	op := forwardOp(port)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, closedError(op, l.name)
	}
	l.runs.Add(1)
	l.mu.Unlock()
	fail := func(err error) error { return &Error{Op: op, Node: l.name, Err: err} }
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp4", loopback(port))
	if err == nil && ctx.Err() != nil { // Listen itself never waits, and so never looks
		ln.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		l.runs.Done()
		return nil, fail(err)
	}
	return newForwarding(l.alive, &l.runs, forwarded{
		Listener: ln, port: ln.Addr().(*net.TCPAddr).Port, abandon: func() {}, lost: fail,
	}, dial), nil
}

// Forward asks the node's sshd to listen; see Forwarder.
func (n *SSH) Forward(ctx context.Context, port int, dial Dialer) (*Forwarding, error) {
	op := forwardOp(port)
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil, closedError(op, n.o.Name)
	}
	n.runs.Add(1)
	n.mu.Unlock()
	f, err := n.forward(ctx, op, port, dial)
	if err != nil {
		n.runs.Done()
	}
	return f, err
}

func (n *SSH) forward(ctx context.Context, op string, port int, dial Dialer) (*Forwarding, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	conn, ln, err := n.listen(ctx, port)
	// No connection: err says why, and in its own words.
	if conn == nil {
		return nil, err
	}
	if err != nil {
		return nil, forwardError(ctx, err, op, n.o.Name, port)
	}
	return newForwarding(n.life, &n.runs, forwarded{
		Listener: ln, port: ln.Addr().(*net.TCPAddr).Port, gone: conn.gone,
		abandon: func() { conn.client.Close() },
		lost: func(error) error {
			return &Error{
				Kind: Lost, Op: op, Node: n.o.Name, Err: errors.New("the connection that carried it was lost"),
				Hint: "The port's peer is lost. Run it again",
			}
		},
	}, dial), nil
}

// listen asks the node to listen. A connection that turns out to be dead, before
// that was noticed, is waited out: the next one is asked. No connection comes with
// the error that says why there is none.
func (n *SSH) listen(ctx context.Context, port int) (*channels, net.Listener, error) {
	for again := false; ; again = true {
		conn, err := n.connected(ctx, true)
		if err != nil {
			return nil, nil, err
		}
		ln, err := conn.listen(ctx, port)
		if err == nil || again || refused(err) {
			return conn, ln, err
		}
		select {
		case <-conn.gone:
		case <-ctx.Done():
			return conn, nil, err
		case <-time.After(keepaliveEvery + keepaliveWait):
			return conn, nil, err
		}
	}
}

// refused reports whether it is an answer, and not the end of the connection.
func refused(err error) bool { return strings.Contains(err.Error(), "denied by peer") }

// listen asks the node to listen on its loopback.
func (c *channels) listen(ctx context.Context, port int) (net.Listener, error) {
	if ctx.Err() != nil { // below, an answer that is quick would be as good
		return nil, context.Cause(ctx)
	}
	type answer struct {
		ln  net.Listener
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		ln, err := c.client.Listen("tcp", loopback(port))
		answered <- answer{ln, err}
	}()
	select {
	case a := <-answered:
		return a.ln, a.err
	case <-ctx.Done():
		go func() {
			if a := <-answered; a.err == nil {
				a.ln.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// forwardError explains why a node doesn't listen. An sshd gives one answer for
// every reason.
func forwardError(ctx context.Context, err error, op, node string, port int) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", op, node, context.Cause(ctx))
	case !refused(err):
		return &Error{Kind: Lost, Op: op, Node: node, Err: said{"the connection was lost", err}}
	}
	hint := "Set AllowTcpForwarding yes (or remote) in its sshd_config, without " +
		"DisableForwarding or PermitListen limits"
	if port != 0 {
		hint = fmt.Sprintf("Something may listen on port %d there already. If not: %s%s",
			port, strings.ToLower(hint[:1]), hint[1:])
	}
	return &Error{
		Kind: NoForwarding, Op: op, Node: node,
		Err: said{"its SSH server refuses remote forwarding", err}, Hint: hint,
	}
}

// ForwardRefused is the error where a node doesn't listen for this side.
func ForwardRefused(node string, port int) error {
	return forwardError(context.Background(), errors.New("denied by peer"), forwardOp(port), node, port)
}

func forwardOp(port int) string {
	if port == 0 {
		return "forward a port of"
	}
	return fmt.Sprintf("forward port %d of", port)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
