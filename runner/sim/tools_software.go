package sim

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/net"
)

// What a node's settings are, and the programs that show what is linked, filtered
// and listening.

// libraries are what a program is linked with, beside the C library.
var libraries = map[string][]string{
	"ucx_info": {
		"/usr/local/ucx/lib/libucp.so.0", "/usr/local/ucx/lib/libuct.so.0",
		"/usr/local/ucx/lib/libucs.so.0", "/usr/local/ucx/lib/libucm.so.0",
	},
	"nixlbench": {
		"/usr/local/nixl/lib/aarch64-linux-gnu/libnixl.so", "/usr/local/nixl/lib/aarch64-linux-gnu/libnixl_common.so",
		"/usr/local/lib/libetcd-cpp-api.so", "/lib/aarch64-linux-gnu/libgflags.so.2.2",
	},
	"ib_write_bw": {
		"/lib/aarch64-linux-gnu/libibverbs.so.1", "/lib/aarch64-linux-gnu/librdmacm.so.1",
		"/lib/aarch64-linux-gnu/libibumad.so.3",
	},
	"iperf3": {"/lib/aarch64-linux-gnu/libiperf.so.0", "/lib/aarch64-linux-gnu/libcrypto.so.3"},
	"python3": {
		"/lib/aarch64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libexpat.so.1", "/lib/aarch64-linux-gnu/libz.so.1",
	},
}

// noLibrary keeps nixlbench from starting: a library of it is gone.
const (
	noLibrary      flaw = "nixlbench lacks a library"
	missingLibrary      = "libetcd-cpp-api.so"
)

func runLdd(_ context.Context, c *call) int {
	_, files, ok := c.flags("")
	if !ok || len(files) == 0 {
		return c.fail(1, "ldd: missing file arguments\nTry `ldd --help' for more information.")
	}
	code := 0
	for _, f := range files {
		if len(files) > 1 {
			c.printf("%s:\n", f)
		}
		t, err := c.find(c.path(f))
		switch {
		case err != nil:
			c.out.Flush()
			code = c.fail(1, "ldd: %s: No such file or directory", c.path(f))
			continue
		case t.run == nil:
			c.println("\tnot a dynamic executable")
			code = 1
			continue
		}
		c.println("\tlinux-vdso.so.1 (0x0000f1c2d0a4e000)")
		name := path.Base(f)
		var lacks bool
		c.locked(func() { lacks = name == "nixlbench" && c.node.flawed(noLibrary) })
		for i, l := range append(slices.Clone(libraries[name]), "/lib/aarch64-linux-gnu/libc.so.6") {
			if lacks && path.Base(l) == missingLibrary {
				c.printf("\t%s => not found\n", missingLibrary)
				continue
			}
			c.printf("\t%s => %s (0x0000f1c2d0%d00000)\n", path.Base(l), l, i+1)
		}
		c.println("\t/lib/ld-linux-aarch64.so.1 (0x0000f1c2d0a00000)")
	}
	return code
}

// firewalled nodes reject TCP on the rails.
const firewalled flaw = "rejects TCP on the rails"

// rejects reports whether a node's firewall refuses a TCP connection to a port that
// comes in over an interface.
func (n *node) rejects(in *net.Netdev, port int) bool {
	return n.flawed(firewalled) && in != nil && in.Kind != "loopback" && port != 22 && (in.Func != nil || in.Bond != nil)
}

// runNft lists the rules of the packet filter, and no more.
func runNft(_ context.Context, c *call) int {
	if len(c.args) < 3 || !slices.Contains(c.args, "list") || !slices.Contains(c.args, "ruleset") {
		return c.fail(1, "nft: the simulated nft knows only: nft list ruleset")
	}
	if !c.root {
		return c.fail(1, "Operation not permitted (you must be root)\n"+
			"netlink: Error: cache initialization failed: Operation not permitted")
	}
	c.locked(func() {
		n := c.node
		if !n.flawed(firewalled) {
			return
		}
		var names []string
		for _, f := range n.Functions {
			names = append(names, `"`+f.Netdev.Name+`"`)
		}
		c.printf(`table inet filter {
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

// runSs lists the ports that somebody listens on: -l, -t, -n, and -p and -e for who
// it is. Only root sees the processes of others.
func runSs(_ context.Context, c *call) int {
	set, _, _ := c.flags("")
	if !has(set, "H") {
		c.println("State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process")
	}
	c.locked(func() {
		row := func(address string, port int, p *process) {
			text := ""
			if has(set, "p") && p != nil && (c.root || !p.root) {
				text = fmt.Sprintf("users:((%q,pid=%d,fd=3))", path.Base(p.args[0]), p.pid)
			}
			if has(set, "e") {
				if p != nil && !p.root {
					text += " uid:1000"
				}
				text += fmt.Sprintf(" ino:%d sk:%x cgroup:/user.slice <->", 20000+port, port)
			}
			c.println(strings.TrimRight(fmt.Sprintf("LISTEN 0      128        %9s:%-6d     0.0.0.0:*     %s",
				address, port, strings.TrimSpace(text)), " "))
		}
		row("0.0.0.0", 22, nil)
		for _, port := range c.node.ports() {
			row(c.node.listeners[port].bound(), port, c.node.listeners[port].proc)
		}
	})
	return 0
}
