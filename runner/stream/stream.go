// Package stream moves blocks of bytes over TCP as fast as the way allows, or at a rate, and says what became of
// each: the programs of a demo that feeds a link from a device. A block has a header with its number, its length and
// the checksum of what follows, so that the other end can say what is lost or changed.
//
// It knows addresses and no rails; what is printed is cmd's.
package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"
)

// DefaultBytes is the size of a block, that of the array in the published demo.
const DefaultBytes = 1 << 26

// MaxBytes is the longest block that is accepted: any client can send a header.
const MaxBytes = 1 << 30

// The header: "RBS2", the checksum of the payload (the lower half of its XXH64), its number in its
// connection, from 0, and its length; all little-endian.
//
// XXH64 takes multiplications alone. A CRC-32C is faster where the processor computes it, and far slower where
// that is emulated (0.12 GB/s against 3.7, under qemu's TCG).
const headerBytes = 24

var magic = [4]byte{'R', 'B', 'S', '2'}

// sumOf is the checksum of a whole payload.
func sumOf(payload []byte) uint32 { return uint32(xxhash.Sum64(payload)) }

type header struct {
	sum    uint32
	seq    uint64
	length uint64
}

func (h header) bytes() []byte {
	b := append(make([]byte, 0, headerBytes), magic[:]...)
	b = binary.LittleEndian.AppendUint32(b, h.sum)
	b = binary.LittleEndian.AppendUint64(b, h.seq)
	return binary.LittleEndian.AppendUint64(b, h.length)
}

// ErrForeign says that the data are not a stream of railbench's.
var ErrForeign = errors.New("what comes is not a stream of railbench's")

func parseHeader(b []byte) (header, error) {
	h := header{
		sum: binary.LittleEndian.Uint32(b[4:]), seq: binary.LittleEndian.Uint64(b[8:]),
		length: binary.LittleEndian.Uint64(b[16:]),
	}
	if [4]byte(b[:4]) != magic || h.length == 0 || h.length > MaxBytes {
		return h, ErrForeign
	}
	return h, nil
}

// A Tally is what has passed so far, over all connections. It is read while it is counted.
type Tally struct {
	Bytes   atomic.Uint64 // payload
	Blocks  atomic.Uint64
	Lost    atomic.Uint64 // blocks whose numbers were left out
	Corrupt atomic.Uint64 // blocks whose checksum is another
	Cut     atomic.Uint64 // connections that ended within a block

	began, ended atomic.Int64 // of the first bytes and the last, in ns
}

// move counts bytes of payload.
func (t *Tally) move(n int) {
	now := time.Now().UnixNano()
	t.began.CompareAndSwap(0, now)
	t.ended.Store(now)
	t.Bytes.Add(uint64(n))
}

// Span is how long it took from the first bytes of any tally to the last.
func Span(tallies ...*Tally) time.Duration {
	began, ended := int64(0), int64(0)
	for _, t := range tallies {
		if b := t.began.Load(); b != 0 && (began == 0 || b < began) {
			began = b
		}
		ended = max(ended, t.ended.Load())
	}
	return time.Duration(ended - began)
}

// Whole reports whether everything that came is what was sent.
func (t *Tally) Whole() bool { return t.Lost.Load() == 0 && t.Corrupt.Load() == 0 && t.Cut.Load() == 0 }

// mostLost is where the count of lost blocks ends: what a header says is anybody's, and a sum that begins again at 0
// would deny what was lost. The sums of many tallies, and a float64, hold it.
const mostLost = 1 << 53

// lose counts blocks as lost.
func (t *Tally) lose(n uint64) {
	for {
		was := t.Lost.Load()
		if t.Lost.CompareAndSwap(was, was+min(n, mostLost-was)) {
			return
		}
	}
}

// A Payload is what a sender sends again and again: ones.
type Payload struct {
	bytes []byte
	sum   uint32
	// file has the same where the kernel shall take the pages themselves (sendfile); nil where
	// they are copied out of bytes.
	file *os.File
}

// NewPayload makes one. With zero copy the kernel takes its pages as they are, which spares the
// processor a copy where an adapter reads them; over loopback it costs more than it spares, since
// the other end reads them page by page (measured: 0.7 to 1.4 s of processor for 2 GiB, and 0.5 to
// 0.7 s with the copy).
func NewPayload(size int, zeroCopy bool) (*Payload, error) {
	if size < 1 || size > MaxBytes {
		return nil, fmt.Errorf("a block has 1 to %d bytes, and not %d", MaxBytes, size)
	}
	p := &Payload{bytes: bytes.Repeat([]byte{1}, size)}
	p.sum = sumOf(p.bytes)
	if !zeroCopy {
		return p, nil
	}
	var err error
	if p.file, err = memory(); err != nil {
		return nil, fmt.Errorf("make a buffer of %d bytes: %w", size, err)
	}
	if _, err := p.file.Write(p.bytes); err != nil {
		return nil, errors.Join(fmt.Errorf("fill a buffer of %d bytes: %w", size, err), p.Close())
	}
	return p, nil
}

