package perftest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

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
		*o = kindtest.Read(*o, parse.PerftestBandwidth)
	}
	move := func(e steps.End, rail int, bytes uint64) change {
		return on(0, func(s *steps.Stage) {
			b := kindtest.Counter(s, e, rail)
			b.Tx, b.Rx = bytes, bytes
		})
	}
	for _, c := range []struct {
		name   string
		rig    steps.Rig
		gbps   float64
		change change
		want   steps.Grade
		code   steps.Code
		words  []string
	}{
		{
			"all is well", kindtest.Spark(), 92.5, nil, steps.Pass, "",
			[]string{
				"92.5 Gb/s on each of the 4 rails", "expected 87.9 to 107.5", "carried its own test", "The tutorial would",
				"perftest's MiB as MB",
			},
		},
		{"just enough", kindtest.Spark(), 88, nil, steps.Pass, "", nil},
		{
			"a little low", kindtest.Spark(), 80, nil,
			steps.Warn, steps.BelowLimit,
			[]string{"Rails 1, 2, 3 and 4", "80.0 Gb/s"},
		},
		{"too low", kindtest.Spark(), 60, nil, steps.Fail, steps.BelowLimit, []string{"60.0 Gb/s"}},
		{"the 13 Gb/s adapter", kindtest.Spark(), 13.1, nil, steps.Fail, steps.AdapterDegraded, nil},
		{
			"more than physics allow: MB taken for Gb", kindtest.Spark(), 184, nil, steps.Inconclusive, steps.FigureImpossible,
			[]string{"125.4"},
		},

		{
			"PCIe came up narrow", kindtest.Spark(), 53,
			func(r *steps.Result) { r.Rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2 }, steps.Fail, steps.PCIeNarrow,
			[]string{"spark-01 runs at PCIe Gen5 x2 instead of PCIe Gen5 x4"},
		},
		{
			"other traffic before", kindtest.Spark(), 60,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IdleGbps = 20 }), steps.Fail, steps.OtherTraffic,
			[]string{"20.0 Gb/s", "spark-02"},
		},

		{
			"the data was checked", kindtest.Spark(), 92.5,
			server(func(o *steps.Output) { o.Text += "VALIDATION: PASSED (server) - 80 chunks, 327680000 bytes\n" }),
			steps.Pass, "",
			nil,
		},
		{"the data is wrong, and status 0 all the same", kindtest.Spark(), 92.5, server(func(o *steps.Output) {
			o.Text += "VALIDATION: FAILED (server) - 3 error(s), first at QP 0, Chunk 7, Offset 4096 (expected 0x5a, got 0x00)\n"
		}), steps.Fail, steps.DataCorrupt, []string{"arrived on spark-01"}},
		{
			"no data was checked", kindtest.Spark(), 92.5,
			server(func(o *steps.Output) { o.Text += "VALIDATION: WARNING (server) - no data validated\n" }),
			steps.Inconclusive, steps.DataUnchecked,
			[]string{"perftest on spark-01 was"},
		},

		// The holes of the tutorials' rules (assets/docs/facts.md#verdicts-of-the-tutorials).
		{
			"1e8 bytes on rail 2", kindtest.Spark(), 92.5, move(steps.Here, 1, 1e8), steps.Fail, steps.OtherTraffic,
			[]string{"Rail 1", "rocep1s0f1"},
		},
		{
			"1e9 bytes on rail 2", kindtest.Spark(), 92.5, move(steps.Here, 1, 1e9), steps.Fail, steps.OtherTraffic,
			[]string{"rocep1s0f1"},
		},
		{"a little noise on rail 2", kindtest.Spark(), 92.5, move(steps.Here, 1, 1e6), steps.Pass, "", nil},
		{
			"the twin carried a part", kindtest.Spark(), 92.5, move(steps.Peer, 2, 7e8), steps.Fail, steps.OtherTraffic,
			[]string{"roceP2p1s0f0", "spark-01"},
		},
		{
			"all on the wrong rail", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
				for _, e := range steps.Ends {
					a, b := kindtest.Counter(s, e, 0), kindtest.Counter(s, e, 2)
					a.Tx, b.Tx, a.Rx, b.Rx = b.Tx, a.Tx, b.Rx, a.Rx
				}
			}), steps.Fail, steps.WrongPort,
			[]string{"rocep1s0f0", "roceP2p1s0f0 carried the"},
		},
		{"all on the wrong rail at one end", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
			a, b := kindtest.Counter(s, steps.Peer, 0), kindtest.Counter(s, steps.Peer, 1)
			a.Tx, b.Tx, a.Rx, b.Rx = b.Tx, a.Tx, b.Rx, a.Rx
		}), steps.Fail, steps.WrongPort, []string{"rocep1s0f0 on spark-01"}},
		{"a counter went backwards", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
			b := kindtest.Counter(s, steps.Here, 0)
			b.Known, b.Why = false, "it went backwards"
		}), steps.Inconclusive, steps.CounterBad, []string{"of rocep1s0f0", "it went backwards"}},
		{
			"a negative delta as a huge one", kindtest.Spark(), 92.5, move(steps.Here, 0, math.MaxUint64-5),
			steps.Inconclusive, steps.CounterBad,
			[]string{"the counter jumped"},
		},
		{
			"a counter that stood still", kindtest.Spark(), 92.5, move(steps.Peer, 0, 0),
			steps.Inconclusive, steps.NothingCarried,
			[]string{"on spark-01", "0 bytes"},
		},
		{
			"half the bytes", kindtest.Spark(), 92.5, move(steps.Here, 0, kindtest.Wire(1024)/2),
			steps.Inconclusive, steps.BytesDiffer,
			[]string{"counted"},
		},
		{
			"the twin was not read", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 2).Known = false }),
			steps.Inconclusive, steps.NotCounted,
			[]string{"roceP2p1s0f0"},
		},
		{
			"the twin is not in the list", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) { s.Bytes = s.Bytes[:6] }),
			steps.Inconclusive, steps.NotCounted,
			[]string{"the byte counter of roceP2p1s0f0 on spark-01 is unusable"},
		},
		{"a port that is down need not be read", kindtest.Spark(), 92.5, func(r *steps.Result) {
			r.Rig.Nodes[steps.Here].Rails[3].State = "DOWN"
			r.Rig.Pairs = r.Rig.Pairs[:3]
			for i := range r.Stages[:3] {
				kindtest.Counter(&r.Stages[i], steps.Here, 3).Known = false
			}
			r.Stages = r.Stages[:3]
		}, steps.Pass, "", nil},
		{
			"no counters at all", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) { s.Bytes = nil }),
			steps.Inconclusive, steps.NotCounted,
			[]string{"were not counted"},
		},
		{
			"port counters missing on hardware", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Peer, 0).Source = "netdev bytes" }),
			steps.Inconclusive, steps.NotCounted,
			[]string{"port counters"},
		},

		{
			"retransmissions", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
				for _, e := range steps.Ends {
					b := kindtest.Counter(s, e, 0)
					b.Tx, b.Rx = b.Tx/100*105, b.Rx/100*105
				}
				kindtest.Counter(s, steps.Here, 0).Errors["packet_seq_err"] = 512
			}), steps.Warn, steps.BytesDiffer,
			[]string{"5.0 % more bytes than", "packet_seq_err +512", "on both nodes"},
		},
		{
			"error counters grew, and the rate is good", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Errors["packet_seq_err"] = 100_000 }),
			steps.Warn, steps.ErrorsGrew,
			[]string{"spark-02 grew (packet_seq_err +100000"},
		},
		{
			"an error, and status 0 all the same", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Text += "\n Completion with error at client\n" }), steps.Fail, steps.RDMAUnanswered,
			[]string{"ended with status 0"},
		},
		{"a second row", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text += " 65536 20000 0.00 100.00 0.001600\n"
			*o = kindtest.Read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, steps.OutputForeign, []string{"it has 2 rows"}},
		{"another test's output", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text = strings.Replace(o.Text, "RDMA_Write", "Send", 1)
			*o = kindtest.Read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, steps.OutputForeign, []string{"it is the output of another test (Send BW Test)"}},
		{"another device's output", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text = " Device : roceP2p1s0f1\n" + o.Text
			*o = kindtest.Read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, steps.OutputForeign, nil},
		{
			"another size than was asked for", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Asked = map[string]string{"SIZE": "8388608"} }),
			steps.Inconclusive, steps.OutputForeign,
			[]string{"65536 bytes a message, but -s asked for 8388608"},
		},
		{
			"fewer messages than were asked for", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Asked = map[string]string{"ITERATIONS": "50000"} }),
			steps.Inconclusive, steps.OutputForeign,
			[]string{"20000 messages, but -n asked for 50000"},
		},
		{
			"as many as were asked for", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Asked = map[string]string{"ITERATIONS": "20000", "SIZE": "65536"} }),
			steps.Pass, "",
			nil,
		},
		{
			"a message rate that contradicts", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
				v := o.Value.(parse.Bandwidth)
				v.Rows[0].AverageGbps *= 1.049
				o.Value = v
			}), steps.Inconclusive, steps.OutputForeign,
			[]string{"65536 bytes are 92.5 Gb/s, but it reports 97.0 Gb/s"},
		},
		{
			"more bytes, and no error", kindtest.Spark(), 92.5, move(steps.Here, 0, kindtest.Wire(1024)/100*104),
			steps.Warn, steps.BytesDiffer,
			[]string{"4.0 % more", "other traffic"},
		},
		{
			"the link went down and came back", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Peer, 0).Errors["link_downed"] = 1 }),
			steps.Fail, steps.LinkFlapped,
			[]string{"rocep1s0f0 on spark-01"},
		},

		{
			"the server was killed, and the client complains of it", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
				s.Outputs[0].Exit.Code = 137
				s.Outputs[1].Exit.Code, s.Outputs[1].Text = 1, " Completion with error at client\n"
			}), steps.Inconclusive, steps.ProgramKilled,
			[]string{"Rail 1 (rocep1s0f0): the server on spark-01 was killed (exit 137)"},
		},
		{
			"the client crashed", kindtest.Spark(), 92.5, client(func(o *steps.Output) { o.Exit.Code = 139 }),
			steps.Fail, steps.ProgramCrashed,
			nil,
		},
		{"the link went down and stayed down", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
			s.Outputs[1].Exit.Why = runner.TimedOut
			kindtest.Counter(s, steps.Here, 0).Errors["link_downed"] = 1
		}), steps.Fail, steps.LinkFlapped, []string{"the link of rocep1s0f0 on spark-02 went down"}},
		{"timed out", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) {
			s.Outputs[1].Exit = runner.Exit{Code: 143, Why: runner.TimedOut}
			for i := range s.Bytes {
				s.Bytes[i].Tx, s.Bytes[i].Rx = 0, 0
			}
		}), steps.Inconclusive, steps.TimedOut, nil},
		{
			"timed out after it had carried something", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Exit = runner.Exit{Code: 143, Why: runner.TimedOut} }),
			steps.Inconclusive, steps.TimedOut,
			[]string{"1.38 GB"},
		},
		{
			"timed out after a row", kindtest.Virtual(), 0.1,
			client(func(o *steps.Output) { o.Exit = runner.Exit{Why: runner.TimedOut} }), steps.Inconclusive, steps.TimedOut,
			nil,
		},
		{
			"interrupted", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { o.Exit = runner.Exit{Code: 143, Why: runner.Cancelled} }),
			steps.Inconclusive, steps.Interrupted,
			nil,
		},
		{
			"exit 1 and a row all the same", kindtest.Spark(), 92.5, client(func(o *steps.Output) { o.Exit.Code = 1 }),
			steps.Fail, steps.ScriptFailed,
			[]string{"the client on spark-02 ended with exit 1"},
		},
		{
			"the server failed and the client did not", kindtest.Spark(), 92.5,
			server(func(o *steps.Output) { o.Exit.Code = 1 }), steps.Inconclusive, steps.ScriptFailed,
			[]string{"the server on spark-01 ended with exit 1"},
		},
		{
			"the server was never seen to end", kindtest.Spark(), 92.5,
			server(func(o *steps.Output) { o.Ran, o.Err = false, "connection lost" }), steps.Inconclusive, steps.NotRunToEnd,
			[]string{"the server on spark-01", "connection lost"},
		},
		{
			"there was no server", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) { s.Outputs = s.Outputs[1:] }),
			steps.Inconclusive, steps.NotRunHere,
			nil,
		},
		{
			"the stage stopped", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { s.Outputs, s.Err = nil, "spark-01 is unreachable" }),
			steps.Inconclusive, steps.NotRunToEnd,
			[]string{"spark-01 is unreachable"},
		},
		{
			"the stage stopped after both", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { s.Err = "the counters could not be read" }), steps.Inconclusive, steps.NotRunToEnd,
			[]string{"counters could not be read"},
		},
		{"no row under the header", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
			*o = kindtest.Read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, steps.OutputIncomplete, []string{"last line: \"#bytes #iterations BW peak"}},
		{"nothing", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text = "\n"
			*o = kindtest.Read(*o, parse.PerftestBandwidth)
		}), steps.Inconclusive, steps.OutputIncomplete, []string{"the client ended with status 0 and printed nothing"}},
		{"a clock that is none", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			o.Text = "Correlation coefficient r^2: 0.770156 < 0.9\n" + o.Text
		}), steps.Inconclusive, steps.ClockUnmeasured, []string{
			"on spark-02",
			"ended with status 0",
		}},
		{
			"a value of another kind", kindtest.Spark(), 92.5, client(func(o *steps.Output) { o.Value = "92.5" }),
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"no readable result"},
		},
		{
			"a row of nothing", kindtest.Spark(), 0, nil, steps.Inconclusive, steps.OutputIncomplete, []string{"reports 0 Gb/s"},
		},

		{"the port is taken", kindtest.Spark(), 92.5, func(r *steps.Result) {
			failed(&r.Stages[0].Outputs[0], "Couldn't listen to port 18515\n")
			failed(&r.Stages[0].Outputs[1], "Couldn't connect to 192.168.100.10:18515\n")
		}, steps.Inconclusive, steps.PortTaken, []string{"on spark-01"}},
		{
			"the port is down", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, " Port number 1 state is Down\n") }), steps.Fail, steps.PortDown,
			[]string{"the port is down on spark-02"},
		},
		{"an interface that is switched off", kindtest.Spark(), 92.5, func(r *steps.Result) {
			r.Stages[0].Err = "server on spark-01 ended before it was ready, with exit 1"
			failed(&r.Stages[0].Outputs[0], " Port number 1 state is Down\n")
			r.Stages[0].Outputs = r.Stages[0].Outputs[:1] // no client was started
			rail := &r.Rig.Nodes[steps.Peer].Rails[r.Rig.Pairs[0].Rails[steps.Peer]]
			rail.State, rail.Netdev.Up = "DOWN", false
		}, steps.Inconclusive, steps.InterfaceOff, []string{"on spark-01 is DOWN, because its interface"}},
		{
			"the GID is wrong", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, "Failed to modify QP 45 to RTR\n") }), steps.Fail, steps.QueueUnconnected,
			nil,
		},
		{
			"the cable went", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, " Completion with error at client\n") }), steps.Fail, steps.RDMAUnanswered,
			nil,
		},
		{
			"far more is missing than other traffic takes", kindtest.Spark(), 13.1,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IdleGbps = 13.9 }),
			steps.Fail, steps.AdapterDegraded,
			[]string{"13.9 Gb/s"},
		},
		{
			"as much is missing as other traffic takes", kindtest.Spark(), 72.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).IdleGbps = 21.2 }), steps.Fail, steps.OtherTraffic,
			[]string{"72.5 Gb/s", "21.2 Gb/s"},
		},
		{
			"the other end asked for less", kindtest.Spark(), 60,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Errors["rx_prio3_pause"] = 5000 }),
			steps.Fail, steps.Congestion,
			[]string{"(rx_prio3_pause +5000)"},
		},
		{
			"few errors explain no slow rail", kindtest.Spark(), 40,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Errors["packet_seq_err"] = 3 }),
			steps.Fail, steps.BelowLimit,
			[]string{"few packets", "packet_seq_err +3"},
		},
		{"few errors beside pauses", kindtest.Spark(), 40, on(0, func(s *steps.Stage) {
			b := kindtest.Counter(s, steps.Here, 0)
			b.Errors["packet_seq_err"], b.Errors["rx_pfc_ena_frames_pri3"] = 3, 500_000
		}), steps.Fail, steps.Congestion, []string{"(rx_pfc_ena_frames_pri3 +500000)"}},
		{
			"a few time-outs take long", kindtest.Spark(), 40,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Errors["local_ack_timeout_err"] = 3 }),
			steps.Fail, steps.ErrorsGrew,
			[]string{"(local_ack_timeout_err +3)"},
		},
		{
			"many errors are no degraded adapter", kindtest.Spark(), 13.1,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Errors["packet_seq_err"] = 100_000 }),
			steps.Fail, steps.ErrorsGrew,
			[]string{"(packet_seq_err +100000)"},
		},
		{
			"no access to the memory", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
				failed(o, " Completion with error at client\n Failed status 10: wr_id 0 syndrom 0x88\n")
			}), steps.Fail, steps.MemoryAccessRefused,
			[]string{"the adapter on spark-01 denied access to the test's memory (status 10, " +
				"reported on spark-02)"},
		},
		{
			"the same in today's words", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
				failed(o, " Completion with error at client\n Failed status-local protection error (4): wr_id 0 syndrom 0x51\n")
			}), steps.Fail, steps.MemoryAccessRefused,
			[]string{"spark-02 may not use the test's memory (status 4"},
		},
		{"the receiver was not ready", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			failed(o, " Completion with error at client\n Failed status 13: wr_id 0 syndrom 0x87\n")
		}), steps.Fail, steps.ReceiverNotReady, nil},
		{"a transport that gave up", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			failed(o, " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n")
		}), steps.Fail, steps.RDMAUnanswered, nil},
		{"what was flushed", kindtest.Spark(), 92.5, client(func(o *steps.Output) {
			failed(o, " Completion with error at client\n Failed status 5: wr_id 0 syndrom 0xf9\n")
		}), steps.Inconclusive, steps.QueueFlushed, nil},
		{
			"memory that can't be registered", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, "Couldn't allocate MR with error=14\n") }),
			steps.Fail, steps.MemoryKindRefused,
			nil,
		},
		{
			"memlock", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, "Couldn't allocate MR with error=12\n") }), steps.Fail, steps.MemlockLow,
			nil,
		},
		{
			"nobody listens", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, "Couldn't connect to 192.168.100.10:18515\n") }),
			steps.Inconclusive, steps.ServerUnreachable,
			nil,
		},
		{
			"the versions disagree", kindtest.Spark(), 92.5,
			client(func(o *steps.Output) { failed(o, " size mismatch: local=4096, remote=65536\n") }),
			steps.Inconclusive, steps.OptionsDiffer,
			nil,
		},

		{
			"soft-RoCE has no band", kindtest.Virtual(), 0.11, nil, steps.Pass, "",
			[]string{"no expected range", "soft-RoCE", "own test"},
		},
		{
			"soft-RoCE counts its TCP and ACKs", kindtest.Virtual(), 0.11,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Tx = kindtest.Wire(1024) / 100 * 106 }),
			steps.Pass, "",
			nil,
		},
		{
			"as much the other way", kindtest.Spark(), 92.5,
			on(0, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 0).Rx = kindtest.Wire(1024) }),
			steps.Warn, steps.OtherTraffic,
			[]string{"rocep1s0f0 on spark-02 received 1.38 GB"},
		},
		{
			"soft-RoCE, far more", kindtest.Virtual(), 0.11, move(steps.Here, 0, kindtest.Wire(1024)/100*110),
			steps.Warn, steps.BytesDiffer,
			[]string{"10.0 % more"},
		},
		{
			"soft-RoCE, the other rail", kindtest.Virtual(), 0.11, move(steps.Here, 1, 2e8), steps.Fail, steps.OtherTraffic,
			[]string{"rocep1s0f1"},
		},
		{
			"soft-RoCE without counters", kindtest.Virtual(), 0.11,
			on(1, func(s *steps.Stage) { kindtest.Counter(s, steps.Here, 1).Known = false }),
			steps.Inconclusive, steps.CounterBad, nil,
		},
		{"soft-RoCE with a declared speed", kindtest.Virtual(), 0.11, func(r *steps.Result) {
			for e := range r.Rig.Nodes {
				for i := range r.Rig.Nodes[e].Rails {
					r.Rig.Nodes[e].Rails[i].RateGbps = 100
				}
			}
		}, steps.Pass, "", []string{"no expected range"}},
		{"soft-RoCE that crawls", kindtest.Virtual(), 0.11, func(r *steps.Result) {
			for e := range r.Rig.Nodes {
				for i := range r.Rig.Nodes[e].Rails {
					r.Rig.Nodes[e].Rails[i].Netdev.SpeedGbps = 100
				}
			}
		}, steps.Warn, steps.BelowLimit, []string{"the links declare 100 Gb/s", "shaping"}},

		{"skipped", kindtest.Spark(), 92.5, func(r *steps.Result) {
			r.Skip = "spark-01 has no ib_write_bw"
			r.Rig.Nodes[steps.Peer].Tools["ib_write_bw"] = steps.Tool{Package: "perftest"}
		}, steps.Skipped, steps.CannotRun, []string{"no ib_write_bw"}},
		{
			"nothing ran", kindtest.Spark(), 92.5, func(r *steps.Result) { r.Stages = nil },
			steps.Inconclusive, steps.NothingRan,
			nil,
		},
		{"no rail", steps.Rig{}, 92.5, nil, steps.Inconclusive, steps.NoRail, nil},
		{
			"a stage of no rail", kindtest.Spark(), 92.5, on(0, func(s *steps.Stage) { s.Pair = 9 }),
			steps.Inconclusive, steps.NoRail,
			nil,
		},
	} {
		r := kindtest.Bandwidth(c.rig, c.gbps)
		if c.change != nil {
			c.change(&r)
		}
		v := judgeWriteBandwidth(kindtest.BwCell, r)
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
	}
}

