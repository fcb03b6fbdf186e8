package nixl

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The tutorial's own figures: what it measured is what the hardware can do.
func TestNIXLBenchOnTheTutorialsRig(t *testing.T) {
	rig := kindtest.TutorialSpark()
	for _, x := range []struct {
		cell, seg string
		most      int
		rows      []float64
		shares    map[int]float64
		curve     string // whose it is
		words     []string
	}{
		{
			"nixl-single-dram", "DRAM", kindtest.DramMax, kindtest.SingleDRAM, kindtest.OnlyOne, "rail 1",
			[]string{
				"92.5 Gb/s with blocks of 64 MiB", "92.5 Gb/s", "expected 87.9 to 107.5",
				"rocep1s0f0 carried all of it", "12.18 GB",
			},
		},
		{
			"nixl-dual-dram", "DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly, "rails 1 and 2",
			[]string{
				"105.4 Gb/s", "expected 100.1 to 107.5",
				"rocep1s0f0 carried 50 % and rocep1s0f1 50 % of 12.18 GB",
			},
		},
		{"nixl-mt", "DRAM", kindtest.DramMax, kindtest.DualDRAM, kindtest.Evenly, "rails 1 and 2", []string{"105.4 Gb/s"}},
		{
			"nixl-single-vram", "VRAM", kindtest.VramMax, kindtest.SingleVRAM, kindtest.OnlyOne, "rail 1",
			[]string{"4.84 Gb/s", "3.55 Gb/s with", "host-staged", "Host memory should reach"},
		},
		{
			"nixl-dual-vram", "VRAM", kindtest.VramMax, kindtest.DualVRAM, kindtest.OnlyOne, "rail 1, of rails 1 and 2",
			[]string{
				"4.65 Gb/s", "host-staged",
				"rocep1s0f0 alone carried all of it (7.21 GB",
			},
		},
		{
			"nixl-dual-vram", "VRAM", kindtest.VramMax, kindtest.DualVRAM, kindtest.Evenly, "rails 1 and 2",
			[]string{"host-staged", "rocep1s0f1 50 %"},
		},
	} {
		c := kindtest.Cell(t, x.cell)
		v := judgeNIXLBench(c, kindtest.Benched(c, rig, kindtest.Bench(x.seg, x.most, x.rows), x.shares))
		kindtest.Want(t, x.cell, v, steps.Pass, x.words...)
		if len(v.Tables) != 1 || len(v.Tables[0].Rows) != len(x.rows) || len(v.Charts) != 1 ||
			len(v.Charts[0].Series[0].Points) != len(x.rows) || len(v.Charts[0].Limits) != 1 {
			t.Fatalf("%s: %+v, %+v", x.cell, v.Tables, v.Charts)
		}
		if got := v.Charts[0].Series[0].Name; got != x.curve {
			t.Errorf("%s: a curve of %s, want %s", x.cell, got, x.curve)
		}
		if _, ok := kindtest.Evidence(v, "peak throughput"); !ok {
			t.Errorf("%s: no peak in %+v", x.cell, v.Evidence)
		}
	}
}

func TestNIXLBenchOverBothHalves(t *testing.T) {
	c, rig := kindtest.Cell(t, "nixl-halves-dram"), kindtest.Spark()
	halves := map[int]float64{0: 0.5, 2: 0.5}
	rows := kindtest.Scaled(kindtest.SingleDRAM, 1.99)
	kindtest.Want(t, "both halves",
		judgeNIXLBench(c, kindtest.Benched(c, rig, kindtest.Bench("DRAM", kindtest.DramMax, rows), halves)), steps.Pass,
		"184.1 Gb/s", "expected 175.8 to 188.9", "roceP2p1s0f0 50 %")
	kindtest.Want(t, "only one", judgeNIXLBench(c,
		kindtest.Benched(c, rig, kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM), kindtest.OnlyOne)),
		steps.Fail, "roceP2p1s0f0", "rocep1s0f0")
	kindtest.Want(t, "the same half",
		judgeNIXLBench(c, kindtest.Benched(c, rig, kindtest.Bench("DRAM", kindtest.DramMax, kindtest.DualDRAM),
			kindtest.Evenly)), steps.Fail, "rocep1s0f1")
	if r := (steps.Result{Rig: kindtest.TutorialSpark(), Stages: []steps.Stage{{Pair: -1}}}); judgeNIXLBench(c,
		r).Grade != steps.Inconclusive {
		t.Error("a rig without a second half")
	}
}

