package registry

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		note   func(*Report)
		want   string
		grade  steps.Grade
		byHand bool
	}{
		"a sentence begins with a capital": {func(r *Report) {
			r.Note(Finding{Grade: steps.Fail, Text: "the link went down"})
		}, "The link went down.", steps.Fail, false},
		"behind a rail's name it doesn't": {func(r *Report) {
			r.Note(Finding{Grade: steps.Fail, Text: "the link went down", Rail: 2, Dev: "mlx5_1"})
		}, "Rail 2 (mlx5_1): the link went down.", steps.Fail, false},
		"a name keeps its spelling": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Warn, "%s is off", "enp1s0f0np0")
		}, "enp1s0f0np0 is off.", steps.Warn, false},
		"the worst comes first": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Warn, "it is late")
			r.Add(steps.NothingRan, steps.Fail, "it is broken")
		}, "It is broken. It is late.", steps.Fail, false},
		"several rails are one sentence": {func(r *Report) {
			for i := range 2 {
				r.Note(Finding{Grade: steps.Warn, Text: "is slow", Rail: i + 1})
			}
		}, "Rails 1 and 2: is slow.", steps.Warn, false},
		"all is for hands": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Fail, "the cable is out")
			r.ByHand()
			r.Add("", steps.Pass, "the other is in")
		}, "The cable is out. The other is in.", steps.Fail, true},
		"some of it is not": {func(r *Report) {
			r.Add(steps.NothingRan, steps.Fail, "the cable is out")
			r.ByHand()
			r.Add(steps.NothingRan, steps.Warn, "an address is missing")
		}, "The cable is out. An address is missing.", steps.Fail, false},
	} {
		var r Report
		c.note(&r)
		if v := r.Verdict("all is well"); v.Reason != c.want || v.Grade != c.grade || v.ByHand != c.byHand {
			t.Errorf("%s: %s, by hand %v: %q", name, v.Grade, v.ByHand, v.Reason)
		}
	}
}
