package stream

import (
	"context"
	"net"
	"testing"
	"time"
)

// A stream that is there and silent stalls. Where none is there any more no one sends, and that is not a stall.
func TestNobodySendsIsNoStall(t *testing.T) {
	r := Receiver{}
	defer r.Close()
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = r.Serve(ctx, false) }()
	w := r.Ways[0]
	has := func(want int64) {
		t.Helper()
		for range 30_000 { // in the end: minutes
			if w.open.Load() == want {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("it has %d streams, not %d", w.open.Load(), want)
	}
	c, now := &Counter{Ways: r.Ways}, time.Now()
	after := func(seconds int) int {
		c.Look(now.Add(time.Duration(seconds) * time.Second))
		return w.Stalls
	}
	from, err := net.Dial("tcp", w.At)
	if err != nil {
		t.Fatal(err)
	}
	has(1)
	w.Tally.Bytes.Add(5)
	if n := after(0) + after(3); n != 1 {
		t.Errorf("a silent stream: %d stalls", n)
	}
	from.Close()
	has(0)
	if n := after(6); n != 1 || after(20) != 1 {
		t.Errorf("no stream: %d stalls more", after(40)-1)
	}
}
