package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/stream"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// The ports of the published demo: the receiver's, and the gauge's.
const (
	streamPort = ":12377"
	gaugePort  = ":45004"
)

func streamCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Move data over TCP as a demo does: a generator, a sender, a receiver",
		Long: `Programs of a throughput demo, over TCP. A receiver waits; a sender sends it blocks of
ones as fast as the way allows, or what a generator gives it, at a rate, in a device's
place. Each block has its number and a checksum: what is lost or changed is told, and
so is a stall.

Exit status of all three: 0 what was asked for was moved, or it was ended; 1 something
was lost or changed; 2 wrong usage, or nothing can listen there; 3 the other end can't
be reached, or left; 5 the result could not be written.`,
		Args: noCommand,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("name one of the programs: railbench stream emulate, send or receive"))
		},
	}
	cmd.AddCommand(streamEmulate(), streamSend(), streamReceive())
	return cmd
}

// streamFlags are what the three have in common.
type streamFlags struct {
	bytes, gauge string
	blocks       uint64
	span         time.Duration
	json         bool
}

func (f *streamFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.span, "for", 0, "end after this time, for example 10s; without it Ctrl-C does")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout in place of a line")
	cmd.Flags().StringVar(&f.gauge, "gauge", "", "tell the rolling average to a gauge, HOST"+gaugePort+
		" (UDP, GB/s, little-endian)")
	completeFlags(cmd, map[string]completer{"gauge": words("127.0.0.1" + gaugePort), "for": words("10s", "1m")})
}

func (f *streamFlags) addBlocks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bytes, "bytes", "64M", "the size of a block; K, M and G are powers of 1024")
	cmd.Flags().Uint64Var(&f.blocks, "blocks", 0, "end after so many blocks of each stream")
	completeFlags(cmd, map[string]completer{"bytes": words("1M", "64M"), "blocks": words()})
}

func (f *streamFlags) size() (int, error) {
	n, err := steps.ParseSize(f.bytes)
	if err == nil && (n < 1 || n > stream.MaxBytes) {
		err = fmt.Errorf("it is a size from 1 byte to %s", steps.SizeText(stream.MaxBytes))
	}
	if err != nil {
		return 0, fmt.Errorf("--bytes %s: %w", f.bytes, err)
	}
	return int(n), nil
}

// A streamed is what a stream came to, as --json prints it; scripts rely on its keys.
type streamed struct {
	Railbench string `json:"railbench"`
	moved
	Stalls int        `json:"stalls"`
	Ways   []wayMoved `json:"ways"` // in the order in which they were named
}

// A wayMoved is what went over one address: a rail's.
type wayMoved struct {
	At string `json:"at"` // the receiver's address, at both ends
	moved
	Stalls  int `json:"stalls"`
	Streams int `json:"streams,omitempty"` // as the sender knows
}

type moved struct {
	Bytes   uint64  `json:"bytes"` // of payload
	Blocks  uint64  `json:"blocks"`
	Lost    uint64  `json:"lost"`
	Corrupt uint64  `json:"corrupt"`
	Cut     uint64  `json:"cut"`     // streams that ended within a block
	Seconds float64 `json:"seconds"` // from the first byte to the last, to the microsecond
	Gbps    float64 `json:"gbps"`    // of payload, six digits of it
}

func (m *moved) add(t *stream.Tally) {
	m.Bytes, m.Blocks = m.Bytes+t.Bytes.Load(), m.Blocks+t.Blocks.Load()
	m.Lost, m.Corrupt, m.Cut = m.Lost+t.Lost.Load(), m.Corrupt+t.Corrupt.Load(), m.Cut+t.Cut.Load()
}

func (m *moved) took(seconds float64) {
	m.Seconds = math.Round(seconds*1e6) / 1e6
	if seconds > 0 {
		m.Gbps = digits(float64(m.Bytes)*8/seconds/1e9, 6)
	}
}

// digits rounds to so many significant ones: what no clock here can tell is not printed.
func digits(v float64, n int) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow10(n - 1 - int(math.Floor(math.Log10(math.Abs(v)))))
	if math.IsInf(scale, 0) {
		return v
	}
	return math.Round(v*scale) / scale
}

