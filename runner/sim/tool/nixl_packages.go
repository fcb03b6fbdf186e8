package tool

// nixlPackages are UCX's and NIXL's.
func nixlPackages() []pkg {
	return []pkg{
		{"ucx-utils", "1.21.0-1", "/usr/bin", programs{"ucx_info": runUcxInfo, "ucx_perftest": runUcxPerftest}},
		{"nixl", "", "/usr/local/bin", programs{"nixlbench": runNixlbench}},
		{"python3", "", "/usr/bin", programs{"python3": runPython}},
	}
}
