package session

import (
	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// A Planned script is what would run where: a dry run prints it.
type Planned struct {
	Cell   steps.Cell
	Role   steps.Role
	End    steps.End
	Pair   int // index into the rig's pairs, -1 where the cell is not per rail
	Script runner.Script
}

// Plan lists what running cells on a rig would execute, in order. It is the same
// code that runs them.
func Plan(o Options, rig steps.Rig, cells []steps.Cell) []Planned {
	var plan []Planned
	for _, c := range cells {
		if o.Limit > 0 {
			c.Limit = o.Limit
		}
		pairs := []int{-1}
		if c.EachRail {
			pairs = pairs[:0]
			for i := range rig.Pairs {
				pairs = append(pairs, i)
			}
		}
		for _, pair := range pairs {
			for _, role := range c.Roles {
				for _, e := range role.On.Ends() {
					plan = append(plan, Planned{c, role, e, pair, script(c, rig, pair, role, e, c.Limit, o.Params)})
				}
			}
		}
	}
	return plan
}
