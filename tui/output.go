package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// output is the layer of an opened output.
type output struct {
	*screen.Shared
	screen.Tabled
	page      *page
	clickPart func(row int, l screen.Layout) // of the list next to it
}

// page is an opened output.
type page struct {
	cell    string
	top     int // the first line of the first row that is seen
	column  int
	follow  bool        // stays at the end
	run     steps.RunID // whose output top is a line of
	dropped int         // lines that were gone when top was set
	search  search

	rows    cells.Rows // how its lines stand, as it was for rowsKey
	rowsKey rowsKey
}

// rowsKey is what a rows depends on.
type rowsKey struct {
	run                  steps.RunID
	dropped, kept, width int
}

// openOutputOf follows an output that still grows; one that is whole is read from its
// beginning.
func (out *output) openOutputOf(c steps.Cell) tea.Cmd {
	state := out.Book.Cells[c.ID]
	if state.Output.Len() == 0 {
		out.Notice = "it has printed nothing"
		return nil
	}
	out.Layers.Push(screen.Output)
	out.page = &page{cell: c.ID, run: state.Run, dropped: state.Output.Dropped(), follow: state.Running}
	if out.page.follow {
		out.pageLast()
	}
	return nil
}

// lookFor shows the first place that has the words, where there is one.
func (out *output) lookFor(words string) {
	out.page.follow = false
	s := &out.page.search
	s.sought(words)
	if s.scan(out.pageState().Output); s.total == 0 {
		*s = search{}
		return
	}
	out.nextFound(1)
}

// cell is the one whose output is open.
func (out *output) cell() string { return out.page.cell }

func (out *output) closeOutput() tea.Cmd {
	out.Layers.Drop(screen.Output)
	return nil
}

func (out *output) pageState() steps.CellState { return out.Book.Cells[out.page.cell] }

// pageHeight is how many lines of an opened output are seen.
func (out *output) pageHeight() int { return max(1, out.Layout().NoteHeight-2) }

// pageEnd is the first line that is seen at the end of an opened output.
func (out *output) pageEnd() int { return out.rows().Line(out.pageEndRow()) }

func (out *output) pageEndRow() int {
	return max(0, out.rows().Count(out.pageState().Output.Len())-out.pageHeight())
}

// rows is how the lines of the opened output are set, computed again when it has grown or the width has
// changed.
func (out *output) rows() cells.Rows {
	state := out.pageState()
	key := rowsKey{state.Run, state.Output.Dropped(), state.Output.Len(), out.Layout().NoteWidth}
	if p := out.page; p.rowsKey != key {
		c, _ := out.Book.Tutorial.Cell(p.cell)
		p.rowsKey, p.rows = key, cells.NewRows(c, state, out.RanOn(state), key.width-1)
	}
	return out.page.rows
}

// turn scrolls. At the end of a running cell's output the view follows it.
func (out *output) turn(lines int) tea.Cmd {
	rows, end := out.rows(), out.pageEndRow()
	row := max(0, min(rows.Row(out.page.top)+lines, end))
	out.page.top = rows.Line(row)
	out.page.follow = row == end && out.pageState().Running
	return nil
}

// slide moves sideways by half a screen, as far as the lines that are seen reach.
func (out *output) slide(way int) tea.Cmd {
	l := out.Layout()
	to := out.page.column + way*max(8, l.NoteWidth/2)
	out.page.column = max(0, min(to, out.onPage().Reach(l.NoteWidth-1, out.pageHeight())))
	return nil
}

// onPage is the opened output as cells draws it.
func (out *output) onPage() cells.Page {
	c, _ := out.Book.Tutorial.Cell(out.page.cell)
	p := out.page
	return cells.Page{
		Cell: c, State: out.pageState(), Names: out.RanOn(out.pageState()), Column: p.column,
		Rows: out.rows(), Top: out.rows().Row(p.top),
		Marks: func(line int, text string) []theme.Mark { return p.marks(p.dropped+line, text) },
	}
}

func (out *output) pageFirst() tea.Cmd {
	out.page.top, out.page.follow = out.rows().Line(0), false
	return nil
}

func (out *output) pageLast() tea.Cmd {
	out.page.top, out.page.follow = out.pageEnd(), true
	return nil
}

