package probe

import (
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
)

// commands are those that the answers in testdata are of.
func commands() []steps.Command {
	all := []steps.Command{
		{Name: "arping", Package: "iputils-arping"},
		{Name: "ib_write_bw", Package: "perftest", Probed: true, Version: "--version"},
		{Name: "ib_write_lat", Package: "perftest", Probed: true},
		{Name: "iperf3", Package: "iperf3", Probed: true, Version: "--version"},
		{Name: "ucx_info", Package: "ucx-utils", Probed: true, Version: "-v"},
	}
	for name := range strings.FieldsSeq("ip ping" +
		" ibv_devices ibv_devinfo ibstat rdma show_gids ibdev2netdev " +
		"ethtool lspci netplan nixlbench etcdctl nvidia-smi python3 stdbuf") {
		all = append(all, steps.Command{Name: name, Package: "the package of " + name, Probed: true})
	}
	return all
}

func node(t *testing.T, name string) steps.Node {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(string(b), commands())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The largest payload of a PCIe packet is in the third byte of a list of capabilities, where root read it.
func TestMaxPayload(t *testing.T) {
	space := make([]byte, 256)
	space[6], space[0x34] = 0x10, 0x50
	space[0x50], space[0x51] = 5, 0x70 // MSI, and the next one
	space[0x70], space[0x78] = 16, 2<<5|0x0f
	loop := slices.Clone(space)
	loop[0x51] = 0x50
	for text, want := range map[string]int{
		hex.EncodeToString(space): 512, hex.EncodeToString(space[:64]): 0, hex.EncodeToString(loop): 0, "": 0, "xyz": 0,
	} {
		if got := maxPayload(text); got != want {
			t.Errorf("%.20s…: %d, want %d", text, got, want)
		}
	}
}

func TestParseSpark(t *testing.T) {
	n := node(t, "spark-01.txt")
	if n.Host != "spark-01" || n.Arch != "aarch64" || n.OS != "Ubuntu 24.04.3 LTS" ||
		n.Adapter != "ConnectX-7, firmware 28.45.4028" {
		t.Errorf("node: %q %q %q %q", n.Host, n.Arch, n.OS, n.Adapter)
	}
	if n.SSHDev != "enP7s7" || n.RouteDev != "enP7s7" {
		t.Errorf("SSH over %q, default route over %q", n.SSHDev, n.RouteDev)
	}
	var order []string
	for _, r := range n.Rails {
		order = append(order, r.Dev)
	}
	if want := []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"}; !slices.Equal(order, want) {
		t.Errorf("rails %v, want %v", order, want)
	}
	r := n.Rails[0]
	gids := len(r.GIDs)
	r.GIDs, r.Netdev.Addrs, r.Netdev.MAC = nil, nil, ""
	want := steps.Rail{
		Dev: "rocep1s0f0", Port: 1, State: "ACTIVE", Phys: "LinkUp", Layer: "Ethernet", RateGbps: 200,
		Netdev:   steps.Netdev{Name: "enp1s0f0np0", MTU: 1500, Up: true, Carrier: true, SpeedGbps: 200},
		PhysPort: 0, MTU: 1024, MaxMTU: 4096, Addr: "192.168.100.10", Prefix: 24, GIDIndex: 3, HasOctets: true,
		PCI: steps.PCI{Addr: "0000:01:00.0", GTps: 32, Width: 4, MaxGTps: 32, MaxWidth: 4},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if gids != 4 {
		t.Errorf("%d GIDs, want the 4 that are not empty", gids)
	}
	if n.Rails[2].GIDIndex != 5 || n.Rails[3].PhysPort != 1 {
		t.Errorf("twins: GID index %d, connector %d", n.Rails[2].GIDIndex, n.Rails[3].PhysPort)
	}
	if p := n.Tools["ib_write_bw"]; p.Version != "6.06" || p.Path == "" || p.Package != "perftest" {
		t.Errorf("ib_write_bw: %+v", p)
	}
	if p := n.Tools["ib_write_lat"]; p.Version != "6.06" {
		t.Errorf("ib_write_lat is of the same package, and another version: %+v", p)
	}
	if p := n.Tools["nixlbench"]; p.Path != "" || p.Package == "" {
		t.Errorf("nixlbench: %+v", p)
	}
	if n.Tools["ucx_info"].Version != "1.20.0" || n.Tools["iperf3"].Version != "3.16" {
		t.Errorf("versions: %+v %+v", n.Tools["ucx_info"], n.Tools["iperf3"])
	}
}

func TestParseSoftRoCE(t *testing.T) {
	n := node(t, "soft-roce.txt")
	if n.SSHDev != "mgmt0" || n.RouteDev != "" || n.Adapter != "soft-RoCE" {
		t.Errorf("SSH over %q, route over %q, adapter %q", n.SSHDev, n.RouteDev, n.Adapter)
	}
	if len(n.Rails) != 2 {
		t.Fatalf("%d rails", len(n.Rails))
	}
	r := n.Rails[1]
	if r.Netdev.Name != "enp1s0f1np1" || r.GIDIndex != 1 ||
		r.Addr != "192.168.200.10" || r.PhysPort != 1 || r.MTU != 1024 {
		t.Errorf("rail: %+v", r)
	}
	// The kernel's 2.5 Gb/s is a default, and -1 is not a speed.
	if r.RateGbps != 0 || r.Netdev.SpeedGbps != 0 || r.HasOctets || r.PCI != (steps.PCI{}) {
		t.Errorf("rate %g, speed %g, counters %v, slot %+v", r.RateGbps, r.Netdev.SpeedGbps, r.HasOctets, r.PCI)
	}
	if n.Tools["ib_write_lat"].Version != "6.06" ||
		n.Tools["ucx_info"].Version != "1.13.1" || n.Tools["show_gids"].Path != "" {
		t.Errorf("tools: %+v", n.Tools)
	}
	if slices.ContainsFunc(n.Netdevs, func(d steps.Netdev) bool { return d.Name == "lo" }) {
		t.Error("lo is among the netdevs")
	}
}

func TestParseIncomplete(t *testing.T) {
	b, err := os.ReadFile("testdata/spark-01.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "bash: line 1: syntax error", strings.TrimSuffix(string(b), "#railbench end\n")} {
		if _, err := Parse(text, commands()); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
	if _, err := Parse("#railbench node\nx\n#railbench end\n", commands()); err != nil {
		t.Errorf("a node with nothing on it: %v", err)
	}
}

// A runner hands long lines over in pieces: ip -j prints one line.
func TestParseLinesInPieces(t *testing.T) {
	b, err := os.ReadFile("testdata/spark-01.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cut strings.Builder
	for line := range strings.Lines(string(b)) {
		for len(line) > 700 {
			cut.WriteString(line[:700] + "\n")
			line = line[700:]
		}
		cut.WriteString(line)
	}
	n, err := Parse(cut.String(), commands())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(node(t, "spark-01.txt"), n); d != "" {
		t.Error(d)
	}
}

func TestParseVariants(t *testing.T) {
	change := func(old, now string) steps.Node {
		t.Helper()
		b, err := os.ReadFile("testdata/spark-01.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), old) {
			t.Fatalf("testdata has no %q", old)
		}
		n, err := Parse(strings.ReplaceAll(string(b), old, now), commands())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if r := change("hca_id: rocep1s0f0", "hca_id: nobody").Rails[0]; r.MTU != 1024 || !r.MTUDerived {
		t.Errorf("without ibv_devinfo: MTU %d, derived %v", r.MTU, r.MTUDerived)
	}
	if r := change("/sys/class/net/enp1s0f0np0/phys_port_name:p0", "").Rails[0]; r.PhysPort != 0 {
		t.Errorf("connector %d from the name's np0", r.PhysPort)
	}
	if r := change("octets /sys/class/infiniband/rocep1s0f1/",
		"octets /sys/class/infiniband/other/").Rails[1]; r.HasOctets {
		t.Error("counters where there are none")
	}
	if r := change("current_link_width:4", "current_link_width:2").Rails[0]; r.PCI.Width != 2 || r.PCI.MaxWidth != 4 {
		t.Errorf("PCI %+v", r.PCI)
	}
	// ConnectX reports 40 Gb/s of a port that is down.
	down := change("rocep1s0f0/ports/1/state:4: ACTIVE", "rocep1s0f0/ports/1/state:1: DOWN")
	if r := down.Rails[0]; r.State != "DOWN" || r.RateGbps != 200 {
		t.Errorf("%s at %g: the interface's speed is still known", r.State, r.RateGbps)
	}
}

func TestRoCEMTU(t *testing.T) {
	for netdev, want := range map[int]int{9000: 4096, 4200: 4096, 4191: 2048, 1500: 1024, 1119: 512, 0: 0} {
		if got := steps.RoCEMTU(netdev); got != want {
			t.Errorf("RoCEMTU(%d) = %d, want %d", netdev, got, want)
		}
	}
}

// The script runs in every sh that a node may have, also on a node without RDMA.
func TestScriptRunsHere(t *testing.T) {
	shells := [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}}
	ran := 0
	for _, sh := range shells {
		path, err := exec.LookPath(sh[0])
		if err != nil || sh[0] != "sh" && !testform.Full() {
			continue
		}
		ran++
		start := time.Now()
		cmd := exec.Command(path, append(slices.Clone(sh[1:]), "-c", Script(commands()).Text())...)
		cmd.Env = append(os.Environ(), "SSH_CONNECTION=")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.String() != "" {
			t.Errorf("%v: %v, stderr %q", sh, err, errs.String())
		}
		n, err := Parse(string(out), commands())
		if err != nil || n.Kernel == "" || n.Arch == "" {
			t.Errorf("%v: %v, %+v", sh, err, n)
		}
		t.Logf("%v took %s", sh, time.Since(start).Round(time.Millisecond))
	}
	if ran == 0 {
		t.Skip("no shell here")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"spark-01.txt", "soft-roce.txt"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text, commands())
		if err != nil {
			return
		}
		for _, p := range steps.PairRails(n, n) {
			if p.Rails[0] >= len(n.Rails) || p.Rails[1] >= len(n.Rails) {
				t.Fatalf("pair %+v of %d rails", p, len(n.Rails))
			}
		}
		for _, r := range n.Rails {
			limits.Ceiling(r)
		}
	})
}
