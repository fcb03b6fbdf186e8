package runner

import (
	"context"
	"math"
	"reflect"
	"time"
)

// A Clock is the time of a rig's nodes. On real nodes it is the wall clock. A simulated rig has its own time,
// which advances only while everything that has joined it waits. So the durations and the order of events
// there do not depend on how busy this machine is.
//
// For that it has to know which goroutines work and which wait. A goroutine that has joined passes on the
// context that it got, waits with Await, runs scripts, or marks other work with Apart; it starts others with
// Go. Of those that have joined one works at a time, in the same order each time.
type Clock interface {
	// Now is the rig's time.
	// It is safe everywhere, also for who has not joined.
	Now() time.Time
	// Join runs f as part of what happens on the rig's time, and returns when it has.
	// f gets a context that stands for who it is; what it hands that to waits on its behalf.
	Join(ctx context.Context, f func(context.Context))
	// Go starts f in parallel, as part of what happens on the rig's time.
	Go(ctx context.Context, f func(context.Context))
	// Await waits until one of the channels is closed and gives its index, the lowest if several are; or Late
	// when limit is over, or Interrupted when ctx ends. Nothing is sent on the channels.
	Await(ctx context.Context, limit time.Duration, closed ...<-chan struct{}) int
	// WithTimeout is context.WithTimeoutCause on the rig's time; where cause is nil it
	// is context.DeadlineExceeded.
	WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc)
	// Apart runs f, which waits for something that is not of the rig: a person, or a
	// service of this side. The rig's time stands still meanwhile: all of it where still is
	// set, a moment otherwise, so that an answer given at once is given at the same instant
	// each time.
	Apart(ctx context.Context, still bool, f func())
}

// What Await gives instead of the index of a channel.
const (
	Late        = -1
	Interrupted = -2
)

// Forever is a limit that is never over.
const Forever time.Duration = math.MaxInt64

// ClockOf is the clock that a node's scripts live by.
func ClockOf(n Node) Clock {
	if timed, ok := n.(interface{ Clock() Clock }); ok {
		return timed.Clock()
	}
	return WallClock{}
}

// WallClock is the time of real nodes.
type WallClock struct{}

// Now is the machine's time.
func (WallClock) Now() time.Time { return time.Now() }

// Join runs f.
func (WallClock) Join(ctx context.Context, f func(context.Context)) { f(ctx) }

// Go starts f.
func (WallClock) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }

// Apart runs f.
func (WallClock) Apart(_ context.Context, _ bool, f func()) { f() }

// WithTimeout is the standard library's.
func (WallClock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if d == Forever {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

// Await waits; see Clock.
func (WallClock) Await(ctx context.Context, limit time.Duration, closed ...<-chan struct{}) int {
	// Of several that are closed the first counts, and Select takes any.
	for i, c := range closed {
		select {
		case <-c:
			return i
		default:
		}
	}
	// Select wants its channels in a list: their number is known only here.
	cases := make([]reflect.SelectCase, 0, len(closed)+2)
	for _, c := range closed {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())})
	if limit != Forever {
		t := time.NewTimer(limit)
		defer t.Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(t.C)})
	}
	switch i, _, _ := reflect.Select(cases); i {
	case len(closed):
		return Interrupted
	case len(closed) + 1:
		return Late
	default:
		return i
	}
}
