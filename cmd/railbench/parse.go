package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/parse"
	"github.com/railbench/railbench/steps/sanitize"
)

func parseCommand() *cobra.Command {
	var detect bool
	cmd := &cobra.Command{
		Use:   "parse TOOL|--detect [FILE]",
		Short: "Read a tool's saved output, and print it as JSON",
		Long: `Reads a tool's output from a file or from stdin, with the parsers of the cells. It prints
one JSON object with the keys "tool", "rows" and "errors". --detect finds the tool, and
prints its name on stderr. It gives no verdict and connects to no node:
railbench explain finds the causes in a text. What a tool did not print is null. Tools:
` + toolNames() + `.

How a tool's output is found:
` + toolList() + `
Exit status: 0 it was read; 2 wrong usage; 4 the result is missing or incomplete ("errors"
has the reason; the object is printed all the same); 5 the result could not be written.`,
		Example: `  railbench parse perftest ib_write_bw.log
  ib_write_bw … 2>&1 | railbench parse perftest
  railbench parse --detect report.txt`,
		ValidArgsFunction: completeTools,
		RunE:              func(cmd *cobra.Command, args []string) error { return parseSaved(cmd, args, detect) },
	}
	cmd.Flags().BoolVar(&detect, "detect", false, "find the tool that printed it")
	return cmd
}

func toolNames() string {
	names := steps.Each(catalog.New().Tools, func(t parse.Tool) string { return t.Name })
	return strings.Join(names, ", ")
}

// toolList is a line for each tool, with what its output is known by.
func toolList() string {
	var b strings.Builder
	for _, t := range catalog.New().Tools {
		sanitize.Fprintf(&b, "  %-13s %s\n", t.Name, t.Shows)
	}
	return b.String()
}

// parseSaved prints an object of what can't be read, too: it says why.
func parseSaved(cmd *cobra.Command, args []string, detect bool) error {
	var tool parse.Tool
	known := catalog.New().Tools
	if !detect {
		var err error
		if tool, err = namedTool(known, args); err != nil {
			return usage(err)
		}
		args = args[1:]
	}
	if detect && len(args) > 1 {
		return usage(fmt.Errorf("--detect reads one file: leave out the rest of %s", strings.Join(args, " ")))
	}
	if len(args) > 1 {
		return usage(fmt.Errorf("give one file, not %d files: %s", len(args), strings.Join(args, " ")))
	}
	file := "-"
	if len(args) == 1 {
		file = args[0]
	}
	text, err := savedText(cmd, file)
	if err != nil {
		return err
	}
	out, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if detect {
		names, sure := known.Detect(text)
		if !sure {
			why := parse.CannotTell(names)
			return written(writeJSON(out, parse.Unread(why.Error(), names)), status{exitInconclusive, why})
		}
		tool, _ = known.Named(names[0]) // Detect knows no other names
		sanitize.Fprintf(stderr, "railbench: this reads like %s\n", tool.Name)
	}
	value, err := tool.Read(text)
	if err != nil {
		err = status{exitInconclusive, parse.NotRead(known, tool, text, file, err)}
	}
	return written(parse.WriteJSON(out, tool.Name, value), err)
}

// written puts what went wrong with stdout before what went wrong with the text: a script
// that got no object has to know that first.
func written(failed, err error) error {
	if failed != nil {
		return unwritten(fmt.Errorf("write the result: %w", failed))
	}
	return err
}

func namedTool(known parse.Tools, args []string) (parse.Tool, error) {
	names := steps.Each(known, func(t parse.Tool) string { return t.Name })
	all := strings.Join(names, ", ")
	for _, t := range known {
		names = append(names, t.Also...)
	}
	if len(args) == 0 {
		return parse.Tool{}, fmt.Errorf("name the tool that printed it (%s), or add --detect", all)
	}
	if t, ok := known.Named(args[0]); ok {
		return t, nil
	}
	if _, err := os.Stat(args[0]); err == nil {
		return parse.Tool{}, fmt.Errorf("%s is a file: name the tool before it, or give --detect", args[0])
	}
	near := cmp.Or(steps.DidYouMean(args[0], names), " (use "+all+")")
	return parse.Tool{}, fmt.Errorf("no parser for %q%s", args[0], near)
}

// input is a file, or stdin for "-": of a terminal it says on stderr how what is asked for ends.
func input(cmd *cobra.Command, file, asks string) io.Reader {
	in := cmd.InOrStdin()
	if file != "-" {
		// It may be a pipe that no one writes into yet.
		return &console.LateFile{Name: file}
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		sanitize.Fprintf(cmd.ErrOrStderr(), "railbench: %s, and end with ctrl+d on a line of its own\n", asks)
	}
	return in
}

// savedText reads no more than a parser takes, and one byte that reports more.
func savedText(cmd *cobra.Command, file string) (string, error) {
	in := input(cmd, file, "reading the output from the terminal: paste it")
	text, err := console.ReadAll(cmd.Context(), in, parse.MaxText+1)
	switch {
	case cmd.Context().Err() != nil:
		return "", status{exitInconclusive, fmt.Errorf("read the saved output: %w", err)}
	case err != nil:
		return "", usage(fmt.Errorf("read the saved output: %w", err))
	}
	return text, nil
}
