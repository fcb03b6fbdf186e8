// Package strictnum reads the numbers that tools and files of the kernel print: decimal
// digits, and nothing else. What a number is of is its reader's.
//
// Go's own readers take more than any tool writes: 0x1p10, 1_000, +5, inf, nan. One of these in a tool's text is not
// a figure but a sign that it is damaged, or another user's.
package strictnum

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Number reads a finite number that is not negative: digits, and where there is a point,
// digits behind it. Tools print inf and nan where a duration was zero, and a negative rate
// where a counter went backwards: none of that is a figure.
func Number(s string) (float64, bool) {
	whole, part, pointed := strings.Cut(s, ".")
	if !digits(whole) || pointed && !digits(part) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// Signed reads a finite number as %g of a runbook's own script or JSON writes it: it may be negative,
// and may have an exponent.
func Signed(s string) (float64, bool) {
	number, exponent, raised := strings.Cut(strings.Replace(s, "E", "e", 1), "e")
	if raised && !digits(strings.TrimLeft(exponent[:min(1, len(exponent))], "+-")+exponent[min(1, len(exponent)):]) {
		return 0, false
	}
	if _, ok := Number(strings.TrimPrefix(number, "-")); !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// Count reads a whole number that fits an int.
func Count(s string) (int, bool) {
	if !digits(s) {
		return 0, false
	}
	v, err := strconv.Atoi(s)
	if err != nil {
		return 0, false
	}
	return v, true
}

// Release reads the numbers of a release such as 2.18.3, as far as there are any: of 1.46.0-1 those are 1, 46 and 0.
// slices.Compare orders them.
func Release(s string) (numbers []int) {
	for part := range strings.SplitSeq(s, ".") {
		end := strings.IndexFunc(part+"-", func(r rune) bool { return r < '0' || r > '9' })
		n, ok := Count(part[:end])
		if !ok {
			break
		}
		if numbers = append(numbers, n); end < len(part) {
			break
		}
	}
	return numbers
}

// Counter reads a whole number as wide as the kernel's counters.
func Counter(s string) (uint64, bool) {
	if !digits(s) {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, false
	}
	return v, true
}

// Looks reports whether a word is meant as a number, be it one or not: a row with nan or
// 0x1p10 in it is a row, and a wrong one, and not a line to skip.
func Looks(word string) bool {
	// Most words need no look at the rest of them.
	if word == "" || strings.IndexByte("0123456789.+-nNiI", word[0]) < 0 {
		return false
	}
	if digits(word) {
		return true
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimLeft(word, "+-"), "_", ""), 64)
	// One that is out of range was meant as a number, too.
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
