// Package network is the checks of links, addresses, routes, bonds and GIDs, and the cells that fix
// what they find.
package network

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/family/bond"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Judges: map[string]registry.Judge{
			"nodes":            registry.Takes[map[string]string](judgeNodes),
			"link-up":          checks.OnBoth(judgeLinkUp),
			"rail-addresses":   checks.OnBoth(judgeRailAddresses),
			"address-conflict": checks.OnBoth(judgeAddressConflict),
			"arp-flux":         checks.OnBoth(judgeArpFlux),
			"duplicate-ip":     checks.OnBoth(judgeDuplicateIP),
			"mtu-equal":        checks.OnBoth(judgeMTUEqual),
			"roce-mtu":         checks.OnBoth(judgeRoCEMTU),
			"rail-bond":        checks.OnBoth(judgeRailBond),
			"bond-health":      checks.OnBoth(judgeBondHealth),
			"gid-index":        registry.Takes[[]parse.GIDRow](judgeGIDIndex),
			"rdma-ports":       checks.OnBoth(judgeRDMAPorts),
			"routes":           checks.OnBoth(judgeRoutes),
			"shaping":          checks.OnBoth(judgeShaping),
			"path-loss":        checks.OnBoth(judgePathLoss),
			"reboot-safe":      checks.OnBoth(judgeRebootSafe),
			"rail-managers":    checks.OnBoth(judgeRailManagers),
			"link-local":       checks.OnBoth(judgeLinkLocal),
			"boot-waits":       checks.OnBoth(judgeBootWaits),
			"roce-lag":         checks.OnBoth(judgeRoceLAG),
			"fix-link-up":      registry.Takes[map[string]string](judgeFixLinkUp),
			"fix-rail-address": registry.Takes[map[string]string](bond.JudgeRailIPs),
			"fix-addresses":    registry.Takes[map[string]string](judgeFixAddresses),
		},
		Plans: map[string]steps.Planner{
			"arp-flux":         planWays,
			"duplicate-ip":     planWays,
			"mtu-equal":        planWays,
			"routes":           planWays,
			"shaping":          planWays,
			"path-loss":        planWays,
			"reboot-safe":      planKept,
			"fix-link-up":      planLinkUp,
			"fix-rail-address": planRailAddress,
			"fix-addresses":    planAddresses,
		},
		Params:   []steps.Param{railAddressParam()},
		Commands: registry.Others("iputils-arping", "arping"),
	}
}

func railAddressParam() steps.Param {
	p := registry.WordsParam("RAIL_ADDRESS", "", "IPv4 address that fix-rail-address gives to the rail that lacks one",
		"an IPv4 address, with or without its prefix", railAddress)
	p.Empty, p.Cells = "worked out from the other rails", []string{"fix-rail-address"}
	return p
}

func railAddress(s string) error {
	if text, bits, prefixed := strings.Cut(s, "/"); prefixed {
		if p, err := netip.ParsePrefix(s); err != nil || !p.Addr().Is4() {
			return fmt.Errorf("%s/%s is not an IPv4 address with its prefix", text, bits)
		}
		return nil
	}
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return errors.New("give an IPv4 address, with or without its prefix: 192.168.101.11 or 192.168.101.11/24")
	}
	return nil
}
