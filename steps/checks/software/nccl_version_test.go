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
		// Who can't be asked lacks nothing that anybody knows of.
		"no ldconfig": {all, looked + "not asked loader: there is no ldconfig\nnccl nvidia-nccl-cu13: 2.28.3\n", steps.Warn, []string{
			"spark-02 has nccl-tests' NCCL, and spark-01 doesn't",
		}},
		"no Python": {looked + "nccl loader: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.3\n", looked + "nccl loader: 2.28.9\nnot asked Python: there is no python3\n", steps.Pass, []string{
			"the system's NCCL 2.28.9", "Python on spark-01 was not asked: there is no python3",
		}},
		"nobody to ask": {looked + "not asked loader: there is no ldconfig\n", looked + "not asked loader: there is no ldconfig\n", steps.Skipped, []string{
			"no NCCL was found, and not all was asked", "the loader on spark-02 was not asked",
		}},
		"one to ask": {looked + "nccl loader: 2.28.9\n", looked + "not asked loader: there is no ldconfig\n", steps.Skipped, []string{
			"nothing was compared: the loader on spark-01 was not asked",
		}},
		"none":   {looked, looked, steps.Skipped, []string{"neither node has an NCCL", "--container"}},
		"untold": {looked + "nccl loader: (untold) /x/libnccl.so.2\n", looked + "nccl loader: 2.28.9\n", steps.Skipped, []string{"the version of the system's NCCL is not in its file's name", "nothing was compared"}},
		"untold beside": {
			looked + "nccl loader: (untold) /x/libnccl.so.2\nnccl nvidia-nccl-cu13: 2.28.9\n",
			looked + "nccl loader: 2.28.9\nnccl nvidia-nccl-cu13: 2.28.9\n", steps.Pass,
			[]string{"nvidia-nccl-cu13 2.28.9", "not compared: the system's NCCL"},
		},
	})
}
