package tool

import (
	"context"
	"fmt"

	"github.com/railbench/railbench/runner/sim/host"
)

// TwoManagers nodes have systemd-networkd configure rail 2, beside NetworkManager.
const TwoManagers host.Flaw = "networkd configures rail 2, too"

// runNetworkctl is networkd's tool, as far as scripts ask it: its list. The nodes have no
// networkd that runs unless it is at fault.
func runNetworkctl(_ context.Context, c *host.Call) int {
	c.Locked(func() {
		n := c.Node
		if !n.Flawed(TwoManagers) {
			fmt.Fprintln(c.Err, "WARNING: systemd-networkd is not running, output will be incomplete.")
		}
		for i, d := range n.Netdevs {
			kind, oper, setup := "ether", "-", "unmanaged"
			if d.Kind != "" {
				kind = d.Kind
			}
			if n.Flawed(TwoManagers) {
				oper = "routable"
				if len(n.Functions) > 1 && n.Functions[1].Netdev == d {
					setup = "configured"
				}
			}
			c.Printf("%3d %-13s %-8s %-8s %s\n", i+1, d.Name, kind, oper, setup)
		}
	})
	return 0
}