// The evidence carries the numbers and the band that they were compared with.
func TestWriteBandwidthEvidence(t *testing.T) {
	v := judgeWriteBandwidth(kindtest.BwCell, kindtest.Bandwidth(kindtest.TutorialSpark(), 92.5))
	e, ok := kindtest.Evidence(v, "rail 2 (rocep1s0f1) bandwidth")
	if !ok || e.Unit != "Gb/s" || e.Expected == nil || math.Abs(*e.Expected.Min-87.875) > 0.01 ||
		!strings.HasPrefix(e.Expected.From, "at least 0.95 of 92.5 (measured through ") ||
		!strings.HasSuffix(e.Expected.From, "at most 1.02 of 105.4 (highest measured)") {
		t.Errorf("%+v", e)
	}
	e, ok = kindtest.Evidence(v, "rail 1 (rocep1s0f0) bytes sent by spark-02")
	if !ok || e.Value != int64(kindtest.Wire(1024)) || e.Unit != "bytes" {
		t.Errorf("%+v", e)
	}
}

// A good result that lacks any one thing is not a PASS.
func TestNoPassWithAHole(t *testing.T) {
	for _, rig := range []steps.Rig{kindtest.Spark(), kindtest.Virtual()} {
		if v := judgeWriteBandwidth(kindtest.BwCell, kindtest.Bandwidth(rig, 92)); v.Grade != steps.Pass {
			t.Fatalf("without a hole: %s: %s", v.Grade, v.Reason)
		}
		n := len(kindtest.Bandwidth(rig, 92).Stages)
		for i := range n {
			for hole, make := range map[string]func(*steps.Stage){
				"client not run":   func(s *steps.Stage) { s.Outputs[1].Ran = false },
				"server not run":   func(s *steps.Stage) { s.Outputs[0].Ran = false },
				"client failed":    func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 },
				"server failed":    func(s *steps.Stage) { s.Outputs[0].Exit.Code = 1 },
				"client timed out": func(s *steps.Stage) { s.Outputs[1].Exit.Why = runner.TimedOut },
				"server cancelled": func(s *steps.Stage) { s.Outputs[0].Exit.Why = runner.Cancelled },
				"no value":         func(s *steps.Stage) { s.Outputs[1].Value = nil },
				"parse error":      func(s *steps.Stage) { s.Outputs[1].ParseErr = "x" },
				"no bytes":         func(s *steps.Stage) { s.Bytes = nil },
				"stage error":      func(s *steps.Stage) { s.Err = "x" },
				"tx unknown": func(s *steps.Stage) {
					kindtest.Counter(s, steps.Here,
						rig.Pairs[s.Pair].Rails[0]).Known = false
				},
				"rx unknown": func(s *steps.Stage) {
					kindtest.Counter(s, steps.Peer,
						rig.Pairs[s.Pair].Rails[1]).Known = false
				},
				"other rail unknown": func(s *steps.Stage) {
					kindtest.Counter(s, steps.Peer,
						(rig.Pairs[s.Pair].Rails[1]+1)%2).Known = false
				},
			} {
				r := kindtest.Bandwidth(rig, 92)
				make(&r.Stages[i])
				if v := judgeWriteBandwidth(kindtest.BwCell, r); v.Grade == steps.Pass || v.Grade == steps.Warn {
					t.Errorf("rail %d, %s: %s: %s", i+1, hole, v.Grade, v.Reason)
				}
			}
		}
	}
}

