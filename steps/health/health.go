// Package health is how a node's hardware is while its counters move: how hot its adapters and GPUs are, how their
// PCIe links came up, and whether an adapter complains of its slot's power. It reads what a script printed, and says
// what of it a user in front of an audience has to know at once. It runs nothing; the checklist looks closer, and
// says what to do.
package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/strictnum"
)

// A Node is what the last rounds of scripts.Health reported about one node.
type Node struct {
	Node    string
	No      int    // its number in the rig file, from 0
	Adapter string // as steps.Node has it: what its heat is held against
	// Links and Heat are of RDMA devices that are PCI functions, in the order of their names. A
	// device without a sensor, or whose sensor is off, has no heat.
	Links []Link
	Heat  []Heat
	GPUs  []GPU
	// Slots are the adapters that have said last that their slot's power is too little.
	Slots []Slot
	// Stale says why there is nothing fresh; empty while there is.
	Stale string
}

// A Heat is a device's temperature.
type Heat struct {
	Dev     string
	Celsius float64
	From    string // hwmon or mget_temp
}

// A GPU is one that nvidia-smi lists.
type GPU struct {
	Index   int
	Name    string
	Celsius float64 // 0 where it isn't reported
	// Slowed is why it is slower than it could be: its own heat, or a power supply that brakes it.
	Slowed string
}

// A Slot is what an adapter said of its slot's power.
type Slot struct {
	PCI   string
	Watts int
}

// Hottest is the hottest of the adapters; ok is false where none reports.
func (n Node) Hottest() (h Heat, ok bool) {
	for _, one := range n.Heat {
		if one.Celsius > h.Celsius {
			h = one
		}
	}
	return h, len(n.Heat) > 0
}

// HottestGPU is the hottest of the GPUs; ok is false where none reports.
func (n Node) HottestGPU() (g GPU, ok bool) {
	for _, one := range n.GPUs {
		if one.Celsius > g.Celsius {
			g = one
		}
	}
	return g, g.Celsius > 0
}

// Same reports whether two nodes look the same to the reader: temperatures are shown in whole degrees.
func (n Node) Same(o Node) bool {
	degrees := func(a, b float64) bool { return math.Round(a) == math.Round(b) }
	return n.Node == o.Node && n.No == o.No && n.Stale == o.Stale && slices.Equal(n.Links, o.Links) &&
		slices.Equal(n.Slots, o.Slots) &&
		slices.EqualFunc(n.Heat, o.Heat, func(a, b Heat) bool {
			return a.Dev == b.Dev && a.From == b.From && degrees(a.Celsius, b.Celsius)
		}) &&
		slices.EqualFunc(n.GPUs, o.GPUs, func(a, b GPU) bool {
			return a.Index == b.Index && a.Name == b.Name && a.Slowed == b.Slowed && degrees(a.Celsius, b.Celsius)
		})
}

// Take adds what one round of scripts.Health has printed. What a round left out, because it isn't asked for each time,
// stays as it was; the error says that it is not a round.
func (n *Node) Take(round string) error {
	h, err := parse.HardwareOutput(round)
	if err != nil || h.Facts["adapters"] == "" {
		return fmt.Errorf("%.80q is not a round of the look at adapters", round)
	}
	n.Links, n.Heat = nil, nil
	for name, text := range h.Facts {
		if dev, ok := strings.CutPrefix(name, "heat "); ok {
			if celsius, from, ok := Degrees(text); ok {
				n.Heat = append(n.Heat, Heat{dev, celsius, from})
			}
			continue
		}
		if l, ok := ReadLink(name, text); ok {
			n.Links = append(n.Links, l)
		}
	}
	slices.SortFunc(n.Heat, func(a, b Heat) int { return strings.Compare(a.Dev, b.Dev) })
	slices.SortFunc(n.Links, func(a, b Link) int { return strings.Compare(a.Dev, b.Dev) })
	if strings.Contains(round, "#nvidia-smi\n") {
		n.GPUs = gpus(h.GPU)
	}
	if h.Facts["kernel log"] != "" {
		n.Slots = slots(h.Log)
	}
	return nil
}

// Degrees reads "58000 hwmon", which is in thousandths, or "58 mget_temp". A sensor that is off
// says 0, or nonsense: ok is false then.
func Degrees(text string) (celsius float64, from string, ok bool) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, "", false
	}
	celsius, ok = strictnum.Number(words[0])
	if words[1] == "hwmon" {
		celsius /= 1000
	}
	return celsius, words[1], ok && celsius > 0 && celsius < 250
}

