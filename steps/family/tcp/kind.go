// Package tcp is what iperf3 and railbench stream measure over rails or a bond, and which links carried it. TCP ends
// at processors, not at the link: its bands are what a user measured, and wide.
package tcp

import (
	"errors"
	"net/netip"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
)

// Kind is what the family registers.
func Kind() registry.Kind {
	return registry.Kind{
		Parsers: map[string]registry.Parser{
			"iperf3": registry.Reads(parse.Iperf3Output),
			"stream": registry.Reads(parse.StreamOutput),
		},
		Judges: map[string]registry.Judge{
			"tcp":    registry.Takes[parse.Iperf3](judgeTCP),
			"stream": registry.Takes[parse.Stream](judgeStream),
		},
		Figures: map[string][]steps.Measure{"tcp": {steps.Throughput}, "stream": {steps.Throughput}},
		// Longer than TCP_SECONDS may be, the cells' limit would end them.
		Params: []steps.Param{
			registry.NumberParam("TCP_SECONDS", "10", "s", "how long a TCP test runs", 1, 90),
			registry.NumberParam("TCP_STREAMS", "4", "streams", "how many connections the parallel TCP test has", 1, 128),
			registry.PortParam("TCP_PORT", "5201", "port of iperf3"),
			registry.NumberParam("STREAM_SECONDS", "10", "s", "how long railbench stream sends", 1, 90),
			// A stream that is over finishes the block that is under way.
			registry.SizeParam("STREAM_BLOCK", "67108864", "size of a block of railbench stream", 1, 1<<30),
			registry.PortParam("STREAM_PORT", "12377", "port of railbench stream"),
			registry.WordsParam("STREAM_GAUGE", "127.0.0.1:45004", "the gauge that railbench stream sends its rate to, over UDP",
				"an address and a port", gaugeAddress),
		},
		Commands: registry.Versioned("iperf3", "--version", "iperf3"),
		Tools:    []parse.Tool{parse.Iperf3Tool(), parse.Iperf2Tool()},
	}
}

func gaugeAddress(value string) error {
	if at, err := netip.ParseAddrPort(value); err != nil || at.Port() == 0 {
		return errors.New("it is an IP address and a port, as 127.0.0.1:45004 is")
	}
	return nil
}
