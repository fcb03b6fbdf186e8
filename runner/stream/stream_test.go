package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What is only in the kernel's buffers has not arrived: over a slow link that is a good part of it, and
// the two ends would disagree about the rate.
func TestDrainWaitsForTheReceiver(t *testing.T) {
	p, err := NewPayload(1<<14, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client, server := pair(t)
	written, got := make(chan struct{}), Tally{}
	var taken atomic.Bool
	var work sync.WaitGroup
	work.Go(func() {
		defer server.Close()
		<-written
		if err := Receive(t.Context(), server, nil, &got); err != nil {
			t.Error(err)
		}
		taken.Store(true)
	})
	if err := Send(t.Context(), client, p, 2, &Tally{}); err != nil {
		t.Error(err)
	}
	close(written)
	Drain(client)
	if !taken.Load() || got.Blocks.Load() != 2 {
		t.Errorf("it ends before the receiver has taken all: %d blocks", got.Blocks.Load())
	}
	work.Wait()
}

// pair is a connection over loopback.
func pair(t *testing.T) (client *net.TCPConn, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = Dial(t.Context(), "127.0.0.1", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// What is sent, copied or not, arrives whole, block by block.
func TestSendAndReceive(t *testing.T) {
	for _, zeroCopy := range []bool{false, true} {
		sendAndReceive(t, zeroCopy)
	}
}

func sendAndReceive(t *testing.T, zeroCopy bool) {
	t.Helper()
	const size, blocks = 1<<20 + 17, 5
	p, err := NewPayload(size, zeroCopy)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client, server := pair(t)
	var sent, got Tally
	var work sync.WaitGroup
	work.Go(func() {
		defer client.Close()
		if err := Send(t.Context(), client, p, blocks, &sent); err != nil {
			t.Error(err)
		}
	})
	payloads := 0
	err = Receive(t.Context(), server, func(b []byte) error {
		if len(b) != size || bytes.Count(b, []byte{1}) != size {
			t.Errorf("a payload has %d bytes, %d of them ones", len(b), bytes.Count(b, []byte{1}))
		}
		payloads++
		return nil
	}, &got)
	work.Wait()
	if err != nil || payloads != blocks || got.Bytes.Load() != size*blocks || got.Blocks.Load() != blocks ||
		!got.Whole() ||
		sent.Bytes.Load() != size*blocks {
		t.Errorf("%v: %d payloads, %d bytes in %d blocks, whole %v", err, payloads, got.Bytes.Load(), got.Blocks.Load(),
			got.Whole())
	}
}

// raw is a stream as it would be on the wire.
func raw(blocks ...[]byte) []byte { return bytes.Join(blocks, nil) }

func block(seq uint64, payload string) []byte {
	return append(header{sumOf([]byte(payload)), seq, uint64(len(payload))}.bytes(), payload...)
}

// Each thing that can go wrong on the way is seen, and only that.
func TestReceiveTells(t *testing.T) {
	corrupt := block(1, "hello")
	corrupt[len(corrupt)-1] ^= 1
	huge := header{0, 0, MaxBytes + 1}.bytes()
	for _, c := range []struct {
		name                   string
		sent                   []byte
		blocks, lost, bad, cut uint64
		foreign                bool
	}{
		{name: "nothing"},
		{name: "good", sent: raw(block(0, "a"), block(1, "b")), blocks: 2},
		{name: "a block is missing", sent: raw(block(0, "a"), block(3, "b")), blocks: 2, lost: 2},
		{name: "the first is missing", sent: block(1, "a"), blocks: 1, lost: 1},
		{name: "a bit is another", sent: raw(block(0, "a"), corrupt, block(2, "c")), blocks: 3, bad: 1},
		{name: "it ends in a header", sent: block(0, "a")[:10], cut: 1},
		{name: "it ends in a payload", sent: raw(block(0, "a"), block(1, "hello")[:26]), blocks: 1, cut: 1},
		{name: "it ends behind a header", sent: block(0, "hello")[:headerBytes], cut: 1},
		{name: "another protocol", sent: []byte("GET / HTTP/1.1\r\nHost: railbench\r\n\r\n"), foreign: true},
		{name: "a length that nobody sends", sent: huge, foreign: true},
		{name: "no length", sent: block(0, ""), foreign: true},
		{name: "a number that comes again", sent: raw(block(0, "a"), block(0, "a")), blocks: 1, foreign: true},
	} {
		client, server := pair(t)
		if _, err := client.Write(c.sent); err != nil {
			t.Fatal(err)
		}
		client.Close()
		var got Tally
		err := Receive(t.Context(), server, nil, &got)
		if errors.Is(err, ErrForeign) != c.foreign || !c.foreign && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got.Blocks.Load() != c.blocks || got.Lost.Load() != c.lost || got.Corrupt.Load() != c.bad ||
			got.Cut.Load() != c.cut ||
			got.Whole() != (c.lost+c.bad+c.cut == 0) {
			t.Errorf("%s: %d blocks, %d lost, %d corrupt, %d cut", c.name, got.Blocks.Load(), got.Lost.Load(),
				got.Corrupt.Load(), got.Cut.Load())
		}
	}
}

// What is sent counts while a block is under way: over a slow way one takes seconds, in which much moves.
func TestABlockCountsWhileItIsSent(t *testing.T) {
	for _, zeroCopy := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		c, err := Dial(t.Context(), "", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		slow, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		const size = 64 << 20
		p, err := NewPayload(size, zeroCopy)
		if err != nil {
			t.Fatal(err)
		}
		var tally Tally
		done := make(chan error, 1)
		go func() { done <- Send(t.Context(), c, p, 1, &tally) }()
		if _, err := io.CopyN(io.Discard, slow, size/2); err != nil {
			t.Fatal(err)
		}
		if moved := tally.Bytes.Load(); moved < size/4 || moved >= size || tally.Blocks.Load() != 0 {
			t.Errorf("zero copy %t: after half of a block %d bytes and %d blocks count", zeroCopy, moved, tally.Blocks.Load())
		}
		if _, err := io.CopyN(io.Discard, slow, size/2); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || tally.Bytes.Load() != size || tally.Blocks.Load() != 1 {
			t.Errorf("zero copy %t: %v, %d bytes and %d blocks", zeroCopy, err, tally.Bytes.Load(), tally.Blocks.Load())
		}
		c.Close()
		slow.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The error of a sender whose receiver has gone names the receiver, and no system call.
func TestReceiverIsGone(t *testing.T) {
	for name, send := range map[string]func(context.Context, *net.TCPConn) error{
		"send": func(ctx context.Context, c *net.TCPConn) error {
			p, err := NewPayload(1<<16, false)
			if err != nil {
				return err
			}
			return Send(ctx, c, p, 0, &Tally{})
		},
		"emulate": func(ctx context.Context, c *net.TCPConn) error { return Emulate(ctx, c, 1<<16, 1e12, 0, &Tally{}) },
		"forward": func(ctx context.Context, c *net.TCPConn) error {
			queue := make(chan []byte, 64)
			for range cap(queue) {
				queue <- make([]byte, 1<<20)
			}
			return Forward(ctx, c, queue, &Tally{})
		},
	} {
		client, server := pair(t)
		server.Close()
		err := send(t.Context(), client)
		if want := client.RemoteAddr().String() + " closed the connection before this end was done"; err == nil ||
			err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Several streams side by side are one tally; an interrupted one has lost nothing.
func TestServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var s Server
	ctx := t.Context()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln, true) }()
	p, err := NewPayload(1<<16, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sending, stop := context.WithCancel(t.Context())
	var sent [3]Tally
	var work sync.WaitGroup
	for i := range sent {
		c, err := Dial(t.Context(), "", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer c.Close()
			if err := Send(sending, c, p, 0, &sent[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for s.Tally.Blocks.Load() < 30 {
		runtime.Gosched()
	}
	stop()
	work.Wait()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !s.Tally.Whole() {
		t.Errorf("%d lost, %d corrupt, %d cut", s.Tally.Lost.Load(), s.Tally.Corrupt.Load(), s.Tally.Cut.Load())
	}
}

// Real input goes through a queue, in order.
func TestForward(t *testing.T) {
	client, server := pair(t)
	queue := make(chan []byte, 2)
	var sent, got Tally
	var work sync.WaitGroup
	work.Go(func() {
		for _, text := range []string{"one", "two", "three"} {
			queue <- []byte(text)
		}
		close(queue)
	})
	work.Go(func() {
		defer client.Close()
		if err := Forward(t.Context(), client, queue, &sent); err != nil {
			t.Error(err)
		}
	})
	var texts []string
	err := Receive(t.Context(), server, func(b []byte) error {
		texts = append(texts, string(b))
		return nil
	}, &got)
	work.Wait()
	if err != nil || len(texts) != 3 || texts[2] != "three" || got.Bytes.Load() != 11 || sent.Bytes.Load() != 11 {
		t.Errorf("%v: %q", err, texts)
	}
}

// sink takes all at once.
type sink struct {
	net.Conn
	late time.Duration // of the tenth write
	n    int
}

func (s *sink) Write(b []byte) (int, error) {
	if s.n++; s.n == 4 {
		time.Sleep(s.late)
	}
	return len(b), nil
}
func (s *sink) SetDeadline(time.Time) error { return nil }

// The rate is held within 1 %, also where one write was late: the time is the bubble's own.
func TestEmulateHoldsItsRate(t *testing.T) {
	for _, late := range []time.Duration{0, 300 * time.Millisecond} {
		for _, rate := range []float64{1e6, 1.25e9, 5.78e9} {
			synctest.Test(t, func(t *testing.T) {
				const size = 1 << 20
				blocks := uint64(math.Ceil(rate * 5 / size)) // of five seconds
				var tally Tally
				began := time.Now()
				if err := Emulate(t.Context(), &sink{late: late}, size, rate, blocks, &tally); err != nil {
					t.Fatal(err)
				}
				// The last block's time is over when the next would have begun.
				took := time.Since(began).Seconds() + size/rate
				if got := float64(tally.Bytes.Load()) / took; math.Abs(got/rate-1) > 0.01 {
					t.Errorf("%.0f bytes a second, want %.0f, late by %s", got, rate, late)
				}
			})
		}
	}
}

func TestRates(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, v := range []float64{0, 5.78, 1e300} {
			if got, why := DecodeRate(order, EncodeRate(order, v)); got != v || why != "" {
				t.Errorf("%v is %v, %q", v, got, why)
			}
		}
		for why, packet := range map[string][]byte{
			"short": make([]byte, 7), "long": make([]byte, 9), "no number": EncodeRate(order, math.NaN()),
			"infinite": EncodeRate(order, math.Inf(1)), "negative": EncodeRate(order, -1),
		} {
			if _, got := DecodeRate(order, packet); got != why {
				t.Errorf("% x: %q, want %q", packet, got, why)
			}
		}
		if _, why := DecodeRate(order, EncodeRate(order, math.Inf(-1))); why != "infinite" {
			t.Errorf("minus infinity is %q", why)
		}
	}
	if _, why := DecodeRate(binary.LittleEndian, nil); why != "short" {
		t.Errorf("an empty packet is %q", why)
	}
}

func TestListenRates(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	to, err := net.Dial("udp", c.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, packet := range [][]byte{EncodeRate(binary.BigEndian, 5.5), []byte("x"), EncodeRate(binary.BigEndian, 6)} {
		if _, err := to.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	var rates []float64
	var whys []string
	err = ListenRates(ctx, c, binary.BigEndian, func(_ net.Addr, rate float64, why string) {
		if why != "" {
			whys = append(whys, why)
		} else {
			rates = append(rates, rate)
		}
		if len(rates) == 2 {
			cancel()
		}
	})
	if err != nil || len(rates) != 2 || rates[0] != 5.5 || len(whys) != 1 || whys[0] != "short" {
		t.Errorf("%v, %v, %v", err, rates, whys)
	}
}

func BenchmarkStream(b *testing.B) {
	p, err := NewPayload(DefaultBytes, false)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var s Server
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), ln, true) }()
	c, err := Dial(context.Background(), "", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(DefaultBytes)
	var t Tally
	if err := Send(context.Background(), c, p, uint64(b.N), &t); err != nil {
		b.Fatal(err)
	}
	c.Close()
	<-served
}

// What headers promise is neither counted round to nothing nor reserved.
func TestHeadersThatLie(t *testing.T) {
	receive := func(got *Tally, sent []byte) error {
		client, server := pair(t)
		if _, err := client.Write(sent); err != nil {
			t.Fatal(err)
		}
		client.Close()
		return Receive(t.Context(), server, func([]byte) error { return nil }, got)
	}
	var got Tally
	for range 2 {
		if err := receive(&got, block(1<<63, "a")); err != nil {
			t.Error(err)
		}
	}
	if got.Lost.Load() != mostLost || got.Whole() {
		t.Errorf("twice 2^63 lost blocks are %d, whole %t", got.Lost.Load(), got.Whole())
	}
	if err := receive(&got, raw(block(math.MaxUint64, "a"), block(0, "a"))); !errors.Is(err, ErrForeign) {
		t.Errorf("after the last number it begins again: %v", err)
	}
	sum := Tally{}
	sum.Lost.Store(math.MaxUint64)
	sum.Corrupt.Store(1)
	if sum.Whole() {
		t.Error("a sum of 2^64 is whole")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := receive(&got, append(header{0, 0, MaxBytes}.bytes(), 'a')); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > MaxBytes/16 {
		t.Errorf("for a header of 24 bytes %d bytes were reserved", made)
	}
}

// TestStrangers: a client that connects and sends nothing neither blocks a sender nor ends what waits for
// one.
func TestStrangers(t *testing.T) {
	var r Receiver
	defer r.Close()
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.Serve(t.Context(), true) }()
	at := r.Ways[0].At
	var idle []*net.TCPConn
	for range mostStreams + 10 {
		c, err := Dial(t.Context(), "", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	p, err := NewPayload(1<<16, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := NewSender(t.Context(), []string{at}, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range idle[:len(idle)-1] {
		c.Close() // the last one leaves after the sender
	}
	if err := s.Ones(t.Context(), p, 3); err != nil {
		t.Error(err)
	}
	idle[len(idle)-1].Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := r.Ways[0].Tally.Blocks.Load(); n != 6 || !r.Ways[0].Tally.Whole() {
		t.Errorf("%d blocks came of 6", n)
	}
}
