package session

import (
	"context"
	"sync"
	"time"

	"github.com/railbench/railbench/steps"
)

// drawEvery is how often lines are handed over: a screen cannot show more.
const drawEvery = time.Second / 30

// An outbox holds events until they are fetched. It never blocks who puts and
// never drops an event; of the lines of one run it keeps the last
// steps.KeepLines and counts the rest, so a flood that nobody draws stays
// bounded.
type outbox struct {
	mu      sync.Mutex
	events  []steps.Event
	urgent  bool // something other than lines waits
	closed  bool
	news    chan struct{} // slot of one: events changed
	fetched time.Time
}

func newOutbox() *outbox { return &outbox{news: make(chan struct{}, 1)} }

func (o *outbox) put(e steps.Event) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	wake := len(o.events) == 0
	if p, ok := e.(steps.CellPrinted); ok {
		if !o.merge(p) {
			o.events = append(o.events, p)
		}
	} else {
		o.events = append(o.events, e)
		wake = wake || !o.urgent
		o.urgent = true
	}
	o.mu.Unlock()
	if wake {
		o.ring()
	}
}

// merge adds lines to the last event where that is of the same run; mu is held.
func (o *outbox) merge(p steps.CellPrinted) bool {
	if len(o.events) == 0 {
		return false
	}
	last, ok := o.events[len(o.events)-1].(steps.CellPrinted)
	if !ok || last.Run != p.Run {
		return false
	}
	last.Lines = append(last.Lines, p.Lines...)
	// Some more than are kept, and then the oldest at once: cutting one off for each
	// that comes would move all of them every time.
	if len(last.Lines) > steps.KeepLines*5/4 {
		n := len(last.Lines) - steps.KeepLines
		last.Lines = append(make([]steps.OutputLine, 0, steps.KeepLines*5/4+1), last.Lines[n:]...)
		last.Dropped += n
	}
	o.events[len(o.events)-1] = last
	return true
}

func (o *outbox) ring() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

func (o *outbox) next(ctx context.Context) ([]steps.Event, bool) {
	for {
		o.mu.Lock()
		wait := time.Duration(0)
		if len(o.events) > 0 && !o.urgent && !o.closed {
			wait = drawEvery - time.Since(o.fetched)
		}
		if len(o.events) > 0 && wait <= 0 {
			events := o.events
			o.events, o.urgent = nil, false
			o.fetched = time.Now()
			o.mu.Unlock()
			return events, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return nil, false
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-o.news:
		case <-due:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ring()
}
