package cells

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/railbench/railbench/tui/ink"
)

// proseWidth is the longest line that is still read with ease.
const proseWidth = 100

// Prose sets Markdown in lines of width columns.
//
// It is set here and not by a library such as glamour because linking glamour
// costs 9 ms before main starts (its syntax highlighter parses every language and
// style that it knows), which is a third of the time to the first frame.
func Prose(source string, k *ink.Ink, width int) []string {
	src := []byte(source)
	doc := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(src))
	s := setter{src: src, k: k, width: max(1, min(width-1, proseWidth))}
	s.blocks(doc, " ", " ")
	for len(s.lines) > 0 && strings.TrimSpace(s.lines[len(s.lines)-1]) == "" {
		s.lines = s.lines[:len(s.lines)-1]
	}
	for i, l := range s.lines {
		s.lines[i] = ink.Pad(l, width)
	}
	return s.lines
}

// setter walks a document and collects lines.
type setter struct {
	src   []byte
	k     *ink.Ink
	width int
	lines []string
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
		s.wrap(s.inline(n, s.k.Head), first, rest)
		s.gap(rest)
	case *ast.Paragraph:
		s.wrap(s.inline(n, ""), first, rest)
		s.gap(rest)
	case *ast.TextBlock:
		s.wrap(s.inline(n, ""), first, rest)
	case *ast.List:
		s.list(n, first, rest)
	case *ast.Blockquote:
		bar := s.k.Accent.Paint("▏") + " "
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
		s.lines = append(s.lines, first+s.k.Faint.Paint(ink.Rule(s.width-ink.Width(first))))
		s.gap(rest)
	case *east.Table:
		s.table(n, first, rest)
	default:
		s.blocks(n, first, rest)
	}
}

func (s *setter) wrap(spans []ink.Span, first, rest string) {
	s.lines = append(s.lines, ink.Wrap(spans, s.width, first, rest)...)
}

func (s *setter) gap(rest string) { s.lines = append(s.lines, strings.TrimRight(rest, " ")) }

func (s *setter) list(n *ast.List, first, rest string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := s.k.Accent.Paint("•") + " "
		if n.IsOrdered() {
			mark = s.k.Accent.Paint(fmt.Sprintf("%d.", number)) + " "
			number++
		}
		// Deep lists must not run out of the pane.
		indent := ink.Spaces(ink.Width(mark))
		if ink.Width(rest)+len(indent) > s.width/2 {
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
	bar := s.k.Faint.Paint("│") + " "
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		shown := ink.Clean(strings.TrimRight(string(line.Value(s.src)), "\n"))
		for _, part := range ink.Fold(shown, max(8, s.width-ink.Width(rest)-2)) {
			s.lines = append(s.lines, first+bar+s.k.Code.Paint(part))
			first = rest
		}
	}
	s.gap(rest)
}

// table sets a table in columns where it fits, and each row as a list where not.
func (s *setter) table(n *east.Table, first, rest string) {
	var rows [][][]ink.Span
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		style := ink.Style("")
		if _, head := r.(*east.TableHeader); head {
			style = s.k.Head
		}
		var row [][]ink.Span
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			spans := s.inline(c, style)
			if len(row) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(row)] = max(widths[len(row)], spanWidth(spans))
			row = append(row, spans)
		}
		rows = append(rows, row)
	}
	total := ink.Width(rest) + 2*(len(widths)-1)
	for _, w := range widths {
		total += w
	}
	for i, row := range rows {
		if total > s.width {
			s.tall(rows[0], row, i, rest)
			continue
		}
		line := first
		for j, cell := range row {
			for _, span := range cell {
				line += span.Style.Paint(span.Text)
			}
			line += ink.Spaces(widths[j] - spanWidth(cell) + 2)
		}
		s.lines = append(s.lines, strings.TrimRight(line, " "))
		first = rest
	}
	s.gap(rest)
}

// tall sets one row of a table that is too wide, as "column: value" lines.
func (s *setter) tall(head, row [][]ink.Span, index int, rest string) {
	if index == 0 {
		return
	}
	for j, cell := range row {
		var spans []ink.Span
		if j < len(head) {
			spans = append(spans, head[j]...)
			spans = append(spans, ink.Span{Text: ": ", Style: s.k.Dim})
		}
		mark := "  "
		if j == 0 {
			mark = s.k.Accent.Paint("•") + " "
		}
		s.wrap(append(spans, cell...), rest+mark, rest+"    ")
	}
}

func spanWidth(spans []ink.Span) int {
	w := 0
	for _, p := range spans {
		w += ink.Width(p.Text)
	}
	return w
}

// inline collects the styled text under a block.
func (s *setter) inline(parent ast.Node, style ink.Style) []ink.Span {
	var spans []ink.Span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			spans = append(spans, ink.Span{Text: plain(n.Segment.Value(s.src)), Style: style})
			switch {
			case n.HardLineBreak():
				spans = append(spans, ink.Span{Text: "\n"})
			case n.SoftLineBreak():
				spans = append(spans, ink.Span{Text: " "})
			}
		case *ast.String:
			spans = append(spans, ink.Span{Text: plain(n.Value), Style: style})
		case *ast.CodeSpan:
			spans = append(spans, s.inline(n, s.k.Code)...)
		case *ast.Emphasis:
			inner := s.k.Em
			if n.Level > 1 {
				inner = s.k.Strong
			}
			spans = append(spans, s.inline(n, inner)...)
		case *ast.Link:
			text := s.inline(n, style)
			spans = append(spans, text...)
			dest := ink.Clean(string(n.Destination))
			if strings.HasPrefix(dest, "http") && (len(text) != 1 || text[0].Text != dest) {
				spans = append(spans, ink.Span{Text: " <" + dest + ">", Style: s.k.Dim})
			}
		case *ast.AutoLink:
			spans = append(spans, ink.Span{Text: ink.Clean(string(n.URL(s.src))), Style: s.k.Accent})
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				seg := n.Segments.At(i)
				spans = append(spans, ink.Span{Text: plain(seg.Value(s.src)), Style: s.k.Dim})
			}
		default:
			spans = append(spans, s.inline(n, style)...)
		}
	}
	return spans
}

// plain is text of a source line; a code span may go over several.
func plain(b []byte) string { return ink.Clean(strings.ReplaceAll(string(b), "\n", " ")) }
