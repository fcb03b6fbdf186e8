package runbook

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pattern"
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
}

// Attributes are all of them. A cell with finds= or symptoms= is a check, an entry
// of the checklist.
func Attributes() []Attribute { return slices.Clone(attributeTable) }

var attributeTable = []Attribute{
	{Name: "cell", Value: "ID", Role: true, Doc: "the cell; the same as its heading's"},
	{Name: "role", Value: "NAME", Role: true, Doc: "needed where a cell has several scripts"},
	{Name: "on", Value: "here, peer or both", Role: true, Doc: "where it runs; here where it is missing"},
	{
		Name: "ready", Value: "port:N or line:REGEX", Role: true,
		Doc: "the next script may start once a TCP port listens (a number," +
			" or a variable like $PORT), or a line of output matches",
	},
	{Name: "root", Role: true, Doc: "this script runs as root"},

	{Name: "each", Value: "rail", Doc: "repeat the cell for every pair of rails"},
	{Name: "parse", Value: "NAME", Doc: "the parser of its output"},
	{
		Name: "judge", Value: "NAME",
		Doc: "the judge of its result; where it is missing every script has to end with status 0",
	},
	{Name: "counters", Doc: "count every rail's bytes around it"},
	{Name: "needs", Value: "A,B", Doc: "commands without which it is SKIPPED"},
	{Name: "limit", Value: "2m", Doc: "how long one script may take"},
	{Name: "stall", Value: "200s", Doc: "end it when nothing was printed for so long"},
	{Name: "together", Doc: "every script has to end by itself, soon after the first"},
	{Name: "rails", Value: "2 or halves", Doc: "it needs two pairs of rails; halves: one across the PCIe halves"},
	{Name: "unbonded", Doc: "refused while a bond holds a rail"},
	{Name: "change", Value: "A,B", Doc: "it changes the network: the variables that hold the interfaces"},
	{Name: "undoes", Value: "ID", Doc: "it takes back what that cell changed"},
	{Name: "with", Value: "A,B", Doc: "the services that railbench runs for it"},
	{Name: "asks", Doc: "the user confirms its scripts first: they change no network, and can't be taken back"},

	{Name: "finds", Value: "A,B", Check: true, Doc: "the simulated rig's faults that it has to see"},
	{Name: "symptoms", Value: "A; B", Check: true, Doc: "phrases that a user sees or pastes; * stands for anything"},
	{Name: "explains", Value: "A,B", Check: true, Doc: "the cells whose FAIL it may explain; * stands for anything"},
	{Name: "fix", Value: "ID", Check: true, Doc: "the cell that puts it right"},
	{Name: "measures", Check: true, Doc: "it moves data over the rails: it runs alone"},
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
	if language != "sh" && language != own {
		return "", nil, fmt.Errorf("a cell's script is sh or %s, not %q", own, language)
	}
	all, err = assignments(rest)
	for _, a := range all {
		if err == nil && !a.bare && a.value == "" {
			err = fmt.Errorf("%s= has no value", a.name)
		}
	}
	return language, all, err
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
		case seen[s.name]:
			r.wrong(at, "%s is there twice", s.name)
		case !attributeTable[i].Role && r.given[s.name] > 0:
			r.wrong(at, "%s is given on another script of the cell already", s.name)
		default:
			r.given[s.name], _ = r.place(at)
			if err := r.set(&role, s); err != nil {
				r.wrong(at, "%w", err)
			}
		}
		seen[s.name] = true
	}
	return role
}

// set gives the role, or the open cell, what a setting says.
func (r *reader) set(role *steps.Role, s setting) (err error) {
	c := r.cell
	switch s.name {
	case "cell":
		if s.value != c.ID {
			return fmt.Errorf("cell=%s under the heading of %q%s",
				s.value, c.ID, steps.DidYouMean(s.value, []string{c.ID}))
		}
	case "role":
		role.Name = s.value
	case "root":
		role.Root = true
	case "on":
		role.On, err = where(s.value)
	case "ready":
		role.Ready, err = readiness(s.value)
	case "each":
		if s.value != "rail" {
			return fmt.Errorf("each=%s is unknown%s", s.value, steps.DidYouMean(s.value, []string{"rail"}))
		}
		c.EachRail = true
	case "parse":
		c.Parser = s.value
	case "judge":
		c.Judge = s.value
	case "counters":
		c.Counters = true
	case "together":
		c.Together = true
	case "unbonded":
		c.Unbonded = true
	case "rails":
		if s.value != "2" && s.value != "halves" {
			return fmt.Errorf("rails=%s is unknown: 2 or halves", s.value)
		}
		c.Rails = s.value
	case "undoes":
		c.Change.Undoes = s.value
	case "needs":
		return list(s, ",", &c.Needs)
	case "change":
		return list(s, ",", &c.Change.Set)
	case "with":
		return list(s, ",", &c.With)
	case "asks":
		c.Asks = true
	case "measures":
		c.Check.Measures = true
	case "fix":
		c.Check.Fix = s.value
	case "finds":
		return list(s, ",", &c.Check.Finds)
	case "explains":
		return list(s, ",", &c.Check.Explains)
	case "symptoms":
		return list(s, ";", &c.Check.Symptoms)
	case "limit":
		return duration(s, &c.Limit)
	case "stall":
		return duration(s, &c.Stall)
	default:
		return fmt.Errorf("the attribute %q is read by nobody", s.name) // a line of the table without its case here
	}
	return err
}

// list reads A,B, or what else stands between them.
func list(s setting, between string, to *[]string) error {
	for item := range strings.SplitSeq(s.value, between) {
		if item = strings.TrimSpace(item); item == "" {
			return fmt.Errorf("%s=%s has an empty name", s.name, s.value)
		}
		*to = append(*to, item)
	}
	return nil
}

func duration(s setting, to *time.Duration) error {
	d, err := time.ParseDuration(s.value)
	if err != nil || d <= 0 {
		return fmt.Errorf("%s=%s is no duration like 90s or 2m", s.name, s.value)
	}
	*to = d
	return nil
}

func where(name string) (steps.Where, error) {
	all := []steps.Where{steps.OnHere, steps.OnPeer, steps.OnBoth}
	var names []string
	for _, w := range all {
		if w.String() == name {
			return w, nil
		}
		names = append(names, w.String())
	}
	return 0, fmt.Errorf("on=%s is unknown%s: here, peer or both", name, steps.DidYouMean(name, names))
}

var portForm = pattern.New(`^(\d{1,5}|\$[A-Za-z_]\w*)$`)

func readiness(value string) (steps.Ready, error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case "port":
		if !portForm.MatchString(rest) {
			return steps.Ready{}, fmt.Errorf("ready=%s: a port is a number or a variable like $PORT", value)
		}
		return steps.Ready{Port: rest}, nil
	case "line":
		if rest == "" {
			return steps.Ready{}, errors.New("ready=line: has no regular expression")
		}
		if _, err := regexp.Compile(rest); err != nil {
			return steps.Ready{}, fmt.Errorf("ready=%s: %w", value, err)
		}
		return steps.Ready{Line: rest}, nil
	}
	return steps.Ready{}, fmt.Errorf("ready=%s is unknown%s: port:N or line:REGEX",
		value, steps.DidYouMean(kind, []string{"port", "line"}))
}
