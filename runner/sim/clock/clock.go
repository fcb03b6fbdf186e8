// Package clock is the time of the simulated nodes. It goes from event to event. Everything that happens on
// the nodes is done by actors: a script, one of its jobs, a systemd unit, and each caller from outside that
// has joined the clock. One actor has the turn, all others wait, and time goes on only when all wait. It
// follows:
//
//   - An actor waits by the clock (Park, Sleep, Wait), never by a channel or a lock that another actor releases: it
//     would keep the turn from all others.
//   - What an actor waits for is polled, not signalled: a closed channel, a channel with a value, or the end of a
//     context. Polling takes no lock that is held during a call of the clock.
//   - An actor that asks something outside, such as an etcd of this process, keeps the turn (Foreign); one that waits
//     for a person or a slow client gives it up (Outside).
//   - The same seed and the same scripts in the same order give the same rig, to the nanosecond, at any speed. This
//     does not hold through an SSH server: a client comes at any time, and time has gone on by the wall clock.
//
// The package knows no nodes, and no other package reads the wall clock for them.
package clock

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/railbench/railbench/runner"
)

// Max is the speed of a rig whose time doesn't wait for the wall clock.
var Max = math.Inf(1)

// bootedFor is how long the nodes have been up when the rig starts.
const bootedFor = 26*time.Hour + 11*time.Minute

// Never is an instant that doesn't come.
const Never time.Duration = math.MaxInt64

// A Clock is the time of the nodes, in durations since the rig's start. It goes from event to event:
// everything on the rig is done by actors, of which one works at a time. Only when all wait does the clock go
// on, to the next instant that an actor waits for. So the order of events depends on nothing outside: neither
// on the load of the machine nor on the speed, which only sets how long the clock itself waits before it goes
// on.
//
// An actor's turn ends where it waits. The next turn is always given in the same order: to actors in the
// order in which they were started; then to those whose event has happened, in the order in which they began
// to wait; then the clock goes on. Events are polled (a closed channel, a context that has ended), not
// signalled. So no signal can get lost, and the code that makes an event happen need not know that an actor
// waits for it.
type Clock struct {
	start time.Time
	speed float64 // Max without viewers
	// passed is the present, in nanoseconds since the start. It is read without the lock: a holder of the
	// rig's lock may ask for the time.
	passed atomic.Int64

	mu      sync.Mutex
	turn    *Actor    // who works; nil where all wait
	turnAt  time.Time // when that turn began, by the wall clock
	started []*Actor  // who hasn't had a turn since they were started, or came back from elsewhere
	waiting []*Actor
	timers  []*deadline
	nextNo  uint64
	// elsewhere is how many actors are busy with something that the time waits for.
	elsewhere int
	// A visitor came from a network, at the wall's instant visited: see mostAhead. Zero without visitors.
	visited time.Time
	// Pacing: at the wall's instant wallAt the nodes' time was nodeAt.
	wallAt time.Time
	nodeAt time.Duration
	alarm  *time.Timer
}

// An Actor is what time waits for: a script or a job in it, a service of a node, or a caller that runs
// scripts on the node from outside.
type Actor struct {
	wake chan struct{} // of its turn
	// patient actors are in no hurry: at the speed Max the time follows the wall clock
	// while only they wait.
	patient bool
	// apart is set while it is busy with something outside, and still where the time
	// waits for that. What it runs on the rig meanwhile, inside, doesn't wait for itself.
	apart, still bool
	inside       int
	parent       *Actor

	// What it waits for.
	ctx   context.Context //nolint:containedctx // it is what the actor waits for
	until time.Duration
	ready func() bool
	no    uint64
	late  bool // until has come first
	left  bool
}

// A deadline ends a context.
type deadline struct {
	at  time.Duration
	no  uint64
	end func()
}

