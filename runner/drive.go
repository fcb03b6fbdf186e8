package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A process is a supervisor that was started somewhere.
// All four are called by one run, and wait once.
type process struct {
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	// wait returns once both streams have ended and the supervisor is gone.
	wait func() error
	// abandon drops the process without waiting: the connection is gone, or the
	// supervisor does not end. It makes the streams end.
	abandon func()
	// keep takes it back when its script is over and its supervisor waits for another; nil where it serves one.
	keep func()
}

// A launcher starts a command line in a node's shell.
type launcher interface {
	launch(ctx context.Context, command string) (*process, error)
	// spare gives a supervisor that waits for a script already; nil where there is none.
	spare(ctx context.Context) *process
}

// endWait is how long the end of a script may take after its supervisor was asked to end it: the grace period, the
// kill, and a slow node. The supervisor takes up to 6 s itself: 60 looks, 0.1 s apart.
const endWait = 15 * time.Second

// startWait is how long a login, or Slurm, may take to start a supervisor. A shell whose home is on a slow file
// system takes seconds, and an srun without an answer waits for minutes. With sudo the user may have to
// confirm on a telephone: there the script's own limit holds.
const startWait = 30 * time.Second

// heldWait is how long the streams may take to end once the supervisor has: what is under way on a slow link,
// and what a node under load takes to end a shell.
const heldWait = 5 * time.Second

// drive runs one script on a launcher. secret, where not empty, is a line that
// sudo reads before the supervisor reads anything.
func drive(ctx context.Context, l launcher, prefix, secret string, s Script, emit func(Line)) (Exit, error) {
	if err := s.Check(); err != nil {
		return Exit{}, err
	}
	// No tool can guess the id, nor two runs have the same: it is the proof that a line is the
	// supervisor's, and the mark by which the node finds what the script left.
	r := &run{id: rand.Text(), began: time.Now(), exit: Exit{Code: -1}}
	p, err := supervised(ctx, l, prefix, r.id)
	if err != nil {
		return Exit{}, err
	}
	// One of sudo's is root's, and what detaches may hold its streams.
	r.again = prefix == "" && p.keep != nil && !s.Detaches
	stop := make(chan struct{})
	r.let = sync.OnceFunc(func() { close(stop) })
	defer r.let()
	// Once this returns, nothing writes to stdin any more. It returns soon after let: a write that
	// is stuck ends with the connection, or when the supervisor is abandoned.
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		beat(p.stdin, secret+supervisorFrame(r.id, s, r.again), SupervisorBeat, stop)
		if r.again { // stdin is the next script's, too
			_, _ = io.WriteString(p.stdin, supervisorEnd) // a lost connection shows as the end of the streams
			return
		}
		p.stdin.Close()
	}()
	begins := startWait
	if prefix != "" {
		begins = s.limit()
	}
	waits := r.follow(ctx, p, begins, s.limit(), emit)
	r.let()
	<-fed
	if waits {
		p.keep()
		return r.answer(s.Name, nil)
	}
	if r.again {
		p.stdin.Close()
	}
	return r.answer(s.Name, p.wait())
}

// supervised starts a supervisor, or takes the one that waits. A spare runs as the user who logged
// in: it is none for sudo.
func supervised(ctx context.Context, l launcher, prefix, id string) (*process, error) {
	if prefix == "" {
		if p := l.spare(ctx); p != nil {
			return p, nil
		}
	}
	return l.launch(ctx, prefix+supervisorCommand(id))
}

// A run is one script on its supervisor, and what is known of its end so far.
type run struct {
	id    string
	began time.Time
	exit  Exit
	// let ends the heartbeats, and with them what still runs on the node.
	let func()
	// again asks the supervisor to wait for another script after this one.
	again bool
	// late fires when a script that was asked to end has had its time; nil before.
	late <-chan time.Time

	begun     bool   // the supervisor has the script
	answered  bool   // the supervisor reported the exit status
	silent    bool   // the node ended it, because it heard nothing from here
	over      bool   // the supervisor said that it ends
	left      string // what it could not end, as it reported
	login     string // what the login printed before the supervisor began
	abandoned bool   // the streams did not end in time
}

// follow hands the lines over until both streams have ended, or the supervisor waits for another script, and ends the
// script where ctx or the limit asks for that. A supervisor that has not begun by begins is given up.
func (r *run) follow(ctx context.Context, p *process, begins, wallTime time.Duration, emit func(Line)) (waits bool) {
	lines := make(chan []Line)
	// A supervisor says at most five things; the reader must not wait for one who has gone.
	marks := make(chan string, 5)
	streams := make(chan struct{})
	var again [2]bool // to be read once streams is closed
	go func() {
		defer close(streams)
		var both sync.WaitGroup
		both.Go(func() { again[Stdout], r.login = readLines(p.stdout, Stdout, r.id, lines, marks) })
		ofStderr := ""
		if r.again {
			ofStderr = r.id
		}
		both.Go(func() { again[Stderr], _ = readLines(p.stderr, Stderr, ofStderr, lines, nil) })
		both.Wait()
	}()
	limit, start := time.NewTimer(wallTime), time.NewTimer(begins)
	defer limit.Stop()
	defer start.Stop()
	cancelled := ctx.Done()
	for open := true; open; {
		select {
		case batch := <-lines:
			for _, line := range batch {
				emit(line)
			}
		case m := <-marks:
			r.heard(m)
		case <-cancelled:
			// A closed channel would be ready for ever: the loop would do nothing else.
			cancelled = nil
			r.end(Cancelled)
		case <-limit.C:
			r.end(TimedOut)
		case <-start.C:
			if !r.begun && !r.abandoned {
				r.end(TimedOut)
				r.late, r.abandoned = nil, true
				p.abandon()
			}
		case <-r.late:
			// It fires once.
			r.late, r.abandoned = nil, true
			p.abandon()
		case <-streams:
			open = false
		}
	}
	// The streams have ended: what the supervisor said last is in the channel's buffer.
	for len(marks) > 0 {
		r.heard(<-marks)
	}
	return again[Stdout] && again[Stderr]
}

