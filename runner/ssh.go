package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// The watch over a connection: a request that must be answered. Both together
// are how long a lost connection can go unnoticed.
const (
	keepaliveEvery = 1500 * time.Millisecond
	keepaliveWait  = 3 * time.Second
)

// The pauses between attempts to reconnect grow from the first to the last.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 8 * time.Second
)

// SSHOptions say how a node is reached.
type SSHOptions struct {
	Name   string // the node's name in the rig
	Target Target
	Ask    Asker
	// Unlocked is shared by the nodes that the same keys are offered to; nil for a node alone.
	Unlocked *Unlocked
	// AcceptNewHostKey keeps the key of a host that is not known without asking.
	AcceptNewHostKey bool
	// Dial and HostKey, both or neither, replace the network and known_hosts: the
	// simulated rig's connections are in memory.
	Dial    func(context.Context) (net.Conn, error)
	HostKey ssh.HostKeyCallback
	// OnState is called at every change of the connection's state. It must not block.
	OnState func(State, error)
}

// SSH is a host that is reached over one SSH connection, which carries all its
// scripts. A connection that is lost comes back by itself.
type SSH struct {
	o    SSHOptions
	sudo *sudo

	//nolint:containedctx // the node's own life, no call's: ends at Close, and every run is bound to it
	life context.Context
	end  context.CancelFunc
	runs sync.WaitGroup
	// It holds one wish at most: two who want a connection want the same.
	wake chan struct{} // ends a pause before the next attempt

	mu sync.Mutex
	// nil while there is none. A caller that has taken it may find that it is lost, and asks again.
	client  *channels
	attempt chan struct{} // closed when the attempt that is under way ends; nil when none is
	err     error         // of the last attempt
	closed  bool
	heard   *heardConn          // of the connection that was made last: a jump host's, then the node's
	keys    map[string]*keyring // by their targets
	jumps   map[string]Target   // by what leads to them
}

// NewSSH makes a node. It connects at the first Connect or Run.
// Close has to be called, also where it never connected.
func NewSSH(o SSHOptions) *SSH {
	if o.OnState == nil {
		o.OnState = func(State, error) {}
	}
	if o.Unlocked == nil {
		o.Unlocked = new(Unlocked)
	}
	n := &SSH{
		o: o, wake: make(chan struct{}, 1), sudo: newSudo(o.Name, o.Ask), keys: map[string]*keyring{},
		jumps: map[string]Target{},
	}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// Name is the node's name in the rig.
func (n *SSH) Name() string { return n.o.Name }

// Connect connects, or waits for the attempt that is under way.
func (n *SSH) Connect(ctx context.Context) error {
	_, err := n.connected(ctx, true)
	return err
}

// Run runs s over the connection; see Node.
func (n *SSH) Run(ctx context.Context, s Script, emit func(Line)) (Exit, error) {
	ctx, end, err := n.enter(ctx, "run "+s.Name+" on")
	if err != nil {
		return Exit{}, err
	}
	defer end()
	conn, err := n.connected(ctx, true)
	if err != nil {
		return Exit{}, err
	}
	// A connection that is lost meanwhile ends the script's streams, and by that the run.
	exit, err := runAs(ctx, conn, n.sudo, s, emit)
	var known *Error
	if err != nil && !errors.As(err, &known) {
		e := &Error{
			Kind: Lost, Op: "run " + s.Name + " on", Node: n.o.Name, Err: err,
			Hint: "The node ends the script automatically within " + SupervisorSilence.String(),
		}
		switch {
		case errors.Is(err, errSupervisor):
			e.Kind, e.Hint = NoShell, needs
		case errors.Is(err, errSessions):
			e.Kind, e.Hint = NoShell, raiseSessions
		case errors.Is(err, errNoAnswer):
			e.Err = said{"the connection was lost before the script ended", err}
		}
		err = e
	}
	return exit, at(err, n.o.Name)
}

// enter begins what Close waits for and ends.
func (n *SSH) enter(ctx context.Context, op string) (_ context.Context, end func(), err error) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil, nil, closedError(op, n.o.Name)
	}
	n.runs.Add(1)
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(n.life, cancel)
	return ctx, func() {
		stop()
		cancel()
		n.runs.Done()
	}, nil
}

