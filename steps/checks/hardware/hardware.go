package hardware

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// judgePCIeLink: every PCIe link is as fast and as wide as its adapter could be.
func judgePCIeLink(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	links, soft := 0, 0
	var empty []steps.End // without a device
	var kinds, shared []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		byHalf, before := map[string][]health.Link{}, links+soft
		for _, dev := range registry.SortedNames(facts[e]) {
			text := facts[e][dev]
			switch l, ok := health.ReadLink(dev, text); {
			case dev == "devices":
			// soft-RoCE, which a processor does: it has no device behind it.
			case text == "no PCIe link":
				soft++
			case !ok:
				rep.At(r.Rig, e, steps.Unreadable, steps.Inconclusive, "could not read the PCIe link of %s on %s: %s", dev, node,
					text)
			default:
				links++
				byHalf[l.Half] = append(byHalf[l.Half], l)
				best := float64(l.Lanes)
				rep.ShowAt(node, fmt.Sprintf("%s, %s at %s", dev, l.Name(), l.Half), l.Width, "lanes",
					&steps.Expected{Min: &best, From: "what the device can do: " + l.Best()})
				if kind := l.Name(); !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
		}
		if links+soft == before {
			empty = append(empty, e)
		}
		untoldLinks(r.Rig, e, facts[e], len(byHalf), rep)
		for _, half := range registry.SortedNames(byHalf) {
			together := byHalf[half]
			judgeHalf(r.Rig, e, together, rep)
			if e == steps.Here && len(together) > 1 {
				shared = append(shared, fmt.Sprintf("%s share %s (about %.0f Gb/s together)", registry.And(devs(together)), half,
					together[0].Carries()))
			}
		}
	}
	if len(empty) == 1 {
		rep.At(r.Rig, empty[0], steps.RDMADeviceMissing, steps.Inconclusive, "no RDMA device on %s, so no PCIe link was "+
			"checked there", r.Rig.NameOf(empty[0]))
	}
	switch {
	case links == 0 && len(rep.Findings) == 0 && soft > 0:
		return rep.Verdict("no RDMA device has a PCIe link: all are soft-RoCE")
	case links == 0 && len(rep.Findings) == 0:
		return checks.Unseen(*rep, steps.CannotRun, "neither node has an RDMA device, so no PCIe link was checked")
	}
	together := "no two rails share a PCIe link"
	if shared != nil {
		together = strings.Join(shared, ", ")
	}
	return rep.Verdict(fmt.Sprintf("all %d RDMA devices have their full PCIe link: %s", links, registry.And(kinds)),
		together)
}

// untoldLinks are rails of which nothing was printed, where others were.
func untoldLinks(rig steps.Rig, e steps.End, facts map[string]string, told int, rep *registry.Report) {
	for _, rail := range rig.At(e).Rails {
		if facts[rail.Dev] == "" && told > 0 && rail.PCI.Addr != "" {
			rep.At(rig, e, steps.Unreadable, steps.Inconclusive, "could not read the PCIe link of %s on %s", rail.Dev,
				rig.NameOf(e))
		}
	}
}

func devs(links []health.Link) []string {
	var names []string
	for _, l := range links {
		names = append(names, l.Dev)
	}
	return names
}

// judgeHalf looks at a PCIe link, which several devices may share. Where the slot itself has no
// more, reseating the card does not help, so that is a cause of its own.
// The script prints one line a device, so all of one half say the same, and the first speaks for
// them.
func judgeHalf(rig steps.Rig, e steps.End, links []health.Link, rep *registry.Report) {
	l := links[0]
	if !l.Narrow() {
		return
	}
	got := l.Carries()
	code := steps.PCIeNarrow
	why := "Power the node off for a minute, then reseat the card"
	// Both are worked out from a speed and a width: 1 % is for rounding.
	if slot := l.Wired(); slot > 0 && slot <= 1.01*got {
		code, why = steps.SlotNarrow, fmt.Sprintf("The slot has only %s: use another slot", limits.Slot(l.Slot, l.Wire))
	}
	rep.At(rig, e, code, steps.Warn, "%s on %s: %s (%.0f Gb/s) instead of %s. %s", registry.List(devs(links)),
		rig.NameOf(e), l.Name(), got, strings.TrimPrefix(l.Best(), "PCIe "), why)
}

