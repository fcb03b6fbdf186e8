package main

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/headless"
)

// A symptom is what a fault has to do to the verdicts.
type symptom struct {
	// seen are the cells that must see it, and words that their reasons must hold,
	// one line of words a cell. None of them may PASS, and none may be SKIPPED.
	seen map[string][]string
	// skipped are the cells that can't be run because of it, in the same way.
	skipped map[string][]string
	// says are words in the reason of a cell that may PASS: it must not claim more
	// than what is whole.
	says map[string][]string
	// may are further cells that it is right to warn in. All others PASS.
	may []string
}

// cellsThat are those that change the network, or all others.
func cellsThat(t *testing.T, change bool) (ids []string) {
	t.Helper()
	tut, _, err := tutorial()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range tut.Main() {
		if c.Change.Any() == change {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// leftOut is, by fault, what cells say of all rails of which one is none, and slower of one whose link is.
var (
	leftOut = map[string][]string{
		"adapter-lost":    {"2 ports are not used as rails"},
		"rail-ip-missing": {"1 port is not used as a rail"},
		"duplicate-ip":    {"1 port is not used as a rail"},
	}
	slower = []string{"runs at 100 Gb/s on both nodes, but rocep1s0f0 at 200"}
)

// dualSymptoms are, by fault, what dual-link says: nearly everything concerns it.
var dualSymptoms = map[string][]string{
	"adapter-lost":     leftOut["adapter-lost"],
	"rail-ip-missing":  append(slices.Clone(leftOut["rail-ip-missing"]), "the two PCIe halves of one port"),
	"duplicate-ip":     leftOut["duplicate-ip"],
	"crossed":          {"timed out", "arp-flux"},
	"slow-cable":       slower,
	"bad-cable":        {"rror counters", "symbol_error"},
	"address-returned": {"in bond0", "bond-teardown"},
	"bond-left-over":   {"in bond0", "bond-teardown"},
	"roce-lag":         {"in bond0", "bond-teardown"},
	"cable-unplugged":  {"rocep1s0f0 on spark-02", "cable"},
	"link-down":        {"rocep1s0f1 on spark-01 is DOWN", "switched off"},
	"degraded-adapter": {"Gb/s, expected at least 100.1", "degraded", "power"},
	"firewall":         {"cannot reach perftest's server"},
	"garbled-output":   {"readable result", "first alone", "7 tests"},
	"slow-rail":        {"ails 1 and 3 together", "Rail 1 alone reaches only", "alone"},
	"retransmits":      {"retransmitted", "out_of_sequence"},
	"pauses":           {"tx_global_pause", "data arrived too fast", "rx_global_pause"},
	"port-busy":        {"port 18515 on spark-01 is in use"},
	"mtu-mismatch":     {"1024 on spark-02 but 4096 on spark-01", "The smaller"},
	"pcie-x2":          {"ails 1 and 3 together", "spark-01", "x2"},
	"hog":              {"ails 1 and 2 together", "other traffic"},
	"counter-reset":    {"rocep1s0f0", "expected"},
	"counter-missing":  {"spark-01", "no port counters", "so the rail that carried"},
	"hot-adapter":      {"reached 10"},
	"arp-flux":         {"first alone", "packets stopped arriving"},
	"peer-dead":        {"Not run"},
}

// tcpTests say these words where a fault is on the way that TCP takes.
func tcpTests(seen map[string][]string, words ...string) map[string][]string {
	seen["tcp-single"], seen["tcp-parallel"] = words, words
	return seen
}

var everyTest = []string{"ib-write-bw", "ib-write-lat"}

// The cells that move data with UCX: NIXL's Python programs, nixlbench with host memory and
// with the GPU's, and UCX by itself.
var (
	nixlReads   = []string{"nixl-transfer", "nixl-transfer-dual", "nixl-latency"}
	nixlDRAM    = []string{"nixl-single-dram", "nixl-dual-dram", "nixl-mt", "nixl-halves-dram"}
	nixlVRAM    = []string{"nixl-single-vram", "nixl-dual-vram"}
	nixlRail2   = []string{"nixl-transfer-dual", "nixl-latency", "nixl-dual-dram", "nixl-dual-vram", "nixl-mt"}
	nixlBenches = slices.Concat(nixlDRAM, nixlVRAM)
	byUCX       = []string{"ucx-perftest", "ucx-perftest-gpu"}
	byNIXL      = slices.Concat(nixlReads, []string{"nixl-transfer-gpu"}, nixlBenches)
	nixlMoves   = slices.Concat(byNIXL, byUCX)
)

// also adds cells that all say the same words.
func also(seen map[string][]string, cells []string, words ...string) map[string][]string {
	for _, c := range cells {
		seen[c] = words
	}
	return seen
}

// by is a table of cells that all say the same words.
func by(cells []string, words ...string) map[string][]string {
	return also(map[string][]string{}, cells, words...)
}

// symptoms is by fault. One that is missing here fails the test: a fault that no cell sees teaches no one anything.
var symptoms = map[string]symptom{
	"adapter-lost": {
		seen: also(also(map[string][]string{
			"devices":  {"spark-02 has 4 RDMA devices but spark-01 has 2"},
			"rail-map": {"roceP2p1s0f0 on spark-02", "spark-01 has no rail in that subnet"},
		},
			slices.Concat(everyTest, nixlRail2, []string{"ping"}), leftOut["adapter-lost"]...),
			[]string{"interfaces", "gids"}, "spark-01 has no roceP2p1s0f0"),
		skipped: map[string][]string{"nixl-halves-dram": {"other PCIe half"}},
	},
	// What these do is seen by the checklist alone: no test is slower for it yet.
	"bad-cable": {
		seen: also(tcpTests(map[string][]string{"ib-write-bw": {"Rails 1 and 3", "symbol_error"}},
			"rror counters", "symbol_error"), nixlMoves, "rror counters", "symbol_error"),
		may: []string{"nixl-latency", "ib-write-lat"},
	},
	"hot-adapter": {seen: also(tcpTests(by(everyTest, "reached 10", "Improve its airflow"), "reached 10"), nixlMoves,
		"reached 10")},
	"low-power":   {},
	"secure-boot": {},
	"small-bar1":  {},
	"slow-cable": {seen: by(slices.Concat(everyTest, nixlRail2, []string{"interfaces", "rail-map"}),
		slower...)},
	"pcie-errors": {}, "gpu-stuck-clock": {}, "hard-off": {},
	"kexec-handover": {seen: map[string][]string{"hosts": {"The kernel differs"}}},
	"autobond": {
		seen: map[string][]string{"bond-check": {
			"bond0 on spark-", "bond0 on spark-02 is empty",
			"File exists", "balance-rr",
		}},
	},
	"address-returned": {
		seen: also(tcpTests(map[string][]string{
			"interfaces": {"enp1s0f0np0 on spark-01 belongs to bond0"}, "rail-map": {"bond0 on spark-01 holds enp1s0f0np0"},
			"ping": {"does not answer at 192.168.100.10"}, "gids": {"bond0", "spark-01"},
			"bond-check":  {"enp1s0f0np0 on spark-01 is in bond0", "192.168.100.10/24"},
			"bond-status": {"spark-01", "has 192.168.200.10/24 from"},
			"ib-write-bw": {"in bond0", "bond-teardown"}, "ib-write-lat": {"in bond0", "bond-teardown"},
		}, "spark-01 bonds its rails but spark-02 does not"), nixlMoves, "in bond0", "bond-teardown"),
	},
	"bond-left-over": {
		seen: also(tcpTests(map[string][]string{
			"rail-map": {"bond0 on spark-01 holds enp1s0f0np0"}, "gids": {"bond0", "spark-01"},
			"bond-check":  {"bond0 on spark-01 holds enp1s0f0np0", "spark-02 has no bond"},
			"bond-status": {"spark-01 bonds its rails but spark-02 does not"},
		}, "spark-01 bonds its rails but spark-02 does not"), nixlMoves, "in bond0", "bond-teardown"),
		says: map[string][]string{
			"ping": {"Both rails"}, "ib-write-bw": {"in bond0", "bond-teardown"},
			"ib-write-lat": {"in bond0", "bond-teardown"},
		},
		may: append([]string{"interfaces", "devices", "ping"}, everyTest...),
	},
	"cable-unplugged": {
		seen: also(tcpTests(map[string][]string{
			"interfaces": {"enp1s0f0np0", "no link", "cable"}, "devices": {"rocep1s0f0", "DOWN", "cable"},
			"rail-map": {"Rail 1 is DOWN", "cable"},
			"ping":     {"Rail 1", "does not answer"}, "ib-write-bw": {"Rails 1 and 3", "state is Down"},
			"ib-write-lat": {"Rails 1 and 3", "state is Down"},
			"nixl-check":   {"on rocep1s0f0", "Check the port"},
		}, "enp1s0f0np0", "no link", "cable"), nixlMoves, "rocep1s0f0 on spark-02 and spark-01", "cable"),
		may: []string{"gids"},
	},
	"counter-missing": {seen: also(map[string][]string{"ib-write-bw": {
		"spark-01", "no port counters",
		"so the rail that carried",
	}}, nixlMoves, "spark-01", "no port counters"), may: []string{"rail-map", "ib-write-lat"}},
	"counter-reset": {
		seen: also(map[string][]string{"ib-write-bw": {"port_xmit_data", "went backwards"}}, nixlMoves),
		may:  []string{"ib-write-lat"},
	},
	"degraded-adapter": {seen: also(tcpTests(map[string][]string{"ib-write-bw": {
		"Rails 1, 2, 3 and 4", "degraded",
		"power",
	}}, " Gb/s", "degraded"), append([]string{"nixl-transfer", "nixl-transfer-dual", "ucx-perftest"}, nixlDRAM...),
		"degraded", "power")},
	"gpu-missing": {
		seen:    map[string][]string{"host-staging": {"spark-01 has no GPU"}},
		skipped: by(append([]string{"nixl-transfer-gpu", "ucx-perftest-gpu"}, nixlVRAM...), "spark-01 has no nvidia-smi"),
		says:    map[string][]string{"nixl-register": {"GPU memory"}},
	},
	"garbled-output": {seen: map[string][]string{"ib-write-bw": {"Rails 1, 2, 3 and 4", "no readable result"}}},
	"gid-drift":      {seen: map[string][]string{"gids": {"Rail 1", "3 on spark-02", "5 on spark-01"}}},
	"hog": {
		seen: also(map[string][]string{"ib-write-bw": {"Rail 2", "other traffic"}},
			[]string{"nixl-dual-dram", "nixl-mt"}, "other traffic"),
		may: append([]string{"ib-write-lat", "tcp-single", "tcp-parallel"}, nixlMoves...),
	},
	"link-down": {
		seen: also(map[string][]string{
			"interfaces": {"enp1s0f1np1 on spark-01", "switched off"}, "devices": {"rocep1s0f1 on spark-01 is DOWN"},
			"rail-map": {"Rail 2 is DOWN on spark-01"},
			"ping":     {"Rail 2", "does not answer"}, "ib-write-bw": {"Rail 2", "state is Down"},
			"ib-write-lat": {"Rail 2", "state is Down"},
			"nixl-check":   {"on rocep1s0f1"},
		}, nixlRail2, "rocep1s0f1 on spark-01 is DOWN", "switched off"),
		may: []string{"gids"},
	},
	"mtu-mismatch": {
		seen: also(tcpTests(map[string][]string{
			"rail-map": {"Rail 1", "1500 on spark-02", "9000 on spark-01"},
			"ping":     {"Rail 1", "1500 on spark-02", "9000 on spark-01"},
		},
			"MTU mismatch", "1500 on enp1s0f0np0 of spark-02", "9000 on enp1s0f0np0 of spark-01", "retransmits"),
			nixlMoves, "1024 on spark-02 but 4096 on spark-01", "The smaller"),
		may: everyTest,
	},
	"low-memory": {
		seen: also(by(append([]string{"nixl-transfer-dual"}, nixlBenches...), "does not fit into the memory of", "spark-01"),
			[]string{"host-staging"}, "The copies failed on spark-01"),
	},
	"nixl-hang": {seen: map[string][]string{"nixl-mt": {"nothing was printed", "after 2 rows"}}},
	"nixl-missing": {
		seen:    map[string][]string{"nixl-check": {"spark-01 has no nixlbench"}},
		skipped: by(nixlBenches, "spark-01 has no nixlbench"),
	},
	"nixl-old": {says: map[string][]string{"nixl-check": {"1.0.0"}}},
	"nixl-one-rail": {
		seen: also(by([]string{"nixl-transfer-dual", "nixl-dual-dram", "nixl-mt"},
			"rocep1s0f1 on both nodes carried nothing"),
			[]string{"nixl-halves-dram"}, "roceP2p1s0f0 on both nodes carried nothing"),
	},
	"p2p-ip-conflict": {
		seen: map[string][]string{"rail-map": {"enp1s0f0np0", "enP2p1s0f0np0", "spark-01", "share the subnet"}},
		may:  append([]string{"interfaces", "ping"}, everyTest...),
	},
	"pcie-x2": {
		seen: map[string][]string{
			"rail-map": {"spark-01", "x2", "PCIe Gen5 x2"}, "ib-write-bw": {"Rail 3", "Rail 4", "x2"},
			"nixl-halves-dram": {"spark-01", "x2", "PCIe Gen5 x2"}, "ib-write-lat": {"Rail 3", "Gen5 x2"},
			"nixl-latency": {"on spark-01", "Gen5 x2"},
		},
		may: []string{"devices"},
	},
	"firewall": {
		seen: also(tcpTests(by(append(slices.Clone(byUCX), everyTest...), "spark-02"),
			"spark-02 cannot reach", "firewall"), append([]string{"nixl-transfer-gpu"}, nixlReads...),
			"the other end never"),
	},
	"iperf-stuck": {seen: tcpTests(map[string][]string{}, "port 5201 on spark-01 is in use")},
	"library-missing": {
		seen: also(map[string][]string{"nixl-check": {"ixlbench on spark-01 does not start", "libetcd-cpp-api.so"}},
			nixlBenches, "ixlbench on spark-01 does not start", "library libetcd-cpp-api.so"),
	},
	"memlock": {
		seen: by(append([]string{"nixl-transfer", "nixl-transfer-dual", "ucx-perftest"}, nixlDRAM...), "on spark-01",
			"ulimit -l", "limits.conf"),
	},
	// What follows concerns programs that railbench does not start, or that it gives
	// everything itself: the checklist sees it.
	"apparmor-denied": {}, "boot-waits": {}, "link-local-missing": {}, "rail-unmanaged": {},
	"two-managers":   {seen: map[string][]string{"interfaces": {"managed by NetworkManager and networkd"}}},
	"etcd-down":      {},
	"etcd-masked":    {},
	"netplan-broken": {}, // the cell netplan has only its own file checked
	"manager-fights": {}, // until a change takes it on with it
	"manager-mute": {seen: map[string][]string{"interfaces": {
		"spark-01", "NetworkManager", "railbench cannot change it",
		"nmcli gets no answer (Error: NetworkManager is not running)",
	}}},
	"dhcp-client": {seen: map[string][]string{"interfaces": {
		"enp1s0f1np1", "spark-01", "railbench cannot change it",
		"a DHCP client would set its address again",
	}}},
	"profile-stray": {seen: map[string][]string{"interfaces": {
		"enp1s0f1np1 on spark-01", "railbench cannot change it",
		"getting IP configuration", "Wired connection 2",
	}}},
	"ufw-roce": {}, "nftables-roce": {}, // an adapter's packets pass by the kernel's filter
	"nccl-socket":    {},
	"disk-full":      {}, // the simulated tests write little
	"clock-off":      {}, // no test measures with two clocks
	"host-route":     {seen: tcpTests(map[string][]string{}, "enp1s0f1np1 carried the data: wrong rail", "routes")},
	"shaped":         {seen: tcpTests(map[string][]string{}, "Gb/s over rail 1, expected at least"), may: everyTest},
	"nccl-half":      {}, // these five: see collectives_test.go
	"nccl-version":   {},
	"nccl-tcp":       {},
	"nccl-gid":       {},
	"nccl-hang":      {},
	"container-bare": {},
	"stale-etcd":     {},
	"stream-busy":    {}, // see throughput_test.go
	"ucx-pinned":     {},
	"peer-dead": {
		seen: also(tcpTests(map[string][]string{
			"hosts": {"spark-01", "connection refused"}, "tools": {"Not run"}, "privileges": {"Not run"},
			"interfaces": {"Not run"}, "devices": {"Not run"},
			"rail-map": {"Not run"}, "ping": {"Not run"}, "gids": {"Not run"}, "ib-write-bw": {"Not run"},
			"ib-write-lat": {"Not run"},
			"bond-check":   {"Not run"}, "bond-status": {"Not run"}, "netplan": {"Not run"}, "summary": {"Not run"},
		}, "Not run"), append([]string{"nixl-check", "nixl-register", "etcd", "host-staging"}, nixlMoves...), "Not run"),
	},
	"port-busy": {
		seen: map[string][]string{
			"ib-write-bw":  {"port 18515 on spark-01 is in use"},
			"ib-write-lat": {"port 18515 on spark-01 is in use"},
		},
	},
	"roce-lag": {
		seen: also(tcpTests(map[string][]string{
			"devices": {"spark-02 has 4 RDMA devices but spark-01 has 3"}, "rail-map": {"bond0 on spark-01 holds enp1s0f0np0"},
			"gids":        {"bond0", "spark-01"},
			"bond-check":  {"bond0 on spark-01 holds enp1s0f0np0", "spark-02 has no bond"},
			"bond-status": {"spark-01 bonds its rails but spark-02 does not"},
		}, "spark-01 bonds its rails but spark-02 does not"), nixlMoves, "in bond0", "bond-teardown"),
		says: map[string][]string{"ping": {"Both rails"}},
		may:  append([]string{"interfaces", "ping", "netplan"}, everyTest...),
	},
	"rail-ips-left-over": {
		seen: map[string][]string{"rail-map": {"enp1s0f0np0 and enp1s0f1np1", "share the subnet"}},
		may:  append([]string{"interfaces", "ping"}, everyTest...),
	},
	"duplicate-ip": {
		seen: also(also(map[string][]string{"rail-map": {"192.168.200.10 is assigned twice", "spark-01", "spark-02"}},
			append([]string{"nixl-halves-dram", "ping"}, nixlRail2...), leftOut["duplicate-ip"]...),
			[]string{"interfaces", "gids"}, "both nodes have 192.168.200.10"),
		says: map[string][]string{
			"ping": {"3 rails"}, "ib-write-bw": {"each of the 3 rails"},
			"ib-write-lat": {"each of the 3 rails"},
		},
		may: append([]string{"interfaces", "ping", "gids"}, everyTest...),
	},
	"address-unsaved":       {}, // only a reboot would show it
	"mtu-unsaved":           {},
	"default-route-on-rail": {}, // it stands in the way of changes only
	// An adapter asks the neighbour table where to send; the kernel takes TCP at any of its interfaces.
	// The kernel answers on the wrong port and takes TCP there; an adapter has no queue pair there.
	"crossed": {seen: also(also(tcpTests(by(append([]string{"words-of-four"}, everyTest...), "timed out"),
		"enp1s0f0np0", "enp1s0f1np1 carried the data"), byNIXL, "do not reach the other end", "arp-flux"),
		byUCX, "do not reach the other end", "arp-flux")},
	"arp-flux": {seen: also(also(by(everyTest, "Rail 1", "packets stopped arriving", "arp-flux"), byNIXL,
		"cannot be reached", "ib-write-bw"), byUCX, "timed out", "ib-write-bw")},
	"peer-reboots": {}, // and at how long a node is up
	"rail-ip-missing": {
		seen: also(also(map[string][]string{"rail-map": {"rocep1s0f1", "enp1s0f1np1", "no IPv4 address"}},
			append([]string{"nixl-halves-dram", "ping"}, nixlRail2...), leftOut["rail-ip-missing"]...),
			[]string{"interfaces", "gids"}, "spark-01 has no address on rocep1s0f1"),
		says: map[string][]string{
			"ping": {"3 rails"}, "ib-write-bw": {"each of the 3 rails"},
			"ib-write-lat": {"each of the 3 rails"},
		},
		may: append([]string{"interfaces", "ping", "gids"}, everyTest...),
	},
	"retransmits": {seen: also(tcpTests(map[string][]string{"ib-write-bw": {
		"retransmitted", "out_of_sequence",
		"packet_seq_err",
	}}, "retransmitted", "path-loss"), slices.Concat(nixlReads, nixlBenches, []string{"ucx-perftest"}),
		"retransmitted", "out_of_sequence"), may: []string{"ib-write-lat", "nixl-transfer-gpu", "ucx-perftest-gpu"}},
	"pauses": {
		seen: by(slices.Concat([]string{"ib-write-bw"}, nixlBenches, nixlReads, byUCX), "rx_global_pause"),
		may:  []string{"ib-write-lat", "nixl-transfer-gpu"},
	},
	"slow-rail": {seen: map[string][]string{
		"nixl-transfer": {"over rail 1, expected at least"}, "nixl-single-dram": {"over rail 1, expected at least"},
		"ucx-perftest":     {"over rail 1, expected at least"},
		"nixl-halves-dram": {"over rails 1 and 3, expected at least 175.8"},
		"ib-write-bw":      {"Rail 1 (rocep1s0f0)", "Gb/s, expected at least"},
	}, may: []string{"ib-write-lat"}},
	"sudo-password": {
		skipped: map[string][]string{"privileges": {"spark-02", "root"}},
	},
	"ucx-mismatch": {
		seen: also(also(by([]string{"tools", "nixl-check"}, "UCX is 1.21.0 on spark-02 but 1.16.0 on spark-01",
			"NIXL_ERR_NOT_FOUND"), byNIXL, "NIXL on spark-02 cannot reach the other end", "NIXL_ERR_NOT_FOUND"), byUCX,
			"UCX versions (railbench run nixl-check)"),
	},
	"ucx-no-verbs": {
		seen: also(map[string][]string{
			"nixl-check":   {"UCX on spark-01 has no verbs"},
			"host-staging": {"UCX has no verbs"},
		}, nixlMoves, "UCX on spark-01 finds none of the given rails"),
	},
	"tool-differs": {seen: map[string][]string{"tools": {"6.06 on spark-02", "6.22 on spark-01"}}},
	"tool-missing": {
		seen: map[string][]string{"tools": {"spark-01 lacks ib_write_bw", "nstall perftest"}},
		skipped: map[string][]string{
			"dual-link":    {"spark-01 has no ib_write_bw"},
			"ib-write-bw":  {"spark-01 has no ib_write_bw", "nstall perftest"},
			"ib-write-lat": {"spark-01 has no ib_write_lat", "nstall perftest"},
		},
	},
}

// TestHealthyRig is a rig without a fault: nothing but PASS.
func TestHealthyRig(t *testing.T) {
	t.Parallel()
	if !testform.Full() { // of another seed
		tp := recordedWhole(t)
		for _, c := range tp.options.Tutorial.Cells() {
			if v := tp.ended[c.ID].Verdict; !c.Aside && (v.Grade != steps.Pass || v.Reason == "" || len(v.Evidence) == 0) {
				t.Errorf("%s: %s: %q, on %d pieces of evidence", c.ID, v.Grade, v.Reason, len(v.Evidence))
			}
		}
		return
	}
	for _, seed := range []string{"1", "2", "18446744073709551615"} {
		t.Run("seed "+seed, func(t *testing.T) {
			t.Parallel()
			r, code, _ := headlessly(t, "--all", "--seed", seed)
			if wanted := wantCode(r.Summary, false); code != wanted {
				t.Errorf("exit %d, want %d", code, wanted)
			}
			for _, c := range r.Cells {
				if c.Verdict != steps.Pass || c.Reason == "" || len(c.Evidence) == 0 {
					t.Errorf("%s: %s: %q, on %d pieces of evidence", c.ID, c.Verdict, c.Reason, len(c.Evidence))
				}
			}
			if !r.Rig.Simulated {
				t.Error("it is not marked as simulated")
			}
		})
	}
}

// TestFaults breaks the rig in every way that there is and runs every cell.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name := range symptoms {
		if !slices.ContainsFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == name }) {
			t.Errorf("the table has %q, and the rig hasn't", name)
		}
	}
	for i, f := range sim.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			want, ok := symptoms[f.Name]
			if !ok {
				t.Fatal("the table doesn't say which cells must see it")
			}
			if sampled(i) {
				t.Skip("RAILBENCH_FULL=1 runs every fault, and so does its name")
			}
			t.Parallel()
			if want.names("ib-write-bw") { // it is that test with fewer writes, and reads a counter
				want.may = append(slices.Clone(want.may), "words-of-four")
			}
			if words := dualSymptoms[f.Name]; words != nil {
				want.seen = maps.Clone(want.seen)
				if want.seen == nil {
					want.seen = map[string][]string{}
				}
				want.seen["dual-link"] = words
			}
			// What changes the network has a table of its own: it puts some faults right.
			run := cellsOf
			if !testform.Full() {
				run = func(t *testing.T, fault string) (headless.Object, int, string) {
					t.Helper()
					ids := slices.DeleteFunc(cellsThat(t, false), func(id string) bool { return !want.names(id) && id != "rail-map" })
					return headlessly(t, append(ids, "--fault", fault)...)
				}
			}
			r, code, stderr := run(t, f.Name)
			for _, c := range r.Cells {
				want.check(t, c)
			}
			if wanted := wantCode(r.Summary, f.Name == "peer-dead"); code != wanted {
				t.Errorf("exit %d, want %d: %s", code, wanted, stderr)
			}
		})
	}
}

