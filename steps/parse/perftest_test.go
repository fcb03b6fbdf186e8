package parse

import (
	"math"
	"strings"
	"testing"
)

// report is a file of --out_json as perftest 6.29 lays it out (REPORT_FMT_JSON and its siblings
// in perftest_parameters.h). No output of these forms was to be had from an adapter.
func report(test, results string) string {
	return "{\n\"test_info\": {\n\"test\": \"" + test +
		"\",\n\"Device\": \"mlx5_0\",\n\"Mtu\": 4096,\n\"GID_index\": 3\n},\n" +
		"\"results\": {\n" + results + "\n}\n}\n"
}

func TestPerftestReports(t *testing.T) {
	const gbits, mib = "97.40", "11611.00" // one rate in the two units
	row := func(head, average string) string {
		return "\"MsgSize\": 65536,\n" + head + "\"n_iterations\": 5000,\n\"BW_peak\": 0.00,\n\"BW_average\": " + average +
			",\n \"MsgRate\": 0.185776"
	}
	for name, c := range map[string]struct {
		text string
		gbps float64 // 0 where there is no result
		says string
	}{
		"in Gb/s":            {report("RDMA_Write_BW_Test", row("", gbits)), 97.4, ""},
		"in MiB/s":           {report("RDMA_Write_BW_Test", row("", mib)), 97.4, ""},
		"a service level":    {report("RDMA_Write_BW_Test", row("sl: 3,\n", gbits)), 97.4, ""},
		"with the processor": {report("RDMA_Write_BW_Test", row("", gbits)+",\n\"CPU_util\": 12.50"), 97.4, ""},
		"only the average":   {report("RDMA_Write_BW_Test", "\"bw_avg\": 97.400000,\n"), 0, "number 97.4 of --output"},
		"only the rate": {
			report("RDMA_Write_BW_Test", "\"msgRate_avg\": 0.185776,\n"), 0,
			"number 0.185776 of --output",
		},
		"no rate to tell with": {
			report("RDMA_Write_BW_Test", strings.Replace(row("", gbits), "0.185776", "0.000000", 1)), 0,
			"",
		},
		"a peak that is none": {report("RDMA_Write_BW_Test", strings.Replace(row("", gbits), "0.00,", "0x0p0,", 1)), 0, ""},
	} {
		b, err := PerftestBandwidth(c.text)
		switch {
		case c.gbps == 0 && (err == nil || len(b.Rows) > 0 || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %+v, %v", name, b, err)
		case c.gbps > 0 && (err != nil || len(b.Rows) != 1 || b.Rows[0].AverageGbps < 97.39 || b.Rows[0].AverageGbps > 97.41):
			t.Errorf("%s: %+v, %v", name, b, err)
		}
		if b.Device != "mlx5_0" || b.MTU != 4096 || b.GIDIndex != 3 {
			t.Errorf("%s: %+v", name, b.Perftest)
		}
	}
	l, err := PerftestLatency(report("RDMA_Write_Latency_Test", "\"avg_lat\": 1.480000"))
	if err == nil || l.Bare == nil || *l.Bare != 1.48 || len(l.Rows) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
	l, err = PerftestLatency(report("RDMA_Write_Latency_Test",
		"\"MsgSize\": 2,\n\"n_iterations\": 700000,\n\"t_avg\": 1.43,\n\"tps_average\": 349650.35"))
	if err != nil || len(l.Rows) != 1 || l.Rows[0].AvgUS != 1.43 || l.Rows[0].Iterations != 700000 || l.Bare != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// What --data_validation says is on stdout where all is well, and on stderr where not.
func TestPerftestValidation(t *testing.T) {
	table := " NUMA node       : 1\n #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n" +
		" 65536      5000             11612.00            11611.00            0.185776\n"
	for _, c := range []struct {
		says   string
		is     string
		errors int
	}{
		{"", "", 0},
		{"VALIDATION: PASSED (server) - 80 chunks, 327680000 bytes\n", "PASSED", 0},
		{"VALIDATION: PASSED (server) - 80 chunks, 327680000 bytes [races=1, retries=2, skips=0, queue_full=0, " +
			"stale_work=0]\n", "PASSED", 0},
		{
			"VALIDATION: FAILED (server) - 3 error(s), first at QP 0, Chunk 7, Offset 4096 (expected 0x5a, got 0x00)\n",
			"FAILED", 1,
		},
		{"VALIDATION: WARNING (server) - no data validated\n", "WARNING", 1},
		{"VALIDATION: ERROR - not initialized\n", "ERROR", 1},
		{"VALIDATION: PASSED - 1 chunks, 1 bytes\nVALIDATION: FAILED - 3 error(s), first at QP 0\n", "FAILED", 1},
	} {
		b, err := PerftestBandwidth(table + c.says)
		if err != nil || len(b.Rows) != 1 || b.Validation != c.is || len(b.Errors) != c.errors || b.NUMANode == nil ||
			*b.NUMANode != 1 {
			t.Errorf("%q: %+v, %v", c.says, b, err)
		}
	}
}

// The report of 6.29 has a service level without quotes, and units nowhere: the message rate reports them.
func TestPerftestReportOf629(t *testing.T) {
	for average, want := range map[string]float64{"97.41": 97.41, "11612.42": 97.41} {
		b, err := PerftestBandwidth("{\n\"test_info\": {\n\"test\": \"RDMA_Write_BW_Test\",\n\"Device\": \"mlx5_0\",\n" +
			"sl: 0,\n\"Mtu\": 4096\n},\n" +
			"\"results\": {\n\"MsgSize\": 65536,\n\"n_iterations\": 5000,\n\"BW_peak\": 0.00,\n\"BW_average\": " + average +
			",\n\"MsgRate\": 0.185788,\n\"CPU_util\": 3.14\n}\n}\n")
		if err != nil || len(b.Rows) != 1 || math.Abs(b.Rows[0].AverageGbps-want) > 0.01 || b.MTU != 4096 ||
			b.Device != "mlx5_0" {
			t.Errorf("%s: %+v, %v", average, b, err)
		}
	}
}
