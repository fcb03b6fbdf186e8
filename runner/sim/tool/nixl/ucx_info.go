package nixl

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

//go:embed ucx_info_*.txt
var ucxTexts embed.FS

// runUcxInfo is ucx_info: -v, -b and -d.
func runUcxInfo(_ context.Context, c *host.Call) int {
	set, rest, ok := c.Flags("tun")
	// main returns -1, which a shell sees as 255.
	if !ok || len(rest) > 0 || len(set) == 0 {
		c.Printf("%s", linux.PrintTemplate(ucxTexts, "ucx_info_help.txt", nil))
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

// ucxBuild is -v. The options of configure are what reports a UCX without verbs from one that found no device.
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

// A ucxTransport is a block of ucx_info -d. Bandwidth and latency are formulas, as ucx_info prints them: what all
// processes of a node share, by their number (ppn), and what each has next to it.
type ucxTransport struct {
	Name, Device, Kind, System string
	Bandwidth, Latency         string
	Priority, Paths            int
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
	transport := func(t ucxTransport) { b.WriteString(linux.PrintTemplate(ucxTexts, "ucx_info_transport.txt", t)) }
	const unknown = "<unknown>"
	for _, shared := range []string{"posix", "sysv"} {
		domain(shared, shared, "            allocate: unlimited", "          remote key: 24 bytes",
			"          rkey_ptr is supported", "        memory types: host (access,alloc,cache)")
		transport(ucxTransport{
			Name: shared, Device: "memory", Kind: "intra-node",
			System: unknown, Bandwidth: "0.00/ppn + 15360.00", Latency: "80",
		})
	}
	domain("self", "self", "            register: unlimited, cost: 0 nsec", "          remote key: 0 bytes",
		"          rkey_ptr is supported", "        memory types: host (access,reg,cache)")
	transport(ucxTransport{
		Name: "self", Device: "memory0", Kind: "loopback", System: unknown, Bandwidth: "0.00/ppn + 19360.00", Latency: "0",
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
				Name: "tcp", Device: d.Name, Kind: "network", System: system,
				Bandwidth: rate + "/ppn + 0.00", Latency: "5203", Priority: priority, Paths: 1,
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
				Name: name, Device: f.Dev + ":1", Kind: "network", System: fmt.Sprintf("%s (%d)", f.Dev, f.No),
				Bandwidth: "12931.17/ppn + 0.00", Latency: "600 + 1.000 * N", Priority: 60, Paths: 1,
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
			Name: "cuda_copy", Device: "cuda", Kind: "accelerator",
			System: "GPU0 (4)", Bandwidth: "10000.00/ppn + 0.00", Latency: "8000",
		})
		domain("cuda_ipc", "cuda_ipc", "            register: unlimited, cost: 0 nsec", "          remote key: 112 bytes",
			"        memory invalidation is supported", "        memory types: cuda (access,reg,cache)")
		transport(ucxTransport{
			Name: "cuda_ipc", Device: "cuda", Kind: "intra-node", System: "GPU0 (4)",
			Bandwidth: "200000.00/ppn + 0.00", Latency: "7000", Paths: 1,
		})
	}
	domain("cma", "cma", "            register: unlimited, cost: 9 nsec", "        memory types: host (access,reg,cache)")
	transport(ucxTransport{
		Name: "cma", Device: "memory", Kind: "intra-node", System: unknown, Bandwidth: "0.00/ppn + 11145.00", Latency: "80",
	})
	return strings.TrimRight(b.String(), "\n")
}
