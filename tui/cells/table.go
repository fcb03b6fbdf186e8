package cells

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// A Drawer draws tables and charts for one place: the workbench, or a run without
// a screen.
type Drawer struct {
	Styles    *theme.Styles
	Width     int
	Simulated bool
	// Key shows the columns that a table had to leave out. Whole says that Key was pressed: each row is a
	// list then. Where there is no key, a table of words is a list automatically.
	Key   string
	Whole bool
}

// Figures draws tables and charts in the order in which they are read: the first
// table, what of it is drawn, and then the rest.
func (d Drawer) Figures(tables []steps.Table, charts []steps.Chart) [][]string {
	var all [][]string
	for i, t := range tables {
		if all = append(all, d.Table(t)); i > 0 {
			continue
		}
		for _, c := range charts {
			all = append(all, d.Chart(c))
		}
	}
	if len(tables) == 0 {
		for _, c := range charts {
			all = append(all, d.Chart(c))
		}
	}
	return all
}

const (
	columnGap = 2
	// Words are set in up to mostLines lines before a column is left out, and are
	// not broken up to longWord.
	mostLines = 3
	longWord  = 20
)

// Table sets a table in lines of at most Width columns. Where it is too wide it
// gives way in this order: heads in several lines, then words in several lines.
// Then a table of words becomes a list, and one with figures leaves columns out
// from the right, which a line below it names.
func (d Drawer) Table(t steps.Table) []string {
	lines := d.title(t.Title, "")
	g := newGrid(t)
	left, list := g.fit(d.Width, d.Key != "")
	if d.Whole && (len(left) > 0 || list) {
		g = newGrid(t)
		left, list = nil, true
	}
	if list {
		lines = append(lines, d.list(g)...)
	} else {
		lines = append(lines, g.draw(d.Styles)...)
	}
	if len(left) > 0 {
		more := "."
		if d.Key != "" {
			more = " (" + d.Key + " " + shows(left) + ")"
		}
		lines = append(lines, d.note("Not shown: "+strings.Join(left, separator(left))+more)...)
	}
	if t.Note != "" {
		lines = append(lines, d.note(t.Note)...)
	}
	return d.cut(lines)
}

// title is the caption of a table or a chart. A picture of it must not pass for a
// measurement.
func (d Drawer) title(text, right string) []string {
	badge := ""
	if d.Simulated {
		badge = "SIMULATED"
	}
	text = d.Styles.Strong.Render(strings.Join(strings.Fields(theme.Clean(text)), " "))
	if badge != "" {
		text += " " + d.Styles.Warn.Render(badge)
	}
	lines := theme.Wrap(text, max(1, d.Width), "", "")
	if right == "" {
		return lines
	}
	right = d.Styles.Dim.Render(theme.Clean(right))
	if last := len(lines) - 1; lipgloss.Width(lines[last])+1+lipgloss.Width(right) <= d.Width {
		lines[last] = theme.Sides(lines[last], right, d.Width)
	} else {
		lines = append(lines, right)
	}
	return lines
}

// noteWidth is the longest line of a note that is still read with ease.
const noteWidth = 90

func (d Drawer) note(text string) []string {
	return theme.Wrap(d.Styles.Dim.Render(strings.Join(strings.Fields(theme.Clean(text)), " ")),
		max(1, min(d.Width, noteWidth)), "", "")
}

// list sets each row below the other, a line or more for each column.
func (d Drawer) list(g grid) []string {
	var lines []string
	for _, row := range g.rows {
		for j, value := range row[:len(g.columns)] {
			if value == "" {
				continue
			}
			first, text := "  ", d.Styles.Dim.Render(g.columns[j].Name+": ")+value
			if j == 0 {
				first, text = d.Styles.Accent.Render("•")+" ", d.Styles.Strong.Render(value)
			}
			lines = append(lines, theme.Wrap(text, max(3, d.Width), first, "  ")...)
		}
	}
	return lines
}

func (d Drawer) cut(lines []string) []string {
	for i, l := range lines {
		if lipgloss.Width(l) > d.Width {
			lines[i] = theme.Pad(l, max(0, d.Width))
		}
	}
	return lines
}

