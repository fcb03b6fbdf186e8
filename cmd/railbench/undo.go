package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
)

// undoCommand takes back what changed the rig's network, also what a railbench
// that crashed has left.
func undoCommand(rig *rigFlags) *cobra.Command {
	var yes, list bool
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Roll back the changes of the rig's network",
		Long: `Takes back every change that railbench made on a rig's network, the newest first, and
compares both nodes with their earlier state. Without a rig it goes through all rigs with
open changes. It may be run twice, and after a crash.

Exit status: 0 everything is restored; 1 something is not; 2 wrong usage; 3 a node
can't be reached; 4 you declined; 5 the result could not be written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			targets, err := rig.changed()
			if err != nil {
				return status{exitFail, err}
			}
			var looked []string
			var worst error
			for _, f := range targets {
				name, err := takeBack(cmd, f, yes, list)
				looked = append(looked, name)
				worst = worse(worst, err)
			}
			return worse(worst, rig.unreached(cmd, looked))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "without asking")
	cmd.Flags().BoolVar(&list, "list", false, "only list the changes")
	return cmd
}

// takeBack takes back what was changed on one rig, whose name it gives.
func takeBack(cmd *cobra.Command, f rigFlags, yes, list bool) (name string, err error) {
	ask, confirm := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), yes)
	b, err := f.open(cmd.Context(), ask)
	if err != nil {
		return "", err
	}
	defer b.close()
	return b.options.Rig, b.takeBack(cmd, confirm, list)
}

// takeBack is that on the rig.
func (b *openRig) takeBack(cmd *cobra.Command, confirm session.Confirmer, list bool) error {
	ctx := cmd.Context()
	if b.options.Journal == nil {
		return status{exitFail, errors.New("the folder of the undo journal is missing")}
	}
	changes, unread := session.Changes(ctx, b.options)
	if unread != nil && changes == nil {
		return status{exitUnreachable, unread}
	}
	// What can't be read may be a change of this rig: whatever becomes of the others, not everything is back.
	if unread != nil && (len(changes) == 0 || list) {
		describeChanges(cmd.OutOrStdout(), changes)
		return status{exitFail, unread}
	}
	if unread != nil {
		sanitize.Fprintln(cmd.ErrOrStderr(), "railbench:", unread)
	}
	if len(changes) == 0 {
		sanitize.Fprintf(cmd.OutOrStdout(), "Nothing to undo on %s.\n", b.options.Rig)
		return nil
	}
	describeChanges(cmd.OutOrStdout(), changes)
	if list {
		return nil
	}
	if err := mayTakeBack(ctx, confirm); err != nil {
		return err
	}
	tell := func(format string, args ...any) {
		sanitize.Fprintf(cmd.ErrOrStderr(), "  "+strings.TrimRight(format, "\n")+"\n", args...)
	}
	if err := session.Undo(ctx, b.options, changes, tell); err != nil {
		return status{exitFail, err}
	}
	if unread != nil {
		sanitize.Fprintln(cmd.OutOrStdout(), "All readable entries of the undo journal are rolled back.")
		return status{code: exitFail}
	}
	sanitize.Fprintln(cmd.OutOrStdout(), "Everything is rolled back.")
	return nil
}

// mayTakeBack asks whether changes are taken back.
func mayTakeBack(ctx context.Context, confirm session.Confirmer) error {
	if confirm == nil {
		return usage(errors.New("cannot ask without a terminal: add --yes, or --list to see the changes"))
	}
	if a, ok := confirm.(*headless.Asker); ok {
		if yes, err := a.Ask(ctx, "Take them back, as root on every node that has one?"); err != nil || !yes {
			return status{exitInconclusive, errors.New("nothing was changed")}
		}
	}
	return nil
}

func describeChanges(out io.Writer, changes []undo.Entry) {
	for _, c := range changes {
		sanitize.Fprintln(out, c)
	}
}

// realJournal is the journal with the rollback scripts of real rigs.
func realJournal() (undo.Journal, error) {
	folder, err := stateDir("undo")
	return undo.Journal{Dir: folder}, err
}

// named reports whether the flags name a rig.
func (f rigFlags) named() bool { return f.rig != "" || f.peer != "" || f.list().Any() || f.slurm != "" }

// changed are the rigs to look at: the one that is named, or every one that the journal has a change of. The one
// without flags is among them, unless it would be the simulated one, next to which there are others.
func (f rigFlags) changed() ([]rigFlags, error) {
	journal, err := realJournal()
	if f.named() || err != nil {
		return []rigFlags{f}, nil //nolint:nilerr // without a home there is no journal, and opening the rig says so
	}
	entries, err := journal.Entries()
	if err != nil && entries == nil {
		return nil, err
	}
	var all []rigFlags
	seen := map[string]bool{}
	for _, e := range entries {
		if key := strings.Join(e.Reach, "\x00"); e.Reach == nil || seen[key] {
			continue
		} else {
			seen[key] = true
		}
		g := f
		flags := pflag.NewFlagSet("reach", pflag.ContinueOnError)
		g.add(flags)
		g.acceptNew, g.etcd, g.params, g.faults = f.acceptNew, f.etcd, f.params, f.faults // add sets the defaults
		if err := flags.Parse(e.Reach); err != nil {
			return nil, fmt.Errorf("the undo journal's entry %s names its rig with %q: %w", e.ID, e.Reach, err)
		}
		all = append(all, g)
	}
	if path, err := rigPath(); len(all) == 0 || err == nil && exists(path) && !seen["--rig\x00"+path] {
		all = append(all, f)
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unreached reports changes on rigs that were not looked at.
func (f rigFlags) unreached(cmd *cobra.Command, looked []string) error {
	journal, err := realJournal()
	if f.named() || err != nil {
		return nil //nolint:nilerr // without a home there is no journal
	}
	entries, _ := journal.Entries() // what can't be read was reported
	for _, e := range entries {
		if !slices.Contains(looked, e.Rig) {
			err = status{exitFail, fmt.Errorf("%s on %s is not rolled back: name that rig with --rig, --peer or --nodes", e.Cell,
				e.Rig)}
			sanitize.Fprintln(cmd.ErrOrStderr(), "railbench:", err)
		}
	}
	if err != nil {
		return status{code: exitFail}
	}
	return nil
}

// worse joins what came of two rigs: the status is that of the first that went wrong.
// One without a status is about the command line, as in Main.
func worse(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	code := exitUsage
	if s, ok := errors.AsType[status](a); ok {
		code = s.code
	}
	return status{code, errors.Join(told(a), told(b))}
}

// told is the text that an error still has to report; nil where it has been reported already.
func told(err error) error {
	if s, ok := errors.AsType[status](err); ok {
		return s.err
	}
	return err
}

// remind names the changes that were kept on a real rig and are still there.
func (b *openRig) remind(out io.Writer) {
	if changes := b.changes(); changes != "" {
		sanitize.Fprintln(out, changes)
	}
}

// changes is that in a sentence; empty where there are none.
func (b *openRig) changes() string {
	if b.options.Simulated || b.options.Journal == nil {
		return ""
	}
	entries, _ := b.options.Journal.Entries() // railbench undo says what cannot be read
	var kept []string
	for _, e := range entries {
		if e.Rig == b.options.Rig {
			kept = append(kept, e.Cell)
		}
	}
	if kept == nil {
		return ""
	}
	return fmt.Sprintf("Changed on %s and not back yet: %s. %s takes it back.",
		b.options.Rig, strings.Join(kept, ", "), b.options.UndoCommand())
}
