package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// A good is a result with all as it should be, which its cell passes.
type good struct {
	name  string
	cell  steps.Cell
	make  func() steps.Result
	parse string // the parser of its outputs
	// client and server are the places of its outputs; server is -1 where one script plays both.
	client, server int
	// own is the rail of the client's end that carries the first stage, and next to one that none does.
	own, beside int
	sends       steps.End
	tcp         bool
	// rate finds the figure in the client's output.
	rate *regexp.Regexp
}

// goods are of every measured cell's judge.
func goods(t *testing.T) []good {
	perftest := regexp.MustCompile(`(?m)^( \d+ \d+ 0\.00 )([\d.]+)`)
	bench := func(id, seg string, most int, rows []float64, shares map[int]float64, beside int) good {
		c := kindtest.Cell(t, id)
		return good{
			name: id, cell: c, parse: "nixlbench", client: 0, server: 1, beside: beside,
			make: func() steps.Result {
				return kindtest.Benched(c, kindtest.Spark(), kindtest.Bench(seg, most, rows), shares)
			},
			rate: regexp.MustCompile(`(?m)^(\d+\s+1\s+)([\d.]+)`),
		}
	}
	transfer := func(id string, gbps float64, shares map[int]float64, beside int) good {
		c := kindtest.Cell(t, id)
		return good{
			name: id, cell: c, parse: "nixl-python", client: 1, server: 0, beside: beside, sends: steps.Peer,
			make: func() steps.Result {
				rig := kindtest.Spark()
				return steps.Result{Rig: rig, Stages: []steps.Stage{kindtest.Transferred(c, rig, -1,
					kindtest.ReadBack("cpu", 1<<30, 16, gbps, true), kindtest.Served, shares)}}
			},
			rate: regexp.MustCompile(`("gbps":)([\d.]+)`),
		}
	}
	tcp := kindtest.Cell(t, "tcp-single")
	iperf := regexp.MustCompile(`("bits_per_second":)([\d.e+]+)`)
	stream := func(id string, gbps float64, beside int, pairs ...int) good {
		return good{
			name: id, cell: kindtest.Cell(t, id), parse: "stream", client: 1, server: 0, beside: beside, tcp: true,
			make: func() steps.Result { return kindtest.Streamed(kindtest.Spark(), gbps, 4, pairs...) },
			rate: regexp.MustCompile(`("gbps": )([\d.]+)`),
		}
	}
	bw, lat, dual := kindtest.Cell(t, "ib-write-bw"), kindtest.Cell(t, "ib-write-lat"), kindtest.Cell(t, "dual-link")
	reads := kindtest.Cell(t, "nixl-latency")
	ucx := func(id, memory string, n, sent int, gbps float64) good {
		c := kindtest.Cell(t, id)
		return good{
			name: id, cell: c, parse: "ucx-perftest", client: 1, server: 0, beside: 3,
			make: func() steps.Result {
				return kindtest.UCXPerftest(c, kindtest.Spark(), kindtest.UCXServer("put bandwidth", memory, 64<<20),
					kindtest.UCXClient(n, 64<<20, gbps), sent)
			},
			rate: regexp.MustCompile(`(?m)^(Final:(?: +[\d.]+){5} +)([\d.]+)`),
		}
	}
	all := New()
	return []good{
		{
			name: "ib-write-bw", cell: bw, parse: "perftest-bandwidth", client: 1, server: 0, beside: 3, rate: perftest,
			make: func() steps.Result { return kindtest.Bandwidth(kindtest.Spark(), 92.5) },
		},
		{
			name: "ib-write-lat", cell: lat, parse: "perftest-latency", client: 1, server: 0, beside: 3,
			make: func() steps.Result { return kindtest.Latency(kindtest.Spark(), 1.96, 2.6) },
			rate: regexp.MustCompile(`(?m)^( 2 +\d+ +[\d.]+ +[\d.]+ +)([\d.]+)`),
		},
		{
			name: "dual-link", cell: dual, parse: "dual-link", client: 1, server: 0, beside: 3, rate: perftest,
			make: func() steps.Result {
				read := func(text string) (any, error) { return all.Parsers["dual-link"](text, "") }
				return kindtest.Dual(kindtest.Spark(), kindtest.Healthy(), read)
			},
		},
		{
			name: "load-halves", cell: kindtest.Cell(t, "load-halves"), parse: "load", client: 1, server: 0, beside: 3,
			rate: perftest,
			make: func() steps.Result {
				read := func(text string) (any, error) { return all.Parsers["load"](text, "") }
				return kindtest.BothHalves(kindtest.Spark(), 92.5, read)
			},
		},
		{
			name: "tcp-single", cell: tcp, parse: "iperf3", client: 1, server: 0, beside: 3, tcp: true, rate: iperf,
			make: func() steps.Result { return kindtest.TCP(kindtest.Spark(), 33.7, 1) },
		},
		{
			name: "tcp-parallel", cell: kindtest.Cell(t, "tcp-parallel"), parse: "iperf3", client: 1, server: 0, beside: 1,
			tcp: true,
			make: func() steps.Result {
				return kindtest.TCP(kindtest.Bonded(kindtest.TutorialSpark(), steps.Here, steps.Peer), 93, 4)
			},
		},
		collective(t, "nccl-allreduce"),
		collective(t, "nccl-allgather"),
		stream("stream-rail", 80, 3, 0),
		stream("stream-half", 88, 3, 0, 1),
		stream("stream-halves", 93, 3, 0, 2),
		bench("nixl-single-dram", "DRAM", kindtest.DramMax, kindtest.SingleDRAM, kindtest.OnlyOne, 3),
		bench("nixl-dual-dram", "DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly, 3),
		bench("nixl-mt", "DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly, 3),
		bench("nixl-halves-dram", "DRAM", kindtest.DramMax, kindtest.Scaled(kindtest.SingleDRAM, 1.99),
			map[int]float64{0: 0.5, 2: 0.5}, 3),
		bench("nixl-single-vram", "VRAM", kindtest.VramMax, kindtest.SingleVRAM, kindtest.OnlyOne, 3),
		bench("nixl-dual-vram", "VRAM", kindtest.VramMax, kindtest.DualVRAM, kindtest.OnlyOne, 3),
		ucx("ucx-perftest", "host", 500, 510, 92.4),
		ucx("ucx-perftest-gpu", "cuda", 50, 55, 3.5),
		transfer("nixl-transfer", 88, kindtest.OnlyOne, 3),
		transfer("nixl-transfer-dual", 93.4, kindtest.Evenly, 3),
		{
			name: "nixl-latency", cell: reads, parse: "nixl-python", client: 1, server: 0, beside: 3, sends: steps.Peer,
			make: func() steps.Result {
				rig := kindtest.Spark()
				r := steps.Result{Rig: rig}
				for i := range rig.Pairs {
					r.Stages = append(r.Stages, kindtest.Transferred(reads, rig, i, kindtest.Timed(17.4, 16.2, 20.8, 30, 60),
						strings.ReplaceAll(kindtest.Served, "nixl-transfer", "nixl-latency"), map[int]float64{i: 1}))
				}
				return r
			},
			rate: regexp.MustCompile(`("p50US":)([\d.]+)`),
		},
	}
}

// ofGPU reports whether a cell moves the memory of a GPU, which is staged.
func ofGPU(g good) bool { return strings.HasSuffix(g.name, "vram") || strings.HasSuffix(g.name, "gpu") }

// An alteration makes one thing wrong. do reports whether the result has that thing.
type alteration struct {
	name string
	best steps.Grade // that is still allowed
	do   func(g good, r *steps.Result) bool
}

// text alters what an output says and reads it again, as a session would.
func text(change func(g good, text string) string) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		o := &r.Stages[0].Outputs[g.client]
		was := o.Text
		if o.Text = change(g, was); o.Text == was {
			return false
		}
		v, err := New().Parsers[g.parse](o.Text, "")
		if o.Value, o.ParseErr = v, ""; err != nil {
			o.ParseErr = err.Error()
		}
		return true
	}
}

