package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// runJournalctl knows the kernel's log (-k), which the group adm may read.
func runJournalctl(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("onup")
	if !set.Has("k") && !slices.Contains(c.Args, "--dmesg") {
		if !set.Has("q") {
			c.Println("-- No entries --")
		}
		return 0
	}
	short := strings.Contains(strings.Join(c.Args, " "), "short-monotonic")
	c.Locked(func() {
		boot := c.Node.Rack.Clock.Wall().Add(-c.Node.Rack.Clock.Uptime())
		for _, l := range c.Node.KernelLog() {
			when := fmt.Sprintf("[%12.6f]", l.At)
			if !short {
				when = boot.Add(time.Duration(l.At * float64(time.Second))).UTC().Format("Jan 02 15:04:05")
			}
			c.Printf("%s %s kernel: %s\n", when, c.Node.Name, l.Text)
		}
	})
	return 0
}
