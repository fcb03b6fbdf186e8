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

// What a runbook asks for is told beside what was read, and no rounding contradicts the verdict.
func TestRunbooksValues(t *testing.T) {
	for _, x := range []struct {
		value, output string
		grade         steps.Grade
		says          string
	}{
		{"average /([\\d.]+)/ Gb/s 50..", "92.43", steps.Pass, "on spark-02, as the runbook asks: average 92.43 Gb/s (at least 50)"},
		{"counted /([\\d.]+)/ % 98..108", "100.0", steps.Pass, "counted 100 % (98 to 108)"},
		{"loss /([\\d.]+)/ % ..5", "5.0000001", steps.Fail, "loss is 5.0000001 % on spark-02, and the runbook asks for at most 5 %"},
		{"pause /([\\d.e-]+)/ s ..1: too long", "1.25e-06", steps.Pass, "pause 0.00000125 s (at most 1)"},
		{"rate /([\\d.]+)/ Gb/s 50..: slow", "49.99999999", steps.Fail, "rate is 49.99999999 Gb/s on spark-02, and the runbook asks for at least 50 Gb/s: slow"},
		{"size /([\\d.]+)/", "123456789.5", steps.Pass, "size 123457000 (any number)"},
		{"bytes /(\\d+)/ B 1..", "69264000", steps.Pass, "bytes 69264000 B"},
		{"text /(\\S+)/", "0x10", steps.Inconclusive, "is no number"},
	} {
		r := steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{kindtest.Ran("", steps.Here, x.output)}}}}
		c := steps.Cell{Roles: []steps.Role{{Values: []string{x.value}}}}
		kindtest.Want(t, x.value, ExitStatus(c, r), x.grade, x.says)
	}
}
