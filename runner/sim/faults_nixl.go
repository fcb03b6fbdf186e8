package sim

import "slices"

// nixlDefects are the faults of what NIXL needs: UCX, the GPU, memory.
func nixlDefects() map[string]defect {
	changed := func(title, doc string) defect {
		return defect{title: title, doc: doc, on: treeChanged, off: treeChanged}
	}
	return map[string]defect{
		"ucx-mismatch": {
			title: "Different UCX releases",
			doc:   "spark-01 has UCX 1.16.0 and spark-02 has 1.21.0. NIXL finds no way to the other end: an initiator fails with NIXL_ERR_NOT_FOUND.",
		},
		"ucx-no-verbs": {
			title: "UCX without verbs",
			doc:   "spark-01's UCX was built without verbs: ucx_info lists no rc there. Where UCX may choose its devices it falls back to TCP, with status 0 and no byte on the RDMA ports; where only RDMA devices are named it finds none.",
		},
		"nixl-hang": {
			title: "Several threads hang",
			doc:   "nixlbench with more than one thread prints two rows and then nothing more, for ever.",
		},
		"nixl-one-rail": {
			title: "UCX uses one rail of two",
			doc:   "Whatever is asked for, UCX sends all data over the first rail. Everything ends with status 0; only the counters and the figure tell.",
		},
		"nixl-old": {
			title: "An old nixlbench",
			doc:   "Both nodes have the nixlbench of NIXL 1.0: it has no --asio_address, so it needs an etcd, and its latency with several threads is too small.",
		},
		"nixl-missing": changed("nixlbench is not installed",
			"spark-01 has no nixlbench: a script that calls it ends with status 127."),
		"gpu-missing": {
			title: "The GPU's driver is not there",
			doc:   "spark-01 has no NVIDIA driver: no nvidia-smi, no libcuda, no cuda_copy in UCX. Host memory is all that can be moved.",
			on: func(r *Rig) {
				n := r.nodes[0]
				n.modules = slices.DeleteFunc(n.modules, func(m string) bool { return slices.Contains(gpuModules, m) })
				treeChanged(r)
			},
			off: func(r *Rig) {
				r.nodes[0].modules = append(r.nodes[0].modules, gpuModules...)
				treeChanged(r)
			},
		},
		"low-memory": {
			title: "Memory is short",
			doc:   "700 MB are available on spark-01. nixlbench fails to allocate its buffer there.",
		},
	}
}

// gpuModules are the kernel modules of the GPU's driver.
var gpuModules = []string{"nvidia_uvm", "nvidia"}

// lacks says whether a fault took a program away.
func (n *node) lacks(name string) bool {
	if n.index != 0 {
		return false
	}
	switch name {
	case "nixlbench":
		return n.rig.faults["nixl-missing"]
	case "nvidia-smi":
		return !n.hasGPU()
	}
	return false
}