// Every hole: none of them passes.
func TestNIXLBenchHoles(t *testing.T) {
	single, dual, vram := kindtest.Cell(t, "nixl-single-dram"), kindtest.Cell(t, "nixl-dual-dram"),
		kindtest.Cell(t, "nixl-single-vram")
	initiator := func(r *steps.Result) *steps.Output { return &r.Stages[0].Outputs[0] }
	target := func(r *steps.Result) *steps.Output { return &r.Stages[0].Outputs[1] }
	reads := func(o *steps.Output, text string, code int) {
		*o = kindtest.Read(kindtest.Ran(o.Role, o.End, text), parse.NIXLBenchOutput)
		o.Exit.Code = code
	}
	good := kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM)
	for _, x := range []struct {
		name   string
		cell   steps.Cell
		rows   []float64
		shares map[int]float64
		spoil  func(*steps.Result)
		grade  steps.Grade
		code   steps.Code
		words  []string
	}{
		{
			"skipped", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { r.Skip, r.Stages = "spark-01 has no nixlbench", nil }, steps.Skipped, steps.CannotRun, nil,
		},
		{
			"nothing", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) { r.Stages = nil },
			steps.Inconclusive, steps.NothingRan, nil,
		},
		{
			"no outputs", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) { r.Stages[0].Outputs = nil },
			steps.Inconclusive, steps.NotRunHere,
			nil,
		},
		{
			"a dead rail", dual, kindtest.DualDRAM, kindtest.OnlyOne, nil, steps.Fail, steps.RailIdle,
			[]string{"rocep1s0f1", "rocep1s0f0"},
		},
		{"a rail misspelled", dual, kindtest.DualDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			reads(initiator(r), "[1795219859.07] [vm:8451 :0]     ucp_context.c:1508 UCX  WARN  network device 'rail9:1' is "+
				"not available, please use one or more of: 'lo'(tcp)\n"+kindtest.Bench("DRAM", kindtest.DramMax, kindtest.DualDRAM),
				0)
		}, steps.Fail, steps.RailIdle, []string{"rocep1s0f1", "rail9:1 is not available"}},
		{"the wrong rail", single, kindtest.SingleDRAM, map[int]float64{1: 1}, nil, steps.Fail, steps.WrongPort, nil},
		{
			"another rail too", single, kindtest.SingleDRAM, kindtest.Evenly, nil, steps.Fail, steps.OtherTraffic,
			[]string{"rocep1s0f1"},
		},
		{
			"no rail at all", single, kindtest.SingleDRAM, nil, nil, steps.Inconclusive, steps.NothingCarried,
			nil,
		},
		{"a port that is down", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			r.Rig.Nodes[steps.Peer].Rails[0].State = "DOWN"
			reads(initiator(r), "terminate called after throwing an instance of 'std::runtime_error'\n"+
				"  what():  ASIO Receive timeout\n", 134)
		}, steps.Fail, steps.PortDown, []string{"rocep1s0f0 on spark-01 is DOWN"}},
		{"an interface that is off", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			r.Rig.Nodes[steps.Peer].Rails[0].State, r.Rig.Nodes[steps.Peer].Rails[0].Netdev.Up = "DOWN", false
		}, steps.Fail, steps.InterfaceOff, []string{"its interface is switched off"}},
		{
			"somebody else on the other rail", single, kindtest.SingleDRAM, kindtest.Evenly,
			func(r *steps.Result) { kindtest.Counter(&r.Stages[0], steps.Here, 1).IdleGbps = 20 },
			steps.Fail, steps.OtherTraffic,
			[]string{"20.0 Gb/s of other traffic ran on rocep1s0f1"},
		},
		{"somebody else on the same rail", single, kindtest.SingleDRAM, map[int]float64{0: 0.9}, func(r *steps.Result) {
			kindtest.Counter(&r.Stages[0], steps.Here, 0).IdleGbps, kindtest.Counter(&r.Stages[0], steps.Peer, 0).IdleGbps = 20,
				20
		}, steps.Inconclusive, steps.BytesDiffer, []string{"other traffic", "subtracted"}},
		{
			"uneven", dual, kindtest.DualDRAM,
			map[int]float64{0: 0.8, 1: 0.2},
			nil, steps.Warn, steps.RailsUneven,
			nil,
		},
		{
			"retransmi", single, kindtest.SingleDRAM,
			map[int]float64{0: 1.2},
			func(r *steps.Result) { kindtest.Counter(&r.Stages[0], steps.Here, 0).Errors["packet_seq_err"] = 7 },
			steps.Warn, steps.BytesDiffer,
			[]string{"retransmi", "packet_seq_err"},
		},
		{
			"too few bytes", single, kindtest.SingleDRAM,
			map[int]float64{0: 0.7},
			nil,
			steps.Inconclusive, steps.BytesDiffer,
			[]string{"of the"},
		},
		{
			"a jump", single, kindtest.SingleDRAM,
			map[int]float64{0: 9},
			nil,
			steps.Inconclusive, steps.CounterBad,
			[]string{"jumped"},
		},
		{
			"no counters", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) { r.Stages[0].Bytes = nil },
			steps.Inconclusive, steps.NotCounted,
			[]string{"not counted"},
		},
		{"one counter missing", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			b := kindtest.Counter(&r.Stages[0], steps.Peer, 0)
			b.Known, b.Why = false, "went backwards"
		}, steps.Inconclusive, steps.CounterBad, []string{"spark-01", "went backwards"}},
		{
			"another rail's counter missing", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { kindtest.Counter(&r.Stages[0], steps.Here, 1).Known = false },
			steps.Inconclusive, steps.NotCounted,
			[]string{"rocep1s0f1"},
		},
		{
			"only the interface counts", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { kindtest.Counter(&r.Stages[0], steps.Here, 0).Source = "netdev bytes" },
			steps.Inconclusive, steps.NotCounted,
			[]string{"port counters"},
		},
		{
			"a flap", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { kindtest.Counter(&r.Stages[0], steps.Here, 0).Errors["link_downed"] = 1 },
			steps.Fail, steps.LinkFlapped,
			[]string{"the link of rocep1s0f0"},
		},
		{
			"slow", single, kindtest.Scaled(kindtest.SingleDRAM, 0.5), kindtest.OnlyOne, nil, steps.Fail, steps.BelowLimit,
			[]string{"46.3 Gb/s"},
		},
		{
			"narrow", single, kindtest.Scaled(kindtest.SingleDRAM, 0.58), kindtest.OnlyOne,
			func(r *steps.Result) { r.Rig.Nodes[steps.Peer].Rails[0].PCI.Width = 2 }, steps.Fail, steps.PCIeNarrow,
			[]string{"PCIe Gen5 x2 instead of PCIe Gen5 x4"},
		},
		{
			"a little slow", single, kindtest.Scaled(kindtest.SingleDRAM, 0.9), kindtest.OnlyOne, nil,
			steps.Warn, steps.BelowLimit, nil,
		},
		{
			"impossible", single, kindtest.Scaled(kindtest.SingleDRAM, 1.5), kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.FigureImpossible,
			nil,
		},
		{
			"a row is missing", single, kindtest.SingleDRAM[:10], kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"10 of its 11"},
		},
		{"no row", single, nil, kindtest.OnlyOne, nil, steps.Inconclusive, steps.OutputIncomplete, []string{"0 of its 11"}},
		{
			"no configuration", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { reads(initiator(r), strings.ReplaceAll(good, "--max_block_size", "--no"), 0) },
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"configuration"},
		},
		{
			"half a row", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { reads(initiator(r), good[:len(good)-60], 0) }, steps.Inconclusive, steps.OutputIncomplete,
			[]string{"no result in the output"},
		},
		{
			"not parsed", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) { initiator(r).Value = nil },
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"not read"},
		},
		{
			"the wrong way round", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { reads(initiator(r), kindtest.BenchTarget, 0); reads(target(r), good, 0) },
			steps.Inconclusive, steps.RolesSwapped,
			nil,
		},
		{
			"the target says nothing", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { reads(target(r), "", 0); target(r).ParseErr = "" },
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"initiator's output is incomplete"},
		},
		{"wrong data", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			reads(target(r), kindtest.BenchTarget+"Consistency check failed for iov 0:0\nConsistency check failed\n", 1)
			reads(initiator(r), good+"Error in barrier wait xferbench/g/barrier/sync/7/ rank 0 completed 1/2 ranks)\n"+
				"Failed to synchronize\n", 1)
		}, steps.Fail, steps.DataCorrupt, []string{"arrived on spark-01"}},
		{"wrong data, and status 0 all the same", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			reads(target(r), kindtest.BenchTarget+"Consistency check failed for iov 0:0\n", 0)
		}, steps.Fail, steps.DataCorrupt, []string{"arrived on spark-01"}},
		{
			"all rows terrible but the last", single,
			append(kindtest.Scaled(kindtest.SingleDRAM[:10], 0.1), kindtest.SingleDRAM[10]), kindtest.OnlyOne, nil,
			steps.Warn, steps.BlocksUneven,
			[]string{"locks of 2 MiB reached only 9.03 Gb/s"},
		},
		{"error counters grew", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			kindtest.Counter(&r.Stages[0], steps.Peer, 0).Errors["symbol_error"] = 3
		}, steps.Warn, steps.ErrorsGrew, []string{"(symbol_error +3)"}},
		{
			"the target failed alone", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { target(r).Exit.Code = 1 }, steps.Fail, steps.ScriptFailed,
			[]string{"target on spark-01", "exit 1"},
		},
		{
			"it failed, and the installed UCX differs", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) {
				target(r).Exit.Code = 1
				r.Rig.Nodes[steps.Here].Tools = map[string]steps.Tool{"ucx_info": {Version: "1.23.0"}}
				r.Rig.Nodes[steps.Peer].Tools = map[string]steps.Tool{"ucx_info": {Version: "1.13.1"}}
			}, steps.Fail, steps.ScriptFailed,
			[]string{"1.23.0 on spark-02", "1.13.1 on spark-01"},
		},
		{"the target was killed", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			target(r).Exit.Code = 137
			reads(initiator(r), good+"free(): double free detected in tcache 2\n", 134)
			initiator(r).Exit.Why = runner.Cancelled
		}, steps.Inconclusive, steps.ProgramKilled, []string{"spark-01 was killed (exit 137)"}},
		{
			"the target was killed, and the initiator complains of it", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) {
				target(r).Exit.Code = 137
				reads(initiator(r), good+"Timeout waiting for barrier\nError in barrier wait\n", 1)
				initiator(r).Exit.Why = runner.Cancelled
			}, steps.Inconclusive, steps.ProgramKilled,
			[]string{"target on spark-01 was killed (exit 137)"},
		},
		{
			"the link went down, and both complain of each other", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) {
				reads(initiator(r), good+"Timeout waiting for barrier\n", 1)
				target(r).Exit.Why = runner.Cancelled
				kindtest.Counter(&r.Stages[0], steps.Peer, 0).Errors["carrier_changes"] = 1
			}, steps.Fail, steps.LinkFlapped,
			[]string{"link of rocep1s0f0 on spark-01 went down during the test"},
		},
		{"what the end says that we ended is no cause", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			reads(target(r), kindtest.BenchTarget+"Timeout waiting for barrier\n", 1)
			target(r).Exit.Why = runner.Cancelled
			reads(initiator(r), good+"Consistency check failed\n", 1)
		}, steps.Fail, steps.DataCorrupt, []string{"arrived on spark-02"}},
		{"we ended both", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			r.Stages[0].Err, r.Stages[0].Stalled = "nothing was printed for 3m20s: it was ended", true
			reads(initiator(r), good+"Ctrl-C received, exiting...\nfree(): double free detected in tcache 2\n", 134)
			initiator(r).Exit.Why, target(r).Exit.Why = runner.Cancelled, runner.Cancelled
		}, steps.Inconclusive, steps.TestStalled, []string{"nothing was printed for 3m20s", "after 11 rows"}},
		{
			"timed out", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { initiator(r).Exit.Why = runner.TimedOut }, steps.Inconclusive, steps.TimedOut,
			nil,
		},
		{
			"the connection broke", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { target(r).Ran, target(r).Err = false, "the connection broke" },
			steps.Inconclusive, steps.NotRunToEnd,
			[]string{"the connection broke"},
		},
		{"not ready", single, kindtest.SingleDRAM, kindtest.OnlyOne, func(r *steps.Result) {
			r.Stages[0].Err = "initiator on spark-02 ended before it was ready, with exit 1: Connecting to ETCD"
			r.Stages[0].Outputs = r.Stages[0].Outputs[:1]
			reads(initiator(r), "Connecting to ETCD at http://127.0.0.1:1\nFailed to acquire lock: connections to all "+
				"backends failing; last error: UNKNOWN\nFailed to setup ETCD runtime\n", 1)
		}, steps.Inconclusive, steps.EtcdUnreachable, []string{"spark-02 cannot reach etcd"}},
		{
			"an unknown end", single, kindtest.SingleDRAM, kindtest.OnlyOne,
			func(r *steps.Result) { r.Stages[0].Err = "something else" }, steps.Inconclusive, steps.NotRunToEnd,
			[]string{"something else"},
		},
		{"no CUDA", vram, kindtest.SingleVRAM, kindtest.OnlyOne, func(r *steps.Result) {
			reads(initiator(r), "ETCD Runtime: Registered as rank 0 item 1 of 2\nVRAM not supported without CUDA, "+
				"ROCm or Neuron\n", 1)
			r.Stages[0].Outputs = r.Stages[0].Outputs[:1]
			r.Stages[0].Err = "initiator on spark-02 ended before it was ready"
		}, steps.Skipped, steps.CannotRun, []string{"spark-02 was built without CUDA"}},
		{
			"GPU memory, slower than staging", vram, kindtest.Scaled(kindtest.SingleVRAM, 0.2), kindtest.OnlyOne,
			func(r *steps.Result) {
				reads(initiator(r), kindtest.Bench("VRAM", kindtest.VramMax, kindtest.Scaled(kindtest.SingleVRAM, 0.2)), 0)
			}, steps.Fail, steps.BelowLimit,
			[]string{"from GPU memory"},
		},
		{"GPU memory, in between", vram, nil, kindtest.OnlyOne, func(r *steps.Result) {
			reads(initiator(r), kindtest.Bench("VRAM", kindtest.VramMax, kindtest.Scaled(kindtest.SingleVRAM, 6)), 0)
		}, steps.Warn, steps.GPUPathUnclear, nil},
		{"GPU memory, directly", vram, nil, kindtest.OnlyOne, func(r *steps.Result) {
			reads(initiator(r), kindtest.Bench("VRAM", kindtest.VramMax, kindtest.SingleDRAM[:10]), 0)
		}, steps.Pass, "", []string{"GPUDirect"}},
		{"GPU memory, directly but for one size", vram, nil, kindtest.OnlyOne, func(r *steps.Result) {
			rows := append(slices.Clone(kindtest.SingleDRAM[:9]), kindtest.SingleDRAM[9]/2)
			reads(initiator(r), kindtest.Bench("VRAM", kindtest.VramMax, rows), 0)
		}, steps.Warn, steps.BlocksUneven, nil},
	} {
		text := kindtest.Bench("DRAM", kindtest.DramMax, x.rows)
		r := kindtest.Benched(x.cell, kindtest.TutorialSpark(), text, x.shares)
		if x.cell.ID == vram.ID {
			r = kindtest.Benched(x.cell, kindtest.TutorialSpark(), kindtest.Bench("VRAM", kindtest.VramMax, kindtest.SingleVRAM),
				x.shares)
		}
		if x.spoil != nil {
			x.spoil(&r)
		}
		v := judgeNIXLBench(x.cell, r)
		kindtest.Because(t, x.name, v, x.grade, x.code)
		kindtest.Want(t, x.name, v, x.grade, x.words...)
	}
}

