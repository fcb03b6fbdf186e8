package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/strictnum"
)

// perftest is a fact of the row with the largest message, and what is to be thought of it.
func (r *reader) perftest(o object, rows []object) {
	if len(rows) == 0 {
		return
	}
	row := slices.MaxFunc(rows, func(a, b object) int {
		x, _ := a.num("bytes")
		y, _ := b.num("bytes")
		return cmp.Compare(x, y)
	})
	bytes, _ := row.num("bytes")
	mtu, _ := o.num("mtu")
	device, test := cmp.Or(o.str("device"), "an unnamed device"), cmp.Or(o.str("test"), "a test of perftest")
	at := lineWith(r.lines, "#bytes")
	if us, ok := row.num("typicalUS"); ok {
		r.say("perftest", at, "figure perftest: %s on %s, %.0f bytes: %.2f µs", test, device, bytes, us)
		return
	}
	average, ok := row.num("averageGbps")
	if !ok {
		return
	}
	size := strconv.FormatFloat(bytes, 'f', -1, 64)
	for _, l := range r.lines {
		if f := strings.Fields(l.text); len(f) > 3 && f[0] == size {
			at = l.n
			break
		}
	}
	packets := ""
	if mtu > 0 {
		packets = fmt.Sprintf(", RDMA MTU %.0f", mtu)
	}
	r.say("perftest", at, "figure perftest: %s on %s, %.0f bytes%s: %.2f Gb/s", test, device, bytes, packets, average)
	ways := 1.0
	if strings.Contains(test, "Bidirectional") {
		ways = 2
	}
	r.judge("perftest", at, device, average/ways, int(mtu), int(bytes))
}

// Rates of links in Gb/s, and the share of one that a healthy test carries as payload, headers and all.
var linkRates = []float64{10, 25, 40, 100, 200, 400, 800}

const leastShare, mostShare = 0.9, 0.995

// judge compares a figure of one direction with what its conditions allow.
func (r *reader) judge(tool string, at int, device string, gbps float64, mtu, bytes int) {
	if twin(device) != "" { // a DGX Spark's: railbench's own limits hold
		rig := steps.NewRig("", false, len(steps.Ends))
		for i := range rig.Nodes {
			rig.Nodes[i].Rails = []steps.Rail{{
				Dev: device, Port: 1, Layer: "Ethernet", RateGbps: 200, MTU: mtu, HasOctets: true,
				PCI: steps.PCI{Addr: "0000:01:00.0", GTps: 32, Width: 4, MaxGTps: 32, MaxWidth: 4},
			}}
		}
		rig.Pairs = []steps.Pair{{}}
		if mtu == 0 { // not in the text: what the smallest MTU gives is enough
			mtu = 1024
		}
		b := limits.BandOf(rig, limits.Test{MTU: mtu, Message: bytes}, rig.Pairs...)
		if b.Expected <= 0 {
			return
		}
		share := gbps / float64(b.Expected)
		verdict := "good"
		if share < limits.PassShare.Value() {
			verdict = "low"
		}
		if b.Limit > 0 && rate.Payload(gbps) > b.Limit*rate.Payload(limits.OverShare.Value()) {
			verdict = "over"
		}
		r.say(tool, at, "judged %s: %s: %.2f Gb/s on %s; one PCIe half of a DGX Spark carries %.1f at RoCE MTU %d", tool,
			verdict, gbps, device, float64(b.Expected), mtu)
		return
	}
	if line, ok := r.rates[device]; ok && line > 0 {
		verdict := "good"
		if gbps < leastShare*line {
			verdict = "low"
		}
		r.say(tool, at, "judged %s: %s: %.2f Gb/s on %s, a port of %.0f Gb/s", tool, verdict, gbps, device, line)
		return
	}
	for _, line := range linkRates {
		if share := gbps / line; share >= leastShare && share <= mostShare && bytes >= 4096 {
			r.say(tool, at, "judged %s: likely good: %.2f Gb/s is what a port of %.0f Gb/s carries", tool, gbps, line)
			return
		}
	}
}

