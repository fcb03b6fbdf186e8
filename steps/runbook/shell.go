package runbook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// Scripts says what can be known to be wrong with the scripts of documents without running them: those that no POSIX
// shell reads, and, as warnings, variables that no one sets and what has no effect. The documents are the parts of t.
func Scripts(docs []Document, t steps.Tutorial, k Known) []Problem {
	var all []Problem
	var texts []string
	declared := map[string]bool{}
	for _, p := range t.Params() {
		declared[p.Name] = true
	}
	for _, d := range docs {
		var found []Problem
		for _, c := range k.Checks {
			if line := d.headings[c.ID]; line > 0 {
				found = append(found, d.warning(line, 0,
					"the id %q is that of a check: beside this runbook the checklist is without it", c.ID))
			}
		}
		for _, c := range d.Part.Cells {
			v := known{k: k, cell: c, params: declared}
			found = append(found, d.useless(c, k)...)
			for i, role := range c.Roles {
				texts = append(texts, role.Text()+" "+role.Ready.Port+" "+strings.Join(role.Values, " "))
				if i < len(d.scripts[c.ID]) {
					found = append(found, d.script(d.scripts[c.ID][i], role, v)...)
				}
			}
			if c.Change.Undoes == steps.Everything {
				continue // it changes what was changed before
			}
			for _, name := range c.Change.Set {
				if why, _ := v.unset(name, nil); why != "" {
					found = append(found, d.warning(d.given[c.ID]["change"], 0, "change=%s: %s", name, why))
				}
			}
		}
		all = append(all, found...)
	}
	for _, d := range docs {
		all = append(all, d.unread(texts, k)...)
	}
	InOrder(docs, all)
	return all
}

// unread warns of what no script reads; texts are those of all scripts.
func (d Document) unread(texts []string, k Known) (all []Problem) {
	for name, p := range d.preambles {
		if !p.used {
			all = append(all, d.warning(p.line, 0, "no script has uses=%s", name))
		}
	}
	for _, p := range d.Part.Params {
		read := func(text string) bool { return steps.Names(text, p.Name) }
		if _, own := k.param(p.Name); !own && !slices.ContainsFunc(texts, read) {
			all = append(all, d.warning(d.params[p.Name], 0, "no script reads the parameter %s", p.Name))
		}
	}
	return all
}

func (d Document) warning(line, column int, format string, args ...any) Problem {
	p := d.problem(line, format, args...)
	p.Column, p.Warning = column, true
	return p
}

// useless are attributes of a cell without an effect.
func (d Document) useless(c steps.Cell, k Known) (all []Problem) {
	for _, need := range c.Needs {
		if len(need) <= 4 || slices.Contains(k.Tools, need) { // a shorter name is near to too many
			continue
		}
		if near := steps.DidYouMean(need, k.Tools); near != "" {
			all = append(all, d.warning(d.given[c.ID]["needs"], 0, "needs=%s%s", need, near))
		}
	}
	if reads := k.Reads[c.Judge]; reads != nil && !slices.Contains(reads, "") && !slices.Contains(reads, c.Parser) {
		all = append(all, d.warning(d.given[c.ID]["judge"], 0, "judge=%s reads what parse=%s gives",
			c.Judge, strings.Join(reads, " or parse=")))
	}
	for _, a := range attributeTable {
		if line := d.given[c.ID][a.Name]; a.Check && line > 0 {
			all = append(all, d.warning(line, 0,
				"%s is for railbench's own checklist, which no check of another runbook is in", a.Name))
		}
	}
	return all
}

// readyUnset says why the variable of a role's port is not set, if it has one.
func readyUnset(role steps.Role, v known) (name, why string) {
	name, ok := strings.CutPrefix(role.Ready.Port, "$")
	if ok {
		why, _ = v.unset(name, nil)
	}
	return name, why
}

// reviewed says what is wrong with a call of a command; empty where nothing is.
func reviewed(call *syntax.CallExpr, role steps.Role) string {
	if len(call.Args) == 0 {
		return ""
	}
	switch word := call.Args[0].Lit(); {
	case word == "eval":
		return "what eval reads cannot be reviewed before it runs: the script gets every variable but programs and RUN"
	case role.Interpreter == "" && slices.Contains(bashWords, word):
		return word + " is bash's: the sh of a node may not know it"
	}
	return ""
}

// script looks at one script.
func (d Document) script(b block, role steps.Role, v known) (all []Problem) {
	at := func(p syntax.Pos) (line, column int) { return d.inScript(b, p) }
	if name, why := readyUnset(role, v); why != "" {
		line, _ := d.position(b.info)
		all = append(all, d.warning(line, 0, "ready=port:$%s: %s", name, why))
	}
	if role.Interpreter != "" && role.Interpreter != "bash" {
		return all
	}
	shell := "POSIX shell"
	variant := syntax.LangPOSIX
	if role.Interpreter == "bash" {
		shell, variant = "bash", syntax.LangBash
	}
	parse := func(text string) (*syntax.File, error) {
		return syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), "")
	}
	file, err := parse(role.Script)
	if err != nil {
		pos, why := complaint(err)
		p := d.problem(0, "no %s reads the script: %s", shell, why)
		p.Line, p.Column = at(pos)
		return append(all, p)
	}
	sets, others := assigned(file)
	before, err := parse(role.Before)
	if err != nil {
		_, why := complaint(err)
		line, _ := d.position(b.info)
		return append(all, d.problem(line, "no %s reads what stands before the script: %s", shell, why))
	}
	more, any := assigned(before)
	maps.Copy(sets, more)
	others = others || any
	told := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if why := reviewed(n, role); why != "" {
				line, column := at(n.Pos())
				all = append(all, d.warning(line, column, "%s", why))
			}
		case *syntax.ParamExp:
			if n.Param == nil || told[n.Param.Value] || !variableForm.Regexp().MatchString(n.Param.Value) {
				return true
			}
			why, near := v.unset(n.Param.Value, sets)
			// Where another file, or a text, is read as script, names that are near to
			// no other come from there.
			if why == "" || others && !near {
				return true
			}
			told[n.Param.Value] = true
			line, column := at(n.Pos())
			all = append(all, d.warning(line, column, "the script reads $%s: %s", n.Param.Value, why))
		}
		return true
	})
	return all
}

