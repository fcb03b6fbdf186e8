package parse

// The lines that identify each tool's output. The weights were found with the corpus: a text that is taken
// for another tool's reads as a table without rows.

// IbvDevicesTool reads ibv_devices of ibverbs-utils.
func IbvDevicesTool() Tool {
	return Tool{
		Name: "ibv_devices", Shows: "a table under \"device  node GUID\"",
		Reads: List("ibv_devices", IbvDevices),
		Marks: []Mark{Sign(3, `^\s*device\s+node GUID`)},
	}
}

// IbvDevinfoTool reads ibv_devinfo of ibverbs-utils.
func IbvDevinfoTool() Tool {
	return Tool{
		Name: "ibv_devinfo", Shows: "blocks that begin with \"hca_id:\"",
		Reads: List("ibv_devinfo", IbvDevinfo),
		Marks: []Mark{
			Sign(3, `^hca_id:`),
			Sign(2, `^\s+(?:phys_port_cnt|active_mtu|link_layer):`),
			Sign(2, `^No IB devices found`),
		},
	}
}

// ShowGidsTool reads the script show_gids of MLNX_OFED.
func ShowGidsTool() Tool {
	return Tool{
		Name: "show_gids", Shows: "a table under \"DEV  PORT  INDEX  GID\"",
		Reads: List("show_gids", ShowGids),
		Marks: []Mark{Sign(3, `^DEV\s+PORT\s+INDEX\s+GID`)},
	}
}

// Ibdev2netdevTool reads the script ibdev2netdev of MLNX_OFED.
func Ibdev2netdevTool() Tool {
	return Tool{
		Name: "ibdev2netdev", Shows: "lines \"DEVICE port 1 ==> INTERFACE (Up)\"",
		Reads: List("ibdev2netdev", Ibdev2netdev),
		Marks: []Mark{Sign(3, ` port \d+ ==> \S+ \((?:Up|Down)\)`)},
	}
}

// IPTool reads ip link, ip addr and ip route of iproute2.
func IPTool() Tool {
	return Tool{
		Name: "ip", Shows: "interfaces, routes or neighbours, as ip link," +
			" ip addr, ip route and ip neigh print them, also with -j, -s and -br",
		Reads: readIP,
		Marks: []Mark{
			Sign(3, `^\d+: \S+: <[A-Z_,0-9-]*>`),
			Sign(3, `"if(?:index|name)" *:`),
			Sign(3, `^[\da-fA-F.:]+ (?:dev \S+ )?(?:lladdr \S+ )?(?:REACHABLE|STALE|FAILED|PERMANENT|INCOMPLETE|DELAY)`),
			Sign(3, `^\S+ +(?:UP|DOWN|UNKNOWN) +(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5} |[0-9a-f.:]+/\d+)`),
			Sign(2, `^(?:(?:local|unreachable|blackhole|broadcast) )?(?:default|`+
				`[\d.]+(?:/\d+)?|[0-9a-f:]+/\d+) (?:via|dev) \S+`),
			Sign(3, `"dst" *: *"[^"]+", *"(?:gateway|dev|lladdr|from)"|"nexthops" *: *\[`),
		},
	}
}

// PingTool reads ping of iputils.
func PingTool() Tool {
	return Tool{
		Name: "ping", Shows: "\"PING HOST\" and its summary",
		Reads: readPing,
		Marks: []Mark{Sign(3, `^PING \S+`), Sign(3, `^\d+ packets transmitted, `), Sign(3, `^ping: `)},
	}
}

// PerftestTool reads all programs of perftest: their tables differ in columns, which are found by name.
func PerftestTool() Tool {
	return Tool{
		Name: "perftest",
		Also: []string{
			"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw",
			"ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat",
			"raw_ethernet_bw", "raw_ethernet_lat",
		},
		Shows: "a table under \"#bytes  #iterations …\" with a row in it, or the file of --out_json",
		Reads: readPerftest,
		Marks: []Mark{
			Sign(3, `#bytes\s+#iterations`),
			Sign(3, `^\W*"?test_info"? *:`),
			Sign(2, `^\s+\w[\w /-]* (?:BW|Latency|Lat)(?: Post List)? Test\s*$`),
			Sign(2, `^ (?:local|remote) address: LID `),
			Sign(2, `Waiting for client to connect`),
			Sign(2, `Unable to init the socket connection|Failed status-transport|Port number \d+ state is|`+
				`the Infiniband/RoCE device|Couldn't connect to \S+:\d+|Failed to modify QP|`+
				`Failed to negotiate parameters|`+
				`Couldn't (?:create IB resources|allocate MR)|Invalid Command or flag`),
		},
	}
}

