package session

import (
	"slices"
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
)

// What a cell can read is what its kind of cell is given.
func TestVariables(t *testing.T) {
	o := Options{
		Params:   map[string]string{"MINE": "1"},
		Programs: map[string]string{"X_PY": "print()"},
		Catalog: steps.Catalog{
			Params: catalog.New().Params,
			Plans: map[string]steps.Planner{"mtu": func(steps.Rig, map[string]string) (p steps.Plan) {
				p.Vars[steps.Here] = map[string]string{"PLANNED": ""}
				return p
			}},
		},
	}
	every := []string{
		"NODE", "PEER", "RAILS", "RUN", "PORT", "ITERATIONS", "MINE", "X_PY", "RAIL1_DEV", "RAIL2_GID",
		"PEER_RAIL1_IP", "HALF_DEV", "PEER_HALF_IP", "TCP_IP", "TCP_NETDEV", "PEER_TCP_IP",
	}
	for name, c := range map[string]struct {
		cell      steps.Cell
		has, lack []string
	}{
		"any":     {steps.Cell{}, every, []string{"RAIL_DEV", "PEER_RAIL_IP", "PLANNED", "CHANGED", "RAIL3_DEV"}},
		"a rail":  {steps.Cell{EachRail: true}, append(slices.Clone(every), "RAIL_DEV", "RAIL_MTU", "PEER_RAIL_IP"), nil},
		"planned": {steps.Cell{Judge: "mtu"}, append(slices.Clone(every), "PLANNED"), nil},
		"changes": {
			steps.Cell{Change: steps.Change{Set: []string{"RAIL1_NETDEV"}}},
			append(slices.Clone(every), "CHANGED"),
			nil,
		},
	} {
		got := Variables(o, c.cell)
		for _, v := range c.has {
			if !slices.Contains(got, v) {
				t.Errorf("%s: no %s in %v", name, v, got)
			}
		}
		for _, v := range c.lack {
			if slices.Contains(got, v) {
				t.Errorf("%s: %s is in %v", name, v, got)
			}
		}
	}
}
