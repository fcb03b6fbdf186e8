package notebook

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
)

// A tool's colours are apart from a line's text while railbench runs (runner.Span), and SGR sequences within
// it in the file: Jupyter draws those.

// painted is a line with its colours as SGR sequences, and without any other byte
// that could control a terminal.
func painted(l steps.OutputLine) string {
	text := plain(l.Text)
	if len(l.Spans) == 0 || text != l.Text {
		return text // what spans say of another text is not of this one
	}
	var b strings.Builder
	coloured := false
	eachSpan(l, func(part string, style steps.Style) {
		if coloured && style == (steps.Style{}) {
			b.WriteString("\x1b[0m")
		}
		coloured = style != steps.Style{}
		b.WriteString(sequenceOf(style) + part)
	})
	if coloured {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// eachSpan gives the parts of a line that look alike. The first is plain, and may be
// empty.
func eachSpan(l steps.OutputLine, found func(part string, style steps.Style)) {
	at, style := 0, steps.Style{}
	for _, s := range l.Spans {
		to := min(max(int(s.At), at), len(l.Text))
		if to > at {
			found(l.Text[at:to], style)
		}
		at, style = to, s.Style
	}
	found(l.Text[at:], style)
}

// sequenceOf sets a style whatever was set before.
func sequenceOf(s steps.Style) string {
	if s == (steps.Style{}) {
		return ""
	}
	codes := []string{"0"}
	for i, a := range []runner.Attr{runner.Bold, runner.Faint, runner.Italic, runner.Underline} {
		if s.Attr&a != 0 {
			codes = append(codes, strconv.Itoa(i+1))
		}
	}
	colour := func(c steps.Color, base int) {
		if n, ok := c.Index(); ok {
			switch {
			case n < 8:
				codes = append(codes, strconv.Itoa(base+int(n)))
			case n < 16:
				codes = append(codes, strconv.Itoa(base+60+int(n)-8))
			default:
				codes = append(codes, fmt.Sprintf("%d;5;%d", base+8, n))
			}
		} else if r, g, b, ok := c.RGB(); ok {
			codes = append(codes, fmt.Sprintf("%d;2;%d;%d;%d", base+8, r, g, b))
		}
	}
	colour(s.Fg, 30)
	colour(s.Bg, 40)
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// unpainted takes a line of a file apart: its text, and its colours.
func unpainted(s string) (text string, spans []steps.Span) {
	var b strings.Builder
	var now, before steps.Style
	eachPart(s, func(part, sgr string) {
		if part != "" && now != before {
			spans = append(spans, steps.Span{At: int32(b.Len()), Style: now})
			before = now
		}
		b.WriteString(part)
		setStyle(&now, sgr)
	})
	return b.String(), spans
}

// plain is a text without anything that could control a terminal.
func plain(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return s
	}
	var b strings.Builder
	eachPart(s, func(text, _ string) { b.WriteString(text) })
	return b.String()
}

// eachPart gives the text before each SGR sequence, and the sequence's numbers. Other
// sequences and control characters are left out; a tab is one that a text may have.
func eachPart(s string, found func(text, sgr string)) {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == 0x1b {
			sgr, rest := sequence(s[1:])
			if s = rest; sgr != "" {
				found(b.String(), sgr)
				b.Reset()
			}
			continue
		}
		end := strings.IndexByte(s, 0x1b)
		if end < 0 {
			end = len(s)
		}
		for _, r := range s[:end] {
			if r == '\t' || r >= ' ' && r < 0x7f || r >= 0xa0 {
				b.WriteRune(r)
			}
		}
		s = s[end:]
	}
	found(b.String(), "")
}

// sequence reads what follows an ESC: the numbers of an SGR, or nothing, and the rest.
func sequence(s string) (sgr, rest string) {
	switch {
	case s == "":
		return "", ""
	case s[0] == '[':
		return controlSequence(s)
	case strings.IndexByte("]PX^_", s[0]) >= 0:
		return "", afterString(s)
	default:
		i := 0
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		return "", s[min(len(s), i+1):]
	}
}

// controlSequence reads from the [ on. One that never ends takes the line with it.
func controlSequence(s string) (sgr, rest string) {
	end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e }) + 1
	if end == 0 {
		return "", ""
	}
	numbers, rest := s[1:end], s[end+1:]
	switch {
	case s[end] != 'm' || strings.Trim(numbers, "0123456789;:") != "":
		return "", rest
	case numbers == "":
		return "0", rest
	default:
		return numbers, rest
	}
}

