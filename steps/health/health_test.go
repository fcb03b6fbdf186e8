package health

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// spark is a round of a node with two functions of one half and a GPU; rest stands behind them.
func spark(heat, link, rest string) string {
	return "rocep1s0f0: 0000:01:00.0 " + link + "\nheat rocep1s0f0: " + heat +
		"\nrocep1s0f1: 0000:01:00.1 " + link + "\nheat rocep1s0f1: 50000 hwmon\nadapters: 2\n" + rest
}

const (
	wide = "32.0 x4 of 32.0 x4, slot 32.0 x4"
	gpu  = "#nvidia-smi\nindex, name, temperature.gpu, clocks_event_reasons.hw_thermal_slowdown, " +
		"clocks_event_reasons.hw_power_brake_slowdown\n"
	lacks = "kernel log: asked\n#log\n[1.0] mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 1): Detected " +
		"insufficient power on the PCIe slot (26W).\n"
	enough = "[9.0] mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 1): PCIe slot advertised sufficient power (75W).\n"
)

func TestAlarms(t *testing.T) {
	for _, c := range []struct {
		name  string
		round string
		want  []string // kind, grade and a word of each
	}{
		{"all is well", spark("58000 hwmon", wide, gpu+"0, NVIDIA GB10, 44, Not Active, Not Active\n"), nil},
		{"just below", spark("96900 hwmon", wide, ""), nil},
		{"warm", spark("97000 hwmon", wide, ""), []string{"adapter-temperature WARN warns from 97"}},
		{
			"critical", spark("102000 hwmon", wide, ""),
			[]string{"adapter-temperature FAIL critical for a ConnectX-7 from 102"},
		},
		{
			"emergency", spark("110 mget_temp", wide, ""),
			[]string{"adapter-temperature FAIL switches off at 110"},
		},
		{"a sensor that is off", spark("0 hwmon", wide, ""), nil},
		{"nonsense", spark("255000 hwmon", wide, ""), nil},
		{
			"half of the lanes", spark("58000 hwmon", "32.0 x2 of 32.0 x4", ""),
			[]string{"pcie-link WARN rocep1s0f0, rocep1s0f1: the PCIe link came up as PCIe Gen5 x2, of PCIe Gen5 x4"},
		},
		{"an older generation", spark("58000 hwmon", "16.0 x4 of 32.0 x4", ""), []string{"pcie-link WARN PCIe Gen4 x4, of"}},
		{"a link that isn't told", spark("58000 hwmon", "Unknown x0 of 32.0 x4", ""), nil},
		{"the slot's power", spark("58000 hwmon", wide, lacks), []string{"slot-power WARN (26 W)"}},
		{"power that came", spark("58000 hwmon", wide, lacks+enough), nil},
		{
			"a hot GPU", spark("58000 hwmon", wide, gpu+"0, NVIDIA GB10, 93, Active, Not Active\n"),
			[]string{"gpu-slowed WARN slowed by its own heat, at 93 °C"},
		},
		{
			"a GPU without power", spark("58000 hwmon", wide, gpu+"0, NVIDIA GB10, [N/A], Not Active, Active\n"),
			[]string{"gpu-slowed WARN by its power supply"},
		},
		{
			"a driver that answers nobody",
			spark("58000 hwmon", wide, "#nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA "+
				"driver.\n"), nil,
		},
		{"the worst first", spark("117000 hwmon", "32.0 x2 of 32.0 x4", lacks), []string{
			"adapter-temperature FAIL 117", "pcie-link WARN x2", "slot-power WARN 26 W",
		}},
	} {
		n := Node{Node: "spark-01"}
		if err := n.Take(c.round); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		all := n.Alarms()
		if len(all) != len(c.want) {
			t.Errorf("%s: %v", c.name, all)
			continue
		}
		for i, a := range all {
			kind, rest, _ := strings.Cut(c.want[i], " ")
			grade, word, _ := strings.Cut(rest, " ")
			if a.Kind != kind || a.Grade.String() != grade || !strings.Contains(a.Text, word) ||
				a.Standing != (kind == SlotPower) {
				t.Errorf("%s: %+v, not %s", c.name, a, c.want[i])
			}
		}
	}
}

