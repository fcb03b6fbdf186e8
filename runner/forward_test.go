package runner_test

import (
	"context"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// echo dials a person who sends back what is said.
func echo(context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		io.Copy(far, far)
	}()
	return near, nil
}

func TestForwardRefused(t *testing.T) {
	for _, line := range []string{
		"AllowTcpForwarding no", "AllowTcpForwarding local", "DisableForwarding yes",
		"PermitListen 127.0.0.1:1",
	} {
		n := dial(t, nodetest.StartSshd(t, line), nil)
		_, err := n.Forward(t.Context(), 0, echo)
		if kind(err) != runner.NoForwarding || !strings.Contains(err.Error(), "AllowTcpForwarding") ||
			!strings.Contains(err.Error(), "port of node:") {
			t.Errorf("%s: %v", line, err)
		}
		// The connection has taken no harm.
		if stdout, _, _ := nodetest.Do(t, n, "echo alive"); len(stdout) != 1 {
			t.Errorf("%s: %q", line, stdout)
		}
	}
}

func TestForwardTakenPortSaysSo(t *testing.T) {
	n := dial(t, nodetest.StartSshd(t), nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	_, err = n.Forward(t.Context(), port, echo)
	if kind(err) != runner.NoForwarding ||
		!strings.Contains(err.Error(), "Something may listen on port "+strconv.Itoa(port)) {
		t.Errorf("got %v", err)
	}
}

// A connection that is lost, loudly or without a word, ends the forwarding with an
// error. The next one is made over the new connection.
func TestForwardLostConnection(t *testing.T) {
	s := nodetest.StartSshd(t)
	for _, silent := range []bool{false, true} {
		g := openGate(t, s.Port)
		n := dial(t, s, func(o *runner.SSHOptions) { g.lead(t, s, o) })
		f, err := n.Forward(t.Context(), 0, echo)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(f.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "x")
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if silent {
			g.mute(true)
		} else {
			g.cut()
		}
		select {
		case <-f.Done():
		case <-time.After(5 * time.Minute):
			t.Fatalf("silent %v: the forwarding does not end", silent)
		}
		if kind(f.Err()) != runner.Lost || f.Close() == nil {
			t.Errorf("silent %v: %v", silent, f.Err())
		}
		g.mute(false)
		again, err := n.Forward(t.Context(), 0, echo)
		if err != nil {
			t.Fatalf("silent %v: afterwards: %v", silent, err)
		}
		again.Close()
	}
}

// Close of a node that does not answer any more returns.
func TestForwardCloseOfASilentNode(t *testing.T) {
	s := nodetest.StartSshd(t)
	g := openGate(t, s.Port)
	n := dial(t, s, func(o *runner.SSHOptions) { g.lead(t, s, o) })
	f, err := n.Forward(t.Context(), 0, echo)
	if err != nil {
		t.Fatal(err)
	}
	g.mute(true)
	f.Close()
	n.Close()
}

// Many connections at once that no one on this side accepts do not hold up the rest of the SSH connection.
func TestForwardFlood(t *testing.T) {
	testform.Tool(t, "curl")
	n := dial(t, nodetest.StartSshd(t), nil)
	never := make(chan struct{})
	f, err := n.Forward(t.Context(), 0, func(ctx context.Context) (net.Conn, error) {
		select {
		case <-never:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(f.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if stdout, _, _ := nodetest.Do(t, n, "echo alive"); len(stdout) != 1 {
		t.Errorf("%q", stdout)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := exec.Command("curl", "-s", "-m", "5", "http://127.0.0.1:"+strconv.Itoa(f.Port())).Run(); err == nil {
		t.Error("it still listens")
	}
}

// A program on a node that opens connections without end gets only a limited number on this side. Further
// connections are closed at once, and new ones are accepted when others have ended.
func TestForwardHasABound(t *testing.T) {
	l := runner.NewLocal("here", runner.NoAsker{})
	defer l.Close()
	var dialled atomic.Int64
	f, err := l.Forward(t.Context(), 0, func(ctx context.Context) (net.Conn, error) {
		dialled.Add(1)
		return echo(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// said reports whether a connection carries what is said.
	said := func(c net.Conn) bool {
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		b := make([]byte, 1)
		_, err := c.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		return err == nil
	}
	var open []net.Conn
	refused := 0
	for range 200 {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Port())))
		if err != nil {
			t.Fatal(err)
		}
		if said(c) {
			open = append(open, c)
		} else {
			c.Close()
			refused++
		}
	}
	if len(open) != 128 || refused != 72 || dialled.Load() != 128 {
		t.Errorf("%d are carried, %d refused, %d dialled", len(open), refused, dialled.Load())
	}
	for _, c := range open {
		c.Close()
	}
	for began := time.Now(); time.Since(began) < 2*time.Minute; { // the end of one is seen a moment later
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Port())))
		if err != nil {
			t.Fatal(err)
		}
		ok := said(c)
		c.Close()
		if ok {
			return
		}
	}
	t.Error("there is no room again")
}
