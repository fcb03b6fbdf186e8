package steps

import (
	"fmt"
	"strings"
)

// Counted is a number with its noun: 1 cell, 3 cells.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Capital begins a sentence. It begins with a letter of ASCII.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Each is what is got of each; nil of none.
func Each[T, R any](all []T, of func(T) R) (got []R) {
	for _, one := range all {
		got = append(got, of(one))
	}
	return got
}
