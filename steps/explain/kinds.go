package explain

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Kind is what a text is about that leads to no cause.
type Kind struct {
	ID    string `json:"id"`
	Title string `json:"title"`

	usual []string // entries
}

// A kind is an entry of assets/knowledge/kinds.toml, which says what its fields mean.
type kind struct {
	ID    string   `toml:"id"`
	Title string   `toml:"title"`
	About string   `toml:"about"`
	Says  string   `toml:"says"`
	Usual []string `toml:"usual"`

	about, says *lazyregexp.Pattern
}

// leastOfTitle is the share of words in a title that have letters only: it may name a model and a rate.
const leastOfTitle = 0.5

// mostSorted is how much of a text is looked at for its kind: people say at the top what it is about.
const mostSorted = 64 << 10

// network is in texts about adapters and links that name none of this field's own words.
var network = lazyregexp.New(`ofed\b|\bx[57]\d0\b|\be8[13]0\b|\bq?sfp|\bjumbo|\d ?gb(?:it|ps)|\d ?gbe\b|\d ?[kmg]b/s|\bbnxt|ixgbe|i40e`)

func (k *Knowledge) compileKinds() error {
	for _, d := range k.kinds {
		for _, e := range []string{d.About, d.Says} {
			if _, err := syntax.Parse(e, syntax.Perl); err != nil || e == "" {
				return fmt.Errorf("kind %s: it needs about and says, each an expression: %q: %w", d.ID, e, err)
			}
		}
		d.about, d.says = lazyregexp.New(d.About), lazyregexp.New(d.Says)
		for _, id := range d.Usual {
			if !slices.ContainsFunc(k.Causes, func(c *Cause) bool { return c.ID == id }) {
				return fmt.Errorf("kind %s: no cause is called %s", d.ID, id)
			}
		}
	}
	return nil
}

// kindOf is the first kind that a text is of; nil where it is of none. What it complains of is said by a person, and
// by programs in errors: a table of figures has words such as "bandwidth", too. Without a person's words it has none.
func (k *Knowledge) kindOf(t text) *Kind {
	var all, said strings.Builder
	title, someone := "", false
	for _, l := range t.lines {
		if all.Len() > mostSorted {
			break
		}
		all.WriteString(l.lower)
		all.WriteByte('\n')
		_, share := plain(l.whole)
		person := l.isPerson()
		someone = someone || person
		if title == "" && worth(l.text) {
			title = "none"
			if share >= leastOfTitle {
				title = l.lower
			}
		}
		if l.known || !person && !l.complains() {
			continue
		}
		said.WriteString(l.lower)
		said.WriteByte('\n')
	}
	whole := all.String()
	if !someone || !ours.Regexp().MatchString(whole) && !network.Regexp().MatchString(whole) {
		return nil
	}
	for _, part := range []string{title, said.String()} {
		for _, d := range k.kinds {
			if d.says.Regexp().MatchString(part) && d.about.Regexp().MatchString(whole) {
				return &Kind{ID: d.ID, Title: d.Title, usual: d.Usual}
			}
		}
	}
	return nil
}
