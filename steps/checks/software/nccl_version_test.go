package software

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

func TestNCCLVersion(t *testing.T) {
	const looked = "looked at: the loader, nccl-tests, Python\n"
	const all = looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.3\n"
	runCases(t, registered().Judges["nccl-version"], map[string]textCase{
		"alike": {all, all, steps.Pass, []string{
			"The NCCL", "nccl-tests' NCCL 2.28.9", "nvidia-nccl-cu13 2.28.3",
		}},
		"another system": {all, looked + "nccl loader: 2.27.7\nnccl nccl-tests: 2.27.7\nnccl nvidia-nccl-cu13: 2.28.3\n", steps.Fail, []string{
			"The system's NCCL and nccl-tests' NCCL: 2.28.9 on spark-02 and 2.27.7 on spark-01", "Mismatched NCCL version detected",
		}},
		"another wheel": {all, looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.9\n", steps.Fail, []string{
			"package nvidia-nccl-cu13: 2.28.3 on spark-02 and 2.28.9 on spark-01",
		}},
		"one alone": {all, looked + "nccl loader: 2.28.9\nnccl nccl-tests: 2.28.9\n", steps.Warn, []string{"spark-02 has the NCCL of Python's package nvidia-nccl-cu13, and spark-01 doesn't"}},
		"the peer":  {looked, looked + "nccl loader: 2.28.9\n", steps.Warn, []string{"spark-01 has the system's NCCL, and spark-02 doesn't"}},
		"none":      {looked, looked, steps.Skipped, []string{"neither node has an NCCL", "--container"}},
		"untold":    {looked + "nccl loader: (untold) /x/libnccl.so.2\n", looked + "nccl loader: 2.28.9\n", steps.Skipped, []string{"the version of the system's NCCL is not in its file's name", "nothing was compared"}},
		"untold beside": {
			looked + "nccl loader: (untold) /x/libnccl.so.2\nnccl nvidia-nccl-cu13: 2.28.9\n",
			looked + "nccl loader: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.9\n", steps.Pass,
			[]string{"nvidia-nccl-cu13 2.28.9", "not compared: the system's NCCL"},
		},
	})
}
