package runner_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
)

// A stage is how far a bad server goes along with the protocol.
type stage uint8

const (
	saysNothing stage = iota
	saysGarbage
	floodsBeforeTheGreeting
	greetsOnly
	closesAfterTheGreeting
	neverLogsIn
	neverOpensAChannel
	refusesChannels
	neverExecs
	refusesExec
	execsAndSaysNothing
	execsAndFloods
	execsAndCloses
	execsWithoutEnd
)

func (s stage) String() string {
	return []string{
		"says nothing", "says garbage", "floods before the greeting", "greets only", "closes after the greeting", "never logs in",
		"never opens a channel", "refuses channels", "never execs", "refuses exec", "execs and says nothing", "execs and floods",
		"execs and closes", "execs without an end",
	}[s]
}

// badServer is an SSH server that goes as far as a stage, and no further. It answers keepalives.
func badServer(t *testing.T, s stage) runner.Target {
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
	return runner.Target{
		Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, User: "me", Timeout: 300 * time.Millisecond,
		AcceptNew: true, KnownHosts: []string{t.TempDir() + "/known_hosts"},
	}
}

func (s stage) serve(conn net.Conn, host ssh.Signer, over <-chan struct{}) {
	switch s {
	case saysNothing:
		<-over
		return
	case saysGarbage:
		fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		<-over
		return
	case floodsBeforeTheGreeting:
		flood(conn, over)
		return
	case greetsOnly, closesAfterTheGreeting:
		fmt.Fprintf(conn, "SSH-2.0-bad\r\n")
		if s == greetsOnly {
			<-over
		}
		return
	}
	config := &ssh.ServerConfig{NoClientAuth: true, NoClientAuthCallback: func(ssh.ConnMetadata) (*ssh.Permissions, error) {
		if s == neverLogsIn {
			<-over
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer c.Close()
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		switch s {
		case neverOpensAChannel:
			<-over
			return
		case refusesChannels:
			_ = asked.Reject(ssh.Prohibited, "no")
			continue
		}
		ch, requests, err := asked.Accept()
		if err != nil {
			return
		}
		go io.Copy(io.Discard, ch) //nolint:errcheck // it ends with the connection
		go s.exec(ch, requests, over)
	}
}

func (s stage) exec(ch ssh.Channel, requests <-chan *ssh.Request, over <-chan struct{}) {
	for r := range requests {
		switch s {
		case neverExecs:
			<-over
			return
		case refusesExec:
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		switch s {
		case execsAndFloods:
			flood(ch, over)
		case execsAndCloses:
			ch.Close()
		case execsWithoutEnd:
			fmt.Fprint(ch, strings.Repeat("x", 1<<20))
		}
	}
}

// flood writes what has no end of line, for as long as it is read and not much longer than a test.
func flood(w io.Writer, over <-chan struct{}) {
	junk := []byte(strings.Repeat("\x1b]0;junk", 8<<10))
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

// Whatever a server does or leaves, a script ends with an error when its caller gives up, or
// before, and so does the node's Close.
func TestBadServers(t *testing.T) {
	for s := saysNothing; s <= execsWithoutEnd; s++ {
		t.Run(s.String(), func(t *testing.T) {
			if s == execsAndSaysNothing || s == execsAndFloods || s == execsWithoutEnd {
				if !nodetest.Whole() {
					t.Skip("a leash that does not answer is waited for: RAILBENCH_FULL=1")
				}
			}
			t.Parallel()
			n := runner.NewSSH(runner.SSHOptions{Name: "bad", Target: badServer(t, s), Ask: runner.NoAsker{}})
			ctx, giveUp := context.WithTimeout(t.Context(), 2*time.Second)
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				exit, err := n.Run(ctx, runner.Script{Name: "x", Body: "echo hello"}, func(runner.Line) {})
				if err == nil && exit.OK() {
					err = errors.New("it exited")
					t.Errorf("a script that never ran ended with %+v", exit)
				}
				ended <- err
			}()
			within(t, ended, "the run")
			closed := make(chan error, 1)
			go func() { closed <- n.Close() }()
			within(t, closed, "Close")
		})
	}
}

// within waits for what has to come by itself, much later than it should.
func within(t *testing.T, ended <-chan error, what string) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s doesn't end", what)
	}
}
