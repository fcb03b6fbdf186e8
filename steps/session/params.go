package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
)

// Params are the parameters of the scripts, in the order in which they are shown:
// those that the families register, and those that a tutorial declares. One of both has
// the family's facts and the tutorial's default.
func Params(c steps.Catalog, t steps.Tutorial) []steps.Param {
	all := slices.Clone(c.Params)
	for _, p := range t.Params() {
		i := slices.IndexFunc(all, func(q steps.Param) bool { return q.Name == p.Name })
		if i < 0 {
			p.Does = "a parameter of this runbook"
			// Only its author knows what its scripts do with it.
			p.Program = true
			all = append(all, p)
			continue
		}
		value, err := all[i].Parse(p.Default)
		if err != nil {
			value = p.Default // it is reported when it is set
		}
		all[i].Default = value
	}
	return all
}

// CheckParam reads a value for a parameter of a cell, or of all where cell is empty,
// and gives it as the scripts read it. The error names what is wrong, and the nearest
// cell or parameter where there is none of that name.
func CheckParam(c steps.Catalog, t steps.Tutorial, cell, name, value string) (string, error) {
	table := Params(c, t)
	var names []string
	for _, p := range table {
		if p.Name != name {
			names = append(names, p.Name)
			continue
		}
		if cell != "" {
			one, ok := t.Cell(cell)
			if !ok {
				return "", fmt.Errorf("unknown cell %q%s", cell, steps.DidYouMean(cell, t.IDs()))
			}
			if !one.Reads(p) {
				return "", fmt.Errorf("%s reads no %s%s", cell, name, reading(one, table))
			}
		}
		return p.Parse(value)
	}
	near := steps.DidYouMean(name, names)
	if near == "" {
		near = ": railbench list --params shows those that exist"
	}
	return "", fmt.Errorf("unknown parameter %q%s", name, near)
}

// IsProgram reports whether a parameter's value is run.
func IsProgram(c steps.Catalog, t steps.Tutorial, name string) bool {
	return isProgram(Params(c, t), name)
}

func isProgram(table []steps.Param, name string) bool {
	return slices.ContainsFunc(table, func(p steps.Param) bool { return p.Name == name && p.Program })
}

// reading is the end of an error: what a cell does read.
func reading(c steps.Cell, table []steps.Param) string {
	var names []string
	for _, p := range table {
		if c.Reads(p) {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return ", and no other parameter"
	}
	return "; it reads " + strings.Join(names, ", ")
}

// effective are the parameters as one cell's scripts read them: the defaults, what
// was set for all, and what was set for the cell. One that is worked out where it is
// empty is left out then.
func effective(table []steps.Param, set steps.Settings, cell string) map[string]string {
	all := set.Of(cell)
	for _, p := range table {
		if _, ok := all[p.Name]; !ok {
			all[p.Name] = p.Default
		}
		if all[p.Name] == "" && p.Empty != "" {
			delete(all, p.Name)
		}
	}
	return all
}
