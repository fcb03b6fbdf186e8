package rdma

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runIbvDevices has GUIDs without colons, which ibv_devinfo prints with them.
func runIbvDevices(_ context.Context, c *host.Call) int {
	c.Println("    device          \t   node GUID")
	c.Println("    ------          \t----------------")
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			c.Printf("    %-16s\t%s\n", f.Dev, f.GUIDDigits())
		}
	})
	return 0
}
