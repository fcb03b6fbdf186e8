package theme

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Over puts a box on a screen, its upper left corner x columns and y lines from the screen's. What of the
// box would stand outside the screen's lines is left out. Only the lines that it covers are read: a
// compositor makes cells of the whole screen, which is most of such a frame's time.
func Over(screen, box string, x, y int) string {
	lines := strings.Split(screen, "\n")
	for i, piece := range strings.Split(box, "\n") {
		if at := y + i; at >= 0 && at < len(lines) {
			lines[at] = overLine(lines[at], piece, x)
		}
	}
	return strings.Join(lines, "\n")
}

// overLine puts a piece on a line, x columns from its left. A wide letter that the piece covers half
// of becomes a blank.
func overLine(line, piece string, x int) string {
	width := ansi.StringWidth(piece)
	left := ansi.Truncate(line, x, "")
	right := ansi.TruncateLeft(line, x+width, "")
	rest := max(0, ansi.StringWidth(line)-x-width)
	if ansi.StringWidth(right) > rest {
		right = ansi.TruncateLeft(line, x+width+1, "") // it keeps a letter whole of which half is cut off
	}
	short := max(0, rest-ansi.StringWidth(right))
	// Both halves keep all of the line's sequences, so each ends as the line does.
	return left + strings.Repeat(" ", max(0, x-ansi.StringWidth(left))) + ansi.ResetStyle + piece + ansi.ResetStyle +
		strings.Repeat(" ", short) + right
}
