package tool

// ncclPackages are NCCL's tests, and what starts them.
func ncclPackages() []pkg {
	return []pkg{
		{
			name: "nccl-tests", dir: "/usr/local/nccl-tests/build",
			programs: programs{"all_reduce_perf": runNCCLTest, "all_gather_perf": runNCCLTest},
		},
		{name: "openmpi-bin", version: "4.1.6-7ubuntu2", dir: "/usr/bin", programs: programs{"mpirun": runMpirun, "mpiexec": runMpirun}},
	}
}
