package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// The checks of the GPU, and of what stands between its memory and the adapter.

// hasSMI reports whether the node has nvidia-smi.
func hasSMI(h parse.Hardware) bool { return h.Facts["nvidia-smi"] != "missing" }

// cards are the GPUs that a node's PCI bus shows, with the driver of each.
// The PCI bus is asked in addition to nvidia-smi, which shows nothing of a GPU that its driver has left.
func cards(h parse.Hardware) (pci []string, undriven []string) {
	for _, name := range registry.SortedNames(h.Facts) {
		if addr, ok := strings.CutPrefix(name, "gpu "); ok {
			pci = append(pci, addr)
			if h.Facts[name] == "none" {
				undriven = append(undriven, addr)
			}
		}
	}
	return pci, undriven
}

// judgeGPU: the GPU's driver answers, and heat does not slow the GPU.
func judgeGPU(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var told []string
	none := 0
	for _, e := range steps.Ends {
		node, gpu := r.Rig.NameOf(e), read[e].GPU
		pci, undriven := cards(read[e])
		rep.ShowAt(node, "GPUs on the PCI bus", cmp.Or(strings.Join(pci, ", "), "none"), "", nil)
		switch {
		case len(pci) == 0 && len(gpu.Rows) == 0:
			none++
			continue
		case !hasSMI(read[e]):
			without := ""
			if undriven != nil {
				without = " and no driver"
			}
			rep.At(r.Rig, e, steps.GPUDriverMissing, steps.Warn, "the GPU on %s (%s) has no nvidia-smi%s, so its memory "+
				"cannot be used. Install NVIDIA's driver, for example nvidia-driver-580-open", node, registry.List(pci), without)
			rep.Explain("The driver that the maker of the node provides will do, too")
			rep.Decide(node + " GPUs on the PCI bus")
			continue
		case len(gpu.Rows) == 0 && slices.ContainsFunc(gpu.Errors, driverSees.Regexp().MatchString):
			rep.At(r.Rig, e, steps.GPUNotStarted, steps.Fail, "the GPU driver on %s could not start the GPU on the PCI bus "+
				"(%s). See: dmesg | grep NVRM", node, registry.List(pci))
			rep.Explain("nvidia-smi answers%s", quoted(gpu.Errors))
			rep.Decide(node + " GPUs on the PCI bus")
			continue
		case len(gpu.Rows) == 0:
			rep.At(r.Rig, e, steps.GPUDriverFails, steps.Fail, "nvidia-smi on %s cannot reach the GPU driver%s. Restart the "+
				"node", node, quoted(gpu.Errors))
			rep.Explain("After an update the old driver stays loaded until the node restarts")
			continue
		}
		if missing := len(pci) - len(gpu.Rows); missing > 0 {
			rep.At(r.Rig, e, steps.GPULost, steps.Warn, "nvidia-smi on %s shows %d of %d GPUs on the PCI bus: the driver "+
				"dropped the others. See: dmesg", node, len(gpu.Rows), len(pci))
			rep.Decide(node + " GPUs on the PCI bus")
		}
		told = append(told, gpuHeat(r.Rig, e, gpu, rep)...)
	}
	if none == len(steps.Ends) {
		return checks.Unseen(*rep, steps.CannotRun, "neither node has an NVIDIA GPU, so no GPU memory to move")
	}
	compareGPUs(r.Rig, read, none, told, rep)
	return rep.Verdict(fmt.Sprintf("the GPU driver %s answers: %s", read[0].GPU.Driver, registry.And(told)),
		"no GPU is slowed by heat")
}

