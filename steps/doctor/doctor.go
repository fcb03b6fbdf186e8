// Package doctor goes through the checklist: which checks a text leads to, what they found, which finding is the cause
// of which, and what fixes it. How the answer is printed is not known here.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

// Named are the checks of these names.
func Named(t steps.Tutorial, args []string) ([]steps.Cell, error) {
	all, err := steps.Tutorial{Parts: t.Checklist}.Select(args...)
	if err != nil {
		for _, id := range args {
			if c, ok := t.Cell(id); ok && !c.Check.Any() {
				return nil, fmt.Errorf("%s is a cell of the tutorial, not a check: railbench run %[1]s", id)
			}
		}
		return nil, fmt.Errorf("the checklist: %w", err)
	}
	checks := slices.DeleteFunc(all, func(c steps.Cell) bool { return !c.Check.Any() })
	if len(checks) == 0 {
		return nil, fmt.Errorf("%s is a fix, not a check: run it with railbench run", strings.Join(args, ", "))
	}
	return checks, nil
}

// A Doctor runs checks and fixes on a session.
type Doctor struct {
	*session.Follower
	tutorial steps.Tutorial
	out      io.Writer       // what is done, while it is
	fixed    map[string]bool // checks that were corrected
}

// New says on out what is done, while it is.
func New(f *session.Follower, t steps.Tutorial, out io.Writer) *Doctor {
	return &Doctor{Follower: f, tutorial: t, out: out, fixed: map[string]bool{}}
}

// RunAll runs cells to their ends, the checks among them side by side.
func (d *Doctor) RunAll(ctx context.Context, cells []steps.Cell) {
	ids := steps.Each(cells, func(c steps.Cell) string { return c.ID })
	d.Run(ctx, ids...)
}

// amiss reports whether something was found, which a fix may correct.
func amiss(g steps.Grade) bool { return g == steps.Fail || g == steps.Warn }

// Fix runs the fix of every check that found something, each once, and the check again. What a fix did shows
// elsewhere, too: a bond that is gone leaves a rail without an address. So all are looked at again, until nothing is
// left that a fix could do. Checks that move data take their time, so of those only what found something is looked at
// again.
func (d *Doctor) Fix(ctx context.Context, checks []steps.Cell) {
	tried := map[string]bool{}
	for d.fixOnce(ctx, checks, tried) {
		var again []steps.Cell
		for _, c := range checks {
			if !c.Check.Measures || amiss(d.Ended[c.ID].Verdict.Grade) {
				again = append(again, c)
			}
		}
		before := maps.Clone(d.Ended)
		d.RunAll(ctx, again)
		for _, c := range again {
			d.fixed[c.ID] = d.Ended[c.ID].Verdict.Grade == steps.Pass && (d.fixed[c.ID] || amiss(before[c.ID].Verdict.Grade))
		}
	}
}

// fixOnce goes through the checks once; it reports whether a fix changed anything. A check is looked at again before
// its fix: another's may have cured it.
func (d *Doctor) fixOnce(ctx context.Context, checks []steps.Cell, tried map[string]bool) (changed bool) {
	for _, c := range checks {
		cell, ok := d.cure(c, tried)
		if !ok || ctx.Err() != nil {
			continue
		}
		if changed {
			d.RunAll(ctx, []steps.Cell{c})
			d.fixed[c.ID] = d.Ended[c.ID].Verdict.Grade == steps.Pass
			// What it says now is what is corrected: nothing is, for what was found before.
			if cell, ok = d.cure(c, tried); !ok {
				continue
			}
		}
		tried[cell.ID] = true
		sanitize.Fprintf(d.out, "▸ %s for %s: %s\n", cell.ID, c.ID, cell.Title)
		d.RunAll(ctx, []steps.Cell{cell})
		v := d.Ended[cell.ID].Verdict
		sanitize.Fprintf(d.out, "  %s  %s\n", v.Grade, v.Reason)
		if v.Grade == steps.Skipped || v.Grade == steps.Inconclusive {
			continue // it changed nothing
		}
		changed = true
	}
	return changed
}

