// Package output is an opened output of a cell, which scrolls and is searched, and stays where one reads while more
// comes. How its lines are set is cells'; which cell it is of is chosen elsewhere.
package output

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/find"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// Layer is the layer of an opened output.
type Layer struct {
	*screen.Shared
	screen.Tabled
	Page      *page
	ClickPart func(row int, l screen.Layout) // of the list next to it
}

// page is an opened output.
type page struct {
	cell    string
	Top     int // the first line of the first row that is seen
	column  int
	follow  bool        // stays at the end
	run     steps.RunID // whose output top is a line of
	dropped int         // lines that were gone when top was set
	Search  search

	rows    cells.Rows // how its lines stand, as it was for rowsKey
	rowsKey rowsKey
}

// rowsKey is what a rows depends on.
type rowsKey struct {
	run                  steps.RunID
	dropped, kept, width int
}

// Open follows an output that still grows; one that is whole is read from its
// beginning.
func (out *Layer) Open(c steps.Cell) tea.Cmd {
	state := out.Book.Cells[c.ID]
	if state.Output.Len() == 0 {
		return out.Say("it has printed nothing")
	}
	out.Layers.Push(screen.Output)
	out.Page = &page{cell: c.ID, run: state.Run, dropped: state.Output.Dropped(), follow: state.Running}
	if out.Page.follow {
		out.pageLast()
	}
	return nil
}

// LookFor shows the first place that has the words, where there is one.
func (out *Layer) LookFor(words string) {
	out.Page.follow = false
	s := &out.Page.Search
	s.sought(words)
	if s.scan(out.PageState().Output); s.Total == 0 {
		*s = search{}
		return
	}
	out.nextFound(1)
}

// Cell is the one whose output is open.
func (out *Layer) Cell() string { return out.Page.cell }

func (out *Layer) closeOutput() tea.Cmd {
	out.Layers.Drop(screen.Output)
	return nil
}

// PageState is the state of the cell whose output is open.
func (out *Layer) PageState() steps.CellState { return out.Book.Cells[out.Page.cell] }

// pageHeight is how many lines of an opened output are seen.
func (out *Layer) pageHeight() int { return max(1, out.Layout().NoteHeight-2) }

// pageEnd is the first line that is seen at the end of an opened output.
func (out *Layer) pageEnd() int { return out.rows().Line(out.pageEndRow()) }

func (out *Layer) pageEndRow() int {
	return max(0, out.rows().Count(out.PageState().Output.Len())-out.pageHeight())
}

// rows is how the lines of the opened output are set, computed again when it has grown or the width has
// changed.
func (out *Layer) rows() cells.Rows {
	state := out.PageState()
	key := rowsKey{state.Run, state.Output.Dropped(), state.Output.Len(), out.Layout().NoteWidth}
	if p := out.Page; p.rowsKey != key {
		c, _ := out.Book.Tutorial.Cell(p.cell)
		p.rowsKey, p.rows = key, cells.NewRows(c, state, out.RanOn(state), key.width-1)
	}
	return out.Page.rows
}

// turn scrolls. At the end of a running cell's output the view follows it.
func (out *Layer) turn(lines int) tea.Cmd {
	rows, end := out.rows(), out.pageEndRow()
	row := max(0, min(rows.Row(out.Page.Top)+lines, end))
	out.Page.Top = rows.Line(row)
	out.Page.follow = row == end && out.PageState().Running
	return nil
}

// slide moves sideways by half a screen, as far as the lines that are seen reach.
func (out *Layer) slide(way int) tea.Cmd {
	l := out.Layout()
	to := out.Page.column + way*max(8, l.NoteWidth/2)
	out.Page.column = max(0, min(to, out.onPage().Reach(l.NoteWidth-1, out.pageHeight())))
	return nil
}

// onPage is the opened output as cells draws it.
func (out *Layer) onPage() cells.Page {
	c, _ := out.Book.Tutorial.Cell(out.Page.cell)
	p := out.Page
	return cells.Page{
		Cell: c, State: out.PageState(), Names: out.RanOn(out.PageState()), Column: p.column,
		Rows: out.rows(), Top: out.rows().Row(p.Top),
		Marks: func(line int, text string) []theme.Mark { return p.marks(p.dropped+line, text) },
	}
}

// First shows the first line that is kept.
func (out *Layer) First() tea.Cmd {
	out.Page.Top, out.Page.follow = out.rows().Line(0), false
	return nil
}

func (out *Layer) pageLast() tea.Cmd {
	out.Page.Top, out.Page.follow = out.pageEnd(), true
	return nil
}

