package screen

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Plan keeps what running a cell would execute, and computes it again only when the rig, a parameter or a
// script has changed. Drawing only reads it.
func (sh *Shared) Plan(c steps.Cell) []steps.PlannedValues {
	// What a change would undo is read from a file: the screen does not wait for that.
	if sh.Opts.Plan.Values == nil || c.Change.Any() || sh.Book.Rig.Probed.IsZero() {
		return nil
	}
	p, ok := sh.Plans[c.ID]
	if version := sh.Book.PlanVersion(); !ok || p.version != version {
		p = Planned{version, sh.Opts.Plan.Values(sh.Book, c)}
		sh.Plans[c.ID] = p
	}
	return p.values
}

// PlanShown plans the cells whose values are shown.
func (sh *Shared) PlanShown() {
	for id, shown := range sh.Scripts {
		if c, ok := sh.Book.Tutorial.Cell(id); shown && ok {
			sh.Plan(c)
		}
	}
}

// A given is what a plan gives a variable in one role's script: rail by rail and node by node.
type given struct {
	role   string // "" where a cell has one
	values []string
	rails  []int // of each value, from 1; 0 where it is of no rail
}

// Givens are all values of a plan, by variable, in the order of its roles. Values of several lines, such as
// programs, are left out.
func Givens(plan []steps.PlannedValues) map[string][]given {
	all := map[string][]given{}
	for _, p := range plan {
		for name, value := range p.Values {
			if strings.Contains(value, "\n") {
				continue
			}
			of := all[name]
			i := slices.IndexFunc(of, func(g given) bool { return g.role == p.Role })
			if i < 0 {
				i, of = len(of), append(of, given{role: p.Role})
			}
			of[i].values, of[i].rails = append(of[i].values, value), append(of[i].rails, p.Rail)
			all[name] = of
		}
	}
	return all
}

// single is the one value of a variable; ok is false where there are several.
func single(of []given) (value string, ok bool) {
	for i, g := range of {
		for j, v := range g.values {
			if i+j > 0 && v != value {
				return "", false
			}
			value = v
		}
	}
	return value, len(of) > 0
}

// of is what is given of one rail.
func (g given) of(rail int) given {
	one := given{role: g.role}
	for i, n := range g.rails {
		if n == rail {
			one.values, one.rails = append(one.values, g.values[i]), append(one.rails, n)
		}
	}
	return one
}

// Values are those that a plan gives a role's script; all roles' where it is "". What differs from
// rail to rail has the one of a rail, and none where that is 0.
func Values(plan []steps.PlannedValues, role string, rail int) map[string]string {
	all := map[string]string{}
	for name, of := range Givens(plan) {
		of = slices.DeleteFunc(of, func(g given) bool { return role != "" && g.role != role })
		if _, same := single(of); !same && rail > 0 {
			for i := range of {
				of[i] = of[i].of(rail)
			}
		}
		if v, ok := single(of); ok {
			all[name] = v
		}
	}
	return all
}

// valuesOf says what a cell's variables are on this rig; empty if they are unknown, or there are none. A
// change's values are in the question before it.
func (sh *Shared) valuesOf(c steps.Cell) string {
	all := Givens(sh.Plans[c.ID].values)
	told := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		told = append(told, name+" = "+ToldValues(all[name]))
	}
	return strings.Join(told, "; ")
}

// ToldValues is one value for all, or one a rail or node, or those of each role.
func ToldValues(of []given) string {
	if v, ok := single(of); ok {
		return cmp.Or(v, "(empty)")
	}
	lists := make([]string, 0, len(of))
	for _, g := range of {
		lists = append(lists, strings.Join(g.values, ", "))
	}
	if len(slices.Compact(slices.Clone(lists))) == 1 {
		return lists[0]
	}
	for i, g := range of {
		lists[i] = g.role + " " + lists[i]
	}
	return strings.Join(lists, " / ")
}
