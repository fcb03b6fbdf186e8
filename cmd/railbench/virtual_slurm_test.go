package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/headless"
)

// TestVirtualSlurm is on four machines that are a small cluster of Slurm's. railbench itself is on the first, as on
// a machine where the cluster's users log in, and has its nodes from a real scheduler.
func TestVirtualSlurm(t *testing.T) {
	if os.Getenv("RAILBENCH_LONG") == "" {
		t.Skip("four virtual machines are the long form's: RAILBENCH_LONG=1")
	}
	v := newVirtualOf(t, slurm, 4)
	v.brings(t)
	t.Run("a cell", v.cellOfSlurm)
	t.Run("the checklist", v.checklistOfSlurm)
	t.Run("the whole checklist", v.wholeChecklistOfSlurm)
	t.Run("the pairs", v.pairsOfSlurm)
	for _, launcher := range []string{"openmpi", "srun"} {
		t.Run("by "+launcher, func(t *testing.T) { v.collectiveOfSlurm(t, launcher) })
	}
	t.Run("a reset", v.resetInSlurm)
}

// mpiSum is an MPI program that needs no compiler: the ranks sum 2 MiB over TCP, and each says who it is.
const mpiSum = `import ctypes, socket
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
handle = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
world, rank, size, n = handle("ompi_mpi_comm_world"), ctypes.c_int(), ctypes.c_int(), 1 << 18
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
own, total = (ctypes.c_double * n)(*[rank.value + 1] * n), (ctypes.c_double * n)()
mpi.MPI_Allreduce(own, total, n, handle("ompi_mpi_double"), handle("ompi_mpi_op_sum"), world)
assert set(total) == {size.value * (size.value + 1) / 2}, total[:3]
print("rank", rank.value, "of", size.value, "on", socket.gethostname(), flush=True)
mpi.MPI_Finalize()
`

const mpiBook = `# MPI {#mpi}

## Sum {#mpi-sum}

§§§sh preamble=launch
IFS='
'
§§§

§§§sh cell=mpi-sum on=here uses=launch with=launch parse=ranks judge=mpi-launch limit=4m
$LAUNCH env OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=enp1s0f1np1 python3 "$HOME/sum.py"
§§§
`

// brings puts the program onto the first machine, and what MPI runs onto all.
func (v *virtual) brings(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "railbench")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build railbench: %v: %s", err, out)
	}
	for name, text := range map[string]string{"sum.py": mpiSum, "mpi.md": strings.ReplaceAll(mpiBook, "§§§", "```")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n, files := range [][]string{{bin, filepath.Join(dir, "mpi.md")}, nil, nil, nil} {
		args := append([]string{"-q", "-F", filepath.Join(v.state, "ssh_config"), filepath.Join(dir, "sum.py")}, files...)
		if out, err := exec.Command("scp", append(args, fmt.Sprintf("spark-%02d:", n+1))...).CombinedOutput(); err != nil {
			t.Fatalf("scp to machine %d: %v: %s", n+1, err, out)
		}
	}
}

// there is railbench on the first machine, on so many nodes of Slurm's.
func (v *virtual) there(nodes int, args ...string) *exec.Cmd {
	args = append([]string{"rig", "ssh", "1", "./railbench"}, append(args, fmt.Sprintf("--slurm sparks:%d", nodes))...)
	return exec.Command(v.bin, args...)
}

// reports is what it prints as JSON; nothing is left afterwards.
func (v *virtual) reports(t *testing.T, report any, nodes int, args ...string) {
	t.Helper()
	cmd := v.there(nodes, append(args, "--json")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // its verdicts say how it went
	if err := json.Unmarshal(out.Bytes(), report); err != nil {
		t.Fatalf("%v: %v: %s%s", args, err, out.String(), errs.String())
	}
	if !strings.Contains(errs.String(), "back\n") {
		t.Errorf("it doesn't say that it gave the allocation back: %s", errs.String())
	}
	v.leaves(t)
}

// leaves looks for what a run has left: an allocation, or a process on any node.
func (v *virtual) leaves(t *testing.T) {
	t.Helper()
	const look = "squeue --noheader; ps -eo args | grep -E '[i]b_write|[r]ailbench-sup|[o]rted|[m]pirun|[s]um.py' || :"
	deadline := time.Now().Add(2 * time.Minute) // a machine that was reset has to come up
	for n := 1; n <= 4; n++ {
		for {
			out, err := exec.Command(v.bin, "rig", "ssh", fmt.Sprint(n), look).CombinedOutput()
			if err == nil && len(bytes.TrimSpace(out)) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("on node %d: %v: %s", n, err, out)
			}
			time.Sleep(time.Second) // asking is work for an emulated processor
		}
	}
}

// cellOfSlurm: RDMA between two nodes, whose ends are steps of an allocation.
func (v *virtual) cellOfSlurm(t *testing.T) {
	var r headless.Object
	v.reports(t, &r, 2, "run", "devices", "ib-write-bw")
	if len(r.Rig.Nodes) != 2 || !strings.HasPrefix(r.Rig.Nodes[1].Where, steps.OfSlurm) {
		t.Errorf("nodes: %+v", r.Rig.Nodes)
	}
	if got := cellOf(t, r, "devices"); got.Verdict != steps.Pass {
		t.Errorf("devices: %s: %s", got.Verdict, got.Reason)
	}
	if got := cellOf(t, r, "ib-write-bw"); got.Verdict != steps.Pass || len(got.Rails) != 4 {
		t.Errorf("ib-write-bw: %s: %s, %+v", got.Verdict, got.Reason, got.Rails)
	}
}

