package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner/nodeset"
)

// SlurmOptions say which node of which allocation it is.
type SlurmOptions struct {
	Name string // the node's name in the rig
	Node string // Slurm's name of it; Name where empty
	Job  int    // the allocation's, which is the user's
	// Nodes are all of the allocation's, which a script there gets as a batch script does.
	Nodes []string
	Ask   Asker // for a sudo password
	// OnState is called when it changes whether steps can be made there. It must not block.
	OnState func(State, error)
}

// Slurm is a node of an allocation of the user's. Each script is a step of its own there, one task on one
// node, whatever else runs in the allocation (--overlap). It is under the supervisor as over SSH: the end shows as
// the end of srun's stdin, and a node that hears nothing ends the script by itself.
type Slurm struct {
	o    SlurmOptions
	sudo *sudo

	// It guards closed, and that nothing is added to runs after it was set.
	mu     sync.Mutex
	closed bool
	state  State // that was reported last
	// It ends alive.
	stop context.CancelFunc
	//nolint:containedctx // the node's own life, no call's: ends at Close, and every run is bound to it
	alive context.Context
	runs  sync.WaitGroup
}

// NewSlurm makes a node. It asks Slurm for nothing before the first Run.
func NewSlurm(o SlurmOptions) *Slurm {
	o.Node = cmp.Or(o.Node, o.Name)
	if o.OnState == nil {
		o.OnState = func(State, error) {}
	}
	n := &Slurm{o: o, sudo: newSudo(o.Name, o.Ask)}
	n.alive, n.stop = context.WithCancel(context.Background())
	return n
}

// Name is the node's name in the rig.
func (n *Slurm) Name() string { return n.o.Name }

// errDetaches is for a script that has to outlive its step.
var errDetaches = errors.New("Slurm ends everything that a step has started, so the node cannot roll a " +
	"change back automatically")

// Run runs s as a step of the allocation; see Node. A script that detaches is refused: Slurm would
// end with the step what it leaves.
func (n *Slurm) Run(ctx context.Context, s Script, emit func(Line)) (Exit, error) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return Exit{}, closedError("run "+s.Name+" on", n.o.Name)
	}
	n.runs.Add(1)
	n.mu.Unlock()
	defer n.runs.Done()
	if s.Detaches {
		return Exit{}, &Error{
			Kind: NoShell, Op: "run " + s.Name + " on", Node: n.o.Name, Err: errDetaches,
			Hint: "Change the network of this node over SSH",
		}
	}
	if err := slurmConfigured(); err != nil {
		return Exit{}, &Error{Kind: Unreachable, Op: "run " + s.Name + " on", Node: n.o.Name, Err: err, Hint: confHint}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.alive, cancel)()
	exit, err := runAs(ctx, srun{n.o}, n.sudo, s, emit)
	var known *Error
	switch {
	case errors.Is(err, errUnbegun) && errors.As(err, &known):
		known.Kind, known.Hint = Unreachable, "Slurm made no step there: do squeue and sinfo -n "+n.o.Node+" answer?"
	case err != nil && !errors.As(err, &known):
		err = n.explain(err, s.Name)
	}
	if err == nil && exit.Why == Ended && exit.Code > 128 {
		err = n.ended(s.Name)
	}
	err = at(err, n.o.Name)
	n.learn(err)
	return exit, err
}

// ended asks Slurm about a script that a signal has ended: the end of an allocation sends the same one as a
// user who ends the script, and output from before it proves nothing.
func (n *Slurm) ended(script string) error {
	ctx, cancel := context.WithTimeout(n.alive, slurmAnswer)
	defer cancel()
	state, err := slurmCommand(ctx, "squeue", "--noheader", "--jobs="+strconv.Itoa(n.o.Job), "--format=%T")
	if err != nil && !strings.Contains(state, "Invalid job id") {
		return nil //nolint:nilerr // Slurm doesn't answer: what the script's end says stands
	}
	switch state {
	case "RUNNING", "SUSPENDED":
		return nil
	}
	return n.explain(errEnded, script)
}

// errEnded is for a script that ended with its allocation.
var errEnded = errors.New("Slurm has ended it")

// learn records after a run whether the node can be reached: Slurm has no connection whose state shows it.
func (n *Slurm) learn(err error) {
	state := Connected
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == Unreachable || e.Kind == Lost) {
		state = Disconnected
	} else if err != nil {
		return // it says nothing of the node
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != state {
		n.state = state
		n.o.OnState(state, err)
	}
}

// Close ends every script that still runs and waits for their end. The allocation is its maker's.
func (n *Slurm) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.stop()
	n.runs.Wait()
	return nil
}

