package notebook

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// colours keeps of a line's escape sequences those that set colours and the weight
// of letters (SGR), and nothing else that could control a terminal.
func colours(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return s
	}
	var b strings.Builder
	eachPart(s, func(text, sgr string) {
		b.WriteString(text)
		if sgr != "" {
			b.WriteString("\x1b[" + sgr + "m")
		}
	})
	return b.String()
}

// plain is a line without any.
func plain(s string) string {
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
		for i := 1; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				if numbers := s[1:i]; s[i] == 'm' && strings.Trim(numbers, "0123456789;:") == "" {
					if numbers == "" {
						numbers = "0"
					}
					return numbers, s[i+1:]
				}
				return "", s[i+1:]
			}
		}
		return "", ""
	case strings.IndexByte("]PX^_", s[0]) >= 0: // up to BEL or ST
		for i := 1; i < len(s); i++ {
			if s[i] == 0x07 {
				return "", s[i+1:]
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return "", s[i+2:]
			}
		}
		return "", ""
	default:
		i := 0
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		return "", s[min(len(s), i+1):]
	}
}

// spans is a line as HTML, its colours as classes of the page.
func spans(s string) string {
	var b strings.Builder
	var p pen
	eachPart(s, func(text, sgr string) {
		if text != "" {
			if class, style := p.look(); class != "" || style != "" {
				fmt.Fprintf(&b, "<span%s%s>%s</span>", attribute("class", class), attribute("style", style), html.EscapeString(text))
			} else {
				b.WriteString(html.EscapeString(text))
			}
		}
		p.set(sgr)
	})
	return b.String()
}

func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + value + `"`
}

// A pen is what the next letters look like.
type pen struct {
	bold, faint, reverse bool
	fore, back           string // "1" … "15" of the page's colours, "#rrggbb", or empty
}

func (p pen) look() (class, style string) {
	var classes, styles []string
	add := func(on bool, name string) {
		if on {
			classes = append(classes, name)
		}
	}
	add(p.bold, "bold")
	add(p.faint, "faint")
	add(p.reverse, "reverse")
	for _, c := range []struct{ colour, class, style string }{{p.fore, "f", "color"}, {p.back, "b", "background"}} {
		switch {
		case strings.HasPrefix(c.colour, "#"):
			styles = append(styles, c.style+":"+c.colour)
		case c.colour != "":
			classes = append(classes, c.class+c.colour)
		}
	}
	return strings.Join(classes, " "), strings.Join(styles, ";")
}

func (p *pen) set(sgr string) {
	if sgr == "" {
		return
	}
	var codes []int
	for _, f := range strings.FieldsFunc(sgr, func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			n = -1
		}
		codes = append(codes, n)
	}
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			*p = pen{}
		case c == 1:
			p.bold = true
		case c == 2:
			p.faint = true
		case c == 7:
			p.reverse = true
		case c == 22:
			p.bold, p.faint = false, false
		case c == 27:
			p.reverse = false
		case c >= 30 && c <= 37:
			p.fore = strconv.Itoa(c - 30)
		case c >= 90 && c <= 97:
			p.fore = strconv.Itoa(c - 90 + 8)
		case c >= 40 && c <= 47:
			p.back = strconv.Itoa(c - 40)
		case c >= 100 && c <= 107:
			p.back = strconv.Itoa(c - 100 + 8)
		case c == 39:
			p.fore = ""
		case c == 49:
			p.back = ""
		case c == 38 || c == 48:
			colour, used := extended(codes[i+1:])
			if i += used; c == 38 {
				p.fore = colour
			} else {
				p.back = colour
			}
		}
	}
}

// extended reads the colour after 38 or 48: one of 256, or red, green and blue.
func extended(codes []int) (colour string, used int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		return paletteColour(codes[1]), 2
	case len(codes) >= 4 && codes[0] == 2:
		for _, c := range codes[1:4] {
			if c < 0 || c > 255 {
				return "", 4
			}
		}
		return fmt.Sprintf("#%02x%02x%02x", codes[1], codes[2], codes[3]), 4
	}
	return "", len(codes)
}

// paletteColour is one of xterm's 256.
func paletteColour(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return strconv.Itoa(n)
	case n >= 232:
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
