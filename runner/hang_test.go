package runner_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// TestConfigurationsThatHang: ssh's configuration may be a pipe, wait for something, or leave something behind that
// goes on. No one waits for any of them.
func TestConfigurationsThatHang(t *testing.T) {
	t.Parallel()
	testform.Tool(t, "ssh")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config string
		cancel bool // what is waited for is another user's wish, and he has given up
		says   string
	}{
		"a pipe":   {pipe, false, "it is a pipe"},
		"a folder": {dir, false, "it is a folder"},
		"what it leaves behind": {
			write("leaves", "Match exec \"sleep 30 & true\"\n  User left\nHost *\n  User other\n"),
			false, "",
		},
		"what it waits for":       {write("waits", "Match exec \"sleep 30\"\n  User left\n"), true, "context canceled"},
		"a pipe that it includes": {write("includes", "Include "+pipe+"\n"), true, "context canceled"},
		"nothing":                 {os.DevNull, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancel {
				time.AfterFunc(time.Second, cancel)
			}
			target, err := runner.Resolve(ctx, "node", c.config)
			switch {
			case c.says == "" && (err != nil || target.Host != "node"):
				t.Errorf("%v, %v", target, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, %v", target, err)
			}
		})
	}
}

// TestAgentsThatHang: an agent that takes a connection and says nothing, or half of an answer, is
// passed over, and the key's file lets in; who gives up meanwhile is gone at once.
func TestAgentsThatHang(t *testing.T) {
	t.Parallel()
	s := nodetest.StartSshd(t)
	for name, says := range map[string][]byte{
		"silent": nil, "half a word": {0, 0}, "a promise": {0, 0xff, 0xff, 0xff, 12},
		"nonsense": []byte("HTTP/1.1 400\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := filepath.Join(t.TempDir(), "agent")
			ln, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ln.Close() })
			taken := make(chan struct{}, 10)
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					taken <- struct{}{}
					_, _ = conn.Write(says)
					go func() { _, _ = io.Copy(io.Discard, conn) }() // until the other side has had enough
				}
			}()
			with := func(o *runner.SSHOptions) { o.Target.Agent, o.Target.IdentitiesOnly = socket, false }
			if err := dial(t, s, with).Connect(t.Context()); err != nil {
				t.Error(err)
			}
			<-taken
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			n := dial(t, s, with)
			go func() { ended <- n.Connect(ctx) }()
			<-taken
			cancel()
			<-ended
			n.Close()
		})
	}
}

// TestJumpsAreLookedUpOnce: a configuration is asked about as it is at the start. What a user writes into it later
// runs nothing when a lost connection comes back.
func TestJumpsAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	s := nodetest.StartSshd(t)
	g := openGate(t, s.Port)
	own, err := os.ReadFile(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	// The first value of several counts: the gate is the jump's way, whose key is new.
	way := fmt.Sprintf("Host node\n  Port %d\n  StrictHostKeyChecking accept-new\n  UserKnownHostsFile %s\n", g.port(),
		filepath.Join(s.Dir, "gate"))
	config, trace := filepath.Join(s.Dir, "jump"), filepath.Join(s.Dir, "trace")
	text := way + string(own) + strings.Replace(string(own), "Host node", "Host far\n  ProxyJump node", 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := runner.Resolve(t.Context(), "far", config)
	if err != nil {
		t.Fatal(err)
	}
	n := runner.NewSSH(runner.SSHOptions{Name: "far", Target: target, Ask: runner.NoAsker{}})
	t.Cleanup(func() { n.Close() })
	nodetest.Do(t, n, "true")
	if err := os.WriteFile(config, []byte("Match exec \"touch "+trace+"\"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	g.cut()
	for range 100 {
		var out []string
		exit, err := n.Run(t.Context(), runner.Script{Name: "back", Body: "echo back"},
			func(l runner.Line) { out = append(out, l.Text) })
		if err == nil && exit.OK() && len(out) == 1 {
			if _, err := os.Stat(trace); err == nil {
				t.Error("what was written into the configuration later has run")
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("it did not come back")
}