// explain says why a step could not be made, or ended without output of the script.
func (n *Slurm) explain(err error, script string) error {
	e := &Error{Kind: Lost, Op: "run " + script + " on", Err: err}
	job := strconv.Itoa(n.o.Job)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(err.Error(), w) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		e.Kind, e.Hint = Unreachable, "Slurm's commands are missing. Run railbench on a login node"
	case has("Invalid job id", "already completing", "job expired", "Expired or invalid job", "has been revoked",
		"has expired"):
		e.Kind, e.Hint = Unreachable, "The allocation "+job+" has ended: ask for another"
	case has("Unable to contact slurm controller", "Could not establish a configuration source"):
		e.Kind, e.Hint = Unreachable, "Slurm does not answer. Check: squeue"
	case has("Requested node configuration is not available", "not in the job's allocation", "is not in this job",
		"Invalid node name"):
		e.Kind, e.Hint = Unreachable, "Is "+n.o.Node+" a node of the allocation "+job+"? squeue -j "+job+" shows them"
	case has("Unable to create step"):
		e.Kind, e.Hint = Unreachable, "Slurm made no step there: does sinfo -n "+n.o.Node+" show the node as up?"
	case errors.Is(err, errSupervisor):
		e.Kind, e.Hint = NoShell, needs
	default:
		e.Hint = "Has the allocation " + job + " come to its end? The node ends the script by itself within " +
			SupervisorSilence.String()
	}
	return e
}

// slurmConfigured says at once what Slurm's commands find out after a minute: the file that the user named as
// Slurm's configuration is missing.
func slurmConfigured() error {
	name := os.Getenv("SLURM_CONF")
	if name == "" {
		return nil
	}
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("SLURM_CONF: %w", err)
	}
	return nil
}

const confHint = "SLURM_CONF names Slurm's configuration. Correct it, or unset it to use the " +
	"system's own"

// srun launches steps.
type srun struct{ o SlurmOptions }

// spare has none: a step that waits would be in everybody's way who looks at the allocation.
func (srun) spare(context.Context) *process { return nil }

// stepWait is how many seconds Slurm may take to make a step.
const stepWait = "15"

// The context does not end it, as with local: the supervisor does, and where srun is killed the node sees
// the end of its stdin.
func (l srun) launch(_ context.Context, command string) (*process, error) {
	cmd := exec.Command("srun", "--quiet", "--jobid="+strconv.Itoa(l.o.Job), "--overlap", "--nodes=1", "--ntasks=1",
		"--nodelist="+l.o.Node, "--mpi=none", "--mem=0", "--immediate="+stepWait, "--chdir=/", "--job-name=railbench",
		"sh", "-c", scripts.SlurmBatch+command, "railbench-batch")
	cmd.Args = append(cmd.Args, l.asInBatch()...)
	cmd.Env = slurmEnv(os.Environ())
	p, err := piped(cmd)
	if err != nil {
		return nil, err
	}
	heard := &complaints{from: p.stderr}
	p.stderr = heard
	// The supervisor's own status says nothing; that of an srun that made no step does. When it is given up, the
	// step goes on without srun until its supervisor notices.
	p.wait = func() error {
		err := cmd.Wait()
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return heard.why()
		}
		return err
	}
	return p, nil
}

// asInBatch are the variables of a batch script on its node.
func (l srun) asInBatch() []string {
	job, nodes := strconv.Itoa(l.o.Job), len(l.o.Nodes)
	set := []string{"SLURM_JOB_ID=" + job}
	if nodes > 0 {
		list, count := nodeset.Fold(l.o.Nodes), strconv.Itoa(nodes)
		set = append(set, "SLURM_JOBID="+job, "SLURM_JOB_NODELIST="+list, "SLURM_NODELIST="+list,
			"SLURM_JOB_NUM_NODES="+count, "SLURM_NNODES="+count, "SLURM_TASKS_PER_NODE=1(x"+count+")")
	}
	return set
}

// slurmEnv is the environment of a step: the user's, as with srun itself, but for what the
// allocation's shell was given. That is options of srun, and would say how many tasks a step has.
func slurmEnv(own []string) []string {
	var env []string
	for _, v := range own {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == "SLURM_CONF" || name == "SLURM_CLUSTERS" || name == "SLURM_CLUSTER_NAME":
		case strings.HasPrefix(name, "SLURM_"), strings.HasPrefix(name, "SRUN_"), strings.HasPrefix(name, "PMI"):
			continue
		}
		env = append(env, v)
	}
	return env
}

// complaints hands srun's stderr on, and keeps what srun itself said in it.
type complaints struct {
	from io.Reader

	mu   sync.Mutex
	last []byte // at most maxWhy bytes
}

func (c *complaints) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, p[:n]...)
	if over := len(c.last) - maxWhy; over > 0 {
		c.last = append([]byte(nil), c.last[over:]...)
	}
	return n, err
}

// why is what srun complained of; nil where it didn't.
func (c *complaints) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for line := range strings.Lines(string(c.last)) {
		line = strings.TrimSpace(line)
		for _, who := range []string{"srun: error: ", "srun: fatal: ", "slurmstepd: error: "} {
			if said, ok := strings.CutPrefix(line, who); ok {
				all = append(all, visible(said))
			}
		}
	}
	if all == nil {
		return nil
	}
	return said{strings.Join(all, "; "), errSrun}
}

var errSrun = errors.New("srun failed")

// visible is a text of Slurm's without what does something in place of being seen.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
