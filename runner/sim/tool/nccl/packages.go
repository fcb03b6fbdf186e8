// Package nccl is the simulated nodes' nccl-tests, NCCL itself, and mpirun, which starts its ranks.
package nccl

import "github.com/railbench/railbench/runner/sim/tool/linux"

// Packages are NCCL's tests, and what starts them.
func Packages() []linux.Package {
	return []linux.Package{
		{
			Name: "nccl-tests", Dir: "/usr/local/nccl-tests/build",
			Programs: linux.Programs{"all_reduce_perf": runNCCLTest, "all_gather_perf": runNCCLTest},
		},
		{Name: "openmpi-bin", Version: "4.1.6-7ubuntu2", Dir: "/usr/bin", Programs: linux.Programs{
			"mpirun":  runMpirun,
			"mpiexec": runMpirun,
		}},
	}
}
