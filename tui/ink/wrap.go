package ink

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Span is a piece of text in one style. A Text of "\n" breaks the line.
type Span struct {
	Text  string
	Style Style
}

// Wrap sets spans in lines of width columns at most. first stands before the
// first line and rest before the others; both may be styled.
func Wrap(spans []Span, width int, first, rest string) []string {
	w := wrapper{width: max(1, width), line: first, rest: rest}
	w.column = Width(first)
	for _, word := range words(spans) {
		w.add(word)
	}
	w.flush()
	return append(w.lines, w.line)
}

// A word is set without a break inside; it may change its style.
type word struct {
	pieces []Span
	width  int
	space  bool // a blank stands before it
	end    bool // it ends the line and is empty
}

func words(spans []Span) []word {
	var all []word
	space := false
	open := false // the last word goes on
	for _, s := range spans {
		if s.Text == "\n" {
			all = append(all, word{end: true})
			space, open = false, false
			continue
		}
		for text := s.Text; text != ""; {
			i := strings.IndexByte(text, ' ')
			if i == 0 {
				space, open = true, false
				text = text[1:]
				continue
			}
			if i < 0 {
				i = len(text)
			}
			piece := Span{Text: text[:i], Style: s.Style}
			if !open {
				all = append(all, word{space: space})
				space, open = false, true
			}
			last := &all[len(all)-1]
			last.pieces = append(last.pieces, piece)
			last.width += Width(piece.Text)
			text = text[i:]
		}
	}
	return all
}

type wrapper struct {
	width, column int
	line, rest    string
	run           Span // the end of the line, not yet painted: words of one style are painted as one
	lines         []string
	filled        bool // the line holds a word
}

func (w *wrapper) feed() {
	w.flush()
	w.lines = append(w.lines, w.line)
	w.line, w.column, w.filled = w.rest, Width(w.rest), false
}

func (w *wrapper) flush() {
	w.line += w.run.Style.Paint(w.run.Text)
	w.run = Span{}
}

func (w *wrapper) add(x word) {
	if x.end {
		w.feed()
		return
	}
	gap := x.space && w.filled
	if w.filled && w.column+x.width > w.width || gap && w.column+1+x.width > w.width {
		w.feed()
		gap = false
	}
	for i, p := range x.pieces {
		if gap && i == 0 {
			w.space(p.Style)
		}
		if w.column+Width(p.Text) <= w.width {
			w.put(p)
			continue
		}
		// A token that is longer than a line is broken anywhere.
		w.broken(p)
	}
}

// space sets a blank in front of a word in style.
func (w *wrapper) space(style Style) {
	if w.run.Style != style {
		w.flush()
	}
	w.run.Text += " "
	w.column++
}

func (w *wrapper) put(p Span) {
	if w.run.Style != p.Style {
		w.flush()
		w.run.Style = p.Style
	}
	w.run.Text += p.Text
	w.column += Width(p.Text)
	w.filled = true
}

func (w *wrapper) broken(p Span) {
	room := w.width - w.column
	if room < 2 {
		w.feed()
		room = max(1, w.width-w.column)
	}
	head := ansi.Truncate(p.Text, room, "")
	if head != "" {
		w.put(Span{head, p.Style})
	}
	tail := p.Text[len(head):]
	if tail == "" {
		return
	}
	w.feed()
	for i, part := range Chop(tail, max(1, w.width-w.column)) {
		if i > 0 {
			w.feed()
		}
		w.put(Span{part, p.Style})
	}
}

// Chop breaks s, which has no escape sequences, into pieces of width columns.
func Chop(s string, width int) []string {
	if width < 1 {
		return nil
	}
	if printable(s) {
		var parts []string
		for len(s) > width {
			parts = append(parts, s[:width])
			s = s[width:]
		}
		return append(parts, s)
	}
	return strings.Split(ansi.Hardwrap(s, width, true), "\n")
}

// Fold breaks a line of code into pieces of width columns, behind a blank where
// there is one in the right half. What follows the first piece is indented.
func Fold(s string, width int) []string {
	if Width(s) <= width || width < 8 || !printable(s) {
		return Chop(s, width)
	}
	const indent = "    "
	var parts []string
	for len(s) > width {
		cut := width
		if i := strings.LastIndexByte(s[:width], ' '); i > width/2 {
			cut = i + 1
		}
		parts = append(parts, s[:cut])
		s = indent + s[cut:]
	}
	return append(parts, s)
}
