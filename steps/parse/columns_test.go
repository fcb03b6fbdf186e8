package parse

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Columns are found by their names: the same figures in another order, with columns that is unknown and log lines
// between, are the same rows.
func TestColumnsByName(t *testing.T) {
	b, err := PerftestBandwidth(`                    RDMA_Write BW Test
 MsgRate[Mpps]   BW average[Gb/sec]   #iterations    New[x]   #bytes    BW peak[MiB/sec]
mlx5: spark-02: got completion with error:
 0.185992      97.51      5000       7       65536       11632.06
[1795219813.806736] [vm:7767 :0]     ucp_context.c:1508 UCX  WARN  something
2026 packets dropped on rail 1
 0.092996      97.52      5000       7       131072      11632.06
---------------------------------------------------------------------------------------
`)
	want := []BandwidthRow{
		{Bytes: 65536, Iterations: 5000, PeakGbps: 97.576792, AverageGbps: 97.51, MessageRateMpps: 0.185992},
		{Bytes: 131072, Iterations: 5000, PeakGbps: 97.576792, AverageGbps: 97.52, MessageRateMpps: 0.092996},
	}
	if err != nil || len(b.Rows) != 2 || b.Rows[0] != want[0] || b.Rows[1] != want[1] {
		t.Errorf("%v, %+v", err, b.Rows)
	}

	l, err := PerftestLatency("t_avg[usec] #iterations 99.9% percentile[usec]" +
		" #bytes t_typical[usec] 99% percentile[usec] t_max[usec] t_min[usec]\n" +
		"1.45 1000 14.60 2 1.42 2.43 14.61 1.35\n")
	if err != nil || len(l.Rows) != 1 || l.Rows[0] != (LatencyRow{2, 1000, 1.35, 14.61, 1.42, 1.45, 2.43, 14.60}) {
		t.Errorf("%v, %+v", err, l.Rows)
	}

	for _, gap := range []string{"   ", "\t", " "} {
		text := strings.Join([]string{
			"B/W (GB/Sec)", "Avg Lat. (us)", "P99 Prep (us)", "Batch Size",
			"New (x)", "Block Size (B)", "Avg Tx (us)", "Aggregate B/W (GB/Sec)",
		}, gap) +
			"\n----------\n4.993219 13.1 35.5 1 7 65536 5.0 9.9\n12 blocks are left\n" +
			"I1121 00:10:13.806837    7767 nixl_agent.cpp:102] done\n"
		n, err := NIXLBenchOutput(text)
		if err != nil || len(n.Rows) != 1 ||
			!cmp.Equal(n.Rows[0], NIXLRow{
				Bytes: 65536, Batch: 1, GBps: 4.993219, AggregateGBps: 9.9, LatencyUS: 13.1,
				PrepP99US: new(35.5), TxUS: new(5.0),
			}) {
			t.Errorf("gap %q: %v, %+v", gap, err, n.Rows)
		}
	}
}

// A header is not a result, and neither is part of a row.
func TestHeaderWithoutRow(t *testing.T) {
	for _, after := range []string{
		"", "---------\n", "Couldn't run\n",
		" Completion with error at client\n", "65536\n", "65536 5000 9\n",
	} {
		b, err := PerftestBandwidth("#bytes     #iterations    BW" +
			" peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n" + after)
		if !errors.Is(err, ErrNoResult) || len(b.Rows) > 0 {
			t.Errorf("perftest, then %q: %v, %+v", after, err, b)
		}
		n, err := NIXLBenchOutput("Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)\n" + after)
		if !errors.Is(err, ErrNoResult) || len(n.Rows) > 0 {
			t.Errorf("nixlbench, then %q: %v, %+v", after, err, n)
		}
	}
}

// One line without end, in the middle of a log, takes nothing of the rest with it.
func TestLongLineIsSkipped(t *testing.T) {
	text := "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n" +
		strings.Repeat("9", 2*maxLine) + "\n65536 5000 11632.06 11608.72 0.185740\n"
	if b, err := PerftestBandwidth(text); err != nil || len(b.Rows) != 1 {
		t.Errorf("%v, %+v", err, b.Rows)
	}
}