// keepPage keeps an opened output at the end, or at the lines that are being read
// while older ones are dropped.
func (out *output) keepPage() {
	if !out.Layers.Has(screen.Output) {
		return
	}
	state := out.pageState()
	switch {
	case state.Run != out.page.run:
		// A new run: what was read is gone.
		out.page.run, out.page.top, out.page.column, out.page.follow = state.Run, 0, 0, true
		out.page.search.again()
		out.page.search.at, out.page.search.from = nowhere, view{follow: true}
	case !out.page.follow:
		out.page.top = max(0, out.page.top-(state.Output.Dropped()-out.page.dropped))
	}
	out.page.dropped = state.Output.Dropped()
	if out.page.follow {
		out.page.top = out.pageEnd()
	}
	out.page.top = out.rows().Line(min(out.rows().Row(out.page.top), out.pageEndRow()))
	out.page.search.scan(state.Output)
	if state.Run == 0 {
		out.Layers.Drop(screen.Output)
	}
}

// Click goes to another part. An output of the checklist has no list of parts.
func (out *output) Click(x, row int) tea.Cmd {
	out.Dirty, out.Notice = true, ""
	if l := out.Layout(); x < l.PartsWidth {
		out.clickPart(row, l)
	}
	return nil
}

// Wheel scrolls.
func (out *output) Wheel(lines int) tea.Cmd { return out.turn(lines) }

// Draw is the output with its title and where in it one is.
func (out *output) Draw(width, height int) screen.Picture {
	state := out.pageState()
	seen := max(1, height-2)
	out.page.top = out.rows().Line(max(0, min(out.rows().Row(out.page.top), out.pageEndRow())))
	p := out.onPage()
	title := " " + out.Styles.Focus.Render(theme.Clean(p.Cell.Title)) + out.Styles.Dim.Render(" · output")
	if state.Running {
		title += out.Styles.Accent.Render("  " + out.Spinner.View() + " " + out.Since(state.Started))
		if out.page.follow {
			title += out.Styles.Dim.Render(" follows")
		}
	} else if g := state.Verdict.Grade; g != steps.NotRun {
		title += "  " + cells.GradeStyle(out.Styles, g).Render(cells.Mark(g)+" "+g.String())
		if out.Simulated() {
			title += out.Styles.Dim.Render(" SIMULATED")
		}
	}
	lines := []string{theme.Pad(title, width-1) + " "}
	bar := screen.ScrollBar(out.Styles, p.Top, out.rows().Count(state.Output.Len()), seen)
	for i, s := range p.Lines(out.Styles, width-2, seen) {
		lines = append(lines, " "+s+bar[i])
	}
	position, found := p.Position(seen), out.searched()
	if state.Log != "" {
		position += " · log: "
		// The folder is always the same: a narrow screen shows the end of the path.
		position += theme.Tail(theme.Clean(state.Log), width-2-lipgloss.Width(found+position))
	}
	lines = append(lines, theme.Pad(" "+found+out.Styles.Dim.Render(position), width))
	return screen.Picture{Lines: screen.Fill(lines, height, width)}
}

// typeWords begins to type what is looked for.
func (out *output) typeWords() tea.Cmd {
	s := &out.page.search
	if out.Layers.Has(screen.OutputWords) {
		return nil
	}
	// Keys that are typed must not become commands because the next cell has begun.
	out.Follow = false
	out.Layers.Push(screen.OutputWords)
	s.line, s.old = screen.NewLine(find.Most), s.words.Text
	s.from = view{out.page.dropped + out.page.top, out.page.column, out.page.follow}
	s.sought("")
	return nil
}

// seek changes the words and shows the first place from where the search began.
func (out *output) seek(words string) {
	p := out.page
	s := &p.search
	if words == s.words.Text {
		return
	}
	s.sought(words)
	s.scan(out.pageState().Output)
	p.view(s.from)
	if to, _ := s.next(spot{p.dropped + p.top, 0}, 1); to != nowhere {
		out.goTo(to)
	}
	out.Dirty = true
}

func (p *page) view(v view) {
	p.top, p.column, p.follow = max(0, v.line-p.dropped), v.column, v.follow
}

func (out *output) eraseSearch() tea.Cmd {
	l := &out.page.search.line
	if l.Text() == "" {
		return out.dropSearch()
	}
	l.Key(tea.KeyPressMsg{Code: tea.KeyBackspace})
	out.seek(l.Text())
	return nil
}

func (out *output) emptySearch() tea.Cmd {
	out.page.search.line.Set("")
	out.seek("")
	return nil
}

