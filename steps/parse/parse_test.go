package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the parsers read into testdata")

// parsers are the functions that testdata has a folder for.
var parsers = map[string]func(string) (any, error){
	"perftest-bandwidth": func(s string) (any, error) { return PerftestBandwidth(s) },
	"perftest-latency":   func(s string) (any, error) { return PerftestLatency(s) },
	"ibv-devices":        func(s string) (any, error) { return IbvDevices(s) },
	"ibv-devinfo":        func(s string) (any, error) { return IbvDevinfo(s) },
	"verbs-devices":      func(s string) (any, error) { return VerbsDevices(s) },
	"gid-table":          func(s string) (any, error) { return ShowGids(s) },
	"ibdev2netdev":       func(s string) (any, error) { return Ibdev2netdev(s) },
	"ping":               func(s string) (any, error) { return Pings(s) },
	"ip-links":           func(s string) (any, error) { return Links(s) },
	"ip-routes":          func(s string) (any, error) { return Routes(s) },
	"ip-brief":           func(s string) (any, error) { return BriefLinks(s) },
	"nmcli-devices":      func(s string) (any, error) { return NMDevices(s) },
	"lldp":               func(s string) (any, error) { return Neighbors(s) },
	"networkctl":         func(s string) (any, error) { return Networkctl(s) },
	"ifupdown":           func(s string) (any, error) { return IfupdownStanzas(s) },
	"dmesg":              func(s string) (any, error) { return Dmesg(s) },
	"nvidia-smi":         func(s string) (any, error) { return NvidiaSMIOutput(s) },
	"free":               func(s string) (any, error) { return FreeOutput(s) },
	"rdma-link":          func(s string) (any, error) { return RDMALinks(s) },
	"rdma-statistic":     func(s string) (any, error) { return RDMAStatistic(s) },
	"ibstat":             func(s string) (any, error) { return Ibstat(s) },
	"ethtool":            func(s string) (any, error) { return EthtoolLinks(s) },
	"ethtool-module":     func(s string) (any, error) { return EthtoolModule(s) },
	"cables":             func(s string) (any, error) { return Cables(s) },
	"nccl-tests":         func(s string) (any, error) { return NCCLTests(s) },
	"bonding":            func(s string) (any, error) { return Bonding(s) },
	"bonds":              func(s string) (any, error) { return Bonds(s) },
	"iperf3":             func(s string) (any, error) { return Iperf3Output(s) },
	"hardware":           func(s string) (any, error) { return HardwareOutput(s) },
	"readings":           func(s string) (any, error) { return Readings(s) },
	"facts":              func(s string) (any, error) { return Facts(s) },
	"nixlbench":          func(s string) (any, error) { return NIXLBenchOutput(s) },
	"nixl-python":        func(s string) (any, error) { return NIXLPythonOutput(s) },
	"nixl-check":         func(s string) (any, error) { return NIXLSetupOutput(s) },
	"ucx":                func(s string) (any, error) { return UCXInfo(s) },
	"ucx-perftest":       func(s string) (any, error) { return UCXPerftestOutput(s) },
	"stream":             func(s string) (any, error) { return StreamOutput(s) },
	"osu":                ofTool(OSUTool),
	"fabtests":           ofTool(FabtestsTool),
	"cloudai":            ofTool(CloudAITool),
	"nvbandwidth":        ofTool(NvbandwidthTool),
	"pingpong":           ofTool(PingPongTool),
	"rping":              ofTool(RpingTool),
	"iperf2":             ofTool(Iperf2Tool),
	"host-staging":       func(s string) (any, error) { return StagingOutput(s) },
}

func ofTool(of func() Tool) func(string) (any, error) {
	return func(s string) (any, error) {
		v, _, err := of().Reads(s)
		return v, err
	}
}

// outcome is what stands in a .json file of the corpus.
type outcome struct {
	Error string `json:"error,omitempty"`
	Value any    `json:"value"`
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		tool := filepath.Base(filepath.Dir(file))
		read, ok := parsers[tool]
		if !ok {
			t.Errorf("%s: there is no parser %q", file, tool)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var o outcome
		o.Value, err = read(string(text))
		if err != nil {
			o.Error = err.Error()
			if !errors.Is(err, ErrNoResult) {
				t.Errorf("%s: %v is no ErrNoResult", file, err)
			}
		}
		got, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".txt") + ".json"
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%v (run with -update)", err)
			continue
		}
		if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
		// The runner expands tabs and may cut the end off: neither must change what
		// a complete text says, or make a parser panic.
		if again, _ := read(strings.ReplaceAll(string(text), "\t", "        ")); !cmp.Equal(again, o.Value) {
			t.Errorf("%s reads differently with its tabs expanded", file)
		}
		for i := 0; i < len(text); i += max(1, len(text)/40) {
			_, _ = read(string(text[:i]))
		}
	}
}

