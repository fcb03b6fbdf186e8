package host

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Join joins two ends of a connection inside the process. Unlike net.Pipe
// it has a buffer without a limit: both ends of an SSH handshake write before
// they read, and would wait for each other for ever. SSH's own windows bound
// what piles up.
func Join(client, server net.Addr) (net.Conn, net.Conn) {
	up, down := newStream(), newStream()
	return &pipeEnd{in: down, out: up, local: client, remote: server},
		&pipeEnd{in: up, out: down, local: server, remote: client}
}

// A stream is one direction. Its lock is held for no longer than a copy takes: who reads waits by
// the condition.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	closed  bool
	// By the wall clock: a connection's other end is outside the rig.
	deadline time.Time
	// It wakes who reads when the deadline comes; there is none without one.
	timer *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		// Before closed is looked at: what was written is read to its end.
		if len(s.data) > 0 {
			n := copy(p, s.data)
			s.data = s.data[n:]
			return n, nil
		}
		if s.closed {
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.data = append(s.data, p...)
	s.changed.Broadcast()
	return len(p), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}

type pipeEnd struct {
	in, out       *stream
	local, remote net.Addr
}

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.write(b) }
func (p *pipeEnd) LocalAddr() net.Addr         { return p.local }
func (p *pipeEnd) RemoteAddr() net.Addr        { return p.remote }

// Close ends both directions, as a closed socket does; calling it again does nothing.
func (p *pipeEnd) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

// A write's deadline has nothing to do; see SetWriteDeadline.
func (p *pipeEnd) SetDeadline(t time.Time) error {
	return p.SetReadDeadline(t)
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.in.setDeadline(t)
	return nil
}

// SetWriteDeadline has nothing to do: a write never waits.
func (p *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// Address is the address of an end of a memoryPipe.
// It belongs to no network of the machine: whatever prints it says so.
type Address string

func (Address) Network() string  { return "sim" }
func (a Address) String() string { return string(a) }
