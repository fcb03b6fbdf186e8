package sim

import (
	"fmt"
	"slices"
)

// softwareDefects are the faults of settings, limits and what else runs on a node.
// All of them are on spark-01.
func softwareDefects() map[string]defect {
	changed := func(title, doc string) defect {
		return defect{title: title, doc: doc, on: treeChanged, off: treeChanged}
	}
	return map[string]defect{
		"ucx-pinned": changed("UCX is pinned to one rail",
			"On spark-01 /etc/environment sets UCX_NET_DEVICES=rocep1s0f0:1, and /etc/ucx/ucx.conf UCX_MAX_RMA_RAILS=1: every program that doesn't set them itself uses one rail. railbench's cells do."),
		"library-missing": changed("A library of nixlbench is gone",
			"nixlbench on spark-01 ends with status 127: \"error while loading shared libraries: libetcd-cpp-api.so\"."),
		"memlock": changed("Little memory may be locked",
			"On spark-01 a user may lock 8192 KiB (ulimit -l). Small buffers can be registered and large ones cannot: \"ibv_reg_mr(...) failed: Cannot allocate memory\", NIXL_ERR_BACKEND."),
		"iperf-stuck": {
			title: "iperf3 is busy for ever",
			doc:   "On spark-01 an iperf3 server listens on port 5201 and tells every client that it \"is busy running a test\". The client that it waits for is long gone.",
			on:    func(r *Rig) { r.nodes[0].forget(iperfPort, "iperf3", "-s") },
			off:   func(r *Rig) { r.nodes[0].unforget(iperfPort) },
		},
		"etcd-down": {
			title: "etcd has failed",
			doc:   "spark-01 has an etcd of its own, which is enabled and doesn't run: nixlbench without railbench ends with \"connections to all backends failing\".",
			on:    func(r *Rig) { r.nodes[0].haveEtcd(false) },
			off:   func(r *Rig) { r.nodes[0].haveNoEtcd() },
		},
		"stale-etcd": {
			title: "etcd keeps dead ranks",
			doc:   "spark-01's own etcd still has the keys of a nixlbench that was killed: the next run in it ends with \"Rank 2 is greater than or equal to global size 2\".",
			on:    func(r *Rig) { r.nodes[0].haveEtcd(true) },
			off:   func(r *Rig) { r.nodes[0].haveNoEtcd() },
		},
		"nccl-socket": changed("NCCL uses sockets",
			"spark-01's /etc/nccl.conf names adapters mlx5_0 and mlx5_1, which no Spark has, and an interface eth0: NCCL says NET/Socket and is slow, or finds no interface at all."),
		"firewall": {
			title: "A firewall rejects TCP on the rails",
			doc:   "nftables on spark-01 rejects TCP connections that come in over the rails, all but SSH's: \"No route to host\", although ping answers. RDMA itself is not filtered, and every tool meets its peer over TCP.",
			on: func(r *Rig) {
				treeChanged(r)
				r.nodes[0].modules = append(r.nodes[0].modules, firewallModules...)
			},
			off: func(r *Rig) {
				treeChanged(r)
				n := r.nodes[0]
				n.modules = slices.DeleteFunc(n.modules, func(m string) bool { return slices.Contains(firewallModules, m) })
			},
		},
	}
}

// firewallModules are what nftables loads for its first rules.
var firewallModules = []string{"nft_reject_inet", "nf_tables", "nfnetlink"}

// memlockKB is what the fault memlock leaves a user.
const memlockKB = 8192

// lockable says whether a process may lock so many bytes; nothing limits root.
func (n *node) lockable(size int64, root bool) bool {
	return root || n.index != 0 || !n.rig.faults["memlock"] || size <= memlockKB<<10
}

// lockableLocked says whether a user has no limit.
func (n *node) lockableLocked(root bool) bool {
	n.rig.mu.Lock()
	defer n.rig.mu.Unlock()
	return n.lockable(1<<62, root)
}

// cannotLock is what UCX logs where it may not.
func (n *node) cannotLock(pid int, size int64) string {
	return n.ucxLog(pid, "ib_md.c:309", "ERROR",
		fmt.Sprintf("ibv_reg_mr(address=0xe7b2c0000000, length=%d, access=0xf) failed: Cannot allocate memory : "+
			"Please set max locked memory (ulimit -l) to 'unlimited' (current: %d kbytes)", size, memlockKB))
}

// rejects says whether a node's firewall refuses a TCP connection to a port that
// comes in over an interface.
func (n *node) rejects(in *netdev, port int) bool {
	return n.index == 0 && n.rig.faults["firewall"] && in != nil &&
		in.kind != "loopback" && port != 22 && (in.fn != nil || in.bond != nil)
}

// forget starts a server that nobody waits for and that answers nobody.
func (n *node) forget(port int, args ...string) {
	if n.listeners[port] != nil {
		return
	}
	p := n.spawn(args, false)
	p.started -= forgottenFor
	l := &listener{port: port, proc: p}
	if args[0] == "iperf3" {
		l.iperf = &iperfServer{busy: true}
	}
	n.listeners[port] = l
}

func (n *node) unforget(port int) {
	if l := n.listeners[port]; l != nil && l.accept == nil &&
		l.forward == nil && (l.iperf == nil || l.iperf.accept == nil) {
		delete(n.listeners, port)
		delete(n.procs, l.proc.pid)
	}
}
