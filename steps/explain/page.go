package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// MostSeen bounds what is printed of what was seen; --json has all.
const MostSeen = 25

// Page is an answer as a page in Markdown: a chapter for each cause.
func Page(a Answer) string {
	var b strings.Builder
	// What stands in the text is code: it sets nothing.
	code := func(s string) string { return "`" + strings.ReplaceAll(sanitize.Line(s), "`", "'") + "`" }
	facts := func(title string, all []Fact) {
		if len(all) == 0 {
			return
		}
		sanitize.Fprintf(&b, "## %s\n\n", title)
		for _, f := range all[:min(len(all), MostSeen)] {
			sanitize.Fprintf(&b, "- line %d: %s\n", f.Line, code(f.Text))
		}
		sanitize.Fprintf(&b, "\n")
	}
	sanitize.Fprintf(&b, "# What follows from this text\n\n%s", steps.Counted(a.Lines, "line"))
	if len(a.Tools) > 0 {
		sanitize.Fprintf(&b, ", with output of %s", strings.Join(a.Tools, ", "))
	}
	sanitize.Fprintf(&b, ".\n\n")
	if !a.Explained() {
		sanitize.Fprintf(&b, "No cause is known for it. Collect these outputs on both nodes, and paste them here:\n\n")
		for _, c := range a.Collect {
			sanitize.Fprintf(&b, "- %s\n", code(c))
		}
		sanitize.Fprintf(&b, "\n")
	}
	for _, f := range slices.Concat(a.Causes, a.Healthy) {
		sanitize.Fprintf(&b, "## %s\n\n**%s**%s. %s\n\n**Fix:** %s\n\n**Next:** %s\n\n", f.Title, f.Sure, LinesOf(f), f.Why,
			f.Fix, f.Next)
		if len(f.Checks) > 0 {
			sanitize.Fprintf(&b, "**Check:** `railbench doctor %s`\n\n", strings.Join(f.Checks, " "))
		}
	}
	facts("Seen", a.Seen)
	facts("Not understood", a.Unknown)
	return sanitize.Markdown(b.String())
}

// LinesOf names the lines that a cause was found in.
func LinesOf(f Found) string {
	var all []string
	for _, l := range f.Lines {
		all = append(all, strconv.Itoa(l.Line))
	}
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return " (line " + all[0] + ")"
	}
	return " (lines " + strings.Join(all, ", ") + ")"
}