// A way is what goes over one address, while it is counted.
type way struct {
	at      string
	streams int // 0 where nobody knows
	tally   *stream.Tally
	open    *atomic.Int64 // streams that there are now; nil where there is one, to the end

	last   time.Time // when there was something new
	moved  uint64
	stalls int
}

// A counting watches the tallies of all ways while they grow.
type counting struct {
	flags  streamFlags
	ways   []*way
	errOut io.Writer
	gauge  net.Conn // nil for none

	first time.Time // when there was something new
	past  []mark
}

type mark struct {
	at    time.Time
	bytes uint64
}

const (
	countEvery = 250 * time.Millisecond
	rollOver   = 5 * time.Second // what the average is of
	stallAfter = 2 * time.Second
)

func (f streamFlags) count(ways []*way, errOut io.Writer) (*counting, error) {
	if f.span < 0 {
		return nil, fmt.Errorf("--for %s is negative", f.span)
	}
	c := &counting{flags: f, ways: ways, errOut: errOut}
	if f.gauge != "" {
		var err error
		if c.gauge, err = net.Dial("udp", f.gauge); err != nil {
			return nil, fmt.Errorf("--gauge %s: %w", f.gauge, err)
		}
	}
	return c, nil
}

// during runs a stream, and counts meanwhile.
func (c *counting) during(ctx context.Context, move func(context.Context) error) error {
	if c.flags.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.flags.span)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- move(ctx) }()
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	told := time.Now()
	for {
		select {
		// A gauge that is told nothing more would show the last rate on.
		case err := <-done:
			c.look(time.Now())
			if c.gauge != nil {
				_, _ = c.gauge.Write(stream.EncodeRate(binary.LittleEndian, 0)) // nobody has to listen
				c.gauge.Close()
			}
			return err
		case now := <-tick.C:
			rate := c.look(now)
			if c.gauge != nil {
				_, _ = c.gauge.Write(stream.EncodeRate(binary.LittleEndian, rate/8)) // nobody has to listen
			}
			if now.Sub(told) >= time.Second && !c.first.IsZero() {
				told = now
				sanitize.Fprintf(c.errOut, "%6.1f s  %7.2f Gb/s\n", now.Sub(c.first).Seconds(), rate)
			}
		}
	}
}

// look sees how far the tallies are, and gives the rolling average in Gb/s.
func (c *counting) look(now time.Time) float64 {
	total := uint64(0)
	for _, w := range c.ways {
		bytes := w.tally.Bytes.Load()
		total += bytes
		switch {
		case bytes > w.moved:
			if c.first.IsZero() {
				c.first = now
			}
			w.moved, w.last = bytes, now
		case w.open != nil && w.open.Load() == 0:
			w.last = time.Time{} // nobody sends, or all was sent, which is no stall
		case !w.last.IsZero() && now.Sub(w.last) >= stallAfter:
			w.stalls++
			where := ""
			if len(c.ways) > 1 {
				where = " over " + w.at
			}
			sanitize.Fprintf(c.errOut, "stalled: nothing has moved%s for %s\n", where, stallAfter)
			w.last = now // the next one is told after as long again
		}
	}
	c.past = append(c.past, mark{now, total})
	// One mark that is as old as the average stays.
	for len(c.past) > 2 && now.Sub(c.past[1].at) >= rollOver {
		c.past = c.past[1:]
	}
	from := c.past[0]
	if seconds := now.Sub(from.at).Seconds(); seconds > 0 {
		return float64(total-from.bytes) * 8 / seconds / 1e9
	}
	return 0
}

// result is what came of it. seconds are those of all together, and of each way as spans tells them.
func (c *counting) result(seconds float64, spans func(*stream.Tally) float64) streamed {
	r := streamed{Railbench: version()}
	for _, w := range c.ways {
		r.add(w.tally)
		r.Stalls += w.stalls
		one := wayMoved{At: w.at, Stalls: w.stalls, Streams: w.streams}
		one.add(w.tally)
		one.took(spans(w.tally))
		r.Ways = append(r.Ways, one)
	}
	r.took(seconds)
	return r
}

