package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Planned script is what would run where: a dry run prints it.
type Planned struct {
	Cell   steps.Cell
	Role   steps.Role
	Node   int // its number
	Pair   int // index into the rig's pairs, -1 where the cell is not per rail
	Script runner.Script
	// Note says, in place of a script, why nothing would run.
	Note string
}

// Plan lists what running cells on a rig would execute, in order, each as if the
// ones before it had changed nothing. It is the same code that runs them.
func Plan(o Options, rig steps.Rig, cells []steps.Cell) []Planned {
	var all []Planned
	table := Params(o.Catalog, o.Tutorial)
	for _, c := range cells {
		if o.Limit > 0 {
			c.Limit = o.Limit
		}
		params := effective(table, o.settings(), c.ID)
		if why := o.refuses(c, params); why != "" {
			all = append(all, Planned{Cell: c, Pair: -1, Note: why})
			continue
		}
		if backs := plannedBacks(o, c); backs != nil {
			all = append(all, backs...)
			continue
		}
		if !c.ChangesAll() || len(rig.Nodes) <= len(steps.Ends) {
			all = append(all, planOver(o, rig, c, params)...)
			continue
		}
		all = append(all, planAll(o, rig, c, params)...)
	}
	return all
}

// planAll is what a change of all nodes would execute: over every link from a node to the next, and on each
// node all of that at once. A link that refuses is shown alone: no node is changed.
func planAll(o Options, rig steps.Rig, c steps.Cell, params map[string]string) (all []Planned) {
	type side struct {
		rig   steps.Rig
		given [2]map[string]string
	}
	var sides []side
	idle := ""
	_, next := rig.Cabled()
	for _, l := range next {
		over := o.over(rig, l)
		given, plan := planned(o, over, c, params)
		switch {
		case plan.Nothing != "":
			idle = or(idle, plan.Nothing)
		case plan.Refuse != "":
			return []Planned{{Cell: c, Pair: -1, Note: plan.Refuse}}
		default:
			sides = append(sides, side{over, given})
		}
	}
	if sides == nil {
		return []Planned{{Cell: c, Pair: -1, Note: idle}}
	}
	for _, n := range rig.Nodes {
		var texts, set []string
		for _, s := range sides {
			for _, e := range steps.Ends {
				if s.rig.At(e).No == n.No {
					values := vars(s.rig, e, -1, params)
					texts = append(texts, script(c, c.Roles[0], c.Limit, values, o.Programs, s.given[e]).Text())
					set = append(set, changeSet(c, values, s.given[e])...)
				}
			}
		}
		if texts != nil {
			all = append(all, Planned{Cell: c, Role: c.Roles[0], Node: n.No, Pair: -1, Script: runner.Script{
				Name: c.ID, Body: change.Take(managers(n), distinct(set)) + inTurn(distinct(texts)), Root: true,
			}})
		}
	}
	looks := c
	looks.Roles, looks.Change = c.Looks(), steps.Change{} // they take nothing out of anybody's hands
	for _, s := range sides {
		for _, p := range planScripts(o, s.rig, looks, params, s.given) {
			p.Cell = c
			all = append(all, p)
		}
	}
	return all
}

// inTurn is a script that runs several, up to the first that fails.
func inTurn(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	// A shell that is a part of a condition would not end where set -e says so.
	return "(\n" + strings.Join(texts, ")\ncode=$?; [ \"$code\" = 0 ] || exit \"$code\"\n(\n") + ")\n"
}

