package cells

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// lookBack is how many of the last lines are looked at for what each node printed.
const lookBack = 1000

// least columns that a node's output needs if two stand side by side.
const leastColumn = 44

// output shows the end of what was printed: a benchmark's result is there, and so is the
// line that a running cell has just printed. What several nodes printed stands side by side
// where there is room, and else one after the other: never mixed.
func (b *body) output(c Cell) {
	out := c.State.Output
	n := out.Len()
	if c.Folded && n > 0 {
		b.add("  " + b.k.Dim.Render("┊ "+steps.Thousands(n+out.Dropped())+" lines, o shows them"))
		return
	}
	keep := max(1, c.Keep)
	recent := out.Lines(max(0, n-lookBack), lookBack)
	s := c.lastSection(recent)
	single, shown := recent, 0
	if len(s.nodes) > 1 {
		shown = s.cut(c, b.width, keep)
	} else {
		single, shown = c.few(recent, keep)
	}
	if hidden := n + out.Dropped() - shown; hidden > 0 {
		b.add("  " + b.k.Dim.Render("┊ … "+counted(hidden, "more line, O opens", "more lines, O opens")))
	}
	if len(s.nodes) > 1 {
		b.section(c, s)
		return
	}
	b.printed(c, single, newTags(c.Cell, c.Names, b.width))
}

