package cells

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/theme"
)

// proseWidth is the longest line that is still read with ease.
const proseWidth = 100

// A Setting is how Markdown is set.
type Setting struct {
	// Whole sets each row of a table that is too wide as a list. Where it is not set, and Key
	// names the key that sets it, such a table leaves out columns, the last ones first.
	Whole bool
	Key   string
	// Mark is the number of the first difference, from 1: a mark in the margin stands for each, with its text
	// next to it if InPlace is set. 0 sets them as they are written.
	Mark    int
	InPlace bool
}

// Prose sets Markdown in lines of width columns, as it is written.
func Prose(source string, k *theme.Styles, width int) []string {
	return Setting{Whole: true}.Prose(source, k, width)
}

// Prose sets Markdown in lines of width columns.
//
// It is set here and not by a library such as glamour because linking glamour
// costs 9 ms before main starts (its syntax highlighter parses every language and
// style that it knows), which is a third of the time to the first frame.
func (o Setting) Prose(source string, k *theme.Styles, width int) []string {
	source = sanitize.Markdown(source)
	if o.Mark > 0 {
		source = marked(source, o.Mark, o.InPlace)
	}
	src := []byte(source)
	doc := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(src))
	s := setter{src: src, k: k, width: max(1, min(width-1, proseWidth)), room: max(1, width-1), Setting: o}
	notes := strings.Contains(source, markBegin)
	if notes {
		s.width = max(1, min(width-1-marginWidth, proseWidth))
	}
	s.blocks(doc, " ", " ")
	for len(s.lines) > 0 && strings.TrimSpace(s.lines[len(s.lines)-1]) == "" {
		s.lines = s.lines[:len(s.lines)-1]
	}
	for i, l := range s.lines {
		if notes {
			l = margin(l, k, s.width)
		}
		s.lines[i] = theme.Pad(l, width)
	}
	return s.lines
}

// setter walks a document and collects lines.
type setter struct {
	src   []byte
	k     *theme.Styles
	width int // of words
	room  int // for a drawing, a table or a command
	lines []string
	Setting
}

func (s *setter) blocks(parent ast.Node, first, rest string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		s.block(n, first, rest)
		first = rest
	}
}

// block sets one block. first stands before its first line, rest before the others.
func (s *setter) block(n ast.Node, first, rest string) {
	switch n := n.(type) {
	case *ast.Heading:
		mark := ""
		if s.k.Plain() { // without styles it looks like a short paragraph
			mark = strings.Repeat("#", n.Level) + " "
		}
		s.wrap(mark+s.inline(n, s.k.Head), first, rest)
		s.gap(rest)
	case *ast.Paragraph:
		s.wrap(s.inline(n, theme.Style{}), first, rest)
		s.gap(rest)
	case *ast.TextBlock:
		s.wrap(s.inline(n, theme.Style{}), first, rest)
	case *ast.List:
		s.list(n, first, rest)
	case *ast.Blockquote:
		bar := s.k.Accent.Render("▏") + " "
		s.blocks(n, first+bar, rest+bar)
		if last := len(s.lines) - 1; last >= 0 && s.lines[last] == strings.TrimRight(rest+bar, " ") {
			s.lines[last] = strings.TrimRight(rest, " ")
		}
	case *ast.FencedCodeBlock:
		s.code(n, first, rest)
	case *ast.CodeBlock:
		s.code(n, first, rest)
	case *ast.HTMLBlock:
		// A comment is its writer's note, and a browser doesn't show it either.
		if n.HTMLBlockType != ast.HTMLBlockType2 {
			s.code(n, first, rest)
		}
	case *ast.ThematicBreak:
		s.lines = append(s.lines, first+s.k.Faint.Render(strings.Repeat("─", max(0, s.width-lipgloss.Width(first)))))
		s.gap(rest)
	case *east.Table:
		s.table(n, first, rest)
	default:
		s.blocks(n, first, rest)
	}
}

func (s *setter) wrap(text, first, rest string) {
	s.lines = append(s.lines, theme.Wrap(text, s.width, first, rest)...)
}

func (s *setter) gap(rest string) { s.lines = append(s.lines, strings.TrimRight(rest, " ")) }

func (s *setter) list(n *ast.List, first, rest string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := s.k.Accent.Render("•") + " "
		if n.IsOrdered() {
			mark = s.k.Accent.Render(fmt.Sprintf("%d.", number)) + " "
			number++
		}
		// Deep lists must not run out of the pane.
		indent := strings.Repeat(" ", lipgloss.Width(mark))
		if lipgloss.Width(rest)+len(indent) > s.width/2 {
			indent = ""
		}
		s.blocks(item, first+mark, rest+indent)
		first = rest
	}
	if _, nested := n.Parent().(*ast.ListItem); !nested {
		s.gap(rest)
	}
}

func (s *setter) code(n ast.Node, first, rest string) {
	bar, on := s.k.Faint.Render("│")+" ", s.k.Faint.Render("┊")+" "
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		shown := theme.Clean(strings.TrimRight(string(line.Value(s.src)), "\n"))
		sign := bar
		for _, part := range theme.Fold(shown, max(8, s.room-lipgloss.Width(rest)-2)) {
			s.lines = append(s.lines, first+sign+s.k.Code.Render(part))
			first, sign = rest, on
		}
	}
	s.gap(rest)
}

