package web

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// A Listener holds a limited number of connections, and accepts each new one: if there are too many, it
// closes the oldest. Connections whose client has shown the token are closed last. So a client without it
// cannot keep viewers away, however many connections it holds and however slowly it reads.
type Listener struct {
	net.Listener
	most, each int

	mu   sync.Mutex
	open []*place // the oldest first
}

// mostEach is how many connections one address may have that have not shown the token: a browser takes six, and several
// viewers may share an address.
const mostEach = 64

// Listen holds MostConnections of a listener. On loopback all share an address, and each alone has no limit.
func Listen(ln net.Listener) *Listener {
	each := mostEach
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		each = MostConnections
	}
	return &Listener{Listener: ln, most: MostConnections, each: each}
}

// A place is one connection.
type place struct {
	net.Conn
	from  netip.Addr
	known bool // its client has shown the token; the listener's mu guards it
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

// over is the connection that has to go; nil where there is room for all.
func (l *Listener) over(from netip.Addr) *place {
	strangers := 0
	for _, p := range l.open {
		if p.from == from && !p.known {
			strangers++
		}
	}
	if strangers > l.each {
		return l.oldest(func(p *place) bool { return p.from == from && !p.known })
	}
	if len(l.open) <= l.most {
		return nil
	}
	if p := l.oldest(func(p *place) bool { return !p.known }); p != nil {
		return p
	}
	return l.open[0]
}

func (l *Listener) oldest(of func(*place) bool) *place {
	if i := slices.IndexFunc(l.open, of); i >= 0 {
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

// placeKey is of a request's place in its context.
type placeKey struct{}

// withPlace is for http.Server.ConnContext.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, c)
}

// hasToken keeps the place of a request whose client has shown the token.
func hasToken(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.ln.mu.Lock()
		p.known = true
		p.ln.mu.Unlock()
	}
}