// A grid is a table while it looks for its widths.
type grid struct {
	columns []steps.Column
	rows    [][]string
	widths  []int
	wraps   bool // heads are set in several lines
}

func newGrid(t steps.Table) grid {
	g := grid{widths: make([]int, len(t.Columns))}
	for _, c := range t.Columns {
		c.Name = theme.Clean(c.Name)
		g.columns = append(g.columns, c)
	}
	for _, row := range t.Rows {
		clean := make([]string, len(t.Columns))
		for j := range min(len(row), len(clean)) {
			clean[j] = strings.TrimSpace(theme.Clean(row[j]))
		}
		g.rows = append(g.rows, clean)
	}
	for j, c := range g.columns {
		if c.Number {
			g.alignPoints(j)
		}
	}
	g.measure()
	return g
}

// alignPoints fills the values of a column behind their decimal point, so that
// right-aligned digits of one weight stand below each other.
func (g *grid) alignPoints(j int) {
	deepest := 0
	for _, row := range g.rows {
		deepest = max(deepest, behindPoint(row[j]))
	}
	for _, row := range g.rows {
		if isFigure(row[j]) {
			row[j] += strings.Repeat(" ", deepest-behindPoint(row[j]))
		}
	}
}

// isFigure separates a number, with or without a mark before it, from "not run".
func isFigure(s string) bool {
	if s == "" {
		return false
	}
	last := s[len(s)-1]
	return last >= '0' && last <= '9'
}

func behindPoint(s string) int {
	if i := strings.LastIndexByte(s, '.'); i >= 0 && isFigure(s) {
		return len(s) - i
	}
	return 0
}

// measure gives each column the width of what is in it.
func (g *grid) measure() {
	for j, c := range g.columns {
		g.widths[j] = lipgloss.Width(c.Name)
		if g.wraps {
			g.widths[j] = max(longestWord(glue(c.Name)), inLines(c.Name, mostLines-1))
		}
		for _, row := range g.rows {
			g.widths[j] = max(g.widths[j], lipgloss.Width(row[j]))
		}
	}
}

func longestWord(s string) int {
	n := 0
	for w := range strings.FieldsSeq(s) {
		n = max(n, lipgloss.Width(w))
	}
	return n
}

func (g *grid) width() int {
	sum := columnGap * max(0, len(g.widths)-1)
	for _, w := range g.widths {
		sum += w
	}
	return sum
}

// fit makes the grid as narrow as width. It says which columns it left out, or that the rows are better read
// as a list.
func (g *grid) fit(width int, stays bool) (left []string, list bool) {
	figures := stays || slices.ContainsFunc(g.columns, func(c steps.Column) bool { return c.Number })
	for {
		g.wraps = false
		if g.measure(); g.width() <= width {
			return left, false
		}
		g.wraps = true
		if g.measure(); g.width() <= width || g.squeeze(width, mostLines) || stays && g.squeeze(width, mostLines+1) {
			return left, false
		}
		last := len(g.columns) - 1
		switch {
		case last < 1:
			return left, false
		case !figures:
			return left, true
		}
		left = append([]string{g.columns[last].Name}, left...)
		g.columns, g.widths = g.columns[:last], g.widths[:last]
	}
}

// squeeze takes room from the widest columns of words, for which it sets these in so many
// lines.
func (g *grid) squeeze(width, lines int) bool {
	least := make([]int, len(g.columns))
	for j, c := range g.columns {
		least[j] = g.widths[j]
		if c.Number {
			continue
		}
		need, most := longestWord(glue(c.Name)), lines
		if j == 0 {
			most-- // what a row is about is read first
		}
		for _, row := range g.rows {
			need = max(need, min(longestWord(glue(row[j])), longWord), inLines(row[j], most))
		}
		least[j] = min(least[j], need)
	}
	for over := g.width() - width; over > 0; over-- {
		widest, most := -1, 0
		for j, w := range g.widths {
			if j == 0 {
				w = w * 2 / 3
			}
			if g.widths[j] > least[j] && w > most {
				widest, most = j, w
			}
		}
		if widest < 0 {
			return false
		}
		g.widths[widest]--
	}
	return true
}

