package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runDmesg shows the kernel's log to root alone: Ubuntu sets kernel.dmesg_restrict.
func runDmesg(_ context.Context, c *host.Call) int {
	if !c.Root {
		return c.Fail(1, "dmesg: read kernel buffer failed: Operation not permitted")
	}
	c.Locked(func() {
		for _, l := range c.Node.KernelLog() {
			c.Printf("[%12.6f] %s\n", l.At, l.Text)
		}
	})
	return 0
}
