// Package network is the checks of links, addresses, routes, bonds and GIDs, and the cells that put
// right what they find.
package network

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/family/bond"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Judges: map[string]kind.Judge{
			"nodes":            kind.Takes[map[string]string](judgeNodes),
			"link-up":          kind.Takes[map[string]string](judgeLinkUp),
			"rail-addresses":   kind.Takes[map[string]string](judgeRailAddresses),
			"address-conflict": kind.Takes[map[string]string](judgeAddressConflict),
			"arp-flux":         kind.Takes[map[string]string](judgeArpFlux),
			"duplicate-ip":     kind.Takes[map[string]string](judgeDuplicateIP),
			"mtu-equal":        kind.Takes[map[string]string](judgeMTUEqual),
			"rail-bond":        kind.Takes[map[string]string](judgeRailBond),
			"bond-health":      kind.Takes[map[string]string](judgeBondHealth),
			"gid-index":        kind.Takes[[]parse.GIDRow](judgeGIDIndex),
			"rdma-ports":       kind.Takes[map[string]string](judgeRDMAPorts),
			"routes":           kind.Takes[map[string]string](judgeRoutes),
			"reboot-safe":      kind.Takes[map[string]string](judgeRebootSafe),
			"roce-lag":         kind.Takes[map[string]string](judgeRoceLAG),
			"fix-link-up":      kind.Takes[map[string]string](judgeFixLinkUp),
			"fix-rail-address": kind.Takes[map[string]string](bond.JudgeRailIPs),
			"fix-addresses":    kind.Takes[map[string]string](judgeFixAddresses),
		},
		Plans: map[string]steps.Planner{
			"arp-flux":         planWays,
			"duplicate-ip":     planWays,
			"mtu-equal":        planWays,
			"reboot-safe":      planWays,
			"fix-link-up":      planLinkUp,
			"fix-rail-address": planRailAddress,
			"fix-addresses":    planAddresses,
		},
	}
}