// Close ends every script, waits for their end, and then the connection.
func (n *SSH) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	// First, so that nothing begins any more; the connection is the last, since scripts are ended
	// through it.
	n.end()
	n.runs.Wait()
	n.mu.Lock()
	conn, attempt := n.client, n.attempt
	n.mu.Unlock()
	if conn != nil {
		conn.close()
	}
	if attempt != nil {
		// It ends its ProxyCommand, which would otherwise outlive this program.
		select {
		case <-attempt:
		case <-time.After(attemptEnds):
		}
	}
	return nil
}

// attemptEnds is how long an attempt to connect may take to end after the wait for it was given up.
const attemptEnds = time.Second

// connected gives the connection. One attempt is under way at a time, and
// everybody who needs the connection waits for its outcome. A user's wish is
// urgent: it ends the pause of the reconnection, and an attempt that began
// before it and failed says nothing about now, so there is one more.
func (n *SSH) connected(ctx context.Context, urgent bool) (*channels, error) {
	for {
		n.mu.Lock()
		if n.client != nil {
			defer n.mu.Unlock()
			return n.client, nil
		}
		joined := n.attempt != nil
		if !joined {
			n.attempt = make(chan struct{})
			go n.try()
		}
		// Read under the lock: when it is closed, client and err are of this attempt or of a later
		// one.
		attempt := n.attempt
		n.mu.Unlock()
		if urgent {
			select {
			case n.wake <- struct{}{}:
			default:
			}
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to %s: %w", n.o.Name, context.Cause(ctx))
		}
		n.mu.Lock()
		conn, err := n.client, n.err
		n.mu.Unlock()
		if conn != nil {
			return conn, nil
		}
		if !urgent || !joined || final(err) {
			return nil, err
		}
	}
}

// final reports whether trying again does not change the answer.
func final(err error) bool {
	var e *Error
	return errors.As(err, &e) &&
		(e.Kind == HostChanged || e.Kind == UnknownHost || e.Kind == NotPermitted || e.Kind == Closed)
}

// try makes one attempt and reports its outcome.
func (n *SSH) try() {
	n.o.OnState(Connecting, nil)
	// On the node's life and not on a caller's: the one who asked first may give up while others
	// wait.
	client, err := n.dial(n.life)
	if err != nil {
		err = explain(err, n.o.Target, n.o.Name)
	}
	var conn *channels
	if err == nil {
		conn = newChannels(client)
	}
	n.mu.Lock()
	// All under one lock: the end of the attempt and its outcome appear at the same time.
	n.client, n.err = conn, err
	attempt := n.attempt
	n.attempt = nil
	n.mu.Unlock()
	// Reported before the waiting callers go on: a run must not come before the state it needs.
	if err != nil {
		n.o.OnState(Disconnected, err)
	} else {
		n.o.OnState(Connected, nil)
		go n.watch(conn)
	}
	close(attempt)
}

// watch notices the end of a connection, also a silent one, and reconnects.
func (n *SSH) watch(conn *channels) {
	client := conn.client
	n.mu.Lock()
	heard := n.heard // no other connection is made before this one has ended
	n.mu.Unlock()
	// The goroutine ends with the connection, which conn.close ends where nothing else did.
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	tick := time.NewTicker(keepaliveEvery)
	defer tick.Stop()
	var why error
	for why == nil {
		select {
		case <-n.life.Done():
			// Close ends the connection once the scripts are gone.
			return
		case err := <-ended:
			why = fmt.Errorf("the connection ended (%w)", cmp.Or(err, io.EOF))
		case <-tick.C:
			if err := answered(client, heard, max(keepaliveWait, min(n.o.Target.Alive, SupervisorSilence))); err != nil {
				why = err
			}
		}
	}
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if !closed {
		n.o.OnState(Disconnected, &Error{
			Kind: Lost, Op: "keep the connection to", Node: n.o.Name, Err: why,
			Hint: "railbench retries until the node answers",
		})
	}
	n.mu.Lock()
	n.client = nil
	n.mu.Unlock()
	// Last: who sees that it is gone asks for the next one, and must not get this.
	conn.close()
	if closed {
		return
	}
	select {
	case <-n.wake: // left by a caller that wanted the connection that is lost now
	default:
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-n.life.Done():
			return
		case <-n.wake:
			// It is needed now.
		case <-time.After(pause):
		}
		_, err := n.connected(n.life, false)
		if err == nil || final(err) {
			return
		}
	}
}

