package notebook

import (
	"encoding/json"
	"math"
	"slices"
	"time"

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
}

// Rates are values of which some may be unknown: NaN here, null in JSON.
type Rates []float64

// MarshalJSON writes three digits: a gauge shows no more.
func (r Rates) MarshalJSON() ([]byte, error) {
	all := make([]*float64, len(r))
	for i, v := range r {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[i] = new(math.Round(v*1000) / 1000)
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

func (s *Samples) add(b meter.Board, at time.Time) {
	slot := int(at.Sub(s.from).Milliseconds() / s.StepMS)
	if slot < 0 {
		return
	}
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
			continue // the old rates are no sample
		}
		r := &s.Rails[i]
		r.Tx, r.Rx = r.Tx.put(slot, g.Tx.Total()), r.Rx.put(slot, g.Rx.Total())
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

// moved reports whether anything went over a rail.
func (s *Samples) moved() bool {
	return s != nil &&
		slices.ContainsFunc(s.Rails, func(r RailSamples) bool { return r.Tx.peak() > 0.05 || r.Rx.peak() > 0.05 })
}
