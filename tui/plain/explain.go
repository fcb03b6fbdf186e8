package plain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/explain"
	"github.com/railbench/railbench/steps/sanitize"
)

// mostCausesPrinted bounds the causes that are printed; --json has all.
const mostCausesPrinted = 6

// Answer writes what follows from a text.
func Answer(b *strings.Builder, a explain.Answer) {
	if len(a.Tools) > 0 {
		Hang(b, "read: ", strings.Join(a.Tools, ", "))
	}
	if a.LeftOut > 0 {
		Hang(b, "not read: ", fmt.Sprintf("%d lines in the middle of %d", a.LeftOut, a.Lines))
	}
	if len(a.Seen) > 0 {
		sanitize.Fprintf(b, "\nSeen\n")
		for i, f := range a.Seen {
			if i == explain.MostSeen {
				Hang(b, "  ", fmt.Sprintf("… and %d more (--json has all)", len(a.Seen)-i))
				break
			}
			Hang(b, fmt.Sprintf("  line %-5d ", f.Line), f.Text)
		}
	}
	printCauses(b, a)
	if len(a.Healthy) > 0 {
		sanitize.Fprintf(b, "\nAs it should be\n")
		for _, h := range a.Healthy {
			Hang(b, "  ", h.Title+explain.LinesOf(h))
			Hang(b, "      ", h.Why)
			Hang(b, "      next: ", h.Next)
		}
	}
	if !a.Explained() {
		sanitize.Fprintf(b, "\nNo cause is known for this text.\n")
		printNear(b, a)
		sanitize.Fprintf(b, "Collect these outputs on both nodes, and try again:\n")
		for i, c := range a.Collect {
			Hang(b, fmt.Sprintf("  %2d. ", i+1), c)
		}
	} else if len(a.Near) > 0 {
		sanitize.Fprintf(b, "\n")
		printNear(b, a)
	}
	if len(a.Old) > 0 {
		sanitize.Fprintf(b, "\n%s\n", explain.OldReleases)
	}
	for _, r := range a.Old {
		Hang(b, fmt.Sprintf("  line %-5d ", r.Line), r.String())
	}
	if a.UnknownLines > 0 {
		sanitize.Fprintf(b, "\nNot understood: %s\n", steps.Counted(a.UnknownLines, "line"))
		for _, f := range a.Unknown {
			Hang(b, fmt.Sprintf("  line %-5d ", f.Line), f.Text)
		}
		if more := a.UnknownLines - len(a.Unknown); more > 0 {
			sanitize.Fprintf(b, "  … and %d more\n", more)
		}
	}
}

func printNear(b *strings.Builder, a explain.Answer) {
	if len(a.Near) > 0 {
		Hang(b, "", a.Nearest())
	}
	for i, n := range a.Near {
		Hang(b, fmt.Sprintf("  %2d. ", i+1), n.Title+".")
		Hang(b, "      next: ", n.Next)
	}
}

func printCauses(b *strings.Builder, a explain.Answer) {
	all := a.Causes
	if len(all) > 0 {
		sanitize.Fprintf(b, "\n%s\n", a.Heading())
	}
	for i, c := range all {
		if i == mostCausesPrinted {
			Hang(b, "  ", fmt.Sprintf("… and %d less likely ones (--json has all)", len(all)-i))
			break
		}
		printCause(b, i+1, c)
	}
}

func printCause(b *strings.Builder, n int, c explain.Found) {
	code := ""
	if c.Code != "" {
		code = ", code " + string(c.Code)
	}
	Hang(b, fmt.Sprintf("  %d. ", n), fmt.Sprintf("%s [%s%s]%s", c.Title, c.Sure, code, explain.LinesOf(c)))
	Hang(b, "      why:   ", c.Why)
	Hang(b, "      fix:   ", c.Fix)
	Hang(b, "      next:  ", c.Next)
	if len(c.Checks) > 0 {
		Hang(b, "      check: ", "railbench doctor "+strings.Join(c.Checks, " "))
	}
	Hang(b, "      docs:  ", "railbench docs "+cmp.Or(c.Docs, "troubleshooting"))
	Hang(b, "      from:  ", c.Source)
}
