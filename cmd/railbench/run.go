package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/runbook"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/cells"
)

type runFlags struct {
	all, json, yes, dryRun, verbose bool
	timeout                         time.Duration
	session, junit                  string
	trust                           bool
	runbooks                        []string
}

func runCommand(rig *rigFlags) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run CELL…|PART…|--all",
		Short: "Run cells without a screen",
		Long: `Runs cells (tests and set-up steps; some change the network, and ask first) or the cells of
parts, in the tutorial's order: railbench run ib-write-bw. Names: railbench list.

Progress goes to stderr, the result to stdout.

With --timeout, what has not ended by then is INCONCLUSIVE. With --trust, scripts and
programs of --session, --runbook, --inventory and the rig file run without a question.

Exit status: 0 nothing failed; 1 a cell FAILed; 2 wrong usage or configuration;
3 a node can't be reached; 4 nothing failed but something was INCONCLUSIVE; 5 the
result, or the session, could not be written.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, *rig, args)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "run all cells but the optional ones")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask; keep changes of the network that work")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print exactly what would run, and change nothing")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print outputs, tables and charts on stderr")
	cmd.Flags().StringVar(&f.session, "session", "", sessionDoes)
	cmd.Flags().StringVar(&f.junit, "junit", "", junitDoes)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "run other users' scripts without asking")
	addRunbooks(cmd, &f.runbooks)
	cmd.ValidArgsFunction = completeCells(&f.runbooks)
	completeFlags(cmd, map[string]completer{"session": files("ipynb"), "junit": files("xml")})
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutDoes)
	return cmd
}

func (f runFlags) cells(t steps.Tutorial, args []string) ([]steps.Cell, error) {
	switch {
	case f.all && len(args) > 0:
		return nil, errors.New("--all runs every cell but the optional ones: leave out the names")
	case f.all:
		return t.Main(), nil
	case len(args) == 0:
		return nil, errors.New("name cells or parts, or give --all; railbench list shows them")
	default:
		cells, err := t.Select(args...)
		if i := slices.IndexFunc(args, runbook.HasName); err != nil && i >= 0 {
			err = fmt.Errorf("%s is a file, not a cell: run it with --runbook %[1]s and the ids of its cells, or --all", args[i])
		}
		return cells, err
	}
}

// run says what is wrong with the command line, and with the files that results go to, before it asks a node
// anything, and prints a result whatever becomes of the nodes.
func (f runFlags) run(cmd *cobra.Command, rig rigFlags, args []string) error {
	ctx := cmd.Context()
	if err := errors.Join(f.contradiction(), writable(cmd.Flags(), "junit")); err != nil {
		return usage(err)
	}
	if f.dryRun && rig.slurm != "" {
		return usage(errors.New("--dry-run does not ask Slurm for nodes: leave out --slurm, or run it in an allocation"))
	}
	rig.runbooks, rig.trust = f.runbooks, f.trust
	ask, confirm := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), f.yes)
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	b.options.Confirm = confirm
	cells, err := f.cells(b.options.Tutorial, args)
	if err != nil {
		return usage(err)
	}
	if err := b.linked(cells); err != nil {
		return err
	}
	ctx, cancel := limited(ctx, f.timeout)
	defer cancel()
	if f.dryRun {
		return f.plan(ctx, cmd.OutOrStdout(), b, cells)
	}
	if err := b.trustRunbooks(f.runbooks, f.trust); err != nil {
		return err
	}
	if err := b.trustSession(f.session, f.trust); err != nil {
		return err
	}
	return f.execute(ctx, cmd, b, cells)
}

// limited is a context that ends after a --timeout; 0 is none.
func limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the --timeout of %s was reached", timeout))
}

// execute runs cells on the rig, and prints what they came to.
func (f runFlags) execute(ctx context.Context, cmd *cobra.Command, b *openRig, cells []steps.Cell) error {
	b.options.Logs = logDir()
	if f.session != "" {
		if _, err := b.keep(f.session, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	s := b.session(cmd.ErrOrStderr())
	ran := follow(s, cmd.ErrOrStderr(), f.verbose)
	list := headless.NewListing(cmd.OutOrStdout(), named(b), cells)
	if !f.json {
		ran.OnEnded = list.Ended
	}
	s.Open()
	ran.RunAll(ctx, cells)
	found, unreachable := b.found(s), s.Unreachable()
	closed, unsaved := finish(s, cmd.ErrOrStderr())
	b.remind(cmd.ErrOrStderr())
	result := headless.NewObject(version(), found, cells, ran.Ended)
	var err error
	if f.json {
		err = writeJSON(cmd.OutOrStdout(), result)
	} else if err = list.Rest(result); err == nil {
		err = newPrinter(cmd.OutOrStdout(), found.Simulated, f.verbose).Summaries(cells, ran.Ended)
	}
	err = errors.Join(err, writeJUnit(f.junit, found, cells, ran.Ended))
	return ending{written: err, unsaved: unsaved, unreachable: unreachable, closed: closed}.status(result.Summary)
}

// found is the rig as it was found. Where no one has looked at the nodes the result has their names all the same.
func (b *openRig) found(s *session.Session) steps.Rig {
	if found, probed := s.Rig(); probed {
		return found
	}
	return named(b)
}

// session is one on the rig; waits says who has the nodes that a cell waits for.
func (b *openRig) session(waits io.Writer) *session.Session {
	b.options.OnWait = func(why string) { sanitize.Fprintf(waits, "  %s\n", why) }
	s := session.New(b.options)
	b.onState = s.State
	return s
}

// contradiction is of flags that can't be given together, or at all.
func (f runFlags) contradiction() error {
	switch {
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.dryRun && f.json:
		return errors.New("--dry-run prints scripts, and --json a result: give one of them")
	case f.dryRun && f.junit != "":
		return errors.New("--dry-run runs nothing, so --junit has nothing to write: give one of them")
	case f.dryRun && f.session != "":
		return errors.New("--dry-run runs nothing, so --session has nothing to save: give one of them")
	}
	return nil
}

// An ending is what went wrong around the cells, none of it with what they found.
type ending struct {
	written, unsaved, unreachable, closed error
}

// status is the exit status. A lost result goes before an unreachable node, and both go before the verdicts:
// a user who reads 1 takes the result for complete.
func (e ending) status(summary map[string]int) error {
	switch {
	case e.written != nil:
		return unwritten(fmt.Errorf("write the result: %w", e.written))
	case e.unsaved != nil:
		return unwritten(e.unsaved)
	case e.unreachable != nil:
		return status{exitUnreachable, e.unreachable}
	case e.closed != nil:
		return status{exitUnreachable, e.closed}
	}
	return outcome(summary)
}

// named is a rig of which nothing is known but how its nodes are called.
func named(b *openRig) steps.Rig {
	return session.Named(b.options)
}

// plan prints what would be executed. Looking at the nodes is what it needs to
// know the values, and changes nothing.
func (f runFlags) plan(ctx context.Context, out io.Writer, b *openRig, cells []steps.Cell) error {
	rig, err := session.Probe(ctx, b.options)
	if err != nil {
		return status{exitUnreachable, err}
	}
	headless.WritePlan(out, b.options, rig, cells)
	return nil
}

// follow is a session that is followed on out; verbose with outputs and figures.
func follow(s *session.Session, out io.Writer, verbose bool) *headless.Runner {
	h := headless.New(s, out, verbose)
	if verbose {
		h.Figures = func(v steps.Verdict) {
			p := newPrinter(out, h.Book.Rig.Simulated, true)
			p.Indent = "    "
			p.Print(v) //nolint:errcheck // progress: a closed stderr can't be reported
		}
	}
	return h
}

// What flags of several commands do.
const (
	junitDoes   = "write the verdicts to this JUnit `FILE`, for a CI"
	sessionDoes = "save in this .ipynb `FILE`, or continue one"
	timeoutDoes = "end the whole run after this `TIME`, such as 5m"
)

// writeJUnit writes the verdicts to a JUnit file; an empty name is none.
func writeJUnit(file string, rig steps.Rig, all []steps.Cell, ended map[string]steps.CellEnded) error {
	if file == "" {
		return nil
	}
	return notebook.Results{
		Program: version(), Rig: rig, Cells: all, Ended: ended, Evidence: cells.Evidence,
	}.WriteJUnit(file)
}

func writeJSON(out io.Writer, v any) error { return sanitize.JSON(out, v) }

// outcome is the exit status that follows from the grades.
func outcome(summary map[string]int) error {
	switch {
	case summary[steps.Fail.String()] > 0:
		return status{code: exitFail}
	case summary[steps.Inconclusive.String()] > 0:
		return status{code: exitInconclusive}
	default:
		return nil
	}
}