// scaled multiplies the figure of the first row.
func scaled(by float64) func(good, *steps.Result) bool {
	return text(func(g good, text string) string {
		if g.rate == nil {
			return text
		}
		return g.rate.ReplaceAllStringFunc(text, func(s string) string {
			m := g.rate.FindStringSubmatch(s)
			v, _ := strconv.ParseFloat(m[2], 64)
			return m[1] + strconv.FormatFloat(v*by, 'f', 2, 64)
		})
	})
}

func replaced(old, with string) func(good, *steps.Result) bool {
	return text(func(_ good, text string) string { return strings.ReplaceAll(text, old, with) })
}

// streamed alters one end of railbench stream, by its place among the outputs.
func streamed(at int, change func(good, *steps.Result) bool) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		g.client = at
		return g.parse == "stream" && change(g, r)
	}
}

func client(change func(*steps.Output)) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool { change(&r.Stages[0].Outputs[g.client]); return true }
}

func server(change func(*steps.Output)) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		if g.server >= 0 {
			change(&r.Stages[0].Outputs[g.server])
		}
		return g.server >= 0
	}
}

// counter alters what a port of the first stage counted: the test's own port at the end
// that sends.
func counter(change func(g good, b *steps.RailBytes)) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		if len(r.Stages[0].Bytes) == 0 {
			return false
		}
		change(g, kindtest.Counter(&r.Stages[0], g.sends, g.own))
		return true
	}
}

// foreign puts bytes where the test sends none.
func foreign(share float64, rails ...int) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		s := &r.Stages[0]
		if len(s.Bytes) == 0 {
			return false
		}
		sum := 0.0
		for _, b := range s.Bytes {
			if b.End == g.sends {
				sum += float64(max(b.Tx, b.IPTx))
			}
		}
		if g.tcp {
			sum = float64(max(kindtest.Counter(s, g.sends, g.own).IPTx, 1))
		}
		at := rails
		if at == nil {
			at = []int{g.beside}
		}
		for _, i := range at {
			b := kindtest.Counter(s, g.sends, i)
			if g.tcp {
				b.IPTx += uint64(share * sum)
			} else {
				b.Tx += uint64(share * sum)
			}
		}
		return true
	}
}

func rig(change func(g good, r *steps.Rail)) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		for _, e := range steps.Ends {
			change(g, &r.Rig.Nodes[e].Rails[g.own])
		}
		return true
	}
}

func everyRail(change func(r *steps.Rail)) func(good, *steps.Result) bool {
	return func(_ good, r *steps.Result) bool {
		for _, e := range steps.Ends {
			for i := range r.Rig.Nodes[e].Rails {
				change(&r.Rig.Nodes[e].Rails[i])
			}
		}
		return true
	}
}

var errorCounters = []string{
	"packet_seq_err", "out_of_sequence", "local_ack_timeout_err", "symbol_error", "rx_crc_errors_phy",
	"implied_nak_seq_err",
	// Of other adapters.
	"to_retransmits", "link_xoff_rx.nic", "tx_pfc_ena_frames_pri3", "mac_rx_pfc_pri3_pkt_num", "brb_discards",
	"cnpHandled",
}

