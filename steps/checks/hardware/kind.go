// Package hardware is the checks of adapters, PCIe links, the GPU and the counters.
package hardware

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"hardware": kind.Reads(parse.HardwareOutput),
			"readings": kind.Reads(parse.Readings),
			"ethtool":  kind.Reads(parse.EthtoolLinks),
			"cables":   kind.Reads(parse.Cables),
		},
		Judges: map[string]kind.Judge{
			"pcie-link":           checks.OnBoth(judgePCIeLink),
			"link-speed":          checks.OnBoth(judgeLinkSpeed),
			"cable":               checks.OnBoth(judgeCable),
			"pcie-errors":         checks.OnBoth(judgePCIeErrors),
			"last-boot":           checks.OnBoth(judgeLastBoot),
			"adapter-present":     checks.OnBoth(judgeAdapterPresent),
			"adapter-power":       checks.OnBoth(judgeAdapterPower),
			"adapter-temperature": checks.OnBoth(judgeAdapterTemperature),
			"gpu":                 checks.OnBoth(judgeGPU),
			"gpu-clock":           checks.OnBoth(judgeGPUClock),
			"gpu-path":            checks.OnBoth(judgeGPUPath),
			"secure-boot":         checks.OnBoth(judgeSecureBoot),
			"bar1":                checks.OnBoth(judgeBAR1),
			"port-counters":       kind.Takes[[]parse.Reading](judgePortCounters),
			"idle-rails":          kind.Takes[[]parse.Reading](judgeIdleRails),
			"error-counters":      kind.Takes[[]parse.Reading](judgeErrorCounters),
			"rail-speed":          kind.Takes[parse.Bandwidth](judgeRailSpeed),
		},
		Params: []steps.Param{kind.PortParam("SPEED_PORT", "18519",
			"the same as PORT for the checklist's own test, rail-speed")},
		Tools: []parse.Tool{parse.NvidiaSMITool(), parse.FreeTool(), parse.DmesgTool()},
	}
}
