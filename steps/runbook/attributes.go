package runbook

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/expect"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// An Attribute is what a cell's fence can say.
type Attribute struct {
	Name string
	// Value is how its value is written; empty where it has none.
	Value string
	Doc   string
	// Role says that it is about one script, and not about the whole cell: what is
	// about the cell stands on any one of its fences.
	Role bool
	// Check says that it belongs to railbench's own checklist.
	Check bool
	// Many says that it may be there several times.
	Many bool

	set func(f fence, s setting) error
}

// A fence is what an attribute is about: a script, and the cell that has it.
type fence struct {
	role *steps.Role
	cell *steps.Cell
	// preambles are those that stand before it in the file.
	preambles map[string]preamble
}

// A preamble is what several scripts have in common.
type preamble struct {
	text string
	line int
	used bool
}

// Attributes are all of them. A cell with finds= is a check, an entry
// of the checklist.
func Attributes() []Attribute { return slices.Clone(attributeTable) }

var attributeTable = []Attribute{
	{Name: "cell", Value: "ID", Role: true, Doc: "the cell; the same as its heading's", set: sameCell},
	{
		Name: "role", Value: "NAME", Role: true,
		Doc: "needed where a cell has several scripts; A,B: two roles run it, one after the other, with on=A,B" +
			" and their names in $ROLE",
		set: word(func(f fence) *string { return &f.role.Name }),
	},
	{
		Name: "on", Value: "here, peer, both or all", Role: true,
		Doc: "where it runs; here where it is missing. all is for a change that every node of a rig gets, or none," +
			" and for what only looks at each of them",
		set: where,
	},
	{
		Name: "probe", Role: true,
		Doc: "railbench reads this one, after the others: its output is parsed and judged, in the log alone," +
			" and its script is folded on the screen",
		set: flag(func(f fence) *bool { return &f.role.Probe }),
	},
	{
		Name: "uses", Value: "A,B", Role: true, Doc: "the preambles that run before it, in the same shell",
		set: uses,
	},
	{
		Name: "interpreter", Value: "bash or python3", Role: true,
		Doc: "what runs it in place of sh; variables are in its environment, and preambles are its own",
		set: interpreter,
	},
	{
		Name: "ready", Value: "port:N or line:REGEX", Role: true,
		Doc: "the next script may start once a TCP port listens (a number," +
			" or a variable like $PORT), or a line of output matches",
		set: readiness,
	},
	{
		Name: "root", Role: true, Doc: "this script runs as root",
		set: flag(func(f fence) *bool { return &f.role.Root }),
	},

	{
		Name: "expect", Value: "TEXT", Role: true, Many: true,
		Doc: "a text, or /a regular expression/, that has to be in its output; with a ! before it, must not be;" +
			" may be there several times",
		set: func(f fence, s setting) error {
			f.role.Expects = append(f.role.Expects, s.value)
			_, err := expect.ParseText(s.value)
			return named("expect", err)
		},
	},
	{
		Name: "value", Value: "NAME SOURCE ...", Role: true, Many: true,
		Doc: "a number of its output, and where it has to be: NAME, /a regular expression/ with one group or .a.path[0]" +
			" into JSON, then *FACTOR, a unit, LEAST..MOST, warn LEAST..MOST and : TEXT, as far as needed; may be there " +
			"several times",
		set: func(f fence, s setting) error {
			f.role.Values = append(f.role.Values, s.value)
			_, err := expect.ParseValue(s.value)
			return named("value", err)
		},
	},

	{
		Name: "aside", Doc: "it runs by itself: what runs all cells, or all from one on, leaves it out",
		set: flag(func(f fence) *bool { return &f.cell.Aside }),
	},
	{
		Name: "pairs", Value: "A,B",
		Doc: "what railbench measures between every two nodes, in place of a script: a cell's bandwidth, and another's " +
			"latency",
		set: func(f fence, s setting) error {
			f.cell.Pairs = strings.Split(s.value, ",")
			return nil
		},
	},
	{Name: "each", Value: "rail", Doc: "repeat the cell for every pair of rails", set: eachRail},
	{
		Name: "parse", Value: "NAME", Doc: "the parser of its output",
		set: word(func(f fence) *string { return &f.cell.Parser }),
	},
	{
		Name: "judge", Value: "NAME",
		Doc: "the judge of its result; where it is missing every script has to end with status 0",
		set: word(func(f fence) *string { return &f.cell.Judge }),
	},
	{
		Name: "counters", Doc: "count every rail's bytes around it",
		set: flag(func(f fence) *bool { return &f.cell.Counters }),
	},
	{
		Name: "shows", Value: "REGEX",
		Doc: "the lines of a long output that are seen before it is opened; its last ones where it is missing",
		set: shows,
	},
	{
		Name: "needs", Value: "A,B", Doc: "commands without which it is SKIPPED, any that a node can have",
		set: needs,
	},
	{
		Name: "limit", Value: "2m", Doc: "how long one script may take",
		set: duration(func(f fence) *time.Duration { return &f.cell.Limit }),
	},
	{
		Name: "stall", Value: "200s",
		Doc: "end it when for so long nothing was printed, and its rails carried less than 1 Gb/s",
		set: duration(func(f fence) *time.Duration { return &f.cell.Stall }),
	},
	{
		Name: "together", Doc: "every script has to end by itself, soon after the first",
		set: flag(func(f fence) *bool { return &f.cell.Together }),
	},
	{
		Name: "rails", Value: "2, halves or all",
		Doc: "it needs two pairs of rails; halves: one across the PCIe halves; all: it takes every pair",
		set: twoRails,
	},
	{
		Name: "unbonded", Doc: "refused while a bond holds a rail",
		set: flag(func(f fence) *bool { return &f.cell.Unbonded }),
	},
	{
		Name: "inside", Doc: "it runs in the container that CONTAINER names (--container), where one is named",
		set: flag(func(f fence) *bool { return &f.cell.Inside }),
	},
	{
		Name: "change", Value: "A,B", Doc: "it changes the network: the variables that hold the interfaces",
		set: list(",", func(f fence) *[]string { return &f.cell.Change.Set }),
	},
	{
		Name: "undoes", Value: "ID", Doc: "it takes back what that cell changed",
		set: word(func(f fence) *string { return &f.cell.Change.Undoes }),
	},
	{
		Name: "tries",
		Doc: "the interfaces' managers make the change, which is taken back as soon as it was looked at; " +
			"the script role=back is how they forget it",
		set: flag(func(f fence) *bool { return &f.cell.Change.Tries }),
	},
	{
		Name: "with", Value: "A,B", Doc: "the services that railbench runs for it",
		set: list(",", func(f fence) *[]string { return &f.cell.With }),
	},
	{
		Name: "asks",
		Doc:  "the user confirms its scripts first: they change no network, and can't be taken back",
		set:  flag(func(f fence) *bool { return &f.cell.Asks }),
	},

	{
		Name: "finds", Value: "A,B", Check: true, Doc: "the simulated rig's faults that it has to see",
		set: list(",", func(f fence) *[]string { return &f.cell.Check.Finds }),
	},
	{
		Name: "explains", Value: "A,B", Check: true,
		Doc: "the cells whose FAIL, and the codes of causes that it may explain; * stands for anything",
		set: list(",", func(f fence) *[]string { return &f.cell.Check.Explains }),
	},
	{
		Name: "fix", Value: "ID", Check: true, Doc: "the cell that fixes it",
		set: word(func(f fence) *string { return &f.cell.Check.Fix }),
	},
	{
		Name: "measures", Check: true, Doc: "it moves data over the rails: it runs alone",
		set: flag(func(f fence) *bool { return &f.cell.Check.Measures }),
	},
	{
		Name: "everypair", Check: true,
		Doc: "it compares each two nodes of a rig, where others compare each with the next",
		set: flag(func(f fence) *bool { return &f.cell.Check.EveryPair }),
	},
}

