// Package tcp is what iperf3 measures over a rail or a bond, and which links carried it. TCP
// ends at processors, not at the link: its bands are what somebody measured, and wide.
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
		// Longer than TCP_SECONDS may be, the cells' limit would end them.
		Params: []steps.Param{
			kind.NumberParam("TCP_SECONDS", "10", "s", "how long a TCP test runs", 1, 90),
			kind.NumberParam("TCP_STREAMS", "4", "streams", "how many connections the parallel TCP test has", 1, 128),
			kind.PortParam("TCP_PORT", "5201", "port of iperf3"),
		},
		Commands: kind.Versioned("iperf3", "--version", "iperf3"),
		Tools:    []parse.Tool{parse.Iperf3Tool()},
	}
}