func alterations() []alteration {
	const notGood, notPass = steps.Inconclusive, steps.Warn
	all := []alteration{
		{"nothing was printed", notGood, text(func(good, string) string { return "" })},
		{"half of the output", notGood, text(func(_ good, s string) string { return s[:len(s)/2] })},
		{"the last twenty characters are missing", notGood, text(func(_ good, s string) string { return s[:len(s)-20] })},
		{"another tool's output", notGood, text(func(good, string) string { return "PING 192.168.100.10: 56 data bytes\n" })},
		{"the figure is zero", notGood, scaled(0)},
		{"the figure is negative", notGood, scaled(-1)},
		{"the figure is not a number", notGood, text(func(g good, s string) string {
			if g.rate == nil {
				return s
			}
			return g.rate.ReplaceAllString(s, "${1}nan")
		})},
		{"the figure is hexadecimal", notGood, text(func(g good, s string) string {
			if g.rate == nil {
				return s
			}
			return g.rate.ReplaceAllString(s, "${1}0x1p6")
		})},
		{"a decimal comma", notGood, text(func(g good, s string) string {
			if g.rate == nil || g.parse == "iperf3" {
				return s
			}
			return g.rate.ReplaceAllStringFunc(s, func(m string) string { return strings.Replace(m, ".", ",", 99) })
		})},
		{"a tenth of the rate", notPass, func(g good, r *steps.Result) bool {
			if strings.HasSuffix(g.name, "lat") || g.name == "nixl-latency" {
				return scaled(30)(g, r)
			}
			return scaled(0.1)(g, r)
		}},
		{"bits taken for bytes", notGood, func(g good, r *steps.Result) bool {
			if strings.HasSuffix(g.name, "lat") || g.name == "nixl-latency" {
				return scaled(1.0/64)(g, r)
			}
			if ofGPU(g) {
				return scaled(64)(g, r)
			}
			return scaled(8)(g, r)
		}},
		{"the client ended with status 1", notGood, client(func(o *steps.Output) { o.Exit.Code = 1 })},
		{"the server ended with status 1", notGood, server(func(o *steps.Output) { o.Exit.Code = 1 })},
		{"the client was killed", notGood, client(func(o *steps.Output) { o.Exit.Code = 137 })},
		{"the server was killed", notGood, server(func(o *steps.Output) { o.Exit.Code = 137 })},
		{"the client crashed", notGood, client(func(o *steps.Output) { o.Exit.Code = 139 })},
		{"the client reached its limit", notGood, client(func(o *steps.Output) { o.Exit.Why = runner.TimedOut })},
		{"the server reached its limit", notGood, server(func(o *steps.Output) { o.Exit.Why = runner.TimedOut })},
		{"the client was interrupted", notGood, client(func(o *steps.Output) { o.Exit.Why = runner.Cancelled })},
		{"the client never ran", notGood, client(func(o *steps.Output) { o.Ran, o.Value = false, nil })},
		{"the server never ran", notGood, server(func(o *steps.Output) { o.Ran, o.Err = false, "connection lost" })},
		{"the output was not read", notGood, client(func(o *steps.Output) { o.Value = nil })},
		{"the output did not parse", notGood, client(func(o *steps.Output) { o.ParseErr = "garbage" })},
		{
			"the client could not be executed", notGood,
			client(func(o *steps.Output) { o.Exit.Code, o.Text, o.Value = 126, "Exec format error", nil }),
		},
		{"a node restarted", notGood, func(_ good, r *steps.Result) bool {
			r.Stages[0].Restarted = []string{r.Rig.NameOf(steps.Peer)}
			return true
		}},
		{
			"the stage stopped", notGood,
			func(_ good, r *steps.Result) bool { r.Stages[0].Err = "it was stopped"; return true },
		},
		{"an end is missing", notGood, func(g good, r *steps.Result) bool {
			at := max(0, g.server)
			r.Stages[0].Outputs = slices.Delete(r.Stages[0].Outputs, at, at+1)
			return true
		}},
		{"somebody else's output", notGood, func(g good, r *steps.Result) bool {
			o := r.Stages[0].Outputs
			if g.server < 0 {
				return false
			}
			o[g.client].Text, o[g.server].Text = o[g.server].Text, o[g.client].Text
			o[g.client].Value, o[g.server].Value = o[g.server].Value, o[g.client].Value
			return g.parse == "nixlbench" || g.parse == "nixl-python"
		}},

		{"nobody counted", notGood, func(_ good, r *steps.Result) bool {
			had := len(r.Stages[0].Bytes) > 0
			r.Stages[0].Bytes = nil
			return had
		}},
		{
			"a counter went backwards", notGood,
			counter(func(_ good, b *steps.RailBytes) { b.Known, b.IPKnown, b.Why = false, false, "it went backwards" }),
		},
		{"half of the bytes", notGood, counter(func(_ good, b *steps.RailBytes) { b.Tx, b.IPTx = b.Tx/2, b.IPTx/2 })},
		// What an interface counts of TCP may have a header for many segments only. Of a write's latency it is
		// unknown how many acknowledgements came, and a load moves bytes in the seconds that its figure leaves out.
		{"a little of the bytes is missing", notGood, func(g good, r *steps.Result) bool {
			return g.name != "ib-write-lat" && counter(func(g good, b *steps.RailBytes) {
				if b.Tx, b.IPTx = b.Tx/100*92, b.IPTx/100*80; g.parse == "load" {
					b.Tx = b.Tx / 100 * 80
				}
			})(g, r)
		}},
		{"no bytes", notGood, counter(func(_ good, b *steps.RailBytes) { b.Tx, b.IPTx = 0, 0 })},
		{"twice the bytes", notPass, counter(func(_ good, b *steps.RailBytes) { b.Tx, b.IPTx = 2*b.Tx, 2*b.IPTx })},
		{"the counter jumped", notGood, counter(func(_ good, b *steps.RailBytes) { b.Tx, b.IPTx = 1<<62, 1<<62 })},
		{"the other end counted half", notGood, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 {
				return false
			}
			b := kindtest.Counter(&r.Stages[0], g.sends.Other(), g.own)
			b.Rx, b.IPRx = b.Rx/2, b.IPRx/2
			return true
		}},
		{"another rail moved a fifth as much", notPass, foreign(0.2)},
		{"the other way moved as much", notPass, func(g good, r *steps.Result) bool {
			// The ends of a write's latency write in turns, and those of a collective both ways.
			return g.name != "ib-write-lat" && g.parse != "nccl-tests" &&
				counter(func(_ good, b *steps.RailBytes) { b.Rx, b.IPRx = b.Tx, b.IPTx })(g, r)
		}},
		{"the link went down meanwhile", notGood, counter(func(_ good, b *steps.RailBytes) { b.Errors["link_downed"] = 1 })},
		{"the carrier came and went", notGood, counter(func(_ good, b *steps.RailBytes) { b.Errors["carrier_changes"] = 2 })},
		{"the adapter was at 99 degrees", notPass, counter(func(_ good, b *steps.RailBytes) { b.Degrees = 99 })},
		{"20 Gb/s of somebody else before", notPass, counter(func(_ good, b *steps.RailBytes) { b.IdleGbps = 20 })},

		{"a link of 25 Gb/s at both ends", notGood, func(g good, r *steps.Result) bool {
			return !ofGPU(g) && g.name != "ib-write-lat" && g.name != "nixl-latency" &&
				everyRail(func(r *steps.Rail) { r.RateGbps = 25 })(g, r)
		}},
		{"the RoCE MTU is unknown", notGood, func(g good, r *steps.Result) bool {
			return !g.tcp && g.parse != "perftest-bandwidth" && g.parse != "dual-link" && g.parse != "load" &&
				g.name != "ib-write-lat" && rig(func(_ good, r *steps.Rail) { r.MTU = 0 })(g, r)
		}},
		{"the RoCE MTU was another", notPass, func(g good, r *steps.Result) bool {
			return !g.tcp && (g.parse == "nixlbench" || g.parse == "nixl-python") && !ofGPU(g) &&
				g.name != "nixl-latency" && rig(func(_ good, r *steps.Rail) { r.MTU = 256 })(g, r)
		}},

		// The words of one tool.
		{"perftest: another test", notGood, replaced("RDMA_Write BW", "Send BW")},
		{"perftest: another MTU than its packets had", notPass, func(g good, r *steps.Result) bool {
			return g.name != "ib-write-lat" && replaced("1024[B]", "4096[B]")(g, r) // two bytes fit any
		}},
		{"perftest: a second row", notGood, text(func(g good, s string) string {
			if g.name != "ib-write-bw" {
				return s
			}
			return s + " 65536 20000 0.00 11027.00 0.1764\n"
		})},
		{"perftest: another size", notPass, text(func(g good, s string) string {
			if g.parse != "perftest-bandwidth" {
				return s
			}
			return strings.Replace(s, " 65536 20000", " 8388608 20000", 1)
		})},
		{"perftest: five messages", notGood, text(func(g good, s string) string {
			if g.parse != "perftest-bandwidth" {
				return s
			}
			return strings.Replace(s, " 65536 20000", " 65536 5", 1)
		})},
		{"perftest: 1000 for 1024", notPass, func(g good, r *steps.Result) bool {
			return g.parse == "perftest-bandwidth" && scaled(1.024)(g, r)
		}},
		{"perftest: an error and status 0", notGood, text(func(g good, s string) string {
			if !strings.HasPrefix(g.parse, "perftest") {
				return s
			}
			return s + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
		})},
		{"perftest: connections of another type", notGood, text(func(g good, s string) string {
			return headed(g, s, "Connection type", " Connection type : UC\t\tUsing SRQ      : OFF")
		})},
		{"perftest: eight queue pairs", notGood, text(func(g good, s string) string {
			return headed(g, s, "Number of qps", " Number of qps   : 8\t\tTransport type : IB")
		})},
		{"perftest: over iWARP", notGood, text(func(g good, s string) string {
			return headed(g, s, "Number of qps", " Number of qps   : 1\t\tTransport type : IW")
		})},
		{"iperf3: other addresses", notGood, text(func(g good, s string) string {
			if g.parse != "iperf3" {
				return s
			}
			return strings.Replace(s, `"start":{`, `"start":{"connected":[{"remote_host":"10.0.0.5"}],`, 1)
		})},
		{"nixlbench: another backend", notGood, configured("Backend (--backend=[UCX,GDS,POSIX])", "POSIX")},
		{"nixlbench: another worker", notGood, configured("Worker type (--worker_type=[nixl,nvshmem])", "nvshmem")},
		{"nixlbench: eight threads", notGood, configured("Num threads (--num_threads=N)", "8")},
		{"nixlbench: one device alone", notGood, configured("Device list (--device_list=dev1,dev2,...)", "rocep1s0f1")},
		{"perftest: fewer messages than asked for", notGood, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"ITERATIONS": "50000"}
			return g.name == "ib-write-bw"
		}},
		{"perftest: another size than asked for", notGood, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"SIZE": "4096"}
			return g.name == "ib-write-bw"
		}},
		{"a tail of 9 ms", notPass, func(g good, r *steps.Result) bool {
			switch g.name {
			case "ib-write-lat":
				*r = kindtest.Latency(kindtest.Spark(), 1.96, 9000)
			case "nixl-latency":
				return text(func(_ good, s string) string { return strings.Replace(s, `"p95US":20.8`, `"p95US":9000`, 1) })(g, r)
			}
			return strings.HasSuffix(g.name, "lat")
		}},
		{"iperf3: an error and status 0", notGood, text(func(g good, s string) string {
			if g.parse != "iperf3" {
				return s
			}
			return strings.TrimSuffix(strings.TrimSpace(s), "}") + `,"error":"control socket has closed unexpectedly"}`
		})},
		{"iperf3: much was sent again", notPass, replaced(`"retransmits":3`, `"retransmits":5000000`)},
		{"stream: a block was changed", notGood, streamed(1, replaced(`"corrupt": 0`, `"corrupt": 1`))},
		{"stream: the receiver's block was changed", notGood, streamed(0, replaced(`"corrupt": 0`, `"corrupt": 1`))},
		{"stream: a block was lost", notGood, streamed(0, replaced(`"lost": 0`, `"lost": 1`))},
		{"stream: a connection was cut", notGood, streamed(0, replaced(`"cut": 0`, `"cut": 1`))},
		{"stream: it stalled", notPass, streamed(1, replaced(`"stalls": 0`, `"stalls": 3`))},
		{"stream: the receiver stalled", notPass, streamed(0, replaced(`"stalls": 0`, `"stalls": 3`))},
		{"stream: another address", notGood, streamed(1, replaced("192.168.", "192.169."))},
		{"stream: the receiver was at another address", notGood, streamed(0, replaced("192.168.", "192.169."))},
		{"stream: another size of block", notGood, streamed(1, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"STREAM_BLOCK": "65536"}
			return true
		})},
		{"stream: more streams than asked for", notGood, streamed(1, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"TCP_STREAMS": "2"}
			return true
		})},
		{"stream: shorter than asked for", notGood, streamed(1, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"STREAM_SECONDS": "60"}
			return true
		})},
		{"stream: the receiver got less than was sent", notGood, streamed(0, text(func(_ good, s string) string {
			return regexp.MustCompile(`"blocks": \d+`).ReplaceAllString(regexp.MustCompile(`"bytes": \d+`).ReplaceAllString(s,
				`"bytes": 67108864`), `"blocks": 1`)
		}))},
		{"stream: the receiver is of another run", notGood, streamed(0, text(func(_ good, s string) string {
			return strings.ReplaceAll(s, `"blocks": `, `"blocks": 1`)
		}))},
		{"stream: two results", notGood, streamed(1, text(func(_ good, s string) string { return s + s }))},
		{"nixlbench: a row is missing", notGood, text(func(g good, s string) string {
			if g.parse != "nixlbench" {
				return s
			}
			return regexp.MustCompile(`(?m)^1048576 .*\n`).ReplaceAllString(s, "")
		})},
		{"nixlbench: all rows bad but the last", notPass, text(func(g good, s string) string {
			if g.parse != "nixlbench" || ofGPU(g) {
				return s
			}
			rows := g.rate.FindAllStringSubmatchIndex(s, -1)
			for _, m := range rows[:len(rows)-1] {
				s = s[:m[4]] + "0.100000" + s[m[4]+8:]
			}
			return s
		})},
		{"nixlbench: large blocks at a tenth", notPass, text(func(g good, s string) string {
			if g.parse != "nixlbench" || ofGPU(g) {
				return s
			}
			for _, m := range g.rate.FindAllStringSubmatchIndex(s, -1) {
				if n, _ := strconv.Atoi(strings.Fields(s[m[0]:])[0]); n >= 1<<20 {
					s = s[:m[4]] + "1.100000" + s[m[4]+8:]
				}
			}
			return s
		})},
		{"nixlbench: wrong data and status 0", notGood, text(func(g good, s string) string {
			if g.parse != "nixlbench" {
				return s
			}
			return s + "Consistency check failed for iov 0:0\n"
		})},
		{"NIXL: the data was not verified", notGood, replaced(`"verified":true`, `"verified":false`)},
		{"NIXL: nothing was served", notGood, func(g good, r *steps.Result) bool {
			if g.parse != "nixl-python" {
				return false
			}
			o := &r.Stages[0].Outputs[g.server]
			o.Text = strings.Replace(o.Text, `"served":true`, `"served":false`, 1)
			o.Value, _ = parse.NIXLPythonOutput(o.Text)
			return true
		}},
	}
	all = append(all, conditions()...)
	all = append(all, ofThisRun()...)
	all = append(all, hostile()...)
	all = append(all, walked()...)
	for _, name := range errorCounters {
		all = append(all, alteration{
			"the error counter " + name + " grew", notPass,
			counter(func(_ good, b *steps.RailBytes) {
				b.Errors[name] = 100_000
			}),
		})
	}
	return all
}