// tell prints the result, and gives the exit status.
func (c *counting) tell(out io.Writer, r streamed, failed error) error {
	var err error
	if c.flags.json {
		err = writeJSON(out, r)
	} else {
		_, err = sanitize.Fprintf(out, "%d bytes in %d blocks and %.2f s: %.2f Gb/s; %d lost, %d corrupt, %d cut off, %d "+
			"stalls\n",
			r.Bytes, r.Blocks, r.Seconds, r.Gbps, r.Lost, r.Corrupt, r.Cut, r.Stalls)
	}
	switch {
	case err != nil:
		return unwritten(fmt.Errorf("write the result: %w", err))
	case failed != nil:
		return status{exitUnreachable, failed}
	case r.Lost+r.Corrupt+r.Cut > 0:
		return status{exitFail, errors.New("not all of it arrived as it was sent")}
	}
	return nil
}

// sent is what a sender's ways came to, all in the same time.
func (c *counting) sent(seconds float64) streamed {
	return c.result(seconds, func(*stream.Tally) float64 { return seconds })
}

// received is what a receiver's ways came to, each from its first byte to its last.
func (c *counting) received() streamed {
	tallies := make([]*stream.Tally, 0, len(c.ways))
	for _, w := range c.ways {
		tallies = append(tallies, w.tally)
	}
	return c.result(stream.Span(tallies...).Seconds(), func(t *stream.Tally) float64 { return stream.Span(t).Seconds() })
}

func streamSend() *cobra.Command {
	var f streamFlags
	var from []string
	var streams int
	var zeroCopy bool
	var input string
	cmd := &cobra.Command{
		Use:   "send ADDRESS:PORT…",
		Short: "Send blocks to receivers, over one rail or several at once",
		Long: `Sends blocks of ones as fast as it can to every address that is named, each a rail's;
--from names this end's addresses in the same order. With --input it sends what a
generator (railbench stream emulate) gives it, through a queue.`,
		Example: `  railbench stream send 192.168.100.10:12377
  railbench stream send 192.168.100.10:12377 192.168.101.10:12377 \
    --from 192.168.100.11,192.168.101.11 --gauge 127.0.0.1:45004`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the receiver: railbench stream send ADDRESS" + streamPort)
			}
			return nil
		},
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := f.size()
			switch {
			case err != nil:
				return usage(err)
			case len(from) > 0 && len(from) != len(args):
				return usage(fmt.Errorf("--from names %d addresses, and there are %d receivers: give one for each", len(from),
					len(args)))
			case streams < 1 || streams > 128:
				return usage(fmt.Errorf("--streams %d: it goes from 1 to 128", streams))
			case input != "" && (len(args) > 1 || streams > 1):
				return usage(errors.New("--input has one stream: name one receiver"))
			case input != "":
				for _, name := range []string{"bytes", "blocks", "zero-copy"} {
					if cmd.Flags().Changed(name) {
						return usage(fmt.Errorf("--%s is of blocks of ones, and those of --input come from a generator: give one of them",
							name))
					}
				}
			}
			s := sender{flags: f, size: size, to: args, from: from, streams: streams, zeroCopy: zeroCopy, input: input}
			return s.run(cmd)
		},
	}
	f.add(cmd)
	f.addBlocks(cmd)
	cmd.Flags().StringSliceVar(&from, "from", nil, "this end's address for each receiver: the rail's")
	cmd.Flags().IntVar(&streams, "streams", 1, "connections to each receiver, side by side")
	cmd.Flags().BoolVar(&zeroCopy, "zero-copy", false, "let the kernel take the pages (sendfile): spares a copy where "+
		"an adapter reads them, and costs more over loopback")
	cmd.Flags().StringVar(&input, "input", "",
		"take the blocks from whoever connects here, ADDRESS:PORT, in place of ones")
	completeFlags(cmd, map[string]completer{
		"from": words(), "streams": words("1", "2", "4"),
		"input": words("127.0.0.1:45005"),
	})
	return cmd
}

// A sender is railbench stream send.
type sender struct {
	flags    streamFlags
	size     int
	to, from []string
	streams  int
	zeroCopy bool
	input    string
	ways     []*way // of each receiver
}