// What real processes printed when they failed.
func TestNIXLBenchRealFailures(t *testing.T) {
	c := kindtest.Cell(t, "nixl-single-dram")
	for file, want := range map[string]struct {
		grade steps.Grade
		code  steps.Code
		words string // where a code has several reasons
	}{
		"stale_size2.a":       {steps.Inconclusive, steps.EtcdStaleKeys, ""},
		"etcd_down":           {steps.Inconclusive, steps.EtcdUnreachable, ""},
		"badflag":             {steps.Inconclusive, steps.ToolTooOld, "Install a newer release"},
		"badsuffix":           {steps.Inconclusive, steps.OptionsWrong, "the sizes"},
		"smallbuf_threads":    {steps.Inconclusive, steps.OptionsWrong, "the sizes"},
		"notdivisible":        {steps.Inconclusive, steps.OptionsWrong, "the sizes"},
		"badruntime":          {steps.Inconclusive, steps.ToolTooOld, "before 1.1.0"},
		"devlist2":            {steps.Inconclusive, steps.OptionsWrong, "UCX_NET_DEVICES"},
		"vram":                {steps.Skipped, steps.CannotRun, ""},
		"ns_bogusdev.a":       {steps.Fail, steps.UCXNoRail, ""},
		"hugealloc.a":         {steps.Inconclusive, steps.MemoryShort, ""},
		"consistency_fail.b":  {steps.Fail, steps.DataCorrupt, ""},
		"kill9_target.a":      {steps.Inconclusive, steps.OtherEndGone, "lost contact"},
		"etcd_dies.a":         {steps.Inconclusive, steps.OtherEndGone, "lost contact"},
		"oneside_initiator.a": {steps.Inconclusive, steps.OtherEndGone, "never started"},
		"asio_alone.a":        {steps.Inconclusive, steps.OtherEndGone, "did not answer spark-02 for 15 s"},
		"asio_noserver.a":     {steps.Inconclusive, steps.ServerUnreachable, ""},
	} {
		text := kindtest.Corpus(t, "nixlbench/"+file)
		r := kindtest.Benched(c, kindtest.TutorialSpark(), kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM),
			kindtest.OnlyOne)
		for i := range r.Stages[0].Outputs {
			o := &r.Stages[0].Outputs[i]
			*o = kindtest.Read(kindtest.Ran(o.Role, o.End, text), parse.NIXLBenchOutput)
			o.Exit.Code = 1
		}
		v := judgeNIXLBench(c, r)
		kindtest.Because(t, file, v, want.grade, want.code)
		kindtest.Want(t, file, v, want.grade, want.words)
	}
}