// New makes a clock that shows start, or the wall clock's present where that is zero, and runs so
// many times as fast as the wall clock; a speed of 0 or less is 1.
func New(start time.Time, speed float64) *Clock {
	c := &Clock{start: start, speed: speed}
	if c.start.IsZero() {
		c.start = time.Now().Round(0)
	}
	if c.speed <= 0 {
		c.speed = 1
	}
	c.wallAt = time.Now()
	// One alarm for the clock, set again at each poll: an alarm that comes too early only polls once more.
	c.alarm = time.AfterFunc(time.Hour, c.Look)
	c.alarm.Stop()
	return c
}

// TakeTurn returns when the actor, which was begun, has its first turn.
func (a *Actor) TakeTurn() { <-a.wake }

// Now is the node time since the rig's start.
func (c *Clock) Now() time.Duration { return time.Duration(c.passed.Load()) }

// Wall is what date prints on the nodes.
func (c *Clock) Wall() time.Time { return c.start.Add(c.Now()) }

// Uptime is how long the nodes have been up, without the exceptions that a node may be
// (host.Node.Uptime).
func (c *Clock) Uptime() time.Duration { return bootedFor + c.Now() }

// Look gives the turn to an actor if it is free: something may have happened outside.
func (c *Clock) Look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next()
}

// next gives the turn to who may go on, after the time has gone on as far as it must.
// Callers hold the lock.
func (c *Clock) next() {
	for c.turn == nil {
		if len(c.started) > 0 {
			a := c.started[0]
			c.started = c.started[1:]
			c.give(a)
			return
		}
		for i, a := range c.waiting {
			if a.ctx.Err() != nil || a.ready != nil && a.ready() {
				c.resume(i, false)
				return
			}
		}
		if c.elsewhere > 0 || !c.advance() {
			return
		}
	}
}

// give is the only place where a turn begins. Callers hold the lock, and the turn is free.
func (c *Clock) give(a *Actor) {
	c.turn, c.turnAt = a, time.Now()
	a.wake <- struct{}{} // it has room for one, and an actor gets a turn only while it has none
}

// resume gives the turn to a waiting actor.
func (c *Clock) resume(i int, late bool) {
	a := c.waiting[i]
	// In order, always: the order is what makes two runs the same.
	c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
	a.late, a.ctx, a.ready = late, nil, nil
	c.give(a)
}

// advance goes on to the next event and lets it happen. It reports false where there
// is none, or where it isn't time yet.
func (c *Clock) advance() bool {
	// Of two things at one instant the one that was asked for first comes first, whether it is a wait or the
	// end of a context: they are numbered together.
	at, no := Never, uint64(0)
	who, which := -1, -1
	for i, a := range c.waiting {
		if a.until < at || a.until == at && at != Never && a.no < no {
			at, no, who = a.until, a.no, i
		}
	}
	for i, d := range c.timers {
		if d.at < at || d.at == at && d.no < no {
			at, no, who, which = d.at, d.no, -1, i
		}
	}
	if at == Never {
		return false
	}
	if wait := c.pace(at); wait > 0 {
		c.alarm.Reset(wait)
		return false
	}
	// Never back: catchUp may have gone further than an instant that was set before it.
	c.passed.Store(int64(max(at, c.Now())))
	if which >= 0 {
		d := c.timers[which]
		c.timers = append(c.timers[:which], c.timers[which+1:]...)
		d.end()
		return true
	}
	c.resume(who, true)
	return true
}

// lag is how far the time may be behind the wall clock before it stops running after
// it: this machine may have been asleep.
const lag = time.Second

// A client that only waits, and a loop that it left behind, look the same as a client that is waited for.
// Both must not use up the 292 years of a time.Duration. So a clock at the speed Max with visitors from a
// network gets no further than a year ahead of visitedSpeed: a sleep of a second takes a tenth of a
// millisecond then.
const (
	mostAhead    = 365 * 24 * time.Hour
	visitedSpeed = 10_000
)

