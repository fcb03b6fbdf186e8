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
	// Witness is who says it; empty where nothing was measured.
	Witness steps.Witness
	// ByHand says that the check's fix does nothing for it.
	ByHand bool
}

// A Report gathers findings and evidence into a verdict.
type Report struct {
	Findings []Finding
	Evidence []steps.Evidence
	Figures  []steps.Figure
	hears    steps.Witness
}

// Hear says whose word the findings are that are added from here on.
func (r *Report) Hear(w steps.Witness) { r.hears = w }

// Measured adds a figure for other cells to read.
func (r *Report) Measured(f steps.Figure) { r.Figures = append(r.Figures, f) }

// Add adds a finding about all of the cell. It is a clause: Verdict puts the full stop.
func (r *Report) Add(code steps.Code, g steps.Grade, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	// What begins with an argument begins with a name, and a name keeps its spelling.
	if !strings.HasPrefix(format, "%") {
		text = Capital(text)
	}
	r.Note(Finding{Code: code, Grade: g, Text: text})
}

// At adds a finding that is about one node, which the text names.
func (r *Report) At(rig steps.Rig, e steps.End, code steps.Code, g steps.Grade, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(format, "%") {
		text = Capital(text)
	}
	r.Note(Finding{Code: code, Grade: g, Text: text, Node: rig.NameOf(e)})
}

// ByHand says of the finding that was added last that the check's fix does nothing for it.
func (r *Report) ByHand() { r.Findings[len(r.Findings)-1].ByHand = true }

// On adds a finding about the rail of a measurement.
func (r *Report) On(m Measurement, code steps.Code, g steps.Grade, format string, args ...any) {
	r.Note(Finding{Code: code, Grade: g, Text: fmt.Sprintf(format, args...), Rail: m.No, Dev: m.Dev})
}

// Note adds a finding as it is, once: what both ends say alike is one thing.
func (r *Report) Note(f Finding) {
	f.Witness = cmp.Or(f.Witness, r.hears)
	if !slices.Contains(r.Findings, f) {
		r.Findings = append(r.Findings, f)
	}
}

// Show adds evidence. value is a number, a text or a truth value, as a saved session has it (JSON); expected is
// nil where nothing is compared.
func (r *Report) Show(name string, value any, unit string, expected *steps.Expected) {
	r.Evidence = append(r.Evidence, steps.Evidence{Name: name, Value: value, Unit: unit, Expected: expected})
}

// sorted puts the worst findings first and says once what is true of several
// rails.
func (r *Report) sorted() []Finding {
	var merged []Finding
	for _, f := range r.Findings {
		var rails []string
		for _, g := range r.Findings {
			if g.Rail > 0 && g.Grade == f.Grade && g.Code == f.Code && g.Text == f.Text && g.Witness == f.Witness {
				rails = append(rails, fmt.Sprint(g.Rail))
			}
		}
		switch {
		case f.Rail == 0:
			if strings.HasPrefix(f.Text, "the ") { // no name begins with it, which would keep its spelling
				f.Text = Capital(f.Text)
			}
		case len(rails) == 1:
			f.Text = fmt.Sprintf("Rail %d (%s): %s", f.Rail, f.Dev, f.Text)
		default:
			f.Text = fmt.Sprintf("Rails %s: %s", And(rails), f.Text)
		}
		f.Rail, f.Dev = 0, ""
		if !slices.Contains(merged, f) {
			merged = append(merged, f)
		}
	}
	slices.SortStableFunc(merged, func(a, b Finding) int { return int(b.Grade) - int(a.Grade) })
	return merged
}

// maxSentences keeps a reason readable; the rest is in the evidence.
const maxSentences = 3

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
	for i, f := range r.sorted() {
		if f.Grade > steps.Pass {
			codes = append(codes, f.Code)
		}
		v.Grade = v.Grade.Worst(f.Grade)
		byHand = byHand && (f.ByHand || f.Grade <= steps.Pass)
		if i == 0 && f.Grade > steps.Pass { // the worst stand first
			v.Decided = f.Witness
		}
		texts = append(texts, f.Text)
		switch {
		case f.Grade < v.Grade || v.Grade <= steps.Pass: // what is worse is what it is about
		case i == 0:
			v.Node = f.Node
		case f.Node != v.Node:
			v.Node = ""
		}
	}
	if v.Decided != "" {
		v.Evidence = append([]steps.Evidence{{Name: "decided by", Value: "the " + string(v.Decided)}}, v.Evidence...)
	}
	if v.Grade == steps.Pass {
		var first []string
		for _, p := range pass {
			first = append(first, Capital(p))
		}
		texts = append(first, texts...)
	}
	v.ByHand = byHand && v.Grade > steps.Pass
	v.Code, v.Codes = steps.Causes(codes)
	v.Reason = Sentences(texts)
	return v
}

// Sentences joins the first texts to sentences.
func Sentences(texts []string) string {
	var b strings.Builder
	n := 0
	for _, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		if n++; n > maxSentences {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t)
		if !strings.HasSuffix(t, ".") && !strings.HasSuffix(t, "?") && !strings.HasPrefix(t, "(") {
			b.WriteByte('.')
		}
	}
	if more := n - maxSentences; more > 0 {
		fmt.Fprintf(&b, " And %d more: see the evidence.", more)
	}
	return b.String()
}

// Skipped is a verdict that nothing could be said, on the evidence of a report.
func (r *Report) Skipped(code steps.Code, format string, args ...any) steps.Verdict {
	v := r.Verdict()
	v.Grade, v.Code, v.Codes = steps.Skipped, code, nil
	v.Reason = Sentences([]string{Capital(fmt.Sprintf(format, args...))})
	return v
}
