package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// Whatever a peer's server does or leaves, every verb that talks to it ends: by itself, or with
// the second signal.
func TestEveryVerbEndsWithABadServer(t *testing.T) {
	testform.NeedsFull(t, "waits for limits")
	t.Parallel()
	verbs := [][]string{
		{"run", "hosts"}, {"run", "hosts", "--dry-run"}, {"doctor"}, {"undo"}, {"undo", "--list"}, {"init"},
	}
	stages := nodetest.Stages()
	if !testform.Full() {
		verbs, stages = verbs[:1], []nodetest.Stage{nodetest.NeverOpensAChannel, nodetest.NeverExecs}
	}
	// They wait more than they work: next to each other, and in no one's place.
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, 8)
	for _, stage := range stages {
		for _, verb := range verbs {
			config := filepath.Join(t.TempDir(), "config")
			text := fmt.Sprintf("Host bad\n HostName 127.0.0.1\n Port %d\n StrictHostKeyChecking accept-new\n"+
				" UserKnownHostsFile %s\n"+
				" IdentityAgent none\n ConnectTimeout 1\n", stage.Start(t), filepath.Join(t.TempDir(), "known_hosts"))
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := asProcess(t, append(slices.Clone(verb), "--peer", "bad", "--ssh-config", config)...)
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				endsBySignals(t, cmd, fmt.Sprint(stage, " ", verb))
			})
		}
	}
}

// endsBySignals has a program end by two interrupts unless it ends by itself before. On a busy machine
// the second may come before the program has seen the first, and a person would press once more.
// It may be called by any goroutine.
func endsBySignals(t *testing.T, cmd *exec.Cmd, what string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Errorf("%s: %v", what, err)
		return
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
	t.Errorf("%s did not end", what)
}
