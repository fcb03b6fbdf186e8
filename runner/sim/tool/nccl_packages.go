package tool

import "github.com/railbench/railbench/runner/sim/tool/linux"

// ncclPackages are NCCL's tests, and what starts them.
func ncclPackages() []linux.Package {
	return []linux.Package{
		{
			Name: "nccl-tests", Dir: "/usr/local/nccl-tests/build",
			Programs: linux.Programs{"all_reduce_perf": runNCCLTest, "all_gather_perf": runNCCLTest},
		},
		{Name: "openmpi-bin", Version: "4.1.6-7ubuntu2", Dir: "/usr/bin", Programs: linux.Programs{"mpirun": runMpirun, "mpiexec": runMpirun}},
	}
}