func attributeNames() []string {
	var all []string
	for _, a := range attributeTable {
		all = append(all, a.Name)
	}
	return all
}

// A setting is NAME or NAME=VALUE of a fence.
type setting struct {
	name, value string
	bare        bool
}

// settings splits an info string. Its first word is the language.
func settings(info string) (language string, all []setting, err error) {
	language, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	if !slices.Contains(languages, language) {
		return "", nil, fmt.Errorf("a cell's script is %s, not %q", strings.Join(languages, ", "), language)
	}
	all, err = assignments(rest)
	for _, a := range all {
		if err == nil && !a.bare && a.value == "" {
			err = fmt.Errorf("%s= has no value", a.name)
		}
	}
	return language, all, err
}

// languages are the languages of a cell's scripts. byLanguage names the program that runs each language.
var languages = []string{"sh", "bash", "python", builtIn}

func byLanguage(language string) (interpreter string) {
	return map[string]string{"bash": "bash", "python": "python3"}[language]
}

const space = " \t\r\n"

// assignments reads NAME, NAME=VALUE and NAME="two words".
func assignments(rest string) (all []setting, err error) {
	for rest = strings.Trim(rest, space); rest != ""; rest = strings.Trim(rest, space) {
		i := strings.IndexAny(rest, "="+space)
		if i < 0 || rest[i] != '=' {
			if i < 0 {
				i = len(rest)
			}
			all = append(all, setting{name: rest[:i], bare: true})
			rest = rest[i:]
			continue
		}
		a := setting{name: rest[:i]}
		rest = rest[i+1:]
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				return all, fmt.Errorf("the value of %s= has no closing quote", a.name)
			}
			a.value, rest = rest[1:end+1], rest[end+2:]
			if rest != "" && !strings.Contains(space, rest[:1]) {
				return all, fmt.Errorf("%q stands right after the quoted value of %s=", rest, a.name)
			}
		} else {
			end := strings.IndexAny(rest, space)
			if end < 0 {
				end = len(rest)
			}
			a.value, rest = rest[:end], rest[end:]
		}
		all = append(all, a)
	}
	return all, nil
}

