package kindtest

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
)

// LoadSection is what one ib_write_bw -D of ten seconds prints, which reports eight of them, in
// messages of 64 KiB. It names its device where dev is not empty.
func LoadSection(name, dev string, gbps float64) string {
	const message, seconds = 65536, 8
	if dev != "" {
		dev = " Dual-port       : OFF\t\tDevice         : " + dev + "\n"
	}
	return fmt.Sprintf("\n== %s: exit 0\n RDMA_Write BW Test\n%s"+
		" Mtu             : 1024[B]\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"+
		" %d %.0f 0.00 %.2f %.6f\n", name, dev, message, gbps*1e9/8*seconds/message,
		gbps*1e9/8/1048576, gbps*1e3/8/message)
}

// Loaded is a result of ten seconds of load on some rails, each with as much, read by its parser.
func Loaded[T any](rig steps.Rig, gbps float64, text string, parser func(string) (T, error),
	rails ...int,
) steps.Result {
	client := Read(Ran("client", steps.Here, text), parser)
	client.Asked = map[string]string{"LOAD_SECONDS": "10", "SIZE": "65536"}
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{Ran("server", steps.Peer, ""), client}}
	for _, e := range steps.Ends {
		for i, r := range rig.At(e).Rails {
			b := steps.RailBytes{
				End: e, Dev: r.Dev, Rail: i, Known: true, IPKnown: true, Source: "port_xmit_data", Seconds: 11,
				Errors: map[string]uint64{},
			}
			if slices.Contains(rails, i) {
				b.Tx = uint64(gbps * 1e9 / 8 * 10 * 1082 / 1024)
				b.Rx = b.Tx / 600
			}
			if e == steps.Peer {
				b.Tx, b.Rx = b.Rx, b.Tx
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}

// BothHalves is a load of a rail of each half of a Spark's adapter.
func BothHalves[T any](rig steps.Rig, gbps float64, parser func(string) (T, error)) steps.Result {
	return Loaded(rig, gbps, LoadSection("rail 1", "", gbps)+LoadSection("half", "", gbps), parser, 0, 2)
}
