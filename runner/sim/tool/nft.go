package tool

import (
	"context"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

const (
	// Firewalled nodes reject TCP on the rails.
	Firewalled host.Flaw = "rejects TCP on the rails"
	// UfwRoCE nodes drop RoCE's packets, as ufw was told. The adapters' pass by it.
	UfwRoCE host.Flaw = "ufw drops UDP 4791"
	// NftRoCE nodes do by nftables' own file.
	NftRoCE host.Flaw = "nftables drops UDP 4791"
)

// rejects reports whether a node's firewall refuses a TCP connection to a port that
// comes in over an interface.
// SSH is let through, as whoever closes the rails to TCP does not lock himself out; RDMA is no TCP, and passes.
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
		if n.Flawed(UfwRoCE) {
			c.Println(ufwRules)
		}
		if n.Flawed(NftRoCE) {
			c.Println(nftRules)
		}
		if n.Flawed(Firewalled) {
			var names []string
			for _, f := range n.Functions {
				names = append(names, `"`+f.Netdev.Name+`"`)
			}
			all := strings.Join(names, ", ")
			c.Printf(rejectRules, all, all)
		}
	})
	return 0
}

const rejectRules = `table inet filter {
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
`

// ufwRules are those of ufw 0.36 with iptables-nft 1.8, as nft 1.0 lists them after "ufw default
// allow" and "ufw deny 4791/udp"; the chains for IPv6, for what is forwarded and for the log are
// left out.
const ufwRules = `table ip filter {
	chain ufw-before-input {
		iifname "lo" counter packets 12 bytes 960 accept
		ct state related,established counter packets 8143 bytes 611902 accept
		ct state invalid counter packets 0 bytes 0 drop
		meta l4proto icmp icmp type echo-request counter packets 4 bytes 336 accept
		udp sport 67 udp dport 68 counter packets 0 bytes 0 accept
		counter packets 6 bytes 512 jump ufw-not-local
		ip daddr 224.0.0.251 udp dport 5353 counter packets 0 bytes 0 accept
		counter packets 6 bytes 512 jump ufw-user-input
	}

	chain ufw-after-input {
		udp dport 137 counter packets 0 bytes 0 jump ufw-skip-to-policy-input
		fib daddr type broadcast counter packets 0 bytes 0 jump ufw-skip-to-policy-input
	}

	chain ufw-track-input {
		meta l4proto tcp ct state new counter packets 5 bytes 300 accept
		meta l4proto udp ct state new counter packets 0 bytes 0 accept
	}

	chain INPUT {
		type filter hook input priority filter; policy accept;
		counter packets 8165 bytes 613710 jump ufw-before-input
		counter packets 6 bytes 512 jump ufw-after-input
		counter packets 6 bytes 512 jump ufw-track-input
	}

	chain FORWARD {
		type filter hook forward priority filter; policy drop;
	}

	chain ufw-skip-to-policy-input {
		counter packets 0 bytes 0 accept
	}

	chain ufw-not-local {
		fib daddr type local counter packets 6 bytes 512 return
		fib daddr type multicast counter packets 0 bytes 0 return
		fib daddr type broadcast counter packets 0 bytes 0 return
		counter packets 0 bytes 0 drop
	}

	chain ufw-user-input {
		tcp dport 22 counter packets 1 bytes 60 accept
		udp dport 4791 counter packets 0 bytes 0 drop
	}
}`

// nftRules are those of a file that names ports in a set.
const nftRules = `table inet filter {
	set closed {
		type inet_service
		elements = { 111, 4791 }
	}

	chain input {
		type filter hook input priority filter; policy accept;
		ct state { established, related } accept
		iif "lo" accept
		udp dport @closed counter packets 0 bytes 0 drop
	}
}`