// collective is a fact of nccl-tests and its relatives.
func (r *reader) collective(o object, rows []object) {
	best, size := 0.0, 0.0
	for _, row := range rows {
		for _, place := range []string{"outOfPlace", "inPlace"} {
			f, _ := row[place].(map[string]any)
			if bus, ok := object(f).num("busGBps"); ok && bus > best {
				best = bus
				size, _ = row.num("bytes")
			}
		}
	}
	hosts, gpus := map[string]bool{}, map[string]bool{}
	ranks := o.list("ranks")
	for _, rank := range ranks {
		hosts[rank.str("host")], gpus[rank.str("gpu")] = true, true
	}
	if len(ranks) > 0 {
		f := factf(lineWith(r.lines, "Using devices"), "nccl-tests: all ranks on %d hosts", len(hosts))
		f.tool, f.shown = "nccl-tests", false
		r.facts = append(r.facts, f)
	}
	if best == 0 {
		return
	}
	at := lineWith(r.lines, strconv.FormatFloat(size, 'f', -1, 64))
	r.say("nccl-tests", at, "figure nccl-tests: %s, %d ranks on %d hosts, %.0f bytes: bus bandwidth %.2f GB/s",
		cmp.Or(o.str("program"), "a collective"), len(ranks), len(hosts), size, best)
	spark := false
	for g := range gpus {
		spark = spark || strings.Contains(g, "GB10")
	}
	least := limits.NCCLSwitched.Value()
	switch {
	case spark && len(hosts) == 2 && best >= least:
		r.say("nccl-tests", at, "judged nccl-tests: good: %.2f GB/s; two DGX Sparks should reach %.1f", best, least)
	case spark && len(hosts) == 2:
		r.say("nccl-tests", at, "judged nccl-tests: low: %.2f GB/s; two DGX Sparks should reach %.1f", best, least)
	case len(hosts) >= 2 && size >= 64<<20:
		for _, line := range linkRates {
			if share := best * 8 / line; share >= 0.85 && share <= mostShare {
				r.say("nccl-tests", at, "judged nccl-tests: likely good: %.1f Gb/s is what a port of %.0f carries",
					best*8, line)
				break
			}
		}
	}
}

// ofStream is iperf3's row of what one stream sent in the whole test; with --bidir, of this end.
var ofStream = lazyregexp.New(`^\[ *\d+\](?:\[TX-[CS]\])? .*\bsender\s*$`)

func (r *reader) iperf3(row object) {
	streams, _ := row.num("streams")
	sent, ok := row.num("receivedGbps")
	if !ok || sent == 0 {
		sent, ok = row.num("sentGbps")
	}
	if !ok || sent == 0 {
		return
	}
	again := "unknown"
	if n, ok := row.num("retransmits"); ok && n >= 0 {
		again = strconv.FormatFloat(n, 'f', -1, 64)
	}
	at, senders := 0, 0
	for _, l := range r.lines {
		if strings.Contains(l.text, "receiver") {
			at = l.n
		} else if ofStream.Regexp().MatchString(l.text) {
			senders++
		}
	}
	if streams == 0 { // the lines that name the connections were left out of the paste
		streams = float64(senders)
	}
	plural := "streams"
	if streams == 1 {
		plural = "stream"
	}
	at = cmp.Or(at, lineWith(r.lines, "bits/sec"))
	r.say("iperf3", at, "figure iperf3: %.0f %s: %.3g Gb/s, retransmits %s", streams, plural, sent, again)
	for _, line := range linkRates {
		if share := sent / line; share >= 0.9 && share <= mostShare && again == "0" {
			r.say("iperf3", at, "judged iperf3: likely good: %.3g Gb/s is what TCP gets of a link of %.0f Gb/s", sent, line)
		}
	}
}

// transfers is a fact of the fastest row of nixlbench or ucx_perftest.
func (r *reader) transfers(tool string, rows []object) {
	best := 0.0
	for _, row := range rows {
		gbytes, _ := row.num("bandwidthGBps")
		gbits, _ := row.num("overallGbps")
		best = math.Max(best, math.Max(gbytes*8, gbits))
	}
	if best > 0 {
		r.say(tool, lineWith(r.lines), "figure %s: at most %.2f Gb/s", tool, best)
	}
}

var cma = lazyregexp.New(`^(CmaTotal|CmaFree):\s+(\d+) kB`)

// memory compares the two counts of CMA memory, which cannot contradict each other on a healthy kernel.
func (r *reader) memory() {
	kB, at := map[string]int{}, 0
	for _, l := range r.lines {
		if m := cma.Regexp().FindStringSubmatch(l.text); m != nil {
			kB[m[1]], _ = strictnum.Count(m[2])
			at = l.n
		}
	}
	if len(kB) == 2 && kB["CmaFree"] > kB["CmaTotal"] {
		r.say("meminfo", at, "memory CmaFree %d kB is larger than CmaTotal %d kB", kB["CmaFree"], kB["CmaTotal"])
	}
}

// at is the line of a row that a reader numbered in what it got; of a part that was cut it is a line with those words.
func (r *reader) at(row object, words ...string) int {
	if n, ok := row.num("line"); ok && int(n) <= len(r.lines) && n > 0 {
		if l := r.lines[int(n)-1]; !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l.whole, w) }) {
			return l.n
		}
	}
	return lineWith(r.lines, words...)
}

