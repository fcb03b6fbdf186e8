package main

import (
	"os"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// hardwareMay is mayFind's for the checks of the hardware.
var hardwareMay = map[string][]string{
	// A function that its driver has left has no sensor that could be read.
	"adapter-lost": {"adapter-temperature"},
	// It measures over the link that came up slower, too.
	"slow-cable": {"rail-speed"},
	// Errors grow while it measures, too.
	"bad-cable": {"rail-speed", "nixl-rails"},
	// A rail in a bond is not measured by itself.
	"bond-left-over": {"rail-speed"},
	// Whether a rail without counters is idle no one can report.
	"counter-missing": {"idle-rails"},
	// The client does not reach its server.
	"firewall": {"rail-speed"},
	// It is not started: it would disturb what runs there.
	"hog":          {"rail-speed"},
	"tool-missing": {"rail-speed"},
	// What has no driver has no clock to look at.
	"gpu-missing": {"gpu-clock", "tools-present"},
	// Only root reads what a cable reports.
	"sudo-password": {"cable"},
	// A port without a cable has none to report.
	"cable-unplugged": {"cable"},
	// The test's own rails are as hot.
	"hot-adapter": {"rail-speed"},
	// The nodes' kernels differ with it.
	"kexec-handover": {"versions"},
}

// Another user's benchmark is not disturbed: where a rail is busy none is measured.
func TestBusyRailsAreNotMeasured(t *testing.T) {
	t.Parallel()
	r, code, stderr := diagnose(t, "--fault", "hog", "rail-speed")
	if code != exitOK || len(r.Checks) != 1 {
		t.Fatalf("exit %d, %d checks: %s", code, len(r.Checks), stderr)
	}
	if c := r.Checks[0]; c.Verdict != steps.Skipped || !strings.Contains(c.Reason,
		"Other traffic uses the rails of spark-01") {
		t.Errorf("%s: %s", c.Verdict, c.Reason)
	}
}

// What the check knows of ethtool's counters its script lets through, of every maker.
func TestErrorCountersOfEthtool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/infiniband/bnxt_re0/device/net/rail1", 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{
		"rx_symbol_err_phy", "rx_crc_errors_phy", "rx_discards_phy", "link_down_events_phy", "rx_out_of_buffer",
		"rx_fcs_err_frames", "rx_crc_errors.nic",
	}
	out := onThisMachine(t, "error-counters", nil, func(body string) string {
		return "ethtool() { printf '     %s: 7\\n' " + strings.Join(names, " ") + " rx_bytes; }\n" +
			strings.ReplaceAll(body, "/sys/class/infiniband", dir+"/infiniband")
	})
	for _, name := range names {
		if !strings.Contains(out, name+": 7\n") {
			t.Errorf("no %s in\n%s", name, out)
		}
	}
	if strings.Contains(out, "rx_bytes: 7") {
		t.Errorf("rx_bytes counts no errors:\n%s", out)
	}
}
