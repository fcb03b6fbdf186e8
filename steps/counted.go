package steps

import "fmt"

// Counted is a number with its noun: 1 cell, 3 cells.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
