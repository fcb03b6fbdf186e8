package linux

import (
	"context"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

func runUptime(_ context.Context, c *host.Call) int {
	var up time.Duration
	c.Locked(func() { up = c.Node.Uptime() })
	if len(c.Args) > 1 && c.Args[1] == "-s" {
		c.Println(c.Node.Rack.Clock.Wall().Add(-up).UTC().Format("2006-01-02 15:04:05"))
		return 0
	}
	h := int(up.Hours())
	c.Printf(" %s up %d day,  %d:%02d,  1 user,  load average: 0.21, 0.17, 0.11\n",
		c.Node.Rack.Clock.Wall().UTC().Format("15:04:05"), h/24, h%24, int(up.Minutes())%60)
	return 0
}