// afterString is what stands behind a title, a link or the like, which goes up to BEL or ST.
func afterString(s string) string {
	for i := 1; i < len(s); i++ {
		if s[i] == 0x07 {
			return s[i+1:]
		}
		if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
			return s[i+2:]
		}
	}
	return ""
}

// setStyle applies the numbers of an SGR sequence as sequenceOf writes them. What
// another program wrote in another form is plain.
func setStyle(s *steps.Style, sgr string) {
	if sgr == "" {
		return
	}
	var codes []int
	for f := range strings.SplitSeq(sgr, ";") {
		n, err := strconv.ParseUint(f, 10, 8)
		if err != nil {
			return
		}
		codes = append(codes, int(n))
	}
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			*s = steps.Style{}
		case c >= 1 && c <= 4:
			s.Attr |= runner.Bold << (c - 1)
		case c == 38 || c == 48:
			colour, used := extendedColour(codes[i+1:])
			if used == 0 {
				return // where it ends is not known
			}
			i += used
			if c == 38 {
				s.Fg = colour
			} else {
				s.Bg = colour
			}
		default:
			if colour, ok := terminalColour(c); ok {
				s.Fg = colour
			} else if colour, ok := terminalColour(c - 10); ok {
				s.Bg = colour // the same, ten further on
			}
		}
	}
}

// extendedColour reads 5;N or 2;R;G;B behind a 38 or a 48, and how many numbers that takes.
func extendedColour(codes []int) (c steps.Color, used int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		return runner.Indexed(uint8(codes[1])), 2
	case len(codes) >= 4 && codes[0] == 2:
		return runner.RGB(uint8(codes[1]), uint8(codes[2]), uint8(codes[3])), 4
	}
	return 0, 0
}

// terminalColour is a text's colour by its number: eight, eight bright ones, and the
// terminal's own.
func terminalColour(code int) (c steps.Color, ok bool) {
	switch {
	case code >= 30 && code <= 37:
		return runner.Indexed(uint8(code - 30)), true
	case code >= 90 && code <= 97:
		return runner.Indexed(uint8(code - 90 + 8)), true
	}
	return 0, code == 39
}

// markup is a line as HTML, its colours as classes of the page.
func markup(l steps.OutputLine) string {
	var b strings.Builder
	eachSpan(l, func(part string, style steps.Style) {
		text := html.EscapeString(plain(part))
		class, css := classes(style)
		switch {
		case text == "":
		case class == "" && css == "":
			b.WriteString(text)
		default:
			fmt.Fprintf(&b, "<span%s%s>%s</span>", attribute("class", class), attribute("style", css), text)
		}
	})
	return b.String()
}

func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + value + `"`
}

// The sixteen colours of a terminal are the page's to choose, for light and for dark; others are written out.
func classes(s steps.Style) (class, css string) {
	var names, styles []string
	for _, a := range []struct {
		attr runner.Attr
		name string
	}{{runner.Bold, "bold"}, {runner.Faint, "faint"}, {runner.Italic, "italic"}, {runner.Underline, "underline"}} {
		if s.Attr&a.attr != 0 {
			names = append(names, a.name)
		}
	}
	for _, c := range []struct {
		colour          steps.Color
		class, property string
	}{{s.Fg, "f", "color"}, {s.Bg, "b", "background"}} {
		if n, ok := c.colour.Index(); ok && n < 16 {
			names = append(names, c.class+strconv.Itoa(int(n)))
		} else if ok {
			styles = append(styles, c.property+":"+paletteColour(int(n)))
		} else if r, g, b, ok := c.colour.RGB(); ok {
			styles = append(styles, fmt.Sprintf("%s:#%02x%02x%02x", c.property, r, g, b))
		}
	}
	return strings.Join(names, " "), strings.Join(styles, ";")
}

// paletteColour is one of xterm's 256, from 16 on: a cube of six levels, and greys.
func paletteColour(n int) string {
	if n >= 232 {
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	n -= 16
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}
