package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Sure says how sure a cause is.
type Sure string

// How sure a cause is, the surest first. Healthy is not a cause: what was seen is as it should be. Harmless is not an
// answer, either, where the text says more.
const (
	Proves   Sure = "the text proves it"
	Fits     Sure = "fits"
	OneOf    Sure = "one of several"
	ByWords  Sure = "one of several, by the words of its line"
	Weak     Sure = "only some words fit"
	Healthy  Sure = "as it should be"
	Harmless Sure = "harmless"
)

// A Cause is an entry of the knowledge, as its file has it. Patterns are RE2 expressions that are looked for in a line,
// whatever its case; those that begin with "fact: " look in the facts instead, which tools' outputs are read to.
type Cause struct {
	ID    string     `toml:"id"`
	Title string     `toml:"title"`
	Code  steps.Code `toml:"code"`
	Sure  string     `toml:"sure"` // proves, fits, one of, healthy, harmless
	// Any: one of them stands in a line. All: each of them stands in some line. Not: none of them stands in any.
	Any []string `toml:"any"`
	All []string `toml:"all"`
	Not []string `toml:"not"`
	// Over are entries that this one makes needless where both are found.
	Over []string `toml:"over"`
	// Generic is an error that many programs print: it gives way to any other cause in its lines.
	Generic bool `toml:"generic"`
	// Common causes appear in many reports about other faults: they give way to any other cause, and in a longer text a
	// person's words do not lead to them. Hint is a Common entry that describes a setting, a device or a figure: in a
	// longer text that is healthy, or in which a person or a program says more, it does not count as an answer.
	Common bool `toml:"common"`
	Hint   bool `toml:"hint"`
	// Words are how people say it, and messages that lead to its checks; * stands for anything.
	Words []string `toml:"words"`
	// Like are further words of reports about it. They bring it near to a text, and are never an answer.
	Like string `toml:"like"`
	// Why, Confirm and Fix are sentences with commands in backticks. An entry with Confirm is a chapter of the page
	// troubleshooting.
	Why     string `toml:"why"`
	Confirm string `toml:"confirm"`
	Fix     string `toml:"fix"`
	Next    string `toml:"next"`
	// Checks are those of the checklist that could confirm it, the likeliest first.
	Checks []string `toml:"checks"`
	Docs   string   `toml:"docs"`
	Source string   `toml:"source"`
	// Examples are lines that lead to this entry by themselves; a test tries each.
	Examples []string `toml:"examples"`

	any, all, not []expression
}

// Knowledge is all entries.
type Knowledge struct {
	Causes   []*Cause
	kinds    []*kind
	programs []*program

	// Sayings are what people say of each of them, made when a text is in a person's words.
	Sayings func() *steps.Sayings
	index   func() *index
}

var sures = map[string]Sure{"proves": Proves, "fits": Fits, "one of": OneOf, "healthy": Healthy, "harmless": Harmless}

// rank orders the causes: a surer one stands first.
var rank = map[Sure]int{Proves: 300, Healthy: 250, Harmless: 240, Fits: 200, OneOf: 100, ByWords: 50, Weak: 0}

// Load reads the entries of *.toml.
func Load(files fs.FS) (*Knowledge, error) {
	names, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, err
	}
	k, ids := &Knowledge{}, map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Cause   []*Cause   `toml:"cause"`
			Kind    []*kind    `toml:"kind"`
			Release []*program `toml:"release"`
		}
		d := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
		if err := d.Decode(&file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range file.Cause {
			if err := c.compile(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, c.ID, err)
			}
			if ids[c.ID] {
				return nil, fmt.Errorf("%s: two entries are called %s", name, c.ID)
			}
			ids[c.ID] = true
			k.Causes = append(k.Causes, c)
		}
		k.kinds = append(k.kinds, file.Kind...)
		for _, p := range file.Release {
			if err := p.compile(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, p.Program, err)
			}
			k.programs = append(k.programs, p)
		}
	}
	if err := k.compileKinds(); err != nil {
		return nil, err
	}
	k.Sayings = sync.OnceValue(func() *steps.Sayings {
		all := make([]steps.Saying, len(k.Causes))
		for i, c := range k.Causes {
			all[i] = steps.Saying{Title: c.Title, Phrases: c.Words, Checks: c.Checks}
		}
		return steps.NewSayings(all)
	})
	k.index = k.indexed()
	return k, nil
}

