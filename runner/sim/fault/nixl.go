package fault

import (
	"slices"

	"github.com/railbench/railbench/runner/sim/tool/nixl"
)

// nixlFaults are the faults of what NIXL needs: UCX, the GPU, memory.
func nixlFaults() []Fault {
	return []Fault{
		{
			Name: "ucx-mismatch", Title: "Different UCX releases",
			Report: "the initiator says NIXL_ERR_NOT_FOUND, the target says nothing",
			Doc: "{node} has UCX 1.16.0 and {peer} has 1.21.0. NIXL finds no way to the other end: an initiator " +
				"fails with NIXL_ERR_NOT_FOUND.",
			Do: flawedBy(nixl.OldUCX),
		},
		{
			Name: "ucx-no-verbs", Title: "UCX without verbs",
			Report: "nixlbench works and is as slow as TCP, or finds transport 'ib' is not available",
			Doc: "{node}'s UCX was built without verbs: ucx_info lists no rc there. Where UCX may choose its " +
				"devices it falls back to TCP, with status 0 and no byte on the RDMA ports; where only RDMA " +
				"devices are named it finds none.",
			Do: flawedBy(nixl.NoVerbs),
		},
		{
			Name: "nixl-hang", Title: "Several threads hang", Where: OnAll,
			Report: "nixlbench with several threads prints two rows and hangs",
			Doc: "nixlbench from {node} and to it with more than one thread prints two rows and then nothing more, " +
				"for ever.",
			Do: flawedBy(nixl.Stuck),
		},
		{
			Name: "nixl-one-rail", Title: "UCX uses one rail of two", Where: OnAll,
			Report: "two rails give the same throughput with NIXL as one",
			Doc: "Whatever is asked for, UCX on {node} sends all data over the first rail. Everything ends with " +
				"status 0; only the counters and the figure show it.",
			Do: flawedBy(nixl.FirstRailOnly),
		},
		{
			Name: "nixl-old", Title: "An old nixlbench", Where: OnAll,
			Report: "my command line says unknown command line flag asio_address on one node",
			Doc: "On {node} nixlbench is that of NIXL 1.0: it has no --asio_address, so it needs an etcd, and its " +
				"latency with several threads is too small.",
			Do: flawedBy(nixl.OldNIXL),
		},
		{
			Name: "nixl-missing", Title: "nixlbench is not installed",
			Report: "nixlbench: command not found",
			Doc:    "{node} has no nixlbench: a script that calls it ends with status 127.",
			Do:     lacking("", "nixlbench"),
		},
		{
			Name: "gpu-missing", Title: "The GPU's driver is not there",
			Report: "nvidia-smi: command not found, and only host memory works",
			Doc: "{node} has no NVIDIA driver: no nvidia-smi, no libcuda, no cuda_copy in UCX. Host memory is all " +
				"that can be moved.",
			Do: func(s Spot) func() {
				n := s.Node
				// NVIDIA's driver package has both: without it there is neither the program nor the modules.
				back := lacking("", "nvidia-smi")(s)
				// The device stays on the bus, without a driver.
				n.GPU = false
				n.Modules = slices.DeleteFunc(n.Modules, func(m string) bool { return slices.Contains(gpuModules, m) })
				return func() {
					n.GPU = true
					n.Modules = append(n.Modules, gpuModules...)
					back()
				}
			},
		},
		{
			Name: "low-memory", Title: "Memory is short",
			Report: "nixlbench fails to allocate its buffer, with std::bad_alloc",
			Doc:    "700 MB are available on {node}. nixlbench fails to allocate its buffer there.",
			Do: func(s Spot) func() {
				// In KiB, as FreeKB is.
				was := s.Node.FreeKB
				// Less than any cell's buffers, and enough for a shell.
				s.Node.FreeKB = 700 << 10
				return func() { s.Node.FreeKB = was }
			},
		},
	}
}

// gpuModules are the kernel modules of the GPU's driver.
var gpuModules = []string{"nvidia_uvm", "nvidia"}
