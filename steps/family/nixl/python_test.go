package nixl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestNIXLCheck(t *testing.T) {
	good, nothing := kindtest.Corpus(t, "nixl-check/spark"), kindtest.Corpus(t, "nixl-check/nothing")
	bare := good[:strings.Index(good, "# Library version")]
	for _, x := range []struct {
		name       string
		here, peer string
		change     func(*steps.Result)
		want       steps.Grade
		code       steps.Code
		words      []string
	}{
		{
			"alike", good, good, nil, steps.Pass, "",
			[]string{
				"1.3.0, 1.3.1 or 1.4.0", "NIXL for Python 1.4.0",
				"UCX 1.20.0", "rc on every rail",
			},
		},
		{
			"UCX differs", good, kindtest.Swap(t, good, "1.20.0", "1.16.0"), nil, steps.Warn, steps.UCXDiffers,
			[]string{"1.20.0 on spark-02 but 1.16.0 on spark-01"},
		},
		{
			"nixlbench differs", good, kindtest.Swap(t, good, "prepared_xfer: yes", "prepared_xfer: no"), nil,
			steps.Warn, steps.NIXLDiffers,
			[]string{"1.2.0 on spark-01"},
		},
		{
			"1.3.2 is not 1.2.0", kindtest.Swap(t, good, "prepared_xfer: yes", "prepared_xfer: no"),
			kindtest.Swap(t, good, "nixlbench --prepared_xfer: yes",
				"nixlbench --infinia_config_file: yes\nnixlbench --prepared_xfer: no"), nil,
			steps.Warn, steps.NIXLDiffers,
			[]string{"1.2.0 on spark-02 but 1.3.2 on spark-01"},
		},
		{
			"a nixlbench for another processor", good,
			kindtest.Swap(t, kindtest.Swap(t, good, ": yes", ": no"), "nixlbench --benchmark_group",
				"nixlbench error: sh: 1: nixlbench: Exec format error\nnixlbench --benchmark_group"), nil,
			steps.Fail, steps.ProgramUnable,
			[]string{"nixlbench on spark-01 does not start (sh: 1: nixlbench: Exec format error)"},
		},
		{
			"NIXL differs", kindtest.Swap(t, good, `"nixl":"1.4.0"`, `"nixl":"1.1.0"`), good, nil, steps.Warn, steps.NIXLDiffers,
			[]string{"NIXL for Python is 1.1.0 on spark-02"},
		},
		{
			"one has none", good, nothing, nil, steps.Warn, steps.MissingOnOneNode,
			[]string{"spark-01 has no nixlbench", "spark-01 has no NIXL for Python"},
		},
		{
			"none has any", nothing, nothing, nil,
			steps.Skipped, steps.CannotRun,
			[]string{"NIXL is not installed on either node", "No module named 'nixl'"},
		},
		{
			"an old nixlbench", kindtest.Swap(t, good, ": yes", ": no"), kindtest.Swap(t, good, ": yes", ": no"), nil,
			steps.Warn, steps.ToolTooOld,
			[]string{"older than 0.5.0"},
		},
		{"no ucx_info", bare, bare, nil, steps.Warn, steps.CommandMissing, nil},
		{
			"no verbs", kindtest.Swap(t, kindtest.Swap(t, good, "Component: ib", "Component: no"), "rc_", "xx_"), good, nil,
			steps.Fail, steps.UCXNoVerbs,
			[]string{"spark-02"},
		},
		{
			"a rail without rc", good, kindtest.Swap(t, good, "Device: rocep1s0f1:1", "Device: rocep1s0f9:1"), nil,
			steps.Fail, steps.UCXNoRail,
			[]string{"spark-01 has no rc transport on rocep1s0f1"},
		},
		{
			"no cuda_copy", good, kindtest.Swap(t, good, "Transport: cuda_copy", "Transport: other"), nil,
			steps.Warn, steps.UCXNoCUDA,
			nil,
		},
		{"half", good, "", nil, steps.Inconclusive, steps.OutputIncomplete, []string{"no result in the output"}},
		{
			"failed", good, good, func(r *steps.Result) { r.Stages[0].Outputs[1].Exit.Code = 2 },
			steps.Inconclusive, steps.ScriptFailed,
			[]string{"exit 2"},
		},
		{
			"one end", good, good, func(r *steps.Result) { r.Stages[0].Outputs = r.Stages[0].Outputs[:1] },
			steps.Inconclusive, steps.NotRunHere,
			[]string{"nothing ran on spark-01"},
		},
		{"nothing", good, good, func(r *steps.Result) { r.Stages = nil }, steps.Inconclusive, steps.NothingRan, nil},
	} {
		r := kindtest.Both(kindtest.TutorialSpark(), parse.NIXLSetupOutput, x.here, x.peer)
		if x.change != nil {
			x.change(&r)
		}
		v := judgeNIXLCheck(kindtest.Cell(t, "nixl-check"), r)
		kindtest.Because(t, x.name, v, x.want, x.code)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
}

const (
	registered = `{"test":"nixl-register","device":"cpu","bytes":4194304,"registered":true,"descBytes":163,"seconds":0.0012,"nixl":"1.4.0"}` + "\n"
	onGPU      = `{"test":"nixl-register","device":"cuda","bytes":4194304,"registered":true,"descBytes":163,"seconds":0.0012,"nixl":"1.4.0"}` + "\n"
)

func TestNIXLRegister(t *testing.T) {
	refused := func(device, why string) string {
		return fmt.Sprintf(`{"test":"nixl-register","device":%q,"bytes":4194304,"registered":false,"error":%q}`+"\n", device,
			why)
	}
	for _, x := range []struct {
		name       string
		here, peer string
		exit       int
		want       steps.Grade
		code       steps.Code
		words      []string
	}{
		{
			"both kinds", registered + onGPU, registered + onGPU, 0,
			steps.Pass, "",
			[]string{"GPU and host memory on both nodes"},
		},
		{
			"no GPU", registered + "no GPU here: there is no nvidia-smi\n", registered, 0, steps.Pass, "",
			[]string{"host memory", "on spark-02 and spark-01"},
		},
		{
			"a GPU at one", registered + onGPU, registered, 0, steps.Pass, "",
			[]string{"spark-02", "on spark-01"},
		},
		{
			"no host memory", registered + onGPU, onGPU, 0, steps.Inconclusive, steps.OutputIncomplete,
			[]string{"spark-01"},
		},
		{
			"the GPU's fails", registered + refused("cuda", "NIXL_ERR_BACKEND: x"), registered + onGPU, 1,
			steps.Fail, steps.MemoryUnregistered,
			[]string{"GPU memory could not be registered on spark-02"},
		},
		{
			"it fails", refused("cpu", "NIXL_ERR_BACKEND"), registered, 1,
			steps.Fail, steps.BackendFailed,
			[]string{"on spark-02"},
		},
		{
			"it fails without a word", refused("cpu", ""), registered, 0,
			steps.Fail, steps.NIXLFailed,
			[]string{"failed on spark-02"},
		},
		{
			"the GPU's fails without a word", registered + refused("cuda", ""), registered, 0, steps.Fail, steps.NIXLFailed,
			[]string{"failed on spark-02"},
		},
		{
			"no CUDA", registered + refused("cuda", "no CUDA driver: libcuda.so.1 is not there"), registered + onGPU, 1,
			steps.Skipped, steps.CannotRun,
			[]string{"spark-02"},
		},
		{
			"no NIXL", refused("cpu", "No module named 'nixl'"), refused("cpu", "No module named 'nixl'"), 1,
			steps.Skipped, steps.CannotRun,
			[]string{"pip install nixl[cu13]", "NIXL_PYTHON"},
		},
		{
			"another module", refused("cpu", "No module named 'torch'"), registered, 1,
			steps.Inconclusive, steps.PythonModuleMissing,
			nil,
		},
		{"no output", "", registered, 0, steps.Inconclusive, steps.OutputIncomplete, []string{"no result in the output"}},
		{"a strange end", registered, registered, 3, steps.Inconclusive, steps.ScriptFailed, []string{"exit 3"}},
	} {
		r := kindtest.Both(kindtest.TutorialSpark(), parse.NIXLPythonOutput, x.here, x.peer)
		r.Stages[0].Outputs[0].Exit.Code = x.exit
		v := judgeNIXLRegister(kindtest.Cell(t, "nixl-register"), r)
		kindtest.Because(t, x.name, v, x.want, x.code)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
}

func TestNIXLTransfer(t *testing.T) {
	single, dual, gpu := kindtest.Cell(t, "nixl-transfer"), kindtest.Cell(t, "nixl-transfer-dual"),
		kindtest.Cell(t, "nixl-transfer-gpu")
	good := kindtest.ReadBack("cpu", 64<<20, 256, 88, true)
	says := func(role, why string) string {
		return fmt.Sprintf(`{"test":"nixl-transfer","role":%q,"error":%q}`+"\n", role, why)
	}
	for _, x := range []struct {
		name         string
		cell         steps.Cell
		init, target string
		shares       map[int]float64
		spoil        func(*steps.Stage)
		want         steps.Grade
		code         steps.Code
		words        []string
	}{
		{
			"as it should be", single, good, kindtest.Served, kindtest.OnlyOne, nil, steps.Pass, "",
			[]string{"88.0 Gb/s over rail 1", "data correct", "rocep1s0f0 carried all"},
		},
		{
			"two rails", dual, kindtest.ReadBack("cpu", 1<<30, 16, 93.4, true), kindtest.Served, kindtest.Evenly, nil,
			steps.Pass, "",
			[]string{"93.4 Gb/s over rails 1 and 2", "rocep1s0f1 50 %"},
		},
		{
			"a dead rail", dual, kindtest.ReadBack("cpu", 1<<30, 16, 90, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Fail, steps.RailIdle,
			[]string{"rocep1s0f1"},
		},
		{
			"GPU memory", gpu, kindtest.ReadBack("cuda", 64<<20, 16, 3.5, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Pass, "",
			[]string{"3.5 Gb/s", "host-staged", "Host memory should reach"},
		},
		{
			"GPU memory, directly", gpu, kindtest.ReadBack("cuda", 64<<20, 16, 90, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Pass, "",
			[]string{"90.0 Gb/s"},
		},
		{
			"GPU memory, too slow", gpu, kindtest.ReadBack("cuda", 64<<20, 16, 0.5, true), kindtest.Served, kindtest.OnlyOne,
			nil, steps.Fail, steps.BelowLimit, nil,
		},
		{
			"GPU memory, in between", gpu, kindtest.ReadBack("cuda", 64<<20, 16, 30, true), kindtest.Served, kindtest.OnlyOne,
			nil, steps.Warn, steps.GPUPathUnclear, nil,
		},
		{
			"wrong data", single, kindtest.ReadBack("cpu", 64<<20, 256, 88, false), kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Fail, steps.DataCorrupt,
			[]string{"spark-02 differs from what spark-01"},
		},
		{
			"slow", single, kindtest.ReadBack("cpu", 64<<20, 256, 40, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Fail, steps.BelowLimit,
			[]string{"40.0 Gb/s"},
		},
		{
			"a little slow", single, kindtest.ReadBack("cpu", 64<<20, 256, 70, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Warn, steps.BelowLimit, nil,
		},
		{
			"impossible", single, kindtest.ReadBack("cpu", 64<<20, 256, 170, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.FigureImpossible,
			nil,
		},
		{
			"no figure", single, kindtest.ReadBack("cpu", 64<<20, 0, 88, true), kindtest.Served, kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.OutputIncomplete, nil,
		},
		{"over TCP", single, good, kindtest.Served, nil, func(s *steps.Stage) {
			for _, e := range steps.Ends {
				b := kindtest.Counter(s, e, 1)
				b.IPTx, b.IPRx, b.IPKnown = 18e9, 18e9, true
			}
		}, steps.Fail, steps.NotRDMA, []string{"the data went over enp1s0f1np1 as TCP"}},
		{
			"over nothing", single, good, kindtest.Served, nil, nil, steps.Inconclusive, steps.NothingCarried,
			nil,
		},
		{
			"the target did not serve", single, good, says("target", ""), kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"At least one end"},
		},
		{
			"the target failed", single, good, kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[0].Exit.Code = 1 }, steps.Fail, steps.ScriptFailed,
			[]string{"target on spark-01 ended with exit 1"},
		},
		{"no NIXL there", single, "", says("target", "No module named 'nixl'"), kindtest.OnlyOne, func(s *steps.Stage) {
			s.Outputs, s.Err = s.Outputs[:1], "target on spark-01 ended before it was ready"
			s.Outputs[0].Exit.Code = 1
		}, steps.Skipped, steps.CannotRun, []string{"Python on spark-01 has no NIXL"}},
		{
			"its port is taken", single, "", says("target", "port 5555 is in use: find who"), kindtest.OnlyOne,
			func(s *steps.Stage) {
				s.Outputs, s.Err = s.Outputs[:1], "target on spark-01 ended before it was ready"
				s.Outputs[0].Exit.Code = 1
			}, steps.Inconclusive, steps.PortTaken,
			[]string{"on spark-01"},
		},
		{
			"versions differ", single, says("initiator", "NIXL_ERR_NOT_FOUND"), kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Fail, steps.NIXLNoPath,
			nil,
		},
		{
			"UCX finds no rail", single, "[1795219857.26] [vm:8305 :0]     ucp_context.c:1770 UCX  ERROR no usable " +
				"transports/devices (asked rc)\n" + says("initiator", "NIXL_ERR_BACKEND"), kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Fail, steps.UCXNoRail,
			nil,
		},
		{
			"both names are wrong", single, "[1795219857.26] [vm:8305 :0]     ucp_context.c:1014 UCX  WARN  network devices " +
				"'rail8','rail9' are not available, please use one or more of: 'rail0'(tcp)\n[1795219857.27] [vm:8305 :0]  " +
				"wireup.c:1 UCX  ERROR no active messages transport to <no debug data>: Unsupported operation\n" +
				says("initiator", "NIXL_ERR_BACKEND"), kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Fail, steps.UCXNoRail,
			[]string{"'rail8','rail9'"},
		},
		{
			"it hung", single, says("initiator", "not done after 60 s"), kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Inconclusive, steps.TimedOut,
			[]string{"on spark-02"},
		},
		{
			"timed out", single, good, kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Why = runner.TimedOut }, steps.Inconclusive, steps.TimedOut,
			nil,
		},
		{
			"a traceback", single, "Traceback\n", kindtest.Served, kindtest.OnlyOne,
			func(s *steps.Stage) { s.Outputs[1].Exit.Code = 1 }, steps.Fail, steps.ScriptFailed,
			[]string{"exit 1"},
		},
		{
			"no output", single, "", kindtest.Served, kindtest.OnlyOne, nil,
			steps.Inconclusive, steps.OutputIncomplete,
			[]string{"no result in the output"},
		},
		{
			"no counters", single, good, kindtest.Served, kindtest.OnlyOne, func(s *steps.Stage) { s.Bytes = nil },
			steps.Inconclusive, steps.NotCounted,
			[]string{"not counted"},
		},
	} {
		rig := kindtest.TutorialSpark()
		s := kindtest.Transferred(x.cell, rig, -1, x.init, x.target, x.shares)
		if x.spoil != nil {
			x.spoil(&s)
		}
		v := judgeNIXLTransfer(x.cell, steps.Result{Rig: rig, Stages: []steps.Stage{s}})
		kindtest.Because(t, x.name, v, x.want, x.code)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
	kindtest.Because(t, "skipped", judgeNIXLTransfer(gpu, steps.Result{Skip: "spark-01 has no nvidia-smi."}),
		steps.Skipped, steps.CannotRun)
	bare := kindtest.TutorialSpark()
	bare.Pairs = nil
	kindtest.Because(t, "no rails", judgeNIXLTransfer(single, steps.Result{Rig: bare, Stages: []steps.Stage{{Pair: -1}}}),
		steps.Inconclusive, steps.NotRunHere)
}

func TestNIXLLatency(t *testing.T) {
	c, rig := kindtest.Cell(t, "nixl-latency"), kindtest.TutorialSpark()
	target := strings.ReplaceAll(kindtest.Served, "nixl-transfer", "nixl-latency")
	good := kindtest.Timed(17.4, 16.2, 20.8, 31, 166)
	result := func(init string, spoil func(*steps.Stage)) steps.Result {
		r := steps.Result{Rig: rig}
		for i := range rig.Pairs {
			text := good
			if i == 0 {
				text = init
			}
			s := kindtest.Transferred(c, rig, i, text, target, map[int]float64{i: 1})
			if i == 0 && spoil != nil {
				spoil(&s)
			}
			r.Stages = append(r.Stages, s)
		}
		return r
	}
	for _, x := range []struct {
		name  string
		init  string
		spoil func(*steps.Stage)
		want  steps.Grade
		code  steps.Code
		words []string
	}{
		{
			"as it should be", good, nil, steps.Pass, "",
			[]string{
				"16.2 us on each of the 2 rails",
				"16.2 us on each of the 2 rails, 99 % below 31 us, expected 11.1 to 30 us",
				"each rail carried its own",
			},
		},
		{
			"faster", kindtest.Timed(9, 8, 10, 12, 20), nil, steps.Pass, "",
			[]string{"11.1 to 16.2 us"},
		},
		{
			"three times the other rail's", kindtest.Timed(6, 5, 7, 8, 9), nil, steps.Warn, steps.RailsApart,
			[]string{"rail 2 takes 16.2 us and rail 1 5 us"},
		},
		{
			"outliers", kindtest.Timed(58.6, 11.1, 166.6, 300, 900), nil, steps.Warn, steps.LatencyTail,
			[]string{"Rail 1 (rocep1s0f0)"},
		},
		{"slow", kindtest.Timed(41, 40, 45, 50, 60), nil, steps.Warn, steps.LatencyHigh, []string{"40 us typical"}},
		{"like TCP", kindtest.Timed(81, 80, 85, 90, 99), nil, steps.Fail, steps.LatencyHigh, nil},
		{"impossible", kindtest.Timed(1, 0.2, 1, 1, 1), nil, steps.Inconclusive, steps.FigureImpossible, nil},
		{"none", kindtest.Timed(0, 0, 0, 0, 0), nil, steps.Inconclusive, steps.OutputIncomplete, []string{"no latency"}},
		{"the other rail", good, func(s *steps.Stage) {
			s.Bytes = kindtest.Moved(rig, steps.Peer, 4.4e6,
				map[int]float64{1: 1})
		}, steps.Fail, steps.WrongPort, []string{"rocep1s0f1 carried the"}},
		{
			"no counters", good, func(s *steps.Stage) { s.Bytes = nil },
			steps.Inconclusive, steps.NotCounted,
			[]string{"not counted"},
		},
		{"no output", "", nil, steps.Inconclusive, steps.OutputIncomplete, []string{"no result in the output"}},
		{
			"stopped", good, func(s *steps.Stage) { s.Err = "target on spark-01 is not ready after 15s" },
			steps.Inconclusive, steps.NotRunToEnd,
			[]string{"not ready"},
		},
	} {
		v := judgeNIXLLatency(c, result(x.init, x.spoil))
		kindtest.Because(t, x.name, v, x.want, x.code)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
	v := judgeNIXLLatency(c, result(good, nil))
	if len(v.Tables) != 1 || len(v.Tables[0].Rows) != 2 || v.Tables[0].Rows[0][3] != "16.2" {
		t.Errorf("%+v", v.Tables)
	}
}

func TestEtcd(t *testing.T) {
	good := "endpoint: http://127.0.0.1:2379\nversion: {\"etcdserver\":\"3.5.21\",\"etcdcluster\":\"3.5.0\"}\n" +
		"keys: {\"header\":{\"revision\":\"1\"}}\n"
	for _, x := range []struct {
		name       string
		here, peer string
		want       steps.Grade
		code       steps.Code
		words      []string
	}{
		{
			"both", good, good, steps.Pass, "",
			[]string{"both nodes reach etcd 3.5.21 at http://127.0.0.1:2379", "it holds no keys of nixlbench"},
		},
		{
			"keys", kindtest.Swap(t, good, `"header":{"revision":"1"}`, `"count":"3"`), good, steps.Pass, "",
			[]string{"3 keys"},
		},
		{
			"no curl", kindtest.Swap(t, good, "keys: {\"header\":{\"revision\":\"1\"}}\n", ""), good, steps.Pass, "",
			[]string{"unknown without curl"},
		},
		{
			"down", good, "endpoint: http://127.0.0.1:2379\nversion: \nkeys: \n", steps.Fail, steps.EtcdUnreachable,
			[]string{"does not answer spark-01"},
		},
		{"something else", good, kindtest.Swap(t, good, "etcdserver", "other"), steps.Fail, steps.EtcdUnreachable, nil},
		{"two", good, kindtest.Swap(t, good, "3.5.21", "3.6.0"), steps.Fail, steps.EtcdDiffers, nil},
		{
			"it corrupts", kindtest.Swap(t, good, "3.5.21", "3.5.0"), kindtest.Swap(t, good, "3.5.21", "3.5.0"),
			steps.Warn, steps.EtcdCorrupting,
			nil,
		},
		{"no output", "", good, steps.Inconclusive, steps.OutputIncomplete, nil},
	} {
		v := judgeEtcd(kindtest.Cell(t, "etcd"),
			kindtest.Both(kindtest.TutorialSpark(), parse.Facts, x.here, x.peer))
		kindtest.Because(t, x.name, v, x.want, x.code)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
}