func TestWriteLatency(t *testing.T) {
	for _, c := range []struct {
		name    string
		rig     steps.Rig
		typical float64
		want    steps.Grade
		code    steps.Code
		words   []string
	}{
		{
			"as it should be", kindtest.Spark(), 1.96, steps.Pass, "",
			[]string{"1.96 us on each of the 4 rails", "expected 0.3 to 2.5 us"},
		},
		{"slow", kindtest.Spark(), 5, steps.Warn, steps.LatencyHigh, []string{"5 us typical"}},
		{"far too slow", kindtest.Spark(), 60, steps.Fail, steps.LatencyHigh, []string{"60 us typical"}},
		{"impossibly fast", kindtest.Spark(), 0.01, steps.Inconclusive, steps.FigureImpossible, nil},
		{"nothing", kindtest.Spark(), 0, steps.Inconclusive, steps.OutputIncomplete, []string{"no typical latency"}},
		{"soft-RoCE", kindtest.Virtual(), 860, steps.Pass, "", []string{"no expected range"}},
	} {
		v := judgeWriteLatency(kindtest.LatCell, kindtest.Latency(c.rig, c.typical, 2.6))
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
	}
	kindtest.Want(t, "a long tail", judgeWriteLatency(kindtest.LatCell, kindtest.Latency(kindtest.Spark(), 1.96, 9000)),
		steps.Warn, "9000 us")
	unlike := kindtest.Latency(kindtest.Virtual(), 527, 600)
	unlike.Stages[1].Outputs = kindtest.Latency(kindtest.Virtual(), 21310, 30000).Stages[1].Outputs
	kindtest.Want(t, "rails apart", judgeWriteLatency(kindtest.LatCell, unlike), steps.Warn,
		"rail 2 takes 21310 us and rail 1 527 us")
	r := kindtest.Latency(kindtest.Spark(), 1.96, 2.6)
	r.Stages[2].Outputs[0].Exit.Code = 1
	kindtest.Want(t, "a server that failed", judgeWriteLatency(kindtest.LatCell, r), steps.Inconclusive, "Rail 3",
		"server on spark-01")
	r = kindtest.Latency(kindtest.Spark(), 1.96, 2.6)
	r.Stages[0].Outputs[1].Value, r.Stages[0].Outputs[1].ParseErr = nil, errors.New("x").Error()
	kindtest.Because(t, "unreadable", judgeWriteLatency(kindtest.LatCell, r), steps.Inconclusive, steps.OutputIncomplete)
}

