package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/trust"
)

// newTrust knows the cells of a tutorial and what this user has trusted.
func newTrust(t steps.Tutorial) *trust.Book {
	dir, _ := stateDir("trusted") // without a home it lasts as long as the program
	return trust.New(dir, t)
}

func trustCommand() *cobra.Command {
	var yes bool
	var runbooks []string
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Review and trust the scripts of another user's session, runbook, rig file or inventory",
		Long: `Shows in full what a file would run that is neither the tutorial's nor saved here by you,
and asks whether to trust it: the scripts of a session (.ipynb) or of a runbook (.md, or
a folder), the ssh configuration of a rig file (.toml), or an Ansible inventory that is a
program or names a plug-in. A trusted file is asked about again only after a change.

Exit status: 0 all of it may run; 2 wrong usage, or it can't be read; 4 you declined;
5 it could not be written.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("trust takes one file: a session (.ipynb), a runbook (.md), a rig file (.toml) or an " +
					"Ansible inventory")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			find := func(path string) (trust.Request, error) { return trustsSession(path, runbooks) }
			switch {
			case runbook.HasName(args[0]), isFolder(args[0]):
				find = trustsRunbook
			case strings.EqualFold(filepath.Ext(args[0]), ".toml"):
				find = trustsRig
			case nodelist.HasName(args[0]):
				find = trustsInventory
			}
			t, err := find(args[0])
			if err != nil {
				return err
			}
			return askTrust(cmd, t, args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "without asking")
	addRunbooks(cmd, &runbooks)
	return cmd
}

// askTrust shows what would run and lets it, where the user says so.
func askTrust(cmd *cobra.Command, t trust.Request, path string, yes bool) error {
	if t.What == "" {
		sanitize.Fprintf(cmd.OutOrStdout(), "%s has nothing that needs trust.\n", path)
		return nil
	}
	t.Show(cmd.OutOrStdout())
	if !yes {
		_, confirm := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
		a, ok := confirm.(*headless.Asker)
		if !ok {
			return usage(errors.New("cannot ask without a terminal: add --yes"))
		}
		if yes, err := a.Ask(cmd.Context(), "Trust %s to run, %s and as you?", t.What, t.Where); err != nil || !yes {
			return status{exitInconclusive, errors.New("nothing was trusted")}
		}
	}
	if err := t.Trust(); err != nil {
		return unwritten(err)
	}
	sanitize.Fprintf(cmd.OutOrStdout(), "%s may run now.\n", steps.Capital(t.What))
	return nil
}

// trustsSession is of a session's scripts, next to those of the tutorial or of runbooks.
func trustsSession(path string, runbooks []string) (trust.Request, error) {
	t, book, err := tutorialAndTrust(runbooks)
	if err != nil {
		return trust.Request{}, err
	}
	d, err := notebook.Peek(path)
	if err != nil {
		return trust.Request{}, usage(err)
	}
	return book.Cells(book.Foreign(d.Under(t))), nil
}

// trustsRunbook is of a runbook's scripts.
func trustsRunbook(path string) (trust.Request, error) {
	t, book, err := tutorialAndTrust([]string{path})
	if err != nil {
		return trust.Request{}, err
	}
	return book.Cells(book.Foreign(t)), nil
}

// trustsRig is of a rig file's ssh configuration.
func trustsRig(path string) (trust.Request, error) {
	file, err := readRig(path)
	if err != nil || file.SSHConfig == "" {
		return trust.Request{}, usage(err)
	}
	files, err := runner.SSHConfiguration(file.SSHConfig)
	if err != nil {
		return trust.Request{}, usage(errors.Join(fmt.Errorf("rig file %s", path), err))
	}
	return newTrust(steps.Tutorial{}).SSH(files), nil
}

// trustsInventory is of an inventory.
func trustsInventory(path string) (trust.Request, error) {
	inv, err := nodelist.Read(path)
	return inv.Request(newTrust(steps.Tutorial{})), usage(err)
}

// allow lets a request be where nothing needs trust, trusts it where the user has said so without seeing it, and else
// says why not.
func allow(r trust.Request, trusted bool, why error) error {
	switch {
	case r.What == "":
		return nil
	case !trusted:
		return usage(why)
	}
	return unwritten(r.Trust())
}

// trustRig refuses a rig file whose ssh configuration this user has not trusted, before ssh
// reads it, or trusts it where the user says so. The configuration that the user names
// himself, and his own, need none. What it gives is what was read, and is all that ssh may get.
func trustRig(book *trust.Book, path, config string, trusted bool) ([]runner.SSHFile, error) {
	files, err := runner.SSHConfiguration(config)
	if err != nil {
		return nil, usage(fmt.Errorf("rig file %s: %w", path, err))
	}
	return files, allow(book.SSH(files), trusted, fmt.Errorf("rig file %s brings an ssh configuration (%s), of which ssh "+
		"runs commands on this machine, and you have not trusted it as it is now: railbench trust %[1]s shows it and asks",
		path, config))
}

// tutorialAndTrust is what is opened, and who trusts what of it.
func tutorialAndTrust(runbooks []string) (steps.Tutorial, *trust.Book, error) {
	t, _, err := rigFlags{runbooks: runbooks}.tutorial()
	if err != nil {
		return t, nil, err
	}
	book, err := trustBeside(t, runbooks)
	return t, book, err
}

// trustBeside trusts the built-in tutorial, and next to runbooks its checklist as it stands there, but not the
// runbooks.
func trustBeside(t steps.Tutorial, runbooks []string) (*trust.Book, error) {
	if len(runbooks) == 0 {
		return newTrust(t), nil
	}
	built, _, err := tutorial()
	if err != nil {
		return nil, err
	}
	return newTrust(steps.Tutorial{Parts: built.Parts, Checklist: append(slices.Clip(built.Checklist), t.Checklist...)}),
		nil
}

// trustPrograms trusts the programs that the flags name: the user has written them.
func (b *openRig) trustPrograms() error {
	given := []map[string]string{b.options.Params}
	for _, cell := range b.options.CellParams {
		given = append(given, cell)
	}
	var errs []error
	for _, params := range given {
		for name, value := range params {
			if session.IsProgram(b.options.Catalog, b.options.Tutorial, name) {
				errs = append(errs, b.options.Trust.TrustProgram(name, value))
			}
		}
	}
	return errors.Join(errs...)
}

// trusting refuses a file with scripts that need trust, or trusts them: no one is there to be shown them.
func (b *openRig) trusting(what, path string, t steps.Tutorial, trusted bool) error {
	foreign := b.options.Trust.Foreign(t)
	return allow(b.options.Trust.Cells(foreign), trusted, fmt.Errorf("%s %s: %s (%s) is from another user, or changed "+
		"since you saved or trusted it. Review it: railbench trust %[2]s (or add --trust to run it without a review)",
		what, path, trust.Counted(foreign), ids(foreign)))
}

// trustSession is trusting for the file of a run. A file that does not exist yet has no scripts. What else is
// wrong with the file is reported by the code that opens it.
func (b *openRig) trustSession(path string, trusted bool) error {
	if path == "" {
		return nil
	}
	d, err := notebook.Peek(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return b.trusting("session", path, d.Under(b.options.Tutorial), trusted)
}

// trustRunbooks is that for the runbooks that are run in place of the tutorial.
func (b *openRig) trustRunbooks(paths []string, trusted bool) error {
	for _, path := range paths {
		docs, err := runbook.ReadFiles([]string{path})
		if err != nil {
			return usage(err)
		}
		t, _ := runbook.Join(docs) // its errors were reported when it was opened
		if err := b.trusting("runbook", path, t, trusted); err != nil {
			return err
		}
	}
	return nil
}

// foreign are the cells of a session that goes on which need trust; a new one has none.
func (b *openRig) foreign(kept *notebook.Store) []steps.Cell {
	if kept == nil {
		return nil
	}
	return b.options.Trust.Foreign(b.options.Tutorial)
}

func ids(cells []steps.Cell) string {
	return strings.Join(steps.Each(cells, func(c steps.Cell) string { return c.ID }), ", ")
}