// pace is how long the wall clock has to go on before the nodes' time is at.
func (c *Clock) pace(at time.Duration) time.Duration {
	speed := c.speed
	if math.IsInf(speed, 1) {
		if c.hurries() {
			c.wallAt, c.nodeAt = time.Now(), at
			if c.visited.IsZero() || at < mostAhead {
				return 0
			}
			return time.Until(c.visited.Add((at - mostAhead) / visitedSpeed))
		}
		speed = 1
	}
	wait := time.Until(c.wallAt.Add(time.Duration(float64(at-c.nodeAt) / speed)))
	if wait < -lag {
		c.wallAt, c.nodeAt = time.Now(), at
	}
	return wait
}

// hurries reports whether an actor waits that isn't patient.
func (c *Clock) hurries() bool {
	for _, a := range c.waiting {
		if !a.patient {
			return true
		}
	}
	return false
}

// enter makes the caller an actor, and returns when it has its turn. parent is the
// actor on whose behalf it comes; nil where there is none. Who comes from a network
// sees the time that has passed outside: fresh.
func (c *Clock) enter(parent *Actor, patient, fresh bool) *Actor {
	a := &Actor{wake: make(chan struct{}, 1), patient: patient, parent: parent}
	c.mu.Lock()
	if fresh && c.visited.IsZero() {
		c.visited = time.Now()
	}
	if c.turn == nil {
		if fresh {
			c.catchUp()
		}
		c.arrive()
	}
	// An actor that works for a caller outside keeps time from waiting for that caller: time would otherwise
	// wait for what only the actor can bring about.
	if parent != nil {
		if parent.inside++; parent.inside == 1 && parent.still {
			c.elsewhere--
		}
	}
	c.started = append(c.started, a)
	c.next()
	c.mu.Unlock()
	<-a.wake
	return a
}

// arrive paces time from now on where no visitor has been so far: time that has passed outside meanwhile does
// not count.
func (c *Clock) arrive() {
	if len(c.waiting) == 0 && len(c.started) == 0 {
		c.wallAt, c.nodeAt = time.Now(), c.Now()
	}
}

// catchUp lets the time that has passed outside pass here, up to the next event.
func (c *Clock) catchUp() {
	if math.IsInf(c.speed, 1) {
		return
	}
	now := c.nodeAt + time.Duration(float64(time.Since(c.wallAt))*c.speed)
	for _, a := range c.waiting {
		now = min(now, a.until)
	}
	for _, d := range c.timers {
		now = min(now, d.at)
	}
	c.passed.Store(int64(max(now, c.Now())))
}

// Visit runs f as an actor that comes from a network.
func (c *Clock) Visit(f func()) {
	a := c.enter(nil, false, true)
	defer c.Leave(a)
	f()
}

// Acts is the actor whose turn it is.
func (c *Clock) Acts() *Actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

// Leave ends the actor whose turn it is.
// It is called once for each actor, when it has nothing more to do on the rig.
func (c *Clock) Leave(a *Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := a.parent; p != nil {
		if p.inside--; p.inside == 0 && p.still {
			c.elsewhere++
		}
	}
	a.left = true
	if c.turn == a {
		c.turn = nil
	}
	c.next()
}

// Begin makes an actor that begins when it takes its turn. Callers may hold the rig's
// lock.
func (c *Clock) Begin(patient bool) *Actor {
	a := &Actor{wake: make(chan struct{}, 1), patient: patient}
	c.mu.Lock()
	defer c.mu.Unlock()
	// An actor that is started by a patient one is patient, too: a sampler's own sleep must not drive time
	// on.
	if c.turn != nil && c.turn.patient {
		a.patient = true
	}
	if c.turn == nil {
		c.arrive()
	}
	c.started = append(c.started, a)
	c.next()
	return a
}

// Forget removes an actor that will never end. It is for a goroutine that is stuck and can't be ended: should
// it ever come back, TakeTurn and Park give it no turn.
func (c *Clock) Forget(a *Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(x *Actor) bool { return x == a }
	c.started = slices.DeleteFunc(c.started, is)
	c.waiting = slices.DeleteFunc(c.waiting, is)
	a.left = true
	if c.turn == a {
		c.turn = nil
	}
	c.next()
}

// Run starts an actor. Callers may hold the rig's lock.
func (c *Clock) Run(patient bool, f func()) {
	a := c.Begin(patient)
	go func() {
		<-a.wake
		defer c.Leave(a)
		f()
	}()
}

