package registry

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
)

// Gbps is a rate of payload, 10^9 bits a second, with its unit.
func Gbps(v float64) string {
	switch {
	case v > 0 && v < 0.0005: // a few messages of a byte: 3.1e-05 is hard to read
		return fmt.Sprintf("%.3g kb/s", v*1e6)
	case v < 10:
		return fmt.Sprintf("%.3g Gb/s", v)
	}
	return fmt.Sprintf("%.1f Gb/s", v)
}

// Microseconds is a time in us, with its unit: three digits below 100, and whole ones above.
func Microseconds(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g us", v)
	}
	return fmt.Sprintf("%.0f us", v)
}

// Round leaves digits enough for another rounding, to be shown, to come out the same.
func Round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// PerRail lists a figure for each rail, or one for all where they are alike.
func PerRail(rails []int, figures []string) string {
	if len(figures) > 1 && !slices.ContainsFunc(figures, func(f string) bool { return f != figures[0] }) {
		return fmt.Sprintf("%s on each of the %d rails", figures[0], len(rails))
	}
	var all []string
	for i, f := range figures {
		all = append(all, fmt.Sprintf("%s on rail %d", f, rails[i]))
	}
	return strings.Join(all, ", ")
}

// Size is decimal bytes: 0.35 GB, 12 MB.
func Size(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f kB", v/1e3)
	default:
		return fmt.Sprintf("%.0f bytes", v)
	}
}

// And joins words: a, b and c. It is empty for none.
func And(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Capital begins a sentence. A name keeps its spelling: enp1s0f0np0, ib_write_bw.
func Capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "" || strings.ContainsAny(first, "0123456789_-.") {
		return s
	}
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// Count is a number with its word: 1 rail, 2 rails.
func Count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, Plural(n, one, many)) }

// HaveOrHas joins names and the verb that follows them.
func HaveOrHas(names []string) string {
	return And(names) + " " + Plural(len(names), "has", "have")
}

// Plural is the word that goes with a number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// SortedNames are a table's names in order, in which rocep1s0f0 comes before
// roceP2p1s0f0 as the first half before the second.
func SortedNames[T any](m map[string]T) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
}

// OrNone is for addresses.
func OrNone(s string) string { return cmp.Or(s, "no address") }

// BlockSize is how nixlbench's sizes are read best: 64 KiB, 8 MiB.
func BlockSize(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// OrUnknown is for what a node did not report.
func OrUnknown(s string) string { return cmp.Or(s, "unknown") }

func SortEvidence(all []steps.Evidence) {
	slices.SortFunc(all, func(a, b steps.Evidence) int { return strings.Compare(a.Name, b.Name) })
}

func LastLine(s string) string {
	for s != "" {
		s = strings.TrimRight(s, " \t\r\n")
		at := strings.LastIndexByte(s, '\n') + 1
		if last := strings.TrimSpace(s[at:]); strings.Trim(last, "-=*_ ") != "" {
			return last
		}
		s = s[:at]
	}
	return ""
}
