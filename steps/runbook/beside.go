package runbook

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Next to is the built-in checklist as it stands next to another tutorial: with the cells of the built-in one that
// correct what its checks find. An id that the other tutorial has means its own part or cell: a runbook goes on
// working when the checklist has more to check.
func Beside(t, built steps.Tutorial) []steps.Part {
	own := steps.Tutorial{Parts: t.Parts}
	taken := own.IDs()
	for _, p := range t.Parts {
		taken = append(taken, p.ID)
	}
	free := func(id string) string {
		for slices.Contains(taken, id) {
			id = "checklist-" + id
		}
		return id
	}
	var all []steps.Part
	for _, p := range built.Checklist {
		p.ID = free(p.ID)
		p.Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c steps.Cell) bool { return slices.Contains(taken, c.ID) })
		for i := range p.Cells {
			p.Cells[i].Part = p.ID
			if fix, ok := own.Cell(p.Cells[i].Check.Fix); ok && !fix.Asks && !fix.Change.Any() {
				p.Cells[i].Check.Fix = "" // it puts nothing right
			}
		}
		all = append(all, p)
	}
	fixes := steps.Part{ID: free("tutorial-fixes"), Title: "Fixes of the tutorial"}
	var borrow func(id string)
	borrow = func(id string) {
		here := steps.Tutorial{Parts: t.Parts, Checklist: append(slices.Clone(all), fixes)}
		c, ok := built.Cell(id)
		if _, has := here.Cell(id); !ok || has {
			return
		}
		c.Part = fixes.ID
		fixes.Cells = append(fixes.Cells, c)
		borrow(c.Change.Undoes)
	}
	for _, p := range all {
		for _, c := range p.Cells {
			borrow(c.Check.Fix)
		}
	}
	return append(all, fixes)
}

// TitleOf is the name of the file, or of the folder of several, without a title.
func TitleOf(docs []Document) string {
	name := docs[0].Name
	if dir := filepath.Dir(name); len(docs) > 1 && dir != "." {
		return filepath.Base(dir)
	}
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}
