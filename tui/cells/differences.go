package cells

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/ink"
)

// Where a source document is wrong, a tutorial says so in a quotation with **In fact** in it.
// An explanation that is interrupted by it each time is hard to follow: on the screen a
// numbered mark in the margin stands for it.

// A quotation is lines of a Markdown source, from one to before another.
type quotation struct {
	from, to int
	text     string // without the marks of a quotation
}

// Differences are the quotations of a Markdown text that say what is different in fact, in
// order and without their marks.
func Differences(source string) []string {
	var all []string
	for _, q := range quotations(strings.Split(source, "\n")) {
		all = append(all, q.text)
	}
	return all
}

func quotations(lines []string) (all []quotation) {
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], ">") {
			continue
		}
		q := quotation{from: i}
		var text []string
		for ; i < len(lines) && strings.HasPrefix(lines[i], ">"); i++ {
			text = append(text, strings.TrimPrefix(strings.TrimPrefix(lines[i], ">"), " "))
		}
		q.to, q.text = i, strings.Join(text, "\n")
		if strings.Contains(strings.Join(strings.Fields(q.text), " "), "**In fact**") {
			all = append(all, q)
		}
	}
	return all
}

// The runes around a mark's number, of a private area: no text has them.
const markBegin, markEnd = "\uE000", "\uE001"

// marked is a source with a mark behind what stands before each difference, which is left
// out unless it is to be read in its place.
func marked(source string, first int, inPlace bool) string {
	lines := strings.Split(source, "\n")
	var out []string
	at := 0
	for i, q := range quotations(lines) {
		out = append(out, lines[at:q.from]...)
		mark := fmt.Sprintf("%s%d%s", markBegin, first+i, markEnd)
		for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
			out = out[:len(out)-1]
		}
		if n := len(out) - 1; n >= 0 && flows(out[n]) {
			out[n] += mark
		} else {
			out = append(out, "", mark)
		}
		out = append(out, "")
		if inPlace {
			out = append(out, lines[q.from:q.to]...)
			out = append(out, "")
		}
		at = q.to
	}
	return strings.Join(append(out, lines[at:]...), "\n")
}

// flows reports whether a line ends a paragraph, so that a mark can stand behind it.
func flows(line string) bool {
	return !slices.ContainsFunc([]string{"    ", "\t", "```", "~~~", "|", "#", "<", ">", "---", "==="},
		func(mark string) bool { return strings.HasPrefix(line, mark) })
}

// marginWidth is what the margin takes: a blank, a sign and a number.
const marginWidth = 5

// margin moves the marks of a line into the margin.
func margin(line string, k *ink.Ink, width int) string {
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
	return ink.Pad(strings.TrimRight(line, " "), width) + " " + k.Accent.Render("◂"+strings.Join(numbers, ","))
}
