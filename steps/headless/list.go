package headless

import (
	"io"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Listing is the result of a run for people, on stdout: a line for each cell as soon as it has ended.
type Listing struct {
	out   io.Writer
	rig   steps.Rig
	wide  int // of the longest cell's name
	began bool
	done  map[string]bool
	err   error // the first
}

// NewListing prints what cells come to on a rig.
func NewListing(out io.Writer, rig steps.Rig, cells []steps.Cell) *Listing {
	l := &Listing{out: out, rig: rig, done: map[string]bool{}}
	for _, c := range cells {
		l.wide = max(l.wide, len(c.ID))
	}
	return l
}

func (l *Listing) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = sanitize.Fprintf(l.out, format, args...)
	}
}

// cell prints a cell's verdict, and below it the findings that its reason only counts.
func (l *Listing) cell(id string, grade steps.Grade, reason string, findings []steps.Found) {
	if !l.began {
		l.began = true
		simulated := ""
		if l.rig.Simulated {
			simulated = "  SIMULATED"
		}
		l.print("rig %s%s\n", l.rig.Name, simulated)
	}
	l.print("%-12s  %-*s  %s\n", grade, l.wide, id, reason)
	for _, f := range findings[min(1, len(findings)):] { // the reason has the first
		l.print("%-12s  %-*s  + %s: %s\n", "", l.wide, "", f.Grade, f.Text)
	}
	l.done[id] = true
}

// Ended prints a cell's verdict.
func (l *Listing) Ended(e steps.CellEnded) {
	l.cell(e.Cell, e.Verdict.Grade, e.Verdict.Reason, e.Verdict.Findings)
}

// Rest prints the cells that did not begin, and the sums.
func (l *Listing) Rest(r Object) error {
	for _, c := range r.Cells {
		if !l.done[c.ID] {
			l.cell(c.ID, c.Verdict, c.Reason, c.Findings)
		}
	}
	l.print("%s\n", Sums(r.Summary))
	return l.err
}
