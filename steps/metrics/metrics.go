// Package metrics is a rig as a monitoring system reads it: OpenMetrics, with the names of
// Prometheus' node_exporter for what that has, and railbench_ for what it hasn't; a line of
// history; and when a check that was fine is no more. It reads what a script printed, and
// runs and serves nothing.
package metrics

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/theory"
)

// ContentType is that of Write's text.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Script prints the counters of every rail, and then how adapters and GPUs are. It reads what
// Vars has.
func Script() string {
	return strings.TrimSuffix(meter.CountersScript, "exit 0") + "echo '" + andHealth + "'\n" + health.Script
}

// Vars are what Script reads.
func Vars() map[string]string { return health.Vars(0) }

// andHealth is the line behind the counters.
const andHealth = "#health"

// A Reading is what Script printed on one node.
type Reading struct {
	Counters meter.Counters
	Health   health.Node // without what the rig knows of the node
}

// Parse reads what Script printed. Counters without the rest are a reading, too.
func Parse(stdout string) (Reading, error) {
	counters, rest, _ := strings.Cut(stdout, andHealth+"\n")
	c, err := meter.ParseCounters(counters)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{Counters: c}
	round, _, whole := strings.Cut(rest, health.End)
	if !whole || r.Health.Take(round) != nil {
		r.Health.Stale = "not told"
	}
	return r, nil
}

// Alarms are those of a node.
func (r Reading) Alarms(n steps.Node) []health.Alarm {
	own := r.Health
	own.Node, own.No, own.Adapter = n.Name, n.No, n.Adapter
	return own.Alarms()
}

// A State is all that is told of a rig at one moment.
type State struct {
	Railbench string
	Simulated bool
	Book      steps.Notebook
	Board     meter.Board // empty where nobody samples
	// Readings and Down are by the nodes' numbers: what was read, or why nothing was.
	Readings map[int]Reading
	Down     map[int]string
}

// A family is a metric with its samples.
type family struct {
	name, kind, unit, help string
	samples                []sample
	seen                   map[string]bool // labels of the samples
}

type sample struct {
	labels []string // name, value, name, value …
	value  float64
	// exact, where not empty, is a counter's digits: 64 bits don't fit into a float64.
	exact string
}

// families are in the order in which they were first named.
type families struct {
	all []*family
	by  map[string]*family
}

func (f *families) add(name, kind, unit, help string, value float64, labels ...string) {
	f.of(name, kind, unit, help).put(sample{labels: labels, value: value})
}

func (f *families) count(name, unit, help string, value uint64, labels ...string) {
	f.of(name, "counter", unit, help).put(sample{labels: labels, exact: strconv.FormatUint(value, 10)})
}

func (f *families) of(name, kind, unit, help string) *family {
	if f.by[name] == nil {
		f.by[name] = &family{name: name, kind: kind, unit: unit, help: help}
		f.all = append(f.all, f.by[name])
	}
	return f.by[name]
}

// put adds a sample, and the first of one set of labels stays: two would be an error to
// whoever reads all of it.
func (f *family) put(s sample) {
	key := strings.Join(s.labels, "\x00")
	if f.seen[key] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[key] = true
	f.samples = append(f.samples, s)
}