// compareGPUs holds one node against the other; none is how many have no GPU, told which answer.
func compareGPUs(rig steps.Rig, read [2]parse.Hardware, none int, told []string, rep *registry.Report) {
	a, b := read[0].GPU.Driver, read[1].GPU.Driver
	switch {
	case none == 1 && told == nil:
		rep.Add(steps.GPUOneSided, steps.Warn, "only one node has an NVIDIA GPU, so GPU memory cannot be moved between the "+
			"nodes")
	case none == 1:
		rep.Add(steps.GPUOneSided, steps.Warn, "only one node has an NVIDIA GPU: GPU memory can be moved only from %s",
			registry.List(told))
	case a != "" && b != "" && a != b:
		rep.Add(steps.GPUDriversDiffer, steps.Warn, "the GPU driver is %s on %s but %s on %s. Install one version on both", a,
			rig.NameOf(steps.Here), b, rig.NameOf(steps.Peer))
	}
}

// gpuHeat lists each GPU of a node with its temperature, and finds those that are slowed
// by it.
func gpuHeat(rig steps.Rig, e steps.End, gpu parse.NvidiaSMI, rep *registry.Report) (told []string) {
	node := rig.NameOf(e)
	for _, g := range gpu.Rows {
		heat := "temperature unknown"
		if g.TemperatureC != nil {
			heat = fmt.Sprintf("%.0f degrees", *g.TemperatureC)
			rep.ShowAt(node, g.Name+" temperature", *g.TemperatureC, "C", nil)
		}
		rep.ShowAt(node, g.Name+" driver", registry.OrUnknown(gpu.Driver), "", nil)
		told = append(told, fmt.Sprintf("%s on %s (%s)", g.Name, node, heat))
		for _, field := range registry.SortedNames(g.Fields) {
			if strings.Contains(field, "thermal_slowdown") && g.Fields[field] == "Active" {
				rep.At(rig, e, steps.GPUHot, steps.Warn, "%s on %s is slowed by heat (%s). Improve its cooling", g.Name, node, heat)
				rep.Explain("%s on %s: nvidia-smi reports %s", g.Name, node, field)
				rep.Decide(node + " " + g.Name + " temperature")
			}
		}
	}
	return told
}

// driverSees is how nvidia-smi words that the driver answers and has no device. A restart does not fix
// that.
var driverSees = lazyregexp.New(`^No devices were found`)

// quoted is a tool's first complaint, in parentheses.
func quoted(errs []string) string {
	if len(errs) == 0 {
		return ""
	}
	return " (" + strings.TrimRight(errs[0], ". ") + ")"
}

// judgeGPUPath says how GPU memory gets to the adapter. Through host memory is not a fault where the hardware has no
// other way. nvidia-smi has no total of a memory that the GPU shares with the processor ("[N/A]"): that is how such a
// GPU is recognized.
func judgeGPUPath(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var staged, direct []string
	none := 0
	for _, e := range steps.Ends {
		node, h := r.Rig.NameOf(e), read[e]
		rep.ShowAt(node, "nvidia_peermem", registry.OrUnknown(h.Facts["nvidia_peermem"]), "", nil)
		rep.ShowAt(node, "dma-buf in verbs", registry.OrUnknown(h.Facts["dma-buf in verbs"]), "", nil)
		if len(h.GPU.Rows) == 0 {
			none++
			rep.ShowAt(node, "GPU", "none with a driver", "", nil)
			continue
		}
		peermem := h.Facts["nvidia_peermem"] == "loaded"
		// NVIDIA's closed module exports no dma-buf, and verbs take one only from a kernel whose ib_uverbs
		// knows it.
		open := strings.Contains(h.Facts["driver"], "Open Kernel Module") && h.Facts["dma-buf in verbs"] == "yes"
		for _, g := range h.GPU.Rows {
			name := g.Name + " on " + node
			switch {
			case g.MemTotalMiB == nil:
				staged = append(staged, name)
				rep.ShowAt(node, g.Name, "shares the processor's memory: host-staged", "", nil)
			case peermem:
				direct = append(direct, name+" (nvidia_peermem)")
			case open:
				direct = append(direct, name+" (dma-buf of the open kernel module)")
			default:
				rep.At(r.Rig, e, steps.GPUDirectOff, steps.Warn, "the adapter cannot reach the memory of %s (no nvidia_peermem, "+
					"no dma-buf), so transfers are slow. Run: modprobe nvidia-peermem", name)
				rep.Explain("Its %.0f MiB go through host memory, at a fraction of the rail's rate. If the kernel refuses the "+
					"module see secure-boot, or use NVIDIA's open kernel module", *g.MemTotalMiB)
				rep.Decide(node+" nvidia_peermem", node+" dma-buf in verbs")
				rep.ShowAt(node, g.Name, *g.MemTotalMiB, "MiB of its own", nil)
			}
		}
	}
	switch none {
	case len(steps.Ends):
		return checks.Unseen(*rep, steps.CannotRun, "neither node has a GPU with its driver, so no GPU memory to "+
			"move")
	case 1:
		for _, e := range steps.Ends {
			if len(read[e].GPU.Rows) == 0 {
				rep.At(r.Rig, e, steps.GPUOneSided, steps.Warn, "%s has no GPU with a driver, but %s has one: GPU memory cannot "+
					"be moved between them. See gpu", r.Rig.NameOf(e), r.Rig.NameOf(e.Other()))
			}
		}
	}
	var pass []string
	if staged != nil {
		pass = append(pass, fmt.Sprintf("GPU memory goes host-staged: %s %s memory with the processor, where GPUDirect "+
			"does not exist", registry.And(staged), registry.Plural(len(staged), "shares", "share")),
			"That is normal: allocate buffers with cudaHostAlloc, which the adapter can reach directly")
	}
	if direct != nil {
		pass = append(pass, "the adapter can reach the memory of "+registry.And(direct)+" directly")
	}
	return rep.Verdict(pass...)
}

