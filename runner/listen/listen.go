// Package listen opens the sockets at which railbench itself is asked, and bounds who asks.
// What is answered is not known here.
package listen

import (
	"fmt"
	"net"
	"sync"
)

// TCP listens at an address, and holds no more connections open at a time than most: who
// comes then waits in the kernel's queue, which is bounded, too.
func TCP(address string, most int) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	return &bounded{Listener: ln, room: make(chan struct{}, most), closed: make(chan struct{})}, nil
}

// Loopback reports whether only this machine can reach an address that was listened at.
func Loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

type bounded struct {
	net.Listener
	room   chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.room <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.room
		return nil, err
	}
	return &held{Conn: c, leave: sync.OnceFunc(func() { <-b.room })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// held gives its room back when it is closed.
type held struct {
	net.Conn
	leave func()
}

func (h *held) Close() error {
	defer h.leave()
	return h.Conn.Close()
}