func (s *sender) run(cmd *cobra.Command) error {
	for _, to := range s.to {
		w := &way{at: to, streams: s.streams, tally: &stream.Tally{}}
		if s.input == "" {
			w.open = new(atomic.Int64)
		}
		s.ways = append(s.ways, w)
	}
	count, err := s.flags.count(s.ways, cmd.ErrOrStderr())
	if err != nil {
		return usage(err)
	}
	conns, err := s.dial(cmd.Context())
	defer func() {
		for _, c := range conns {
			c.Close() //nolint:errcheck // who reads it knows whether it is whole
		}
	}()
	if err != nil {
		return status{exitUnreachable, err}
	}
	payload, err := stream.NewPayload(s.size, s.zeroCopy) // before the time counts
	if err != nil {
		return usage(err)
	}
	defer payload.Close() //nolint:errcheck // memory
	move := func(ctx context.Context, conns []*net.TCPConn) error { return s.ones(ctx, conns, payload) }
	if s.input != "" {
		ln, err := listenTCP(s.input, 1)
		if err != nil {
			return usage(err)
		}
		defer ln.Close()
		sanitize.Fprintf(cmd.ErrOrStderr(), "waits for input at %s\n", ln.Addr())
		move = func(ctx context.Context, conns []*net.TCPConn) error { return s.forward(ctx, ln, conns[0]) }
	}
	began := time.Now()
	err = count.during(cmd.Context(), func(ctx context.Context) error {
		defer stream.Drain(conns...)
		return move(ctx, conns)
	})
	return count.tell(cmd.OutOrStdout(), count.sent(time.Since(began).Seconds()), err)
}

// dial connects all streams, those to one receiver after those to the one before; those that are
// there are given with the error, too.
func (s *sender) dial(ctx context.Context) (conns []*net.TCPConn, err error) {
	for i, to := range s.to {
		from := ""
		if len(s.from) > 0 {
			from = s.from[i]
		}
		for range s.streams {
			c, err := stream.Dial(ctx, from, to)
			if err != nil {
				return conns, fmt.Errorf("%w: is railbench stream receive running there?", err)
			}
			conns = append(conns, c)
		}
	}
	return conns, nil
}

// ones sends synthetic blocks over all streams at once. Where one fails the others end, too:
// what they would reach is another figure.
func (s *sender) ones(ctx context.Context, conns []*net.TCPConn, p *stream.Payload) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	errs := make([]error, len(conns))
	for i, c := range conns {
		w := s.ways[i/s.streams]
		w.open.Add(1)
		work.Go(func() {
			defer w.open.Add(-1)
			if errs[i] = stream.Send(ctx, c, p, s.flags.blocks, w.tally); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// queued is how many blocks of input wait for the way at most: then the generator waits.
const queued = 8

// forward sends what a generator gives.
func (s *sender) forward(ctx context.Context, ln net.Listener, to *net.TCPConn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan []byte, queued)
	in := &stream.Server{To: func(b []byte) error {
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
		err := in.Serve(ctx, ln, true)
		close(queue)
		received <- err
	}()
	tally := s.ways[0].tally
	err := stream.Forward(ctx, to, queue, tally)
	cancel()
	err = errors.Join(err, <-received)
	if failed != nil && !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("the input: %w", failed))
	}
	// Blocks are numbered anew on the way: the receiver can't see what was lost before.
	tally.Lost.Add(in.Tally.Lost.Load())
	tally.Corrupt.Add(in.Tally.Corrupt.Load())
	tally.Cut.Add(in.Tally.Cut.Load())
	return err
}

func streamReceive() *cobra.Command {
	var f streamFlags
	var at []string
	var once bool
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Take blocks from senders, and say whether all of them came",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(at) == 0 { // a script whose variable is empty would be told that nothing was lost
				return usage(errors.New("--listen is empty: give an address and port, or leave it out"))
			}
			r := receiver{}
			defer r.close()
			for _, address := range at {
				if err := r.listen(address); err != nil {
					return usage(err)
				}
			}
			count, err := f.count(r.ways, cmd.ErrOrStderr())
			if err != nil {
				return usage(err)
			}
			for _, w := range r.ways {
				sanitize.Fprintf(cmd.ErrOrStderr(), "receives at %s\n", w.at)
			}
			err = count.during(cmd.Context(), func(ctx context.Context) error { return r.serve(ctx, once) })
			return count.tell(cmd.OutOrStdout(), count.received(), errors.Join(r.ended(), err))
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&at, "listen", []string{streamPort}, "the addresses and ports; a rail's address takes "+
		"that rail alone")
	cmd.Flags().BoolVar(&once, "once", false, "end when the streams that came have ended")
	completeFlags(cmd, map[string]completer{"listen": words(streamPort)})
	return cmd
}

