// Package bond is the cells that change the rails' interfaces, MTU, bonds and addresses, how each
// change is planned, and what is seen of it.
package bond

import (
	"errors"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"bonding": registry.Reads(parse.Bonding),
			"bonds":   registry.Reads(parse.Bonds),
		},
		Judges: map[string]registry.Judge{
			"bond-check":    registry.Takes[[]parse.NamedBond](judgeBondCheck),
			"bond-status":   registry.Takes[[]parse.NamedBond](judgeBondStatus),
			"mtu":           registry.Takes[map[string]string](judgeMTU),
			"bond-setup":    registry.Takes[map[string]string](judgeBondSetup),
			"bond-teardown": registry.Takes[map[string]string](judgeTeardown),
			"rail-ips":      registry.Takes[map[string]string](JudgeRailIPs),
			"netplan":       registry.Bare(judgeNetplan),
			"netplan-try":   registry.Takes[map[string]string](judgeNetplanTry),
			"cleanup":       registry.Takes[map[string]string](judgeCleanup),
		},
		Figures: map[string][]steps.Measure{"bond-check": {steps.BondMode}, "bond-status": {steps.BondMode}},
		Plans: map[string]steps.Planner{
			"mtu":           planMTU,
			"bond-setup":    planBond,
			"bond-teardown": planTeardown,
			"rail-ips":      planRailIPs,
			"netplan":       planNetplan,
			"netplan-try":   planNetplanTry,
			"cleanup":       planCleanup,
		},
		Params:   params(),
		Commands: registry.Commands("netplan.io", "netplan"),
		Tools:    []parse.Tool{parse.BondingTool()},
	}
}

func params() []steps.Param {
	mode := registry.ChoiceParam("BOND_MODE", "balance-xor", "how a bond spreads packets over its rails", "balance-xor",
		"active-backup", "balance-rr")
	mode.Refused = map[string]string{
		"802.3ad": "railbench does not create it, as it needs LACP at the other end; use " +
			"balance-xor",
	}
	bond := registry.WordsParam("BOND", "bond0", "name of the bond that bond-setup makes",
		"an interface's name: at most 15 characters, no blank, / or :", interfaceName)
	bond.Worked = []string{"bond-teardown"}
	return []steps.Param{
		registry.NumberParam("JUMBO_MTU", "9000", "bytes", "the MTU that mtu sets on the rails", 1280, 9216),
		bond, mode,
		registry.ChoiceParam("BOND_HASH", "layer3+4", "header fields by which balance-xor chooses a rail", "layer2",
			"layer2+3", "layer3+4", "encap2+3", "encap3+4"),
		registry.NumberParam("BOND_MIIMON", "100", "ms", "how often a bond checks its links", 1, 1000),
	}
}

// interfaceName is what the kernel takes (dev_valid_name), but for a leading hyphen,
// which ip would take for an option.
func interfaceName(s string) error {
	if len(s) > 15 || s == "." || s == ".." || strings.HasPrefix(s, "-") || strings.ContainsAny(s, "/: ") {
		return errors.New("it is an interface's name: at most 15 characters, no blank, / or :, and no hyphen in front")
	}
	return nil
}
