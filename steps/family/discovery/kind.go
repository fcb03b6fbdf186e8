// Package discovery is what a rig has: interfaces, RDMA devices, which rail leads where, and which GID
// index is a rail's own.
package discovery

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"ip-links":      kind.Reads(parse.Links),
			"verbs-devices": kind.Reads(parse.VerbsDevices),
			"ibv-devices":   kind.Reads(parse.IbvDevices),
			"ibv-devinfo":   kind.Reads(parse.IbvDevinfo),
			"ibdev2netdev":  kind.Reads(parse.Ibdev2netdev),
			"gid-table":     kind.Reads(parse.ShowGids),
			"ping":          kind.Reads(parse.Pings),
		},
		Judges: map[string]kind.Judge{
			"interfaces": kind.Takes[[]parse.Link](judgeInterfaces),
			"devices":    kind.Takes[parse.Devices](judgeDevices),
			"rail-map":   kind.Bare(judgeRailMap),
			"ping":       kind.Takes[[]parse.Ping](judgePing),
			"gids":       kind.Takes[[]parse.GIDRow](judgeGIDs),
		},
		Figures: map[string][]steps.Measure{"ping": {steps.RoundTrip}},
		Params: []steps.Param{
			kind.NumberParam("PINGS", "3", "packets", "how many packets ping sends over each rail, of each size", 1, 100),
		},
		Tools: []parse.Tool{
			parse.IbvDevicesTool(), parse.IbvDevinfoTool(), parse.ShowGidsTool(), parse.Ibdev2netdevTool(),
			parse.IPTool(), parse.PingTool(), parse.RDMATool(), parse.IbstatTool(), parse.EthtoolTool(),
		},
		Commands: slices.Concat(
			kind.Commands("iputils-ping", "ping"),
			kind.Commands("ibverbs-utils", "ibv_devices", "ibv_devinfo"), kind.Others("ibverbs-utils", "ibv_rc_pingpong"),
			kind.Commands("infiniband-diags", "ibstat"), kind.Others("infiniband-diags", "ibstatus", "perfquery"),
			kind.Commands("MLNX_OFED or DOCA-OFED (no Debian package has it)", "show_gids", "ibdev2netdev"),
		),
	}
}
