package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWallClockAwait(t *testing.T) {
	for _, c := range []struct {
		name  string
		over  bool // its context has ended
		limit time.Duration
		on    string // which of the channels are closed
		want  int
		took  time.Duration
	}{
		{"one that is closed", false, Forever, "ox", 1, 0},
		{"the first of two", false, 0, "xx", 0, 0},
		{"closed, though it is over", true, 0, "x", 0, 0},
		{"the limit", false, 3 * time.Second, "o", Late, 3 * time.Second},
		{"nothing but the limit", false, time.Second, "", Late, time.Second},
		{"the end", true, Forever, "o", Interrupted, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if c.over {
				end()
			}
			var on []<-chan struct{}
			for _, state := range c.on {
				ch := make(chan struct{})
				if on = append(on, ch); state == 'x' {
					close(ch)
				}
			}
			began := time.Now()
			if got := (WallClock{}).Await(ctx, c.limit, on...); got != c.want || time.Since(began) != c.took {
				t.Errorf("%s: %d after %s, want %d after %s", c.name, got, time.Since(began), c.want, c.took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		later := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(later) })
		if got := (WallClock{}).Await(t.Context(), time.Minute, make(chan struct{}), later); got != 1 {
			t.Errorf("one that is closed later: %d", got)
		}
	})
}
