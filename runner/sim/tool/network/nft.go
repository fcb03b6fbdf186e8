package network

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

//go:embed nft_*.txt
var nftTexts embed.FS

const (
	// Firewalled nodes reject TCP on the rails.
	Firewalled host.Flaw = "rejects TCP on the rails"
	// UfwRoCE nodes drop the packets of RoCE, as ufw was configured. The packets of the adapters bypass it.
	UfwRoCE host.Flaw = "ufw drops UDP 4791"
	// NftRoCE nodes do by nftables' own file.
	NftRoCE host.Flaw = "nftables drops UDP 4791"
)

// Rejects reports whether a node's firewall refuses a TCP connection to a port that comes in over an
// interface. SSH is let through, so that a user who closes the rails to TCP can still log in. RDMA is not
// TCP, and passes.
func Rejects(n *host.Node, in *net.Netdev, port int) bool {
	return n.Flawed(Firewalled) && in != nil && in.Kind != "loopback" && port != 22 && (in.Func != nil || in.Bond != nil)
}

// runNft lists the rules of the packet filter, and no more. nft_ufw.txt are those of ufw 0.36 with iptables-nft 1.8,
// as nft 1.0 lists them after "ufw default allow" and "ufw deny 4791/udp"; the chains for IPv6, for what is forwarded
// and for the log are left out. nft_drop.txt are those of a file that names ports in a set.
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
		if n.Flawed(UfwRoCE) {
			c.Printf("%s", linux.PrintTemplate(nftTexts, "nft_ufw.txt", nil))
		}
		if n.Flawed(NftRoCE) {
			c.Printf("%s", linux.PrintTemplate(nftTexts, "nft_drop.txt", nil))
		}
		if n.Flawed(Firewalled) {
			var names []string
			for _, f := range n.Functions {
				names = append(names, `"`+f.Netdev.Name+`"`)
			}
			c.Printf("%s", linux.PrintTemplate(nftTexts, "nft_reject.txt", strings.Join(names, ", ")))
		}
	})
	return 0
}