func (c *Cause) compile() error {
	if c.ID == "" || sures[c.Sure] == "" {
		return fmt.Errorf("an entry needs an id, and sure is proves, fits, one of, healthy or harmless, not %q", c.Sure)
	}
	if len(c.Any)+len(c.All)+len(c.Words) == 0 {
		return errors.New("an entry needs any, all or words")
	}
	for _, l := range []struct {
		of   []string
		into *[]expression
	}{{c.Any, &c.any}, {c.All, &c.all}, {c.Not, &c.not}} {
		for _, s := range l.of {
			e, err := newExpression(s)
			if err != nil {
				return err
			}
			*l.into = append(*l.into, e)
		}
	}
	return nil
}

// An expression is compiled only when its literal parts are in the text: of some hundreds, few are.
type expression struct {
	source string
	fact   bool
	// needs are literals of which every match has one, in lower case; nil where there is none.
	needs    []string
	compiled *lazyregexp.Pattern
}

func newExpression(s string) (expression, error) {
	e := expression{source: s}
	if rest, ok := strings.CutPrefix(s, "fact: "); ok {
		e.fact, e.source = true, rest
	}
	e.source = `(?i)` + e.source
	tree, err := syntax.Parse(e.source, syntax.Perl)
	if err != nil {
		return e, err
	}
	e.needs, e.compiled = needs(tree.Simplify()), lazyregexp.New(e.source)
	return e, nil
}

func (e *expression) regexp() *regexp.Regexp { return e.compiled.Regexp() }

// mostTried is how many lines that have its literal an expression is tried on: of a log there are never so many without
// a match.
const mostTried = 2000

// leastNeed is how long a literal is that is worth looking for.
const leastNeed = 3

