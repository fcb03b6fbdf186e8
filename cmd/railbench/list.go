package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/session"
)

func listCommand() *cobra.Command {
	var asJSON, params bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the parts and cells with their ids",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if params {
				return listParams(cmd.OutOrStdout(), asJSON)
			}
			t, _, err := tutorial()
			if err != nil {
				return err
			}
			type cell struct {
				ID    string `json:"id"`
				Title string `json:"title"`
			}
			type part struct {
				ID    string `json:"id"`
				Title string `json:"title"`
				Cells []cell `json:"cells"`
			}
			var parts []part
			for _, p := range t.Parts {
				q := part{ID: p.ID, Title: p.Title, Cells: []cell{}}
				for _, c := range p.Cells {
					q.Cells = append(q.Cells, cell{c.ID, c.Title})
				}
				parts = append(parts, q)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return writeJSON(out, map[string]any{"railbench": version(), "tutorial": t.Title, "parts": parts})
			}
			for i, p := range parts {
				fmt.Fprintf(out, "%d  %-18s %s\n", i+1, p.ID, p.Title)
				for _, c := range p.Cells {
					fmt.Fprintf(out, "     %-18s %s\n", c.ID, c.Title)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&params, "params", false, "the parameters of the scripts and their values, in place of the cells")
	return cmd
}

// listParams prints what --param can set.
func listParams(out io.Writer, asJSON bool) error {
	defaults := session.Defaults()
	if asJSON {
		return writeJSON(out, defaults)
	}
	for _, name := range session.Params() {
		value := defaults[name]
		if value == "" {
			value = "(chosen for each rail)"
		}
		if _, err := fmt.Fprintf(out, "%-20s %s\n", name, value); err != nil {
			return err
		}
	}
	return nil
}
