// Package bond is the cells that change the rails' interfaces, MTU, bonds and addresses, how each
// change is planned, and what is seen of it.
package bond

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"bonding": kind.Reads(parse.Bonding),
			"bonds":   kind.Reads(parse.Bonds),
		},
		Judges: map[string]kind.Judge{
			"bond-check":    kind.Takes[[]parse.NamedBond](judgeBondCheck),
			"bond-status":   kind.Takes[[]parse.NamedBond](judgeBondStatus),
			"mtu":           kind.Takes[map[string]string](judgeMTU),
			"bond-setup":    kind.Takes[map[string]string](judgeBondSetup),
			"bond-teardown": kind.Takes[map[string]string](judgeTeardown),
			"rail-ips":      kind.Takes[map[string]string](JudgeRailIPs),
			"netplan":       kind.Looks(judgeNetplan),
			"cleanup":       kind.Takes[map[string]string](judgeCleanup),
		},
		Figures: map[string][]steps.Measure{"bond-check": {steps.BondMode}, "bond-status": {steps.BondMode}},
		Plans: map[string]steps.Planner{
			"mtu":           planMTU,
			"bond-setup":    planBond,
			"bond-teardown": planTeardown,
			"rail-ips":      planRailIPs,
			"netplan":       planNetplan,
			"cleanup":       planCleanup,
		},
	}
}
