package tool

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/sim/tool/nccl"
)

// nccl-tests write their figures to a file with -J, with the process's environment before them; a release before
// 2.17.3 knows no -J, and ends with its usage and status 0.
func TestNCCLTestsReport(t *testing.T) {
	r := rackOf(t, 2)
	const run = "export TOKEN=a; mpirun --host spark-01,spark-02 -np 2 all_reduce_perf -b 64K -e 128K -f 2 "
	out, code := on(t, r.Nodes[0], false, run+"-J /tmp/f.json; cat /tmp/f.json")
	if code != 0 || !strings.Contains(out, "# Writing JSON output to /tmp/f.json\n") ||
		!strings.Contains(out, `"TOKEN=a"`) || strings.Count(out, `"size":`) != 2 ||
		!strings.Contains(out, `"average_bus_bandwidth":{"bandwidth":`) {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := on(t, r.Nodes[0], false, "all_reduce_perf -h"); code != 0 || !strings.Contains(out, "--output_file") {
		t.Errorf("%d: %s", code, out)
	}
	if out, _ := on(t, r.Nodes[0], false, run+"-J /nowhere/f.json"); !strings.Contains(out, "skipping json output") {
		t.Error(out)
	}
	r.Lock()
	for _, n := range r.Nodes {
		n.Flaws[nccl.OldNCCLTests] = true
	}
	r.Unlock()
	out, code = on(t, r.Nodes[0], false, "all_reduce_perf -h; "+run+"-J /tmp/g.json; cat /tmp/g.json")
	if code == 0 || strings.Contains(out, "output_file") || strings.Contains(out, "Avg bus bandwidth") ||
		!strings.Contains(out, "invalid option") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := on(t, r.Nodes[0], false, run); code != 0 || !strings.Contains(out, "nccl-tests version 2.17.2") {
		t.Errorf("%d: %s", code, out)
	}
}
