package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

func runWhich(_ context.Context, c *host.Call) int {
	code := 0
	for _, name := range c.Args[1:] {
		if p, ok := c.Where(name); ok {
			c.Println(p)
		} else {
			code = 1
		}
	}
	return code
}
