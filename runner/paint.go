package runner

import (
	"strconv"
	"strings"
)

// Colours are kept apart from a line's text: parsers and logs read the text, and no byte of a tool reaches a
// terminal.

// A Style is how a tool wanted some of its text to look: what SGR sequences say
// about colours, bold, faint, italic and underline. Blinking, concealed, reversed
// and struck-out text is plain.
type Style struct {
	// The zero Style is plain, as the terminal has it.
	Fg, Bg Color
	Attr   Attr
}

// A Color is one of SGR's. The zero value is the terminal's own.
// The highest byte says which kind it is; below it is an index or three shares.
type Color uint32

const (
	indexed Color = 1 << 24
	direct  Color = 2 << 24
)

// Indexed is colour n of the terminal's palette of 256.
func Indexed(n uint8) Color { return indexed | Color(n) }

// RGB is a colour by its shares of red, green and blue.
func RGB(r, g, b uint8) Color { return direct | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Index gives the place in the palette of 256, of a colour that is there.
func (c Color) Index() (uint8, bool) { return uint8(c), c&^0xff == indexed }

// RGB gives the shares of a colour that Index has no place for.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&^0xffffff == direct
}

// An Attr is a set of attributes.
type Attr uint8

// The attributes.
const (
	Bold Attr = 1 << iota
	Faint
	Italic
	Underline
)

// A Span says how the text from byte At on looks, up to the next span or the line's
// end.
type Span struct {
	At    int32
	Style Style
}

// maxSpans bounds what a line that changes its colour with every letter takes. What
// comes after the last one is plain.
const maxSpans = 256

// maxParams is the length of the longest parameters of an SGR sequence that are read.
// A sequence whose parameters are longer is dropped as a whole, since what is left out may be its
// end.
const maxParams = 64

// sgr applies the parameters of one SGR sequence.
func (s *Style) sgr(params string) {
	list := strings.Split(params, ";")
	for i := 0; i < len(list); i++ {
		// With colons one parameter has parts of its own: 4:3 is a wavy underline.
		parts := strings.Split(list[i], ":")
		// A part that is not a number ends the reading; what was read before it holds.
		n, ok := number(parts[0])
		if !ok {
			return
		}
		switch n {
		case 38, 48, 58:
			c, used, ok := extended(parts, list[i+1:])
			if !ok {
				return // where it ends is not known, so what follows is not either
			}
			i += used
			switch n {
			case 38:
				s.Fg = c
			case 48:
				s.Bg = c
			} // 58 colours the underline
		case 4:
			if len(parts) > 1 && parts[1] == "0" {
				n = 24 // no underline, as 24 has it
			}
			s.attribute(n)
		default:
			if !s.attribute(n) {
				s.color(n)
			}
		}
	}
}

// attribute applies a parameter that is about bold, faint, italic or underlined text, or
// about everything, and reports whether n is one. 22 ends two: bold and faint are one
// setting to a terminal.
func (s *Style) attribute(n int) bool {
	switch n {
	case 0:
		*s = Style{}
	case 1:
		s.Attr |= Bold
	case 2:
		s.Attr |= Faint
	case 3:
		s.Attr |= Italic
	case 4, 21: // 21 is underlined twice
		s.Attr |= Underline
	case 22:
		s.Attr &^= Bold | Faint
	case 23:
		s.Attr &^= Italic
	case 24:
		s.Attr &^= Underline
	default:
		return false
	}
	return true
}

// color applies a parameter that names one of the sixteen colours, or the terminal's own.
func (s *Style) color(n int) {
	switch {
	case n >= 30 && n <= 37:
		s.Fg = Indexed(uint8(n - 30))
	case n >= 90 && n <= 97: // the bright eight
		s.Fg = Indexed(uint8(n - 90 + 8))
	case n == 39:
		s.Fg = 0
	case n >= 40 && n <= 47:
		s.Bg = Indexed(uint8(n - 40))
	case n >= 100 && n <= 107:
		s.Bg = Indexed(uint8(n - 100 + 8))
	case n == 49:
		s.Bg = 0
	}
}

// extended reads the colour after 38, 48 or 58: 38;5;N and 38;2;R;G;B, of which the
// parameters behind are used, or 38:5:N, 38:2:R:G:B and 38:2:SPACE:R:G:B.
func extended(parts, rest []string) (c Color, used int, ok bool) {
	if len(parts) > 1 {
		parts = parts[1:]
		if parts[0] == "2" && len(parts) > 4 {
			parts = append([]string{"2"}, parts[2:]...)
		}
		c, _, ok = color(parts)
		return c, 0, ok
	}
	return color(rest)
}

// color reads 5;N or 2;R;G;B, and how many parameters that takes.
func color(list []string) (c Color, used int, ok bool) {
	var n [4]uint8
	read := func(count int) bool {
		if len(list) < count {
			return false
		}
		for i := range count {
			x, ok := number(list[i])
			if !ok || x > 255 {
				return false
			}
			n[i] = uint8(x)
		}
		return true
	}
	switch {
	case len(list) == 0:
		return 0, 0, false
	case list[0] == "5" && read(2):
		return Indexed(n[1]), 2, true
	case list[0] == "2" && read(4):
		return RGB(n[1], n[2], n[3]), 4, true
	}
	return 0, 0, false
}

// number reads a parameter; one that is missing is 0 (ECMA-48: ESC [ m is ESC [ 0 m).
func number(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil
}
