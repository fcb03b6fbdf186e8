package sim

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

// never is an instant that doesn't come.
const never time.Duration = math.MaxInt64

// A clock is the time of the nodes, in durations since the rig's start. It goes from
// event to event: everything that happens on the rig is done by actors, of which one
// works at a time and all others wait, and only when all wait does the clock go on, to
// the next instant that one of them waits for. So what happens when, and in which order,
// depends on nothing outside: not on the load of the machine, and not on the speed,
// which says how long the clock itself waits before it goes on.
//
// An actor's turn ends where it waits. Who may go on next is always asked in the same
// order: who was started, in the order of that; who waits for something that has
// happened, in the order in which they began to; and then the clock goes on. What an
// actor waits for is asked for by looking (a closed channel, a context that has ended),
// not told: so nothing can get lost between who tells and who waits, and whoever makes
// it happen need not know that somebody waits.
type clock struct {
	start time.Time
	speed float64 // Max where nobody watches
	// passed is the present, in nanoseconds since the start. It is read without the lock:
	// whoever holds the rig's may ask for the time.
	passed atomic.Int64

	mu      sync.Mutex
	turn    *actor   // who works; nil where all wait
	started []*actor // who hasn't had a turn since they were started, or came back from elsewhere
	waiting []*actor
	timers  []*deadline
	nextNo  uint64
	// elsewhere is how many actors are busy with something that the time waits for.
	elsewhere int
	// Pacing: at the wall's instant wallAt the nodes' time was nodeAt.
	wallAt time.Time
	nodeAt time.Duration
	alarm  *time.Timer
}

// An actor is somebody on whom the time waits: a script or a job in it, a service of a
// node, or whoever runs scripts on it from outside.
type actor struct {
	wake chan struct{} // of its turn
	// patient actors are in no hurry: at the speed Max the time follows the wall clock
	// while only they wait.
	patient bool
	// apart is set while it is busy with something outside, and still where the time
	// waits for that. What it runs on the rig meanwhile, inside, doesn't wait for itself.
	apart, still bool
	inside       int
	parent       *actor

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

func newClock(start time.Time, speed float64) *clock {
	c := &clock{start: start, speed: speed}
	if c.start.IsZero() {
		c.start = time.Now().Round(0)
	}
	if c.speed <= 0 {
		c.speed = 1
	}
	c.wallAt = time.Now()
	c.alarm = time.AfterFunc(time.Hour, c.look)
	c.alarm.Stop()
	return c
}

// now is the node time since the rig's start.
func (c *clock) now() time.Duration { return time.Duration(c.passed.Load()) }

// wall is what date prints on the nodes.
func (c *clock) wall() time.Time { return c.start.Add(c.now()) }

func (c *clock) uptime() time.Duration { return bootedFor + c.now() }

// look gives somebody the turn if nobody has it: something may have happened outside.
func (c *clock) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next()
}

