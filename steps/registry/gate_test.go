package registry

import (
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestExitStatus(t *testing.T) {
	r := steps.Result{
		Rig:    kindtest.Spark(),
		Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{kindtest.Ran("", steps.Here, "x")}}},
	}
	kindtest.Want(t, "0", ExitStatus(steps.Cell{}, r), steps.Pass, "status 0")
	r.Stages[0].Outputs[0].Exit.Code = 3
	kindtest.Want(t, "3", ExitStatus(steps.Cell{}, r), steps.Fail, "exit 3")
	r.Stages[0].Outputs[0].Exit.Code = steps.NoContainer
	kindtest.Because(t, "66 by itself", ExitStatus(steps.Cell{}, r), steps.Fail, steps.ScriptFailed)
	r.Stages[0].Outputs[0].Asked = map[string]string{steps.Container: "box"}
	kindtest.Because(t, "66 of a container", ExitStatus(steps.Cell{}, r), steps.Inconclusive, steps.NoContainerFound)
	r.Stages[0].Outputs[0].Exit.Why = runner.TimedOut
	kindtest.Want(t, "late", ExitStatus(steps.Cell{}, r), steps.Inconclusive, "timed out")
	kindtest.Want(t, "nothing", ExitStatus(steps.Cell{}, steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{}}}),
		steps.Inconclusive)
}

// The verdict reports what a runbook asks for and what was read, and no rounding contradicts the verdict.
func TestRunbooksValues(t *testing.T) {
	for _, x := range []struct {
		value, output string
		grade         steps.Grade
		says          string
	}{
		{
			"average /([\\d.]+)/ Gb/s 50..", "92.43", steps.Pass,
			"on spark-02, as expected: average 92.43 Gb/s (at least 50)",
		},
		{"counted /([\\d.]+)/ % 98..108", "100.0", steps.Pass, "counted 100 % (98 to 108)"},
		{
			"loss /([\\d.]+)/ % ..5", "5.0000001", steps.Fail,
			"loss is 5.0000001 % on spark-02, expected at most 5 %",
		},
		{"pause /([\\d.e-]+)/ s ..1: too long", "1.25e-06", steps.Pass, "pause 0.00000125 s (at most 1)"},
		{
			"rate /([\\d.]+)/ Gb/s 50..: slow", "49.99999999", steps.Fail,
			"rate is 49.99999999 Gb/s on spark-02, expected at least 50 Gb/s: slow",
		},
		{"size /([\\d.]+)/", "123456789.5", steps.Pass, "size 123457000 (any number)"},
		{"bytes /(\\d+)/ B 1..", "69264000", steps.Pass, "bytes 69264000 B"},
		{"text /(\\S+)/", "0x10", steps.Inconclusive, "is not a number"},
		{"rate /([\\d.]+)/ Gb/s 74.. warn 87.9..: slow", "92.43", steps.Pass, "rate 92.43 Gb/s (at least 87.9)"},
		{
			"rate /([\\d.]+)/ Gb/s 74.. warn 87.9..: slow", "75", steps.Warn,
			"rate is 75 Gb/s on spark-02, expected at least 87.9 Gb/s: slow",
		},
		{"rate /([\\d.]+)/ Gb/s 74.. warn 87.9..: slow", "73.9", steps.Fail, "expected at least 74 Gb/s: slow"},
		{"rate /([\\d.]+)/ Gb/s 74.. warn $GOOD..", "92.43", steps.Inconclusive, "$GOOD is empty"},
		{"heat /([\\d.]+)/ warn 10..20", "21", steps.Warn, "expected at most 20"},
	} {
		r := steps.Result{
			Rig:    kindtest.Spark(),
			Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{kindtest.Ran("", steps.Here, x.output)}}},
		}
		c := steps.Cell{Roles: []steps.Role{{Values: []string{x.value}}}}
		kindtest.Want(t, x.value, ExitStatus(c, r), x.grade, x.says)
	}
}

// A figure of one rail says of which: four rails have a figure each.
func TestRunbooksValueNamesItsRail(t *testing.T) {
	for script, says := range map[string]string{
		`ib_read_bw -d "$RAIL1_DEV" -x "$RAIL1_GID"`:     "on spark-02, rail 1 (rocep1s0f0), as expected: average 92.43",
		`tool -d "${RAIL1_DEV}"`:                         "on spark-02, rail 1 (rocep1s0f0), as",
		`tool -d "$RAIL1_DEV" -d "$RAIL2_DEV"`:           "on spark-02, as",
		`tool -d "$PEER_RAIL1_DEV"`:                      "on spark-02, as",
		`tool -d "$RAIL7_DEV" # a rail that isn't there`: "on spark-02, as",
	} {
		out := kindtest.Ran("", steps.Here, "92.43")
		out.Asked = map[string]string{"RAIL1_DEV": "rocep1s0f0", "RAIL2_DEV": "rocep1s0f1", "PEER_RAIL1_DEV": "rocep1s0f0"}
		r := steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{out}}}}
		c := steps.Cell{Roles: []steps.Role{{Script: script, Values: []string{"average /([\\d.]+)/ Gb/s 50.."}}}}
		kindtest.Want(t, script, ExitStatus(c, r), steps.Pass, says)
	}
}
