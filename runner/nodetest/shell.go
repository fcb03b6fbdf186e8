package nodetest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
)

// Here is this machine as a node, for tests of packages that use nodes: runner's own in the full form, with the
// supervisor, and a Shell in the hermetic form.
func Here(name string) runner.Node {
	if testform.Full() {
		return runner.NewLocal(name, runner.NoAsker{})
	}
	return NewShell(name)
}

// A Shell is this machine as a node without the supervisor: a script is one sh in a process group of its own,
// which is killed when the script ends. What leaves the group outlives it.
type Shell struct {
	*runner.Local // forwards ports, and runs what wants root

	alive func() context.Context
	stop  context.CancelFunc
	runs  sync.WaitGroup
}

// NewShell makes one.
func NewShell(name string) *Shell {
	alive, stop := context.WithCancel(context.Background())
	return &Shell{
		Local: runner.NewLocal(name, runner.NoAsker{}), alive: func() context.Context { return alive }, stop: stop,
	}
}

// askedFirst is how long a script has to end after SIGTERM.
const askedFirst = 5 * time.Second

var errNodeClosed = errors.New("the node was closed")

// Run runs s; see runner.Node.
func (n *Shell) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (exit runner.Exit, err error) {
	if s.Root {
		return n.Local.Run(ctx, s, emit)
	}
	if err := s.Check(); err != nil {
		return exit, err
	}
	if n.alive().Err() != nil {
		return exit, &runner.Error{Kind: runner.Closed, Op: "run " + s.Name + " on", Node: n.Name(), Err: errNodeClosed}
	}
	n.runs.Add(1)
	defer n.runs.Done()
	if ctx.Err() != nil {
		return runner.Exit{Why: runner.Cancelled}, nil
	}
	cmd := exec.Command("sh", "-c", s.Text())
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	printed := make(chan runner.Line)
	var readers sync.WaitGroup
	var ours []io.Closer
	for stream, of := range []*io.Writer{runner.Stdout: &cmd.Stdout, runner.Stderr: &cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return exit, err
		}
		*of = w
		ours = append(ours, w)
		readers.Go(func() {
			defer r.Close()
			lines := runner.Lines(runner.Stream(stream), time.Now, func(l runner.Line) { printed <- l })
			_, _ = io.Copy(lines, r)
			_ = lines.Close() // hands over the last line
		})
	}
	began := time.Now()
	err = cmd.Start()
	for _, w := range ours {
		w.Close()
	}
	if err != nil {
		readers.Wait()
		return exit, err
	}
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := cmd.Process.Wait()                      // its error says that there is no such process: it has ended
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the script has left
		readers.Wait()
		close(printed)
		ended <- state
	}()
	exit.Why = n.follow(ctx, s.HardLimit(), cmd.Process.Pid, printed, emit)
	state := <-ended
	exit.Elapsed = time.Since(began)
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Code = 128 + int(status.Signal())
	} else {
		exit.Code = state.ExitCode()
	}
	return exit, nil
}

// follow passes lines on until the last one, and ends the script's group on a limit or where a user cancels
// it.
func (n *Shell) follow(ctx context.Context, limit time.Duration, group int, printed <-chan runner.Line,
	emit func(runner.Line),
) (why runner.Why) {
	over := time.NewTimer(limit)
	defer over.Stop()
	limits, cancelled, closed := over.C, ctx.Done(), n.alive().Done()
	var impatient <-chan time.Time
	ask := func(reason runner.Why) {
		why, limits, cancelled, closed = reason, nil, nil, nil
		impatient = time.After(askedFirst)
		_ = syscall.Kill(-group, syscall.SIGTERM) // it may have ended by now, and so below
	}
	for {
		select {
		case l, open := <-printed:
			if !open {
				return why
			}
			emit(l)
		case <-limits:
			ask(runner.TimedOut)
		case <-cancelled:
			ask(runner.Cancelled)
		case <-closed:
			ask(runner.Cancelled)
		case <-impatient:
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}

// Close ends what runs, and waits for its end.
func (n *Shell) Close() error {
	n.stop()
	n.runs.Wait()
	return n.Local.Close()
}
