package rdma

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runIbdev2netdev is a script of NVIDIA's mlnx-tools, in no package of Debian's.
func runIbdev2netdev(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("")
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			state := "Down"
			if f.Live() {
				state = "Up"
			}
			if set.Has("v") {
				c.Printf("%s %s (MT4129 - NVD0000000087) ConnectX-7 fw 28.45.4028 port 1 (%s) ==> %s (%s)\n",
					f.PCI, f.Dev, map[string]string{"Up": "ACTIVE", "Down": "DOWN  "}[state], f.Netdev.Name, state)
				continue
			}
			c.Printf("%s port 1 ==> %s (%s)\n", f.Dev, f.Netdev.Name, state)
		}
	})
	return 0
}
