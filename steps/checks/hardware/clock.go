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
			also = ". Read: " + registry.And(told)
		}
		return checks.Unseen(*rep, code, "could not read the GPU clock under load on %s%s", registry.And(unseen), also)
	}
	return rep.Verdict("after a second of load the GPU clock is "+registry.And(told), "nothing limits it")
}

// unloaded says why a node's GPU was not looked at under load, with the code of that; empty where it was.
func unloaded(h parse.Hardware) (steps.Code, string) {
	load, busy := h.Facts["load"], h.Facts["busy before"]
	switch {
	case !hasSMI(h):
		return steps.CommandMissing, "no nvidia-smi"
	case load == "" && busy == "":
		return steps.Unreadable, "the script reported nothing"
	case load == "" && !digits(busy):
		return steps.Unreadable, "nvidia-smi does not report whether the GPU is in use"
	case load == "":
		return steps.GPUBusy, fmt.Sprintf("the GPU was already %s %% busy: stop that, or try later", busy)
	case strings.HasPrefix(load, "none"):
		return steps.GPULoadFailed, "the load did not start: " + strings.Trim(strings.TrimPrefix(load, "none"), " ()")
	case len(h.GPU.Rows) == 0:
		return steps.GPUDriverFails, "nvidia-smi reported nothing under load" + quoted(h.GPU.Errors)
	}
	return "", ""
}

func digits(text string) bool { _, ok := strictnum.Count(text); return ok }

// clockOf looks at a GPU under load. sure is false where what it reports is of no load, or of no
// clock, and said is why.
func clockOf(rig steps.Rig, e steps.End, g parse.GPU, rep *registry.Report) (said string, sure bool) {
	node := rig.NameOf(e)
	now, ok := strictnum.Number(g.Fields["clocks.current.sm"])
	most, known := strictnum.Number(g.Fields["clocks.max.sm"])
	if !ok || !known || most <= 0 {
		return "nvidia-smi reports no clock", false
	}
	// The clock of an idle GPU is low: without its own word that it was busy no figure
	// says anything.
	if u := g.UtilPercent; u == nil || float64(*u) < limits.BusyGPU.Value() {
		return "nvidia-smi did not see the load", false
	}
	share := now / most
	watts := ""
	if g.PowerW != nil {
		watts = fmt.Sprintf(" at %.0f W", *g.PowerW)
		rep.ShowAt(node, g.Name+" power under load", *g.PowerW, "W", nil)
	}
	rep.ShowAt(node, g.Name+" clock under load", now, "MHz", &steps.Expected{
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
		rep.At(rig, e, steps.GPUClockStuck, steps.Fail, "the GPU on %s stays at %s under load. Shut the node down and "+
			"unplug it for a minute", node, said)
		rep.Explain("%s. GB10s were seen stuck like this until they were unplugged. Use the power supply that came with "+
			"the node", registry.Capital(reason))
	case share < limits.BusyClock.Value():
		rep.At(rig, e, steps.GPUClockLow, steps.Warn, "the GPU on %s reaches %s under load, expected at least %.0f. Check "+
			"power limit, heat and clock cap (nvidia-smi -rgc)", node, said, limits.BusyClock.Value()*most)
		rep.Explain("%s. nvidia-smi -rgc removes a clock cap that was set", registry.Capital(reason))
	// The clock is as expected, and yet something is at its limit: under a longer load it falls.
	case held != nil:
		rep.At(rig, e, steps.GPUHeldBack, steps.Warn, "the GPU on %s reaches %s under load, but is at a limit: %s", node,
			said, reason)
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

// boardLimits reports what the board itself says of its power, where a module shows it: a Spark's
// firmware may hold the GPU back below what its driver sees.
func boardLimits(rig steps.Rig, e steps.End, f map[string]string, rep *registry.Report) {
	node := rig.NameOf(e)
	for _, name := range []string{"prochot", "pl_level"} {
		v := cmp.Or(f[name+" under load"], f[name+" before"])
		if v != "" {
			rep.ShowAt(node, name, v, "", nil)
		}
	}
	if n, ok := strictnum.Count(cmp.Or(f["prochot under load"], f["prochot before"])); ok && n > 0 {
		rep.At(rig, e, steps.BoardThrottled, steps.Warn, "the board on %s reports PROCHOT (prochot %d): it throttles the "+
			"processors. Check heat and power supply", node, n)
		rep.Decide(node + " prochot")
	}
}