// Write writes a state as OpenMetrics.
func Write(w io.Writer, s State) error {
	f := &families{by: map[string]*family{}}
	f.add("railbench", "info", "", "What tells this.", 1, "version", s.Railbench, "rig", s.Book.Rig.Name)
	f.add("railbench_simulated", "gauge", "", "1 where the rig is simulated and nothing was measured on hardware.",
		truth(s.Simulated))
	for _, n := range s.Book.Rig.Nodes {
		f.node(n, s)
	}
	for _, g := range s.Board.Gauges {
		f.gauge(g)
	}
	f.verdicts(s.Book)
	_, err := io.WriteString(w, f.text())
	return err
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// node is what was read on a node.
func (f *families) node(n steps.Node, s State) {
	r, up := s.Readings[n.No]
	f.add("railbench_node_up", "gauge", "", "1 where the node's counters could be read.", truth(up && s.Down[n.No] == ""),
		"node", n.Name)
	if !up {
		return
	}
	for _, rail := range n.Rails {
		port := []string{"node", n.Name, "device", rail.Dev, "port", strconv.Itoa(max(1, rail.Port))}
		f.add("node_infiniband_state_id", "gauge", "", "State of the port (1: down, 2: init, 3: armed, 4: active).",
			stateID(rail.State), port...)
		if rail.RateGbps > 0 {
			f.add("node_infiniband_rate_bytes_per_second", "gauge", "bytes_per_second", "What the link can carry.",
				bytesASecond(rail.RateGbps), port...)
		}
		if ceiling := float64(theory.WireCeiling(rail)); ceiling > 0 {
			f.add("railbench_rail_ceiling_bytes_per_second", "gauge", "bytes_per_second",
				"What the PCIe link behind a rail lets through, on the wire.", bytesASecond(ceiling), port...)
		}
		f.counters(r.Counters, rail, port)
		f.netdev(r.Counters, n.Name, rail.Netdev.Name)
	}
	f.health(n, r)
	if len(r.Health.Heat) > 0 {
		f.limits(n)
	}
}

// health is how hot it is, how the PCIe links came up, and what is an alarm.
func (f *families) health(n steps.Node, r Reading) {
	for _, h := range r.Health.Heat {
		f.add("railbench_adapter_temperature_celsius", "gauge", "celsius", "How hot the adapter is.", h.Celsius, "node",
			n.Name, "device", h.Dev)
	}
	for _, g := range r.Health.GPUs {
		if g.Celsius > 0 {
			f.add("railbench_gpu_temperature_celsius", "gauge", "celsius", "How hot the GPU is.", g.Celsius,
				"node", n.Name, "gpu", strconv.Itoa(g.Index), "name", g.Name)
		}
	}
	for _, l := range r.Health.Links {
		if could := l.Could(); could > 0 {
			f.add("railbench_pcie_link_ratio", "gauge", "ratio", "What a device's PCIe link lets through, of what the device "+
				"could have.",
				math.Round(1000*l.Carries()/could)/1000, "node", n.Name, "device", l.Dev)
		}
	}
	for _, a := range r.Alarms(n) {
		severity := "warning"
		if a.Grade == steps.Fail {
			severity = "critical"
		}
		f.add("railbench_alarm", "gauge", "", "1 for what somebody has to know at once.", 1,
			"node", n.Name, "alarm", a.Kind, "of", a.Of, "severity", severity)
	}
}

// limits are the temperatures of a node's adapters that mean something.
func (f *families) limits(n steps.Node) {
	heat := theory.HeatOf(n.Adapter)
	for _, l := range []struct {
		level string
		limit theory.Limit
	}{{"warning", heat.Warm}, {"critical", heat.Critical}, {"off", heat.Off}} {
		f.add("railbench_adapter_temperature_limit_celsius", "gauge", "celsius",
			"What an adapter's temperature is held against.",
			l.limit.Value(), "node", n.Name, "level", l.level)
	}
}

// stateID is the number of a port's state, as the kernel has it.
func stateID(state string) float64 {
	return float64(1 + max(0, slices.Index([]string{"DOWN", "INIT", "ARMED", "ACTIVE"}, strings.ToUpper(state))))
}

func bytesASecond(gbps float64) float64 { return math.Round(gbps * 1e9 / 8) }

// exported are node_exporter's names of the counters in ports/N/counters (its
// collector/infiniband_linux.go). Both data counters are in words of four bytes.
var exported = map[string]struct{ name, unit, help string }{
	"port_xmit_data":    {"port_data_transmitted_bytes", "bytes", "Bytes that the port sent."},
	"port_rcv_data":     {"port_data_received_bytes", "bytes", "Bytes that the port received."},
	"port_xmit_packets": {"port_packets_transmitted", "", "Packets that the port sent."},
	"port_rcv_packets":  {"port_packets_received", "", "Packets that the port received."},
	"port_xmit_discards": {
		"port_discards_transmitted", "",
		"Packets that the port dropped in place of sending them.",
	},
	"port_rcv_errors": {"port_errors_received", "", "Packets that came with an error."},
	"port_xmit_wait": {
		"port_transmit_wait", "",
		"Ticks in which there was something to send and it could not be.",
	},
	"port_xmit_constraint_errors": {
		"port_constraint_errors_transmitted", "",
		"Packets that a switch's port did not send.",
	},
	"port_rcv_constraint_errors": {"port_constraint_errors_received", "", "Packets that a switch's port dropped."},
	"unicast_xmit_packets":       {"unicast_packets_transmitted", "", "Unicast packets sent."},
	"unicast_rcv_packets":        {"unicast_packets_received", "", "Unicast packets received."},
	"multicast_xmit_packets":     {"multicast_packets_transmitted", "", "Multicast packets sent."},
	"multicast_rcv_packets":      {"multicast_packets_received", "", "Multicast packets received."},
	"link_downed":                {"link_downed", "", "How often the link went down."},
	"link_error_recovery":        {"link_error_recovery", "", "How often the link recovered from an error."},
}

// wordBytes is the unit of both data counters.
const wordBytes = 4

func (f *families) counters(c meter.Counters, rail steps.Rail, port []string) {
	all := c.Port(rail.Dev, max(1, rail.Port))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if known, ok := exported[name]; ok {
			if known.unit == "bytes" {
				value *= wordBytes
			}
			f.count("node_infiniband_"+known.name, known.unit, known.help, value, port...)
			continue
		}
		f.count("railbench_port_counter", "", "The port's other counters, by the kernel's names.", value,
			append(slices.Clip(port), "counter", name)...)
	}
}

