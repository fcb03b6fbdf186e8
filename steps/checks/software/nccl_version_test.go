package software

import (
	"reflect"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestNCCLVersion(t *testing.T) {
	const looked = "looked at: the loader, nccl-tests, Python\n"
	const all = looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.3\n"
	runCases(t, registered().Judges["nccl-version"], map[string]textCase{
		"alike": {all, all, steps.Pass, "", []string{
			"The NCCL", "nccl-tests' NCCL 2.28.9", "nvidia-nccl-cu13 2.28.3",
		}},
		"another system": {
			all, looked + "nccl loader: 2.27.7\nnccl nccl-tests: 2.27.7\nnccl nvidia-nccl-cu13: 2.28.3\n",
			steps.Fail, steps.NCCLDiffers,
			[]string{
				"(the system's NCCL and nccl-tests' NCCL): 2.28.9 on spark-02 and 2.27.7 on spark-01",
				"Mismatched NCCL version detected",
			},
		},
		"another wheel": {
			all, looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.9\n",
			steps.Fail, steps.NCCLDiffers,
			[]string{
				"package nvidia-nccl-cu13): 2.28.3 on spark-02 and 2.28.9 on spark-01",
			},
		},
		"one alone": {
			all, looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\n", steps.Warn, steps.MissingOnOneNode,
			[]string{"spark-02 has the NCCL of Python's package nvidia-nccl-cu13, but spark-01 does not"},
		},
		"the peer": {
			looked, looked + "nccl loader: 2.28.9\n", steps.Warn, steps.MissingOnOneNode,
			[]string{"spark-01 has the system's NCCL, but spark-02 does not"},
		},
		// Who can't be asked lacks nothing that anybody knows of.
		"no ldconfig": {
			all, looked + "not asked loader: there is no ldconfig\nnccl nvidia-nccl-cu13: 2.28.3\n", steps.Warn,
			steps.MissingOnOneNode,
			[]string{
				"spark-02 has nccl-tests' NCCL, but spark-01 does not",
			},
		},
		"no Python": {
			looked + "nccl loader: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.3\n",
			looked + "nccl loader: 2.28.9\nnot asked Python: there is no python3\n", steps.Pass, "",
			[]string{
				"the system's NCCL 2.28.9", "Python on spark-01 was not checked: there is no python3",
			},
		},
		"nobody to ask": {
			looked + "not asked loader: there is no ldconfig\n",
			looked + "not asked loader: there is no ldconfig\n", steps.Skipped, steps.Unreadable,
			[]string{
				"no NCCL was found, but not everything was checked", "the loader on spark-02 was not checked",
			},
		},
		"one to ask": {
			looked + "nccl loader: 2.28.9\n", looked + "not asked loader: there is no ldconfig\n", steps.Skipped,
			steps.Unreadable,
			[]string{
				"nothing was compared: the loader on spark-01 was not checked",
			},
		},
		"none": {looked, looked, steps.Skipped, steps.CannotRun, nil},
		"untold": {
			looked + "nccl loader: (no version) /x/libnccl.so.2\n", looked + "nccl loader: 2.28.9\n", steps.Skipped,
			steps.Unreadable,
			[]string{"the file name of the system's NCCL shows no version", "nothing was compared"},
		},
		"untold beside": {
			looked + "nccl loader: (no version) /x/libnccl.so.2\nnccl nvidia-nccl-cu13: 2.28.9\n",
			looked + "nccl loader: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.9\n", steps.Pass, "",
			[]string{"nvidia-nccl-cu13 2.28.9", "not compared: the system's NCCL"},
		},
	})
}

// The evidence stands in the same order each time.
func TestNCCLVersionIsSteady(t *testing.T) {
	facts := "looked at: the loader, nccl-tests, Python\nnccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\n" +
		"nccl nvidia-nccl-cu13: 2.28.3\n"
	judge := registered().Judges["nccl-version"]
	want := judge(steps.Cell{}, checkedFacts(facts, facts)).Evidence
	for range 20 {
		if got := judge(steps.Cell{}, checkedFacts(facts, facts)).Evidence; len(want) != 6 || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, and before %v", got, want)
		}
	}
}

// inRing is the result of a check of two nodes that are in a ring with a third.
func inRing(here, peer string) steps.Result {
	r := checkedFacts(here, peer)
	for i, addrs := range [][2]string{{"10.0.1.1", "10.0.3.1"}, {"10.0.1.2", "10.0.2.2"}, {"10.0.2.3", "10.0.3.3"}} {
		if i == len(r.Rig.Nodes) {
			r.Rig.Nodes = append(r.Rig.Nodes, steps.Node{No: i, Name: "spark-03"})
		}
		r.Rig.Nodes[i].Rails = []steps.Rail{
			{Dev: "rocep1s0f0", Addr: addrs[0], Prefix: 24},
			{Dev: "rocep1s0f1", Addr: addrs[1], Prefix: 24},
		}
	}
	return r
}

// What nodes in a ring need of NCCL is asked of them alone.
func TestNCCLInARing(t *testing.T) {
	judges := registered().Judges
	const there = "nccl nvidia-nccl-cu13: 2.30.7\n"
	const looked, conf = "looked at: all\n",
		"/etc/nccl.conf NCCL_IB_SUBNET_AWARE_ROUTING: 1\n/etc/nccl.conf NCCL_IB_MERGE_NICS: 0\n"
	for _, c := range []struct {
		judge, text string
		want        steps.Grade
		code        steps.Code
		says        []string
	}{
		{
			"nccl-version", "nccl loader: 2.28.9\n", steps.Warn, steps.NCCLTooOld,
			[]string{"a ring need NCCL 2.30.7 or later", "the system's NCCL on both nodes is 2.28.9"},
		},
		{"nccl-version", "nccl loader: 2.30.7\n", steps.Pass, "", nil},
		{"nccl-version", "nccl loader: 2.31.0+cuda13.0\n", steps.Pass, "", nil},
		{"nccl-settings", "", steps.Skipped, steps.CannotRun, nil},
		{"nccl-version", "", steps.Skipped, steps.CannotRun, nil},
		{
			"nccl-settings", "not asked Python: there is no python3\n", steps.Skipped, steps.Unreadable,
			[]string{"not everything was checked: Python on spark-02"},
		},
		{"nccl-settings", "/etc/nccl.conf NCCL_DEBUG: INFO\n", steps.Pass, "", []string{"names what exists"}},
		{
			"nccl-settings", there, steps.Warn, steps.NCCLSettingMissing,
			[]string{"spark-01 lacks NCCL_IB_MERGE_NICS=0 and NCCL_IB_SUBNET_AWARE_ROUTING=1"},
		},
		{
			"nccl-settings", there + "environment NCCL_IB_MERGE_NICS: 1\n" + conf, steps.Warn, steps.NCCLSettingMissing,
			[]string{"lacks NCCL_IB_MERGE_NICS=0, "},
		},
		{"nccl-settings", there + conf, steps.Pass, "", nil},
	} {
		v := judges[c.judge](steps.Cell{}, inRing(looked+c.text, looked+c.text))
		kindtest.Because(t, c.text, v, c.want, c.code)
		kindtest.Want(t, c.text, v, c.want, c.says...)
	}
	kindtest.Want(t, "one has it", judges["nccl-settings"](steps.Cell{}, inRing(looked, looked+there)), steps.Warn,
		"Spark-01 lacks")
	kindtest.Want(t, "two nodes", judges["nccl-version"](steps.Cell{},
		checkedFacts(looked+"nccl loader: 2.28.9\n", looked+"nccl loader: 2.28.9\n")), steps.Pass)
}
