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
// The PCI bus is asked beside nvidia-smi, which shows nothing of a GPU that its driver has left.
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
		rep.Show(node+" GPUs on the PCI bus", cmp.Or(strings.Join(pci, ", "), "none"), "", nil)
		switch {
		case len(pci) == 0 && len(gpu.Rows) == 0:
			none++
			continue
		case !hasSMI(read[e]):
			without := ""
			if undriven != nil {
				without = ", and nothing drives it"
			}
			rep.At(r.Rig, e, steps.GPUDriverMissing, steps.Warn, "%s has a GPU (%s) and no nvidia-smi%s: its memory can't be "+
				"moved. Install NVIDIA's driver (nvidia-driver-580-open, or what the maker of the node has)", node,
				registry.And(pci),
				without)
			continue
		case len(gpu.Rows) == 0 && slices.ContainsFunc(gpu.Errors, driverSees.Regexp().MatchString):
			rep.At(r.Rig, e, steps.GPUNotStarted, steps.Fail, "the GPU's driver on %s answers, and has no GPU%s: it could not "+
				"start the one on the PCI bus (%s), and dmesg | grep NVRM says why", node, quoted(gpu.Errors), registry.And(pci))
			continue
		case len(gpu.Rows) == 0:
			rep.At(r.Rig, e, steps.GPUDriverFails, steps.Fail, "nvidia-smi on %s can't talk to the GPU's driver%s. Restart the "+
				"node: after an update the old driver is loaded until then", node, quoted(gpu.Errors))
			continue
		}
		if missing := len(pci) - len(gpu.Rows); missing > 0 {
			rep.At(r.Rig, e, steps.GPULost, steps.Warn, "%s has %d GPUs on its PCI bus, and nvidia-smi shows %d of them: what "+
				"the others are like nobody tells. dmesg says why their driver left them", node, len(pci), len(gpu.Rows))
		}
		told = append(told, gpuHeat(r.Rig, e, gpu, rep)...)
	}
	a, b := read[0].GPU.Driver, read[1].GPU.Driver
	switch {
	case none == len(steps.Ends):
		return checks.Unseen(*rep, steps.CannotRun, "neither node has an NVIDIA GPU: there is no GPU memory to move")
	case none == 1 && told == nil:
		rep.Add(steps.GPUOneSided, steps.Warn, "one node has an NVIDIA GPU and the other has none: GPU memory can't be "+
			"moved between the two")
	case none == 1:
		rep.Add(steps.GPUOneSided, steps.Warn, "one node has an NVIDIA GPU and the other has none: GPU memory can only be "+
			"moved from %s",
			registry.And(told))
	case a != "" && b != "" && a != b:
		rep.Add(steps.GPUDriversDiffer, steps.Warn, "the GPU's driver is %s on %s and %s on %s: let both have one", a,
			r.Rig.NameOf(steps.Here),
			b, r.Rig.NameOf(steps.Peer))
	}
	return rep.Verdict(fmt.Sprintf("the GPUs' driver %s answers: %s", a, registry.And(told)), "heat slows none of them")
}

// gpuHeat tells each GPU of a node with its temperature, and finds those that are slowed
// by it.
func gpuHeat(rig steps.Rig, e steps.End, gpu parse.NvidiaSMI, rep *registry.Report) (told []string) {
	node := rig.NameOf(e)
	for _, g := range gpu.Rows {
		heat := "temperature unknown"
		if g.TemperatureC != nil {
			heat = fmt.Sprintf("%.0f degrees", *g.TemperatureC)
			rep.Show(node+" "+g.Name+" temperature", *g.TemperatureC, "C", nil)
		}
		rep.Show(node+" "+g.Name+" driver", registry.OrUnknown(gpu.Driver), "", nil)
		told = append(told, fmt.Sprintf("%s on %s (%s)", g.Name, node, heat))
		for _, field := range registry.SortedNames(g.Fields) {
			if strings.Contains(field, "thermal_slowdown") && g.Fields[field] == "Active" {
				rep.At(rig, e, steps.GPUHot, steps.Warn, "%s on %s is slowed by its own heat (%s, %s). Give it air", g.Name, node,
					heat, field)
			}
		}
	}
	return told
}

// driverSees is how nvidia-smi words that the driver answers and has no device. A restart for a new driver is no cure
// for that.
var driverSees = lazyregexp.New(`^No devices were found`)

// quoted is a tool's first complaint, in parentheses.
func quoted(errs []string) string {
	if len(errs) == 0 {
		return ""
	}
	return " (" + strings.TrimRight(errs[0], ". ") + ")"
}