// judgeSecureBoot: the kernel has refused no module.
func judgeSecureBoot(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var how, refused []string
	for _, e := range steps.Ends {
		node, h := r.Rig.NameOf(e), read[e]
		state, lock := registry.OrUnknown(h.Facts["secure boot"]), locked(h.Facts["lockdown"])
		because := ""
		switch {
		case state == "enabled":
			because = "Secure Boot is on"
		case lock != "none":
			because = "it is locked down (" + lock + ")"
		}
		rep.ShowAt(node, "secure boot", state+", lockdown "+lock, "", nil)
		unsigned, said := unsignedModules(node, h, rep), refusal(h.Log)
		suspects := ""
		if unsigned != nil {
			suspects = fmt.Sprintf(", and %s %s unsigned", registry.And(unsigned), registry.Plural(len(unsigned), "is", "are"))
		}
		switch {
		case said != "":
			rep.At(r.Rig, e, steps.ModuleRefused, steps.Warn, "the kernel on %s refused a module%s. Sign it, run "+
				"mokutil --import CERTIFICATE, and reboot", node, suspects)
			rep.Explain("Secure Boot loads only modules that are signed with an enrolled key. The distribution's package is " +
				"signed")
			rep.ShowAt(node, "kernel log", said, "", nil)
			rep.Decide(node+" kernel log", node+" secure boot")
		case because != "" && unsigned != nil:
			rep.At(r.Rig, e, steps.ModuleUnsigned, steps.Warn, "the kernel on %s will refuse a module: %s%s. Sign it, "+
				"run mokutil --import CERTIFICATE, and reboot", node, because, suspects)
			rep.Explain("The distribution's package of a module is signed")
			rep.Decide(node + " secure boot")
		// What is unknown may be on: without mokutil it cannot be read.
		case (because != "" || state == "unknown") && !logRead(h):
			refused = append(refused, node)
		}
		how = append(how, fmt.Sprintf("%s on %s", state, node))
	}
	if refused != nil {
		return checks.Unseen(*rep, steps.NeedsRoot, "could not read the kernel log on %s (root or the group adm may), so "+
			"whether a module was refused is unknown", registry.And(refused))
	}
	return rep.Verdict("no kernel refused a module; Secure Boot is " + registry.And(how))
}

