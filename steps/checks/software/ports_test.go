package software

import (
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestTestPorts(t *testing.T) {
	const free = "PORT: 18515\nTCP_PORT: 5201\nNIXL_PORT: 5555\nASIO_PORT: 12345\nSPEED_PORT: 18530\n" +
		"UCXPERF_PORT: 13337\nss: read\n"
	held := func(port, by string) string {
		return free + "port " + port + ": 0.0.0.0:" + port + "\nport " + port + " uid: 1000\nport " + port +
			" pid: 4210\nport " + port + " seconds: 11520\nport " + port + " command: " + by + "\n"
	}
	runCases(t, registered().Judges["test-ports"], map[string]textCase{
		"free": {
			free, free, steps.Pass, "",
			[]string{"18515, 18516, 18517, 18518, 18519, 18520, 18521, 5201, 5202, 18530, 5555 and 13337"},
		},
		"perftest": {
			free, held("18515", "ib_write_bw -d rocep1s0f0 "), steps.Fail, steps.PortTaken,
			[]string{
				"port 18515 on spark-01",
				"process 4210 of user 1000 (ib_write_bw -d rocep1s0f0, for 3 h)",
			},
		},
		"iperf3": {free, held("5201", "iperf3 -s"), steps.Fail, steps.PortTaken, []string{
			"port 5201 on spark-01",
			"iperf3 -s",
		}},
		"NIXL": {
			free, held("5555", "python3 -u - --role target"), steps.Fail, steps.PortTaken,
			[]string{"port 5555 on spark-01"},
		},
		"rail-speed": {free, held("18530", "ib_write_bw"), steps.Fail, steps.PortTaken, []string{
			"port 18530 on spark-01",
			"rail-speed",
		}},
		"UCX": {free, held("13337", "ucx_perftest"), steps.Fail, steps.PortTaken, []string{
			"port 13337 on spark-01",
			"ucx_perftest",
		}},
		"ASIO": {held("12345", "nixlbench"), free, steps.Warn, steps.PortTaken, []string{
			"port 12345 on spark-02",
			"next free port",
		}},
		"wrong node": {held("18515", "ib_write_bw"), held("12345", "nixlbench"), steps.Pass, "", nil},
		"etcd": {
			free, free + "port 2379: 127.0.0.1:2379\nport 2379 uid: 0\n", steps.Pass, "",
			[]string{"port 2379 on spark-01 is used by a process of root", "no cell needs it"},
		},
		"unseen": {
			free, free + "port 18515: *:18515\nport 18515 uid: 0\n", steps.Fail, steps.PortTaken,
			[]string{"used by a process of root"},
		},
		"other port": {
			amended(t, free, "18515", "20000"), amended(t, held("20001", "x"), "18515", "20000"), steps.Fail, steps.PortTaken,
			[]string{"port 20001"},
		},
		"dual-link": {free, held("18521", "ib_write_bw"), steps.Fail, steps.PortTaken, []string{
			"port 18521 on spark-01",
			"perftest",
		}},
		"no ss": {
			amended(t, free, "ss: read", "ss: missing"), free, steps.Skipped, steps.CommandMissing,
			[]string{"spark-02 has no ss"},
		},
		"no ss here, and held there": {
			amended(t, free, "ss: read", "ss: missing"), held("5201", "iperf3 -s"), steps.Fail, steps.PortTaken,
			[]string{"port 5201 on spark-01"},
		},
		"no ss there, and held here": {
			held("12345", "nixlbench"), amended(t, free, "ss: read", "ss: missing"), steps.Warn, steps.PortTaken,
			[]string{"port 12345 on spark-02"},
		},
		"ss failed": {
			amended(t, free, "ss: read\n", ""), free, steps.Inconclusive, steps.Unreadable,
			[]string{"all listening ports on spark-02"},
		},
		"no number": {"PORT: x\n", "PORT: x\n", steps.Inconclusive, steps.ParameterUnusable, nil},
	})
}

func TestHowLong(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"90 s": 90 * time.Second, "90 min": 90 * time.Minute,
		"30 h": 30 * time.Hour, "3 days": 72 * time.Hour,
	} {
		if got := inWords(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestEndProcess(t *testing.T) {
	const looked = "looked at: 18515 5201\n"
	runCases(t, registered().Judges["end-process"], map[string]textCase{
		"nothing": {looked, looked, steps.Pass, "", []string{"nothing was ended"}},
		"ended": {
			looked, looked + "ended 18515: process 4210 with SIGTERM (ib_write_bw )\n", steps.Pass, "",
			[]string{"port 18515 on spark-01", "process 4210 with SIGTERM"},
		},
		"left": {
			looked + "left 5201: process 7 is no benchmark (sshd )\n",
			looked + "ended 18515: process 4210 with SIGKILL (ib_write_bw )\n", steps.Warn, steps.PortTaken,
			[]string{"port 5201 on spark-02 is still in use"},
		},
		"unsaid": {looked, "a: b\n", steps.Inconclusive, steps.OutputIncomplete, nil},
	})
}

func TestEtcdService(t *testing.T) {
	const none = "service: inactive\n"
	const runs = "enabled: etcd.service\nservice: active\nlistens: 127.0.0.1\n" +
		"answer: {\"etcdserver\":\"3.4.30\",\"etcdcluster\":\"3.4.0\"}\n"
	runCases(t, registered().Judges["etcd-service"], map[string]textCase{
		"none": {none, none, steps.Pass, "", []string{"none is needed"}},
		"failed": {
			none, "enabled: etcd.service\nservice: failed\n", steps.Warn, steps.EtcdNotRunning,
			[]string{"the etcd on spark-01 is not running", "etcd.service enabled", "failed", "does not need it"},
		},
		"masked": {
			none, "masked: etcd.service\nservice: inactive\n", steps.Pass, "",
			[]string{"etcd.service on spark-01 is masked", "nothing refers to it"},
		},
		"and named": {
			none, "masked: etcd.service\nservice: inactive\nenvironment NIXL_ETCD_ENDPOINTS: " +
				"http://localhost:2379\n", steps.Warn, steps.EtcdMasked,
			[]string{
				"etcd.service on spark-01 is masked", "an environment variable of spark-01 names it", "unmask etcd.service",
			},
		},
		"and wanted": {
			"environment ETCD_ENDPOINTS: http://192.168.100.10:2379\n",
			"masked: etcd.service\nservice: inactive\n", steps.Warn, steps.EtcdMasked,
			[]string{"an environment variable of spark-02 names it"},
		},
		"named barely": {
			none, "masked: etcd.service\nenvironment ETCDCTL_ENDPOINTS: 10.0.0.1:2379,127.0.0.1:2379\n",
			steps.Warn, steps.EtcdMasked,
			[]string{"an environment variable of spark-01 names it"},
		},
		"named abroad": {none, "masked: etcd.service\nservice: inactive\nenvironment NIXL_ETCD_ENDPOINTS: " +
			"http://10.9.9.9:2379\n", steps.Pass, "", []string{"nothing refers to it"}},
		"but runs": {
			none, "masked: etcd.service\n" + amended(t, runs, "enabled: etcd.service\n", ""), steps.Pass, "",
			[]string{"answers"},
		},
		"container": {none, "container: exited\n", steps.Warn, steps.EtcdNotRunning, []string{"nixl-etcd exited"}},
		"loopback":  {none, runs, steps.Pass, "", []string{"on loopback only", "spark-02 cannot reach it"}},
		"wanted": {
			"environment NIXL_ETCD_ENDPOINTS: http://192.168.100.10:2379\n", runs, steps.Warn, steps.EtcdLoopback,
			[]string{"listens only on loopback, but spark-02 is set to use it"},
		},
		"open": {
			"environment NIXL_ETCD_ENDPOINTS: http://192.168.100.10:2379\n",
			amended(t, runs, "listens: 127.0.0.1", "listens: 0.0.0.0"), steps.Pass, "",
			[]string{"the etcd on spark-01 answers"},
		},
		"no answer": {
			none, amended(t, runs, "answer: {\"etcdserver\":\"3.4.30\",\"etcdcluster\":\"3.4.0\"}\n", ""),
			steps.Warn, steps.EtcdSilent,
			[]string{"does not answer"},
		},
		"no ss": {"ss: missing\n", none, steps.Skipped, steps.CommandMissing, []string{"spark-02 has no ss"}},
		"no ss there, and one that does not run here": {
			"enabled: etcd.service\nservice: failed\n", "ss: missing\n", steps.Warn, steps.EtcdNotRunning,
			[]string{"the etcd on spark-02 is not running"},
		},
		"no curl": {
			none, none + "listens: 0.0.0.0\ncurl: missing\n", steps.Inconclusive, steps.CommandMissing,
			nil,
		},
		"no etcd": {none, none + "listens: 0.0.0.0\n", steps.Pass, "", []string{"does not answer like an etcd"}},
		"another page": {
			none, none + "listens: 0.0.0.0\nanswer: <html>\n", steps.Warn, steps.EtcdSilent,
			[]string{"does not answer like etcd"},
		},
	})
}

func TestEtcdKeys(t *testing.T) {
	const none = "etcd: none\n"
	const head = `"header":{"cluster_id":"1"}`
	// xferbench/default//size and xferbench/default//rank/0
	const size, rank = `{"key":"eGZlcmJlbmNoL2RlZmF1bHQvL3NpemU="}`,
		`{"key":"eGZlcmJlbmNoL2RlZmF1bHQvL3JhbmsvMA==","lease":"7587"}`
	etcd := func(keys string) string { return "etcd: 127.0.0.1:2379\nkeys: " + keys + "\n" }
	runCases(t, registered().Judges["etcd-keys"], map[string]textCase{
		"no etcd": {none, none, steps.Pass, "", []string{"no etcd listens"}},
		"clean":   {none, etcd("{" + head + "}"), steps.Pass, "", []string{"the etcd on spark-01 has no keys"}},
		"stale": {
			none, etcd("{" + head + `,"kvs":[` + size + `],"count":"1"}`), steps.Warn, steps.EtcdStaleKeys,
			[]string{"the etcd on spark-01 has 1 stale nixlbench keys", "default", "Rank 2"},
		},
		"running": {
			none, etcd("{" + head + `,"kvs":[` + size + "," + rank + `],"count":"2"}`), steps.Warn, steps.EtcdInUse,
			[]string{"2 nixlbench keys", "in progress"},
		},
		"no count": {
			none, etcd("{" + head + `,"count":"many"}`), steps.Inconclusive, steps.Unreadable,
			[]string{`answers with "many"`},
		},
		"TLS": {
			none, etcd("Client sent an HTTP request to an HTTPS server."), steps.Skipped, steps.Unreadable,
			[]string{"spark-01", "could not read the keys", "TLS"},
		},
		"stale, and TLS": {
			etcd("no list"), etcd("{" + head + `,"kvs":[` + size + `],"count":"1"}`), steps.Warn, steps.EtcdStaleKeys,
			[]string{"the etcd on spark-01 has 1 stale nixlbench keys", "Could not read the keys of the etcd on spark-02"},
		},
		"no curl": {none, "curl: missing\n", steps.Skipped, steps.Unreadable, []string{"no curl"}},
		"no ss":   {"ss: missing\netcd: none\n", none, steps.Pass, "", nil},
	})
	runCases(t, registered().Judges["delete-keys"], map[string]textCase{
		"none": {none, none, steps.Pass, "", []string{"nothing to delete"}},
		"deleted": {
			none, "etcd: 127.0.0.1:2379\nanswer: {" + head + `,"deleted":"5"}` + "\nkeys: {" + head + "}\n",
			steps.Pass, "",
			[]string{"5 keys were deleted in the etcd on spark-01"},
		},
		"come": {none, "etcd: 127.0.0.1:2379\nanswer: {" + head + `,"deleted":"5"}` + "\nkeys: {" + head +
			`,"count":"2"}` + "\n", steps.Fail, steps.EtcdInUse, []string{"still has 2 nixlbench keys"}},
		"kept": {
			none, "etcd: 127.0.0.1:2379\nkept: a nixlbench runs\n", steps.Warn, steps.EtcdInUse,
			[]string{"nothing was deleted on spark-01"},
		},
		"silent": {none, "etcd: 127.0.0.1:2379\n", steps.Inconclusive, steps.Unreadable, []string{"did not answer"}},
	})
}

func TestNCCLSettings(t *testing.T) {
	const none = "looked at: the environment\n"
	rig := func(name string) string { return none + "environment " + name + "\n" }
	runCases(t, registered().Judges["nccl-settings"], map[string]textCase{
		"nothing": {none + "nccl loader: 2.28.9\n", none, steps.Pass, "", []string{"automatically"}},
		"no NCCL": {none, none, steps.Skipped, steps.CannotRun, nil},
		"no ldconfig": {
			none + "not asked loader: there is no ldconfig\n", none, steps.Skipped, steps.Unreadable,
			nil,
		},
		"adapters": {
			none, none + "/etc/nccl.conf NCCL_IB_HCA: mlx5_0,mlx5_1\n", steps.Fail, steps.NCCLDevicesWrong,
			[]string{"/etc/nccl.conf on spark-01", "mlx5_0 and mlx5_1 do not exist", "NET/Socket"},
		},
		"one adapter of two": {
			none, none + "/etc/nccl.conf NCCL_IB_HCA: mlx5_0,rocep1s0f0\n", steps.Warn, steps.NCCLDevicesWrong,
			[]string{"/etc/nccl.conf on spark-01", "mlx5_0 does not exist"},
		},
		"all by name": {
			rig("NCCL_IB_HCA: rocep1s0f0,rocep1s0f1:1,roceP2p1s0f0,roceP2p1s0f1"),
			rig("NCCL_IB_HCA: ^=mlx5_0"), steps.Pass, "", nil,
		},
		"one half": {
			rig("NCCL_IB_HCA: rocep1"), rig("NCCL_IB_HCA: =rocep1s0f0,rocep1s0f1:1"), steps.Warn, steps.HalfLeftOut,
			[]string{"it omits roceP2p1s0f0 and roceP2p1s0f1", "half"},
		},
		"one half left": {
			rig("NCCL_IB_HCA: ^roceP2"), rig("NCCL_IB_HCA: ^roceP2"), steps.Warn, steps.HalfLeftOut,
			[]string{"it omits roceP2p1s0f0 and roceP2p1s0f1, the other PCIe half of the same ports"},
		},
		"one cable": {
			rig("NCCL_IB_HCA: =rocep1s0f0,roceP2p1s0f0"), rig("NCCL_IB_HCA: =rocep1s0f0,roceP2p1s0f0"),
			steps.Pass, "", nil,
		},
		"all left out": {
			rig("NCCL_IB_HCA: ^roce"), none, steps.Fail, steps.NCCLRDMAOff,
			[]string{"it excludes rocep1s0f0"},
		},
		"another port": {rig("NCCL_IB_HCA: roce:2"), none, steps.Fail, steps.NCCLRDMAOff, []string{"it excludes"}},
		"counts differ": {
			rig("NCCL_IB_HCA: =rocep1s0f0,roceP2p1s0f0"), none, steps.Warn, steps.NCCLSettingsDiffer,
			[]string{"2 rails on spark-02 but 4 on spark-01"},
		},
		"own file first": {
			none + "/etc/nccl.conf NCCL_PROTO: LL\n/home/x/.nccl.conf NCCL_PROTO: Simple\n",
			rig("NCCL_PROTO: Simple"), steps.Pass, "", nil,
		},
		"differ": {
			rig("NCCL_PROTO: Simple"), none + "/etc/nccl.conf NCCL_PROTO: LL\n", steps.Warn, steps.NCCLSettingsDiffer,
			[]string{"NCCL_PROTO (environment) is Simple on spark-02 but LL on spark-01"},
		},
		"on one node": {
			rig("NCCL_ALGO: Ring"), none, steps.Warn, steps.NCCLSettingsDiffer,
			[]string{"NCCL_ALGO (environment) is Ring on spark-02 but not set on spark-01"},
		},
		"only its log": {rig("NCCL_DEBUG: INFO"), none, steps.Pass, "", nil},
		"empty GID": {
			rig("NCCL_IB_GID_INDEX: (empty)"), none, steps.Warn, steps.GIDIndexWrong,
			[]string{"it is empty", "may read 0"},
		},
		"empty HCA": {rig("NCCL_IB_HCA: (empty)"), none, steps.Pass, "", nil},
		"prefix":    {none, rig("NCCL_IB_HCA: roce"), steps.Pass, "", nil},
		"exact":     {none, rig("NCCL_IB_HCA: =roce"), steps.Fail, steps.NCCLDevicesWrong, []string{"roce does not exist"}},
		"left out":  {none, rig("NCCL_IB_HCA: ^mlx5_2"), steps.Pass, "", nil},
		"disabled": {
			rig("NCCL_IB_DISABLE: 1"), none, steps.Fail, steps.NCCLRDMAOff,
			[]string{"the environment on spark-02", "NET/Socket"},
		},
		"enabled": {rig("NCCL_IB_DISABLE: 0"), none, steps.Pass, "", nil},
		"sockets": {rig("NCCL_NET: Socket"), none, steps.Fail, steps.NCCLRDMAOff, []string{"never uses RDMA"}},
		"GID":     {rig("NCCL_IB_GID_INDEX: 1"), none, steps.Warn, steps.GIDIndexWrong, []string{"index 3"}},
		"port": {
			none, none + "port 29500: 0.0.0.0:29500\n", steps.Warn, steps.PortTaken,
			[]string{"port 29500 on spark-01"},
		},
	})
	r := checkedFacts(none, rig("NCCL_SOCKET_IFNAME: eth0"))
	r.Rig.Nodes[steps.Peer].Netdevs = []steps.Netdev{{Name: "enP7s7"}, {Name: "enp1s0f0np0"}}
	kindtest.Want(t, "interface", registered().Judges["nccl-settings"](steps.Cell{}, r), steps.Fail,
		"interface eth0 does not exist", "name one that exists")
	r = checkedFacts(none, rig("NCCL_SOCKET_IFNAME: eth0,enP7"))
	r.Rig.Nodes[steps.Peer].Netdevs = []steps.Netdev{{Name: "enP7s7"}, {Name: "enp1s0f0np0"}}
	kindtest.Want(t, "one interface of two", registered().Judges["nccl-settings"](steps.Cell{}, r), steps.Pass)
}
