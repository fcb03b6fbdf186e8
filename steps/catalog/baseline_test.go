package catalog

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

func TestBand(t *testing.T) {
	rig := spark()
	for _, c := range []struct {
		name            string
		mtu             int
		change          func(*steps.Rail)
		expected, limit float64
		none            bool
	}{
		{"one half at 1024", 1024, nil, 92.6, 105.81, false},
		{"one half at 4096", 4096, nil, 110.23, 110.23, false},
		{"a link of 100 Gb/s at 1024", 1024, func(r *steps.Rail) { r.RateGbps = 100 }, 92.59, 92.59, false},
		{"a link of 100 Gb/s at 4096", 4096, func(r *steps.Rail) { r.RateGbps = 100 }, 98.04, 98.04, false},
		{"x16 carries the whole link", 4096, func(r *steps.Rail) { r.PCI.Width, r.PCI.MaxWidth = 16, 16 }, 196.07, 196.07, false},
		{"a narrow link is no excuse", 1024, func(r *steps.Rail) { r.PCI.Width = 2 }, 92.6, 105.81, false},
		{"no slot", 1024, func(r *steps.Rail) { r.PCI = steps.PCI{} }, 0, 0, true},
		{"no rate", 1024, func(r *steps.Rail) { r.RateGbps = 0 }, 0, 0, true},
		{"no MTU", 0, nil, 0, 0, true},
	} {
		rig := rig
		for e := range rig.Nodes {
			rails := append([]steps.Rail{}, rig.Nodes[e].Rails...)
			if c.change != nil {
				c.change(&rails[0])
			}
			rig.Nodes[e].Rails = rails
		}
		b := bandOf(rig, rig.Pairs[0], c.mtu)
		if math.Abs(b.expected-c.expected) > 0.05 || math.Abs(b.limit-c.limit) > 0.05 || (b.none != "") != c.none {
			t.Errorf("%s: %+v, want %.2f and %.2f", c.name, b, c.expected, c.limit)
		}
	}
}

