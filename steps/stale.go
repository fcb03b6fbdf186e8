package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Stale says why a cell's result is not what a run would give now: its script, a
// parameter or the rig has changed since. It is empty where it is still good, and where
// there is none.
func (n Notebook) Stale(id string) string {
	state, c, ok := n.Cells[id], Cell{}, false
	if c, ok = n.Tutorial.Cell(id); !ok || state.Run == 0 || state.Running || state.Verdict.Grade == NotRun {
		return ""
	}
	if scripts := c.scripts(); state.Scripts != nil && !slices.Equal(scripts, state.Scripts) {
		return "its script was changed after it ran"
	}
	if why := changedParam(c, state.Params, n.Params.Of(id)); why != "" {
		return why
	}
	if state.Rig.Probed.IsZero() || n.Rig.Probed.IsZero() {
		return ""
	}
	return n.Rig.Since(n.asLeft(id, state))
}

// asLeft is the rig with which a result is compared: that of its run, or as the last intended change of the
// network left it since. Changes that the tutorial makes and undoes do not make a result stale; other changes
// do.
func (n Notebook) asLeft(id string, state CellState) Rig {
	rig, last := state.Rig, state.Run
	for other, s := range n.Cells {
		c, ok := n.Tutorial.Cell(other)
		if !ok || other == id || s.Run <= last || s.Running || s.Rig.Probed.IsZero() || !c.Change.Any() {
			continue
		}
		switch s.Verdict.Grade {
		case Pass, Warn:
			rig, last = s.Rig.alike(state.Rig), s.Run
		case NotRun, Fail, Inconclusive, Skipped:
		}
	}
	return rig
}

// alike is the rig with the PCIe links of another look at it: no change of a network
// makes these.
func (r Rig) alike(old Rig) Rig {
	r.Nodes = slices.Clone(r.Nodes)
	for i := range r.Nodes {
		was := old.At(End(i))
		r.Nodes[i].Rails = slices.Clone(r.Nodes[i].Rails)
		for j, rail := range r.Nodes[i].Rails {
			at := slices.IndexFunc(was.Rails, func(x Rail) bool { return x.Dev == rail.Dev && x.Port == rail.Port })
			if at >= 0 {
				r.Nodes[i].Rails[j].PCI = was.Rails[at].PCI
			}
		}
	}
	return r
}

func (c Cell) scripts() []string {
	scripts := []string{}
	for _, r := range c.Roles {
		scripts = append(scripts, r.Script)
	}
	return scripts
}

// changedParam says which parameter that a cell's scripts read is set otherwise now.
func changedParam(c Cell, ran, now map[string]string) string {
	names := map[string]bool{}
	for name := range ran {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	var changed []string
	for name := range names {
		if ran[name] != now[name] && c.Reads(Param{Name: name}) {
			changed = append(changed, fmt.Sprintf("%s is %s now, and was %s",
				name, cmp.Or(now[name], "the default"), cmp.Or(ran[name], "the default")))
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, "; ")
}

// Since says in a few words what has changed on the rig since an older look at it, as
// far as it bears on a result; empty where nothing has.
func (r Rig) Since(old Rig) string {
	var all []string
	for _, e := range Ends {
		now, was := r.At(e), old.At(e)
		if now.Err != "" || was.Err != "" {
			continue // not probed, so unknown
		}
		for _, rail := range now.Rails {
			i := slices.IndexFunc(was.Rails, func(x Rail) bool { return x.Dev == rail.Dev && x.Port == rail.Port })
			if i < 0 {
				all = append(all, fmt.Sprintf("%s on %s is new", rail.Dev, now.Name))
				continue
			}
			all = append(all, rail.since(was.Rails[i], now.Name)...)
		}
		for _, rail := range was.Rails {
			if !slices.ContainsFunc(now.Rails, func(x Rail) bool { return x.Dev == rail.Dev && x.Port == rail.Port }) {
				all = append(all, fmt.Sprintf("%s on %s is gone", rail.Dev, now.Name))
			}
		}
	}
	const most = 2
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// since says what has changed on a rail of a node.
func (r Rail) since(old Rail, node string) (changes []string) {
	dev := cmp.Or(r.Netdev.Name, r.Dev) + " on " + node
	tell := func(what string, now, was any) {
		if now != was {
			changes = append(changes, fmt.Sprintf("%s of %s is %v now, and was %v", what, dev, now, was))
		}
	}
	if r.Netdev.Master != old.Netdev.Master {
		// What else is otherwise follows from that.
		if r.Netdev.Master == "" {
			return []string{fmt.Sprintf("%s has left %s", dev, old.Netdev.Master)}
		}
		return []string{fmt.Sprintf("%s is in %s now", dev, r.Netdev.Master)}
	}
	tell("the state", r.State, old.State)
	tell("the MTU", r.Netdev.MTU, old.Netdev.MTU)
	tell("the address", cmp.Or(r.Addr, "none"), cmp.Or(old.Addr, "none"))
	if r.Addr == old.Addr {
		tell("the GID index", r.GIDIndex, old.GIDIndex)
	}
	tell("the PCIe width", r.PCI.Width, old.PCI.Width)
	return changes
}