// Park ends the caller's turn until ready, ctx's end or an instant, whichever is first. It reports whether it
// was the instant. ready must take no lock that is held during a call of the clock.
func (c *Clock) Park(ctx context.Context, until time.Duration, ready func() bool) (late bool) {
	if ctx.Err() != nil || ready != nil && ready() {
		return false
	}
	// The turn is kept: a wait of 0 lets no other actor go on, and no time pass. A loop of such waits never
	// ends by the clock; see Tireless.
	if until <= c.Now() {
		return true
	}
	c.mu.Lock()
	a := c.turn
	if a == nil {
		c.mu.Unlock()
		panic("sim: an unknown waiter waits")
	}
	c.nextNo++
	a.ctx, a.until, a.ready, a.no = ctx, until, ready, c.nextNo
	c.waiting = append(c.waiting, a)
	c.turn = nil
	// It may end outside, where no turn is given. It runs on its own goroutine, so ctx may end while the lock
	// is held here.
	stop := context.AfterFunc(ctx, c.Look)
	c.next()
	c.mu.Unlock()
	<-a.wake
	stop()
	return a.late
}

// Sleep waits for d of node time; it is false where ctx ended first.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	return c.Park(ctx, c.After(d), nil)
}

// After is the instant in d from now.
func (c *Clock) After(d time.Duration) time.Duration {
	if now := c.Now(); d < Never-now {
		return now + max(0, d)
	}
	return Never
}

// Wait waits until a channel is closed or holds a value; it is false where ctx ended first. The value is left
// in the channel: only the caller may take it.
func Wait[T any](ctx context.Context, c *Clock, ch <-chan T) bool {
	c.Park(ctx, Never, Happened(ch))
	return Happened(ch)()
}

// Happened reports whether a channel is closed or holds a value. Only the caller takes values from it.
func Happened[T any](ch <-chan T) func() bool {
	return func() bool {
		if len(ch) > 0 {
			return true
		}
		// A closed channel with an empty buffer looks here like an open one: only unbuffered ones are closed
		// as a signal.
		if cap(ch) > 0 {
			return false
		}
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
}

// Outside lets the others go on while the actor whose turn it is does something
// outside. The time stands still meanwhile: all of it where still is set, and for
// answerTime at most where it isn't.
// It must not be called while f's caller holds the rig's lock: others work meanwhile, and take it.
func (c *Clock) Outside(a *Actor, still bool, f func()) {
	goOn := func() {
		if a.still && a.inside == 0 {
			c.elsewhere--
		}
		a.still = false
	}
	c.mu.Lock()
	a.apart, a.still = true, true
	c.elsewhere++
	c.turn = nil
	c.next()
	c.mu.Unlock()
	over := still
	patience := time.AfterFunc(answerTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !over {
			goOn()
			c.next()
		}
	})
	defer func() {
		patience.Stop()
		c.mu.Lock()
		over = true
		goOn()
		a.apart = false
		c.started = append(c.started, a)
		c.next()
		c.mu.Unlock()
		<-a.wake
	}()
	f()
}

// answerTime is the real time that something outside may take to answer, before the nodes' time goes on
// without the answer.
const answerTime = time.Second

// Foreign runs f, which asks something outside and calls no actor that waits by the clock. Until the answer
// is there nothing happens on the rig: so it is there at the same instant each time, however busy this
// machine is.
func (c *Clock) Foreign(f func()) {
	// f runs elsewhere, and the turn stays: it may call no actor that waits by the clock.
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		f()
	}()
	patience := time.NewTimer(answerTime)
	defer patience.Stop()
	select {
	case <-answered:
	case <-patience.C:
		c.Outside(c.Acts(), false, func() { <-answered })
	}
}