// judgeGPUPath says how GPU memory gets to the adapter. Through host memory is no
// fault where the hardware has no other way.
// nvidia-smi has no total of a memory that the GPU shares with the processor ("[N/A]"): that is how
// such a GPU is told from one with its own.
func judgeGPUPath(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var staged, direct []string
	none := 0
	for _, e := range steps.Ends {
		node, h := r.Rig.NameOf(e), read[e]
		rep.Show(node+" nvidia_peermem", registry.OrUnknown(h.Facts["nvidia_peermem"]), "", nil)
		rep.Show(node+" dma-buf in verbs", registry.OrUnknown(h.Facts["dma-buf in verbs"]), "", nil)
		if len(h.GPU.Rows) == 0 {
			none++
			rep.Show(node+" GPU", "none that a driver shows", "", nil)
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
				rep.Show(node+" "+g.Name, "shares the processor's memory: host-staged", "", nil)
			case peermem:
				direct = append(direct, name+" (nvidia_peermem)")
			case open:
				direct = append(direct, name+" (dma-buf of the open kernel module)")
			default:
				rep.At(r.Rig, e, steps.GPUDirectOff, steps.Warn, "%s has %.0f MiB of its own, and neither nvidia_peermem nor "+
					"dma-buf lets the adapter reach them: they go host-staged, at a fraction of the rail. Load the module (modprobe "+
					"nvidia-peermem; if the kernel refuses it see the check of secure boot), or use NVIDIA's open kernel module", name,
					*g.MemTotalMiB)
				rep.Show(node+" "+g.Name, *g.MemTotalMiB, "MiB of its own", nil)
			}
		}
	}
	switch none {
	case len(steps.Ends):
		return checks.Unseen(*rep, steps.CannotRun, "neither node has a GPU with its driver: there is no GPU memory to move")
	case 1:
		for _, e := range steps.Ends {
			if len(read[e].GPU.Rows) == 0 {
				rep.At(r.Rig, e, steps.GPUOneSided, steps.Warn, "%s has no GPU with a driver and %s has one: GPU memory can't be "+
					"moved between the two. See the check of the GPU's driver", r.Rig.NameOf(e), r.Rig.NameOf(e.Other()))
			}
		}
	}
	var pass []string
	if staged != nil {
		pass = append(pass, fmt.Sprintf("GPU memory goes host-staged: %s %s the processor's memory, and GPUDirect does not "+
			"exist there", registry.And(staged), registry.Plural(len(staged), "shares", "share")),
			"That is normal: allocate what travels with cudaHostAlloc, which the adapter reaches by itself")
	}
	if direct != nil {
		pass = append(pass, "the adapter may reach the memory of "+registry.And(direct)+" itself")
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
			because = "secure boot is on"
		case lock != "none":
			because = "it is locked down (" + lock + ")"
		}
		rep.Show(node+" secure boot", state+", lockdown "+lock, "", nil)
		unsigned, said := unsignedModules(node, h, rep), refusal(h.Log)
		suspects := ""
		if unsigned != nil {
			suspects = fmt.Sprintf(", and %s there %s signed by nobody", registry.And(unsigned),
				registry.Plural(len(unsigned), "is", "are"))
		}
		switch {
		case said != "":
			rep.At(r.Rig, e, steps.ModuleRefused, steps.Warn, "the kernel of %s has refused a module (%s)%s. With secure boot "+
				"it takes none but of those whom it trusts: sign it and enrol the key (mokutil --import), or take the "+
				"distribution's package", node, said, suspects)
		case because != "" && unsigned != nil:
			rep.At(r.Rig, e, steps.ModuleUnsigned, steps.Warn, "the kernel of %s will refuse a module: %s%s. Sign it and enrol "+
				"the key (mokutil --import), or take the distribution's package", node, because, suspects)
		// What isn't told may be on: without mokutil nobody knows.
		case (because != "" || state == "unknown") && !logRead(h):
			refused = append(refused, node)
		}
		how = append(how, fmt.Sprintf("%s on %s", state, node))
	}
	if refused != nil {
		return checks.Unseen(*rep, steps.NeedsRoot, "the kernel's log may not be read on %s, and secure boot is on there, "+
			"or may be: whether a module was refused can't be told. As root, or in the group adm, it can", registry.And(refused))
	}
	return rep.Verdict("no kernel has refused a module; secure boot is " + registry.And(how))
}

// unsignedModules are those of a node that nobody has signed.
func unsignedModules(node string, h parse.Hardware, rep *registry.Report) []string {
	var unsigned []string
	for _, name := range registry.SortedNames(h.Facts) {
		module, ok := strings.CutPrefix(name, "module ")
		if !ok {
			continue
		}
		rep.Show(node+" "+module, h.Facts[name], "", nil)
		if strings.HasSuffix(h.Facts[name], "signed by nobody") {
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
			rep.At(r.Rig, e, steps.SettingInvalid, steps.Inconclusive, "NIXL_VRAM_BUFFER is %q, which is no number of bytes",
				read[e].Facts["registration"])
			continue
		}
		need := bytes / (1 << 20)
		if other := read[e.Other()].GPU.Rows; hasSMI(read[e]) && len(read[e].GPU.Rows) == 0 && len(other) > 0 {
			rep.At(r.Rig, e, steps.GPUDriverFails, steps.Inconclusive, "nvidia-smi on %s tells of no GPU%s, so nothing shows "+
				"its BAR1: see the check of the GPU's driver", node, quoted(read[e].GPU.Errors))
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
				rep.At(r.Rig, e, steps.BAR1Small, steps.Warn, "%s has a BAR1 of %.0f MiB: buffers above some %.0f MiB can't be "+
					"registered, and the tutorial's have %.0f. Switch on resizable BAR in the firmware, or set NIXL_VRAM_BUFFER lower",
					name, total, most, need)
				continue
			}
			fits = append(fits, fmt.Sprintf("%s (%.0f MiB)", name, total))
		}
	}
	var pass []string
	switch {
	case len(read[0].GPU.Rows)+len(read[1].GPU.Rows) == 0:
		return checks.Unseen(*rep, steps.CannotRun, "neither node has a GPU with its driver, so there is no BAR1 to look at")
	case without != nil:
		pass = append(pass, fmt.Sprintf("%s %s no BAR1 and %s none: processor and GPU share one memory",
			registry.And(without), registry.Plural(len(without), "has", "have"), registry.Plural(len(without), "needs", "need")))
	}
	if fits != nil {
		pass = append(pass, "the BAR1 of "+registry.And(fits)+" is large enough for the tutorial's buffers")
	}
	return rep.Verdict(pass...)
}