// logRead reports whether the node let the kernel's log be read.
func logRead(h parse.Hardware) bool { return h.Facts["kernel log"] == "read" }

// judgeAdapterPresent: the adapters' functions have their driver and their RDMA
// devices, as many on one node as on the other.
func judgeAdapterPresent(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var devices [2][]string
	adapters := 0
	for _, e := range steps.Ends {
		node, facts := r.Rig.NameOf(e), read[e].Facts
		devs, functions, lost, bare := functionsOf(facts)
		devices[e], adapters = devs, adapters+len(functions)
		has := registry.Plural(len(lost)+len(bare), "has", "have")
		rep.ShowAt(node, "RDMA devices", len(devices[e]), "devices: "+cmp.Or(strings.Join(devices[e], ", "), "none"), nil)
		rep.ShowAt(node, "functions", cmp.Or(strings.Join(functions, ", "), "none"), "of a ConnectX", nil)
		switch {
		case lost != nil:
			rep.At(r.Rig, e, steps.AdapterLost, steps.Fail, "%s on %s %s lost the driver: the adapter failed. Let the "+
				"node cool, then restart it", registry.List(lost), node, has)
			rep.Explain("Nothing but a restart brings the adapter back")
			if said := lastWord(read[e].Log, lost); said != "" {
				rep.ShowAt(node, "kernel log", said, "", nil)
			}
			rep.Decide(node+" functions", node+" kernel log")
			continue
		case len(devices[e]) == 0 && functions == nil:
			rep.At(r.Rig, e, steps.AdapterAbsent, steps.Fail, "no RDMA device and no ConnectX on %s. Plug in a cable: a DGX "+
				"Spark switches the adapter off without one", node)
			rep.Explain("On other nodes a restart may bring the adapter back")
			rep.Decide(node+" RDMA devices", node+" functions")
			continue
		case bare != nil:
			rep.At(r.Rig, e, steps.RDMADeviceMissing, steps.Warn, "%s on %s %s a driver but no RDMA device. Run: modprobe "+
				"mlx5_ib, or remove a bond (RoCE LAG)", registry.List(bare), node, has)
			rep.Decide(node+" RDMA devices", node+" functions")
		}
		if told := complaint(read[e].Log); told != "" {
			rep.At(r.Rig, e, steps.AdapterFault, steps.Warn, "the adapter on %s works, but logged: %s. Check "+
				"adapter-temperature", node, told)
			rep.Explain("Find out what ran when the adapter logged it: dmesg -T")
		}
	}
	if a, b := len(devices[0]), len(devices[1]); a != b {
		rep.Add(steps.DevicesDiffer, steps.Warn, "%s has %d RDMA devices and %s has %d; a rail needs one at each end",
			r.Rig.NameOf(steps.Here), a, r.Rig.NameOf(steps.Peer), b)
	}
	note := "every function of a ConnectX has its driver"
	// Only soft-RoCE's have no device behind them.
	soft := func(f map[string]string) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(f)), func(name string) bool {
			return strings.HasPrefix(name, "device ") && f[name] != "none"
		})
	}
	switch {
	case adapters > 0:
	case soft(read[0].Facts) && soft(read[1].Facts):
		note = "no ConnectX is among them: all are soft-RoCE"
	default:
		note = "no ConnectX is among them, so their drivers were not checked"
	}
	if !logRead(read[0]) || !logRead(read[1]) {
		note += "; the kernel log could not be read on both nodes"
	}
	return rep.Verdict(fmt.Sprintf("%d RDMA %s on each node: %s", len(devices[0]),
		registry.Plural(len(devices[0]), "device", "devices"), strings.Join(devices[0], ", ")), note)
}

// functionsOf are the RDMA devices of a node, the PCI functions of its ConnectX, and those of
// them that have no driver, or one and no RDMA device.
func functionsOf(facts map[string]string) (devices, functions, lost, bare []string) {
	with := map[string]bool{} // PCI functions that have an RDMA device
	for _, name := range registry.SortedNames(facts) {
		if dev, ok := strings.CutPrefix(name, "device "); ok {
			devices = append(devices, dev)
			with[facts[name]] = true
		}
	}
	for _, name := range registry.SortedNames(facts) {
		pci, ok := strings.CutPrefix(name, "function ")
		if !ok {
			continue
		}
		functions = append(functions, pci)
		switch {
		case facts[name] == "none":
			lost = append(lost, pci)
		case !with[pci]:
			bare = append(bare, pci)
		}
	}
	return devices, functions, lost, bare
}

