package catalog

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

func TestNIXLRails(t *testing.T) {
	c := cell(t, "nixl-rails")
	run := func(shares map[int]float64) steps.Result {
		return benched(c, tutorialSpark(), bench("DRAM", 2<<20, dualDRAM[:6]), shares)
	}
	want(t, "both", judgeNIXLRails(c, run(evenly)), steps.Pass, "NIXL used both rails", "rocep1s0f0 50 %")
	// The figure is not judged here.
	slow := benched(c, tutorialSpark(), bench("DRAM", 2<<20, scaled(dualDRAM[:6], 0.2)), evenly)
	want(t, "slow", judgeNIXLRails(c, slow), steps.Pass)
	want(t, "one", judgeNIXLRails(c, run(onlyOne)), steps.Fail, "nothing went over rocep1s0f1")
	want(t, "none", judgeNIXLRails(c, run(nil)), steps.Inconclusive)
	uncounted := run(evenly)
	uncounted.Stages[0].Bytes = nil
	want(t, "not counted", judgeNIXLRails(c, uncounted), steps.Inconclusive, "not counted")
	half := run(evenly)
	half.Stages[0].Outputs = half.Stages[0].Outputs[:1]
	want(t, "one end", judgeNIXLRails(c, half), steps.Inconclusive, "nothing ran on spark-01")
	swapped := run(evenly)
	swapped.Stages[0].Outputs[1] = read(ran("target", steps.Peer, strings.ReplaceAll(benchTarget, "type target", "type initiator")), parse.NIXLBenchOutput)
	want(t, "no target", judgeNIXLRails(c, swapped), steps.Inconclusive, "the initiator and")
	want(t, "rows", judgeNIXLRails(c, benched(c, tutorialSpark(), bench("DRAM", 4<<20, dualDRAM[:6]), evenly)), steps.Inconclusive, "6 of its 7 rows")
	want(t, "skipped", judgeNIXLRails(c, steps.Result{Rig: spark(), Skip: "spark-01 has no nixlbench"}), steps.Skipped)
	want(t, "nothing", judgeNIXLRails(c, steps.Result{Rig: spark()}), steps.Inconclusive)
}

func TestNIXLThreads(t *testing.T) {
	c := cell(t, "nixl-threads")
	text := strings.Replace(bench("DRAM", 512<<10, singleDRAM[:4]), "(--num_threads=N)                               : 1", "(--num_threads=N)                               : 2", 1)
	run := func(text string) steps.Result { return benched(c, tutorialSpark(), text, onlyOne) }
	want(t, "ends", judgeNIXLThreads(c, run(text)), steps.Pass, "all of its 4 rows")
	want(t, "one thread", judgeNIXLThreads(c, run(bench("DRAM", 512<<10, singleDRAM[:4]))), steps.Inconclusive, "ran with 1 threads")
	stalled := func(text string) steps.Result {
		r := run(text)
		r.Stages[0].Err = "nothing was printed for 30s: it was ended"
		return r
	}
	two := strings.Replace(bench("DRAM", 512<<10, singleDRAM[:2]), "(--num_threads=N)                               : 1", "(--num_threads=N)                               : 2", 1)
	want(t, "stands still", judgeNIXLThreads(c, stalled(two)), steps.Fail, "stood still after 2 of its 4 rows", "--enable-mt")
	// Without a row nothing shows that the threads are to blame.
	want(t, "never began", judgeNIXLThreads(c, stalled("Init nixl worker, dev all rank 0, type initiator, hostname spark-02\n")), steps.Inconclusive, "nothing was printed")
	lacks := run(text)
	lacks.Stages[0].Outputs[1] = read(ran("target", steps.Peer, "nixlbench: error while loading shared libraries: libetcd-cpp-api.so: cannot open shared object file: No such file or directory\n"), parse.NIXLBenchOutput)
	lacks.Stages[0].Outputs[1].Exit.Code = 127
	want(t, "library", judgeNIXLThreads(c, lacks), steps.Fail, "nixlbench on spark-01 does not start", "library")
	locked := run(text)
	locked.Stages[0].Outputs[0] = read(ran("initiator", steps.Here, "[1] [vm:1 :0] ib_md.c:309 UCX  ERROR ibv_reg_mr(address=0xe7, length=67108864, access=0xf) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 8192 kbytes)\nNIXL: registerMem failed (NIXL_ERR_BACKEND)\n"), parse.NIXLBenchOutput)
	locked.Stages[0].Outputs[0].Exit.Code = 1
	want(t, "memlock", judgeNIXLThreads(c, locked), steps.Fail, "spark-02", "ulimit -l", "limits.conf")
	want(t, "skipped", judgeNIXLThreads(c, steps.Result{Rig: spark(), Skip: "spark-01 has no nixlbench"}), steps.Skipped)
}
