package kindtest

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// streamBlock is the size of a block of railbench stream.
const streamBlock = 1 << 26

// Streamed is a run of railbench stream over some pairs of rails, each with its share of a rate.
func Streamed(rig steps.Rig, gbps float64, streams int, pairs ...int) steps.Result {
	blocks := int(gbps * 1e9 / 8 * tcpSeconds / streamBlock / float64(len(pairs)))
	bytes := float64(blocks * streamBlock)
	figures := func(n int, rate float64) string {
		return fmt.Sprintf(`"bytes": %.0f, "blocks": %d, "lost": 0, "corrupt": 0, "cut": 0, "seconds": %g, "gbps": %g, "stalls": 0`,
			bytes*float64(n), blocks*n, bytes*float64(n)*8/1e9/rate, rate)
	}
	said := func(sender bool) string {
		var ways []string
		for _, p := range pairs {
			own := ""
			if sender {
				own = fmt.Sprintf(`, "streams": %d`, streams)
			}
			ways = append(ways, fmt.Sprintf(`    {"at": "%s:12377", %s%s}`, rig.Rail(rig.Pairs[p], steps.Peer).Addr,
				figures(1, gbps/float64(len(pairs))), own))
		}
		return fmt.Sprintf("{\n  \"railbench\": \"v1.0.0\", %s,\n  \"ways\": [\n%s\n  ]\n}\n", figures(len(pairs), gbps),
			strings.Join(ways, ",\n"))
	}
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		Read(Ran("server", steps.Peer, said(false)), parse.StreamOutput),
		Read(Ran("client", steps.Here, said(true)), parse.StreamOutput),
	}}
	wire := (bytes + 24*float64(blocks)) * 1514 / 1448
	for _, e := range steps.Ends {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: e, Dev: rail.Dev, Rail: i, Known: true, Source: "port_xmit_data", IPKnown: true, Errors: map[string]uint64{},
			}
			for _, p := range pairs {
				if rig.Pairs[p].Rails[e] != i {
					continue
				}
				if b.IPTx, b.IPRx = uint64(wire), uint64(wire/600); e == steps.Peer {
					b.IPTx, b.IPRx = b.IPRx, b.IPTx
				}
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}
