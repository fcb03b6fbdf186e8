package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// Constants of BM25, a measure of how well a text and an entry share their words: how soon a word that an entry repeats
// counts no more, and how much a long entry's words count less.
const (
	saturation = 1.2
	byLength   = 0.6
)

// What the words of a text weigh: a title's, a person's, a program's; all that a word gathers is bounded.
const (
	weightOfTitle   = 3
	weightOfPerson  = 1
	weightOfProgram = 0.35
	mostOfWord      = 4
)

const (
	mostNear = 6
	mostWeak = 2
	// An entry that is usual for the kind of the text counts so much more, and half of leastNear besides.
	usualForKind = 1.5
	// Causes near a text score so much; near one that names nothing of this field, so much more.
	leastNear  = 20
	leastApart = 35
	// What is said to doctor is about the rig, and short.
	leastTyped = 9
)

// A Near is a cause whose entry shares many words with a text, and the command that decides whether it is the one.
type Near struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Next  string `json:"next"`
}

// An index is the words of all entries.
type index struct {
	in    map[string]map[int]float64 // by word: the entries that have it, and how often
	long  []float64                  // by entry: its words
	usual float64                    // words of an entry
	words func(string) []string
}

// indexed makes the index, when a text is first looked up in it.
func (k *Knowledge) indexed() func() *index {
	return sync.OnceValue(func() *index {
		sayings := k.Sayings()
		x := &index{in: map[string]map[int]float64{}, long: make([]float64, len(k.Causes)), words: func(s string) []string {
			words := sayings.Meanings(s)
			if strings.Contains(s, "_") {
				words = append(words, sayings.Meanings(strings.ReplaceAll(s, "_", " "))...)
			}
			slices.Sort(words)
			return slices.Compact(words)
		}}
		all := 0.0
		for i, c := range k.Causes {
			if s := sures[c.Sure]; s == Healthy || s == Harmless {
				continue
			}
			for _, field := range []struct {
				weight float64
				texts  []string
			}{
				{3, []string{c.Title}},
				{2, c.Words},
				{1.5, c.Examples},
				{1.5, []string{c.Like}},
				{1, append(slices.Clone(c.Checks), c.Why, c.Fix, c.ID)},
				{0.5, []string{c.Next, c.Confirm}},
			} {
				for _, w := range x.words(strings.Join(field.texts, "\n")) {
					if x.in[w] == nil {
						x.in[w] = map[int]float64{}
					}
					x.in[w][i] += field.weight
					x.long[i] += field.weight
					all += field.weight
				}
			}
		}
		x.usual = all / float64(max(len(k.Causes), 1))
		return x
	})
}

// Nearest introduces Near.
func (a Answer) Nearest() string {
	const nearest = "These causes come nearest to it by their words; the command of each decides:"
	switch {
	case a.Explained():
		return "Others come near by their words; the command of each decides:"
	case a.Kind == nil:
		return nearest
	}
	return "It reads like " + a.Kind.Title + ". " + nearest
}

// near are the causes whose entries share the most words with a text, the nearest first, and then those of which only
// some words fit a sentence. What is usual for the kind of the text counts more.
func (k *Knowledge) near(t text, kind *Kind, weak []Found) []Near {
	all, ours := []Near{}, t.ours()
	x := k.index()
	scores := x.scores(x.asked(t))
	for i := range scores {
		if kind != nil && slices.Contains(kind.usual, k.Causes[i].ID) {
			scores[i] = usualForKind*scores[i] + leastNear/2
		}
	}
	for _, i := range descending(scores)[:min(len(scores), mostNear)] {
		if c := k.Causes[i]; kind != nil || scores[i] >= leastApart || ours && scores[i] >= leastNear {
			all = append(all, Near{c.ID, c.Title, c.Next})
		}
	}
	for _, f := range weak {
		if n := (Near{f.ID, f.Title, f.Next}); ours && len(all) < mostNear+mostWeak && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// descending are the indices of some scores, the highest first.
func descending(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// NearTyped are the causes whose entries share the most words with a symptom of one line; none for more lines.
func (k *Knowledge) NearTyped(said string) (near []*Cause) {
	if strings.Contains(strings.TrimSpace(said), "\n") {
		return nil
	}
	x, asked := k.index(), map[string]float64{}
	for _, w := range x.words(said) {
		asked[w] = weightOfPerson
	}
	scores := x.scores(asked)
	for _, i := range descending(scores)[:min(len(scores), mostNear)] {
		if scores[i] >= leastTyped {
			near = append(near, k.Causes[i])
		}
	}
	return near
}

// asked are the words of a text, with what each weighs.
func (x *index) asked(t text) map[string]float64 {
	asked, title := map[string]float64{}, t.title()
	for _, l := range t.lines[:min(len(t.lines), mostLooks)] {
		weight := float64(weightOfPerson)
		if words, share := plain(l.text); l.n == title {
			weight = weightOfTitle
		} else if words < leastWords || share < leastPlain {
			weight = weightOfProgram
		}
		for _, w := range x.words(l.text) {
			asked[w] += weight
		}
	}
	return asked
}

// scores say how well each entry's words are those that are asked for.
func (x *index) scores(asked map[string]float64) []float64 {
	scores, entries := make([]float64, len(x.long)), float64(len(x.long))
	for _, w := range slices.Sorted(maps.Keys(asked)) { // in one order: sums of floats depend on it
		in := float64(len(x.in[w]))
		weight := math.Sqrt(min(asked[w], mostOfWord)) * math.Log(1+(entries-in+0.5)/(in+0.5))
		for i, n := range x.in[w] {
			scores[i] += weight * n * (saturation + 1) / (n + saturation*(1-byLength+byLength*x.long[i]/x.usual))
		}
	}
	return scores
}

// ours reports whether a text is about adapters, links or what runs over them.
func (t *text) ours() bool {
	return slices.ContainsFunc(t.lines[:min(len(t.lines), mostLooks)], func(l line) bool {
		return ours.Regexp().MatchString(l.lower) || network.Regexp().MatchString(l.lower)
	})
}
