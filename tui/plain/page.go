package plain

import (
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// PageWidth is that of a page in a file or a pipe, and the most on a terminal.
const PageWidth = 80

// Page is a page of Markdown for a terminal of so many columns; for 0 it is text without any style.
func Page(text string, columns int) string {
	profile, width := colorprofile.ASCII, min(columns, PageWidth)
	if columns == 0 {
		profile, width = colorprofile.NoTTY, PageWidth
	}
	lines := cells.Prose(text, theme.New(true, profile), width)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	page := strings.Join(lines, "\n") + "\n"
	if columns == 0 {
		return ansi.Strip(page)
	}
	return page
}
