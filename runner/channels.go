package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// spares is how many supervisors wait on a connection at most. A cell runs its scripts in quick succession and several
// side by side, and an sshd allows ten channels a connection by default. What runs takes one that waits first.
const spares = 3

// refill is how long none may wait before one is started for what comes next: most scripts are over sooner, and
// their supervisor waits again.
const refill = 2 * time.Second

// hope is how long a run waits for a supervisor that is being started before it starts one of its own.
const hope = 3 * time.Second

// renewed is for how long a supervisor takes one script after the other. Then another login follows, with the
// environment and the limits that it has by then.
const renewed = time.Minute

// channels are the commands over one connection, each in a channel of its own.
// It is made for one connection and ends with it; a new connection has new channels.
type channels struct {
	client *ssh.Client
	work   sync.WaitGroup
	// Closed once, by close.
	gone chan struct{} // closed with the connection

	mu     sync.Mutex
	ready  []*waiting
	coming int // spares that are being started
	hoping int // runs that wait for one of them
	// Closed and replaced when a channel that was being opened is there or can't be opened.
	came   chan struct{}
	closed bool
}

// waiting is a spare supervisor and the goroutine that keeps it waiting.
type waiting struct {
	*process
	// It has room for the one answer, which may stay unread.
	exited <-chan error
	// Closed by take's caller or by close, whichever has it off the list.
	stop chan struct{}
	// Closed by the goroutine of the beats, when nothing writes any more.
	fed chan struct{}
}

func newChannels(client *ssh.Client) *channels {
	c := &channels{client: client, gone: make(chan struct{}), came: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fill()
	return c
}

// close ends the connection. Spares on the node see the end of their stdin.
func (c *channels) close() {
	c.mu.Lock()
	// It may be called twice, by the watch over the connection and by Close of the node.
	if !c.closed {
		close(c.gone)
	}
	c.closed = true
	for _, w := range c.ready {
		close(w.stop)
	}
	c.ready = nil
	c.mu.Unlock()
	c.client.Close()
	// After the connection is closed: every goroutine there waits for something of it.
	c.work.Wait()
}

// fill starts a spare where none waits or comes; mu is held. One that cannot be started is done without.
func (c *channels) fill() {
	if c.closed || len(c.ready)+c.coming > 0 {
		return
	}
	c.coming++
	c.work.Go(func() {
		p, exited, err := c.start(context.Background(), supervisorCommand(spareID))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.coming--
		close(c.came)
		c.came = make(chan struct{})
		// Its session ends with the connection, which is being closed.
		if err == nil && !c.closed {
			c.wait(p, exited)
		}
	})
}

// wait has a supervisor wait for a script; mu is held.
func (c *channels) wait(p *process, exited <-chan error) {
	w := &waiting{p, exited, make(chan struct{}), make(chan struct{})}
	c.ready = append(c.ready, w)
	c.work.Go(func() {
		defer close(w.fed)
		beat(w.stdin, "", spareBeat, w.stop)
	})
}

// keeps says what becomes of a supervisor that was started at some time when its script is over.
func (c *channels) keeps(p *process, exited <-chan error, started time.Time) func() {
	return func() {
		c.mu.Lock()
		keep := !c.closed && len(c.ready) < spares && time.Since(started) < renewed
		if keep {
			c.wait(p, exited)
		} else {
			c.fill()
		}
		c.mu.Unlock()
		if !keep {
			p.stdin.Close() // unlocked: it may be stuck in a dead connection until close
		}
	}
}

// spare hands a spare over, also one that is being started and that no other run waits for: a login costs a node
// most, and the second would not be there sooner.
func (c *channels) spare(ctx context.Context) *process {
	late := time.NewTimer(hope)
	defer late.Stop()
	for {
		w, came := c.take()
		if w == nil && came == nil {
			return nil
		}
		if w == nil {
			given := true
			select {
			case <-came:
			case <-ctx.Done():
				given = false
			case <-late.C:
				given = false
			}
			c.mu.Lock()
			c.hoping--
			c.mu.Unlock()
			if !given {
				return nil
			}
			continue
		}
		// Its heartbeats end before the run's begin. The lock is free meanwhile: a beat that is
		// stuck in a dead connection ends only by close, which takes the lock.
		close(w.stop)
		select {
		case <-w.fed:
		case <-ctx.Done():
			return nil
		}
		if len(w.exited) == 0 { // it may have died, when this machine slept
			return w.process
		}
	}
}

// take removes the spare that waited longest from the list. If none is ready but one is being opened for no
// other caller, it gives the channel that reports it, and the caller counts as waiting for it.
func (c *channels) take() (w *waiting, came <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.ready) - 1
	if last <= 0 && !c.closed {
		c.work.Go(func() {
			select {
			case <-c.gone:
			case <-time.After(refill):
				c.mu.Lock()
				defer c.mu.Unlock()
				c.fill()
			}
		})
	}
	switch {
	case last >= 0:
		w = c.ready[last]
		c.ready = c.ready[:last]
	case c.coming > c.hoping:
		c.hoping++
		came = c.came
	}
	return w, came
}

