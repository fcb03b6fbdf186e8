package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
)

func compareCommand() *cobra.Command {
	var threshold, out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Show what is better and what is worse in session B than in A",
		Long: `Compares two saved sessions, cell by cell: verdicts, and the figures behind them. A rate
that falls by more than the threshold is worse. So is a time that grows by more, and a
verdict further from PASS (PASS, WARN, INCONCLUSIVE, FAIL). A cell that ran in only one
session, or was SKIPPED in one, is listed and counts as neither.

Exit status: 0 nothing is worse; 1 something is; 2 wrong usage, or nothing to compare;
5 the result could not be written.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("compare takes two sessions, .ipynb files that railbench saved")
			}
			return nil
		},
		ValidArgsFunction: files("ipynb"),
		RunE: func(cmd *cobra.Command, args []string) error {
			percent, err := parsePercent(threshold)
			if err = errors.Join(err, writable(cmd.Flags(), "output")); err != nil {
				return usage(err)
			}
			var docs [2]*notebook.Document
			for i, path := range args {
				if docs[i], err = notebook.Read(path); err != nil {
					return usage(err)
				}
			}
			c := notebook.Compare(docs[0], docs[1], percent)
			c.A.Name, c.B.Name = args[0], args[1]
			if len(c.Cells) == 0 {
				return usage(fmt.Errorf("%s and %s have no cell that ran in both: there is nothing to compare", args[0], args[1]))
			}
			if out != "" {
				if sameFile(out, args[0]) || sameFile(out, args[1]) {
					return usage(fmt.Errorf("-o %s is one of the sessions: give another file", out))
				}
				err := safefile.Replace(out, c.HTML(), 0o644)
				if _, refused := errors.AsType[*safefile.Refused](err); refused {
					return usage(fmt.Errorf("write the page: %w", err))
				}
				if err != nil {
					return unwritten(fmt.Errorf("write the page %s: %w", out, err))
				}
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), c)
			} else {
				err = sanitize.WriteText(cmd.OutOrStdout(), c.Text())
			}
			switch {
			case err != nil:
				return unwritten(fmt.Errorf("write the comparison: %w", err))
			case c.Unalike():
				return usage(errors.New("only one of the two is SIMULATED: there is nothing to compare"))
			case c.Regressions > 0:
				return status{code: exitFail}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&threshold, "threshold", "5%", "how much a figure may change before that is better or worse")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write it as an HTML page to this file, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func parsePercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(v >= 0 && v <= 1000) { // so that NaN is none either
		return 0, fmt.Errorf("--threshold %s: it is a number of percent from 0 to 1000, for example 5%%", s)
	}
	return v, nil
}
