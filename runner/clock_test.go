package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWallClockAwait(t *testing.T) {
	closed, open := make(chan struct{}), make(chan struct{})
	close(closed)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		limit time.Duration
		on    []<-chan struct{}
		want  int
		took  time.Duration
	}{
		{"one that is closed", t.Context(), Forever, []<-chan struct{}{open, closed}, 1, 0},
		{"the first of two", t.Context(), 0, []<-chan struct{}{closed, closed}, 0, 0},
		{"closed, though it is over", ended, 0, []<-chan struct{}{closed}, 0, 0},
		{"the limit", t.Context(), 3 * time.Second, []<-chan struct{}{open}, Late, 3 * time.Second},
		{"nothing but the limit", t.Context(), time.Second, nil, Late, time.Second},
		{"the end", ended, Forever, []<-chan struct{}{open}, Interrupted, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if got := (WallClock{}).Await(c.ctx, c.limit, c.on...); got != c.want || time.Since(began) != c.took {
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