func TestLiveNIXLBench(t *testing.T) {
	text := kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM)
	if _, ok := liveNIXLBench(text[:200]); ok {
		t.Error("a table before the first row")
	}
	table, ok := liveNIXLBench(text)
	if !ok || len(table.Rows) != 11 || table.Rows[0][0] != "64 KiB" || table.Rows[10][0] != "64 MiB" ||
		table.Rows[10][1] != "92.50" {
		t.Errorf("%v, %+v", ok, table)
	}
}

// Soft-RoCE has no band and no port counters, and is judged all the same.
func TestNIXLBenchSoft(t *testing.T) {
	c := kindtest.Cell(t, "nixl-single-dram")
	kindtest.Want(t, "soft", judgeNIXLBench(c,
		kindtest.Benched(c, kindtest.Virtual(),
			kindtest.Bench("DRAM", kindtest.DramMax, kindtest.Scaled(kindtest.SingleDRAM, 0.001)), kindtest.OnlyOne)),
		steps.Pass,
		"no expected range")
}

// A configuration is what a tool printed: no number of it makes the table's rows endless.
func TestCompleteEndsWithAnyConfiguration(t *testing.T) {
	for _, c := range []map[string]string{
		{
			"start_block_size": "65536", "max_block_size": "9223372036854775807", "num_iter": "1", "start_batch_size": "2",
			"max_batch_size": "1",
		},
		{
			"start_block_size": "65536", "max_block_size": "9223372036854775807", "num_iter": "1",
			"max_batch_size": "9223372036854775807",
		},
		{"start_block_size": "65536", "max_block_size": "4096", "num_iter": "1"},
		{"start_block_size": "3", "max_block_size": "9223372036854775807", "num_iter": "1"},
	} {
		var rep registry.Report
		if Complete(parse.NIXLBench{Config: c}, &rep) {
			t.Errorf("%v: a table without a row is complete", c)
		}
	}
}
