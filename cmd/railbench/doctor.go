package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/doctor"
	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/plain"
)

type doctorFlags struct {
	json, fix, yes, list, verbose bool
	symptom, junit                string
	timeout                       time.Duration
}

func doctorCommand(rig *rigFlags) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [CHECK…]",
		Short: "Find what is wrong with the rig, and fix it",
		Long: `Runs the checklist: every check, the checks that you name, or those that could explain a
symptom. It only reads. With --fix it offers to fix what it found, and checks again.

With --symptom, the checks that fit your words or message run first. If they find
nothing, or if only some words fit, all other checks run, too. Then the status is
0 only if all checks passed: a WARN gives 1. With --timeout, a check that has not ended
by then is INCONCLUSIVE, which JUnit calls an error.

Exit status: 0 nothing is wrong (a WARN is printed); 1 a check FAILed; 2 wrong usage
or configuration; 3 a node can't be reached; 4 nothing failed but something was
INCONCLUSIVE; 5 the result could not be written.`,
		Example: `  railbench doctor
  railbench doctor --symptom "TCP near zero"
  railbench doctor mtu-equal gid-index
  ib_write_bw … 2>&1 | railbench doctor --symptom -
  railbench doctor --fix`,
		ValidArgsFunction: completeChecks,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, *rig, args) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "offer to fix what was found, and check again")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --fix: do not ask; keep what works")
	cmd.Flags().BoolVar(&f.list, "list", false, "print the checks and their symptoms")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "evidence of all checks; with --list all phrases")
	cmd.Flags().StringVar(&f.symptom, "symptom", "",
		"run first the checks that fit this `TEXT`; - for stdin")
	cmd.Flags().StringVar(&f.junit, "junit", "", junitDoes)
	completeFlags(cmd, map[string]completer{"junit": files("xml")})
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutDoes)
	return cmd
}

// run looks, corrects what it may, and prints the result whatever becomes of the nodes.
func (f doctorFlags) run(cmd *cobra.Command, rig rigFlags, args []string) error {
	ctx := cmd.Context()
	if err := f.contradiction(cmd.Flags(), args); err != nil {
		return usage(err)
	}
	t, _, err := tutorial()
	if err != nil {
		return err
	}
	if f.list {
		return plain.Checks(cmd.OutOrStdout(), version(), t, f.json, f.verbose)
	}
	checks, about, err := f.checks(ctx, t, args, cmd.InOrStdin())
	switch {
	case err != nil && ctx.Err() != nil:
		return status{exitInconclusive, err}
	case err != nil:
		return usage(err)
	}
	ask, confirm := headless.NewAskers(cmd.InOrStdin(), cmd.ErrOrStderr(), f.yes)
	if f.fix && confirm == nil {
		return usage(errors.New("--fix cannot ask without a terminal: add --yes"))
	}
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	if f.fix {
		// Without anybody who confirms nothing is changed.
		b.options.Confirm = confirm
	}
	return f.look(cmd, b, t, checks, about)
}

// contradiction is of flags that can't be given together, or at all.
func (f doctorFlags) contradiction(flags *pflag.FlagSet, args []string) error {
	switch {
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.list && f.junit != "":
		return errors.New("--list runs no check, so --junit has nothing to write: give one of them")
	case f.list && (f.fix || f.symptom != "" || len(args) > 0):
		return errors.New("--list prints all checks: leave out --fix, --symptom and the names of checks")
	case flags.Lookup("symptom").Changed && strings.TrimSpace(f.symptom) == "":
		// A script whose variable is empty would get the whole checklist for an answer.
		return errors.New("--symptom is empty: give a text, - for stdin, or leave it out to check everything")
	}
	return writable(flags, "junit")
}

// look runs checks on the rig, and prints what they came to.
func (f doctorFlags) look(cmd *cobra.Command, b *openRig, t steps.Tutorial, checks []steps.Cell,
	about *doctor.Symptom,
) error {
	ctx, cancel := limited(cmd.Context(), f.timeout)
	defer cancel()
	b.options.Logs = logDir()
	s := b.session(cmd.ErrOrStderr())
	d := doctor.New(session.Follow(s, nil), t, cmd.ErrOrStderr())
	s.Open()
	d.RunAll(ctx, checks)
	if about != nil {
		checks = append(checks, d.Beyond(ctx, about, checks)...)
	}
	if f.fix {
		d.Fix(ctx, checks)
	}
	found, unreachable := b.found(s), s.Unreachable()
	closed := s.Close()
	b.remind(cmd.ErrOrStderr())
	result := d.Object(version(), found, checks)
	result.Symptom = about
	var err error
	if f.json {
		err = writeJSON(cmd.OutOrStdout(), result)
	} else {
		err = plain.Doctor(cmd.OutOrStdout(), result, f.verbose, b.fixes)
	}
	err = errors.Join(err, writeJUnit(f.junit, found, checks, d.Ended))
	end := ending{written: err, unreachable: unreachable, closed: closed}.status(result.Summary)
	if end != nil || about == nil {
		return end
	}
	// A person who described a fault must not read that all is well because the check for it could not look, or only
	// warns.
	switch {
	case result.Summary[steps.Pass.String()] == len(checks):
		return nil
	case result.Summary[steps.Warn.String()] > 0:
		return status{code: exitFail}
	}
	return status{exitInconclusive, errors.New("no check found what you described, and not all of them passed")}
}

// fixes is what corrects what a check has found on the rig, to be pasted into a shell.
func (b *openRig) fixes(check string) string {
	args := []string{"doctor", check, "--fix"}
	if b.simRig != nil { // and not whichever rig is one's own
		args = append(args, "--rig", b.options.Rig)
	}
	return b.options.Command(args...)
}

// maxSymptom bounds what is read of a text that a user pipes in.
const maxSymptom = 1 << 20

// checks are those that are asked for, and what leads to them where a symptom does.
func (f doctorFlags) checks(
	ctx context.Context, t steps.Tutorial, args []string, in io.Reader,
) ([]steps.Cell, *doctor.Symptom, error) {
	switch {
	case f.symptom != "" && len(args) > 0:
		return nil, nil, errors.New("name checks, or give --symptom: one of them")
	case f.symptom != "":
		text := f.symptom
		if text == "-" {
			var err error
			if text, err = console.ReadAll(ctx, in, maxSymptom); err != nil {
				return nil, nil, fmt.Errorf("read the symptom from stdin: %w", err)
			}
		}
		k, err := knowledge()
		if err != nil {
			return nil, nil, err
		}
		checks, about := doctor.Suspects(k, t, text)
		return checks, about, nil
	case len(args) == 0:
		return t.Checks(), nil, nil
	}
	checks, err := doctor.Named(t, args)
	return checks, nil, err
}
