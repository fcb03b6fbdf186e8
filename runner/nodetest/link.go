package nodetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Link is a slow or lossy connection to a node. TCP hides a lost packet by sending it again: the reader
// gets nothing for a while, and then all of it. So a loss is such a pause here.
type Link struct {
	Delay time.Duration // one way
	Rate  int           // bit/s each way; 0 is as fast as it goes
	Loss  float64       // of 1, by packets: each costs what TCP waits before it sends one again
	// For Stall of every Every nothing passes, in either direction.
	Stall, Every time.Duration
	Held         *atomic.Bool // while it is true nothing passes; nil is never
}

// linkChunk is how many bytes pass the link as one, and linkHolds how many such wait for their
// time: what a router between holds, and a sender waits for beyond that.
const (
	linkChunk = 1400
	linkHolds = 256
)

// leastRTO is how long Linux waits at least before it sends a packet again, TCP_RTO_MIN in include/net/tcp.h.
const leastRTO = 200 * time.Millisecond

// Open lays the link to a port of this machine, until the end of the test, and gives its own.
func (l Link) Open(t testing.TB, port int) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Stalls are counted from the laying of the link, the same for each of its connections.
	began := time.Now()
	var mu sync.Mutex
	var work sync.WaitGroup
	var conns []net.Conn
	closed := false
	work.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				in.Close()
				continue
			}
			mu.Lock()
			if conns = append(conns, in, out); closed {
				in.Close()
				out.Close()
			}
			mu.Unlock()
			work.Go(func() { l.carry(out, in, began) })
			work.Go(func() { l.carry(in, out, began) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		closed = true
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return ln.Addr().(*net.TCPAddr).Port
}

// carry takes one direction of a connection over the link.
func (l Link) carry(to, from net.Conn, began time.Time) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	sent := make(chan chunk, linkHolds)
	go func() {
		defer close(sent)
		rnd := rand.New(rand.NewPCG(1, 2)) // the same packets each time
		free := time.Now()                 // when the link has sent what came before
		for {
			b := make([]byte, linkChunk)
			n, err := from.Read(b)
			if n > 0 {
				if now := time.Now(); free.Before(now) {
					free = now
				}
				if l.Rate > 0 {
					free = free.Add(time.Duration(n) * 8 * time.Second / time.Duration(l.Rate))
				}
				// What comes after it waits for it: due times never go back.
				for rnd.Float64() < l.Loss {
					free = free.Add(max(leastRTO, 2*l.Delay))
				}
				sent <- chunk{b[:n], l.due(free.Add(l.Delay), began)}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range sent {
		time.Sleep(time.Until(c.due))
		for l.Held != nil && l.Held.Load() {
			time.Sleep(20 * time.Millisecond)
		}
		if _, err := to.Write(c.bytes); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range sent { // so that the reader ends
	}
}

// due is when something arrives that would at a moment: after the stall that this is in.
func (l Link) due(at, began time.Time) time.Time {
	if l.Every <= 0 {
		return at
	}
	if since := at.Sub(began) % l.Every; since >= l.Every-l.Stall {
		return at.Add(l.Every - since)
	}
	return at
}
