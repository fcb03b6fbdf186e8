// Package pattern is regular expressions that are compiled when they are first used:
// steps has some two hundred, and a start of railbench uses three. Nothing else lives
// here.
package pattern

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression. Its methods are those of regexp.Regexp.
type Pattern struct {
	expr     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New makes a pattern for a variable of a package: it panics at its first use where
// expr is none, and the package's test finds that without a use.
func New(expr string) *Pattern { return &Pattern{expr: expr} }

func (p *Pattern) regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expr) })
	return p.compiled
}

// MatchString reports whether s holds a match.
func (p *Pattern) MatchString(s string) bool { return p.regexp().MatchString(s) }

// FindString is the text of the first match; empty where there is none.
func (p *Pattern) FindString(s string) string { return p.regexp().FindString(s) }

// FindStringIndex is where the first match is; nil where there is none.
func (p *Pattern) FindStringIndex(s string) []int { return p.regexp().FindStringIndex(s) }

// FindStringSubmatch is the first match and its groups; nil where there is none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex is where they are.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.regexp().FindStringSubmatchIndex(s)
}

// FindSubmatch is the same in bytes.
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.regexp().FindSubmatch(b) }

// FindSubmatchIndex is where they are.
func (p *Pattern) FindSubmatchIndex(b []byte) []int { return p.regexp().FindSubmatchIndex(b) }

// FindAllString is up to n matches, all where n is negative.
func (p *Pattern) FindAllString(s string, n int) []string { return p.regexp().FindAllString(s, n) }

// FindAllStringSubmatch is the same with their groups.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is where they are.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.regexp().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString puts repl, in which $1 is a group, in place of every match.
func (p *Pattern) ReplaceAllString(s, repl string) string {
	return p.regexp().ReplaceAllString(s, repl)
}

// ReplaceAllStringFunc puts what repl makes of it in place of every match.
func (p *Pattern) ReplaceAllStringFunc(s string, repl func(string) string) string {
	return p.regexp().ReplaceAllStringFunc(s, repl)
}

// Split gives what is between the matches, in n pieces at most, all where n is negative.
func (p *Pattern) Split(s string, n int) []string { return p.regexp().Split(s, n) }