func (f *families) netdev(c meter.Counters, node, name string) {
	for counter, known := range map[string]struct{ name, unit, help string }{
		"tx_bytes":        {"node_network_transmit_bytes", "bytes", "Bytes that the interface sent."},
		"rx_bytes":        {"node_network_receive_bytes", "bytes", "Bytes that the interface received."},
		"carrier_changes": {"node_network_carrier_changes", "", "How often the interface lost or found its carrier."},
	} {
		if value, ok := c.Netdev(name)[counter]; ok {
			f.count(known.name, known.unit, known.help, value, "node", node, "device", name)
		}
	}
}

// gauge is what a needle shows.
func (f *families) gauge(g meter.Gauge) {
	if g.Stale != "" {
		return // a rate of before is none of now
	}
	for _, way := range []struct {
		name string
		flow meter.Flow
	}{{"transmit", g.Tx}, {"receive", g.Rx}} {
		for _, kind := range []struct {
			name string
			gbps float64
		}{{"rdma", way.flow.RDMA}, {"ip", way.flow.IP}} {
			f.add("railbench_rail_"+way.name+"_bytes_per_second", "gauge", "bytes_per_second",
				"What the gauge shows, on the wire.", bytesASecond(kind.gbps), "node", g.Node, "device", g.Dev,
				"port", strconv.Itoa(max(1, g.Port)), "traffic", kind.name)
		}
	}
}

// verdicts are what the cells and checks came to the last time.
func (f *families) verdicts(book steps.Notebook) {
	for _, id := range slices.Sorted(maps.Keys(book.Cells)) {
		s := book.Cells[id]
		if s.Running || s.Verdict.Grade == steps.NotRun {
			continue
		}
		c, _ := book.Tutorial.Cell(id)
		f.add("railbench_verdict", "gauge", "", "1 for the verdict that a cell or a check came to last.", 1,
			"cell", id, "part", c.Part, "verdict", s.Verdict.Grade.String())
		if !s.Started.IsZero() {
			f.add("railbench_verdict_timestamp_seconds", "gauge", "seconds", "When it did.",
				float64(s.Started.Add(s.Elapsed).UnixMilli())/1000, "cell", id)
		}
	}
}

