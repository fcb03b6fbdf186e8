package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/plain"
)

func explainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [FILE…|-]",
		Short: "Find the causes in a log, a forum thread or the output of tools",
		Long: `Reads any text: a pasted thread, logs of NCCL, UCX, vLLM or the kernel, outputs of
perftest, ip, ibstat, ethtool and others, in one file or several, or from stdin. It
prints what it saw with line numbers, the likely causes with how sure each is, and
the command that can decide between them. It connects to no node, and works offline.

From a text above 2 MiB it reads only the first and the last MiB.

Exit status: 0 a cause was found, or the figures are as they should be; 2 wrong usage;
4 no cause was found: the answer lists which outputs to collect; 5 the result could not
be written.`,
		Example: `  railbench explain job.log
  sudo dmesg -T | railbench explain
  railbench explain node-a.txt node-b.txt --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return explainTexts(cmd, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	return cmd
}

// knowledge is read once, and only by commands that need it.
var knowledge = sync.OnceValues(func() (*explain.Knowledge, error) {
	files, err := fs.Sub(assets.Knowledge, "knowledge")
	if err != nil {
		return nil, err
	}
	return explain.Load(files)
})

func explainTexts(cmd *cobra.Command, files []string, asJSON bool) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	k, err := knowledge()
	if err != nil {
		return err
	}
	type named struct {
		File string `json:"file"`
		explain.Answer
	}
	var answers []named
	explained := true
	for _, file := range files {
		text, err := pasted(cmd, file)
		if err != nil {
			return err
		}
		if strings.TrimSpace(text.Text) == "" {
			return usage(fmt.Errorf("%s is empty: give a log or the output of a tool", file))
		}
		a := named{file, k.Text(text.Text, catalog.New().Tools, text.Omitted)}
		answers, explained = append(answers, a), explained && a.Explained()
	}
	out := cmd.OutOrStdout()
	if asJSON {
		err = writeJSON(out, map[string]any{"railbench": version(), "texts": answers})
	} else {
		var b strings.Builder
		for i, a := range answers {
			if len(answers) > 1 {
				sanitize.Fprintf(&b, "%s== %s\n", strings.Repeat("\n", min(i, 1)), a.File)
			}
			plain.Answer(&b, a.Answer)
		}
		err = sanitize.WriteText(out, b.String())
	}
	if explained {
		return written(err, nil)
	}
	return written(err, status{exitInconclusive, errors.New("no cause was found")})
}

// pasted reads the beginning and the end of a text of any length.
func pasted(cmd *cobra.Command, file string) (explain.Pasted, error) {
	in := input(cmd, file, "reading from the terminal: paste the text")
	text, err := console.Until(cmd.Context(), func() (explain.Pasted, error) { return explain.HeadAndTail(in) })
	switch {
	case cmd.Context().Err() != nil:
		return text, status{exitInconclusive, fmt.Errorf("read the text: %w", context.Cause(cmd.Context()))}
	case err != nil:
		return text, usage(fmt.Errorf("read the text: %w", err))
	}
	return text, nil
}

// explainPage is what follows from a text, as a page of the workbench.
func explainPage(text string) string {
	k, err := knowledge()
	if err != nil {
		return "# No explanation\n\n" + err.Error() + "\n"
	}
	return explain.Page(k.Text(text, catalog.New().Tools, explain.Omitted{}))
}
