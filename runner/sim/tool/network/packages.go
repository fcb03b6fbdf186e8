// Package network is the simulated nodes' programs that configure, show and measure the network: iproute2, netplan,
// NetworkManager's and networkd's tools, nft, ping, iperf3, curl, and railbench's own streams. RDMA's are not here.
package network

import "github.com/railbench/railbench/runner/sim/tool/linux"

// Packages are what configures and measures the network.
func Packages() []linux.Package {
	return []linux.Package{
		{Name: "iputils-ping", Version: "3:20240117-1ubuntu0.1", Dir: "/usr/bin", Programs: linux.Programs{"ping": runPing}},
		{Name: "curl", Dir: "/usr/bin", Programs: linux.Programs{"curl": runCurl}},
		{
			Name: "systemd", Version: "255.4-1ubuntu8.10", Dir: "/usr/bin",
			Programs: linux.Programs{"networkctl": runNetworkctl},
		},
		{Name: "network-manager", Dir: "/usr/bin", Programs: linux.Programs{"nmcli": runNmcli}},
		{
			Name: "netplan.io", Version: "1.1.2-2~ubuntu24.04.2", Dir: "/usr/sbin",
			Programs: linux.Programs{"netplan": runNetplan},
		},
		{Name: "nftables", Dir: "/usr/sbin", Programs: linux.Programs{"nft": runNft}},
		{Name: "iproute2", Version: "6.1.0-1ubuntu6.2", Dir: "/usr/sbin", Programs: linux.Programs{
			"ip": runIP, "ss": runSs, "tc": runTc,
		}},
		{Name: "ethtool", Version: "1:6.7-1build1", Dir: "/usr/sbin", Programs: linux.Programs{"ethtool": runEthtool}},
		{Name: "iperf3", Version: "3.16-1build2", Dir: "/usr/bin", Programs: linux.Programs{"iperf3": runIperf3}},
		{Name: "railbench", Dir: "/usr/local/bin", Programs: linux.Programs{"railbench": runRailbench}},
	}
}
