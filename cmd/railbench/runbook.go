package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/session"
)

func addRunbooks(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "runbook", nil,
		"use this Markdown `FILE` or folder (repeatable)")
	completeFlags(cmd, map[string]completer{"runbook": files("md", "markdown")})
}

// looksLike is about a file that is there and can't be opened; nil where there is none.
func looksLike(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	begin := make([]byte, 512)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s can't be read or is empty: name a runbook (.md) or a session (.ipynb)", path)
	}
	kind, hint := "binary data", ""
	switch text := strings.TrimSpace(string(begin[:n])); {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		kind = "JSON"
	case strings.HasPrefix(http.DetectContentType(begin[:n]), "text/"):
		kind, hint = "text", "; for a log or a tool's output: railbench explain "+path
	}
	return fmt.Errorf("%s looks like %s: the workbench opens runbooks (.md) and sessions (.ipynb)%s", path, kind, hint)
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
		if runbook.HasName(a) || isSession(a) || strings.ContainsRune(a, filepath.Separator) || a == "." || a == ".." {
			continue
		}
		err := noCommand(cmd, []string{a})
		switch folder := isFolder(a); {
		case folder && steps.DidYouMean(a, commandNames(cmd)) != "":
			return fmt.Errorf("%w (the folder is opened with %s .%c%s)", err, cmd.CommandPath(), filepath.Separator, a)
		case folder:
		case len(args) > 1 && runbook.HasName(args[0]):
			return fmt.Errorf("%q is not a runbook: name files that end in .md, or folders of them; "+
				"railbench run --runbook %s runs cells without a screen", a, args[0])
		default:
			return cmp.Or(looksLike(a), err)
		}
	}
	return nil
}

// ownTutorial is another user's own runbook: files and folders, each file a part, in the order in which they are
// named. The checklist stands next to it.
func ownTutorial(names []string) (steps.Tutorial, steps.Catalog, error) {
	docs, err := runbook.ReadFiles(names)
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

// assemble makes a tutorial of documents with the checklist next to it, and says what keeps it from being opened. The
// error is about railbench itself.
func assemble(docs []runbook.Document) (steps.Tutorial, runbook.Known, []runbook.Problem, error) {
	built, cat, err := tutorial()
	if err != nil {
		return built, runbook.Known{}, nil, err
	}
	t, problems := runbook.Join(docs)
	if t.Title == "" {
		t.Title = runbook.TitleOf(docs)
	}
	t.Checklist = runbook.Beside(t, built)
	b := &openRig{options: session.Options{Tutorial: t, Catalog: cat}}
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

// known is what a runbook may name, next to its own parameters and cells. built is the built-in tutorial.
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
