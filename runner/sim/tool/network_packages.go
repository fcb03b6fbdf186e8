package tool

// networkPackages are what configures and measures the network.
func networkPackages() []pkg {
	return []pkg{
		{"iputils-ping", "3:20240117-1ubuntu0.1", "/usr/bin", programs{"ping": runPing}},
		{"curl", "", "/usr/bin", programs{"curl": runCurl}},
		{"systemd", "255.4-1ubuntu8.10", "/usr/bin", programs{"networkctl": runNetworkctl}},
		{"network-manager", "", "/usr/bin", programs{"nmcli": runNmcli}},
		{"netplan.io", "1.1.2-2~ubuntu24.04.2", "/usr/sbin", programs{"netplan": runNetplan}},
		{"nftables", "", "/usr/sbin", programs{"nft": runNft}},
		{"iproute2", "6.1.0-1ubuntu6.2", "/usr/sbin", programs{"ip": runIP, "ss": runSs, "tc": runTc}},
		{"ethtool", "1:6.7-1build1", "/usr/sbin", programs{"ethtool": runEthtool}},
		{"iperf3", "3.16-1build2", "/usr/bin", programs{"iperf3": runIperf3}},
		{"railbench", "", "/usr/local/bin", programs{"railbench": runRailbench}},
	}
}