// lastWord is what the kernel's log has last said about functions before they went; empty where it said
// nothing that would explain it.
func lastWord(log []parse.KernelEvent, functions []string) string {
	for _, l := range slices.Backward(log) {
		if slices.Contains(functions, l.Device) && slices.Contains([]string{
			"firmware-error", "high-temperature",
			"device-removed",
		}, l.Kind) {
			return logText(l)
		}
	}
	return ""
}

// logText is a line of the log without its driver and its device.
func logText(l parse.KernelEvent) string {
	text := l.Text
	if _, after, ok := strings.Cut(text, l.Device+": "); ok && l.Device != "" {
		text = after
	}
	return strings.TrimRight(logPlace.Regexp().ReplaceAllString(text, ""), ". ")
}

// logPlace is where in the driver a line was written: poll_health:838:(pid 0): .
var logPlace = lazyregexp.New(`^\w+:\d+:\(pid \d+\): `)

// complaint is what the log has of a device that is there: an error of its firmware
// or its heat, that no loading of the driver followed, or one of PCIe that was not
// corrected.
func complaint(log []parse.KernelEvent) string {
	last := map[string]string{} // by device
	for _, l := range log {
		switch l.Kind {
		case "firmware-error", "device-removed", "high-temperature":
			last[l.Device] = logText(l)
		case "driver-loaded":
			delete(last, l.Device)
		case "pcie-error":
			if strings.Contains(l.Text, "Uncorrect") {
				last[l.Device] = logText(l)
			}
		}
	}
	for _, dev := range registry.SortedNames(last) {
		// One is enough to look at the adapter. A line may name no device, and then stands alone.
		return strings.TrimLeft(dev+": "+last[dev], ": ")
	}
	return ""
}

// judgeAdapterPower says what adapters have complained of in the kernel's log: too
// little power, and cables.
func judgeAdapterPower(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var refused []string
	lines := 0
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		if !logRead(read[e]) {
			refused = append(refused, node)
			continue
		}
		rep.ShowAt(node, "kernel log", len(read[e].Log), "lines about power, cables and links", nil)
		lines += len(read[e].Log)
		judgeAdapterLog(r.Rig, e, read[e].Log, rep)
	}
	// Before what may not be read: without an adapter it is not needed.
	if lines == 0 && !hasAdapter(r.Rig) {
		return checks.Unseen(*rep, steps.CannotRun, "no RDMA device is an adapter's (all are soft-RoCE), so there is "+
			"nothing to report")
	}
	if refused != nil {
		return checks.Unseen(*rep, steps.NeedsRoot, "could not read the kernel log on %s as %s: root or the group adm may",
			registry.And(refused), cmp.Or(read[0].Facts["user"], "this user"))
	}
	return rep.Verdict(fmt.Sprintf("the adapters report no lack of power and no cable problem (%d lines of the kernel "+
		"logs)", lines))
}

// hasAdapter reports whether an RDMA device of either node belongs to an adapter. A device that is not a PCI
// function (a scalable function, or a device in a container) has an adapter behind it all the same.
func hasAdapter(rig steps.Rig) bool {
	for _, e := range steps.Ends {
		if slices.ContainsFunc(rig.At(e).Rails, func(r steps.Rail) bool { return !r.Soft() }) {
			return true
		}
	}
	return false
}

