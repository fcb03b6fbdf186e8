package tool

// ncclPackages are NCCL's tests, and what starts them.
func ncclPackages() []pkg {
	return []pkg{
		{
			"nccl-tests", "", "/usr/local/nccl-tests/build",
			programs{"all_reduce_perf": runNCCLTest, "all_gather_perf": runNCCLTest},
		},
		{"openmpi-bin", "4.1.6-7ubuntu2", "/usr/bin", programs{"mpirun": runMpirun, "mpiexec": runMpirun}},
	}
}
