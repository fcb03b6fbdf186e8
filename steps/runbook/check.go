package runbook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Check is what is wrong with a tutorial: something that it names is not there, or an id
// means two things.
func Check(t steps.Tutorial, c steps.Catalog) error {
	seen := map[string]bool{}
	for _, p := range slices.Concat(t.Parts, t.Checklist) {
		ids := []string{p.ID}
		for _, cell := range p.Cells {
			ids = append(ids, cell.ID)
		}
		for _, id := range ids {
			if seen[id] {
				return fmt.Errorf("the id %q is in the tutorial or the checklist twice", id)
			}
			seen[id] = true
		}
	}
	for _, cell := range slices.Concat(t.Cells(), t.Fixes(), t.Checks()) {
		for _, m := range misnamed(t, c, cell) {
			return fmt.Errorf("the cell %q: %s", cell.ID, m.text)
		}
	}
	return nil
}

// A mistake is what an attribute of a cell names, and what is not there.
type mistake struct{ attribute, text string }

// misnamedCells looks for the other cells that a cell names.
func misnamedCells(t steps.Tutorial, cell steps.Cell) (all []mistake) {
	add := func(attribute, format string, args ...any) {
		all = append(all, mistake{attribute, fmt.Sprintf(format, args...)})
	}
	changes := func(id string, asksToo bool) bool {
		x, ok := t.Cell(id)
		return ok && (x.Change.Any() || asksToo && x.Asks)
	}
	if fix := cell.Check.Fix; fix != "" && !changes(fix, true) {
		add("fix", "fix=%s names no cell that changes anything", fix)
	}
	if u := cell.Change.Undoes; u != "" && u != steps.Everything && !changes(u, false) {
		add("undoes", "undoes=%s names no cell that changes anything", u)
	}
	for _, id := range cell.Pairs {
		if x, ok := t.Cell(id); !ok || len(x.Roles) == 0 || !x.EachRail {
			add("pairs", "pairs= names %q, and that is not a cell that measures each rail%s", id, steps.DidYouMean(id, t.IDs()))
		}
	}
	return all
}

// misnamed looks for what a cell names in the catalog and in the tutorial: other cells,
// too.
func misnamed(t steps.Tutorial, c steps.Catalog, cell steps.Cell) (all []mistake) {
	all = misnamedCells(t, cell)
	add := func(attribute, format string, args ...any) {
		all = append(all, mistake{attribute, fmt.Sprintf(format, args...)})
	}
	own := cell.Own
	if cell.Pairs != nil {
		own = "" // what it says is shown, and what it names is done
	}
	if near, bad := unregistered(c.Own, own); bad {
		add("cell", "railbench does no %q%s", own, near)
	}
	if near, bad := unregistered(c.Parsers, cell.Parser); bad {
		add("parse", "unknown parser %q%s", cell.Parser, near)
	}
	if near, bad := unregistered(c.Judges, cell.Judge); bad {
		add("judge", "unknown judge %q%s", cell.Judge, near)
	}
	// Of names that are wrong by themselves no one can say whether they fit.
	if len(all) == 0 && cell.Own == "" && c.Fits != nil && !c.Fits(cell.Parser, cell.Judge) {
		add("judge", "judge=%s can't judge what parse=%s reads", cell.Judge, cell.Parser)
	}
	return all
}

// unregistered reports whether no one has registered a name, and says which are near to it.
func unregistered[V any](m map[string]V, name string) (near string, bad bool) {
	if _, ok := m[name]; ok || name == "" {
		return "", false
	}
	return steps.DidYouMean(name, names(m)), true
}

// names are those that a user registered; the empty one is for cells that name none.
func names[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		if name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Known is what another user's own runbook can name.
type Known struct {
	Catalog  steps.Catalog
	Services []string
	// Reads are the parsers that the built-in cells name next to a judge, by judge.
	Reads map[string][]string
	// Checks are the checklist's, all of them.
	Checks []steps.Cell
	// Faults are the simulated rig's.
	Faults []string
	// Tools are the commands that the tutorial's own cells call: a name near to one is a slip.
	Tools []string
	// Params are the parameters that railbench has already: a runbook may give them
	// another default.
	Params []steps.Param
	// Variables are the names that the scripts of a cell can read, next to the runbook's parameters.
	Variables func(steps.Cell) []string
}

// Names says what documents name that is not there. They are the parts of t, which has what stands next to them, too.
func Names(docs []Document, t steps.Tutorial, k Known) []Problem {
	var all []Problem
	set := k.everywhere()
	for _, d := range docs {
		var found []Problem
		for _, p := range d.Part.Params {
			if own, ok := k.param(p.Name); ok {
				if _, err := own.Parse(p.Default); err != nil {
					found = append(found, d.problem(d.params[p.Name], "the parameter %v", err))
				}
			} else if set[p.Name] {
				found = append(found, d.problem(d.params[p.Name],
					"the parameter %s: railbench sets it, from what it knows of the rig", p.Name))
			}
		}
		for _, c := range d.Part.Cells {
			for _, m := range misnamed(t, k.Catalog, c) {
				found = append(found, d.problem(d.given[c.ID][m.attribute], "%s", m.text))
			}
			for _, name := range c.With {
				if !slices.Contains(k.Services, name) {
					found = append(found, d.problem(d.given[c.ID]["with"], "railbench runs no service %q (%s)%s",
						name, strings.Join(k.Services, ", "), steps.DidYouMean(name, k.Services)))
				}
			}
			for _, name := range c.Check.Finds {
				if !slices.Contains(k.Faults, name) {
					found = append(found, d.problem(d.given[c.ID]["finds"], "the simulated rig has no fault %q%s",
						name, steps.DidYouMean(name, k.Faults)))
				}
			}
		}
		all = append(all, found...)
	}
	InOrder(docs, all)
	return all
}

// param finds one of railbench's own.
func (k Known) param(name string) (steps.Param, bool) {
	i := slices.IndexFunc(k.Params, func(p steps.Param) bool { return p.Name == name })
	if i < 0 {
		return steps.Param{}, false
	}
	return k.Params[i], true
}

// everywhere are the names that railbench sets in some cell.
func (k Known) everywhere() map[string]bool {
	set := map[string]bool{}
	cells := []steps.Cell{{EachRail: true, With: k.Services, Change: steps.Change{Set: []string{""}}}}
	for judge := range k.Catalog.Plans {
		cells = append(cells, steps.Cell{Judge: judge})
	}
	for _, c := range cells {
		for _, name := range k.Variables(c) {
			set[name] = true
		}
	}
	return set
}