// WithTimeout is context.WithTimeoutCause on the nodes' time.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	ctx, cancel := context.WithCancelCause(ctx)
	at := c.After(d)
	if at == Never {
		return ctx, func() { cancel(nil) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextNo++
	// Numbered like a wait: a deadline and a sleep of the same length end in the order in which
	// they began.
	t := &deadline{at: at, no: c.nextNo, end: func() { cancel(cause) }}
	c.timers = append(c.timers, t)
	c.next()
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range c.timers {
			if x == t {
				c.timers = append(c.timers[:i], c.timers[i+1:]...)
				break
			}
		}
	}
}

// Tireless calls f once an actor has had the turn for d of real time without a pause, unless it is stopped
// before that. While a script works and never waits, as in an empty loop, the nodes' time stands still: a
// limit on that time would never be reached.
func (c *Clock) Tireless(d time.Duration, f func()) (stop func()) {
	var mu sync.Mutex
	var t *time.Timer
	over := false
	mu.Lock()
	defer mu.Unlock()
	t = time.AfterFunc(d, func() {
		mu.Lock()
		defer mu.Unlock()
		switch left := d - c.held(); {
		case over:
		case left > 0:
			t.Reset(left)
		default:
			over = true
			f()
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		t.Stop()
	}
}

// held is how long the present turn has lasted by the wall clock; 0 where the turn is free.
func (c *Clock) held() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil {
		return 0
	}
	return time.Since(c.turnAt)
}

// Until is a context that also ends when a channel is closed. It is for actors that wait by the clock, which
// polls contexts for their end.
func Until(ctx context.Context, closed <-chan struct{}) context.Context { return until{ctx, closed} }

type until struct {
	context.Context //nolint:containedctx // it is one
	closed          <-chan struct{}
}

// Only Err is another: Done is the inner context's, which a waiter by the clock doesn't use.
func (u until) Err() error {
	select {
	case <-u.closed:
		return context.Canceled
	default:
		return u.Context.Err()
	}
}

// actorKey is where a context keeps the actor that it was made for.
type actorKey struct{}

func as(ctx context.Context, a *Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// acting is the actor that a context was made for; here reports whether it is the caller itself, whose turn
// it is, and not a caller outside that it works for.
func (c *Clock) acting(ctx context.Context) (a *Actor, here bool) {
	a, _ = ctx.Value(actorKey{}).(*Actor)
	if a == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The context outlived its actor, as that of a finished run does: its next user is a new actor.
	if a.left {
		return nil, false
	}
	return a, !a.apart
}

// Join runs f as an actor: the one that the context was made for, or a new one.
func (c *Clock) Join(ctx context.Context, patient bool, f func(context.Context)) {
	a, here := c.acting(ctx)
	if here {
		f(ctx)
		return
	}
	a = c.enter(a, patient, false)
	defer c.Leave(a)
	f(as(ctx, a))
}

// rigClock is the clock as those outside have it.
type rigClock struct{ c *Clock }

// Joined is the clock for who runs scripts on the nodes.
func (c *Clock) Joined() runner.Clock { return rigClock{c} }

func (r rigClock) Now() time.Time { return r.c.Wall() }

func (r rigClock) Join(ctx context.Context, f func(context.Context)) { r.c.Join(ctx, false, f) }

func (r rigClock) Go(ctx context.Context, f func(context.Context)) {
	a := r.c.Begin(false)
	go func() {
		<-a.wake
		defer r.c.Leave(a)
		f(as(ctx, a))
	}()
}

func (r rigClock) Await(ctx context.Context, limit time.Duration, closed ...<-chan struct{}) (which int) {
	r.c.Join(ctx, false, func(ctx context.Context) {
		first := func() int {
			for i, ch := range closed {
				select {
				case <-ch:
					return i
				default:
				}
			}
			return runner.Interrupted
		}
		late := r.c.Park(ctx, r.c.After(limit), func() bool { return first() >= 0 })
		if which = first(); which < 0 && late {
			which = runner.Late
		}
	})
	return which
}

func (r rigClock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return r.c.WithTimeout(ctx, d, cause)
}

func (r rigClock) Apart(ctx context.Context, still bool, f func()) {
	if a, here := r.c.acting(ctx); here {
		r.c.Outside(a, still, f)
		return
	}
	f()
}
