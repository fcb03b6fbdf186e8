package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// runUcxInfo is ucx_info: -v, -b and -d.
func runUcxInfo(_ context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("tun")
	// main returns -1, which a shell sees as 255.
	if !ok || len(rest) > 0 || len(set) == 0 {
		c.Println("Usage: ucx_info [options]\nAt least one of the following options has to be set:\n" +
			"  -v              Show version information\n" +
			"  -d              Show devices and transports\n" +
			"  -b              Show build configuration")
		return 255
	}
	c.Locked(func() {
		n := c.Node
		if set.Has("v") {
			c.Println(ucxBuild(n))
		}
		if set.Has("b") {
			c.Printf("#define ENABLE_MT                 1\n#define HAVE_CUDA                 1\n"+
				"#define HAVE_IB                   %d\n#define UCX_MODULE_SUBDIR         \"ucx\"\n",
				map[bool]int{true: 1}[ucxVerbs(n)])
		}
		if set.Has("d") {
			c.Println(ucxDevices(n))
		}
	})
	return 0
}

// ucxBuild is -v. The options of configure are what tells a UCX without verbs from one that found no device.
func ucxBuild(n *host.Node) string {
	release, verbs := ucxRelease(n), " --with-verbs --with-rdmacm"
	if !ucxVerbs(n) {
		verbs = " --without-verbs --without-rdmacm"
	}
	return fmt.Sprintf("# Library version: %s\n# Library path: /usr/local/ucx/lib/libucs.so.0\n"+
		"# API headers version: %s\n# Git branch '', revision 3c2e2f6\n"+
		"# Configured with: --prefix=/usr/local/ucx --with-cuda=/usr/local/cuda%s --enable-mt",
		release, release, verbs)
}

// A ucxTransport is a block of ucx_info -d.
// Bandwidth and latency are formulas, as ucx_info prints them: what all processes of a node share, by their
// number (ppn), and what each has beside it.
type ucxTransport struct {
	name, device, kind, system string
	bandwidth, latency         string
	priority, paths            int
}

func (t ucxTransport) String() string {
	return fmt.Sprintf(`#      Transport: %s
#         Device: %s
#           Type: %s
#  System device: %s
#
#      capabilities:
#            bandwidth: %s MB/sec
#              latency: %s nsec
#             overhead: 40 nsec
#      device priority: %d
#     device num paths: %d
#       error handling: peer failure, ep_check
#
`, t.name, t.device, t.kind, t.system, t.bandwidth, t.latency, t.priority, t.paths)
}

// ucxDevices are all memory domains with their transports. A rail's lists host
// memory and nothing of the GPU's: it cannot reach that.
func ucxDevices(n *host.Node) string {
	var b strings.Builder
	domain := func(name, component string, facts ...string) {
		fmt.Fprintf(&b, "#\n# Memory domain: %s\n#     Component: %s\n", name, component)
		for _, f := range facts {
			fmt.Fprintf(&b, "# %s\n", f)
		}
		b.WriteString("#\n")
	}
	transport := func(t ucxTransport) { b.WriteString(t.String()) }
	const unknown = "<unknown>"
	for _, shared := range []string{"posix", "sysv"} {
		domain(shared, shared, "            allocate: unlimited", "          remote key: 24 bytes",
			"          rkey_ptr is supported", "        memory types: host (access,alloc,cache)")
		transport(ucxTransport{
			name: shared, device: "memory", kind: "intra-node",
			system: unknown, bandwidth: "0.00/ppn + 15360.00", latency: "80",
		})
	}
	domain("self", "self", "            register: unlimited, cost: 0 nsec", "          remote key: 0 bytes",
		"          rkey_ptr is supported", "        memory types: host (access,reg,cache)")
	transport(ucxTransport{
		name: "self", device: "memory0", kind: "loopback", system: unknown, bandwidth: "0.00/ppn + 19360.00", latency: "0",
	})
	domain("tcp", "tcp", "            register: unlimited, cost: 0 nsec",
		"          remote key: 0 bytes", "        memory types: host (access,reg,cache)")
	for _, d := range n.Netdevs {
		if d.Running() && d.IPv4().IsValid() {
			// MB/s that UCX reckons with, by the speed that the interface reports.
			rate, system, priority := "11.32", unknown, 0
			if d.Func != nil {
				rate, system, priority = "23588.47", fmt.Sprintf("%s (%d)", d.Name, d.Func.No), 1
			}
			transport(ucxTransport{
				name: "tcp", device: d.Name, kind: "network", system: system,
				bandwidth: rate + "/ppn + 0.00", latency: "5203", priority: priority, paths: 1,
			})
		}
	}
	b.WriteString("#\n# Connection manager: tcp\n#      max_conn_priv: 2064 bytes\n")
	for _, f := range n.Present() {
		if !ucxVerbs(n) || !f.Live() {
			continue
		}
		domain(f.Dev, "ib", "            register: unlimited, dmabuf, cost: 16000 + 0.060 * N nsec",
			"          remote key: 8 bytes", "          local memory handle is required for zcopy",
			"          memory invalidation is supported", "        memory types: host (access,reg,cache)")
		for _, name := range []string{"dc_mlx5", "rc_verbs", "rc_mlx5", "ud_verbs", "ud_mlx5"} {
			transport(ucxTransport{
				name: name, device: f.Dev + ":1", kind: "network", system: fmt.Sprintf("%s (%d)", f.Dev, f.No),
				bandwidth: "12931.17/ppn + 0.00", latency: "600 + 1.000 * N", priority: 60, paths: 1,
			})
		}
	}
	if ucxVerbs(n) {
		b.WriteString("#\n# Connection manager: rdmacm\n#      max_conn_priv: 54 bytes\n")
	}
	if n.GPU {
		domain("cuda_cpy", "cuda_cpy", "            allocate: unlimited", "            register: unlimited, cost: 0 nsec",
			"        memory types: host (reg), cuda (access,alloc,reg,detect), cuda-managed (access,alloc,reg,cache,detect)")
		transport(ucxTransport{
			name: "cuda_copy", device: "cuda", kind: "accelerator",
			system: "GPU0 (4)", bandwidth: "10000.00/ppn + 0.00", latency: "8000",
		})
		domain("cuda_ipc", "cuda_ipc", "            register: unlimited, cost: 0 nsec", "          remote key: 112 bytes",
			"        memory invalidation is supported", "        memory types: cuda (access,reg,cache)")
		transport(ucxTransport{
			name: "cuda_ipc", device: "cuda", kind: "intra-node", system: "GPU0 (4)",
			bandwidth: "200000.00/ppn + 0.00", latency: "7000", paths: 1,
		})
	}
	domain("cma", "cma", "            register: unlimited, cost: 9 nsec", "        memory types: host (access,reg,cache)")
	transport(ucxTransport{
		name: "cma", device: "memory", kind: "intra-node", system: unknown, bandwidth: "0.00/ppn + 11145.00", latency: "80",
	})
	return strings.TrimRight(b.String(), "\n")
}
