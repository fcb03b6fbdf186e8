package tool

// rdmaPackages are those of RDMA's devices.
func rdmaPackages() []pkg {
	return []pkg{
		{"iproute2", "6.1.0-1ubuntu6.2", "/usr/bin", programs{"rdma": runRdma}},
		{"ibverbs-utils", "50.0-2ubuntu0.2", "/usr/bin", programs{
			"ibv_devices": runIbvDevices, "ibv_devinfo": runIbvDevinfo,
		}},
		{"infiniband-diags", "50.0-2ubuntu0.2", "/usr/sbin", programs{
			"ibstat": runIbstat, "ibstatus": runIbstatus,
		}},
		{"mlnx-tools", "24.10-0", "/usr/sbin", programs{
			"show_gids": runShowGids, "ibdev2netdev": runIbdev2netdev,
		}},
		// Debian 12's, whose columns say MB: the fault tool-differs puts a newer one beside it.
		{"perftest", "4.5+0.17-1", "/usr/bin", programs{
			"ib_write_bw": runPerftest, "ib_write_lat": runPerftest, "ib_read_bw": runPerftest,
			"ib_send_bw": runPerftest, "ib_read_lat": runPerftest, "ib_send_lat": runPerftest,
		}},
		{"mft", "", "/usr/bin", programs{"mget_temp": runMgetTemp}},
		// Those without a program are there to be asked for.
		{"rdma-core", "50.0-2ubuntu0.2", "", nil},
		{"ibverbs-providers", "50.0-2ubuntu0.2", "", nil},
		{"libibverbs1", "50.0-2ubuntu0.2", "", nil},
		{"rdmacm-utils", "50.0-2ubuntu0.2", "", nil},
	}
}
