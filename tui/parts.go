package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// target is what a click on a row of the list means; part -1 is nothing.
type target struct{ part, item int }

// partList is the parts with their progress, and the open part's cells below it
// where there is room. Its lines are exactly as many as the notebook's.
func (nb *notebook) partList(l screen.Layout) ([]string, []target) {
	var lines []string
	var targets []target
	outline := l.PartsWidth >= 20 && len(nb.Parts())+len(nb.open().Cells) <= l.NoteHeight
	current := 0
	for i, p := range nb.Parts() {
		if i == nb.part {
			current = len(lines)
		}
		lines = append(lines, nb.partLine(i, p, l.PartsWidth))
		targets = append(targets, target{part: i})
		if i != nb.part || !outline {
			continue
		}
		for j, c := range p.Cells {
			lines = append(lines, nb.outlineLine(j+1, c, l.PartsWidth))
			targets = append(targets, target{part: i, item: j + 1})
		}
	}
	if over := len(lines) - l.NoteHeight; over > 0 {
		from := max(0, min(over, current-l.NoteHeight/2))
		lines, targets = lines[from:from+l.NoteHeight], targets[from:from+l.NoteHeight]
	}
	for len(lines) < l.NoteHeight {
		lines = append(lines, strings.Repeat(" ", l.PartsWidth))
		targets = append(targets, target{part: -1})
	}
	return lines, targets
}

// partLine has a part's number alone in a list below 20 columns, and always counts from 27 on: see partsWidth.
func (nb *notebook) partLine(i int, p steps.Part, width int) string {
	k := nb.Styles
	mark, markStyle := nb.partMark(p)
	style, arrow := k.Dim, " "
	if i == nb.part {
		style, arrow = k.Focus, "▸"
	}
	head := k.Accent.Render(arrow) + markStyle.Render(mark) + " "
	if width < 20 {
		return theme.Pad(head+style.Render(strconv.Itoa(i+1)), width)
	}
	ran, all := nb.Book.Progress(p)
	progress := ""
	if all > 0 && (ran > 0 || width >= 27) {
		progress = fmt.Sprintf("%d/%d ", ran, all)
	}
	digits := 1
	if width >= 27 { // a narrow list needs the column for names
		digits = len(strconv.Itoa(len(nb.Parts())))
	}
	title := fmt.Sprintf("%*d %s", digits, i+1, theme.Clean(p.Title))
	if width < 27 && 3+lipgloss.Width(title)+1+lipgloss.Width(progress) > width {
		progress = "" // the mark says most of it, and half a name little
	}
	title = ansi.Truncate(title, width-3-lipgloss.Width(progress)-1, "…")
	return theme.Pad(theme.Sides(head+style.Render(title), k.Dim.Render(progress), width), width)
}

// partMark is the worst grade so far, unless a cell of the part runs or waits. PASS needs every cell of the
// way; optional ones don't count unless the part has no others.
func (nb *notebook) partMark(p steps.Part) (string, theme.Style) {
	worst, waits := steps.NotRun, false
	for _, c := range p.Cells {
		if nb.Book.Cells[c.ID].Running {
			return "●", nb.Styles.Accent
		}
		waits = waits || slices.Contains(nb.Book.Queue, c.ID)
		grade := nb.Book.Cells[c.ID].Verdict.Grade
		worst = worst.Worst(grade)
	}
	ran, all := nb.Book.Progress(p)
	switch {
	case waits:
		return "◌", nb.Styles.Accent
	case worst == steps.Pass && ran < all:
		return "◐", cells.GradeStyle(nb.Styles, worst)
	}
	return cells.Mark(worst), cells.GradeStyle(nb.Styles, worst)
}

func (nb *notebook) outlineLine(item int, c steps.Cell, width int) string {
	k := nb.Styles
	mark, markStyle := cells.Mark(nb.Book.Cells[c.ID].Verdict.Grade), cells.GradeStyle(k,
		nb.Book.Cells[c.ID].Verdict.Grade)
	switch {
	case nb.Book.Cells[c.ID].Running:
		mark, markStyle = "●", k.Accent
	case slices.Contains(nb.Book.Queue, c.ID):
		mark, markStyle = "◌", k.Accent
	}
	style := k.Dim
	if nb.cursor().item == item {
		style = k.Accent
	}
	title := c.Title
	if title == "" {
		title = c.ID
	}
	return theme.Pad("    "+markStyle.Render(mark)+" "+style.Render(ansi.Truncate(theme.Clean(title), width-7, "…")),
		width)
}