// unsignedModules are those of a node that have no signature.
func unsignedModules(node string, h parse.Hardware, rep *registry.Report) []string {
	var unsigned []string
	for _, name := range registry.SortedNames(h.Facts) {
		module, ok := strings.CutPrefix(name, "module ")
		if !ok {
			continue
		}
		rep.ShowAt(node, module, h.Facts[name], "", nil)
		if strings.HasSuffix(h.Facts[name], "signed by none") {
			unsigned = append(unsigned, module)
		}
	}
	return unsigned
}

// refusal is the first line in which the kernel says that it has refused a module.
func refusal(log []parse.KernelEvent) string {
	for _, l := range log {
		// A signature that is missed only taints a kernel that asks for none.
		if l.Kind == "module-refused" && !strings.Contains(l.Text, "verification failed") {
			return logText(l)
		}
	}
	return ""
}

// locked is the state in brackets: none [integrity] confidentiality.
func locked(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	if state, _, closed := strings.Cut(rest, "]"); ok && closed {
		return state
	}
	return "none"
}

// bar1Share is how much of a BAR1 one registration may take (assets/docs/facts.md#the-cots-report).
const bar1Share = 115.0 / 256

// judgeBAR1 holds the BAR1 of a GPU that has one against the buffers that the
// tutorial's cells register.
func judgeBAR1(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var fits, without []string
	for _, e := range steps.Ends {
		node := r.Rig.NameOf(e)
		bytes, ok := strictnum.Number(read[e].Facts["registration"])
		if !ok || bytes == 0 {
			rep.At(r.Rig, e, steps.SettingInvalid, steps.Inconclusive, "NIXL_VRAM_BUFFER is %q, which is not a number of "+
				"bytes", read[e].Facts["registration"])
			continue
		}
		need := bytes / (1 << 20)
		if other := read[e.Other()].GPU.Rows; hasSMI(read[e]) && len(read[e].GPU.Rows) == 0 && len(other) > 0 {
			rep.At(r.Rig, e, steps.GPUDriverFails, steps.Inconclusive, "nvidia-smi on %s reports no GPU%s, so its BAR1 is "+
				"unknown: see gpu", node, quoted(read[e].GPU.Errors))
		}
		for _, g := range read[e].GPU.Rows {
			name := fmt.Sprintf("%s on %s", g.Name, node)
			if g.BAR1TotalMiB == nil {
				without = append(without, name)
				rep.Show(name+" BAR1", "N/A: it shares the processor's memory", "", nil)
				continue
			}
			total := *g.BAR1TotalMiB
			rep.Show(name+" BAR1", total, "MiB", &steps.Expected{
				Min:  new(registry.Round(need / bar1Share)),
				From: fmt.Sprintf("a buffer of %.0f MiB (NIXL_VRAM_BUFFER), and the COTS report could use 115 of 256 MiB", need),
			})
			if most := total * bar1Share; most < need {
				rep.At(r.Rig, e, steps.BAR1Small, steps.Warn, "%s has %.0f MiB of BAR1, enough for %.0f MiB buffers; tests use "+
					"%.0f. Enable Resizable BAR, or lower the buffer "+
					"(-p NIXL_VRAM_BUFFER=64M)", name, total, most, need)
				continue
			}
			fits = append(fits, fmt.Sprintf("%s (%.0f MiB)", name, total))
		}
	}
	var pass []string
	switch {
	case len(read[0].GPU.Rows)+len(read[1].GPU.Rows) == 0:
		return checks.Unseen(*rep, steps.CannotRun, "neither node has a GPU with its driver, so no BAR1 to check")
	case without != nil:
		pass = append(pass, fmt.Sprintf("%s %s no BAR1 and %s none: processor and GPU share one memory",
			registry.And(without), registry.Plural(len(without), "has", "have"), registry.Plural(len(without), "needs", "need")))
	}
	if fits != nil {
		pass = append(pass, "the BAR1 of "+registry.And(fits)+" is large enough for the tests")
	}
	return rep.Verdict(pass...)
}
