// Package hardware is the checks of adapters, PCIe links, the GPU and the counters.
package hardware

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/checks"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"hardware": registry.Reads(parse.HardwareOutput),
			"readings": registry.Reads(parse.Readings),
			"ethtool":  registry.Reads(parse.EthtoolLinks),
			"cables":   registry.Reads(parse.Cables),
		},
		Judges: map[string]registry.Judge{
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
			"port-counters":       registry.Takes[[]parse.Reading](judgePortCounters),
			"idle-rails":          registry.Takes[[]parse.Reading](judgeIdleRails),
			"error-counters":      registry.Takes[[]parse.Reading](judgeErrorCounters),
			"rail-speed":          registry.Takes[parse.Bandwidth](judgeRailSpeed),
		},
		Params: []steps.Param{registry.PortParam("SPEED_PORT", "18519",
			"the same as PORT for the checklist's own test, rail-speed")},
		Tools: []parse.Tool{parse.NvidiaSMITool(), parse.FreeTool(), parse.DmesgTool(), parse.NvbandwidthTool()},
	}
}
