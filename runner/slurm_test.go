package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
)

// TestSlurm holds steps in an allocation to the contract, with a real Slurm.
func TestSlurm(t *testing.T) {
	testform.NeedsFull(t, "starts a real Slurm")
	rig := nodetest.StartSlurm(t, 3)
	job := rig.Job(t)
	// What the shell in an allocation has must not become options of a step.
	t.Setenv("SLURM_JOB_ID", strconv.Itoa(job))
	t.Setenv("SLURM_NTASKS", "3")
	t.Setenv("SLURM_NNODES", "3")
	t.Setenv("SLURM_DISTRIBUTION", "nonsense")
	node := func(t *testing.T, name string) *runner.Slurm {
		n := runner.NewSlurm(runner.SlurmOptions{Name: name, Job: job, Nodes: rig.Nodes, Ask: runner.NoAsker{}})
		t.Cleanup(func() { n.Close() })
		return n
	}
	nodetest.Run(t, func(t *testing.T) runner.Node { return node(t, "spark-02") },
		nodetest.Options{Processes: true, NoForwarding: true})

	t.Run("one task on its own node", func(t *testing.T) {
		for _, name := range rig.Nodes {
			stdout, _, exit := nodetest.Do(t, node(t, name), `echo "$SLURMD_NODENAME $SLURM_JOB_ID"; pwd`)
			home := os.Getenv("HOME")
			if want := []string{fmt.Sprintf("%s %d", name, job), home}; !slices.Equal(stdout, want) || !exit.OK() {
				t.Errorf("%s: %q, %v", name, stdout, exit)
			}
		}
	})
	// What a script of a step starts by srun or mpirun is for the allocation, not for this one task without MPI.
	t.Run("the allocation's environment", func(t *testing.T) {
		stdout, stderr, exit := nodetest.Do(t, node(t, "spark-02"),
			`srun --overlap --ntasks=3 --ntasks-per-node=1 sh -c 'echo "$SLURMD_NODENAME"'`)
		if slices.Sort(stdout); !slices.Equal(stdout, rig.Nodes) || !exit.OK() {
			t.Errorf("%q, %q, %v", stdout, stderr, exit)
		}
		stdout, _, _ = nodetest.Do(t, node(t, "spark-02"), `env | grep -E '^(SLURM_|PMI)' | sort`)
		want := []string{
			"SLURM_CONF=" + rig.Conf, fmt.Sprint("SLURM_JOBID=", job), fmt.Sprint("SLURM_JOB_ID=", job),
			"SLURM_JOB_NODELIST=spark-[01-03]",
			"SLURM_JOB_NUM_NODES=3", "SLURM_NNODES=3", "SLURM_NODELIST=spark-[01-03]", "SLURM_TASKS_PER_NODE=1(x3)",
		}
		if stdout = slices.DeleteFunc(stdout,
			func(l string) bool { return strings.HasPrefix(l, "SLURM_CLUSTER_NAME=") }); !slices.Equal(stdout, want) {
			t.Errorf("%q", stdout)
		}
	})
	t.Run("what detaches is refused", func(t *testing.T) {
		_, err := node(t, "spark-01").Run(t.Context(), runner.Script{Name: "arm", Body: "echo ran", Detaches: true},
			func(l runner.Line) {
				t.Errorf("it ran: %s", l.Text)
			})
		if err == nil || !strings.Contains(err.Error(), "Change the network of this node over SSH") {
			t.Error(err)
		}
	})
	t.Run("what can't be", func(t *testing.T) {
		for _, c := range []struct {
			o    runner.SlurmOptions
			hint string
		}{
			{runner.SlurmOptions{Name: "spark-09", Job: job}, "Is spark-09 a node of the allocation"},
			{runner.SlurmOptions{Name: "spark-01", Job: job + 1000}, "has ended: ask for another"},
		} {
			n := runner.NewSlurm(c.o)
			_, err := n.Run(t.Context(), runner.Script{Name: "x", Body: "echo ran"}, func(l runner.Line) {
				if l.Stream == runner.Stdout {
					t.Errorf("it ran: %s", l.Text)
				}
			})
			var e *runner.Error
			if !errors.As(err, &e) || e.Kind != runner.Unreachable || !strings.Contains(e.Hint, c.hint) || e.Node != c.o.Name {
				t.Errorf("%v", err)
			}
			n.Close()
		}
	})
	t.Run("a killed srun leaves nothing", func(t *testing.T) { killedSrun(t, node(t, "spark-03")) })
	t.Run("the allocation's end", func(t *testing.T) {
		var states []runner.State
		n := runner.NewSlurm(runner.SlurmOptions{
			Name: "spark-01", Job: job,
			OnState: func(s runner.State, _ error) { states = append(states, s) },
		})
		defer n.Close()
		nodetest.Do(t, n, "true")
		nodetest.Do(t, n, "false")
		_, err := n.Run(t.Context(), runner.Script{Name: "long", Body: "echo ready; sleep 300", Limit: time.Minute},
			func(l runner.Line) {
				if l.Text == "ready" {
					if out, err := exec.Command("scancel", strconv.Itoa(job)).CombinedOutput(); err != nil {
						t.Errorf("scancel: %v: %s", err, out)
					}
				}
			})
		var e *runner.Error
		if !errors.As(err, &e) || e.Kind != runner.Lost || !strings.Contains(err.Error(), "come to its end") {
			t.Error(err)
		}
		if _, err := n.Run(t.Context(), runner.Script{Name: "after", Body: "echo ran"}, func(runner.Line) {}); err == nil {
			t.Error("it runs in an allocation that has ended")
		}
		if !slices.Equal(states, []runner.State{runner.Connected, runner.Disconnected}) {
			t.Errorf("it told %v", states)
		}
	})
}