// Keep keeps an opened output at the end, or at the lines that are being read
// while older ones are dropped.
func (out *Layer) Keep() {
	if !out.Layers.Has(screen.Output) {
		return
	}
	state := out.PageState()
	switch {
	case state.Run != out.Page.run:
		// A new run: what was read is gone.
		out.Page.run, out.Page.Top, out.Page.column, out.Page.follow = state.Run, 0, 0, true
		out.Page.Search.again()
		out.Page.Search.At, out.Page.Search.from = Nowhere, view{follow: true}
	case !out.Page.follow:
		out.Page.Top = max(0, out.Page.Top-(state.Output.Dropped()-out.Page.dropped))
	}
	out.Page.dropped = state.Output.Dropped()
	if out.Page.follow {
		out.Page.Top = out.pageEnd()
	}
	out.Page.Top = out.rows().Line(min(out.rows().Row(out.Page.Top), out.pageEndRow()))
	out.Page.Search.scan(state.Output)
	if state.Run == 0 {
		out.Layers.Drop(screen.Output)
	}
}

// Click goes to another part. An output of the checklist has no list of parts.
func (out *Layer) Click(x, row int) tea.Cmd {
	out.Dirty, out.Notice = true, ""
	if l := out.Layout(); x < l.PartsWidth {
		out.ClickPart(row, l)
	}
	return nil
}

// Wheel scrolls.
func (out *Layer) Wheel(lines int) tea.Cmd { return out.turn(lines) }

