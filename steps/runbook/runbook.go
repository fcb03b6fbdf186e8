// Package runbook reads a tutorial, or another user's own runbook: Markdown files whose fenced blocks are the
// scripts of cells. Parse describes what a file has to look like. The package writes a file back, too, byte
// for byte where nothing was edited.
//
// It knows the form, and what can be said of a script without running it. Which parsers and judges there are
// is the catalog's (Check compares), and what a script does is the node's business.
package runbook

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/railbench/railbench/steps"
)

// Load reads every Markdown file in dir, in the order of their names; each is
// one part. The tutorial's title is what the first file says in a comment above
// its heading: <!-- tutorial: Title -->.
func Load(fsys fs.FS, dir string) (steps.Tutorial, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return steps.Tutorial{}, fmt.Errorf("read the tutorial: %w", err)
	}
	docs := make([]Document, 0, len(entries)) // its elements stay where they are
	var all sync.WaitGroup
	defer all.Wait()
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".md" {
			continue
		}
		name := path.Join(dir, e.Name())
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return steps.Tutorial{}, fmt.Errorf("read the tutorial: %w", err)
		}
		docs = append(docs, Document{})
		// Side by side: the first frame waits for it.
		to := &docs[len(docs)-1]
		all.Go(func() { *to = Read(name, src) })
	}
	all.Wait()
	if len(docs) == 0 {
		return steps.Tutorial{}, fmt.Errorf("read the tutorial: no Markdown file in %s", dir)
	}
	t, problems := Join(docs)
	if len(problems) > 0 {
		return steps.Tutorial{}, problems[0]
	}
	return t, nil
}

// Join makes one tutorial of documents, each a part, in this order. The problems are
// those of the documents and where they contradict each other.
func Join(docs []Document) (steps.Tutorial, []Problem) {
	var t steps.Tutorial
	var problems []Problem
	parts, cells := map[string]Document{}, map[string]Document{}
	params := map[string]steps.Param{}
	for _, d := range docs {
		problems = append(problems, d.Problems...)
		if t.Title == "" {
			t.Title = d.Title
		}
		if other, ok := parts[d.Part.ID]; ok && d.Part.ID != "" {
			problems = append(problems,
				d.problem(d.headings[d.Part.ID], "the part %q is in %s already", d.Part.ID, other.Name))
		} else {
			parts[d.Part.ID] = d
		}
		for _, c := range d.Part.Cells {
			if other, ok := cells[c.ID]; ok {
				problems = append(problems,
					d.problem(d.headings[c.ID], "the cell %q is in %s already", c.ID, other.Name))
			} else {
				cells[c.ID] = d
			}
		}
		for _, p := range d.Part.Params {
			if other, ok := params[p.Name]; ok && other.Default != p.Default {
				problems = append(problems, d.problem(d.params[p.Name],
					"the parameter %s is %q here, and %q in a file before", p.Name, p.Default, other.Default))
			}
			params[p.Name] = p
		}
		t.Parts = append(t.Parts, d.Part)
	}
	// A cell and a part can be selected by their ids in one list.
	for _, id := range slices.Sorted(maps.Keys(cells)) {
		if other, ok := parts[id]; ok && other.Name != cells[id].Name {
			d := cells[id]
			problems = append(problems,
				d.problem(d.headings[id], "the cell %q has the id of the part in %s", id, other.Name))
		}
	}
	return t, problems
}

// Title is what the comment above a file's first heading calls the tutorial;
// empty where there is none.
func Title(src []byte) string {
	if m := titleComment.Regexp().FindSubmatch(newSource(src).text); m != nil {
		return string(m[1])
	}
	return ""
}

// Parse reads one part. name stands in front of errors, as in name:line.
//
//	<!-- params: NAME=VALUE NAME="two words" -->
//
//	# Title {#part-id}
//	prose
//	## Title of a cell {#cell-id}
//	prose
//	```sh cell=cell-id role=server on=peer ready=port:$PORT
//	script
//	```
//
// A fence with cell= is one role of that cell, in the order of the file; other
// fences are prose. Text after a cell's last fence is its Tail, text between two
// fences belongs to its prose. Attributes describes what a fence can say: each is
// NAME=VALUE with a value in quotes where it has spaces, or a bare NAME.
//
// The comment declares parameters of the scripts, above the first cell: a script
// reads "$NAME", and the user can give another value. It may stretch over lines.
//
// A fence of the language railbench in place of sh holds the name of what
// railbench does itself: summary.
func Parse(name string, src []byte) (steps.Part, error) {
	d := Read(name, src)
	if len(d.Problems) > 0 {
		return steps.Part{}, d.Problems[0]
	}
	return d.Part, nil
}
