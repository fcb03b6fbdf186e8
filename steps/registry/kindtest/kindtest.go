// Package kindtest is rigs, outputs and results with all as it should be, for the
// judges' tests to spoil. It predicts bytes by itself: an account that is tested
// with its own formula passes.
package kindtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Both is a result of one script on both nodes.
func Both[T any](rig steps.Rig, f func(string) (T, error), here, peer string) steps.Result {
	return steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{
		Read(Ran("", steps.Here, here), f), Read(Ran("", steps.Peer, peer), f),
	}}}}
}

// Spark is a rig of two DGX Sparks with all four functions addressed.
func Spark() steps.Rig {
	rig := steps.NewRig("test", false, 2)
	for e, name := range []string{"spark-02", "spark-01"} {
		n := steps.Node{No: e, Name: name, Host: name, Arch: "aarch64", Tools: map[string]steps.Tool{
			"ib_write_bw":  {Path: "/usr/bin/ib_write_bw", Package: "perftest"},
			"ib_write_lat": {Path: "/usr/bin/ib_write_lat", Package: "perftest"},
		}}
		for i, dev := range []string{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"} {
			netdev := []string{"enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1"}[i]
			addr := fmt.Sprintf("192.168.%d.%d", []int{100, 200, 102, 202}[i], 11-e)
			n.Rails = append(n.Rails, steps.Rail{
				Dev: dev, Port: 1, State: "ACTIVE", Phys: "LinkUp", Layer: "Ethernet", RateGbps: 200,
				Netdev: steps.Netdev{
					Name: netdev, MTU: 1500, Up: true, Carrier: true, SpeedGbps: 200, Addrs: []string{addr + "/24"},
				},
				PhysPort: i % 2, MTU: 1024, MaxMTU: 4096, Addr: addr, Prefix: 24, GIDIndex: 3, HasOctets: true,
				PCI: steps.PCI{Addr: fmt.Sprintf("000%d:01:00.%d", i/2*2, i%2), GTps: 32, Width: 4, MaxGTps: 32, MaxWidth: 4},
			})
		}
		rig.Nodes[e] = n
	}
	rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
	return rig
}

// TutorialSpark has only the two rails of the tutorial addressed.
func TutorialSpark() steps.Rig {
	rig := Spark()
	for e := range rig.Nodes {
		for i := 2; i < 4; i++ {
			rig.Nodes[e].Rails[i].Addr, rig.Nodes[e].Rails[i].Netdev.Addrs = "", nil
		}
	}
	rig.Pairs = steps.PairRails(rig.Nodes[0], rig.Nodes[1])
	return rig
}

// Virtual is the rig of two virtual machines with soft-RoCE.
func Virtual() steps.Rig {
	rig := TutorialSpark()
	for e := range rig.Nodes {
		rig.Nodes[e].Rails = rig.Nodes[e].Rails[:2]
		for i := range rig.Nodes[e].Rails {
			r := &rig.Nodes[e].Rails[i]
			r.RateGbps, r.Netdev.SpeedGbps, r.PCI, r.HasOctets, r.GIDIndex = 0, 0, steps.PCI{}, false, 1
		}
	}
	return rig
}

var (
	BwCell = steps.Cell{
		ID: "ib-write-bw", EachRail: true, Counters: true, Judge: "write-bandwidth", Needs: []string{"ib_write_bw"},
		Roles: []steps.Role{{
			Name:   "client",
			Script: `ib_write_bw -d "$RAIL_DEV" -s "$SIZE" -n "$ITERATIONS" "$PEER_RAIL_IP"`,
		}},
	}
	LatCell = steps.Cell{ID: "ib-write-lat", EachRail: true, Counters: true, Judge: "write-latency"}
)

const iterations, messageBytes = 20000, 65536

// table is what perftest prints for an average in Gb/s.
func table(gbps float64, mtu int) string {
	return fmt.Sprintf(" RDMA_Write BW Test\n Mtu             : %d[B]\n"+
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n %d %d 0.00 %.2f %.6f\n",
		mtu, messageBytes, iterations, gbps*1e9/8/1048576, gbps*1e3/8/messageBytes)
}

