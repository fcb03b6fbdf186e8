package session

import (
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// What is said of one node at a time is told once, of each, and not once for each of its links: the reasons are what
// four virtual machines of Slurm's were told.
func TestFactsOfNodes(t *testing.T) {
	booted := func(node, minutes string) string {
		return node + " booted " + minutes + " min ago: addresses and bonds that were not in its configuration are gone. " +
			"Run the other checks, and set again what is missing."
	}
	minutes := map[string]string{"spark-01": "2", "spark-02": "2", "spark-03": "3", "spark-04": "2"}
	slow := func(node string) string {
		return "The script on " + node +
			" did not run to its end: its supervisor did not end in time. If it answers, look for leftovers there."
	}
	for name, c := range map[string]struct {
		grade steps.Grade
		says  func(a, b string) string
		want  string
	}{
		"all, with a figure": {
			steps.Warn, func(a, b string) string { return booted(a, minutes[a]) + " " + booted(b, minutes[b]) },
			booted("spark-01", "2") + " The same applies to spark-[02,04]. " + booted("spark-03", "3"),
		},
		"some": {steps.Inconclusive, func(a, b string) string {
			var all []string
			for _, node := range []string{a, b} {
				if node != "spark-02" {
					all = append(all, slow(node))
				}
			}
			return strings.Join(all, " ")
		}, slow("spark-01") + " The same applies to spark-[03-04]."},
		"with an end of its own": {steps.Warn, func(a, b string) string {
			return "Slow. " + a + " is at Gen4 x4. " + b + " is at Gen4 x4. A reboot trains it anew."
		}, "Slow. spark-01 is at Gen4 x4. The same applies to spark-[02-04]. A reboot trains it anew."},
		"of both ends": {
			steps.Warn, func(a, b string) string { return a + " is slow to " + b + ". Look there." },
			"spark-01:spark-02: spark-01 is slow to spark-02. Look there. spark-01:spark-03: spark-01 is slow to spark-03. " +
				"Look there. " +
				"spark-01:spark-04: spark-01 is slow to spark-04. Look there. spark-02:spark-03: spark-02 is slow to spark-03. " +
				"Look there. " +
				"Over 2 more links there are others; see the evidence.",
		},
		"another over each link": {
			steps.Warn, func(a, b string) string { return a + " lost what came from rail " + b[len(b)-1:] + "." },
			"spark-01:spark-02: spark-01 lost what came from rail 2. spark-01:spark-03: spark-01 lost what came from rail 3. " +
				"spark-02:spark-03: spark-02 lost what came from rail 3. spark-01:spark-04: spark-01 lost what came from rail 4. " +
				"Over 2 more links there are others; see the evidence.",
		},
	} {
		var told []linkVerdict
		nodes := []string{"spark-01", "spark-02", "spark-03", "spark-04"}
		for i, a := range nodes {
			for _, b := range nodes[i+1:] {
				told = append(told, linkVerdict{linkEnds{a, b}, steps.Verdict{Grade: c.grade, Reason: c.says(a, b)}})
			}
		}
		if got := foldLinks(told).Reason; got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	// Where it isn't so over each link of a node's, the links are named.
	v := foldLinks([]linkVerdict{
		{linkEnds{"a", "b"}, steps.Verdict{Grade: steps.Fail, Reason: "a hears nothing."}},
		{linkEnds{"a", "c"}, steps.Verdict{Grade: steps.Fail, Reason: "a hears nothing."}},
		{linkEnds{"a", "d"}, steps.Verdict{Grade: steps.Pass, Reason: "Fine."}},
	})
	if want := "a:b, a:c: a hears nothing."; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}