// inLines is the least width at which s takes no more than so many lines.
func inLines(s string, most int) int {
	for width := (lipgloss.Width(s) + most - 1) / most; ; width++ {
		if len(wrapped(s, width)) <= most {
			return width
		}
	}
}

// wrapped sets words in lines, and keeps a number with the word that it belongs to. Only what is longer than
// a line is broken.
func wrapped(s string, width int) []string {
	width = max(1, width)
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(glue(s)) {
		for w := lipgloss.Width(word); w > width; w = lipgloss.Width(word) {
			// Longer than any line: what fits goes where the last word ended.
			if line != "" {
				lines, line = append(lines, line), ""
			}
			part := ansi.Truncate(word, width, "")
			if part == "" { // a letter of two columns, where there is one
				part = ansi.Truncate(word, 2, "")
			}
			lines = append(lines, part)
			word = strings.TrimPrefix(word, part)
		}
		if line != "" && lipgloss.Width(line)+1+lipgloss.Width(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return unglue(append(lines, line))
}

// noBreak stands for a blank at which no line ends: a rune of a private area, which counts as a letter.
const noBreak = "\uE002"

// glue joins "rail 1" and "92.6 Gb/s", so that no line ends between the two.
func glue(s string) string {
	words := strings.Split(s, " ")
	var b strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case isFigure(words[i-1]) && lipgloss.Width(w) <= 5 || isFigure(w) && len(w) <= 2 && endsInLetter(words[i-1]):
			b.WriteString(noBreak)
		default:
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// endsInLetter separates "rail", which a number belongs to, from "4096,".
func endsInLetter(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r)
}

func unglue(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(l, noBreak, " "), " ")
	}
	return lines
}

func (g *grid) draw(k *theme.Styles) []string {
	var lines []string
	head := make([]string, len(g.columns))
	for j, c := range g.columns {
		head[j] = c.Name
	}
	lines = append(lines, g.row(head, func(int, string) theme.Style { return k.Dim })...)
	lines = append(lines, k.Faint.Render(strings.Repeat("─", g.width())))
	for _, row := range g.rows {
		lines = append(lines, g.row(row, func(j int, s string) theme.Style { return g.style(k, j, s) })...)
	}
	return lines
}

// style is that of a value: a verdict's own, what was not measured dim.
func (g *grid) style(k *theme.Styles, j int, s string) theme.Style {
	word, _, _ := strings.Cut(s, " ")
	for grade := steps.Skipped; grade <= steps.Fail; grade++ {
		if word == grade.String() || g.columns[j].Number && word == Mark(grade) {
			return GradeStyle(k, grade)
		}
	}
	switch {
	case g.columns[j].Number && !isFigure(strings.TrimRight(s, " ")):
		return k.Dim
	case g.columns[j].Number && j == 1:
		return k.Strong
	}
	return theme.Style{}
}

// row sets one row in as many lines as its longest value takes.
func (g *grid) row(values []string, style func(j int, s string) theme.Style) []string {
	set := make([][]string, len(g.columns))
	height := 1
	for j := range g.columns {
		set[j] = []string{values[j]}
		if lipgloss.Width(values[j]) > g.widths[j] {
			set[j] = wrapped(values[j], g.widths[j])
		}
		height = max(height, len(set[j]))
	}
	lines := make([]string, height)
	for i := range lines {
		var b strings.Builder
		for j, c := range g.columns {
			text := ""
			if i < len(set[j]) {
				text = set[j][i]
			}
			gap := strings.Repeat(" ", max(0, g.widths[j]-lipgloss.Width(text)))
			text = style(j, values[j]).Render(text)
			if c.Number {
				text = gap + text
			} else {
				text += gap
			}
			if j > 0 {
				b.WriteString(strings.Repeat(" ", columnGap))
			}
			b.WriteString(text)
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// shows is what is said of the key for columns that are not shown.
func shows[T any](columns []T) string {
	if len(columns) == 1 {
		return "shows it"
	}
	return "shows them"
}

// separator stands between names, of which some may have a comma of their own.
func separator(names []string) string {
	if strings.Contains(strings.Join(names, ""), ",") {
		return "; "
	}
	return ", "
}
