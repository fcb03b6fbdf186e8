package hardware

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// judgeGPUClock: under a short load the GPU gets to a clock that such a GPU has, and nothing
// holds it back.
func judgeGPUClock(r steps.Result, read [2]parse.Hardware, rep *registry.Report) steps.Verdict {
	var told, unseen []string
	var code steps.Code // why the first of them was not seen
	for _, e := range steps.Ends {
		h, node := read[e], r.Rig.NameOf(e)
		boardLimits(r.Rig, e, h.Facts, rep)
		cause, why := unloaded(h)
		if why != "" {
			unseen, code = append(unseen, fmt.Sprintf("%s (%s)", node, why)), cmp.Or(code, cause)
			continue
		}
		// The load is on the first GPU.
		said, sure := clockOf(r.Rig, e, h.GPU.Rows[0], rep)
		if !sure {
			unseen, code = append(unseen, fmt.Sprintf("%s (%s)", node, said)), cmp.Or(code, steps.Unreadable)
			continue
		}
		told = append(told, said+" on "+node)
	}
	if unseen != nil && len(rep.Findings) == 0 {
		also := ""
		if told != nil {
			also = "; it was " + registry.And(told)
		}
		return checks.Unseen(*rep, code, "no clock under load was seen on %s%s", registry.And(unseen), also)
	}
	return rep.Verdict("under a second of load the clock is "+registry.And(told), "nothing holds it back")
}

// unloaded says why a node's GPU was not looked at under load, with the code of that; empty where it was.
func unloaded(h parse.Hardware) (steps.Code, string) {
	load, busy := h.Facts["load"], h.Facts["busy before"]
	switch {
	case !hasSMI(h):
		return steps.CommandMissing, "there is no nvidia-smi"
	case load == "" && busy == "":
		return steps.Unreadable, "its script didn't tell"
	case load == "" && !digits(busy):
		return steps.Unreadable, "nvidia-smi doesn't tell whether somebody uses it"
	case load == "":
		return steps.GPUBusy, fmt.Sprintf("its GPU was busy before, %s %% of it: end that, or look again later", busy)
	case strings.HasPrefix(load, "none"):
		return steps.GPULoadFailed, "no load could be put on it: " + strings.Trim(strings.TrimPrefix(load, "none"), " ()")
	case len(h.GPU.Rows) == 0:
		return steps.GPUDriverFails, "nvidia-smi told nothing under load" + quoted(h.GPU.Errors)
	}
	return "", ""
}

func digits(text string) bool { _, ok := strictnum.Count(text); return ok }

// clockOf looks at a GPU under load. sure is false where what it tells is of no load, or of no
// clock, and said is why.
func clockOf(rig steps.Rig, e steps.End, g parse.GPU, rep *registry.Report) (said string, sure bool) {
	node := rig.NameOf(e)
	now, ok := strictnum.Number(g.Fields["clocks.current.sm"])
	most, known := strictnum.Number(g.Fields["clocks.max.sm"])
	if !ok || !known || most <= 0 {
		return "nvidia-smi tells no clock", false
	}
	// The clock of an idle GPU is low, as it should be: without its own word that it was busy no figure
	// says anything.
	if u := g.UtilPercent; u == nil || float64(*u) < limits.BusyGPU.Value() {
		return "the load didn't show as such in nvidia-smi", false
	}
	share := now / most
	watts := ""
	if g.PowerW != nil {
		watts = fmt.Sprintf(" at %.0f W", *g.PowerW)
		rep.Show(node+" "+g.Name+" power under load", *g.PowerW, "W", nil)
	}
	rep.Show(node+" "+g.Name+" clock under load", now, "MHz", &steps.Expected{
		Min:  new(limits.BusyClock.Value() * most),
		From: fmt.Sprintf("%s; it can do %.0f MHz", limits.BusyClock.Entry().Source, most),
	})
	said = fmt.Sprintf("%.0f of %.0f MHz%s", now, most, watts)
	held := heldBack(g)
	reason := "nvidia-smi names no reason"
	if held != nil {
		reason = "nvidia-smi says " + registry.And(held)
	}
	switch {
	case share < limits.LowClock.Value():
		rep.At(rig, e, steps.GPUClockStuck, steps.Fail, "the GPU of %s (%s) stays at %s under load (%s): it is stuck, as "+
			"GB10s were seen until their power was taken away. Shut the node down, pull the plug of its power supply for a "+
			"minute, and plug in the one that came with it", node, g.Name, said, reason)
	case share < limits.BusyClock.Value():
		rep.At(rig, e, steps.GPUClockLow, steps.Warn, "the GPU of %s (%s) has %s under load (%s), and we expect %.0f MHz or "+
			"more: a power limit, heat, or a cap that somebody has set (nvidia-smi -rgc takes it away)", node, g.Name, said,
			reason,
			limits.BusyClock.Value()*most)
	// The clock is as expected, and yet something is at its limit: under a longer load it falls.
	case held != nil:
		rep.At(rig, e, steps.GPUHeldBack, steps.Warn, "the GPU of %s (%s) has %s under load, and %s", node, g.Name, said,
			reason)
	}
	return said, true
}

// heldBack are the reasons that nvidia-smi names for a lower clock.
func heldBack(g parse.GPU) []string {
	var held []string
	for _, field := range registry.SortedNames(g.Fields) {
		if name, ok := strings.CutPrefix(field, "clocks_event_reasons."); ok && g.Fields[field] == "Active" {
			held = append(held, name)
		}
	}
	return held
}

// boardLimits tells what the board itself says of its power, where a module shows it: a Spark's
// firmware may hold the GPU back below what its driver sees.
func boardLimits(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) {
	node := rig.NameOf(e)
	for _, name := range []string{"prochot", "pl_level"} {
		v := cmp.Or(f[name+" under load"], f[name+" before"])
		if v != "" {
			rep.Show(node+" "+name, v, "", nil)
		}
	}
	if n, ok := strictnum.Count(cmp.Or(f["prochot under load"], f["prochot before"])); ok && n > 0 {
		rep.At(rig, e, steps.BoardThrottled, steps.Warn, "the board of %s says PROCHOT (prochot %d): it slows its "+
			"processors for heat or for its power supply", node, n)
	}
}
