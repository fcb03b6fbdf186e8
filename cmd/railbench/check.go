package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/runbook"
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
				err = writeJSON(cmd.OutOrStdout(), runbook.Checked(version(), docs, problems))
			} else {
				err = runbook.Print(cmd.OutOrStdout(), docs, problems)
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
