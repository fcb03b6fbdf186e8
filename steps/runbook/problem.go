package runbook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Problem is what is wrong with a runbook, and where.
type Problem struct {
	File string
	// Line and Column count from 1, the column in bytes; 0 where it is about the
	// whole file, or the whole line.
	Line, Column int
	// Warning says that the runbook can be used all the same.
	Warning bool
	Text    string
}

// Error is FILE:LINE:COLUMN: TEXT, which editors jump to.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Column > 0 {
		fmt.Fprintf(&b, ":%d", p.Column)
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// plain is a text that is safe for a terminal: a report about a file can hold anything.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Errors are the problems that are not warnings.
func Errors(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p Problem) bool { return p.Warning })
}

// InOrder sorts the problems of documents: by document, and then by line.
func InOrder(docs []Document, all []Problem) {
	number := map[string]int{}
	for i, d := range docs {
		number[d.Name] = i
	}
	byLine(all)
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(number[a.File], number[b.File]) })
}

// byLine sorts the problems of one file.
func byLine(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
