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

// A process is a leash that was started somewhere.
type process struct {
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	// wait returns once both streams have ended and the leash is gone.
	wait func() error
	// abandon drops the process without waiting: the connection is gone, or the
	// leash does not end. It makes the streams end.
	abandon func()
}

// A launcher starts a command line in a node's shell.
type launcher interface {
	launch(command string) (*process, error)
	// spare gives a leash that waits for a script already; nil where there is none.
	spare() *process
}

// endWait is how long the end of a script may take once its leash was told to
// end it: the grace period, the kill, and a slow node.
const endWait = 15 * time.Second

// drive runs one script on a launcher. secret, where not empty, is a line that
// sudo reads before the leash reads anything.
func drive(ctx context.Context, l launcher, prefix, secret string, s Script, emit func(Line)) (Exit, error) {
	if err := s.Check(); err != nil {
		return Exit{}, err
	}
	began := time.Now()
	id := rand.Text()
	var p *process
	if prefix == "" {
		p = l.spare()
	}
	if p == nil {
		var err error
		if p, err = l.launch(prefix + leashCommand(id)); err != nil {
			return Exit{}, err
		}
	}

	stop := make(chan struct{})
	let := sync.OnceFunc(func() { close(stop) })
	defer let()
	// Once this returns, nothing writes to stdin any more.
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		feed(p.stdin, secret+leashFrame(id, s.Text(), s.limit()), LeashBeat, stop)
	}()

	lines := make(chan []Line)
	marks := make(chan string, 4)
	streams := make(chan struct{})
	go func() {
		defer close(streams)
		var both sync.WaitGroup
		both.Go(func() { readLines(p.stdout, Stdout, id, lines, marks) })
		both.Go(func() { readLines(p.stderr, Stderr, "", lines, nil) })
		both.Wait()
	}()

	exit := Exit{Code: -1}
	answered := false
	limit := time.NewTimer(s.limit())
	defer limit.Stop()
	cancelled := ctx.Done()
	var late <-chan time.Time
	abandoned, silent := false, false
	end := func(why Why) {
		if !answered && exit.Why == Ended {
			exit.Why = why
		}
		let()
		if late == nil {
			late = time.After(endWait)
		}
	}
	for open := true; open; {
		select {
		case batch := <-lines:
			for _, line := range batch {
				emit(line)
			}
		case m := <-marks:
			switch word, rest, _ := strings.Cut(strings.TrimPrefix(m, id+" "), " "); word {
			case "limit":
				end(TimedOut)
			case "silent":
				silent = true
				end(Ended)
			case "exit":
				if code, err := strconv.Atoi(rest); err == nil {
					exit.Code, exit.Elapsed = code, time.Since(began)
					answered = true
				}
				end(Ended)
			}
		case <-cancelled:
			cancelled = nil
			end(Cancelled)
		case <-limit.C:
			end(TimedOut)
		case <-late:
			late, abandoned = nil, true
			p.abandon()
		case <-streams:
			open = false
		}
	}
	// The streams have ended: what they said is in the channels' buffers.
	for len(marks) > 0 {
		switch word, rest, _ := strings.Cut(strings.TrimPrefix(<-marks, id+" "), " "); {
		case word == "silent":
			silent = true
		case word == "exit" && !answered:
			if code, err := strconv.Atoi(rest); err == nil {
				exit.Code, exit.Elapsed = code, time.Since(began)
				answered = true
			}
		}
	}
	let()
	<-fed
	err := p.wait()
	if exit.Elapsed == 0 {
		exit.Elapsed = time.Since(began)
	}
	switch {
	case abandoned:
		return exit, &Error{
			Kind: Lost, Op: "end " + s.Name + " on", Err: errors.New("its leash did not end in time"),
			Hint: "The node ends it by itself within " + LeashSilence.String() + "; if it answers, look for leftovers there",
		}
	case silent:
		// The node ended it, not the script itself: its status says nothing.
		return exit, &Error{
			Kind: Silent, Op: "run " + s.Name + " on", Err: errors.New("the node ended it, because it heard nothing from here for " + LeashSilence.String()),
			Hint: "Was this machine asleep, or the connection stuck? Run it again",
		}
	case answered:
		return exit, nil
	case err == nil:
		err = errLeash
		fallthrough
	default:
		return exit, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
}

// errNoAnswer says that the streams ended and the leash never told an exit status.
var errNoAnswer = errors.New("no exit status arrived")

// needs is what the leash is made of.
const needs = "The node needs sh, setsid, timeout, head and grep"

// errLeash says that the leash itself has ended, on a node that goes on answering.
var errLeash = errors.New("the shell around the script ended first")

// feed writes the frame and then heartbeats until stop, and closes stdin. Write
// errors are not its business: whoever reads the streams sees the end.
func feed(w io.WriteCloser, frame string, every time.Duration, stop <-chan struct{}) {
	defer w.Close()
	beat(w, frame, every, stop)
}

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
