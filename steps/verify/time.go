package verify

import (
	"cmp"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/steps/registry"
)

// A Time is a median that is held against what adapters take, us.
type Time struct {
	MedianUS float64
	// Usual is what was measured, Least what is not a measurement any more, and Pass and Warn from where it warns and
	// from where it fails.
	Usual, Least, Pass, Warn limits.Limit
	Of                       string // what the band is of, before what was measured; empty for nothing
	Soft                     string // why no hardware limits it; empty where some does
	None                     string // why there is no band all the same; empty where there is one
	Far                      string // what to check where it fails
}

// Expected is the band as evidence has it.
func (f Time) Expected() *steps.Expected {
	if none := cmp.Or(f.Soft, f.None); none != "" {
		return &steps.Expected{From: "no expected range: " + none}
	}
	return &steps.Expected{
		Min: new(f.Least.Value()), Max: new(f.Pass.Value()),
		From: f.Of + f.Usual.Entry().Says() + "; the limits are chosen",
	}
}

// Judge adds what is to be said of it. What holds for all rails alike goes into the report.
func (f Time) Judge(rep *registry.Report, add Adder) {
	said := registry.Microseconds(f.MedianUS)
	switch {
	case f.Soft != "":
		rep.Add("", steps.Pass, "No expected range: %s", f.Soft)
	case f.MedianUS < f.Least.Value():
		add(steps.FigureImpossible, steps.Inconclusive, "%s is less than a cable and two adapters can take. Check the unit",
			said)
	case f.None != "":
		add(steps.NoLimitKnown, steps.Inconclusive,
			"%s; whether the rail can do better is unknown: %s", said, f.None)
	case f.MedianUS > f.Warn.Value():
		add(steps.LatencyHigh, steps.Fail, "%s typical, expected at most %.3g us. %s", said, f.Pass.Value(), f.Far)
	case f.MedianUS > f.Pass.Value():
		add(steps.LatencyHigh, steps.Warn,
			"%s typical, expected at most %.3g us. Check power saving (cpufreq) and other "+
				"traffic", said,
			f.Pass.Value())
	}
}
