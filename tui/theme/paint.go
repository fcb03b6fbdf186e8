package theme

import (
	"image/color"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
)

// A Print is one line of a tool's output.
type Print struct {
	Text  string
	Spans []steps.Span // the tool's colours
	Base  Style        // of what has none
	Marks []Mark       // in the order of the text, not overlapping
}

// A Mark is found text: from a byte of a line's text to before another.
type Mark struct {
	From, To int
	Here     bool // the one that the search stands on
}

// Paint draws what is seen of a line through a window that is width columns wide and
// begins at a column. It moves nothing on a terminal but its cursor to the right, and
// leaves no colour behind. What goes on to the right of the window is marked; of a
// wide letter at its left edge a blank is left, so that what follows keeps its column.
func (k *Styles) Paint(p Print, column, width int) string {
	if width < 1 {
		return ""
	}
	seen := make([]letter, 0, min(width, len(p.Text)))
	x, size, more := 0, 0, false
	for i := 0; i < len(p.Text) && !more; {
		l := firstLetter(p.Text[i:], x)
		l.at = i
		from := x
		i, x = i+l.bytes, x+l.columns
		switch {
		case x <= column && column > 0:
			continue
		case from < column:
			l.columns = x - column
			l.text = strings.Repeat(" ", l.columns)
		}
		// A letter may have any number of accents.
		size += len(l.text)
		if more = x > column+width || size > width*bytesPerColumn; !more {
			seen = append(seen, l)
		}
	}
	if !more {
		return k.letters(p, seen)
	}
	used := 0
	for i, l := range seen {
		if used+l.columns > width-1 {
			seen = seen[:i]
			break
		}
		used += l.columns
	}
	return k.letters(p, seen) + strings.Repeat(" ", width-1-used) + p.Base.Render("…")
}

// A letter is what a reader takes for one, with its accents.
type letter struct {
	text      string // as it is shown
	columns   int
	at, bytes int // its place and length in the line's text
}

// firstLetter is the first one of s, which begins at column x of its line.
func firstLetter(s string, x int) letter {
	c := s[0]
	if c >= ' ' && c < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return letter{text: s[:1], columns: 1, bytes: 1}
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == '\t':
		n := tabStop - x%tabStop
		return letter{text: strings.Repeat(" ", n), columns: n, bytes: 1}
	case unclean(r):
		return letter{text: string(utf8.RuneError), columns: 1, bytes: n}
	}
	cluster, columns := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if i := strings.IndexFunc(cluster, unclean); i > 0 {
		// A byte that is not UTF-8 is taken for a part of the letter before it.
		cluster, columns = cluster[:i], ansi.StringWidth(cluster[:i])
	}
	return letter{text: cluster, columns: columns, bytes: len(cluster)}
}

// letterStyle is how a letter is drawn.
type letterStyle struct {
	style steps.Style
	mark  mark // has a style of its own
}

type mark uint8

const (
	_ mark = iota
	found
	foundHere
)

// letters sets letters, as few escape sequences as their looks need.
func (k *Styles) letters(p Print, letters []letter) string {
	var out, run strings.Builder
	var now letterStyle
	var style steps.Style
	spans, marks := p.Spans, p.Marks
	flush := func() {
		if run.Len() > 0 {
			out.WriteString(k.render(p.Base, now, run.String()))
			run.Reset()
		}
	}
	for _, l := range letters {
		for len(spans) > 0 && int(spans[0].At) <= l.at {
			style, spans = spans[0].Style, spans[1:]
		}
		next := letterStyle{style: style}
		for len(marks) > 0 && marks[0].To <= l.at {
			marks = marks[1:]
		}
		if len(marks) > 0 && marks[0].From < l.at+l.bytes {
			next = letterStyle{mark: found}
			if marks[0].Here {
				next.mark = foundHere
			}
		}
		if next != now {
			flush()
			now = next
		}
		run.WriteString(l.text)
	}
	flush()
	return out.String()
}

// render is a piece of text that looks alike throughout. What was searched for is marked
// over any colour of the tool's.
func (k *Styles) render(base Style, l letterStyle, text string) string {
	switch {
	case l.mark == foundHere:
		return k.FoundHere.Render(text)
	case l.mark == found:
		return k.Found.Render(text)
	case l.style == (steps.Style{}) || k.profile <= colorprofile.NoTTY:
		return base.Render(text)
	}
	s := attributes(l.style.Attr)
	fg, bg := k.color(l.style.Fg), k.color(l.style.Bg)
	if fg != nil && bg != nil && same(fg, bg) {
		bg = nil // nothing is written so that it can't be read
	}
	if fg == nil {
		if c := base.GetForeground(); c != (lipgloss.NoColor{}) {
			fg = k.profile.Convert(c)
		}
	}
	if fg != nil {
		s = s.ForegroundColor(fg)
	}
	if bg != nil {
		s = s.BackgroundColor(bg)
	}
	return s.Styled(text)
}

// attributes begins a style. Lip Gloss takes ten times as long, and every letter may have
// a colour of its own.
func attributes(a steps.Attr) (s ansi.Style) {
	if a&steps.Bold != 0 {
		s = s.Bold()
	}
	if a&steps.Faint != 0 {
		s = s.Faint()
	}
	if a&steps.Italic != 0 {
		s = s.Italic(true)
	}
	if a&steps.Underline != 0 {
		s = s.Underline(true)
	}
	return s
}

// color is a tool's colour as this terminal has it; nil is the terminal's own.
func (k *Styles) color(c steps.Color) color.Color {
	if k.profile <= colorprofile.ASCII {
		return nil
	}
	if n, ok := c.Index(); ok {
		if n < 16 {
			return ansi.BasicColor(n)
		}
		return k.profile.Convert(ansi.IndexedColor(n))
	}
	r, g, b, ok := c.RGB()
	if !ok {
		return nil
	}
	if k.profile < colorprofile.TrueColor {
		// Convert keeps each colour that it was ever asked for, and a tool may have 16
		// million. The terminal has 256 at most.
		const fewer = 0xf0
		r, g, b = r&fewer|r>>4, g&fewer|g>>4, b&fewer|b>>4
	}
	return k.profile.Convert(color.RGBA{R: r, G: g, B: b, A: 0xff})
}

func same(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	return ar == br && ag == bg && ab == bb
}
