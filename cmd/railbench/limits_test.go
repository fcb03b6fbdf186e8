package main

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// TestMoreThanThereIsTimeFor: a user who asks for more than fits into a cell's time learns that from what the
// rails carried until then. The verdict does not send the user to look for crossed rails or a dead end. A
// block that takes minutes is not a silence.
func TestMoreThanThereIsTimeFor(t *testing.T) {
	t.Parallel()
	const longer, reach = "while still working", "so the ends reach each other"
	for i, c := range []struct {
		cell, param string
		want        steps.Grade
		says        string
	}{
		{"nixl-transfer", "NIXL_READS=100000", steps.Inconclusive, reach},
		{"dual-link", "ITERATIONS=50000000", steps.Inconclusive, longer},
		{"nixl-latency", "NIXL_LAT_READS=10000000", steps.Inconclusive, reach},
		{"ib-write-lat", "LAT_ITERATIONS=100000000", steps.Inconclusive, reach},
		{"ib-write-bw", "ITERATIONS=50000000", steps.Inconclusive, longer},
		{"nccl-allreduce", "NCCL_ITERATIONS=1000", steps.Inconclusive, longer},
		{"ucx-perftest", "UCXPERF_MESSAGES=1000000", steps.Inconclusive, longer},
		{"nixl-dual-dram", "NIXL_ITERATIONS=1000000", steps.Pass, ""},
		{"ucx-perftest-gpu", "UCXPERF_GPU_MESSAGES=3162", steps.Inconclusive, reach},
		{"nixl-single-vram", "NIXL_ITERATIONS=10000000", steps.Inconclusive, reach},
		{"load-tcp", "LOAD_SECONDS=7200", steps.Pass, ""},
		// And for too little to measure a rate: no tool's rounding contradicts itself.
		{"ucx-perftest", "UCXPERF_MESSAGES=1", steps.Inconclusive, "only 1 message, fewer than 100"},
		{"ucx-perftest", "UCXPERF_MESSAGES=50", steps.Pass, "expected 87.9 to 107.5"},
		{"stream-rail", "STREAM_BLOCK=1", steps.Inconclusive, "smaller than 64 KiB"},
		{"stream-halves", "STREAM_BLOCK=64", steps.Inconclusive, "smaller than 64 KiB"},
		{"ucx-perftest", "UCXPERF_BYTES=1", steps.Inconclusive, "needed)"},
		{"nixl-transfer-dual", "NIXL_DUAL_BYTES=1", steps.Inconclusive, "needed)"},
		{"nixl-transfer-gpu", "NIXL_BYTES=1", steps.Inconclusive, "31 kb/s; whether"},
		{"ucx-perftest-gpu", "UCXPERF_BYTES=1", steps.Inconclusive, "needed)"},
		{"nixl-transfer", "NIXL_BYTES=1", steps.Inconclusive, "needed)"},
	} {
		if sampled(i) {
			continue
		}
		t.Run(c.cell+" "+c.param, func(t *testing.T) {
			t.Parallel()
			r, _, _ := headlessly(t, c.cell, "-p", c.param)
			got := cellOf(t, r, c.cell)
			if got.Verdict != c.want || !strings.Contains(got.Reason, c.says) {
				t.Errorf("%s: %s", got.Verdict, got.Reason)
			}
			for _, wrong := range []string{
				"arp-flux", "died in the middle", "never came", "nccl-settings", "not this test's", "contradicts",
				"something else running", "at zero", "other traffic",
			} {
				if strings.Contains(got.Reason, wrong) {
					t.Errorf("it says %q: %s", wrong, got.Reason)
				}
			}
		})
	}
}