// A receiver is railbench stream receive: a server for each address.
type receiver struct {
	listeners []net.Listener
	servers   []*stream.Server
	ways      []*way

	mu     sync.Mutex
	failed []error // of streams that came and did not end well, mostFailed of them
	more   int     // such streams beyond these
}

// mostFailed bounds what whoever connects makes a receiver keep, and say.
const mostFailed = 20

func (r *receiver) listen(address string) error {
	ln, err := listenTCP(address, 256)
	if err != nil {
		return err
	}
	s := &stream.Server{}
	w := &way{at: ln.Addr().String(), tally: &s.Tally, open: new(atomic.Int64)}
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
	r.listeners, r.servers, r.ways = append(r.listeners, ln), append(r.servers, s), append(r.ways, w)
	return nil
}

func (r *receiver) close() {
	for _, ln := range r.listeners {
		ln.Close() // it may be closed already
	}
}

// ended is what went wrong with the streams.
func (r *receiver) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.Join(r.failed...)
	if r.more > 0 {
		err = errors.Join(err, fmt.Errorf("%d more streams failed", r.more))
	}
	return err
}

// serve takes streams at all listeners until each of them has ended.
func (r *receiver) serve(ctx context.Context, once bool) error {
	errs := make([]error, len(r.servers))
	var work sync.WaitGroup
	for i, s := range r.servers {
		work.Go(func() { errs[i] = s.Serve(ctx, r.listeners[i], once) })
	}
	work.Wait()
	return errors.Join(errs...)
}

func streamEmulate() *cobra.Command {
	f := streamFlags{}
	var gbps float64
	cmd := &cobra.Command{
		Use:   "emulate ADDRESS:PORT",
		Short: "Send blocks at a rate, as a device would: to stream send --input, or to a receiver",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one address: that of stream send --input, or of a receiver")
			}
			return nil
		},
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := f.size()
			if err == nil && !(gbps > 0 && gbps <= 1000) {
				err = fmt.Errorf("--gbps %g: it is above 0 and 1000 at most", gbps)
			}
			if err != nil {
				return usage(err)
			}
			var tally stream.Tally
			count, err := f.count([]*way{{at: args[0], streams: 1, tally: &tally}}, cmd.ErrOrStderr())
			if err != nil {
				return usage(err)
			}
			c, err := stream.Dial(cmd.Context(), "", args[0])
			if err != nil {
				return status{exitUnreachable, err}
			}
			defer c.Close() //nolint:errcheck // who reads it knows whether it is whole
			began := time.Now()
			err = count.during(cmd.Context(), func(ctx context.Context) error {
				return stream.Emulate(ctx, c, size, gbps*1e9/8, f.blocks, &tally)
			})
			seconds := time.Since(began).Seconds()
			if reached := float64(tally.Bytes.Load()) * 8 / seconds / 1e9; err == nil && reached < 0.99*gbps && f.blocks == 0 {
				sanitize.Fprintf(cmd.ErrOrStderr(), "the rate was not held: %.2f of %.2f Gb/s; the other end takes no more\n",
					reached, gbps)
			}
			return count.tell(cmd.OutOrStdout(), count.sent(seconds), err)
		},
	}
	f.add(cmd)
	f.addBlocks(cmd)
	cmd.Flags().Float64Var(&gbps, "gbps", 10, "the rate of the payload, 10^9 bits a second")
	completeFlags(cmd, map[string]completer{"gbps": words()})
	return cmd
}
