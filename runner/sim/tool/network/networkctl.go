package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

// runNetworkctl is networkd's tool, as far as scripts ask it: its version, its list, and to
// read its files again. The nodes have no networkd that runs unless it is at fault.
func runNetworkctl(_ context.Context, c *host.Call) (code int) {
	args := slices.DeleteFunc(slices.Clone(c.Args[1:]), func(a string) bool {
		return a == "--no-pager" || a == "--no-legend" || a == "-l"
	})
	if len(args) == 0 {
		args = []string{"list"}
	}
	c.Locked(func() {
		switch args[0] {
		case "--version":
			c.Println("systemd 255 (255.4-1ubuntu8.10)")
		case "reload":
			code = networkdReads(c)
		case "list":
			networkdList(c, args[1:])
		default:
			code = c.Fail(1, "Unknown command verb %s.", args[0])
		}
	})
	return code
}

// networkdList is a table in which "unmanaged" says that networkd has nothing to do with an interface.
func networkdList(c *host.Call, names []string) {
	if !c.Node.Flawed(linux.TwoManagers) {
		fmt.Fprintln(c.Err, "WARNING: systemd-networkd is not running, output will be incomplete.")
	}
	for i, d := range c.Node.Netdevs {
		if len(names) > 0 && !slices.Contains(names, d.Name) {
			continue
		}
		// So every release prints an interface of which nothing in networkd's files is.
		kind, oper, setup := "ether", "-", "unmanaged"
		if d.Kind != "" {
			kind = d.Kind
		}
		if c.Node.Flawed(linux.TwoManagers) {
			oper = "routable"
			if networkdHas(c.Node, d) {
				setup = "configured"
			}
		}
		c.Printf("%3d %-13s %-8s %-8s %s\n", i+1, d.Name, kind, oper, setup)
	}
}

// networkdHas reports whether networkd configures an interface: rail 2, unless a file that comes before its own
// informs it to leave that alone.
func networkdHas(n *host.Node, d *net.Netdev) bool {
	if !n.Flawed(linux.TwoManagers) || len(n.Functions) < 2 || n.Functions[1].Netdev != d {
		return false
	}
	_, err := n.ReadFile("/run/systemd/network/00-railbench-"+d.Name+".network", true)
	return err != nil
}

// networkdReads is a reload: what it is to leave alone loses the addresses that it had set,
// as two machines with networkd showed, and what it has gets them.
func networkdReads(c *host.Call) int {
	switch {
	case !c.Root:
		return c.Fail(1, "Failed to reload network settings: Access denied")
	case !c.Node.Flawed(linux.TwoManagers):
		return c.Fail(1, "Failed to reload network settings: Unit systemd-networkd.service not found.")
	}
	d := c.Node.Functions[1].Netdev
	p, err := netip.ParsePrefix(c.Node.Profiles[d.Name])
	switch {
	case err != nil:
	case networkdHas(c.Node, d):
		d.AddAddr(p)
	default:
		d.DelAddr(p)
	}
	return 0
}