// Close gives the memory back.
func (p *Payload) Close() error {
	if p.file == nil {
		return nil
	}
	return errors.Join(forget(p.file), p.file.Close())
}

// grace is how long the block that is under way may take once a sender is interrupted: the
// other end would count it as cut.
const grace = 10 * time.Second

// Send sends a payload over a connection until ctx ends, or blocks of it where that isn't 0.
func Send(ctx context.Context, c *net.TCPConn, p *Payload, blocks uint64, t *Tally) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now().Add(grace)) })
	defer stop()
	once := func(h header) error { return write(c, h, p.bytes, t) }
	if p.file != nil {
		f, err := reopen(p.file) // of this connection's own, for its place in it
		if err != nil {
			return fmt.Errorf("open the buffer: %w", err)
		}
		defer f.Close()
		once = func(h header) error { return writeFile(c, h, f, t) }
	}
	for seq := uint64(0); (blocks == 0 || seq < blocks) && ctx.Err() == nil; seq++ {
		if err := once(header{p.sum, seq, uint64(len(p.bytes))}); err != nil {
			return unsent(ctx, c, err)
		}
		t.Blocks.Add(1)
	}
	return nil
}

// unsent is why a block was not sent: empty if this end was asked to stop.
func unsent(ctx context.Context, c net.Conn, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%s closed the connection before this end was done", c.RemoteAddr())
	}
	return err
}

// Drain waits until the other end has taken all that was written, and has closed, for some seconds at
// most: what the kernel holds back yet has not arrived, and belongs to no rate.
func Drain(conns ...*net.TCPConn) {
	var work sync.WaitGroup
	for _, c := range conns {
		work.Go(func() {
			if c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(grace)) == nil {
				_, _ = io.Copy(io.Discard, c) // however it ends, nothing more arrives
			}
		})
	}
	work.Wait()
}

// writeFile sends a block whose payload is a file.
func writeFile(c *net.TCPConn, h header, f *os.File, t *Tally) error {
	if _, err := c.Write(h.bytes()); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for left := int64(h.length); left > 0; {
		part := min(left, pieceBytes)
		// net's ReadFrom takes sendfile for a file behind a LimitedReader.
		n, err := c.ReadFrom(&io.LimitedReader{R: f, N: part})
		if err == nil && n != part {
			err = io.ErrShortWrite
		}
		if err != nil {
			return err
		}
		t.move(int(n))
		left -= n
	}
	return nil
}

// chunkBytes is what is read at once: few calls, and it is in a core's cache yet for its
// checksum.
const chunkBytes = 1 << 20

// pieceBytes is the step in which sent data are counted: a block takes seconds over a slow path, which is not
// a stall, and smaller pieces cost a tenth of the rate.
const pieceBytes = 8 << 20

// Receive takes blocks of a connection until it ends, or ctx does. Where to is not nil each
// block's payload goes there, too.
func Receive(ctx context.Context, c net.Conn, to func(payload []byte) error, t *Tally) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	head, sum := make([]byte, headerBytes), xxhash.New()
	var chunk []byte // made once blocks come: who only connects takes no memory
	next := uint64(0)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			switch {
			case errors.Is(err, io.EOF), ctx.Err() != nil, chunk == nil && errors.Is(err, net.ErrClosed):
				return nil // who has sent no block gives way to others
			case errors.Is(err, io.ErrUnexpectedEOF):
				t.Cut.Add(1)
				return nil
			}
			return err
		}
		h, err := parseHeader(head)
		if err != nil {
			return err
		}
		if h.seq < next {
			return fmt.Errorf("block %d comes after block %d: %w", h.seq, next-1, ErrForeign)
		}
		t.lose(h.seq - next)
		if next = h.seq + 1; next == 0 {
			return fmt.Errorf("block %d has the last number that there is: %w", h.seq, ErrForeign)
		}
		if chunk == nil {
			chunk = make([]byte, chunkBytes)
			if c, ok := c.(interface{ Known() }); ok {
				c.Known()
			}
		}
		sum.Reset()
		if err := take(c, chunk, h.length, sum, to, t); err != nil {
			if ctx.Err() != nil {
				return nil // a block that was under way is none that was lost
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				t.Cut.Add(1)
				return nil
			}
			return err
		}
		if uint32(sum.Sum64()) != h.sum {
			t.Corrupt.Add(1)
		}
		t.Blocks.Add(1)
	}
}

