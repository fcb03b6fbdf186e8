package tool

// nixlPackages are UCX's and NIXL's.
func nixlPackages() []pkg {
	return []pkg{
		{name: "ucx-utils", version: "1.21.0-1", dir: "/usr/bin", programs: programs{"ucx_info": runUcxInfo, "ucx_perftest": runUcxPerftest}},
		{name: "nixl", dir: "/usr/local/bin", programs: programs{"nixlbench": runNixlbench}},
		{name: "python3", dir: "/usr/bin", programs: programs{"python3": runPython}},
	}
}