// distinct are texts in their order, each once.
func distinct(all []string) (once []string) {
	for _, text := range all {
		if text != "" && !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// planned is what would be planned over the rig's link under test, and what the scripts are given.
func planned(o Options, rig steps.Rig, c steps.Cell,
	params map[string]string,
) (given [2]map[string]string, plan steps.Plan) {
	given = [2]map[string]string{{"RUN": plannedRun}, {"RUN": plannedRun}}
	for _, name := range c.With {
		if service, ok := o.Services[name]; ok {
			for _, e := range steps.Ends {
				maps.Copy(given[e], service.Plan(Request{Run: plannedRun, Rig: rig, Params: params}))
			}
		}
	}
	plan, _ = o.plans(c, rig, params)
	for _, e := range steps.Ends {
		maps.Copy(given[e], plan.Vars[e])
	}
	return given, plan
}

// planOver is what a cell would execute over the rig's link under test.
func planOver(o Options, rig steps.Rig, c steps.Cell, params map[string]string) []Planned {
	given, plan := planned(o, rig, c, params)
	if why := or(plan.Nothing, plan.Refuse); why != "" {
		return []Planned{{Cell: c, Pair: -1, Note: why}}
	}
	return planScripts(o, rig, c, params, given)
}

// planScripts are the scripts of a cell's roles.
func planScripts(o Options, rig steps.Rig, c steps.Cell, params map[string]string,
	given [2]map[string]string,
) (all []Planned) {
	pairs := []int{-1}
	if c.EachRail {
		pairs = pairs[:0]
		for i := range rig.Pairs {
			pairs = append(pairs, i)
		}
	}
	for _, pair := range pairs {
		for _, role := range c.Roles {
			if role.Name == steps.RoleBack && c.Change.Tries {
				continue
			}
			for _, e := range role.On.Ends() {
				values := vars(rig, e, pair, params)
				s := script(c, role, c.Limit, values, o.Programs, given[e])
				all = append(all, Planned{
					Cell: c, Role: role, Node: rig.At(e).No, Pair: pair, Script: letGo(s, c, role, rig.At(e), values, given[e]),
				})
			}
		}
	}
	return all
}

// letGo is a script with what runs before it where it is a change: what takes its interfaces
// out of their managers' hands.
func letGo(s runner.Script, c steps.Cell, role steps.Role, n steps.Node, values,
	given map[string]string,
) runner.Script {
	if !c.Change.Any() || c.Change.Tries || role.Name != c.Roles[0].Name {
		return s
	}
	if take := change.Take(managers(n), changeSet(c, values, given)); take != "" {
		s.Body, s.Vars = take+s.Text(), nil
	}
	return s
}

// changeSet are the interfaces of a change, which its variables hold: those that were given win.
func changeSet(c steps.Cell, values, given map[string]string) (set []string) {
	maps.Copy(values, given)
	for _, name := range c.Change.Set {
		set = append(set, strings.Fields(values[name])...)
	}
	return set
}

// managers are a node's as it was looked at.
func managers(n steps.Node) change.Managers {
	m := change.Managers{Links: map[string][]steps.Manager{}}
	for _, d := range n.Netdevs {
		m.Links[d.Name] = d.Managers
	}
	return m
}

// refuses says why a cell's scripts are not run whatever the rig is like; empty where
// they may be.
func (o Options) refuses(c steps.Cell, params map[string]string) string {
	if o.Trust != nil && !o.Trust.Trusted(c) {
		return untrusted
	}
	if o.Trust != nil {
		for _, p := range o.values(c, params) {
			if !o.Trust.TrustedProgram(p.Name, p.Default) {
				return fmt.Sprintf(untrustedValue, sanitize.Line(p.Name), sanitize.Line(p.Default))
			}
		}
	}
	return hidden(c)
}

// values are the parameters of a runbook's own that a cell reads, with the value that each has:
// what a script does with one, only its author knows. One that is a family's is as that
// allows, and needs no trust then.
func (o Options) values(c steps.Cell, params map[string]string) (all []steps.Param) {
	table := Params(o.Catalog, o.Tutorial)
	for _, p := range o.Tutorial.Params() {
		value, ok := params[p.Name]
		if !ok || !c.Reads(p) {
			continue
		}
		i := slices.IndexFunc(table, func(q steps.Param) bool { return q.Name == p.Name })
		if i >= 0 && !table[i].Program {
			if read, err := table[i].Parse(value); err == nil && read == value {
				continue
			}
		}
		p.Default = value
		all = append(all, p)
	}
	return all
}

// hidden says why a cell's scripts are not run where what is shown of one would not be
// what runs; empty where every character of them can be seen.
func hidden(c steps.Cell) string {
	for _, role := range c.Roles {
		if role.Interpreter != "" && !slices.Contains(steps.Interpreters(), role.Interpreter) {
			return fmt.Sprintf("%q cannot run scripts here. Use %s, or the shell",
				sanitize.Line(role.Interpreter), strings.Join(steps.Interpreters(), " and "))
		}
		text := role.Text()
		if at, char := runner.Deceives(text); at >= 0 {
			return fmt.Sprintf("line %d of its script has an invisible or look-alike character (%s), so the shown script "+
				"differs from what would run. Use printf for it",
				1+strings.Count(text[:at], "\n"), unseen(char))
		}
	}
	return ""
}

// unseen names a character that is not to be seen.
func unseen(c string) string {
	if r, n := utf8.DecodeRuneInString(c); n > 1 && !runner.Hidden(r) {
		return fmt.Sprintf("%U", r)
	}
	return sanitize.Line(c)
}

// plannedBacks are the rollbacks that a cell would run in place of its script.
func plannedBacks(o Options, c steps.Cell) (all []Planned) {
	if c.Change.Undoes == "" || o.Journal == nil {
		return nil
	}
	entries, _ := o.Journal.Entries() // what cannot be read is reported when the cell runs
	for _, entry := range slices.Backward(entries) {
		for _, p := range entry.Nodes {
			if i, ok := nodeOf(o, nil, p); ok {
				all = append(all, Planned{
					Cell: c, Role: c.Roles[0], Node: i, Pair: -1, Script: runner.Script{Name: c.ID, Body: p.Back, Root: true},
				})
			}
		}
		if entry.Cell == c.Change.Undoes && all != nil {
			return all
		}
	}
	if c.Change.Undoes == steps.Everything {
		return all
	}
	return nil
}