// cure is the cell that corrects what a check has found, where there is one that was not tried.
func (d *Doctor) cure(c steps.Cell, tried map[string]bool) (cell steps.Cell, ok bool) {
	v := d.Ended[c.ID].Verdict
	if !amiss(v.Grade) {
		return cell, false
	}
	cell, ok = d.tutorial.Cell(c.Check.Cures(v))
	return cell, ok && !tried[cell.ID]
}

// Object is what checks came to on a rig.
func (d *Doctor) Object(program string, rig steps.Rig, checks []steps.Cell) Object {
	whole := headless.NewObject(program, rig, nil, nil)
	r := Object{Railbench: whole.Railbench, Rig: whole.Rig, Checks: []Check{}, Summary: whole.Summary}
	for _, c := range checks {
		v := d.Ended[c.ID].Verdict
		check := Check{
			ID: c.ID, Title: c.Title, Node: v.Node, Verdict: v.Grade, Code: v.Code, Codes: v.Codes,
			Reason: v.Reason, Findings: v.Findings, Advice: v.Advice, Devices: v.Devices, Evidence: headless.Whole(v.Evidence),
			Fixed: d.fixed[c.ID], ElapsedMS: d.Ended[c.ID].Elapsed.Milliseconds(),
		}
		if check.Node == "" {
			check.Node = "both"
		}
		if amiss(v.Grade) || check.Fixed {
			check.Fix = c.Check.Cures(v)
		}
		r.Checks = append(r.Checks, check)
		r.Summary[v.Grade.String()]++
	}
	// Whichever ran first: of two with one code the cause is the one that only reads.
	inOrder := map[string]int{}
	for i, c := range d.tutorial.Checks() {
		inOrder[c.ID] = i
	}
	ordered := slices.SortedStableFunc(slices.Values(r.Checks), func(a, b Check) int {
		return cmp.Compare(inOrder[a.ID], inOrder[b.ID])
	})
	for i, c := range r.Checks {
		r.Checks[i].CausedBy = causeOf(c, ordered)
	}
	for _, c := range r.Checks {
		without := c.Verdict == steps.Skipped || c.Verdict == steps.Inconclusive ||
			c.Verdict == steps.Fail && c.Code.Cost() == steps.CostsTraffic
		if cell, _ := d.tutorial.Cell(c.ID); cell.Check.Measures && without {
			r.hide(c)
		}
	}
	return r
}

// Beyond runs all other checks, unless those of a sure match found what it is about.
func (d *Doctor) Beyond(ctx context.Context, about *Symptom, checks []steps.Cell) []steps.Cell {
	about.Found = slices.ContainsFunc(checks, func(c steps.Cell) bool { return amiss(d.Ended[c.ID].Verdict.Grade) })
	about.passes = !slices.ContainsFunc(checks, func(c steps.Cell) bool {
		return d.Ended[c.ID].Verdict.Grade != steps.Pass
	})
	hit := slices.ContainsFunc(checks, func(c steps.Cell) bool { return about.hits(c.ID, d.Ended[c.ID].Verdict) })
	var others []steps.Cell
	for _, c := range d.tutorial.Checks() {
		if !slices.Contains(about.Checks, c.ID) {
			others = append(others, c)
		}
	}
	switch {
	case hit || ctx.Err() != nil:
		return nil
	case len(checks) == 0:
		sanitize.Fprintf(d.out, "No check is written for these words. All %d run.\n", len(others))
	case about.Found && about.Match == "sure":
		sanitize.Fprintf(d.out, "%s found another problem than the one that you described. All other checks follow (%d).\n",
			strings.Join(about.Checks, ", "), len(others))
	case about.Found:
		sanitize.Fprintf(d.out, "Only some words fit %s. All other checks follow (%d).\n",
			strings.Join(about.Checks, ", "), len(others))
	default:
		sanitize.Fprintf(d.out, "%s: %s. All other checks follow (%d).\n",
			about.Passed(), strings.Join(about.Checks, ", "), len(others))
	}
	d.RunAll(ctx, others)
	return others
}

