package linux

import (
	"context"
	"path"
	"slices"

	"github.com/railbench/railbench/runner/sim/host"
)

// UCXLibrary is UCX's, where the nodes have it.
const UCXLibrary = "/usr/local/ucx/lib/libucp.so.0"

// linked are what a program is linked with, in addition to the C library.
var linked = map[string][]string{
	"ucx_info": {
		UCXLibrary, "/usr/local/ucx/lib/libuct.so.0",
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
	"all_reduce_perf": {host.NCCLFile, "/lib/aarch64-linux-gnu/libcudart.so.13"},
	"all_gather_perf": {host.NCCLFile, "/lib/aarch64-linux-gnu/libcudart.so.13"},
	"iperf3":          {"/lib/aarch64-linux-gnu/libiperf.so.0", "/lib/aarch64-linux-gnu/libcrypto.so.3"},
	"python3": {
		"/lib/aarch64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libexpat.so.1", "/lib/aarch64-linux-gnu/libz.so.1",
	},
}

// NoLibrary keeps nixlbench from starting: a library of it is gone.
const NoLibrary host.Flaw = "nixlbench lacks a library"

// MissingLibrary is the one that such a node lacks.
const MissingLibrary = "libetcd-cpp-api.so"

// runLdd prints a program's libraries, of those of the table; a file that is not a program makes the status
// 1.
func runLdd(_ context.Context, c *host.Call) int {
	_, files, ok := c.Flags("")
	if !ok || len(files) == 0 {
		return c.Fail(1, "ldd: missing file arguments\nTry `ldd --help' for more information.")
	}
	code := 0
	for _, f := range files {
		if len(files) > 1 {
			c.Printf("%s:\n", f)
		}
		t, err := c.Find(c.Path(f))
		switch {
		case err != nil:
			c.Out.Flush()
			code = c.Fail(1, "ldd: %s: No such file or directory", c.Path(f))
			continue
		// A script or a library's name, to which no program belongs.
		case t.Run == nil:
			c.Println("\tnot a dynamic executable")
			code = 1
			continue
		}
		c.Println("\tlinux-vdso.so.1 (0x0000f1c2d0a4e000)")
		name := path.Base(f)
		var lacks bool
		c.Locked(func() { lacks = name == "nixlbench" && c.Node.Flawed(NoLibrary) })
		for i, l := range append(slices.Clone(linked[name]), "/lib/aarch64-linux-gnu/libc.so.6") {
			if lacks && path.Base(l) == MissingLibrary {
				c.Printf("\t%s => not found\n", MissingLibrary)
				continue
			}
			c.Printf("\t%s => %s (0x0000f1c2d0%d00000)\n", path.Base(l), l, i+1)
		}
		c.Println("\t/lib/ld-linux-aarch64.so.1 (0x0000f1c2d0a00000)")
	}
	return code
}
