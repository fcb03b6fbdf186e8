package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Measurement is what a stage of perftest gave, where it can be judged.
type Measurement struct {
	No     int    // of the rail, counted from 1
	Dev    string // the client's RDMA device
	Rail   string // both, for evidence: "rail 1 (rocep1s0f0)"
	Pair   steps.Pair
	Client steps.Output
}

// A Message is an error line and where it was printed.
type Message struct {
	End  steps.End
	Text string
}

// A Cause is how perftest words a failure, and what it means here. The first
// that matches counts, so what is only a consequence comes last.
type Cause struct {
	Pattern *lazyregexp.Pattern
	Code    steps.Code
	Grade   steps.Grade
	// Means holds %s for the node's name, and may hold more for what the pattern's groups found.
	Means string
}

// A Finding is one thing that a judge noticed.
type Finding struct {
	Code  steps.Code // empty only for a PASS
	Grade steps.Grade
	Text  string // a sentence without its full stop
	// rail is the number of the rail that it is about, counted from 1, and dev its
	// device; 0 where it is about none.
	Rail int
	Dev  string
	// node is the one that it is about; empty for both or none.
	Node string
	// By is the verification stage that found it; empty where nothing was measured.
	By steps.Verification
	// ByHand says that the check's fix does nothing for it.
	ByHand bool
	// like is the text without its node, and onNode says that it names it as "on NODE": then findings of several nodes
	// are one sentence.
	like   string
	onNode bool
	// named says that the text begins with a name, which keeps its spelling.
	named bool
	// names are the words that the text was given as arguments, a line each: devices and interfaces are among them.
	names string
}

// A List is names in a finding's text: a, b and c.
type List []string

func (l List) String() string { return And(l) }

// namesIn are the names among the arguments of a text.
func namesIn(args []any) string {
	var all []string
	for _, a := range args {
		switch x := a.(type) {
		case string:
			all = append(all, x)
		case List:
			all = append(all, x...)
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" || strings.ContainsAny(s, " \n") })
	return strings.Join(all, "\n")
}

// A Report gathers findings and evidence into a verdict.
type Report struct {
	Findings []Finding
	Evidence []steps.Evidence
	Figures  []steps.Figure
	advice   []Finding
	during   steps.Verification
}

// During says by which verification stage the findings are that are added from here on.
func (r *Report) During(v steps.Verification) { r.during = v }

// Measured adds a figure for other cells to read.
func (r *Report) Measured(f steps.Figure) { r.Figures = append(r.Figures, f) }

// Add adds a finding about all of the cell. It is a clause: Verdict makes a sentence of it.
func (r *Report) Add(code steps.Code, g steps.Grade, format string, args ...any) {
	r.Note(Finding{
		Code: code, Grade: g, Text: fmt.Sprintf(format, args...), named: named(format), names: namesIn(args),
	})
}

// named reports whether a text begins with an argument, which is a name, and not the whole clause.
func named(format string) bool { return strings.HasPrefix(format, "%") && format != "%s" }

// At adds a finding that is about one node, which the text names. Where several nodes have the same and
// the text says it as "on NODE", they become one sentence.
func (r *Report) At(rig steps.Rig, e steps.End, code steps.Code, g steps.Grade, format string, args ...any) {
	f := Finding{
		Code: code, Grade: g, Text: fmt.Sprintf(format, args...), Node: rig.NameOf(e), named: named(format),
	}
	places := slices.Clone(args)
	for i, a := range places {
		if a == f.Node {
			places[i] = placeOfNode
		}
	}
	f.like, f.names = fmt.Sprintf(format, places...), namesIn(places)
	// "spark-01 has" is another verb of several.
	f.onNode = strings.Count(f.like, placeOfNode) == 1 && strings.Contains(strings.ToLower(f.like), "on "+placeOfNode)
	r.Note(f)
}

// placeOfNode stands for the node in a text.
const placeOfNode = "\x00"

// Advise adds what works and could be better.
func (r *Report) Advise(code steps.Code, format string, args ...any) {
	r.advice = append(r.advice, Finding{Code: code, Grade: steps.Pass, Text: Capital(fmt.Sprintf(format, args...))})
}

// Explain adds what is behind the finding that was added last and what 25 words have no room for: how it
// comes about, where a limit is from, what was ruled out. It stands in the evidence.
func (r *Report) Explain(format string, args ...any) {
	e := steps.Evidence{Name: steps.NoteName, Value: fmt.Sprintf(format, args...)}
	if !slices.ContainsFunc(r.Evidence, func(x steps.Evidence) bool { return x.Name == e.Name && x.Value == e.Value }) {
		r.Evidence = append(r.Evidence, e)
	}
}

// About names devices or interfaces that the finding that was added last is about, where its text has no argument for
// each.
func (r *Report) About(names ...string) {
	f := &r.Findings[len(r.Findings)-1]
	f.names = strings.Join(append(names, f.names), "\n")
}

// ByHand says of the finding that was added last that the check's fix does nothing for it.
func (r *Report) ByHand() { r.Findings[len(r.Findings)-1].ByHand = true }

// On adds a finding about the rail of a measurement.
func (r *Report) On(m Measurement, code steps.Code, g steps.Grade, format string, args ...any) {
	r.Note(Finding{
		Code: code, Grade: g, Text: fmt.Sprintf(format, args...), Rail: m.No, Dev: m.Dev, names: namesIn(append(args, m.Dev)),
	})
}

// Decide marks the evidence with these names as what the finding that was added last follows from: it stands first,
// and doctor shows it without being asked.
func (r *Report) Decide(names ...string) {
	for i, e := range r.Evidence {
		if slices.Contains(names, e.Name) {
			r.Evidence[i].Decisive = true
		}
	}
}

// Note adds a finding as it is, once: what both ends say alike is one thing.
func (r *Report) Note(f Finding) {
	f.By = cmp.Or(f.By, r.during)
	if !slices.ContainsFunc(r.Findings, func(g Finding) bool { g.names = f.names; return g == f }) {
		r.Findings = append(r.Findings, f)
	}
}

// Show adds evidence. value is a number, a text or a truth value, as a saved session has it (JSON); expected is
// nil where nothing is compared.
func (r *Report) Show(name string, value any, unit string, expected *steps.Expected) {
	r.Evidence = append(r.Evidence, steps.Evidence{Name: name, Value: value, Unit: unit, Expected: expected})
}

// ShowOf adds evidence of a rail.
func (r *Report) ShowOf(rail, what string, value any, unit string, expected *steps.Expected) {
	r.Show(rail+" "+what, value, unit, expected)
	r.Evidence[len(r.Evidence)-1].Of = rail
}

// ShowAt adds evidence of a node.
func (r *Report) ShowAt(node, what string, value any, unit string, expected *steps.Expected) {
	r.Show(node+" "+what, value, unit, expected)
	r.Evidence[len(r.Evidence)-1].Node = node
}

// sorted puts the worst findings first.
func sorted(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return int(b.Grade) - int(a.Grade) })
	return all
}

