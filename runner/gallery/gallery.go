// Package gallery shows a screen to people who come over SSH, and lets them do nothing else:
// there is no shell, no command, no file, nothing is forwarded. It knows who may look, how large
// their terminals are and which keys they press; what they see is drawn by whoever opens it.
package gallery

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Terminal is what a viewer says of his own, as far as it is believed.
type Terminal struct {
	Columns, Rows int
	// Env has what of TERM, COLORTERM, NO_COLOR, LC_ALL, LC_CTYPE and LANG he told.
	Env map[string]string
}

// A Looker is one viewer. Its methods are called by one goroutine.
type Looker interface {
	// Frame is what a terminal of this size shows now: a line a row.
	Frame(columns, rows int) []string
	// Key takes a byte that was typed, and reports whether the viewer leaves.
	Key(b byte) (leaves bool)
}

// Options are what a gallery is opened with.
type Options struct {
	// Token is what who looks has to give, as his password or as his name.
	Token string
	// Host is the key by which viewers know this machine.
	Host ssh.Signer
	// Most is how many may look at a time.
	Most int
	Open func(Terminal) Looker
}

// What one viewer may take. A screen has a line a row, and nobody's is larger than the largest.
const (
	pace        = 200 * time.Millisecond // between two frames
	beginsIn    = 10 * time.Second       // from the connection to the first frame
	slowAfter   = 5 * time.Second        // a viewer who takes a frame no faster is let go
	asksEvery   = 30 * time.Second       // whether he is still there
	partsIn     = 5 * time.Second        // from the last word to the end of the connection
	mostColumns = 400
	mostRows    = 150
)

// A Gallery is open until it is closed.
type Gallery struct {
	o      Options
	config *ssh.ServerConfig
	room   chan struct{}

	over   chan struct{} // closed by Close
	work   sync.WaitGroup
	mu     sync.Mutex
	ended  bool
	opened []net.Listener
	conns  map[net.Conn]bool
}

// New makes a gallery. Serve opens it.
func New(o Options) *Gallery {
	g := &Gallery{o: o, room: make(chan struct{}, o.Most), over: make(chan struct{}), conns: map[net.Conn]bool{}}
	g.config = &ssh.ServerConfig{
		MaxAuthTries: 4, ServerVersion: "SSH-2.0-railbench",
		NoClientAuth: true, // but for a name that is the token
		NoClientAuthCallback: func(c ssh.ConnMetadata) (*ssh.Permissions, error) {
			return nil, g.admits(c.User())
		},
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			return nil, g.admits(string(password))
		},
	}
	g.config.AddHostKey(o.Host)
	return g
}

var errToken = errors.New("the token is missing or wrong")

func (g *Gallery) admits(given string) error {
	// Of hashes the comparison takes as long for any length.
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.o.Token))
	if g.o.Token == "" || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return errToken
	}
	return nil
}

// Serve admits viewers until the listener or the gallery is closed.
func (g *Gallery) Serve(ln net.Listener) error {
	defer ln.Close()
	g.mu.Lock()
	g.opened = append(g.opened, ln)
	if g.ended {
		ln.Close()
	}
	g.mu.Unlock()
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		if !g.keep(c) {
			c.Close()
			return net.ErrClosed
		}
	}
}

// keep has a connection served, unless the gallery is closed.
func (g *Gallery) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.conns[c] = true
	g.work.Go(func() {
		defer func() {
			c.Close()
			g.mu.Lock()
			delete(g.conns, c)
			g.mu.Unlock()
		}()
		g.serve(&metered{Conn: c, left: mostAtOnce, at: time.Now()})
	})
	return true
}

// Close lets all viewers go, and returns once nothing is left of them. Who is looking gets his
// terminal back first. It may be called again.
func (g *Gallery) Close() {
	g.mu.Lock()
	if !g.ended {
		g.ended = true
		close(g.over)
	}
	for _, ln := range g.opened {
		ln.Close()
	}
	g.mu.Unlock()
	late := time.AfterFunc(partsIn, g.cut)
	defer late.Stop()
	g.work.Wait()
}

// cut ends the connections that are left.
func (g *Gallery) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.Close()
	}
}

// serve is one connection.
func (g *Gallery) serve(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(beginsIn)) // of a connection that is gone the next line tells
	conn, channels, requests, err := ssh.NewServerConn(c, g.config)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{}) // as above
	v := &viewer{
		g: g, conn: conn, raw: c, left: make(chan struct{}),
		begun: time.AfterFunc(beginsIn, func() { c.Close() }),
	}
	defer v.begun.Stop()
	var work sync.WaitGroup
	defer work.Wait()
	defer c.Close()
	work.Go(func() {
		for r := range requests { // forwarding, mostly: there is none
			if r.WantReply {
				_ = r.Reply(false, nil) // who asked is gone
			}
		}
	})
	looks := false
	for n := range channels {
		if n.ChannelType() != "session" || looks {
			_ = n.Reject(ssh.Prohibited, "there is one screen to look at, and nothing else") // as above
			continue
		}
		ch, asked, err := n.Accept()
		if err != nil {
			return
		}
		looks = true
		work.Go(func() { v.session(ch, asked) })
	}
}

// A metered connection ends where its other end says more than anybody types: whatever a flood is
// made of, it is read no faster than this.
type metered struct {
	net.Conn
	left float64
	at   time.Time
}

// What a viewer may say, in bytes: a handshake and a paste at once, and a second from then on some
// hundred sizes of a window that is dragged.
const (
	mostAtOnce  = 256 << 10
	mostASecond = 16 << 10
)

var errFlood = errors.New("it says more than a viewer has to")

// Read is called by one goroutine.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	now := time.Now()
	m.left = min(mostAtOnce, m.left+mostASecond*now.Sub(m.at).Seconds()) - float64(n)
	if m.at = now; m.left < 0 {
		m.Close()
		return 0, errFlood
	}
	return n, err
}

// bye tells a viewer that it is over, and why where he may not know, and waits for him to go.
func (v *viewer) bye(ch ssh.Channel, status uint32, text string) {
	late := time.AfterFunc(partsIn, func() { v.raw.Close() })
	defer late.Stop()
	_, _ = io.WriteString(ch, text) // he may be gone already
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
	_ = ch.Close()
	_ = v.conn.Wait()
}