// table sets a table in columns: as wide as they are where they fit, in several lines
// where their words do, and else each row as a list.
func (s *setter) table(n *east.Table, first, rest string) {
	var rows [][]string
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		style := theme.Style{}
		if _, head := r.(*east.TableHeader); head {
			style = s.k.Head
		}
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, s.inline(c, style))
		}
		rows = append(rows, row)
	}
	widths, ok := columnWidths(rows, s.room-lipgloss.Width(first))
	var left []string
	for !ok && s.Key != "" && !s.Whole && len(rows[0]) > 1 {
		last := len(rows[0]) - 1
		left = append([]string{rows[0][last]}, left...)
		for i := range rows {
			rows[i] = rows[i][:min(len(rows[i]), last)]
		}
		widths, ok = columnWidths(rows, s.room-lipgloss.Width(first))
	}
	if !ok {
		for _, row := range rows[1:] {
			s.tall(rows[0], row, rest)
		}
		s.gap(rest)
		return
	}
	for _, row := range rows {
		for _, l := range setRow(row, widths, n.Alignments) {
			s.lines = append(s.lines, strings.TrimRight(first+l, " "))
			first = rest
		}
	}
	if left != nil {
		s.wrap(s.k.Dim.Render("Not shown: ")+strings.Join(left, s.k.Dim.Render(separator(left)))+
			s.k.Dim.Render(" ("+s.Key+" "+shows(left)+")"), rest, rest)
	}
	s.gap(rest)
}

// narrowColumn is the width below which words in several lines can't be read well.
const narrowColumn = 14

// columnWidths takes from the widest columns what is more than width, and no column
// below its longest word. ok is false where that isn't enough.
func columnWidths(rows [][]string, width int) (widths []int, ok bool) {
	var least []int
	for _, row := range rows {
		for j, cell := range row {
			if j == len(widths) {
				widths, least = append(widths, 0), append(least, 0)
			}
			widths[j] = max(widths[j], lipgloss.Width(cell))
			for word := range strings.FieldsSeq(ansi.Strip(cell)) {
				least[j] = max(least[j], lipgloss.Width(word))
			}
		}
	}
	over := columnGap*(len(widths)-1) - width
	for j, w := range widths {
		least[j] = max(least[j], min(w, narrowColumn))
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for j, w := range widths {
			if w > least[j] && (widest < 0 || w > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

// setRow sets the cells of a row side by side, each in as many lines as it needs, figures below
// figures.
func setRow(row []string, widths []int, alignments []east.Alignment) []string {
	var columns [][]string
	height := 1
	for j, cell := range row {
		lines := theme.Wrap(cell, widths[j], "", "")
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	all := make([]string, height)
	for i := range all {
		for j, lines := range columns {
			text := ""
			if i < len(lines) {
				text = lines[i]
			}
			if j > 0 {
				all[i] += strings.Repeat(" ", columnGap)
			}
			if gap := strings.Repeat(" ", max(0, widths[j]-lipgloss.Width(text))); j < len(alignments) &&
				alignments[j] == east.AlignRight {
				text = gap + text
			}
			all[i] += theme.Pad(text, widths[j])
		}
	}
	return all
}

// tall sets one row of a table that is too wide, as "column: value" lines.
func (s *setter) tall(head, row []string, rest string) {
	for j, cell := range row {
		mark := "  "
		if j == 0 {
			mark = s.k.Accent.Render("•") + " "
		}
		if j < len(head) {
			cell = head[j] + s.k.Dim.Render(": ") + cell
		}
		s.wrap(cell, rest+mark, rest+"    ")
	}
}

// inline is the styled text under a block.
func (s *setter) inline(parent ast.Node, style theme.Style) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(s.text(n, style))
		case *ast.String:
			b.WriteString(style.Render(plain(n.Value)))
		case *ast.CodeSpan:
			b.WriteString(s.codeSpan(n))
		case *ast.Emphasis:
			inner := s.k.Em
			if n.Level > 1 {
				inner = s.k.Strong
			}
			b.WriteString(s.inline(n, inner))
		case *ast.Link:
			b.WriteString(s.link(n, style))
		case *ast.AutoLink:
			address := theme.Clean(string(n.URL(s.src)))
			b.WriteString(s.k.Link(address, s.k.Accent.Render(address)))
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				seg := n.Segments.At(i)
				b.WriteString(s.k.Dim.Render(plain(seg.Value(s.src))))
			}
		default:
			b.WriteString(s.inline(n, style))
		}
	}
	return b.String()
}

// text is a run of words and the break behind them.
func (s *setter) text(n *ast.Text, style theme.Style) string {
	words := n.Segment.Value(s.src)
	if !n.IsRaw() && n.Parent().Kind() != ast.KindCodeSpan {
		words = util.UnescapePunctuations(words)
	}
	set := style.Render(plain(words))
	switch {
	case n.HardLineBreak():
		return set + "\n"
	case n.SoftLineBreak():
		return set + " "
	}
	return set
}

// codeSpan keeps its backquotes if there is no style to show it.
func (s *setter) codeSpan(n *ast.CodeSpan) string {
	if s.k.Plain() {
		return "`" + s.inline(n, s.k.Code) + "`"
	}
	return s.inline(n, s.k.Code)
}

// link has its address behind it if that is on the web and differs from the text. Terminals with links show
// it, too: a text from another user may say one thing and lead to another.
func (s *setter) link(n *ast.Link, style theme.Style) string {
	text := s.inline(n, style)
	dest := theme.Clean(string(n.Destination))
	if strings.HasPrefix(dest, "http") && ansi.Strip(text) != dest {
		return s.k.Link(dest, text) + " " + s.k.Link(dest, s.k.Dim.Render("<"+dest+">"))
	}
	return s.k.Link(dest, text)
}

// plain is text of a source line; a code span may go over several.
func plain(b []byte) string { return theme.Clean(strings.ReplaceAll(string(b), "\n", " ")) }
