package catalog

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// phrasings are what people say, and the check that has to stand among the first three: the
// wordings of the source documents, and as many that are not the checklist's.
var phrasings = []struct{ says, leads string }{
	// As the documents have it.
	{"NIXL connection fails with NIXL_ERR_NOT_FOUND", "versions"},
	{"UCX version mismatch between nodes", "versions"},
	{"UCX connects but uses wrong interface", "address-conflict"},
	{"connection times out despite correct IP addresses", "address-conflict"},
	{"P2P interface IP conflict", "address-conflict"},
	{"ibdev2netdev shows interface as (Down)", "link-up"},
	{"NIXL GPU registration fails", "gpu-path"},
	{"ibv_reg_mr failed: Bad address", "gpu-path"},
	{"NIXL_ERR_BACKEND", "gpu-path"},
	{"iperf3 shows very low throughput despite successful connection", "mtu-equal"},
	{"TCP throughput near zero", "mtu-equal"},
	{"Cwnd stuck", "mtu-equal"},
	{"congestion window stuck at 1.4 KB", "mtu-equal"},
	{"high retransmit counts", "mtu-equal"},
	{"NIXL does not use both rails", "nixl-rails"},
	{"NIXL throughput same on single-rail and dual-rail", "nixl-rails"},
	{"NIXL throughput same on single-rail and dual-rail configurations", "ucx-settings"},
	{"bond not forming", "bond-health"},
	{"cat /proc/net/bonding/bond0 shows error or empty output", "bond-health"},
	{"Transfer falls back to TCP", "rdma-ports"},
	{"NIXL debug output shows socket-based transport instead of RDMA", "rdma-ports"},
	{"Address already in use", "test-ports"},
	{"etcd not reachable", "etcd-service"},
	{"Rank 2 >= global size 2", "etcd-keys"},
	{"register_memory returns empty descriptors", "rail-bond"},
	{"show_gids shows GID entries pointing to bond0", "rail-bond"},
	{"dual-rail VRAM only uses one link", "gpu-path"},
	{"NET/Socket", "nccl-settings"},
	{"network cards shutting down", "adapter-temperature"},
	{"UCXError: Device is busy", "test-ports"},
	{"UCX WARN transport 'ib' is not available", "ucx-build"},
	{"libpython3.7m.so.1.0 not found", "libraries"},
	{"Aborted (core dumped)", "bar1"},
	{"Detected insufficient power on the PCIe slot (26W)", "adapter-power"},
	// As people say it.
	{"low bandwidth", "rail-speed"},
	{"it is slow", "rail-speed"},
	{"performance is terrible", "rail-speed"},
	{"only 13 gbit", "rail-speed"},
	{"it hangs", "nixl-threads"},
	{"nixlbench just freezes", "nixl-threads"},
	{"RDMA test hangs but ping is fine", "arp-flux"},
	{"connection times out", "nodes"},
	{"cannot connect to the other machine", "nodes"},
	{"no RDMA devices", "rdma-ports"},
	{"the card disappeared", "adapter-present"},
	{"NIC vanished after a while", "adapter-present"},
	{"adapter overheats", "adapter-temperature"},
	{"card gets too hot", "adapter-temperature"},
	{"wrong gid", "gid-index"},
	{"big packets are dropped, small ones arrive", "mtu-equal"},
	{"jumbo frames do not get through", "mtu-equal"},
	{"lots of packets are resent", "error-counters"},
	{"cable is unplugged", "link-up"},
	{"same IP on two machines", "duplicate-ip"},
	{"settings lost after restart", "reboot-safe"},
	{"MTU back to 1500 after reboot", "reboot-safe"},
	{"sudo wants a password", "sudo-access"},
	{"port is taken by another process", "test-ports"},
	{"not enough memory", "free-memory"},
	{"locked memory limit", "memlock"},
	{"firewall drops packets", "firewall"},
	{"ib_write_bw: command not found", "tools-present"},
	{"two rails are no faster than one", "nixl-rails"},
	{"second rail is idle", "nixl-rails"},
	{"gpu transfers are slow", "gpu-path"},
	{"nvidia peermem does not load", "gpu-path"},
	{"module rejected by secure boot", "secure-boot"},
	{"somebody else is using the link", "idle-rails"},
	{"pcie width is x2", "pcie-link"},
	{"ports went into one bonded device", "roce-lag"},
	{"bond0 has wrong mode", "bond-health"},
	{"booting takes forever", "boot-waits"},
	{"network manager puts the address back", "rail-managers"},
	// As users complain in public, of rigs like this.
	{"NCCL all_gather only gets 3 GB/s", "nccl-settings"},
	{"all_gather runs at half of the port", "nccl-settings"},
	{"only one half is named in NCCL_IB_HCA", "nccl-settings"},
	{"pytorch distributed falls back to sockets", "nccl-settings"},
	{"a 16 GB test freezes the node", "free-memory"},
	{"machine locks up with large buffers", "free-memory"},
	{"ibv_reg_mr returns ENOMEM on the new kernel", "free-memory"},
	{"GID index is different on the two nodes", "gid-index"},
	{"GID index drifts after a reboot", "gid-index"},
	{"both ends have MTU 1500", "roce-mtu"},
	{"MTU is lost after a firmware update", "reboot-safe"},
	{"IP gone after updating the firmware", "reboot-safe"},
	{"only 13 Gb/s on a good link", "rail-speed"},
	{"adapter came up degraded", "rail-speed"},
	{"one half runs at PCIe x2", "pcie-link"},
	{"fatal AER from PCIe in dmesg", "pcie-errors"},
	{"GPU clock is stuck at 611 MHz", "gpu-clock"},
	{"GPU is capped in power", "gpu-clock"},
	{"my spark switches itself off during training", "last-boot"},
	{"node powers off hard under load", "last-boot"},
	{"docker container can't see the RDMA device", "container"},
	{"memlock limit inside the container", "container"},
	{"the image brings its own nccl.conf", "container"},
	{"DOCKER-USER chain drops forwarded packets", "firewall"},
	{"cables are swapped", "arp-flux"},
	{"what type of cable do I have", "cable"},
	{"two cables don't give me 400", "link-speed"},
	{"VRAM fails with the pip wheel", "gpu-path"},
	{"nixlbench is much slower than ucx_perftest", "ucx-settings"},
	{"hangs with more than one thread", "nixl-threads"},
	{"switch drops packets when it is congested", "error-counters"},
	// As a user says it who has read neither.
	{"throughput dropped by half overnight", "pcie-link"},
	{"I only see one link being used", "nixl-rails"},
	{"ssh asks for a password", "nodes"},
	{"rails are asymmetric, one is faster than the other", "rail-speed"},
	{"high latency spikes", "shaping"},
	{"latency jumps around", "idle-rails"},
	{"UCX picks tcp instead of rdma", "ucx-build"},
	{"Link keeps flapping", "link-up"},
	{"Unable to init the socket connection", "firewall"},
	{"permission denied on /dev/infiniband/uverbs0", "apparmor"},
	{"ping works but iperf fails with no route to host", "firewall"},
	{"the second spark cannot be pinged any more", "rail-addresses"},
	{"jumbo packets vanish somewhere", "mtu-equal"},
	{"card is only warm and throttles", "adapter-temperature"},
	{"the bond is up but no data passes", "bond-health"},
	// With slips of the keyboard, and in another order.
	{"low bandwith", "rail-speed"}, //nolint:misspell // as it is often typed
	{"fierwall", "firewall"},
	{"tempratur of the adpater", "adapter-temperature"}, //nolint:misspell // slips
	{"in use already address", "test-ports"},
	{"size global rank", "etcd-keys"},
}