// needs are literals of which every match of a has one; nil where none is known.
func needs(a *syntax.Regexp) []string {
	switch a.Op { //nolint:exhaustive // of all others no literal is known
	case syntax.OpLiteral:
		if len(a.Rune) >= leastNeed {
			return []string{strings.ToLower(string(a.Rune))}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needs(a.Sub[0])
	case syntax.OpRepeat:
		if a.Min > 0 {
			return needs(a.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, s := range a.Sub {
			if n := needs(s); n != nil && (best == nil || shortest(n) > shortest(best)) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, s := range a.Sub {
			n := needs(s)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

func shortest(all []string) int {
	return len(slices.MinFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
}

// A corpus is what is searched: the lines and the facts, and all of it in lower case.
type corpus struct {
	lines []line
	facts []fact
	lower string
	heads []head
	grams [1 << (gramBits - 6)]uint64 // a bit for each hash of four bytes that stand in lower
}

// A head is where a line begins in the text in lower case.
type head struct{ at, line int }

const gramBits = 22

func gram(s string) uint32 {
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) * 0x9E3779B1 >> (32 - gramBits)
}

// may is false for most literals that do not stand in the text: some four bytes of theirs stand nowhere in it, which is
// known without a search.
func (c *corpus) may(literal string) bool {
	for i := 0; i+4 <= len(literal); i++ {
		if g := gram(literal[i:]); c.grams[g/64]&(1<<(g%64)) == 0 {
			return false
		}
	}
	return true
}

// candidates are the first lines that an expression is tried on, by their indices, in order: at most mostTried.
func (c *corpus) candidates(e *expression) (all []int) {
	if e.needs == nil {
		for _, h := range c.heads[:min(len(c.heads), mostTried)] {
			all = append(all, h.line)
		}
		return all
	}
	for _, literal := range e.needs {
		if !c.may(literal) {
			continue
		}
		for i, n := 0, 0; i < len(c.heads) && n < mostTried; n++ {
			at := strings.Index(c.lower[c.heads[i].at:], literal)
			if at < 0 {
				break
			}
			at += c.heads[i].at
			i = sort.Search(len(c.heads), func(i int) bool { return c.heads[i].at > at }) // of the line after it
			all = append(all, c.heads[i-1].line)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), mostTried)]
}

// hits are the lines in which an expression stands, at most a few.
func (c *corpus) hits(e *expression) (all []Fact) {
	if e.fact {
		if e.needs != nil && !slices.ContainsFunc(e.needs, c.may) {
			return nil
		}
		for _, f := range c.facts {
			if e.regexp().MatchString(f.text) {
				all = append(all, Fact{f.line, short(f.text)})
			}
		}
		return all
	}
	for _, i := range c.candidates(e) {
		l := c.lines[i]
		if e.regexp().MatchString(l.text) || l.whole != l.text && e.regexp().MatchString(l.whole) {
			if all = append(all, Fact{l.n, short(l.text)}); len(all) >= mostHits*4 {
				break
			}
		}
	}
	return all
}

// searched is what is searched of a text.
func searched(t text, facts []fact) *corpus {
	c := &corpus{lines: t.lines, facts: facts}
	var b strings.Builder
	for i, l := range t.lines {
		if !l.again { // else another line with other numbers is looked at
			c.heads = append(c.heads, head{b.Len(), i})
			b.WriteString(l.lower)
			b.WriteByte('\n')
		}
	}
	for _, f := range facts {
		b.WriteString(strings.ToLower(f.text))
		b.WriteByte('\n')
	}
	c.lower = b.String()
	for i := range len(c.lower) - 3 {
		g := gram(c.lower[i:])
		c.grams[g/64] |= 1 << (g % 64)
	}
	return c
}

// match finds the entries that a text leads to, and the lines that any of them knows.
func (k *Knowledge) match(t text, c *corpus) (found []Found, understood map[int]bool) {
	understood = map[int]bool{}
	for _, cause := range k.Causes {
		if lines, ok := cause.in(c); ok {
			for _, l := range lines {
				understood[l.Line] = true
			}
			found = append(found, cause.found(sures[cause.Sure], lines))
		}
	}
	for _, cause := range k.Causes {
		if slices.ContainsFunc(found, func(f Found) bool { return f.ID == cause.ID }) {
			found = slices.DeleteFunc(found, func(f Found) bool { return slices.Contains(cause.Over, f.ID) })
		}
	}
	found = slices.DeleteFunc(found, func(f Found) bool { return f.generic && f.within(found) })
	if slices.ContainsFunc(found, Found.isFault) {
		found = slices.DeleteFunc(found, func(f Found) bool { return f.common })
	}
	healthy := slices.ContainsFunc(found, func(f Found) bool { return f.Sure == Healthy || f.Sure == Harmless })
	asks := len(t.lines) > mostShort && (healthy || t.asks(understood))
	for i := range found {
		if f := &found[i]; f.hint && asks {
			f.score += rank[Weak] - rank[f.Sure]
			f.Sure = Weak
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.score, a.score) })
	return found, understood
}

// within reports whether each line of a cause is another's, too.
func (f Found) within(all []Found) bool {
	return !slices.ContainsFunc(f.Lines, func(l Fact) bool {
		return !slices.ContainsFunc(all, func(o Found) bool {
			same := func(x Fact) bool { return x.Line == l.Line }
			return !o.generic && o.Sure != Harmless && slices.ContainsFunc(o.Lines, same)
		})
	})
}

// in reports whether an entry is in a text, and the lines that say so.
func (c *Cause) in(t *corpus) (lines []Fact, ok bool) {
	if len(c.any)+len(c.all) == 0 {
		return nil, false
	}
	for i := range c.all {
		hits := t.hits(&c.all[i])
		if len(hits) == 0 {
			return nil, false
		}
		lines = append(lines, hits...)
	}
	ofAll := len(lines)
	for i := range c.any {
		lines = append(lines, t.hits(&c.any[i])...)
	}
	if len(c.any) > 0 && len(lines) == ofAll {
		return nil, false
	}
	for i := range c.not {
		if len(t.hits(&c.not[i])) > 0 {
			return nil, false
		}
	}
	return lines, true
}

func (c *Cause) found(sure Sure, lines []Fact) Found {
	f := Found{
		ID: c.ID, Title: c.Title, Code: c.Code, Sure: sure, Next: c.Next,
		Why: strings.ReplaceAll(c.Why, "`", ""), Fix: strings.ReplaceAll(c.Fix, "`", ""),
		Checks: slices.Concat([]string{}, c.Checks), Docs: c.Docs, Source: c.Source, Lines: []Fact{}, generic: c.Generic,
		common: c.Common || c.Hint, hint: c.Hint,
	}
	slices.SortStableFunc(lines, func(a, b Fact) int { return cmp.Compare(a.Line, b.Line) })
	lines = slices.CompactFunc(lines, func(a, b Fact) bool { return a == b })
	f.Lines = append(f.Lines, lines[:min(len(lines), mostHits)]...)
	f.score = rank[sure] + 20*len(c.All) + min(len(lines), 5)
	return f
}
