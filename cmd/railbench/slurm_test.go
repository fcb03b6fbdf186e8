package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
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

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/rigfile"
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
		for end := time.Now().Add(5 * time.Minute); len(rig.Jobs(t)) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: Slurm still has %q", what, rig.Jobs(t))
			}
		}
	}
	// Two of the three; what the cell finds on one machine that plays both is not the matter.
	out, errs, code := inSlurm(t, nil, "run", "gids", "--slurm", rig.Partition+":2", "--json")
	if code == exitUsage || code == exitUnreachable || !strings.Contains(out, `"name": "spark-02"`) ||
		!strings.Contains(out, `"where": "Slurm, allocation 1"`) {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	for _, want := range []string{
		`asking Slurm for 2 nodes of sparks, for 10m0s at most`, `allocation 1: spark-\[01-02\]; it is given back at the end`,
		`gave the allocation 1 back`,
	} {
		if !regexp.MustCompile(want).MatchString(errs) {
			t.Errorf("it doesn't say %q: %s", want, errs)
		}
	}
	none("its own end")

	// Within an allocation: that of a person who stays.
	job := rig.Job(t)
	env := []string{"SLURM_JOB_ID=" + strconv.Itoa(job), "SLURM_JOB_NODELIST=spark-[01-03]"}
	where := `"where": "Slurm, allocation ` + strconv.Itoa(job) + `"`
	if out, errs, code = inSlurm(t, env, "run", "gids", "--nodes", "slurm", "--link", "spark-01:spark-03",
		"--json"); code == exitUsage || strings.Count(out, where) != 3 {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "rig.toml")
	for _, c := range []struct {
		text, says string
		code       int
	}{
		{"engine = \"slurm\"\n[[node]]\nname = \"spark-02\"\n[[node]]\nname = \"spark-03\"\n", where, -1},
		{
			"engine = \"slurm\"\n[[node]]\nname = \"spark-02\"\n[[node]]\nname = \"spark-04\"\n",
			"has no node spark-04: it has spark-[01-03]", exitUsage,
		},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code = inSlurm(t, env, "run", "gids", "--rig", file, "--json"); c.code >= 0 && code != c.code ||
			!strings.Contains(out+errs, c.says) {
			t.Errorf("exit %d, want %q: %s\n%s", code, c.says, out, errs)
		}
	}
	if out, _, code := inSlurm(t, env, "nodes", "slurm"); code != exitOK ||
		!strings.Contains(out, "spark-02  srun  allocation "+strconv.Itoa(job)) {
		t.Errorf("exit %d: %s", code, out)
	}
	written := filepath.Join(t.TempDir(), "written.toml")
	if out, errs, code := inSlurm(t, env, "init", "--nodes", "slurm", "-o", written); code != exitOK ||
		!strings.Contains(out, "cabling: ") {
		t.Errorf("exit %d: %s\n%s", code, out, errs)
	}
	if f, err := readRig(written); err != nil || f.Engine != rigfile.Slurm || len(f.Nodes) != 3 ||
		f.Nodes[2] != (rigfile.Node{Name: "spark-03"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if jobs := rig.Jobs(t); len(jobs) != 1 {
		t.Errorf("the allocation that was there before has gone: %q", jobs)
	}
	if out, err := exec.Command("scancel", strconv.Itoa(job)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none("the test's own")

	// However it is ended, Slurm has its nodes back; by a signal that no one can catch, too.
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		endedBy(t, s, rig.Partition)
		none(s.String())
	}
}

// endedBy ends a railbench that has nodes of Slurm's.
func endedBy(t *testing.T, s syscall.Signal, partition string) {
	t.Helper()
	cmd := asProcess(t, "serve", "--listen", "127.0.0.1:0", "--slurm", partition+":3")
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
	case <-time.After(5 * time.Minute):
		_ = cmd.Process.Kill()
		t.Errorf("%s: it goes on", s)
	}
}

// TestMeasuresOverSlurm measures between two nodes of Slurm's that have a link of their own: each cell's two ends are
// steps on two nodes, one of which waits for the other, and what the server left behind is ended.
func TestMeasuresOverSlurm(t *testing.T) {
	testform.Tool(t, "iperf3")
	testform.Tool(t, "ping")
	if !testform.Full() {
		t.Skip("a real Slurm is for RAILBENCH_FULL=1")
	}
	login, one, two := nodetest.NewNetns(t), nodetest.NewNetns(t), nodetest.NewNetns(t)
	login.Sh("ip link add br0 type bridge && ip addr add 10.9.0.1/24 dev br0 && ip link set br0 up")
	for i, n := range []nodetest.Netns{one, two} {
		login.Sh(fmt.Sprintf("ip link add to%d type veth peer name mgmt netns %s && ip link set to%[1]d master br0 up", i,
			n.Name))
		n.Sh(fmt.Sprintf("ip addr add 10.9.0.%d/24 dev mgmt && ip link set mgmt up", 10+i))
	}
	one.Sh("ip link add rail0 type veth peer name rail0 netns " + two.Name)
	for i, n := range []nodetest.Netns{one, two} {
		n.Sh(fmt.Sprintf("ip addr add 192.168.100.%d/24 dev rail0 && ip link set rail0 up", 10+i))
	}
	rig := nodetest.StartSlurmIn(t, nodetest.SlurmPlace{Netns: login, Addr: "10.9.0.1"},
		nodetest.SlurmPlace{Netns: one, Addr: "10.9.0.10"}, nodetest.SlurmPlace{Netns: two, Addr: "10.9.0.11"})
	self, err := exec.LookPath("railbench") // of TestMain
	if err != nil {
		t.Fatal(err)
	}
	book, home := filepath.Join(t.TempDir(), "ethernet.md"), t.TempDir()
	if err := os.WriteFile(book, assets.EthernetRunbook, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (headless.Object, string) {
		t.Helper()
		cmd := rig.Command(self, append([]string{
			"run", "--runbook", book, "--trust", "--slurm", rig.Partition + ":2", "--json", "-p", "PEER_ADDR=192.168.100.11",
			"-p", "TCP_SECONDS=2",
		}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // its verdicts say how it went
		var r headless.Object
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		return r, errs.String()
	}
	// How much is sent again between namespaces, and how late, says how busy the machine is.
	r, errs := run("-p", "MOST_RETRANSMITS=10000000", "-p", "MOST_MS=500", "--all")
	if len(r.Cells) != 5 {
		t.Errorf("%d cells: %s", len(r.Cells), errs)
	}
	for _, c := range r.Cells {
		if c.Verdict != steps.Pass {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
		}
		t.Logf("%s: %s: %s", c.ID, c.Verdict, c.Reason)
	}
	// A threshold that no link here reaches, and a server that is not there.
	if r, _ = run("-p", "LEAST_GBPS=900", "tcp"); len(r.Cells) != 1 || r.Cells[0].Verdict != steps.Fail ||
		!strings.Contains(r.Cells[0].Reason, "slower than") {
		t.Errorf("%+v", r.Cells)
	}
	two.Sh("ip link set rail0 down")
	if r, _ = run("answers", "tcp"); len(r.Cells) != 2 || r.Cells[0].Verdict == steps.Pass ||
		r.Cells[1].Verdict == steps.Pass {
		t.Errorf("over a link that is down: %+v", r.Cells)
	}
	for what, n := range map[string]nodetest.Netns{"spark-01": one, "spark-02": two} {
		if left, err := n.Try("ss -Htlnp 'sport = :5201'"); err != nil || strings.TrimSpace(left) != "" {
			t.Errorf("left on %s: %s, %v", what, left, err)
		}
	}
	if jobs := rig.Jobs(t); len(jobs) > 0 {
		t.Errorf("Slurm still has %q", jobs)
	}
}