func Ran(role string, e steps.End, text string) steps.Output {
	return steps.Output{Role: role, End: e, Ran: true, Text: text, Exit: runner.Exit{Elapsed: time.Hour}}
}

func Read[T any](o steps.Output, f func(string) (T, error)) steps.Output {
	v, err := f(o.Text)
	o.Value = v
	if err != nil {
		o.ParseErr = err.Error()
	}
	return o
}

// Wire is what a rail's counters grow by during the test.
func Wire(mtu int) uint64 {
	return iterations * uint64(messageBytes+messageBytes/mtu*(14+20+8+12+4))
}

// Bandwidth is the result of a test on every pair, with all as it should be.
func Bandwidth(rig steps.Rig, gbps float64) steps.Result {
	r := steps.Result{Rig: rig}
	for i, p := range rig.Pairs {
		mtu := rig.Rail(p, steps.Here).MTU
		s := steps.Stage{Pair: i, Elapsed: time.Second, Outputs: []steps.Output{
			Read(Ran("server", steps.Peer, table(gbps, mtu)), parse.PerftestBandwidth),
			Read(Ran("client", steps.Here, table(gbps, mtu)), parse.PerftestBandwidth),
		}}
		for _, e := range steps.Ends {
			for j, rail := range rig.Nodes[e].Rails {
				b := steps.RailBytes{
					End: e, Dev: rail.Dev, Rail: j, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{},
				}
				if !rail.HasOctets {
					b.Source = "netdev bytes"
				}
				if p.Rails[e] == j {
					// The receiver answers with ACKs.
					b.Tx, b.Rx = Wire(mtu), Wire(mtu)/600
					if e == steps.Peer {
						b.Tx, b.Rx = b.Rx, b.Tx
					}
				}
				s.Bytes = append(s.Bytes, b)
			}
		}
		r.Stages = append(r.Stages, s)
	}
	return r
}

// Counter finds the bytes of a rail in a stage.
func Counter(s *steps.Stage, e steps.End, rail int) *steps.RailBytes {
	for i := range s.Bytes {
		if s.Bytes[i].End == e && s.Bytes[i].Rail == rail {
			return &s.Bytes[i]
		}
	}
	panic("no such counter")
}

// Want compares a verdict's grade and looks for words in what it says.
func Want(t *testing.T, name string, v steps.Verdict, g steps.Grade, words ...string) {
	t.Helper()
	if v.Grade != g {
		t.Errorf("%s: %s, want %s: %s", name, v.Grade, g, v.Reason)
		return
	}
	said := v.Said()
	for _, w := range words {
		// A sentence begins with a capital.
		if !strings.Contains(strings.ToLower(said), strings.ToLower(w)) {
			t.Errorf("%s: %q does not say %q", name, said, w)
		}
	}
	if v.Reason == "" || v.Evidence == nil {
		t.Errorf("%s: a verdict without reason or evidence: %+v", name, v)
	}
}

// Because compares a verdict's grade and its code. A PASS has none.
func Because(t *testing.T, name string, v steps.Verdict, g steps.Grade, code steps.Code) {
	t.Helper()
	if v.Grade != g || v.Code != code {
		t.Errorf("%s: %s (%s), want %s (%s): %s", name, v.Grade, v.Code, g, code, v.Reason)
		return
	}
	if v.Reason == "" || v.Evidence == nil {
		t.Errorf("%s: a verdict without reason or evidence: %+v", name, v)
	}
}

// Advises looks for advice with a code, on a PASS, and for words in what the verdict says.
func Advises(t *testing.T, name string, v steps.Verdict, code steps.Code, words ...string) {
	t.Helper()
	Want(t, name, v, steps.Pass, words...)
	if !slices.ContainsFunc(v.Advice, func(f steps.Found) bool { return f.Code == code }) {
		t.Errorf("%s: no advice with the code %s: %v", name, code, v.Advice)
	}
}

func Evidence(v steps.Verdict, name string) (steps.Evidence, bool) {
	i := slices.IndexFunc(v.Evidence, func(e steps.Evidence) bool { return strings.Contains(e.Name, name) })
	if i < 0 {
		return steps.Evidence{}, false
	}
	return v.Evidence[i], true
}
