package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestHosts(t *testing.T) {
	here, peer := fmt.Sprintf(hostFacts, "spark-02", "b2"), fmt.Sprintf(hostFacts, "spark-01", "b1")
	for _, c := range []struct {
		name       string
		here, peer string
		change     func(*steps.Result)
		want       steps.Grade
		code       steps.Code
		words      []string
	}{
		{"two machines", here, peer, nil, steps.Pass, "", []string{"spark-02 and spark-01", "kernel 6.14"}},
		{"one machine", here, here, nil, steps.Fail, steps.SameMachine, nil},
		{
			"two containers of one machine", here, strings.ReplaceAll(peer, "b1", "b2"), nil, steps.Warn, steps.SameMachine,
			[]string{"crosses no cable"},
		},
		{
			"one name on two machines", here, strings.ReplaceAll(here, "b2", "b1"), nil, steps.Warn, steps.HostNamesEqual,
			[]string{"\"spark-02\""},
		},
		{
			"a small limit of root's", strings.ReplaceAll(here, "unlimited", "64\nlocks without a limit: yes"), peer, nil,
			steps.Pass, "", nil,
		},
		{
			"one name and no boot id", strings.ReplaceAll(here, "boot: b2\n", ""), here, nil, steps.Inconclusive,
			steps.HostNamesEqual,
			nil,
		},
		{
			"kernels differ", here, strings.ReplaceAll(peer, "1013", "1014"), nil, steps.Warn, steps.VersionsDiffer,
			[]string{"6.14.0-1014-nvidia on spark-01"},
		},
		{
			"another processor", here + "architecture: aarch64\n", peer + "architecture: x86_64\n", nil, steps.Warn,
			steps.ProcessorsDiffer,
			[]string{"processors: aarch64 on spark-02, x86_64 on spark-01"},
		},
		{
			"no node tells its system", strings.ReplaceAll(here, "system", "no"), strings.ReplaceAll(peer, "system", "no"), nil,
			steps.Inconclusive, steps.Unreadable,
			nil,
		},
		{
			"little memory to lock", here, strings.ReplaceAll(peer, "unlimited", "64"), nil, steps.Warn, steps.MemlockLow,
			[]string{"64 KiB", "spark-01"},
		},
		{"the peer is away", here, peer, func(r *steps.Result) {
			o := &r.Stages[0].Outputs[1]
			o.Ran, o.Err, o.Value = false, "no route to host", nil
		}, steps.Inconclusive, steps.NotRunToEnd, []string{"spark-01"}},
		{
			"the peer never ran", here, peer, func(r *steps.Result) { r.Stages[0].Outputs = r.Stages[0].Outputs[:1] },
			steps.Inconclusive, steps.NotRunHere,
			[]string{"nothing ran on spark-01"},
		},
		{"nothing to read", here, "", nil, steps.Inconclusive, steps.OutputIncomplete, nil},
		{
			"exit 2", here, peer, func(r *steps.Result) { r.Stages[0].Outputs[0].Exit.Code = 2 }, steps.Inconclusive,
			steps.ScriptFailed,
			[]string{"exit 2"},
		},
	} {
		r := kindtest.Both(kindtest.Spark(), parse.Facts, c.here, c.peer)
		if c.change != nil {
			c.change(&r)
		}
		v := judgeHosts(steps.Cell{}, r)
		kindtest.Because(t, c.name, v, c.want, c.code)
		kindtest.Want(t, c.name, v, c.want, c.words...)
	}
}

