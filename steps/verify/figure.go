// Package verify is the line that every measured cell's run passes before its judge says how
// good it is: how both ends ended, what they printed, what every port moved, the figure, and
// the signs that a good figure hides. Line asks for them in that order; the other files have
// what tests share at one of the stages. What is right for a tool is its family's, what the
// ports had to carry is in steps/traffic, and what hardware can do in steps/limits.
package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/rate"
	"github.com/railbench/railbench/steps/registry"
)

// A Figure is a bandwidth that is held against what the hardware can do.
type Figure struct {
	Got  rate.Payload
	Band limits.Band
	// Pass and Warn are shares of what is expected: those of a test of RDMA where they are zero.
	Pass, Warn limits.Limit
	Of         string // who carries it: "the rail", "rails 1 and 3"
	// Over is that again behind the figure, where the finding has no place of its own: " over rail 1".
	Over  string
	Doubt string // what is asked of more than can be; of the unit and the way where empty
	// Cause is what ended it early, where that can be seen, and its code; BelowLimit where nothing shows.
	Cause func() (string, steps.Code)
}

func (f Figure) shares() (over, pass, warn limits.Limit) {
	return limits.OverShare, cmp.Or(f.Pass, limits.PassShare), cmp.Or(f.Warn, limits.WarnShare)
}

// Standing is where it stands to its band.
func (f Figure) Standing() limits.Standing {
	over, pass, warn := f.shares()
	return f.Band.Stand(f.Got, over, pass, warn)
}

// Expected is the band as evidence has it, Gb/s.
func (f Figure) Expected() *steps.Expected {
	b := f.Band
	if b.None != "" {
		return &steps.Expected{From: "no expected range: " + b.None}
	}
	over, pass, _ := f.shares()
	most, of := b.Limit, "hardware limit"
	if b.Seen > 0 && (most == 0 || b.Seen < most) {
		most, of = b.Seen, "highest measured"
	}
	// The bounds are shares that were chosen, of a figure that was measured or derived.
	e := &steps.Expected{
		Min:  new(registry.Round(pass.Value() * float64(b.Expected))),
		From: fmt.Sprintf("at least %g of %.1f (%s)", pass.Value(), b.Expected, b.Why()),
	}
	if most > 0 {
		e.Max = new(registry.Round(over.Value() * float64(most)))
		e.From += fmt.Sprintf(", at most %g of %.1f (%s)", over.Value(), most, of)
	}
	return e
}

// least is where it passes from, Gb/s.
func (f Figure) least() float64 {
	_, pass, _ := f.shares()
	return pass.Value() * float64(f.Band.Expected)
}

// Missed says what it came to, and from where it would pass.
func (f Figure) Missed() string {
	return fmt.Sprintf("%s%s, expected at least %.1f", registry.Gbps(float64(f.Got)), f.Over, f.least())
}

// Range says what was expected of it: "expected 87.9 to 107.5".
func (f Figure) Range() string {
	e := f.Expected()
	switch {
	case e.Min == nil:
		return "expected range unknown"
	case e.Max == nil || *e.Max < *e.Min:
		return fmt.Sprintf("expected at least %.1f", *e.Min)
	}
	return fmt.Sprintf("expected %.1f to %.1f", *e.Min, *e.Max)
}

// Judge adds what is to be said of it. add is how the judge adds a finding: to a rail, or
// to all of the test.
func (f Figure) Judge(add func(code steps.Code, g steps.Grade, format string, args ...any)) {
	got, b := registry.Gbps(float64(f.Got)), f.Band
	standing := f.Standing()
	if b.Now > 0 && f.Got > rate.Payload(limits.OverShare.Value())*b.Now && standing != limits.Impossible {
		add(steps.FigureImpossible, steps.Inconclusive, "%s is more than the PCIe links on record can carry (%.1f). Probe "+
			"the nodes again, and run: railbench doctor pcie-link", got, b.Now)
	}
	switch standing {
	case limits.Good:
	case limits.Impossible:
		add(steps.FigureImpossible, steps.Inconclusive, "%s is more than %s can carry (%.1f). %s",
			got, f.Of, b.Limit, cmp.Or(f.Doubt, "Check the unit and the route of the data"))
	case limits.Unseen:
		add(steps.FigureUnseen, steps.Warn,
			"%s is more than the highest value measured so far, %.1f, though physically "+
				"possible (%.1f). Check the unit", got, b.Seen, b.Limit)
	case limits.Unjudged:
		if b.Crawls(f.Got) {
			add(steps.BelowLimit, steps.Warn, "%s%s, but the links declare %.0f Gb/s. Run: railbench doctor shaping path-loss",
				got, f.Over, float64(b.Declared))
			return
		}
		if b.Soft {
			add("", steps.Pass, "No expected range: %s", b.None)
			return
		}
		add(steps.NoLimitKnown, steps.Inconclusive, "%s; whether %s can do more is unknown: %s", got, f.Of,
			cmp.Or(b.None, b.Unless))
	case limits.Short:
		why, code := f.Cause()
		add(code, steps.Fail, "%s. %s", f.Missed(), why)
	case limits.Low:
		why, code := f.Cause()
		add(code, steps.Warn, "%s. %s", f.Missed(), why)
	}
}

// Across says what was measured over some rails: one value for all, each of two, or the range of more.
func Across(rails []int, values []float64, unit func(float64) string) string {
	var figures []string
	for _, v := range values {
		figures = append(figures, unit(v))
	}
	if len(rails) < 3 || len(slices.Compact(slices.Clone(figures))) == 1 {
		return registry.PerRail(rails, figures)
	}
	return fmt.Sprintf("%s to %s on the %d rails", unit(slices.Min(values)), unit(slices.Max(values)), len(rails))
}

// RailsApart compares the latencies of rails with each other, us: those of one machine are alike, also where it is
// unknown what each should take. rails are their numbers.
func RailsApart(medians []float64, rails []int, rep *registry.Report) {
	if len(medians) < 2 {
		return
	}
	best, worst := slices.Index(medians, slices.Min(medians)), slices.Index(medians, slices.Max(medians))
	if medians[worst] > limits.RailsApart.Value()*medians[best] {
		rep.During(steps.ByFigure)
		rep.Add(steps.RailsApart, steps.Warn,
			"rail %d takes %s and rail %d %s, but rails of one rig should be alike. "+
				"Compare routes and other traffic", rails[worst], registry.Microseconds(medians[worst]), rails[best],
			registry.Microseconds(medians[best]))
	}
}
