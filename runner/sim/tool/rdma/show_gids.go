package rdma

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runShowGids is a script of NVIDIA's mlnx-tools: a line for each entry of the table that isn't empty, so that
// the index is read and not counted. The column IPv4 is empty in most.
func runShowGids(_ context.Context, c *host.Call) int {
	c.Println("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV")
	c.Println("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---")
	found := 0
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			if len(c.Args) > 1 && c.Args[1] != f.Dev {
				continue
			}
			for i, g := range f.GIDs {
				if !g.Addr.IsValid() {
					continue
				}
				found++
				ipv4, ver := "\t\t", "v1"
				if g.Addr.Is4() {
					ipv4 = g.Addr.String() + "  \t"
				}
				if g.V2 {
					ver = "v2"
				}
				c.Printf("%s\t1\t%d\t%s\t%s%s\t%s\n", f.Dev, i, net.GIDText(g), ipv4, ver, g.Netdev)
			}
		}
	})
	c.Printf("n_gids_found=%d\n\n", found)
	return 0
}
