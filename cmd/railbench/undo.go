package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps/session"
)

// undoCommand takes back what changed the rig's network, also what a railbench
// that crashed has left.
func undoCommand(rig *rigFlags) *cobra.Command {
	var yes, list bool
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Take back what was changed on the rig's network",
		Long: `Takes back every change that railbench made on the rig's network and that is not
back yet, the newest first, and compares both nodes with what was captured. It
may be run twice, and after a crash.

Exit status: 0 everything is back; 1 something is not; 2 wrong usage; 3 a node
can't be reached; 4 you declined.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			ask, confirm := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), yes)
			b, err := rig.open(ctx, ask)
			if err != nil {
				return err
			}
			defer b.close()
			if b.options.Journal == nil {
				return status{exitFail, errors.New("there is no folder for the undo journal")}
			}
			changes, err := session.Changes(ctx, b.options)
			if err != nil && changes == nil {
				return status{exitUnreachable, err}
			}
			if err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "railbench:", err)
			}
			if len(changes) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "Nothing to undo on %s.\n", b.options.Rig)
				return nil
			}
			for _, c := range changes {
				fmt.Fprintln(cmd.OutOrStdout(), describeChange(c))
			}
			if list {
				return nil
			}
			if confirm == nil {
				return usage(errors.New("nobody is there to ask: give --yes, or --list to see only what there is"))
			}
			if a, ok := confirm.(*terminalAsker); ok {
				fmt.Fprint(cmd.ErrOrStderr(), "Take them back, as root on both nodes? (yes/no) ")
				if yes, err := a.yes(ctx); err != nil || !yes {
					return status{exitInconclusive, errors.New("nothing was changed")}
				}
			}
			tell := func(format string, args ...any) {
				fmt.Fprintf(cmd.ErrOrStderr(), "  "+strings.TrimRight(format, "\n")+"\n", args...)
			}
			if err := session.Undo(ctx, b.options, changes, tell); err != nil {
				return status{exitFail, err}
			}
			fmt.Fprintln(cmd.OutOrStdout(), "Everything is back.")
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "without asking")
	cmd.Flags().BoolVar(&list, "list", false, "only list what there is to undo")
	return cmd
}

// remind names the changes that were kept on a real rig and are still there.
func (b *bench) remind(out io.Writer) {
	if changes := b.changes(); changes != "" {
		fmt.Fprintln(out, changes)
	}
}

// changes is that in a sentence; empty where there are none.
func (b *bench) changes() string {
	if b.options.Simulated || b.options.Journal == nil {
		return ""
	}
	entries, _ := b.options.Journal.Entries() // railbench undo tells what cannot be read
	var kept []string
	for _, e := range entries {
		if e.Rig == b.options.Rig {
			kept = append(kept, e.Cell)
		}
	}
	if kept == nil {
		return ""
	}
	return fmt.Sprintf("Changed on %s and not back yet: %s. railbench undo takes it back.", b.options.Rig, strings.Join(kept, ", "))
}

// describeChange is a change in one line.
func describeChange(c undo.Entry) string {
	var where []string
	for _, p := range c.Nodes {
		where = append(where, fmt.Sprintf("%s (%s)", p.Name, strings.Join(p.Set, " ")))
	}
	state := "kept"
	if !c.Kept {
		state = "not confirmed: the nodes go back by themselves"
	}
	return fmt.Sprintf("%s  %s  %s, %s", c.At.Local().Format(time.DateTime), c.Cell, strings.Join(where, " and "), state)
}
