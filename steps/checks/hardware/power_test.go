package hardware

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestPCIeErrors(t *testing.T) {
	const good = "0000:01:00.0 is: enp1s0f0np0\n" +
		"0000:01:00.0 fatal at first: 0\n0000:01:00.0 nonfatal at first: 0\n" +
		"0000:01:00.0 correctable at first: 7 BadTLP=3 RxErr=4\n" +
		"0000:01:00.0, the port above fatal at first: 0\n0000:01:00.0, the port above nonfatal at first: 0\n" +
		"0000:01:00.0, the port above correctable at first: 0\n" +
		"0000:01:00.0 fatal later: 0\n0000:01:00.0 nonfatal later: 0\n0000:01:00.0 correctable later: 7 BadTLP=3 RxErr=4\n" +
		"0000:01:00.0, the port above fatal later: 0\n0000:01:00.0, the port above nonfatal later: 0\n" +
		"0000:01:00.0, the port above correctable later: 0\nlooked: twice\n"
	swap := func(old, by string) string { return kindtest.Swap(t, good, old, by) }
	judged(t, "pcie-errors", "facts", []checkCase{
		{"none that grow", steps.Rig{}, good, good, steps.Pass, "", "", []string{"at 4 link ends"}},
		{
			"fatal",
			steps.Rig{},
			good, swap("01:00.0 fatal later: 0", "01:00.0 fatal later: 1 SDES=1"), steps.Fail, steps.PCIeFatalErrors, "spark-01",
			[]string{"0000:01:00.0 (enp1s0f0np0) on spark-01", "1 fatal", "SDES"},
		},
		{
			"nonfatal above",
			steps.Rig{},
			swap("above nonfatal later: 0", "above nonfatal later: 3 CmpltTO=3"), good, steps.Warn, steps.PCIeNonfatalErrors,
			"spark-02",
			[]string{"0000:01:00.0", "(enp1s0f0np0) on spark-02", "3 nonfatal", "CmpltTO"},
		},
		{
			"growing",
			steps.Rig{},
			good, swap("correctable later: 7 BadTLP=3 RxErr=4", "correctable later: 19 BadTLP=3 RxErr=16"),
			steps.Warn, steps.PCIeCorrectableErrors,
			"spark-01",
			[]string{"12 correctable PCIe errors in", "RxErr"},
		},
		{
			"no counters",
			steps.Rig{},
			"looked: twice\n", "looked: twice\n", steps.Skipped, steps.CannotRun, "",
			[]string{"pci=noaer"},
		},
		{
			"no counters at one node",
			steps.Rig{},
			good, "looked: twice\n", steps.Skipped, steps.CannotRun, "",
			[]string{"spark-01 counts no PCIe errors"},
		},
		{
			"no number",
			steps.Rig{},
			good, swap("01:00.0 fatal later: 0", "01:00.0 fatal later: unknown"), steps.Inconclusive, steps.Unreadable,
			"spark-01",
			[]string{"could not read the fatal errors"},
		},
		{
			"cut off",
			steps.Rig{},
			good, strings.Replace(good, "looked: twice\n", "", 1), steps.Inconclusive, steps.Unreadable, "spark-01",
			[]string{"could not read the PCIe error counters"},
		},
	})
}

