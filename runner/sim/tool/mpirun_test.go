package tool

import (
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// rackOf is so many nodes with all programs.
func rackOf(t *testing.T, nodes int) *host.Rack {
	t.Helper()
	r := host.NewRack(net.New(clock.New(time.Unix(1763700000, 0), clock.Max), 1, nodes, false), All())
	t.Cleanup(func() {
		r.Lock()
		r.Shut()
		r.Unlock()
		r.Close()
	})
	return r
}

// mpirun starts a process on each host that it is given, and ends as they do.
func TestMpirun(t *testing.T) {
	r := rackOf(t, 3)
	for _, c := range []struct {
		script, want string
		code         int
	}{
		{
			"mpirun --host spark-01,spark-02:1,192.168.1.103 -np 3 --map-by ppr:1:node sh -c 'echo $OMPI_COMM_WORLD_RANK $A " +
				"$(hostname)'",
			"2 spark-03\n1 spark-02\n0 spark-01", 0,
		},
		{"A=b; export A; mpirun -H spark-02 sh -c 'echo $OMPI_COMM_WORLD_SIZE $A $(hostname)'", "1 b spark-02", 0},
		{"mpirun --host spark-01,login hostname", "Could not resolve hostname login", 1},
		{"mpirun --host spark-01,192.168.1.250 hostname", "No route to host", 1},
		{"mpirun --host spark-01,spark-02 -np 3 hostname", "not enough slots", 1},
		{"mpirun --host spark-01,spark-02 false", "exited with non-zero status", 1},
		{"mpirun --frobnicate hostname", "unknown option", 1},
		{"mpirun --host spark-01", "could not find anything", 1},
		{"mpirun --version", "mpirun (Open MPI) 4.1.6", 0},
	} {
		out, code := on(t, r.Nodes[0], false, c.script)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d\n%s", c.script, code, out)
		}
		for _, n := range r.Nodes {
			if len(n.Procs) > 0 {
				t.Errorf("%s left %d processes on %s", c.script, len(n.Procs), n.Name)
			}
		}
	}
}

// Two jobs that begin at the same instant, on the same nodes, are two: no rank of one plays the other's part.
func TestMpirunTwice(t *testing.T) {
	r := rackOf(t, 2)
	const run = "mpirun --host spark-01,spark-02 all_reduce_perf -b 64K -e 64K "
	out, code := on(t, r.Nodes[0], false, run+">/tmp/a & "+run+">/tmp/b; wait; grep -c 'Avg bus' /tmp/a /tmp/b")
	if code != 0 || out != "/tmp/a:1\n/tmp/b:1" {
		t.Errorf("%d: %s", code, out)
	}
}
