package kind

import (
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/kind/kindtest"
)

func TestExitStatus(t *testing.T) {
	r := steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{kindtest.Ran("", steps.Here, "x")}}}}
	kindtest.Want(t, "0", ExitStatus(steps.Cell{}, r), steps.Pass, "status 0")
	r.Stages[0].Outputs[0].Exit.Code = 3
	kindtest.Want(t, "3", ExitStatus(steps.Cell{}, r), steps.Fail, "exit 3")
	r.Stages[0].Outputs[0].Exit.Why = runner.TimedOut
	kindtest.Want(t, "late", ExitStatus(steps.Cell{}, r), steps.Inconclusive, "timed out")
	kindtest.Want(t, "nothing", ExitStatus(steps.Cell{}, steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{}}}), steps.Inconclusive)
}
