package tool

import (
	"context"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// Firewalled nodes reject TCP on the rails.
const Firewalled host.Flaw = "rejects TCP on the rails"

// rejects reports whether a node's firewall refuses a TCP connection to a port that
// comes in over an interface.
func rejects(n *host.Node, in *net.Netdev, port int) bool {
	return n.Flawed(Firewalled) && in != nil && in.Kind != "loopback" && port != 22 && (in.Func != nil || in.Bond != nil)
}

// runNft lists the rules of the packet filter, and no more.
func runNft(_ context.Context, c *host.Call) int {
	if len(c.Args) < 3 || !slices.Contains(c.Args, "list") || !slices.Contains(c.Args, "ruleset") {
		return c.Fail(1, "nft: the simulated nft knows only: nft list ruleset")
	}
	if !c.Root {
		return c.Fail(1, "Operation not permitted (you must be root)\n"+
			"netlink: Error: cache initialization failed: Operation not permitted")
	}
	c.Locked(func() {
		n := c.Node
		if !n.Flawed(Firewalled) {
			return
		}
		var names []string
		for _, f := range n.Functions {
			names = append(names, `"`+f.Netdev.Name+`"`)
		}
		c.Printf(`table inet filter {
	chain input {
		type filter hook input priority filter; policy accept;
		ct state established,related accept
		iifname { %s } tcp dport 22 accept
		iifname { %s } meta l4proto tcp reject with icmpx admin-prohibited
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
	}
}
`, strings.Join(names, ", "), strings.Join(names, ", "))
	})
	return 0
}
