package sim

import (
	"context"
	"time"
)

// bootedFor is how long the nodes have been up when the rig starts.
const bootedFor = 26*time.Hour + 11*time.Minute

// A clock is the time of both nodes: real time, speed times as fast. Instants
// are durations since the rig's start, so that the physics never sees a wall
// clock that steps.
type clock struct {
	start time.Time
	speed float64
}

func newClock(speed float64) clock {
	if speed <= 0 {
		speed = 1
	}
	return clock{start: time.Now(), speed: speed}
}

// now is the node time since the rig's start.
func (c clock) now() time.Duration {
	return time.Duration(float64(time.Since(c.start)) * c.speed)
}

// wall is what date prints on the nodes.
func (c clock) wall() time.Time {
	return c.start.Round(0).Add(c.now())
}

func (c clock) uptime() time.Duration { return bootedFor + c.now() }

// real is how long a span of node time takes outside.
func (c clock) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

// sleep waits for d of node time; it is false where ctx ended first.
func (c clock) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(c.real(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