// text has the families in the order of their names.
func (f *families) text() string {
	slices.SortFunc(f.all, func(a, b *family) int { return cmp.Compare(a.name, b.name) })
	var b strings.Builder
	for _, m := range f.all {
		fmt.Fprintf(&b, "# TYPE %s %s\n", m.name, m.kind)
		if m.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", m.name, m.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", m.name, m.help)
		suffix := map[string]string{"counter": "_total", "info": "_info"}[m.kind]
		for _, s := range m.samples {
			b.WriteString(m.name + suffix + labels(s.labels) + " ")
			if s.exact != "" {
				b.WriteString(s.exact)
			} else {
				b.WriteString(strconv.FormatFloat(s.value, 'f', -1, 64))
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labels are {name="value",…}; a value may have come from a node.
func labels(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	var all []string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, pairs[i]+`="`+escaped.Replace(gate.Line(pairs[i+1]))+`"`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// A Line is what history keeps of a node at one moment.
type Line struct {
	At    time.Time           `json:"at"`
	Node  string              `json:"node"`
	Error string              `json:"error,omitempty"`
	Rails map[string]RailLine `json:"rails,omitempty"` // by RDMA device
	// GPUs are their temperatures by their numbers, and Alarms what was one.
	GPUs   map[int]float64 `json:"gpuCelsius,omitempty"`
	Alarms []string        `json:"alarms,omitempty"`
}

// A RailLine has rates since the line before, on the wire; null where they can't be told.
type RailLine struct {
	TxGbps  *float64          `json:"txGbps"`
	RxGbps  *float64          `json:"rxGbps"`
	Celsius *float64          `json:"celsius,omitempty"`
	Errors  map[string]uint64 `json:"errors,omitempty"` // error counters that grew
}

// Between is a node's line of history from two readings; before is nil for the first.
func Between(at time.Time, n steps.Node, before *Reading, now Reading) Line {
	l := Line{At: at, Node: n.Name, Rails: map[string]RailLine{}, GPUs: map[int]float64{}}
	for _, g := range now.Health.GPUs {
		if g.Celsius > 0 {
			l.GPUs[g.Index] = g.Celsius
		}
	}
	for _, a := range now.Alarms(n) {
		l.Alarms = append(l.Alarms, a.Kind+": "+a.Text)
	}
	for _, rail := range n.Rails {
		var one RailLine
		for _, h := range now.Health.Heat {
			if h.Dev == rail.Dev {
				one.Celsius = &h.Celsius
			}
		}
		if before != nil {
			place := meter.Place{Dev: rail.Dev, Port: max(1, rail.Port), Netdev: rail.Netdev.Name}
			m, err := meter.Between(before.Counters, before.Counters, now.Counters, place)
			if seconds := now.Counters.Clock - before.Counters.Clock; err == nil && seconds > 0 {
				one.TxGbps, one.RxGbps = gbps(m.Tx, seconds), gbps(m.Rx, seconds)
				one.Errors = m.Errors
			}
		}
		l.Rails[rail.Dev] = one
	}
	return l
}

func gbps(bytes uint64, seconds float64) *float64 {
	v := math.Round(float64(bytes)*8/seconds/1e6) / 1000
	return &v
}

// An Alarm is a check that is not as it was.
type Alarm struct {
	Cell   steps.Cell
	Before steps.Grade // NotRun for the first time
	Now    steps.Verdict
}

// Cleared reports whether what was wrong is right again.
func (a Alarm) Cleared() bool { return a.Now.Grade == steps.Pass }

// Alarms are the checks whose verdicts tell somebody something new: what is wrong the first
// time, what has become wrong or worse, and what is right again. SKIPPED is no news, and
// hides none: what can't be looked at any more is told by INCONCLUSIVE.
func Alarms(checks []steps.Cell, before map[string]steps.Grade, now map[string]steps.Verdict) []Alarm {
	var all []Alarm
	for _, c := range checks {
		old, v := before[c.ID], now[c.ID]
		switch {
		case v.Grade == old || v.Grade == steps.NotRun || v.Grade == steps.Skipped:
		case v.Grade == steps.Pass && (old == steps.NotRun || old == steps.Skipped):
		default:
			all = append(all, Alarm{c, old, v})
		}
	}
	return all
}
