package session

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// What links say alike of their own nodes is told once, of all nodes, with figures from the least to the most; who says
// anything else stands apart, and nobody who is named as ill is left out.
func TestToldOnce(t *testing.T) {
	every := func(says func(a, b string) (steps.Grade, string)) (all []linkVerdict) {
		nodes := []string{"spark-01", "spark-02", "spark-03"}
		for i, a := range nodes {
			for _, b := range nodes[i+1:] {
				g, reason := says(a, b)
				all = append(all, linkVerdict{linkEnds{a, b}, steps.Verdict{Grade: g, Reason: reason}})
			}
		}
		return all
	}
	degrees := map[string]string{"spark-01": "58", "spark-02": "57", "spark-03": "61.5"}
	for name, c := range map[string]struct {
		says func(a, b string) (steps.Grade, string)
		want string
	}{
		"before the names": {func(a, b string) (steps.Grade, string) {
			return steps.Pass, "Cool enough: at most " + degrees[a] + " degrees on " + a + " and " + degrees[b] +
				" degrees on " + b + ", below 97."
		}, "Cool enough: at most 57 to 61.5 degrees on spark-[01-03], below 97."},
		"behind them": {func(a, b string) (steps.Grade, string) {
			return steps.Pass, "Both nodes answer: " + a + " for 26 h and " + b + " for 3 h."
		}, "Both nodes answer: spark-[01-03] for 3 to 26 h. The same applies to each of 3 links."},
		"on both sides": {func(a, b string) (steps.Grade, string) {
			return steps.Pass, "NVIDIA GB10 on " + a + " (44 degrees) and NVIDIA GB10 on " + b + " (45 degrees)."
		}, "NVIDIA GB10 on spark-[01-03] (44 to 45 degrees)."},
		"no names": {func(a, _ string) (steps.Grade, string) {
			return steps.Pass, map[bool]string{true: "9.9", false: "10.1"}[a == "spark-01"] + " Gb/s on each of the 4 rails."
		}, "9.9 to 10.1 Gb/s on each of the 4 rails."},
		// Which rail it is, or which release, is no figure.
		"another number": {func(a, b string) (steps.Grade, string) {
			return steps.Warn, map[bool]string{true: "Rail 1", false: "Rail 3"}[a+b == "spark-01spark-02"] + " is slow."
		}, "spark-01:spark-02: Rail 1 is slow. spark-01:spark-03, spark-02:spark-03: Rail 3 is slow."},
		"another word": {func(a, b string) (steps.Grade, string) {
			word := map[bool]string{true: "disabled", false: "enabled"}
			return steps.Pass, "It is " + word[a == "spark-03"] + " on " + a + " and " + word[b == "spark-03"] + " on " + b + "."
		}, "spark-01:spark-02: It is enabled on spark-01 and enabled on spark-02. " +
			"spark-01:spark-03: It is enabled on spark-01 and disabled on spark-03. " +
			"spark-02:spark-03: It is enabled on spark-02 and disabled on spark-03."},
		"all alike": {func(a, b string) (steps.Grade, string) {
			return steps.Pass, a + " reaches " + b + " in 2 ms."
		}, "spark-01:spark-02: spark-01 reaches spark-02 in 2 ms. The same applies to each of 3 links, " +
			"with its own nodes and values."},
		"all are ill": {func(a, b string) (steps.Grade, string) {
			return steps.Fail, a + " doesn't reach " + b + "."
		}, "spark-01:spark-02: spark-01 doesn't reach spark-02. spark-01:spark-03: spark-01 doesn't reach spark-03. " +
			"spark-02:spark-03: spark-02 doesn't reach spark-03."},
	} {
		if got := foldLinks(every(c.says)).Reason; got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
	// Of what is amiss each link's figures stand by themselves.
	v := foldLinks([]linkVerdict{
		{linkEnds{"a", "b"}, steps.Verdict{Grade: steps.Pass, Reason: "5 ms on a and 6 ms on b."}},
		{linkEnds{"b", "c"}, steps.Verdict{Grade: steps.Warn, Reason: "70 ms on b and 6 ms on c, which is slow."}},
		{linkEnds{"a", "c"}, steps.Verdict{Grade: steps.Warn, Reason: "80 ms on a and 6 ms on c, which is slow."}},
	})
	want := "b:c: 70 ms on b and 6 ms on c, which is slow. a:c: 80 ms on a and 6 ms on c, which is slow."
	if v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}
