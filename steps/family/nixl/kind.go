// Package nixl is NIXL: its set-up, its Python programs and nixlbench, and ucx_perftest in addition, over the
// rails that UCX was configured to use. UCX falls back to another rail, or to TCP, without an error. So each
// figure here is compared with what the rails' counters saw, and the initiator's own report proves little.
package nixl

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
			"nixl-check":  registry.Reads(parse.NIXLSetupOutput),
			"nixl-python": registry.Reads(parse.NIXLPythonOutput),
			"nixlbench":   registry.Reads(parse.NIXLBenchOutput),
			"ucx":         registry.Reads(parse.UCXInfo),

			"ucx-perftest": registry.Reads(readUCXPerftest),
		},
		Judges: map[string]registry.Judge{
			"nixl-check":    registry.Takes[parse.NIXLSetup](judgeNIXLCheck),
			"nixl-register": registry.Takes[parse.NIXLPython](judgeNIXLRegister),
			"nixl-transfer": registry.Takes[parse.NIXLPython](judgeNIXLTransfer),
			"nixl-latency":  registry.Takes[parse.NIXLPython](judgeNIXLLatency),
			"etcd":          registry.Takes[map[string]string](judgeEtcd),
			"nixlbench":     registry.Takes[parse.NIXLBench](judgeNIXLBench),
			"ucx-perftest":  registry.Takes[parse.UCXPerftest](judgeUCXPerftest),
		},
		Figures: map[string][]steps.Measure{
			"nixl-transfer": {steps.Throughput}, "nixl-latency": {steps.Latency}, "nixlbench": {steps.Throughput},
			"ucx-perftest": {steps.Throughput},
		},
		Live:   map[string]func(string) (steps.Table, bool){"nixlbench": liveNIXLBench},
		Params: params(),
		Tools:  []parse.Tool{parse.UCXTool(), parse.NIXLBenchTool(), parse.UCXPerftestTool(), parse.CloudAITool()},
		Commands: slices.Concat(
			registry.Versioned("ucx-utils", "-v", "ucx_info"), registry.Others("ucx-utils", "ucx_perftest"),
			registry.Commands("nixlbench (it is built from the NIXL repository)", "nixlbench"),
			registry.Commands("etcd-client", "etcdctl"), registry.Others("etcd-server", "etcd"),
		),
	}
}
