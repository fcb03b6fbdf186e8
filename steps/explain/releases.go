package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/strictnum"
)

// A Release is what a text names, with a newer one. Half of all reports without a known cause are mistakes of one
// release that a later one does not have.
type Release struct {
	Line    int    `json:"line"`
	Program string `json:"program"`
	Release string `json:"release"`
	// Year is that in which it came out; with OrBefore it may be older.
	Year     int  `json:"year"`
	OrBefore bool `json:"orBefore,omitempty"`
	// Newest is the first release of NewestYear, the last year that is known.
	Newest     string `json:"newest"`
	NewestYear int    `json:"newestYear"`
}

// OldReleases is the headline of Old.
const OldReleases = "Old releases: a newer one may not have the fault"

func (r Release) String() string {
	before := ""
	if r.OrBefore {
		before = " or before"
	}
	return fmt.Sprintf("%s %s is of %d%s (%d: %s)", r.Program, r.Release, r.Year, before, r.NewestYear, r.Newest)
}

// A program's releases, as assets/knowledge/releases.toml has them, which says what its fields mean.
type program struct {
	Program string   `toml:"program"`
	Find    string   `toml:"find"`
	Years   []string `toml:"years"`
	Source  string   `toml:"source"`

	find expression
	of   []release // oldest first
}

type release struct {
	year    int
	name    string
	numbers []int
}

// Releases of so many years are old, and so many are said.
const (
	oldAfter = 2
	mostOld  = 3
)

func (p *program) compile() (err error) {
	if p.find, err = newExpression(p.Find); err != nil {
		return err
	}
	if p.find.regexp().NumSubexp() == 0 {
		return fmt.Errorf("find needs a group: %q", p.Find)
	}
	for _, y := range p.Years {
		said, name, _ := strings.Cut(y, ": ")
		year, ok := strictnum.Count(said)
		r := release{year, name, strictnum.Release(name)}
		if !ok || r.numbers == nil || strings.Trim(name, "0123456789.") != "" {
			return fmt.Errorf("years need YEAR: RELEASE, not %q", y)
		}
		if n := len(p.of); n > 0 && (p.of[n-1].year >= r.year || slices.Compare(p.of[n-1].numbers, r.numbers) >= 0) {
			return fmt.Errorf("%q does not come after the release before it", y)
		}
		p.of = append(p.of, r)
	}
	if p.Program == "" || len(p.of) < 2 {
		return fmt.Errorf("it needs a program and two years: %q", p.Find)
	}
	return nil
}

// old are the releases that a text names and that are old, the oldest first.
func (k *Knowledge) old(c *corpus) []Release {
	all := []Release{}
	for _, p := range k.programs {
		if r := p.named(c); r.Line > 0 && r.NewestYear-r.Year >= oldAfter {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Release) int { return cmp.Compare(a.Year, b.Year) })
	return all[:min(len(all), mostOld)]
}

// named is the newest release of a program that a text names: a text also says with which one it worked. Its line is
// zero where there is none.
func (p *program) named(c *corpus) Release {
	last := p.of[len(p.of)-1]
	named := Release{Program: p.Program, Newest: last.name, NewestYear: last.year}
	var best []int
	for _, hit := range c.hits(&p.find) {
		for _, m := range p.find.regexp().FindAllStringSubmatch(hit.Text, -1) {
			if numbers := strictnum.Release(m[len(m)-1]); slices.Compare(numbers, best) > 0 {
				best, named.Line, named.Release = numbers, hit.Line, m[1]
			}
		}
	}
	newer := slices.IndexFunc(p.of, func(r release) bool { return slices.Compare(best, r.numbers) < 0 })
	if newer < 0 {
		newer = len(p.of)
	}
	named.Year, named.OrBefore = p.of[max(newer-1, 0)].year, newer == 0
	return named
}