var variableForm = lazyregexp.New(`^[A-Za-z_]\w*$`)

// bashWords are commands that bash has and other shells don't.
var bashWords = []string{
	"[[", "((", "source", "declare", "typeset",
	"let", "shopt", "pushd", "popd", "mapfile", "readarray", "function",
}

// inScript is the line and the column in the file of a place in a script.
func (d Document) inScript(b block, p syntax.Pos) (line, column int) {
	i := int(p.Line()) - 1
	if !p.IsValid() || i < 0 {
		line, _ = d.position(b.info)
		return line, 0
	}
	// What is missing at the end is missing behind the last line.
	if i >= len(b.lines) {
		line, _ = d.position(max(b.from, b.to-1))
		return line, 0
	}
	line, column = d.position(b.lines[i])
	return line, column + int(p.Col()) - 1
}

// complaint is what the shell's parser says, and where.
func complaint(err error) (syntax.Pos, string) {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return e.Pos, e.Text
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return e.Pos, e.Feature + ": POSIX sh has none"
	}
	return syntax.Pos{}, err.Error()
}

// assigned are the variables that a script sets itself, or asks whether they are
// set. others says that it may set any: it reads another file as script.
func assigned(file *syntax.File) (sets map[string]bool, others bool) {
	sets = map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				sets[n.Name.Value] = true
			}
		case *syntax.WordIter:
			sets[n.Name.Value] = true
		case *syntax.ParamExp:
			// ${NAME:-default} and its like.
			if n.Exp != nil && n.Param != nil && slices.Contains(guards, n.Exp.Op) {
				sets[n.Param.Value] = true
			}
		case *syntax.BinaryArithm:
			if w, ok := n.X.(*syntax.Word); ok && assigns.Regexp().MatchString(n.Op.String()) {
				sets[w.Lit()] = true
			}
		case *syntax.CallExpr:
			names, any := setBy(n)
			for _, name := range names {
				sets[name] = true
			}
			others = others || any
		}
		return true
	})
	return sets, others
}

// setBy are the variables that a command sets; any says that no one can say which.
func setBy(c *syntax.CallExpr) (names []string, any bool) {
	if len(c.Args) == 0 {
		return nil, false
	}
	switch c.Args[0].Lit() {
	case ".", "source", "eval":
		return nil, true
	case "read", "export", "readonly", "local", "getopts":
		for _, a := range c.Args[1:] {
			names = append(names, leadingName.Regexp().FindString(literal(a)))
		}
	}
	return names, false
}

// guards are the ways to read a variable that may not be set.
var guards = []syntax.ParExpOperator{
	syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
	syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
}

// assigns are = += <<= and the like, and no comparisons.
var assigns = lazyregexp.New(`^([-+*/%&|^]|<<|>>)?=$`)

var leadingName = lazyregexp.New(`^[A-Za-z_]\w*`)

// literal is how a word begins, up to what is expanded.
func literal(w *syntax.Word) string {
	if len(w.Parts) == 0 {
		return ""
	}
	if l, ok := w.Parts[0].(*syntax.Lit); ok {
		return l.Value
	}
	return ""
}

// known are the variables of one cell.
type known struct {
	k      Known
	cell   steps.Cell
	params map[string]bool // that the runbook declares
}

var railNumber = lazyregexp.New(`^((?:PEER_)?RAIL)[1-9]\d*_`)

// unset says why a variable has no value; empty where it has one. sets are those
// that the script gives one itself. near says that it names another variable that may be meant.
func (v known) unset(name string, sets map[string]bool) (why string, near bool) {
	has := v.k.Variables(v.cell)
	like := railNumber.Regexp().ReplaceAllString(name, "${1}1_") // however many rails there are
	if sets[name] || v.params[name] || ofShell(name) || slices.Contains(has, like) {
		return "", false
	}
	with := func(c steps.Cell) bool { return slices.Contains(v.k.Variables(c), like) }
	each := v.cell
	each.EachRail = true
	if with(each) {
		return "it is set in a cell with each=rail only", false
	}
	for _, service := range v.k.Services {
		if c := v.cell; with(steps.Cell{EachRail: c.EachRail, With: []string{service}}) {
			return fmt.Sprintf("it is set in a cell with with=%s only", service), false
		}
	}
	for _, judge := range names(v.k.Catalog.Plans) {
		if with(steps.Cell{Judge: judge}) {
			return fmt.Sprintf("it is set in a cell with judge=%s only", judge), false
		}
	}
	others := slices.Concat(has, names(v.params), names(sets))
	slices.Sort(others)
	nearest := steps.DidYouMean(name, others)
	return "it is never set" + nearest, nearest != ""
}
