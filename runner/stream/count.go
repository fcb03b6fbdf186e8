package stream

import (
	"sync/atomic"
	"time"
)

// A Way is what goes over one address, while it is counted.
type Way struct {
	At      string
	Streams int // 0 if unknown
	Tally   *Tally
	Stalls  int

	open  *atomic.Int64 // streams that there are now; nil where there is one, to the end
	last  time.Time     // when there was something new
	moved uint64
}

// A Counter watches the tallies of all ways while they grow.
type Counter struct {
	Ways  []*Way
	First time.Time // when there was something new

	past []mark
}

type mark struct {
	at    time.Time
	bytes uint64
}

const (
	rollOver = 5 * time.Second // what the average is of
	// StallAfter is how long nothing moves until that is a stall.
	StallAfter = 2 * time.Second
)

// Look sees how far the tallies are, and gives the rolling average in Gb/s, and the ways that have stalled.
func (c *Counter) Look(now time.Time) (gbps float64, stalled []*Way) {
	total := uint64(0)
	for _, w := range c.Ways {
		bytes := w.Tally.Bytes.Load()
		total += bytes
		switch {
		case bytes > w.moved:
			if c.First.IsZero() {
				c.First = now
			}
			w.moved, w.last = bytes, now
		case w.open != nil && w.open.Load() == 0:
			w.last = time.Time{} // nothing is sent, or all was sent, which is not a stall
		case !w.last.IsZero() && now.Sub(w.last) >= StallAfter:
			w.Stalls++
			stalled = append(stalled, w)
			w.last = now // the next one is reported after as long again
		}
	}
	c.past = append(c.past, mark{now, total})
	// One mark that is as old as the average stays.
	for len(c.past) > 2 && now.Sub(c.past[1].at) >= rollOver {
		c.past = c.past[1:]
	}
	from := c.past[0]
	if seconds := now.Sub(from.at).Seconds(); seconds > 0 {
		return float64(total-from.bytes) * 8 / seconds / 1e9, stalled
	}
	return 0, stalled
}
