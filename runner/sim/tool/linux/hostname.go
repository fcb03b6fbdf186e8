package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

func runHostname(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("")
	if set.Has("I") {
		c.Locked(func() {
			// Without lo's.
			for _, d := range c.Node.Netdevs[1:] {
				for _, a := range d.Addrs {
					c.Printf("%s ", a.Addr())
				}
			}
		})
		c.Println("")
		return 0
	}
	c.Println(c.Node.Name)
	return 0
}
