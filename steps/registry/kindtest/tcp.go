package kindtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

const tcpSeconds = 10

// IperfJSON is what iperf3 -J prints.
func IperfJSON(gbps float64, streams, retransmits, cwnd int) string {
	bytes := gbps * 1e9 / 8 * tcpSeconds
	one := fmt.Sprintf(`{"sender":{"bits_per_second":%g,"max_snd_cwnd":%d},"receiver":{"bits_per_second":%g}}`,
		gbps*1e9/float64(streams), cwnd, gbps*1e9/float64(streams))
	return fmt.Sprintf(`{"start":{"tcp_mss_default":1448,"test_start":{"num_streams":%d}},"end":{"streams":[%s],`+
		`"sum_sent":{"seconds":%d,"bytes":%.0f,"bits_per_second":%g,"retransmits":%d},`+
		`"sum_received":{"seconds":%d,"bytes":%.0f,"bits_per_second":%g}}}`,
		streams, strings.Join(slices.Repeat([]string{one}, streams), ","), tcpSeconds, bytes, gbps*1e9, retransmits,
		tcpSeconds, bytes, gbps*1e9)
}

// Bonded puts both rails of the tutorial's rig into a bond at some ends.
func Bonded(rig steps.Rig, ends ...steps.End) steps.Rig {
	for _, e := range ends {
		n := &rig.Nodes[e]
		b := steps.Netdev{Name: "bond0", MTU: 1500, Up: true, Carrier: true, Addrs: n.Rails[0].Netdev.Addrs}
		n.Netdevs = []steps.Netdev{b}
		for i := range 2 {
			r := &n.Rails[i]
			r.Netdev.Master, r.Netdev.Addrs, r.Addr = "bond0", nil, ""
			r.GIDs = []steps.GID{{Index: 0, Netdev: "bond0"}, {Index: 5, Netdev: "bond0"}}
		}
	}
	rig.Pairs = nil
	return rig
}

// InMode gives every bond of a rig a mode.
func InMode(rig steps.Rig, mode string) steps.Rig {
	for e := range rig.Nodes {
		for i := range rig.Nodes[e].Netdevs {
			rig.Nodes[e].Netdevs[i].BondMode = mode
		}
	}
	return rig
}

// TCP is a test with all as it should be; shares says how the streams divide over
// the rails of the path.
func TCP(rig steps.Rig, gbps float64, streams int, shares ...float64) steps.Result {
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		Read(Ran("server", steps.Peer, fmt.Sprintf("[  5] local 192.168.100.10 port 5201 connected to 192.168.100.11 "+
			"port 4000\n[  5]   0.00-10.00  sec  %.1f GBytes  %.4g Gbits/sec                  "+
			"receiver\n", gbps*tcpSeconds*1e9/8/(1<<30),
			gbps)),
			parse.Iperf3Output),
		Read(Ran("client", steps.Here, IperfJSON(gbps, streams, 3, 1<<20)), parse.Iperf3Output),
	}}
	path, _ := rig.Path()
	bytes := gbps * 1e9 / 8 * tcpSeconds * 1514 / 1448
	for _, e := range steps.Ends {
		for i, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: e, Dev: rail.Dev, Rail: i, Known: true, Source: "port_xmit_data", IPKnown: true, Errors: map[string]uint64{},
			}
			if !rail.HasOctets {
				b.Source = "netdev bytes"
			}
			if at := slices.Index(path.Rails[e], i); at >= 0 {
				share := 1 / float64(len(path.Rails[e]))
				if at < len(shares) {
					share = shares[at]
				}
				if b.IPTx, b.IPRx = uint64(bytes*share), uint64(bytes*share/600); e == steps.Peer {
					b.IPTx, b.IPRx = b.IPRx, b.IPTx
				}
				if !rail.HasOctets {
					b.Tx, b.Rx = b.IPTx, b.IPRx
				}
			}
			s.Bytes = append(s.Bytes, b)
		}
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}
