package session

import (
	"context"
	"sync"
	"time"

	"github.com/railbench/railbench/steps"
)

// drawEvery is how often lines are handed over: a screen cannot show more.
const drawEvery = time.Second / 30

// An outbox holds events until they are fetched. It never blocks who puts, and drops
// nothing but lines, and tables in place of which there is a newer one: of one run it
// keeps the last steps.KeepLines, or what steps.KeepBytes have room for, and counts the
// rest. So a flood that nobody draws
// stays bounded, even while nobody fetches because a pager has the terminal.
type outbox struct {
	mu      sync.Mutex
	events  []steps.Event
	waiting map[steps.RunID]waiting // of the runs that have not ended
	urgent  bool                    // something other than lines waits
	closed  bool
	news    chan struct{} // slot of one: events changed
	fetched time.Time
}

// waiting says which events of a run can still be added to. Between its start and its
// end nothing that others do comes before or after what it prints.
type waiting struct {
	printed, measured int // indices into events, from 1
	bytes             int // of the lines
}

func newOutbox() *outbox {
	return &outbox{news: make(chan struct{}, 1), waiting: map[steps.RunID]waiting{}}
}

func (o *outbox) put(e steps.Event) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	wake := len(o.events) == 0
	switch e := e.(type) {
	case steps.CellPrinted:
		o.print(e)
	case steps.CellMeasured:
		w := o.waiting[e.Run]
		if w.measured > 0 {
			o.events[w.measured-1] = e
		} else {
			o.events = append(o.events, e)
			w.measured = len(o.events)
			o.waiting[e.Run] = w
		}
		wake = wake || !o.urgent
		o.urgent = true
	default:
		if ended, ok := e.(steps.CellEnded); ok {
			delete(o.waiting, ended.Run)
		}
		o.events = append(o.events, e)
		wake = wake || !o.urgent
		o.urgent = true
	}
	o.mu.Unlock()
	if wake {
		o.ring()
	}
}

// print adds lines to those of the same run that wait already; mu is held.
func (o *outbox) print(p steps.CellPrinted) {
	w := o.waiting[p.Run]
	for _, l := range p.Lines {
		w.bytes += l.Size()
	}
	if w.printed == 0 {
		o.events = append(o.events, p)
		w.printed = len(o.events)
	} else {
		last := o.events[w.printed-1].(steps.CellPrinted)
		last.Lines = append(last.Lines, p.Lines...)
		last.Dropped += p.Dropped
		// Some more than are kept, and then the oldest at once: cutting one off for each
		// that comes would move all of them every time.
		if len(last.Lines) > steps.KeepLines*5/4 || w.bytes > steps.KeepBytes*5/4 {
			n := 0
			for len(last.Lines)-n > steps.KeepLines || w.bytes > steps.KeepBytes && n < len(last.Lines)-1 {
				w.bytes -= last.Lines[n].Size()
				n++
			}
			last.Lines = append(make([]steps.OutputLine, 0, len(last.Lines)+1), last.Lines[n:]...)
			last.Dropped += n
		}
		o.events[w.printed-1] = last
	}
	o.waiting[p.Run] = w
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
			clear(o.waiting)
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
