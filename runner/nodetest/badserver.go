package nodetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A Stage is how far a bad server goes along with the protocol.
type Stage uint8

// The stages, in the order of the protocol.
const (
	SaysNothing Stage = iota
	SaysGarbage
	FloodsBeforeTheGreeting
	GreetsOnly
	ClosesAfterTheGreeting
	NeverLogsIn
	NeverOpensAChannel
	RefusesChannels
	NeverExecs
	RefusesExec
	ExecsAndSaysNothing
	ExecsAndFloods
	ExecsAndCloses
	ExecsWithoutEnd
)

func (s Stage) String() string {
	return []string{
		"says nothing", "says garbage", "floods before the greeting", "greets only", "closes after the greeting",
		"never logs in",
		"never opens a channel", "refuses channels", "never execs", "refuses exec", "execs and says nothing",
		"execs and floods",
		"execs and closes", "execs without an end",
	}[s]
}

// Start starts an SSH server on loopback that goes as far as the stage, and no further, until the
// end of the test. It answers keepalives.
func (s Stage) Start(t testing.TB) (port int) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	host, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() {
		ln.Close()
		close(over)
	})
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				s.serve(conn, host, over)
			}()
		}
	}()
	return ln.Addr().(*net.TCPAddr).Port
}

// serve is one connection: each stage does what those before it do in between, and then its own.
func (s Stage) serve(conn net.Conn, host ssh.Signer, over <-chan struct{}) {
	switch s {
	case SaysNothing:
		<-over
		return
	case SaysGarbage:
		// What a web server at that port has to say to SSH's greeting.
		fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		<-over
		return
	case FloodsBeforeTheGreeting:
		// RFC 4253 lets a server say other lines before its version, and doesn't say how many.
		pour(conn, over)
		return
	case GreetsOnly, ClosesAfterTheGreeting:
		fmt.Fprintf(conn, "SSH-2.0-bad\r\n")
		if s == GreetsOnly {
			<-over
		}
		return
	default: // it goes further
	}
	config := &ssh.ServerConfig{
		NoClientAuth: true,
		NoClientAuthCallback: func(ssh.ConnMetadata) (*ssh.Permissions, error) {
			if s == NeverLogsIn {
				<-over
			}
			return nil, nil
		},
	}
	config.AddHostKey(host)
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer c.Close()
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		switch s {
		case NeverOpensAChannel:
			<-over
			return
		case RefusesChannels:
			_ = asked.Reject(ssh.Prohibited, "no")
			continue
		default: // it goes further
		}
		ch, requests, err := asked.Accept()
		if err != nil {
			return
		}
		// What isn't read would fill the channel's window, and the client would wait for that instead.
		go io.Copy(io.Discard, ch) //nolint:errcheck // it ends with the connection
		go s.exec(ch, requests, over)
	}
}

// exec answers what is asked in a channel that was opened: that is the supervisor's command.
func (s Stage) exec(ch ssh.Channel, requests <-chan *ssh.Request, over <-chan struct{}) {
	for r := range requests {
		switch s {
		case NeverExecs:
			<-over
			return
		case RefusesExec:
			_ = r.Reply(false, nil)
			continue
		default: // it goes further
		}
		_ = r.Reply(true, nil)
		switch s {
		case ExecsAndFloods:
			pour(ch, over)
		case ExecsAndCloses:
			_ = ch.Close() // it may be gone
		case ExecsWithoutEnd:
			// One line that never ends: a client that buffers a line until its end buffers everything.
			fmt.Fprint(ch, strings.Repeat("x", 1<<20))
		default: // it says nothing
		}
	}
}

// pour writes what has no end of line, for as long as it is read and not much longer than a test.
func pour(w io.Writer, over <-chan struct{}) {
	// Window titles that never end: the worst input for a parser of escape sequences.
	junk := []byte(strings.Repeat("\x1b]0;junk", 8<<10))
	// 256 MiB at most: a client without a limit must not read for ever.
	for range 4 << 10 {
		select {
		case <-over:
			return
		default:
		}
		if _, err := w.Write(junk); err != nil {
			return
		}
	}
}

// Stages are all of them.
func Stages() []Stage {
	all := make([]Stage, ExecsWithoutEnd+1)
	for i := range all {
		all[i] = Stage(i)
	}
	return all
}
