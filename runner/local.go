package runner

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// Local is this machine as a node.
type Local struct {
	name string
	sudo *sudo

	// It guards closed, and that nothing is added to runs after it was set.
	mu     sync.Mutex
	closed bool
	// It ends alive.
	stop context.CancelFunc
	//nolint:containedctx // the node's own life, no call's: ends at Close, and every run is bound to it
	alive context.Context
	runs  sync.WaitGroup
}

// NewLocal makes a node of this machine. ask is asked for a sudo password.
func NewLocal(name string, ask Asker) *Local {
	l := &Local{name: name}
	l.alive, l.stop = context.WithCancel(context.Background())
	l.sudo = newSudo(name, ask)
	return l
}

// Name is the node's name in the rig.
func (l *Local) Name() string { return l.name }

// Run runs s in a shell of this machine; see Node.
func (l *Local) Run(ctx context.Context, s Script, emit func(Line)) (Exit, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return Exit{}, closedError("run "+s.Name+" on", l.name)
	}
	l.runs.Add(1)
	l.mu.Unlock()
	defer l.runs.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.alive, cancel)()
	exit, err := runAs(ctx, local{}, l.sudo, s, emit)
	if errors.Is(err, errNoAnswer) {
		err = &Error{Kind: NoShell, Op: "run " + s.Name + " on", Node: l.name, Err: err, Hint: needs}
	}
	return exit, at(err, l.name)
}

// Close ends every script that still runs and waits for their end.
// It may be called twice; the second call waits as well.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.runs.Wait()
	return nil
}

// local launches in a session of its own: a Ctrl-C in railbench's terminal goes
// to railbench, which ends the supervisor, which ends the script.
type local struct{}

// spare has none: a shell starts in a millisecond here.
func (local) spare(context.Context) *process { return nil }

// The context does not end it: what ends the script is the supervisor, also where railbench itself is killed.
func (local) launch(_ context.Context, command string) (*process, error) {
	cmd := exec.Command("sh", "-c", command)
	p, err := piped(cmd)
	if err != nil {
		return nil, &Error{Kind: NoShell, Op: "start a shell on", Err: err}
	}
	// As over SSH, the supervisor's own status says nothing.
	p.wait = func() error {
		err := cmd.Wait()
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil
		}
		return err
	}
	return p, nil
}

// piped starts a command in a session of its own. The caller decides what its status means.
//
// If the caller gives up, it is killed. A supervisor ends by itself long before that.
func piped(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{stdin: stdin, stdout: stdout, stderr: stderr, abandon: func() {
		_ = cmd.Process.Kill() // it may be gone by now
		for _, c := range []io.Closer{stdin, stdout, stderr} {
			c.Close()
		}
	}}, nil
}
