package tool

import (
	"context"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
)

// runTc shows the queueing disciplines of interfaces, and no more: qdisc show [dev NAME], and
// filters, of which there are none.
func runTc(_ context.Context, c *host.Call) int {
	args := c.Args[1:]
	if len(args) == 0 || args[0] != "qdisc" && args[0] != "filter" {
		return c.Fail(1, "Object \"%s\" is unknown, try \"tc help\".", first(args))
	}
	if len(args) > 1 && args[1] != "show" && args[1] != "list" && args[1] != "dev" {
		return c.Fail(2, "RTNETLINK answers: Operation not permitted")
	}
	dev := ""
	if i := slices.Index(args, "dev"); i >= 0 && i+1 < len(args) {
		dev = args[i+1]
	}
	code := 0
	c.Locked(func() {
		if dev != "" && c.Node.Netdev(dev) == nil {
			code = c.Fail(1, "Cannot find device \"%s\"", dev)
			return
		}
		if args[0] == "filter" {
			return
		}
		for _, d := range c.Node.Netdevs {
			if dev != "" && d.Name != dev {
				continue
			}
			kind := "mq 0: root"
			switch {
			case d.Shaper != "":
				kind = d.Shaper
			case d.Kind == "loopback" || d.Bond != nil:
				kind = "noqueue 0: root refcnt 2"
			}
			if dev == "" {
				c.Printf("qdisc %s dev %s\n", kind, d.Name)
				continue
			}
			c.Printf("qdisc %s \n", kind)
		}
	})
	return code
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
