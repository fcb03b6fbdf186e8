package session

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/railbench/railbench/runner/testform"
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
		if len(b.book.Rig.Nodes) != 3 ||
			slices.ContainsFunc(b.book.Rig.Nodes, func(n steps.Node) bool { return n.Kernel == "" }) {
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
			return steps.Verdict{
				Grade: steps.Fail, Reason: "spark-03 is ill.", Node: "spark-03",
				Evidence: []steps.Evidence{{Name: "spark-03 says", Value: "ouch", Node: "spark-03"}},
			}
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
	if want := "spark-03 is ill."; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}

// A check asks each node once what it asks both ends of a link, and at every link what names
// the peer; one that moves data goes around the nodes, and so does every one where they are many,
// but for what has to be different everywhere.
func TestChecksAskEachNodeOnce(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"}
	for _, x := range []struct {
		nodes  int
		script string
		check  steps.Check
		lines  int // that the script printed
		judged int64
		short  bool // in the short form, too: ten nodes are a thousand processes
	}{
		{5, `echo "I am $NODE"`, steps.Check{}, 5, 10, true},
		{5, `echo "$NODE and $PEER"`, steps.Check{}, 20, 10, true},
		{5, `echo "I am $NODE"`, steps.Check{Measures: true}, 10, 5, true},
		{10, `echo "I am $NODE"`, steps.Check{}, 10, 10, true},
		{10, `echo "$NODE and $PEER"`, steps.Check{}, 20, 10, false},
		{10, `echo "I am $NODE"`, steps.Check{EveryPair: true}, 10, 45, false},
		{10, `echo "$NODE and $PEER"`, steps.Check{EveryPair: true}, 90, 45, false},
	} {
		if !x.short && !testform.Full() {
			continue
		}
		c := check("c", x.script, "counts")
		c.Check.Measures, c.Check.EveryPair, c.Roles[0].On = x.check.Measures, x.check.EveryPair, steps.OnBoth
		var judged atomic.Int64
		o := Options{}
		o.Catalog.Judges = map[string]steps.Judge{"counts": func(_ steps.Cell, r steps.Result) steps.Verdict {
			for _, out := range r.Stages[0].Outputs {
				if name := r.Rig.At(out.End).Name; !out.Ran || !strings.Contains(out.Text, name) {
					t.Errorf("%s is said to have said %q", name, out.Text)
				}
			}
			judged.Add(1)
			return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
		}}
		s := openNodes(t, o, nodes[:x.nodes], c)
		s.Run("c")
		got := printed(s.until("c"))
		lines := strings.Count(got, "I am") + strings.Count(got, " and ")
		if lines != x.lines || judged.Load() != x.judged {
			t.Errorf("%d nodes, %q: %d lines, want %d; judged over %d links, want %d:\n%s",
				x.nodes, x.script, lines, x.lines, judged.Load(), x.judged, got)
		}
	}
}

// What a check works out for a link its nodes are asked with, and each answer is kept apart.
func TestChecksAskWithWhatWasPlanned(t *testing.T) {
	c := check("c", `echo "$NODE asks $WAY"`, "planned")
	c.Roles[0].On = steps.OnBoth
	o := Options{}
	o.Catalog.Plans = map[string]steps.Planner{"planned": func(rig steps.Rig, _ map[string]string) (p steps.Plan) {
		for _, e := range steps.Ends {
			p.Vars[e] = map[string]string{"WAY": rig.At(e.Other()).Name}
		}
		return p
	}}
	judged := 0
	o.Catalog.Judges = map[string]steps.Judge{"planned": func(_ steps.Cell, r steps.Result) steps.Verdict {
		judged++
		for _, out := range r.Stages[0].Outputs {
			if want := r.Rig.At(out.End).Name + " asks " + r.Rig.At(out.End.Other()).Name + "\n"; out.Text != want {
				t.Errorf("over %s: %q, want %q", linkEnds{r.Rig.At(0).Name, r.Rig.At(1).Name}, out.Text, want)
			}
		}
		return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
	}}
	s := openNodes(t, o, []string{"n1", "n2", "n3", "n4", "n5"}, c)
	s.Run("c")
	if s.until("c"); judged != 10 {
		t.Errorf("judged over %d links", judged)
	}
}