func TestWriteBandwidth(t *testing.T) {
	type change = func(*steps.Result)
	on := func(rail int, f func(*steps.Stage)) change {
		return func(r *steps.Result) { f(&r.Stages[rail]) }
	}
	client := func(f func(*steps.Output)) change { return on(0, func(s *steps.Stage) { f(&s.Outputs[1]) }) }
	server := func(f func(*steps.Output)) change { return on(0, func(s *steps.Stage) { f(&s.Outputs[0]) }) }
	failed := func(o *steps.Output, text string) {
		o.Exit.Code = 1
		o.Text = text
		*o = read(*o, parse.PerftestBandwidth)
	}
	move := func(e steps.End, rail int, bytes uint64) change {
		return on(0, func(s *steps.Stage) {
			b := counter(s, e, rail)
			b.Tx, b.Rx = bytes, bytes
		})
	}
	for _, c := range []struct {
		name   string
		rig    steps.Rig
		gbps   float64
		change change
		want   steps.Grade
		words  []string
	}{
		{"all is well", spark(), 92.5, nil, steps.Pass, []string{"92.5 Gb/s on each of the 4 rails", "92.6", "carried its own test alone", "The tutorial would call", "MiB for MB"}},
		{"just enough", spark(), 88, nil, steps.Pass, nil},
		{"a little low", spark(), 80, nil, steps.Warn, []string{"Rails 1, 2, 3 and 4", "80.0 Gb/s of 92.6"}},
		{"too low", spark(), 60, nil, steps.Fail, []string{"60.0 Gb/s of 92.6"}},
		{"the 13 Gb/s adapter", spark(), 13.1, nil, steps.Fail, []string{"degraded", "power"}},
		{"more than physics allow: MB taken for Gb", spark(), 184, nil, steps.Inconclusive, []string{"more than the 105.8", "unit"}},

		{"PCIe came up narrow", spark(), 53, func(r *steps.Result) { r.Rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2 }, steps.Fail, []string{"spark-01 came up as PCIe Gen5 x2 where it can do PCIe Gen5 x4"}},
		{"other traffic before", spark(), 60, on(0, func(s *steps.Stage) { counter(s, steps.Here, 0).IdleGbps = 20 }), steps.Fail, []string{"20.0 Gb/s of other traffic", "spark-02"}},

		// The holes of the seeds' rules (INVENTORY V1 to V5).
		{"1e8 bytes on rail 2", spark(), 92.5, move(steps.Here, 1, 1e8), steps.Fail, []string{"Rail 1", "rocep1s0f1 moved bytes too"}},
		{"1e9 bytes on rail 2", spark(), 92.5, move(steps.Here, 1, 1e9), steps.Fail, []string{"rocep1s0f1 moved bytes too"}},
		{"a little noise on rail 2", spark(), 92.5, move(steps.Here, 1, 1e6), steps.Pass, nil},
		{"the twin carried a part", spark(), 92.5, move(steps.Peer, 2, 7e8), steps.Fail, []string{"roceP2p1s0f0 moved bytes too", "spark-01"}},
		{"all on the wrong rail", spark(), 92.5, on(0, func(s *steps.Stage) {
			for _, e := range steps.Ends {
				a, b := counter(s, e, 0), counter(s, e, 2)
				a.Tx, b.Tx, a.Rx, b.Rx = b.Tx, a.Tx, b.Rx, a.Rx
			}
		}), steps.Fail, []string{"nothing went over rocep1s0f0", "roceP2p1s0f0 carried the bytes: the wrong rail"}},
		{"all on the wrong rail at one end", spark(), 92.5, on(0, func(s *steps.Stage) {
			a, b := counter(s, steps.Peer, 0), counter(s, steps.Peer, 1)
			a.Tx, b.Tx, a.Rx, b.Rx = b.Tx, a.Tx, b.Rx, a.Rx
		}), steps.Fail, []string{"on spark-01 nothing went over rocep1s0f0"}},
		{"a counter went backwards", spark(), 92.5, on(0, func(s *steps.Stage) {
			b := counter(s, steps.Here, 0)
			b.Known, b.Why = false, "it went backwards"
		}), steps.Inconclusive, []string{"bytes of rocep1s0f0 are unknown", "it went backwards"}},
		{"a negative delta as a huge one", spark(), 92.5, move(steps.Here, 0, math.MaxUint64-5), steps.Inconclusive, []string{"the counter jumped"}},
		{"a counter that stood still", spark(), 92.5, move(steps.Peer, 0, 0), steps.Inconclusive, []string{"on spark-01", "moved only 0 bytes"}},
		{"half the bytes", spark(), 92.5, move(steps.Here, 0, wire(1024)/2), steps.Inconclusive, []string{"moved only"}},
		{"the twin was not read", spark(), 92.5, on(0, func(s *steps.Stage) { counter(s, steps.Here, 2).Known = false }), steps.Inconclusive, []string{"bytes of roceP2p1s0f0 meanwhile are unknown"}},
		{"the twin is not in the list", spark(), 92.5, on(0, func(s *steps.Stage) { s.Bytes = s.Bytes[:6] }), steps.Inconclusive, []string{"meanwhile are unknown"}},
		{"a port that is down need not be read", spark(), 92.5, func(r *steps.Result) {
			r.Rig.Nodes[steps.Here].Rails[3].State = "DOWN"
			for i := range r.Stages[:3] {
				counter(&r.Stages[i], steps.Here, 3).Known = false
			}
			r.Stages = r.Stages[:3]
		}, steps.Pass, nil},
		{"no counters at all", spark(), 92.5, on(0, func(s *steps.Stage) { s.Bytes = nil }), steps.Inconclusive, []string{"were not counted"}},
		{"port counters missing on hardware", spark(), 92.5, on(0, func(s *steps.Stage) { counter(s, steps.Peer, 0).Source = "netdev bytes" }), steps.Inconclusive, []string{"no port counters"}},

		{"retransmissions", spark(), 92.5, on(0, func(s *steps.Stage) {
			for _, e := range steps.Ends {
				b := counter(s, e, 0)
				b.Tx, b.Rx = b.Tx/100*105, b.Rx/100*105
			}
			counter(s, steps.Here, 0).Errors["packet_seq_err"] = 512
		}), steps.Warn, []string{"5.0 % more bytes than predicted", "packet_seq_err +512", "on both nodes"}},
		{"more bytes, and no error", spark(), 92.5, move(steps.Here, 0, wire(1024)/100*104), steps.Warn, []string{"4.0 % more", "perhaps other traffic"}},
		{"the link went down and came back", spark(), 92.5, on(0, func(s *steps.Stage) { counter(s, steps.Peer, 0).Errors["link_downed"] = 1 }), steps.Fail, []string{"the link went down during the test"}},

		{"timed out", spark(), 92.5, client(func(o *steps.Output) { o.Exit = runner.Exit{Code: 143, Why: runner.TimedOut} }), steps.Inconclusive, []string{"timed out", "crossed rails"}},
		{"timed out after a row", virtual(), 0.1, client(func(o *steps.Output) { o.Exit = runner.Exit{Why: runner.TimedOut} }), steps.Inconclusive, []string{"timed out"}},
		{"interrupted", spark(), 92.5, client(func(o *steps.Output) { o.Exit = runner.Exit{Code: 143, Why: runner.Cancelled} }), steps.Inconclusive, []string{"interrupted"}},
		{"exit 1 and a row all the same", spark(), 92.5, client(func(o *steps.Output) { o.Exit.Code = 1 }), steps.Fail, []string{"the client on spark-02 ended with exit 1"}},
		{"the server failed and the client did not", spark(), 92.5, server(func(o *steps.Output) { o.Exit.Code = 1 }), steps.Inconclusive, []string{"the server on spark-01 ended with exit 1"}},
		{"the server was never seen to end", spark(), 92.5, server(func(o *steps.Output) { o.Ran, o.Err = false, "connection lost" }), steps.Inconclusive, []string{"the server on spark-01", "connection lost"}},
		{"there was no server", spark(), 92.5, on(0, func(s *steps.Stage) { s.Outputs = s.Outputs[1:] }), steps.Inconclusive, []string{"not both ends ran"}},
		{"the stage stopped", spark(), 92.5, on(0, func(s *steps.Stage) { s.Outputs, s.Err = nil, "spark-01 is unreachable" }), steps.Inconclusive, []string{"spark-01 is unreachable"}},
		{"the stage stopped after both", spark(), 92.5, on(0, func(s *steps.Stage) { s.Err = "the counters could not be read" }), steps.Inconclusive, []string{"counters could not be read"}},
		{"no row under the header", spark(), 92.5, client(func(o *steps.Output) {
			o.Text = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
			*o = read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, []string{"no result that can be read"}},
		{"a value of another kind", spark(), 92.5, client(func(o *steps.Output) { o.Value = "92.5" }), steps.Inconclusive, []string{"no result that can be read"}},
		{"a row of nothing", spark(), 0, nil, steps.Inconclusive, []string{"reports 0 Gb/s"}},

		{"the port is taken", spark(), 92.5, func(r *steps.Result) {
			failed(&r.Stages[0].Outputs[0], "Couldn't listen to port 18515\n")
			failed(&r.Stages[0].Outputs[1], "Couldn't connect to 192.168.100.10:18515\n")
		}, steps.Inconclusive, []string{"its port is taken on spark-01"}},
		{"the port is down", spark(), 92.5, client(func(o *steps.Output) { failed(o, " Port number 1 state is Down\n") }), steps.Fail, []string{"the port is down on spark-02"}},
		{"the GID is wrong", spark(), 92.5, client(func(o *steps.Output) { failed(o, "Failed to modify QP 45 to RTR\n") }), steps.Fail, []string{"GID"}},
		{"the cable went", spark(), 92.5, client(func(o *steps.Output) { failed(o, " Completion with error at client\n") }), steps.Fail, []string{"stopped arriving"}},
		{"memlock", spark(), 92.5, client(func(o *steps.Output) { failed(o, "Couldn't allocate MR with error=12\n") }), steps.Fail, []string{"memlock"}},
		{"nobody listens", spark(), 92.5, client(func(o *steps.Output) { failed(o, "Couldn't connect to 192.168.100.10:18515\n") }), steps.Inconclusive, []string{"no server could be reached"}},
		{"the versions disagree", spark(), 92.5, client(func(o *steps.Output) { failed(o, " size mismatch: local=4096, remote=65536\n") }), steps.Inconclusive, []string{"perftest versions"}},

		{"soft-RoCE has no band", virtual(), 0.11, nil, steps.Pass, []string{"no band", "soft-RoCE", "own test alone"}},
		{"soft-RoCE counts its TCP and ACKs", virtual(), 0.11, move(steps.Here, 0, wire(1024)/100*106), steps.Pass, nil},
		{"soft-RoCE, far more", virtual(), 0.11, move(steps.Here, 0, wire(1024)/100*110), steps.Warn, []string{"10.0 % more"}},
		{"soft-RoCE, the other rail", virtual(), 0.11, move(steps.Here, 1, 2e8), steps.Fail, []string{"rocep1s0f1 moved bytes too"}},
		{"soft-RoCE without counters", virtual(), 0.11, on(1, func(s *steps.Stage) { counter(s, steps.Here, 1).Known = false }), steps.Inconclusive, nil},
		{"soft-RoCE with a declared speed", virtual(), 0.11, func(r *steps.Result) {
			for e := range r.Rig.Nodes {
				for i := range r.Rig.Nodes[e].Rails {
					r.Rig.Nodes[e].Rails[i].RateGbps = 100
				}
			}
		}, steps.Pass, []string{"no band"}},

		{"skipped", spark(), 92.5, func(r *steps.Result) {
			r.Skip = "spark-01 has no ib_write_bw"
			r.Rig.Nodes[steps.Peer].Tools["ib_write_bw"] = steps.Tool{Package: "perftest"}
		}, steps.Skipped, []string{"no ib_write_bw. ib_write_bw comes with perftest."}},
		{"nothing ran", spark(), 92.5, func(r *steps.Result) { r.Stages = nil }, steps.Inconclusive, []string{"Nothing ran"}},
		{"no rail", steps.Rig{}, 92.5, nil, steps.Inconclusive, []string{"no rail leads"}},
		{"a stage of no rail", spark(), 92.5, on(0, func(s *steps.Stage) { s.Pair = 9 }), steps.Inconclusive, []string{"belongs to no rail"}},
	} {
		r := bandwidth(c.rig, c.gbps)
		if c.change != nil {
			c.change(&r)
		}
		want(t, c.name, judgeWriteBandwidth(bwCell, r), c.want, c.words...)
	}
}

// The evidence carries the numbers and the band that they were compared with.
func TestWriteBandwidthEvidence(t *testing.T) {
	v := judgeWriteBandwidth(bwCell, bandwidth(tutorialSpark(), 92.5))
	e, ok := evidence(v, "rail 2 (rocep1s0f1) bandwidth")
	if !ok || e.Unit != "Gb/s" || e.Expected == nil || math.Abs(*e.Expected.Min-87.97) > 0.01 || e.Expected.From == "" {
		t.Errorf("%+v", e)
	}
	e, ok = evidence(v, "rail 1 (rocep1s0f0) bytes sent by spark-02")
	if !ok || e.Value != int64(wire(1024)) || e.Unit != "bytes" {
		t.Errorf("%+v", e)
	}
}

// Whatever one thing is taken away from a good result, it is no PASS any more.
func TestNoPassWithAHole(t *testing.T) {
	for _, rig := range []steps.Rig{spark(), virtual()} {
		if v := judgeWriteBandwidth(bwCell, bandwidth(rig, 92)); v.Grade != steps.Pass {
			t.Fatalf("without a hole: %s: %s", v.Grade, v.Reason)
		}
		n := len(bandwidth(rig, 92).Stages)
		for i := range n {
			for hole, make := range map[string]func(*steps.Stage){
				"client not run":     func(s *steps.Stage) { s.Outputs[1].Ran = false },
				"server not run":     func(s *steps.Stage) { s.Outputs[0].Ran = false },
				"client failed":      func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 },
				"server failed":      func(s *steps.Stage) { s.Outputs[0].Exit.Code = 1 },
				"client timed out":   func(s *steps.Stage) { s.Outputs[1].Exit.Why = runner.TimedOut },
				"server cancelled":   func(s *steps.Stage) { s.Outputs[0].Exit.Why = runner.Cancelled },
				"no value":           func(s *steps.Stage) { s.Outputs[1].Value = nil },
				"parse error":        func(s *steps.Stage) { s.Outputs[1].ParseErr = "x" },
				"no bytes":           func(s *steps.Stage) { s.Bytes = nil },
				"stage error":        func(s *steps.Stage) { s.Err = "x" },
				"tx unknown":         func(s *steps.Stage) { counter(s, steps.Here, rig.Pairs[s.Pair].Rails[0]).Known = false },
				"rx unknown":         func(s *steps.Stage) { counter(s, steps.Peer, rig.Pairs[s.Pair].Rails[1]).Known = false },
				"other rail unknown": func(s *steps.Stage) { counter(s, steps.Peer, (rig.Pairs[s.Pair].Rails[1]+1)%2).Known = false },
			} {
				r := bandwidth(rig, 92)
				make(&r.Stages[i])
				if v := judgeWriteBandwidth(bwCell, r); v.Grade == steps.Pass || v.Grade == steps.Warn {
					t.Errorf("rail %d, %s: %s: %s", i+1, hole, v.Grade, v.Reason)
				}
			}
		}
	}
}

func latency(rig steps.Rig, typical, p99 float64) steps.Result {
	r := steps.Result{Rig: rig}
	for i := range rig.Pairs {
		text := fmt.Sprintf(" RDMA_Write Latency Test\n Mtu : 1024[B]\n #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec] \n 2 1000 1.35 14.60 %g 2.0 0.30 %g 14.60\n", typical, p99)
		r.Stages = append(r.Stages, steps.Stage{Pair: i, Outputs: []steps.Output{
			read(ran("server", steps.Peer, text), parse.PerftestLatency), read(ran("client", steps.Here, text), parse.PerftestLatency),
		}})
	}
	return r
}

func TestWriteLatency(t *testing.T) {
	for _, c := range []struct {
		name    string
		rig     steps.Rig
		typical float64
		want    steps.Grade
		words   []string
	}{
		{"as it should be", spark(), 1.96, steps.Pass, []string{"1.96 us on each of the 4 rails", "2.5 us"}},
		{"slow", spark(), 5, steps.Warn, []string{"5 us typical"}},
		{"far too slow", spark(), 60, steps.Fail, []string{"60 us typical"}},
		{"impossibly fast", spark(), 0.01, steps.Inconclusive, []string{"less than a cable"}},
		{"nothing", spark(), 0, steps.Inconclusive, []string{"no typical latency"}},
		{"soft-RoCE", virtual(), 860, steps.Pass, []string{"no band"}},
	} {
		want(t, c.name, judgeWriteLatency(latCell, latency(c.rig, c.typical, 2.6)), c.want, c.words...)
	}
	r := latency(spark(), 1.96, 2.6)
	r.Stages[2].Outputs[0].Exit.Code = 1
	want(t, "a server that failed", judgeWriteLatency(latCell, r), steps.Inconclusive, "Rail 3", "server on spark-01")
	r = latency(spark(), 1.96, 2.6)
	r.Stages[0].Outputs[1].Value, r.Stages[0].Outputs[1].ParseErr = nil, errors.New("x").Error()
	want(t, "unreadable", judgeWriteLatency(latCell, r), steps.Inconclusive)
}
