// Package crowd accepts connections where any stranger may connect, so that strangers keep no one else away. What is
// sent over a connection, and what makes its client known, is not known here.
package crowd

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// A Listener holds a limited number of connections, and accepts each new one: if there are too many, it closes the
// oldest whose client is not known. So a stranger cannot keep others away, however many connections it holds and
// however slowly it reads.
type Listener struct {
	net.Listener
	most, each int

	mu   sync.Mutex
	open []*place // the oldest first
}

// Listen holds at most that many connections of a listener, and of those that are not known each of one address.
func Listen(ln net.Listener, most, each int) *Listener {
	return &Listener{Listener: ln, most: most, each: each}
}

// A place is one connection.
type place struct {
	net.Conn
	from  netip.Addr
	known bool // the listener's mu guards it
	ln    *Listener
}

// Accept gives the next connection, and closes another where there are too many.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p := &place{Conn: c, ln: l}
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		p.from = network(tcp.AddrPort().Addr())
	}
	l.mu.Lock()
	l.open = append(l.open, p)
	over := l.over(p.from)
	l.mu.Unlock()
	if over != nil {
		_ = over.Close() // it may be closed already
	}
	return p, nil
}

// network is what one client has at least: of IPv6 a whole subnet.
func network(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		if subnet, err := a.Prefix(64); err == nil {
			return subnet.Addr()
		}
	}
	return a
}

// over is the oldest stranger's connection where there are too many; nil where there is room for all. There is always
// one: the newest.
func (l *Listener) over(from netip.Addr) *place {
	theirs := slices.DeleteFunc(slices.Clone(l.open), func(p *place) bool { return p.known || p.from != from })
	if len(theirs) > l.each {
		return theirs[0]
	}
	if i := slices.IndexFunc(l.open, func(p *place) bool { return !p.known }); i >= 0 && len(l.open) > l.most {
		return l.open[i]
	}
	return nil
}

// Close closes the connection and frees its place.
func (p *place) Close() error {
	p.ln.mu.Lock()
	if i := slices.Index(p.ln.open, p); i >= 0 {
		p.ln.open = slices.Delete(p.ln.open, i, i+1)
	}
	p.ln.mu.Unlock()
	return p.Conn.Close()
}

// Known says that the client of this connection has identified itself: it no longer counts as a stranger.
func (p *place) Known() {
	p.ln.mu.Lock()
	p.known = true
	p.ln.mu.Unlock()
}
