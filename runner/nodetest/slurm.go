package nodetest

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A SlurmRig is a real Slurm on loopback: munged, slurmctld and a slurmd for each node.
type SlurmRig struct {
	Dir, Conf string
	Partition string
	Nodes     []string
	Slurmds   []*exec.Cmd // by node
}

// StartSlurm starts one that ends with the test, and makes it the one that Slurm's commands find. It
// needs root, as slurmd does.
func StartSlurm(t *testing.T, nodes int) *SlurmRig {
	t.Helper()
	if !Whole() {
		t.Skip("a real Slurm is for RAILBENCH_FULL=1")
	}
	if os.Getuid() != 0 {
		t.Skip("slurmd needs root")
	}
	munged, ctld, slurmd := Tool(t, "munged"), Tool(t, "slurmctld"), Tool(t, "slurmd")
	for _, name := range []string{"srun", "salloc", "squeue", "scancel", "sinfo", "scontrol"} {
		Tool(t, name)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	r := &SlurmRig{Dir: dir, Conf: filepath.Join(dir, "slurm.conf"), Partition: "sparks"}
	ports := freePorts(t, nodes+1)
	var lines strings.Builder
	for i := range nodes {
		name := fmt.Sprintf("spark-%02d", i+1)
		r.Nodes = append(r.Nodes, name)
		fmt.Fprintf(&lines, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=8 State=UNKNOWN\n", name, host, ports[i+1])
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // it never fails
	for name, text := range map[string]string{
		"munge.key": string(key), "slurm.conf": fmt.Sprintf(slurmConf, host, ports[0], dir, r.Partition) + lines.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", r.Conf)
	in := func(name string) string { return filepath.Join(dir, name) }
	daemon(t, munged, "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"), "--pid-file="+in("munged.pid"),
		"--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"))
	within(t, 10*time.Second, "munged", func() bool { return exists(in("munge.sock")) })
	daemon(t, ctld, "-D", "-f", r.Conf)
	for _, name := range r.Nodes {
		r.Slurmds = append(r.Slurmds, daemon(t, slurmd, "-D", "-N", name, "-f", r.Conf))
	}
	within(t, 30*time.Second, "Slurm", func() bool {
		out, _ := exec.Command("sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return strings.TrimSpace(string(out)) == fmt.Sprint(nodes)
	})
	// Before the daemons: what runs in a job is ended by them.
	t.Cleanup(func() {
		for _, job := range r.Jobs(t) {
			_ = exec.Command("scancel", "--signal=KILL", "--full", job).Run()
			_ = exec.Command("scancel", job).Run()
		}
		within(t, 20*time.Second, "the end of the jobs", func() bool { return len(r.Jobs(t)) == 0 })
	})
	return r
}

// slurmConf is for a host, a port, a folder and a partition.
const slurmConf = `ClusterName=railbench
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
SlurmUser=root
SlurmdUser=root
MailProg=/bin/true
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.sock
CredType=cred/munge
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/spool-%%n
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd-%%n.pid
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdLogFile=%[3]s/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
KillWait=2
PartitionName=%[4]s Nodes=ALL Default=YES MaxTime=60 State=UP
`

// Jobs are the jobs that Slurm has, but for those that have ended.
func (r *SlurmRig) Jobs(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("squeue", "--noheader", "--format=%i").Output()
	if err != nil {
		t.Fatalf("squeue: %v", err)
	}
	return strings.Fields(string(out))
}

// Job starts a job on all nodes, which goes on until the end of the test.
func (r *SlurmRig) Job(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("salloc", "--no-shell", "--partition="+r.Partition, fmt.Sprintf("--nodes=%d", len(r.Nodes))).CombinedOutput()
	var job int
	if _, after, ok := strings.Cut(string(out), "job allocation "); ok {
		_, _ = fmt.Sscanf(after, "%d", &job) // 0 is told below
	}
	if err != nil || job == 0 {
		t.Fatalf("salloc: %v: %s", err, out)
	}
	return job
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close() // all of them together, so that no port comes twice
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// daemon starts a program that goes on until the end of the test.
func daemon(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, args...)
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	// What ends this process with a signal ends these, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what it said is told where the test has failed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), text)
		}
		log.Close()
	})
	return cmd
}

// within waits until something is so, and fails the test where that takes longer.
func within(t *testing.T, limit time.Duration, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: nothing for %s", what, limit)
		}
	}
}
