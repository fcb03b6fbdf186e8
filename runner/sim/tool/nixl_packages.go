package tool

import "github.com/railbench/railbench/runner/sim/tool/linux"

// nixlPackages are UCX's and NIXL's.
func nixlPackages() []linux.Package {
	return []linux.Package{
		{Name: "ucx-utils", Version: "1.21.0-1", Dir: "/usr/bin", Programs: linux.Programs{"ucx_info": runUcxInfo, "ucx_perftest": runUcxPerftest}},
		{Name: "nixl", Dir: "/usr/local/bin", Programs: linux.Programs{"nixlbench": runNixlbench}},
		{Name: "python3", Dir: "/usr/bin", Programs: linux.Programs{"python3": runPython}},
	}
}