// conditions are alterations of what a figure rests on: the clock, the links, the counters.
func conditions() []alteration {
	const notGood, notPass = steps.Inconclusive, steps.Warn
	named := func(g good, names ...string) bool { return slices.Contains(names, g.name) }
	return []alteration{
		{"the client ran for a millisecond", notGood, func(g good, r *steps.Result) bool {
			r.Stages[0].Outputs[g.client].Exit.Elapsed = time.Millisecond
			// The cell of two rails has a clock of its own; writes of a latency take no time to speak of.
			return !named(g, "dual-link", "ib-write-lat", "nixl-latency") && g.parse != "nccl-tests"
		}},
		{"half of the lanes on record", notGood, func(g good, r *steps.Result) bool {
			return named(g, "ib-write-bw", "dual-link", "load-halves", "nixl-single-dram", "ucx-perftest", "nixl-transfer") &&
				rig(func(_ good, r *steps.Rail) { r.PCI.Width = 2 })(g, r)
		}},
		{"50 GB of RDMA beside TCP", notPass, func(g good, r *steps.Result) bool {
			if !g.tcp || g.name == "tcp-parallel" {
				return false
			}
			b := kindtest.Counter(&r.Stages[0], g.sends, g.beside)
			b.Known, b.Source, b.Tx = true, "port_xmit_data", 50e9
			return true
		}},
		{"50 GB of TCP beside RDMA", notPass, func(g good, r *steps.Result) bool {
			if g.tcp || g.parse == "nccl-tests" || len(r.Stages[0].Bytes) == 0 {
				return false
			}
			b := kindtest.Counter(&r.Stages[0], g.sends, g.beside)
			b.IPKnown, b.Source, b.IPTx = true, "port_xmit_data", 50e9
			return true
		}},
		{"a neighbour whose RDMA nobody counts", notPass, func(g good, r *steps.Result) bool {
			if g.tcp || g.parse == "nccl-tests" || len(r.Stages[0].Bytes) == 0 {
				return false
			}
			kindtest.Counter(&r.Stages[0], g.sends, g.beside).Source = "netdev bytes"
			return true
		}},
		{"GPU memory of a machine that nobody measured", notPass, func(g good, r *steps.Result) bool {
			return ofGPU(g) && everyRail(func(r *steps.Rail) {
				r.RateGbps, r.PCI.Width, r.PCI.MaxWidth = 400, 16, 16
			})(g, r)
		}},
		{"the server ran for a millisecond", notGood, func(g good, r *steps.Result) bool {
			return named(g, "ib-write-bw") && server(func(o *steps.Output) { o.Exit.Elapsed = time.Millisecond })(g, r)
		}},
		{"a RoCE MTU of 4096 on record", notPass, func(g good, r *steps.Result) bool {
			return named(g, "ib-write-bw", "ib-write-lat", "dual-link") &&
				everyRail(func(r *steps.Rail) { r.MTU = 4096 })(g, r)
		}},
		{"payloads of 128 bytes and 120 Gb/s", notGood, func(g good, r *steps.Result) bool {
			return named(g, "ib-write-bw") && everyRail(func(r *steps.Rail) { r.PCI.MaxPayload = 128 })(g, r) &&
				scaled(1.3)(g, r)
		}},
		{"perftest: an IPv6 address that nobody has", notGood, text(func(g good, s string) string {
			if !strings.HasPrefix(g.parse, "perftest") {
				return s
			}
			return " local address: LID 0000\n GID: 253:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n" + s
		})},
		{"dual-link: a third host's address", notGood, within("dual-link", `first alone: exit 0(.*)\n`,
			"first alone: exit 0${1}\n remote address: LID 0000\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:07\n")},
		{"dual-link: one test at another MTU", notPass, within("dual-link", `(half alone: exit 0.*\n.*\n.*)1024\[B\]`,
			"${1}512[B]")},
		{"dual-link: a second head", notGood, within("dual-link", `(half alone: exit 0.*\n(?:.*\n){4})`,
			"${1} #bytes #iterations BW average[MB/sec]\n")},
		{"iperf3: seconds left out", notGood, within("iperf3", `"test_start":\{`, `"test_start":{"omit":2,`)},
		{"iperf3: it wrote in other blocks", notGood, within("iperf3", `"test_start":\{`, `"test_start":{"blksize":1460,`)},
		{"nixlbench: one of four processes", notGood, within("nixlbench", `(?m)^(.*rank 0 .*)$`,
			"ETCD Runtime: Registered as rank 0 item 1 of 4\n${1}")},
		{"nixlbench: a small block above the large ones", notPass, func(g good, r *steps.Result) bool {
			return named(g, "nixl-single-dram") && nixlRow(65536, 1.16)(g, r)
		}},
		{"nixlbench: rows of GPU memory far below the best", notPass, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && ofGPU(g) && nixlRow(2<<20, 0.05)(g, r)
		}},
		{"GPU memory at less than anybody measured", notPass, func(g good, r *steps.Result) bool {
			return ofGPU(g) && scaled(0.35)(g, r)
		}},
	}
}

