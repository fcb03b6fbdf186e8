package nccl

import (
	"fmt"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// three is a rig of three Sparks.
func three() steps.Rig {
	rig := kindtest.Spark()
	third := rig.Nodes[steps.Peer]
	third.No, third.Name, third.Host = 2, "spark-03", "spark-03"
	rig.Nodes = append(rig.Nodes, third)
	for i := range rig.Nodes {
		rig.Nodes[i].Host = rig.Nodes[i].Name
	}
	return rig
}

func launched(rig steps.Rig, text string) steps.Result {
	o := kindtest.Read(kindtest.Ran("", steps.Here, text), readRanks)
	return steps.Result{Rig: rig, Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{o}}}}
}

const allThree = "rank 2 of 3 on spark-03.lan\nrank 0 of 3 on spark-01\nrank 1 of 3 on Spark-02\n"

// The processes that a launcher started are exactly those that were asked for.
func TestLaunch(t *testing.T) {
	c := kindtest.Cell(t, "mpi-launch")
	kindtest.Want(t, "all", judgeLaunch(c, launched(three(), allThree)), steps.Pass,
		"started, one on each of spark-02, spark-01 and spark-03")
	many, text := steps.NewRig("", false, 64), ""
	for i := range many.Nodes {
		many.Nodes[i].Name = fmt.Sprintf("n%02d", i)
		many.Nodes[i].Host = many.Nodes[i].Name
		text += fmt.Sprintf("rank %d of 64 on n%02d\n", i, i)
	}
	kindtest.Want(t, "many", judgeLaunch(c, launched(many, text)), steps.Pass,
		"64 processes started, one on each of n[00-63")
	for name, x := range map[string]struct {
		text  string
		want  steps.Grade
		code  steps.Code
		words string
	}{
		"nothing": {"", steps.Inconclusive, steps.OutputIncomplete, ""},
		"one is away": {
			"rank 0 of 3 on spark-01\nrank 1 of 3 on spark-02\n", steps.Fail, steps.RanksWrong,
			"no process was started on spark-03",
		},
		"a stranger": {
			"rank 0 of 3 on spark-01\nrank 1 of 3 on spark-02\nrank 2 of 3 on login\n", steps.Fail, steps.RanksWrong,
			"login, which is no",
		},
		"one twice": {
			"rank 0 of 3 on spark-01\nrank 1 of 3 on spark-01\nrank 2 of 3 on spark-03\n", steps.Fail, steps.RanksWrong,
			"2 processes were started on spark-01",
		},
		"one too many": {
			allThree + "rank 3 of 3 on spark-03\n", steps.Fail, steps.RanksWrong,
			"2 processes were started on spark-03",
		},
		"another MPI": {
			"rank 0 of 1 on spark-01\nrank 0 of 1 on spark-02\nrank 0 of 1 on spark-03\n", steps.Fail, steps.MPIDiffers,
			"",
		},
		"ranks repeat": {
			"rank 0 of 3 on spark-01\nrank 0 of 3 on spark-02\nrank 2 of 3 on spark-03\n", steps.Fail, steps.RanksWrong,
			"the ranks are [0 0 2]",
		},
		"no number":     {"rank  of  on spark-01\n", steps.Inconclusive, steps.OutputIncomplete, ""},
		"a long number": {"rank 99999999999999999999 of 3 on spark-01\n", steps.Inconclusive, steps.OutputIncomplete, ""},
	} {
		v := judgeLaunch(c, launched(three(), x.text))
		kindtest.Because(t, name, v, x.want, x.code)
		kindtest.Want(t, name, v, x.want, x.words)
	}
	for name, x := range map[string]struct {
		code  int
		text  string
		want  steps.Grade
		cause steps.Code
		words string
	}{
		"no mpirun": {
			127, "env: ‘mpirun’: No such file or directory\n", steps.Skipped, steps.CommandMissing,
			"spark-02 has no mpirun",
		},
		"no shell": {127, "sh: 1: x: not found\n", steps.Inconclusive, steps.CommandMissing, ""},
		"no name": {
			1, "ssh: Could not resolve hostname spark-03: Name or service not known\n", steps.Fail, steps.NameUnresolved,
			"spark-02 cannot resolve spark-03",
		},
		"no way": {
			1, "ssh: connect to host spark-03 port 22: No route to host\n", steps.Fail, steps.SSHUnreachable,
			"not reach spark-03 by ssh",
		},
		"no key": {255, "nvidia@spark-03: Permission denied (publickey,password).\n", steps.Fail, steps.SSHRefused, ""},
		"no allocation": {
			1, "srun: error: Unable to allocate resources: Invalid node name specified\n", steps.Inconclusive,
			steps.AllocationMissing,
			"",
		},
		"all, and 1": {1, allThree, steps.Inconclusive, steps.ScriptFailed, "ended with exit 1"},
		"killed":     {137, allThree, steps.Inconclusive, steps.ScriptFailed, "ended with exit 137"},
	} {
		r := launched(three(), x.text)
		r.Stages[0].Outputs[0].Exit.Code = x.code
		v := judgeLaunch(c, r)
		kindtest.Because(t, name, v, x.want, x.cause)
		kindtest.Want(t, name, v, x.want, x.words)
	}
	r := launched(three(), allThree)
	r.Stages[0].Outputs[0].Exit.Why = runner.TimedOut
	kindtest.Because(t, "a hang", judgeLaunch(c, r), steps.Inconclusive, steps.TimedOut)
	r = launched(three(), allThree)
	r.Stages[0].Err = "it was stopped"
	kindtest.Because(t, "stopped", judgeLaunch(c, r), steps.Inconclusive, steps.NotRunToEnd)
	kindtest.Want(t, "no output", judgeLaunch(c, steps.Result{Rig: three(), Stages: []steps.Stage{{}}}),
		steps.Inconclusive, "0 scripts ran")
}
