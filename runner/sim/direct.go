package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
)

// NodeOptions say who is behind a Node.
type NodeOptions struct {
	Ask runner.Asker
	// OnState is called with every change of the connection's state. It must not block.
	OnState func(runner.State, error)
}

// A Node is a node of the rig as a runner.Node: its scripts run on the rig's clock, with
// no connection between. What a connection would say (that the node is dead, or was
// lost) is said all the same. It is a runner.Forwarder, too.
type Node struct {
	// Several Nodes may be of one node, as several connections would be.
	node *host.Node
	o    NodeOptions
	runs sync.WaitGroup

	//nolint:containedctx // the node's own life, no call's: ends at Close
	life   context.Context
	end    context.CancelFunc
	asking atomic.Bool // for the password of sudo

	mu sync.Mutex
	// From then on nothing begins; what runs is waited for.
	closed bool
	// What OnState was called with last: at most one call in each direction.
	connected bool
	password  bool            // of sudo is known
	line      context.Context //nolint:containedctx // it is the connection's life
	cut       context.CancelCauseFunc
}

// Node makes a runner.Node of one of the rig's nodes.
func (r *Rig) Node(name string, o NodeOptions) (*Node, error) {
	n, err := r.node(name)
	if err != nil {
		return nil, err
	}
	if o.OnState == nil {
		o.OnState = func(runner.State, error) {}
	}
	d := &Node{node: n, o: o}
	d.life, d.end = context.WithCancel(r.rack.Life)
	r.rack.Lock()
	defer r.rack.Unlock()
	// For as long as the rig is there, closed ones too: reach reports nothing for those.
	r.direct = append(r.direct, d)
	return d, nil
}

// Name is the node's.
func (d *Node) Name() string { return d.node.Name }

// Clock is the rig's time.
func (d *Node) Clock() runner.Clock { return d.node.Rack.Clock.Joined() }

var (
	// The words are the SSH node's, since the same contract is tested (nodetest).
	errLost      = errors.New("the connection was lost before the script ended")
	errTimeLimit = errors.New("the limit of the script is over")
)

func (d *Node) error(kind runner.Kind, op string, err error, hint string) error {
	return &runner.Error{Kind: kind, Op: op, Node: d.node.Name, Err: err, Hint: hint}
}

// enter begins a call that Close waits for.
func (d *Node) enter(op string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.error(runner.Closed, op, errors.New("the node was closed"), "")
	}
	d.runs.Add(1)
	return nil
}

// connect sees whether the node answers, and says what it lasts for.
func (d *Node) connect(ctx context.Context) (line context.Context, err error) {
	n := d.node
	n.Rack.Lock()
	// The rig's lock and the Node's are taken one after the other here, and in reach the rig's
	// first: never this one first.
	dead := n.Dead
	n.Rack.Unlock()
	d.mu.Lock()
	was := d.connected
	if !was && ctx.Err() != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("connect to %s: %w", n.Name, context.Cause(ctx))
	}
	d.connected = !dead
	if d.connected && !was {
		d.line, d.cut = context.WithCancelCause(d.life)
	}
	line = d.line
	d.mu.Unlock()
	switch {
	case dead:
		// Outside both locks: OnState may call back.
		d.o.OnState(runner.Connecting, nil)
		refused := &net.OpError{
			Op: "dial", Net: "sim", Addr: host.Address(n.Name + ":22"), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
		err = runner.Explain(refused, runner.Target{Host: n.Name, User: "nvidia", Port: 22}, n.Name)
		d.o.OnState(runner.Disconnected, err)
		return nil, err
	case !was:
		d.o.OnState(runner.Connecting, nil)
		d.o.OnState(runner.Connected, nil)
	}
	return line, nil
}

// reach changes the connection's state when the node dies or comes back, and returns what OnState has to be
// called with. The rig's lock is held.
func (d *Node) reach() []func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	dead := d.node.Dead
	if d.closed || d.line == nil || dead != d.connected {
		return nil
	}
	d.connected = !dead
	if !dead {
		d.line, d.cut = context.WithCancelCause(d.life)
		return []func(){func() { d.o.OnState(runner.Connecting, nil) }, func() { d.o.OnState(runner.Connected, nil) }}
	}
	d.cut(errLost)
	lost := d.error(runner.Lost, "keep the connection to",
		errors.New("the connection ended (EOF)"), "It is tried again until the node answers")
	return []func(){func() { d.o.OnState(runner.Disconnected, lost) }}
}

// Run runs a script; see runner.Node.
func (d *Node) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (exit runner.Exit, err error) {
	if err := s.Check(); err != nil {
		return exit, err
	}
	if err := d.enter("run " + s.Name + " on"); err != nil {
		return exit, err
	}
	defer d.runs.Done()
	line, err := d.connect(ctx)
	if err != nil {
		return exit, err
	}
	d.node.Rack.Clock.Join(ctx, s.Patient, func(ctx context.Context) { exit, err = d.run(ctx, line, s, emit) })
	return exit, err
}

