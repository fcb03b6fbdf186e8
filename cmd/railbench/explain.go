package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/sanitize"
)

// Of a text that is longer, the beginning and the end are read.
const (
	explainHead = 1 << 20
	explainTail = 1 << 20
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
		text, omitted, err := pasted(cmd, file)
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return usage(fmt.Errorf("%s is empty: give a log or the output of a tool", file))
		}
		a := named{file, k.Text(text, catalog.New().Tools, omitted)}
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
			printAnswer(&b, a.Answer)
		}
		err = sanitize.WriteText(out, b.String())
	}
	if explained {
		return written(err, nil)
	}
	return written(err, status{exitInconclusive, errors.New("no cause was found")})
}

// pasted reads the beginning and the end of a text of any length.
func pasted(cmd *cobra.Command, file string) (text string, omitted explain.Omitted, err error) {
	in := cmd.InOrStdin()
	if file != "-" {
		in = &lateFile{name: file}
	} else if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		sanitize.Fprintln(cmd.ErrOrStderr(),
			"railbench: reading from the terminal: paste the text, and end with ctrl+d on a line of its own")
	}
	type result struct {
		text    string
		omitted explain.Omitted
		err     error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.text, r.omitted, r.err = headAndTail(in)
		done <- r
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return "", r.omitted, usage(fmt.Errorf("read the text: %w", r.err))
		}
		return r.text, r.omitted, nil
	case <-cmd.Context().Done():
		return "", omitted, status{exitInconclusive, fmt.Errorf("read the text: %w", context.Cause(cmd.Context()))}
	}
}

// headAndTail is the beginning and the end of a stream, in whole lines, and how many lines are between them.
func headAndTail(in io.Reader) (string, explain.Omitted, error) {
	head, err := io.ReadAll(io.LimitReader(in, explainHead))
	if err != nil || len(head) < explainHead {
		return string(head), explain.Omitted{}, err
	}
	var tail []byte
	dropped := 0 // lines that ended in what is not kept
	piece := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(in, piece)
		tail = append(tail, piece[:n]...)
		if more := len(tail) - explainTail; more > explainTail {
			dropped += bytes.Count(tail[:more], []byte{'\n'})
			tail = append(tail[:0], tail[more:]...)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return "", explain.Omitted{}, err
		}
	}
	more := len(tail) - explainTail
	if more <= 0 && dropped == 0 {
		return string(head) + string(tail), explain.Omitted{}, nil
	}
	if more > 0 {
		dropped += bytes.Count(tail[:more], []byte{'\n'})
		tail = tail[more:]
	}
	// The head ends and the tail begins with a whole line: what is cut off belongs to what was left out.
	end := bytes.LastIndexByte(head, '\n') + 1
	if begin := bytes.IndexByte(tail, '\n') + 1; begin > 0 {
		tail, dropped = tail[begin:], dropped+1
	}
	after := bytes.Count(head[:end], []byte{'\n'})
	return string(head[:end]) + string(tail), explain.Omitted{After: after, Lines: dropped}, nil
}

// Bounds of what is printed; --json has all.
const (
	mostSeenPrinted   = 25
	mostCausesPrinted = 6
)

func printAnswer(b *strings.Builder, a explain.Answer) {
	if len(a.Tools) > 0 {
		hang(b, "read: ", strings.Join(a.Tools, ", "))
	}
	if a.LeftOut > 0 {
		hang(b, "not read: ", fmt.Sprintf("%d lines in the middle of %d", a.LeftOut, a.Lines))
	}
	if len(a.Seen) > 0 {
		sanitize.Fprintf(b, "\nSeen\n")
		for i, f := range a.Seen {
			if i == mostSeenPrinted {
				hang(b, "  ", fmt.Sprintf("… and %d more (--json has all)", len(a.Seen)-i))
				break
			}
			hang(b, fmt.Sprintf("  line %-5d ", f.Line), f.Text)
		}
	}
	if len(a.Causes) > 0 {
		sanitize.Fprintf(b, "\nWhat follows\n")
	}
	for i, c := range a.Causes {
		if i == mostCausesPrinted {
			hang(b, "  ", fmt.Sprintf("… and %d less likely ones (--json has all)", len(a.Causes)-i))
			break
		}
		printCause(b, i+1, c)
	}
	if len(a.Healthy) > 0 {
		sanitize.Fprintf(b, "\nAs it should be\n")
		for _, h := range a.Healthy {
			hang(b, "  ", h.Title+linesOf(h))
			hang(b, "      ", h.Why)
			hang(b, "      next: ", h.Next)
		}
	}
	if !a.Explained() {
		sanitize.Fprintf(b, "\nNo cause is known for this text. Collect these outputs on both nodes, and try again:\n")
		for i, c := range a.Collect {
			hang(b, fmt.Sprintf("  %2d. ", i+1), c)
		}
	}
	if a.UnknownLines > 0 {
		sanitize.Fprintf(b, "\nNot understood: %s\n", steps.Counted(a.UnknownLines, "line"))
		for _, f := range a.Unknown {
			hang(b, fmt.Sprintf("  line %-5d ", f.Line), f.Text)
		}
		if more := a.UnknownLines - len(a.Unknown); more > 0 {
			sanitize.Fprintf(b, "  … and %d more\n", more)
		}
	}
}

