// Package rdma is the simulated nodes' programs of RDMA's devices: perftest, and those that show adapters, ports and
// GIDs. It has what a pair of ports is to UCX and NCCL, which are not here.
package rdma

import "github.com/railbench/railbench/runner/sim/tool/linux"

// Packages are those of RDMA's devices.
func Packages() []linux.Package {
	return []linux.Package{
		{Name: "iproute2", Version: "6.1.0-1ubuntu6.2", Dir: "/usr/bin", Programs: linux.Programs{"rdma": runRdma}},
		{Name: "ibverbs-utils", Version: "50.0-2ubuntu0.2", Dir: "/usr/bin", Programs: linux.Programs{
			"ibv_devices": runIbvDevices, "ibv_devinfo": runIbvDevinfo,
		}},
		{Name: "infiniband-diags", Version: "50.0-2ubuntu0.2", Dir: "/usr/sbin", Programs: linux.Programs{
			"ibstat": runIbstat, "ibstatus": runIbstatus,
		}},
		{Name: "mlnx-tools", Version: "24.10-0", Dir: "/usr/sbin", Programs: linux.Programs{
			"show_gids": runShowGids, "ibdev2netdev": runIbdev2netdev,
		}},
		// Debian 12's, whose columns say MB: the fault tool-differs installs a newer one in addition.
		{Name: "perftest", Version: "4.5+0.17-1", Dir: "/usr/bin", Programs: linux.Programs{
			"ib_write_bw": runPerftest, "ib_write_lat": runPerftest, "ib_read_bw": runPerftest,
			"ib_send_bw": runPerftest, "ib_read_lat": runPerftest, "ib_send_lat": runPerftest,
		}},
		{Name: "mft", Dir: "/usr/bin", Programs: linux.Programs{"mget_temp": runMgetTemp}},
		// Those without a program are there to be asked for.
		{Name: "rdma-core", Version: "50.0-2ubuntu0.2"},
		{Name: "ibverbs-providers", Version: "50.0-2ubuntu0.2"},
		{Name: "libibverbs1", Version: "50.0-2ubuntu0.2"},
		{Name: "rdmacm-utils", Version: "50.0-2ubuntu0.2"},
	}
}
