package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
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

// What another user's file would have run: what is trusted, shown and kept as one.
type trusting struct {
	what, where string // as the question names it; empty where nothing needs trust
	show        func(io.Writer)
	trust       func() error
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
			find := func(path string) (trusting, error) { return trustsSession(path, runbooks) }
			switch {
			case runbook.HasName(args[0]), isFolder(args[0]):
				find = trustsRunbook
			case strings.EqualFold(filepath.Ext(args[0]), ".toml"):
				find = trustsRig
			case isInventory(args[0]):
				find = trustsInventory
			}
			t, err := find(args[0])
			if err != nil {
				return err
			}
			return t.ask(cmd, args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "without asking")
	addRunbooks(cmd, &runbooks)
	return cmd
}

// ask shows what would run and lets it, where the user says so.
func (t trusting) ask(cmd *cobra.Command, path string, yes bool) error {
	if t.what == "" {
		sanitize.Fprintf(cmd.OutOrStdout(), "%s has nothing that needs trust.\n", path)
		return nil
	}
	t.show(cmd.OutOrStdout())
	if !yes {
		_, confirm := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
		a, ok := confirm.(*headless.Asker)
		if !ok {
			return usage(errors.New("cannot ask without a terminal: add --yes"))
		}
		if yes, err := a.Ask(cmd.Context(), "Trust %s to run, %s and as you?", t.what, t.where); err != nil || !yes {
			return status{exitInconclusive, errors.New("nothing was trusted")}
		}
	}
	if err := t.trust(); err != nil {
		return unwritten(err)
	}
	sanitize.Fprintf(cmd.OutOrStdout(), "%s may run now.\n", steps.Capital(t.what))
	return nil
}

// trustsSession is of a session's scripts, next to those of the tutorial or of runbooks.
func trustsSession(path string, runbooks []string) (trusting, error) {
	t, book, err := tutorialAndTrust(runbooks)
	if err != nil {
		return trusting{}, err
	}
	d, err := notebook.Peek(path)
	if err != nil {
		return trusting{}, usage(err)
	}
	return trustsCells(book, book.Foreign(d.Under(t))), nil
}

// trustsRunbook is of a runbook's scripts.
func trustsRunbook(path string) (trusting, error) {
	t, book, err := tutorialAndTrust([]string{path})
	if err != nil {
		return trusting{}, err
	}
	return trustsCells(book, book.Foreign(t)), nil
}

func trustsCells(book *trust.Book, foreign []steps.Cell) trusting {
	if len(foreign) == 0 {
		return trusting{}
	}
	return trusting{
		what: countedScripts(foreign), where: "on your nodes",
		show:  func(out io.Writer) { showScripts(out, foreign) },
		trust: func() error { return book.Trust(foreign...) },
	}
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

// showScripts writes cells whole, with where they run and as whom.
func showScripts(out io.Writer, cells []steps.Cell) {
	for _, c := range cells {
		if name, value, ok := trust.Parameter(c); ok {
			sanitize.Fprintf(out, "# --- the parameter %s, unless it is set\n%s=%s\n", name, name, runner.Quote(value))
			continue
		}
		if c.Change.Any() {
			sanitize.Fprintf(out, "# --- %s: changes the network, the interfaces in %s\n", c.ID,
				strings.Join(c.Change.Set, ", "))
		}
		if c.With != nil {
			sanitize.Fprintf(out, "# --- %s: has railbench run for it %s\n", c.ID, strings.Join(c.With, ", "))
		}
		if c.Own != "" {
			sanitize.Fprintf(out, "# --- %s: railbench's own %s\n", c.ID, c.Own)
		}
		for _, r := range c.Roles {
			what := []string{c.ID}
			if r.Name != "" {
				what = append(what, r.Name)
			}
			asRoot := ""
			if r.Root {
				asRoot = ", as root"
			}
			if r.Interpreter != "" {
				asRoot += ", in " + r.Interpreter
			}
			sanitize.Fprintf(out, "# --- %s, on %s%s\n%s\n", strings.Join(what, ", "),
				r.On, asRoot, sanitize.Several(strings.TrimRight(r.Text(), "\n")))
		}
	}
}

// trustPrograms trusts the programs that the flags name: the user has written them.
func (b *bench) trustPrograms() error {
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
func (b *bench) trusting(what, path string, t steps.Tutorial, trusted bool) error {
	foreign := b.options.Trust.Foreign(t)
	if len(foreign) == 0 {
		return nil
	}
	if trusted {
		if err := b.options.Trust.Trust(foreign...); err != nil {
			return unwritten(err)
		}
		return nil
	}
	return usage(fmt.Errorf("%s %s: %s (%s) is from another user, or changed since you saved or trusted it. Review it: "+
		"railbench trust %[2]s (or add --trust to run it without a review)",
		what, path, countedScripts(foreign), ids(foreign)))
}

// countedScripts says how many cells and parameters need trust.
func countedScripts(foreign []steps.Cell) string {
	params := 0
	for _, c := range foreign {
		if _, _, ok := trust.Parameter(c); ok {
			params++
		}
	}
	switch len(foreign) - params {
	case 0:
		return steps.Counted(params, "parameter")
	case len(foreign):
		return steps.Counted(len(foreign), "cell")
	}
	return steps.Counted(len(foreign)-params, "cell") + " and " + steps.Counted(params, "parameter")
}

// trustSession is trusting for the file of a run. A file that does not exist yet has no scripts. What else is
// wrong with the file is reported by the code that opens it.
func (b *bench) trustSession(path string, trusted bool) error {
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
func (b *bench) trustRunbooks(paths []string, trusted bool) error {
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
func (b *bench) foreign(kept *notebook.Store) []steps.Cell {
	if kept == nil {
		return nil
	}
	return b.options.Trust.Foreign(b.options.Tutorial)
}

func ids(cells []steps.Cell) string {
	var all []string
	for _, c := range cells {
		all = append(all, c.ID)
	}
	return strings.Join(all, ", ")
}