// checklistOfSlurm looks at all four, one of which is not as the others.
func (v *virtual) checklistOfSlurm(t *testing.T) {
	v.rig(t, "cable", "1", "off", "spark-03")
	defer v.rig(t, "cable", "1", "on", "spark-03")
	var r doctor.Object
	v.reports(t, &r, 4, "doctor", "link-up", "rail-addresses")
	for i, want := range []steps.Grade{steps.Fail, steps.Pass} {
		if got := r.Checks[i]; got.Verdict != want || want == steps.Fail && !strings.Contains(got.Reason, "spark-03") {
			t.Errorf("%s: %s: %s", got.ID, got.Verdict, got.Reason)
		}
	}
}

// wholeChecklistOfSlurm: on nodes without a fault no check FAILs. A check that stays INCONCLUSIVE while
// several checks run in parallel on emulated processors gives a verdict when it runs alone. The same holds
// for pings that are lost in parallel runs.
func (v *virtual) wholeChecklistOfSlurm(t *testing.T) {
	var r doctor.Object
	v.reports(t, &r, 4, "doctor")
	if len(r.Checks) < 50 {
		t.Errorf("%d checks", len(r.Checks))
	}
	for _, c := range r.Checks {
		if c.Verdict == steps.Inconclusive || c.Verdict == steps.Fail && c.ID == "path-loss" {
			t.Logf("%s beside others: %s: %s", c.ID, c.Verdict, c.Reason)
			var alone doctor.Object
			v.reports(t, &alone, 4, "doctor", c.ID)
			c = alone.Checks[0]
		}
		if c.Verdict == steps.Fail || c.Verdict == steps.Inconclusive || c.Reason == "" {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
	}
}

// pairsOfSlurm measures every pair of three nodes over each rail, both ways. How fast an emulated processor is differs
// from pair to pair by more than the matrix lets pass, and a verdict of it says so at most.
func (v *virtual) pairsOfSlurm(t *testing.T) {
	var m struct {
		Verdict steps.Grade
		Reason  string
		Figures []struct {
			Measure, State, Reason string
			Value                  *float64
		}
	}
	v.reports(t, &m, 3, "pairs", "--yes")
	if len(m.Figures) != 18 { // six ways and three pairs, over two rails
		t.Errorf("%d figures: %s: %s", len(m.Figures), m.Verdict, m.Reason)
	}
	for _, f := range m.Figures {
		// perftest's own calibration of the clock fails where the emulation holds a processor up.
		if f.Value == nil && !strings.Contains(f.Reason, "the processor was busy") {
			t.Errorf("%s is not measured: %s: %s", f.Measure, f.State, f.Reason)
		}
	}
}

// collectiveOfSlurm has a launcher start a shell on every node, and then an MPI program over TCP.
func (v *virtual) collectiveOfSlurm(t *testing.T, launcher string) {
	sent := func() (bytes int) {
		// 0 is reported below
		_, _ = fmt.Sscan(v.rig(t, "ssh", "3", "cat /sys/class/net/enp1s0f1np1/statistics/tx_bytes"), &bytes)
		return bytes
	}
	for _, args := range [][]string{{"mpi-launch"}, {"mpi-sum", "--runbook", "mpi.md", "--trust"}} {
		var r headless.Object
		before := sent()
		v.reports(t, &r, 4, append([]string{"run", "--link", "spark-01:spark-02", "-p", "LAUNCHER=" + launcher}, args...)...)
		if got := cellOf(t, r, args[0]); got.Verdict != steps.Pass {
			t.Errorf("%s: %s: %s", args[0], got.Verdict, got.Reason)
		}
		if moved := sent() - before; args[0] == "mpi-sum" && moved < 2<<20 {
			t.Errorf("MPI sent %d bytes from spark-03 over rail 1", moved)
		}
	}
}

// resetInSlurm cuts a node's power while it is measured: the verdict names it, railbench ends by itself, the other
// node has nothing left, and Slurm has both back.
func (v *virtual) resetInSlurm(t *testing.T) {
	cmd := v.there(2, "run", "ib-write-bw", "-v", "-p", "ITERATIONS=1000000")
	begun := func(string) bool {
		return strings.Contains(v.rig(t, "ssh", "1", "ps -eo args | grep 'ib_write_b[w].*192.168.100.11' || :"), "ib_write")
	}
	text, err := v.cutOff(t, cmd, "spark-02", begun)
	for _, want := range []string{"spark-02 restarted in the middle", "gave the allocation"} {
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("a node went down in the middle, and it ended with %v and without %q:\n%s", err, want, text)
		}
	}
	v.leaves(t)
	const idle = "sinfo --noheader --states=idle --format=%D"
	for deadline := time.Now().Add(3 * time.Minute); strings.TrimSpace(v.rig(t, "ssh", "1",
		idle)) != "4"; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("Slurm has not all nodes back: %s", v.rig(t, "ssh", "1", "sinfo"))
		}
	}
}
