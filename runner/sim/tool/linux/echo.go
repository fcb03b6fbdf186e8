package linux

import (
	"context"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

func runEcho(_ context.Context, c *host.Call) int {
	args, end := c.Args[1:], "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	c.Printf("%s%s", strings.Join(args, " "), end)
	return 0
}
