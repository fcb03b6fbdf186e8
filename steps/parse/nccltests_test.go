package parse

import (
	"os"
	"strings"
	"testing"
)

func TestNCCLTestsForms(t *testing.T) {
	b, err := os.ReadFile("testdata/nccl-tests/two-sparks.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	tagged := "[1,0]<stdout>:" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n[1,0]<stdout>:") + "\n"
	// As util.cu of 2.19 writes it; no file of -J was to be had.
	report := `{"version":3,"start_time":"2026-11-22 08:00:00","args":["./build/all_gather_perf","-J","out.json"],"env":["A=1"],` +
		`"nccl_version":22809,"config":{"nthreads":1,"devices":[{"rank":0,"group":0,"pid":1,"hostname":"spark-101",` +
		`"device":0,"device_hex":"000f:01:00","device_info":"NVIDIA GB10"}]},"results":[{"size":536870912,"count":67108864,` +
		`"type":"float","redop":"none","root":"-1","out_of_place":{"time":14594.400000,"alg_bw":36.790000,"bus_bw":18.390000,` +
		`"nwrong":0.000000},"in_place":{"time":13778.000000,"alg_bw":38.970000,"bus_bw":19.480000,"nwrong":null}}],` +
		`"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":22.120500,"okay":"unchecked"},` +
		`"end_time":"2026-11-22 08:01:00"}`
	for name, c := range map[string]struct {
		text string
		rows int
	}{"plain": {text, 6}, "tagged by mpirun": {tagged, 6}, "-J": {report, 1}} {
		v, err := NCCLTests(c.text)
		if err != nil || len(v.Rows) != c.rows || v.AverageBusGBps == nil || *v.AverageBusGBps != 22.1205 ||
			v.OutOfBounds == nil || *v.OutOfBounds != 0 || len(v.Errors) != 0 || len(v.Ranks) == 0 ||
			v.Ranks[0].Host != "spark-101" {
			t.Errorf("%s: %v, %+v", name, err, v)
			continue
		}
		if r := v.Rows[0]; r.Bytes != 536870912 || r.OutOfPlace.BusGBps != 18.39 || r.InPlace.BusGBps != 19.48 ||
			*r.OutOfPlace.Wrong != 0 {
			t.Errorf("%s: %+v, %+v, %+v", name, r, r.OutOfPlace, r.InPlace)
		}
	}
	for name, bad := range map[string]string{
		"no end":             text[:strings.Index(text, "# Out of bounds")],
		"a figure in hex":    strings.Replace(text, "36.79", "0x1p5", 1),
		"a time of no time":  strings.Replace(text, "14594.4", "-1.5e+07", 1),
		"a row in two":       strings.Replace(text, "18.39       0", "18.39\n# 0", 1),
		"a column is gone":   strings.Replace(text, "   36.79", "", 1),
		"-J without an end":  strings.Replace(report, `"average_bus_bandwidth"`, `"x"`, 1),
		"-J without results": `{"version":3,"args":[]}`,
	} {
		if v, err := NCCLTests(bad); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
	long := strings.Replace(strings.Replace(text, "14594.4", "1.5e+07", 1), "18.39       0", "18.39  1e+06", 1)
	if v, err := NCCLTests(long); err != nil || v.Rows[0].OutOfPlace.TimeUS != 1.5e7 ||
		*v.Rows[0].OutOfPlace.Wrong != 1e6 {
		t.Errorf("%v, %+v", err, v.Rows)
	}
	last := strings.Replace(report, `"end_time"`, `"errors":["Could not find NVML"],"end_time"`, 1)
	if v, err := NCCLTests(last); err != nil || len(v.Errors) != 1 || v.Errors[0] != "error: Could not find NVML" {
		t.Errorf("%v, %+v", err, v)
	}
	for _, wrong := range []string{
		strings.Replace(text, "values : 0 OK", "values : 7 FAILED", 1),
		strings.Replace(report, `"count":0,"okay":"true"`, `"count":7,"okay":"false"`, 1),
	} {
		if v, err := NCCLTests(wrong); err != nil || len(v.Errors) != 1 || *v.OutOfBounds != 7 {
			t.Errorf("%v, %+v", err, v)
		}
	}
}

func TestEthtoolSpeeds(t *testing.T) {
	for file, want := range map[string][3]int{ // the link's, the fastest supported, the fastest advertised
		"100g-of-200g": {100000, 200000, 100000}, "200g": {200000, 200000, 0}, "veth": {10000, 0, 0},
		"aqc111": {1000, 1000, 1000}, "two-a-line": {1000, 1000, 1000}, "virtio": {0, 0, 0},
	} {
		b, err := os.ReadFile("testdata/ethtool/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		links, err := EthtoolLinks(string(b))
		if err != nil || len(links) != 1 {
			t.Fatalf("%s: %v, %+v", file, err, links)
		}
		if got := [3]int{links[0].SpeedMbps, links[0].MostMbps(), links[0].AskedMbps()}; got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
	b, err := os.ReadFile("testdata/ethtool-module/mcp1600.txt")
	if err != nil {
		t.Fatal(err)
	}
	m, err := EthtoolModule(string(b))
	if err != nil || !m.Copper() || m.LengthM != 1 || m.PartNumber != "MCP1600-E001" {
		t.Errorf("%v, %+v", err, m)
	}
}

// What -J wrote may stand below the table. Its figures are used where the table has the same figures rounded;
// otherwise the difference is reported.
func TestNCCLTestsWithBoth(t *testing.T) {
	const table = "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n" +
		"# Collective test starting: all_reduce_perf\n" +
		"#  Rank  0 Group  0 Pid 4300 on spark-01 device  0 [000f:01:00] NVIDIA GB10\n" +
		"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" +
		" 65536 16384 float sum -1 26.49 2.47 2.47 0 26.50 2.47 2.47 0\n" +
		" 8589934592 2147483648 float sum -1 1.2e+07 0.72 0.72 0 327000 26.26 26.26 0\n" +
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7.9826\n# Collective test concluded: all_reduce_perf\n"
	const report = "#railbench -J {\"results\":[{\"size\":65536,\"type\":\"float\"," +
		"\"out_of_place\":{\"time\":26.494909,\"alg_bw\":2.473532,\"bus_bw\":2.473532,\"nwrong\":0.000000}," +
		"\"in_place\":{\"time\":26.500001,\"alg_bw\":2.472999,\"bus_bw\":2.472999,\"nwrong\":0.000000}},\n" +
		"#railbench -J {\"size\":8589934592,\"type\":\"float\"," +
		"\"out_of_place\":{\"time\":12000300.0,\"alg_bw\":0.715810,\"bus_bw\":0.715810,\"nwrong\":0.000000}," +
		"\"in_place\":{\"time\":327112.250000,\"alg_bw\":26.259900,\"bus_bw\":26.259900,\"nwrong\":0.000000}}]," +
		"\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"}," +
		"\"average_bus_bandwidth\":{\"bandwidth\":7.982560,\"okay\":\"unchecked\"}}\n"
	v, err := NCCLTests(table + report)
	if err != nil || !v.Exact || v.Differs != "" || v.Rows[0].OutOfPlace.TimeUS != 26.494909 ||
		v.Rows[1].InPlace.BusGBps != 26.2599 || *v.AverageBusGBps != 7.98256 || len(v.Ranks) != 1 || v.NCCL != 22809 {
		t.Errorf("%v, %+v, %+v", err, v, v.Rows)
	}
	// As many wrong values as 16 GB have: more than 2^31.
	wrong := strings.Replace(table, "26.26 26.26 0\n", "26.26 26.26 4.29497e+09\n", 1) +
		strings.Replace(report, "nwrong\":0.000000}}]", "nwrong\":4294967296.000000}}]", 1)
	if v, err := NCCLTests(wrong); err != nil || !v.Exact || *v.Rows[1].InPlace.Wrong != 1<<32 {
		t.Errorf("%v, %+v", err, v)
	}
	for name, text := range map[string]string{"no -J": table, "a file that was cut": table + "#railbench -J"} {
		if v, err := NCCLTests(text); err != nil || v.Exact || v.Differs != "" || v.Rows[0].OutOfPlace.TimeUS != 26.49 {
			t.Errorf("%s: %v, %+v", name, err, v)
		}
	}
	for old, with := range map[string]string{
		"26.494909": "26.594909", "alg_bw\":2.473532": "alg_bw\":3.473532", "bus_bw\":26.259900": "bus_bw\":26.3",
		"12000300.0": "13000300.0", "size\":8589934592": "size\":4294967296", "7.982560": "8.1",
		"count\":0,": "count\":3,", "nwrong\":0.000000}}]": "nwrong\":7.000000}}]", "\"results\":[": "\"results\":[3,",
		"},\n#railbench -J {\"size\":8589934592": "},\n#railbench -J {\"size\":1,\"in_place\":{}},{\"size\":8589934592",
		"\"in_place\":{\"time\":327112":          "\"x\":{\"time\":327112", "average_bus_bandwidth": "average",
	} {
		v, err := NCCLTests(table + strings.Replace(report, old, with, 1))
		if err != nil || v.Exact || v.Differs == "" || v.Rows[0].OutOfPlace.TimeUS != 26.49 {
			t.Errorf("%s for %s: %v, %+v", with, old, err, v)
		}
	}
}
