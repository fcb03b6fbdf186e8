package kindtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// Corpus is a real output of the parsers' testdata: "nixlbench/single-dram".
func Corpus(t *testing.T, file string) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "steps/parse/testdata", file+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Swap replaces a text in another that holds it.
func Swap(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in the text", old)
	}
	return strings.ReplaceAll(text, old, with)
}

const Served = "ready 5555\n" + `{"test":"nixl-transfer","role":"target","served":true}` + "\n"

// ReadBack is what an initiator prints.
func ReadBack(device string, bytes, n int, gbps float64, verified bool) string {
	return fmt.Sprintf(
		`{"test":"nixl-transfer","role":"initiator","op":"READ","device":%q,"bytes":%d,`+
			`"iterations":%d,"seconds":%.6f,"gbps":%g,"verified":%v}`+"\n", device, bytes, n,
		float64(bytes)*float64(n)*8/gbps/1e9, gbps, verified)
}

// Transferred is a stage with all as it should be.
func Transferred(c steps.Cell, rig steps.Rig, pair int, init, target string, shares map[int]float64) steps.Stage {
	s := steps.Stage{Pair: pair, Outputs: []steps.Output{
		Read(Ran("target", steps.Peer, target), parse.NIXLPythonOutput),
		Read(Ran("initiator", steps.Here, init), parse.NIXLPythonOutput),
	}}
	if v, ok := s.Outputs[1].Value.(parse.NIXLPython); ok && len(v.Results) > 0 {
		x := v.Results[0]
		// The program reads once before it looks at the clock.
		s.Bytes = Moved(rig, steps.Peer, onWire(c, rig, pair, x.Iterations+1, x.Bytes), shares)
	}
	return s
}

// Timed is an initiator's report of reads of 4 KiB.
func Timed(avg, p50, p95, p99, most float64) string {
	return fmt.Sprintf(
		`{"test":"nixl-latency","role":"initiator","op":"READ","bytes":4096,"iterations":1000,"avgUS":%g,"minUS":%g,`+
			`"p50US":%g,"p95US":%g,"p99US":%g,"maxUS":%g,"verified":true}`+"\n", avg, min(10, p50), p50, p95, p99, most)
}

// What the tutorial measured, GB/s for 64 KiB to 64 MiB (assets/docs/facts.md#rows-of-nixlbench).
var (
	SingleDRAM = []float64{6.805, 7.695, 9.270, 10.267, 11.092, 11.288, 11.375, 11.469, 11.528, 11.554, 11.563}
	DualDRAM   = []float64{6.561, 8.799, 10.328, 11.561, 12.472, 12.781, 12.933, 13.062, 13.122, 13.160, 13.174}
	SingleVRAM = []float64{0.401, 0.400, 0.323, 0.425, 0.398, 0.374, 0.422, 0.605, 0.602, 0.444}
	DualVRAM   = []float64{0.432, 0.463, 0.447, 0.437, 0.453, 0.258, 0.581, 0.461, 0.574, 0.434}
)

func Scaled(rows []float64, by float64) []float64 {
	var all []float64
	for _, v := range rows {
		all = append(all, v*by)
	}
	return all
}

// Bench is what an initiator prints for rows that begin at 64 KiB.
func Bench(seg string, most int, rows []float64) string {
	var b strings.Builder
	b.WriteString("Connecting to ETCD at http://127.0.0.1:2379\nETCD Runtime: Registered as rank 0 item 1 of 2\n" +
		"Init nixl worker, dev all rank 0, type initiator, hostname spark-02\n" +
		"All processes are ready to proceed\nNIXLBench Configuration\n")
	for _, o := range []string{
		"Initiator seg type (--initiator_seg_type=[DRAM,VRAM])       : " + seg,
		"Target seg type (--target_seg_type=[DRAM,VRAM])             : " + seg,
		"Op type (--op_type=[READ,WRITE])                            : WRITE",
		"Start block size (--start_block_size=N)                     : 65536",
		fmt.Sprintf("Max block size (--max_block_size=N)                         : %d", most),
		"Start batch size (--start_batch_size=N)                     : 1",
		"Max batch size (--max_batch_size=N)                         : 1",
		"Num iter (--num_iter=N)                                     : 1008",
		"Warmup iter (--warmup_iter=N)                               : 112",
		"Large block iter factor (--large_blk_iter_ftr=N)            : 16",
		"Num threads (--num_threads=N)                               : 1",
	} {
		b.WriteString(o + "\n")
	}
	b.WriteString("\nBlock Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  " +
		"Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)    P99 Tx (us)    \n")
	size := 65536
	for _, v := range rows {
		us := float64(size) / v / 1e3
		fmt.Fprintf(&b, "%-20d1              %-15.6f%-15.1f34.0           34.0           "+
			"%-15.1f81.0           %-15.1f11.0           \n", size, v, us, 0.7*us, 0.3*us)
		size *= 2
	}
	return b.String()
}