// onNodes says once what is true of several nodes.
func onNodes(all []Finding) []Finding {
	var merged []Finding
	seen := map[Finding]bool{}
	for _, f := range all {
		if !f.onNode {
			merged = append(merged, f)
			continue
		}
		key := f
		key.Text, key.Node = "", ""
		if seen[key] {
			continue
		}
		seen[key] = true
		var nodes []string
		for _, g := range all {
			same := g
			same.Text, same.Node = "", ""
			if same == key {
				nodes = append(nodes, g.Node)
			}
		}
		if len(nodes) > 1 {
			f.Node, f.Text = "", strings.Replace(f.like, placeOfNode, And(nodes), 1)
		}
		merged = append(merged, f)
	}
	return merged
}

// ofRails says once what is true of several rails.
func (r *Report) ofRails() []Finding {
	var merged []Finding
	for _, f := range r.Findings {
		var rails, names []string
		for _, g := range r.Findings {
			if g.Rail > 0 && g.Grade == f.Grade && g.Code == f.Code && g.Text == f.Text && g.By == f.By {
				rails, names = append(rails, fmt.Sprint(g.Rail)), append(names, g.names)
			}
		}
		switch {
		case f.Rail == 0 && !f.named:
			f.Text, f.like = Capital(f.Text), Capital(f.like)
		case f.Rail == 0:
		case len(rails) == 1:
			f.Text = fmt.Sprintf("Rail %d (%s): %s", f.Rail, f.Dev, f.Text)
		default:
			f.Text, f.names = fmt.Sprintf("Rails %s: %s", And(rails), f.Text), strings.Join(names, "\n")
		}
		f.Rail, f.Dev, f.named = 0, "", false
		if !slices.Contains(merged, f) {
			merged = append(merged, f)
		}
	}
	return merged
}

// maxWords is how many words a reason has where its first sentence has not more; the rest is in
// Verdict.Findings.
const maxWords = 25

// nodeOf is the node that the worst of the findings are about; empty where they are about several. The worst stand
// first.
func nodeOf(found []Finding) (node string) {
	for i, f := range found {
		switch {
		case f.Grade < found[0].Grade || f.Grade <= steps.Pass: // what is worse is what it is about
		case i == 0:
			node = f.Node
		case f.Node != node:
			return ""
		}
	}
	return node
}

