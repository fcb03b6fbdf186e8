// Package nixl is NIXL: its set-up, its Python programs and nixlbench, and ucx_perftest beside
// them, over the rails that UCX was told to use. UCX falls back to another rail, or to TCP, without an error: so each
// figure here stands beside what the rails' counters saw, and the initiator's own word proves little.
package nixl

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
			"nixl-check":  kind.Reads(parse.NIXLSetupOutput),
			"nixl-python": kind.Reads(parse.NIXLPythonOutput),
			"nixlbench":   kind.Reads(parse.NIXLBenchOutput),
			"ucx":         kind.Reads(parse.UCXInfo),

			"ucx-perftest": kind.Reads(readUCXPerftest),
		},
		Judges: map[string]kind.Judge{
			"nixl-check":    kind.Takes[parse.NIXLSetup](judgeNIXLCheck),
			"nixl-register": kind.Takes[parse.NIXLPython](judgeNIXLRegister),
			"nixl-transfer": kind.Takes[parse.NIXLPython](judgeNIXLTransfer),
			"nixl-latency":  kind.Takes[parse.NIXLPython](judgeNIXLLatency),
			"etcd":          kind.Takes[map[string]string](judgeEtcd),
			"nixlbench":     kind.Takes[parse.NIXLBench](judgeNIXLBench),
			"ucx-perftest":  kind.Takes[parse.UCXPerftest](judgeUCXPerftest),
		},
		Figures: map[string][]steps.Measure{
			"nixl-transfer": {steps.Throughput}, "nixl-latency": {steps.Latency}, "nixlbench": {steps.Throughput},
			"ucx-perftest": {steps.Throughput},
		},
		Live:   map[string]func(string) (steps.Table, bool){"nixlbench": liveNIXLBench},
		Params: params(),
		Tools:  []parse.Tool{parse.UCXTool(), parse.NIXLBenchTool(), parse.UCXPerftestTool()},
		Commands: slices.Concat(
			kind.Versioned("ucx-utils", "-v", "ucx_info"), kind.Others("ucx-utils", "ucx_perftest"),
			kind.Commands("nixlbench (it is built from the NIXL repository)", "nixlbench"),
			kind.Commands("etcd-client", "etcdctl"), kind.Others("etcd-server", "etcd"),
		),
	}
}
