package cells

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/ink"
)

// lookBack is how many of the last lines are looked at for what each node printed.
const lookBack = 1000

// least of the columns that a node's output needs beside another's.
const leastColumn = 44

// output shows the end of what was printed: a benchmark's result is there, and so is the
// line that a running cell has just printed. What several nodes printed stands side by side
// where there is room, and else one after the other: never mixed.
func (b *body) output(c Cell) {
	out := c.State.Output
	n := out.Len()
	if c.Folded && n > 0 {
		b.add("  " + b.k.Dim.Render("┊ "+Thousands(n+out.Dropped())+" lines, o shows them"))
		return
	}
	keep := max(1, c.Keep)
	s := c.lastSection(out.Lines(max(0, n-lookBack), lookBack))
	shown := min(n, keep)
	if len(s.nodes) > 1 {
		if shown = s.cut(b.width, keep); shown >= n && out.Dropped() == 0 {
			shown = n
		}
	} else if shown == keep && n+out.Dropped() == keep+1 && out.Dropped() == 0 {
		shown++ // the note would take the line's place
	}
	if hidden := n + out.Dropped() - shown; hidden > 0 {
		b.add("  " + b.k.Dim.Render("┊ … "+counted(hidden, "more line, O opens", "more lines, O opens")))
	}
	if len(s.nodes) > 1 {
		b.section(c, s)
		return
	}
	b.printed(out.Lines(n-shown, shown), newTags(c.Cell, c.Names, b.width))
}

// printed adds lines of output; railbench's own, which are sentences, are never cut.
func (b *body) printed(lines []steps.OutputLine, t tags) {
	for _, l := range lines {
		if l.Kind == steps.Note && len(l.Text) > b.width-6 {
			b.wrap(b.k.Dim.Render(ink.Clean(l.Text)), "  "+b.k.Accent.Render("·")+" ", "    ")
			continue
		}
		tag := t
		if l.Kind == steps.Note {
			tag = tags{} // it names the node itself
		}
		b.add("  " + outputLine(b.k, l, tag, nil, 0, b.width-4))
	}
}

// A section is what the nodes printed side by side: in a cell that runs on each rail, of
// the last one.
type section struct {
	head  []steps.OutputLine // railbench's own line that begins it
	nodes [][]steps.OutputLine
	tail  []steps.OutputLine // railbench's own that follow
}

// lastSection splits the end of an output by nodes, in their places.
func (c Cell) lastSection(lines []steps.OutputLine) (s section) {
	end := len(lines)
	for end > 0 && lines[end-1].From == "" {
		end--
	}
	from := end
	for from > 0 && lines[from-1].From != "" {
		from--
	}
	s.tail = lines[end:]
	if from > 0 {
		s.head = lines[from-1 : from]
	}
	if !slices.ContainsFunc(lines[from:end], func(l steps.OutputLine) bool { return l.Kind != steps.Note }) {
		return s // railbench's own lines name the node themselves
	}
	places := map[string]int{}
	for _, l := range lines[from:end] {
		at, ok := places[l.From]
		if !ok {
			at = len(s.nodes)
			places[l.From] = at
			s.nodes = append(s.nodes, nil)
		}
		s.nodes[at] = append(s.nodes[at], l)
	}
	slices.SortStableFunc(s.nodes, func(a, b []steps.OutputLine) int {
		return c.Place(a[0], c.State.Rig) - c.Place(b[0], c.State.Rig)
	})
	return s
}

// beside reports whether the nodes have a column each.
func (s section) beside(width int) bool { return s.column(width) >= leastColumn }

func (s section) column(width int) int { return (width-4)/len(s.nodes) - 2 }

// cut leaves so many lines of each node as there is room for, and tells how many that are.
func (s *section) cut(width, keep int) (shown int) {
	if !s.beside(width) {
		keep = max(4, (keep+1)/len(s.nodes))
	}
	s.tail = s.tail[max(0, len(s.tail)-keep):]
	shown = len(s.head) + len(s.tail)
	for i, lines := range s.nodes {
		if len(lines) != keep+1 { // the note would take the line's place
			s.nodes[i] = lines[max(0, len(lines)-keep):]
		}
		shown += len(s.nodes[i])
	}
	return shown
}

// section draws it: the nodes in columns, or below each other.
func (b *body) section(c Cell, s section) {
	b.printed(s.head, tags{})
	if s.beside(b.width) {
		b.columns(s)
	} else {
		for _, lines := range s.nodes {
			b.add("  " + b.k.Dim.Render(source(lines)))
			b.printed(lines, tags{})
		}
	}
	b.printed(s.tail, tags{})
}

// columns sets the nodes side by side.
func (b *body) columns(s section) {
	width, height := s.column(b.width), 0
	heads := make([]string, 0, len(s.nodes))
	for _, lines := range s.nodes {
		height = max(height, len(lines))
		heads = append(heads, ink.Pad(b.k.Dim.Render(source(lines)), width))
	}
	const gap = "  "
	b.add(gap + strings.Join(heads, gap))
	for i := range height {
		row := make([]string, len(s.nodes))
		for j, lines := range s.nodes {
			text := ""
			if i < len(lines) {
				text = outputLine(b.k, lines[i], tags{}, nil, 0, width)
			}
			row[j] = ink.Pad(text, width)
		}
		b.add(gap + strings.Join(row, gap))
	}
}

// source is who printed lines: the node, and its role where it has one.
func source(lines []steps.OutputLine) string {
	name := ink.Clean(lines[0].From)
	if role := ink.Clean(lines[0].Role); role != "" {
		name += " · " + role
	}
	return name
}

// outputLine draws one line of output in at most width columns, from column on.
func outputLine(k *ink.Ink, l steps.OutputLine, t tags, marks []ink.Mark, column, width int) string {
	gutter, style := k.Faint.Render("│"), ink.Style{}
	switch l.Kind {
	case steps.FromStderr:
		gutter, style = k.Stderr.Render("╏"), k.Stderr
	case steps.Note:
		gutter, style = k.Accent.Render("·"), k.Dim
	case steps.FromStdout:
	}
	tag := t.of(l)
	room := width - lipgloss.Width(tag) - 2
	if room < 1 {
		return ""
	}
	return k.Dim.Render(tag) + gutter + " " +
		k.Paint(ink.Print{Text: l.Text, Spans: l.Spans, Base: style, Marks: marks}, column, room)
}

// tags name the node in front of a line where a cell's output comes from several.
// In a narrow pane it is what tells the two names apart: 01 and 02.
type tags struct {
	names map[string]string
	width int
}

const wideTags = 84

func newTags(c steps.Cell, names []string, width int) tags {
	if !c.OnSeveral() {
		return tags{}
	}
	short := names
	if width < wideTags {
		short = Distinct(names)
	}
	t := tags{names: map[string]string{}}
	for i, n := range names {
		t.names[n] = ansi.Truncate(ink.Clean(short[i]), 12, "…")
		t.width = max(t.width, lipgloss.Width(t.names[n]))
	}
	return t
}

func (t tags) of(l steps.OutputLine) string {
	if t.width == 0 {
		return ""
	}
	return ink.Pad(t.names[l.From], t.width) + " "
}
