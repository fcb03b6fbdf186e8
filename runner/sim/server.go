package sim

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"golang.org/x/crypto/ssh"
)

// serverConfig lets everybody in: a pretend node holds nothing, its scripts
// reach nothing of the host, and it listens in memory or on loopback. All
// methods are offered so that every client finds the one it knows.
func serverConfig(key ssh.Signer) *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		NoClientAuth: true,
		PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
			return nil, nil
		},
		PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
			return nil, nil
		},
		KeyboardInteractiveCallback: func(ssh.ConnMetadata, ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			return nil, nil
		},
		ServerVersion: "SSH-2.0-railbench_sim",
	}
	c.AddHostKey(key)
	return c
}

// handshakeLimit keeps a client that says nothing from holding a goroutine.
const handshakeLimit = 30 * time.Second

// serveConn serves one connection until it ends, and returns when everything
// that it started is over.
func serveConn(n *host.Node, conn net.Conn, key ssh.Signer) {
	defer conn.Close()
	// It ends a handshake only: a session may be silent for hours.
	conn.SetDeadline(time.Now().Add(handshakeLimit))
	server, channels, requests, err := ssh.NewServerConn(conn, serverConfig(key))
	if err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	// Of the connection: every session of it ends with it.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		server.Wait()
		cancel()
	}()
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	// Requests have to be taken from their channel, or the connection stands.
	open.Go(func() { globalRequests(n, server, requests) })
	for nc := range channels {
		if nc.ChannelType() != "session" {
			nc.Reject(ssh.Prohibited, "only sessions are simulated")
			continue
		}
		ch, reqs, err := nc.Accept()
		if err != nil {
			continue
		}
		open.Go(func() {
			s := &session{node: n, ch: ch, width: 80, height: 24}
			s.serve(ctx, reqs)
		})
	}
}

// A session is one channel: a command, or a login shell.
type session struct {
	node *host.Node
	ch   ssh.Channel
	env  []string

	pty           bool
	width, height int

	mu      sync.Mutex // guards resized
	resized func(width, height int)
}

// A request's payloads, as RFC 4254 has them.
type (
	envRequest struct{ Name, Value string }
	ptyRequest struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	sizeRequest struct{ Columns, Rows, Width, Height uint32 }
)

// serve answers the channel's requests, and runs what they ask for: one command, or a shell.
func (s *session) serve(ctx context.Context, requests <-chan *ssh.Request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	started := false
	for req := range requests {
		run, ok := s.wanted(req, started)
		if req.Type == "signal" {
			var p struct{ Name string }
			if ssh.Unmarshal(req.Payload, &p) == nil && slices.Contains([]string{"TERM", "INT", "KILL", "HUP"}, p.Name) {
				cancel()
			}
		}
		if req.WantReply {
			req.Reply(ok, nil)
		}
		if run != nil {
			started = true
			// The channel's requests are read on while the command runs: a signal, or a window that
			// changes its size.
			go func() {
				defer close(done)
				code := run(ctx)
				// Before the channel is closed, or the client would not know how it ended.
				s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(code)}))
				s.ch.Close()
			}()
		}
	}
	// The client has closed the channel.
	cancel()
	if started {
		<-done
	} else {
		s.ch.Close()
	}
}

// wanted takes a request: what is to be run for it, and whether it is granted.
func (s *session) wanted(req *ssh.Request, started bool) (run func(context.Context) int, ok bool) {
	switch req.Type {
	case "env":
		ok = !started && s.locale(req.Payload)
	case "pty-req":
		ok = !started && s.terminal(req.Payload)
	case "window-change":
		var p sizeRequest
		if ssh.Unmarshal(req.Payload, &p) == nil && p.Columns > 0 && p.Rows > 0 {
			s.resize(int(p.Columns), int(p.Rows))
		}
	case "exec":
		var p struct{ Command string }
		if ok = !started && ssh.Unmarshal(req.Payload, &p) == nil; ok {
			run = func(ctx context.Context) int { return s.exec(ctx, p.Command) }
		}
	case "shell":
		if ok = !started; ok {
			run = s.shell
		}
	}
	return run, ok
}

// locale sets a variable: like sshd's default, only the locale comes along.
func (s *session) locale(payload []byte) (ok bool) {
	var p envRequest
	if ok = ssh.Unmarshal(payload, &p) == nil && (p.Name == "LANG" || strings.HasPrefix(p.Name, "LC_")); ok {
		s.env = append(s.env, p.Name+"="+p.Value)
	}
	return ok
}

// terminal gives the session a terminal, as the client has it.
func (s *session) terminal(payload []byte) (ok bool) {
	var p ptyRequest
	if ssh.Unmarshal(payload, &p) != nil {
		return false
	}
	s.pty = true
	// A client without a terminal of its own says 0 by 0.
	if p.Columns > 0 && p.Rows > 0 {
		s.width, s.height = int(p.Columns), int(p.Rows)
	}
	s.env = append(s.env, "TERM="+p.Term)
	return true
}