// Draw is the output with its title and where in it one is.
func (out *Layer) Draw(width, height int) screen.Picture {
	state := out.PageState()
	seen := max(1, height-2)
	out.Page.Top = out.rows().Line(max(0, min(out.rows().Row(out.Page.Top), out.pageEndRow())))
	p := out.onPage()
	title := " " + out.Styles.Focus.Render(theme.Clean(p.Cell.Title)) + out.Styles.Dim.Render(" · output")
	if state.Running {
		title += out.Styles.Accent.Render("  " + out.Spinner.View() + " " + out.Since(state.Started))
		if out.Page.follow {
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
func (out *Layer) typeWords() tea.Cmd {
	s := &out.Page.Search
	if out.Layers.Has(screen.OutputWords) {
		return nil
	}
	// Keys that are typed must not become commands because the next cell has begun.
	out.Follow = false
	out.Layers.Push(screen.OutputWords)
	s.line, s.old = screen.NewLine(find.Most), s.Words.Text
	s.from = view{out.Page.dropped + out.Page.Top, out.Page.column, out.Page.follow}
	s.sought("")
	return nil
}

// Seek changes the words and shows the first place from where the search began.
func (out *Layer) Seek(words string) {
	p := out.Page
	s := &p.Search
	if words == s.Words.Text {
		return
	}
	s.sought(words)
	s.scan(out.PageState().Output)
	p.view(s.from)
	if to, _ := s.next(spot{p.dropped + p.Top, 0}, 1); to != Nowhere {
		out.goTo(to)
	}
	out.Dirty = true
}

func (p *page) view(v view) {
	p.Top, p.column, p.follow = max(0, v.line-p.dropped), v.column, v.follow
}

func (out *Layer) eraseSearch() tea.Cmd {
	l := &out.Page.Search.line
	if l.Text() == "" {
		return out.dropSearch()
	}
	l.Key(tea.KeyPressMsg{Code: tea.KeyBackspace})
	out.Seek(l.Text())
	return nil
}

func (out *Layer) emptySearch() tea.Cmd {
	out.Page.Search.line.Set("")
	out.Seek("")
	return nil
}

// keepSearch ends the typing. Without a word it goes on with the last ones.
func (out *Layer) keepSearch() tea.Cmd {
	s := &out.Page.Search
	out.Layers.Drop(screen.OutputWords)
	if s.Words.Text != "" {
		if s.Total == 0 {
			out.Notice = "nothing found"
		}
		return nil
	}
	if s.old == "" {
		return nil
	}
	out.Seek(s.old)
	return out.nextFound(1)
}

// dropSearch leaves the search and shows what was seen before it.
func (out *Layer) dropSearch() tea.Cmd {
	p := out.Page
	p.view(p.Search.from)
	p.Search = search{}
	out.Layers.Drop(screen.OutputWords)
	out.Keep()
	return nil
}

// leaveOutput is esc: first out of a search, then out of the output.
func (out *Layer) leaveOutput() tea.Cmd {
	if out.Page.Search.Words.Text == "" {
		return out.closeOutput()
	}
	out.Page.Search = search{}
	return nil
}

// searching reports whether n does something.
func (out *Layer) searching() bool {
	return out.Layers.Has(screen.Output) && out.Page.Search.Words.Text != ""
}

// nextFound goes to the next place, or to the one before.
func (out *Layer) nextFound(way int) tea.Cmd {
	p := out.Page
	s := &p.Search
	switch {
	case s.Words.Text == "":
		return out.Say("/ looks for something")
	case s.Total == 0:
		return out.Say("nothing found")
	}
	from := s.At
	rows, top := out.rows(), out.rows().Row(p.Top)
	if row := rows.Row(from.line - p.dropped); from == Nowhere || row < top || row >= top+out.pageHeight() {
		// One has moved on since: what is seen counts.
		from = spot{p.dropped + p.Top, 0}
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
func (out *Layer) goTo(to spot) {
	p := out.Page
	p.Search.At = to
	line := to.line - p.dropped
	rows := out.rows()
	top, row := rows.Row(p.Top), rows.Row(line)
	if h := out.pageHeight(); row < top || row >= top+h {
		p.Top = rows.Line(max(0, min(row-h/3, out.pageEndRow())))
	}
	p.follow = false
	lines := out.PageState().Output.Lines(line, 1)
	if len(lines) == 0 {
		return
	}
	from, end, nth := 0, 0, 0
	p.Search.Words.In(lines[0].Text, func(a, b int) bool {
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
	if p.Search.Words.Text == "" {
		return nil
	}
	var marks []theme.Mark
	p.Search.Words.In(text, func(from, to int) bool {
		marks = append(marks, theme.Mark{From: from, To: to, Here: p.Search.At == spot{line, len(marks) + 1}})
		return true
	})
	return marks
}

// searched says what is looked for and how often it is there; empty where nothing is.
func (out *Layer) searched() string {
	s := &out.Page.Search
	if !out.Layers.Has(screen.OutputWords) && s.Words.Text == "" {
		return ""
	}
	k := out.Styles
	text, gap := k.Accent.Render("/"+theme.Clean(s.Words.Text)), "  "
	if out.Layers.Has(screen.OutputWords) {
		text, gap = k.Accent.Render("/")+s.line.View(k, k.Accent, out.Width), " "
	}
	text += gap
	switch {
	case s.Words.Text == "":
	case s.Total == 0:
		text += k.Warn.Render("nothing found")
	case s.At == Nowhere:
		text += k.Strong.Render(fmt.Sprintf("%s found", steps.Thousands(s.Total)))
	default:
		text += k.Strong.Render(fmt.Sprintf("%s of %s", steps.Thousands(s.Number()), steps.Thousands(s.Total)))
	}
	return text + "  "
}

// Bind has the keys that work while an output is open.
func (out *Layer) Bind(c screen.Common) {
	on := screen.On
	out.Keys = []screen.Chapter{
		{Title: "output", Bindings: []screen.Binding{
			on("O, o", "close the output", "O", "o").To(out.closeOutput).Brief(1, "O", "close"),
			on("esc", "leave the search, or close the output", "esc").To(out.leaveOutput),
			on("/", "look for something: capitals count where there is one", "/").To(out.typeWords).Brief(5, "/", "search"),
			on("n", "the next place where it was found", "n").By(out.nextFound, 1).Brief(2, "n", "next").Only(out.searching),
			on("N", "the one before", "N").By(out.nextFound, -1),
			on("y", "copy the whole output that is kept, if the terminal allows it", "y").
				To(c.CopyOutput).Brief(10, "y", "copy"),
			on("Y", "copy its script, with the values that it would run with", "Y").To(c.CopyScript),
			on("|", "open its log in $PAGER", "|").To(c.OpenPager).Brief(9, "|", "pager"),
			on("↓, j", "a line down", "down", "j").By(out.turn, 1).Brief(3, "↑↓", "scroll"),
			on("↑, k", "a line up", "up", "k").By(out.turn, -1),
			on("pgdn, ctrl+f, space", "a page down", "pgdown", "ctrl+f", "space").
				To(func() tea.Cmd { return out.turn(out.pageHeight()) }),
			on("pgup, ctrl+b", "a page up", "pgup", "ctrl+b").To(func() tea.Cmd { return out.turn(-out.pageHeight()) }),
			on("ctrl+d", "half a page down", "ctrl+d").To(func() tea.Cmd { return out.turn(out.pageHeight() / 2) }),
			on("ctrl+u", "half a page up", "ctrl+u").To(func() tea.Cmd { return out.turn(-out.pageHeight() / 2) }),
			on("home", "the first line that is kept", "home").To(out.First).Brief(5, "home", "first"),
			on("end, G", "the end, and stay there", "end", "G").To(out.pageLast).Brief(4, "end", "last"),
			on("→, l", "the rest of long lines", "right", "l").By(out.slide, 1).Brief(6, "←→", "long lines"),
			on("←, h", "back to the lines' beginning", "left", "h").By(out.slide, -1),
			on("i i", "interrupt the running cell and empty the queue", "i").
				To(out.InterruptTwice).Runs().Brief(0, "i i", "interrupt").Only(out.Busy),
			on("g", "gauges on the whole screen; g g: the top", "g").To(c.ToggleGauges).Brief(7, "g", "gauges"),
			on("_", "hide the gauges below, or show them", "_").To(c.HideGauges),
			on("0", "reset the gauges' peaks and averages", "0").To(out.ResetPeaks),
		}},
		c.Everywhere,
	}
}

// A search through an opened output. Lines are numbered from the run's first one, so
// that what was found stays found while old lines are dropped; and each is looked at
// once, when it comes or when the words change.
type search struct {
	line  screen.Line // the words as they are typed
	Words find.Words
	Hits  []hit // lines that have it, in order
	Total int   // how often it was found in them
	read  int   // the first line that was not looked at yet
	At    spot  // where the search stands
	from  view  // what was seen before it began
	old   string
}

// A hit is a line in which the words are, so often.
type hit struct{ line, Times int }

// A spot is one place where they are: the nth in a line, from 1.
type spot struct{ line, nth int }

// Nowhere is where a search stands that has found nothing.
var Nowhere = spot{}

// A view is what is seen of a run's output, from a line and a column on.
type view struct {
	line, column int
	follow       bool
}

// sought starts looking for other words.
func (s *search) sought(words string) {
	s.Words, s.At = find.New(words), Nowhere
	s.again()
}

// again forgets what was found.
func (s *search) again() { s.Hits, s.Total, s.read = nil, 0, 0 }

// scan takes in lines that it has not seen, and leaves out those that are gone.
func (s *search) scan(out steps.Scroll) {
	if s.Words.Text == "" {
		return
	}
	first := out.Dropped()
	gone := 0
	for gone < len(s.Hits) && s.Hits[gone].line < first {
		s.Total -= s.Hits[gone].Times
		gone++
	}
	s.Hits = s.Hits[gone:]
	s.read = max(s.read, first)
	for _, l := range out.Lines(s.read-first, out.Len()) {
		if times := s.Words.Count(l.Text); times > 0 {
			s.Hits = append(s.Hits, hit{s.read, times})
			s.Total += times
		}
		s.read++
	}
	if s.At.line < first {
		s.At = Nowhere
	}
}

// next is the spot after another one, or before it; the first that is tried after
// the last one is the first. wrapped says that it went on at the other end.
func (s *search) next(from spot, way int) (to spot, wrapped bool) {
	if len(s.Hits) == 0 {
		return Nowhere, false
	}
	i, on := slices.BinarySearchFunc(s.Hits, from.line, func(h hit, line int) int { return h.line - line })
	if way > 0 {
		switch {
		case on && from.nth < s.Hits[i].Times:
			return spot{from.line, from.nth + 1}, false
		case on:
			i++
		}
		if i < len(s.Hits) {
			return spot{s.Hits[i].line, 1}, false
		}
		return spot{s.Hits[0].line, 1}, true
	}
	if on && from.nth > 1 {
		return spot{from.line, from.nth - 1}, false
	}
	wrapped = i == 0
	if wrapped {
		i = len(s.Hits)
	}
	h := s.Hits[i-1]
	return spot{h.line, h.Times}, wrapped
}

// Number counts the spots up to the one where the search stands.
func (s *search) Number() int {
	n := 0
	for _, h := range s.Hits {
		if h.line >= s.At.line {
			break
		}
		n += h.Times
	}
	return n + s.At.nth
}

// Key is a key while the words are typed.
func (out *SearchLine) Key(msg tea.KeyPressMsg) tea.Cmd {
	if cmd, ok := screen.Press(out.SearchKeys(), msg); ok {
		return cmd
	}
	if out.Page.Search.line.Key(msg) {
		out.Seek(out.Page.Search.line.Text())
	}
	return nil
}

func columns(s string) int { return ansi.StringWidth(theme.Clean(s)) }

// SearchLine is an opened output while what is looked for in it is typed.
type SearchLine struct{ *Layer }

// Paste adds to the words.
func (out *SearchLine) Paste(text string) tea.Cmd {
	if out.Page.Search.line.Paste(screen.FirstLine(text)) {
		out.Seek(out.Page.Search.line.Text())
	}
	return nil
}

// Bindings are those of the table.
func (out *SearchLine) Bindings() []screen.Chapter { return out.SearchKeys() }

// SearchKeys work while a search is typed; every other key is a letter of it.
func (out *Layer) SearchKeys() []screen.Chapter {
	on := screen.On
	return []screen.Chapter{{Title: "search", Bindings: []screen.Binding{
		on("enter", "go on with n and N", "enter").To(out.keepSearch).Brief(1, "enter", "done"),
		on("esc, ctrl+c", "leave the search", "esc", "ctrl+c").To(out.dropSearch).Brief(2, "esc", "leave"),
		on("backspace", "take a letter back", "backspace").To(out.eraseSearch),
		on("ctrl+u", "take all of it back", "ctrl+u").To(out.emptySearch).Brief(3, "ctrl+u", "empty"),
	}}}
}
