package notebook

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A printout is lines in a row that have one source.
type printout struct {
	source string // the node, and its role if it has one; empty if there is only one
	lines  []steps.OutputLine
}

// printouts are a cell's output as people read it: between two lines of railbench's own, the lines of each
// node stand together. Those of one section are shown side by side if there is room.
func printouts(c steps.Cell, s steps.CellState) (sections [][]printout) {
	lines := s.Output.Lines(0, s.Output.Len())
	// One node's lines have one source, which needs no name.
	if !c.OnSeveral() {
		if len(lines) == 0 {
			return nil
		}
		return [][]printout{{{lines: lines}}}
	}
	for len(lines) > 0 {
		own := lines[0].From == ""
		end := slices.IndexFunc(lines, func(l steps.OutputLine) bool { return (l.From == "") != own })
		if end < 0 {
			end = len(lines)
		}
		sections = append(sections, bySource(c, s.Rig, lines[:end]))
		lines = lines[end:]
	}
	return sections
}

// bySource splits lines by who printed them, in the places of the roles and nodes.
func bySource(c steps.Cell, rig steps.Rig, lines []steps.OutputLine) (all []printout) {
	places := map[string]int{}
	for _, l := range lines {
		name := l.From
		if l.Role != "" {
			name += " · " + l.Role
		}
		at, ok := places[name]
		if !ok {
			at = len(all)
			places[name], all = at, append(all, printout{source: name})
		}
		all[at].lines = append(all[at].lines, l)
	}
	place := c.Places(rig)
	slices.SortStableFunc(all, func(a, b printout) int { return place(a.lines[0]) - place(b.lines[0]) })
	return all
}

// columnRunes is what a column of a page holds: wider lines have the page's whole width, one
// node after the other.
const columnRunes = 60

func narrow(all []printout) bool {
	return !slices.ContainsFunc(all, func(p printout) bool {
		return slices.ContainsFunc(p.lines,
			func(l steps.OutputLine) bool { return utf8.RuneCountInString(l.Text) > columnRunes })
	})
}

// leftOut is the line about what is in the log alone.
func leftOut(dropped int) string {
	return fmt.Sprintf("… %d lines before these are in the log only\n", dropped)
}

// outputHTML has the nodes in columns.
func outputHTML(c steps.Cell, s steps.CellState) string {
	var b strings.Builder
	dropped := s.Output.Dropped()
	for _, section := range printouts(c, s) {
		if len(section) > 1 && narrow(section) {
			b.WriteString("<div class=\"nodes\">\n")
		}
		for _, p := range section {
			if len(section) > 1 {
				b.WriteString("<div>\n")
			}
			if p.source != "" {
				fmt.Fprintf(&b, "<p class=\"source\">%s</p>\n", html.EscapeString(sanitize.Line(p.source)))
			}
			b.WriteString("<pre class=\"output\">")
			// Above the first line of all nodes.
			if dropped > 0 {
				b.WriteString("<span class=\"note\">" + leftOut(dropped) + "</span>")
				dropped = 0
			}
			for _, l := range p.lines {
				b.WriteString(lineHTML(l))
			}
			b.WriteString("</pre>\n")
			if len(section) > 1 {
				b.WriteString("</div>\n")
			}
		}
		if len(section) > 1 && narrow(section) {
			b.WriteString("</div>\n")
		}
	}
	return b.String()
}

func lineHTML(l steps.OutputLine) string {
	text := html.EscapeString(linePrefix(l, false)) + markup(l)
	switch l.Kind {
	case steps.FromStderr:
		text = `<span class="err">` + text + "</span>"
	case steps.Note:
		text = `<span class="note">` + text + "</span>"
	case steps.FromStdout:
	}
	return text + "\n"
}

// outputText has them one after the other, each below its name.
func outputText(c steps.Cell, s steps.CellState) string {
	var b strings.Builder
	if n := s.Output.Dropped(); n > 0 {
		b.WriteString(leftOut(n))
	}
	for _, section := range printouts(c, s) {
		for _, p := range section {
			indent := ""
			if p.source != "" {
				indent = "  "
				sanitize.Fprintf(&b, "%s\n", p.source)
			}
			for _, l := range p.lines {
				sanitize.Fprintf(&b, "%s%s%s\n", indent, linePrefix(l, false), plain(l.Text))
			}
		}
	}
	return b.String()
}
