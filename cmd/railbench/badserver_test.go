package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/nodetest"
)

// Whatever a peer's server does or leaves, every verb that talks to it ends: by itself, or with
// the second signal.
func TestEveryVerbEndsWithABadServer(t *testing.T) {
	t.Parallel()
	verbs := [][]string{
		{"run", "hosts"}, {"run", "hosts", "--dry-run"}, {"doctor"}, {"undo"}, {"undo", "--list"}, {"init"},
	}
	stages := nodetest.Stages()
	if !nodetest.Whole() {
		verbs, stages = verbs[:1], []nodetest.Stage{nodetest.NeverOpensAChannel, nodetest.NeverExecs}
	}
	for _, stage := range stages {
		for _, verb := range verbs {
			t.Run(fmt.Sprint(stage, " ", verb), func(t *testing.T) {
				t.Parallel()
				config := filepath.Join(t.TempDir(), "config")
				text := fmt.Sprintf("Host bad\n HostName 127.0.0.1\n Port %d\n StrictHostKeyChecking accept-new\n"+
					" UserKnownHostsFile %s\n"+
					" IdentityAgent none\n ConnectTimeout 1\n", stage.Start(t), filepath.Join(t.TempDir(), "known_hosts"))
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := asProcess(t, append(verb, "--peer", "bad", "--ssh-config", config)...)
				endsBySignals(t, cmd)
			})
		}
	}
}

// endsBySignals has a program end by two interrupts unless it ends by itself before. On a busy machine
// the second may come before the program has seen the first, and a person would press once more.
func endsBySignals(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, then := range []time.Duration{
		3 * time.Second, time.Second, 10 * time.Second, 20 * time.Second,
		30 * time.Second,
	} {
		select {
		case <-ended:
			return
		case <-time.After(then):
			_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended just now
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	t.Error("it did not end")
}
