package steps

import (
	"slices"
	"strings"
	"unicode"
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

// Fixes lists the cells of the checklist that are no checks.
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
	words := t.byWords(text)
	for _, c := range t.says(text) {
		s := Suspect{c, weakly(text, c)}
		if i := slices.IndexFunc(words, func(w Suspect) bool { return w.Check.ID == c.ID }); i >= 0 {
			s.Weak = s.Weak && words[i].Weak
		}
		found = append(found, s)
	}
	for _, w := range words {
		if !slices.ContainsFunc(found, func(f Suspect) bool { return f.Check.ID == w.Check.ID }) {
			found = append(found, w)
		}
	}
	return found
}

// weakly reports whether a text of several words has only short phrases of a check in it, such as "slow".
func weakly(text string, c Cell) bool {
	return len(strings.Fields(text)) > 2 && !slices.ContainsFunc(c.Check.Symptoms, func(s string) bool {
		return (strings.Contains(s, " ") || len(s) > 10) && says(text, s)
	})
}

// says lists the checks of which a text has a phrase.
func (t Tutorial) says(text string) []Cell {
	return t.best(func(c Cell) int {
		most := 0
		for _, s := range c.Check.Symptoms {
			if says(text, s) {
				most = max(most, len(s))
			}
		}
		return most
	})
}

// Explaining lists the checks that could explain why a cell came to a verdict: those
// that its reason or what it printed leads to or names, and then those that name the cell.
func (t Tutorial) Explaining(cell, said string) []Cell {
	found := t.says(said) // what a program says has no synonyms
	add := func(explains func(Cell) bool) {
		for _, c := range t.Checks() {
			if explains(c) && !slices.ContainsFunc(found, func(f Cell) bool { return f.ID == c.ID }) {
				found = append(found, c)
			}
		}
	}
	// A verdict says "see rail-addresses". A name of one word may be a word of anybody's.
	words := strings.FieldsFunc(said, func(r rune) bool {
		return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	add(func(c Cell) bool { return strings.Contains(c.ID, "-") && slices.Contains(words, c.ID) })
	add(func(c Cell) bool {
		return slices.ContainsFunc(c.Check.Explains, func(pattern string) bool { return like(cell, pattern) })
	})
	return found
}

// best lists the checks with a score above 0, the highest first.
func (t Tutorial) best(score func(Cell) int) []Cell {
	var found []Cell
	scores := map[string]int{}
	for _, c := range t.Checks() {
		if n := score(c); n > 0 {
			scores[c.ID] = n
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Cell) int { return scores[b.ID] - scores[a.ID] })
	return found
}

// says reports that a text has a phrase in it: without regard to case and white
// space, and with * for anything between two parts of it. A text of a few words that
// is a part of the phrase says it, too: nobody types all of it.
func says(text, phrase string) bool {
	text, phrase = plain(text), plain(phrase)
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
