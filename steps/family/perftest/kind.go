// Package perftest is what ib_write_bw and ib_write_lat measure on each rail, and on two at once:
// whether an output is of the run that was asked for, how its figure stands to the hardware, and
// whether the rail's own counters saw the bytes. How the tools' text is read is parse's.
package perftest

import (
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"perftest-bandwidth": kind.Reads(parse.PerftestBandwidth),
			"perftest-latency":   kind.Reads(parse.PerftestLatency),
			"dual-link":          kind.Reads(parseDual),
			"load":               kind.Reads(parseLoad),
		},
		Judges: map[string]kind.Judge{
			"write-bandwidth":     kind.Takes[parse.Bandwidth](judgeWriteBandwidth),
			"gpu-write-bandwidth": kind.Takes[parse.Bandwidth](judgeGPUWriteBandwidth),
			"write-latency":       kind.Takes[parse.Latency](judgeWriteLatency),
			"dual-link":           kind.Takes[[]dualTest](judgeDual),
			"load":                kind.Takes[[]loadTest](judgeLoad),
		},
		Figures: map[string][]steps.Measure{
			"write-bandwidth": {steps.Throughput}, "write-latency": {steps.Latency}, "dual-link": {steps.Throughput},
			"load": {steps.Throughput}, "gpu-write-bandwidth": {steps.Throughput},
		},
		Plans: map[string]steps.Planner{
			"dual-link": planDual,
		},
		Params: params(),
		Tools:  []parse.Tool{parse.PerftestTool()},
		Commands: slices.Concat(
			kind.Versioned("perftest", "--version", "ib_write_bw", "ib_write_lat"),
			kind.Others("perftest", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat"),
		),
	}
}

func params() []steps.Param {
	// perftest takes no fewer and no more (MIN_ITER and MAX_ITER of its
	// perftest_parameters.h). SIZE is bounded by what an RDMA message can have.
	iterations := kind.NumberParam("ITERATIONS", "", "messages", "how many messages a bandwidth test sends", 5,
		100_000_000)
	iterations.Empty = "chosen for each rail"
	least := kind.NumberParam("LEAST_GBPS", "", "Gb/s", "what the read, send, bidirectional and reverse tests have to "+
		"reach", 1,
		1600)
	least.Empty = "four fifths of what a write over the rail should reach, with a warning below 95 %; twice of it both " +
		"ways"
	partners := kind.NumberParam(pairs.Partners, "", "nodes",
		"with how many others the matrix of pairs measures each node", 1,
		steps.MostNodes)
	partners.Empty, partners.Cells = "all others", []string{"pair-matrix"}
	return []steps.Param{
		kind.SizeParam("SIZE", "65536", "size of one message of a bandwidth test", 1, 2<<30),
		iterations,
		kind.NumberParam("WRITES", "20000", "writes", "how many writes of 2 MiB the part on throughput makes", 5,
			100_000_000),
		kind.NumberParam("LAT_ITERATIONS", "1000", "messages", "how many messages a latency test sends", 5, 100_000_000),
		kind.NumberParam("LOAD_SECONDS", "30", "s", "how long a cell of the stage keeps its rails busy", 5, 86_400),
		kind.NumberParam("LOAD_BLOCKS", "80000", "blocks", "how many blocks nixlbench is asked for to keep a rail busy", 16,
			1<<30),
		least,
		partners,
		kind.PortParam("PORT", "18515", "TCP port over which perftest's two ends meet"),
	}
}