// notOf reports whether a setting of several roles is none of one of them.
func (s setting) notOf(role, roles int) bool {
	known := slices.IndexFunc(attributeTable, func(a Attribute) bool { return a.Name == s.name })
	// The last role is waited for by no one.
	last := role == roles-1
	return role > 0 && known >= 0 && !attributeTable[known].Role || last && s.name == "ready" ||
		!last && (s.name == "value" || s.name == "expect") // the last one's figures are the test's
}

// roles reads a fence's settings into the roles that run its script: several where role= and
// on= are lists. What is about the cell stands in it once.
func (r *reader) roles(at int, all []setting) []steps.Role {
	value := func(name string) string {
		for _, s := range all {
			if s.name == name {
				return s.value
			}
		}
		return ""
	}
	names, places := strings.Split(value("role"), ","), strings.Split(value("on"), ",")
	if len(names) == 1 && len(places) == 1 {
		return []steps.Role{r.role(at, all)}
	}
	if len(names) != len(places) {
		r.wrong(at, "role=%s on=%s: as many places as roles", value("role"), value("on"))
		return []steps.Role{{}}
	}
	var roles []steps.Role
	for i := range names {
		one := slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return s.notOf(i, len(names)) })
		for j := range one {
			switch one[j].name {
			case "role":
				one[j].value = strings.TrimSpace(names[i])
			case "on":
				one[j].value = strings.TrimSpace(places[i])
			}
		}
		role := r.role(at, one)
		role.Shared = i > 0
		roles = append(roles, role)
	}
	return roles
}

// role reads a fence's settings: those of the cell into the open cell.
func (r *reader) role(at int, all []setting) steps.Role {
	var role steps.Role
	seen := map[string]bool{}
	for _, s := range all {
		i := slices.IndexFunc(attributeTable, func(a Attribute) bool { return a.Name == s.name })
		switch {
		case i < 0:
			r.wrong(at, "the attribute %q is unknown%s", s.name, steps.DidYouMean(s.name, attributeNames()))
		case s.bare && attributeTable[i].Value != "":
			r.wrong(at, "%s needs a value: %s=…", s.name, s.name)
		case !s.bare && attributeTable[i].Value == "":
			r.wrong(at, "%s has no value", s.name)
		case seen[s.name] && !attributeTable[i].Many:
			r.wrong(at, "%s is there twice", s.name)
		case !attributeTable[i].Role && r.given[s.name] > 0:
			r.wrong(at, "%s is given on another script of the cell already", s.name)
		default:
			r.given[s.name], _ = r.position(at)
			if err := attributeTable[i].set(fence{&role, r.cell, r.preambles}, s); err != nil {
				r.wrong(at, "%w", err)
			}
		}
		seen[s.name] = true
	}
	return role
}

// The setters of values that are nothing but a value: to is where it goes.

func word(to func(fence) *string) func(fence, setting) error {
	return func(f fence, s setting) error {
		*to(f) = s.value
		return nil
	}
}

func shows(f fence, s setting) error {
	f.cell.Shows = s.value
	_, err := regexp.Compile(s.value)
	return named("shows", err)
}

func flag(to func(fence) *bool) func(fence, setting) error {
	return func(f fence, _ setting) error {
		*to(f) = true
		return nil
	}
}

