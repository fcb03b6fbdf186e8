package parse

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"
)

func FuzzNIXLBench(f *testing.F) {
	fuzz(f, "nixlbench", NIXLBenchOutput, func(t *testing.T, b NIXLBench) {
		if b.Rank < 0 && len(b.Rows) == 0 {
			t.Fatal("no error, no rank and no row")
		}
		for _, r := range b.Rows {
			for _, v := range []float64{
				r.GBps, r.LatencyUS, OrZero(r.PostUS), OrZero(r.TxUS), float64(r.Bytes), float64(r.Batch),
			} {
				if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%+v", r)
				}
			}
		}
	})
}

func FuzzNIXLPython(f *testing.F) { fuzz(f, "nixl-python", NIXLPythonOutput, nil) }
func FuzzNIXLSetup(f *testing.F)  { fuzz(f, "nixl-check", NIXLSetupOutput, nil) }
func FuzzUCX(f *testing.F)        { fuzz(f, "ucx", UCXInfo, nil) }
func FuzzUCXPerftest(f *testing.F) {
	fuzz(f, "ucx-perftest", UCXPerftestOutput, func(t *testing.T, v UCXPerftest) {
		if len(v.Rows) == 0 || !v.Rows[len(v.Rows)-1].Final {
			t.Errorf("a run without a final row is a result: %+v", v)
		}
	})
}
func FuzzStaging(f *testing.F) { fuzz(f, "host-staging", StagingOutput, nil) }

func TestNIXLBenchRoles(t *testing.T) {
	for file, want := range map[string]NIXLBench{
		"asio.a":         {Rank: 0, Role: "initiator", Host: "vm", Runtime: "ASIO"},
		"asio.b":         {Rank: 1, Role: "target", Host: "vm", Runtime: "ASIO"},
		"shm_write.a":    {Rank: 0, Role: "initiator", Host: "vm", Runtime: "ETCD"},
		"simultaneous.a": {Rank: 1, Role: "target", Host: "vm", Runtime: "ETCD"},
	} {
		text, err := os.ReadFile("testdata/nixlbench/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		b, err := NIXLBenchOutput(string(text))
		if err != nil || b.Rank != want.Rank || b.Role != want.Role ||
			b.Host != want.Host || b.Runtime != want.Runtime {
			t.Errorf("%s: %v, %+v", file, err, b)
		}
		if rows := len(b.Rows); (b.Role == "initiator") != (rows > 0) {
			t.Errorf("%s: the %s has %d rows", file, b.Role, rows)
		}
	}
}

// The releases before 0.5.1 print latency before bandwidth, and two more units.
func TestNIXLBenchFormats(t *testing.T) {
	oldTable := "Block Size (B)      Batch Size     Avg Lat. (us)  B/W (MiB/Sec)  B/W (GiB/Sec)  B/W (GB/Sec)   \n" +
		"-----\n65536               1              39             1602.56        1.565          1.68041        \n"
	newTable := "Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat." +
		" (us)  Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)    P99 Tx (us)    \n" +
		"[1795219859.076312] [vm:8451 :0]     ucp_context.c:1508 UCX  WARN  network device 'rail9' is not" +
		" available\n65536               1              1.680410       39.0           34.0      " +
		"     34.0           7.4            81.0           5.0            11.0           \n"
	for _, text := range []string{oldTable, newTable} {
		b, err := NIXLBenchOutput(text)
		if err != nil || len(b.Rows) != 1 {
			t.Fatalf("%v, %+v", err, b)
		}
		r := b.Rows[0]
		if r.Bytes != 65536 || r.Batch != 1 || r.GBps != 1.68041 ||
			r.LatencyUS != 39 || math.Abs(r.Gbps()-13.44) > 0.01 {
			t.Errorf("%+v", r)
		}
	}
	b, err := NIXLBenchOutput(newTable)
	if err != nil || OrZero(b.Rows[0].PostUS) != 7.4 || OrZero(b.Rows[0].TxUS) != 5 || len(b.Warnings) != 1 {
		t.Errorf("%v, %+v", err, b)
	}
	if b, err := NIXLBenchOutput(newTable + "131072              1              1.6\n"); !errors.Is(err, ErrNoResult) ||
		len(b.Rows) != 1 {
		t.Errorf("half a row: %v, %+v", err, b)
	}
}

func TestUCXVersions(t *testing.T) {
	for text, want := range map[string]string{
		"# Version 1.13.1\n": "1.13.1", "# Library version: 1.16.0\n# API headers version: 1.15.0\n": "1.16.0",
		"# UCX version=1.16.0 revision abc\n": "1.16.0",
	} {
		if u, err := UCXInfo(text); err != nil || u.Version != want {
			t.Errorf("%q: %v, %+v", text, err, u)
		}
	}
	text, err := os.ReadFile("testdata/ucx/spark.txt")
	if err != nil {
		t.Fatal(err)
	}
	u, err := UCXInfo(string(text))
	if err != nil || !slices.Contains(u.Transports("rocep1s0f0:1"), "rc_mlx5") ||
		slices.Contains(u.Transports("rocep1s0f1:1"), "rc_verbs") || !slices.Contains(u.Transports(""), "cuda_copy") {
		t.Errorf("%v, %+v", err, u)
	}
}