// nixlRow makes the row of a block some times as fast as the best one, with the latency that goes with it.
func nixlRow(block int, times float64) func(good, *steps.Result) bool {
	return func(_ good, r *steps.Result) bool {
		for i := range r.Stages[0].Outputs {
			b, ok := r.Stages[0].Outputs[i].Value.(parse.NIXLBench)
			best := 0.0
			for _, row := range b.Rows {
				best = max(best, row.GBps)
			}
			for j, row := range b.Rows {
				if ok && row.Bytes == block {
					b.Rows[j].GBps = times * best
					b.Rows[j].LatencyUS = float64(block) / (times * best) / 1e3
					return true
				}
			}
		}
		return false
	}
}

// within replaces the first match of a pattern in the client's output, where it has one parser.
func within(parser, pattern, with string) func(good, *steps.Result) bool {
	return text(func(g good, s string) string {
		at := regexp.MustCompile(pattern).FindStringSubmatchIndex(s)
		if g.parse != parser || at == nil {
			return s
		}
		return s[:at[0]] + string(regexp.MustCompile(pattern).ExpandString(nil, with, s, at)) + s[at[1]:]
	})
}

// asked sets a variable that the client's script was given.
func asked(judge, name, value string) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		r.Stages[0].Outputs[g.client].Asked = map[string]string{name: value}
		return g.cell.Judge == judge
	}
}

