package session

import (
	"reflect"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

// everyTwo are the verdicts of the links between all of some nodes.
func everyTwo(nodes []string, says func(a, b string) steps.Verdict) (told []linkVerdict) {
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			told = append(told, linkVerdict{linkEnds{a, b}, says(a, b)})
		}
	}
	return told
}

// A good result is reported once. If each link reports its own nodes' values, the report is the first link's.
func TestToldOnce(t *testing.T) {
	nodes := []string{"spark-01", "spark-02", "spark-03"}
	for name, c := range map[string]struct {
		grade steps.Grade
		says  func(a, b string) string
		want  string
		found int
	}{
		"with own values": {
			steps.Pass, func(a, b string) string { return a + " reaches " + b + " in 2 ms." },
			"spark-01:spark-02: spark-01 reaches spark-02 in 2 ms. The same applies to each of 3 links, " +
				"with its own nodes and values.", 0,
		},
		"the same": {
			steps.Pass, func(_, _ string) string { return "Both nodes answer." },
			"Both nodes answer. The same applies to each of 3 links.", 0,
		},
		"all are ill": {
			steps.Fail, func(a, b string) string { return a + " does not reach " + b + "." },
			"spark-01:spark-02: spark-01 does not reach spark-02. spark-01:spark-03: spark-01 does not reach spark-03. " +
				"spark-02:spark-03: spark-02 does not reach spark-03.", 0,
		},
		"all are ill, at length": {
			steps.Fail, func(a, b string) string { return a + " does not reach " + b + " over any of the rails that it has." },
			"spark-01:spark-02: spark-01 does not reach spark-02 over any of the rails that it has. And 2 more findings.", 3,
		},
	} {
		v := foldLinks(everyTwo(nodes, func(a, b string) steps.Verdict {
			return steps.Verdict{Grade: c.grade, Reason: c.says(a, b)}
		}))
		if v.Reason != c.want || len(v.Findings) != c.found {
			t.Errorf("%s:\n%s, want\n%s, and %d findings", name, v.Reason, c.want, len(v.Findings))
		}
	}
	// Of what is amiss each link's figures stand by themselves.
	v := foldLinks([]linkVerdict{
		{linkEnds{"a", "b"}, steps.Verdict{Grade: steps.Pass, Reason: "5 ms on a and 6 ms on b."}},
		{linkEnds{"b", "c"}, steps.Verdict{Grade: steps.Warn, Reason: "70 ms on b and 6 ms on c."}},
		{linkEnds{"a", "c"}, steps.Verdict{Grade: steps.Warn, Reason: "80 ms on a and 6 ms on c."}},
	})
	want := "b:c: 70 ms on b and 6 ms on c. a:c: 80 ms on a and 6 ms on c."
	if v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}

// What was found at one node is reported once, and not once for each of its links. A finding at several nodes
// is reported once for all of them: by code and place, whatever words the judge uses.
func TestFindingsOfNodes(t *testing.T) {
	type say func(rep *registry.Report, rig steps.Rig, e steps.End)
	minutes := map[string]int{"spark-01": 2, "spark-02": 2, "spark-03": 3, "spark-04": 2}
	booted := func(rep *registry.Report, rig steps.Rig, e steps.End) {
		rep.At(rig, e, steps.JustBooted, steps.Warn, "%s booted %d min ago", rig.NameOf(e), minutes[rig.NameOf(e)])
	}
	notOne := func(ill string) say {
		return func(rep *registry.Report, rig steps.Rig, e steps.End) {
			if rig.NameOf(e) != ill {
				rep.At(rig, e, steps.NotRunToEnd, steps.Inconclusive, "the script on %s did not finish", rig.NameOf(e))
			}
		}
	}
	unplaced := func(rep *registry.Report, rig steps.Rig, e steps.End) {
		if rig.NameOf(e) == "spark-02" {
			rep.Add(steps.PCIeNarrow, steps.Fail, "its slot is narrow")
		}
	}
	atOneEnd := func(rep *registry.Report, rig steps.Rig, e steps.End) {
		if rig.NameOf(e) == "spark-02" && e == steps.Peer {
			rep.At(rig, e, steps.PCIeNarrow, steps.Fail, "its slot on %s is narrow", rig.NameOf(e))
		}
	}
	two := func(rep *registry.Report, rig steps.Rig, e steps.End) {
		notOne("")(rep, rig, e)
		unplaced(rep, rig, e)
	}
	for name, c := range map[string]struct {
		says say
		want []steps.Found
	}{
		"all, one with another figure": {booted, []steps.Found{
			{Grade: steps.Warn, Code: steps.JustBooted, Text: "spark-01 booted 2 min ago. " +
				"The same applies to spark-[02,04]. spark-03 booted 3 min ago."},
		}},
		"some": {notOne("spark-02"), []steps.Found{
			{Grade: steps.Inconclusive, Code: steps.NotRunToEnd, Text: "The script on spark-01, spark-03 and " +
				"spark-04 did not finish."},
		}},
		"one that is not named": {unplaced, []steps.Found{
			{Grade: steps.Fail, Code: steps.PCIeNarrow, Text: "spark-02 at each of its 3 links: spark-01:spark-02: " +
				"Its slot is narrow. All other links are better.", Node: "spark-02"},
		}},
		"over one of its links alone": {atOneEnd, []steps.Found{
			{
				Grade: steps.Fail, Code: steps.PCIeNarrow, Text: "spark-01:spark-02: Its slot on spark-02 is narrow.",
				Node: "spark-02",
			},
		}},
		"what is less wrong": {two, []steps.Found{
			{
				Grade: steps.Fail, Code: steps.PCIeNarrow, Text: "spark-02 at each of its 3 links: spark-01:spark-02: " +
					"Its slot is narrow. The script on spark-01 and spark-02 did not finish. All other links are better.",
				Node: "spark-02",
			},
			{Grade: steps.Inconclusive, Code: steps.NotRunToEnd, Text: "The script on spark-[01-04] did not finish."},
		}},
	} {
		v := foldLinks(everyTwo([]string{"spark-01", "spark-02", "spark-03", "spark-04"}, func(a, b string) steps.Verdict {
			rig := steps.Rig{Nodes: []steps.Node{{Name: a}, {Name: b}}}
			var rep registry.Report
			for _, e := range steps.Ends {
				c.says(&rep, rig, e)
			}
			return rep.Verdict("fine")
		}))
		got := v.Findings
		if got == nil {
			got = []steps.Found{{Grade: v.Grade, Code: v.Code, Text: v.Reason, Node: v.Node}}
		}
		for i := range got {
			got[i].Like, got[i].OnNode, got[i].Devices, got[i].Names = "", false, nil, nil
		}
		if v.Grade != c.want[0].Grade || v.Code != c.want[0].Code || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s %s\n%+v\nwant\n%+v", name, v.Grade, v.Reason, got, c.want)
		}
	}
	// Of very many findings the first are listed.
	v := foldLinks(everyTwo([]string{"1", "2", "3", "4", "5", "6", "7", "8"}, func(a, b string) steps.Verdict {
		return steps.Verdict{Grade: steps.Warn, Code: steps.Interrupted, Reason: "It has " + a + b + "."}
	}))
	if n := len(v.Findings); n != mostFindings+1 || v.Findings[n-1].Text != "See the evidence for 12 findings more." {
		t.Errorf("%d findings: %v", n, v.Findings)
	}
}
