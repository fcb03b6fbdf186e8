package probe

import "slices"

// toolNames are the commands that the cells call, or that a reader will miss.
// A constant, because it stands in Script.
const toolNames = "ip ping ib_write_bw ib_write_lat ibv_devices ibv_devinfo ibstat rdma show_gids ibdev2netdev " +
	"iperf3 ethtool lspci netplan ucx_info nixlbench etcdctl nvidia-smi python3 stdbuf"

// Tools are the commands that are looked for on a node.
func Tools() []string { return words(toolNames) }

// packages name what brings a command on Debian and Ubuntu (assets/docs/facts.md#packages). Two
// commands of the tutorials are in no package there.
var packages = []struct{ name, commands string }{
	{"iproute2", "ip rdma ss tc bridge"},
	{"iputils-ping", "ping"},
	{"perftest", "ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat"},
	{"ibverbs-utils", "ibv_devices ibv_devinfo ibv_rc_pingpong"},
	{"infiniband-diags", "ibstat ibstatus perfquery"},
	{"MLNX_OFED or DOCA-OFED (no Debian package has it)", "show_gids ibdev2netdev"},
	{"iperf3", "iperf3"},
	{"ethtool", "ethtool"},
	{"netplan.io", "netplan"},
	{"pciutils", "lspci"},
	{"ucx-utils", "ucx_info ucx_perftest"},
	{"nixlbench (it is built from the NIXL repository)", "nixlbench"},
	{"etcd-client", "etcdctl"},
	{"etcd-server", "etcd"},
	{"the NVIDIA driver (nvidia-utils)", "nvidia-smi"},
	{"python3", "python3"},
	{"coreutils", "stdbuf cat ls"},
	{"kmod", "modprobe lsmod"},
	{"sudo", "sudo"},
	{"iputils-arping", "arping"},
}

// Package names the Debian or Ubuntu package that brings a command; empty where
// that isn't known.
func Package(command string) string {
	for _, p := range packages {
		if slices.Contains(words(p.commands), command) {
			return p.name
		}
	}
	return ""
}
