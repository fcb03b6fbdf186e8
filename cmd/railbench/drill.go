package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/gate"
	"github.com/railbench/railbench/tui"
)

// drillCommand breaks the simulated rig in a way that the user does not know.
func drillCommand(rig *rigFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "drill",
		Short: "Break the simulated rig in secret: find out what it is, against the clock",
		Long: `Opens the checklist on a simulated rig with one fault on one node; you are told
neither. It tells how long you took when a check has found it, and which it was when
you leave. --seed N gives the same one again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := *rig
			if f.rig != "" && f.rig != "sim" || f.peer != "" {
				return usage(errors.New("a drill is on the simulated rig: leave out --rig and --peer"))
			}
			if len(f.faults) > 0 {
				return usage(errors.New("a drill chooses the fault: leave out --fault"))
			}
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint64()
			}
			fault, node, err := drillFault(f.seed, f.nodeCount)
			if err != nil {
				return err
			}
			spec := fault.Name
			if node != "" {
				spec += "@" + node
			}
			f.rig, f.faults = "sim", []string{spec}
			drill := tui.Drill{Fault: fault.Name, Title: fault.Title}
			model, err := workbench(cmd, f, opening{drill: drill})
			if model == nil {
				return err
			}
			again := ""
			if f.nodeCount != 0 {
				again = fmt.Sprintf(" --nodes %d", f.nodeCount)
			}
			how := "You left before a check had found it."
			if took := model.Drilled(); took > 0 {
				how = "A check found it after " + took.String() + "."
			}
			gate.Fprintf(cmd.OutOrStdout(), "The fault was %s: %s.\n%s\n%s The same again: railbench drill --seed %d%s\n",
				spec, fault.Title, fault.Doc, how, f.seed, again)
			return err
		},
	}
}

// drillFault chooses a fault that a check finds, and one of so many nodes for it, or none
// where it is on all of them.
func drillFault(seed uint64, nodes int) (f sim.Fault, node string, err error) {
	t, _, err := tutorial()
	if err != nil {
		return f, "", err
	}
	found := slices.DeleteFunc(sim.Faults(), func(f sim.Fault) bool {
		return !slices.ContainsFunc(t.Checks(), func(c steps.Cell) bool { return slices.Contains(c.Check.Finds, f.Name) })
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