// Several tests of the full form look at every cell, and every check, of a rig with a fault: each such rig runs once.
var cellsRan, checksRan sync.Map

// A sharedRun is what a command printed as its object, its status and its words.
type sharedRun[T any] struct {
	once   sync.Once
	object T
	code   int
	stderr string
}

// shared is the run of a fault, which the first test that asks for it makes.
func shared[T any](all *sync.Map, fault string, run func() (T, int, string)) (T, int, string) {
	one, _ := all.LoadOrStore(fault, &sharedRun[T]{})
	r := one.(*sharedRun[T]) //nolint:forcetypeassert // each map holds one type
	r.once.Do(func() { r.object, r.code, r.stderr = run() })
	return r.object, r.code, r.stderr
}

// cellsOf runs every cell that changes nothing on a rig with a fault.
func cellsOf(t *testing.T, fault string) (headless.Object, int, string) {
	t.Helper()
	return shared(&cellsRan, fault, func() (headless.Object, int, string) {
		return headlessly(t, append(cellsThat(t, false), "--fault", fault)...)
	})
}

// checksOf runs every check on a rig with a fault.
func checksOf(t *testing.T, fault string) (doctor.Object, int, string) {
	t.Helper()
	return shared(&checksRan, fault, func() (doctor.Object, int, string) {
		args := []string{"--fault", fault}
		if fault == "container-bare" {
			args = append(args, "--container", "vllm")
		}
		return diagnose(t, args...)
	})
}