// Iperf3Tool reads iperf3's table and its JSON.
func Iperf3Tool() Tool {
	return Tool{
		Name: "iperf3", Shows: "rows that end in sender or receiver, or JSON: one object (-J) or a stream of events",
		Reads: readIperf3,
		Marks: []Mark{
			Sign(3, `"(?:sum_sent|sum_received|tcp_mss_default|intervals)" *:|"version" *: *"iperf 3`),
			Sign(3, `^\{"event": *"(?:start|interval|end|error)", *"data":`),
			Sign(3, `^\[ *(?:ID|SUM|\d+)\](?:\[[\w-]+\])? .*(?:Interval|bits/sec)`),
			Sign(2, `^iperf3: `),
			Sign(2, `^(?:Server listening on \d+|Connecting to host \S+, port \d+)`),
		},
	}
}

// UCXTool reads ucx_info -v and -d.
func UCXTool() Tool {
	return Tool{
		Name: "ucx_info", Shows: "lines \"# Library version:\" (-v) or \"# Memory domain:\" (-d)",
		Reads: readUCX,
		Marks: []Mark{
			Sign(3, `^# (?:UCX version=|Library version: |Version \d)`),
			Sign(3, `^#\s+Memory domain: `),
			Sign(1, `^#\s+Transport: `),
		},
	}
}

// NIXLBenchTool reads either end of nixlbench.
func NIXLBenchTool() Tool {
	return Tool{
		Name: "nixlbench", Shows: "\"Block Size (B)\" with a row under it (initiator), or its rank (target)",
		Reads: readNIXLBench,
		Marks: []Mark{
			Sign(3, `Block Size \(B\)`),
			Sign(3, `^ETCD Runtime: Registered as rank|^Using address \S+ port \d+ for ASIO`),
			Sign(3, `^Init nixl worker, dev `),
			Sign(3, `NIXLBench Configuration`),
			Sign(2, `Failed to setup (?:ETCD|ASIO) runtime|Incorrect (?:buffer size configuration|device list)|`+
				`Total_buffer_size must|xferbench/|\(--etcd_endpoints|nixlbench`),
			Sign(2, `NIXL_ERR_|^NIXL: `),
		},
	}
}

// BondingTool reads the files of the kernel's bonding driver.
func BondingTool() Tool {
	return Tool{
		Name: "bonding", Also: []string{"/proc/net/bonding"},
		Shows: "what /proc/net/bonding/BOND holds, of one or several bonds",
		Reads: readBonding,
		Marks: []Mark{
			Sign(3, `^Ethernet Channel Bonding Driver`),
			Sign(3, `^Bonding Mode: `),
			Sign(2, `^no bond$`),
			Sign(1, `^Slave Interface: `),
		},
	}
}

// NvidiaSMITool reads four of nvidia-smi's forms.
func NvidiaSMITool() Tool {
	return Tool{
		Name: "nvidia-smi", Also: []string{"nvidia_smi"},
		Shows: "its table, -L, -q, or --query-gpu=… --format=csv with the header",
		Reads: readNvidiaSMI,
		Marks: []Mark{
			Sign(3, `NVIDIA-SMI `),
			Sign(3, `NVSMI LOG`),
			Sign(3, `^GPU \d+: .* \(UUID: `),
			Sign(2, `^\s*(?:BAR1 Memory Usage|Attached GPUs)`),
			Sign(3, `^(?:[a-z][\w.]*(?: \[[^\]]*\])?, ?)*(?:driver_version|temperature\.gpu|`+
				`memory\.(?:total|used|free)|utilization\.gpu|power\.draw|pci\.bus_id)(?: \[[^\]]*\])?(?:,|\s*$)`),
		},
	}
}

// FreeTool reads free of procps.
func FreeTool() Tool {
	return Tool{
		Name: "free", Shows: "a table under \"total  used  free\"",
		Reads: readFree,
		Marks: []Mark{Sign(3, `^\s+total\s+used\s+free`), Sign(1, `^Mem: `)},
	}
}

// DmesgTool reads the kernel's log, whichever program kept it.
func DmesgTool() Tool {
	return Tool{
		Name: "dmesg", Also: []string{"journal", "journalctl"},
		Shows: "the kernel's log, of dmesg, journalctl -k or syslog",
		Reads: List("dmesg", Dmesg),
		Marks: []Mark{
			Sign(2, `^(?:<\d+>|\w+ *:\w+ *: )?\[ *\d+\.\d+\](?:\[ *[TC]\d+\]:?)? [^\[\s]`),
			Sign(3, `^\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] `),
			Sign(3, ` kernel: `),
			Sign(2, `mlx5_core [0-9a-f]{4}:`),
			Sign(1, `NVRM: |pcieport `),
			Sign(3, `^dmesg: `),
		},
	}
}
