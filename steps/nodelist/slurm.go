package nodelist

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
)

// Allocated is the allocation that railbench was started in.
func Allocated() (runner.Allocation, error) {
	a, ok, err := runner.Allocated(os.Getenv)
	if !ok {
		return a, errors.New("not in a Slurm allocation (SLURM_JOB_ID is not set): start railbench below salloc or sbatch, " +
			"or ask for nodes with --slurm PARTITION:N")
	}
	return a, err
}

// ofAllocation makes nodes of a list the allocation's, which Slurm reaches by their names. The way
// to another would be another engine, and a rig has one.
func ofAllocation(a runner.Allocation, nodes []nodeset.Node) error {
	for i, n := range nodes {
		if !slices.Contains(a.Nodes, n.SSH) {
			return Lacking(a, n.SSH)
		}
		nodes[i] = nodeset.Node{Name: n.Name, From: fmt.Sprintf("allocation %d", a.Job)}
	}
	return nil
}

// Lacking says that an allocation doesn't have a node.
func Lacking(a runner.Allocation, node string) error {
	return fmt.Errorf("the allocation %d has no node %s: it has %s", a.Job, node, nodeset.Fold(a.Nodes))
}

// WantsSlurm reads --slurm PARTITION:N.
func WantsSlurm(text string) (partition string, nodes int, err error) {
	partition, count, ok := strings.Cut(text, ":")
	nodes, bad := strconv.Atoi(count)
	if !ok || bad != nil || nodes < len(steps.Ends) || nodes > steps.MostNodes {
		return "", 0, fmt.Errorf("--slurm %s: give PARTITION:N, with %d to %d nodes", cut(text), len(steps.Ends),
			steps.MostNodes)
	}
	if err := nodeset.Check("partition", partition); err != nil {
		return "", 0, fmt.Errorf("--slurm: %w", err)
	}
	return partition, nodes, nil
}
