package metrics

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
)

const printed = `%s
/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_xmit_data:%d
/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_rcv_data:4611686018427387903
/sys/class/infiniband/rocep1s0f0/ports/1/counters/port_rcv_errors:%d
/sys/class/infiniband/rocep1s0f0/ports/1/hw_counters/out_of_sequence:7
/sys/class/net/enp1s0f0np0/statistics/tx_bytes:12345
/sys/class/net/enp1s0f0np0/carrier_changes:2
#health
rocep1s0f0: 0000:01:00.0 32.0 x2 of 32.0 x4, slot 32.0 x4
heat rocep1s0f0: 116500 hwmon
rocep1s0f1: 0000:01:00.1 32.0 x2 of 32.0 x4, slot 32.0 x4
heat rocep1s0f1: -273000 hwmon
adapters: 2
#nvidia-smi
index, name, temperature.gpu, clocks_event_reasons.hw_thermal_slowdown
0, NVIDIA GB10, 44, Not Active
#end
`

func reading(t *testing.T, clock string, words, errs int) Reading {
	t.Helper()
	r, err := Parse(fmt.Sprintf(printed, clock, words, errs))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rig() steps.Rig {
	rig := steps.NewRig("lab", false, 2)
	for i, name := range []string{"spark-02", "spark-01"} {
		rig.Nodes[i].No, rig.Nodes[i].Name = i, name
		rig.Nodes[i].Rails = []steps.Rail{
			{Dev: "rocep1s0f0", Port: 1, Netdev: steps.Netdev{Name: "enp1s0f0np0"}, State: "ACTIVE", RateGbps: 200},
			{Dev: "rocep1s0f1", Port: 1, Netdev: steps.Netdev{Name: "enp1s0f1np1"}, State: "DOWN", RateGbps: 200},
		}
	}
	return rig
}

func state(t *testing.T) State {
	book := steps.NewNotebook(steps.Tutorial{Parts: []steps.Part{{
		ID:    "p",
		Cells: []steps.Cell{{ID: "a", Part: "p"}, {ID: "b", Part: "p"}},
	}}})
	for _, e := range []steps.Event{
		steps.RigProbed{Rig: rig()},
		steps.CellStarted{Run: 1, Cell: "a", At: time.Unix(1000, 0)},
		steps.CellEnded{Run: 1, Cell: "a", Elapsed: 1500 * time.Millisecond, Verdict: steps.Verdict{Grade: steps.Fail}},
		steps.CellStarted{Run: 2, Cell: "b", At: time.Unix(1000, 0)},
	} {
		book = book.Apply(e)
	}
	return State{
		Railbench: "1.2.3", Simulated: true, Book: book,
		Board: meter.Board{Gauges: []meter.Gauge{
			{Node: "spark-02", Dev: "rocep1s0f0", Tx: meter.Flow{RDMA: 92.5, IP: 0.5}},
			{Node: "spark-01", Dev: "rocep1s0f0", Stale: "no sample for 3s", Tx: meter.Flow{RDMA: 50}},
		}},
		Readings: map[int]Reading{0: reading(t, "100", 1000, 3)}, Down: map[int]string{1: "connection refused"},
	}
}

// What OpenMetrics 1.0 asks for, as far as Write could break it.
func holdsOpenMetrics(t *testing.T, text string) (values map[string]string) {
	t.Helper()
	values = map[string]string{}
	if !strings.HasSuffix(text, "\n# EOF\n") || strings.Count(text, "\n# EOF\n") != 1 {
		t.Errorf("it doesn't end as it must: %.60q", text[max(0, len(text)-60):])
	}
	form := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (-?[0-9.]+)$`)
	family, kind, seen := "", "", map[string]bool{}
	for line := range strings.Lines(strings.TrimSuffix(text, "# EOF\n")) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			family, kind, _ = strings.Cut(rest, " ")
			if seen[family] {
				t.Errorf("%s comes twice", family)
			}
			seen[family] = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# UNIT "); ok {
			if name, unit, _ := strings.Cut(rest, " "); name != family || !strings.HasSuffix(family, "_"+unit) {
				t.Errorf("%s: the name doesn't end with its unit", line)
			}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			if name, _, _ := strings.Cut(rest, " "); name != family {
				t.Errorf("%s: among %s", line, family)
			}
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%q is no sample", line)
			continue
		}
		want := family + map[string]string{"counter": "_total", "info": "_info", "gauge": ""}[kind]
		if m[1] != want {
			t.Errorf("%s is among %s, a %s", m[1], family, kind)
		}
		if _, twice := values[m[1]+m[2]]; twice {
			t.Errorf("%s%s comes twice", m[1], m[2])
		}
		values[m[1]+m[2]] = m[3]
	}
	return values
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, state(t)); err != nil {
		t.Fatal(err)
	}
	got := holdsOpenMetrics(t, b.String())
	port := `{node="spark-02",device="rocep1s0f0",port="1"}`
	for name, want := range map[string]string{
		"node_infiniband_port_data_transmitted_bytes_total" + port: "4000",
		// 2^62-1 words: more digits than a float64 has.
		"node_infiniband_port_data_received_bytes_total" +
			port: "18446744073709551612",
		"node_infiniband_port_errors_received_total" + port:                      "3",
		"node_infiniband_state_id" + port:                                        "4",
		`node_infiniband_state_id{node="spark-02",device="rocep1s0f1",port="1"}`: "1",
		"node_infiniband_rate_bytes_per_second" +
			port: "25000000000",
		`railbench_port_counter_total{node="spark-02",device="rocep1s0f0",port="1",counter="out_of_sequence"}`:  "7",
		`node_network_transmit_bytes_total{node="spark-02",device="enp1s0f0np0"}`:                               "12345",
		`node_network_carrier_changes_total{node="spark-02",device="enp1s0f0np0"}`:                              "2",
		`railbench_adapter_temperature_celsius{node="spark-02",device="rocep1s0f0"}`:                            "116.5",
		`railbench_gpu_temperature_celsius{node="spark-02",gpu="0",name="NVIDIA GB10"}`:                         "44",
		`railbench_pcie_link_ratio{node="spark-02",device="rocep1s0f1"}`:                                        "0.5",
		`railbench_adapter_temperature_limit_celsius{node="spark-02",level="critical"}`:                         "102",
		`railbench_alarm{node="spark-02",alarm="adapter-temperature",of="",severity="critical"}`:                "1",
		`railbench_alarm{node="spark-02",alarm="pcie-link",of="0000:01:00",severity="warning"}`:                 "1",
		`railbench_node_up{node="spark-02"}`:                                                                    "1",
		`railbench_node_up{node="spark-01"}`:                                                                    "0",
		`railbench_rail_transmit_bytes_per_second{node="spark-02",device="rocep1s0f0",port="1",traffic="rdma"}`: "11562500000",
		`railbench_verdict{cell="a",part="p",verdict="FAIL"}`:                                                   "1",
		`railbench_verdict_timestamp_seconds{cell="a"}`:                                                         "1001.5",
		"railbench_simulated":                       "1",
		`railbench_info{version="1.2.3",rig="lab"}`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	for name := range got {
		for _, not := range []string{
			`temperature_celsius{node="spark-02",device="rocep1s0f1"`,           // its sensor is off
			`node_infiniband_port_data_transmitted_bytes_total{node="spark-01"`, // it was not read
			`transmit_bytes_per_second{node="spark-01"`,                         // its gauge is stale
			`cell="b"`, // it runs
		} {
			if strings.Contains(name, not) {
				t.Errorf("%s is told", name)
			}
		}
	}
}

// What a node says of itself stays within its label, and a hundred rails of one name are one.
func TestWriteForged(t *testing.T) {
	s := state(t)
	text := "a\"} 1\n# EOF\nforged 1\n\\\x1b[31m\u202e\xff"
	s.Railbench = text
	s.Book.Rig.Nodes[0].Name = text
	s.Book.Rig.Nodes[0].Rails = slices.Repeat(s.Book.Rig.Nodes[0].Rails, 50)
	s.Board.Gauges[0].Node, s.Board.Gauges[0].Dev = text, text
	s.Board.Gauges = slices.Repeat(s.Board.Gauges, 2)
	var b strings.Builder
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	got := holdsOpenMetrics(t, b.String())
	if len(got) < 20 || strings.Contains(b.String(), "\nforged") ||
		strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && gate.Controls(r) || r == utf8.RuneError }) {
		t.Errorf("%s", b.String())
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"", "no clock", "x\n/sys/class/infiniband/a/ports/1/counters/port_xmit_data:1"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is a reading", bad)
		}
	}
	if got := reading(t, "5", 1, 1).Health; len(got.Heat) != 1 || got.Heat[0].Celsius != 116.5 || got.Stale != "" {
		t.Errorf("%+v", got)
	}
	counters, _, _ := strings.Cut(fmt.Sprintf(printed, "5", 1, 1), "#health")
	for name, rest := range map[string]string{
		"none": "", "half of a round": "#health\nadapters: 2\n",
		"nonsense": "#health\n#end\n",
	} {
		if got, err := Parse(counters + rest); err != nil || got.Health.Stale == "" || got.Alarms(rig().Nodes[0]) != nil {
			t.Errorf("%s of its adapters: %v %+v", name, err, got.Health)
		}
	}
}

// A line of history has the rates of the node's own clock, and none where nobody knows.
func TestBetween(t *testing.T) {
	n := rig().Nodes[0]
	first, next := reading(t, "100", 1000, 3), reading(t, "110", 1000+25_000_000, 5)
	l := Between(time.Unix(1, 0), n, nil, first)
	if one := l.Rails["rocep1s0f0"]; one.TxGbps != nil || one.Celsius == nil || *one.Celsius != 116.5 {
		t.Errorf("the first line: %+v", one)
	}
	l = Between(time.Unix(2, 0), n, &first, next)
	one := l.Rails["rocep1s0f0"]
	// 100 MB in 10 s.
	if one.TxGbps == nil || math.Abs(*one.TxGbps-0.08) > 1e-9 || *one.RxGbps != 0 || one.Errors["port_rcv_errors"] != 2 {
		t.Errorf("%+v", one)
	}
	if other := l.Rails["rocep1s0f1"]; other.TxGbps != nil {
		t.Errorf("a rail without counters: %+v", other)
	}
	for name, again := range map[string]Reading{
		"a counter that went backwards": reading(t, "110", 1, 3),
		"a clock that did":              reading(t, "90", 9999, 3),
	} {
		if one := Between(time.Unix(2, 0), n, &first, again).Rails["rocep1s0f0"]; one.TxGbps != nil {
			t.Errorf("%s: %v", name, *one.TxGbps)
		}
	}
}

func TestAlarms(t *testing.T) {
	for _, c := range []struct {
		before, now steps.Grade
		told        bool
		cleared     bool
	}{
		{steps.NotRun, steps.Pass, false, false},
		{steps.NotRun, steps.Fail, true, false},
		{steps.NotRun, steps.Warn, true, false},
		{steps.NotRun, steps.Skipped, false, false},
		{steps.NotRun, steps.Inconclusive, true, false},
		{steps.Pass, steps.Fail, true, false},
		{steps.Fail, steps.Fail, false, false},
		{steps.Warn, steps.Fail, true, false},
		{steps.Fail, steps.Warn, true, false},
		{steps.Fail, steps.Pass, true, true},
		{steps.Fail, steps.Skipped, false, false},
		{steps.Pass, steps.Inconclusive, true, false},
		{steps.Inconclusive, steps.Pass, true, true},
		{steps.Pass, steps.NotRun, false, false},
	} {
		got := Alarms([]steps.Cell{{ID: "a"}}, map[string]steps.Grade{"a": c.before},
			map[string]steps.Verdict{"a": {Grade: c.now}})
		if (len(got) == 1) != c.told || c.told && got[0].Cleared() != c.cleared {
			t.Errorf("from %q to %q: %+v", c.before, c.now, got)
		}
	}
}

// Eight rails of other names, of which half are InfiniBand and have no interface, and two ports of one device.
func TestOtherAdapters(t *testing.T) {
	s := state(t)
	s.Book.Rig = steps.NewRig("lab", false, 2)
	s.Board.Gauges = nil
	var counters strings.Builder
	for i := range 8 {
		rail := steps.Rail{Dev: fmt.Sprintf("mlx5_%d", i), Port: 1, State: "ACTIVE", RateGbps: 400}
		if i == 7 {
			rail.Dev, rail.Port = "mlx5_6", 2
		}
		if i < 4 {
			rail.Layer = "InfiniBand"
		} else {
			rail.Netdev.Name = fmt.Sprintf("eth%d", i)
		}
		s.Book.Rig.Nodes[0].Rails = append(s.Book.Rig.Nodes[0].Rails, rail)
		s.Board.Gauges = append(s.Board.Gauges,
			meter.Gauge{Node: "a", Dev: rail.Dev, Port: rail.Port, Tx: meter.Flow{RDMA: float64(i)}})
		fmt.Fprintf(&counters, "/sys/class/infiniband/%s/ports/%d/counters/port_xmit_data:%d\n", rail.Dev, rail.Port, 1000+i)
	}
	s.Book.Rig.Nodes[0].Name = "a"
	r, err := Parse("100\n" + counters.String() + "#health\nadapters: 8\n#end\n")
	if err != nil {
		t.Fatal(err)
	}
	s.Readings = map[int]Reading{0: r}
	var text strings.Builder
	if err := Write(&text, s); err != nil {
		t.Fatal(err)
	}
	values := holdsOpenMetrics(t, text.String())
	for sample, want := range map[string]string{
		`node_infiniband_port_data_transmitted_bytes_total{node="a",device="mlx5_0",port="1"}`:       "4000",
		`node_infiniband_port_data_transmitted_bytes_total{node="a",device="mlx5_6",port="1"}`:       "4024",
		`node_infiniband_port_data_transmitted_bytes_total{node="a",device="mlx5_6",port="2"}`:       "4028",
		`node_infiniband_rate_bytes_per_second{node="a",device="mlx5_3",port="1"}`:                   "50000000000",
		`railbench_rail_transmit_bytes_per_second{node="a",device="mlx5_6",port="1",traffic="rdma"}`: "750000000",
		`railbench_rail_transmit_bytes_per_second{node="a",device="mlx5_6",port="2",traffic="rdma"}`: "875000000",
	} {
		if values[sample] != want {
			t.Errorf("%s is %q, want %q", sample, values[sample], want)
		}
	}
	if strings.Contains(text.String(), `device=""`) {
		t.Error("a rail without an interface has one with no name")
	}
}

// A reading's alarm and the limits beside it are those of the same adapter.
func TestAlarmsAreOfTheNodesAdapter(t *testing.T) {
	n := rig().Nodes[0]
	r := reading(t, "100", 1000, 3) // at 116.5 degrees
	r.Health.Heat[0].Celsius = 104
	for adapter, want := range map[string]int{"ConnectX-7, firmware 28.45.4028": 1, "ConnectX-5, firmware 16.35.2000": 0} {
		n.Adapter = adapter
		heat := slices.DeleteFunc(r.Alarms(n), func(a health.Alarm) bool { return a.Kind != health.AdapterHeat })
		if len(heat) != want {
			t.Errorf("%s at 104 degrees: %v", adapter, heat)
		}
	}
}
