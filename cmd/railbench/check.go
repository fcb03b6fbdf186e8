package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/sanitize"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE.md…|FOLDER",
		Short: "Check a runbook of your own",
		Long: `Reads a runbook without running anything, and prints every problem with its line:
wrong form, unknown attributes, parsers, judges, services and fixes, and scripts that
a POSIX shell does not accept. It warns of variables that are never set, and of
settings without effect.

Exit status: 0 it can be used (warnings are printed); 1 it cannot; 2 wrong usage, or it
cannot be read; 5 the result could not be written.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(fmt.Errorf("name the runbook: railbench check FILE.md"))
			}
			return nil
		},
		ValidArgsFunction: files("md", "markdown"),
		RunE: func(cmd *cobra.Command, args []string) error {
			docs, err := runbook.ReadFiles(args)
			if err != nil {
				return usage(err)
			}
			problems, err := checkRunbooks(docs)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), checked(docs, problems))
			} else {
				err = printProblems(cmd.OutOrStdout(), docs, problems)
			}
			return written(err, wrong(problems))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	return cmd
}

// checkRunbooks are the problems of documents, in their order.
func checkRunbooks(docs []runbook.Document) ([]runbook.Problem, error) {
	t, k, problems, err := assemble(docs)
	if err != nil {
		return nil, err
	}
	problems = append(problems, runbook.Scripts(docs, t, k)...)
	runbook.InOrder(docs, problems)
	return problems, nil
}

func wrong(problems []runbook.Problem) error {
	if len(runbook.Errors(problems)) > 0 {
		return status{code: exitFail}
	}
	return nil
}

// problemObject and checkedObject are what --json prints; scripts rely on their keys.
type problemObject struct {
	File     string `json:"file"`
	Line     int    `json:"line"`   // 0 where it is about the whole file
	Column   int    `json:"column"` // in bytes; 0 where it is about the whole line
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

type checkedObject struct {
	Railbench string          `json:"railbench"`
	Files     []checkedFile   `json:"files"`
	Problems  []problemObject `json:"problems"`
	Errors    int             `json:"errors"`
	Warnings  int             `json:"warnings"`
}

type checkedFile struct {
	File  string `json:"file"`
	Part  string `json:"part"`
	Cells int    `json:"cells"`
}

func checked(docs []runbook.Document, problems []runbook.Problem) checkedObject {
	r := checkedObject{
		Railbench: version(), Files: []checkedFile{}, Problems: []problemObject{}, Errors: len(runbook.Errors(problems)),
	}
	r.Warnings = len(problems) - r.Errors
	for _, d := range docs {
		r.Files = append(r.Files, checkedFile{d.Name, d.Part.ID, len(d.Part.Cells)})
	}
	for _, p := range problems {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		r.Problems = append(r.Problems, problemObject{p.File, p.Line, p.Column, severity, p.Text})
	}
	return r
}

func printProblems(out io.Writer, docs []runbook.Document, problems []runbook.Problem) error {
	for _, p := range problems {
		if _, err := sanitize.Fprintln(out, p.Error()); err != nil {
			return err
		}
	}
	r := checked(docs, problems)
	cells := 0
	for _, f := range r.Files {
		cells += f.Cells
	}
	_, err := sanitize.Fprintf(out, "%s in %s: %s, %s\n",
		count(cells, "cell"), count(len(docs), "file"), count(r.Errors, "error"), count(r.Warnings, "warning"))
	return err
}

// count is a number with its noun.
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