// head alters what the server of ucx_perftest says of the test.
func head(old, with string) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		o := &r.Stages[0].Outputs[max(0, g.server)]
		if g.parse != "ucx-perftest" || !strings.Contains(o.Text, old) {
			return false
		}
		v, err := New().Parsers[g.parse](strings.ReplaceAll(o.Text, old, with), "")
		if o.Value, o.ParseErr = v, ""; err != nil {
			o.ParseErr = err.Error()
		}
		return true
	}
}

// ofThisRun are alterations that leave a figure as good as it was, of something else than
// what was asked for: a saved output, another rail's, half of a pair of tests.
func ofThisRun() []alteration {
	const notGood, notPass = steps.Inconclusive, steps.Warn
	device := func(_ good, s string) string {
		return " Dual-port       : OFF\t\tDevice         : mlx5_9\n" + s
	}
	return []alteration{
		{"perftest: another device", notGood, text(func(g good, s string) string {
			if !strings.HasPrefix(g.parse, "perftest") {
				return s
			}
			return device(g, s)
		})},
		{
			"dual-link: another device in the first test", notGood,
			within("dual-link", `: exit 0(.*)\n`, ": exit 0${1}\n Dual-port       : OFF\t\tDevice         : mlx5_9\n"),
		},
		{"dual-link: another device beside", notGood, within("dual-link", `second beside first: exit 0(.*)\n`,
			"second beside first: exit 0${1}\n Dual-port       : OFF\t\tDevice         : mlx5_9\n")},
		{"dual-link: another size than asked for", notGood, asked("dual-link", "SIZE", "4096")},
		{"dual-link: fewer messages than asked for", notGood, asked("dual-link", "ITERATIONS", "50000")},
		{"dual-link: an error and status 0", notGood, within("dual-link", `(second beside first: exit 0.*\n)`,
			"${1} Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n")},
		{
			"dual-link: a second row", notGood,
			within("dual-link", `(first beside second: exit 0.*\n(?:.*\n){3})(.*\n)`, "${1}${2}${2}"),
		},
		{"dual-link: a test twice", notGood, text(func(g good, s string) string {
			if g.parse != "dual-link" {
				return s
			}
			return s + regexp.MustCompile(`== first beside second: exit 0.*\n(?:.*\n){4}`).FindString(s)
		})},
		{"dual-link: a test without a name", notGood, text(func(g good, s string) string {
			if g.parse != "dual-link" {
				return s
			}
			return s + "== : exit 0\n"
		})},
		{"dual-link: a test without a row that nobody asked for", notGood, text(func(g good, s string) string {
			if g.parse != "dual-link" {
				return s
			}
			return s + "== third alone: exit 0\n"
		})},
		{"dual-link: one test is of small messages", notGood, within("dual-link",
			`(second beside first: exit 0.*\n(?:.*\n){3}) 65536 20000 0\.00 ([\d.]+) [\d.]+`,
			"${1} 64 20000 0.00 ${2} 102.929688")},
		{"dual-link: one test is of five messages", notGood, within("dual-link",
			`(second beside first: exit 0.*\n(?:.*\n){3}) 65536 20000`, "${1} 65536 5")},
		{"dual-link: another rate than its messages make", notGood, within("dual-link",
			`(first beside second: exit 0.*\n(?:.*\n){3} 65536 20000 0\.00 [\d.]+) [\d.]+`, "${1} 0.050000")},
		{"perftest: the latency of another test", notGood, within("perftest-latency", "RDMA_Write", "RDMA_Read")},
		{"perftest: a second row of latency", notGood, within("perftest-latency", `(?m)^( 2 1000 .*\n)`, "${1}${1}")},
		{"perftest: a tail below the median", notGood, within("perftest-latency", ` 2\.6 14\.6\n`, " 1.2 14.6\n")},
		{"perftest: no tail", notGood, within("perftest-latency", ` 2\.6 14\.6\n`, " 0 0\n")},
		{"perftest: a median below the least", notGood, within("perftest-latency", ` 1\.96 `, " 0.98 ")},
		{"NIXL: a tail below the median", notGood, within("nixl-python", `"p95US":20.8`, `"p95US":12`)},
		{"NIXL: no tail", notGood, within("nixl-python", `"p95US":20.8,"p99US":30,`, "")},
		{"NIXL: another rate than its seconds make", notGood, within("nixl-python", `"seconds":[\d.]+`, `"seconds":9.5`)},
		{"iperf3: fewer streams than asked for", notGood, func(g good, r *steps.Result) bool {
			return g.name == "tcp-parallel" && asked("tcp", "TCP_STREAMS", "8")(g, r)
		}},
		{"iperf3: a shorter test than asked for", notGood, asked("tcp", "TCP_SECONDS", "90")},
		{"iperf3: another rate than its bytes make", notGood, func(g good, r *steps.Result) bool {
			return within("iperf3", `("sum_received":\{[^}]*"bits_per_second":)[\d.e+]+`, "${1}2.75e+10")(g, r)
		}},
		{"UCX: another test", notGood, head("put bandwidth", "tag match bandwidth")},
		{"UCX: another layer", notGood, head("protocol layer", "transport layer")},
		{"UCX: another memory", notGood, func(g good, r *steps.Result) bool {
			return head("Send memory:  host", "Send memory:  cuda")(g, r) ||
				head("Send memory:  cuda", "Send memory:  host")(g, r)
		}},
		{"UCX: memory that the other end has otherwise", notGood, func(g good, r *steps.Result) bool {
			return head("Recv memory:  host", "Recv memory:  cuda-managed")(g, r) ||
				head("Recv memory:  cuda", "Recv memory:  cuda-managed")(g, r)
		}},
		{"UCX: no size", notGood, head("Message size: 67108864", "Window size:  32")},
		{"UCX: a server that says nothing of the test", notGood, head("| Test: ", "| Rest: ")},
		{"UCX: a server with figures", notGood, func(g good, r *steps.Result) bool {
			o := r.Stages[0].Outputs
			if g.parse == "ucx-perftest" {
				o[g.server].Text += o[g.client].Text
				o[g.server].Value, _ = New().Parsers[g.parse](o[g.server].Text, "")
			}
			return g.parse == "ucx-perftest"
		}},
		{"UCX: no final row", notGood, within("ucx-perftest", `(?m)^Final:.*\n`, "")},
		{"UCX: two final rows", notGood, within("ucx-perftest", `(?m)^(Final:.*\n)`, "${1}${1}")},
		{"UCX: rows of two runs", notGood, within("ucx-perftest", `\[thread 0\] +\d+`, "[thread 0]           999999")},
		{"UCX: fewer messages than asked for", notGood, func(g good, r *steps.Result) bool {
			name := map[bool]string{true: "UCXPERF_GPU_MESSAGES", false: "UCXPERF_MESSAGES"}[ofGPU(g)]
			return asked("ucx-perftest", name, "5000")(g, r)
		}},
		{"UCX: another size than asked for", notGood, asked("ucx-perftest", "UCXPERF_BYTES", "65536")},
		{"UCX: an error and status 0", notGood, within("ucx-perftest", `(?m)^(Final:.*\n)`,
			"${1}[1795221293.840784] [spark-02:1904 :0]          select.c:549  UCX  ERROR   no active messages "+
				"transport to x\n")},
		{"UCX: it aborted and status 0", notGood, within("ucx-perftest", `(?m)^(Final:.*\n)`,
			"${1}[spark-02:1858 :0:1858]       ud_ep.c:276  Fatal: UD endpoint 0x55d1b01c87c0 to x: unhandled timeout error\n")},
		{
			"UCX: times that make another rate", notGood,
			within("ucx-perftest", `(?m)^(Final: +\d+ +[\d.]+ +[\d.]+ +)[\d.]+`, "${1}1234.567"),
		},
		{
			"UCX: another number of messages a second", notGood,
			within("ucx-perftest", `(?m)^(Final:.* )\d+\n`, "${1}  9999\n"),
		},
		{"UCX: the columns of two rates swapped", notGood, within("ucx-perftest",
			`(?m)^(Final:(?: +[\d.]+){4} +)([\d.]+)( +)([\d.]+)( +)(\d+)`, "${1}${2}${3}${6}${5}${4}")},
		{"UCX: a latency's head", notGood, within("ucx-perftest", "      overhead", "       latency")},
		{"UCX: it stood still for a while", notPass, func(g good, r *steps.Result) bool {
			return g.name == "ucx-perftest" &&
				within("ucx-perftest", `(?m)^(\[thread 0\](?: +[\d.]+){4} +)[\d.]+`, "${1}      1.00")(g, r)
		}},
		{"the rail's PCIe address is unknown", notGood, func(g good, r *steps.Result) bool {
			// No cause shows then, and none is missing.
			return g.name == "ib-write-bw" && everyRail(func(r *steps.Rail) { r.PCI = steps.PCI{} })(g, r)
		}},
	}
}

