package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runNice is for programs that run another one unchanged.
func runNice(ctx context.Context, c *host.Call) int {
	args := c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-n" && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	return c.Exec(ctx, args)
}