// judgeAdapterLog reads one node's log. What counts of a cable is the last word.
func judgeAdapterLog(rig steps.Rig, e steps.End, log []parse.KernelEvent, rep *registry.Report) {
	node := rig.NameOf(e)
	short := map[string]int{} // watts, by PCI function
	cable := map[string]parse.KernelEvent{}
	for _, l := range log {
		switch l.Kind {
		// The firmware takes its word back where the slot grants more later ("power-enough").
		case "insufficient-power":
			short[l.Device] = l.Watts
		case "power-enough":
			delete(short, l.Device)
		case "cable-unplugged", "cable-error", "cable-plugged":
			cable[l.Device] = l
		}
	}
	if names := registry.SortedNames(short); len(names) > 0 {
		watts := short[names[0]]
		rep.ShowAt(node, "slot power", watts, "W",
			&steps.Expected{From: "reported as insufficient by " + registry.And(names)})
		rep.At(rig, e, steps.SlotPowerLow, steps.Warn, "%s on %s: insufficient power on the PCIe slot (%d W). Harmless "+
			"if railbench doctor rail-speed passes; else power-cycle the node", registry.List(names), node, watts)
		rep.Explain("Many adapters report this and are fast. If a module stays dark, or a good link moves only 13 Gb/s, " +
			"power the node off for a minute")
		rep.Decide(node + " slot power")
	}
	var out, bad []string
	for _, dev := range registry.SortedNames(cable) {
		l := cable[dev]
		if !carriesRail(rig, e, dev) {
			if l.Kind != "cable-plugged" {
				rep.ShowAt(node, dev, logText(l), "(unused)", nil)
			}
			continue
		}
		switch l.Kind {
		case "cable-unplugged":
			out = append(out, dev)
		case "cable-error":
			bad = append(bad, dev+" ("+logText(l)+")")
		}
	}
	if out != nil {
		rep.At(rig, e, steps.CableUnplugged, steps.Warn, "%s on %s: the adapter reports an unplugged cable. Plug it in at "+
			"both ends until it clicks", registry.List(out), node)
	}
	if bad != nil {
		rep.At(rig, e, steps.CableUnusable, steps.Fail, "%s on %s: the adapter cannot use its cable or module. Use one "+
			"that the adapter's maker lists", registry.List(bad), node)
	}
}

// carriesRail reports whether a PCI function's rail is used.
func carriesRail(rig steps.Rig, e steps.End, pci string) bool {
	for i, rail := range rig.At(e).Rails {
		if rail.PCI.Addr == pci {
			return rig.InUse(e, i)
		}
	}
	return false
}

// judgeAdapterTemperature holds the adapters' own sensors against their limits.
func judgeAdapterTemperature(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	var silent, told []string
	warm := math.Inf(1)
	for _, e := range steps.Ends {
		node, hottest, where := r.Rig.NameOf(e), 0.0, ""
		heat := limits.HeatOf(r.Rig.At(e).Adapter)
		names := registry.SortedNames(facts[e])
		slices.SortStableFunc(names, func(a, b string) int { // the hottest first: it is what is named
			x, _, _ := health.Degrees(facts[e][a])
			y, _, _ := health.Degrees(facts[e][b])
			return cmp.Compare(y, x)
		})
		for _, pci := range names {
			if pci == "adapters" {
				continue
			}
			degrees, from, ok := health.Degrees(facts[e][pci])
			if !ok {
				silent = append(silent, pci+" on "+node)
				continue
			}
			rep.ShowAt(node, fmt.Sprintf("%s by %s", pci, from), degrees, "C",
				&steps.Expected{
					Max: new(heat.Warm.Value()),
					From: fmt.Sprintf("the maker's manual: warning %.0f, critical %.0f, off at %.0f",
						heat.Warm.Value(), heat.Critical.Value(), heat.Off.Value()),
				})
			if degrees > hottest {
				hottest, where = degrees, pci
			}
		}
		if where == "" {
			continue
		}
		told = append(told, fmt.Sprintf("%.0f degrees on %s", hottest, node))
		warm = min(warm, heat.Warm.Value())
		if grade := heat.Grade(hottest); grade > steps.Pass {
			rep.At(r.Rig, e, steps.AdapterHot, grade, "%s on %s is at %.0f degrees: %s. Improve its cooling", where, node,
				hottest, heat.Says(hottest))
		}
	}
	switch {
	case len(told) == 0 && silent == nil:
		return checks.Unseen(*rep, steps.CannotRun, "no adapter has a temperature sensor: neither node has a ConnectX")
	case silent != nil:
		return checks.Unseen(*rep, steps.Unreadable, "could not read the temperature of %s: no hwmon sensor, and mget_temp "+
			"(NVIDIA mft) is missing or needs root", registry.And(silent))
	}
	return rep.Verdict(fmt.Sprintf("the adapters are cool enough: at most %s, below %.0f", registry.And(told), warm))
}