// take reads a payload and sums it up.
func take(c net.Conn, chunk []byte, length uint64, sum *xxhash.Digest, to func([]byte) error, t *Tally) error {
	var whole []byte
	if to != nil {
		whole = make([]byte, 0, min(length, chunkBytes)) // what a header promises may never come
	}
	for left := length; left > 0; {
		n, err := c.Read(chunk[:min(left, uint64(len(chunk)))])
		_, _ = sum.Write(chunk[:n]) // it never fails
		if to != nil {
			whole = append(whole, chunk[:n]...)
		}
		left -= uint64(n)
		t.move(n)
		if errors.Is(err, io.EOF) && left > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil && left > 0 {
			return err
		}
	}
	if to != nil {
		return to(whole)
	}
	return nil
}

// Forward sends the blocks that come from a queue, as real input does, until the queue is
// closed or ctx ends.
func Forward(ctx context.Context, c net.Conn, queue <-chan []byte, t *Tally) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	for seq := uint64(0); ; seq++ {
		select {
		case <-ctx.Done():
			return nil
		case block, ok := <-queue:
			if !ok {
				return nil
			}
			if err := write(c, header{sumOf(block), seq, uint64(len(block))}, block, t); err != nil {
				return unsent(ctx, c, err)
			}
			t.Blocks.Add(1)
		}
	}
}

func write(c net.Conn, h header, block []byte, t *Tally) error {
	part := block[:min(len(block), pieceBytes)]
	both := net.Buffers{h.bytes(), part}
	for _, err := both.WriteTo(c); ; _, err = c.Write(part) {
		if err != nil {
			return err
		}
		t.move(len(part))
		if block = block[len(part):]; len(block) == 0 {
			return nil
		}
		part = block[:min(len(block), pieceBytes)]
	}
}

// Emulate sends blocks at a rate, in bytes a second, until ctx ends, or blocks of them where
// that isn't 0. Each has its time from the first one on, so that being late once is caught up
// with, and the rate is held over any time but the shortest.
func Emulate(ctx context.Context, c net.Conn, size int, rate float64, blocks uint64, t *Tally) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	block := make([]byte, size)
	for i := range block {
		block[i] = 1
	}
	sum := sumOf(block)
	began := time.Now()
	for seq := uint64(0); blocks == 0 || seq < blocks; seq++ {
		due := began.Add(time.Duration(float64(seq) * float64(size) / rate * 1e9))
		if wait := time.Until(due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
		}
		if err := write(c, header{sum, seq, uint64(size)}, block, t); err != nil {
			return unsent(ctx, c, err)
		}
		t.Blocks.Add(1)
	}
	return nil
}

// Dial connects from an address of this machine, where that is not empty: so a stream takes
// the rail that has it.
func Dial(ctx context.Context, from, to string) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	if from != "" {
		ip := net.ParseIP(from)
		if ip == nil {
			return nil, fmt.Errorf("%q is not an IP address to send from", from)
		}
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	c, err := d.DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// A Server takes the streams that come to a listener.
type Server struct {
	Tally Tally
	// To, where not nil, gets each payload, of several connections at once.
	To func([]byte) error
	// Come is called with each client that has connected, and Gone with how that ended. Either may be nil.
	Come func(net.Addr)
	Gone func(net.Addr, error)
}

// Serve takes streams until ctx ends, or, where once is set, until those that came have ended. A client that has sent
// nothing was no stream.
func (s *Server) Serve(ctx context.Context, ln net.Listener, once bool) error {
	var streams sync.WaitGroup
	defer streams.Wait()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	var open atomic.Int64
	var came atomic.Bool
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if s.Come != nil {
			s.Come(c.RemoteAddr())
		}
		open.Add(1)
		streams.Go(func() {
			defer c.Close()
			err := Receive(ctx, c, s.To, &s.Tally)
			if s.Gone != nil {
				s.Gone(c.RemoteAddr(), err)
			}
			if err != nil || s.Tally.Bytes.Load()+s.Tally.Cut.Load() > 0 {
				came.Store(true)
			}
			if open.Add(-1) == 0 && once && came.Load() {
				ln.Close()
			}
		})
	}
}
