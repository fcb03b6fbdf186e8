package catalog

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

// The output of nccl-tests, NCCL and the launchers is read as they mean it. Wrong values end a run with
// status 7, which is not a failure to run. A row may have NCCL's log in its middle. NCCL warns about much
// from which it recovers. The node that a verdict names is the node with the fault, and not the node that
// reported it.
func TestWhatACollectiveSays(t *testing.T) {
	const (
		warn   = "spark-01:43:51 [0] transport/net_ib/common.cc:88 NCCL WARN "
		failed = "spark-01: Test NCCL failure common.cu:303 'unhandled system error (run with NCCL_DEBUG=INFO for " +
			"details) / '\n"
	)
	row := func(text string) string { // the last one
		at := strings.Index(text, "  4294967296 ")
		line, _, _ := strings.Cut(text[at:], "\n")
		return line
	}
	in := func(old, with string) func(string) string {
		return func(text string) string { return kindtest.Swap(t, text, old, with) }
	}
	wrong := func(count string) func(string) string {
		return func(text string) string {
			line := row(text)
			text = strings.Replace(text, line, line[:len(line)-1]+count, 1)
			return kindtest.Swap(t, text, "values : 0 OK", "values : 1 FAILED")
		}
	}
	ended := func(said string) func(string) string {
		return func(text string) string { return text[:strings.Index(text, "  4294967296 ")] + said }
	}
	good, judge := collective(t, "nccl-allreduce"), New().Judges["collective"]
	const qp = warn +
		"Call to ibv_modify_qp failed with 110 Connection timed out, on dev rocep1s0f0:1, curr state INIT, " +
		"next state RTR, "
	for name, c := range map[string]struct {
		say   func(string) string
		code  int
		want  steps.Grade
		words []string
	}{
		"one wrong value": {
			wrong("1"), 7, steps.Fail,
			[]string{"1 value of 4096 MiB had wrong results: memory, an adapter or a GPU"},
		},
		"many wrong values": {wrong("1.04858e+06"), 7, steps.Fail, []string{"1048580 values of 4096 MiB"}},
		"wrong, and warned": {
			func(s string) string { return warn + "x\n" + wrong("3")(s) }, 7, steps.Fail,
			[]string{"3 values of 4096 MiB"},
		},
		"wrong, not checked": {
			in("values : 0 OK", "values : 2 FAILED"), 7, steps.Fail,
			[]string{"2 measurements have wrong values"},
		},
		"a log within a row": {func(s string) string {
			line := row(s)
			cut := strings.Index(line, "-1") + 2
			info := "spark-01:43:51 [0] NCCL INFO Connected all trees\n"
			broken := line[:cut] + info + "[2026-11-22 10:00:00] " + info + line[cut:cut+34] + info + line[cut+34:]
			return strings.Replace(s, line, broken, 1)
		}, 0, steps.Pass, []string{"22.50 GB/s"}},
		"a day and a time": {func(s string) string {
			s = strings.Replace(s, "busbw #wrong\n", "busbw #wrong           timestamp\n", 1)
			return strings.ReplaceAll(s, "      0\n", "      0  2026-11-22 10:00:00\n")
		}, 0, steps.Pass, []string{"22.50 GB/s"}},
		"a warning that it got over": {
			in("# Out of", warn+"Could not find NVML\n# Out of"), 0, steps.Warn,
			[]string{"NCCL warned despite a good end: ", "Could not find NVML"},
		},
		"its last error": {
			func(s string) string { return s + "# error: Could not find NVML\n" }, 0, steps.Warn,
			[]string{"error: Could not"},
		},
		"less memory": {
			in("#       size", "# Reducing maxBytes to 1073741824 due to memory limitation\n#       size"), 0,
			steps.Inconclusive,
			[]string{"nccl-tests stopped at 1024 MiB", "NCCL_BYTES"},
		},
		"a GID index": {
			ended(qp + "local GID index 0, local GID fe80::1, remote GID ::ffff:192.168.100.10\n" + failed), 3,
			steps.Fail,
			[]string{"NCCL on spark-01 could not connect a queue pair of rocep1s0f0: it"},
		},
		"a GID index at the other end": {
			ended(qp +
				"local GID index 3, local GID ::ffff:192.168.100.11, remote GID fe80::2\n" + failed), 3, steps.Fail,
			[]string{"rocep1s0f0: the other end offered GID fe80::2, which is not an IPv4"},
		},
		"an address that does not answer": {
			ended(qp +
				"local GID index 3, local GID ::ffff:192.168.100.11, remote GID ::ffff:192.168.200.10\n" + failed), 3, steps.Fail,
			[]string{
				"a queue pair of rocep1s0f0 to spark-", "(192.168.200.10 of rocep1s0f1), which does not answer there",
				"link-up",
			},
		},
		"an older NCCL": {
			ended(warn + "Call to ibv_modify_qp failed with error Connection timed out, dev rocep1s0f0\n" +
				failed), 3, steps.Fail,
			[]string{"NCCL on spark-01 could not connect a queue pair of rocep1s0f0"},
		},
		"no answer": {
			ended(warn + "NET/IB: Got completion from peer 192.168.100.10<4711> with " +
				"status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) " +
				"reqSize=0 vendor_err=129 req_type=Send localGid ::ffff:192.168.100.11 remoteGids::ffff:192.168.100.10 hca " +
				"rocep1s0f0\n" + failed), 3, steps.Fail,
			[]string{"packets from spark-01 (rocep1s0f0) to spark-", "(192.168.100.10 of rocep1s0f0) got no answer"},
		},
		"another status": {
			ended(warn +
				"NET/IB: Got completion from peer 192.168.100.10<4711> with status=IBV_WC_LOC_PROT_ERR(4)\n" + failed), 3,
			steps.Fail,
			[]string{"NCCL on spark-01 failed: NET/IB: Got completion", "LOC_PROT"},
		},
		"a rank was killed": {
			ended(warn + "NET/IB: Got completion from peer x with status=IBV_WC_RETRY_EXC_ERR(12)\n" +
				failed +
				"mpirun noticed that process rank 1 with PID 4711 on node spark-01 exited on signal 9 (Killed).\n"), 137,
			steps.Inconclusive,
			[]string{"a process on spark-01 was ended by signal 9 (Killed)"},
		},
		"srun's was killed": {
			ended("srun: error: spark-01: task 1: Killed\n"), 137, steps.Inconclusive,
			[]string{"on spark-01 was ended by signal"},
		},
		"srun's crashed": {
			ended("srun: error: spark-01: task 1: Segmentation fault (core dumped)\n"), 139, steps.Fail,
			[]string{"a process on spark-01 crashed"},
		},
		"srun's ended": {
			ended(failed + "srun: error: spark-01: task 1: Exited with exit code 3\n"), 3, steps.Fail,
			[]string{"NCCL on spark-01 failed: unhandled system error"},
		},
		"a node was lost": {
			ended("ORTE has lost communication with a remote daemon.\n\n" +
				"  HNP daemon   : [[1,0],0] on node spark-02\n" +
				"  Remote daemon: [[1,0],1] on node spark-01\n"), 1, steps.Inconclusive,
			[]string{"the launcher lost spark-01 during the run"},
		},
	} {
		r := good.make()
		o := &r.Stages[0].Outputs[0]
		named := kindtest.Read(kindtest.Ran("", o.End, c.say(o.Text)), parse.NCCLTests)
		named.Asked, named.Exit = o.Asked, runner.Exit{Code: c.code}
		*o = named
		v := judge(good.cell, r)
		if v.Grade != c.want {
			t.Errorf("%s: %s, want %s: %s", name, v.Grade, c.want, v.Reason)
		}
		for _, w := range c.words {
			if !strings.Contains(strings.ToLower(v.Reason), strings.ToLower(w)) {
				t.Errorf("%s: %q is missing in %q", name, w, v.Reason)
			}
		}
	}
}
