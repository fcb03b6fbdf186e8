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
	if best == 0 {
		return
	}
	hosts, gpus := map[string]bool{}, map[string]bool{}
	ranks := o.list("ranks")
	for _, rank := range ranks {
		hosts[rank.str("host")], gpus[rank.str("gpu")] = true, true
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
	plural := "streams"
	if streams == 1 {
		plural = "stream"
	}
	at := 0
	for _, l := range r.lines {
		if strings.Contains(l.text, "receiver") {
			at = l.n
		}
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

// Tables of tools that have no reader: their head, the column of the figure, counted from 0, and its unit in Gb/s;
// 0 is µs.
var otherTables = []struct {
	tool   string
	head   *lazyregexp.Pattern
	column int
	scale  float64
}{
	{"osu", lazyregexp.New(`^# Size\s+(?:\S+ )?Bandwidth \(MB/s\)`), 1, 0.008},
	{"osu", lazyregexp.New(`^# Size\s+(?:Avg )?Latency ?\(us\)`), 1, 0},
	{"fabtests", lazyregexp.New(`^bytes\s+(?:#sent|iters)\s+.*MB/sec`), 5, 0.008},
	{"cloudai", lazyregexp.New(`^block_size,batch_size,avg_lat,bw_mib_sec,bw_gib_sec,bw_gb_sec`), 5, 8},
}

var (
	pingPong = lazyregexp.New(`^(\d+) bytes in [\d.]+ seconds = ([\d.]+) Mbit/sec`)
	sumOf    = lazyregexp.New(`^SUM (\S+) ([\d.]+)`)
	iperf2   = lazyregexp.New(`^\[ *(\d+|SUM)\] +0\.0+- ?\d+\.\d+ sec .*Bytes +([\d.]+) Gbits/sec\s*$`)
)

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

// tables reads the tables of tools that have no reader of their own.
func (r *reader) tables() {
	for _, t := range otherTables {
		begun, best, at := false, 0.0, 0
		for _, l := range r.lines {
			switch {
			case t.head.Regexp().MatchString(l.text):
				begun = true
			case begun:
				f := strings.FieldsFunc(l.text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
				if len(f) <= t.column {
					continue
				}
				v, ok := strictnum.Number(f[t.column])
				if ok && (t.scale == 0 && (at == 0 || v < best) || t.scale > 0 && v > best) {
					best, at = v, l.n
				}
			}
		}
		switch {
		case at == 0:
		case t.scale == 0:
			r.say(t.tool, at, "figure %s: least latency %.2f µs", t.tool, best)
		default:
			r.say(t.tool, at, "figure %s: at most %.2f Gb/s", t.tool, best*t.scale)
		}
	}
	r.memory()
	two := map[string]float64{}
	at := 0
	for _, l := range r.lines {
		if m := iperf2.Regexp().FindStringSubmatch(l.text); m != nil && len(r.facts) == 0 {
			two[m[1]], _ = strictnum.Number(m[2])
			at = l.n
		}
		if m := pingPong.Regexp().FindStringSubmatch(l.text); m != nil {
			v, _ := strictnum.Number(m[2])
			r.say("ibv_rc_pingpong", l.n, "figure ibv_rc_pingpong: %.2f Gb/s", v/1000)
		}
		if m := sumOf.Regexp().FindStringSubmatch(l.text); m != nil {
			r.say("nvbandwidth", l.n, "figure nvbandwidth: %s: %s GB/s", m[1], m[2])
		}
	}
	switch len(two) {
	case 0:
	case 1:
		for _, gbps := range two {
			r.say("iperf2", at, "figure iperf2: 1 stream: %.3g Gb/s", gbps)
		}
	default:
		r.say("iperf2", at, "figure iperf2: %d streams: %.3g Gb/s", len(two)-1, two["SUM"])
	}
}