// next gives the turn to who may go on, after the time has gone on as far as it must.
// Callers hold the lock.
func (c *clock) next() {
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

func (c *clock) give(a *actor) {
	c.turn = a
	a.wake <- struct{}{}
}

// resume gives the turn to a waiting actor.
func (c *clock) resume(i int, late bool) {
	a := c.waiting[i]
	c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
	a.late, a.ctx, a.ready = late, nil, nil
	c.give(a)
}

// advance goes on to the next event and lets it happen. It reports false where there
// is none, or where it isn't time yet.
func (c *clock) advance() bool {
	at, no := never, uint64(0)
	who, which := -1, -1
	for i, a := range c.waiting {
		if a.until < at || a.until == at && at != never && a.no < no {
			at, no, who = a.until, a.no, i
		}
	}
	for i, d := range c.timers {
		if d.at < at || d.at == at && d.no < no {
			at, no, who, which = d.at, d.no, -1, i
		}
	}
	if at == never {
		return false
	}
	if wait := c.pace(at); wait > 0 {
		c.alarm.Reset(wait)
		return false
	}
	c.passed.Store(int64(max(at, c.now())))
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

// pace is how long the wall clock has to go on before the nodes' time is at.
func (c *clock) pace(at time.Duration) time.Duration {
	speed := c.speed
	if math.IsInf(speed, 1) {
		if c.hurries() {
			c.wallAt, c.nodeAt = time.Now(), at
			return 0
		}
		speed = 1
	}
	wait := time.Until(c.wallAt.Add(time.Duration(float64(at-c.nodeAt) / speed)))
	if wait < -lag {
		c.wallAt, c.nodeAt = time.Now(), at
	}
	return wait
}

// hurries reports whether somebody waits who isn't patient.
func (c *clock) hurries() bool {
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
func (c *clock) enter(parent *actor, patient, fresh bool) *actor {
	a := &actor{wake: make(chan struct{}, 1), patient: patient, parent: parent}
	c.mu.Lock()
	if c.turn == nil {
		if fresh {
			c.catchUp()
		}
		c.arrive()
	}
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

// arrive paces the time from now on where nobody has been there: what has passed outside
// meanwhile is nobody's.
func (c *clock) arrive() {
	if len(c.waiting) == 0 && len(c.started) == 0 {
		c.wallAt, c.nodeAt = time.Now(), c.now()
	}
}

// catchUp lets the time that has passed outside pass here, up to the next event.
func (c *clock) catchUp() {
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
	c.passed.Store(int64(max(now, c.now())))
}

// visit runs f as an actor that comes from a network.
func (c *clock) visit(f func()) {
	a := c.enter(nil, false, true)
	defer c.leave(a)
	f()
}

// acts is the actor whose turn it is.
func (c *clock) acts() *actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

// leave ends the actor whose turn it is.
func (c *clock) leave(a *actor) {
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

// begin makes an actor that begins when it takes its turn. Callers may hold the rig's
// lock.
func (c *clock) begin(patient bool) *actor {
	a := &actor{wake: make(chan struct{}, 1), patient: patient}
	c.mu.Lock()
	defer c.mu.Unlock()
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

// forget takes an actor off that will never end by itself.
func (c *clock) forget(a *actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(x *actor) bool { return x == a }
	c.started = slices.DeleteFunc(c.started, is)
	c.waiting = slices.DeleteFunc(c.waiting, is)
	a.left = true
	if c.turn == a {
		c.turn = nil
	}
	c.next()
}

// run starts an actor. Callers may hold the rig's lock.
func (c *clock) run(patient bool, f func()) {
	a := c.begin(patient)
	go func() {
		<-a.wake
		defer c.leave(a)
		f()
	}()
}

// park ends the caller's turn until ready, ctx's end or an instant, whichever is first.
// It reports whether it was the instant. ready must take no lock that is held while
// somebody calls the clock.
func (c *clock) park(ctx context.Context, until time.Duration, ready func() bool) (late bool) {
	if ctx.Err() != nil || ready != nil && ready() {
		return false
	}
	if until <= c.now() {
		return true
	}
	c.mu.Lock()
	a := c.turn
	if a == nil {
		c.mu.Unlock()
		panic("sim: somebody waits who is nobody")
	}
	c.nextNo++
	a.ctx, a.until, a.ready, a.no = ctx, until, ready, c.nextNo
	c.waiting = append(c.waiting, a)
	c.turn = nil
	// It may end outside, where nobody gives the turn.
	stop := context.AfterFunc(ctx, c.look)
	c.next()
	c.mu.Unlock()
	<-a.wake
	stop()
	return a.late
}

// sleep waits for d of node time; it is false where ctx ended first.
func (c *clock) sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	return c.park(ctx, c.after(d), nil)
}

// after is the instant in d from now.
func (c *clock) after(d time.Duration) time.Duration {
	if now := c.now(); d < never-now {
		return now + max(0, d)
	}
	return never
}

// wait waits until a channel is closed or holds something; it is false where ctx ended
// first.
func wait[T any](ctx context.Context, c *clock, ch <-chan T) bool {
	c.park(ctx, never, happened(ch))
	return happened(ch)()
}

// happened looks whether a channel is closed or holds something. What is sent on it is
// taken by nobody else.
func happened[T any](ch <-chan T) func() bool {
	return func() bool {
		if len(ch) > 0 {
			return true
		}
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

// outside lets the others go on while the actor whose turn it is does something
// outside; the time stands still meanwhile where still is set.
func (c *clock) outside(a *actor, still bool, f func()) {
	c.mu.Lock()
	a.apart, a.still = true, still
	if still {
		c.elsewhere++
	}
	c.turn = nil
	c.next()
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		if still && a.inside == 0 {
			c.elsewhere--
		}
		a.apart, a.still = false, false
		c.started = append(c.started, a)
		c.next()
		c.mu.Unlock()
		<-a.wake
	}()
	f()
}

// answerTime is the real time that somebody outside may take to answer, before the
// nodes' time goes on without the answer.
const answerTime = time.Second

// foreign runs f, which asks somebody outside and calls nobody who waits by the clock.
// Until the answer is there nothing happens on the rig: so it is there at the same
// instant each time, however busy this machine is.
func (c *clock) foreign(f func()) {
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
		c.outside(c.acts(), false, func() { <-answered })
	}
}

// withTimeout is context.WithTimeoutCause on the nodes' time.
func (c *clock) withTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	ctx, cancel := context.WithCancelCause(ctx)
	at := c.after(d)
	if at == never {
		return ctx, func() { cancel(nil) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextNo++
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

// gone is a context that ends when a channel is closed, too. It is for who waits by the
// clock, which asks for the end of a context and isn't told.
type gone struct {
	context.Context //nolint:containedctx // it is one
	closed          <-chan struct{}
}

func (g gone) Err() error {
	select {
	case <-g.closed:
		return context.Canceled
	default:
		return g.Context.Err()
	}
}

// actorKey is where a context keeps the actor that it was made for.
type actorKey struct{}

func as(ctx context.Context, a *actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// acting is the actor that a context was made for; here reports whether it is the
// caller itself, whose turn it is, and not somebody whom it waits for outside.
func (c *clock) acting(ctx context.Context) (a *actor, here bool) {
	a, _ = ctx.Value(actorKey{}).(*actor)
	if a == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.left {
		return nil, false
	}
	return a, !a.apart
}

// join runs f as an actor: the one that the context was made for, or a new one.
func (c *clock) join(ctx context.Context, patient bool, f func(context.Context)) {
	a, here := c.acting(ctx)
	if here {
		f(ctx)
		return
	}
	a = c.enter(a, patient, false)
	defer c.leave(a)
	f(as(ctx, a))
}

// rigClock is the clock as those outside have it.
type rigClock struct{ c *clock }

// joined is the clock for who runs scripts on the nodes.
func (c *clock) joined() runner.Clock { return rigClock{c} }

func (r rigClock) Now() time.Time { return r.c.wall() }

func (r rigClock) Join(ctx context.Context, f func(context.Context)) { r.c.join(ctx, false, f) }

func (r rigClock) Go(ctx context.Context, f func(context.Context)) {
	a := r.c.begin(false)
	go func() {
		<-a.wake
		defer r.c.leave(a)
		f(as(ctx, a))
	}()
}

func (r rigClock) Await(ctx context.Context, limit time.Duration, closed ...<-chan struct{}) (which int) {
	r.c.join(ctx, false, func(ctx context.Context) {
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
		late := r.c.park(ctx, r.c.after(limit), func() bool { return first() >= 0 })
		if which = first(); which < 0 && late {
			which = runner.Late
		}
	})
	return which
}

func (r rigClock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return r.c.withTimeout(ctx, d, cause)
}

func (r rigClock) Apart(ctx context.Context, still bool, f func()) {
	if a, here := r.c.acting(ctx); here {
		r.c.outside(a, still, f)
		return
	}
	f()
}
