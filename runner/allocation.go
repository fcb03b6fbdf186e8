package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/nodeset"
)

// An Allocation is a job of Slurm's with nodes in which steps can run.
type Allocation struct {
	Job   int
	Nodes []string
	// release gives it back; nil for one that was there before.
	release func() error
}

// Allocated is the allocation that this process was started in (salloc, sbatch), by its
// environment. ok is false outside of one.
func Allocated(getenv func(string) string) (a Allocation, ok bool, err error) {
	text := getenv("SLURM_JOB_ID")
	if text == "" {
		return a, false, nil
	}
	if a.Job, err = jobID(text); err != nil {
		return a, true, err
	}
	list := getenv("SLURM_JOB_NODELIST")
	if list == "" {
		return a, true, errors.New("SLURM_JOB_ID is set, and SLURM_JOB_NODELIST isn't")
	}
	if a.Nodes, err = nodeset.Expand(list); err != nil {
		return a, true, fmt.Errorf("SLURM_JOB_NODELIST: %w", err)
	}
	return a, true, nil
}

func jobID(text string) (int, error) {
	job, err := strconv.ParseUint(text, 10, 31)
	if err != nil || job == 0 {
		return 0, fmt.Errorf("%q is not a job of Slurm's", text)
	}
	return int(job), nil
}

// Release gives back what Allocate asked for, and returns once Slurm has it. It may be called
// twice. An allocation that was there before stays.
func (a Allocation) Release() error {
	if a.release == nil {
		return nil
	}
	return a.release()
}

// The keeper runs where salloc would run a shell. It prints the id of its job and holds the job until the end
// of its stdin, which is also the end of this process, however it comes.
const keeper = `echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST"; exec cat >/dev/null`

// How long Slurm may take for an answer to squeue and scancel, and salloc to give back.
const (
	slurmAnswer  = 10 * time.Second
	slurmRelease = 20 * time.Second
)

// Allocate asks Slurm for nodes of a partition and waits for them until ctx ends. Nodes that were granted
// after that are given back before it returns.
func Allocate(ctx context.Context, partition string, nodes int) (Allocation, error) {
	if err := nodeset.Check("partition", partition); err != nil {
		return Allocation{}, err
	}
	if nodes < 1 || nodes > nodeset.Most {
		return Allocation{}, fmt.Errorf("%d nodes can't be asked for", nodes)
	}
	if err := slurmConfigured(); err != nil {
		return Allocation{}, fmt.Errorf("%w: %s", err, confHint)
	}
	p, out, err := request(partition, nodes)
	if err != nil {
		return Allocation{}, err
	}
	first := make(chan string, 1)
	go func() {
		defer close(p.ended)
		line, _ := bufio.NewReader(io.LimitReader(out, 1<<16)).ReadString('\n') // its end says the same as an error
		first <- line
		_, _ = io.Copy(io.Discard, out) // it says nothing more
		_ = p.cmd.Wait()                // what it said says why
	}()
	a := Allocation{release: sync.OnceValue(p.release)}
	givenUp := func() error {
		return fmt.Errorf("wait for %d nodes of %s: %w", nodes, partition, context.Cause(ctx))
	}
	select {
	case line := <-first:
		id, list, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch a.Job, err = jobID(id); {
		case err == nil:
			if a.Nodes, err = nodeset.Expand(list); err == nil && len(a.Nodes) != nodes {
				err = fmt.Errorf("it has %s, and %d nodes were asked for", nodeset.Fold(a.Nodes), nodes)
			}
			if err != nil {
				err = fmt.Errorf("the allocation %d of %s: %w", a.Job, partition, err)
			}
		case line != "":
			err = fmt.Errorf("the output of salloc has no allocation: %w", err)
		default:
			select { // it may have closed its output and go on
			case <-p.ended:
				err = fmt.Errorf("salloc gave no nodes of %s: %s", partition, p.complaint())
			case <-ctx.Done():
				err = givenUp()
			}
		}
	case <-ctx.Done():
		err = givenUp()
	}
	if err != nil {
		return Allocation{}, errors.Join(err, a.Release())
	}
	return a, nil
}

// request starts a salloc; out is what it prints.
func request(partition string, nodes int) (p *pending, out io.Reader, err error) {
	// The job is found by this name if salloc ended before it printed the number.
	p = &pending{name: "railbench-" + rand.Text(), ended: make(chan struct{})}
	p.cmd = exec.Command("salloc", "--partition="+partition, "--nodes="+strconv.Itoa(nodes), "--exclusive", "--job-name="+
		p.name,
		"sh", "-c", keeper)
	p.cmd.Env = slurmEnv(os.Environ())
	// In a session of its own: a ctrl+c in the terminal is railbench's, which gives the nodes back last.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	p.cmd.Stderr = &p.said
	if out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("ask Slurm for nodes: %w", err)
	}
	return p, out, nil
}

// A pending is what Slurm was asked for, given or not.
type pending struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	said  lockedBuffer
	ended chan struct{} // closed once salloc is gone
}

// release ends the keeper, and with it salloc, which gives the job back; then it looks whether
// Slurm still has it.
func (p *pending) release() error {
	p.stdin.Close()
	// One that still waits in the queue has no keeper: salloc takes the signal for "not any more".
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone by now
	select {
	case <-p.ended:
	case <-time.After(slurmRelease):
		_ = p.cmd.Process.Kill() // as above
	}
	ctx, cancel := context.WithTimeout(context.Background(), slurmAnswer)
	defer cancel()
	left, err := p.left(ctx)
	if err != nil {
		return fmt.Errorf("look whether Slurm has the nodes back: %w: squeue --name=%s shows it", err, p.name)
	}
	for _, job := range left {
		if out, err := slurmCommand(ctx, "scancel", strconv.Itoa(job)); err != nil {
			return fmt.Errorf("give the allocation %d back: %w: %s; scancel %[1]d does", job, err, out)
		}
	}
	return nil
}

// left are the jobs of this name that Slurm still has: at most one, and none that is on its end.
func (p *pending) left(ctx context.Context) ([]int, error) {
	out, err := slurmCommand(ctx, "squeue", "--noheader", "--name="+p.name,
		"--states=PENDING,CONFIGURING,RUNNING,SUSPENDED", "--format=%i")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	var all []int
	for word := range strings.FieldsSeq(out) {
		job, err := jobID(word)
		if err != nil {
			return nil, err
		}
		all = append(all, job)
	}
	return all, nil
}

// slurmCommand runs one of Slurm's short commands and gives what it said.
func slurmCommand(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slurmEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	var said lockedBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return visible(strings.TrimSpace(said.text())), err
}

// complaint is what salloc said, in one line.
func (p *pending) complaint() string {
	var all []string
	for line := range strings.Lines(p.said.text()) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "salloc: error:")); line != "" {
			all = append(all, visible(line))
		}
	}
	if all == nil {
		return "it said nothing"
	}
	return strings.Join(all, "; ")
}

// A lockedBuffer keeps the beginning of what is written into it.
type lockedBuffer struct {
	most int // bytes; 0 for mostSaid
	mu   sync.Mutex
	b    bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:max(0, min(len(p), l.limit()-l.b.Len()))])
	return len(p), nil
}

const mostSaid = 64 << 10

func (l *lockedBuffer) limit() int { return cmp.Or(l.most, mostSaid) }

// full reports whether more may have been written than is kept.
func (l *lockedBuffer) full() bool { return len(l.text()) == l.limit() }

func (l *lockedBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
