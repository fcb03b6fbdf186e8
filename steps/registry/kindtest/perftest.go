package kindtest

import (
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Latency is the result of ib_write_lat on every pair. The other columns are in order with
// the median and the tail, us, as those of a distribution are.
func Latency(rig steps.Rig, typical, p99 float64) steps.Result {
	r := steps.Result{Rig: rig}
	p99 = max(typical, p99)
	least, most := min(1.35, typical), max(14.6, p99)
	for i := range rig.Pairs {
		text := fmt.Sprintf(" RDMA_Write Latency Test\n Mtu : 1024[B]\n"+
			" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"+
			"   99%% percentile[usec]   99.9%% percentile[usec] \n"+
			" 2 1000 %g %g %g 2.0 0.30 %g %g\n", least, most, typical, p99, most)
		r.Stages = append(r.Stages, steps.Stage{Pair: i, Outputs: []steps.Output{
			Read(Ran("server", steps.Peer, text), parse.PerftestLatency),
			Read(Ran("client", steps.Here, text), parse.PerftestLatency),
		}, Bytes: inTurns(rig, i)})
	}
	return r
}

// inTurns are the counters of a latency: both ends send 1000 writes of 2 bytes, which a packet
// carries in 4, with 14 + 20 + 8 + 12 + 4 of headers and RETH's 16, and acknowledge each.
func inTurns(rig steps.Rig, pair int) (all []steps.RailBytes) {
	const moved = 1000 * ((4 + 58 + 16) + (58 + 4))
	for _, e := range steps.Ends {
		for j, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: e, Dev: rail.Dev, Rail: j, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{},
			}
			if !rail.HasOctets {
				b.Source = "netdev bytes"
			}
			if rig.Pairs[pair].Rails[e] == j {
				b.Tx, b.Rx = moved, moved
			}
			all = append(all, b)
		}
	}
	return all
}

// Dual is a result of dual-link: figures by the tests' names, in Gb/s, read by its
// parser.
func Dual[T any](rig steps.Rig, figures map[string]float64, parser func(string) (T, error)) steps.Result {
	var text strings.Builder
	counts, began := map[int]int{}, 100.0
	for _, name := range []string{
		"first alone", "second alone", "first beside second", "second beside first",
		"half alone", "first beside half", "half beside first",
	} {
		rate, ran := figures[name]
		if !ran {
			continue
		}
		// Those next to each other begin together, each with 20 ms around its bytes.
		took := float64(iterations) * messageBytes * 8 / rate / 1e9
		if !strings.HasSuffix(name, "beside first") {
			began += 10
		}
		fmt.Fprintf(&text, "== %s: exit 0, %.2f to %.2f s\n%s", name, began, began+took+0.02, table(rate, 1024))
		counts[map[byte]int{'f': 0, 's': 1, 'h': 2}[name[0]]]++
	}
	s := steps.Stage{
		Pair:    -1,
		Outputs: []steps.Output{Ran("server", steps.Peer, ""), Read(Ran("client", steps.Here, text.String()), parser)},
	}
	for _, e := range steps.Ends {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: e, Dev: rail.Dev, Rail: i, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{},
			}
			b.Tx = uint64(counts[i]) * Wire(1024)
			if e == steps.Peer {
				b.Tx, b.Rx = 0, b.Tx
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

func Healthy() map[string]float64 {
	return map[string]float64{
		"first alone": 92.6, "second alone": 92.6, "first beside second": 52.7, "second beside first": 52.7,
		"half alone": 92.6, "first beside half": 92.5, "half beside first": 92.5,
	}
}
