package nodetest

import (
	"cmp"
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

	"github.com/railbench/railbench/runner/testform"
)

// A SlurmRig is a real Slurm: munged, slurmctld and a slurmd for each node, on loopback or in networks of
// their own.
type SlurmRig struct {
	Dir, Conf string
	Partition string
	Nodes     []string
	Slurmds   []*exec.Cmd // by node
	places    []SlurmPlace
}

// A SlurmPlace is where a daemon runs, and the address at which the others find it.
type SlurmPlace struct {
	Netns Netns
	Addr  string
}

// StartSlurm starts one on loopback that ends with the test, and makes it the one that Slurm's commands find. It
// needs root, as slurmd does.
func StartSlurm(t *testing.T, nodes int) *SlurmRig {
	t.Helper()
	return startSlurm(t, make([]SlurmPlace, nodes+1))
}

// StartSlurmIn starts one with a node in each of some places, and slurmctld in the first, where Slurm's commands
// have to run (SlurmRig.Command).
func StartSlurmIn(t *testing.T, login SlurmPlace, nodes ...SlurmPlace) *SlurmRig {
	t.Helper()
	return startSlurm(t, append([]SlurmPlace{login}, nodes...))
}

// command runs a program in the place.
func (p SlurmPlace) command(name string, args ...string) *exec.Cmd {
	if p.Netns.Name == "" {
		return exec.Command(name, args...)
	}
	// The namespace's /sys reports its interfaces; "ip netns exec" would take the control groups away, which slurmd
	// looks for.
	const own = `mount --rbind /sys/fs/cgroup /mnt && mount -t sysfs sysfs /sys && mount --rbind /mnt /sys/fs/cgroup && exec "$@"`
	args = append([]string{"--net=/run/netns/" + p.Netns.Name, "unshare", "-m", "sh", "-c", own, "sh", name}, args...)
	return exec.Command("nsenter", args...)
}

// startSlurm starts munged and then the others, who need it, and waits until Slurm calls all nodes idle.
func startSlurm(t *testing.T, places []SlurmPlace) *SlurmRig {
	t.Helper()
	nodes := len(places) - 1
	testform.NeedsRoot(t)
	munged, ctld, slurmd := testform.Tool(t, "munged"), testform.Tool(t, "slurmctld"), testform.Tool(t, "slurmd")
	for _, name := range []string{"srun", "salloc", "squeue", "scancel", "sinfo", "scontrol"} {
		testform.Tool(t, name)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// slurm.conf has short names, as gethostname_short gives them.
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	r := &SlurmRig{Dir: dir, Conf: filepath.Join(dir, "slurm.conf"), Partition: "sparks", places: places}
	// All daemons are on one machine, so each needs a port of its own.
	ports := freePorts(t, nodes+1)
	var lines strings.Builder
	for i := range nodes {
		name := fmt.Sprintf("spark-%02d", i+1)
		r.Nodes = append(r.Nodes, name)
		fmt.Fprintf(&lines, "NodeName=%s NodeHostname=%s NodeAddr=%s Port=%d CPUs=8 State=UNKNOWN\n", name, host,
			cmp.Or(places[i+1].Addr, loopback), ports[i+1])
	}
	// munge wants a key of 32 to 1024 bytes.
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // it never fails
	for name, text := range map[string]string{
		"munge.key": string(key), "slurm.conf": fmt.Sprintf(slurmConf, host, ports[0], dir, r.Partition,
			cmp.Or(places[0].Addr, loopback)) + lines.String(),
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
	daemon(t, exec.Command(munged, "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"),
		"--pid-file="+in("munged.pid"),
		"--log-file="+in("munged.log"), "--seed-file="+in("munged.seed")))
	within(t, 10*time.Second, "munged", func() bool { return exists(in("munge.sock")) })
	daemon(t, places[0].command(ctld, "-D", "-f", r.Conf))
	for i, name := range r.Nodes {
		r.Slurmds = append(r.Slurmds, daemon(t, places[i+1].command(slurmd, "-D", "-N", name, "-f", r.Conf)))
	}
	within(t, 30*time.Second, "Slurm", func() bool {
		out, _ := r.Command("sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return strings.TrimSpace(string(out)) == fmt.Sprint(nodes)
	})
	// Before the daemons: what runs in a job is ended by them.
	t.Cleanup(func() {
		for _, job := range r.Jobs(t) {
			// --full reaches the batch's shell and its steps, too. A job that had already ended is not a
			// failure.
			_ = r.Command("scancel", "--signal=KILL", "--full", job).Run()
			_ = r.Command("scancel", job).Run()
		}
		within(t, 20*time.Second, "the end of the jobs", func() bool { return len(r.Jobs(t)) == 0 })
	})
	return r
}

const loopback = "127.0.0.1"

// slurmConf is for a host, a port, a folder, a partition and an address.
// Several nodes on one machine are a test's (slurmd has to be built for that, as Debian's is): they say that
// they have more processors than there are (config_overrides), and no control groups, accounting or mail are
// asked for. A node that was down comes back by itself (ReturnToService).
const slurmConf = `ClusterName=railbench
SlurmctldHost=%s(%[5]s)
SlurmctldPort=%[2]d
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

// Command is a program where slurmctld is.
func (r *SlurmRig) Command(name string, args ...string) *exec.Cmd {
	return r.places[0].command(name, args...)
}

// Jobs are the jobs that Slurm has, but for those that have ended, or are about to.
func (r *SlurmRig) Jobs(t *testing.T) []string {
	t.Helper()
	out, err := r.Command("squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED",
		"--format=%i").Output()
	if err != nil {
		t.Fatalf("squeue: %v", err)
	}
	return strings.Fields(string(out))
}

// Job starts a job on all nodes, which goes on until the end of the test.
func (r *SlurmRig) Job(t *testing.T) int {
	t.Helper()
	out, err := r.Command("salloc", "--no-shell", "--partition="+r.Partition,
		fmt.Sprintf("--nodes=%d", len(r.Nodes))).CombinedOutput()
	var job int
	if _, after, ok := strings.Cut(string(out), "job allocation "); ok {
		_, _ = fmt.Sscanf(after, "%d", &job) // 0 is reported below
	}
	if err != nil || job == 0 {
		t.Fatalf("salloc: %v: %s", err, out)
	}
	return job
}

// freePorts are free when it returns, and held by no one.
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
func daemon(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
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
		_ = cmd.Wait() // its output is reported where the test has failed
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
			t.Logf("%s:\n%s", filepath.Base(cmd.Path), text)
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
