package doctor

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
)

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

// Passed says that the checks of a symptom found nothing.
func (s *Symptom) Passed() string {
	said := "passed"
	if !s.passes {
		said = "found nothing, and not all of them passed"
	}
	return fmt.Sprintf("these %s %s", steps.Counted(len(s.Checks), "check"), said)
}
