// Package tcp is what iperf3 measures over a rail or a bond.
package tcp

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind"
	"github.com/railbench/railbench/steps/parse"
)

// Kind is what the family registers.
func Kind() kind.Kind {
	return kind.Kind{
		Parsers: map[string]kind.Parser{
			"iperf3": kind.Reads(parse.Iperf3Output),
		},
		Judges: map[string]kind.Judge{
			"tcp": kind.Takes[parse.Iperf3](judgeTCP),
		},
		Figures: map[string][]steps.Measure{"tcp": {steps.Throughput}},
	}
}
