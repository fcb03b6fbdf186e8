package stream

import (
	"context"
	"math"
	"time"
)

// A Counting counts what is moved, and reports it meanwhile.
type Counting struct {
	Counter
	Span    time.Duration                // ends after it; 0 when the stream does
	Program string                       // whose version is in the result
	Gauge   *Gauge                       // nil for none
	Rate    func(elapsedS, gbps float64) // once a second
	Stalled func(w *Way, several bool)   // when nothing moves over one
}

const CountEvery = 250 * time.Millisecond

// During runs a stream, and counts meanwhile.
func (c *Counting) During(ctx context.Context, move func(context.Context) error) error {
	if c.Span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Span)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- move(ctx) }()
	tick := time.NewTicker(CountEvery)
	defer tick.Stop()
	told := time.Now()
	for {
		select {
		// A gauge that gets no more reports would show the last rate on.
		case err := <-done:
			c.average(time.Now())
			if c.Gauge != nil {
				_ = c.Gauge.Report(0) // no one has to listen
				_ = c.Gauge.Close()
			}
			return err
		case now := <-tick.C:
			rate := c.average(now)
			if c.Gauge != nil {
				_ = c.Gauge.Report(rate / 8) // no one has to listen
			}
			if now.Sub(told) >= time.Second && !c.First.IsZero() {
				told = now
				c.Rate(now.Sub(c.First).Seconds(), rate)
			}
		}
	}
}

// average is the rolling one in Gb/s; it reports which way has stalled.
func (c *Counting) average(now time.Time) float64 {
	rate, stalled := c.Look(now)
	for _, w := range stalled {
		c.Stalled(w, len(c.Ways) > 1)
	}
	return rate
}

// result is what came of it. seconds are those of all together, and of each way as spans reports them.
func (c *Counting) result(seconds float64, spans func(*Tally) float64) Result {
	r := Result{Railbench: c.Program}
	for _, w := range c.Ways {
		r.add(w.Tally)
		r.Stalls += w.Stalls
		one := WayResult{At: w.At, Stalls: w.Stalls, Streams: w.Streams}
		one.add(w.Tally)
		one.took(spans(w.Tally))
		r.Ways = append(r.Ways, one)
	}
	r.took(seconds)
	return r
}

// Sent is what a sender's ways came to, all in the same time.
func (c *Counting) Sent(seconds float64) Result {
	return c.result(seconds, func(*Tally) float64 { return seconds })
}

// Received is what a receiver's ways came to, each from its first byte to its last.
func (c *Counting) Received() Result {
	tallies := make([]*Tally, 0, len(c.Ways))
	for _, w := range c.Ways {
		tallies = append(tallies, w.Tally)
	}
	return c.result(Span(tallies...).Seconds(), func(t *Tally) float64 { return Span(t).Seconds() })
}

// A Result is what a stream came to, as --json prints it; scripts rely on its keys.
type Result struct {
	Railbench string `json:"railbench"`
	Moved
	Stalls int         `json:"stalls"`
	Ways   []WayResult `json:"ways"` // in the order in which they were named
}

// A WayResult is what went over one address: a rail's.
type WayResult struct {
	At string `json:"at"` // the receiver's address, at both ends
	Moved
	Stalls  int `json:"stalls"`
	Streams int `json:"streams,omitempty"` // as the sender knows
}

// Moved is what was moved in some time.
type Moved struct {
	Bytes   uint64  `json:"bytes"` // of payload
	Blocks  uint64  `json:"blocks"`
	Lost    uint64  `json:"lost"`
	Corrupt uint64  `json:"corrupt"`
	Cut     uint64  `json:"cut"`     // streams that ended within a block
	Seconds float64 `json:"seconds"` // from the first byte to the last, to the microsecond
	Gbps    float64 `json:"gbps"`    // of payload, six digits of it
}

func (m *Moved) add(t *Tally) {
	m.Bytes, m.Blocks = m.Bytes+t.Bytes.Load(), m.Blocks+t.Blocks.Load()
	m.Lost, m.Corrupt, m.Cut = m.Lost+t.Lost.Load(), m.Corrupt+t.Corrupt.Load(), m.Cut+t.Cut.Load()
}

func (m *Moved) took(seconds float64) {
	m.Seconds = math.Round(seconds*1e6) / 1e6
	if seconds > 0 {
		m.Gbps = digits(float64(m.Bytes)*8/seconds/1e9, 6)
	}
}

// digits rounds to so many significant ones: what no clock here can report is not printed.
func digits(v float64, n int) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow10(n - 1 - int(math.Floor(math.Log10(math.Abs(v)))))
	if math.IsInf(scale, 0) {
		return v
	}
	return math.Round(v*scale) / scale
}
