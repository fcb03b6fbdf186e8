package listen

import (
	"errors"
	"net"
	"testing"
)

// A connection more than there may be is taken once another has ended, and who waits for one
// is told when the listener is closed.
func TestBounded(t *testing.T) {
	ln, err := TCP("127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if !Loopback(ln.Addr()) || Loopback(&net.TCPAddr{IP: net.IPv4zero}) {
		t.Error("what is loopback")
	}
	type accepted struct {
		c   net.Conn
		err error
	}
	got := make(chan accepted)
	go func() {
		for range 3 {
			c, err := ln.Accept()
			got <- accepted{c, err}
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-got
	if first.err != nil {
		t.Fatal(first.err)
	}
	select {
	case <-got:
		t.Error("there was room for a second one")
	default:
	}
	first.c.Close()
	first.c.Close() // and no more room than one by the second time
	if second := <-got; second.err != nil {
		t.Error(second.err)
	}
	ln.Close()
	if third := <-got; !errors.Is(third.err, net.ErrClosed) {
		t.Errorf("%v", third.err)
	}
}