// An srun without an answer goes on for minutes, whatever its options say: it is given up, and nothing is
// left of it.
func TestSrunHangs(t *testing.T) {
	testform.NeedsFull(t, "waits for a limit of five seconds")
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	if err := os.WriteFile(filepath.Join(dir, "srun"), []byte("#!/bin/sh\necho $$ >"+pid+"\nexec sleep 600\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	n := runner.NewSlurm(runner.SlurmOptions{Name: "spark-01", Job: 1, Ask: runner.NoAsker{}})
	defer n.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := n.Run(ctx, runner.Script{Name: "look", Body: "echo ran"},
		func(l runner.Line) { t.Errorf("it ran: %s", l.Text) })
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Kind != runner.Unreachable || !strings.Contains(err.Error(), "no shell started there within ") ||
		!strings.Contains(e.Hint, "do squeue and sinfo -n spark-01 answer?") {
		t.Errorf("it says %v", err)
	}
	number, _ := os.ReadFile(pid)
	if p := strings.TrimSpace(string(number)); p == "" || alive(p) {
		t.Errorf("srun's process %q is left", p)
	}
}

// killedSrun: what a step runs ends without the srun that it came by, as when railbench's machine dies.
// Nothing is started in its place: proctrack/linuxproc kills from a list, and has lost what comes while it
// does; proctrack/cgroup, which clusters have, is too much for a test's own Slurm.
func killedSrun(t *testing.T, n runner.Node) {
	var pid string
	_, err := n.Run(t.Context(), runner.Script{
		Name: "orphan",
		Body: `setsid sh -c 'echo $$; trap "" TERM; exec sleep 321' & sleep 321`, Limit: time.Minute,
	}, func(l runner.Line) {
		if pid = l.Text; l.Stream != runner.Stdout {
			return
		}
		killed := 0
		for _, p := range children(t) {
			if args, _ := os.ReadFile(filepath.Join("/proc", p, "cmdline")); strings.HasPrefix(string(args), "srun\x00") {
				number, _ := strconv.Atoi(p)
				process, _ := os.FindProcess(number)
				if process.Kill() == nil {
					killed++
				}
			}
		}
		if killed == 0 {
			t.Error("no srun was found")
		}
	})
	if err == nil {
		t.Error("a script whose srun was killed has ended by itself")
	}
	for end := time.Now().Add(5 * time.Minute); alive(pid); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is left alive", pid)
		}
	}
}

