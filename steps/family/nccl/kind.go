// Package nccl is collectives on all nodes of a rig: that a launcher starts a process on each node, which
// settings NCCL gets there, and what nccl-tests measure. It compares that with the bytes that each PCIe half
// of each node's adapter had to carry and did carry. Package launch knows how a launcher is called.
package nccl

import (
	"errors"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"ranks": registry.Reads(readRanks), "nccl-tests": registry.Reads(parse.NCCLTests),
		},
		Judges: map[string]registry.Judge{
			"mpi-launch": registry.Takes[[]rank](judgeLaunch),
			"collective": registry.Takes[parse.NCCLTest](judgeCollective),
		},
		Live:    map[string]func(string) (steps.Table, bool){"nccl-tests": live},
		Figures: map[string][]steps.Measure{"collective": {steps.Throughput}},
		Params:  params(),
		Commands: slices.Concat(
			registry.Commands("nccl-tests (they are built from NVIDIA's repository)", "all_reduce_perf", "all_gather_perf"),
			registry.Others("openmpi-bin", "mpirun"), registry.Others("slurm-client", "srun"),
		),
	}
}

// Buffers are the parameters that hold the size of a test's largest buffer, by how many times as
// much memory has to be left for it: nccl-tests have three of that size (what is sent, what
// arrives and what is expected), NCCL has its own, and half of the memory stays for all else.
func Buffers() map[string]int64 { return map[string]int64{"NCCL_BYTES": 8} }

func params() []steps.Param {
	const gi = 1 << 30
	hca := registry.WordsParam("NCCL_IB_HCA", "", "the RDMA devices that NCCL shall use in the collectives",
		"NCCL's names of devices", noBlank)
	hca.Empty = "left to NCCL"
	return []steps.Param{
		registry.SizeParam("NCCL_BYTES", "4294967296", "the largest size of a collective; less where a node has little "+
			"memory left", 1<<20, 64*gi),
		registry.NumberParam("NCCL_ITERATIONS", "20", "times", "how often a collective of each size is measured", 1, 100_000),
		hca,
		registry.WordsParam("LAUNCHER", "openmpi",
			"what starts a program on every node: a file of launchers, openmpi or srun", "a launcher's name", isLauncher),
		func() steps.Param {
			p := registry.WordsParam("LAUNCH_HOSTS", "", "what the launcher calls the nodes, in the rig file's order",
				"names or addresses, with commas between", noBlank)
			p.Empty = "as railbench reaches them"
			return p
		}(),
	}
}

func isLauncher(s string) error {
	if !steps.IsID(s) {
		return errors.New("a launcher's name has small letters, digits and -")
	}
	return nil
}

func noBlank(s string) error {
	if strings.ContainsAny(s, " \t\n") {
		return errors.New("commas stand between the names, and no blank")
	}
	return nil
}
