package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/nodetest"
)

// inSlurm is railbench as a process, and what it printed.
func inSlurm(t *testing.T, env []string, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := asProcess(t, args...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestRunOnSlurm goes from the command line to a real scheduler and back.
func TestRunOnSlurm(t *testing.T) {
	rig := nodetest.StartSlurm(t, 3)
	none := func(what string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); len(rig.Jobs(t)) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: Slurm still has %q", what, rig.Jobs(t))
			}
		}
	}
	// Two of the three; what the cell finds on one machine that plays both is not the matter.
	out, errs, code := inSlurm(t, nil, "run", "gids", "--slurm", rig.Partition+":2", "--json")
	if code == exitUsage || code == exitUnreachable || !strings.Contains(out, `"name": "spark-02"`) || !strings.Contains(out, `"where": "Slurm, allocation 1"`) {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	for _, want := range []string{
		`asking Slurm for 2 nodes of sparks, for 10m0s at most`, `allocation 1: spark-\[01-02\]; it is given back at the end`, `gave the allocation 1 back`,
	} {
		if !regexp.MustCompile(want).MatchString(errs) {
			t.Errorf("it doesn't say %q: %s", want, errs)
		}
	}
	none("its own end")

	// Within an allocation: that of somebody who stays.
	job := rig.Job(t)
	env := []string{"SLURM_JOB_ID=" + strconv.Itoa(job), "SLURM_JOB_NODELIST=spark-[01-03]"}
	where := `"where": "Slurm, allocation ` + strconv.Itoa(job) + `"`
	if out, errs, code = inSlurm(t, env, "run", "gids", "--nodes", "slurm", "--link", "spark-01:spark-03", "--json"); code == exitUsage || strings.Count(out, where) != 3 {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "rig.toml")
	for _, c := range []struct {
		text, says string
		code       int
	}{
		{"engine = \"slurm\"\n[[node]]\nname = \"spark-02\"\n[[node]]\nname = \"spark-03\"\n", where, -1},
		{"engine = \"slurm\"\n[[node]]\nname = \"spark-02\"\n[[node]]\nname = \"spark-04\"\n", "has no node spark-04: it has spark-[01-03]", exitUsage},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code = inSlurm(t, env, "run", "gids", "--rig", file, "--json"); c.code >= 0 && code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("exit %d, want %q: %s\n%s", code, c.says, out, errs)
		}
	}
	if out, _, code := inSlurm(t, env, "nodes", "slurm"); code != exitOK || !strings.Contains(out, "spark-02  srun  allocation "+strconv.Itoa(job)) {
		t.Errorf("exit %d: %s", code, out)
	}
	written := filepath.Join(t.TempDir(), "written.toml")
	if out, errs, code := inSlurm(t, env, "init", "--nodes", "slurm", "-o", written); code != exitOK || !strings.Contains(out, "cabling: ") {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	if f, err := readRig(written); err != nil || f.Engine != slurmEngine || len(f.Nodes) != 3 || f.Nodes[2] != (nodeFile{Name: "spark-03"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if jobs := rig.Jobs(t); len(jobs) != 1 {
		t.Errorf("the allocation that was there before has gone: %q", jobs)
	}
	if out, err := exec.Command("scancel", strconv.Itoa(job)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none("the test's own")

	// However it is ended, Slurm has its nodes back; by a signal that nobody can catch, too.
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		endedBy(t, s, rig.Partition)
		none(s.String())
	}
}

// endedBy ends a railbench that has nodes of Slurm's.
func endedBy(t *testing.T, s syscall.Signal, partition string) {
	t.Helper()
	cmd := asProcess(t, "watch", "--listen", "127.0.0.1:0", "--slurm", partition+":3")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, had := bufio.NewScanner(errs), false
	for !had && lines.Scan() {
		had = strings.Contains(lines.Text(), "spark-[01-03]; it is given back at the end")
	}
	if !had {
		t.Errorf("%s: it has no nodes", s)
	}
	if err := cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was ended
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Errorf("%s: it goes on", s)
	}
}