// What the tutorials got wrong: perftest's MB are MiB (assets/docs/facts.md#units-of-perftest).
func TestGbpsFromMiB(t *testing.T) {
	for mib, want := range map[float64]float64{11032.34: 92.55, 11678.83: 97.97, 12000: 100.66} {
		if got := GbpsFromMiB(mib); math.Abs(got-want) > 0.01 {
			t.Errorf("%g MiB/s = %.2f Gb/s, want %.2f", mib, got, want)
		}
	}
}

func TestPerftestUnits(t *testing.T) {
	for header, want := range map[string]float64{"MB/sec": 83.886, "MiB/sec": 83.886, "Gb/sec": 10000} {
		text := " #bytes     #iterations    BW peak[" + header + "]    BW average[" +
			header + "]   MsgRate[Mpps]\n 65536 5000 0.00 10000.00 0.1\n"
		b, err := PerftestBandwidth(text)
		if err != nil || len(b.Rows) != 1 || math.Abs(b.Rows[0].AverageGbps-want) > 0.001 || b.Rows[0].PeakGbps != 0 {
			t.Errorf("%s: %v, %+v", header, err, b.Rows)
		}
	}
	if b, err := PerftestBandwidth("#bytes #iterations BW peak[kB/sec] BW average[kB/sec] MsgRate[Mpps]\n" +
		"2 5 1 1 1\n"); err == nil {
		t.Errorf("an unknown unit was taken for one: %+v", b)
	}
	// Both JSON forms leave the unit out; the message rate reports it.
	for value, want := range map[string]float64{"97.41": 97.41, "11612.17": 97.41} {
		text := "{\n\"test_info\": {\n\"Device\": \"x\"\n},\n\"results\": {\n" +
			"\"MsgSize\": 65536,\n\"n_iterations\": 5000,\n\"BW_peak\": " + value +
			",\n\"BW_average\": " + value + ",\n\"MsgRate\": 0.185788\n}\n}\n"
		b, err := PerftestBandwidth(text)
		if err != nil || len(b.Rows) != 1 || math.Abs(b.Rows[0].AverageGbps-want) > 0.01 {
			t.Errorf("%s: %v, %+v", value, err, b.Rows)
		}
	}
}

func TestDefaultRoute(t *testing.T) {
	for text, want := range map[string]string{
		`[{"dst":"default","dev":"eth0","metric":100},{"dst":"default","dev":"wlan0","metric":50}]`:         "wlan0",
		`[{"dst":"default","gateway":"1.2.3.4","dev":"eth0","flags":[]},{"dst":"10.0.0.0/8","dev":"eth1"}]`: "eth0",
		`[]`: "",
	} {
		if got, err := DefaultRoute(text); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if _, err := DefaultRoute("RTNETLINK"); !errors.Is(err, ErrNoResult) {
		t.Error(err)
	}
}

// A parser has to answer to anything, in bounded space.
func fuzz[T any](f *testing.F, tool string, read func(string) (T, error), check func(*testing.T, T)) {
	files, _ := filepath.Glob("testdata/" + tool + "/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add(strings.Repeat("1 ", 10000))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := read(text)
		if err != nil && !errors.Is(err, ErrNoResult) {
			t.Fatalf("%v is no ErrNoResult", err)
		}
		b, jerr := json.Marshal(v)
		if jerr != nil {
			t.Fatal(jerr)
		}
		// JSON escapes a byte with up to six.
		if len(b) > 40*len(text)+4096 {
			t.Fatalf("%d bytes of values from %d of text", len(b), len(text))
		}
		if check != nil && err == nil {
			check(t, v)
		}
	})
}

func FuzzManagers(f *testing.F) {
	fuzz(f, "n*", func(s string) (any, error) {
		devices, err := NMDevices(s)
		links, other := Networkctl(s)
		stanzas, _ := IfupdownStanzas(s)
		return []any{devices, links, stanzas}, errors.Join(err, other)
	}, nil)
}