func TestFoldEvidence(t *testing.T) {
	item := func(name string, value any) steps.Evidence { return steps.Evidence{Name: name, Value: value} }
	at := func(node, what string, value any) steps.Evidence {
		return steps.Evidence{Name: node + " " + what, Value: value, Node: node}
	}
	few := func(steps.Evidence) bool { return false }
	all := []steps.Evidence{
		at("spark-02", "eth0 MTU", 9000),
		at("spark-01", "eth0 MTU", 9000),
		item("price", "19 Gb/s"),
		at("spark-03", "eth0 MTU", 9000),
		at("spark-04", "eth0 MTU", 1500),
		at("spark-04", "ends", "by itself"),
		at("spark-03", "ends", "by itself"),
	}
	want := []steps.Evidence{
		item("spark-[01-03] eth0 MTU", 9000), item("price", "19 Gb/s"), at("spark-04", "eth0 MTU", 1500),
		at("spark-04", "ends", "by itself"), at("spark-03", "ends", "by itself"),
	}
	if got := foldEvidence(all, few); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	drop := func(e steps.Evidence) bool {
		return strings.Contains(e.Name, "ends") || strings.Contains(e.Name, "MTU")
	}
	if got := foldEvidence(all, drop); !reflect.DeepEqual(got, want[:2]) {
		t.Errorf("what few say is left out: %+v", got)
	}
}

// A lender is a service that counts whom it serves.
type lender struct {
	mu   sync.Mutex
	runs map[string]bool
	now  int
	most int // at once
}

func (l *lender) Plan(Request) map[string]string { return nil }

func (l *lender) Start(_ context.Context, r Request) (vars [2]map[string]string, stop func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[r.Run] = true
	l.now++
	l.most = max(l.most, l.now)
	r.Tell("lent to %s", r.Nodes[steps.Here].Name())
	return vars, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now--
		return nil
	}, nil
}

// Links are measured side by side also where each needs a service of its own; what is of every node is run once.
func TestChecksShareServices(t *testing.T) {
	for _, x := range []struct {
		service    string
		runs, most int
	}{
		{"loan", 6, 3},
		{steps.LaunchService, 1, 1},
	} {
		t.Run(x.service, func(t *testing.T) {
			t.Parallel() // each waits for nodes that sleep
			c := check("c", "sleep 0.2; echo done", "passes")
			c.Check.Measures, c.With = true, []string{x.service}
			l := &lender{runs: map[string]bool{}}
			o := Options{Services: map[string]Service{x.service: l}}
			o.Catalog.Judges = map[string]steps.Judge{"passes": func(steps.Cell, steps.Result) steps.Verdict {
				return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
			}}
			s := openNodes(t, o, []string{"n1", "n2", "n3", "n4", "n5", "n6"}, c)
			s.Run("c")
			state := s.until("c")
			if len(l.runs) != x.runs || l.most != x.most || l.now != 0 || state.Verdict.Grade != steps.Pass {
				t.Errorf("%d runs, %d at once, %d left: %s %s", len(l.runs), l.most, l.now, state.Verdict.Grade,
					state.Verdict.Reason)
			}
			told := 0
			for _, line := range state.Output.Lines(0, 1000) {
				if strings.HasPrefix(line.Text, "lent to ") {
					told++
				}
			}
			if told != x.runs {
				t.Errorf("told %d times", told)
			}
		})
	}
}

