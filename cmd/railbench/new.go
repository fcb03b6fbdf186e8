package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/sanitize"
)

func newCommand() *cobra.Command {
	var ethernet bool
	cmd := &cobra.Command{
		Use:   "new FILE.md",
		Short: "Write an example runbook to start from",
		Long: `Writes a small runbook that works: it explains itself, passes "railbench check" and runs
on the simulated rig. An existing file is not changed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("name one file: railbench new FILE.md"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			if !runbook.HasName(path) {
				return usage(fmt.Errorf("new %s: a runbook's name ends in .md: railbench new %s", path,
					runbook.WithExtension(strings.TrimSuffix(path, filepath.Ext(path)))))
			}
			from := assets.Runbook
			if ethernet {
				from = assets.EthernetRunbook
			}
			text, err := example(path, from)
			if err != nil {
				return err
			}
			if err := create(path, text); err != nil {
				return err
			}
			if t, err := trustsRunbook(path); err == nil && t.What != "" {
				_ = t.Trust() // it is asked for then
			}
			out := cmd.OutOrStdout()
			sanitize.Fprintf(out, "wrote %s\n", path)
			if !plainWord.MatchString(path) {
				path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
			}
			sanitize.Fprintf(out, "  railbench %s                        opens it\n", path)
			sanitize.Fprintf(out, "  railbench check %s                  says what is wrong with it\n", path)
			sanitize.Fprintf(out, "  railbench run --runbook %s --all    runs it without a screen\n", path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&ethernet, "ethernet", false, "an example for any two Linux machines: ping, MTU and iperf3")
	return cmd
}

// create writes a file that is not there yet.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usage(fmt.Errorf("%s exists and was not changed: give another name", path))
	}
	if err != nil {
		return usage(fmt.Errorf("write the runbook: %w", err))
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path) // what is cut short would be in the way of the next try
		return unwritten(fmt.Errorf("write the runbook: %w", err))
	}
	return nil
}

// plainWord is what no shell takes apart.
var plainWord = regexp.MustCompile(`^[\w./][\w./-]*$`)

var noID = regexp.MustCompile(`[^a-z0-9]+`)

// partID is the id of an example's one part.
var partID = regexp.MustCompile(`(?m)^(# .*)\{#[a-z-]+\}$`)

// example is the text of a new runbook. Its part is called as the file, so that several
// of them can stand in one folder, unless something else has that id.
func example(path string, from []byte) ([]byte, error) {
	name := filepath.Base(path)
	id := strings.Trim(noID.ReplaceAllString(strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))), "-"), "-")
	named := partID.ReplaceAll(from, []byte("${1}{#"+id+"}"))
	problems, err := checkRunbooks([]runbook.Document{runbook.Read(path, named)})
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return from, nil
	}
	return named, nil
}
