package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

func listCommand() *cobra.Command {
	var asJSON, params bool
	var runbooks []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the parts and cells with their ids",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, _, err := rigFlags{runbooks: runbooks}.tutorial()
			if err != nil {
				return err
			}
			if params {
				return listParams(cmd.OutOrStdout(), t, asJSON)
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
				sanitize.Fprintf(out, "%d  %-18s %s\n", i+1, p.ID, p.Title)
				for _, c := range p.Cells {
					sanitize.Fprintf(out, "     %-18s %s\n", c.ID, c.Title)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&params, "params", false, "print the parameters of the scripts instead of the cells")
	addRunbooks(cmd, &runbooks)
	return cmd
}

// listParams prints what --param can set.
func listParams(out io.Writer, t steps.Tutorial, asJSON bool) error {
	type param struct {
		Name    string   `json:"name"`
		Does    string   `json:"description"`
		Unit    string   `json:"unit,omitempty"`
		Default string   `json:"default"`
		Kind    string   `json:"kind"`
		Allowed string   `json:"allowed"`
		Min     *int64   `json:"min,omitempty"`
		Max     *int64   `json:"max,omitempty"`
		Choices []string `json:"choices,omitempty"`
		Cells   []string `json:"cells"`
	}
	table := session.Params(catalog.New(), t)
	if asJSON {
		all := []param{}
		for _, p := range table {
			row := param{p.Name, p.Does, p.Unit, p.Default, p.Kind.String(), p.Allowed(), nil, nil, p.Choices, t.Reading(p)}
			if p.Kind == steps.Number || p.Kind == steps.Size {
				row.Min, row.Max = &p.Min, &p.Max
			}
			all = append(all, row)
		}
		return writeJSON(out, map[string]any{"railbench": version(), "params": all})
	}
	for _, p := range table {
		value := p.Text(p.Default)
		if p.Default == "" {
			value = "(" + value + ")"
		}
		indent := strings.Repeat(" ", 21)
		_ = say(out, fmt.Sprintf("%-20s ", p.Name), value) // a writer that failed once fails from then on
		_ = say(out, indent, steps.Capital(p.Does)+".")
		_ = say(out, indent, "It is "+p.Allowed()+".")
	}
	sanitize.Fprintln(out)
	return say(out, "", "--param NAME=VALUE sets one for all cells, --param CELL.NAME=VALUE for one cell alone.")
}
