package network

import (
	"cmp"
	"fmt"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/strictnum"
)

// enoughMTU is the least of an interface's that gives the largest RoCE MTU
// (assets/docs/facts.md#headers-of-roce).
const enoughMTU = 4192

// judgeRoCEMTU: every rail that leads to the other node uses the largest RoCE MTU, or else
// what a smaller one costs there.
func judgeRoCEMTU(r steps.Result, facts [2]map[string]string, rep *registry.Report) steps.Verdict {
	rig := r.Rig
	if !checks.AllTell(rig, facts, "MTU", rep) {
		return rep.Verdict()
	}
	good, soft := 0, ""
	var priced []pricedRail
	for i, p := range rig.Pairs {
		mtu := agreedActive(rig, facts, p, rep)
		switch {
		case rig.Rail(p, steps.Here).InfiniBand():
			rep.Add(steps.CannotRun, steps.Inconclusive, "rail %d (%s) is InfiniBand: the subnet manager sets its MTU, not an "+
				"interface", i+1, rig.Rail(p, steps.Here).Dev)
		case mtu <= 0:
			rep.Add(steps.Unreadable, steps.Inconclusive, "could not read the RoCE MTU of rail %d (%s)", i+1, rig.Rail(p,
				steps.Here).Dev)
		case float64(mtu) >= limits.LargestMTU.Value():
			good++
		// Packets of soft-RoCE cost processor time, and how much is unknown.
		case limits.Soft(rig, p) != "":
			soft = limits.Soft(rig, p)
		default:
			priced = append(priced, pricedRail{no: i + 1, pair: p, mtu: mtu})
		}
	}
	tellPrices(rig, priced, rep)
	tellCable(rig, priced, rep)
	switch {
	case len(rig.Pairs) == 0:
		rep.Add(steps.NoRail, steps.Inconclusive, "no rail connects the nodes, so no RoCE MTU to check")
	case soft != "" && len(rep.Findings) == 0:
		return checks.Unseen(*rep, steps.NoLimitKnown, "%s, so the cost of a RoCE MTU below %.0f is unknown", soft,
			limits.LargestMTU.Value())
	}
	if len(priced) > 0 && good == 0 {
		return rep.Verdict(fmt.Sprintf("both ends of every rail agree on their RoCE MTU, which is below %.0f",
			limits.LargestMTU.Value()))
	}
	return rep.Verdict(fmt.Sprintf("%s the largest RoCE MTU, %.0f", registry.Count(good, "rail has", "rails have"),
		limits.LargestMTU.Value()))
}

// A pricedRail is one whose RoCE MTU costs something.
type pricedRail struct {
	no, mtu int
	pair    steps.Pair
}

// agreedActive is the RoCE MTU that both ends of a rail agree on, in bytes; 0 where an end reports none and
// nothing says what it must be. It is the smaller of the two ends' MTUs: a queue pair is set to that. A
// printed value that is not a number gives 0, too: an MTU worked out from the interface's would hide that
// something is wrong with the tool.
func agreedActive(rig steps.Rig, facts [2]map[string]string, p steps.Pair, rep *registry.Report) int {
	agreed := 0
	for _, e := range steps.Ends {
		rail := rig.Rail(p, e)
		said := facts[e][fmt.Sprintf("%s port %d active_mtu", rail.Dev, rail.Port)]
		mtu, told := strictnum.Count(said)
		how := "ibv_devinfo"
		if !told && said != "" && said != "invalid" {
			rep.ShowAt(rig.NameOf(e), rail.Dev+" RoCE MTU", said+", which is not a number", "", nil)
			return 0
		}
		if !told || mtu <= 0 {
			mtu, how = rail.MTU, "worked out from the interface's MTU"
		}
		rep.ShowAt(rig.NameOf(e), rail.Dev+" RoCE MTU", mtu, "bytes", &steps.Expected{
			Min: new(limits.LargestMTU.Value()), From: fmt.Sprintf("%s; %s has an MTU of %s, and %d is enough", how,
				rail.Netdev.Name, facts[e][rail.Netdev.Name+" MTU"], enoughMTU),
		})
		if mtu <= 0 {
			return 0
		}
		agreed = limits.Lesser(agreed, mtu)
	}
	return agreed
}

// tellPrices advises a larger MTU, with what the smaller one costs.
func tellPrices(rig steps.Rig, priced []pricedRail, rep *registry.Report) {
	var order []string
	rails := map[string][]string{}
	for _, r := range priced {
		p := limits.PriceOf(rig, r.mtu, r.pair)
		rep.Show(fmt.Sprintf("cost of RoCE MTU %d on rail %d", r.mtu, r.no),
			registry.Round(float64(cmp.Or(p.Costs(), p.Headers))), "Gb/s", nil)
		says := fmt.Sprintf("RoCE MTU %d, %.0f is possible", r.mtu, limits.LargestMTU.Value())
		if p.None == "" {
			says += fmt.Sprintf(" and gains up to %.1f Gb/s", p.Costs())
		}
		if rails[says] == nil {
			order = append(order, says)
		}
		rails[says] = append(rails[says], fmt.Sprint(r.no))
		rep.Explain("Rail %d, RoCE MTU %d: %s", r.no, r.mtu, p.Says())
	}
	for _, says := range order {
		rep.Advise(steps.MTUSmall, "%s %s: %s. Raise the interfaces' MTU to %d or more at both ends: railbench run mtu",
			registry.Plural(len(rails[says]), "Rail", "Rails"), registry.And(rails[says]), says, enoughMTU)
	}
}

// tellCable shows what it costs where both halves of a port are used at once: the cable ends
// that, and not the PCIe link.
func tellCable(rig steps.Rig, priced []pricedRail, rep *registry.Report) {
	twin, ok := rig.AcrossHalves()
	// The pair across the halves is rail 1 and its twin: dual-link measures those two.
	if !ok || len(priced) == 0 || priced[0].pair != rig.Pairs[0] {
		return
	}
	for _, r := range priced[1:] {
		if r.pair != twin || r.mtu != priced[0].mtu {
			continue
		}
		if p := limits.PriceOf(rig, r.mtu, rig.Pairs[0], twin); p.None == "" {
			rep.Show(fmt.Sprintf("cost of RoCE MTU %d on both halves of one cable", r.mtu), registry.Round(float64(p.Costs())),
				"Gb/s", nil)
			rep.Explain("Both halves of one cable at once: RoCE MTU %d costs %.1f Gb/s of %.1f", r.mtu, p.Costs(),
				p.Could.Expected)
		}
	}
}
