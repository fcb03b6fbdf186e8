package chart

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
)

func chartOf(shape steps.Shape, limit float64, values ...float64) steps.Chart {
	s := steps.Series{Name: "now"}
	for i, v := range values {
		s.Points = append(s.Points, steps.Point{X: math.Pow(2, float64(10+i)), Y: v})
	}
	c := steps.Chart{Shape: shape, Series: []steps.Series{s}}
	if limit != 0 {
		c.Limits = []steps.Limit{{Name: "link", Value: limit}}
	}
	return c
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		name  string
		chart steps.Chart
		want  Scale
	}{
		{"bars go to the largest value", chartOf(steps.Bars, 0, 3, 92), Scale{To: 92}},
		{"or the limit", chartOf(steps.Bars, 200, 92), Scale{To: 200}},
		{"or nowhere", chartOf(steps.Bars, 0), Scale{To: 1}},
		{"what can't be drawn has no say", chartOf(steps.Bars, math.Inf(1), -5, math.NaN(), 1e300, 7), Scale{To: 7}},
		{"decades", chartOf(steps.LogBars, 0, 1.9, 640), Scale{1, 1000, true}},
		{"the least is seen", chartOf(steps.LogBars, 0, 1, 10), Scale{0.1, 10, true}},
		{"not too many", chartOf(steps.LogBars, 0, 1e-15, 1), Scale{1e-9, 1, true}},
		{"none", chartOf(steps.LogBars, 0, 0), Scale{To: 1}},
		{"lines go to the limit", chartOf(steps.Lines, 112, 92), Scale{To: 112}},
		{"a limit that is too far", chartOf(steps.Lines, 200, 4.8), Scale{To: 5}},
		{"a limit that is passed by a hair", chartOf(steps.Lines, 111.7, 111.71), Scale{To: 111.71}},
		{"a limit that is passed", chartOf(steps.Lines, 80, 92), Scale{To: 100}},
		{"nothing but a limit", chartOf(steps.Lines, 112, 0), Scale{To: 112}},
		{"nothing", chartOf(steps.Lines, 0), Scale{To: 1}},
	} {
		got := Lines(c.chart)
		if c.chart.Shape != steps.Lines {
			got = Bars(c.chart)
		}
		if got.Log != c.want.Log || math.Abs(got.From-c.want.From) > 1e-12 || math.Abs(got.To-c.want.To) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		s    Scale
		v    float64
		want float64
	}{
		{Scale{To: 200}, 100, 0.5},
		{Scale{To: 200}, 400, 1},
		{Scale{To: 200}, -1, 0},
		{Scale{1, 1000, true}, 10, 1. / 3},
		{Scale{1, 1000, true}, 0, 0},
		{Scale{5, 5, true}, 5, 0},
	} {
		if got := c.s.Share(c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%g on %+v: %g, want %g", c.v, c.s, got, c.want)
		}
	}
}

func TestTicks(t *testing.T) {
	if got := (Scale{0.1, 100, true}).Decades(); len(got) != 4 || (Scale{To: 3}).Decades() != nil {
		t.Errorf("decades %v", got)
	}
	two := chartOf(steps.Lines, 0, 1, 2, 3)
	two.Series = append(two.Series, two.Series[0])
	s, xs := X(two)
	if !slices.Equal(xs, []float64{1024, 2048, 4096}) || s != (Scale{1024, 4096, true}) {
		t.Errorf("X is %+v with %v", s, xs)
	}
	if _, xs := X(steps.Chart{}); xs != nil {
		t.Errorf("of nothing: %v", xs)
	}
	figure := func(v float64) string { return fmt.Sprint(v) }
	for v, want := range map[float64]string{1024: "1Ki", 1536: "1536", 8 << 20: "8Mi", 1 << 30: "1Gi", 3: "3"} {
		if got := Tick(v, "bytes", figure); got != want {
			t.Errorf("%g bytes: %q, want %q", v, got, want)
		}
	}
	if got := Tick(1024, "us", figure); got != "1024" {
		t.Errorf("no bytes: %q", got)
	}
	for v, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 4.8: 5, 7: 10, 93: 100, 100.05: 100} {
		if got := Rounded(v); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g is rounded to %g, want %g", v, got, want)
		}
	}
	if p := Points(chartOf(steps.Bars, 0, 1)); len(p) != 1 || p[0].Label != "now" {
		t.Errorf("%+v", p)
	}
}
