package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runNproc is a GB10's: ten cores of each of two kinds.
func runNproc(_ context.Context, c *host.Call) int {
	c.Println("20")
	return 0
}
