package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// What the tutorial measured, GB/s for 64 KiB to 64 MiB (INVENTORY N5).
var (
	singleDRAM = []float64{6.805, 7.695, 9.270, 10.267, 11.092, 11.288, 11.375, 11.469, 11.528, 11.554, 11.563}
	dualDRAM   = []float64{6.561, 8.799, 10.328, 11.561, 12.472, 12.781, 12.933, 13.062, 13.122, 13.160, 13.174}
	singleVRAM = []float64{0.401, 0.400, 0.323, 0.425, 0.398, 0.374, 0.422, 0.605, 0.602, 0.444}
	dualVRAM   = []float64{0.432, 0.463, 0.447, 0.437, 0.453, 0.258, 0.581, 0.461, 0.574, 0.434}
)

func scaled(rows []float64, by float64) []float64 {
	var all []float64
	for _, v := range rows {
		all = append(all, v*by)
	}
	return all
}

// bench is what an initiator prints for rows that begin at 64 KiB.
func bench(seg string, most int, rows []float64) string {
	var b strings.Builder
	b.WriteString("Connecting to ETCD at http://127.0.0.1:2379\nETCD Runtime: Registered as rank 0 item 1 of 2\n" +
		"Init nixl worker, dev all rank 0, type initiator, hostname spark-02\nAll processes are ready to proceed\nNIXLBench Configuration\n")
	for _, o := range []string{
		"Initiator seg type (--initiator_seg_type=[DRAM,VRAM])       : " + seg, "Target seg type (--target_seg_type=[DRAM,VRAM])             : " + seg,
		"Op type (--op_type=[READ,WRITE])                            : WRITE",
		"Start block size (--start_block_size=N)                     : 65536", fmt.Sprintf("Max block size (--max_block_size=N)                         : %d", most),
		"Start batch size (--start_batch_size=N)                     : 1", "Max batch size (--max_batch_size=N)                         : 1",
		"Num iter (--num_iter=N)                                     : 1008", "Warmup iter (--warmup_iter=N)                               : 112",
		"Large block iter factor (--large_blk_iter_ftr=N)            : 16", "Num threads (--num_threads=N)                               : 1",
	} {
		b.WriteString(o + "\n")
	}
	b.WriteString("\nBlock Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg Post (us)  P99 Post (us)  Avg Tx (us)    P99 Tx (us)    \n")
	size := 65536
	for _, v := range rows {
		us := float64(size) / v / 1e3
		fmt.Fprintf(&b, "%-20d1              %-15.6f%-15.1f34.0           34.0           %-15.1f81.0           %-15.1f11.0           \n", size, v, us, 0.7*us, 0.3*us)
		size *= 2
	}
	return b.String()
}

const benchTarget = "ETCD Runtime: Registered as rank 1 item 2 of 2\nInit nixl worker, dev all rank 1, type target, hostname spark-01\nAll processes are ready to proceed\n"

// benched is the result of a cell with all as it should be: shares says how the
// bytes are divided over the rails by their index.
func benched(c steps.Cell, rig steps.Rig, text string, shares map[int]float64) steps.Result {
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		read(ran("initiator", steps.Here, text), parse.NIXLBenchOutput),
		read(ran("target", steps.Peer, benchTarget), parse.NIXLBenchOutput),
	}}
	r := steps.Result{Rig: rig, Stages: []steps.Stage{s}}
	rt, ok := routeOf(c, r, s)
	if !ok {
		panic("no route for " + c.ID)
	}
	b, _ := s.Outputs[0].Value.(parse.NIXLBench)
	r.Stages[0].Bytes = moved(rig, steps.Here, nixlFlow(rt, b).wire, shares)
	return r
}

