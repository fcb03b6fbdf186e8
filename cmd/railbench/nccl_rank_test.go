package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
)

// fakeNCCLTest is a program that takes nccl-tests' options: HELP is what its release prints, and HOW how it ends.
const fakeNCCLTest = `#!/bin/sh
[ "$1" != -h ] || { printf '%s\n' "$HELP"; exit 0; }
echo "arguments $*"
while [ $# -gt 0 ]; do
	[ "$1" != -J ] || file=$2
	shift
done
case $HOW in
hangs) echo begun; exec sleep 100 ;;
crashes) kill -SEGV $$ ;;
esac
[ -z "$file" ] || printf '{"version":3,"env":["TOKEN=my \\"results\\": secret"],"nccl_version":22809,"config":{},' >"$file"
[ -z "$file" ] || [ "$HOW" = full ] || printf '"results":[{"size":1},{"size":2}],"average_bus_bandwidth":{}}' >>"$file"
echo table
[ "$HOW" != lingers ] || exec sleep 100
[ "$HOW" != fails ] || exit 7
`

// rankOf is the script of one rank by the shell of this machine, as rank 0 where nothing else is said.
func rankOf(ctx context.Context, t *testing.T, env ...string) (*exec.Cmd, string) {
	t.Helper()
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "all_reduce_perf")
	// Who is started by another test meanwhile would hold it open for writing, and no one can run it then.
	syscall.ForkLock.RLock()
	err = os.WriteFile(program, []byte(fakeNCCLTest), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	run := "test-" + strings.ToLower(rand.Text()) // the same tests may run twice at a time on this machine
	folder := "/tmp/railbench-" + run
	t.Cleanup(func() { os.RemoveAll(folder) })
	c := exec.CommandContext(ctx, "sh", "-c", all["NCCL_RANK_SH"], "rank", program, "-b", "64K")
	c.Env = append(os.Environ(), "OMPI_COMM_WORLD_RANK=0", "RAILBENCH_LAUNCH="+run, "HELP=[-J,--output_file <file>]")
	c.Env = append(c.Env, env...)
	return c, folder
}

// Rank 0 has its figures written to a file where its release can, prints them without the environment that stands
// before them, ends as its program did, and leaves nothing.
func TestNCCLRank(t *testing.T) {
	t.Parallel()
	const figures = "#railbench -J {\"results\":[{\"size\":1},\n#railbench -J " +
		"{\"size\":2}],\"average_bus_bandwidth\":{}}\n"
	for name, c := range map[string]struct {
		env    []string
		report bool // it is asked for
		prints string
		exit   string
	}{
		"a release with -J": {nil, true, "table\n" + figures, ""},
		"an old release":    {[]string{"HELP=[-h,--help]"}, false, "table\n", ""},
		"another rank":      {[]string{"OMPI_COMM_WORLD_RANK=1"}, false, "table\n", ""},
		"by srun":           {[]string{"OMPI_COMM_WORLD_RANK=", "SLURM_PROCID=0"}, true, "table\n" + figures, ""},
		"no launcher":       {[]string{"OMPI_COMM_WORLD_RANK="}, false, "table\n", ""},
		"no run":            {[]string{"RAILBENCH_LAUNCH="}, false, "table\n", ""},
		"a disk is full":    {[]string{"HOW=full"}, true, "table\n", ""},
		"it fails":          {[]string{"HOW=fails"}, true, "table\n" + figures, "exit status 7"},
		"it crashes":        {[]string{"HOW=crashes"}, true, "", "signal: segmentation fault"},
	} {
		cmd, folder := rankOf(t.Context(), t, c.env...)
		out, err := cmd.Output()
		said := ""
		if err != nil {
			said = err.Error()
		}
		first, rest, _ := strings.Cut(string(out), "\n")
		if !strings.HasPrefix(said, c.exit) || c.exit == "" && err != nil || rest != c.prints {
			t.Errorf("%s: %v: %q", name, err, out)
		}
		want := "arguments -b 64K"
		if c.report {
			want += " -J " + folder + "/nccl.json"
		}
		if first != want {
			t.Errorf("%s: %q, want %q", name, first, want)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it left %s: %v", name, folder, err)
		}
	}
}

// A signal that would end the shell ends the program, too, and its file goes.
func TestNCCLRankIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if ignored[sig] {
			continue // a shell cannot trap what it was started to ignore
		}
		cmd, folder := rankOf(t.Context(), t, "HOW=hangs")
		cmd.WaitDelay = 5 * time.Minute
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var text string
		for b := make([]byte, 4096); !strings.Contains(text, "begun"); {
			n, err := pipe.Read(b)
			if text += string(b[:n]); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		// Wait ends once no one holds the pipe: the program is gone then.
		if err := cmd.Wait(); err == nil || err.Error() != "signal: terminated" {
			t.Errorf("%s: %v", sig, err)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it left %s: %v", sig, folder, err)
		}
	}
}

// It goes, too, where who would read the figures has gone before: printing them ends the shell.
func TestNCCLRankIsAbandoned(t *testing.T) {
	t.Parallel()
	cmd, folder := rankOf(t.Context(), t, "HOW=lingers")
	cmd.WaitDelay = 5 * time.Minute
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var text string
	for b := make([]byte, 4096); !strings.Contains(text, "table"); {
		n, err := read.Read(b)
		if text += string(b[:n]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	read.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left %s: %v", folder, err)
	}
}

// On the simulated rig the figures come from -J, nothing of the environment is printed, and no node keeps a file.
func TestCollectivesReport(t *testing.T) {
	t.Parallel()
	f, b := ranOn(t, rigFlags{rig: "sim"}, "nccl-allreduce")
	v := f.Ended["nccl-allreduce"].Verdict
	exact := false
	for _, e := range v.Evidence {
		exact = exact || e.Name == "figures" && strings.HasPrefix(e.Value.(string), "-J")
	}
	if v.Grade != steps.Pass || !exact {
		t.Errorf("%s: %s: %v", v.Grade, v.Reason, v.Evidence)
	}
	output := f.Book.Cells["nccl-allreduce"].Output
	for _, l := range output.Lines(0, output.Len()) {
		if strings.Contains(l.Text, "RAILBENCH_LAUNCH") || strings.Contains(l.Text, `"env"`) {
			t.Errorf("it prints %q", l.Text)
		}
	}
	leavesNoFile(t, b)
	// One that is ended on its limit leaves none either.
	f, b = ranOn(t, rigFlags{rig: "sim", faults: []string{"nccl-hang"}}, "nccl-allreduce")
	if v := f.Ended["nccl-allreduce"].Verdict; v.Grade != steps.Inconclusive {
		t.Errorf("%s: %s", v.Grade, v.Reason)
	}
	leavesNoFile(t, b)
}

func leavesNoFile(t *testing.T, b *openRig) {
	t.Helper()
	for _, name := range b.simRig.Nodes() {
		n, err := b.simRig.Node(name, sim.NodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := runner.Text(t.Context(), n, runner.Script{Name: "look", Body: "ls /tmp; echo looked"})
		if err != nil || strings.Contains(out, "railbench-") || !strings.Contains(out, "looked") {
			t.Errorf("%s has %q, %v", name, out, err)
		}
		n.Close()
	}
}
