package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/sanitize"
)

// Bounds of what a symptom leads to at first; all other checks follow where these find nothing.
const (
	mostSuspects = 8
	mostCauses   = 4
)

// A symptomObject is what a text led to.
type symptomObject struct {
	// Match is "sure", "weak" where only some words fit, or "none".
	Match string `json:"match"`
	// Causes are what the knowledge says of the text; Checks are those that it led to.
	Causes []symptomCause `json:"causes"`
	Checks []string       `json:"checks"`
	// Found says that one of these checks found something.
	Found bool `json:"found"`

	passes bool // each of them passed
	// own are the codes that a sure match is about, by its check; nil if it is about all that the check finds.
	own map[string][]steps.Code
}

type symptomCause struct {
	ID    string       `json:"id"`
	Title string       `json:"title"`
	Sure  explain.Sure `json:"sure"`
	Next  string       `json:"next"`
}

// suspects are the checks that a text leads to: by the patterns of the knowledge, then by the words of its entries.
// Where there is none, all checks are.
func suspects(t steps.Tutorial, text string) ([]steps.Cell, *symptomObject, error) {
	k, err := knowledge()
	if err != nil {
		return nil, nil, err
	}
	about := &symptomObject{
		Match: "none", Causes: []symptomCause{}, Checks: []string{}, own: map[string][]steps.Code{},
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
		about.Causes = append(about.Causes, symptomCause{f.ID, f.Title, f.Sure, f.Next})
		for _, id := range f.Checks {
			if f.Sure == explain.Weak {
				add(&weak, byID[id])
			} else {
				add(&checks, byID[id])
				about.own[id] = append(about.own[id], f.Code)
			}
		}
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
	return checks, about, nil
}

// hits reports whether what a check found is what a sure match is about, and not another fault.
func (s *symptomObject) hits(check string, v steps.Verdict) bool {
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

// beyond runs all other checks, unless those of a sure match found what it is about.
func (d *doctor) beyond(ctx context.Context, about *symptomObject, checks []steps.Cell) []steps.Cell {
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
		sanitize.Fprintf(d.out, "%s; none of them is about what you said: %s. All other checks follow (%d).\n",
			about.passed(), strings.Join(about.Checks, ", "), len(others))
	}
	d.run(ctx, others)
	return others
}

// passed says that the checks of a symptom found nothing.
func (s *symptomObject) passed() string {
	said := "passed"
	if !s.passes {
		said = "found nothing, and not all of them passed"
	}
	return fmt.Sprintf("these %s %s", steps.Counted(len(s.Checks), "check"), said)
}

// status is that of a run in which nothing failed: a person who described a fault must not read that all is well
// because the check for it could not look, or only warns.
func (s *symptomObject) status(sum map[string]int, checks int) error {
	switch {
	case sum[steps.Pass.String()] == checks:
		return nil
	case sum[steps.Warn.String()] > 0:
		return status{code: exitFail}
	}
	return status{exitInconclusive, errors.New("no check found what you described, and not all of them passed")}
}

// print says what a symptom led to, behind what the checks found.
func (s *symptomObject) print(b *strings.Builder) {
	if s == nil {
		return
	}
	sanitize.Fprintf(b, "\n")
	fit := map[string]string{
		"sure": "leads to ", "weak": "is a weak match: only some words fit ", "none": "fits no check",
	}[s.Match]
	hang(b, "SYMPTOM  ", "what you said "+fit+strings.Join(s.Checks, ", "))
	for _, c := range s.Causes {
		hang(b, "      - ", fmt.Sprintf("%s [%s]. Next: %s", c.Title, c.Sure, c.Next))
	}
	if !s.Found && len(s.Checks) > 0 {
		hang(b, "      ", s.passed()+"; none of them is about what you said")
	}
}