// list reads A,B, or what else stands between them.
func list(between string, to func(fence) *[]string) func(fence, setting) error {
	return func(f fence, s setting) error {
		for item := range strings.SplitSeq(s.value, between) {
			if item = strings.TrimSpace(item); item == "" {
				return fmt.Errorf("%s=%s has an empty name", s.name, s.value)
			}
			*to(f) = append(*to(f), item)
		}
		return nil
	}
}

func named(attribute string, err error) error {
	if err != nil {
		return fmt.Errorf("%s=: %w", attribute, err)
	}
	return nil
}

func duration(to func(fence) *time.Duration) func(fence, setting) error {
	return func(f fence, s setting) error {
		d, err := time.ParseDuration(s.value)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s=%s is not a duration like 90s or 2m", s.name, s.value)
		}
		*to(f) = d
		return nil
	}
}

// sameCell holds a fence to its heading: one that was copied from another cell, and its
// name left as it was, would be that cell's to its reader.
func sameCell(f fence, s setting) error {
	if s.value != f.cell.ID {
		return fmt.Errorf("cell=%s under the heading of %q%s",
			s.value, f.cell.ID, steps.DidYouMean(s.value, []string{f.cell.ID}))
	}
	return nil
}

// uses puts preambles before a script. What is run by another interpreter can't be one of it.
func uses(f fence, s setting) error {
	var known []string
	for name := range f.preambles {
		known = append(known, name)
	}
	slices.Sort(known)
	for name := range strings.SplitSeq(s.value, ",") {
		name = strings.TrimSpace(name)
		p, ok := f.preambles[name]
		if !ok {
			return fmt.Errorf("no preamble %q stands before it in this file%s", name, steps.DidYouMean(name, known))
		}
		p.used = true
		f.preambles[name] = p
		f.role.Before += p.text
	}
	return nil
}

func interpreter(f fence, s setting) error {
	if !slices.Contains(steps.Interpreters(), s.value) {
		return fmt.Errorf("interpreter=%s is unknown: %s%s", s.value, strings.Join(steps.Interpreters(), " or "),
			steps.DidYouMean(s.value, steps.Interpreters()))
	}
	f.role.Interpreter = s.value
	return nil
}

// needs are names of commands: each is looked for on the nodes before anything runs.
func needs(f fence, s setting) error {
	for name := range strings.SplitSeq(s.value, ",") {
		if name = strings.TrimSpace(name); !steps.IsCommand(name) {
			return fmt.Errorf("needs=%s: %q is not the name of a command", s.value, name)
		}
		f.cell.Needs = append(f.cell.Needs, name)
	}
	return nil
}

func eachRail(f fence, s setting) error {
	if s.value != "rail" {
		return fmt.Errorf("each=%s is unknown%s", s.value, steps.DidYouMean(s.value, []string{"rail"}))
	}
	f.cell.EachRail = true
	return nil
}

func twoRails(f fence, s setting) error {
	if !slices.Contains([]string{"2", "halves", steps.AllRails}, s.value) {
		return fmt.Errorf("rails=%s is unknown: 2, halves or all", s.value)
	}
	f.cell.Rails = s.value
	return nil
}

func where(f fence, s setting) error {
	var names []string
	for _, w := range []steps.Where{steps.OnHere, steps.OnPeer, steps.OnBoth, steps.OnAll} {
		if w.String() == s.value {
			f.role.On = w
			return nil
		}
		names = append(names, w.String())
	}
	return fmt.Errorf("on=%s is unknown%s: here, peer, both or all", s.value, steps.DidYouMean(s.value, names))
}

var portForm = lazyregexp.New(`^(\d{1,5}|\$[A-Za-z_]\w*)$`)

// readiness reads what the next script waits for. A regular expression is compiled here,
// where its place in the file is known.
func readiness(f fence, s setting) error {
	kind, rest, _ := strings.Cut(s.value, ":")
	switch kind {
	case "port":
		if !portForm.Regexp().MatchString(rest) {
			return fmt.Errorf("ready=%s: a port is a number or a variable like $PORT", s.value)
		}
		f.role.Ready = steps.Ready{Port: rest}
	case "line":
		if rest == "" {
			return errors.New("ready=line: has no regular expression")
		}
		if _, err := regexp.Compile(rest); err != nil {
			return fmt.Errorf("ready=%s: %w", s.value, err)
		}
		f.role.Ready = steps.Ready{Line: rest}
	default:
		return fmt.Errorf("ready=%s is unknown%s: port:N or line:REGEX",
			s.value, steps.DidYouMean(kind, []string{"port", "line"}))
	}
	return nil
}
