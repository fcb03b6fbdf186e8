package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/limits"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/docs"
	"github.com/railbench/railbench/tui/output"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// notebook is the open part of the tutorial with its cells, and where the user is in it.
type notebook struct {
	*screen.Shared
	screen.Tabled
	finder *finder
	output *output.Layer
	editor *editor
	form   *dialog.Form
	docs   *docs.Pages

	part    int
	cursors []cursor // by part
	watch   string   // the cell whose end is watched although the next one is selected

	folded map[string]bool // the output is not shown, by cell
	whole  map[string]bool // tables show all of their columns; by cell and introduction
	notes  map[string]bool // what is different in fact stands in its place; the same
	reads  string          // the cell whose script is read before it is trusted

	wasRead map[string]bool // parts that were seen to their end, by id

	cache cache
	marks map[string]int // the number of the first difference, by cell and introduction; see markOf
}

// cache holds items that were drawn. A frame draws only what has changed, mostly the running cell.
type cache struct {
	intros map[introKey][]string
	cells  map[string]drawnCell
}

type introKey struct {
	part, width int
	selected    bool
	whole       bool
	notes       bool
	pretend     string // of the simulated rig, which has more nodes once it is looked at
	outlook     string // what this rig should reach, once it was looked at
}

// cellKey is what a cell's picture was made of: as long as it is the same, so is the
// picture.
type cellKey struct {
	version steps.Version
	view    cells.View
	names   string // the nodes', in lines
	width   int
}

type drawnCell struct {
	key cellKey
	cells.Drawing
}

// lines sets the open part in lines as wide as the notebook's pane.
func (nb *notebook) lines() partLines {
	l := nb.Layout()
	part := nb.open()
	d := partLines{}
	intro := nb.intro(part, l.NoteWidth)
	d.add(cells.Drawing{Lines: intro, Verdict: len(intro), End: len(intro)})
	for i, c := range part.Cells {
		d.add(nb.cell(c, i+1, l))
	}
	return d
}

// Spread is the open part from its first line to its last, as it looks when scrolled through.
func (m *Model) Spread() []string {
	if m.Width <= 0 || len(m.Parts()) == 0 {
		return nil
	}
	return slices.Concat(m.notebook.lines().items...)
}

func (d *partLines) add(x cells.Drawing) {
	d.items = append(d.items, x.Lines)
	d.verdicts = append(d.verdicts, x.Verdict)
	d.ends = append(d.ends, x.End)
	d.starts = append(d.starts, d.total)
	d.total += len(x.Lines)
}

// pretend says of how many nodes the simulated rig is, and where there are more than the
// two that a tutorial speaks of, which it means.
func (nb *notebook) pretend() string {
	names := nb.Names()
	text := inWords(len(names)) + " pretend nodes inside this program; nothing here was measured on hardware. "
	if nb.Linkable() {
		text += fmt.Sprintf("A cell runs over the link of two of them, now %s ⇄ %s: L chooses. Checks look at all. ",
			theme.Clean(names[steps.Here]), theme.Clean(names[steps.Peer]))
	}
	return text
}

