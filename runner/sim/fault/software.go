package fault

import (
	"slices"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/linux"
	"github.com/railbench/railbench/runner/sim/tool/network"
	"github.com/railbench/railbench/runner/sim/tool/nixl"
)

// softwareFaults are the faults of settings, limits and what else runs on a node.
// Most are a file that says something else, which railbench's checks read as they would on a real node.
func softwareFaults() []Fault {
	return []Fault{
		{
			Name: "ucx-pinned", Title: "UCX is pinned to one rail",
			Report: "NIXL uses one rail, but only in my own shell; railbench's cells are fine",
			Doc: "On {node} /etc/environment sets UCX_NET_DEVICES=rocep1s0f0:1, and /etc/ucx/ucx.conf " +
				"UCX_MAX_RMA_RAILS=1: every program that doesn't set them itself uses one rail. railbench's cells " +
				"do.",
			Do: settings(map[string]string{
				// A login reads it, so it holds from the next script on.
				host.EnvironmentFile: host.EnvironmentText + "\nUCX_NET_DEVICES=rocep1s0f0:1",
				"/etc/ucx/ucx.conf":  "# Only one cable for now.\nUCX_MAX_RMA_RAILS=1",
			}),
		},
		{
			Name: "nccl-socket", Title: "NCCL uses sockets",
			Report: "PyTorch is very slow between the nodes, and NCCL_DEBUG says NET/Socket",
			Doc: "{node}'s /etc/nccl.conf names adapters mlx5_0 and mlx5_1, which no Spark has, and an interface " +
				"eth0: NCCL says NET/Socket and is slow, or finds no interface at all.",
			Do: settings(map[string]string{
				"/etc/nccl.conf": "# from the old cluster\nNCCL_IB_HCA=mlx5_0,mlx5_1\nNCCL_SOCKET_IFNAME=eth0",
			}),
		},
		{
			Name: "nccl-half", Title: "NCCL is set to one half",
			Report: "all_gather gets half of what the port can do",
			Doc: "{node}'s /etc/nccl.conf names rocep1s0f0 and rocep1s0f1, and neither of their twins behind the other " +
				"PCIe half: NCCL gets half of what each port can do, while {peer} has no setting and takes all four.",
			// The second = is NCCL's: names are to be the same, and not only to begin so.
			Do: settings(map[string]string{"/etc/nccl.conf": "NCCL_IB_HCA==rocep1s0f0:1,rocep1s0f1:1"}),
		},
		{
			Name: "nccl-tcp", Title: "NCCL may not use RDMA", Where: OnAll,
			Report: "all_reduce ends well, and the RDMA counters stand still",
			Doc: "{node}'s /etc/nccl.conf has NCCL_IB_DISABLE=1 and names the interface of rail 1: a collective goes over it " +
				"as TCP, ends with status 0, and the RDMA counters stand still.",
			Do: settings(map[string]string{"/etc/nccl.conf": "NCCL_IB_DISABLE=1\nNCCL_SOCKET_IFNAME=enp1s0f0np0"}),
		},
		{
			Name: "nccl-gid", Title: "NCCL is set to a wrong GID",
			Report: "NCCL says: Call to ibv_modify_qp failed, and ib_write_bw works",
			Doc: "{node}'s /etc/nccl.conf has NCCL_IB_GID_INDEX=0, not a RoCE v2 GID of an address: a collective ends " +
				"with \"Call to ibv_modify_qp failed\", and {peer} has no setting.",
			Do: settings(map[string]string{"/etc/nccl.conf": "NCCL_IB_GID_INDEX=0"}),
		},
		{
			Name: "nccl-hang", Title: "A collective hangs",
			Report: "all_reduce prints three rows and then nothing, and each node alone is fine",
			Doc: "{node}'s /etc/nccl.conf has NCCL_ALGO=Tree, and {peer} chooses by itself: a collective of both prints three " +
				"rows and then nothing more, for ever.",
			Do: settings(map[string]string{"/etc/nccl.conf": "NCCL_ALGO=Tree"}),
		},
		{
			Name: "nccl-version", Title: "Another NCCL",
			Report: "it runs on each node alone, and together it says Mismatched NCCL version detected",
			Doc: "{node} has NCCL 2.27.7, and {peer} a later one: a collective of both ends with \"Mismatched NCCL version " +
				"detected\", each alone works.",
			Do: func(s Spot) func() {
				return s.Node.Set(map[string]*host.Inode{
					host.NCCLFile: host.NewLink("libnccl.so.2.27.7"), host.NCCLFile + ".27.7": host.NewProgram(),
				})
			},
		},
		{
			Name: "disk-full", Title: "/tmp is full",
			Report: "the output of a test ends in the middle of a line: No space left on device",
			Doc:    "{node}'s /tmp is a file system of its own, and full: what a test writes there is cut off.",
			Do:     flawedBy(linux.FullDisk),
		},
		{
			Name: "clock-off", Title: "The clock is a day ahead",
			Report: "certificates that are valid here are not yet valid there",
			Doc:    "{node}'s clock is a day ahead of {peer}'s, and it is not synchronized.",
			Do: func(s Spot) func() {
				// Added, so that two faults on one clock come apart again.
				s.Node.Ahead += 24 * time.Hour
				return func() { s.Node.Ahead -= 24 * time.Hour }
			},
		},
		{
			Name: "container-bare", Title: "The container has no RDMA",
			Report: "it works on the node and not in the container",
			Doc: "The container vllm on {node} was started without --network host, --device /dev/infiniband, --ulimit " +
				"memlock=-1 and --ipc host: RDMA works on the node and not in it.",
			Do: func(s Spot) func() { return s.Node.Box.Bare() },
		},
		{
			Name: "library-missing", Title: "A library of nixlbench is gone",
			Report: "nixlbench: error while loading shared libraries",
			Doc: "nixlbench on {node} ends with status 127: \"error while loading shared libraries: " +
				"libetcd-cpp-api.so\".",
			Do: flawedBy(linux.NoLibrary),
		},
		{
			Name: "memlock", Title: "Little memory may be locked",
			Report: "small buffers work, and large ones say Couldn't allocate MR",
			Doc: "On {node} a user may lock 8192 KiB (ulimit -l). Small buffers can be registered and large ones " +
				"cannot: \"ibv_reg_mr(...) failed: Cannot allocate memory\", NIXL_ERR_BACKEND.",
			// 8 MiB is the kernel's own limit since Linux 5.16: what a user has where no one has set another.
			Do: func(s Spot) func() { return s.Node.LimitMemlock(8192) },
		},
		{
			Name: "etcd-down", Title: "etcd has failed",
			Report: "my own nixlbench says connections to all backends failing; railbench's cells work",
			Doc: "{node} has an etcd of its own, which is enabled and doesn't run: nixlbench without railbench " +
				"ends with \"connections to all backends failing\".",
			Do: func(s Spot) func() { return nixl.HaveEtcd(s.Node, false) },
		},
		{
			Name: "etcd-masked", Title: "etcd is masked",
			Report: "etcd does not start, systemctl says that it can not, and we do not remember why",
			Doc: "{node}'s own etcd is enabled and masked, so nothing starts it (\"Unit etcd.service is masked\"), and " +
				"/etc/environment names it: nixlbench without railbench ends with \"connections to all backends failing\".",
			Do: func(s Spot) func() { return nixl.MaskEtcd(s.Node) },
		},
		{
			Name: "stale-etcd", Title: "etcd keeps dead ranks",
			Report: "since I killed one nixlbench, the next says Rank 2 is greater than or equal to global size 2",
			Doc: "{node}'s own etcd still has the keys of a nixlbench that was killed: the next run in it ends " +
				"with \"Rank 2 is greater than or equal to global size 2\".",
			Do: func(s Spot) func() { return nixl.HaveEtcd(s.Node, true) },
		},
		{
			Name: "apparmor-denied", Title: "AppArmor refuses perftest its device",
			Report: "as root, too, ib_write_bw says: Couldn't get context for the device",
			Doc: "On {node} a profile of AppArmor refused ib_write_bw to open /dev/infiniband/uverbs0, as the kernel's " +
				"log says (DENIED). Only the log is simulated: the tool itself runs.",
			Do: func(s Spot) func() {
				return s.Node.Log(host.KernelLine{At: 95300.25, Text: "" +
					`audit: type=1400 audit(1732260000.113:91): apparmor="DENIED" ` +
					`operation="open" class="file" profile="/usr/bin/ib_write_bw" name="/dev/infiniband/uverbs0" pid=5120 ` +
					`comm="ib_write_bw" requested_mask="wr" denied_mask="wr" fsuid=1000 ouid=0`})
			},
		},
		{
			Name: "firewall", Title: "A firewall rejects TCP on the rails",
			Report: "the server waits, and the client says No route to host, but ping is fine",
			Doc: "nftables on {node} rejects TCP connections that come in over the rails, all but SSH's: \"No " +
				"route to host\", although ping answers. RDMA itself is not filtered, and every tool meets its " +
				"peer over TCP.",
			Do: filtered(network.Firewalled),
		},
		{
			Name: "ufw-roce", Title: "ufw drops RoCE's packets",
			Report: "soft-RoCE hangs on that node, and ping works",
			Doc: "On {node} \"ufw deny 4791/udp\" was typed: packets of RoCE v2 that the kernel sees are dropped. An " +
				"adapter's pass by it; soft-RoCE hangs, although its ends meet and ping answers.",
			Do: func(s Spot) func() {
				closed := filtered(network.UfwRoCE)(s)
				// ufw's service has nothing that runs: it loads the rules, and is active as one that exited.
				u := &host.Unit{
					Name: "ufw.service", Active: "active", Sub: "exited", Result: "success", Stop: func() {},
					Gone: make(chan struct{}),
				}
				s.Node.Units[u.Name] = u
				return func() {
					delete(s.Node.Units, u.Name)
					closed()
				}
			},
		},
		{
			Name: "nftables-roce", Title: "nftables drops RoCE's packets",
			Report: "between the virtual machines RDMA hangs, although their ends meet: soft-RoCE, UDP 4791",
			Doc: "On {node} /etc/nftables.conf has a set of blocked ports, and UDP 4791 is one of them. An " +
				"adapter's packets pass by it; soft-RoCE hangs, although its ends meet and ping answers.",
			Do: filtered(network.NftRoCE),
		},
	}
}

// filtered is a node with rules. lsmod shows their modules to everybody; the rules themselves only
// root may list.
func filtered(f host.Flaw) func(Spot) func() {
	return func(s Spot) func() {
		n := s.Node
		open := flawedBy(f)(s)
		n.Modules = append(n.Modules, firewallModules...)
		n.Changed()
		return func() {
			open()
			n.Modules = slices.DeleteFunc(n.Modules, func(m string) bool { return slices.Contains(firewallModules, m) })
			n.Changed()
		}
	}
}

// firewallModules are what nftables loads for its first rules.
var firewallModules = []string{"nft_reject_inet", "nf_tables", "nfnetlink"}

// settings are files that say something else, by path.
func settings(files map[string]string) func(Spot) func() {
	return func(s Spot) func() {
		made := map[string]*host.Inode{}
		for name, text := range files {
			made[name] = host.NewFile(text)
		}
		return s.Node.Set(made)
	}
}