// answered asks for anything at all. sshd refuses the request, and a refusal is an answer:
// no answer is what a pulled cable gives. On a slow link it waits behind what a script prints: as long
// as anything comes the node is there, as OpenSSH's own watch has it.
func answered(client *ssh.Client, heard *heardConn, wait time.Duration) error {
	// It has room: a late answer is not read.
	answer := make(chan error, 1)
	go func() {
		_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
		answer <- err
	}()
	for left, asked := wait, time.Now(); left > 0; left = wait - time.Since(heard.since(asked)) {
		select {
		case err := <-answer:
			return err
		case <-time.After(left):
		}
	}
	return fmt.Errorf("no answer for %s", wait)
}

// A heardConn knows when something came over it last.
type heardConn struct {
	net.Conn
	last atomic.Pointer[time.Time]
}

// hear notes what comes over the connection that is made now.
func (n *SSH) hear(conn net.Conn) net.Conn {
	h := &heardConn{Conn: conn}
	n.mu.Lock()
	n.heard = h
	n.mu.Unlock()
	return h
}

func (h *heardConn) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		now := time.Now()
		h.last.Store(&now)
	}
	return n, err
}

// since is when something came last, at the earliest from.
func (h *heardConn) since(from time.Time) time.Time {
	if last := h.last.Load(); last != nil && last.After(from) {
		return *last
	}
	return from
}

// dial makes the connection, over the network or however the simulated rig is reached.
func (n *SSH) dial(ctx context.Context) (*ssh.Client, error) {
	if n.o.Dial != nil {
		conn, err := n.o.Dial(ctx)
		if err != nil {
			return nil, err
		}
		conn = n.hear(conn)
		p := newLoginTimer(connectTimeout, func() { conn.Close() })
		return handshake(ctx, conn, n.o.Target.address(), p,
			&ssh.ClientConfig{User: n.o.Target.User, HostKeyCallback: n.o.HostKey})
	}
	return n.through(ctx, n.o.Target, n.keyring(n.o.Target), nil)
}

// keyring is what is offered to a host on the way: the same at every attempt, so that a jump
// host's password, too, is asked for once.
func (n *SSH) keyring(t Target) *keyring {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.keys[t.String()]
	if k == nil {
		k = &keyring{node: n.o.Name, ask: n.o.Ask, unlocked: n.o.Unlocked}
		n.keys[t.String()] = k
	}
	k.target = t
	return k
}

// through logs in to a target, by way of its jump hosts.
// seen is the way so far: a configuration can name itself as its jump host.
func (n *SSH) through(ctx context.Context, t Target, keys *keyring, seen []string) (*ssh.Client, error) {
	var via *ssh.Client
	if len(t.ProxyJump) > 0 {
		hop := t.ProxyJump[len(t.ProxyJump)-1]
		if len(seen) > 8 {
			return nil, fmt.Errorf("ProxyJump goes in a circle: %s", strings.Join(seen, ", "))
		}
		jump, err := n.jump(ctx, hop, t.config)
		if err != nil {
			return nil, err
		}
		// What stands before the last hop of a list is the way to it.
		if before := t.ProxyJump[:len(t.ProxyJump)-1]; len(before) > 0 {
			jump.ProxyJump = before
		}
		via, err = n.through(ctx, jump, n.keyring(jump), append(seen, hop))
		if err != nil {
			return nil, explain(err, jump, n.o.Name+" by way of "+hop)
		}
	}
	client, err := n.login(ctx, t, keys, via)
	if err != nil {
		if via != nil {
			via.Close()
		}
		return nil, err
	}
	if via != nil {
		go func() {
			_ = client.Wait()
			via.Close()
		}()
	}
	return client, nil
}

// jump looks a jump host up, once: the configuration was trusted as it was then, and what is
// in the file when a connection comes back is not asked about.
func (n *SSH) jump(ctx context.Context, hop, config string) (Target, error) {
	n.mu.Lock()
	t, ok := n.jumps[hop]
	n.mu.Unlock()
	if ok {
		return t, nil
	}
	t, err := Resolve(ctx, hop, config)
	if err == nil {
		n.mu.Lock()
		n.jumps[hop] = t
		n.mu.Unlock()
	}
	return t, err
}

