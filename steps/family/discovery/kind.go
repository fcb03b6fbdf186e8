// Package discovery is what a rig has: interfaces, RDMA devices, which rail leads where, and which GID
// index is a rail's own.
package discovery

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"ip-links":      registry.Reads(parse.Links),
			"verbs-devices": registry.Reads(parse.VerbsDevices),
			"ibv-devices":   registry.Reads(parse.IbvDevices),
			"ibv-devinfo":   registry.Reads(parse.IbvDevinfo),
			"ibdev2netdev":  registry.Reads(parse.Ibdev2netdev),
			"gid-table":     registry.Reads(parse.ShowGids),
			"ping":          registry.Reads(parse.Pings),
		},
		Judges: map[string]registry.Judge{
			"interfaces": registry.Takes[[]parse.Link](judgeInterfaces),
			"devices":    registry.Takes[parse.Devices](judgeDevices),
			"rail-map":   registry.Bare(judgeRailMap),
			"ping":       registry.Takes[[]parse.Ping](judgePing),
			"gids":       registry.Takes[[]parse.GIDRow](judgeGIDs),
		},
		Figures: map[string][]steps.Measure{"ping": {steps.RoundTrip}},
		Params: []steps.Param{
			registry.NumberParam("PINGS", "3", "packets", "how many packets ping sends over each rail, of each size", 1, 100),
		},
		Tools: []parse.Tool{
			parse.IbvDevicesTool(), parse.IbvDevinfoTool(), parse.ShowGidsTool(), parse.Ibdev2netdevTool(),
			parse.IPTool(), parse.PingTool(), parse.RDMATool(), parse.IbstatTool(), parse.EthtoolTool(),
		},
		Commands: slices.Concat(
			registry.Commands("iputils-ping", "ping"),
			registry.Commands("ibverbs-utils", "ibv_devices", "ibv_devinfo"),
			registry.Others("ibverbs-utils", "ibv_rc_pingpong"),
			registry.Commands("infiniband-diags", "ibstat"), registry.Others("infiniband-diags", "ibstatus", "perfquery"),
			registry.Commands("MLNX_OFED or DOCA-OFED (no Debian package has it)", "show_gids", "ibdev2netdev"),
		),
	}
}
