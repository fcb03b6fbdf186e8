// Package nixl is the simulated nodes' UCX and what runs on it: nixlbench with its meeting points, etcd, ucx_perftest,
// and the Python programs of the tutorial, which are railbench's own. NCCL has another transport, and is not here.
package nixl

import "github.com/railbench/railbench/runner/sim/tool/linux"

// Packages are UCX's and NIXL's.
func Packages() []linux.Package {
	return []linux.Package{
		{Name: "ucx-utils", Version: "1.21.0-1", Dir: "/usr/bin", Programs: linux.Programs{
			"ucx_info":     runUcxInfo,
			"ucx_perftest": runUcxPerftest,
		}},
		{Name: "nixl", Dir: "/usr/local/bin", Programs: linux.Programs{"nixlbench": runNixlbench}},
		{Name: "python3", Dir: "/usr/bin", Programs: linux.Programs{"python3": runPython}},
	}
}
