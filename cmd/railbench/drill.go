package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/progress"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// drillCommand breaks the simulated rig in a way that the user does not know.
func drillCommand(rig *rigFlags) *cobra.Command {
	var table bool
	cmd := &cobra.Command{
		Use:   "drill [PART]",
		Short: "Find a secret fault of the simulated rig, against the clock",
		Long: `Opens the checklist on a simulated rig with one secret fault on one node. You see what a
user would report, and find the fault. You start with 100 points: each check costs 2,
another cell 1, a hint (h) 15, a minute 2. Running every check finds the fault and leaves
almost no points. --scores shows the results so far; --seed N repeats a drill.

With a part of the tutorial the fault is one that the part is about: its exercise.
"railbench progress" shows which are solved.`,
		Example: `  railbench drill
  railbench drill gid-check`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return partIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			part := ""
			if len(args) > 0 {
				part = args[0]
			}
			if part != "" && progress.Exercise(part) == nil {
				return usage(noExercise(part))
			}
			if table {
				path, err := stateDir("drills.json")
				if err == nil {
					err = progress.Scores(cmd.OutOrStdout(), path)
				}
				return usage(err)
			}
			f := *rig
			if f.rig != "" && f.rig != "sim" {
				return usage(errors.New("a drill is on the simulated rig: leave out --rig"))
			}
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint64()
			}
			fault, node, err := drillFault(f.seed, f.nodeCount, progress.Exercise(part))
			if err != nil {
				return err
			}
			spec := fault.Name
			if node != "" {
				spec += "@" + node
			}
			f.rig, f.faults = "sim", []string{spec}
			drill, err := drillFor(fault, node)
			if err != nil {
				return err
			}
			model, err := workbench(cmd, f, opening{drill: drill})
			if model != nil {
				f.drilled(cmd, part, fault, spec, model)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&table, "scores", false, "print the results of earlier drills, the best first")
	return cmd
}

// drilled says what the fault was and how it was found, and keeps the points.
func (f rigFlags) drilled(cmd *cobra.Command, part string, fault sim.Fault, spec string, model *tui.Model) {
	again := ""
	if part != "" {
		again = " " + part
	}
	if f.nodeCount != 0 {
		again += fmt.Sprintf(" --nodes %d", f.nodeCount)
	}
	how := "You left before a check had found it."
	if took := model.Drilled(); took > 0 {
		checks, hints := model.DrillUsed()
		how = fmt.Sprintf("A check found it after %s: %d points, with %s and %s.",
			took, model.Score(), steps.Counted(checks, "check"), steps.Counted(hints, "hint"))
		done := progress.Drill{
			At: time.Now(), Part: part, Fault: spec, Seed: f.seed, Points: model.Score(), Took: took,
			Checks: checks, Hints: hints,
		}
		path, kept := stateDir("drills.json")
		if kept == nil {
			kept = done.Keep(path)
		}
		if kept != nil {
			sanitize.Fprintln(cmd.ErrOrStderr(), kept)
		}
	}
	sanitize.Fprintf(cmd.OutOrStdout(), "The fault was %s: %s.\n%s\n%s The same again: railbench drill --seed %d%s\n",
		spec, fault.Title, fault.Doc, how, f.seed, again)
}

func noExercise(part string) error {
	ids := partIDs()
	near := cmp.Or(steps.DidYouMean(part, ids), ": parts are "+strings.Join(ids, ", "))
	return fmt.Errorf("no part %q%s", part, near)
}

// partIDs are those of the built-in tutorial, each of which has an exercise.
func partIDs() (ids []string) {
	t, _, err := tutorial()
	if err != nil {
		return nil
	}
	for _, p := range t.Parts {
		ids = append(ids, p.ID)
	}
	return ids
}

// drillFor is what a user reports who has a fault, and hints, each of which says more.
func drillFor(fault sim.Fault, node string) (screen.Drill, error) {
	t, _, err := tutorial()
	if err != nil {
		return screen.Drill{}, err
	}
	// The check that is about the least is the one that is about this.
	var finds steps.Cell
	for _, c := range t.Checks() {
		if slices.Contains(c.Check.Finds, fault.Name) &&
			(finds.ID == "" || len(c.Check.Finds) < len(finds.Check.Finds)) {
			finds = c
		}
	}
	where := "it is on every node"
	if node != "" {
		where = "it is on " + node
	}
	part := finds.Part
	for _, p := range t.Checklist {
		if p.ID == finds.Part {
			part = p.Title
		}
	}
	return screen.Drill{
		Fault: fault.Name, Title: fault.Title, Report: "\"" + fault.Report + "\"",
		Hints: []string{"a check of the chapter " + part + " finds it", where, "the check is called " + finds.Title},
	}, nil
}

// drillFault chooses a fault that a check finds, and one of so many nodes for it, or none
// where it is on all of them. among are the faults to choose from; nil for all.
func drillFault(seed uint64, nodes int, among []string) (f sim.Fault, node string, err error) {
	t, _, err := tutorial()
	if err != nil {
		return f, "", err
	}
	found := slices.DeleteFunc(sim.Faults(), func(f sim.Fault) bool {
		finds := func(c steps.Cell) bool { return slices.Contains(c.Check.Finds, f.Name) }
		return among != nil && !slices.Contains(among, f.Name) || !slices.ContainsFunc(t.Checks(), finds)
	})
	if len(found) == 0 {
		return f, "", errors.New("no check finds any fault")
	}
	rnd := rand.New(rand.NewPCG(seed, seed))
	f = found[rnd.IntN(len(found))]
	if f.Everywhere() {
		return f, "", nil
	}
	names := sim.NodeNames(nodes)
	node = names[rnd.IntN(len(names))]
	f, err = sim.FaultAt(f.Name, node)
	return f, node, err
}
