package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui"
)

// drillCommand breaks the simulated rig in a way that the user does not know.
func drillCommand(rig *rigFlags) *cobra.Command {
	var table bool
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Find a secret fault of the simulated rig, against the clock",
		Long: `Opens the checklist on a simulated rig with one secret fault on one node. You see what a
user would report, and find the fault. You start with 100 points: each check costs 2,
another cell 1, a hint (h) 15, a minute 2. Running every check finds the fault and leaves
almost no points. --scores shows the results so far; --seed N repeats a drill.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if table {
				return drillScores(cmd.OutOrStdout())
			}
			f := *rig
			if f.rig != "" && f.rig != "sim" {
				return usage(errors.New("a drill is on the simulated rig: leave out --rig"))
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
			drill, err := drillFor(fault, node)
			if err != nil {
				return err
			}
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
				checks, hints := model.DrillUsed()
				how = fmt.Sprintf("A check found it after %s: %d points, with %s and %s.",
					took, model.Score(), steps.Counted(checks, "check"), steps.Counted(hints, "hint"))
				done := drillScore{time.Now(), spec, f.seed, model.Score(), took, checks, hints}
				if kept := done.keep(); kept != nil {
					sanitize.Fprintln(cmd.ErrOrStderr(), kept)
				}
			}
			sanitize.Fprintf(cmd.OutOrStdout(), "The fault was %s: %s.\n%s\n%s The same again: railbench drill --seed %d%s\n",
				spec, fault.Title, fault.Doc, how, f.seed, again)
			return err
		},
	}
	cmd.Flags().BoolVar(&table, "scores", false, "print the results of earlier drills, the best first")
	return cmd
}

// drillFor is what somebody reports who has a fault, and hints, each of which says more.
func drillFor(fault sim.Fault, node string) (tui.Drill, error) {
	t, _, err := tutorial()
	if err != nil {
		return tui.Drill{}, err
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
	return tui.Drill{
		Fault: fault.Name, Title: fault.Title, Report: "\"" + fault.Report + "\"",
		Hints: []string{"a check of the chapter " + part + " finds it", where, "the check is called " + finds.Title},
	}, nil
}

// A drillScore is a line of the table of drills.
type drillScore struct {
	At     time.Time     `json:"at"`
	Fault  string        `json:"fault"`
	Seed   uint64        `json:"seed"`
	Points int           `json:"points"`
	Took   time.Duration `json:"took"` // nanoseconds
	Checks int           `json:"checks"`
	Hints  int           `json:"hints"`
}

// mostDrills is how many the table keeps.
const mostDrills = 200

// drillsPath is where the table is.
func drillsPath() (string, error) {
	state, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "drills.json"), nil
}

// readDrills is the table; empty where there is none.
func readDrills() (all []drillScore, err error) {
	path, err := drillsPath()
	if err != nil {
		return nil, err
	}
	src, err := safefile.Read(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the table of drills: %w", err)
	}
	if err := json.Unmarshal(src, &all); err != nil {
		return nil, fmt.Errorf("read the table of drills %s: %w (delete the file to start again)", path, err)
	}
	return all, nil
}

// keep adds a drill to the table.
func (d drillScore) keep() error {
	all, err := readDrills()
	if err != nil {
		return err
	}
	all = append(all, d)
	text, err := json.MarshalIndent(all[max(0, len(all)-mostDrills):], "", "  ")
	if err != nil {
		return err
	}
	path, err := drillsPath()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = safefile.Replace(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the drill was not saved: %w", err)
	}
	return nil
}

// drillScores prints the table, the best first.
func drillScores(out io.Writer) error {
	all, err := readDrills()
	if err != nil {
		return usage(err)
	}
	if len(all) == 0 {
		sanitize.Fprintln(out, "No drill is saved yet. Start one: railbench drill")
		return nil
	}
	slices.SortStableFunc(all, func(a, b drillScore) int { return b.Points - a.Points })
	sanitize.Fprintf(out, "%6s  %-9s %6s %5s  %-16s  %s\n", "points", "took", "checks", "hints", "when", "fault (--seed)")
	for _, d := range all {
		sanitize.Fprintf(out, "%6d  %-9s %6d %5d  %-16s  %s (%d)\n", d.Points, d.Took, d.Checks, d.Hints,
			d.At.Local().Format("2006-01-02 15:04"), d.Fault, d.Seed)
	}
	return nil
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