// speaking is the tutorial with the knowledge's words.
func speaking(t *testing.T) steps.Tutorial {
	t.Helper()
	tut := kindtest.Tutorial(t)
	k, err := explain.Load(os.DirFS("../../assets/knowledge"))
	if err != nil {
		t.Fatal(err)
	}
	tut.Sayings = k.Sayings
	return tut
}

func TestSymptoms(t *testing.T) {
	tut := speaking(t)
	theirs := 0
	for _, p := range phrasings {
		var ids []string
		for _, c := range tut.Symptom(p.says) {
			ids = append(ids, c.ID)
		}
		if !slices.Contains(ids[:min(3, len(ids))], p.leads) {
			t.Errorf("%q leads to %s, and not first to %s", p.says, strings.Join(ids, " "), p.leads)
		}
		said := false
		for _, c := range tut.Checks() {
			for _, of := range tut.Says(c.ID) {
				for _, s := range of.Phrases {
					said = said || strings.Contains(strings.ToLower(p.says), strings.ToLower(s)) ||
						strings.Contains(strings.ToLower(s), strings.ToLower(p.says))
				}
			}
		}
		if !said {
			theirs++
		}
	}
	if len(phrasings) < 60 || 2*theirs < len(phrasings) {
		t.Errorf("%d of %d phrasings are not the knowledge's words", theirs, len(phrasings))
	}
	// What people paste, and a check of the network (assets/docs/facts.md#symptoms-of-the-tutorials).
	for text, id := range map[string]string{
		"TCP near zero": "mtu-equal",
		"ping: local error: message too long, mtu=1500":                                   "mtu-equal",
		" Port number 1 state is Down":                                                    "link-up",
		"rocep1s0f1 port 1 ==> enp1s0f1np1 (Down)":                                        "link-up",
		"Failed to modify QP 282 to RTR":                                                  "rail-bond",
		" Unable to Connect the HCA's through the link\nFailed to modify QP to RTR":       "gid-index",
		"RTNETLINK answers: File exists":                                                  "bond-health",
		"NCCL INFO NET/Socket : Using [0]enP7s7":                                          "rdma-ports",
		"UCX  WARN  transport 'ib' is not available, please use one or more of: ...":      "rdma-ports",
		"No IB devices found":                                                             "rdma-ports",
		"UCX/GID confusion":                                                               "address-conflict",
		"enp1s0f0np0 on spark-01 carries the default route: railbench does not change it": "routes",
		"ssh: connect to host 192.168.1.101 port 22: Connection refused":                  "nodes",
		"IB device 'rocep1s0f1' wasn't found":                                             "roce-lag",
		"ping: connect: Network is unreachable":                                           "rail-addresses",
	} {
		if !slices.ContainsFunc(tut.Symptom(text), func(c steps.Cell) bool { return c.ID == id }) {
			t.Errorf("%q does not lead to %s", text, id)
		}
	}
	// What is none of the rig's leads nowhere.
	for _, s := range []string{"", "the printer has no paper", "something else", "hello", "zero", "the", "xyzzy plugh"} {
		if found := tut.Symptom(s); len(found) > 0 {
			t.Errorf("%q leads to %s", s, found[0].ID)
		}
	}
}