func TestLastBoot(t *testing.T) {
	const clean = "journal: read\nboots known: 2\nshutdown in the journal: yes\n" +
		"last words: 2026-11-21 spark systemd-journald[1]: Journal stopped\n" +
		"record 1: reboot system boot 6.14 Sat still running\nrecord 2: shutdown system down 6.14 Sat - 10:00\n"
	swap := func(edits ...string) string {
		text := clean
		for i := 0; i < len(edits); i += 2 {
			text = kindtest.Swap(t, text, edits[i], edits[i+1])
		}
		return text
	}
	crash := swap("journal: yes", "journal: no", "Journal stopped", "something", "record 2: shutdown", "record 2: reboot")
	judged(t, "last-boot", "facts", []checkCase{
		{"shut down", steps.Rig{}, clean, clean, steps.Pass, "", "", []string{"on spark-02 and spark-01"}},
		{
			"off",
			steps.Rig{},
			clean, crash, steps.Warn, steps.UncleanShutdown, "spark-01",
			[]string{"was not shut down", "2026-11-21 spark systemd-journald[1]: something"},
		},
		{
			"wtmp alone",
			steps.Rig{},
			clean, "journal: refused or empty\nrecord 1: reboot x\nrecord 2: reboot x\n", steps.Warn, steps.UncleanShutdown,
			"spark-01",
			[]string{"was not shut down"},
		},
		{"own lines of the journal alone", steps.Rig{}, clean, swap("journal: yes", "journal: no"), steps.Pass, "", "", nil},
		{
			"journal alone",
			steps.Rig{},
			clean, "journal: read\nshutdown in the journal: yes\nlast: missing\n", steps.Pass, "", "",
			nil,
		},
		{
			"breaks off, and wtmp is empty",
			steps.Rig{},
			clean, "journal: read\nshutdown in the journal: no\nlast: missing\n",
			steps.Skipped, steps.Unreadable, "",
			[]string{"ends abruptly"},
		},
		{
			"first boot",
			steps.Rig{},
			clean, "journal: read\nboots known: 1\nrecord 1: reboot x\n", steps.Skipped, steps.Unreadable, "",
			[]string{"spark-01 (no earlier boot is recorded)"},
		},
		{
			"not readable",
			steps.Rig{},
			clean, "journal: refused or empty\nlast: missing\n", steps.Skipped, steps.Unreadable, "",
			[]string{"the group adm"},
		},
		{
			"cut off",
			steps.Rig{},
			clean, "record 1: reboot x\n", steps.Inconclusive, steps.Unreadable, "spark-01",
			[]string{"could not read the journal"},
		},
	})
}

func TestGPUClock(t *testing.T) {
	const good = "busy before: 0\nload: 270 launches in 1.51 s\n#nvidia-smi\n" +
		"index, name, clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], temperature.gpu, utilization.gpu [%], " +
		"clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_power_brake_slowdown\n" +
		"0, NVIDIA GB10, 2411, 3003, 68.20, 61, 96, Not Active, Not Active\n"
	swap := func(old, by string) string { return kindtest.Swap(t, good, old, by) }
	judged(t, "gpu-clock", "hardware", []checkCase{
		{
			"well",
			steps.Rig{},
			good, good, steps.Pass, "", "",
			[]string{"2411 of 3003 MHz at 68 W on spark-02", "nothing limits it"},
		},
		{
			"stuck",
			steps.Rig{},
			good, swap("2411", "513"), steps.Fail, steps.GPUClockStuck, "spark-01",
			[]string{"513 of 3003 MHz"},
		},
		{
			"capped",
			steps.Rig{},
			good, swap("2411, 3003, 68.20, 61, 96, Not", "1500, 3003, 68.20, 61, 96,"), steps.Warn, steps.GPUClockLow,
			"spark-01",
			[]string{"1500 of 3003 MHz", "sw_power_cap", "at least 1802"},
		},
		{
			"good, with a reason",
			steps.Rig{},
			good, swap("96, Not Active, Not", "96, Not Active,"), steps.Warn, steps.GPUHeldBack, "spark-01",
			[]string{"hw_power_brake_slowdown"},
		},
		{
			"PROCHOT",
			steps.Rig{},
			good, "prochot under load: 1\n" + good, steps.Warn, steps.BoardThrottled, "spark-01",
			[]string{"prochot 1"},
		},
		{
			"busy",
			steps.Rig{},
			good, "busy before: 73\n", steps.Skipped, steps.GPUBusy, "",
			[]string{"spark-01", "73 %"},
		},
		{
			"not told",
			steps.Rig{},
			good, "busy before: [N/A]\n", steps.Skipped, steps.Unreadable, "",
			[]string{"does not report whether the GPU is in use"},
		},
		{
			"no load",
			steps.Rig{},
			good, swap("load: 270 launches in 1.51 s", "load: none (cuInit failed with CUDA error 999)"),
			steps.Skipped, steps.GPULoadFailed, "",
			[]string{"cuInit failed with CUDA error 999"},
		},
		{
			"a load that nvidia-smi doesn't see",
			steps.Rig{},
			good, swap(" 96,", " 0,"), steps.Skipped, steps.Unreadable, "",
			[]string{"did not see the load"},
		},
		{
			"no clock",
			steps.Rig{},
			good, swap("2411", "[N/A]"), steps.Skipped, steps.Unreadable, "",
			[]string{"reports no clock"},
		},
		{
			"no nvidia-smi",
			steps.Rig{},
			"nvidia-smi: missing\n", "nvidia-smi: missing\n", steps.Skipped, steps.CommandMissing, "",
			nil,
		},
	})
}