// sizes is a fact of the fastest row, or of the least latency, of a table by message size.
func (r *reader) sizes(tool string, o object, rows []object) {
	best, least := -1, -1
	of := func(i int, key string) float64 { v, _ := rows[i].num(key); return v }
	for i, row := range rows {
		if v, ok := row.num("rateGbps"); ok && v > 0 && (best < 0 || v > of(best, "rateGbps")) {
			best = i
		}
		if v, ok := row.num("averageUS"); ok && v > 0 && (least < 0 || v < of(least, "averageUS")) {
			least = i
		}
	}
	test := ""
	if s := o.str("test"); s != "" {
		test = ", " + s
	}
	switch {
	case best >= 0:
		gbps, bytes := of(best, "rateGbps"), of(best, "bytes")
		at := r.at(rows[best])
		r.say(tool, at, "figure %s: at most %.2f Gb/s, %.0f bytes%s", tool, gbps, bytes, test)
		ways := 1.0
		if strings.Contains(test, "Bi-Directional") {
			ways = 2
		}
		r.judgePort(tool, at, gbps/ways)
	case least >= 0:
		r.say(tool, r.at(rows[least]), "figure %s: least latency %.2f µs, %.0f bytes%s", tool, of(least, "averageUS"),
			of(least, "bytes"), test)
	}
}

// judgePort compares a figure with the port, where the same output has one rate of all ports.
func (r *reader) judgePort(tool string, at int, gbps float64) {
	line := 0.0
	for _, v := range r.rates {
		if line != 0 && v != line {
			return
		}
		line = v
	}
	if line > 0 {
		verdict := "good"
		if gbps < leastShare*line {
			verdict = "low"
		}
		r.say(tool, at, "judged %s: %s: %.2f Gb/s, and the ports have %.0f", tool, verdict, gbps, line)
	}
}

// copies are facts of nvbandwidth's tests: what one pair moved at least, which shows a slow one, and the sum.
func (r *reader) copies(rows []object) {
	for _, row := range rows {
		sum, _ := row.num("sumGBps")
		lowest, highest := math.Inf(1), 0.0
		matrix, _ := row["gbps"].([]any)
		for _, of := range matrix {
			cells, _ := of.([]any)
			for _, cell := range cells {
				if v, ok := cell.(float64); ok {
					lowest, highest = min(lowest, v), max(highest, v)
				}
			}
		}
		pairs := ""
		if highest > 0 {
			pairs = fmt.Sprintf(", one pair %.2f to %.2f", lowest, highest)
		}
		r.say("nvbandwidth", r.at(row, "SUM"), "figure nvbandwidth: %s: %.2f GB/s%s", row.str("test"), sum, pairs)
	}
}

// iperf2 is a fact of a run of iperf 2: one stream, or several and their sum.
func (r *reader) iperf2(rows []object) {
	streams, sum, at := 0, 0.0, 0
	again, lost := "unknown", ""
	for _, row := range rows {
		gbps, _ := row.num("rateGbps")
		if row.str("stream") == "SUM" {
			sum = gbps
		} else {
			streams++
		}
		at = r.at(row, "bits/sec")
		if n, ok := row.num("retransmits"); ok {
			again = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if n, ok := row.num("lost"); ok {
			all, _ := row.num("datagrams")
			lost = fmt.Sprintf(", %.0f of %.0f datagrams lost", n, all)
		}
	}
	if streams == 1 && sum == 0 {
		sum, _ = rows[0].num("rateGbps")
	}
	plural := "streams"
	if streams == 1 {
		plural = "stream"
	}
	r.say("iperf2", at, "figure iperf2: %d %s: %.3g Gb/s, retransmits %s%s", streams, plural, sum, again, lost)
}

// pingPongs are facts of ibv_rc_pingpong.
func (r *reader) pingPongs(rows []object) {
	for _, row := range rows {
		gbps, _ := row.num("rateGbps")
		each := ""
		if us, ok := row.num("averageUS"); ok {
			each = fmt.Sprintf(", %.2f µs for each exchange", us)
		}
		if gid := row.str("localGID"); gid != "" {
			each += ", local GID " + gid
		}
		r.say("ibv_rc_pingpong", r.at(row, "Mbit/sec"), "figure ibv_rc_pingpong: %.2f Gb/s%s", gbps, each)
	}
}

// rping is a fact of one end of rping.
func (r *reader) rping(rows []object) {
	for _, row := range rows {
		pings, _ := row.num("pings")
		how := ""
		if e := row.str("event"); e != "" {
			code, _ := row.num("error")
			how = fmt.Sprintf(", event %s error %.0f", e, code)
		}
		if status, ok := row.num("completion"); ok {
			how += fmt.Sprintf(", completion status %.0f", status)
		}
		r.say("rping", r.at(row), "rping pings=%.0f%s", pings, how)
	}
}
