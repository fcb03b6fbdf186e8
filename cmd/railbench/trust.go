package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/trust"
)

// newTrust knows the cells of a tutorial and what this user has trusted.
func newTrust(t steps.Tutorial) *trust.Book {
	dir := "" // without a home it lasts as long as the program
	if state, err := stateDir(); err == nil {
		dir = filepath.Join(state, "trusted")
	}
	return trust.New(dir, t)
}

func trustCommand() *cobra.Command {
	var yes bool
	var runbooks []string
	cmd := &cobra.Command{
		Use:   "trust SESSION",
		Short: "Read the scripts of somebody else's session, and let them run",
		Long: `Shows every script of a saved session that is neither the tutorial's nor saved here
by you, whole, and asks whether they may run. What was trusted once is not asked for
again, until it is changed.

Exit status: 0 all of them may run; 2 wrong usage, or it can't be read; 4 you declined.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("trust takes one session, an .ipynb")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t, _, err := rigFlags{runbooks: runbooks}.tutorial()
			if err != nil {
				return err
			}
			d, err := notebook.Peek(args[0])
			if err != nil {
				return usage(err)
			}
			book := newTrust(t)
			foreign := book.Foreign(d.Under(t))
			if len(foreign) == 0 {
				gate.Fprintf(cmd.OutOrStdout(), "%s has no script that needs trust.\n", args[0])
				return nil
			}
			showScripts(cmd.OutOrStdout(), foreign)
			if !yes {
				_, confirm := newAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), false)
				a, ok := confirm.(*terminalAsker)
				if !ok {
					return usage(errors.New("nobody is there to ask: give --yes"))
				}
				gate.Fprintf(cmd.ErrOrStderr(), "Let %s run, on your nodes and in your name? (yes/no) ",
					counted(len(foreign), "cell"))
				if yes, err := a.yes(cmd.Context()); err != nil || !yes {
					return status{exitInconclusive, errors.New("nothing was trusted")}
				}
			}
			if err := book.Trust(foreign...); err != nil {
				return unwritten(err)
			}
			gate.Fprintf(cmd.OutOrStdout(), "%s may run now.\n", capital(counted(len(foreign), "cell")))
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "without asking")
	addRunbooks(cmd, &runbooks)
	return cmd
}

// showScripts writes cells whole, with where they run and as whom.
func showScripts(out io.Writer, cells []steps.Cell) {
	for _, c := range cells {
		if c.Own != "" {
			gate.Fprintf(out, "# --- %s: railbench's own %s\n", c.ID, c.Own)
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
			gate.Fprintf(out, "# --- %s, on %s%s\n%s\n", strings.Join(what, ", "),
				r.On, asRoot, gate.Several(strings.TrimRight(r.Text(), "\n")))
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

// trusting refuses a session with scripts that need trust, or trusts them: nobody is there
// to be shown them.
func (b *bench) trusting(path string, t steps.Tutorial, trusted bool) error {
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
	return usage(fmt.Errorf("session %s: %s of it (%s) came from somebody else, or was changed since you saved it: "+
		"railbench trust %[1]s shows what would run and asks; --trust takes it unseen",
		path, counted(len(foreign), "script"), ids(foreign)))
}

// trustSession is that for the file of a run. One that is not there yet has none, and what
// else is wrong with it is told by whoever opens it.
func (b *bench) trustSession(path string, trusted bool) error {
	if path == "" {
		return nil
	}
	d, err := notebook.Peek(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return b.trusting(path, d.Under(b.options.Tutorial), trusted)
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
