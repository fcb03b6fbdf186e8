package cells

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// The runes around a mark's number, of a private area: no text has them.
const markBegin, markEnd = "\uE000", "\uE001"

// marked is a source with the numbers of its differences from first on, each between those
// runes.
func marked(source string, first int, inPlace bool) string {
	return steps.MarkDifferences(source,
		func(n int, _ string) string { return fmt.Sprintf("%s%d%s", markBegin, first+n, markEnd) }, inPlace)
}

// marginWidth is what the margin takes: a blank, a sign and a number.
const marginWidth = 5

// margin moves the marks of a line into the margin.
func margin(line string, k *theme.Styles, width int) string {
	var numbers []string
	for {
		from := strings.Index(line, markBegin)
		to := strings.Index(line, markEnd)
		if from < 0 || to < from {
			break
		}
		numbers = append(numbers, strings.TrimSpace(ansi.Strip(line[from+len(markBegin):to])))
		line = line[:from] + line[to+len(markEnd):]
	}
	if numbers == nil {
		return line
	}
	return theme.Pad(strings.TrimRight(line, " "), width) + " " + k.Accent.Render("◂"+strings.Join(numbers, ","))
}
