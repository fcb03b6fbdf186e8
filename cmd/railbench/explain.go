package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/plain"
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

// explainPage is what follows from a text, as a page of the workbench.
func explainPage(text string) string {
	k, err := knowledge()
	if err != nil {
		return "# No explanation\n\n" + err.Error() + "\n"
	}
	return explain.Page(k.Text(text, catalog.New().Tools, explain.Omitted{}))
}
