package host

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// The interpreter makes a regular expression of each pattern of a case each time that it comes
// there, which in a loop over lines is most of what a script takes. So
//
//	case $line in a*) X ;; "$1:" | b) Y ;; *) Z ;; esac
//
// is turned into
//
//	if @case 'a*' "$line"; then X; elif @case '?|b' "$line" "$1"; then Y; else Z; fi
//
// where @case keeps the expressions. A case whose word does something when it is looked at, whose
// patterns are made of more than texts and quoted variables, or that asks for the status of what was
// before it, stays as it is.
const (
	caseOr    = "\x1f" // between the patterns of one item
	caseValue = "\x1e" // stands for the next argument, taken literally
)

// quickCase gives what runs in the place of a case; nil where it stays.
func quickCase(c *syntax.CaseClause) syntax.Command {
	of := quotedWord(c.Word)
	if of == nil || len(c.Items) == 0 || asksForStatus(c.Items) {
		return nil
	}
	var next *syntax.IfClause
	for _, item := range slices.Backward(c.Items) {
		args, ok := caseArgs(item.Patterns, of)
		if !ok || item.Op != syntax.Break && item.Op != 0 {
			return nil
		}
		then := item.Stmts
		if len(then) == 0 {
			then = []*syntax.Stmt{command("true")}
		}
		next = &syntax.IfClause{Cond: []*syntax.Stmt{simple(&syntax.CallExpr{Args: args})}, Then: then, Else: next}
	}
	return next
}

// caseArgs are the words of @case for the patterns of an item.
func caseArgs(patterns []*syntax.Word, of *syntax.Word) ([]*syntax.Word, bool) {
	var all []string
	var values []*syntax.Word
	for _, p := range patterns {
		var text strings.Builder
		for _, part := range p.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				if strings.ContainsAny(part.Value, "\\~(") {
					return nil, false
				}
				text.WriteString(part.Value)
			case *syntax.SglQuoted:
				if part.Dollar {
					return nil, false
				}
				text.WriteString(pattern.QuoteMeta(part.Value, 0))
			case *syntax.DblQuoted:
				quoted, ok := caseQuoted(part, &text)
				if !ok {
					return nil, false
				}
				values = append(values, quoted...)
			default:
				return nil, false
			}
		}
		all = append(all, text.String())
	}
	quoted := &syntax.SglQuoted{Value: strings.Join(all, caseOr)}
	return append([]*syntax.Word{word(lit("@case")), word(quoted), of}, values...), true
}

// caseQuoted adds what stands in double quotes to a pattern, and gives the values that are in it.
func caseQuoted(q *syntax.DblQuoted, text *strings.Builder) (values []*syntax.Word, ok bool) {
	for _, part := range q.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Contains(part.Value, "\\") {
				return nil, false
			}
			text.WriteString(pattern.QuoteMeta(part.Value, 0))
		case *syntax.ParamExp:
			if !plainValue(part) {
				return nil, false
			}
			text.WriteString(caseValue)
			values = append(values, word(&syntax.DblQuoted{Parts: []syntax.WordPart{part}}))
		default:
			return nil, false
		}
	}
	return values, true
}

// quotedWord is a case's word as one argument; nil where looking at it twice is not the same as once.
func quotedWord(w *syntax.Word) *syntax.Word {
	if w == nil {
		return nil
	}
	q := &syntax.DblQuoted{}
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "\\~\"`$!") {
				return nil
			}
			q.Parts = append(q.Parts, part)
		case *syntax.ParamExp:
			if !plainValue(part) {
				return nil
			}
			q.Parts = append(q.Parts, braced(part))
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				switch inner := inner.(type) {
				case *syntax.Lit:
					q.Parts = append(q.Parts, inner)
				case *syntax.ParamExp:
					if !plainValue(inner) {
						return nil
					}
					q.Parts = append(q.Parts, braced(inner))
				default:
					return nil
				}
			}
		default:
			return nil
		}
	}
	return word(q)
}

// braced is ${name} of $name: what stands behind it now need not have stood there.
func braced(p *syntax.ParamExp) *syntax.ParamExp {
	b := *p
	b.Short = false
	return &b
}

// plainValue reports whether a variable's value can be looked at as often as one likes: it sets
// nothing, runs nothing, and is not the status of what was before.
func plainValue(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value != "?" && p.Param.Value != "@" && p.Param.Value != "*" && !p.Excl &&
		!p.Length && !p.Width &&
		p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
}

// asksForStatus reports whether what an item runs may look at the status from before the case.
func asksForStatus(items []*syntax.CaseItem) (asks bool) {
	for _, item := range items {
		for _, st := range item.Stmts {
			syntax.Walk(st, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.ParamExp:
					asks = asks || n.Param != nil && n.Param.Value == "?"
				case *syntax.CallExpr:
					if len(n.Args) == 1 {
						name := n.Args[0].Lit()
						asks = asks || name == "return" || name == "exit"
					}
				}
				return !asks
			})
		}
	}
	return asks
}

// What is kept of regular expressions, and of what they match; of long lines there is too much to keep.
var (
	compiled = memo[string, *regexp.Regexp]{most: 4096}
	matched  = memo[matching, bool]{most: 1 << 15}
)

const longLine = 200

type matching struct {
	form *regexp.Regexp
	line string
}

// Compiled is regexp.Compile for what nodes look for again and again.
func Compiled(expr string) (*regexp.Regexp, error) {
	return compiled.get(expr, func() (*regexp.Regexp, error) { return regexp.Compile(expr) })
}

// Matches is MatchString for an expression that is Compiled: counters that stay and names of
// interfaces are the same lines each time, and most expressions cost more than to look that up.
func Matches(form *regexp.Regexp, line string) bool {
	if len(line) > longLine {
		return form.MatchString(line)
	}
	if m, ok := matched.find(matching{form, line}); ok {
		return m
	}
	m := form.MatchString(line)
	matched.put(matching{form, strings.Clone(line)}, m) // it may be part of a long text
	return m
}

// caseMatches is @case: it reports whether one of an item's patterns fits the word.
func caseMatches(args []string) bool {
	if len(args) < 2 {
		return false
	}
	text, values := args[1], args[2:]
	for one := range strings.SplitSeq(args[0], caseOr) {
		var p strings.Builder
		for i, piece := range strings.Split(one, caseValue) {
			if i > 0 && len(values) > 0 {
				p.WriteString(pattern.QuoteMeta(values[0], 0))
				values = values[1:]
			}
			p.WriteString(piece)
		}
		if p.String() == "*" {
			return true
		}
		if fits(p.String(), text) {
			return true
		}
	}
	return false
}

// fits does what the interpreter does, which takes a malformed pattern for one that fits nothing.
func fits(pat, text string) bool {
	form, err := patterns.get(pat, func() (*regexp.Regexp, error) {
		expr, err := pattern.Regexp(pat, pattern.EntireString|pattern.ExtendedOperators)
		if err != nil {
			return nil, err
		}
		return Compiled(expr)
	})
	return err == nil && Matches(form, text)
}

// patterns are those of cases, as expressions.
var patterns = memo[string, *regexp.Regexp]{most: 4096}
