package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runTimeout ends a command after a time, and says so by status 124; a time of 0 is none. -k and -s are taken:
// a simulated program ends with the first signal.
func runTimeout(ctx context.Context, c *host.Call) int {
	args := c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if (args[0] == "-k" || args[0] == "-s") && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return c.Fail(125, "timeout: missing operand\nTry 'timeout --help' for more information.")
	}
	limit, ok := Seconds(args[0])
	if !ok {
		return c.Fail(125, "timeout: invalid time interval ‘%s’", args[0])
	}
	inner := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		inner, cancel = c.Node.Rack.Clock.WithTimeout(ctx, limit, nil)
		defer cancel()
	}
	sub := *c
	// A command that only reads would not see the limit: its stdin ends with it.
	sub.In = host.EndingWith(inner, c.In)
	code := sub.Exec(inner, args[1:])
	if inner.Err() != nil && ctx.Err() == nil {
		return 124
	}
	return code
}
