package clock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railbench/railbench/runner"
)

var errLate = errors.New("too late")

// A stage is a clock with actors that write down what they do.
type stage struct {
	clock *Clock
	all   sync.WaitGroup
	mu    sync.Mutex
	said  []string
}

func newStage(speed float64) *stage {
	return &stage{clock: New(time.Unix(0, 0), speed)}
}

func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf("%s ", s.clock.Now())+fmt.Sprintf(format, args...))
}

func (s *stage) actor(patient bool, f func()) {
	s.all.Add(1)
	s.clock.Run(patient, func() {
		defer s.all.Done()
		f()
	})
}

func (s *stage) wants(t *testing.T, want ...string) {
	t.Helper()
	s.all.Wait()
	if !slices.Equal(s.said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(s.said, "\n"), strings.Join(want, "\n"))
	}
}

func TestClockOrder(t *testing.T) {
	t.Parallel()
	s := newStage(Max)
	s.actor(false, func() {
		ctx := t.Context()
		closed := make(chan struct{})
		for i := range 3 {
			s.actor(false, func() {
				s.clock.Sleep(ctx, time.Second)
				s.say("sleeper %d", i)
			})
		}
		s.actor(false, func() {
			late := s.clock.Park(ctx, s.clock.After(time.Hour), Happened(closed))
			s.say("told, late %v", late)
		})
		s.actor(false, func() {
			limited, cancel := s.clock.WithTimeout(ctx, 1500*time.Millisecond, errLate)
			defer cancel()
			ok := s.clock.Sleep(limited, time.Hour)
			s.say("limited %v, %v", ok, context.Cause(limited))
		})
		s.clock.Sleep(ctx, time.Second)
		close(closed)
		s.say("closes")
		s.clock.Sleep(ctx, 0)
		s.say("goes on")
	})
	s.wants(t,
		"1s closes", "1s goes on", "1s told, late false", "1s sleeper 0", "1s sleeper 1", "1s sleeper 2",
		"1.5s limited false, "+errLate.Error())
}

// Random actors that wait for each other and for time do the same at any speed.
func TestClockIsTheSameAtAnySpeed(t *testing.T) {
	t.Parallel()
	play := func(seed uint64, speed float64) []string {
		s := newStage(speed)
		bells := make([]chan struct{}, 40)
		for i := range bells {
			bells[i] = make(chan struct{})
		}
		s.actor(false, func() {
			for i := range bells {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				s.actor(false, func() {
					for step := range 1 + rnd.IntN(4) {
						if other := rnd.IntN(len(bells)); rnd.IntN(2) == 0 && other < i {
							late := s.clock.Park(context.Background(), s.clock.After(time.Duration(rnd.IntN(50))*time.Millisecond),
								Happened(bells[other]))
							s.say("%d.%d heard %d: %v", i, step, other, !late)
							continue
						}
						s.clock.Sleep(context.Background(), time.Duration(rnd.IntN(30))*time.Millisecond)
						s.say("%d.%d", i, step)
					}
					close(bells[i])
				})
			}
		})
		s.all.Wait()
		return s.said
	}
	for seed := range uint64(20) {
		want := play(seed, Max)
		for _, speed := range []float64{1000, 30} {
			if got := play(seed, speed); !slices.Equal(got, want) {
				t.Fatalf("seed %d at speed %g:\n%s\nand at max:\n%s", seed, speed, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
		}
	}
}

// took is how long something takes by the wall clock.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func TestClockPace(t *testing.T) {
	for _, c := range []struct {
		speed   float64
		patient bool
		want    time.Duration
	}{
		{1, false, 10 * time.Second},
		{20, false, 500 * time.Millisecond},
		{Max, false, 0},
		{Max, true, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(c.speed)
			time.Sleep(time.Hour) // without visitors: it is not caught up with
			if got := took(func() {
				s.actor(c.patient, func() { s.clock.Sleep(t.Context(), 10*time.Second) })
				s.all.Wait()
			}); got != c.want {
				t.Errorf("speed %g, patient %v: it took %s, want %s", c.speed, c.patient, got, c.want)
			}
		})
	}
}

// Loops that clients leave behind on an SSH rig don't use up its time.
func TestClockOfVisitorsLastsForDays(t *testing.T) {
	for visited, want := range map[bool]time.Duration{false: 0, true: 99 * mostAhead / visitedSpeed} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(Max)
			if visited {
				s.clock.Visit(func() {})
			}
			if got := took(func() {
				s.actor(false, func() {
					for range 100 * 365 {
						s.clock.Sleep(t.Context(), 24*time.Hour)
					}
				})
				s.all.Wait()
			}); got != want {
				t.Errorf("visited %t: a hundred years took %s, want %s", visited, got, want)
			}
		})
	}
}

// A person may take as long as he likes, and time goes on; a service of this side takes
// no time, unless it doesn't answer.
func TestClockOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(1)
		s.actor(false, func() {
			s.actor(false, func() {
				s.clock.Sleep(t.Context(), 3*time.Second)
				s.say("slept")
			})
			s.clock.Outside(s.clock.Acts(), true, func() { time.Sleep(time.Minute) })
			s.say("served")
			s.clock.Outside(s.clock.Acts(), false, func() { time.Sleep(time.Minute) })
			s.say("answered")
			s.clock.Foreign(func() { time.Sleep(answerTime / 2) })
			s.say("asked")
		})
		s.wants(t, "0s served", "3s slept", "3s answered", "3s asked")
		if s.clock.elsewhere != 0 {
			t.Errorf("%d are elsewhere", s.clock.elsewhere)
		}
	})
}

// What a service runs on the rig while the time waits for it is not waited for by itself.
func TestClockInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(Max)
		c := rigClock{s.clock}
		c.Join(t.Context(), func(ctx context.Context) {
			c.Apart(ctx, true, func() {
				c.Await(ctx, time.Second)
				s.say("inside")
			})
			s.say("back")
			if got := c.Await(ctx, time.Second, nil); got != runner.Late {
				t.Errorf("a channel that is never closed: %d", got)
			}
		})
		s.wants(t, "1s inside", "1s back")
	})
}

func TestClockHearsFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		s.actor(true, func() {
			ok := s.clock.Sleep(ctx, time.Hour)
			s.say("%v, %v", ok, context.Cause(ctx))
		})
		time.Sleep(time.Second)
		cancel(errors.New("enough"))
		s.wants(t, "0s false, enough")
	})
}
