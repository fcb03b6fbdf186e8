package catalog

import (
	"regexp"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// isLatency reports whether a cell's figure is a time.
func isLatency(g good) bool { return g.name == "ib-write-lat" || g.name == "nixl-latency" }

// at alters what one rail counted at an end of the first stage.
func at(other bool, beside bool, change func(g good, b *steps.RailBytes)) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool {
		if len(r.Stages[0].Bytes) == 0 {
			return false
		}
		e, rail := g.sends, g.own
		if other {
			e = e.Other()
		}
		if beside {
			rail = g.beside
		}
		change(g, kindtest.Counter(&r.Stages[0], e, rail))
		return true
	}
}

// but leaves out cells to which an alteration does nothing wrong.
func but(do func(good, *steps.Result) bool, not func(good) bool) func(good, *steps.Result) bool {
	return func(g good, r *steps.Result) bool { return !not(g) && do(g, r) }
}

// largest is the most that any port moved.
func largest(r *steps.Result) (most uint64) {
	for _, b := range r.Stages[0].Bytes {
		most = max(most, b.Tx, b.Rx, b.IPTx, b.IPRx)
	}
	return most
}

// walked are further examples of each class: nearly the same as others, and met in the field.
func walked() []alteration {
	const notGood, notPass = steps.Inconclusive, steps.Warn
	both := []steps.End{steps.Here, steps.Peer}
	all := []alteration{
		{"words taken for bytes", notGood, but(ports(both, func(b *steps.RailBytes) {
			b.Tx, b.Rx, b.IPTx, b.IPRx = b.Tx/4, b.Rx/4, b.IPTx/4, b.IPRx/4
		}), func(g good) bool { return g.name == "ib-write-lat" })},
		{"bytes taken for words", notPass, ports(both, func(b *steps.RailBytes) {
			b.Tx, b.Rx, b.IPTx, b.IPRx = b.Tx*4, b.Rx*4, b.IPTx*4, b.IPRx*4
		})},
		{"a word of 32 bits wrapped at the end that sends", notGood, but(at(false, false, func(_ good, b *steps.RailBytes) {
			b.Tx, b.IPTx = b.Tx-min(b.Tx, b.Tx/2+1<<20), b.IPTx-min(b.IPTx, b.IPTx/2+1<<20)
		}), func(g good) bool { return g.name == "ib-write-lat" })},
		{
			"the receiver's counter jumped", notGood,
			at(true, false, func(_ good, b *steps.RailBytes) { b.Rx, b.IPRx = 1<<62, 1<<62 }),
		},
		{"the receiver counted nothing", notGood, at(true, false, func(_ good, b *steps.RailBytes) { b.Rx, b.IPRx = 0, 0 })},
		{
			"the receiver counted three fifths more", notPass,
			at(true, false, func(_ good, b *steps.RailBytes) { b.Rx, b.IPRx = b.Rx/10*16, b.IPRx/10*16 }),
		},
		{"the receiver's counter is missing", notGood, at(true, false, func(_ good, b *steps.RailBytes) {
			b.Known, b.IPKnown, b.Rx, b.IPRx, b.Why, b.IPWhy = false, false, 0, 0, "is missing", "is missing"
		})},
		{
			"the receiver sent as much itself", notPass,
			but(at(true, false, func(_ good, b *steps.RailBytes) { b.Tx, b.IPTx = max(b.Tx, b.Rx), max(b.IPTx, b.IPRx) }),
				func(g good) bool { return g.name == "ib-write-lat" || g.cell.OfEveryNode() }),
		}, // a collective goes both ways
		{"another rail of the receiver moved a fifth as much", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 {
				return false
			}
			n := largest(r) / 5
			b := kindtest.Counter(&r.Stages[0], g.sends.Other(), g.beside)
			if g.tcp {
				b.IPRx += n
			} else {
				b.Rx += n
			}
			return true
		}},
		{"another rail sent and got a twentieth", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 || g.beside == 1 { // which is the bond's other link
				return false
			}
			n := max(largest(r)/20, 64<<20)
			for _, e := range both {
				b := kindtest.Counter(&r.Stages[0], e, g.beside)
				if g.tcp {
					b.IPRx, b.IPTx = b.IPRx+n, b.IPTx+n
				} else {
					b.Rx, b.Tx = b.Rx+n, b.Tx+n
				}
			}
			return true
		}},
		{"TCP beside RDMA on the same rail", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 || g.tcp {
				return false
			}
			b := kindtest.Counter(&r.Stages[0], g.sends, g.own)
			b.IPKnown, b.IPTx = true, largest(r)/5+64<<20
			return true
		}},
		{"RDMA beside TCP on the same rail", notPass, func(g good, r *steps.Result) bool {
			if len(r.Stages[0].Bytes) == 0 || !g.tcp {
				return false
			}
			b := kindtest.Counter(&r.Stages[0], g.sends, g.own)
			b.Known, b.Tx = true, largest(r)/5
			return true
		}},
		{
			"2 Gb/s of somebody else at the receiver before", notPass,
			at(true, false, func(_ good, b *steps.RailBytes) { b.IdleGbps = 2 }),
		},
		{
			"the link went down at the other end", notGood,
			at(true, false, func(_ good, b *steps.RailBytes) { b.Errors["link_downed"] = 1 }),
		},
		{
			"the link was trained again", notGood,
			at(false, false, func(_ good, b *steps.RailBytes) { b.Errors["link_error_recovery"] = 1 }),
		},
		{
			"the carrier was down at the other end", notGood,
			at(true, false, func(_ good, b *steps.RailBytes) { b.Errors["carrier_down_count"] = 1 }),
		},
		{"a rail beside it is hot", notPass, at(false, true, func(_ good, b *steps.RailBytes) { b.Degrees = 109 })},
		{
			"a link beside it went down", notPass,
			at(true, true, func(_ good, b *steps.RailBytes) { b.Errors["link_downed"] = 1 }),
		},
		{
			"a carrier beside it came and went", notPass,
			at(false, true, func(_ good, b *steps.RailBytes) { b.Errors["carrier_changes"] = 2 }),
		},
		{"the receiver's adapter is hot", notPass, at(true, false, func(_ good, b *steps.RailBytes) { b.Degrees = 109 })},
		{
			"an error that nobody knows grew", notPass,
			at(true, false, func(_ good, b *steps.RailBytes) { b.Errors["rx_oversize_pkts_err"] = 2 }),
		},
		{"the rate of one end is a quarter", notPass, func(g good, r *steps.Result) bool {
			r.Rig.Nodes[steps.Peer].Rails[g.own].RateGbps = 25
			return true
		}},
		{"both PCIe links came up with one lane", notPass, rig(func(_ good, r *steps.Rail) { r.PCI.Width = 1 })},
		{"a PCIe link of the peer came up as Gen1", notPass, func(g good, r *steps.Result) bool {
			r.Rig.Nodes[steps.Peer].Rails[g.own].PCI.GTps = 2.5
			return true
		}},
		{"the port of the peer is down", notPass, func(g good, r *steps.Result) bool {
			r.Rig.Nodes[steps.Peer].Rails[g.own].State = "DOWN"
			return !g.tcp // which asks the interface
		}},
		{"the RoCE MTU of the peer is smaller", notPass, func(g good, r *steps.Result) bool {
			r.Rig.Nodes[steps.Peer].Rails[g.own].MTU = 512
			return !g.tcp
		}},
		{"the server said nothing", notGood, func(g good, r *steps.Result) bool {
			if g.server < 0 {
				return false
			}
			o := &r.Stages[0].Outputs[g.server]
			o.Text, o.Value, o.ParseErr = "", nil, "no result in the output"
			return g.parse != "dual-link" && g.parse != "load"
		}},
		{"the server's output is half", notGood, func(g good, r *steps.Result) bool {
			if g.server < 0 || g.parse == "dual-link" || g.parse == "load" || g.parse == "ucx-perftest" {
				return false
			}
			o := &r.Stages[0].Outputs[g.server]
			text := o.Text[:len(o.Text)/2]
			return serverSays(o.Text, text)(g, r)
		}},
		{"MiB taken for MB", notGood, but(scaled(1.048576), func(g good) bool { return isLatency(g) || ofGPU(g) })},
		{"MB taken for MiB", notPass, but(scaled(1/1.048576), func(g good) bool { return isLatency(g) || ofGPU(g) })},
		{"a thousandth of the rate", notPass, but(scaled(0.001), isLatency)},
		{"a thousand times the rate", notGood, but(scaled(1000), isLatency)},
		{"nixlbench: it read, where it was to write", notGood, of(replaced(": WRITE", ": READ"), "nixlbench")},
		{"nixlbench: rows in another order", notGood, within("nixlbench", `(?m)^(524288 .*\n)(1048576 .*\n)`, "${2}${1}")},
		{"nixlbench: a row of no size", notGood, within("nixlbench", `(?m)^524288 `, "0      ")},
		{"nixlbench: a rate that the time of a block doesn't make", notPass, func(g good, r *steps.Result) bool {
			return g.parse == "nixlbench" && !ofGPU(g) &&
				within("nixlbench", `(?m)^(33554432 +1 +)[\d.]+( +)[\d.]+`, "${1}11.561000${2}29.0")(g, r)
		}},
		{
			"nixlbench: a tail of small blocks that is longer than all of them together", notGood,
			within("nixlbench", `(?m)^(65536 .*)11\.0 +$`, "${1}90000.0"),
		},
		{"nixlbench: GiB/s in the head", notGood, within("nixlbench", `B/W \(GB/Sec\)`, "B/W (GiB/Sec)")},
		{"nixlbench: Gb/s in the head", notGood, within("nixlbench", `B/W \(GB/Sec\)`, "B/W (Gb/Sec)")},
		{"nixlbench: ms in the head", notGood, within("nixlbench", `Avg Lat\. \(us\)`, "Avg Lat. (ms)")},
		{"nixlbench: the table twice", notGood, text(func(g good, s string) string {
			at := strings.Index(s, "Block Size")
			if g.parse != "nixlbench" || at < 0 {
				return s
			}
			return s + s[at:]
		})},
		{
			"perftest: MB/s where it is Gb/s", notGood,
			within("perftest-bandwidth", `BW average\[MB/sec\]`, "BW average[Gb/sec]"),
		},
		{
			"perftest: a peak below the average", notGood,
			within("perftest-bandwidth", `(?m)^( 65536 20000 )0\.00`, "${1}500.00"),
		},
		{
			"perftest: a rate of messages that isn't the figure's", notGood,
			within("perftest-bandwidth", `0\.176\d+\n`, "0.088214\n"),
		},
		{
			"perftest: a sweep of sizes", notGood,
			within("perftest-bandwidth", `(?m)^( 65536 20000 .*\n)`,
				" 2 20000 0.00 12.00 6.291456\n 32768 20000 0.00 11027.00 0.352864\n${1}"),
		},
		{
			"perftest: no rate, and the CPU's clock blamed", notGood,
			of(figure("0.00"), "perftest-bandwidth", "dual-link", "load", "ucx-perftest"),
		},
		{
			"perftest: the other end was lost, and status 0", notGood,
			of(says(" Failed to exchange data between server and clients"), "perftest-bandwidth", "perftest-latency"),
		},
		{
			"perftest: memory could not be registered, and status 0", notGood,
			of(says("Couldn't allocate MR"), "perftest-bandwidth", "perftest-latency"),
		},
		{
			"perftest: data that was validated is wrong", notGood,
			of(says(" Data validation failed at iteration 7"), "perftest-bandwidth", "perftest-latency"),
		},
		{"iperf3: the other way", notGood, of(replaced(`"num_streams"`, `"reverse":1,"num_streams"`), "iperf3")},
		{"iperf3: both ways at once", notGood, of(replaced(`"num_streams"`, `"bidir":1,"num_streams"`), "iperf3")},
		{
			"iperf3: its rate was limited", notPass,
			of(replaced(`"num_streams"`, `"target_bitrate":1000000000,"num_streams"`), "iperf3"),
		},
		{"iperf3: half of what was sent arrived", notGood, func(g good, r *steps.Result) bool {
			return g.parse == "iperf3" && text(func(_ good, s string) string {
				return regexp.MustCompile(`("sum_received":\{"seconds":10,"bytes":)(\d)`).ReplaceAllString(s, "${1}")
			})(g, r)
		}},
		{"iperf3: no seconds", notGood, of(replaced(`"seconds":10`, `"seconds":0`), "iperf3")},
		{"iperf3: milliseconds", notGood, of(replaced(`"seconds":10`, `"seconds":10000`), "iperf3")},
		{"NIXL: seconds of nothing", notGood, within("nixl-python", `"seconds":[\d.]+`, `"seconds":0`)},
		{"NIXL: it wrote", notGood, replaced(`"op":"READ"`, `"op":"WRITE"`)},
		{
			"NIXL: an error in the report, and status 0", notGood,
			within("nixl-python", `"role":"initiator"`, `"role":"initiator","error":"NIXL_ERR_BACKEND"`),
		},
	}
	grew := func(name string, other bool) func(good, *steps.Result) bool {
		return at(other, false, func(_ good, b *steps.RailBytes) { b.Errors[name] = 1 })
	}
	head := func(begins, line string) func(good, *steps.Result) bool {
		return text(func(g good, s string) string { return headed(g, s, begins, line) })
	}
	all = append(all, []alteration{
		{"the link went down, as ethtool counts it", notGood, grew("link_down_events_phy", false)},
		{"the carrier came back at the other end", notGood, grew("carrier_up_count", true)},
		{"iperf3: it sent for two of ten seconds", notGood, within("iperf3", `("sum_sent":\{"seconds":)10`, "${1}2")},
		{"iperf3: more streams than it tells of", notGood, within("iperf3", `"num_streams":\d`, `"num_streams":8`)},
		{"iperf3: its first seconds left out", notGood, within("iperf3", `"num_streams"`, `"omit":9,"num_streams"`)},
		{"iperf3: small writes", notGood, within("iperf3", `"num_streams"`, `"blksize":64,"num_streams"`)},
		{"iperf3: some bytes, and no time", notGood, within("iperf3", `"num_streams"`, `"bytes":1000000,"num_streams"`)},
		{"iperf3: some blocks, and no time", notGood, within("iperf3", `"num_streams"`, `"blocks":10,"num_streams"`)},
		{"iperf3: told to last a second", notGood, within("iperf3", `"num_streams"`, `"duration":1,"num_streams"`)},
		{"iperf3: a stream at a hundredth", notPass, func(g good, r *steps.Result) bool {
			return g.name == "tcp-parallel" && text(func(_ good, s string) string {
				s = strings.ReplaceAll(s, `"bits_per_second":2.325e+10`, `"bits_per_second":3.09e+10`)
				return strings.Replace(s, `"bits_per_second":3.09e+10`, `"bits_per_second":0.03e+10`, 2)
			})(g, r)
		}},
		{"iperf3: it stood still for a second", notPass, within("iperf3", `"end":\{`,
			`"intervals":[{"sum":{"seconds":1,"bytes":0,"bits_per_second":0}},{"sum":{"seconds":9,"bytes":9e10,"bits_per_second":8e10}}],"end":{`)},
		{"nixlbench: another mode", notGood, configured("Mode (--mode=[SG,MG])", "MG")},
		{"nixlbench: eight devices at the target", notGood, configured("Num target dev (--num_target_dev=N)", "8")},
		{
			"perftest: thousands of messages where it is millions", notGood,
			within("perftest-bandwidth", `MsgRate\[Mpps\]`, "MsgRate[Kpps]"),
		},
		{"a link of 50 Gb/s everywhere", notPass, func(g good, r *steps.Result) bool {
			// Over a bond, and around many nodes, no pair of rails is compared.
			return g.name != "tcp-parallel" && !g.cell.OfEveryNode() && everyRail(func(r *steps.Rail) { r.RateGbps = 50 })(g, r)
		}},
		{"perftest: written with immediate data", notGood, replaced("RDMA_Write BW", "RDMA_Write_With_Imm BW")},
		{
			"perftest: over two ports at once", notGood,
			head("Dual-port", " Dual-port       : ON\t\tDevice         : rocep1s0f0"),
		},
		{"perftest: over InfiniBand", notGood, head("Link type", " Link type       : IB")},
		{"perftest: an average above the longest", notGood, within("perftest-latency", ` 2\.0 0\.30 `, " 800.0 950.30 ")},
		{"perftest: a few writes of 25 ms", notPass, within("perftest-latency", ` 14\.6 1\.96 2\.0 0\.30 2\.6 14\.6\n`,
			" 25000 1.96 52.0 900 2.6 25000\n")},
	}...)
	for code, what := range map[int]string{
		124: "ended by timeout", 126: "not allowed to run", 132: "of an illegal instruction", 135: "of a bus error",
		136: "of a division by zero",
		141: "of a broken pipe", 152: "of its time of the processor", 255: "by ssh",
	} {
		all = append(all,
			alteration{"the client ended " + what, notGood, client(func(o *steps.Output) { o.Exit.Code = code })},
			alteration{"the server ended " + what, notGood, server(func(o *steps.Output) { o.Exit.Code = code })})
	}
	for _, line := range []string{
		"Killed", "Aborted (core dumped)", "Bus error", "Traceback (most recent call last):",
		"Illegal instruction (core dumped)",
		"terminate called after throwing an instance of 'std::bad_alloc'", "double free or corruption (!prev)",
		"*** stack smashing detected ***: terminated", "munmap_chunk(): invalid pointer", "Hangup", "Alarm clock",
		"User defined signal 1",
		"File size limit exceeded (core dumped)", "Fatal Python error: Segmentation fault",
		"panic: runtime error: index out of range",
		"ib_write_bw: src/perftest_resources.c:123: main: Assertion `x' failed.", "CUDA error: out of memory",
		"==123==ERROR: AddressSanitizer: heap-use-after-free on address 0x6",
		"sh: 3: printf: write error: No space left on device",
		"[spark-02:1858 :0:1858] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))",
		"[1795221293.840784] [spark-02:1904 :0]  ib_mlx5_log.c:179  UCX  ERROR   Transport retry count exceeded on " +
			"rocep1s0f0:1/RoCE",
	} {
		all = append(all, alteration{"it says " + line + ", and status 0", notGood, says(line)})
	}
	return all
}
