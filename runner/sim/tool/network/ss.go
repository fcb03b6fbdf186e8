package network

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runSs lists the ports that a user listens on: -l, -t, -n, and -p and -e for who it is. Only root sees the processes
// of others. Neither addresses of connections nor other families: no one on the rig looks for them.
func runSs(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("")
	if !set.Has("H") {
		c.Println("State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process")
	}
	c.Locked(func() {
		row := func(address string, port int, p *host.Process) {
			text := ""
			if set.Has("p") && p != nil && (c.Root || !p.Root) {
				text = fmt.Sprintf("users:((%q,pid=%d,fd=3))", path.Base(p.Args[0]), p.PID)
			}
			if set.Has("e") {
				if p != nil && !p.Root {
					text += " uid:1000"
				}
				text += fmt.Sprintf(" ino:%d sk:%x cgroup:/user.slice <->", 20000+port, port)
			}
			c.Println(strings.TrimRight(fmt.Sprintf("LISTEN 0      128        %9s:%-6d     0.0.0.0:*     %s",
				address, port, strings.TrimSpace(text)), " "))
		}
		// sshd is on every node, and no process of the rig's.
		row("0.0.0.0", 22, nil)
		for _, port := range c.Node.Ports() {
			row(c.Node.Listeners[port].Bound(), port, c.Node.Listeners[port].Proc)
		}
	})
	return 0
}
