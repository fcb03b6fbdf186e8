// Package perftest is what ib_write_bw and ib_write_lat measure on each rail, and on two at once.
package perftest

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"perftest-bandwidth": kind.Reads(parse.PerftestBandwidth),
			"perftest-latency":   kind.Reads(parse.PerftestLatency),
			"dual-link":          kind.Reads(parseDual),
		},
		Judges: map[string]kind.Judge{
			"write-bandwidth": kind.Takes[parse.Bandwidth](judgeWriteBandwidth),
			"write-latency":   kind.Takes[parse.Latency](judgeWriteLatency),
			"dual-link":       kind.Takes[[]dualTest](judgeDual),
		},
		Figures: map[string][]steps.Measure{
			"write-bandwidth": {steps.Throughput}, "write-latency": {steps.Latency}, "dual-link": {steps.Throughput},
		},
		Plans: map[string]steps.Planner{
			"dual-link": planDual,
		},
	}
}