// A check that moves data measures links next to each other, shows each by itself, and measures alone what looked
// bad.
func TestChecksMeasureInRounds(t *testing.T) {
	for name, x := range map[string]struct {
		bad    func(link string, again bool) steps.Verdict
		judged int
		grade  steps.Grade
		says   string
	}{
		"all is well": {func(string, bool) steps.Verdict { return steps.Verdict{} }, 6, steps.Pass, "Fine."},
		"bad beside others": {func(link string, again bool) steps.Verdict {
			if link == "n2:n3" && !again {
				return steps.Verdict{Grade: steps.Fail, Reason: "Slow."}
			}
			return steps.Verdict{}
		}, 7, steps.Warn, "Good alone, but not with 3 links at once"},
		"bad": {func(link string, _ bool) steps.Verdict {
			if link == "n2:n3" {
				return steps.Verdict{Grade: steps.Fail, Reason: "Slow."}
			}
			return steps.Verdict{}
		}, 7, steps.Fail, "n2:n3: Slow."},
		"nobody could tell, the first time": {func(link string, again bool) steps.Verdict {
			if link == "n2:n3" && !again {
				return steps.Verdict{Grade: steps.Inconclusive, Reason: "Busy."}
			}
			return steps.Verdict{}
		}, 7, steps.Pass, "Fine."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for nodes that sleep
			c := check("c", `echo "a of $NODE"; sleep 0.2; echo "z of $NODE"`, "counts")
			c.Check.Measures, c.Roles[0].On = true, steps.OnBoth
			var mu sync.Mutex
			judged := map[string]int{}
			o := Options{}
			o.Catalog.Judges = map[string]steps.Judge{"counts": func(_ steps.Cell, r steps.Result) steps.Verdict {
				mu.Lock()
				defer mu.Unlock()
				link := r.Rig.At(steps.Here).Name + ":" + r.Rig.At(steps.Peer).Name
				judged[link]++
				if v := x.bad(link, judged[link] > 1); v.Grade != steps.NotRun {
					return v
				}
				return steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
			}}
			s := openNodes(t, o, []string{"n1", "n2", "n3", "n4", "n5", "n6"}, c)
			s.Run("c")
			state := s.until("c")
			all := 0
			for _, n := range judged {
				all += n
			}
			if all != x.judged || state.Verdict.Grade != x.grade || !strings.Contains(state.Verdict.Reason, x.says) {
				t.Errorf("judged %d times: %s %s", all, state.Verdict.Grade, state.Verdict.Reason)
			}
			// All lines of a link stand together, though other links print at the same time.
			at := ""
			for _, l := range state.Output.Lines(0, 1000) {
				if link, ok := strings.CutPrefix(l.Text, "link "); ok && l.Kind == steps.Note {
					at = strings.Fields(link)[0]
				} else if l.From != "" && !slices.Contains(strings.Split(at, ":"), l.From) {
					t.Errorf("%s printed under %q", l.From, at)
				}
			}
			if at == "" {
				t.Error("no link is named")
			}
		})
	}
}

// What is held of a link that is measured next to others is bounded, whatever is printed.
func TestWhatIsHeldIsBounded(t *testing.T) {
	r := &run{s: &Session{}, held: &heldLines{}}
	long := strings.Repeat("x", 1000)
	for range 2 * keepText / len(long) {
		r.print(steps.OutputLine{Text: long}, false)
	}
	if n := len(r.held.lines) * len(long); n > keepText || n < keepText/2 || r.held.left == 0 {
		t.Errorf("%d bytes are held, and %d lines left out", n, r.held.left)
	}
	for range 2 * keepText {
		r.write(steps.OutputLine{}, false)
	}
	if len(r.held.lines) > keepText {
		t.Errorf("%d empty lines are held", len(r.held.lines))
	}
}

