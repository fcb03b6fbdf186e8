package tool

// rdmaPackages are those of RDMA's devices.
func rdmaPackages() []pkg {
	return []pkg{
		{name: "iproute2", version: "6.1.0-1ubuntu6.2", dir: "/usr/bin", programs: programs{"rdma": runRdma}},
		{name: "ibverbs-utils", version: "50.0-2ubuntu0.2", dir: "/usr/bin", programs: programs{
			"ibv_devices": runIbvDevices, "ibv_devinfo": runIbvDevinfo,
		}},
		{name: "infiniband-diags", version: "50.0-2ubuntu0.2", dir: "/usr/sbin", programs: programs{
			"ibstat": runIbstat, "ibstatus": runIbstatus,
		}},
		{name: "mlnx-tools", version: "24.10-0", dir: "/usr/sbin", programs: programs{
			"show_gids": runShowGids, "ibdev2netdev": runIbdev2netdev,
		}},
		// Debian 12's, whose columns say MB: the fault tool-differs puts a newer one beside it.
		{name: "perftest", version: "4.5+0.17-1", dir: "/usr/bin", programs: programs{
			"ib_write_bw": runPerftest, "ib_write_lat": runPerftest, "ib_read_bw": runPerftest,
			"ib_send_bw": runPerftest, "ib_read_lat": runPerftest, "ib_send_lat": runPerftest,
		}},
		{name: "mft", dir: "/usr/bin", programs: programs{"mget_temp": runMgetTemp}},
		// Those without a program are there to be asked for.
		{name: "rdma-core", version: "50.0-2ubuntu0.2"},
		{name: "ibverbs-providers", version: "50.0-2ubuntu0.2"},
		{name: "libibverbs1", version: "50.0-2ubuntu0.2"},
		{name: "rdmacm-utils", version: "50.0-2ubuntu0.2"},
	}
}
