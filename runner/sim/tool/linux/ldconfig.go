package linux

import (
	"context"
	"path"

	"github.com/railbench/railbench/runner/sim/host"
)

// runLdconfig is ldconfig -p, with the libraries that NIXL needs.
func runLdconfig(_ context.Context, c *host.Call) int {
	// Anything but -p writes the cache, which is root's.
	if set, _, _ := c.Flags(""); !set.Has("p") {
		return c.Fail(1, "/sbin/ldconfig.real: Can't create temporary cache file /etc/ld.so.cache~: Permission denied")
	}
	libs := []string{"libucs.so.0", "libucp.so.0", "libmlx5.so.1", "libibverbs.so.1", path.Base(host.NCCLFile)}
	c.Locked(func() {
		if c.Node.GPU {
			libs = append(libs, "libcudart.so.13", "libcuda.so.1")
		}
	})
	c.Printf("%d libs found in cache `/etc/ld.so.cache'\n", len(libs))
	for _, l := range libs {
		c.Printf("\t%s (libc6,AArch64) => /lib/aarch64-linux-gnu/%s\n", l, l)
	}
	return 0
}