// A node that differs is reported against the majority, with both values, as a user would report it who has
// looked at all nodes.
func TestOutliersAgainstTheMajority(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5"}
	links := func(says func(node string) []steps.Evidence, ill ...string) (told []linkVerdict) {
		for i, a := range nodes {
			for _, b := range nodes[i+1:] {
				v := steps.Verdict{Grade: steps.Pass, Reason: "Fine.", Evidence: append(says(a), says(b)...)}
				if slices.Contains(ill, a) != slices.Contains(ill, b) || slices.Contains(ill, a) {
					v.Grade, v.Reason = steps.Fail, "They differ."
				}
				told = append(told, linkVerdict{linkEnds{a, b}, v})
			}
		}
		return told
	}
	mtu := func(node string, rail string, value int) steps.Evidence {
		return steps.Evidence{Name: node + " " + rail + " MTU", Value: value, Unit: "bytes", Node: node}
	}
	is := map[string]int{"n1": 9000, "n2": 9000, "n3": 1500, "n4": 9000, "n5": 9000}
	for name, x := range map[string]struct {
		told []linkVerdict
		want string
	}{
		"one": {
			links(func(n string) []steps.Evidence { return []steps.Evidence{mtu(n, "eth0", is[n]), mtu(n, "eth1", 9000)} },
				"n3"),
			"eth0 MTU: 4 of 5 have 9,000 bytes, n3 has 1,500 bytes. n3 at each of its 4 links: n1:n3: They differ.",
		},
		"on two rails": {
			links(func(n string) []steps.Evidence { return []steps.Evidence{mtu(n, "eth0", is[n]), mtu(n, "eth1", is[n])} },
				"n3"),
			"eth0 MTU, eth1 MTU: 4 of 5 have 9,000 bytes, n3 has 1,500 bytes. n3 at",
		},
		"two": {
			links(func(n string) []steps.Evidence {
				if n == "n5" {
					return []steps.Evidence{mtu(n, "eth0", 1500)}
				}
				return []steps.Evidence{mtu(n, "eth0", is[n])}
			}, "n3", "n5"),
			"eth0 MTU: 3 of 5 have 9,000 bytes, n[3,5] have 1,500 bytes. n3 at",
		},
		"words": {
			links(func(n string) []steps.Evidence {
				said := map[bool][2]string{false: {"unlimited", "/bin/a"}, true: {"8192", "missing"}}[n == "n2"]
				return []steps.Evidence{
					{Name: n + " ulimit -l", Value: said[0], Unit: "KiB", Node: n}, {Name: n + " a", Value: said[1], Node: n},
				}
			}, "n2"),
			"ulimit -l: 4 of 5 have unlimited, n2 has 8192 KiB. a: 4 of 5 have /bin/a, n2 has none. n2 at each",
		},
		"no majority": {
			links(func(n string) []steps.Evidence { return []steps.Evidence{mtu(n, "eth0", is[n]+int(n[1]-'0'))} }, "n3"),
			"n3 at each",
		},
		"not told by all": {
			links(func(n string) []steps.Evidence {
				if n == "n4" {
					return nil
				}
				return []steps.Evidence{mtu(n, "eth0", is[n])}
			}, "n3"),
			"n3 at each",
		},
	} {
		if v := foldLinks(x.told); !strings.HasPrefix(v.Reason, x.want) {
			t.Errorf("%s: %q, want %q", name, v.Reason, x.want)
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
		"all well": {
			[]linkVerdict{{linkEnds{"a", "b"}, pass}, {linkEnds{"a", "c"}, pass}},
			steps.Pass, "All is well. The same applies to each of 2 links.", "",
		},
		"all well, and of two": {
			[]linkVerdict{
				{linkEnds{"a", "b"}, steps.Verdict{Grade: steps.Pass, Reason: "Both nodes answer."}},
				{linkEnds{"a", "c"}, steps.Verdict{Grade: steps.Pass, Reason: "Both nodes answer."}},
			},
			steps.Pass, "Both nodes answer. The same applies to each of 2 links.", "",
		},
		"skipped and well": {
			[]linkVerdict{{linkEnds{"a", "b"}, skipped}, {linkEnds{"a", "c"}, pass}},
			steps.Pass,
			"a:c: All is well.", "",
		},
		"skipped": {
			[]linkVerdict{{linkEnds{"a", "b"}, skipped}, {linkEnds{"a", "c"}, skipped}},
			steps.Skipped,
			"No tool. The same applies to each of 2 links.", "",
		},
		"the worst counts": {
			[]linkVerdict{{linkEnds{"a", "b"}, fail}, {linkEnds{"a", "c"}, warn}},
			steps.Fail,
			"B is broken. a:c: A is odd.", "b",
		},
		"on several links": {[]linkVerdict{
			{linkEnds{"a", "b"}, fail},
			{linkEnds{"b", "c"}, fail},
			{linkEnds{"a", "c"}, pass},
		}, steps.Fail, "B is broken.", "b"},
		"two that are ill": {
			[]linkVerdict{{linkEnds{"a", "b"}, fail}, {linkEnds{"a", "c"}, other}},
			steps.Fail,
			"B is broken. C is broken.", "",
		},
		"one differs from three": {[]linkVerdict{
			{linkEnds{"a", "b"}, pass},
			{linkEnds{"a", "c"}, other},
			{linkEnds{"a", "d"}, pass},
			{linkEnds{"b", "c"}, fail},
			{linkEnds{"b", "d"}, pass},
			{linkEnds{"c", "d"}, warn},
		}, steps.Fail, "a:c: C is broken. b:c: B is broken. c:d: A is odd.", ""},
		"one differs at all of its links": {[]linkVerdict{
			{linkEnds{"a", "b"}, pass},
			{linkEnds{"a", "c"}, other},
			{linkEnds{"a", "d"}, pass},
			{linkEnds{"b", "c"}, fail},
			{linkEnds{"b", "d"}, warn},
			{linkEnds{"c", "d"}, fail},
		}, steps.Fail, "c at each of its 3 links: a:c: C is broken. All other links are better. " +
			"b:d: A is odd.", "c"},
		"one is well, and nothing else ran": {[]linkVerdict{
			{linkEnds{"a", "b"}, skipped},
			{linkEnds{"a", "c"}, pass},
			{linkEnds{"a", "d"}, skipped},
			{linkEnds{"b", "c"}, fine},
			{linkEnds{"b", "d"}, skipped},
			{linkEnds{"c", "d"}, fine},
		}, steps.Pass, "a:c: All is well. b:c, c:d: Fine.", ""},
		"many links of one reason": {
			[]linkVerdict{
				{linkEnds{"a", "b"}, warn},
				{linkEnds{"b", "c"}, warn},
				{linkEnds{"c", "d"}, warn},
				{linkEnds{"d", "e"}, warn},
				{linkEnds{"e", "f"}, warn},
				{linkEnds{"f", "g"}, warn},
				{linkEnds{"g", "h"}, warn},
				{linkEnds{"h", "a"}, pass},
			}, steps.Warn, "a:b, b:c, c:d, d:e, e:f and 2 more links: A is odd.", "a",
		},
		"many reasons": {
			[]linkVerdict{
				{linkEnds{"a", "b"}, steps.Verdict{Grade: steps.Warn, Reason: "1."}},
				{linkEnds{"b", "c"}, steps.Verdict{Grade: steps.Warn, Reason: "2."}},
				{linkEnds{"c", "d"}, steps.Verdict{Grade: steps.Warn, Reason: "3."}},
				{linkEnds{"d", "e"}, steps.Verdict{Grade: steps.Warn, Reason: "4."}},
				{linkEnds{"e", "f"}, steps.Verdict{Grade: steps.Warn, Reason: "5."}},
				{linkEnds{"f", "a"}, steps.Verdict{Grade: steps.Warn, Reason: "5."}},
			}, steps.Warn, "a:b: 1. b:c: 2. c:d: 3. d:e: 4. f: 5.", "",
		},
		"nothing was run":   {nil, steps.NotRun, "", ""},
		"one link was done": {[]linkVerdict{{linkEnds{"a", "b"}, warn}}, steps.Warn, "A is odd.", "a"},
	} {
		v := foldLinks(c.told)
		if v.Grade != c.grade || v.Reason != c.reason || v.Node != c.node {
			t.Errorf("%s: %s %q of %q, want %s %q of %q", name, v.Grade, v.Reason, v.Node, c.grade, c.reason, c.node)
		}
	}
}

// Who stands out is found next to a node that can't be looked at, where several have the same wrong thing and agree
// with each other, and where each node is compared with its neighbours alone.
func TestOutliersBesideOthers(t *testing.T) {
	names := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}
	fold := func(ring, facts bool, dead string, has map[string]int) steps.Verdict {
		var told []linkVerdict
		for i, a := range names {
			for j := i + 1; j < len(names); j++ {
				b := names[j]
				if ring && j != i+1 && j-i != len(names)-1 {
					continue
				}
				v := steps.Verdict{Grade: steps.Pass, Reason: "Fine."}
				switch {
				case a == dead || b == dead:
					v = steps.Verdict{Grade: steps.Inconclusive, Reason: "Not looked at, because " + dead + " does not answer."}
				case has[a] != has[b]:
					v = steps.Verdict{Grade: steps.Fail, Reason: fmt.Sprintf("%d on %s and %d on %s.", has[a], a, has[b], b)}
				}
				for _, node := range []string{a, b} {
					if facts && node != dead {
						v.Evidence = append(v.Evidence, steps.Evidence{Name: node + " MTU", Value: has[node], Node: node})
					}
				}
				told = append(told, linkVerdict{linkEnds{a, b}, v})
			}
		}
		return foldLinks(told)
	}
	for name, x := range map[string]struct {
		v     steps.Verdict
		node  string
		words []string
	}{
		"one, and a dead one": {fold(false, true, "n7", map[string]int{"n3": 9}), "n3", []string{
			"MTU: 6 of 7 have 0, n3 has 9. n3 at each of its 6 links: n1:n3: 0 on n1 and 9 on n3. ",
			"Not looked at, because n7 does not answer.",
		}},
		"two alike": {fold(false, true, "", map[string]int{"n3": 9, "n5": 9}), "", []string{
			"MTU: 6 of 8 have 0, n[3,5] have 9. n3 at each of its 6 links to the others: n1:n3: ",
			" n5 at each of its 6 links to the others: n1:n5: ",
		}},
		"two alike that say nothing": {
			fold(false, false, "", map[string]int{"n3": 9, "n5": 9}), "",
			[]string{"n3 at each of its 6 links to the others", "n5 at each"},
		},
		"two, and a dead one": {
			fold(false, false, "n1", map[string]int{"n3": 9, "n5": 9}), "",
			[]string{"n3 at each of its 5 links to the others", "n5 at each", "n1 does not answer"},
		},
		"in a ring": {
			fold(true, true, "", map[string]int{"n3": 9, "n5": 9}), "",
			[]string{"MTU: 6 of 8 have 0, n[3,5] have 9. n3 at each of its 2 links: n2:n3: ", " n5 at each"},
		},
		"in a ring that says nothing": {
			fold(true, false, "", map[string]int{"n3": 9, "n5": 9}), "",
			[]string{"n3 at each of its 2 links: ", " n5 at each", "n4 has links to these alone."},
		},
		"no majority": {
			fold(false, true, "", map[string]int{"n1": 9, "n3": 9, "n5": 9, "n8": 9}), "",
			[]string{"n1:n2: 9 on n1 and 0 on n2."},
		},
	} {
		if x.v.Grade != steps.Fail || x.v.Node != x.node {
			t.Errorf("%s: %s of %q: %s", name, x.v.Grade, x.v.Node, x.v.Reason)
		}
		for _, w := range x.words {
			if !strings.Contains(x.v.Said(), w) {
				t.Errorf("%s: %q is not in %q", name, w, x.v.Said())
			}
		}
		if name != "no majority" && strings.Contains(x.v.Reason, "n4 at each") {
			t.Errorf("%s: n4 is well: %s", name, x.v.Reason)
		}
	}
	full := steps.Verdict{
		Grade: steps.Fail, All: []steps.Found{{Grade: steps.Fail, Text: "b is full.", Names: []string{"b"}}},
	}
	same := []linkVerdict{
		{linkEnds{"a", "b"}, full},
		{linkEnds{"b", "c"}, full},
		{linkEnds{"a", "c"}, steps.Verdict{Grade: steps.Inconclusive, Reason: "Nobody knows."}},
	}
	if v := foldLinks(same); v.Reason != "b is full. a:c: Nobody knows." {
		t.Errorf("%q", v.Reason)
	}
	full.All[0].Names = nil
	if v := foldLinks(same); v.Reason != "b: b is full. a:c: Nobody knows." {
		t.Errorf("where the text names no node: %q", v.Reason)
	}
}

