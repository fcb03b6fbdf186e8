package runbook

import (
	"fmt"
	"slices"

	"github.com/railbench/railbench/steps"
)

// Check says whether everything that a tutorial names is there, and each id means
// one thing.
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
		if fix := cell.Check.Fix; fix != "" {
			if f, ok := t.Cell(fix); !ok || !f.Asks && !f.Change.Any() {
				return fmt.Errorf("the check %q: fix=%s names no cell that changes anything", cell.ID, fix)
			}
		}
		if _, ok := c.Own[cell.Own]; !ok && cell.Own != "" {
			return fmt.Errorf("the cell %q: railbench does no %q%s", cell.ID, cell.Own, steps.DidYouMean(cell.Own, names(c.Own)))
		}
		if u := cell.Change.Undoes; u != "" && u != steps.Everything {
			if undone, ok := t.Cell(u); !ok || !undone.Change.Any() {
				return fmt.Errorf("the cell %q: undoes=%s names no cell that changes anything", cell.ID, u)
			}
		}
		if _, ok := c.Parsers[cell.Parser]; !ok && cell.Parser != "" {
			return fmt.Errorf("the cell %q: there is no parser %q%s", cell.ID, cell.Parser, steps.DidYouMean(cell.Parser, names(c.Parsers)))
		}
		if _, ok := c.Judges[cell.Judge]; !ok && cell.Judge != "" {
			return fmt.Errorf("the cell %q: there is no judge %q%s", cell.ID, cell.Judge, steps.DidYouMean(cell.Judge, names(c.Judges)))
		}
	}
	return nil
}

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
