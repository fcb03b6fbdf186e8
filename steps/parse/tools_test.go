package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who gave the table alone still learns whose it is.
func TestNIXLBenchTableAlone(t *testing.T) {
	tool := NIXLBenchTool()
	v, err := tool.Read("Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)\n4096 1 0.5 8.2\n")
	if b, ok := v.(*NIXLBench); err != nil || !ok || b.Rank != 0 || b.Role != "initiator" || len(b.Rows) != 1 {
		t.Errorf("%v, %+v", err, v)
	}
	// A target prints no row, ever; an initiator without one has no result.
	v, err = tool.Read("ETCD Runtime: Registered as rank 0 item 1 of 2\n" +
		"Init nixl worker, dev all rank 0, type initiator, hostname vm\n")
	if b, ok := v.(*NIXLBench); err == nil || !ok || len(b.Errors) != 1 {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestMoreThanIsRead(t *testing.T) {
	tool := PerftestTool()
	header := "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
	v, err := tool.Read(header + strings.Repeat("2 5 1 1 1\n", maxRows+7))
	if b, ok := v.(*Bandwidth); err == nil || !ok || len(b.Rows) != maxRows ||
		!strings.Contains(b.Errors[0], "more rows than are read") {
		t.Errorf("%v, %+v", err, v)
	}
	// The last line that is whole is read, and no one takes it for all.
	v, err = tool.readUpTo(len(header)+25, header+strings.Repeat("2 5 1 1 1\n", 5))
	if b, ok := v.(*Bandwidth); err == nil || !ok || len(b.Rows) != 2 ||
		!strings.Contains(b.Errors[0], "longer than the 16 MiB") {
		t.Errorf("%v, %+v", err, v)
	}
}

func FuzzDmesg(f *testing.F) {
	fuzz(f, "dmesg", Dmesg, func(t *testing.T, events []KernelEvent) {
		for _, e := range events {
			if e.Kind == "" || e.Text == "" {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func FuzzNvidiaSMI(f *testing.F)  { fuzz(f, "nvidia-smi", NvidiaSMIOutput, nil) }
func FuzzFree(f *testing.F)       { fuzz(f, "free", FreeOutput, nil) }
func FuzzRoutes(f *testing.F)     { fuzz(f, "ip-routes", Routes, nil) }
func FuzzBriefLinks(f *testing.F) { fuzz(f, "ip-brief", BriefLinks, nil) }
func FuzzIbvDevices(f *testing.F) { fuzz(f, "ibv-devices", IbvDevices, nil) }
func FuzzIbvDevinfo(f *testing.F) { fuzz(f, "ibv-devinfo", IbvDevinfo, nil) }

// Lines that look like each other are of the kinds that they report.
func TestKernelLines(t *testing.T) {
	for line, want := range map[string]string{
		"pcieport 0000:00:00.0: AER: enabled with IRQ 33":                                        "",
		"pcieport 0000:00:00.0: AER: Corrected error message received from 0000:01:00.0":         "pcie-error",
		"pcieport 0000:00:00.0: AER: Multiple Uncorrectable (Fatal) error message received":      "pcie-error",
		"mlx5_core 0000:01:00.0: AER: aer_status: 0x00000001, aer_mask: 0x00000000":              "pcie-error",
		"mlx5_core 0000:01:00.0 enp1s0f0np0: TX timeout detected":                                "tx-timeout",
		"Memory cgroup out of memory: Killed process 77 (nixlbench) total-vm:1kB":                "out-of-memory",
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=nixlbench,pid=77":             "out-of-memory",
		"mlx5_core 0000:01:00.0: 126.016 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)": "",
	} {
		events, err := Dmesg("[    1.000000] " + line + "\n")
		kind := ""
		if len(events) > 0 {
			kind = events[0].Kind
		}
		if kind != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", line, kind, err, want)
		}
	}
}

// Each kind has a line in the corpus: one whose words were wrong would never be found.
func TestKernelKinds(t *testing.T) {
	seen := map[string]bool{}
	files, _ := filepath.Glob("testdata/dmesg/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events, _ := Dmesg(string(text)) // some are not logs
		for _, e := range events {
			seen[e.Kind] = true
		}
	}
	for _, k := range kernelKinds {
		if !seen[k.kind] {
			t.Errorf("no line of the corpus is %s", k.kind)
		}
	}
}
