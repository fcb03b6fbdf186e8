package nixl

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
	"github.com/railbench/railbench/steps/parse"
)

// The UCX that a process had loaded counts for GPU memory, whatever its suffix is, and not the one that
// ucx_info asks. Where it tells no modules, nothing is said.
func TestModulesOfGPUMemory(t *testing.T) {
	cell := kindtest.Cell(t, "nixl-transfer-gpu")
	judge := func(device, here, peer string) steps.Verdict {
		rig := kindtest.Spark()
		init := strings.Replace(kindtest.ReadBack(device, 64<<20, 16, 3.5, true), `{"test"`, `{`+here+`"test"`, 1)
		target := strings.Replace(kindtest.Served, `{"test"`, `{`+peer+`"test"`, 1)
		s := kindtest.Transferred(cell, rig, -1, init, target, kindtest.OnlyOne)
		return judgeNIXLTransfer(cell, steps.Result{Rig: rig, Stages: []steps.Stage{s}})
	}
	const with, without = `"uct":["libuct_ib-9fe1.so.0","libuct_cuda-3f1a.so.0.0.0"],`, `"uct":["libuct_ib-9fe1.so.0"],`
	kindtest.Want(t, "at both ends", judge("cuda", with, with), steps.Pass)
	kindtest.Want(t, "not told", judge("cuda", "", ""), steps.Pass)
	kindtest.Want(t, "without here", judge("cuda", without, with), steps.Warn, "loaded on spark-02 has no libuct_cuda", "--with-cuda")
	kindtest.Want(t, "without there", judge("cuda", with, without), steps.Warn, "loaded on spark-01 has no libuct_cuda")
	if v := judge("cpu", without, without); strings.Contains(v.Reason, "libuct_cuda") {
		t.Errorf("of the host's memory: %s", v.Reason)
	}
}

func TestDeviceAPI(t *testing.T) {
	cell := kindtest.Cell(t, "nixl-single-dram")
	judge := func(line string) steps.Verdict {
		r := kindtest.Benched(cell, kindtest.Spark(), kindtest.Bench("DRAM", kindtest.DramMax, kindtest.SingleDRAM), kindtest.OnlyOne)
		o := &r.Stages[0].Outputs[0]
		*o = kindtest.Read(kindtest.Ran(o.Role, o.End, line+o.Text), parse.NIXLBenchOutput)
		return judgeNIXLBench(cell, r)
	}
	kindtest.Want(t, "without", judge(""), steps.Pass)
	kindtest.Want(t, "off", judge("Device API mode: off\n"), steps.Pass)
	kindtest.Want(t, "on", judge("Device API mode: block\n"), steps.Warn, "device API (block)", "nobody measured that")
}
