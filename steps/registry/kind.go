// Package registry is what the cells' families have in common: what each of them
// registers, and how a judge says what it found.
//
// A family is a folder of steps/family or steps/checks. Its Kind lists the parsers and
// judges that a fence can name, with the type of what passes between them, the planners
// of its changes, its parameters and its tools. steps/catalog puts all of them together.
//
// A judge is pure: a cell and a result go in, a verdict comes out. All of them hold to
// this: PASS only where every role ended with status 0, the output was read completely,
// the counters make sense and the threshold is met. Whatever timed out, could not be
// reached, did not parse or was not counted is INCONCLUSIVE, and says what happened. How
// a tool's text is read is parse's, and how a node is looked at is probe's.
package registry

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// A Kind is what one family registers. The maps' keys are the names that a fence has
// after parse=, judge= and, in Own, as its own cell.
type Kind struct {
	Parsers map[string]Parser
	Judges  map[string]Judge
	// Plans, by judge, are of the cells that change something.
	Plans map[string]steps.Planner
	// Live, by parser, make a table of what a role has printed so far.
	Live map[string]func(stdout string) (t steps.Table, ok bool)
	Own  map[string]func(steps.History) steps.Verdict
	// Params are the parameters of the family's scripts, and Commands what they call.
	Params   []steps.Param
	Commands []steps.Command
	// Tools are those whose output people save and hand around.
	Tools []parse.Tool
	// Figures, by judge, are what its figures are of, for the summary and others to read.
	Figures map[string][]steps.Measure
}

// A Parser reads a role's output, as a value of one type.
type Parser struct {
	read  steps.Parser
	gives reflect.Type
}

// Reads makes a Parser of a function of one text. Tools mix their streams, and a failed
// one says why on either: both are read.
func Reads[T any](read func(string) (T, error)) Parser {
	return Parser{gives: reflect.TypeFor[T](), read: func(stdout, stderr string) (any, error) {
		text := stdout
		if stderr != "" {
			text = strings.TrimRight(stdout, "\n") + "\n" + stderr
		}
		return read(text)
	}}
}

// A Judge says what a result means.
type Judge struct {
	judge steps.Judge
	takes reflect.Type // nil where it looks at no parser's value
}

// Takes makes a Judge of one that asks for a parser's values of type T.
func Takes[T any](judge steps.Judge) Judge {
	return Judge{judge: judge, takes: reflect.TypeFor[T]()}
}

// Bare makes a Judge of one that no parser has to read for: it looks at exits, the rig
// and the text alone.
func Bare(judge steps.Judge) Judge { return Judge{judge: judge} }

// Base is the Kind of cells that need no family's knowledge: the parser of lines
// "name: value", and the judge of a cell that names none.
func Base() Kind {
	return Kind{
		Parsers: map[string]Parser{"facts": Reads(parse.Facts)},
		Judges:  map[string]Judge{"": Bare(ExitStatus), "exit-status": Bare(ExitStatus)},
	}
}

// Commands are those that one package brings, and that are looked for on every node.
func Commands(pkg string, names ...string) []steps.Command {
	var all []steps.Command
	for _, name := range names {
		all = append(all, steps.Command{Name: name, Package: pkg, Probed: true})
	}
	return all
}

// Versioned are those of one package, of which the first prints its version when it is
// called with version.
func Versioned(pkg, version string, names ...string) []steps.Command {
	all := Commands(pkg, names...)
	all[0].Version = version
	return all
}

// Others are those that a package brings, too, and that are named where one is missing.
func Others(pkg string, names ...string) []steps.Command {
	all := Commands(pkg, names...)
	for i := range all {
		all[i].Probed = false
	}
	return all
}

// Merge puts families together to what a session takes. Two that register one name are
// an error of the program, and a panic.
func Merge(kinds ...Kind) steps.Catalog {
	c := steps.Catalog{
		Parsers: map[string]steps.Parser{}, Judges: map[string]steps.Judge{}, Plans: map[string]steps.Planner{},
		Live: map[string]func(string) (steps.Table, bool){}, Own: map[string]func(steps.History) steps.Verdict{},
		Figures: map[string][]steps.Measure{},
	}
	params, commands := map[string]steps.Param{}, map[string]steps.Command{}
	tools := map[string]string{}
	gives, takes := map[string]reflect.Type{}, map[string]reflect.Type{}
	for _, k := range kinds {
		for name, p := range k.Parsers {
			put(c.Parsers, name, p.read)
			gives[name] = p.gives
		}
		for name, j := range k.Judges {
			put(c.Judges, name, j.judge)
			takes[name] = j.takes
		}
		putAll(c.Plans, k.Plans)
		putAll(c.Live, k.Live)
		putAll(c.Own, k.Own)
		putAll(c.Figures, k.Figures)
		for _, p := range k.Params {
			put(params, p.Name, p)
			c.Params = append(c.Params, p)
		}
		for _, p := range k.Commands {
			put(commands, p.Name, p)
			c.Commands = append(c.Commands, p)
		}
		for _, t := range k.Tools {
			for _, name := range append([]string{t.Name}, t.Also...) {
				put(tools, name, t.Name)
			}
			c.Tools = append(c.Tools, t)
		}
	}
	c.Fits = func(parser, judge string) bool {
		wants := takes[judge]
		return wants == nil || gives[parser] == wants
	}
	return c
}

func put[V any](m map[string]V, name string, v V) {
	if _, twice := m[name]; twice {
		panic(fmt.Sprintf("two families register %q", name))
	}
	m[name] = v
}

func putAll[V any](m, more map[string]V) {
	for name, v := range more {
		put(m, name, v)
	}
}
