package main

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/gallery"
	"github.com/railbench/railbench/runner/listen"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/ink"
	onstage "github.com/railbench/railbench/tui/stage"
	"github.com/railbench/railbench/tui/web"
)

// mostOnlookers is how many may look over SSH at a time. A connection of somebody who has not
// given the token yet is one, too, for as long as a handshake may take.
const mostOnlookers = 64

// An audience is who looks at the stage over SSH. Those whose terminals are alike share a frame,
// and all of them what the page is told: the nodes have nothing to do for them.
type audience struct {
	page      *web.Page
	simulated bool
	now       func() time.Time

	mu     sync.Mutex
	frames map[frameOf]drawn
}

// A frameOf is what a frame depends on, beside what the page was told.
type frameOf struct {
	columns, rows int
	profile       colorprofile.Profile
	letters       bool // the terminal has no Unicode
	view          onstage.View
}

type drawn struct {
	at    time.Time
	lines []string
}

// A frame is of all who ask for it within this long; mostFrames bounds what is kept.
const (
	freshFor   = 150 * time.Millisecond
	mostFrames = 2 * mostOnlookers
)

// frame is the stage, as a terminal shows it.
func (a *audience) frame(of frameOf) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Now()
	if f, ok := a.frames[of]; ok && at.Sub(f.at) < freshFor {
		return f.lines
	}
	book, board := a.page.Told()
	lines := tui.Onlooker{
		Book: book, Board: board, View: of.view, Width: of.columns, Height: of.rows, Simulated: a.simulated, Now: a.now(),
		Foot: "you look on: tab other numerals, q leaves",
	}.Lines(ink.New(true, of.profile))
	for i, l := range lines {
		if of.letters {
			l = ink.ASCII(l)
		}
		var b bytes.Buffer
		w := colorprofile.Writer{Forward: &b, Profile: of.profile}
		_, _ = w.WriteString(l) // into memory
		lines[i] = b.String()
	}
	// They are made anew when they are asked for: nothing is lost but the drawing.
	if len(a.frames) >= mostFrames {
		clear(a.frames)
	}
	a.frames[of] = drawn{at, lines}
	return lines
}

// An onlooker is one of them.
type onlooker struct {
	of       *audience
	terminal frameOf
}

// open takes a viewer in. TERM and what goes with it say which colours and signs he sees.
func (a *audience) open(t gallery.Terminal) gallery.Looker {
	var environ []string
	for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR"} {
		if v := t.Env[name]; v != "" {
			environ = append(environ, name+"="+v)
		}
	}
	// His terminal is one, though no file here is it.
	profile := max(colorprofile.Env(environ), colorprofile.ASCII)
	return &onlooker{of: a, terminal: frameOf{
		profile: profile, view: onstage.Halves, letters: lettersOnly(func(name string) string { return t.Env[name] }),
	}}
}

// Frame draws for one.
func (o *onlooker) Frame(columns, rows int) []string {
	o.terminal.columns, o.terminal.rows = columns, rows
	return o.of.frame(o.terminal)
}

// Key has other numerals, for who presses it alone, or leaves.
func (o *onlooker) Key(b byte) (leaves bool) {
	switch b {
	case '\t', 'v':
		book, _ := o.of.page.Told()
		o.terminal.view = o.terminal.view.Next(len(book.Rig.Nodes))
	case 'q', 'Q', 0x03, 0x04: // ctrl+c, ctrl+d
		return true
	}
	return false
}

// onLoopback is an address whose host is left out, with this machine's own.
func onLoopback(address string) string {
	if port, ok := strings.CutPrefix(address, ":"); ok {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// openGallery begins to show the stage over SSH. It gives what to tell people who shall look, and
// what ends it.
// The token is asked for on loopback, too: any user of this machine may come there.
func (s *stage) openGallery(address string, now func() time.Time) (told string, end func(), err error) {
	rig, err := rigPath()
	if err != nil {
		return "", nil, err
	}
	key, err := gallery.HostKey(filepath.Join(filepath.Dir(rig), "audience_ed25519"))
	if err != nil {
		return "", nil, err
	}
	ln, err := listen.TCP(onLoopback(address), mostOnlookers)
	if err != nil {
		return "", nil, fmt.Errorf("%w: --ssh names another address", err)
	}
	token, err := s.token(nil)
	if err != nil {
		ln.Close()
		return "", nil, err
	}
	a := &audience{page: s.page, simulated: s.options.Simulated, now: now, frames: map[frameOf]drawn{}}
	g := gallery.New(gallery.Options{Token: token, Host: key, Most: mostOnlookers, Open: a.open})
	var work sync.WaitGroup
	work.Go(func() { _ = g.Serve(ln) }) // it ends when it is closed
	host, port := reachable(ln.Addr())
	told = fmt.Sprintf("ssh -p %s audience@%s   password %s   host key %s", port, host, token,
		ssh.FingerprintSHA256(key.PublicKey()))
	return told, func() {
		g.Close()
		work.Wait()
	}, nil
}