// passed gives a verdict that passes its reason: what is said of it, and what was found. What a reason has no room for
// is evidence.
func passed(v *steps.Verdict, pass, found []string) {
	var texts []string
	for _, p := range pass {
		texts = append(texts, Capital(p))
	}
	reason, left := sentences(append(texts, found...))
	v.Reason = reason
	for _, text := range left {
		v.Evidence = append(v.Evidence, steps.Evidence{Name: steps.NoteName, Value: text})
	}
}

// Verdict puts the worst findings first. pass is what is said where nothing was
// found amiss.
func (r *Report) Verdict(pass ...string) steps.Verdict {
	v := steps.Verdict{Grade: steps.Pass, Evidence: r.Evidence, Figures: r.Figures}
	if v.Evidence == nil {
		v.Evidence = []steps.Evidence{}
	}
	var texts []string
	var codes []steps.Code
	byHand := true
	each := sorted(r.ofRails())
	for _, f := range each {
		v.All = append(v.All, f.found())
	}
	found := onNodes(each)
	for i, f := range found {
		if f.Grade > steps.Pass {
			codes = append(codes, f.Code)
		}
		v.Grade = v.Grade.Worst(f.Grade)
		byHand = byHand && (f.ByHand || f.Grade <= steps.Pass)
		if i == 0 && f.Grade > steps.Pass { // the worst stand first
			v.Decided = f.By
		}
		texts = append(texts, f.Text)
	}
	v.Node = nodeOf(found)
	if v.Decided != "" {
		said := "the " + string(v.Decided)
		if names := decisive(v); names != "" {
			said += ": " + names
		}
		v.Evidence = append([]steps.Evidence{{Name: steps.DecidedName, Value: said}}, v.Evidence...)
	}
	v.ByHand = byHand && v.Grade > steps.Pass
	v.Code, v.Codes = steps.Causes(codes)
	if v.Grade == steps.Pass {
		passed(&v, pass, texts)
	} else {
		var all []steps.Found
		for _, f := range found {
			all = append(all, f.found())
		}
		v.Reason, v.Findings = Reason(all)
	}
	for _, f := range r.advice {
		v.Advice = append(v.Advice, f.found())
	}
	return v
}

// mostDecisive is how many counters and figures are named as what decided.
const mostDecisive = 3

// decisive names what a verdict follows from: counters and figures, each once, whichever rail they are of.
func decisive(v steps.Verdict) string {
	var names []string
	for _, e := range v.Deciding() {
		if what := e.What(); e.Name != steps.NoteName && !slices.Contains(names, what) {
			names = append(names, what)
		}
	}
	if len(names) > mostDecisive {
		names = append(names[:mostDecisive], Count(len(names)-mostDecisive, "more", "more"))
	}
	return strings.Join(names, ", ")
}

func (f Finding) found() steps.Found {
	return steps.Found{
		Grade: f.Grade, Code: f.Code, Text: Sentences([]string{f.Text}), Node: f.Node, Names: strings.Fields(f.names),
		Like: f.like, OnNode: f.onNode,
	}
}

// OnNodes is what a finding says of several nodes, as they are named.
func OnNodes(f steps.Found, nodes string) string {
	return Sentences([]string{strings.Replace(f.Like, placeOfNode, nodes, 1)})
}

// Reason makes one of findings, the worst of which is the first: all where they have room, or the first and how many
// more there are; then they are listed.
func Reason(found []steps.Found) (reason string, listed []steps.Found) {
	var texts []string
	for _, f := range found {
		texts = append(texts, f.Text)
	}
	reason, left := sentences(texts)
	if len(left) == 0 {
		return reason, nil
	}
	return fmt.Sprintf("%s And %s.", Sentences(texts[:1]), Count(len(found)-1, "more finding", "more findings")), found
}

// Sentences joins texts to sentences, as many as have 25 words, and the first in any case.
func Sentences(texts []string) string {
	said, _ := sentences(texts)
	return said
}

// sentences also gives what there was no room for, each a sentence.
func sentences(texts []string) (said string, left []string) {
	var all []string
	words := 0
	for _, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		if !strings.HasSuffix(t, ".") && !strings.HasSuffix(t, "?") && !strings.HasPrefix(t, "(") {
			t += "."
		}
		n := len(strings.Fields(t))
		if len(left) > 0 || words > 0 && words+n > maxWords {
			left = append(left, t)
			continue
		}
		words += n
		all = append(all, t)
	}
	return strings.Join(all, " "), left
}

// Skipped is a verdict that nothing could be said, on the evidence of a report.
func (r *Report) Skipped(code steps.Code, format string, args ...any) steps.Verdict {
	v := r.Verdict()
	v.Grade, v.Code, v.Codes = steps.Skipped, code, nil
	v.Reason = Sentences([]string{Capital(fmt.Sprintf(format, args...))})
	return v
}