// explainPage is what follows from a text, as a page of the workbench: a chapter for each cause.
func explainPage(text string) string {
	k, err := knowledge()
	if err != nil {
		return "# No explanation\n\n" + err.Error() + "\n"
	}
	a := k.Text(text, catalog.New().Tools, explain.Omitted{})
	var b strings.Builder
	// What stands in the text is code: it sets nothing.
	code := func(s string) string { return "`" + strings.ReplaceAll(sanitize.Line(s), "`", "'") + "`" }
	facts := func(title string, all []explain.Fact) {
		if len(all) == 0 {
			return
		}
		sanitize.Fprintf(&b, "## %s\n\n", title)
		for _, f := range all[:min(len(all), mostSeenPrinted)] {
			sanitize.Fprintf(&b, "- line %d: %s\n", f.Line, code(f.Text))
		}
		sanitize.Fprintf(&b, "\n")
	}
	sanitize.Fprintf(&b, "# What follows from this text\n\n%s", steps.Counted(a.Lines, "line"))
	if len(a.Tools) > 0 {
		sanitize.Fprintf(&b, ", with output of %s", strings.Join(a.Tools, ", "))
	}
	sanitize.Fprintf(&b, ".\n\n")
	if !a.Explained() {
		sanitize.Fprintf(&b, "No cause is known for it. Collect these outputs on both nodes, and paste them here:\n\n")
		for _, c := range a.Collect {
			sanitize.Fprintf(&b, "- %s\n", code(c))
		}
		sanitize.Fprintf(&b, "\n")
	}
	for _, f := range slices.Concat(a.Causes, a.Healthy) {
		sanitize.Fprintf(&b, "## %s\n\n**%s**%s. %s\n\n**Fix:** %s\n\n**Next:** %s\n\n", f.Title, f.Sure, linesOf(f), f.Why,
			f.Fix, f.Next)
		if len(f.Checks) > 0 {
			sanitize.Fprintf(&b, "**Check:** `railbench doctor %s`\n\n", strings.Join(f.Checks, " "))
		}
	}
	facts("Seen", a.Seen)
	facts("Not understood", a.Unknown)
	return sanitize.Markdown(b.String())
}

func linesOf(f explain.Found) string {
	var all []string
	for _, l := range f.Lines {
		all = append(all, strconv.Itoa(l.Line))
	}
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return " (line " + all[0] + ")"
	}
	return " (lines " + strings.Join(all, ", ") + ")"
}

func printCause(b *strings.Builder, n int, c explain.Found) {
	code := ""
	if c.Code != "" {
		code = ", code " + string(c.Code)
	}
	hang(b, fmt.Sprintf("  %d. ", n), fmt.Sprintf("%s [%s%s]%s", c.Title, c.Sure, code, linesOf(c)))
	hang(b, "      why:   ", c.Why)
	hang(b, "      fix:   ", c.Fix)
	hang(b, "      next:  ", c.Next)
	if len(c.Checks) > 0 {
		hang(b, "      check: ", "railbench doctor "+strings.Join(c.Checks, " "))
	}
	hang(b, "      docs:  ", "railbench docs "+cmp.Or(c.Docs, "troubleshooting"))
	hang(b, "      from:  ", c.Source)
}
