package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/rigfile"
)

// slurmWait is how long --slurm waits for its nodes.
const slurmWait = 10 * time.Minute

// allocated is the allocation that railbench was started in.
func allocated() (runner.Allocation, error) {
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
			return lacking(a, n.SSH)
		}
		nodes[i] = nodeset.Node{Name: n.Name, From: fmt.Sprintf("allocation %d", a.Job)}
	}
	return nil
}

// lacking says that an allocation doesn't have a node.
func lacking(a runner.Allocation, node string) error {
	return fmt.Errorf("the allocation %d has no node %s: it has %s", a.Job, node, nodeset.Fold(a.Nodes))
}

// wantsSlurm reads --slurm PARTITION:N.
func wantsSlurm(text string) (partition string, nodes int, err error) {
	partition, count, ok := strings.Cut(text, ":")
	nodes, bad := strconv.Atoi(count)
	if !ok || bad != nil || nodes < len(steps.Ends) || nodes > steps.MostNodes {
		return "", 0, fmt.Errorf("--slurm %s: give PARTITION:N, with %d to %d nodes", cutList(text), len(steps.Ends),
			steps.MostNodes)
	}
	if err := nodeset.Check("partition", partition); err != nil {
		return "", 0, fmt.Errorf("--slurm: %w", err)
	}
	return partition, nodes, nil
}

// allocate asks Slurm for the nodes that --slurm names, and makes a rig of them. They are the
// bench's to give back.
func (f rigFlags) allocate(ctx context.Context, b *bench) (rigfile.File, error) {
	partition, nodes, err := wantsSlurm(f.slurm)
	if err != nil {
		return rigfile.File{}, usage(err)
	}
	f.told("asking Slurm for %d nodes of %s, for %s at most; ctrl+c gives up", nodes, partition, slurmWait)
	ctx, cancel := context.WithTimeoutCause(ctx, slurmWait, fmt.Errorf("there were none for %s", slurmWait))
	defer cancel()
	a, err := runner.Allocate(ctx, partition, nodes)
	if err != nil {
		return rigfile.File{}, status{exitUnreachable, err}
	}
	f.told("allocation %d: %s; it is given back at the end", a.Job, nodeset.Fold(a.Nodes))
	b.release = func() {
		if err := a.Release(); err != nil {
			f.told("%v", err)
			return
		}
		f.told("gave the allocation %d back", a.Job)
	}
	b.allocation = a
	return rigfile.OfAllocation(a.Nodes), nil
}

// inAllocation finds the allocation that a rig of Slurm's nodes is in, and looks whether it has them.
func (b *bench) inAllocation(file rigfile.File) error {
	if file.Engine != rigfile.Slurm || b.allocation.Job != 0 {
		return nil
	}
	a, err := allocated()
	if err != nil {
		return err
	}
	for _, n := range file.Nodes {
		if !slices.Contains(a.Nodes, n.Name) {
			return lacking(a, n.Name)
		}
	}
	b.allocation = a
	return nil
}

// told shows the user a message that is not part of the result, before there is a screen and after it.
func (f rigFlags) told(format string, args ...any) {
	if f.tell != nil {
		f.tell(fmt.Sprintf(format, args...))
	}
}
