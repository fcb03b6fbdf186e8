package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/sanitize"
)

// The forms that a session can be exported to; the extension of a file names one, too.
var exportForms = []string{"md", "html", "ipynb", "json", "csv"}

func exportCommand() *cobra.Command {
	var to, out string
	var full bool
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Export a saved session as a page, a text or a table",
		Long: `Writes what ran in a session: md and html for people, json (the object of
"railbench run --json") and csv (a row for each piece of evidence) for programs, ipynb
for Jupyter. The HTML page is one file that loads nothing. md has the verdicts, what
decided them and the results; with --full also scripts and outputs.`,
		Args:              oneSession,
		ValidArgsFunction: files("ipynb"),
		RunE: func(cmd *cobra.Command, args []string) error {
			form := to
			if form == "" && out != "" {
				form = strings.TrimPrefix(filepath.Ext(out), ".")
			}
			if err := errors.Join(exportable(form, out), onlyFull(form, full), writable(cmd.Flags(), "output")); err != nil {
				return usage(err)
			}
			if sameFile(args[0], out) {
				return usage(fmt.Errorf("-o %s is the session itself: give another file", out))
			}
			d, err := notebook.Read(args[0])
			if err != nil {
				return usage(err)
			}
			content, err := exported(d, form, full)
			if err == nil && out == "" {
				err = sanitize.WriteText(cmd.OutOrStdout(), string(content))
			} else if err == nil {
				err = safefile.Replace(out, content, 0o644)
			}
			if _, refused := errors.AsType[*safefile.Refused](err); refused {
				return usage(fmt.Errorf("export %s: %w", args[0], err))
			}
			if err != nil {
				return unwritten(fmt.Errorf("export %s: %w", args[0], err))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "",
		"the format: md, html, ipynb, json or csv; by default the ending of -o's file")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this file instead of stdout")
	cmd.Flags().BoolVar(&full, "full", false, "md: also prose, scripts, outputs and all evidence")
	completeFlags(cmd, map[string]completer{"to": words(exportForms...)})
	return cmd
}

// exportable says what is wrong with a form, or that nothing says which is meant.
func exportable(form, out string) error {
	forms := strings.Join(exportForms, ", ")
	switch {
	case slices.Contains(exportForms, form):
		return nil
	case form == "" && out == "":
		return fmt.Errorf("name the format: --to %s, or -o FILE with such an ending", forms)
	case form == "":
		return fmt.Errorf("-o %s has no known ending: add --to %s", out, forms)
	}
	return fmt.Errorf("unknown format %q%s (use %s)", form, steps.DidYouMean(form, exportForms), forms)
}

// onlyFull is about a form that always has all.
func onlyFull(form string, full bool) error {
	if full && form != "md" && slices.Contains(exportForms, form) {
		return fmt.Errorf("%s always has everything: leave out --full", form)
	}
	return nil
}

func oneSession(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("export takes one session, an .ipynb that railbench saved")
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, also := os.Stat(b)
	return err == nil && also == nil && os.SameFile(x, y)
}

func exported(d *notebook.Document, form string, full bool) ([]byte, error) {
	switch form {
	case "md":
		if full {
			return d.Markdown(), nil
		}
		return d.BriefMarkdown(), nil
	case "html":
		return d.HTML()
	case "csv":
		return d.CSV()
	case "json":
		var b strings.Builder
		err := writeJSON(&b, sessionObject(d))
		return []byte(b.String()), err
	default:
		return d.Encode(time.Now())
	}
}

// sessionObject is what run --json would have printed of a session.
func sessionObject(d *notebook.Document) headless.Object {
	var cells []steps.Cell
	ended := map[string]steps.CellEnded{}
	for _, c := range d.Ran() {
		s := d.Book.Cells[c.ID]
		if s.Running {
			continue // it has no verdict yet
		}
		cells = append(cells, c)
		ended[c.ID] = steps.CellEnded{
			Run: s.Run, Cell: c.ID, Elapsed: s.Elapsed, Exit: s.Exit, HasExit: s.HasExit,
			Verdict: s.Verdict, Bytes: s.Bytes, Log: s.Log,
		}
	}
	r := headless.NewObject(d.Railbench, d.Book.Rig, cells, ended) // that which ran them, and not the one that exports
	r.Cells = headless.Whole(r.Cells)
	return r
}
