package steps

import (
	"cmp"
	"slices"
	"strings"
)

// Checks lists the checks in the order in which they run: those that measure come
// last.
func (t Tutorial) Checks() []Cell {
	var looks, measures []Cell
	for _, p := range t.Checklist {
		for _, c := range p.Cells {
			switch {
			case !c.Check.Any():
			case c.Check.Measures:
				measures = append(measures, c)
			default:
				looks = append(looks, c)
			}
		}
	}
	return slices.Concat(looks, measures)
}

// Fixes lists the cells of the checklist that are not checks.
func (t Tutorial) Fixes() []Cell {
	var all []Cell
	for _, p := range t.Checklist {
		for _, c := range p.Cells {
			if !c.Check.Any() {
				all = append(all, c)
			}
		}
	}
	return all
}

// Symptom lists the checks that could explain a text: an error message, a cell's
// reason, or words such as "TCP near zero". The checks that match best come first: those
// with a phrase that stands in it as it is, and then those that have its words.
func (t Tutorial) Symptom(text string) []Cell {
	var found []Cell
	for _, s := range t.Suspects(text) {
		found = append(found, s.Check)
	}
	return found
}

// A Suspect is a check that could explain a text. Weak says that only some words fit.
type Suspect struct {
	Check Cell
	Weak  bool
}

// Suspects are the checks of Symptom, and how well each fits.
func (t Tutorial) Suspects(text string) (found []Suspect) {
	if t.Sayings == nil {
		return nil
	}
	said, weak := t.Sayings().said(text)
	words := t.Sayings().suspects(text)
	for _, c := range t.best(said) {
		found = append(found, Suspect{c, weak[c.ID] && words[c.ID] < Sure})
	}
	for _, c := range t.best(words) {
		if said[c.ID] == 0 {
			found = append(found, Suspect{c, words[c.ID] < Sure})
		}
	}
	slices.SortStableFunc(found, func(a, b Suspect) int {
		switch {
		case a.Weak == b.Weak:
			return 0
		case a.Weak:
			return 1
		}
		return -1
	})
	return found
}

// Says lists what leads to a check before all others.
func (t Tutorial) Says(check string) []Saying {
	if t.Sayings == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Sayings().all), func(s Saying) bool {
		return len(s.Checks) == 0 || s.Checks[0] != check
	})
}

// Explaining lists the checks that could explain why a cell came to a verdict: those that know one of its causes, those
// that what a tool printed leads to, and then those that name the cell.
func (t Tutorial) Explaining(cell string, v Verdict, printed string) (found []Cell) {
	add := func(all []Cell) {
		for _, c := range all {
			if !slices.ContainsFunc(found, func(f Cell) bool { return f.ID == c.ID }) {
				found = append(found, c)
			}
		}
	}
	of := func(name string) []Cell {
		return slices.DeleteFunc(t.Checks(), func(c Cell) bool {
			return !slices.ContainsFunc(c.Check.Explains, func(pattern string) bool { return like(name, pattern) })
		})
	}
	for _, code := range append([]Code{v.Code}, v.Codes...) {
		add(of(string(code)))
	}
	if t.Sayings != nil {
		said, _ := t.Sayings().said(printed) // what a program says has no synonyms
		add(t.best(said))
	}
	add(of(cell))
	return found
}

// best lists the checks that have a score, the highest first.
func (t Tutorial) best(scores map[string]float64) []Cell {
	found := slices.DeleteFunc(t.Checks(), func(c Cell) bool { return scores[c.ID] == 0 })
	slices.SortStableFunc(found, func(a, b Cell) int { return cmp.Compare(scores[b.ID], scores[a.ID]) })
	return found
}

// says reports that a text contains a phrase, without regard to case and white space, and with * for anything
// between two parts of it. A text of a few words that is a part of the phrase counts, too: users don't type
// all of it. Both are plain.
func says(text, phrase string) bool {
	if has(text, phrase) {
		return true
	}
	return len(text) >= leastTyped && strings.Contains(phrase, text)
}

// leastTyped is how many letters of a phrase are enough to mean it.
const leastTyped = 5

// plain makes what was pasted and what is looked for comparable: case and line breaks are
// chance.
func plain(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// has looks for the pieces between the stars, in their order. A pattern of stars alone
// would fit everything, and fits nothing.
func has(text, pattern string) bool {
	found := false
	for part := range strings.SplitSeq(pattern, "*") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, found = text[i+len(part):], true
	}
	return found
}

// like reports that a whole name is as a pattern has it.
func like(name, pattern string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
