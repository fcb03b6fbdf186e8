package gallery

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// A viewer is one who was admitted.
type viewer struct {
	g     *Gallery
	conn  ssh.Conn
	raw   net.Conn
	begun *time.Timer   // ends a connection that never begins to look
	left  chan struct{} // closed when the session is over
	size  atomic.Uint64
}

// told are the variables that are believed, with how long they may be.
var told = []string{"TERM", "COLORTERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}

const longestTold = 64

// resize keeps a size of the terminal, within what there is. 0 is a client that doesn't know.
func (v *viewer) resize(columns, rows uint32) {
	fit := func(n, usual, most uint32) uint64 {
		if n == 0 {
			n = usual
		}
		return uint64(min(n, most))
	}
	v.size.Store(fit(columns, 80, mostColumns)<<32 | fit(rows, 24, mostRows))
}

func (v *viewer) terminal() (columns, rows int) {
	n := v.size.Load()
	return int(n >> 32), int(n & 0xffffffff)
}

// session answers what a viewer asks of his session: a terminal, and then to look.
func (v *viewer) session(ch ssh.Channel, asked <-chan *ssh.Request) {
	defer ch.Close() //nolint:errcheck // it may be closed already
	env := map[string]string{}
	var looks chan struct{} // closed when looking is over
	for r := range asked {
		ok := false
		switch r.Type {
		case "pty-req":
			var p struct {
				Term          string
				Columns, Rows uint32
				Width, Height uint32
				Modes         string
			}
			if ok = ssh.Unmarshal(r.Payload, &p) == nil && looks == nil; ok {
				v.resize(p.Columns, p.Rows)
				env["TERM"] = p.Term[:min(len(p.Term), longestTold)]
			}
		case "env":
			var e struct{ Name, Value string }
			if ok = ssh.Unmarshal(r.Payload, &e) == nil && slices.Contains(told, e.Name) && len(e.Value) <= longestTold &&
				looks == nil; ok {
				env[e.Name] = e.Value
			}
		case "window-change":
			var w struct{ Columns, Rows, Width, Height uint32 }
			if ok = ssh.Unmarshal(r.Payload, &w) == nil; ok {
				v.resize(w.Columns, w.Rows)
			}
		case "shell":
			if ok = looks == nil; ok {
				looks = make(chan struct{})
				go func() {
					defer close(looks)
					v.admit(ch, env)
				}()
			}
		}
		if r.WantReply {
			_ = r.Reply(ok, nil) // who asked is gone
		}
	}
	close(v.left)
	v.raw.Close()
	if looks != nil {
		<-looks
	}
}

// admit shows the screen, where there is room and a terminal for it.
func (v *viewer) admit(ch ssh.Channel, env map[string]string) {
	defer v.raw.Close() // a viewer has one session, and with it ends all of him
	if env["TERM"] == "" {
		v.bye(ch, 2, "railbench: there is a screen to look at, and no terminal here to show it in: ssh -t\r\n")
		return
	}
	select {
	case v.g.room <- struct{}{}:
		defer func() { <-v.g.room }()
	default:
		v.bye(ch, 1, "railbench: there are too many viewers\r\n")
		return
	}
	v.begun.Stop()
	columns, rows := v.terminal()
	v.look(ch, v.g.o.Open(Terminal{Columns: columns, Rows: rows, Env: env}))
}

// The screen is the terminal's other one, and its cursor hidden; both are put back.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[2J"
	leave = "\x1b[0m\x1b[?25h\x1b[?1049l"
	// A terminal that knows them shows what lies between at once.
	hold, show = "\x1b[?2026h", "\x1b[?2026l"
)

// look draws until the viewer leaves, takes a frame too slowly, or the gallery is closed.
func (v *viewer) look(ch ssh.Channel, l Looker) {
	typed, over := make(chan byte), make(chan struct{})
	defer close(over)
	go keys(ch, typed, over)
	if v.write(ch, enter) != nil {
		return
	}
	tick, asks := time.NewTicker(pace), time.NewTicker(asksEvery)
	defer tick.Stop()
	defer asks.Stop()
	var shown []string
	width := 0
	for due := true; ; {
		if due {
			columns, rows := v.terminal()
			frame := l.Frame(columns, rows)
			if columns != width || len(frame) != len(shown) {
				shown, width = make([]string, len(frame)), columns
				if v.write(ch, "\x1b[2J") != nil {
					return
				}
			}
			if v.write(ch, changes(shown, frame)) != nil {
				return
			}
			shown = frame
		}
		due = false
		select {
		case <-tick.C:
			due = true
		case b := <-typed:
			if l.Key(b) {
				v.bye(ch, 0, leave)
				return
			}
		case <-asks.C:
			if v.within(func() error { _, _, err := v.conn.SendRequest("keepalive@railbench", true, nil); return err }) != nil {
				return
			}
		case <-v.left:
			return
		case <-v.g.over:
			v.bye(ch, 0, leave)
			return
		}
	}
}

// changes are what brings a terminal from one frame to the next: the lines that are others.
func changes(shown, frame []string) string {
	var b strings.Builder
	for i, line := range frame {
		if line != shown[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m\x1b[2K%s", i+1, line)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return hold + b.String() + show
}

// keys hands on what is typed, but the sequences that special keys send. Who has no keyboard
// (ssh -n) looks all the same.
func keys(ch ssh.Channel, typed chan<- byte, over <-chan struct{}) {
	buffer := make([]byte, 64)
	escaped := false
	for {
		n, err := ch.Read(buffer)
		if err != nil {
			return
		}
		for _, b := range buffer[:n] {
			switch {
			case b == 0x1b:
				escaped = true
			case escaped: // up to its last letter; [ and O are its first
				escaped = !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' && b != 'O' || b == '~')
			default:
				select {
				case typed <- b:
				case <-over:
					return
				}
			}
		}
	}
}

// write gives a viewer text, and lets him go where he doesn't take it.
func (v *viewer) write(ch ssh.Channel, text string) error {
	if text == "" {
		return nil
	}
	return v.within(func() error { _, err := io.WriteString(ch, text); return err })
}

// within does what a viewer's client has to answer to, in time.
func (v *viewer) within(do func() error) error {
	late := time.AfterFunc(slowAfter, func() { v.raw.Close() })
	defer late.Stop()
	return do()
}
