package sim

import (
	"strings"

	"github.com/railbench/railbench/runner/sim/tool/rdma"
)

// softwareChecks are those of softwareDefects.
func softwareChecks(says func(node, command string, code int,
	part string) func(*bench) bool,
) map[string][]func(b *bench) bool {
	const prefix = `'{"key":"eGZlcmJlbmNo","range_end":"eGZlcmJlbmNp","keys_only":true}'`
	return map[string][]func(b *bench) bool{
		"apparmor-denied": {
			says("spark-01", "journalctl -k -b -q --no-pager", 0, `apparmor="DENIED" operation="open"`),
		},
		"ucx-pinned": {
			says("spark-01", "env", 0, "\nUCX_NET_DEVICES=rocep1s0f0:1\n"),
			says("spark-01", "cat /etc/environment", 0, "UCX_NET_DEVICES=rocep1s0f0:1"),
			says("spark-01", "cat /etc/ucx/ucx.conf", 0, "UCX_MAX_RMA_RAILS=1"),
			func(b *bench) bool { // a program that leaves the choice to UCX
				before := b.counter("spark-02", "rocep1s0f1", "port_xmit_data")
				a, z := b.nixl("", "--total_buffer_size 67108864 --start_block_size 1048576 --max_block_size 1048576 --num_iter "+
					"160 --warmup_iter 16 ")
				if a.code != 0 || z.code != 0 {
					b.t.Errorf("%+v\n%+v", a, z)
				}
				return b.counter("spark-02", "rocep1s0f1", "port_xmit_data") < before+1e6
			},
		},
		"library-missing": {
			says("spark-01", "nixlbench --help", 127, "error while loading shared libraries: libetcd-cpp-api.so: cannot open"),
			says("spark-01", "ldd /usr/local/bin/nixlbench", 0, "\tlibetcd-cpp-api.so => not found\n"),
		},
		"memlock": {
			says("spark-01", "ulimit -l", 0, "8192\n"),
			says("spark-01", "cat /etc/security/limits.conf", 0, "memlock         8192"),
			func(b *bench) bool {
				a, _ := b.nixl(oneRail, "--total_buffer_size 67108864 --start_block_size 1048576 --max_block_size 1048576 "+
					"--num_iter 160 --warmup_iter 16 ")
				return a.code != 0
			},
			func(b *bench) bool {
				a := b.try("spark-01", "sudo -n sh -c 'ulimit -l'")
				return a.out == "unlimited\n" && b.must("spark-01", "ulimit -l") == "8192\n"
			},
		},
		"iperf-stuck": {
			says("spark-02", "iperf3 -c 192.168.100.10 -t 1", 1, "the server is busy running a test"),
			says("spark-01", "ss -H -ltnpe", 0, ":5201 "),
			says("spark-01", "timeout 1 iperf3 -s -1", 1, "Address already in use"),
		},
		"stream-busy": {
			says("spark-01", "ss -H -ltnpe", 0, ":12377 "),
			says("spark-01", "timeout 1 railbench stream receive --once", 2, "address already in use"),
		},
		"etcd-down": {
			says("spark-01", "systemctl is-active etcd", 3, "failed\n"),
			says("spark-01", "readlink /etc/systemd/system/multi-user.target.wants/etcd.service", 0, "etcd.service"),
		},
		"etcd-masked": {
			says("spark-01", "readlink /etc/systemd/system/etcd.service", 0, "/dev/null"),
			says("spark-01", "sudo systemctl start etcd", 1, "Failed to start etcd.service: Unit etcd.service is masked."),
			says("spark-01", "systemctl show -p LoadState etcd", 0, "LoadState=masked\n"),
			says("spark-01", "systemctl is-active etcd", 3, "inactive\n"),
			says("spark-01", "env", 0, "\nNIXL_ETCD_ENDPOINTS=http://127.0.0.1:2379\n"),
		},
		"stale-etcd": {
			says("spark-01", "systemctl is-active etcd", 0, "active\n"),
			says("spark-01", "curl -s http://127.0.0.1:2379/v3/kv/range -d "+prefix, 0, `"count":"5"`),
			says("spark-01", "ss -H -ltn", 0, "127.0.0.1:2379 "),
			func(b *bench) bool { // deleting is for good
				out := b.try("spark-01", "curl -s http://localhost:2379/v3/kv/deleterange -d "+prefix).out
				after := b.try("spark-01", "curl -s http://localhost:2379/v3/kv/range -d "+prefix)
				return strings.Contains(out, `"deleted":"5"`) && after.code == 0 && !strings.Contains(after.out, "count")
			},
		},
		"disk-full": {says("spark-01", "df -Pk /tmp", 0, "        0     100% /tmp")},
		"clock-off": {func(b *bench) bool {
			return b.must("spark-01", "date +%F") != b.must("spark-02", "date +%F")
		}},
		"container-bare": {
			says("spark-01", "docker inspect -f '{{.HostConfig.NetworkMode}} {{.HostConfig.ShmSize}}' vllm", 0,
				"bridge 67108864\n"),
			says("spark-01", "echo 'ls /dev/infiniband' | docker exec -i vllm sh -s", 2, "No such file or directory"),
			says("spark-01", "echo 'ulimit -l' | docker exec -i vllm sh -s", 0, "8192\n"),
		},
		"nccl-tcp": {says("spark-02", "cat /etc/nccl.conf", 0, "NCCL_IB_DISABLE=1\n")},
		"nccl-gid": {says("spark-01", "cat /etc/nccl.conf", 0, "NCCL_IB_GID_INDEX=0\n")},
		"nccl-hang": {
			says("spark-02", "timeout 60 mpirun --host spark-02,spark-01 all_reduce_perf -b 64K -e 1M -f 2", 124, "262144"),
		},
		"nccl-version": {
			says("spark-01", "readlink -f /lib/aarch64-linux-gnu/libnccl.so.2", 0, "libnccl.so.2.27.7\n"),
			says("spark-02", "timeout 60 mpirun --host spark-02,spark-01 all_reduce_perf -b 64K -e 1M -f 2", 3,
				"Mismatched NCCL version detected : rank 0 version 22809 rank 1 version 22707"),
		},
		"nccl-half":   {says("spark-01", "cat /etc/nccl.conf", 0, "NCCL_IB_HCA==rocep1s0f0:1,rocep1s0f1:1\n")},
		"nccl-socket": {says("spark-01", "cat /etc/nccl.conf", 0, "NCCL_IB_HCA=mlx5_0,mlx5_1\n")},
		"ufw-roce": {
			says("spark-01", "sudo nft list ruleset", 0, "udp dport 4791 counter packets 0 bytes 0 drop"),
			says("spark-01", "systemctl is-active ufw", 0, "active\n"),
		},
		"nftables-roce": {
			says("spark-01", "sudo nft list ruleset", 0, "elements = { 111, 4791 }"),
			says("spark-01", "cat /sys/module/nf_tables/initstate", 0, "live"),
		},
		"firewall": {
			says("spark-01", "sudo nft list ruleset", 0, "reject with icmpx admin-prohibited"),
			says("spark-01", "cat /sys/module/nf_tables/initstate", 0, "live"),
			says("spark-02", "iperf3 -c 192.168.100.10 -t 1", 1, "No route to host"),
			func(b *bench) bool {
				_, server := b.start("spark-01", "timeout 5 ib_write_bw -n 1000")
				b.listening(0, rdma.PerftestPort)
				c := b.try("spark-02", "ib_write_bw -n 1000 192.168.100.10")
				return c.code == 1 && strings.Contains(c.err, "Couldn't connect to 192.168.100.10:18515") && server().code == 124
			},
		},
	}
}