// better says that a judge is kinder than an alteration allows.
func better(got, best steps.Grade) bool {
	if best == steps.Warn {
		return got == steps.Pass
	}
	return got == steps.Pass || got == steps.Warn
}

// TestAlteredResults makes one thing wrong at a time in every good result, and no judge may
// say better of it than the alteration allows.
func TestAlteredResults(t *testing.T) {
	judges := New().Judges
	wrong, tried, kinds := 0, 0, map[string]bool{}
	for i, g := range goods(t) {
		if v := judges[g.cell.Judge](g.cell, g.make()); v.Grade != steps.Pass {
			t.Errorf("%s, unaltered: %s: %s", g.name, v.Grade, v.Reason)
			continue
		}
		for j, a := range alterations() {
			if (i+j)%5 != 0 && !testform.Full() {
				continue
			}
			r := g.make()
			if !a.do(g, &r) {
				continue
			}
			tried++
			kinds[a.name] = true
			if v := judges[g.cell.Judge](g.cell, r); better(v.Grade, a.best) {
				wrong++
				t.Errorf("%s, %s: %s, at best %s: %s", g.name, a.name, v.Grade, a.best, v.Reason)
			}
		}
	}
	for _, a := range alterations() {
		if !kinds[a.name] && testform.Full() {
			t.Errorf("no result could be altered: %s", a.name)
		}
	}
	t.Logf("%d of %d altered results were judged as they should be, of %d kinds over %d cells", tried-wrong, tried,
		len(kinds), len(goods(t)))
	if len(kinds) < 40 {
		t.Errorf("%d kinds of alterations, which are fewer than 40: %v", len(kinds), slices.Sorted(maps.Keys(kinds)))
	}
}

// What changes nothing of what was measured changes no verdict.
func TestHarmlessAlterations(t *testing.T) {
	judges := New().Judges
	for _, g := range goods(t) {
		for name, do := range map[string]func(string) string{
			"trailing spaces": func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") },
			"line ends of a terminal": func(s string) string {
				if g.parse == "iperf3" {
					return s + " "
				}
				return strings.ReplaceAll(s, "\n", "\r\n")
			},
			"newer columns": func(s string) string {
				s = regexp.MustCompile(`(?m)^( #bytes .*?)\s*$`).ReplaceAllString(s, "$1    CPU_Util[%]")
				s = regexp.MustCompile(`(?m)^( \d+ \d+ .*?)\s*$`).ReplaceAllString(s, "$1 3.14")
				s = regexp.MustCompile(`(?m)^(Block Size .*)$`).ReplaceAllString(s, "${1}P99.9 Tx (us)  ")
				s = regexp.MustCompile(`(?m)^(\d+ +1 +[\d.]+ .*)$`).ReplaceAllString(s, "${1}12.0           ")
				return regexp.MustCompile(`(?m)^\{"`).ReplaceAllString(s, `{"newer":{"a":[1,2]},"`)
			},
			"a greeting of the shell before it": func(s string) string {
				if g.parse == "iperf3" || g.parse == "dual-link" {
					return s + "\n"
				}
				return fmt.Sprintf("Welcome to DGX OS\n%s", s)
			},
		} {
			r := g.make()
			text(func(_ good, s string) string { return do(s) })(g, &r)
			if v := judges[g.cell.Judge](g.cell, r); v.Grade != steps.Pass {
				t.Errorf("%s, %s: %s: %s", g.name, name, v.Grade, v.Reason)
			}
		}
	}
}