// gpus are those that nvidia-smi lists, with what it says that slows them. Old drivers say
// clocks_throttle_reasons for clocks_event_reasons.
func gpus(smi parse.NvidiaSMI) (all []GPU) {
	for i, row := range smi.Rows {
		g := GPU{Index: i, Name: row.Name}
		if row.Index != nil {
			g.Index = *row.Index
		}
		if row.TemperatureC != nil {
			g.Celsius = *row.TemperatureC
		}
		for name, value := range row.Fields {
			switch {
			case value != "Active":
			case strings.HasSuffix(name, "thermal_slowdown"):
				g.Slowed = "its own heat"
			case strings.HasSuffix(name, "power_brake_slowdown"):
				g.Slowed = cmp.Or(g.Slowed, "its power supply")
			}
		}
		all = append(all, g)
	}
	return all
}

// slots are the adapters whose last word on their slot's power was that it is too little.
func slots(log []parse.KernelEvent) (all []Slot) {
	for _, e := range log {
		if e.Kind != "insufficient-power" && e.Kind != "power-enough" {
			continue
		}
		all = slices.DeleteFunc(all, func(s Slot) bool { return s.PCI == e.Device })
		if e.Kind == "insufficient-power" {
			all = append(all, Slot{e.Device, e.Watts})
		}
	}
	return all
}

// An Alarm is what a user has to know at once.
type Alarm struct {
	Kind  string // AdapterHeat …
	Grade steps.Grade
	Node  string
	Text  string // without the node's name
	// Standing is set where it was so since the node came up, gets no worse and stops nothing.
	Standing bool
}

// String is the alarm with the node's name.
func (a Alarm) String() string { return a.Node + ": " + a.Text }

// The kinds of alarms. The first two are checks, too, which say more.
const (
	AdapterHeat = "adapter-temperature"
	PCIeLink    = "pcie-link"
	GPUSlowed   = "gpu-slowed"
	SlotPower   = "slot-power"
)

// Alarms are those of a node, the worst first; none of what was heard too long ago.
func (n Node) Alarms() (all []Alarm) {
	if n.Stale != "" {
		return nil
	}
	add := func(kind string, grade steps.Grade, text string) {
		all = append(all, Alarm{
			Kind: kind, Grade: grade, Node: n.Node, Text: text, Standing: kind == SlotPower,
		})
	}
	limits := limits.HeatOf(n.Adapter)
	if h, ok := n.Hottest(); ok && limits.Grade(h.Celsius) > steps.Pass {
		add(AdapterHeat, limits.Grade(h.Celsius),
			fmt.Sprintf("the adapter is at %.0f °C; %s", h.Celsius, limits.Says(h.Celsius)))
	}
	for _, g := range n.GPUs {
		if g.Slowed != "" {
			add(GPUSlowed, steps.Warn, fmt.Sprintf("the GPU is slowed by %s%s", g.Slowed, at(g.Celsius)))
		}
	}
	for _, of := range halves(n.Links) {
		if l := of[0]; l.Narrow() {
			add(PCIeLink, steps.Warn,
				fmt.Sprintf("%s: the PCIe link came up as %s, of %s", devs(of), l.Name(), l.Best()))
		}
	}
	if len(n.Slots) > 0 {
		add(SlotPower, steps.Warn,
			fmt.Sprintf("the adapter says that its PCIe slot has too little power (%d W)", n.Slots[0].Watts))
	}
	slices.SortStableFunc(all, func(a, b Alarm) int { return cmp.Compare(b.Grade, a.Grade) })
	return all
}

func at(celsius float64) string {
	if celsius <= 0 {
		return ""
	}
	return fmt.Sprintf(", at %.0f °C", celsius)
}

// Alarms are those of some nodes, the worst first.
func Alarms(nodes []Node) (all []Alarm) {
	for _, n := range nodes {
		all = append(all, n.Alarms()...)
	}
	slices.SortStableFunc(all, func(a, b Alarm) int { return cmp.Compare(b.Grade, a.Grade) })
	return all
}

// Urgent is the worst alarm that isn't standing; ok is false where there is none.
func Urgent(nodes []Node) (a Alarm, ok bool) {
	all := Alarms(nodes)
	if i := slices.IndexFunc(all, func(a Alarm) bool { return !a.Standing }); i >= 0 {
		return all[i], true
	}
	return Alarm{}, false
}
