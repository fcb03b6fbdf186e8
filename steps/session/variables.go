package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/railbench/railbench/steps"
)

// Variables are the names that the scripts of a cell can read, sorted: the
// parameters, and what the session sets. They are what it would set on an example of
// a rig, with two rails: RAIL1_ and RAIL2_ stand for any number.
func Variables(o Options, c steps.Cell) []string {
	rig := example()
	pair := -1
	if c.EachRail {
		pair = 0
	}
	params := effective(Params(o.Catalog, o.Tutorial), o.settings(), c.ID)
	for _, p := range Params(o.Catalog, o.Tutorial) {
		params[p.Name] = p.Default // those too that are worked out where they are empty
	}
	all := vars(rig, steps.Here, pair, params)
	maps.Copy(all, o.Programs)
	all["RUN"], all[roleVariable] = plannedRun, ""
	for _, name := range c.With {
		if service, ok := o.Services[name]; ok {
			maps.Copy(all, service.Plan(Request{Run: plannedRun, Rig: rig, Params: params}))
		}
	}
	plan, _ := o.plans(c, rig, params)
	maps.Copy(all, plan.Vars[steps.Here])
	if c.Change.Any() {
		all["CHANGED"] = ""
	}
	return slices.Sorted(maps.Keys(all))
}

// example is a rig that has everything that a variable reports.
func example() steps.Rig {
	rig := steps.NewRig("", false, 2)
	for e := range rig.Nodes {
		n := &rig.Nodes[e]
		n.Name = steps.End(e).String()
		for i := range 2 {
			addr := fmt.Sprintf("192.0.2.%d", 16*i+e+1)
			d := steps.Netdev{
				Name: fmt.Sprintf("eth%d", i), MTU: 1500, Up: true, Carrier: true, SpeedGbps: 200, Addrs: []string{addr + "/28"},
			}
			n.Netdevs = append(n.Netdevs, d)
			n.Rails = append(n.Rails, steps.Rail{
				Dev: fmt.Sprintf("mlx5_%d", i), Port: 1, Netdev: d, RateGbps: 200, PhysPort: 0,
				PCI: steps.PCI{Addr: fmt.Sprintf("000%d:01:00.0", i), GTps: 32, Width: 4}, Addr: addr, Prefix: 28,
			})
		}
	}
	for i := range 2 {
		rig.Pairs = append(rig.Pairs, steps.Pair{Rails: [2]int{i, i}, Subnet: fmt.Sprintf("192.0.2.%d/28", 16*i)})
	}
	return rig
}