func (c *channels) launch(ctx context.Context, command string) (*process, error) {
	p, _, err := c.start(ctx, command)
	return p, err
}

// openWait is how long a node may take to open a channel and start a command. A node that answers
// keepalives may never do it, as with a login service that is stuck.
const openWait = 15 * time.Second

// start is open, which has no context of its own: who gives up leaves it behind, to end with the
// connection.
func (c *channels) start(ctx context.Context, command string) (*process, <-chan error, error) {
	if ctx.Err() != nil { // below, a channel that opens at once would be as good
		return nil, nil, fmt.Errorf("start a command: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openWait, fmt.Errorf("the node opened no channel within %s", openWait))
	defer cancel()
	type started struct {
		*process
		exited <-chan error
		err    error
	}
	came := make(chan started)
	c.mu.Lock()
	closed := c.closed
	if !closed { // close waits for all that began before it, and nothing begins after it
		c.work.Go(func() {
			p, exited, err := c.open(command)
			select {
			case came <- started{p, exited, err}:
			case <-ctx.Done():
				if err == nil {
					p.stdin.Close() // the supervisor ends for that
				}
			}
		})
	}
	c.mu.Unlock()
	if closed {
		return nil, nil, lostBefore(net.ErrClosed)
	}
	select {
	case s := <-came:
		return s.process, s.exited, s.err
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("start a command: %w", context.Cause(ctx))
	}
}

// closeWait is how long a node may take to close a channel that was closed here.
const closeWait = 2 * time.Second

// errSessions is for a channel that the node refuses to open.
var errSessions = errors.New("its sshd allows no more sessions on one connection")

// raiseSessions is what to do about it.
const raiseSessions = "Set MaxSessions 10 or more in /etc/ssh/sshd_config there, then run: systemctl reload ssh"

// lostBefore says that a connection ended before a command began.
func lostBefore(err error) error { return said{"the connection was lost before it started", err} }

// open opens a channel for a command. Both ways to know of its end are given: a spare's is
// looked at, a run's is waited for.
func (c *channels) open(command string) (*process, <-chan error, error) {
	session, err := c.client.NewSession()
	if _, refused := errors.AsType[*ssh.OpenChannelError](err); err != nil && !refused {
		// All that the library can say else is that the connection ended meanwhile.
		return nil, nil, lostBefore(err)
	} else if err != nil {
		return nil, nil, fmt.Errorf("%w (%w)", errSessions, err)
	}
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	stderr, err := session.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := session.Start(command); err != nil {
		// Else the channel would stay open until the connection ends, and an sshd allows ten.
		session.Close()
		return nil, nil, fmt.Errorf("start a command: %w", err)
	}
	started, exited, closed := time.Now(), make(chan error, 1), make(chan struct{})
	c.work.Go(func() {
		defer close(closed)
		err := session.Wait()
		// The status of the supervisor says nothing; the script's comes in a line of it.
		if _, ok := errors.AsType[*ssh.ExitError](err); ok {
			err = nil
		}
		session.Close()
		exited <- err
	})
	p := &process{
		stdin: stdin, stdout: stdout, stderr: stderr,
		wait: func() error { return <-exited },
		// Who holds the output of a script that has ended harms no other script. Where the node
		// doesn't close the channel either it does not answer, and the connection is closed.
		abandon: func() {
			session.Close()
			select {
			case <-closed:
			case <-time.After(closeWait):
				c.client.Close()
			}
		},
	}
	p.keep = c.keeps(p, exited, started)
	return p, exited, nil
}