func TestTools(t *testing.T) {
	good := "tool show_gids: missing\nversion perftest: 6.06\nversion UCX: 1.16.0\n"
	for _, tool := range slices.Concat(Needed, Called, []string{"mpirun"}) {
		good += "tool " + tool + ": /usr/bin/" + tool + "\n"
	}
	good += "tool srun: missing\n"
	judge := func(here, peer string) steps.Verdict {
		return judgeTools(steps.Cell{}, kindtest.Both(kindtest.Spark(), parse.Facts, here, peer))
	}
	lacks := func(tool string) string {
		return strings.Replace(good, "tool "+tool+": /usr/bin/"+tool+"\n", "tool "+tool+": missing\n", 1)
	}
	kindtest.Want(t, "no launcher", judge(good, lacks("mpirun")), steps.Pass,
		"less: mpirun or srun (spark-01)")
	kindtest.Want(t, "not asked for", judge(good, strings.Replace(good, "tool netplan: /usr/bin/netplan\n", "", 1)),
		steps.Inconclusive,
		"spark-01")
	kindtest.Want(t, "complete", judge(good, good), steps.Pass, "every command", "show_gids")
	kindtest.Want(t, "a cell is skipped", judge(lacks("nixlbench"), good), steps.Pass, "commands that every",
		"less: nixlbench (spark-02)")
	missing := strings.NewReplacer("/usr/bin/ib_write_bw", "missing", "/usr/bin/ib_write_lat", "missing").Replace(good)
	kindtest.Want(t, "missing", judge(good, missing), steps.Fail,
		"spark-01 lacks ib_write_bw and ib_write_lat")
	kindtest.Want(t, "perftest differs", judge(good, strings.ReplaceAll(good, "6.06", "6.21")), steps.Warn,
		"6.06 on spark-02 but 6.21 on spark-01")
	kindtest.Because(t, "UCX differs", judge(good, strings.ReplaceAll(good, "1.16.0", "1.21.0")), steps.Warn,
		steps.UCXDiffers)
}

func TestPrivileges(t *testing.T) {
	result := func(here, peer steps.Output) steps.Result {
		return steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Pair: -1, Outputs: []steps.Output{here, peer}}}}
	}
	root := func(e steps.End) steps.Output { return kindtest.Ran("", e, "0\n") }
	kindtest.Want(t, "root", judgePrivileges(steps.Cell{}, result(root(steps.Here), root(steps.Peer))), steps.Pass,
		"spark-02 and spark-01")
	bare := result(root(steps.Here), root(steps.Peer))
	bare.Rig.Nodes[steps.Here].Catches, bare.Rig.Nodes[steps.Peer].Catches = "group", "nothing"
	kindtest.Want(t, "nothing catches", judgePrivileges(steps.Cell{}, bare), steps.Warn,
		"on spark-01", "Install perl")
	no := steps.Output{End: steps.Peer, Err: "sudo on spark-01 wants a password", Failed: runner.SudoPassword}
	kindtest.Want(t, "no password", judgePrivileges(steps.Cell{}, result(root(steps.Here), no)), steps.Skipped,
		"sudo on spark-01 wants a password")
	both := no
	both.End, both.Err = steps.Here, "sudo on spark-02 wants a password"
	kindtest.Want(t, "no password on both", judgePrivileges(steps.Cell{}, result(both, no)), steps.Skipped,
		"no root on spark-02 and spark-01")
	kindtest.Want(t, "not root", judgePrivileges(steps.Cell{},
		result(root(steps.Here), kindtest.Ran("", steps.Peer, "1000\n"))), steps.Skipped, "as user 1000")
	kindtest.Because(t, "away", judgePrivileges(steps.Cell{},
		result(root(steps.Here), steps.Output{End: steps.Peer, Err: "connection refused"})), steps.Inconclusive,
		steps.NotRunHere)
	kindtest.Because(t, "one node", judgePrivileges(steps.Cell{},
		steps.Result{Rig: kindtest.Spark(), Stages: []steps.Stage{{Outputs: []steps.Output{root(steps.Here)}}}}),
		steps.Inconclusive, steps.NodeAway)
	failed := root(steps.Peer)
	failed.Exit = runner.Exit{Code: 1}
	kindtest.Want(t, "failed", judgePrivileges(steps.Cell{}, result(root(steps.Here), failed)), steps.Inconclusive,
		"exit 1")
}

const hostFacts = "host: %s\nkernel: 6.14.0-1013-nvidia\nsystem: Ubuntu 24.04.3 LTS\nboot: %s\n" +
	"locked memory: unlimited\n"
