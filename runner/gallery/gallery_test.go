package gallery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner/testform"
)

const token = "abcdefghijklmnop"

// painting is a Looker that says how large it was drawn, and which keys were pressed.
type painting struct {
	term  Terminal
	typed string
}

func (p *painting) Frame(columns, rows int) []string {
	lines := make([]string, rows)
	lines[0] = fmt.Sprintf("%dx%d %s %q.", columns, rows, p.term.Env["TERM"], p.typed)
	return lines
}

func (p *painting) Key(b byte) bool {
	p.typed += string(rune(b))
	return b == 'q'
}

// open is a gallery on loopback, closed with the test.
func open(t *testing.T, most int) (address string, g *Gallery) {
	t.Helper()
	key, err := HostKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	g = New(Options{
		Token: token, Host: key, Most: most,
		Open: func(term Terminal) Looker { return &painting{term: term} },
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() { _ = g.Serve(ln) }) // it ends with the gallery
	t.Cleanup(func() {
		g.Close()
		work.Wait()
	})
	return ln.Addr().String(), g
}

func dial(t *testing.T, address, user, password string) (*ssh.Client, error) {
	t.Helper()
	c, err := ssh.Dial("tcp", address, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.Password(password)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // a test's own
	})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// A looking is a viewer's end of a session.
type looking struct {
	t       *testing.T
	session *ssh.Session
	in      io.Writer
	out     io.Reader
	seen    bytes.Buffer
}

func look(t *testing.T, c *ssh.Client, columns, rows int) *looking {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	in, _ := s.StdinPipe()
	out, _ := s.StdoutPipe()
	if err := s.RequestPty("xterm-256color", rows, columns, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	return &looking{t: t, session: s, in: in, out: out}
}

// until reads until a text has been shown.
func (l *looking) until(text string) {
	l.t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(l.seen.String(), text) {
		n, err := l.out.Read(buffer)
		l.seen.Write(buffer[:n])
		if err != nil && !strings.Contains(l.seen.String(), text) {
			l.t.Fatalf("no %q came, but %q: %v", text, l.seen.String(), err)
		}
	}
	_, after, _ := strings.Cut(l.seen.String(), text)
	l.seen.Reset()
	l.seen.WriteString(after)
}

// Who has the token, as his password or as his name, looks: at his own size, which may change.
// His keys come, those of one letter alone, and he gets his terminal back.
func TestLook(t *testing.T) {
	t.Parallel()
	address, _ := open(t, 2)
	for _, who := range [][2]string{{"anybody", token}, {token, "nothing"}} {
		c, err := dial(t, address, who[0], who[1])
		if err != nil {
			t.Fatal(err)
		}
		l := look(t, c, 90, 30)
		l.until(enter)
		l.until(`90x30 xterm-256color "".`)
		if err := l.session.WindowChange(50, 200); err != nil {
			t.Fatal(err)
		}
		l.until("200x50 ")
		if _, err := io.WriteString(l.in, "\x1b[1;5Av\x1bOq"); err != nil { // a key with q in its sequence is no q
			t.Fatal(err)
		}
		l.until(`"v".`)
		if _, err := io.WriteString(l.in, "q"); err != nil {
			t.Fatal(err)
		}
		l.until(leave)
		if err := l.session.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// Nobody else gets in, and who is in gets nothing else.
func TestNothingElse(t *testing.T) {
	t.Parallel()
	address, _ := open(t, 2)
	for _, who := range [][2]string{
		{"root", ""},
		{"", ""},
		{"root", token + "x"},
		{"root", token[:15]},
		{token[:15], "x"},
	} {
		if _, err := dial(t, address, who[0], who[1]); err == nil {
			t.Errorf("%q came in with %q", who[0], who[1])
		}
	}
	c, err := dial(t, address, "anybody", token)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := c.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("it forwards a connection")
	}
	if ln, err := c.Listen("tcp", "127.0.0.1:0"); err == nil {
		ln.Close()
		t.Error("it forwards a port back")
	}
	if _, _, err := c.OpenChannel("auth-agent@openssh.com", nil); err == nil {
		t.Error("it opens another channel")
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestSubsystem("sftp"); err == nil {
		t.Error("it has files")
	}
	if err := s.Run("id"); err == nil {
		t.Error("it runs a command")
	}
	if other, err := c.NewSession(); err == nil {
		other.Close()
		t.Error("one viewer has two sessions")
	}
}

// Where there is no terminal it says what there is; where there is no room, too.
func TestSaysWhy(t *testing.T) {
	t.Parallel()
	address, _ := open(t, 1)
	c, err := dial(t, address, "anybody", token)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s.Stdout = &said
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 2 ||
		!strings.Contains(said.String(), "no terminal here") {
		t.Errorf("%v: %q", err, said.String())
	}
	if c, err = dial(t, address, "anybody", token); err != nil {
		t.Fatal(err)
	}
	look(t, c, 80, 24).until("80x24")
	if c, err = dial(t, address, "anybody", token); err != nil {
		t.Fatal(err)
	}
	l := look(t, c, 80, 24)
	l.until("too many viewers")
	if err := l.session.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 1 {
		t.Error(err)
	}
}

// flood is how often a hostile client asks, unless it is let go before: on a busy machine it may be
// no faster than somebody who is welcome.
const flood = 10_000

// What a hostile client sends ends at most itself: others go on looking.
func TestHostile(t *testing.T) {
	t.Parallel()
	address, _ := open(t, 8)
	good, err := dial(t, address, "anybody", token)
	if err != nil {
		t.Fatal(err)
	}
	other := look(t, good, 80, 24)
	other.until("80x24")
	viewer := func(t *testing.T) *ssh.Client {
		c, err := dial(t, address, "anybody", token)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, attack := range map[string]func(t *testing.T){
		"garbage for a handshake": func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 64 {
				if _, err := c.Write(bytes.Repeat([]byte("\xff\x00SSH-2.0-\r\n"), 4096)); err != nil {
					return
				}
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Log(err) // it was cut off, as it has to be
			}
		},
		"a terminal of four billion columns": func(t *testing.T) {
			l := look(t, viewer(t), 1<<32-1, 1<<32-1)
			l.until(fmt.Sprintf("%dx%d", mostColumns, mostRows))
			if err := l.session.WindowChange(0, 0); err != nil {
				t.Fatal(err)
			}
			l.until("80x24")
		},
		"sizes without an end": func(t *testing.T) {
			l := look(t, viewer(t), 80, 24)
			go func() { _, _ = io.Copy(io.Discard, l.out) }()
			for i := 0; i < flood && l.session.WindowChange(1+i%200, 1+i%300) == nil; i++ {
				continue
			}
		},
		"keys without an end": func(t *testing.T) {
			l := look(t, viewer(t), 80, 24)
			go func() { _, _ = io.Copy(io.Discard, l.out) }()
			for range flood / 100 {
				if _, err := l.in.Write(bytes.Repeat([]byte("x"), 32<<10)); err != nil {
					return
				}
			}
		},
		"sessions without an end": func(t *testing.T) {
			c := viewer(t)
			look(t, c, 80, 24).until("80x24")
			for range flood / 100 {
				if _, _, err := c.OpenChannel("session", bytes.Repeat([]byte("x"), 1024)); err != nil {
					if _, refused := errors.AsType[*ssh.OpenChannelError](err); !refused {
						return
					}
				}
			}
		},
		"requests that are none": func(t *testing.T) {
			c := viewer(t)
			s, err := c.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{
				"pty-req", "env", "window-change", "shell", "signal", "x11-req",
				strings.Repeat("n", 1000),
			} {
				for _, load := range [][]byte{nil, {0}, bytes.Repeat([]byte{0xff}, 40)} {
					if _, err := s.SendRequest(name, true, load); err != nil && !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t)
			if _, err := io.WriteString(other.in, "v"); err != nil {
				t.Fatal(err)
			}
			other.until(`v".`)
		})
	}
}

// A restless Looker has another frame each time.
type restless struct{ frames int }

func (r *restless) Frame(int, int) []string {
	r.frames++
	return slices.Repeat([]string{strings.Repeat(fmt.Sprintf("%8d", r.frames), 64)}, 128) // more than the kernel holds
}

func (r *restless) Key(byte) bool { return false }

// A deaf connection reads nothing any more once it is told so; gone is closed with it.
type deaf struct {
	net.Conn
	from chan struct{}
}

func (d deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	select {
	case <-d.from:
		select {} // for as long as the test runs
	default:
		return n, err
	}
}

type watched struct {
	net.Conn
	gone func()
}

func (w *watched) Close() error {
	w.gone()
	return w.Conn.Close()
}

// A viewer who doesn't read is let go, and holds up neither others nor the end.
func TestNeverReads(t *testing.T) {
	t.Parallel()
	testform.NeedsFull(t, "waits for a limit of five seconds")
	key, err := HostKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{Token: token, Host: key, Most: 1, Open: func(Terminal) Looker { return &restless{} }})
	defer g.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	theirs, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ours.(*net.TCPConn).SetWriteBuffer(4096),
		theirs.(*net.TCPConn).SetReadBuffer(4096)); err != nil {
		t.Fatal(err)
	}
	gone, from := make(chan struct{}), make(chan struct{})
	if !g.keep(&watched{ours, sync.OnceFunc(func() { close(gone) })}) {
		t.Fatal("it is closed")
	}
	conn, channels, requests, err := ssh.NewClientConn(deaf{theirs, from}, "", &ssh.ClientConfig{
		User: token, HostKeyCallback: ssh.InsecureIgnoreHostKey(), // a test's own
	})
	if err != nil {
		t.Fatal(err)
	}
	look(t, ssh.NewClient(conn, channels, requests), 80, 24).until("1")
	close(from)
	<-gone
}

// Who says more than anybody types is let go; who drags his window isn't.
func TestMetered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		says := func(bytes int, every time.Duration) (rounds int) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			defer theirs.Close()
			m := &metered{Conn: ours, left: mostAtOnce, at: time.Now()}
			go func() {
				for {
					if _, err := theirs.Write(make([]byte, bytes)); err != nil {
						return
					}
				}
			}()
			buffer := make([]byte, bytes)
			for range 5000 {
				if _, err := m.Read(buffer); err != nil {
					return rounds
				}
				rounds++
				time.Sleep(every)
			}
			return rounds
		}
		if n := says(100, time.Second/60); n != 5000 {
			t.Errorf("who drags his window is let go after %d sizes", n)
		}
		if n := says(100, time.Microsecond); n == 5000 {
			t.Error("a flood is read for ever")
		}
		if n := says(mostAtOnce+1, time.Hour); n != 0 {
			t.Errorf("%d times too much at once", n)
		}
	})
}

// The key is made once, kept for its user alone, and a file that is none is not taken.
func TestHostKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "key")
	first, err := HostKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := HostKey(path)
	if err != nil || !bytes.Equal(first.PublicKey().Marshal(), again.PublicKey().Marshal()) {
		t.Errorf("another key: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := HostKey(path); err == nil || !strings.Contains(err.Error(), "a new one is made") {
		t.Errorf("%v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := HostKey(link); err == nil {
		t.Error("it follows a link")
	}
}
