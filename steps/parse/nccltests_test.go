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
