package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runStdbuf makes a program's stdout live, -oL and -o0 alike: without it ib_write_bw prints nothing into a pipe
// until it ends.
func runStdbuf(ctx context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("ioe")
	if !ok || len(rest) == 0 {
		return c.Fail(125, "stdbuf: missing operand")
	}
	sub := *c
	if mode := set.Last('o', ""); mode == "L" || mode == "0" {
		sub.Live = true
	}
	return sub.Exec(ctx, rest)
}