// sampled reports whether the i-th of many alike is left to the gate: what everybody runs takes every twelfth of
// them, and each that a user asks for by its name.
func sampled(i int) bool {
	return i%12 != 0 && !testform.Full() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
}

// names reports whether the table says something of a cell. A run that isn't whole keeps
// to those: what a fault does to a cell that has nothing to do with it is the gate's.
func (s symptom) names(id string) bool {
	return s.seen[id] != nil || s.skipped[id] != nil || s.says[id] != nil || slices.Contains(s.may, id)
}

func (s symptom) check(t *testing.T, c headless.Cell) {
	t.Helper()
	words, seen := s.seen[c.ID]
	lacks, skipped := s.skipped[c.ID]
	words = append(slices.Clip(append(slices.Clip(words), lacks...)), s.says[c.ID]...)
	switch {
	case c.Reason == "":
		t.Errorf("%s: %s without a reason", c.ID, c.Verdict)
	case skipped && c.Verdict != steps.Skipped:
		t.Errorf("%s can't be run: %s: %s", c.ID, c.Verdict, c.Reason)
	case seen && (c.Verdict == steps.Pass || c.Verdict == steps.Skipped):
		t.Errorf("%s doesn't see it: %s: %s", c.ID, c.Verdict, c.Reason)
	case !seen && !skipped && c.Verdict != steps.Pass && !slices.Contains(s.may, c.ID):
		t.Errorf("%s has nothing to do with it: %s: %s", c.ID, c.Verdict, c.Reason)
	}
	text := steps.Verdict{Reason: c.Reason, Findings: c.Findings, Evidence: c.Evidence}.Said()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s doesn't say %q: %s: %s", c.ID, w, c.Verdict, text)
		}
	}
}

// wantCode is the exit status that follows from the verdicts.
func wantCode(summary map[string]int, unreachable bool) int {
	switch {
	case unreachable:
		return exitUnreachable
	case summary[steps.Fail.String()] > 0:
		return exitFail
	case summary[steps.Inconclusive.String()] > 0:
		return exitInconclusive
	default:
		return exitOK
	}
}