// What a round leaves out stays; what it reports again is as it is now; what is not a round changes nothing.
func TestTake(t *testing.T) {
	n := Node{Node: "spark-01"}
	take := func(round string) {
		t.Helper()
		if err := n.Take(round); err != nil {
			t.Fatal(err)
		}
	}
	take(spark("58000 hwmon", wide, lacks+gpu+"0, NVIDIA GB10, 93, Active, Not Active\n"))
	take(spark("59000 hwmon", wide, ""))
	if h, ok := n.Hottest(); !ok || h.Celsius != 59 || len(n.GPUs) != 1 || len(n.Slots) != 1 || len(n.Alarms()) != 2 {
		t.Errorf("%+v", n)
	}
	for _, bad := range []string{"", "adapters", strings.Repeat("x: y\n", 9), "\xff\x00: \x1b"} {
		if before := n; n.Take(bad) == nil || !n.Same(before) {
			t.Errorf("%q: %+v", bad, n)
		}
	}
	take(spark("unknown", wide, "kernel log: asked\n"+gpu+"0, NVIDIA GB10, 61, Not Active, Not Active\n"))
	if h, _ := n.Hottest(); len(n.Heat) != 1 || h.Celsius != 50 || len(n.Slots) != 0 || n.Alarms() != nil {
		t.Errorf("%+v", n)
	}
	take("adapters: 0\n") // soft-RoCE, or the adapter is gone
	if _, ok := n.Hottest(); ok || len(n.Links) != 0 {
		t.Errorf("%+v", n)
	}
}

// What is too old is not an alarm, and what stands is not urgent.
func TestUrgent(t *testing.T) {
	hot, lacking := Node{Node: "a"}, Node{Node: "b", No: 1}
	for n, round := range map[*Node]string{
		&hot:     spark("98000 hwmon", wide, ""),
		&lacking: spark("58000 hwmon", wide, lacks),
	} {
		if err := n.Take(round); err != nil {
			t.Fatal(err)
		}
	}
	if a, ok := Urgent([]Node{lacking, hot}); !ok || a.Node != "a" || a.Grade != steps.Warn {
		t.Errorf("%v", a)
	}
	if a, ok := Urgent([]Node{lacking}); ok {
		t.Errorf("%v", a)
	}
	hot.Stale = "no connection"
	if a, ok := Urgent([]Node{hot}); ok {
		t.Errorf("%v", a)
	}
}

// A real shell runs the script: here, where there may be no adapter, and once.
func TestScript(t *testing.T) {
	for _, shell := range []string{"sh", "bash"} {
		if shell != "sh" {
			if _, err := exec.LookPath(shell); err != nil || !testform.Full() {
				continue
			}
		}
		cmd := exec.CommandContext(t.Context(), shell, "-c", "EVERY=0\n"+scripts.Health)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Fatalf("%s: %v: %s", shell, err, errs.String())
		}
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if i := slices.Index(lines, End); i != len(lines)-1 {
			t.Errorf("%s: %q", shell, out)
		}
		if err := (&Node{}).Take(string(out)); err != nil {
			t.Errorf("%s: %v", shell, err)
		}
	}
}

// An older adapter stands more.
func TestAlarmsOfAnOlderAdapter(t *testing.T) {
	for celsius, want := range map[float64]steps.Grade{
		104: steps.Pass, 105: steps.Warn, 114: steps.Warn,
		115: steps.Fail,
	} {
		n := Node{Node: "a", Adapter: "ConnectX-5, firmware 16.35.2000", Heat: []Heat{{Dev: "mlx5_0", Celsius: celsius}}}
		got := steps.Pass
		if all := n.Alarms(); len(all) > 0 {
			got = all[0].Grade
		}
		if got != want {
			t.Errorf("%.0f degrees: %s, want %s", celsius, got, want)
		}
	}
}