func FuzzPerftestBandwidth(f *testing.F) {
	fuzz(f, "perftest-bandwidth", PerftestBandwidth, func(t *testing.T, b Bandwidth) {
		if len(b.Rows) == 0 {
			t.Fatal("no error and no row")
		}
		for _, r := range b.Rows {
			if r.AverageGbps < 0 || math.IsNaN(r.AverageGbps) || r.Bytes < 0 || r.Iterations < 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func FuzzNeighbors(f *testing.F)       { fuzz(f, "lldp", Neighbors, nil) }
func FuzzPerftestLatency(f *testing.F) { fuzz(f, "perftest-latency", PerftestLatency, nil) }
func FuzzVerbsDevices(f *testing.F)    { fuzz(f, "verbs-devices", VerbsDevices, nil) }
func FuzzShowGids(f *testing.F)        { fuzz(f, "gid-table", ShowGids, nil) }
func FuzzIbdev2netdev(f *testing.F)    { fuzz(f, "ibdev2netdev", Ibdev2netdev, nil) }
func FuzzPings(f *testing.F)           { fuzz(f, "ping", Pings, nil) }
func FuzzLinks(f *testing.F)           { fuzz(f, "ip-links", Links, nil) }
func FuzzBonding(f *testing.F)         { fuzz(f, "bonding", Bonding, nil) }
func FuzzBonds(f *testing.F)           { fuzz(f, "bonds", Bonds, nil) }
func FuzzRDMALinks(f *testing.F)       { fuzz(f, "rdma-link", RDMALinks, nil) }
func FuzzRDMAStatistic(f *testing.F)   { fuzz(f, "rdma-statistic", RDMAStatistic, nil) }
func FuzzIbstat(f *testing.F)          { fuzz(f, "ibstat", Ibstat, nil) }
func FuzzEthtoolLinks(f *testing.F)    { fuzz(f, "ethtool", EthtoolLinks, nil) }
func FuzzEthtoolModule(f *testing.F)   { fuzz(f, "ethtool-module", EthtoolModule, nil) }

func FuzzNCCLTests(f *testing.F) {
	fuzz(f, "nccl-tests", NCCLTests, func(t *testing.T, v NCCLTest) {
		if len(v.Rows) == 0 || v.AverageBusGBps == nil {
			t.Fatalf("no error, and no whole run: %+v", v)
		}
	})
}

func FuzzReadings(f *testing.F) { fuzz(f, "readings", Readings, nil) }
func FuzzHardware(f *testing.F) { fuzz(f, "hardware", HardwareOutput, nil) }
func FuzzFacts(f *testing.F)    { fuzz(f, "facts", Facts, nil) }

func FuzzIperf3(f *testing.F) {
	fuzz(f, "iperf3", Iperf3Output, func(t *testing.T, v Iperf3) {
		for _, n := range []float64{
			v.SentGbps, v.ReceivedGbps, v.SentBytes,
			v.ReceivedBytes, v.Seconds, float64(v.Streams), float64(v.CwndBytes),
		} {
			if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
				t.Fatalf("%+v", v)
			}
		}
	})
}

// Each form reports the same test.
func TestIperf3Forms(t *testing.T) {
	text := `[  5] local 10.0.0.1 port 5 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  39.2 GBytes  33.7 Gbits/sec   12             sender
[  5]   0.00-10.00  sec  39.1 GBytes  33.6 Gbits/sec                  receiver
`
	v, err := Iperf3Output(text)
	if err != nil || v.SentGbps != 33.7 || v.ReceivedGbps != 33.6 ||
		v.Retransmits != 12 || v.Streams != 1 || len(v.Each) != 1 || v.Each[0] != 33.6 {
		t.Errorf("%v, %+v", err, v)
	}
	v, err = Iperf3Output(`{"start":{"version":"iperf 3.16"},"end":{"sum_sent":{"bytes":1e9,"bits_per_second":33.7e9,"retransmits":12},"sum_received":{"bytes":-1,"bits_per_second":33.6e9}}}`)
	if err != nil || v.SentGbps != 33.7 || v.ReceivedGbps != 33.6 || v.Retransmits != 12 || v.ReceivedBytes != 0 {
		t.Errorf("%v, %+v", err, v)
	}
	// With -J the exit status is 0, and only this word reports.
	v, err = Iperf3Output("{\n\"start\": {}, \"end\": {}, \"error\": \"the server is busy\"}\n")
	if err != nil || v.Error != "the server is busy" {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestEndlessLine(t *testing.T) {
	long := bytes.Repeat([]byte("9"), 3*maxLine)
	for tool, read := range parsers {
		if _, err := read(string(long)); err == nil {
			t.Errorf("%s found something in one endless line", tool)
		}
	}
}

// What newer rdma-core prints next to what is read changes nothing of it.
func TestNewerDevinfo(t *testing.T) {
	const old = "hca_id:\trocep1s0f0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.45.4028\n" +
		"\tphys_port_cnt:\t\t\t1\n" +
		"\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n" +
		"\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t50.0 Gbps (64)\n\t\t\tlink_layer:\t\tEthernet\n"
	want, err := IbvDevinfo(old)
	if err != nil {
		t.Fatal(err)
	}
	got, err := IbvDevinfo(strings.Replace(old, "\t\t\tlink_layer", "\t\t\teffective_speed:\t200.0 Gbps\n\t\t\tlink_layer",
		1))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