// keepSearch ends the typing. Without a word it goes on with the last ones.
func (out *output) keepSearch() tea.Cmd {
	s := &out.page.search
	out.Layers.Drop(screen.OutputWords)
	if s.words.Text != "" {
		if s.total == 0 {
			out.Notice = "nothing found"
		}
		return nil
	}
	if s.old == "" {
		return nil
	}
	out.seek(s.old)
	return out.nextFound(1)
}

// dropSearch leaves the search and shows what was seen before it.
func (out *output) dropSearch() tea.Cmd {
	p := out.page
	p.view(p.search.from)
	p.search = search{}
	out.Layers.Drop(screen.OutputWords)
	out.keepPage()
	return nil
}

// leaveOutput is esc: first out of a search, then out of the output.
func (out *output) leaveOutput() tea.Cmd {
	if out.page.search.words.Text == "" {
		return out.closeOutput()
	}
	out.page.search = search{}
	return nil
}

// searching reports whether n does something.
func (out *output) searching() bool {
	return out.Layers.Has(screen.Output) && out.page.search.words.Text != ""
}

// nextFound goes to the next place, or to the one before.
func (out *output) nextFound(way int) tea.Cmd {
	p := out.page
	s := &p.search
	switch {
	case s.words.Text == "":
		out.Notice = "/ looks for something"
		return nil
	case s.total == 0:
		out.Notice = "nothing found"
		return nil
	}
	from := s.at
	rows, top := out.rows(), out.rows().Row(p.top)
	if row := rows.Row(from.line - p.dropped); from == nowhere || row < top || row >= top+out.pageHeight() {
		// One has moved on since: what is seen counts.
		from = spot{p.dropped + p.top, 0}
		if way < 0 {
			from = spot{p.dropped + rows.Line(top+out.pageHeight()-1) + 1, 1}
		}
	}
	to, wrapped := s.next(from, way)
	if wrapped {
		out.Notice = map[bool]string{true: "on from the beginning", false: "on from the end"}[way > 0]
	}
	out.goTo(to)
	return nil
}

// goTo shows a spot: its line, and the part of a long line in which it is.
func (out *output) goTo(to spot) {
	p := out.page
	p.search.at = to
	line := to.line - p.dropped
	rows := out.rows()
	top, row := rows.Row(p.top), rows.Row(line)
	if h := out.pageHeight(); row < top || row >= top+h {
		p.top = rows.Line(max(0, min(row-h/3, out.pageEndRow())))
	}
	p.follow = false
	lines := out.pageState().Output.Lines(line, 1)
	if len(lines) == 0 {
		return
	}
	from, end, nth := 0, 0, 0
	p.search.words.In(lines[0].Text, func(a, b int) bool {
		from, end = a, b
		nth++
		return nth < to.nth
	})
	from, end = columns(lines[0].Text[:from]), columns(lines[0].Text[:end])
	room := out.onPage().Room(out.Layout().NoteWidth-1, line)
	if from >= p.column && end < p.column+room {
		return
	}
	p.column = 0
	if end >= room {
		p.column = max(0, from-room/3)
	}
}

// marks are what was found in a line of the opened output, so far as it can be seen.
func (p *page) marks(line int, text string) []theme.Mark {
	if p.search.words.Text == "" {
		return nil
	}
	var marks []theme.Mark
	p.search.words.In(text, func(from, to int) bool {
		marks = append(marks, theme.Mark{From: from, To: to, Here: p.search.at == spot{line, len(marks) + 1}})
		return true
	})
	return marks
}

// searched says what is looked for and how often it is there; empty where nothing is.
func (out *output) searched() string {
	s := &out.page.search
	if !out.Layers.Has(screen.OutputWords) && s.words.Text == "" {
		return ""
	}
	k := out.Styles
	text, gap := k.Accent.Render("/"+theme.Clean(s.words.Text)), "  "
	if out.Layers.Has(screen.OutputWords) {
		text, gap = k.Accent.Render("/")+s.line.View(k, k.Accent, out.Width), " "
	}
	text += gap
	switch {
	case s.words.Text == "":
	case s.total == 0:
		text += k.Warn.Render("nothing found")
	case s.at == nowhere:
		text += k.Strong.Render(fmt.Sprintf("%s found", steps.Thousands(s.total)))
	default:
		text += k.Strong.Render(fmt.Sprintf("%s of %s", steps.Thousands(s.number()), steps.Thousands(s.total)))
	}
	return text + "  "
}