// login connects to one host, by way of the jump before it where there is one, and
// authenticates.
func (n *SSH) login(ctx context.Context, t Target, keys *keyring, via *ssh.Client) (*ssh.Client, error) {
	timed, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	var conn net.Conn
	var err error
	switch {
	case via != nil:
		conn, err = via.DialContext(timed, "tcp", t.address())
	case t.ProxyCommand != "":
		conn, err = proxy(t)
	default:
		conn, err = t.dial(timed)
	}
	if err != nil {
		return nil, err
	}
	conn = n.hear(conn)
	check := hostKeys{node: n.o.Name, target: t, ask: n.o.Ask, acceptNew: n.o.AcceptNewHostKey}
	callback, algorithms, err := check.check(ctx)
	if err != nil {
		conn.Close()
		return nil, err
	}
	p := newLoginTimer(t.Timeout, func() { conn.Close() })
	methods, done := keys.methods(ctx, p)
	defer done()
	allowed := t.Algorithms.orDefaults()
	return handshake(ctx, conn, t.address(), p, &ssh.ClientConfig{
		Config: ssh.Config{Ciphers: allowed.Ciphers, KeyExchanges: allowed.KeyExchanges, MACs: allowed.MACs},
		User:   t.User, Auth: methods, HostKeyCallback: callback, HostKeyAlgorithms: algorithms,
	})
}

// A loginTimer is how long a host may say nothing before it is given up. It stands still while a
// person is asked.
type loginTimer struct {
	limit time.Duration
	over  *time.Timer
	spent atomic.Bool

	mu    sync.Mutex
	holds int
}

func newLoginTimer(limit time.Duration, giveUp func()) *loginTimer {
	p := &loginTimer{limit: limit}
	p.over = time.AfterFunc(limit, func() {
		p.spent.Store(true)
		giveUp()
	})
	return p
}

// hold stops it until goOn is called, from which on the host has all of it again.
func (p *loginTimer) hold() (goOn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds++
	p.over.Stop()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.holds--; p.holds == 0 {
			p.over.Reset(p.limit)
		}
	}
}

// end is for a host that need not be waited for any more.
func (p *loginTimer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds++ // no new channel is opened from now on
	p.over.Stop()
}

// handshake ends with a connection on which the user is logged in, with ctx, or when the host exhausts
// patience.
func handshake(ctx context.Context, conn net.Conn, address string, p *loginTimer,
	config *ssh.ClientConfig,
) (*ssh.Client, error) {
	defer p.end() // the connection's own watch follows
	check := config.HostKeyCallback
	config.HostKeyCallback = func(host string, remote net.Addr, key ssh.PublicKey) error {
		defer p.hold()()
		return check(host, remote, key)
	}
	// conn is closed on every way out with an error, by patience, by ctx or below; closing it again
	// does no harm.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if !stop() || err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if p.spent.Load() {
			err = &noBannerError{p.limit}
		}
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}

// noBannerError is a host that takes a connection and says nothing until the time is over.
type noBannerError struct{ limit time.Duration }

func (m *noBannerError) Error() string {
	return fmt.Sprintf("it accepted the connection but sent nothing for %s", m.limit)
}

func (*noBannerError) Unwrap() error { return context.DeadlineExceeded }

// proxy runs a ProxyCommand, with %h, %p and %r as ssh expands them.
func proxy(t Target) (net.Conn, error) {
	tokens := strings.NewReplacer("%h", t.Host, "%n", t.Alias, "%p", strconv.Itoa(t.Port), "%r", t.User, "%%", "%")
	command := tokens.Replace(t.ProxyCommand)
	cmd := exec.Command("sh", "-c", "exec "+command)
	near, far := net.Pipe()
	// Its stderr is ignored: the handshake's error says that it ended.
	cmd.Stdin, cmd.Stdout = far, far
	cmd.WaitDelay = time.Second // nothing else ends the copying of stdin
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run ProxyCommand: %w", err)
	}
	go func() {
		_ = cmd.Wait()
		far.Close()
	}()
	return proxied{near, cmd}, nil
}

type proxied struct {
	net.Conn
	cmd *exec.Cmd
}

// As ssh does: a ProxyCommand that ignores the end of its input must not stay.
func (p proxied) Close() error {
	_ = p.cmd.Process.Kill()
	return p.Conn.Close()
}