// What a terminal or an editor leaves in a text may make it unreadable, and never a FAIL of the rig.
func TestSpoiledText(t *testing.T) {
	judges := New().Judges
	for _, g := range goods(t) {
		for name, do := range map[string]func(string) string{
			"a byte order mark": func(s string) string { return "\ufeff" + s },
			"colours":           func(s string) string { return strings.ReplaceAll(s, "\n", "\x1b[0m\n\x1b[32m") },
			"a bell":            func(s string) string { return "\a" + s },
			"nothing but NUL":   func(s string) string { return strings.Repeat("\x00", len(s)) },
			"no line ends":      func(s string) string { return strings.ReplaceAll(s, "\n", " ") },
			"old line ends":     func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		} {
			r := g.make()
			text(func(_ good, s string) string { return do(s) })(g, &r)
			if v := judges[g.cell.Judge](g.cell, r); v.Grade == steps.Fail || v.Grade == steps.Skipped ||
				!utf8.ValidString(v.Reason) {
				t.Errorf("%s, %s: %s: %q", g.name, name, v.Grade, v.Reason)
			}
		}
	}
}

// third puts a third node into a rig, with the counters of its rails in each stage.
func third(r *steps.Result, moved uint64) {
	n := r.Rig.Nodes[0]
	n.No, n.Name, n.Host = 2, "spark-03", "spark-03"
	r.Rig.Nodes = append(slices.Clone(r.Rig.Nodes), n)
	for i := range r.Stages {
		s := &r.Stages[i]
		if len(s.Bytes) == 0 {
			continue
		}
		for j, rail := range n.Rails {
			s.Bytes = append(s.Bytes, steps.RailBytes{
				End: 2, Rail: j, Dev: rail.Dev, Known: true, IPKnown: true, Source: "port_xmit_data",
				Tx: moved, IPTx: moved, Errors: map[string]uint64{},
			})
		}
	}
}

// What nodes and devices are called, and what stands next to the link, changes no verdict.
func TestOtherRigs(t *testing.T) {
	judges := New().Judges
	for _, g := range goods(t) {
		for name, do := range map[string]func(r *steps.Result){
			"a third node that is quiet": func(r *steps.Result) { third(r, 0) },
			"names with signs of their own": func(r *steps.Result) {
				r.Rig.Nodes[0].Name, r.Rig.Nodes[1].Name = "ö100%s", "%d.lab-é"
			},
			"other devices": func(r *steps.Result) {
				for e := range r.Rig.Nodes {
					for i := range r.Rig.Nodes[e].Rails {
						r.Rig.Nodes[e].Rails[i].Dev = fmt.Sprintf("mlx5_%d", 9-i)
					}
				}
			},
			"no counters of the others' errors": func(r *steps.Result) {
				for i := range r.Stages {
					for j := range r.Stages[i].Bytes {
						r.Stages[i].Bytes[j].Errors = nil
					}
				}
			},
		} {
			r := g.make()
			do(&r)
			v := judges[g.cell.Judge](g.cell, r)
			// A collective is of every node, and NCCL says which devices it uses.
			want := steps.Pass
			if g.cell.OfEveryNode() && (strings.HasPrefix(name, "a third node") || name == "other devices") {
				want = steps.Inconclusive
			}
			if v.Grade != want || strings.Contains(v.Said(), "%!") || !utf8.ValidString(v.Reason) {
				t.Errorf("%s, %s: %s: %s", g.name, name, v.Grade, v.Reason)
			}
		}
		r := g.make()
		third(&r, 1<<40)
		v := judges[g.cell.Judge](g.cell, r)
		if v.Grade == steps.Pass || !strings.Contains(v.Said(), "spark-03") {
			t.Errorf("%s, a third node that carries a TB: %s: %s", g.name, v.Grade, v.Reason)
		}
	}
}

// Every alteration is judged, whatever the rig has: fewer rails, none, or other ones than
// when it was counted. No judge may panic, nor call it good.
func TestAlteredRigs(t *testing.T) {
	judges := New().Judges
	for _, g := range goods(t) {
		for name, do := range map[string]func(r *steps.Result){
			"no pairs":       func(r *steps.Result) { r.Rig.Pairs = nil },
			"no rails":       func(r *steps.Result) { r.Rig.Nodes[0].Rails, r.Rig.Nodes[1].Rails = nil, nil },
			"no rails there": func(r *steps.Result) { r.Rig.Nodes[1].Rails = nil },
			"no nodes":       func(r *steps.Result) { r.Rig = steps.NewRig("none", false, 2) },
			"no stages":      func(r *steps.Result) { r.Stages = nil },
			"no outputs": func(r *steps.Result) {
				for i := range r.Stages {
					r.Stages[i].Outputs = nil
				}
			},
			"a stage of no pair": func(r *steps.Result) { r.Stages[0].Pair = 99; r.Rig.Pairs = nil },
		} {
			r := g.make()
			do(&r)
			v := judges[g.cell.Judge](g.cell, r)
			// The TCP of a bond needs no pair of rails, nor does what runs on every node.
			pairless := g.name == "tcp-parallel" || g.cell.OfEveryNode() && strings.Contains(name, "no pair")
			if (v.Grade == steps.Pass || v.Grade == steps.Warn) && !pairless {
				t.Errorf("%s, %s: %s: %s", g.name, name, v.Grade, v.Reason)
			}
			if v.Reason == "" || strings.Contains(v.Said(), "%!") {
				t.Errorf("%s, %s: %q", g.name, name, v.Reason)
			}
		}
	}
}

// headed is a report of perftest with another line of its head, or with one more.
func headed(g good, s, begins, line string) string {
	if !strings.HasPrefix(g.parse, "perftest") {
		return s
	}
	form := regexp.MustCompile(`(?m)^ *` + begins + ` *:.*$`)
	if form.MatchString(s) {
		return form.ReplaceAllString(s, line)
	}
	return line + "\n" + s
}

// configured is nixlbench's output with another line of its configuration.
func configured(option, value string) func(good, *steps.Result) bool {
	name := regexp.MustCompile(`--\w+`).FindString(option)
	return text(func(g good, s string) string {
		form := regexp.MustCompile(`(?m)^.*\(` + name + `=.*$`)
		if g.parse != "nixlbench" {
			return s
		}
		if form.MatchString(s) {
			return form.ReplaceAllString(s, option+" : "+value)
		}
		return regexp.MustCompile(`(?m)^.*\(--op_type=.*$`).ReplaceAllString(s, "$0\n"+option+" : "+value)
	})
}
