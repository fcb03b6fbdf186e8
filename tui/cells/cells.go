// Package cells is the notebook's pane: prose, and cells with their script,
// output and verdict. Values come in and lines go out, each exactly as wide as
// was asked for; what is selected, expanded or scrolled is the caller's to say.
package cells

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// A Cell is everything that a cell's picture depends on: the cell, what it came to, and
// how it is looked at.
type Cell struct {
	steps.Cell
	State steps.CellState
	Names []string // the nodes' names, by End
	View
}

// A View is how a cell is looked at. Two that are equal show one version of a cell in the
// same lines.
type View struct {
	// Elapsed and Spinner are shown while it runs; afterwards the state has the time.
	Elapsed   string
	Spinner   string
	Selected  bool
	Queued    int    // its place among those that wait, from 1; 0 = it doesn't wait
	Params    string // the parameters that are not as by default; empty for none
	Evidence  int    // its level
	Script    bool   // show the whole of a long script
	Values    string // what its variables are on this rig, shown with all of the script
	Keep      int    // lines of output that are shown
	Simulated bool
	Folded    bool   // none of the output is shown
	Stale     string // why the result is not what a run would give now
	Whole     bool   // tables show all of their columns, as lists where they are too wide
	Notes     bool   // what is different in fact stands in its place
	Mark      int    // the number of its first difference, from 1; 0 where they are not numbered
}

// WideKey is the key that shows what tables leave out.
const WideKey = "W"

// scriptHead is how many lines of a script that is folded are shown, given how
// many lines of output are: a cell's roles share the room, so that a tall screen
// shows both scripts of a server and a client and a low one what they print.
func scriptHead(keep, roles int) int {
	return max(4, max(8, keep+2)/max(1, roles))
}

// A Drawing is a cell in lines, of which the first has the title.
type Drawing struct {
	Lines   []string
	Verdict int // the line with the verdict, or where it will be
	End     int // the line after the verdict and its figures; the tail follows
}

// Draw draws the cell, width columns wide.
func (c Cell) Draw(k *theme.Styles, width int) Drawing {
	b := body{k: k, width: width, bar: " "}
	if c.Selected {
		b.bar = k.Accent.Render("▌")
	}
	if c.Note() {
		return b.note(c)
	}
	b.head(c)
	if strings.TrimSpace(c.Prose) != "" {
		b.add("")
	}
	b.prose(c.setting(), c.Prose)
	if c.Params != "" {
		b.wrap(b.k.Dim.Render(c.Params), "    ", "    ")
	}
	b.scripts(c)
	b.output(c)
	verdict := len(b.lines)
	b.verdict(c)
	if c.Evidence > NoEvidence {
		b.evidence(c)
	}
	b.figures(c)
	b.blank()
	end := len(b.lines)
	tail := c.setting()
	if tail.Mark > 0 {
		tail.Mark += len(steps.DifferencesIn(c.Prose))
	}
	b.prose(tail, c.Tail)
	if c.State.Running {
		verdict = end
	}
	return Drawing{b.lines, verdict, end}
}

// note is a cell of text only.
func (b *body) note(c Cell) Drawing {
	lines := c.setting().Prose(c.Prose, b.k, b.width-1)
	if len(lines) == 0 {
		lines = []string{" " + b.k.Dim.Render("an empty note: E edits it")}
	}
	for _, l := range lines {
		b.add(l)
	}
	b.blank()
	return Drawing{Lines: b.lines, Verdict: len(b.lines), End: len(b.lines)}
}

// body collects a cell's lines.
type body struct {
	k     *theme.Styles
	width int
	bar   string
	lines []string
}

func (b *body) add(s string) { b.lines = append(b.lines, theme.Pad(b.bar+s, b.width)) }

func (b *body) blank() { b.lines = append(b.lines, strings.Repeat(" ", b.width)) }

// wrap adds text behind the bar.
func (b *body) wrap(text, first, rest string) {
	for _, l := range theme.Wrap(text, b.width-2, first, rest) {
		b.add(l)
	}
}

// setting is how the cell's prose is set.
func (c Cell) setting() Setting {
	return Setting{Whole: c.Whole, Key: WideKey, Mark: c.Mark, InPlace: c.Notes}
}

func (b *body) prose(o Setting, source string) {
	if strings.TrimSpace(source) == "" {
		return
	}
	for _, l := range o.Prose(source, b.k, b.width-1) {
		b.lines = append(b.lines, b.bar+l)
	}
	b.blank()
}

// head is the line with the count, the title, where it runs and how long it took.
func (b *body) head(c Cell) {
	count := "[ ]"
	if c.State.Run > 0 {
		count = fmt.Sprintf("[%d]", c.State.Run)
	}
	title := c.Title
	if title == "" {
		title = c.ID
	}
	style := b.k.Strong
	if c.Selected || c.State.Running {
		style = b.k.Focus
	}
	left := b.k.Dim.Render(count) + " " + style.Render(theme.Clean(title))
	if c.Edited {
		left += b.k.Dim.Render(" · edited")
	}
	right := b.status(c)
	where := b.k.Dim.Render(Places(c.Cell, c.Names))
	inner := b.width - 2 // a blank before the scroll bar
	fits := func(parts ...string) bool {
		return lipgloss.Width(strings.Join(parts, ""))+6 <= inner
	}
	id, indent := "", strings.Repeat(" ", lipgloss.Width(count)+1)
	if title != c.ID {
		id = "  " + b.k.Faint.Render(theme.Clean(c.ID)) // what railbench run calls it
	}
	if fits(left, id, where, right) {
		if right != "" {
			where += "   " + right
		}
		b.add(theme.Sides(left+id, where, inner))
		return
	}
	if id != "" && fits(left, id, right) {
		left, id = left+id, ""
	}
	b.add(theme.Sides(left, right, inner))
	below := indent + where
	if id != "" && lipgloss.Width(indent+id+where) <= inner {
		below = indent[2:] + id + "  " + where
	} else if id != "" {
		b.add(indent[2:] + id)
	}
	b.add(below)
}

