package cells

import (
	"math"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// A Check is an entry of the checklist: one line, and what it found below it where it
// is selected.
type Check struct {
	Cell
	Titles int // columns that the titles of all checks need
	// Fix is the cell that puts it right; its ID is empty where there is none.
	Fix      steps.Cell
	FixState steps.CellState
	FixReads []string      // names of its parameters
	FixTime  time.Duration // how long the fix has been running
}

// Lines draws it, each line width columns.
func (c Check) Lines(k *theme.Styles, width int) []string {
	b := body{k: k, width: width, bar: " "}
	if c.Selected {
		b.bar = k.Accent.Render("▌")
	}
	b.add(c.line(k, width-1))
	if !c.Selected {
		return b.lines
	}
	b.verdict(c.Cell)
	c.fix(&b)
	if c.Evidence > NoEvidence && len(c.State.Verdict.Evidence)+len(c.State.Bytes) > 0 {
		b.evidence(c.Cell)
	}
	if len(b.lines) > 1 {
		b.add("")
	}
	for _, l := range Prose(c.Prose, k, max(1, width-3)) {
		b.add(" " + l)
	}
	if c.Script {
		b.add("")
		for _, r := range c.Roles {
			b.script(r.Text(), math.MaxInt/2)
		}
	}
	b.blank()
	return b.lines
}

// line is the mark, the title and, in the room that is left, what it found.
func (c Check) line(k *theme.Styles, width int) string {
	g := c.State.Verdict.Grade
	mark, style := Mark(g), GradeStyle(k, g)
	said := theme.Clean(c.State.Verdict.Reason)
	switch {
	case c.State.Running:
		mark, style, said = "●", k.Accent, "looking, "+c.Elapsed
	case c.Queued > 0:
		mark, style, said = "◌", k.Accent, "waits"
	case c.Selected || g == steps.NotRun:
		said = ""
	}
	title := k.Dim
	switch {
	case c.Selected:
		title = k.Focus
	case g == steps.Fail || g == steps.Warn || g == steps.Inconclusive:
		title = k.Strong
	}
	room := min(c.Titles, max(12, width/2))
	left := " " + style.Render(mark) + " " +
		theme.Pad(title.Render(ansi.Truncate(theme.Clean(c.Title), room, "…")), room) + "  "
	rest := max(0, width-lipgloss.Width(left)-1)
	return left + k.Dim.Render(ansi.Truncate(strings.Join(strings.Fields(said), " "), rest, "…"))
}

// fix says what puts it right, and how that went.
func (c Check) fix(b *body) {
	g := c.State.Verdict.Grade
	wrong := g == steps.Fail || g == steps.Warn || g == steps.Inconclusive
	switch {
	case c.Fix.ID == "":
	case c.FixState.Running:
		b.wrap(b.k.Accent.Render(c.Spinner+" "+theme.Clean(c.Fix.Title)+", "+Seconds(c.FixTime)), "  ", "    ")
	case wrong && !c.State.Running:
		does := "; it shows what it does, and asks"
		if len(c.FixReads) > 0 {
			does += "; p sets " + strings.Join(c.FixReads, ", ")
		}
		does = b.k.Dim.Render(" (" + c.Fix.ID + does + ")")
		b.wrap(b.k.Focus.Render("f")+" fix: "+theme.Clean(c.Fix.Title)+does, "  ", "    ")
	}
	if v := c.FixState.Verdict; v.Grade != steps.NotRun && !c.FixState.Running {
		grade := GradeStyle(b.k, v.Grade).Render(Mark(v.Grade) + " " + c.Fix.ID)
		b.wrap(grade+"  "+strings.Join(strings.Fields(theme.Clean(v.Reason)), " "), "  ", "    ")
	}
}
