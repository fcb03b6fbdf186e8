package doctor_test

import (
	"os"
	"slices"
	"testing"

	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A sentence without a phrase of the knowledge leads to the check that knows its cause, among the first three. Readers
// of the list of faults wrote these sentences, and had not seen the knowledge.
func TestSuspectsByWords(t *testing.T) {
	k, err := explain.Load(os.DirFS("../../assets/knowledge"))
	if err != nil {
		t.Fatal(err)
	}
	tut := kindtest.Tutorial(t)
	tut.Sayings = k.Sayings
	for says, leads := range map[string]string{
		"aer_dev_correctable goes up every second on the nic, is the hardware dying?":                      "pcie-errors",
		"all_reduce prints three lines then freezes":                                                       "nccl-settings",
		"dmesg full of audit lines with DENIED and ib_write_bw in them, should I worry?":                   "apparmor",
		"exit code 127 from the server side of ib_write_bw on a freshly installed spark":                   "tools-present",
		"killed a nixlbench run with ctrl-c and now every new run thinks it is rank 2 of 2":                "etcd-keys",
		"my dmesg talks about 26W and insufficient something on mlx5_core, do I need a bigger power brick": "adapter-power",
		"nixlbench cannot allocate buffer on the spark where the big model is loaded":                      "free-memory",
		"nixlbench unknown flag asio_address":                                                              "versions",
		"rping over rxe hangs forever after our security guy hardened the server, icmp is fine":            "firewall",
		"server busy try again later":                                                                      "test-ports",
		"show_gids has no ipv4 line for the second port and I cannot ping it":                              "rail-addresses",
		"spark takes forever to start":                                                                     "boot-waits",
		"symbol errors climbing while idle":                                                                "error-counters",
		"the second link's ip keeps changing to something I did not set, and nmcli knows nothing about it": "rail-managers",
		"tokens/s dropped to a quarter overnight, gpu sits at 600 mhz with full load and only 14 watts":    "gpu-clock",
	} {
		checks, about := doctor.Suspects(k, tut, says)
		if !slices.Contains(about.Checks[:min(3, len(checks))], leads) {
			t.Errorf("%q leads to %v, and not first to %s", says, about.Checks, leads)
		}
	}
	for _, s := range []string{"", "the printer has no paper", "hello", "git push is rejected", "xyzzy plugh"} {
		if checks, about := doctor.Suspects(k, tut, s); len(checks) > 0 {
			t.Errorf("%q leads to %v", s, about.Checks)
		}
	}
}
