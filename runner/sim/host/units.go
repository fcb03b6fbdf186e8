package host

import (
	"context"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/sim/clock"
)

// What runs apart from the script and the connection that started it: processes
// in a session of their own, and the transient units of systemd. It ends with
// the node, which is when the rig is closed.

// A Unit is a service or a timer that systemd-run made.
type Unit struct {
	Name   string // with .service or .timer
	Active string // activating, active or failed
	Sub    string
	// nil for a timer.
	Proc *Process // of a service
	// Stop ends it; calling it again does nothing.
	// It only asks: the unit is there until it has ended.
	Stop func()
	Gone chan struct{} // closed when it is forgotten
	// collect is what --collect asks for: a unit that failed is forgotten too.
	collect bool
	// systemd's word: success, or exit-code.
	Result string
	// The command's, once it has ended.
	Status int
}

// SupervisorVariable is the mark by which a supervisor finds what a script left behind.
// What doesn't have it and is in a session of its own outlives the script.
const SupervisorVariable = "RAILBENCH_RUN"

// Apart runs a command in a session of its own, until it is over, end is called
// or the rig is closed; done gets its status. Callers hold the rig's lock.
func (n *Node) Apart(args, env []string, root bool, dir string, pid int) (p *Process, done chan int) {
	r := n.Rack
	// With room for the status: a waiter may be missing.
	done = make(chan int, 1)
	if pid == 0 {
		pid = n.NextPID
		n.NextPID += 3
	}
	ctx, cancel := context.WithCancel(r.Life)
	p = &Process{PID: pid, Args: args, Root: root, End: cancel, Started: n.sinceBoot()}
	// Nothing is started any more, and who waits gets the status of what was ended.
	if r.Closed {
		cancel()
		done <- Terminated
		return p, done
	}
	n.Procs[p.PID] = p
	sh := NewShell(n, root, false)
	sh.Proc = p
	c := &Call{
		Sh: sh, Node: n, Root: root, Args: args, Dir: dir, In: strings.NewReader(""), Err: io.Discard,
		Env: ValueIn(env), Exported: func() []string { return env },
	}
	c.setOut(io.Discard)
	r.alone(func() {
		defer cancel()
		code := c.Exec(ctx, args)
		// It was asked to end, however it ended.
		if ctx.Err() != nil {
			code = Terminated
		}
		r.Lock()
		defer r.Unlock()
		delete(n.Procs, p.PID)
		done <- code
	})
	return p, done
}

// A Transient is what systemd-run was asked for.
type Transient struct {
	// Without its kind; empty for one that systemd names.
	Unit string
	// Nothing is said of the unit on stderr.
	Quiet bool
	// It is forgotten also where it failed.
	Collect  bool
	OnActive string // empty where the service starts at once
	// NAME=value, on top of what the service manager gives.
	Env  []string
	Dir  string
	Args []string
}

// StartService starts a unit's command. Callers hold the rig's lock. On a rack that is shut it starts
// nothing, since nothing would wait for it.
func (n *Node) StartService(name string, t Transient) {
	if n.Rack.Closed {
		return
	}
	// The service manager's own environment, not the login's.
	env := append([]string{
		"LANG=en_US.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/snap/bin",
	}, t.Env...)
	p, done := n.Apart(t.Args, env, true, t.Dir, 0)
	u := &Unit{
		Name: name + ".service", Active: "active", Sub: "running", Proc: p,
		Stop: p.End, Gone: make(chan struct{}), collect: t.Collect, Result: "success",
	}
	n.Units[u.Name] = u
	n.Rack.alone(func() {
		clock.Wait(context.Background(), n.Rack.Clock, done)
		code := <-done
		n.Rack.Lock()
		defer n.Rack.Unlock()
		// A transient timer goes with its service (RemainAfterElapse=no).
		if timer := n.Units[name+".timer"]; timer != nil {
			timer.Forget(n)
		}
		// SIGTERM is a clean end for a service (systemd.service(5), SuccessExitStatus).
		if u.Status = code; code == 0 || code == 128+int(syscall.SIGTERM) || u.collect {
			u.Forget(n)
			return
		}
		u.Active, u.Sub, u.Result = "failed", "failed", "exit-code"
	})
}

// StartTimer starts a service of that name after a while, of the node's time. Callers hold
// the rig's lock. On a rack that is shut it starts nothing.
func (n *Node) StartTimer(name string, t Transient, after time.Duration) {
	if n.Rack.Closed {
		return
	}
	ctx, cancel := context.WithCancel(n.Rack.Life)
	u := &Unit{
		Name: name + ".timer", Active: "active", Sub: "waiting", Stop: cancel, Gone: make(chan struct{}), Result: "success",
	}
	n.Units[u.Name] = u
	n.Rack.alone(func() {
		defer cancel()
		if !n.Rack.Clock.Sleep(ctx, after) {
			return
		}
		n.Rack.Lock()
		defer n.Rack.Unlock()
		// It may have been stopped at the very moment.
		if ctx.Err() == nil {
			u.Sub = "running"
			n.StartService(name, t)
		}
	})
}

// Forget unloads a unit, unless another one has its name by now.
func (u *Unit) Forget(n *Node) {
	if n.Units[u.Name] == u {
		delete(n.Units, u.Name)
		close(u.Gone)
	}
}

// AlwaysActive are the services that scripts ask for and that every node has.
var AlwaysActive = []string{
	"ssh.service", "NetworkManager.service", "systemd-resolved.service", "docker.service", "multi-user.target",
}
