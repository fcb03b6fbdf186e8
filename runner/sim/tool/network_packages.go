package tool

// networkPackages are what configures and measures the network.
func networkPackages() []pkg {
	return []pkg{
		{name: "iputils-ping", version: "3:20240117-1ubuntu0.1", dir: "/usr/bin", programs: programs{"ping": runPing}},
		{name: "curl", dir: "/usr/bin", programs: programs{"curl": runCurl}},
		{name: "systemd", version: "255.4-1ubuntu8.10", dir: "/usr/bin", programs: programs{"networkctl": runNetworkctl}},
		{name: "network-manager", dir: "/usr/bin", programs: programs{"nmcli": runNmcli}},
		{name: "netplan.io", version: "1.1.2-2~ubuntu24.04.2", dir: "/usr/sbin", programs: programs{"netplan": runNetplan}},
		{name: "nftables", dir: "/usr/sbin", programs: programs{"nft": runNft}},
		{name: "iproute2", version: "6.1.0-1ubuntu6.2", dir: "/usr/sbin", programs: programs{"ip": runIP, "ss": runSs, "tc": runTc}},
		{name: "ethtool", version: "1:6.7-1build1", dir: "/usr/sbin", programs: programs{"ethtool": runEthtool}},
		{name: "iperf3", version: "3.16-1build2", dir: "/usr/bin", programs: programs{"iperf3": runIperf3}},
		{name: "railbench", dir: "/usr/local/bin", programs: programs{"railbench": runRailbench}},
	}
}
