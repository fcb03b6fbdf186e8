package ink

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func fg(r, g, b uint8) Style { return Style(fmt.Sprintf("\x1b[38;2;%d;%d;%dm", r, g, b)) }

// Width is how many columns s takes, escape sequences not counted.
func Width(s string) int {
	if printable(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// printable says that s is ASCII without control bytes, so that its width is its
// length. Nearly all output is, and measuring graphemes costs a hundred times more.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Fit cuts s to width columns and marks the cut.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if printable(s) {
		if len(s) <= width {
			return s
		}
		return s[:width-1] + "…"
	}
	if ansi.StringWidth(s) <= width {
		return s
	}
	s = ansi.Truncate(s, width, "…")
	if strings.Contains(s, "\x1b") {
		s += reset
	}
	return s
}

// Pad gives s exactly width columns.
func Pad(s string, width int) string {
	s = Fit(s, width)
	if gap := width - Width(s); gap > 0 {
		return s + Spaces(gap)
	}
	return s
}

// Left puts s at the right end of width columns.
func Left(s string, width int) string {
	s = Fit(s, width)
	return Spaces(width-Width(s)) + s
}

// Sides puts left and right at the two ends of width columns. Where both don't
// fit, the left one is cut, down to a third of the width.
func Sides(left, right string, width int) string {
	if width <= 0 {
		return ""
	}
	r := Width(right)
	if room := width - r - 1; Width(left) > room {
		left = Fit(left, max(room, width/3))
	}
	right = Fit(right, max(0, width-Width(left)-1))
	return left + Spaces(width-Width(left)-Width(right)) + right
}

// Cut gives width columns of s from column from on. s has no escape sequences.
func Cut(s string, from, width int) string {
	if printable(s) {
		from = min(from, len(s))
		return s[from:min(len(s), from+width)]
	}
	return ansi.Cut(s, from, from+width)
}

// Head is enough of s to fill columns columns, and little more: a line of output has
// up to 16 kB, and measuring all of it for the little that is seen is most of a
// frame's time.
func Head(s string, columns int) string {
	const perColumn = 32 // bytes: a family of four has 25
	n := max(1, columns) * perColumn
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const blanks = "                                                                                                    "

// Spaces gives n blanks, none where n is negative.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Rule gives a line of n columns.
func Rule(n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat("─", n)
}

const tabStop = 8

// Clean makes one line of s that moves nothing on a terminal but its cursor to
// the right: tabs become blanks, and everything that controls becomes visible.
// The nodes clean their output already; titles and prose come from a file.
func Clean(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	column := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			b.WriteString(Spaces(n))
			column += n
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			b.WriteRune('\uFFFD')
			column++
		default:
			b.WriteString(s[:size])
			column += ansi.StringWidth(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func clean(s string) bool {
	if printable(s) {
		return true
	}
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}