// resize sets the size of the client's window in the shell.
func (s *session) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resized != nil {
		s.resized(width, height)
	}
}

// onResize sets what is called on a resize.
func (s *session) onResize(f func(width, height int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resized = f
}

// sudoSupervisor is how a node asks for root before the supervisor.
var sudoSupervisor = regexp.MustCompile(`^sudo((?: -[nSk]+| -p (?:''|""|\S+))*) (sh -c .*)$`)

// exec runs a command line: under the supervisor, or as plain shell.
func (s *session) exec(ctx context.Context, command string) int {
	out, errs := newGate(s.node, s.ch), newGate(s.node, s.ch.Stderr())
	defer out.close()
	defer errs.close()
	plain, options, root := command, "", false
	if i := strings.IndexByte(command, '\n'); i >= 0 || strings.HasPrefix(command, "sudo ") {
		head, tail := command, ""
		if i >= 0 {
			head, tail = command[:i], command[i:]
		}
		if m := sudoSupervisor.FindStringSubmatch(head); m != nil {
			options, plain, root = m[1], m[2]+tail, true
		}
	}
	act := s.node.Rack.Clock.Visit
	if supervisor, ok := runner.ParseSupervisor(plain); ok {
		// Only one reads the channel: what sudo has read of it is gone for the supervisor.
		in := bufio.NewReader(s.ch)
		if root && !s.sudo(options, in, errs) {
			return 1
		}
		sh := host.NewShell(s.node, root, false)
		err := supervisor.Serve(in, out, func(supervised context.Context, text string) (code int) {
			supervised, cancel := context.WithCancel(supervised)
			defer cancel()
			// Two lives: the supervisor's, which beats keep up, and the connection's.
			defer context.AfterFunc(ctx, cancel)()
			act(func() {
				code = sh.Start(supervised, text, host.Job{
					Name: "railbench", Env: append(s.env, "LC_ALL=C", host.SupervisorVariable+"=simulated"),
					Stdout: out.acted(), Stderr: errs.acted(),
				})
			})
			return code
		})
		// The supervisor's own status where it got no script.
		if err != nil {
			return 125
		}
		// The wrapper's own status: what the script said is in its last line.
		return 0
	}
	sh := host.NewShell(s.node, false, true)
	if s.pty {
		tty := &crlf{w: out.acted()}
		sh.TTY = tty
		return s.commandLine(ctx, sh, command, host.Job{Name: "bash", Env: s.env, Stdout: tty, Stderr: tty})
	}
	return s.commandLine(ctx, sh, command, host.Job{Name: "bash", Env: s.env, Stdout: out.acted(), Stderr: errs.acted()})
}

// commandLine runs a command whose input comes from the client.
func (s *session) commandLine(ctx context.Context, sh *host.Shell, command string, j host.Job) (code int) {
	c := s.node.Rack.Clock
	in := host.NewPipe(c)
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := s.ch.Read(buf)
			if in.Fill(buf[:n]) != nil {
				return
			}
			if err != nil {
				in.Close()
				c.Look()
				return
			}
		}
	}()
	j.Stdin = in.Reader(ctx)
	c.Visit(func() {
		code = sh.Start(ctx, command, j)
		// The client may go on writing: that ends nothing, and is not waited for.
		in.Abandon(func() {})
	})
	return code
}

// sudo is what sudo does before it runs the supervisor.
func (s *session) sudo(options string, in *bufio.Reader, errs io.Writer) bool {
	s.node.Rack.Lock()
	password := s.node.Password
	s.node.Rack.Unlock()
	if password == "" {
		return true
	}
	// Without -S sudo would read the password from a terminal, and there is none.
	if !strings.Contains(options, "S") {
		io.WriteString(errs, "sudo: a password is required\n")
		return false
	}
	return host.CheckPassword(in, errs, "", password)
}

// A gate is a stream of a session that may be written to by several commands at
// once, and by none after the end.
type gate struct {
	clock *clock.Clock
	mu    sync.Mutex
	w     io.Writer
	// Under mu: a command that is cut off may still write, and the channel is closed by then.
	closed bool
}

func newGate(n *host.Node, w io.Writer) *gate { return &gate{clock: n.Rack.Clock, w: w} }

// acted is the gate as commands write to it. Where a client takes its time the others
// don't wait for it.
func (g *gate) acted() io.Writer { return actedGate{g} }

type actedGate struct{ *gate }

func (g actedGate) Write(p []byte) (n int, err error) {
	g.clock.Foreign(func() { n, err = g.gate.Write(p) })
	return n, err
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, io.ErrClosedPipe
	}
	return g.w.Write(p)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// crlf is a terminal's output: a line end is two characters.
type crlf struct{ w io.Writer }

func (c *crlf) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, strings.ReplaceAll(string(p), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
