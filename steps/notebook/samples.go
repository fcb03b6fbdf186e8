package notebook

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/chart"
	"github.com/railbench/railbench/steps/meter"
)

// keepSamples bounds the samples of one rail: a longer run has them further apart.
const keepSamples = 240

// Samples are what the gauges showed while a cell ran, at equal distances from its
// start.
type Samples struct {
	StepMS int64         `json:"stepMS"`
	Rails  []RailSamples `json:"rails"`

	from time.Time
}

// RailSamples are of one rail: totals in 10^9 bits per second on the wire.
type RailSamples struct {
	Node        string  `json:"node"`
	Dev         string  `json:"rail"`
	LinkGbps    float64 `json:"linkGbps,omitempty"`
	CeilingGbps float64 `json:"ceilingGbps,omitempty"`
	Tx          Rates   `json:"txGbps"`
	Rx          Rates   `json:"rxGbps"`
	// The last run of data without a pause; nil if there was none, or it is unknown.
	TxRun *RunOf `json:"txRun,omitempty"`
	RxRun *RunOf `json:"rxRun,omitempty"`
}

// RunOf is a meter.Run: bytes on the wire, and a rate by the node's clock.
type RunOf struct {
	Bytes   float64 `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Gbps    float64 `json:"gbps"`
	Least   bool    `json:"atLeast,omitempty"`
}

// Rates are values of which some may be unknown: NaN here, null in JSON.
type Rates []float64

// MarshalJSON writes three digits: a gauge shows no more.
func (r Rates) MarshalJSON() ([]byte, error) {
	all := make([]*float64, len(r))
	for i, v := range r {
		if v = math.Round(v*1000) / 1000; !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[i] = new(v)
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rates) UnmarshalJSON(b []byte) error {
	var all []*float64
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*r = make(Rates, len(all))
	for i, v := range all {
		(*r)[i] = math.NaN()
		if v != nil {
			(*r)[i] = *v
		}
	}
	return nil
}

// peak is the highest value, 0 where there is none.
func (r Rates) peak() float64 {
	most := 0.0
	for _, v := range r {
		if chart.Usable(v) && v > most {
			most = v
		}
	}
	return most
}

func newSamples(from time.Time) *Samples {
	return &Samples{StepMS: meter.HistoryStep.Milliseconds(), from: from}
}

// add keeps what the gauges show at a moment. A rail that is new gets its earlier slots as unknown.
func (s *Samples) add(b meter.Board, at time.Time) {
	slot := int(at.Sub(s.from).Milliseconds() / s.StepMS)
	// A clock that was set back.
	if slot < 0 {
		return
	}
	// Half as many, twice as far apart: a run of hours takes no more room than one of minutes.
	for slot >= keepSamples {
		s.halve()
		slot /= 2
	}
	for _, g := range b.Gauges {
		i := slices.IndexFunc(s.Rails, func(r RailSamples) bool { return r.Node == g.Node && r.Dev == g.Dev })
		if i < 0 {
			s.Rails = append(s.Rails,
				RailSamples{Node: g.Node, Dev: g.Dev, LinkGbps: g.LinkGbps, CeilingGbps: g.CeilingGbps})
			i = len(s.Rails) - 1
		}
		if g.Stale != "" {
			continue // the old rates are not a sample
		}
		r := &s.Rails[i]
		r.Tx, r.Rx = r.Tx.put(slot, g.Tx.Total()), r.Rx.put(slot, g.Rx.Total())
		r.TxRun, r.RxRun = ranIn(r.TxRun, g.Tx), ranIn(r.RxRun, g.Rx)
	}
}

// put sets a slot. Of several values of one slot the highest stays, as a gauge's peak
// does.
func (r Rates) put(slot int, v float64) Rates {
	for len(r) <= slot {
		r = append(r, math.NaN())
	}
	if math.IsNaN(r[slot]) || v > r[slot] {
		r[slot] = v
	}
	return r
}

// halve makes one slot of two.
func (s *Samples) halve() {
	s.StepMS *= 2
	for i := range s.Rails {
		for _, r := range []*Rates{&s.Rails[i].Tx, &s.Rails[i].Rx} {
			var half Rates
			for j, v := range *r {
				if j%2 == 0 {
					half = append(half, v)
				} else if k := j / 2; math.IsNaN(half[k]) || v > half[k] {
					half[k] = v
				}
			}
			*r = half
		}
	}
}

// ranIn is the run that a flow is in, or the one before.
func ranIn(before *RunOf, f meter.Flow) *RunOf {
	if f.Total() <= shown || f.Run.Bytes <= 0 {
		return before
	}
	return &RunOf{f.Run.Bytes, f.Run.Seconds, f.Run.Gbps, f.Run.Least}
}

// shown is the rate in Gb/s from which a rail is said to have moved something.
const shown = 0.05

// fewest is how many samples of a rail in motion make a curve. Those at its ends hold less than a
// whole step, so that of three one alone says how fast it was.
const fewest = 4

// curve reports whether the samples show a course.
func (s *Samples) curve() bool {
	return slices.ContainsFunc(s.Rails, func(r RailSamples) bool { return max(r.Tx.moving(), r.Rx.moving()) >= fewest })
}

func (r Rates) moving() int {
	n := 0
	for _, v := range r {
		if chart.Usable(v) && v > shown {
			n++
		}
	}
	return n
}

// runs are what a run came to that is too short for a curve.
func (s *Samples) runs(title string) steps.Table {
	t := steps.Table{
		Title: title,
		Columns: []steps.Column{
			{Name: "rail"},
			{Name: ""},
			{Name: "Gb/s on the wire", Number: true},
			{Name: "GB", Number: true},
			{Name: "within s", Number: true},
		},
		Note: "Too short for a curve: bytes by the rail's counters, time by the node's clock.",
	}
	for _, r := range s.Rails {
		for _, f := range []struct {
			name  string
			run   *RunOf
			rates Rates
		}{{"tx", r.TxRun, r.Tx}, {"rx", r.RxRun, r.Rx}} {
			switch {
			case f.rates.peak() <= shown:
			case f.run == nil:
				t.Rows = append(t.Rows, []string{r.Node + " " + r.Dev, f.name, "≥ " + figure(f.rates.peak()), "", ""})
			default:
				rate := figure(f.run.Gbps)
				if f.run.Least {
					rate = "≥ " + rate
				}
				t.Rows = append(t.Rows, []string{
					r.Node + " " + r.Dev, f.name, rate, figure(f.run.Bytes / 1e9), figure(f.run.Seconds),
				})
			}
		}
	}
	return t
}

// moved reports whether anything went over a rail.
func (s *Samples) moved() bool {
	return s != nil &&
		slices.ContainsFunc(s.Rails, func(r RailSamples) bool { return r.Tx.peak() > shown || r.Rx.peak() > shown })
}
