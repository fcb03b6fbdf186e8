package session

import (
	"context"
	"sync"
	"time"

	"github.com/railbench/railbench/steps"
)

// drawEvery is how often lines are handed over: a screen cannot show more.
const drawEvery = time.Second / 30

// An outbox holds events until they are fetched. It never blocks, and drops only lines, and tables that a
// newer one replaces: of one run it keeps the last steps.KeepLines, or as many as fit into steps.KeepBytes,
// and counts the rest. So a flood stays bounded, even while nothing is fetched because a pager has the
// terminal.
type outbox struct {
	mu      sync.Mutex
	events  []steps.Event
	waiting map[steps.RunID]*waiting // of the runs that have not ended
	urgent  bool                     // something other than lines waits, which is handed over at once
	closed  bool
	news    chan struct{} // slot of one: events changed
	fetched time.Time
	room    int // how many lines were fetched last, of which there will be about as many again
}

// waiting says which events of a run can still be added to. Between its start and its
// end nothing that others do comes before or after what it prints.
type waiting struct {
	printed, measured int // indices into events, from 1
	// lines replace those at printed when they are fetched: making an event for each line would be most of
	// the cost of a flood.
	lines   []steps.OutputLine
	dropped int
	bytes   int // of the lines
}

func newOutbox() *outbox {
	return &outbox{news: make(chan struct{}, 1), waiting: map[steps.RunID]*waiting{}}
}

// put adds an event, and drops it once the outbox is closed. A table replaces the run's last one if that was
// not fetched; an end settles the run's lines, so that they come before it.
func (o *outbox) put(e steps.Event) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	wake := len(o.events) == 0
	switch e := e.(type) {
	case steps.CellPrinted:
		for _, l := range e.Lines {
			o.add(e.Run, e.Cell, l)
		}
		o.of(e.Run).dropped += e.Dropped
	case steps.CellMeasured:
		w := o.of(e.Run)
		if w.measured > 0 {
			o.events[w.measured-1] = e
		} else {
			o.events = append(o.events, e)
			w.measured = len(o.events)
		}
		wake = wake || !o.urgent
		o.urgent = true
	default:
		if ended, ok := e.(steps.CellEnded); ok {
			o.settle(o.of(ended.Run))
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

// print puts one line of a run.
func (o *outbox) print(run steps.RunID, cell string, l steps.OutputLine) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	wake := len(o.events) == 0
	o.add(run, cell, l)
	o.mu.Unlock()
	if wake {
		o.ring()
	}
}

// of is what waits of a run; mu is held.
func (o *outbox) of(run steps.RunID) *waiting {
	w := o.waiting[run]
	if w == nil {
		w = &waiting{}
		o.waiting[run] = w
	}
	return w
}

// add adds a line to those of the same run that wait already; mu is held.
func (o *outbox) add(run steps.RunID, cell string, l steps.OutputLine) {
	w := o.of(run)
	if w.printed == 0 {
		o.events = append(o.events, steps.CellPrinted{Run: run, Cell: cell})
		w.printed, w.lines = len(o.events), make([]steps.OutputLine, 0, o.room)
	}
	w.bytes += l.Size()
	w.lines = append(w.lines, l)
	// Some more than are kept, and then the oldest at once: cutting one off for each
	// that comes would move all of them every time.
	if len(w.lines) > steps.KeepLines*5/4 || w.bytes > steps.KeepBytes*5/4 {
		n := 0
		for len(w.lines)-n > steps.KeepLines || w.bytes > steps.KeepBytes && n < len(w.lines)-1 {
			w.bytes -= w.lines[n].Size()
			n++
		}
		// In place: until it is fetched, it is not shared.
		left := copy(w.lines, w.lines[n:])
		clear(w.lines[left:])
		w.lines = w.lines[:left]
		w.dropped += n
	}
}

// settle puts a run's lines into their event; mu is held.
func (o *outbox) settle(w *waiting) {
	if w.printed == 0 {
		return
	}
	e, ok := o.events[w.printed-1].(steps.CellPrinted)
	if !ok {
		return
	}
	e.Lines, e.Dropped = w.lines, w.dropped
	o.events[w.printed-1] = e
}

// ring wakes next, if it waits. Without room the bell has rung already.
func (o *outbox) ring() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// next waits for events and gives all of them, in order; false once the outbox is closed and empty, or ctx
// has ended. Lines alone wait until drawEvery has passed since the last time. The caller owns the events.
// Only one goroutine may call it at a time.
func (o *outbox) next(ctx context.Context) ([]steps.Event, bool) {
	for {
		o.mu.Lock()
		wait := time.Duration(0)
		if len(o.events) > 0 && !o.urgent && !o.closed {
			wait = drawEvery - time.Since(o.fetched)
		}
		if len(o.events) > 0 && wait <= 0 {
			o.room = 0
			for _, w := range o.waiting {
				o.settle(w)
				o.room = max(o.room, len(w.lines))
			}
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

// close ends next once all that was put is fetched. It may be called again.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ring()
}
