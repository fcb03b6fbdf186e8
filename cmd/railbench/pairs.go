package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/steps/headless"
	"github.com/railbench/railbench/steps/pairs"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/tui/plain"
)

// pairsFlags are those of railbench pairs.
type pairsFlags struct {
	yes, dryRun, json bool
	partners          int
	save              string
	out               pairsFiles
}

// pairsFiles are the files that a matrix is written to; empty for none.
type pairsFiles struct{ csv, html string }

func (f *pairsFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.csv, "csv", "", "write a line for each figure to this CSV `FILE`")
	cmd.Flags().StringVar(&f.html, "html", "", "write the verdict and the heat maps to this HTML `FILE`")
	completeFlags(cmd, map[string]completer{"csv": files("csv"), "html": files("html")})
}

func pairsCommand(rig *rigFlags) *cobra.Command {
	var f pairsFlags
	cmd := &cobra.Command{
		Use:   "pairs",
		Short: "Measure every pair of nodes, and find the slow node, rail, direction or cable",
		Long: `Measures bandwidth each way and latency between every two nodes of the rig, over every
rail, with ib_write_bw and ib_write_lat.

In each round every node measures with one partner, all at the same time; n nodes
take n-1 rounds (n if n is odd). A pair below 93 % of the best bandwidth, or above 2.1 times the lowest latency, is measured again,
the last time alone. If it is still slow it is FAIL, and railbench names what such
pairs share. A pair that could not be measured is INCONCLUSIVE.

All pairs of many nodes take hours. With --partners 8 each node is measured with eight
others, in eight rounds: that finds a slow node, rail or port. Run again with the same
--save file and without --partners to measure the rest.

The plan and its time are printed first. On real nodes you are asked, because the
measurement loads the network; --yes answers.

Exit status: 0 PASS or WARN; 1 FAIL; 2 wrong usage; 3 no node could be
reached; 4 INCONCLUSIVE; 5 the result could not be written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, *rig) },
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "measure without asking")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the plan and its time, and measure nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the matrix as JSON")
	cmd.Flags().IntVar(&f.partners, "partners", 0, "measure each node with `N` others instead of all")
	cmd.Flags().StringVar(&f.save, "save", "",
		"save in this .json `FILE` after each round, or continue one")
	completeFlags(cmd, map[string]completer{"save": files("json"), "partners": words("4", "8")})
	f.out.add(cmd)
	cmd.AddCommand(atOnce(pairsShowCommand(), pairsCompareCommand())...)
	return cmd
}

// pairing is what is measured: the tutorial's own cells.
func (b *openRig) pairing() (session.Pairing, error) {
	for _, c := range b.options.Tutorial.Cells() {
		if c.Pairs != nil {
			return session.PairingOf(b.options.Tutorial, c)
		}
	}
	return session.Pairing{}, errors.New("the tutorial has no cell that measures every pair")
}

func (f pairsFlags) run(cmd *cobra.Command, rig rigFlags) error {
	ctx, out, errs := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.dryRun && (f.json || f.out != pairsFiles{}) {
		return usage(errors.New("--dry-run measures nothing that --json, --csv or --html could show: give one of them"))
	}
	if err := writable(cmd.Flags(), "save", "csv", "html"); err != nil {
		return usage(err)
	}
	if cmd.Flags().Changed("partners") {
		rig.params = append(slices.Clone(rig.params), fmt.Sprintf("%s=%d", pairs.Partners, f.partners))
	}
	ask, confirm := headless.NewAskers(cmd.InOrStdin(), errs, f.yes)
	b, err := rig.open(ctx, ask)
	if err != nil {
		return err
	}
	defer b.close()
	p, err := b.pairing()
	if err != nil {
		return usage(err)
	}
	if p.Known, err = pairs.Known(f.save); err != nil {
		return usage(err)
	}
	if !f.dryRun {
		b.options.Logs = logDir()
	}
	s := b.session(errs)
	plan := errs
	if f.dryRun {
		plan = out // it is the result then
	}
	logged := "" // below the verdict, where it is still on the screen
	p.Logged = func(where string) { logged = where }
	m, err := f.measure(ctx, plan, errs, b, s, p, confirm)
	_, _ = finish(s, errs) // no session is kept, and each node's own end was waited for
	if m == nil {
		return err
	}
	if failed := f.result(out, m); failed != nil {
		return failed
	}
	if logged != "" {
		sanitize.Fprintf(errs, "%s\n", logged)
	}
	return f.ended(ctx, errs, m, err)
}

// result keeps and prints a matrix.
func (f pairsFlags) result(out io.Writer, m *pairs.Matrix) error {
	if err := m.Keep(f.save, version()); err != nil {
		return unwritten(err)
	}
	return f.print(out, m)
}

// ended is the exit status of a run, and says why it was cut short.
func (f pairsFlags) ended(ctx context.Context, errs io.Writer, m *pairs.Matrix, err error) error {
	if err == nil && ctx.Err() == nil {
		return outcome(map[string]int{m.Judge().Grade.String(): 1})
	}
	switch {
	case errors.Is(err, context.Canceled) && f.save != "":
		err = fmt.Errorf("interrupted: --save %s goes on with what is there", f.save)
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted: what has no figure was not measured")
	}
	if err != nil {
		sanitize.Fprintf(errs, "%v\n", err)
	}
	return status{code: exitInconclusive}
}

// measure says what will be run, asks where nodes are real, and measures. The matrix is nil where nothing was.
func (f pairsFlags) measure(ctx context.Context, plan, errs io.Writer, b *openRig, s *session.Session,
	p session.Pairing, confirm session.Confirmer,
) (*pairs.Matrix, error) {
	cost, wrong, err := s.PairsCost(ctx, p)
	if err != nil {
		// All nodes answered: it is what was saved that doesn't fit.
		if p.Known != nil && s.Unreachable() == nil {
			return nil, usage(fmt.Errorf("%s: %w", f.save, err))
		}
		return nil, status{exitUnreachable, err}
	}
	sanitize.Fprintf(plan, "%s\n", cost)
	sanitize.Fprintf(plan, "each pair: %s each way, and %s\n", p.Bandwidth.ID, p.Latency.ID)
	for _, why := range wrong {
		sanitize.Fprintf(plan, "%s\n", why)
	}
	if cost.Rails == 0 {
		sanitize.Fprintln(plan, "nothing to measure: no rail joins two nodes (railbench init shows the cables)")
	}
	many := pairs.TooMany(cost.Nodes, cost.Rails, cost.Partners)
	switch {
	case f.dryRun && many != "":
		sanitize.Fprintf(plan, "it would not begin: %s\n", many)
		return nil, nil
	case f.dryRun:
		return nil, nil
	case many != "":
		return nil, usage(errors.New(many))
	}
	if b.simRig == nil && cost.Rails > 0 {
		if err := agreed(ctx, confirm); err != nil {
			return nil, err
		}
	}
	p.Measured = func(m *pairs.Matrix, at pairs.Progress) error {
		sanitize.Fprintf(errs, "%s\n", at)
		return m.Keep(f.save, version())
	}
	m, err := s.Pairs(ctx, p)
	if m == nil && err != nil {
		return nil, status{exitUnreachable, err}
	}
	return m, err
}

// agreed asks whether the network may be loaded. Where no one can be asked it may not, and --yes is a yes without a
// question.
func agreed(ctx context.Context, confirm session.Confirmer) error {
	switch a := confirm.(type) {
	case nil:
		return usage(errors.New("this loads the network between all nodes: add --yes to allow it"))
	case *headless.Asker:
		if yes, err := a.Ask(ctx, "It loads the network between all nodes. Measure?"); err != nil || !yes {
			return status{exitInconclusive, errors.New("nothing was measured")}
		}
	}
	return nil
}

// print writes the matrix wherever it is asked for.
func (f pairsFlags) print(out io.Writer, m *pairs.Matrix) error {
	if err := m.Export(f.out.csv, f.out.html); err != nil {
		return unwritten(err)
	}
	if !f.json {
		return unwritten(showPairs(out, m))
	}
	text, err := m.JSON(version())
	if err == nil {
		err = sanitize.WriteText(out, string(text))
	}
	return unwritten(err)
}

// showPairs prints the maps, the causes and the verdict, which comes last, where a terminal shows it.
func showPairs(out io.Writer, m *pairs.Matrix) error {
	width := columns(out) // in a pipe or a file a sentence stays one line
	return plain.Pairs(out, m, cmp.Or(width, 80), cmp.Or(width, math.MaxInt))
}

func pairsShowCommand() *cobra.Command {
	var f pairsFlags
	cmd := &cobra.Command{
		Use:   "show FILE.json",
		Short: "Draw a saved matrix of pairs",
		Long:  "Draws a matrix of pairs --save or --json, or writes it in another format. It connects to no node.",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: files("json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writable(cmd.Flags(), "csv", "html"); err != nil {
				return usage(err)
			}
			m, err := pairs.Open(args[0])
			if err != nil {
				return usage(err)
			}
			return f.print(cmd.OutOrStdout(), m)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print the matrix as JSON")
	f.out.add(cmd)
	return cmd
}

func pairsCompareCommand() *cobra.Command {
	var threshold string
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Show which pairs are better and which are worse in B than in A",
		Long: `Compares two saved matrices of the same nodes, rails and settings, figure by figure. If a
rail's hardware changed (its speed, its MTU, its PCIe lanes), that is printed first.

Exit status: 0 nothing is worse; 1 something is; 2 wrong usage, or they don't compare;
5 the result could not be written.`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: files("json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			percent, err := parsePercent(threshold)
			if err != nil {
				return usage(err)
			}
			var both [2]*pairs.Matrix
			for i, path := range args {
				if both[i], err = pairs.Open(path); err != nil {
					return usage(err)
				}
			}
			if why := both[0].Unlike(both[1], "the other"); why != "" {
				return usage(fmt.Errorf("%s doesn't compare with %s: %s", args[0], args[1], why))
			}
			for _, now := range both[0].Rewired(both[1]) {
				sanitize.Fprintf(cmd.OutOrStdout(), "other hardware: %s\n", now)
			}
			worse, err := plain.PairsCompared(cmd.OutOrStdout(), both[0], both[1], percent/100)
			switch {
			case err != nil:
				return unwritten(err)
			case worse > 0:
				return status{code: exitFail}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&threshold, "threshold", "5%", "how much a figure may change before that is better or worse")
	return cmd
}