// printed adds lines of output; railbench's own, which are sentences, are never cut.
func (b *body) printed(c Cell, lines []steps.OutputLine, t tags) {
	width := b.width - 4 - t.room()
	for i := 0; i < len(lines); {
		if l := lines[i]; l.Kind == steps.Note {
			if len(l.Text) > b.width-6 {
				b.wrap(b.k.Dim.Render(theme.Clean(l.Text)), "  "+b.k.Accent.Render("·")+" ", "    ")
			} else {
				b.add("  " + outputLine(b.k, l, tags{}, nil, 0, b.width-4)) // it names the node itself
			}
			i++
			continue
		}
		end := i
		for end < len(lines) && lines[end].Kind != steps.Note {
			end++
		}
		shown, rows := fit(lines[i:end], width-2, c.budget(end-i))
		for _, r := range rows {
			l := shown[r.line]
			b.add("  " + b.k.Dim.Render(t.of(l)) + r.draw(b.k, l, width))
		}
		i = end
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
	place := c.Places(c.State.Rig)
	slices.SortStableFunc(s.nodes, func(a, b []steps.OutputLine) int { return place(a[0]) - place(b[0]) })
	return s
}

// next to reports whether each node has a column of its own: if there is room, and no line or table would be cut that
// fits otherwise.
func (s section) beside(c Cell, width int) bool {
	column := s.column(width)
	return column >= leastColumn && !slices.ContainsFunc(s.nodes, func(lines []steps.OutputLine) bool {
		most := c.budget(len(lines))
		narrow, wide := fitted(lines, column-2, false), fitted(lines, width-6, false)
		return len(narrow) > most && len(wide) <= most ||
			slices.ContainsFunc(narrow, brokenTable) && !slices.ContainsFunc(wide, brokenTable)
	})
}

func brokenTable(r outputRow) bool { return r.table && r.on }

func (s section) column(width int) int { return (width-4)/len(s.nodes) - 2 }

// cut keeps as many lines of each node as fit, and says how many of the output are shown.
func (s *section) cut(c Cell, width, keep int) (shown int) {
	s.tail = s.tail[max(0, len(s.tail)-keep):]
	shown = len(s.head) + len(s.tail)
	seen := section{}
	for _, lines := range s.nodes {
		few, _ := c.few(lines, keep)
		seen.nodes = append(seen.nodes, few)
	}
	if !seen.beside(c, width) {
		keep = max(4, (keep+1)/len(s.nodes))
	}
	for i, lines := range s.nodes {
		few, seen := c.few(lines, keep)
		s.nodes[i], shown = few, shown+seen
	}
	return shown
}

// section draws it: the nodes in columns, or below each other.
func (b *body) section(c Cell, s section) {
	b.printed(c, s.head, tags{})
	if s.beside(c, b.width) {
		b.columns(c, s)
	} else {
		for _, lines := range s.nodes {
			b.add("  " + b.k.Dim.Render(source(lines)))
			b.printed(c, lines, tags{})
		}
	}
	b.printed(c, s.tail, tags{})
}

// columns sets the nodes side by side.
func (b *body) columns(c Cell, s section) {
	width, height := s.column(b.width), 0
	heads := make([]string, 0, len(s.nodes))
	drawn := make([][]string, 0, len(s.nodes))
	for _, lines := range s.nodes {
		own := body{k: b.k, width: width + 4}
		own.printed(c, lines, tags{})
		height = max(height, len(own.lines))
		drawn = append(drawn, own.lines)
		heads = append(heads, theme.Pad(b.k.Dim.Render(source(lines)), width))
	}
	const gap = "  "
	b.add(gap + strings.Join(heads, gap))
	for i := range height {
		row := make([]string, len(s.nodes))
		for j, lines := range drawn {
			text := gap
			if i < len(lines) {
				text = lines[i]
			}
			row[j] = theme.Pad(ansi.Truncate(text, width+len(gap), ""), width+len(gap))
		}
		b.add(strings.Join(row, ""))
	}
}

// source is who printed lines: the node, and its role where it has one.
func source(lines []steps.OutputLine) string {
	name := theme.Clean(lines[0].From)
	if role := theme.Clean(lines[0].Role); role != "" {
		name += " · " + role
	}
	return name
}

// gutterOf is the sign before a line, and the line's own style.
func gutterOf(k *theme.Styles, kind steps.LineKind) (string, theme.Style) {
	switch kind {
	case steps.FromStderr:
		return k.Stderr.Render("╏"), k.Stderr
	case steps.Note:
		return k.Accent.Render("·"), k.Dim
	case steps.FromStdout:
	}
	return k.Faint.Render("│"), theme.Style{}
}

// draw draws a row in at most width columns.
func (r outputRow) draw(k *theme.Styles, l steps.OutputLine, width int) string {
	gutter, style := gutterOf(k, l.Kind)
	if r.on {
		gutter = k.Faint.Render("┊")
	}
	text, room := gutter+" ", width-2
	if room < 1 {
		return ""
	}
	for i, s := range r.strips {
		size, last := s.to-s.from, i == len(r.strips)-1
		switch {
		case room < 1:
		case r.rule:
			text += style.Render(ansi.Truncate(theme.Clean(theme.Head(l.Text, room)), room, ""))
		case size > room || last && r.open || !last && size+closed > room:
			// It goes on to the line's end, and says where there is more.
			text += k.Paint(theme.Print{Text: l.Text, Spans: l.Spans, Base: style}, s.from, room)
			room = 0
		default:
			part := k.Paint(theme.Print{Text: l.Text, Spans: l.Spans, Base: style}, s.from, size+1)
			text += ansi.Truncate(part, size, "")
			room -= size
		}
	}
	return text
}

// outputLine draws one line of output in at most width columns, from column on.
func outputLine(k *theme.Styles, l steps.OutputLine, t tags, marks []theme.Mark, column, width int) string {
	gutter, style := gutterOf(k, l.Kind)
	tag := t.of(l)
	room := width - lipgloss.Width(tag) - 2
	if room < 1 {
		return ""
	}
	return k.Dim.Render(tag) + gutter + " " +
		k.Paint(theme.Print{Text: l.Text, Spans: l.Spans, Base: style, Marks: marks}, column, room)
}

// tags name the node in front of a line if a cell's output comes from several. In a narrow pane they are the
// part in which two names differ: 01 and 02.
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
		t.names[n] = ansi.Truncate(theme.Clean(short[i]), 12, "…")
		t.width = max(t.width, lipgloss.Width(t.names[n]))
	}
	return t
}

// room is what a tag takes.
func (t tags) room() int { return lipgloss.Width(t.of(steps.OutputLine{})) }

func (t tags) of(l steps.OutputLine) string {
	if t.width == 0 {
		return ""
	}
	return theme.Pad(t.names[l.From], t.width) + " "
}
