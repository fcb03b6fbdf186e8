// Package undo makes a change on a node that is rolled back automatically unless it is confirmed in time. The
// rollback script is stored on the node, a rollback timer is started, and the change runs apart from the
// connection that asked for it. The Journal here keeps the rollback scripts of the changes that stayed.
//
// The change and its rollback are scripts that the caller supplies: this package knows processes, files and
// time limits, and no interface.
package undo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/assets/scripts"
	"github.com/railbench/railbench/runner"
)

// A Guard is one change on one node. Its files are under /run, because a reboot
// undoes every change that it is made for, and takes them with it.
type Guard struct {
	Node runner.Node
	ID   string // unique on the node: letters, digits and dashes
}

// The errors that a caller acts on.
var (
	// ErrWentBack is for a switch that was faster: the node is as it was before.
	ErrWentBack = errors.New("it was not confirmed in time, and the node has rolled back automatically")
	// ErrBusy is for another change that waits to be confirmed on the node.
	ErrBusy = errors.New("another change is in progress there")
	// ErrRefused is for a script that ran to its end on the node and said no. One that should have armed the
	// switch has left nothing there.
	ErrRefused = errors.New("the node refused it")
)

const (
	root     = "/run/railbench"
	exitBusy = 3
	exitGone = 4

	// shortly is the limit of the scripts that only start or look.
	shortly = time.Minute
	// pause is between two attempts to reach a node whose connection was cut.
	pause = 500 * time.Millisecond
)

// vars are what the scripts here read, and more, by name and value in turn.
func (g Guard) vars(more ...string) map[string]string {
	v := map[string]string{
		"ROOT": root, "DIR": root + "/" + g.ID, "UNIT": "railbench-" + g.ID, "GO": scripts.UndoGo,
		"WATCH": scripts.Undo + scripts.UndoWatch,
	}
	for i := 0; i < len(more); i += 2 {
		v[more[i]] = more[i+1]
	}
	return v
}

// script hands over only what its text reads: the scripts within BACK and CHANGE are long,
// and every one of them would carry them.
func (g Guard) script(name, body string, vars map[string]string) runner.Script {
	used := map[string]string{}
	for k, v := range vars {
		if strings.Contains(body, k) {
			used[k] = v
		}
	}
	return runner.Script{Name: name, Body: body, Vars: used, Limit: shortly, Root: true, Detaches: true}
}

// Arm stores the rollback script and starts the rollback timer, which rolls the change back after a time
// unless Confirm comes first. Nothing has changed when Arm fails.
func (g Guard) Arm(ctx context.Context, back string, after time.Duration) error {
	seconds := strconv.Itoa(int(after.Seconds()))
	_, err := g.run(ctx, g.script("start the rollback timer", scripts.Undo+scripts.UndoArm, g.vars("BACK", back, "AFTER",
		seconds)))
	return err
}

// A refusal is an error that is ErrRefused, too.
type refusal struct{ error }

func (r refusal) Unwrap() []error { return []error{r.error, ErrRefused} }

// Start runs the change apart from the connection, which the change may cut. It
// returns when that is certain to begin, a moment later.
func (g Guard) Start(ctx context.Context, change string) error {
	_, err := g.run(ctx, g.script("start the change", scripts.Undo+scripts.UndoStart, g.vars("CHANGE", change)))
	return err
}

// A Report is how a script that ran apart from the connection ended.
type Report struct {
	Code   int
	Output string
}

// Wait waits for the end of the change. A connection that is cut meanwhile is
// made again for as long as ctx lasts: a node that answers is the proof that the
// change left it reachable.
func (g Guard) Wait(ctx context.Context) (Report, error) { return g.wait(ctx, "change") }

// Confirm stops the rollback timer: the change stays, and so does the rollback script.
func (g Guard) Confirm(ctx context.Context) error {
	_, err := g.run(ctx, g.script("confirm the change", scripts.Undo+scripts.UndoConfirm, g.vars()))
	return err
}

// Back goes back now, whatever state the change is in, and waits for the end of
// it. It may be called again after it failed. back is for a node that lost its copy.
func (g Guard) Back(ctx context.Context, back string) (Report, error) {
	err := g.persist(ctx, func() error {
		_, err := g.run(ctx, g.script("roll back", scripts.Undo+scripts.UndoBack, g.vars("BACK", back)))
		return err
	})
	if err != nil {
		return Report{}, err
	}
	return g.wait(ctx, "back")
}

// Forget removes what the node keeps about a change that is back.
func (g Guard) Forget(ctx context.Context) error {
	_, err := g.run(ctx, g.script("forget the change", scripts.Undo+scripts.UndoForget, g.vars()))
	return err
}

// wait looks again as long as nothing has ended: a look is short, so that its limit is not a limit of the change.
func (g Guard) wait(ctx context.Context, what string) (r Report, err error) {
	for {
		var out string
		err = g.persist(ctx, func() (err error) {
			out, err = g.run(ctx, g.script("wait for its end", scripts.UndoWait, g.vars("WHAT", what)))
			return err
		})
		if err != nil {
			return r, err
		}
		first, rest, _ := strings.Cut(out, "\n")
		if word, code, _ := strings.Cut(first, " "); word == "exit" {
			if r.Code, err = strconv.Atoi(code); err != nil {
				return r, fmt.Errorf("wait for its end on %s: %q is not an exit status", g.Node.Name(), code)
			}
			r.Output = rest
			return r, nil
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
	}
}

// run gives a script's stdout. What it complains of is the error.
func (g Guard) run(ctx context.Context, s runner.Script) (string, error) {
	said, err := runner.Ask(ctx, g.Node, s)
	switch {
	case err != nil:
		return "", err
	case said.Exit.OK():
		return said.Out, nil
	case said.Exit.Why == runner.Cancelled && ctx.Err() != nil:
		return "", ctx.Err()
	}
	why := said.Failed()
	if said.Exit.Why == runner.Ended {
		switch said.Exit.Code {
		case exitGone:
			why = ErrWentBack
		case exitBusy:
			why = fmt.Errorf("%w: %s", ErrBusy, said.Complaints)
		}
		why = refusal{why}
	}
	return "", fmt.Errorf("%s on %s: %w", s.Name, g.Node.Name(), why)
}

// persist tries again while the node cannot be reached.
func (g Guard) persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		var e *runner.Error
		if err == nil || !errors.As(err, &e) {
			return err
		}
		switch e.Kind {
		case runner.Lost, runner.Silent, runner.Refused, runner.Unreachable, runner.Unknown:
		default:
			return err
		}
		if runner.ClockOf(g.Node).Await(ctx, pause) == runner.Interrupted {
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}
}
