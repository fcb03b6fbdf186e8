package host

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestHostStaging(t *testing.T) {
	good, none := kindtest.Corpus(t, "host-staging/spark"), kindtest.Corpus(t, "host-staging/no-gpu")
	direct := kindtest.Swap(t, kindtest.Swap(t, good, `"gpuDirectRDMA":0`, `"gpuDirectRDMA":1`),
		"memory types: host (access,reg,cache)\n#\n#      Transport: rc",
		"memory types: host (access,reg,cache), cuda (reg,cache)\n#\n#      Transport: rc")
	able := kindtest.Swap(t, kindtest.Swap(t, good, `"gpuDirectRDMA":0`, `"gpuDirectRDMA":1`), `"unified":true`,
		`"unified":false`)
	for _, x := range []struct {
		name       string
		here, peer string
		code       int
		want       steps.Grade
		cause      steps.Code
		words      []string
	}{
		{
			"a Spark", good, good, 0, steps.Pass, "",
			[]string{"host-staged on spark-02 and spark-01", "NVIDIA GB10", "cudaHostAlloc", "proves nothing"},
		},
		{"GPUDirect", direct, direct, 0, steps.Pass, "", []string{"GPUDirect on spark-02 and spark-01"}},
		{"they differ", direct, good, 0, steps.Warn, steps.GPUPathsDiffer, nil},
		{"the module is not loaded", able, able, 0, steps.Warn, steps.GPUDirectOff, nil},
		{
			"loaded, and UCX without CUDA", kindtest.Swap(t, able, "loaded: no", "loaded: yes"), good, 0, steps.Inconclusive,
			steps.UCXNoCUDA,
			nil,
		},
		{
			"they contradict", kindtest.Swap(t, direct, `"gpuDirectRDMA":1`, `"gpuDirectRDMA":0`), good, 0,
			steps.Inconclusive, steps.Unreadable,
			[]string{"is unknown", "cannot"},
		},
		{"not told", kindtest.Swap(t, kindtest.Swap(t, good, `"gpuDirectRDMA":0`, `"gpuDirectRDMA":null`), `"dmaBuf":0`,
			`"dmaBuf":null`), good, 0, steps.Inconclusive, steps.Unreadable, []string{"does not"}},
		{"no ucx_info", good[:strings.Index(good, "# Library version")], good, 0, steps.Warn, steps.CommandMissing, nil},
		{"no GPU", none, none, 0, steps.Skipped, steps.CannotRun, nil},
		{"one GPU", good, none, 0, steps.Warn, steps.GPUOneSided, []string{"spark-01 has no GPU"}},
		{
			"it failed", kindtest.Swap(t, good, `"error":null`, `"error":"cuMemAlloc_v2 failed with CUDA error 2"`), good, 1,
			steps.Inconclusive, steps.GPUMemoryShort,
			[]string{"CUDA error 2"},
		},
		{"a strange end", good, good, 9, steps.Inconclusive, steps.ScriptFailed, []string{"exit 9"}},
		{
			"half", "driver: none\n", good, 0, steps.Inconclusive, steps.OutputIncomplete,
			[]string{"on spark-02 printed no result"},
		},
		{"no output", "", good, 0, steps.Inconclusive, steps.OutputIncomplete, []string{"could not read the output"}},
	} {
		r := kindtest.Both(kindtest.TutorialSpark(), parse.StagingOutput, x.here, x.peer)
		r.Stages[0].Outputs[0].Exit.Code = x.code
		v := judgeHostStaging(kindtest.Cell(t, "host-staging"), r)
		kindtest.Because(t, x.name, v, x.want, x.cause)
		kindtest.Want(t, x.name, v, x.want, x.words...)
	}
	v := judgeHostStaging(kindtest.Cell(t, "host-staging"),
		kindtest.Both(kindtest.TutorialSpark(), parse.StagingOutput, good, good))
	if len(v.Tables) != 1 || len(v.Charts) != 1 || len(v.Tables[0].Rows) != 5 ||
		strings.Join(v.Tables[0].Rows[1], " ") != "gpu buffer 7093 7093" {
		t.Fatalf("%+v", v.Tables)
	}
	// What the table has is not what the chart has, and the baseline is above itself by nothing.
	points := v.Charts[0].Series[0].Points
	if len(points) != 8 || points[0] != (steps.Point{Label: "spark-02, gpu buffer", Y: 523}) ||
		points[4].Label != "spark-01, gpu buffer" {
		t.Errorf("%+v", points)
	}
}