// status is the right end of a cell's head.
func (b *body) status(c Cell) string {
	switch {
	case c.State.Running:
		return b.k.Accent.Render(c.Spinner + " running " + c.Elapsed)
	case c.Queued == 1:
		return b.k.Accent.Render("◌ next")
	case c.Queued > 1:
		return b.k.Accent.Render(fmt.Sprintf("◌ waits, %d before it", c.Queued-1))
	case c.State.Run == 0:
		return ""
	}
	s := b.k.Dim.Render(Seconds(c.State.Elapsed))
	if !c.State.HasExit {
		return s
	}
	style := b.k.Dim
	if !c.State.Exit.OK() {
		style = b.k.Fail
	}
	return s + "   " + style.Render(c.State.Exit.String())
}

// Seconds writes a duration as it is read on a clock face.
func Seconds(d time.Duration) string {
	d = max(d, 0)
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d h", s/3600, s/60%60, s%60)
}

// Places says on which nodes a cell runs: "server spark-01 · client spark-02". names are
// all nodes' of the rig: a check looks at each of them, and a launcher starts something on each.
func Places(c steps.Cell, names []string) string {
	every := "both nodes"
	if (c.Surveys() || c.OfEveryNode() || c.ChangesAll()) && len(names) > len(steps.Ends) {
		every = "all nodes"
	}
	var parts []string
	for _, r := range c.Roles {
		if r.Probe && len(c.Roles) > 1 {
			continue
		}
		place := every
		if len(r.On.Ends()) == 1 {
			place = nameAt(names, r.On.Ends()[0])
		}
		switch {
		case r.Name != "":
			place = r.Name + " " + place
		case len(r.On.Ends()) > 1:
			place = "on " + every
		default:
			place = "on " + place
		}
		if r.Root {
			place += " (root)"
		}
		if c.OfEveryNode() && len(r.On.Ends()) == 1 {
			place += ", which starts it on " + every
		}
		parts = append(parts, place)
	}
	if c.EachRail {
		parts = append(parts, "each rail")
	}
	return theme.Clean(strings.Join(parts, " · "))
}

// scripts shows each script once, even if several roles run it.
func (b *body) scripts(c Cell) {
	lessons, probes := c.Lessons()
	head := scriptHead(c.Keep, len(lessons))
	if c.Script {
		head = math.MaxInt / 2
		for _, l := range slices.Concat(lessons, probes) {
			b.roles(l)
			b.script(l.Text(), head)
		}
		if c.Values != "" {
			b.wrap(b.k.Dim.Render(theme.Clean(c.Values)), "  "+b.k.Dim.Render("with "), "       ")
		}
		return
	}
	folded := 0
	for _, l := range lessons {
		if len(lessons) > 1 || len(l.Names) > 1 {
			b.roles(l)
		}
		b.script(l.Script, head)
		folded += strings.Count(l.Before, "\n")
	}
	for _, l := range probes {
		folded += strings.Count(l.Text(), "\n")
	}
	if folded > 0 {
		b.add("  " + b.k.Faint.Render("┃") + " " +
			b.k.Dim.Render("+ "+counted(folded, "line that only railbench needs, S shows it",
				"lines that only railbench needs, S shows them")))
	}
}

// counted is a number with the words for it.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return steps.Thousands(n) + " " + many
}

// roles names those that run a script.
func (b *body) roles(l steps.Lesson) {
	what := strings.Join(l.Names, ", ")
	if l.Interpreter != "" {
		what = strings.TrimPrefix(what+", in "+l.Interpreter, ", ")
	}
	if what != "" {
		b.add("  " + b.k.Dim.Render(theme.Clean(what)))
	}
}

// script shows a script up to head lines, or all of one that is little longer.
func (b *body) script(script string, head int) {
	// A pane is narrow, and half a terminal's tab shows the nesting as well.
	script = strings.ReplaceAll(script, "\t", "    ")
	lines := strings.Split(strings.TrimRight(script, "\n"), "\n")
	hidden := 0
	if len(lines) > head+head/2 {
		hidden = len(lines) - head
		lines = lines[:head]
	}
	mark, on := "  "+b.k.Accent.Render("┃")+" ", "  "+b.k.Faint.Render("┋")+" "
	for _, l := range lines {
		sign := mark
		for _, part := range theme.Fold(theme.Clean(l), max(8, b.width-6)) {
			b.add(sign + b.k.Dim.Render(part))
			sign = on // the line goes on here
		}
	}
	if hidden > 0 {
		b.add(mark + b.k.Dim.Render(fmt.Sprintf("… %d more lines, S shows them", hidden)))
	}
}

// Distinct cuts off what all names have in common at their beginning, up to the
// last separator: spark-01 and spark-02 become 01 and 02.
func Distinct(names []string) []string {
	if len(names) < 2 {
		return names
	}
	cut := 0
	for i, c := range []byte(names[0]) {
		if slices.ContainsFunc(names[1:], func(n string) bool { return i >= len(n) || n[i] != c }) {
			break
		}
		if c == '-' || c == '.' || c == '_' {
			cut = i + 1
		}
	}
	short := make([]string, len(names))
	for i, n := range names {
		if short[i] = n[cut:]; short[i] == "" {
			return names
		}
	}
	return short
}

// nameAt is the name of a node; its place where there is none.
func nameAt(names []string, e steps.End) string {
	if int(e) < len(names) {
		return names[e]
	}
	return e.String()
}
