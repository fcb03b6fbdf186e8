package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

var trio = []string{"spark-01", "spark-02", "spark-03"}

// A cell runs over the link under test and nowhere else, with here and the peer as the
// link has them; the rig is looked at whole.
func TestCellsRunOverTheLinkUnderTest(t *testing.T) {
	c := steps.Cell{ID: "c", Judge: "passes", Roles: []steps.Role{
		{Name: "server", On: steps.OnPeer, Script: `echo "server $NODE to $PEER"`},
		{Name: "client", On: steps.OnHere, Script: `echo "client $NODE to $PEER"`},
	}}
	for _, x := range []struct {
		link          steps.Link
		client, serve string
	}{
		{steps.Link{}, "client spark-01 to spark-02", "server spark-02 to spark-01"},
		{steps.Link{Here: 2, Peer: 0}, "client spark-03 to spark-01", "server spark-01 to spark-03"},
		{steps.Link{Here: 1, Peer: 2}, "client spark-02 to spark-03", "server spark-03 to spark-02"},
	} {
		b := openNodes(t, Options{Link: x.link}, trio, c)
		b.Run("c")
		got := printed(b.until("c"))
		if !strings.Contains(got, x.client) || !strings.Contains(got, x.serve) {
			t.Errorf("%v: printed %q", x.link, got)
		}
		if len(b.book.Rig.Nodes) != 3 || slices.ContainsFunc(b.book.Rig.Nodes, func(n steps.Node) bool { return n.Kernel == "" }) {
			t.Errorf("%v: not all nodes were looked at: %+v", x.link, b.book.Rig.Nodes)
		}
	}
}

