// Package chart works out what a chart shows: how far its scales go, where a value lies on
// them, and at which values ticks stand. It draws nothing: the terminal's lines are
// tui/cells', and SVG is notebook's, and both show the same because both ask here.
package chart

import (
	"math"
	"slices"

	"github.com/railbench/railbench/steps"
)

// Usable reports whether a value can be drawn. Nothing of a rig is above the bound, and
// what is would be lost in a scale's own arithmetic.
func Usable(v float64) bool { return v > 0 && v < 1e18 }

// A Scale places values between 0 and 1.
type Scale struct {
	From, To float64
	Log      bool
}

// Share is where v lies, from 0 to 1.
func (s Scale) Share(v float64) float64 {
	from, to := s.From, s.To
	if s.Log {
		v, from, to = math.Log10(max(v, s.From)), math.Log10(s.From), math.Log10(s.To)
	}
	if to <= from {
		return 0
	}
	return min(max((v-from)/(to-from), 0), 1)
}

// Decades are the powers of ten on a logarithmic scale, its ends too; nil on any other.
func (s Scale) Decades() (all []float64) {
	if !s.Log {
		return nil
	}
	for v := s.From; v < s.To*1.01; v *= 10 {
		all = append(all, v)
	}
	return all
}

// Points are those of all series. What has no label is called as its series.
func Points(c steps.Chart) []steps.Point {
	var all []steps.Point
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.Label == "" {
				p.Label = s.Name
			}
			all = append(all, p)
		}
	}
	return all
}

// Limits are the limits of a chart that can be drawn. Their order shows which limit is which.
func Limits(c steps.Chart) []steps.Limit {
	return slices.DeleteFunc(slices.Clone(c.Limits), func(l steps.Limit) bool { return !Usable(l.Value) })
}

// mostDecades bounds a logarithmic scale: no one reports more of them apart.
const mostDecades = 1e9

// Bars is the scale of bars. It is pinned to the largest limit, so that a bar's length
// means the same whatever was measured; with a logarithm it goes over whole decades.
func Bars(c steps.Chart) Scale {
	s, least := Scale{Log: c.Shape == steps.LogBars}, math.Inf(1)
	see := func(v float64) {
		if Usable(v) {
			s.To, least = max(s.To, v), min(least, v)
		}
	}
	for _, p := range Points(c) {
		see(p.Y)
	}
	for _, l := range Limits(c) {
		see(l.Value)
	}
	switch {
	case s.To == 0:
		return Scale{To: 1}
	case s.Log:
		// A bar of the least value is seen, too.
		s.From, s.To = math.Pow(10, math.Floor(math.Log10(least*0.8))), math.Pow(10, math.Ceil(math.Log10(s.To)))
		s.From = max(s.From, s.To/mostDecades)
	}
	return s
}

// hair is how far above its limit a value may be and still end its scale: rounded up, half of the chart
// would be empty.
const hair = 1.05

// Lines is the scale of the values of lines. It goes up to the largest limit; where that is
// so far away that a line would lie on the floor, to the largest value.
func Lines(c steps.Chart) Scale {
	most, limit := 0.0, 0.0
	for _, p := range Points(c) {
		if Usable(p.Y) {
			most = max(most, p.Y)
		}
	}
	for _, l := range Limits(c) {
		if l.Value <= 4*most || most == 0 {
			limit = max(limit, l.Value)
		}
	}
	if limit > 0 && most <= hair*limit {
		return Scale{To: max(limit, most)}
	}
	return Scale{To: max(Rounded(most), 1e-9)}
}

// X is the logarithmic scale that lines are drawn over, and the values on it in order,
// each once. Without a value there is nothing to draw.
func X(c steps.Chart) (s Scale, values []float64) {
	for _, p := range Points(c) {
		if Usable(p.X) {
			values = append(values, p.X)
		}
	}
	if values == nil {
		return Scale{}, nil
	}
	slices.Sort(values)
	values = slices.Compact(values)
	return Scale{From: values[0], To: values[len(values)-1], Log: true}, values
}

// Rounded is the next of 1, 2, 5, 10 …
func Rounded(v float64) float64 {
	if v <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*p >= v*0.999 {
			return f * p
		}
	}
	return 10 * p
}

// Tick writes a value of X: bytes as 64Ki, and all else as figure does.
func Tick(v float64, unit string, figure func(float64) string) string {
	if unit != "bytes" {
		return figure(v)
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if v >= u.size && math.Mod(v, u.size) == 0 {
			return figure(v/u.size) + u.name
		}
	}
	return figure(v)
}