// A client at the peer writes into this end's memory, and its device is the peer's.
func TestWriteBandwidthFromThePeer(t *testing.T) {
	rig := kindtest.Spark()
	for i := range rig.Nodes[steps.Peer].Rails {
		rig.Nodes[steps.Peer].Rails[i].Dev = fmt.Sprintf("mlx5_%d", i)
	}
	r := kindtest.Bandwidth(rig, 92.5)
	for i := range r.Stages {
		s := &r.Stages[i]
		for j, b := range s.Bytes {
			b.Tx, b.Rx = b.Rx, b.Tx
			s.Bytes[j] = b
		}
		for j := range s.Outputs {
			o := &s.Outputs[j]
			o.End = o.End.Other()
			*o = kindtest.Read(steps.Output{
				Role: o.Role, End: o.End, Ran: true, Exit: o.Exit,
				Text: fmt.Sprintf("Device : %s\n", rig.At(o.End).Rails[rig.Pairs[i].Rails[o.End]].Dev) + o.Text,
			}, parse.PerftestBandwidth)
		}
	}
	kindtest.Want(t, "from the peer", judgeWriteBandwidth(kindtest.BwCell, r), steps.Pass,
		"Each rail carried its own test")
}

// Counters report a latency what its own figures hide.
func TestWriteLatencySigns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*steps.RailBytes)
		grade  steps.Grade
		code   steps.Code
		words  string
	}{
		"as it should be": {func(*steps.RailBytes) {}, steps.Pass, "", "typically"},
		"lost packets": {
			func(b *steps.RailBytes) { b.Errors["local_ack_timeout_err"] = 4 }, steps.Warn, steps.ErrorsGrew,
			"spark-02 grew (local_ack_timeout_err +4",
		},
		"busy before": {
			func(b *steps.RailBytes) { b.IdleGbps = 20 },
			steps.Warn, steps.OtherTraffic, "20.0 Gb/s",
		},
		"another way": {
			func(b *steps.RailBytes) { b.Tx = 300 }, steps.Inconclusive, steps.BytesDiffer,
			"rocep1s0f1 on spark-02 counted 300 bytes of the expected 78.0",
		},
		"idle took all": {
			func(b *steps.RailBytes) { b.Tx, b.IdleTx, b.IdleGbps = 0, 140_000, 0.001 }, steps.Pass, "",
			"typically",
		},
		"nobody counted": {
			func(b *steps.RailBytes) { b.Tx, b.Known = 0, false }, steps.Inconclusive, steps.CounterBad,
			"of rocep1s0f1",
		},
		"a flap": {
			func(b *steps.RailBytes) { b.Errors["link_downed"] = 1 }, steps.Fail, steps.LinkFlapped,
			"rocep1s0f1 on spark-02",
		},
	} {
		r := kindtest.Latency(kindtest.Spark(), 1.96, 2.6)
		c.change(kindtest.Counter(&r.Stages[1], steps.Here, 1))
		v := judgeWriteLatency(kindtest.LatCell, r)
		kindtest.Because(t, name, v, c.grade, c.code)
		kindtest.Want(t, name, v, c.grade, c.words)
	}
}

