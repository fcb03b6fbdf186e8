// Package lazyregexp is regular expressions that are compiled when they are first used:
// steps has some two hundred, and a start of railbench uses three. Nothing else lives
// here.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression for a variable of a package. It is a struct and not a
// function of sync.OnceValue because a function is allocated at every start, three times.
type Pattern struct {
	expr     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New makes a pattern: Regexp panics where expr is none, and the package's test finds that
// without a use.
func New(expr string) *Pattern { return &Pattern{expr: expr} }

// Regexp is the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expr) })
	return p.compiled
}
