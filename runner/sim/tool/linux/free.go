package linux

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runFree is procps' free: KiB, or MiB and GiB rounded down. What "available" has more than "free" is the page
// cache, which is always of one size here.
func runFree(_ context.Context, c *host.Call) int {
	set, _, _ := c.Flags("s")
	unit := int64(1)
	switch {
	case set.Has("m"):
		unit = 1 << 10
	case set.Has("g"):
		unit = 1 << 20
	}
	var available int64
	c.Locked(func() { available = c.Node.AvailableKB() })
	c.Println("               total        used        free      shared  buff/cache   available")
	c.Printf("Mem:      %10d  %10d  %10d  %10d  %10d  %10d\n", host.MemoryKB/unit, (host.MemoryKB-available)/unit,
		max(0, available-8663680)/unit, 21504/unit, 7588628/unit, available/unit)
	c.Printf("Swap:     %10d  %10d  %10d\n", 16777212/unit, 0, 16777212/unit)
	return 0
}
