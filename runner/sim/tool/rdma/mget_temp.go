package rdma

import (
	"context"

	"github.com/railbench/railbench/runner/sim/host"
)

// runMgetTemp is of NVIDIA's firmware tools (mft), which are root's.
func runMgetTemp(_ context.Context, c *host.Call) int {
	set, _, ok := c.Flags("d")
	if !ok || !set.Has("d") {
		return c.Fail(1, "-E- Missing device, use -d <device>")
	}
	if !c.Root {
		return c.Fail(1, "-E- Cannot open Device: %s. Permission denied", set.Last('d', ""))
	}
	// mft takes a PCI address with or without the domain, or an RDMA device's name.
	device, degrees := set.Last('d', ""), 0
	c.Locked(func() {
		for _, f := range c.Node.Present() {
			if f.PCI == device || f.PCI == "0000:"+device || f.Dev == device {
				degrees, _ = c.Node.Degrees(f)
			}
		}
	})
	if degrees == 0 {
		return c.Fail(1, "-E- Cannot open Device: %s. No such file or directory", device)
	}
	c.Printf("%-14d\n", degrees)
	return 0
}