// inWords is a small number as it stands in a sentence.
func inWords(n int) string {
	words := [...]string{2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
	if n >= 2 && n < len(words) {
		return words[n]
	}
	return steps.Thousands(n)
}

// intro is the part's title and prose, and on the first screen of a simulated rig
// what the user has before them.
func (nb *notebook) intro(part steps.Part, width int) []string {
	id := steps.IntroID(part.ID)
	key := introKey{
		part: nb.part, width: width, selected: nb.cursor().item == 0, whole: nb.whole[id], notes: nb.notes[id],
	}
	if nb.part == 0 && nb.Opts.Rig.Simulated {
		key.pretend = nb.pretend()
	}
	if strings.Contains(part.Prose, limits.ThisRig) {
		key.outlook = limits.Outlook(nb.Book.Rig)
	}
	if lines, ok := nb.cache.intros[key]; ok {
		return lines
	}
	var lines []string
	if key.pretend != "" {
		text := nb.Styles.Warn.Render("SIMULATED RIG") + ": " + key.pretend + theme.Clean(nb.Opts.Rig.Hint)
		bar := " " + nb.Styles.Warn.Render("▏") + " "
		lines = append(lines, theme.Wrap(text, min(width-1, 100), bar, bar)...)
		lines = append(lines, "")
	}
	if part.Title == "" && len(nb.Parts()) == 0 {
		lines = append(lines, " "+nb.Styles.Dim.Render("This tutorial has no parts."))
	} else {
		bar, style := " ", nb.Styles.Strong
		if key.selected {
			bar, style = nb.Styles.Accent.Render("▌"), nb.Styles.Focus
		}
		lines = append(lines, bar+style.Render(fmt.Sprintf("%d  %s", nb.part+1, theme.Clean(part.Title))), "")
	}
	for i, l := range lines {
		lines[i] = theme.Pad(l, width)
	}
	if strings.TrimSpace(part.Prose) != "" {
		o := cells.Setting{Whole: key.whole, Key: cells.WideKey, Mark: nb.markOf(id), InPlace: key.notes}
		lines = append(lines, o.Prose(strings.Replace(part.Prose, limits.ThisRig, key.outlook, 1), nb.Styles, width)...)
		lines = append(lines, strings.Repeat(" ", width))
	}
	if nb.cache.intros == nil {
		nb.cache.intros = map[introKey][]string{}
	}
	nb.cache.intros[key] = lines
	return lines
}

// cell draws a cell, or gives what was drawn of it. All that a drawing depends on is in the key: of the cell's
// state the version, which changes with it.
func (nb *notebook) cell(c steps.Cell, item int, l screen.Layout) cells.Drawing {
	state := nb.Book.Cells[c.ID]
	view := nb.ViewOf(c, nb.cursor().item == item, l)
	view.Whole, view.Notes, view.Mark = nb.whole[c.ID], nb.notes[c.ID], nb.markOf(c.ID)
	view.Params, view.Stale, view.Folded = nb.changedParams(c), nb.Book.Stale(c.ID), nb.folded[c.ID]
	names := nb.RanOn(state)
	key := cellKey{nb.Book.Version(c.ID), view, strings.Join(names, "\n"), l.NoteWidth}
	if old, ok := nb.cache.cells[c.ID]; ok && old.key == key {
		return old.Drawing
	}
	drawing := cells.Cell{Cell: c, State: state, Names: names, View: view}.Draw(nb.Styles, l.NoteWidth)
	if nb.cache.cells == nil {
		nb.cache.cells = map[string]drawnCell{}
	}
	nb.cache.cells[c.ID] = drawnCell{key, drawing}
	return drawing
}

// Click selects a part or a cell.
func (nb *notebook) Click(x, row int) tea.Cmd {
	nb.Dirty, nb.Notice = true, ""
	switch l := nb.Layout(); {
	case x < l.PartsWidth:
		nb.clickPart(row, l)
	case x >= l.NoteLeft && x < l.NoteLeft+l.NoteWidth:
		nb.clickCell(row)
	}
	return nil
}

// Wheel scrolls.
func (nb *notebook) Wheel(lines int) tea.Cmd { return nb.scroll(lines) }

// markOf is the number of the first difference in a cell or an introduction: those of the
// tutorial as it was opened, whatever was edited since.
func (nb *notebook) markOf(id string) int {
	if nb.marks == nil {
		_, nb.marks = nb.Opts.Tutorial.Differences()
	}
	return nb.marks[id]
}

// here is the selected cell's id, or the introduction's.
func (nb *notebook) here() string {
	if c, ok := nb.Selected(); ok {
		return c.ID
	}
	return steps.IntroID(nb.open().ID)
}

func (nb *notebook) toggleWide() tea.Cmd {
	id := nb.here()
	nb.whole[id] = !nb.whole[id]
	nb.Notice = "tables with the columns that fit"
	if nb.whole[id] {
		nb.Notice = "tables with all columns"
	}
	return nil
}

func (nb *notebook) toggleNotes() tea.Cmd {
	id := nb.here()
	if nb.markOf(id) == 0 {
		return nb.Say("no number in the margin here: D has the page differences")
	}
	nb.notes[id] = !nb.notes[id]
	nb.Notice = fmt.Sprintf("note %d is folded", nb.markOf(id))
	if nb.notes[id] {
		nb.Notice = fmt.Sprintf("note %d is shown where its number is", nb.markOf(id))
	}
	return nil
}

// edit opens the selected cell's script in the notebook's place.
func (nb *notebook) edit() tea.Cmd {
	c, ok := nb.Selected()
	switch {
	case !ok:
		return nb.Say("select a cell first: its script is what can be edited")
	case c.Own != "":
		return nb.Say("railbench does this itself: no script")
	case nb.Opts.ReadOnly != "":
		return nb.Say(screen.OnlyFollows)
	}
	nb.editor.editRole(c, 0)
	return nil
}

// restart is the second 0: all results are cleared, and the next cell probes the nodes again.
func (nb *notebook) restart() tea.Cmd {
	if nb.KeyBefore != "0" {
		cmd := nb.ResetPeaks()
		nb.Notice, nb.KeyBefore = "peaks and averages start again; 0 again clears all outputs and verdicts", "0"
		return cmd
	}
	if nb.Busy() {
		return nb.Say("something runs: i i interrupts it")
	}
	nb.Notice = "all outputs and verdicts are cleared"
	var ids []string
	for id := range nb.Book.Cells {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return nb.Ask(func(s screen.Session) {
		for _, id := range ids {
			s.Clear(id)
		}
	})
}

// openForm opens the form of the selected cell, or on an introduction of all.
func (nb *notebook) openForm() tea.Cmd {
	c, _ := nb.Selected()
	return nb.form.Open(c)
}

// changedParams are the parameters of a cell that are not as they are by default, in
// one line.
func (nb *notebook) changedParams(c steps.Cell) string {
	if !nb.Book.Params.Any() && nb.reads != c.ID {
		return ""
	}
	var all []string
	for _, p := range nb.Opts.Params {
		value, set := nb.Book.Params.Get(c.ID, p.Name)
		switch {
		case !c.Reads(p):
		case nb.reads == c.ID && p.Program && (!set || value == p.Default):
			// Who reads a script before he trusts it reads what it calls, too.
			all = append(all, p.Name+"="+p.Text(p.Default))
		case set && value != p.Default:
			all = append(all, fmt.Sprintf("%s=%s (default %s)", p.Name, p.Text(value), p.Text(p.Default)))
		}
	}
	return theme.Clean(strings.Join(all, "  "))
}

// cursor is where the user is in one part.
type cursor struct {
	item  int // 0 is the part's introduction, n its nth cell
	top   anchor
	loose bool // scrolled away from the item: nothing moves by itself
	seen  bool
}

// anchor is the first line that is shown: a line of an item, so that what is
// shown stays where it is while an item before it grows.
type anchor struct{ item, line int }

// open is the part that is shown; the zero Part where there is none.
func (nb *notebook) open() steps.Part {
	if nb.part < len(nb.Parts()) {
		return nb.Parts()[nb.part]
	}
	return steps.Part{}
}

// hidden counts the cells of the open part that are not shown.
func (nb *notebook) hidden() int {
	if nb.part < len(nb.Book.Tutorial.Parts) {
		return screen.HiddenIn(nb.Book.Tutorial.Parts[nb.part])
	}
	return 0
}

func (nb *notebook) cursor() *cursor { return &nb.cursors[nb.part] }

// Selected is the cell under the selection, if it is one.
func (nb *notebook) Selected() (steps.Cell, bool) {
	cells := nb.open().Cells
	if i := nb.cursor().item; i >= 1 && i <= len(cells) {
		return cells[i-1], true
	}
	return steps.Cell{}, false
}

// find gives the part and the item of a cell.
func (nb *notebook) find(id string) (part, item int, ok bool) {
	for i, p := range nb.Parts() {
		for j, c := range p.Cells {
			if c.ID == id {
				return i, j + 1, true
			}
		}
	}
	return 0, 0, false
}

// partLines are the open part as lines: its introduction and its cells, one item each.
type partLines struct {
	items  [][]string
	starts []int
	// verdicts are the lines of the verdicts, ends those after all that belongs to them.
	verdicts, ends []int
	total          int
}

func (d partLines) end(item int) int { return d.starts[item] + len(d.items[item]) }

// at gives the item of a line.
func (d partLines) at(line int) int {
	item := 0
	for i, s := range d.starts {
		if s <= line {
			item = i
		}
	}
	return item
}

// result is where a window begins that shows an item's verdict, or what it prints, and as
// much before it as there is room for. Its title is pinned above, over the line before the
// verdict.
func (d partLines) result(item, height int) int {
	start := d.starts[item]
	return max(start, min(start+d.ends[item]-height, start+d.verdicts[item]-1))
}

// Draw is the window over the open part with its scroll bar.
func (nb *notebook) Draw(width, height int) screen.Picture {
	d := nb.lines()
	nb.settle(d, height)
	top := nb.top(d)
	bar := screen.ScrollBar(nb.Styles, top, d.total, height)
	lines := make([]string, 0, height)
	if item := d.at(top); item > 0 && top > d.starts[item] && top < d.starts[item]+d.ends[item]-1 {
		// The cell goes on above the window: its title stays, with the time.
		lines = append(lines, d.items[item][0]+bar[0])
		top++
	}
	for item := d.at(top); item < len(d.items) && len(lines) < height; item++ {
		for i := max(0, top-d.starts[item]); i < len(d.items[item]) && len(lines) < height; i++ {
			lines = append(lines, nb.finder.marked(d.items[item][i])+bar[len(lines)])
		}
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width-1)+bar[len(lines)])
	}
	if item := nb.cursor().item; d.starts[item] >= nb.top(d)+height {
		// Another cell's end is watched: what enter would run is seen all the same.
		lines[height-1] = d.items[item][0] + bar[height-1]
	}
	return screen.Picture{Lines: lines}
}

// explainWords shows what the words of the selected cell's text mean, or of the part's introduction.
func (nb *notebook) explainWords() tea.Cmd {
	text := nb.open().Title + " " + nb.open().Prose
	if c, ok := nb.Selected(); ok {
		text = c.Title + " " + c.Prose + " " + c.Tail
	}
	words := nb.docs.Glossary(text)
	if words == "" {
		return nb.Say("the glossary has none of these words: D lists all pages")
	}
	return nb.docs.Explained("# Words of this text\n\n" + words + "\n")
}