const BenchTarget = "ETCD Runtime: Registered as rank 1 item 2 of 2\n" +
	"Init nixl worker, dev all rank 1, type target, hostname spark-01\nAll processes are ready to proceed\n"

// Benched is the result of a cell with all as it should be: shares says how the
// bytes are divided over the rails by their index.
func Benched(c steps.Cell, rig steps.Rig, text string, shares map[int]float64) steps.Result {
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		Read(Ran("initiator", steps.Here, text), parse.NIXLBenchOutput),
		Read(Ran("target", steps.Peer, BenchTarget), parse.NIXLBenchOutput),
	}}
	r := steps.Result{Rig: rig, Stages: []steps.Stage{s}}
	b, _ := s.Outputs[0].Value.(parse.NIXLBench)
	sum := 0.0
	for _, row := range b.Rows {
		// Bench's configuration: 1008 and 112 to warm up, a sixteenth of both above 1 MiB.
		n := 1008 + 112
		if row.Bytes > 1<<20 {
			n = 63 + 7
		}
		sum += onWire(c, rig, -1, n, row.Bytes)
	}
	r.Stages[0].Bytes = Moved(rig, steps.Here, sum, shares)
	return r
}

// onWire is what n messages are on the wire, counted packet by packet and not by the
// formula of the account that it tests: 14 bytes of Ethernet, 20 of IPv4, 8 of UDP, 12
// of BTH and 4 of ICRC each. The smallest MTU of the cell's rails cuts the packets.
func onWire(c steps.Cell, rig steps.Rig, pair, n, bytes int) float64 {
	pairs := rig.Pairs[:1]
	switch {
	case pair >= 0:
		pairs = rig.Pairs[pair : pair+1]
	case strings.Contains(c.Roles[0].Script, "$HALF_DEV"):
		half, _ := rig.AcrossHalves()
		pairs = []steps.Pair{rig.Pairs[0], half}
	case strings.Contains(c.Roles[0].Script, "$RAIL2_DEV"):
		pairs = rig.Pairs[:2]
	}
	mtu := rig.Rail(pairs[0], steps.Here).MTU
	for _, p := range pairs {
		for _, e := range steps.Ends {
			mtu = min(mtu, rig.Rail(p, e).MTU)
		}
	}
	sum := 0
	for left := bytes; left > 0; left -= mtu {
		sum += min(left, mtu) + 14 + 20 + 8 + 12 + 4
	}
	return float64(n) * float64(sum)
}

// Moved are the counters of all rails after something was sent from one end.
func Moved(rig steps.Rig, from steps.End, wire float64, shares map[int]float64) []steps.RailBytes {
	var all []steps.RailBytes
	for _, e := range steps.Ends {
		for j, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{
				End: e, Dev: rail.Dev, Rail: j, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{},
			}
			if !rail.HasOctets {
				b.Source = "netdev bytes"
			}
			n := uint64(wire * shares[j])
			if b.Tx, b.Rx = n, n/600; e != from {
				b.Tx, b.Rx = b.Rx, b.Tx
			}
			all = append(all, b)
		}
	}
	return all
}

var (
	OnlyOne = map[int]float64{0: 1}
	Evenly  = map[int]float64{0: 0.5, 1: 0.5}
)

const DramMax, VramMax = 64 << 20, 32 << 20
