// Package etcd is an etcd server of railbench's own, for one session, and a look
// into that one or another. The server is a process of its own, railbench-etcd, whose
// module has etcd's libraries; on a simulated rig it is simulated. What the keys mean is
// not known here: that is steps/rendezvous.
package etcd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/safefile"
)

// A Server is an etcd of railbench's own. It listens on this machine's loopback
// only, without a password, and keeps nothing once it is closed. It ends with
// railbench, even where that is killed: its stdin ends then.
type Server struct {
	*Client
	program *exec.Cmd
	folder  *safefile.Folder // of its data
	stdin   io.Closer
	stderr  tail
	close   func() error

	closing chan struct{} // closed when Close is called
	ended   chan struct{} // closed when the process has ended
	// Set before ended is closed: its exit and, unless it was closed, why it ended.
	exit, err error
}

const (
	// startLimit leaves time for a disk that is busy with what others sync: its first words are synced.
	startLimit = 45 * time.Second
	// buildLimit is for a program that the go command makes first.
	buildLimit = 5 * time.Minute
	closeLimit = 15 * time.Second
	// hasteLimit is for one that never answered: it has nothing to lose.
	hasteLimit = 3 * time.Second
)

// folderName is what the folder of a server's data begins with.
const folderName = Program + "-"

// Start starts a server and waits until it answers; ctx bounds the start only. The error
// says what is missing or failed, and leaves it to the caller to say what it was for.
func Start(ctx context.Context) (*Server, error) {
	p, err := find()
	if err != nil {
		return nil, err
	}
	return start(ctx, p)
}

// ownPort is etcd's own. What is in this process listens on none.
const ownPort = "2379"

// Within is a server in this process, such as a simulated rig's: dial connects to it. Close ends the
// connections, and leaves the server to its owner.
func Within(dial func(context.Context) (net.Conn, error)) *Server {
	s := &Server{
		Client: reach(&url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", ownPort)}, dial),
		ended:  make(chan struct{}), // never: it has no process
	}
	s.close = s.Client.Close
	return s
}

// start starts one program and waits for its first line, the address. Whatever fails, nothing of it is left
// running, and no folder is left.
func start(ctx context.Context, p program) (*Server, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// The program removes it, too, where this process is killed; where both are, the next Hold does.
	folder, err := safefile.Hold(os.TempDir(), folderName)
	if err != nil {
		return nil, err
	}
	s := &Server{
		program: exec.Command(p.path, slices.Concat(p.args, []string{"-dir", folder.Path})...), folder: folder,
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	s.close = sync.OnceValue(s.stop)
	// ctrl+c on railbench's terminal is not for it, and the go command has a child.
	s.program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.program.Stderr = &s.stderr
	stdout, err := s.begin()
	if err != nil {
		return nil, errors.Join(err, folder.Remove())
	}
	// It has room for one: after a time-out it is not read, and follow goes on to the end.
	told := make(chan string, 1)
	go s.follow(stdout, told)
	if err := s.ready(ctx, told, p.limit); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin starts the process.
func (s *Server) begin() (stdout io.Reader, err error) {
	if s.stdin, err = s.program.StdinPipe(); err != nil {
		return nil, err
	}
	if stdout, err = s.program.StdoutPipe(); err != nil {
		return nil, err
	}
	return stdout, s.program.Start()
}

// follow reads where the server listens, and waits for its end.
func (s *Server) follow(stdout io.Reader, told chan<- string) {
	defer close(s.ended)
	lines := bufio.NewScanner(stdout)
	if lines.Scan() {
		told <- lines.Text()
	}
	_, _ = io.Copy(io.Discard, stdout) // its end is what matters
	s.exit = s.program.Wait()
	select {
	case <-s.closing:
		return
	default:
	}
	if s.exit == nil {
		s.exit = errors.New("it has ended by itself")
	}
	s.err = s.why()
}

// why says why the program has ended, in its own words where it had any.
func (s *Server) why() error {
	if said := s.stderr.String(); said != "" {
		return fmt.Errorf("%s: %s", Program, said)
	}
	return fmt.Errorf("%s: %w", Program, s.exit)
}

// ready waits until the server has said where it listens.
func (s *Server) ready(ctx context.Context, told <-chan string, limit time.Duration) (err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case at := <-told:
		s.Client, err = Open(at)
		return err
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("%s is not ready after %s", Program, limit)
	}
}

// Err says why the server ended without Close; nil if it did not.
func (s *Server) Err() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}

// Close ends the server, which removes its data. It may be called more than once, and always returns: a
// server that does not end is killed, and that is reported.
func (s *Server) Close() error { return s.close() }

// stop has the program end by itself; only one that doesn't is killed. Its folder is gone then, in any case.
func (s *Server) stop() error {
	err := s.end()
	if left := s.folder.Remove(); left != nil {
		err = errors.Join(err, fmt.Errorf("remove etcd's data: %w", left))
	}
	return err
}

func (s *Server) end() error {
	close(s.closing)
	if s.Client != nil {
		_ = s.Client.Close() // it only lets connections go
	}
	s.stdin.Close()
	limit := closeLimit
	if s.Client == nil {
		limit = hasteLimit
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		// Its whole group: the go command's child, too.
		_ = syscall.Kill(-s.program.Process.Pid, syscall.SIGKILL)
		<-s.ended
		return fmt.Errorf("close etcd: %s did not end within %s, and was killed", Program, limit)
	}
	if s.err == nil && s.exit != nil && s.Client != nil {
		return fmt.Errorf("close etcd: %w", s.why())
	}
	return nil // an earlier failure was reported then
}

// A tail keeps the end of what a program says.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b)
	t.text.Next(max(0, t.text.Len()-tailBytes))
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text.String())
}