// A rail that stays far behind its like is named, also where it is unknown what either should carry.
func TestRatesApart(t *testing.T) {
	slow := func(rail int, gbps float64) func(*steps.Result) {
		return func(r *steps.Result) {
			for i, o := range r.Stages[rail].Outputs {
				o.Text = regexp.MustCompile(`(?m)^( \d+ \d+ 0\.00) .*`).ReplaceAllString(o.Text,
					fmt.Sprintf("${1} %.2f %.6f", gbps*1e9/8/1048576, gbps*1e3/8/65536))
				r.Stages[rail].Outputs[i] = kindtest.Read(o, parse.PerftestBandwidth)
			}
		}
	}
	for name, c := range map[string]struct {
		rig    steps.Rig
		gbps   float64
		change func(*steps.Result)
		want   steps.Grade
		code   steps.Code
		words  []string
	}{
		"soft-RoCE, a third": {
			kindtest.Virtual(), 6, slow(1, 2), steps.Warn, steps.RailsApart,
			[]string{"Rail 2", "2 Gb/s. Rail 1 reaches 6"},
		},
		"soft-RoCE, two thirds": {kindtest.Virtual(), 6, slow(1, 4), steps.Pass, "", nil},
		"soft-RoCE, the first": {
			kindtest.Virtual(), 6, slow(0, 0.1), steps.Warn, steps.RailsApart,
			[]string{"Rail 1", "Rail 2 reaches"},
		},
		"a band, too": {
			kindtest.Spark(), 92.5, slow(2, 40), steps.Fail, steps.RailsApart,
			[]string{"Rail 3", "40.0 Gb/s, expected at least 87.9. Rail 1 reaches 92.5", "1 reaches 92.5"},
		},
		"its twin": {
			kindtest.Spark(), 92.5, slow(1, 40), steps.Fail, steps.RailsApart,
			[]string{"Rail 1 behind the same PCIe link reaches"},
		},
		"explained": {kindtest.Spark(), 92.5, func(r *steps.Result) {
			slow(1, 40)(r)
			kindtest.Counter(&r.Stages[1], steps.Here, 1).IdleGbps = 50
		}, steps.Fail, steps.OtherTraffic, []string{"50.0 Gb/s"}},
		"another link": {
			kindtest.Spark(), 92.5, func(r *steps.Result) {
				slow(1, 23)(r)
				for _, e := range steps.Ends {
					r.Rig.Nodes[e].Rails[1].RateGbps = 25
				}
			}, steps.Warn, steps.LinkSlow,
			[]string{"rocep1s0f1 runs at 25 Gb/s on both nodes, but rocep1s0f0 at 200"},
		},
	} {
		r := kindtest.Bandwidth(c.rig, c.gbps)
		c.change(&r)
		v := judgeWriteBandwidth(kindtest.BwCell, r)
		kindtest.Because(t, name, v, c.want, c.code)
		kindtest.Want(t, name, v, c.want, c.words...)
		if said := strings.Contains(v.Said(), "on its own path"); said != slices.ContainsFunc(c.words,
			func(w string) bool { return strings.Contains(w, "reaches") }) {
			t.Errorf("%s: %s", name, v.Reason)
		}
	}
}
