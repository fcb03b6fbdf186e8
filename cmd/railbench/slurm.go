package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/steps/nodelist"
	"github.com/railbench/railbench/steps/rigfile"
)

// slurmWait is how long --slurm waits for its nodes.
const slurmWait = 10 * time.Minute

// allocate asks Slurm for the nodes that --slurm names, and makes a rig of them. They are the
// bench's to give back.
func (f rigFlags) allocate(ctx context.Context, b *bench) (rigfile.File, error) {
	partition, nodes, err := nodelist.WantsSlurm(f.slurm)
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
	a, err := nodelist.Allocated()
	if err != nil {
		return err
	}
	for _, n := range file.Nodes {
		if !slices.Contains(a.Nodes, n.Name) {
			return nodelist.Lacking(a, n.Name)
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
