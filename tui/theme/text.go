package theme

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Pad gives s exactly width columns: it fills what is left and marks what is cut.
// A Lip Gloss style of that width wraps what it should cut.
func Pad(s string, width int) string {
	s = ansi.Truncate(s, width, "…")
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// Tail is the end of s, in width columns at most.
func Tail(s string, width int) string {
	over := ansi.StringWidth(s) - width
	switch {
	case over <= 0:
		return s
	case width < 1:
		return ""
	}
	return "…" + ansi.TruncateLeft(s, over+1, "")
}

// Sides puts left and right at the two ends of width columns. Where both don't
// fit, the left one is cut, down to a third of the width.
func Sides(left, right string, width int) string {
	left = ansi.Truncate(left, max(width-lipgloss.Width(right)-1, width/3), "…")
	right = ansi.Truncate(right, width-lipgloss.Width(left)-1, "…")
	return left + strings.Repeat(" ", max(0, width-lipgloss.Width(left)-lipgloss.Width(right))) + right
}

// Wrap sets s, which may be styled, in lines of width columns at most. first
// stands before the first line and rest before the others.
func Wrap(s string, width int, first, rest string) []string {
	if !strings.Contains(s, "\n") && lipgloss.Width(first)+lipgloss.Width(s) <= width {
		return []string{first + s}
	}
	// lipgloss.Wrap breaks behind any hyphen: that of --peer, too.
	const hyphen = "\u2011"
	width = max(1, width-max(lipgloss.Width(first), lipgloss.Width(rest)))
	s = lipgloss.Wrap(strings.ReplaceAll(inAddresses(s, "-", noHyphen), "-", hyphen), width, "")
	lines := strings.Split(inAddresses(strings.ReplaceAll(s, hyphen, "-"), noHyphen, "-"), "\n")
	for i, l := range lines {
		// It leaves styled blanks at a line's end without counting them.
		lines[i] = first + ansi.Truncate(l, width, "")
		first = rest
	}
	return lines
}

// Fold sets a line of code, which is not styled, in lines of width columns at most.
// What follows the first is indented.
func Fold(s string, width int) []string {
	const indent = "    "
	first := Wrap(s, width, "", "")[0]
	tail, ok := strings.CutPrefix(s, first)
	switch {
	case !ok:
		return Wrap(s, width, "", indent)
	case strings.TrimLeft(tail, " ") == "":
		return []string{first}
	}
	return append([]string{first}, Wrap(strings.TrimLeft(tail, " "), width, indent, indent)...)
}

// bytesPerColumn is the most that a column of text is given: a family of four has 25
// bytes in two.
const bytesPerColumn = 32

// Head is enough of s to fill columns columns: a line of output has up to 16 kB, and
// looking at all of it for the little that is seen is most of a frame's time.
func Head(s string, columns int) string {
	n := max(1, columns) * bytesPerColumn
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const tabStop = 8

// Clean makes one line of s that moves nothing on a terminal but its cursor to
// the right: tabs become blanks, and everything that controls becomes visible,
// where ansi.Strip would hide that it was there. The nodes clean their output
// already; titles and prose come from a file.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unclean) {
		return s
	}
	var b strings.Builder
	column := 0
	for len(s) > 0 {
		l := firstLetter(s, column)
		b.WriteString(l.text)
		column += l.columns
		s = s[l.bytes:]
	}
	return b.String()
}

// unclean is true of bytes that are not UTF-8, too: ranging gives RuneError for them.
func unclean(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) ||
		unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
