// Package limits is what hardware can do, what was seen, and what railbench's authors chose to expect: every
// limit, band and threshold of a verdict, with its unit, its conditions and its source. A verdict's words
// follow the source: "can" only where a limit is derived, "was measured" where a user did, "we expect" where
// it was chosen. Outside the conditions of an entry there is no band.
//
// It knows what was found and not how: package probe knows that. Package traffic knows what the rails moved.
package limits

import (
	"fmt"
	"strconv"
)

// A Basis says how sure a figure is.
type Basis uint8

// The bases, the surest first.
const (
	Derived  Basis = iota + 1 // by a formula, from a standard
	Measured                  // by a person who says how
	Stated                    // by its maker, who doesn't say how he knows
	Chosen                    // by railbench's authors: no limit of the hardware
)

func (b Basis) String() string {
	return [...]string{"", "derived", "measured", "stated", "chosen"}[b]
}

// An Entry is one figure that verdicts rest on.
type Entry struct {
	Of        string  // what it is a figure of
	Low, High float64 // in Unit; the same where it is one value and no range
	Unit      string
	Basis     Basis
	When      string // the conditions under which it holds
	// Source is the formula, who measured it and where, or why it was chosen.
	Source string
	Fact   string // the chapter of assets/docs/facts.md that has more
}

// Figures are its value or its range, with the unit.
func (e Entry) Figures() string {
	text := figure(e.Low)
	if e.High != e.Low {
		text += " to " + figure(e.High)
	}
	if e.Unit == "" {
		return text
	}
	return text + " " + e.Unit
}

// figure writes a number as short as it is, and bytes in powers of two as such.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Says is how a verdict reports the entry, after a figure and a colon.
func (e Entry) Says() string {
	switch e.Basis {
	case Measured:
		return fmt.Sprintf("%s measured %s", e.Figures(), e.When)
	case Stated:
		return fmt.Sprintf("%s stated by its maker %s", e.Figures(), e.When)
	case Chosen:
		return fmt.Sprintf("%s expected %s", e.Figures(), e.When)
	case Derived:
	}
	return fmt.Sprintf("%s is the limit %s", e.Figures(), e.When)
}

// A Limit names an entry; the zero Limit none.
type Limit uint8

// Entry is all that is known of a limit.
func (l Limit) Entry() Entry { return entries[l] }

// Low and High are the ends of its range, in its unit.
func (l Limit) Low() float64 { return entries[l].Low }

// High is the upper end of its range, in its unit; Low where it is one value.
func (l Limit) High() float64 { return entries[l].High }

// Value is the figure of a limit that is not a range.
func (l Limit) Value() float64 { return entries[l].Low }

// Limits are all entries, in the order of limits.md.
func Limits() []Limit {
	all := make([]Limit, 0, limits)
	for l := HalfAt1024; l < limits; l++ {
		all = append(all, l)
	}
	return all
}