func (d *Node) run(ctx, line context.Context, s runner.Script, emit func(runner.Line)) (exit runner.Exit, err error) {
	c := d.node.Rack.Clock
	// Three things end a script: its caller, the connection, and its limit, which is the only one
	// on the rig's time.
	whole, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(line, func() { cancel(context.Cause(line)) })()
	if s.Root {
		if err := d.becomeRoot(whole); err != nil {
			return exit, err
		}
	}
	limited, done := c.WithTimeout(whole, s.HardLimit(), errTimeLimit)
	defer done()
	defer c.Tireless(s.HardLimit(), func() { cancel(errTimeLimit) })()
	began := c.Now()
	out, errs := runner.Lines(runner.Stdout, c.Wall, emit), runner.Lines(runner.Stderr, c.Wall, emit)
	sh := host.NewShell(d.node, s.Root, false)
	// With the supervisor's mark in the environment, by which setsid knows that what it starts belongs
	// to a script.
	exit.Code = sh.Start(limited, s.Text(), host.Job{
		Name: "railbench", Env: []string{"LC_ALL=C", host.SupervisorVariable + "=simulated"}, Stdout: out, Stderr: errs,
	})
	for _, w := range []io.Closer{out, errs} {
		_ = w.Close() // it hands over the last line, and can't fail
	}
	exit.Elapsed = c.Now() - began
	switch cause := context.Cause(limited); {
	case cause == nil:
	case errors.Is(cause, errTimeLimit):
		exit.Why = runner.TimedOut
	// What a real connection's end leaves open, how the script ended, is left open here, too.
	case errors.Is(cause, errLost):
		return exit, d.error(runner.Lost, "run "+s.Name+" on", errLost,
			"The node ends the script by itself within "+runner.SupervisorSilence.String())
	default:
		exit.Why = runner.Cancelled
	}
	return exit, nil
}

// becomeRoot asks for the password where sudo wants one.
func (d *Node) becomeRoot(ctx context.Context) (err error) {
	n := d.node
	n.Rack.Lock()
	password := n.Password
	n.Rack.Unlock()
	c := n.Rack.Clock
	for password != "" && !d.knowsPassword() {
		// One question at a time: others who need it wait by the clock, since a lock would keep the
		// turn.
		if d.asking.CompareAndSwap(false, true) {
			// A person is asked, and the rig goes on meanwhile, as real nodes would.
			c.Outside(c.Acts(), false, func() {
				_, err = runner.AskSudo(ctx, d.o.Ask, n.Name,
					func(answer string) (bool, string, error) { return answer == password, "", nil })
			})
			d.mu.Lock()
			d.password = err == nil
			d.mu.Unlock()
			d.asking.Store(false)
			return err
		}
		// A question is open already.
		if c.Park(ctx, clock.Never, func() bool { return !d.asking.Load() }); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (d *Node) knowsPassword() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.password
}

// Close ends everything that runs, and returns when it has ended. It may be called twice. An actor may not
// call it: what it waits for needs turns.
func (d *Node) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	d.runs.Wait()
	return nil
}

// Forward makes the node listen for this side; see runner.Forwarder.
func (d *Node) Forward(ctx context.Context, port int, dial runner.Dialer) (*runner.Forwarding, error) {
	if err := d.enter("forward a port of"); err != nil {
		return nil, err
	}
	defer d.runs.Done()
	line, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := &forward{host: "127.0.0.1", port: port}
	f.direct = &directListener{node: d.node, forward: f, conns: make(chan net.Conn), over: make(chan struct{})}
	if !listenFor(d.node, f) {
		return nil, runner.ForwardRefused(d.node.Name, port)
	}
	// Runs at once where the connection has gone since connect.
	stop := context.AfterFunc(line, func() { f.direct.Close() })
	lost := func(error) error {
		return d.error(runner.Lost, "forward a port of", errors.New("the connection that carried it was lost"),
			"What used the port has lost its peer: run it again")
	}
	carried := runner.NewForwarding(d.life, &d.runs, f.direct, f.port, lost, dial)
	// Not to keep the listener alive by the connection's context.
	go func() {
		<-carried.Done()
		stop()
	}()
	return carried, nil
}

// A directListener is a forwarded port without a connection that carries it.
type directListener struct {
	node    *host.Node
	forward *forward
	// Without a buffer: a connection that is never accepted is closed, and not forgotten in the channel.
	conns chan net.Conn
	// Closed once, by Close.
	over chan struct{}
	once sync.Once
}

func (l *directListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// offer waits until Accept takes a connection. Once the listener is closed, it closes the connection.
func (l *directListener) offer(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.over:
		c.Close()
	}
}

func (l *directListener) Close() error {
	l.once.Do(func() {
		unlisten(l.node, l.forward)
		close(l.over)
	})
	return nil
}

func (l *directListener) Addr() net.Addr { return host.Address("127.0.0.1") }