// Bounds of what a symptom leads to at first; all other checks follow where these find nothing.
const (
	mostSuspects = 8
	mostCauses   = 4
)

// A Symptom is what a text led to.
type Symptom struct {
	// Match is "sure", "weak" where only some words fit, or "none".
	Match string `json:"match"`
	// Causes are what the knowledge says of the text; Checks are those that it led to.
	Causes []Cause  `json:"causes"`
	Checks []string `json:"checks"`
	// Found says that one of these checks found something.
	Found bool `json:"found"`

	passes bool // each of them passed
	// own are the codes that a sure match is about, by its check; nil if it is about all that the check finds.
	own map[string][]steps.Code
}

// A Cause is what the knowledge says of a text.
type Cause struct {
	ID    string       `json:"id"`
	Title string       `json:"title"`
	Sure  explain.Sure `json:"sure"`
	Next  string       `json:"next"`
}

// Suspects are the checks that a text leads to: by the patterns of the knowledge, then by the words of its entries.
// Where there is none, all checks are.
func Suspects(k *explain.Knowledge, t steps.Tutorial, text string) ([]steps.Cell, *Symptom) {
	about := &Symptom{
		Match: "none", Causes: []Cause{}, Checks: []string{}, own: map[string][]steps.Code{},
	}
	byID := map[string]steps.Cell{}
	for _, c := range t.Checks() {
		byID[c.ID] = c
	}
	var checks, weak []steps.Cell
	add := func(to *[]steps.Cell, c steps.Cell) {
		if !slices.ContainsFunc(*to, func(o steps.Cell) bool { return o.ID == c.ID }) {
			*to = append(*to, c)
		}
	}
	a := k.Text(text, catalog.New().Tools, explain.Omitted{})
	found := slices.Concat(a.Causes, a.Healthy)
	for _, f := range found[:min(len(found), mostCauses)] {
		about.Causes = append(about.Causes, Cause{f.ID, f.Title, f.Sure, f.Next})
		for _, id := range f.Checks {
			if f.Sure == explain.Weak {
				add(&weak, byID[id])
			} else {
				add(&checks, byID[id])
				about.own[id] = append(about.own[id], f.Code)
			}
		}
	}
	for _, c := range k.NearTyped(text) {
		add(&weak, byID[c.Checks[0]])
	}
	for _, s := range t.Suspects(text) {
		if s.Weak {
			add(&weak, s.Check)
		} else {
			add(&checks, s.Check)
			about.own[s.Check.ID] = nil
		}
	}
	switch {
	case len(checks) > 0:
		about.Match = "sure"
	case len(weak) > 0:
		about.Match = "weak"
	}
	for _, c := range weak {
		add(&checks, c)
	}
	checks = checks[:min(len(checks), mostSuspects)]
	for _, c := range checks {
		about.Checks = append(about.Checks, c.ID)
	}
	return checks, about
}

// hits reports whether what a check found is what a sure match is about, and not another fault.
func (s *Symptom) hits(check string, v steps.Verdict) bool {
	codes, sure := s.own[check]
	if !amiss(v.Grade) || !sure {
		return false
	}
	found := slices.Concat(v.Codes, []steps.Code{v.Code})
	return codes == nil || slices.Contains(codes, "") || slices.ContainsFunc(found, func(c steps.Code) bool {
		return slices.ContainsFunc(codes, func(own steps.Code) bool {
			return c == own || c.Follows(own) || own.Follows(c)
		})
	})
}

// Passed says that the checks of a symptom found nothing of it.
func (s *Symptom) Passed() string {
	const about = " about what you said"
	switch n := len(s.Checks); {
	case n == 1 && s.passes:
		return "this check passed; it is not" + about
	case n == 1:
		return "this check found nothing, and did not pass; it is not" + about
	case s.passes:
		return fmt.Sprintf("these %d checks passed; none of them is", n) + about
	default:
		return fmt.Sprintf("these %d checks found nothing, and not all of them passed; none of them is", n) + about
	}
}
