package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// called is the command of a cell's run on the stage, worked out once a run and rail.
type called struct {
	cell string
	run  steps.RunID
	rail int
	text string
}

// command is what a cell's run calls, with the values in place of their names as far as anybody knows them.
func (m *Model) command(c steps.Cell) string {
	state, was := m.book.Cells[c.ID], m.stage.called
	if was.cell != c.ID || was.run != state.Run {
		was = called{}
	}
	rail := state.Rail
	if was.cell == c.ID && was.rail == rail {
		return was.text
	}
	text := command(c)
	if plan := m.plannedValues(c); text != "" && plan != nil {
		role := c.Roles[len(c.Roles)-1]
		known := values(plan, role.Name, rail)
		delete(known, "RUN") // a dry run's own
		text = valued(withArguments(text, role.Text(), known), known)
	}
	m.stage.called = called{c.ID, state.Run, rail, text}
	return text
}

var (
	chosen = lazyregexp.New(`^case \$([A-Z][A-Z0-9_]*) in$`)
	set    = lazyregexp.New(`^\s*(?:([^\s)]+)\)\s*)?set -- (.*?)(?:\s*;;)?$`)
)

// arguments stands in a command for those that its script has set.
const arguments = `"$@"`

// withArguments is a command with what its script sets as arguments, of a case the one that a value takes.
func withArguments(command, script string, values map[string]string) string {
	if !strings.Contains(command, arguments) {
		return command
	}
	given, variable, taken := "", "", false
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if m := chosen.Regexp().FindStringSubmatch(line); m != nil {
			variable, taken = m[1], false
		}
		m := set.Regexp().FindStringSubmatch(line)
		if m == nil || m[1] != "" && (taken || m[1] != "*" && m[1] != values[variable]) {
			continue
		}
		taken = m[1] != ""
		given = strings.ReplaceAll(m[2], arguments, given)
	}
	return strings.ReplaceAll(command, arguments, cmp.Or(given, "…"))
}

// A given is what a plan gives a variable in one role's script: rail by rail and node by node.
type given struct {
	role   string // "" where a cell has one
	values []string
	rails  []int // of each value, from 1; 0 where it is of no rail
}

// givens are all that a plan gives, by variable, in its roles' order. Values of several lines, such as programs, are no
// part of it.
func givens(plan []steps.PlannedValues) map[string][]given {
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

// A planned is what was planned last for a cell: it is planned again only when the rig, a parameter or a script has
// changed, and not with each frame.
type planned struct {
	version int
	values  []steps.PlannedValues
}

// plannedValues are those of running a cell now; empty where they are not known.
func (m *Model) plannedValues(c steps.Cell) []steps.PlannedValues {
	// What a change would undo is read from a file: a frame does not wait for that.
	if m.opts.Values == nil || c.Change.Any() || m.book.Rig.Probed.IsZero() {
		return nil
	}
	if p, ok := m.cache.plans[c.ID]; ok && p.version == m.book.PlanVersion() {
		return p.values
	}
	if m.cache.plans == nil {
		m.cache.plans = map[string]planned{}
	}
	p := planned{m.book.PlanVersion(), m.opts.Values(m.book, c)}
	m.cache.plans[c.ID] = p
	return p.values
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

// values are those that a plan gives a role's script; all roles' where it is "". What differs from
// rail to rail has the one of a rail, and none where that is 0.
func values(plan []steps.PlannedValues, role string, rail int) map[string]string {
	all := map[string]string{}
	for name, of := range givens(plan) {
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

// valuesOf tells what a cell's variables are on this rig; empty where nobody knows yet, or where it has
// none. A change's are in the question that comes before it.
func (m *Model) valuesOf(c steps.Cell) string {
	all := givens(m.plannedValues(c))
	told := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		told = append(told, name+" = "+toldValues(all[name]))
	}
	return strings.Join(told, "; ")
}

// toldValues is one value for all, or one a rail or node, or those of each role.
func toldValues(of []given) string {
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

var variable = lazyregexp.New(`\$\{?([A-Z][A-Z0-9_]*)\}?`)

// valued is a command with values in place of variables, and without the quotes around those that have none.
// It is for an audience to read, and no shell's.
func valued(command string, values map[string]string) string {
	words := strings.Fields(command)
	for i, word := range words {
		if strings.HasPrefix(word, `"$`) && strings.HasSuffix(word, `"`) {
			word = strings.Trim(word, `"`)
		}
		words[i] = ""
		next := variable.Regexp().FindStringSubmatchIndex
		for m := next(word); m != nil; m = next(word) {
			words[i] += word[:m[0]] + cmp.Or(values[word[m[2]:m[3]]], word[m[0]:m[1]])
			word = word[m[1]:]
		}
		words[i] += word
	}
	return strings.Join(words, " ")
}
