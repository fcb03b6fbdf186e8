package software

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestNIXLRails(t *testing.T) {
	c := kindtest.Cell(t, "nixl-rails")
	run := func(shares map[int]float64) steps.Result {
		return kindtest.Benched(c, kindtest.TutorialSpark(), kindtest.Bench("DRAM", 2<<20, kindtest.DualDRAM[:6]), shares)
	}
	kindtest.Want(t, "both", judgeNIXLRails(c, run(kindtest.Evenly)), steps.Pass, "NIXL used both rails",
		"rocep1s0f0 carried 50 %")
	// The figure is not judged here.
	slow := kindtest.Benched(c, kindtest.TutorialSpark(),
		kindtest.Bench("DRAM", 2<<20, kindtest.Scaled(kindtest.DualDRAM[:6], 0.2)), kindtest.Evenly)
	kindtest.Want(t, "slow", judgeNIXLRails(c, slow), steps.Pass)
	kindtest.Want(t, "one", judgeNIXLRails(c, run(kindtest.OnlyOne)), steps.Fail,
		"rocep1s0f1 on both nodes carried nothing")
	kindtest.Because(t, "none", judgeNIXLRails(c, run(nil)), steps.Inconclusive, steps.NothingCarried)
	uncounted := run(kindtest.Evenly)
	uncounted.Stages[0].Bytes = nil
	kindtest.Because(t, "not counted", judgeNIXLRails(c, uncounted), steps.Inconclusive, steps.NotCounted)
	half := run(kindtest.Evenly)
	half.Stages[0].Outputs = half.Stages[0].Outputs[:1]
	kindtest.Want(t, "one end", judgeNIXLRails(c, half), steps.Inconclusive, "nothing ran on spark-01")
	swapped := run(kindtest.Evenly)
	swapped.Stages[0].Outputs[1] = kindtest.Read(kindtest.Ran("target", steps.Peer,
		strings.ReplaceAll(kindtest.BenchTarget, "type target", "type initiator")), parse.NIXLBenchOutput)
	kindtest.Because(t, "no target", judgeNIXLRails(c, swapped), steps.Inconclusive, steps.RolesSwapped)
	kindtest.Want(t, "rows", judgeNIXLRails(c,
		kindtest.Benched(c, kindtest.TutorialSpark(), kindtest.Bench("DRAM", 4<<20, kindtest.DualDRAM[:6]), kindtest.Evenly)),
		steps.Inconclusive, "6 of its 7 rows")
	kindtest.Because(t, "skipped", judgeNIXLRails(c, steps.Result{
		Rig:  kindtest.Spark(),
		Skip: "spark-01 has no nixlbench",
	}), steps.Skipped, steps.CannotRun)
	kindtest.Because(t, "nothing", judgeNIXLRails(c, steps.Result{Rig: kindtest.Spark()}), steps.Inconclusive,
		steps.NothingRan)
}

func TestNIXLThreads(t *testing.T) {
	c := kindtest.Cell(t, "nixl-threads")
	text := strings.Replace(kindtest.Bench("DRAM", 512<<10, kindtest.SingleDRAM[:4]),
		"(--num_threads=N)                               : 1", "(--num_threads=N)                               : 2", 1)
	run := func(text string) steps.Result {
		return kindtest.Benched(c, kindtest.TutorialSpark(), text, kindtest.OnlyOne)
	}
	kindtest.Want(t, "ends", judgeNIXLThreads(c, run(text)), steps.Pass, "all of its 4 rows")
	kindtest.Want(t, "one thread", judgeNIXLThreads(c, run(kindtest.Bench("DRAM", 512<<10, kindtest.SingleDRAM[:4]))),
		steps.Inconclusive, "ran with 1 threads")
	stalled := func(text string) steps.Result {
		r := run(text)
		r.Stages[0].Err, r.Stages[0].Stalled = "nothing was printed for 30s: it was ended", true
		return r
	}
	two := strings.Replace(kindtest.Bench("DRAM", 512<<10, kindtest.SingleDRAM[:2]),
		"(--num_threads=N)                               : 1", "(--num_threads=N)                               : 2", 1)
	kindtest.Want(t, "stands still", judgeNIXLThreads(c, stalled(two)), steps.Fail, "after 2 of 4 rows",
		"--enable-mt")
	// Without a row nothing shows that the threads are to blame.
	kindtest.Because(t, "never began",
		judgeNIXLThreads(c, stalled("Init nixl worker, dev all rank 0, type initiator, hostname spark-02\n")),
		steps.Inconclusive, steps.TestStalled)
	lacks := run(text)
	lacks.Stages[0].Outputs[1] = kindtest.Read(kindtest.Ran("target", steps.Peer,
		"nixlbench: error while loading shared libraries: libetcd-cpp-api.so: cannot open shared object file: No such "+
			"file or directory\n"), parse.NIXLBenchOutput)
	lacks.Stages[0].Outputs[1].Exit.Code = 127
	kindtest.Want(t, "library", judgeNIXLThreads(c, lacks), steps.Fail, "nixlbench on spark-01 does not start", "library")
	locked := run(text)
	locked.Stages[0].Outputs[0] = kindtest.Read(kindtest.Ran("initiator", steps.Here,
		"[1] [vm:1 :0] ib_md.c:309 UCX  ERROR ibv_reg_mr(address=0xe7, length=67108864, "+
			"access=0xf) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: "+
			"8192 kbytes)\nNIXL: registerMem failed (NIXL_ERR_BACKEND)\n"), parse.NIXLBenchOutput)
	locked.Stages[0].Outputs[0].Exit.Code = 1
	kindtest.Want(t, "memlock", judgeNIXLThreads(c, locked), steps.Fail, "spark-02", "ulimit -l", "limits.conf")
	kindtest.Because(t, "skipped", judgeNIXLThreads(c,
		steps.Result{Rig: kindtest.Spark(), Skip: "spark-01 has no nixlbench"}), steps.Skipped, steps.CannotRun)
}
