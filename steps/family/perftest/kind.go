// Package perftest is what ib_write_bw and ib_write_lat measure on each rail, and on two at once:
// whether an output is of the run that was asked for, how its figure stands to the hardware, and
// whether the rail's own counters saw the bytes. How the tools' text is read is parse's.
package perftest

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"perftest-bandwidth": registry.Reads(parse.PerftestBandwidth),
			"perftest-latency":   registry.Reads(parse.PerftestLatency),
			"dual-link":          registry.Reads(parseDual),
			"load":               registry.Reads(parseLoad),
		},
		Judges: map[string]registry.Judge{
			"write-bandwidth":     registry.Takes[parse.Bandwidth](judgeWriteBandwidth),
			"gpu-write-bandwidth": registry.Takes[parse.Bandwidth](judgeGPUWriteBandwidth),
			"write-latency":       registry.Takes[parse.Latency](judgeWriteLatency),
			"dual-link":           registry.Takes[[]dualTest](judgeDual),
			"load":                registry.Takes[[]loadTest](judgeLoad),
		},
		Figures: map[string][]steps.Measure{
			"write-bandwidth": {steps.Throughput}, "write-latency": {steps.Latency}, "dual-link": {steps.Throughput},
			"load": {steps.Throughput}, "gpu-write-bandwidth": {steps.Throughput},
		},
		Plans: map[string]steps.Planner{
			"dual-link": planDual,
		},
		Params: params(),
		Tools:  []parse.Tool{parse.PerftestTool(), parse.PingPongTool(), parse.RpingTool(), parse.FabtestsTool()},
		Commands: slices.Concat(
			registry.Versioned("perftest", "--version", "ib_write_bw", "ib_write_lat"),
			registry.Others("perftest", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat"),
		),
	}
}

func params() []steps.Param {
	// perftest takes no fewer and no more (MIN_ITER and MAX_ITER of its
	// perftest_parameters.h). SIZE is bounded by what an RDMA message can have.
	iterations := registry.NumberParam("ITERATIONS", "", "messages", "how many messages a bandwidth test sends", 5,
		100_000_000)
	iterations.Empty = "chosen for each rail"
	least := registry.NumberParam("LEAST_GBPS", "", "Gb/s", "what the read, send, bidirectional and reverse tests have "+
		"to reach", 1,
		1600)
	least.Empty = "four fifths of what a write over the rail should reach, with a warning below 95 %; twice of it both " +
		"ways"
	partners := registry.NumberParam(pairs.Partners, "", "nodes",
		"with how many others the matrix of pairs measures each node", 1,
		steps.MostNodes)
	partners.Empty, partners.Cells = "all others", []string{"pair-matrix"}
	return []steps.Param{
		registry.SizeParam("SIZE", "65536", "size of one message of a bandwidth test", 1, 2<<30),
		iterations,
		registry.NumberParam("WRITES", "20000", "writes", "how many writes of 2 MiB the part on throughput makes", 5,
			100_000_000),
		registry.NumberParam("LAT_ITERATIONS", "1000", "messages", "how many messages a latency test sends", 5, 100_000_000),
		registry.NumberParam("LOAD_SECONDS", "30", "s", "how long a cell of the stage keeps its rails busy", 5, 86_400),
		registry.NumberParam("LOAD_BLOCKS", "80000", "blocks", "how many blocks nixlbench is asked for to keep a rail busy",
			16, 1<<30),
		least,
		partners,
		registry.PortParam("PORT", "18515", "TCP port over which perftest's two ends meet"),
	}
}