// heard takes what the supervisor said, without the run's id. Its words are separate from its protocol.
func (r *run) heard(mark string) {
	r.begun = true // whatever it says
	switch word, rest, _ := strings.Cut(mark, " "); word {
	case "limit":
		r.end(TimedOut)
	case "silent":
		r.silent = true
		r.end(Ended)
	case "exit":
		if code, err := strconv.Atoi(rest); err == nil {
			// The supervisor goes on after that, to look for what has been left behind.
			r.exit.Code, r.exit.Elapsed = code, time.Since(r.began)
			r.answered = true
		}
		r.end(Ended)
	case "held":
		r.left = rest
	case "over":
		wait := heldWait
		if r.left != "" {
			wait = time.Second // they are alive, and most likely hold the streams
		}
		r.over, r.late = true, time.After(wait)
	}
}

// end lets the script go. The first reason stays: what is ended for its limit is not
// cancelled as well, and what has answered ended by itself.
// It is called as often as there are reasons.
func (r *run) end(why Why) {
	if !r.answered && r.exit.Why == Ended {
		r.exit.Why = why
	}
	r.let()
	if r.late == nil {
		wait := endWait
		if !r.begun && why == Cancelled {
			wait = heldWait // giving up a login that hangs leaves nothing to end
		}
		r.late = time.After(wait)
	}
}

// answer is what drive gives back, once the process is gone; waited is how it went.
func (r *run) answer(name string, waited error) (Exit, error) {
	if r.exit.Elapsed == 0 {
		r.exit.Elapsed = time.Since(r.began)
	}
	switch {
	case r.abandoned && r.over:
		what := "a process that it started holds its output and could not be ended"
		if r.left != "" {
			what = "processes that it started could not be ended: " + r.left
		}
		return r.exit, &Error{
			Kind: Held, Op: "end " + name + " on", Err: errors.New(what),
			Hint: "It is still running. End it there, or let the script redirect its output",
		}
	case r.abandoned && !r.begun:
		err := fmt.Errorf("%w within %s", errUnbegun, max(time.Second, r.exit.Elapsed.Round(time.Second)))
		if r.login != "" {
			err = fmt.Errorf("%w. The login printed: %s", err, lastWords(r.login))
		}
		return r.exit, &Error{
			Kind: NoShell, Op: "run " + name + " on", Err: err,
			Hint: "Check that a login there completes. A started script is ended automatically " +
				"within " + SupervisorSilence.String(),
		}
	case r.abandoned:
		return r.exit, &Error{
			Kind: Lost, Op: "end " + name + " on", Err: errors.New("its supervisor did not end in time"),
			Hint: "The node ends it automatically within " + SupervisorSilence.String() +
				". Look for leftover processes there",
		}
	case r.silent:
		// The node ended it, not the script itself: its status says nothing.
		return r.exit, &Error{
			Kind: Silent, Op: "run " + name + " on",
			Err:  errors.New("the node ended it after hearing nothing from this machine for " + SupervisorSilence.String()),
			Hint: "This machine was asleep, or the connection was stuck. Run it again",
		}
	case r.answered:
		return r.exit, nil
	case waited == nil && !r.begun && r.login != "":
		return r.exit, &Error{
			Kind: NoShell, Op: "run " + name + " on",
			Err:  fmt.Errorf("the login ended before a shell started, and printed: %s", lastWords(r.login)),
			Hint: "Check the login shell of this user there: getent passwd USER",
		}
	case waited == nil:
		// The login shell reports success, and the supervisor said nothing.
		return r.exit, fmt.Errorf("%w: %w", errNoAnswer, errSupervisor)
	default:
		return r.exit, fmt.Errorf("%w: %w", errNoAnswer, waited)
	}
}

// errNoAnswer is for streams that ended before the supervisor reported an exit status.
var errNoAnswer = errors.New("no exit status arrived")

// errUnbegun is for a supervisor of which nothing was heard.
var errUnbegun = errors.New("no shell started there")

// needs is what the supervisor is made of.
const needs = "The node needs sh, and perl or else setsid, timeout, dd and grep"

// errSupervisor is for a supervisor that has itself ended, on a node that goes on answering.
var errSupervisor = errors.New("the shell around the script ended first")

// beat writes a frame and then heartbeats, until stop or until the other end is gone. It ignores write
// errors: the reader of the streams sees the end.
func beat(w io.Writer, frame string, every time.Duration, stop <-chan struct{}) {
	if _, err := io.WriteString(w, frame); err != nil {
		return
	}
	// The first beat at once: a node under load may be slow to read it.
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, "."); err != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// lastWords is what a login printed, as the end of a sentence that goes on.
func lastWords(printed string) string {
	return strings.TrimRight(strings.ToValidUTF8(printed, ""), ". ")
}