func TestSetLink(t *testing.T) {
	slow := one("slow", "sleep 60", "passes")
	b := openNodes(t, Options{}, trio, one("where", `echo "$NODE to $PEER"`, "passes"), slow)
	for _, bad := range []steps.Link{{Here: 0, Peer: 0}, {Here: 0, Peer: 3}, {Here: -1, Peer: 1}} {
		if b.SetLink(bad) == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	b.Run("where")
	if got := printed(b.until("where")); !strings.Contains(got, "spark-01 to spark-02") {
		t.Errorf("printed %q", got)
	}
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLink(steps.Link{Here: 2, Peer: 1}); err != nil {
		t.Fatal(err)
	}
	b.Run("where")
	if got := printed(b.until("where")); !strings.Contains(got, "spark-03 to spark-02") {
		t.Errorf("printed %q", got)
	}
	if b.book.Rig.At(steps.Here).Name != "spark-03" {
		t.Errorf("the notebook has %s here", b.book.Rig.At(steps.Here).Name)
	}
	b.Run("slow")
	for !b.book.Cells["slow"].Running {
		events, ok := b.Next(t.Context())
		if !ok {
			t.Fatal("the session ended")
		}
		for _, e := range events {
			b.book = b.book.Apply(e)
		}
	}
	if err := b.SetLink(steps.DefaultLink); err == nil {
		t.Error("the link under test was changed under a running cell")
	}
	b.Interrupt()
	b.until("slow")
}

// A check looks at every link, and says of which it speaks.
func TestChecksLookAtEveryLink(t *testing.T) {
	c := check("c", `echo "$NODE and $PEER"`, "third")
	o := Options{}
	judged := map[string]bool{}
	o.Catalog.Judges = map[string]steps.Judge{"third": func(_ steps.Cell, r steps.Result) steps.Verdict {
		names := r.Rig.At(steps.Here).Name + " " + r.Rig.At(steps.Peer).Name
		judged[names] = true
		if strings.Contains(names, "spark-03") {
			return steps.Verdict{Grade: steps.Fail, Reason: "spark-03 is ill.", Node: "spark-03", Evidence: []steps.Evidence{{Name: "spark-03 says", Value: "ouch"}}}
		}
		return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
	}}
	s := openNodes(t, o, trio, c)
	s.Run("c")
	state := s.until("c")
	v := state.Verdict
	if len(judged) != 3 {
		t.Errorf("judged over %v", judged)
	}
	if v.Grade != steps.Fail || v.Node != "spark-03" || len(v.Evidence) != 1 {
		t.Errorf("%+v", v)
	}
	if want := "spark-01:spark-03, spark-02:spark-03: spark-03 is ill."; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}

// A check asks each node once what it asks both ends of a link, and at every link what names
// the peer; one that moves data goes around the nodes.
func TestChecksAskEachNodeOnce(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5"}
	for _, x := range []struct {
		script   string
		measures bool
		lines    int // that the script printed
		judged   int
	}{
		{`echo "I am $NODE"`, false, 5, 10},
		{`echo "$NODE and $PEER"`, false, 20, 10},
		{`echo "I am $NODE"`, true, 10, 5},
	} {
		c := check("c", x.script, "counts")
		c.Check.Measures, c.Roles[0].On = x.measures, steps.OnBoth
		judged := 0
		o := Options{}
		o.Catalog.Judges = map[string]steps.Judge{"counts": func(_ steps.Cell, r steps.Result) steps.Verdict {
			for _, out := range r.Stages[0].Outputs {
				if name := r.Rig.At(out.End).Name; !out.Ran || !strings.Contains(out.Text, name) {
					t.Errorf("%s is said to have said %q", name, out.Text)
				}
			}
			judged++
			return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
		}}
		s := openNodes(t, o, nodes, c)
		s.Run("c")
		got := printed(s.until("c"))
		lines := strings.Count(got, "I am") + strings.Count(got, " and ")
		if lines != x.lines || judged != x.judged {
			t.Errorf("%q: %d lines, want %d; judged over %d links, want %d:\n%s", x.script, lines, x.lines, judged, x.judged, got)
		}
	}
}

func TestFoldLinks(t *testing.T) {
	pass := steps.Verdict{Grade: steps.Pass, Reason: "All is well."}
	warn := steps.Verdict{Grade: steps.Warn, Reason: "A is odd.", Node: "a"}
	fail := steps.Verdict{Grade: steps.Fail, Reason: "B is broken.", Node: "b"}
	other := steps.Verdict{Grade: steps.Fail, Reason: "C is broken.", Node: "c"}
	skipped := steps.Verdict{Grade: steps.Skipped, Reason: "No tool."}
	fine := steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
	for name, c := range map[string]struct {
		told   []linkVerdict
		grade  steps.Grade
		reason string
		node   string
	}{
		"all well":         {[]linkVerdict{{linkEnds{"a", "b"}, pass}, {linkEnds{"a", "c"}, pass}}, steps.Pass, "All is well.", ""},
		"skipped and well": {[]linkVerdict{{linkEnds{"a", "b"}, skipped}, {linkEnds{"a", "c"}, pass}}, steps.Pass, "a:c: All is well.", ""},
		"skipped":          {[]linkVerdict{{linkEnds{"a", "b"}, skipped}, {linkEnds{"a", "c"}, skipped}}, steps.Skipped, "No tool.", ""},
		"the worst counts": {[]linkVerdict{{linkEnds{"a", "b"}, fail}, {linkEnds{"a", "c"}, warn}}, steps.Fail, "a:b: B is broken.", "b"},
		"on several links": {[]linkVerdict{{linkEnds{"a", "b"}, fail}, {linkEnds{"b", "c"}, fail}, {linkEnds{"a", "c"}, pass}}, steps.Fail, "a:b, b:c: B is broken.", "b"},
		"two that are ill": {[]linkVerdict{{linkEnds{"a", "b"}, fail}, {linkEnds{"a", "c"}, other}}, steps.Fail, "a:b: B is broken. a:c: C is broken.", ""},
		"one differs from three": {[]linkVerdict{
			{linkEnds{"a", "b"}, pass},
			{linkEnds{"a", "c"}, other},
			{linkEnds{"a", "d"}, pass},
			{linkEnds{"b", "c"}, fail},
			{linkEnds{"b", "d"}, pass},
			{linkEnds{"c", "d"}, warn},
		}, steps.Fail, "a:c: C is broken. b:c: B is broken.", ""},
		"one differs at all of its links": {[]linkVerdict{
			{linkEnds{"a", "b"}, pass},
			{linkEnds{"a", "c"}, other},
			{linkEnds{"a", "d"}, pass},
			{linkEnds{"b", "c"}, fail},
			{linkEnds{"b", "d"}, warn},
			{linkEnds{"c", "d"}, fail},
		}, steps.Fail, "c at each of its 3 links: a:c: C is broken. The links between all other nodes are better.", "c"},
		"one is well, and nothing else ran": {[]linkVerdict{
			{linkEnds{"a", "b"}, skipped},
			{linkEnds{"a", "c"}, pass},
			{linkEnds{"a", "d"}, skipped},
			{linkEnds{"b", "c"}, fine},
			{linkEnds{"b", "d"}, skipped},
			{linkEnds{"c", "d"}, fine},
		}, steps.Pass, "a:c: All is well. b:c, c:d: Fine.", ""},
		"nothing was run":   {nil, steps.NotRun, "", ""},
		"one link was done": {[]linkVerdict{{linkEnds{"a", "b"}, warn}}, steps.Warn, "A is odd.", "a"},
	} {
		v := foldLinks(c.told)
		if v.Grade != c.grade || v.Reason != c.reason || v.Node != c.node {
			t.Errorf("%s: %s %q of %q, want %s %q of %q", name, v.Grade, v.Reason, v.Node, c.grade, c.reason, c.node)
		}
	}
}
