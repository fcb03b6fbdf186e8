package hardware

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// saying is the result of a check whose script printed these texts here and on the
// peer, read by one of the catalog's parsers.
func saying(rig steps.Rig, parser, here, peer string) steps.Result {
	read := registered().Parsers[parser]
	s := steps.Stage{Pair: -1, Elapsed: time.Second}
	for e, text := range [2]string{here, peer} {
		o := kindtest.Ran("", steps.End(e), text)
		v, err := read(text, "")
		if o.Value = v; err != nil {
			o.ParseErr = err.Error()
		}
		s.Outputs = append(s.Outputs, o)
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

// A checkCase is one case of a check's judge.
type checkCase struct {
	name       string
	rig        steps.Rig
	here, peer string // spark-02 and spark-01
	grade      steps.Grade
	code       steps.Code
	node       string   // that it is about
	words      []string // mostly names and numbers
}

// judged runs the cases, and then the holes that no check may pass.
func judged(t *testing.T, judge, parser string, cases []checkCase) {
	t.Helper()
	j, cell := registered().Judges[judge], steps.Cell{ID: judge, Judge: judge, Roles: []steps.Role{{On: steps.OnBoth}}}
	for _, c := range cases {
		if c.rig.Name == "" {
			c.rig = kindtest.Spark()
		}
		v := j(cell, saying(c.rig, parser, c.here, c.peer))
		because(t, judge+": "+c.name, v, c.grade, c.code, c.words...)
		if v.Node != c.node {
			t.Errorf("%s: %s: it is about %q, want %q: %s", judge, c.name, v.Node, c.node, v.Reason)
		}
	}
	good := cases[0]
	if good.grade != steps.Pass {
		t.Fatalf("%s: the first case is %s", judge, good.grade)
	}
	fresh := func() steps.Result { return saying(kindtest.Spark(), parser, good.here, good.peer) }
	for _, hole := range []struct {
		name  string
		make  func(*steps.Result)
		grade steps.Grade
		code  steps.Code
		word  string
	}{
		{
			"skipped", func(r *steps.Result) { r.Skip = "spark-01 has no tool." }, steps.Skipped,
			steps.CannotRun, "no tool",
		},
		{"nothing ran", func(r *steps.Result) { r.Stages = nil }, steps.Inconclusive, steps.NothingRan, ""},
		{
			"one end", func(r *steps.Result) { r.Stages[0].Outputs = r.Stages[0].Outputs[:1] }, steps.Inconclusive,
			steps.NotRunHere, "spark-01",
		},
		{"empty", func(r *steps.Result) {
			r.Stages[0].Outputs[1] = saying(kindtest.Spark(), parser, "", "").Stages[0].Outputs[1]
		}, steps.Inconclusive, steps.OutputIncomplete, ""},
		{
			"status", func(r *steps.Result) { r.Stages[0].Outputs[0].Exit.Code = 2 }, steps.Inconclusive,
			steps.ScriptFailed, "exit 2",
		},
		{
			"timed out", func(r *steps.Result) { r.Stages[0].Outputs[0].Exit.Why = runner.TimedOut }, steps.Inconclusive,
			steps.TimedOut, "spark-02",
		},
		{
			"foreign", func(r *steps.Result) { r.Stages[0].Outputs[0].Value = 7 }, steps.Inconclusive,
			steps.OutputIncomplete, "",
		},
	} {
		r := fresh()
		hole.make(&r)
		because(t, judge+": "+hole.name, j(cell, r), hole.grade, hole.code, hole.word)
	}
}

// half is what pcie-link prints of a node, with the second half's width and slot.
func half(gtps float64, width int, slot string) string {
	var b strings.Builder
	for i, dev := range []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"} {
		speed, w, above := 32.0, 4, ", slot 32.0 x4"
		if i > 1 {
			speed, w, above = gtps, width, slot
		}
		fmt.Fprintf(&b, "%s: 000%d:01:00.%d %.1f x%d of 32.0 x4%s\n", dev, i/2*2, i%2, speed, w, above)
	}
	return b.String() + "devices: 4\n"
}

func TestPCIeLink(t *testing.T) {
	good := half(32, 4, ", slot 32.0 x4")
	judged(t, "pcie-link", "facts", []checkCase{
		{
			name: "good", here: good, peer: good, grade: steps.Pass,
			words: []string{
				"all 8 RDMA devices", "PCIe Gen5 x4",
				"rocep1s0f0 and rocep1s0f1 share 0000:01:00 (about 112 Gb/s together)",
			},
		},
		{
			name: "one is not told", here: good, peer: strings.Replace(good, "rocep1s0f1:", "x:", 1),
			grade: steps.Inconclusive, code: steps.Unreadable,
			node: "spark-01", words: []string{"the PCIe link of rocep1s0f1 on spark-01"},
		},
		{
			name: "x2", here: good, peer: half(32, 2, ", slot 32.0 x4"),
			grade: steps.Warn, code: steps.PCIeNarrow, node: "spark-01",
			words: []string{
				"roceP2p1s0f0 and roceP2p1s0f1 on spark-01", "Gen5 x2", "instead of Gen5 x4", "56 Gb/s",
				"power the node off",
			},
		},
		{
			name: "the slot has no more", here: half(16, 4, ", slot 16.0 x4"), peer: good,
			grade: steps.Warn, code: steps.SlotNarrow, node: "spark-02",
			words: []string{"Gen4 x4"},
		},
		{
			name: "no slot told", here: good, peer: half(8, 4, ""), grade: steps.Warn, code: steps.PCIeNarrow, node: "spark-01",
			words: []string{"Gen3 x4", "28 Gb/s"},
		},
		{
			name: "unknown", here: good, peer: "rocep1s0f0: 0000:01:00.0 Unknown x0 of Unknown x0\ndevices: 1\n",
			grade: steps.Inconclusive, code: steps.Unreadable, node: "spark-01",
			words: []string{"could not read the PCIe link of rocep1s0f0"},
		},
		{
			name: "no lanes", here: good, peer: "rocep1s0f0: 0000:01:00.0 32.0 x0 of 32.0 x4\ndevices: 1\n",
			grade: steps.Inconclusive, code: steps.Unreadable, node: "spark-01",
		},
		{
			name: "soft-RoCE", here: "rxe0: no PCIe link\ndevices: 1\n", peer: "rxe0: no PCIe link\ndevices: 1\n",
			grade: steps.Pass, words: []string{"soft-RoCE"},
		},
		{
			name: "nothing", here: "devices: 0\n", peer: "devices: 0\n", grade: steps.Skipped, code: steps.CannotRun,
		},
		{
			name: "nothing at one end", here: good, peer: "devices: 0\n",
			grade: steps.Inconclusive, code: steps.RDMADeviceMissing, node: "spark-01",
			words: []string{"spark-01"},
		},
	})
}

// present is what adapter-present prints of a healthy Spark.
const present = `device rocep1s0f0: 0000:01:00.0
device rocep1s0f1: 0000:01:00.1
devices: 2
function 0000:01:00.0: mlx5_core
function 0000:01:00.1: mlx5_core
kernel log: read
#log
`

func TestAdapterPresent(t *testing.T) {
	lost := strings.NewReplacer("device rocep1s0f1: 0000:01:00.1\n", "", "00.1: mlx5_core", "00.1: none").Replace(present)
	judged(t, "adapter-present", "hardware", []checkCase{
		{
			name: "good", here: present, peer: present, grade: steps.Pass,
			words: []string{"2 RDMA devices on each node: rocep1s0f0, rocep1s0f1", "every function"},
		},
		{
			name: "lost", here: present, grade: steps.Fail, code: steps.AdapterLost, node: "spark-01",
			words: []string{
				"0000:01:00.1 on spark-01 has lost the driver", "health recovery flow aborted",
				"then restart it",
			},
			peer: lost + "[91562.340111] mlx5_core 0000:01:00.1: mlx5_health_try_recover:381:(pid 412): health recovery flow " +
				"aborted, PCI reads still not working\n[91562.4] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n",
		},
		{
			name: "lost without a word", here: lost, peer: lost, grade: steps.Fail, code: steps.AdapterLost,
			words: []string{"0000:01:00.1 on spark-02 and spark-01 has lost the driver"},
		},
		{
			name: "no adapter", here: "devices: 0\nkernel log: read\n", peer: present,
			grade: steps.Fail, code: steps.AdapterAbsent, node: "spark-02",
			words: []string{"no ConnectX on spark-02", "Plug in a cable"},
		},
		{
			name: "no RDMA driver", here: present, peer: strings.Replace(present, "device rocep1s0f1: 0000:01:00.1\n", "", 1),
			grade: steps.Warn, code: steps.RDMADeviceMissing,
			words: []string{"mlx5_ib", "spark-02 has 2 RDMA devices and spark-01 has 1"},
		},
		{
			name: "one is short", here: present, peer: "device rocep1s0f0: 0000:01:00.0\nfunction 0000:01:00.0: mlx5_core\n",
			grade: steps.Warn, code: steps.DevicesDiffer, words: []string{"2 RDMA devices", "spark-01 has 1"},
		},
		{
			name: "complained", here: present, grade: steps.Warn, code: steps.AdapterFault, node: "spark-01",
			words: []string{"works, but logged", "health compromised"},
			peer: present + "[9.0] mlx5_core 0000:01:00.0: poll_health:838:(pid 0): device's health compromised - reached " +
				"miss count\n",
		},
		{
			name: "was hot", here: present, grade: steps.Warn, code: steps.AdapterFault, node: "spark-01",
			words: []string{"0000:01:00.1: High temperature on sensors"},
			peer: present + "[51.2] mlx5_core 0000:01:00.1: temp_warn:170:(pid 0): High temperature on sensors with bit set " +
				"0 1\n",
		},
		{
			name: "complained before it was loaded anew", here: present, grade: steps.Pass,
			peer: present + "[9.0] mlx5_core 0000:01:00.0: poll_health:838:(pid 0): device's health compromised - reached " +
				"miss count\n[19.0] mlx5_core 0000:01:00.0: firmware version: 28.45.4028\n",
		},
		{
			name: "PCIe", here: present,
			grade: steps.Warn, code: steps.AdapterFault, node: "spark-01", words: []string{"Uncorrected"},
			peer: present + "[9.0] pcieport 0000:00:00.0: AER: Uncorrected (Fatal) error message received from 0000:01:00.0\n",
		},
		{
			name: "PCIe corrected", here: present,
			peer:  present + "[9.0] pcieport 0000:00:00.0: AER: Corrected error message received from 0000:01:00.0\n",
			grade: steps.Pass,
		},
		{
			name: "log refused", here: present, peer: strings.Replace(present, "read", "refused", 1), grade: steps.Pass,
			words: []string{"could not be read"},
		},
		{
			name: "soft-RoCE", here: "device rxe0: none\nkernel log: refused\n",
			peer: "device rxe0: none\nkernel log: refused\n", grade: steps.Pass, words: []string{"1 RDMA device", "soft-RoCE"},
		},
		{
			name: "another maker's", here: "device bnxt_re0: 0000:41:00.0\nkernel log: read\n",
			peer: "device bnxt_re0: 0000:41:00.0\nkernel log: read\n", grade: steps.Pass,
			words: []string{"no ConnectX is among them, so their drivers were not checked"},
		},
	})
}

func TestAdapterPower(t *testing.T) {
	const (
		head      = "user: nvidia\nkernel log: read\n#log\n"
		plugged   = "[5.1] mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged\n"
		unplugged = "[95.1] mlx5_core 0000:01:00.0: Port module event: module 0, Cable unplugged\n"
		power     = "[18846.9] mlx5_core 0000:01:00.0: mlx5_pcie_event:293:(pid 4865): Detected insufficient power on the " +
			"PCIe slot (26W).\n"
	)
	good := head + plugged
	unused := kindtest.Spark()
	unused.Pairs = nil
	for e := range unused.Nodes {
		unused.Nodes[e].Rails = slices.Clone(unused.Nodes[e].Rails)
		for i := range unused.Nodes[e].Rails {
			unused.Nodes[e].Rails[i].Addr = ""
		}
	}
	judged(t, "adapter-power", "hardware", []checkCase{
		{name: "good", here: good, peer: good, grade: steps.Pass, words: []string{"report no lack of power", "2 lines"}},
		{
			name: "power", here: good, peer: good + power, grade: steps.Warn, code: steps.SlotPowerLow, node: "spark-01",
			words: []string{"0000:01:00.0 on spark-01", "insufficient power on the PCIe slot (26 W)", "13 Gb/s"},
		},
		{name: "power not told", here: good, peer: good + "[5.2] mlx5_core 0000:01:00.0: mlx5_pcie_event:297:(pid 11): " +
			"PCIe slot power capability was not advertised.\n", grade: steps.Pass},
		{
			name: "unplugged", here: good + unplugged, peer: good,
			grade: steps.Warn, code: steps.CableUnplugged, node: "spark-02",
			words: []string{"0000:01:00.0 on spark-02"},
		},
		{name: "plugged in again", here: good + unplugged + plugged, peer: good, grade: steps.Pass},
		{name: "unplugged, and unused", rig: unused, here: good + unplugged, peer: good, grade: steps.Pass},
		{
			name: "a bad module", here: good +
				"[7.0] mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, Power budget exceeded\n",
			peer:  good,
			grade: steps.Fail, code: steps.CableUnusable, node: "spark-02", words: []string{"Power budget exceeded"},
		},
		{
			name: "refused", here: good, peer: "user: engineer\nkernel log: refused\n#log\n",
			grade: steps.Skipped, code: steps.NeedsRoot,
			words: []string{"spark-01"},
		},
		{
			name: "soft-RoCE", rig: kindtest.Virtual(), here: head, peer: "kernel log: refused\n",
			grade: steps.Skipped, code: steps.CannotRun,
		},
		{
			name: "refused, and the other one found", here: good + power, peer: "kernel log: refused\n",
			grade: steps.Warn, code: steps.SlotPowerLow,
			node: "spark-02",
		},
	})
}

func TestAdapterTemperature(t *testing.T) {
	at := func(heat string) string {
		return "0000:01:00.0: 58000 hwmon\n0002:01:00.0: " + heat + "\nadapters: 2\n"
	}
	good := at("61000 hwmon")
	judged(t, "adapter-temperature", "facts", []checkCase{
		{
			name: "good", here: good, peer: at("58 mget_temp"), grade: steps.Pass,
			words: []string{"61 degrees on spark-02 and 58 degrees on spark-01", "below 97"},
		},
		{name: "just below", here: good, peer: at("96900 hwmon"), grade: steps.Pass},
		{
			name: "warning", here: good, peer: at("97 mget_temp"), grade: steps.Warn, code: steps.AdapterHot, node: "spark-01",
			words: []string{"0002:01:00.0 on spark-01 is at 97 degrees", "warns from 97"},
		},
		{
			name: "critical", here: at("102000 hwmon"), peer: good, grade: steps.Fail, code: steps.AdapterHot, node: "spark-02",
			words: []string{"at 102 degrees", "critical for a ConnectX-7 from 102", "switches off at 110"},
		},
		{
			name: "emergency", here: at("110000 hwmon"), peer: good, grade: steps.Fail, code: steps.AdapterHot, node: "spark-02",
			words: []string{"110 degrees", "switches off at 110"},
		},
		{
			name: "no sensor", here: good, peer: at("unknown"), grade: steps.Skipped, code: steps.Unreadable,
			words: []string{"0002:01:00.0 on spark-01", "mget_temp"},
		},
		{
			name: "no sensor, and the other is hot", here: at("118000 hwmon"), peer: at("unknown"),
			grade: steps.Fail, code: steps.AdapterHot,
			node: "spark-02",
		},
		{name: "nonsense", here: good, peer: at("-273000 hwmon"), grade: steps.Skipped, code: steps.Unreadable},
		{
			name: "soft-RoCE", here: "adapters: 0\n", peer: "adapters: 0\n", grade: steps.Skipped, code: steps.CannotRun,
		},
	})
}

// smi is a section of nvidia-smi with the rows under its header.
func smi(rows string) string {
	return "nvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\nindex, name, driver_version, temperature.gpu, pci.bus_id, " +
		"clocks_event_reasons.hw_thermal_slowdown\n" + rows
}

func TestGPU(t *testing.T) {
	const card = "gpu 000f:01:00.0: nvidia\n"
	good := card + smi("0, NVIDIA GB10, 580.95.05, 44, 0000000F:01:00.0, Not Active\n")
	judged(t, "gpu", "hardware", []checkCase{
		{
			name: "good", here: good, peer: good, grade: steps.Pass,
			words: []string{"580.95.05 answers", "NVIDIA GB10 on spark-01 (44 degrees)"},
		},
		{
			name: "no driver", here: good, peer: "gpu 000f:01:00.0: none\nnvidia-smi: missing\n",
			grade: steps.Warn, code: steps.GPUDriverMissing,
			node: "spark-01", words: []string{"no nvidia-smi", "no driver"},
		},
		{
			name: "driver fails", here: good,
			peer: card + smi("")[:len("nvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\n")] +
				"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
			grade: steps.Fail, code: steps.GPUDriverFails,
			node: "spark-01", words: []string{"couldn't communicate"},
		},
		{
			name: "driver without a device", here: good,
			peer:  card + smi("")[:len("nvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\n")] + "No devices were found\n",
			grade: steps.Fail, code: steps.GPUNotStarted, node: "spark-01", words: []string{"000f:01:00.0"},
		},
		{
			name: "hot", here: card + smi("0, NVIDIA GB10, 580.95.05, 93, 0000000F:01:00.0, Active\n"), peer: good,
			grade: steps.Warn, code: steps.GPUHot, node: "spark-02", words: []string{"93 degrees"},
		},
		{
			name: "one of two", here: "gpu 0010:01:00.0: none\n" + good, peer: good,
			grade: steps.Warn, code: steps.GPULost, node: "spark-02",
			words: []string{"2 GPUs", "1 of 2 GPUs"},
		},
		{
			name: "drivers differ", here: good, peer: strings.ReplaceAll(good, "580.95.05", "570.1"),
			grade: steps.Warn, code: steps.GPUDriversDiffer,
			words: []string{"580.95.05 on spark-02 but 570.1 on spark-01"},
		},
		{
			name: "one has none", here: good, peer: "nvidia-smi: missing\n", grade: steps.Warn, code: steps.GPUOneSided,
		},
		{
			name: "one has none, the other no driver", here: card + "nvidia-smi: missing\n", peer: "nvidia-smi: missing\n",
			grade: steps.Warn, code: steps.GPUDriverMissing,
			words: []string{"the GPU on spark-02", "cannot be moved between"},
		},
		{
			name: "none", here: "nvidia-smi: missing\n", peer: "nvidia-smi: missing\n",
			grade: steps.Skipped, code: steps.CannotRun,
		},
	})
}

func TestGPUPath(t *testing.T) {
	node := func(peermem, driver, row string) string {
		return "dma-buf in verbs: yes\nnvidia_peermem: " + peermem + "\ndriver: NVRM version: " + driver +
			"\nnvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\nindex, name, memory.total [MiB], pci.bus_id\n" + row
	}
	const own, shared = "0, NVIDIA A40, 46068 MiB, 00000004:01:00.0\n", "0, NVIDIA GB10, [N/A], 0000000F:01:00.0\n"
	const open, closed = "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05",
		"NVIDIA UNIX x86_64 Kernel Module  580.95.05"
	good := node("/lib/modules/x/nvidia-peermem.ko", open, shared)
	judged(t, "gpu-path", "hardware", []checkCase{
		{
			name: "Spark", here: good, peer: good, grade: steps.Pass,
			words: []string{"host-staged", "NVIDIA GB10 on spark-01 share memory", "cudaHostAlloc"},
		},
		{
			name: "peermem", here: node("loaded", closed, own), peer: node("loaded", closed, own), grade: steps.Pass,
			words: []string{"directly", "nvidia_peermem"},
		},
		{
			name: "dma-buf", here: node("missing", open, own), peer: good, grade: steps.Pass,
			words: []string{"dma-buf", "host-staged"},
		},
		{
			name: "an old kernel", here: strings.Replace(node("missing", open, own), "yes", "no", 1), peer: good,
			grade: steps.Warn, code: steps.GPUDirectOff, node: "spark-02",
		},
		{
			name: "neither", here: node("missing", closed, own), peer: good,
			grade: steps.Warn, code: steps.GPUDirectOff, node: "spark-02",
			words: []string{"46068 MiB", "modprobe nvidia-peermem"},
		},
		{
			name: "one has none", here: good, peer: "nvidia_peermem: missing\ndriver: unknown\nnvidia-smi: missing\n",
			grade: steps.Warn, code: steps.GPUOneSided, node: "spark-01", words: []string{"spark-01"},
		},
		{
			name: "none", here: "nvidia-smi: missing\n", peer: "nvidia-smi: missing\n",
			grade: steps.Skipped, code: steps.CannotRun,
		},
	})
}

func TestSecureBoot(t *testing.T) {
	node := func(state, lock, peermem, log string) string {
		return "secure boot: " + state + "\nlockdown: " + lock + "\nmodule mlx5_core: /lib/mlx5_core.ko, " +
			"signed by Canonical\nmodule nvidia_peermem: /lib/peermem.ko, signed by " + peermem + "\nkernel log: " + log
	}
	const read, refused, integrity, none = "read\n#log\n", "refused\n#log\n", "none [integrity] confidentiality",
		"[none] integrity confidentiality"
	const rejected = "[7.1] Loading of module with unavailable key is rejected\n" +
		"[7.2] Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7\n"
	good := node("enabled", integrity, "Canonical", read)
	judged(t, "secure-boot", "hardware", []checkCase{
		{
			name: "good", here: good, peer: good, grade: steps.Pass,
			words: []string{"no kernel refused a module", "enabled on spark-02 and enabled on spark-01"},
		},
		{
			name: "refused", here: good, peer: node("enabled", integrity, "none", read+rejected),
			grade: steps.Warn, code: steps.ModuleRefused,
			node: "spark-01", words: []string{
				"Loading of module with unavailable key is rejected",
				"nvidia_peermem is unsigned", "mokutil --import",
			},
		},
		{
			name: "refused, whatever is signed", here: good, peer: node("disabled", integrity, "Canonical", read+rejected),
			grade: steps.Warn, code: steps.ModuleRefused, node: "spark-01",
		},
		{
			name: "will be", here: node("enabled", integrity, "none", read), peer: good,
			grade: steps.Warn, code: steps.ModuleUnsigned, node: "spark-02",
			words: []string{"will refuse"},
		},
		{
			name: "tainted only", here: node("disabled", none, "none",
				read+"[5.0] nvidia_peermem: module verification failed: signature and/or required key missing - tainting kernel\n"),
			peer: good, grade: steps.Pass,
		},
		{
			name: "off, and unsigned", here: node("disabled", none, "none", read),
			peer: node("absent", "none", "none", refused), grade: steps.Pass,
			words: []string{"disabled on spark-02 and absent on spark-01"},
		},
		{
			name: "untold, and the log is closed", here: good,
			peer:  strings.Replace(node("x", none, "Canonical", refused), "secure boot: x\n", "", 1),
			grade: steps.Skipped, code: steps.NeedsRoot,
			words: []string{"could not read the kernel log on spark-01"},
		},
		{
			name: "unknown, and the log is closed", here: good, peer: node("unknown", none, "Canonical", refused),
			grade: steps.Skipped, code: steps.NeedsRoot, words: []string{
				"could not read the kernel log on spark-01",
				"is unknown",
			},
		},
		{
			name: "unknown, and the log is read", here: good, peer: node("unknown", none, "none", read), grade: steps.Pass,
			words: []string{"unknown on spark-01"},
		},
		{
			name: "locked down without it", here: good, peer: node("disabled", integrity, "none", read),
			grade: steps.Warn, code: steps.ModuleUnsigned,
			node: "spark-01", words: []string{"will refuse a module: it is locked down (integrity)"},
		},
		{
			name: "on, and the log is closed", here: good, peer: node("enabled", integrity, "Canonical", refused),
			grade: steps.Skipped, code: steps.NeedsRoot, words: []string{"could not read the kernel log on spark-01"},
		},
	})
}

func TestBAR1(t *testing.T) {
	node := func(bar1 string) string {
		return "registration: 2147483648\nnvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\nAttached GPUs : 1\n" +
			"GPU 00000004:01:00.0\n    Product Name                          : NVIDIA GB10\n    BAR1 Memory Usage\n" +
			"        Total                             : " + bar1 + "\n        Used                              : " + bar1 +
			"\n"
	}
	good := node("N/A")
	judged(t, "bar1", "hardware", []checkCase{
		{
			name: "good", here: good, peer: good, grade: steps.Pass,
			words: []string{"have no BAR1 and need none", "one memory"},
		},
		{name: "large", here: node("65536 MiB"), peer: good, grade: steps.Pass, words: []string{"large enough"}},
		{
			name: "small", here: good, peer: node("256 MiB"), grade: steps.Warn, code: steps.BAR1Small, node: "spark-01",
			words: []string{"256 MiB of BAR1", "115 MiB", "2048"},
		},
		{
			name: "no number", here: good, peer: strings.Replace(good, "2147483648", "2G", 1),
			grade: steps.Inconclusive, code: steps.SettingInvalid,
			node: "spark-01", words: []string{"NIXL_VRAM_BUFFER"},
		},
		{
			name: "one has none", here: good, peer: "registration: 1\nnvidia-smi: missing\n", grade: steps.Pass,
			words: []string{"GB10 on spark-02 has no BAR1 and needs none"},
		},
		{
			name: "one has a driver that fails", here: node("65536 MiB"),
			peer: "registration: 2147483648\nnvidia-smi: /usr/bin/nvidia-smi\n#nvidia-smi\nNVIDIA-SMI has failed because it " +
				"couldn't communicate with the NVIDIA driver.\n",
			grade: steps.Inconclusive, code: steps.GPUDriverFails, node: "spark-01",
			words: []string{"couldn't communicate"},
		},
		{
			name: "none", here: "registration: 1\nnvidia-smi: missing\n", peer: "registration: 1\nnvidia-smi: missing\n",
			grade: steps.Skipped, code: steps.CannotRun,
		},
	})
}

// readings are two looks at a node, half a second apart, each of "DEV NAME VALUE" or
// "NETDEV NAME VALUE" lines.
func readings(was, is string) string {
	var b strings.Builder
	for i, look := range []string{was, is} {
		fmt.Fprintf(&b, "clock %.1f\n", 100+0.5*float64(i))
		for line := range strings.Lines(look) {
			w := strings.Fields(line)
			switch {
			case strings.HasPrefix(w[0], "link"):
				b.WriteString(line)
			case strings.HasPrefix(w[0], "roce"):
				fmt.Fprintf(&b, "/sys/class/infiniband/%s/ports/1/counters/%s:%s\n", w[0], w[1], w[2])
			default:
				fmt.Fprintf(&b, "interface %s\n     %s: %s\n", w[0], w[1], w[2])
			}
		}
	}
	return b.String()
}

var railDevs = []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"}

// data are the counters of bytes of all rails: xmit of the first is what is given.
func data(xmit int) string {
	var b strings.Builder
	for i, dev := range railDevs {
		n := 1000
		if i == 0 {
			n = xmit
		}
		fmt.Fprintf(&b, "%s port_xmit_data %d\n%s port_rcv_data 1000\n", dev, n, dev)
	}
	return b.String()
}

func TestPortCounters(t *testing.T) {
	good := readings(data(1000), data(1000))
	soft := readings("enp1s0f0np0 tx_bytes 1\nenp1s0f1np1 tx_bytes 1\n",
		"enp1s0f0np0 tx_bytes 1\nenp1s0f1np1 tx_bytes 2\n")
	judged(t, "port-counters", "readings", []checkCase{
		{name: "good", here: good, peer: good, grade: steps.Pass, words: []string{
			"all 8 rails have port counters",
			"port_xmit_data",
		}},
		{
			name: "missing", here: good, peer: readings("enp1s0f0np0 tx_bytes 1\n", "enp1s0f0np0 tx_bytes 1\n"),
			grade: steps.Warn, code: steps.CounterBad, node: "spark-01",
			words: []string{"rocep1s0f0, rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1 on spark-01 have no port counters"},
		},
		{
			name: "backwards", here: readings(data(1000), data(10)), peer: good,
			grade: steps.Warn, code: steps.CounterBad, node: "spark-02",
			words: []string{"port_xmit_data of rocep1s0f0 on spark-02 went backwards, from 1000 to 10"},
		},
		{
			name: "once", here: "clock 1\n", peer: good,
			grade: steps.Inconclusive, code: steps.OutputIncomplete, node: "spark-02",
		},
		{
			name: "soft-RoCE", rig: kindtest.Virtual(), here: soft, peer: soft, grade: steps.Pass,
			words: []string{"soft-RoCE has no port counters", "4 rails"},
		},
		{
			name: "soft-RoCE without bytes", rig: kindtest.Virtual(), here: soft, peer: readings("", ""),
			grade: steps.Warn, code: steps.CounterBad,
			node: "spark-01", words: []string{"nor its interface"},
		},
	})
}

func TestIdleRails(t *testing.T) {
	good := readings(data(1000), data(1000))
	// 20 Gb/s for half a second, in words of four bytes.
	busy := readings(data(1000), data(1000+312_500_000))
	users := busy + "link rocep1s0f0/1 lqpn 139 type RC state RTS pid 2212 comm ib_write_bw\n" +
		"link rocep1s0f0/1 lqpn 140 type RC state RTS pid 2212 comm ib_write_bw\n"
	judged(t, "idle-rails", "readings", []checkCase{
		{name: "good", here: good, peer: good, grade: steps.Pass, words: []string{"8 ends"}},
		{
			name: "busy", here: good, peer: busy, grade: steps.Warn, code: steps.OtherTraffic, node: "spark-01",
			words: []string{"20.0 Gb/s over rocep1s0f0 on spark-01"},
		},
		{
			name: "busy at both ends", here: busy, peer: users, grade: steps.Warn, code: steps.OtherTraffic,
			words: []string{"20.0 Gb/s over rocep1s0f0 on spark-02 and spark-01", "is open in ib_write_bw, process 2212"},
		},
		{
			name: "TCP", here: good, peer: readings(data(1)+"enp1s0f1np1 rx_bytes 0\n",
				data(1)+"enp1s0f1np1 rx_bytes 62500000\n"), grade: steps.Warn, code: steps.OtherTraffic, node: "spark-01",
			words: []string{"1 Gb/s over rocep1s0f1"},
		},
		{name: "chatter", here: good, peer: readings(data(1000), data(1000+1000)), grade: steps.Pass},
		{
			name: "no counters", here: readings("", ""), peer: readings("", ""), grade: steps.Skipped, code: steps.CounterBad,
			words: []string{"is unknown"},
		},
		{
			name: "one end without counters", here: good, peer: readings("", ""),
			grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
			words: []string{"rocep1s0f0, rocep1s0f1, roceP2p1s0f0 and roceP2p1s0f1 on spark-01 may be busy"},
		},
		{
			name: "one counter of two", here: good, grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
			words: []string{"rocep1s0f1 on spark-01 may be busy"},
			peer:  strings.ReplaceAll(good, "/sys/class/infiniband/rocep1s0f1/ports/1/counters/port_rcv_data:1000\n", ""),
		},
		{
			name: "the interface's alone", here: good,
			peer: readings("enp1s0f0np0 tx_bytes 1\nenp1s0f0np0 rx_bytes 1\n",
				"enp1s0f0np0 tx_bytes 1\nenp1s0f0np0 rx_bytes 1\n"),
			grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
		},
		{
			name: "backwards", here: good, peer: readings(data(1000), data(10)),
			grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
		},
	})
}

func TestErrorCounters(t *testing.T) {
	const zero, before = "rocep1s0f0 out_of_sequence 0\nrocep1s0f0 symbol_error 0\nenp1s0f0np0 rx_crc_errors_phy 0\n",
		"rocep1s0f0 out_of_sequence 812\n"
	// The other rails are well.
	readings := func(was, is string) string {
		others := ""
		for _, dev := range railDevs {
			others += dev + " rnr_nak_retry_err 0\n"
		}
		return readings(was+others, is+others)
	}
	good := readings(zero, zero)
	blind := strings.ReplaceAll(good, "/sys/class/infiniband/roceP2p1s0f1/ports/1/counters/rnr_nak_retry_err:0\n", "")
	twins := "rocep1s0f0 symbol_error 7\nroceP2p1s0f0 symbol_error 9\n"
	judged(t, "error-counters", "readings", []checkCase{
		{name: "good", here: good, peer: good, grade: steps.Pass, words: []string{"none of 14 error counters grows"}},
		{
			name: "from earlier", here: good, peer: readings(before, before), grade: steps.Pass,
			words: []string{"1 of them is not 0"},
		},
		{
			name: "lost packets", here: good, peer: readings(before, "rocep1s0f0 out_of_sequence 830\n"),
			grade: steps.Warn, code: steps.ErrorsWhileIdle,
			node: "spark-01", words: []string{"rocep1s0f0 on spark-01", "18 errors in 0.5 s", "out_of_sequence"},
		},
		{
			name: "cable", here: readings("rocep1s0f0 symbol_error 0\nroceP2p1s0f0 symbol_error 0\n", twins), peer: good,
			grade: steps.Fail, code: steps.CableErrors, node: "spark-02",
			words: []string{"rocep1s0f0 and roceP2p1s0f0 on spark-02", "up to 9", "Replug or swap the cable"},
		},
		{
			name: "ethtool", here: good, peer: readings("enp1s0f0np0 rx_crc_errors_phy 5\n",
				"enp1s0f0np0 rx_crc_errors_phy 6\n"), grade: steps.Fail, code: steps.CableErrors, node: "spark-01",
			words: []string{"rx_crc_errors_phy (frames that arrived damaged)"},
		},
		{
			name: "many", here: good,
			grade: steps.Fail, code: steps.CableErrors, node: "spark-01", words: []string{"symbol_error (", "and 1 more"},
			peer: readings("rocep1s0f0 out_of_sequence 0\nrocep1s0f0 packet_seq_err 0\nrocep1s0f0 symbol_error 0\n",
				"rocep1s0f0 out_of_sequence 1\nrocep1s0f0 packet_seq_err 1\nrocep1s0f0 symbol_error 1\n"),
		},
		{
			name: "not an error", here: good,
			peer: readings("rocep1s0f0 np_cnp_sent 0\n"+zero, "rocep1s0f0 np_cnp_sent 9\n"+zero), grade: steps.Pass,
		},
		{
			name: "one rail without", here: good, peer: blind,
			grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
			words: []string{"roceP2p1s0f1 on spark-01 has no known error counter"},
		},
		{
			name: "backwards", here: good, peer: readings("rocep1s0f0 symbol_error 7\n", "rocep1s0f0 symbol_error 1\n"),
			grade: steps.Inconclusive, code: steps.CounterBad, node: "spark-01",
			words: []string{"symbol_error of rocep1s0f0 on spark-01 went backwards"},
		},
		{
			name: "none", here: "clock 100.0\nclock 100.5\n", peer: "clock 100.0\nclock 100.5\n",
			grade: steps.Skipped, code: steps.CounterBad,
		},
	})
}

func TestRailSpeed(t *testing.T) {
	cell := steps.Cell{
		ID: "rail-speed", EachRail: true, Counters: true, Judge: "rail-speed",
		Needs: []string{"ib_write_bw"}, Check: steps.Check{Measures: true},
	}
	j := registered().Judges["rail-speed"]
	good := j(cell, kindtest.Bandwidth(kindtest.Spark(), 92.5))
	kindtest.Want(t, "good", good, steps.Pass, "92.5 Gb/s on each of the 4 rails", "expected 87.9 to 107.5")
	if strings.Contains(good.Reason, "tutorial") {
		t.Errorf("a check is no lesson: %s", good.Reason)
	}
	because(t, "degraded", j(cell, kindtest.Bandwidth(kindtest.Spark(), 13.1)), steps.Fail, steps.AdapterDegraded,
		"13.1 Gb/s, expected at least 87.9",
		"degraded", "power")

	busy := kindtest.Bandwidth(kindtest.Spark(), 92.5)
	busy.Stages[1].Err = "server on spark-01 ended before it was ready, with exit 75"
	o := kindtest.Ran("server", steps.Peer, "busy: something moves data over the rails\n")
	o.Exit.Code, o.ParseErr = busyStatus, parse.ErrNoResult.Error()
	busy.Stages[1].Outputs = []steps.Output{o}
	because(t, "busy", j(cell, busy), steps.Skipped, steps.OtherTraffic, "spark-01")

	// The status alone says nothing.
	o.Text = ""
	busy.Stages[1].Outputs = []steps.Output{o}
	kindtest.Because(t, "another 75", j(cell, busy), steps.Inconclusive, steps.NotRunToEnd)
	kindtest.Because(t, "nothing ran", j(cell, steps.Result{Rig: kindtest.Spark()}), steps.Inconclusive, steps.NothingRan)
	kindtest.Because(t, "skipped", j(cell, steps.Result{Rig: kindtest.Spark(), Skip: "no tool"}), steps.Skipped,
		steps.CannotRun)
}

// because compares a verdict's grade and code, and looks for names and numbers in its reason.
func because(t *testing.T, name string, v steps.Verdict, g steps.Grade, code steps.Code, names ...string) {
	t.Helper()
	kindtest.Because(t, name, v, g, code)
	kindtest.Want(t, name, v, g, names...)
}

func registered() steps.Catalog { return registry.Merge(registry.Base(), Kind()) }
