package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
)

func addRunbooks(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "runbook", nil,
		"use this Markdown file or folder instead of the built-in tutorial; may be repeated")
	completeFlags(cmd, map[string]completer{"runbook": files("md", "markdown")})
}

// hasRunbookName reports whether a word is the name of a runbook, and of nothing else.
func hasRunbookName(name string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(name)))
}

// isFolder reports whether it is one now.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// runbooksOrNoCommand takes files and folders. Any other word is a command that there
// isn't: a folder that is called nearly as one is opened by its path.
func runbooksOrNoCommand(cmd *cobra.Command, args []string) error {
	for _, a := range args {
		if hasRunbookName(a) || isSession(a) || strings.ContainsRune(a, filepath.Separator) || a == "." || a == ".." {
			continue
		}
		err := noCommand(cmd, []string{a})
		switch folder := isFolder(a); {
		case folder && steps.DidYouMean(a, commandNames(cmd)) != "":
			return fmt.Errorf("%w (the folder is opened with %s .%c%s)", err, cmd.CommandPath(), filepath.Separator, a)
		case folder:
		case len(args) > 1 && hasRunbookName(args[0]):
			return fmt.Errorf("%q is not a runbook: name files that end in .md, or folders of them; "+
				"railbench run --runbook %s runs cells without a screen", a, args[0])
		default:
			return err
		}
	}
	return nil
}

// ownTutorial is somebody's own runbook: files and folders, each file a part, in the
// order in which they are named. The checklist stands beside it.
func ownTutorial(names []string) (steps.Tutorial, steps.Catalog, error) {
	docs, err := readRunbooks(names)
	if err != nil {
		return steps.Tutorial{}, steps.Catalog{}, usage(err)
	}
	t, known, problems, err := assemble(docs)
	if err != nil {
		return t, known.Catalog, err
	}
	if len(problems) == 0 {
		return t, known.Catalog, nil
	}
	more := ""
	if n := len(problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more: railbench check %s shows all)", n, strings.Join(names, " "))
	}
	if len(t.Cells()) == 0 && len(problems) > 0 {
		more += "; railbench new FILE.md writes an example of a runbook"
	}
	return t, known.Catalog, usage(fmt.Errorf("%w%s", problems[0], more))
}

// assemble makes a tutorial of documents with the checklist beside it, and says what
// keeps it from being opened. The error is about railbench itself.
func assemble(docs []runbook.Document) (steps.Tutorial, runbook.Known, []runbook.Problem, error) {
	built, cat, err := tutorial()
	if err != nil {
		return built, runbook.Known{}, nil, err
	}
	t, problems := runbook.Join(docs)
	if t.Title == "" {
		t.Title = titleOf(docs)
	}
	t.Checklist = beside(t, built)
	b := &bench{options: session.Options{Tutorial: t, Catalog: cat}}
	if b.options.Programs, err = programs(); err != nil {
		return t, runbook.Known{}, nil, err
	}
	if err := b.serve(""); err != nil {
		return t, runbook.Known{}, nil, err
	}
	defer b.close()
	k := known(b.options, built)
	problems = append(problems, runbook.Names(docs, t, k)...)
	runbook.InOrder(docs, problems)
	if len(t.Cells()) == 0 && len(problems) == 0 {
		problems = append(problems, runbook.Problem{
			File: docs[0].Name,
			Text: "no cell is in it: a cell is a heading ## Title {#id}, and below it a script between ```sh cell=id and ```",
		})
	}
	return t, k, problems, nil
}

// titleOf is the name of the file, or of the folder of several, without a title.
func titleOf(docs []runbook.Document) string {
	name := docs[0].Name
	if dir := filepath.Dir(name); len(docs) > 1 && dir != "." {
		return filepath.Base(dir)
	}
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}

// known is what a runbook may name, beside its own parameters and cells. built is the
// built-in tutorial.
func known(o session.Options, built steps.Tutorial) runbook.Known {
	o.Tutorial = steps.Tutorial{}
	// Cells of one kind have one set of variables, and a runbook may have thousands.
	seen := map[string][]string{}
	variables := func(c steps.Cell) []string {
		kind := fmt.Sprint(c.EachRail, c.With, c.Judge, c.Change.Any())
		if _, ok := seen[kind]; !ok {
			seen[kind] = session.Variables(o, c)
		}
		return seen[kind]
	}
	k := runbook.Known{
		Checks: built.Checks(), Reads: map[string][]string{},
		Catalog: o.Catalog, Tools: o.Catalog.Probed(), Params: session.Params(o.Catalog, o.Tutorial),
		Variables: variables,
	}
	for name := range o.Services {
		k.Services = append(k.Services, name)
	}
	slices.Sort(k.Services)
	for _, c := range slices.Concat(built.Cells(), built.Checks(), built.Fixes()) {
		if c.Judge != "" && !slices.Contains(k.Reads[c.Judge], c.Parser) {
			k.Reads[c.Judge] = append(k.Reads[c.Judge], c.Parser)
		}
	}
	for _, f := range sim.Faults() {
		k.Faults = append(k.Faults, f.Name)
	}
	return k
}

// beside is the built-in checklist as it stands beside another tutorial: with the
// cells of the built-in one that put right what its checks find. An id that the other
// tutorial has means its own part or cell: a runbook goes on working when the
// checklist has more to check.
func beside(t, built steps.Tutorial) []steps.Part {
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

// readRunbooks reads files, and every Markdown file of folders, in the order of their
// names there.
func readRunbooks(names []string) ([]runbook.Document, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s does not exist: start a runbook with railbench new %s", name, withExtension(name))
		case err != nil:
			return nil, fmt.Errorf("read the runbook: %w", err)
		case info.IsDir():
			found, err := markdown(name)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("read the runbook: %s is not a file", name)
		case !hasRunbookName(name):
			return nil, fmt.Errorf("read the runbook: the name of %s doesn't end in .md", name)
		default:
			files = append(files, name)
		}
	}
	var docs []runbook.Document
	for _, file := range files {
		src, err := safefile.Head(file, runbook.MaxBytes+1) // one more, so that it is seen to be too long
		if err != nil {
			return nil, fmt.Errorf("read the runbook: %w", err)
		}
		docs = append(docs, runbook.Read(file, src))
	}
	return docs, nil
}

func withExtension(name string) string {
	if hasRunbookName(name) {
		return name
	}
	return cmp.Or(strings.TrimRight(name, string(filepath.Separator)), "FILE") + ".md"
}

// markdown lists the Markdown files of a folder.
func markdown(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the runbook: %w", err)
	}
	var files []string
	for _, e := range entries {
		if hasRunbookName(e.Name()) && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file in the folder %s ends in .md: railbench new %s starts a runbook",
			dir, filepath.Join(dir, "FILE.md"))
	}
	return files, nil
}
