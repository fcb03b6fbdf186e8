package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// ports alters what each port of an end counted in the first stage.
func ports(ends []steps.End, change func(b *steps.RailBytes)) func(good, *steps.Result) bool {
	return func(_ good, r *steps.Result) bool {
		s := &r.Stages[0]
		for i := range s.Bytes {
			if slices.Contains(ends, s.Bytes[i].End) {
				change(&s.Bytes[i])
			}
		}
		return len(s.Bytes) > 0
	}
}

// figure writes another figure into the first row of the client's output.
func figure(with string) func(good, *steps.Result) bool {
	return text(func(g good, s string) string {
		if g.rate == nil {
			return s
		}
		at := g.rate.FindStringSubmatchIndex(s)
		if at == nil {
			return s
		}
		return s[:at[4]] + with + s[at[5]:]
	})
}

// of limits an alteration to the outputs of some parsers.
func of(do func(good, *steps.Result) bool, parsers ...string) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool { return slices.Contains(parsers, g.parse) && do(g, r) }
}

// says adds a line behind the client's output.
func says(line string) func(good, *steps.Result) bool {
	return text(func(_ good, s string) string { return strings.TrimRight(s, "\n") + "\n" + line + "\n" })
}

// hostile are what a user would try who wants a PASS of a run that deserves none: numbers that are none, outputs of
// two runs, complaints next to a good figure, counters of one end alone.
func hostile() []alteration {
	const notGood, notPass = steps.Inconclusive, steps.Warn
	both, here := []steps.End{steps.Here, steps.Peer}, []steps.End{steps.Here}
	twice := func(_ good, s string) string { return strings.TrimRight(s, "\n") + "\n" + s }
	all := []alteration{
		{"the output of two runs", notGood, text(twice)},
		{"each line twice", notGood, text(func(g good, s string) string {
			if g.parse == "dual-link" {
				return s // its headings twice are a test of their own
			}
			var b strings.Builder
			for line := range strings.Lines(strings.TrimRight(s, "\n") + "\n") {
				b.WriteString(line + line)
			}
			return b.String()
		})},
		{"the clock went backwards", notGood, ports(both, func(b *steps.RailBytes) {
			b.Known, b.IPKnown, b.Tx, b.Rx, b.IPTx, b.IPRx = false, false, 0, 0, 0, 0
			b.Why, b.IPWhy = "the node's clock went backwards", "the node's clock went backwards"
		})},
		{"the counters of one end are missing", notGood, func(_ good, r *steps.Result) bool {
			s := &r.Stages[0]
			s.Bytes = slices.DeleteFunc(s.Bytes, func(b steps.RailBytes) bool { return b.End == steps.Peer })
			return len(s.Bytes) > 0
		}},
		{
			"the counters of one end stood still", notGood,
			ports(here, func(b *steps.RailBytes) { b.Tx, b.Rx, b.IPTx, b.IPRx = 0, 0, 0, 0 }),
		},
		{"the counters began again in the middle", notGood, ports(both, func(b *steps.RailBytes) {
			b.Tx, b.Rx, b.IPTx, b.IPRx = b.Tx/3, b.Rx/3, b.IPTx/3, b.IPRx/3
		})},
		{"the two ways are exchanged", notGood, func(g good, r *steps.Result) bool {
			return g.name != "ib-write-lat" && !g.cell.OfEveryNode() && ports(both, func(b *steps.RailBytes) {
				b.Tx, b.Rx, b.IPTx, b.IPRx = b.Rx, b.Tx, b.IPRx, b.IPTx
			})(g, r)
		}},
		{"the rails' counters are exchanged", notGood, func(g good, r *steps.Result) bool {
			s := &r.Stages[0]
			for i := range s.Bytes {
				switch s.Bytes[i].Rail {
				case g.own:
					s.Bytes[i].Rail = g.beside
				case g.beside:
					s.Bytes[i].Rail = g.own
				}
			}
			// A bond's and dual-link's rails are alike.
			return len(s.Bytes) > 0 && g.name != "tcp-parallel"
		}},
		{"no port counters, where RDMA passes by the interface", notGood, func(g good, r *steps.Result) bool {
			return !g.tcp && ports(both, func(b *steps.RailBytes) { b.Source = "netdev bytes" })(g, r)
		}},
		{"everything twice: the same test beside it", notPass, ports(both, func(b *steps.RailBytes) {
			b.Tx, b.Rx, b.IPTx, b.IPRx = 2*b.Tx, 2*b.Rx, 2*b.IPTx, 2*b.IPRx
		})},
		{"one packet was sent again", notPass, counter(func(_ good, b *steps.RailBytes) { b.Errors["packet_seq_err"] = 1 })},
		{"the receiver ran out of buffers", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 {
				return false
			}
			kindtest.Counter(&r.Stages[0], g.sends.Other(), g.own).Errors["out_of_buffer"] = 40
			return true
		}},
		{
			"packets were marked for congestion", notPass,
			counter(func(_ good, b *steps.RailBytes) { b.Errors["np_ecn_marked_roce_packets"] = 700 }),
		},
		{
			"the sender was told to slow down", notPass,
			counter(func(_ good, b *steps.RailBytes) { b.Errors["rp_cnp_handled"] = 30 }),
		},
		{"the port was paused", notPass, counter(func(_ good, b *steps.RailBytes) { b.Errors["port_xmit_wait"] = 123456 })},
		{
			"the interface counted damaged frames", notPass,
			counter(func(_ good, b *steps.RailBytes) { b.Errors["rx_crc_errors"] = 3 }),
		},
		{"the adapter is hot", notPass, counter(func(_ good, b *steps.RailBytes) { b.Degrees = 111 })},
		{"somebody else behind the same PCIe link", notPass, func(g good, r *steps.Result) bool {
			for i := range r.Stages[0].Bytes {
				b := &r.Stages[0].Bytes[i]
				if b.End == g.sends && b.Rail == g.own {
					b.IdleGbps = 1.5
				}
			}
			return len(r.Stages[0].Bytes) > 0
		}},
		{"the stage was given up when all had been printed", notGood, func(_ good, r *steps.Result) bool {
			r.Stages[0].Err, r.Stages[0].Stalled = "nothing was printed for 3m20s: it was ended", true
			return true
		}},
		{"the server crashed", notGood, server(func(o *steps.Output) { o.Exit.Code = 139 })},
		{"the client was aborted", notGood, client(func(o *steps.Output) { o.Exit.Code = 134 })},
		{"the client was told to end", notGood, client(func(o *steps.Output) { o.Exit.Code = 143 })},
		{
			"the server's connection was lost", notGood,
			server(func(o *steps.Output) { o.Ran, o.Err = false, "the connection to it was lost" }),
		},
		{
			"the client's output was cut", notGood,
			client(func(o *steps.Output) { o.Cut, o.Value, o.ParseErr = true, nil, "it printed more than 524288 bytes" }),
		},
		{"one rail was not measured", notGood, func(g good, r *steps.Result) bool {
			n := len(r.Stages)
			r.Stages = r.Stages[:max(1, n-1)]
			return n > 1
		}},
		{"one rail was measured twice", notGood, func(_ good, r *steps.Result) bool {
			if len(r.Stages) < 2 {
				return false
			}
			r.Stages[1] = r.Stages[0]
			return true
		}},
		{"GiB taken for GB", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && scaled(1/1.073741824)(g, r)
		}},
		{"bits taken for bytes in one row", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && scaled(8)(g, r)
		}},

		{
			"perftest: an error that nobody knows, and status 0", notGood,
			of(says(" Couldn't post send: qp 0 scnt=37"), "perftest-bandwidth", "perftest-latency"),
		},
		{
			"perftest: it crashed, and the shell's status is 0", notGood,
			of(says("Segmentation fault (core dumped)"), "perftest-bandwidth", "perftest-latency"),
		},
		{
			"perftest: the clock of its processor is unknown", notGood,
			of(says("Correlation coefficient r^2: 0.813715 < 0.9"), "perftest-bandwidth", "perftest-latency"),
		},
		{"perftest: both ways at once", notGood, replaced("RDMA_Write BW", "RDMA_Write Bidirectional BW")},
		{"perftest: another GID than asked for", notGood, func(g good, r *steps.Result) bool {
			if !strings.HasPrefix(g.parse, "perftest") {
				return false
			}
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"RAIL_GID": "3"}
			return text(func(_ good, s string) string { return " GID index       : 0\n" + s })(g, r)
		}},
		{
			"perftest: cycles for microseconds", notGood,
			within("perftest-latency", `t_min\[usec\](.*)t_avg\[usec\]`, "t_min[cycles]${1}t_avg[cycles]"),
		},
		{"perftest: a column in GB/s", notGood, within("perftest-bandwidth", `BW average\[MB/sec\]`, "BW average[GB/sec]")},
		{
			"perftest: a column whose unit is gone", notGood,
			within("perftest-bandwidth", `BW average\[MB/sec\]`, "BW average"),
		},
		{
			"perftest: columns that nobody named", notGood,
			within("perftest-bandwidth", `(?m)^( 65536 20000 0\.00 .*)$`, "${1} 12.5"),
		},
		{"perftest: an MTU of 9000", notPass, within("perftest-bandwidth", `1024\[B\]`, "9000[B]")},
		{"perftest: a size with a suffix", notGood, within("perftest-bandwidth", ` 65536 20000`, " 64K 20000")},
		{"perftest: half a message", notGood, within("perftest-bandwidth", ` 65536 20000`, " 65536.5 20000")},
		{
			"perftest: more messages than an int holds", notGood,
			within("perftest-bandwidth", ` 65536 20000`, " 65536 20000000000000000000000"),
		},
		{"perftest: the server had another size", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "perftest-bandwidth" && serverSays(" 65536 20000", " 4096 20000")(g, r)
		}},
		{"perftest: the server had another figure", notGood, func(g good, r *steps.Result) bool {
			if g.parse != "perftest-bandwidth" {
				return false
			}
			o := &r.Stages[0].Outputs[g.server]
			*o = kindtest.Bandwidth(kindtest.Spark(), 61).Stages[0].Outputs[g.server]
			return true
		}},
		{"perftest: the server counted other messages", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "perftest-latency" && serverSays(" 2 1000", " 2 500")(g, r)
		}},
		{
			"dual-link: one after the other", notGood,
			within("dual-link", `(== second beside first: exit 0), [\d.]+ to [\d.]+ s`, "${1}, 900.00 to 900.22 s"),
		},
		{
			"dual-link: nobody tells when", notGood,
			within("dual-link", `(== second beside first: exit 0), [\d.]+ to [\d.]+ s`, "${1}"),
		},
		{
			"dual-link: a clock that went backwards", notGood,
			within("dual-link", `(== second beside first: exit 0), ([\d.]+) to ([\d.]+) s`, "${1}, ${3} to ${2} s"),
		},
		{
			"dual-link: a second that began late", notGood,
			within("dual-link", `(== second beside first: exit 0), ([\d.]+) to ([\d.]+) s`, "${1}, 120.20 to 120.42 s"),
		},

		{"iperf3: a second report", notGood, of(text(twice), "iperf3")},
		{"iperf3: UDP", notGood, within("iperf3", `"num_streams"`, `"protocol":"UDP","num_streams"`)},
		{
			"iperf3: more arrived than was sent", notGood,
			within("iperf3", `("sum_sent":\{"seconds":10,"bytes":)\d+`, "${1}12345678"),
		},
		{"iperf3: a stream stood still", notPass, func(g good, r *steps.Result) bool {
			return g.name == "tcp-parallel" && text(func(_ good, s string) string {
				s = strings.ReplaceAll(s, `"bits_per_second":2.325e+10`, `"bits_per_second":3.1e+10`)
				return strings.Replace(s, `"bits_per_second":3.1e+10`, `"bits_per_second":0`, 2)
			})(g, r)
		}},
		{"iperf3: streams that don't make the sum", notGood, func(g good, r *steps.Result) bool {
			return g.name == "tcp-parallel" && replaced(`"bits_per_second":2.325e+10`, `"bits_per_second":1e+09`)(g, r)
		}},
		{
			"iperf3: text behind the report, and status 0", notGood,
			of(says("iperf3: error - unable to receive results: Connection reset by peer"), "iperf3"),
		},
		{"iperf3: the server had another figure", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "iperf3" && serverSays("Gbits/sec", "Mbits/sec")(g, r)
		}},

		{"nixlbench: a row twice", notGood, within("nixlbench", `(?m)^(1048576 .*\n)`, "${1}${1}")},
		{"nixlbench: GPU memory where the host's was asked for", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && strings.HasSuffix(g.name, "dram") &&
				text(func(_ good, s string) string {
					return regexp.MustCompile(`(seg_type=\S+ +: )DRAM`).ReplaceAllString(s, "${1}VRAM")
				})(g, r)
		}},
		{"nixlbench: another largest block than asked for", notGood, func(g good, r *steps.Result) bool {
			return strings.HasSuffix(g.name, "dram") && asked("nixlbench", "NIXL_DRAM_MAX", "134217728")(g, r)
		}},
		{"nixlbench: another buffer than asked for", notGood, func(g good, r *steps.Result) bool {
			if g.parse != "nixlbench" || !strings.Contains(g.cell.Roles[0].Text(), "NIXL_DRAM_BUFFER") {
				return false
			}
			r.Stages[0].Outputs[g.client].Asked = map[string]string{"NIXL_DRAM_BUFFER": "1073741824"}
			return text(func(_ good, s string) string {
				return strings.Replace(s, "\nBlock Size", "\nTotal buffer size (--total_buffer_size=N) : 4096\n\nBlock Size", 1)
			})(g, r)
		}},
		{"nixlbench: the target printed rows, too", notGood, func(g good, r *steps.Result) bool {
			if g.parse != "nixlbench" {
				return false
			}
			o := r.Stages[0].Outputs
			o[g.server] = steps.Output{
				Role: o[g.server].Role, End: o[g.server].End, Ran: true,
				Text: strings.ReplaceAll(o[g.client].Text, "type initiator", "type target"),
			}
			v, err := New().Parsers["nixlbench"](o[g.server].Text, "")
			o[g.server].Value = v
			return err == nil
		}},
		{"nixlbench: one block in a hundred takes 30 times as long", notPass, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && text(func(_ good, s string) string {
				return regexp.MustCompile(`(?m)^(33554432 .*) 11\.0 *$`).ReplaceAllString(s, "$1 900000.0")
			})(g, r)
		}},
		{"NIXL: the report of another test", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "nixl-python" && text(func(_ good, s string) string {
				if strings.Contains(s, `"nixl-latency"`) {
					return strings.Replace(s, `"nixl-latency"`, `"nixl-transfer"`, 1)
				}
				return strings.Replace(s, `"nixl-transfer"`, `"nixl-latency"`, 1)
			})(g, r)
		}},
		{"NIXL: another UCX at the other end", notPass, func(g good, r *steps.Result) bool {
			if g.parse != "nixl-python" {
				return false
			}
			with := func(at int, version string) {
				o := &r.Stages[0].Outputs[at]
				o.Text = strings.Replace(o.Text, `{"test"`, `{"ucx":["/opt/nixl.libs/libucp-3f1a.so.0 `+version+`"],"test"`, 1)
				o.Value, _ = New().Parsers[g.parse](o.Text, "")
			}
			with(g.client, "1.21.0")
			with(g.server, "1.22.0")
			return true
		}},
		{"NIXL: two reports", notGood, of(text(twice), "nixl-python")},
		{"NIXL: GPU memory where the host's was asked for", notGood, replaced(`"device":"cpu"`, `"device":"cuda"`)},
		{"NIXL: other reads than asked for", notGood, func(g good, r *steps.Result) bool {
			return g.name == "nixl-transfer" && asked("nixl-transfer", "NIXL_READS", "64")(g, r)
		}},
		{"NIXL: smaller reads than asked for", notGood, asked("nixl-latency", "NIXL_LAT_BYTES", "65536")},
		{
			"NIXL: one read in a hundred takes 40 times as long", notPass,
			within("nixl-python", `"p99US":30,"maxUS":60`, `"p99US":900,"maxUS":950`),
		},
	}
	// By name, as a user at the far end may have them, too: none of them shows in a rate.
	for _, name := range []string{
		"rx_prio3_pause", "tx_prio3_pause", "rx_prio0_pause_duration", "tx_global_pause", "rx_global_pause_duration",
		"tx_pause_storm_warning_events", "rx_discards_phy", "tx_discards_phy", "rx_prio5_buf_discard",
		"rx_prio0_cong_discard",
		"rx_out_of_buffer", "outbound_pci_buffer_overflow", "rx_symbol_err_phy", "np_cnp_sent", "roce_slow_restart",
	} {
		all = append(all, alteration{name + " grew at the end that receives", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 {
				return false
			}
			kindtest.Counter(&r.Stages[0], g.sends.Other(), g.own).Errors[name] = 3
			return true
		}})
	}
	for name, with := range map[string]string{
		"infinite": "inf", "minus nothing": "-nan", "with an underscore": "92_5.00", "beyond every float": "1e400",
		"with a sign": "+92.5", "in other digits": "٩٢.٥", "with a thousands separator": "11,032.34", "in quotes": `"92.5"`,
		"nothing": "", "a unit": "92.5Gb/s",
	} {
		all = append(all, alteration{"the figure is " + name, notGood, func(g good, r *steps.Result) bool {
			// JSON's own numbers have signs of exponents; "+92.5" and the others are none.
			return figure(with)(g, r)
		}})
	}
	return all
}

// serverSays replaces a text in the server's output, and reads it again.
func serverSays(old, with string) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		o := &r.Stages[0].Outputs[g.server]
		was := o.Text
		if o.Text = strings.ReplaceAll(was, old, with); o.Text == was {
			return false
		}
		v, err := New().Parsers[g.parse](o.Text, "")
		if o.Value, o.ParseErr = v, ""; err != nil {
			o.ParseErr = err.Error()
		}
		return true
	}
}
