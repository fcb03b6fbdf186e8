package linux

import (
	"context"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
)

// runSetsid gives a command a session of its own. The supervisor finds it there by
// the mark in its environment; without the mark it stays.
func runSetsid(ctx context.Context, c *host.Call) int {
	args := c.Args[1:]
	fork := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		fork = fork || args[0] == "-f" || args[0] == "--fork"
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Fail(1, "setsid: no command specified\nTry 'setsid --help' for more information.")
	}
	env := c.Exported()
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, host.SupervisorVariable+"=") }) {
		return c.Exec(ctx, args)
	}
	if _, err := c.Find(args[0]); err != nil {
		return c.Fail(127, "setsid: failed to execute %s: %s", args[0], host.ErrorText(err))
	}
	var p *host.Process
	var done chan int
	c.Locked(func() {
		pid := 0
		if c.Job != nil {
			pid = c.Job.PID
		}
		p, done = c.Node.Apart(args, env, c.Root, c.Dir, pid)
	})
	if fork {
		return 0
	}
	r := c.Node.Rack
	if !clock.Wait(ctx, r.Clock, done) {
		// The script's end leaves it; kill means it.
		if c.Job != nil && c.Job.Killed {
			p.End()
			clock.Wait(context.Background(), r.Clock, done)
		}
		return host.Terminated
	}
	return <-done
}