// moved are the counters of all rails after something was sent from one end.
func moved(rig steps.Rig, from steps.End, wire float64, shares map[int]float64) []steps.RailBytes {
	var all []steps.RailBytes
	for _, e := range steps.Ends {
		for j, rail := range rig.Nodes[e].Rails {
			b := steps.RailBytes{End: e, Dev: rail.Dev, Rail: j, Known: true, Source: "port_xmit_data", Errors: map[string]uint64{}}
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

func cell(t *testing.T, id string) steps.Cell {
	t.Helper()
	c, ok := tutorial(t).Cell(id)
	if !ok {
		t.Fatalf("there is no cell %s", id)
	}
	return c
}

var (
	onlyOne = map[int]float64{0: 1}
	evenly  = map[int]float64{0: 0.5, 1: 0.5}
)

const dramMax, vramMax = 64 << 20, 32 << 20

// The tutorial's own figures: what it measured is what the hardware can do.
func TestNIXLBenchOnTheTutorialsRig(t *testing.T) {
	rig := tutorialSpark()
	for _, x := range []struct {
		cell, seg string
		most      int
		rows      []float64
		shares    map[int]float64
		words     []string
	}{
		{"nixl-single-dram", "DRAM", dramMax, singleDRAM, onlyOne, []string{"92.5 Gb/s with blocks of 64 MiB", "92.6", "rocep1s0f0 carried all of it", "12.18 GB"}},
		{"nixl-dual-dram", "DRAM", dramMax, dualDRAM, evenly, []string{"105.4 Gb/s", "one PCIe Gen5 x4 behind both", "rocep1s0f0 50 %", "rocep1s0f1 50 %", "12.18 GB"}},
		{"nixl-mt", "DRAM", dramMax, dualDRAM, evenly, []string{"105.4 Gb/s"}},
		{"nixl-single-vram", "VRAM", vramMax, singleVRAM, onlyOne, []string{"4.84 Gb/s at best, with blocks of 8 MiB", "3.55 Gb/s with the largest", "host-staged", "cudaHostAlloc"}},
		{"nixl-dual-vram", "VRAM", vramMax, dualVRAM, onlyOne, []string{"4.65 Gb/s", "host-staged", "rocep1s0f0 carried all", "7.21 GB"}},
		{"nixl-dual-vram", "VRAM", vramMax, dualVRAM, evenly, []string{"host-staged", "rocep1s0f1 50 %"}},
	} {
		c := cell(t, x.cell)
		v := judgeNIXLBench(c, benched(c, rig, bench(x.seg, x.most, x.rows), x.shares))
		want(t, x.cell, v, steps.Pass, x.words...)
		if len(v.Tables) != 1 || len(v.Tables[0].Rows) != len(x.rows) || len(v.Charts) != 1 || len(v.Charts[0].Series[0].Points) != len(x.rows) || len(v.Charts[0].Limits) != 1 {
			t.Errorf("%s: %+v, %+v", x.cell, v.Tables, v.Charts)
		}
		if _, ok := evidence(v, "peak throughput"); !ok {
			t.Errorf("%s: no peak in %+v", x.cell, v.Evidence)
		}
	}
}

func TestNIXLBenchOverBothHalves(t *testing.T) {
	c, rig := cell(t, "nixl-halves-dram"), spark()
	halves := map[int]float64{0: 0.5, 2: 0.5}
	rows := scaled(singleDRAM, 1.99)
	want(t, "both halves", judgeNIXLBench(c, benched(c, rig, bench("DRAM", dramMax, rows), halves)), steps.Pass, "184.1 Gb/s", "rails 1 and 3", "roceP2p1s0f0 50 %")
	want(t, "only one", judgeNIXLBench(c, benched(c, rig, bench("DRAM", dramMax, singleDRAM), onlyOne)), steps.Fail, "nothing went over roceP2p1s0f0", "rocep1s0f0 alone")
	want(t, "the same half", judgeNIXLBench(c, benched(c, rig, bench("DRAM", dramMax, dualDRAM), evenly)), steps.Fail, "rocep1s0f1 moved bytes too")
	if r := (steps.Result{Rig: tutorialSpark(), Stages: []steps.Stage{{Pair: -1}}}); judgeNIXLBench(c, r).Grade != steps.Inconclusive {
		t.Error("a rig without a second half")
	}
}

// Every hole: none of them passes.
func TestNIXLBenchHoles(t *testing.T) {
	single, dual, vram := cell(t, "nixl-single-dram"), cell(t, "nixl-dual-dram"), cell(t, "nixl-single-vram")
	initiator := func(r *steps.Result) *steps.Output { return &r.Stages[0].Outputs[0] }
	target := func(r *steps.Result) *steps.Output { return &r.Stages[0].Outputs[1] }
	reads := func(o *steps.Output, text string, code int) {
		*o = read(ran(o.Role, o.End, text), parse.NIXLBenchOutput)
		o.Exit.Code = code
	}
	good := bench("DRAM", dramMax, singleDRAM)
	for _, x := range []struct {
		name   string
		cell   steps.Cell
		rows   []float64
		shares map[int]float64
		spoil  func(*steps.Result)
		grade  steps.Grade
		words  []string
	}{
		{"skipped", single, singleDRAM, onlyOne, func(r *steps.Result) { r.Skip, r.Stages = "spark-01 has no nixlbench", nil }, steps.Skipped, nil},
		{"nothing", single, singleDRAM, onlyOne, func(r *steps.Result) { r.Stages = nil }, steps.Inconclusive, nil},
		{"no outputs", single, singleDRAM, onlyOne, func(r *steps.Result) { r.Stages[0].Outputs = nil }, steps.Inconclusive, []string{"nothing ran on"}},
		{"a dead rail", dual, dualDRAM, onlyOne, nil, steps.Fail, []string{"on both nodes nothing went over rocep1s0f1", "rocep1s0f0 alone", "its port is up", "GIDs"}},
		{"a rail misspelled", dual, dualDRAM, onlyOne, func(r *steps.Result) {
			reads(initiator(r), "[1795219859.07] [vm:8451 :0]     ucp_context.c:1508 UCX  WARN  network device 'rail9:1' is not available, please use one or more of: 'lo'(tcp)\n"+bench("DRAM", dramMax, dualDRAM), 0)
		}, steps.Fail, []string{"nothing went over rocep1s0f1", "rail9:1 is not available"}},
		{"the wrong rail", single, singleDRAM, map[int]float64{1: 1}, nil, steps.Fail, []string{"the wrong rail"}},
		{"another rail too", single, singleDRAM, evenly, nil, steps.Fail, []string{"rocep1s0f1 moved bytes too"}},
		{"no rail at all", single, singleDRAM, nil, nil, steps.Inconclusive, []string{"no interface moved it", "shared memory"}},
		{"a port that is down", single, singleDRAM, onlyOne, func(r *steps.Result) {
			r.Rig.Nodes[steps.Peer].Rails[0].State = "DOWN"
			reads(initiator(r), "terminate called after throwing an instance of 'std::runtime_error'\n  what():  ASIO Receive timeout\n", 134)
		}, steps.Fail, []string{"rocep1s0f0 on spark-01 is DOWN: check its cable"}},
		{"an interface that is off", single, singleDRAM, onlyOne, func(r *steps.Result) {
			r.Rig.Nodes[steps.Peer].Rails[0].State, r.Rig.Nodes[steps.Peer].Rails[0].Netdev.Up = "DOWN", false
		}, steps.Fail, []string{"enp1s0f0np0 is switched off"}},
		{"somebody else on the other rail", single, singleDRAM, evenly, func(r *steps.Result) { counter(&r.Stages[0], steps.Here, 1).IdleGbps = 20 }, steps.Fail, []string{"20.0 Gb/s of other traffic were on rocep1s0f1"}},
		{"somebody else on the same rail", single, singleDRAM, map[int]float64{0: 0.9}, func(r *steps.Result) {
			counter(&r.Stages[0], steps.Here, 0).IdleGbps, counter(&r.Stages[0], steps.Peer, 0).IdleGbps = 20, 20
		}, steps.Inconclusive, []string{"other traffic", "taken off"}},
		{"uneven", dual, dualDRAM, map[int]float64{0: 0.8, 1: 0.2}, nil, steps.Warn, []string{"did not share evenly"}},
		{"sent again", single, singleDRAM, map[int]float64{0: 1.2}, func(r *steps.Result) { counter(&r.Stages[0], steps.Here, 0).Errors["packet_seq_err"] = 7 }, steps.Warn, []string{"sent again", "packet_seq_err"}},
		{"too few bytes", single, singleDRAM, map[int]float64{0: 0.7}, nil, steps.Inconclusive, []string{"of the"}},
		{"a jump", single, singleDRAM, map[int]float64{0: 9}, nil, steps.Inconclusive, []string{"jumped"}},
		{"no counters", single, singleDRAM, onlyOne, func(r *steps.Result) { r.Stages[0].Bytes = nil }, steps.Inconclusive, []string{"not counted"}},
		{"one counter missing", single, singleDRAM, onlyOne, func(r *steps.Result) {
			b := counter(&r.Stages[0], steps.Peer, 0)
			b.Known, b.Why = false, "went backwards"
		}, steps.Inconclusive, []string{"spark-01", "went backwards"}},
		{"another rail's counter missing", single, singleDRAM, onlyOne, func(r *steps.Result) { counter(&r.Stages[0], steps.Here, 1).Known = false }, steps.Inconclusive, []string{"rocep1s0f1 meanwhile"}},
		{"only the interface counts", single, singleDRAM, onlyOne, func(r *steps.Result) { counter(&r.Stages[0], steps.Here, 0).Source = "netdev bytes" }, steps.Inconclusive, []string{"no port counters"}},
		{"a flap", single, singleDRAM, onlyOne, func(r *steps.Result) { counter(&r.Stages[0], steps.Here, 0).Errors["link_downed"] = 1 }, steps.Fail, []string{"the link went down"}},
		{"slow", single, scaled(singleDRAM, 0.5), onlyOne, nil, steps.Fail, []string{"46.3 Gb/s of 92.6"}},
		{"narrow", single, scaled(singleDRAM, 0.58), onlyOne, func(r *steps.Result) { r.Rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2 }, steps.Fail, []string{"x2 where it can do"}},
		{"a little slow", single, scaled(singleDRAM, 0.9), onlyOne, nil, steps.Warn, nil},
		{"impossible", single, scaled(singleDRAM, 1.5), onlyOne, nil, steps.Inconclusive, []string{"more than"}},
		{"a row is missing", single, singleDRAM[:10], onlyOne, nil, steps.Inconclusive, []string{"10 of its 11"}},
		{"no row", single, nil, onlyOne, nil, steps.Inconclusive, []string{"0 of its 11"}},
		{"no configuration", single, singleDRAM, onlyOne, func(r *steps.Result) { reads(initiator(r), strings.ReplaceAll(good, "--max_block_size", "--no"), 0) }, steps.Inconclusive, []string{"configuration"}},
		{"half a row", single, singleDRAM, onlyOne, func(r *steps.Result) { reads(initiator(r), good[:len(good)-60], 0) }, steps.Inconclusive, []string{"does not parse"}},
		{"not parsed", single, singleDRAM, onlyOne, func(r *steps.Result) { initiator(r).Value = nil }, steps.Inconclusive, []string{"not read"}},
		{"the wrong way round", single, singleDRAM, onlyOne, func(r *steps.Result) { reads(initiator(r), benchTarget, 0); reads(target(r), good, 0) }, steps.Inconclusive, []string{"wrong way round"}},
		{"the target says nothing", single, singleDRAM, onlyOne, func(r *steps.Result) { reads(target(r), "", 0); target(r).ParseErr = "" }, steps.Inconclusive, []string{"which end"}},
		{"wrong data", single, singleDRAM, onlyOne, func(r *steps.Result) {
			reads(target(r), benchTarget+"Consistency check failed for iov 0:0\nConsistency check failed\n", 1)
			reads(initiator(r), good+"Error in barrier wait xferbench/g/barrier/sync/7/ rank 0 completed 1/2 ranks)\nFailed to synchronize\n", 1)
		}, steps.Fail, []string{"what arrived on spark-01 is not what was sent"}},
		{"the target failed alone", single, singleDRAM, onlyOne, func(r *steps.Result) { target(r).Exit.Code = 1 }, steps.Fail, []string{"target on spark-01", "exit 1"}},
		{"the target was killed", single, singleDRAM, onlyOne, func(r *steps.Result) {
			target(r).Exit.Code = 137
			reads(initiator(r), good+"free(): double free detected in tcache 2\n", 134)
			initiator(r).Exit.Why = runner.Cancelled
		}, steps.Inconclusive, []string{"spark-01 was killed (exit 137)"}},
		{"we ended both", single, singleDRAM, onlyOne, func(r *steps.Result) {
			r.Stages[0].Err = "nothing was printed for 3m20s: it was ended"
			reads(initiator(r), good+"Ctrl-C received, exiting...\nfree(): double free detected in tcache 2\n", 134)
			initiator(r).Exit.Why, target(r).Exit.Why = runner.Cancelled, runner.Cancelled
		}, steps.Inconclusive, []string{"nothing was printed for 3m20s", "after 11 rows", "a link that goes down", "run it again"}},
		{"timed out", single, singleDRAM, onlyOne, func(r *steps.Result) { initiator(r).Exit.Why = runner.TimedOut }, steps.Inconclusive, []string{"timed out"}},
		{"the connection broke", single, singleDRAM, onlyOne, func(r *steps.Result) { target(r).Ran, target(r).Err = false, "the connection broke" }, steps.Inconclusive, []string{"the connection broke"}},
		{"not ready", single, singleDRAM, onlyOne, func(r *steps.Result) {
			r.Stages[0].Err = "initiator on spark-02 ended before it was ready, with exit 1: Connecting to ETCD"
			r.Stages[0].Outputs = r.Stages[0].Outputs[:1]
			reads(initiator(r), "Connecting to ETCD at http://127.0.0.1:1\nFailed to acquire lock: connections to all backends failing; last error: UNKNOWN\nFailed to setup ETCD runtime\n", 1)
		}, steps.Inconclusive, []string{"etcd could not be reached from spark-02"}},
		{"an unknown end", single, singleDRAM, onlyOne, func(r *steps.Result) { r.Stages[0].Err = "something else" }, steps.Inconclusive, []string{"something else"}},
		{"no CUDA", vram, singleVRAM, onlyOne, func(r *steps.Result) {
			reads(initiator(r), "ETCD Runtime: Registered as rank 0 item 1 of 2\nVRAM not supported without CUDA, ROCm or Neuron\n", 1)
			r.Stages[0].Outputs = r.Stages[0].Outputs[:1]
			r.Stages[0].Err = "initiator on spark-02 ended before it was ready"
		}, steps.Skipped, []string{"spark-02 was built without CUDA"}},
		{"GPU memory, slower than staging", vram, scaled(singleVRAM, 0.2), onlyOne, func(r *steps.Result) { reads(initiator(r), bench("VRAM", vramMax, scaled(singleVRAM, 0.2)), 0) }, steps.Fail, []string{"from GPU memory"}},
		{"GPU memory, in between", vram, nil, onlyOne, func(r *steps.Result) { reads(initiator(r), bench("VRAM", vramMax, scaled(singleVRAM, 6)), 0) }, steps.Warn, []string{"host-staging"}},
		{"GPU memory, directly", vram, nil, onlyOne, func(r *steps.Result) { reads(initiator(r), bench("VRAM", vramMax, singleDRAM[:10]), 0) }, steps.Pass, []string{"GPUDirect"}},
	} {
		text := bench("DRAM", dramMax, x.rows)
		r := benched(x.cell, tutorialSpark(), text, x.shares)
		if x.cell.ID == vram.ID {
			r = benched(x.cell, tutorialSpark(), bench("VRAM", vramMax, singleVRAM), x.shares)
		}
		if x.spoil != nil {
			x.spoil(&r)
		}
		want(t, x.name, judgeNIXLBench(x.cell, r), x.grade, x.words...)
	}
}

// What real processes printed when they failed.
func TestNIXLBenchRealFailures(t *testing.T) {
	c := cell(t, "nixl-single-dram")
	for file, want := range map[string]struct {
		grade steps.Grade
		words string
	}{
		"stale_size2.a":       {steps.Inconclusive, "ranks of a run that broke"},
		"etcd_down":           {steps.Inconclusive, "etcd could not be reached"},
		"badflag":             {steps.Inconclusive, "very old"},
		"badsuffix":           {steps.Inconclusive, "refuses the sizes"},
		"smallbuf_threads":    {steps.Inconclusive, "refuses the sizes"},
		"notdivisible":        {steps.Inconclusive, "refuses the sizes"},
		"badruntime":          {steps.Inconclusive, "before 1.1.0"},
		"devlist2":            {steps.Inconclusive, "UCX_NET_DEVICES"},
		"vram":                {steps.Skipped, "without CUDA"},
		"ns_bogusdev.a":       {steps.Fail, "none of the rails"},
		"hugealloc.a":         {steps.Inconclusive, "NIXL_DRAM_BUFFER"},
		"consistency_fail.b":  {steps.Fail, "is not what was sent"},
		"kill9_target.a":      {steps.Inconclusive, "lost each other"},
		"etcd_dies.a":         {steps.Inconclusive, "lost each other"},
		"oneside_initiator.a": {steps.Inconclusive, "never came"},
		"asio_alone.a":        {steps.Inconclusive, "silent for 15 s"},
		"asio_noserver.a":     {steps.Inconclusive, "could not reach the initiator"},
	} {
		text, err := os.ReadFile("../parse/testdata/nixlbench/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		r := benched(c, tutorialSpark(), bench("DRAM", dramMax, singleDRAM), onlyOne)
		for i := range r.Stages[0].Outputs {
			o := &r.Stages[0].Outputs[i]
			*o = read(ran(o.Role, o.End, string(text)), parse.NIXLBenchOutput)
			o.Exit.Code = 1
		}
		v := judgeNIXLBench(c, r)
		if v.Grade != want.grade || !strings.Contains(strings.ToLower(v.Reason), strings.ToLower(want.words)) {
			t.Errorf("%s: %s: %s", file, v.Grade, v.Reason)
		}
	}
}

func TestLiveNIXLBench(t *testing.T) {
	text := bench("DRAM", dramMax, singleDRAM)
	if _, ok := liveNIXLBench(text[:200]); ok {
		t.Error("a table before the first row")
	}
	table, ok := liveNIXLBench(text)
	if !ok || len(table.Rows) != 11 || table.Rows[0][0] != "64 KiB" || table.Rows[10][0] != "64 MiB" || table.Rows[10][1] != "92.50" {
		t.Errorf("%v, %+v", ok, table)
	}
}

// Soft-RoCE has no band and no port counters, and is judged all the same.
func TestNIXLBenchSoft(t *testing.T) {
	c := cell(t, "nixl-single-dram")
	want(t, "soft", judgeNIXLBench(c, benched(c, virtual(), bench("DRAM", dramMax, scaled(singleDRAM, 0.001)), onlyOne)), steps.Pass, "no band")
}

// TestLeast: two rails with different MTUs have fewer headers than the smaller MTU
// alone would make.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		name      string
		here      [2]int
		low, high float64
	}{
		{"alike", [2]int{1024, 1024}, 0.979, 0.981},
		{"different", [2]int{4096, 1024}, 0.93, 0.95},
		{"unknown", [2]int{}, 0.979, 0.981},
	} {
		rig, rt := spark(), route{}
		for e := range rig.Nodes {
			for i, mtu := range c.here {
				rig.Nodes[e].Rails[i].MTU = mtu
			}
		}
		rt.add(rig, 0)
		rt.add(rig, 1)
		if got := rt.least(); got < c.low || got > c.high {
			t.Errorf("%s: %.4f, want %g to %g", c.name, got, c.low, c.high)
		}
	}
}