// children are the processes that this one has started.
func children(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var all []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

func TestAllocated(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	if _, ok, err := runner.Allocated(get); ok || err != nil {
		t.Error(ok, err)
	}
	env["SLURM_JOB_ID"] = "12"
	if _, ok, err := runner.Allocated(get); !ok || err == nil {
		t.Error(ok, err)
	}
	env["SLURM_JOB_NODELIST"] = "spark-[01-02],x"
	a, ok, err := runner.Allocated(get)
	if !ok || err != nil || a.Job != 12 || strings.Join(a.Nodes, " ") != "spark-01 spark-02 x" || a.Release() != nil {
		t.Errorf("%+v, %v, %v", a, ok, err)
	}
	for _, bad := range []string{"0", "-1", "x", "1;2", "99999999999"} {
		env["SLURM_JOB_ID"] = bad
		if _, ok, err := runner.Allocated(get); !ok || err == nil {
			t.Errorf("%s: %v, %v", bad, ok, err)
		}
	}
}

// An allocation that isn't what was asked for is refused, with words that say whose it is, and given back.
func TestAllocateOddly(t *testing.T) {
	testform.NeedsFull(t, "starts processes")
	for gives, says := range map[string]string{
		"7 spark-01":          "the allocation 7 of sparks: it has spark-01, and 2 nodes were asked for",
		"7 spark-[01-03]":     "it has spark-[01-03], and 2 nodes",
		"7 a;id,b":            "the allocation 7 of sparks: ",
		"7":                   "the allocation 7 of sparks: the list is empty",
		"Welcome to the rack": "the output of salloc has no allocation",
	} {
		dir := t.TempDir()
		for name, body := range map[string]string{
			"salloc": "echo '" + gives + "'; exec cat >/dev/null", "squeue": "echo 12", "scancel": "echo $1 >" + dir + "/back",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		a, err := runner.Allocate(t.Context(), "sparks", 2)
		if err == nil || !strings.Contains(err.Error(), says) || a.Job != 0 {
			t.Errorf("%q: %+v, %v", gives, a, err)
		}
		if back, _ := os.ReadFile(filepath.Join(dir, "back")); string(back) != "12\n" {
			t.Errorf("%q: it gave back %q", gives, back)
		}
	}
}

// TestAllocate asks a real Slurm for nodes, and looks whether it has them back however it ends.
func TestAllocate(t *testing.T) {
	rig := nodetest.StartSlurm(t, 2)
	gone := func(what string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); len(rig.Jobs(t)) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: Slurm still has %q", what, rig.Jobs(t))
			}
		}
	}
	a, err := runner.Allocate(t.Context(), rig.Partition, 2)
	if err != nil || a.Job == 0 || !slices.Equal(a.Nodes, rig.Nodes) {
		t.Fatalf("%+v, %v", a, err)
	}
	n := runner.NewSlurm(runner.SlurmOptions{Name: a.Nodes[1], Job: a.Job})
	if stdout, _, _ := nodetest.Do(t, n, `echo "$SLURMD_NODENAME"`); !slices.Equal(stdout, a.Nodes[1:]) {
		t.Errorf("%q", stdout)
	}
	n.Close()
	// Another one waits, until no one wants it any more.
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	if _, err := runner.Allocate(short, rig.Partition, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nodes that were not free: %v", err)
	}
	cancel()
	if jobs := rig.Jobs(t); len(jobs) != 1 || jobs[0] != strconv.Itoa(a.Job) {
		t.Errorf("the one that waited is still there: %q", jobs)
	}
	if err := errors.Join(a.Release(), a.Release()); err != nil {
		t.Error(err)
	}
	gone("given back")
	// Given up at any moment, the one in which it is granted among them.
	for wait := time.Duration(0); wait < 80*time.Millisecond; wait += 8 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if a, err := runner.Allocate(ctx, rig.Partition, 2); err == nil {
			if err := a.Release(); err != nil {
				t.Error(err)
			}
		}
		cancel()
		gone(wait.String())
	}
	for _, c := range []struct {
		partition string
		nodes     int
	}{{"nowhere", 1}, {rig.Partition, 9}, {"-x", 1}, {"a;b", 1}, {rig.Partition, 0}} {
		// More nodes than there are is not an error of Slurm's: it waits for them.
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if a, err := runner.Allocate(ctx, c.partition, c.nodes); err == nil {
			t.Errorf("%+v: %+v", c, a)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := runner.Allocate(ctx, "nowhere", 1); err == nil ||
		!strings.Contains(err.Error(), "salloc gave no nodes of nowhere: ") || ctx.Err() != nil {
		t.Error(err)
	}
	gone("what can't be given")
}

// TestAllocateIsInterrupted: a salloc that has closed its output and goes on holds no one up.
func TestAllocateIsInterrupted(t *testing.T) {
	testform.NeedsFull(t, "waits for a limit")
	bin := t.TempDir()
	for name, text := range map[string]string{
		"salloc": "#!/bin/sh\nexec >&-\nexec sleep 300\n", "squeue": "#!/bin/sh\nexit 0\n", "scancel": "#!/bin/sh\nexit 0\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := runner.Allocate(ctx, "p", 2)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits for salloc, and nobody for it any more")
	}
}

// TestListsAsSlurmReadsThem compares with scontrol.
func TestListsAsSlurmReadsThem(t *testing.T) {
	nodetest.StartSlurm(t, 1)
	for _, list := range []string{
		"a", "n[1-3]", "n[01-03,07]", "n[8-11]", "n[08-11]", "n[098-101]", "r[1-2]n[01-02]",
		"a,b[1-2],c",
	} {
		out, err := exec.Command("scontrol", "show", "hostnames", list).CombinedOutput()
		if err != nil {
			t.Fatalf("scontrol: %v: %s", err, out)
		}
		if got, err := nodeset.Expand(list); err != nil || !slices.Equal(got, strings.Fields(string(out))) {
			t.Errorf("%s: %q, %v, and scontrol says %q", list, got, err, out)
		}
	}
}
