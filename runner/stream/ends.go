package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/railbench/railbench/runner/crowd"
)

// listen holds at most that many connections open: a client that has sent no block gives way to the next one.
func listen(address string, most int) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	return crowd.Listen(ln, most, most), nil
}

// A Sender sends over connections to one or more receivers.
type Sender struct {
	Ways    []*Way // of each receiver
	conns   []*net.TCPConn
	streams int          // to each receiver
	input   net.Listener // nil where it makes its blocks itself
}

// NewSender connects so many streams to each receiver, those to one after those to the one before; from are this end's
// addresses, none or one for each.
func NewSender(ctx context.Context, to, from []string, streams int) (*Sender, error) {
	s := &Sender{streams: streams}
	for i, to := range to {
		s.Ways = append(s.Ways, &Way{At: to, Streams: streams, Tally: &Tally{}, open: new(atomic.Int64)})
		local := ""
		if len(from) > 0 {
			local = from[i]
		}
		if _, _, err := net.SplitHostPort(to); err != nil {
			s.Close()
			return nil, fmt.Errorf("%s has no port: give HOST:PORT, as railbench stream receive prints it", to)
		}
		for range streams {
			c, err := Dial(ctx, local, to)
			if err != nil {
				s.Close()
				return nil, fmt.Errorf("%w: is railbench stream receive running there?", err)
			}
			s.conns = append(s.conns, c)
		}
	}
	return s, nil
}

// Close closes the connections: who reads them knows whether what came is whole.
func (s *Sender) Close() {
	for _, c := range s.conns {
		c.Close() //nolint:errcheck // who reads it knows whether it is whole
	}
	if s.input != nil {
		s.input.Close()
	}
}

// TakeInput listens for a generator whose blocks Forward sends.
func (s *Sender) TakeInput(address string) (net.Addr, error) {
	ln, err := listen(address, 1)
	if err != nil {
		return nil, err
	}
	s.input = ln
	s.Ways[0].open = nil
	return ln.Addr(), nil
}

// Ones sends synthetic blocks over all streams at once, so many over each. Where one fails the others end, too:
// what they would reach is another figure.
func (s *Sender) Ones(ctx context.Context, p *Payload, blocks uint64) error {
	defer Drain(s.conns...)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	errs := make([]error, len(s.conns))
	for i, c := range s.conns {
		w := s.Ways[i/s.streams]
		w.open.Add(1)
		work.Go(func() {
			defer w.open.Add(-1)
			if errs[i] = Send(ctx, c, p, blocks, w.Tally); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// queued is how many blocks of input wait for the way at most: then the generator waits.
const queued = 8

// Forward sends what a generator gives, over the first connection.
func (s *Sender) Forward(ctx context.Context) error {
	defer Drain(s.conns...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan []byte, queued)
	in := &Server{To: func(b []byte) error {
		select {
		case queue <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	var failed error
	in.Gone = func(_ net.Addr, err error) { failed = err }
	received := make(chan error, 1)
	go func() {
		err := in.Serve(ctx, s.input, true)
		close(queue)
		received <- err
	}()
	tally := s.Ways[0].Tally
	err := Forward(ctx, s.conns[0], queue, tally)
	cancel()
	err = errors.Join(err, <-received)
	if failed != nil && !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("the input: %w", failed))
	}
	// Blocks get new numbers on the way: the receiver can't see what was lost before.
	tally.Lost.Add(in.Tally.Lost.Load())
	tally.Corrupt.Add(in.Tally.Corrupt.Load())
	tally.Cut.Add(in.Tally.Cut.Load())
	return err
}

// A Receiver is a server for each address that it listens at.
type Receiver struct {
	listeners []net.Listener
	servers   []*Server
	Ways      []*Way

	mu     sync.Mutex
	failed []error // of streams that came and did not end well, mostFailed of them
	more   int     // such streams beyond these
}

// mostFailed bounds what foreign connections make a receiver keep, and report.
const mostFailed = 20

// mostStreams is how many connections an address has open.
const mostStreams = 256

// Listen adds an address.
func (r *Receiver) Listen(address string) error {
	ln, err := listen(address, mostStreams)
	if err != nil {
		return err
	}
	s := &Server{}
	w := &Way{At: ln.Addr().String(), Tally: &s.Tally, open: new(atomic.Int64)}
	s.Come = func(net.Addr) { w.open.Add(1) }
	s.Gone = func(from net.Addr, err error) {
		w.open.Add(-1)
		if err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.failed) < mostFailed {
				r.failed = append(r.failed, fmt.Errorf("from %s: %w", from, err))
			} else {
				r.more++
			}
		}
	}
	r.listeners, r.servers, r.Ways = append(r.listeners, ln), append(r.servers, s), append(r.Ways, w)
	return nil
}

// Close ends listening.
func (r *Receiver) Close() {
	for _, ln := range r.listeners {
		ln.Close() // it may be closed already
	}
}

// Serve takes streams at all listeners until each of them has ended.
func (r *Receiver) Serve(ctx context.Context, once bool) error {
	errs := make([]error, len(r.servers))
	var work sync.WaitGroup
	for i, s := range r.servers {
		work.Go(func() { errs[i] = s.Serve(ctx, r.listeners[i], once) })
	}
	work.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more > 0 {
		errs = append(errs, fmt.Errorf("%d more streams failed", r.more))
	}
	return errors.Join(append(r.failed, errs...)...)
}