// Of many nodes that stand out, a few are reported and the others are counted: no reason has hundreds of
// sentences or names.
func TestManyOutliersAreFolded(t *testing.T) {
	t.Parallel()
	const nodes = 600
	var told []linkVerdict
	for i := range nodes {
		j := (i + 1) % nodes
		v := linkVerdict{link: linkEnds{fmt.Sprintf("n%03d", i), fmt.Sprintf("n%03d", j)}}
		v.Grade = steps.Pass
		for _, no := range []int{i, j} {
			node, value := fmt.Sprintf("n%03d", no), 1500
			if no%3 == 0 {
				value, v.Grade, v.Reason = 9000, steps.Fail, node+" is ill."
			}
			v.Evidence = append(v.Evidence,
				steps.Evidence{Name: node + " eth0 MTU", Value: value, Unit: "bytes", Node: node})
			if value != 1500 {
				value += no
			}
			v.Evidence = append(v.Evidence, steps.Evidence{Name: node + " eth0 queue", Value: value, Node: node})
		}
		told = append(told, v)
	}
	v := foldLinks(told)
	if v.Grade != steps.Fail || len(v.Reason) > 1000 ||
		!strings.Contains(v.Said(), "n009 has 9,009, and there are 196 more values. ") ||
		!strings.HasPrefix(v.Reason, "eth0 MTU: 400 of 600 have 1,500 bytes, "+
			"n[000,003,006,009,012,015,018,021] and 192 more have 9,000 bytes. ") ||
		!strings.Contains(v.Said(), "The same applies to each link of n[012,015,018,021,024,027,030,033] and 188 more.") {
		t.Errorf("%s in %d bytes: %s", v.Grade, len(v.Reason), v.Reason)
	}
	for _, e := range v.Evidence {
		if len(e.Name) > 300 {
			t.Errorf("evidence is called %q", e.Name)
		}
	}
}

// What each node says of itself in a row of a table is one table of all nodes, each row once; tables of links stay
// apart.
func TestFoldTables(t *testing.T) {
	of := func(first string, cells ...string) steps.Table {
		t := steps.Table{Title: "t", Columns: []steps.Column{{Name: first}}}
		for _, c := range cells {
			t.Rows = append(t.Rows, []string{c})
		}
		return t
	}
	fold := func(tables ...steps.Table) []steps.Table {
		var told []linkVerdict
		for i, table := range tables {
			v := steps.Verdict{Grade: steps.Pass, Tables: []steps.Table{table}}
			told = append(told, linkVerdict{linkEnds{fmt.Sprint(i), fmt.Sprint(i + 1)}, v})
		}
		return foldLinks(told).Tables
	}
	node := func(cells ...string) steps.Table { return of(steps.NodeColumn, cells...) }
	want := []steps.Table{node("a", "b", "c")}
	if got := fold(node("a", "b"), node("b", "c"), node("c", "a")); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := fold(of("rail", "1"), of("rail", "1")); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
