package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// Whatever a server does or leaves, a script ends with an error when its caller gives up, or
// before, and so does the node's Close.
func TestBadServers(t *testing.T) {
	testform.NeedsFull(t, "waits for limits")
	for _, s := range nodetest.Stages() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			target := runner.Target{
				Host: "127.0.0.1", Port: s.Start(t), User: "me", Timeout: 300 * time.Millisecond,
				AcceptNew: true, KnownHosts: []string{t.TempDir() + "/known_hosts"},
			}
			n := runner.NewSSH(runner.SSHOptions{Name: "bad", Target: target, Ask: runner.NoAsker{}})
			ctx, giveUp := context.WithTimeout(t.Context(), 2*time.Second)
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				exit, err := n.Run(ctx, runner.Script{Name: "x", Body: "echo hello"}, func(runner.Line) {})
				if err == nil && exit.OK() {
					err = errors.New("it exited")
					t.Errorf("a script that never ran ended with %+v", exit)
				}
				if e, ok := errors.AsType[*runner.Error](err); s == nodetest.ExecsAndSaysNothing &&
					(!ok || e.Kind != runner.NoShell) {
					t.Errorf("of a login that never starts a shell it says %v", err)
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
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s doesn't end", what)
	}
}
