package software

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// checked is the result of a check whose script printed these texts, here and at the
// peer.
func checked[T any](rig steps.Rig, read1 func(string) (T, error), here, peer string) steps.Result {
	return steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{
		kindtest.Read(kindtest.Ran("", steps.Here, here), read1), kindtest.Read(kindtest.Ran("", steps.Peer, peer), read1),
	}}}}
}

func checkedFacts(here, peer string) steps.Result {
	return checked(kindtest.Spark(), parse.Facts, here, peer)
}

// A textCase is what a check has to say of two texts.
type textCase struct {
	here, peer string
	grade      steps.Grade
	code       steps.Code
	words      []string
}

func runCases(t *testing.T, judge steps.Judge, cases map[string]textCase) {
	t.Helper()
	for name, c := range cases {
		v := judge(steps.Cell{}, checkedFacts(c.here, c.peer))
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
}

// amended replaces lines of a text by others; a line that is not there fails.
func amended(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in %q", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// Every check of the software says INCONCLUSIVE where its script did not run to its
// end at one node, timed out, or printed nothing, and SKIPPED where the session
// skipped it.
func TestSoftwareChecksWithHoles(t *testing.T) {
	judges := registered().Judges
	for _, id := range []string{
		"tools-present", "versions", "ucx-build", "ucx-settings", "libraries", "memlock", "free-memory", "test-ports",
		"etcd-service", "etcd-keys", "sudo-access", "nccl-settings", "nccl-version", "firewall", "end-process", "delete-keys",
	} {
		judge := judges[id]
		if judge == nil {
			t.Fatalf("%s is not registered", id)
		}
		half := checkedFacts("a: b\n", "a: b\n")
		half.Stages[0].Outputs = half.Stages[0].Outputs[:1]
		late := checkedFacts("a: b\n", "a: b\n")
		late.Stages[0].Outputs[1].Exit = runner.Exit{Code: 124, Why: runner.TimedOut}
		failed := checkedFacts("a: b\n", "a: b\n")
		failed.Stages[0].Outputs[0].Exit = runner.Exit{Code: 2}
		for name, r := range map[string]steps.Result{
			"one end": half, "timed out": late, "failed": failed, "silent": checkedFacts("", ""),
			"nothing ran": {Rig: kindtest.Spark()},
		} {
			kindtest.Want(t, id+", "+name, judge(steps.Cell{}, r), steps.Inconclusive)
		}
		kindtest.Want(t, id+", skipped", judge(steps.Cell{}, steps.Result{Rig: kindtest.Spark(), Skip: "spark-01 has no sh"}),
			steps.Skipped, "spark-01 has no sh")
	}
}

func TestToolsPresent(t *testing.T) {
	all := "tool ip: /usr/sbin/ip\ntool ping: /usr/bin/ping\ntool ibv_devices: /usr/bin/ibv_devices\n" +
		"tool ibv_devinfo: /usr/bin/ibv_devinfo\n" +
		"tool ib_write_bw: /usr/bin/ib_write_bw\ntool ib_write_lat: /usr/bin/ib_write_lat\n" +
		"tool nixlbench: /usr/local/bin/nixlbench\npackage rdma-core: 50.0\n"
	lacks := func(names ...string) string {
		text := all
		for _, n := range names {
			i := strings.Index(text, n+": ") + len(n) + 2
			j := i + strings.IndexByte(text[i:], '\n')
			text = text[:i] + "missing" + text[j:]
		}
		return text
	}
	runCases(t, registered().Judges["tools-present"], map[string]textCase{
		"all": {all, all, steps.Pass, "", []string{"both nodes have the commands"}},
		"needed": {
			all, lacks("tool ib_write_bw", "tool ib_write_lat"), steps.Fail, steps.CommandMissing,
			[]string{"missing on spark-01: ib_write_bw and ib_write_lat"},
		},
		"one end": {lacks("tool nixlbench"), all, steps.Warn, steps.MissingOnOneNode, []string{
			"nixlbench is missing on spark-02",
			"not on spark-01",
		}},
		"neither": {
			lacks("tool nixlbench"), lacks("tool nixlbench"), steps.Pass, "",
			[]string{"neither has nixlbench", "skipped"},
		},
		"untold": {
			all, "tool ip: /usr/sbin/ip\n", steps.Inconclusive, steps.Unreadable,
			[]string{"is installed on spark-01"},
		},
		"package": {
			all, lacks("package rdma-core"), steps.Warn, steps.MissingOnOneNode,
			[]string{"rdma-core is missing on spark-01"},
		},
	})
}

// setup is what the check of versions and that of UCX print.
const setup = "kernel: 6.14.0\nversion perftest: 6.06\nversion iperf3: 3.16\nfirmware rocep1s0f0: 28.45.4028\n" +
	"firmware rocep1s0f1: 28.45.4028\n" +
	"nixlbench --etcd_endpoints: yes\nnixlbench --benchmark_group: yes\nnixlbench --asio_address: yes\n" +
	"nixlbench --pipeline_depth: yes\n" +
	"{\"test\":\"nixl-version\",\"nixl\":\"1.4.0\",\"python\":\"3.12.3\",\"path\":\"/x\",\"error\":null}\n" +
	"tool ucx_info: /usr/bin/ucx_info\nlinked libucs: /lib/aarch64-linux-gnu/libucs.so.0\n" +
	"# Library version: 1.21.0\n# Library path: /usr/lib/aarch64-linux-gnu/libucs.so.0\n" +
	"# Configured with: --prefix=/usr --with-verbs --enable-mt\n"

// ucxDomains is ucx_info -d with rc on some devices.
func ucxDomains(devs ...string) string {
	text := "#\n# Memory domain: tcp\n#     Component: tcp\n#      Transport: tcp\n#         Device: enp1s0f0np0\n"
	for _, d := range devs {
		text += fmt.Sprintf("# Memory domain: %s\n#     Component: ib\n#      Transport: rc_mlx5\n#         Device: %s:1\n",
			d, d)
	}
	return text
}

var allDevs = []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"}

func TestVersions(t *testing.T) {
	cases := map[string]textCase{
		"equal": {
			setup, setup, steps.Pass, "",
			[]string{
				"UCX 1.21.0", "perftest 6.06", "nixlbench 1.2.0 (by its options)",
				"NIXL for Python 1.4.0", "28.45.4028",
			},
		},
		"UCX": {
			setup, amended(t, setup, "version: 1.21.0", "version: 1.16.0"), steps.Warn, steps.UCXDiffers,
			[]string{"UCX is 1.21.0 on spark-02 but 1.16.0 on spark-01"},
		},
		"perftest": {
			setup, amended(t, setup, "6.06", "6.21"), steps.Warn, steps.VersionsDiffer,
			[]string{"perftest is 6.06 on spark-02 but 6.21 on spark-01"},
		},
		"kernel": {
			amended(t, setup, "6.14.0", "6.8.0"), setup, steps.Warn, steps.VersionsDiffer,
			[]string{"the kernel is 6.8.0 on spark-02"},
		},
		"firmware": {
			setup, amended(t, setup, "rocep1s0f1: 28.45.4028", "rocep1s0f1: 28.43.1014"), steps.Warn, steps.FirmwareDiffers,
			[]string{"28.43.1014 and 28.45.4028 on spark-01"},
		},
		"NIXL": {
			setup, amended(t, setup, `"nixl":"1.4.0"`, `"nixl":"1.3.0"`), steps.Warn, steps.NIXLDiffers,
			[]string{"NIXL for Python is 1.4.0 on spark-02 but 1.3.0 on spark-01"},
		},
		"old": {
			amended(t, setup, "asio_address: yes", "asio_address: no", "pipeline_depth: yes", "pipeline_depth: no"),
			amended(t, setup, "asio_address: yes", "asio_address: no", "pipeline_depth: yes", "pipeline_depth: no"),
			steps.Warn, steps.NIXLBenchOld,
			[]string{"nixlbench on spark-02 and spark-01 is 0.5.0"},
		},
		// That one has none is another check's.
		"missing": {
			setup, amended(t, setup, "version perftest: 6.06\n", ""), steps.Pass, "",
			[]string{"Not compared: perftest (unknown on spark-01)"},
		},
		"no start": {
			setup, amended(t, setup, "nixlbench --etcd_endpoints: yes",
				"nixlbench error: sh: 1: nixlbench: Exec format error\nnixlbench --etcd_endpoints: no"),
			steps.Inconclusive, steps.ProgramUnable,
			[]string{"nixlbench on spark-01 does not start"},
		},
		"nothing alike": {"kernel: 6.1\n", "version iperf3: 3.16\n", steps.Inconclusive, steps.Unreadable, nil},
		"nothing else":  {"kernel: 6.1\n", "kernel: 6.1\n", steps.Pass, "", []string{"the kernel 6.1"}},
	}
	for name, c := range cases {
		v := judgeVersions(steps.Cell{}, checked(kindtest.Spark(), parse.NIXLSetupOutput, c.here, c.peer))
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
}

func TestUCXBuild(t *testing.T) {
	good := setup + ucxDomains(allDevs...)
	none := "tool ucx_info: missing\n"
	down := kindtest.Spark()
	down.Nodes[steps.Peer].Rails[1].State = "DOWN"
	for name, c := range map[string]struct {
		rig steps.Rig
		textCase
	}{
		"right": {
			kindtest.Spark(),
			textCase{
				good, good, steps.Pass, "",
				[]string{"UCX 1.21.0 on both nodes, built with the same options, with the rc transport"},
			},
		},
		"untold": {
			kindtest.Spark(),
			textCase{
				amended(t, good, "Configured with", "Built by"), good, steps.Pass, "",
				[]string{"UCX 1.21.0 on both nodes, with the rc transport"},
			},
		},
		"release": {
			kindtest.Spark(),
			textCase{
				good, amended(t, good, "version: 1.21.0", "version: 1.16.0"), steps.Fail, steps.UCXDiffers,
				[]string{"1.21.0 on spark-02 but 1.16.0 on spark-01"},
			},
		},
		"options": {
			kindtest.Spark(),
			textCase{good, amended(t, good, " --enable-mt", ""), steps.Warn, steps.UCXBuildDiffers, nil},
		},
		"no verbs": {
			kindtest.Spark(),
			textCase{
				good, amended(t, setup, " --with-verbs", "") + ucxDomains(), steps.Fail, steps.UCXNoVerbs,
				[]string{"UCX on spark-01 has no verbs", "build it --with-verbs"},
			},
		},
		"without": {
			kindtest.Spark(),
			textCase{
				good, amended(t, setup, " --with-verbs", " --without-verbs") + ucxDomains(), steps.Fail, steps.UCXNoVerbs,
				[]string{"UCX on spark-01 has no verbs"},
			},
		},
		"guessed": {
			kindtest.Spark(),
			textCase{
				good, amended(t, setup, " --with-verbs", "") + ucxDomains(), steps.Fail, steps.UCXNoVerbs,
				[]string{"check for its module libuct_ib.so"},
			},
		},
		"long": {
			kindtest.Spark(),
			textCase{
				good, amended(t, setup, "--prefix=/usr", "--prefix=/usr"+strings.Repeat(" --disable-something", 60)) +
					ucxDomains(), steps.Fail, steps.UCXNoDevice,
				[]string{"UCX on spark-01 lists no RDMA device, although it was built --with-verbs"},
			},
		},
		"commit": {
			kindtest.Spark(),
			textCase{
				good + "# Git branch 'v1.21.x', revision 96cc3f8\n", good + "# Git branch '', revision 1a2b3c4\n",
				steps.Warn, steps.UCXDiffers,
				[]string{"revision 96cc3f8 on spark-02 but 1a2b3c4 on spark-01"},
			},
		},
		"no module": {
			kindtest.Spark(),
			textCase{
				good, setup + ucxDomains(), steps.Fail, steps.UCXNoDevice,
				[]string{
					"UCX on spark-01 lists no RDMA device, although it was built --with-verbs", "libuct_ib.so",
					"/usr/lib/aarch64-linux-gnu",
				},
			},
		},
		"one rail": {
			kindtest.Spark(),
			textCase{
				setup + ucxDomains(allDevs[:3]...), good, steps.Fail, steps.UCXNoRail,
				[]string{"UCX on spark-02 has no rc transport on roceP2p1s0f1"},
			},
		},
		"port down": {down, textCase{good, setup + ucxDomains(allDevs[0], allDevs[2], allDevs[3]), steps.Pass, "", nil}},
		"library": {
			kindtest.Spark(),
			textCase{
				good, amended(t, good, "linked libucs: /lib/aarch64-linux-gnu", "linked libucs: /usr/local/ucx/lib"),
				steps.Warn, steps.SeveralUCX,
				[]string{"ucx_info on spark-01 is linked with libucs in /usr/local/ucx/lib"},
			},
		},
		"neither": {kindtest.Spark(), textCase{none, none, steps.Skipped, steps.CannotRun, nil}},
		"one": {kindtest.Spark(), textCase{
			good, none, steps.Warn, steps.MissingOnOneNode,
			[]string{"ucx_info is missing on spark-01", "1.21.0"},
		}},
		"unread": {
			kindtest.Spark(),
			textCase{
				good, "tool ucx_info: /usr/bin/ucx_info\n", steps.Fail, steps.UCXNoVerbs,
				[]string{"UCX on spark-01 has no verbs", "could not read the release of UCX"},
			},
		},
	} {
		v := judgeUCXBuild(steps.Cell{}, checked(c.rig, parse.NIXLSetupOutput, c.here, c.peer))
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words...)
	}
}

func TestUCXSettings(t *testing.T) {
	const none = "looked at: the environment\n"
	set := func(lines string) textCase { return textCase{here: none, peer: none + lines} }
	warns := func(code steps.Code, c textCase, words ...string) textCase {
		c.grade, c.code, c.words = steps.Warn, code, words
		return c
	}
	passes := func(c textCase) textCase { c.grade, c.words = steps.Pass, []string{"excludes a rail"}; return c }
	runCases(t, registered().Judges["ucx-settings"], map[string]textCase{
		"nothing": {none, none, steps.Pass, "", []string{"UCX chooses"}},
		"one rail": warns(steps.UCXRailsLimited, set("environment UCX_NET_DEVICES: rocep1s0f0:1\n"),
			"the environment on spark-01 sets UCX_NET_DEVICES=rocep1s0f0:1", "1 of the 4 rails"),
		"in a file": warns(steps.UCXRailsLimited, set("/etc/environment UCX_NET_DEVICES: \"rocep1s0f0:1\"\n"+
			"environment UCX_NET_DEVICES: rocep1s0f0:1\n"), "/etc/environment on spark-01 sets"),
		"wrong name": warns(steps.UCXDevicesWrong, set("environment UCX_NET_DEVICES: mlx5_0:1,mlx5_1:1\n"),
			"no mlx5_0:1 and mlx5_1:1"),
		"TCP": warns(steps.UCXDevicesWrong, set("environment UCX_NET_DEVICES: enP7s7,enp1s0f0np0\n"), "no enP7s7"),
		"no ports": warns(steps.UCXDevicesWrong, set("environment UCX_NET_DEVICES: "+
			"rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1\n"),
			"rocep1s0f0, rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1 have no port", "rocep1s0f0:1"),
		"another port": warns(steps.UCXDevicesWrong, set("environment UCX_NET_DEVICES: rocep1s0f0:2\n"),
			"no rocep1s0f0:2"), "all rails": passes(set("environment UCX_NET_DEVICES: rocep1s0f0:1,rocep1s0f1:1," +
			"roceP2p1s0f0:1,roceP2p1s0f1:1\n")),
		"all": passes(set("environment UCX_NET_DEVICES: all\n")),
		"all but one rail": warns(steps.UCXRailsLimited, set("environment UCX_NET_DEVICES: ^rocep1s0f0:1\n"),
			"3 of the 4 rails"), "all but another": passes(set("environment UCX_NET_DEVICES: ^enP7s7\n")),
		"no RDMA":             warns(steps.UCXRDMAOff, set("environment UCX_TLS: tcp,sm,self\n"), "UCX_TLS=tcp,sm,self"),
		"without RDMA":        warns(steps.UCXRDMAOff, set("environment UCX_TLS: ^ib\n")),
		"without another":     passes(set("environment UCX_TLS: ^cuda_ipc\n")),
		"without all of them": warns(steps.UCXRDMAOff, set("environment UCX_TLS: ^rc,dc,ud\n")),
		"without one of them": passes(set("environment UCX_TLS: ^rc\n")),
		"datagrams":           passes(set("environment UCX_TLS: ud_mlx5,sm,self\n")),
		"RDMA":                passes(set("environment UCX_TLS: rc,cuda_copy,tcp,sm,self\n")),
		"one rail each": warns(steps.UCXRailsLimited, set("/etc/ucx/ucx.conf UCX_MAX_RMA_RAILS: 1\n"),
			"/etc/ucx/ucx.conf on spark-01"), "two rails each": passes(set("/etc/ucx/ucx.conf UCX_MAX_RMA_RAILS: 2\n")),
		"GID":       warns(steps.GIDIndexWrong, set("environment UCX_IB_GID_INDEX: 1\n"), "index 3", "rocep1s0f0"),
		"right GID": passes(set("environment UCX_IB_GID_INDEX: 3\n")),
		"no GID":    passes(set("environment UCX_IB_GID_INDEX: auto\n")),
		"logging":   passes(set("environment UCX_LOG_LEVEL: info\n")),
	})
}

func TestLibraries(t *testing.T) {
	const none = "looked at: what is installed\n"
	const good = none + "libraries ib_write_bw: found\nlibraries nixlbench: found\n"
	runCases(t, registered().Judges["libraries"], map[string]textCase{
		"at one": {
			good, none + "libraries ib_write_bw: found\n", steps.Pass, "",
			[]string{"ib_write_bw and nixlbench", "Not checked, or not installed: nixlbench on spark-01"},
		},
		"found": {good, good, steps.Pass, "", []string{"all libraries of ib_write_bw and nixlbench"}},
		"missing": {
			good, amended(t, good, "nixlbench: found", "nixlbench: libetcd-cpp-api.so libgflags.so.2.2"), steps.Fail,
			steps.LibraryMissing,
			[]string{"nixlbench on spark-01", "libetcd-cpp-api.so and libgflags.so.2.2", "ldconfig"},
		},
		"python": {
			good + "import nixl: libpython3.7m.so.1.0: cannot open shared object file\n", good, steps.Fail, steps.LibraryMissing,
			[]string{"Python on spark-02 cannot load NIXL", "libpython3.7m"},
		},
		"no ldd": {none + "ldd: missing\n", good, steps.Skipped, steps.CommandMissing, []string{"spark-02 has no ldd"}},
		"no ldd there, and one missing here": {
			amended(t, good, "nixlbench: found", "nixlbench: libgflags.so.2.2"), none + "ldd: missing\n", steps.Fail,
			steps.LibraryMissing,
			[]string{"nixlbench on spark-02", "libgflags.so.2.2"},
		},
		"neither": {none, none, steps.Skipped, steps.CannotRun, nil},
	})
}

func TestMemlock(t *testing.T) {
	nixl := func(limit string) string {
		return "limit: " + limit + "\nbuffer: 4294967296\ntool nixlbench: /usr/local/bin/nixlbench\n" +
			"/etc/security/limits.conf * hard: unlimited\n"
	}
	bare := func(limit string) string {
		return "limit: " + limit + "\nbuffer: 4294967296\ntool nixlbench: missing\n"
	}
	runCases(t, registered().Judges["memlock"], map[string]textCase{
		"unlimited": {nixl("unlimited"), nixl("unlimited"), steps.Pass, "", []string{"no limit on spark-02"}},
		"small": {
			nixl("unlimited"), nixl("8192"), steps.Fail, steps.MemlockLow,
			[]string{"spark-01", "8192 KiB", "needs 4194304", "limits.conf"},
		},
		"no NIXL": {
			bare("8192"), bare("unlimited"), steps.Pass, "",
			[]string{"8192 KiB on spark-02, enough for perftest"},
		},
		"very small": {bare("64"), bare("unlimited"), steps.Fail, steps.MemlockLow, []string{"spark-02", "64 KiB"}},
		"root's": {
			bare("64") + "locks without a limit: yes\n", bare("unlimited"), steps.Pass, "",
			[]string{"no limit on spark-02 (root)"},
		},
		"large": {nixl("8388608"), nixl("unlimited"), steps.Pass, "", nil},
		"unreadable": {
			nixl("?"), nixl("unlimited"), steps.Inconclusive, steps.Unreadable,
			[]string{"the limit of locked memory"},
		},
		"not printed": {"buffer: 1\n", nixl("unlimited"), steps.Inconclusive, steps.Unreadable, nil},
	})
}

func TestFreeMemory(t *testing.T) {
	const good = "MemTotal: 125446400\nMemAvailable: 118718500\nSwapTotal: 16777212\nSwapFree: 16777212\n" +
		"CmaTotal: 65536\nCmaFree: 61440\nbuffer: 4294967296\nread: 1073741824\ntool nixlbench: /x\n"
	runCases(t, registered().Judges["free-memory"], map[string]textCase{
		"free": {good, good, steps.Pass, "", []string{"115936 MiB on spark-02"}},
		"short": {
			good, amended(t, good, "118718500", "716800"), steps.Fail, steps.MemoryShort,
			[]string{"only 700 MiB of memory are available on spark-01", "4608 MiB"},
		},
		"CMA": {
			amended(t, good, "CmaFree: 61440", "CmaFree: 98304"), good, steps.Warn, steps.MemoryMiscounted,
			[]string{"spark-02", "32 MiB more free CMA memory", "do not rely on free memory"},
		},
		"KHO": {
			amended(t, good, "CmaFree: 61440", "CmaFree: 9900000\nkernel: 7.0.0-1019-nvidia\nkho: default"), good,
			steps.Warn, steps.MemoryUnpinnable,
			[]string{"spark-02 reserves 9604 MiB that RDMA cannot pin"},
		},
		"KHO, off": {
			amended(t, good, "CmaFree: 61440", "CmaFree: 9900000\nkernel: 7.0.0-1019-nvidia\nkho: off"), good,
			steps.Warn, steps.MemoryMiscounted,
			[]string{"a reboot corrects it"},
		},
		"no NIXL": {
			amended(t, good, "118718500", "300000", "nixlbench: /x", "nixlbench: missing"), good, steps.Pass, "",
			nil,
		},
		"unread": {
			amended(t, good, "MemAvailable: 118718500\n", ""), good, steps.Inconclusive, steps.Unreadable,
			[]string{"could not read the available memory on spark-02"},
		},
	})
}

func TestSudoAccess(t *testing.T) {
	const yes = "user: nvidia\nroot: yes\n"
	runCases(t, registered().Judges["sudo-access"], map[string]textCase{
		"yes": {yes, yes, steps.Pass, "", []string{"without a password"}},
		"password": {
			yes, "user: nvidia\nroot: a password is required\n", steps.Warn, steps.SudoPassword,
			[]string{"sudo on spark-01 needs the password of user nvidia"},
		},
		"none": {
			"user: bob\nroot: sudo is not installed\n", yes, steps.Warn, steps.NeedsRoot,
			[]string{"bob cannot become root on spark-02"},
		},
	})
}

func registered() steps.Catalog { return registry.Merge(registry.Base(), Kind()) }
