package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// Where the selection goes and what the window over the notebook shows.

// A doc is the open part as lines: its introduction and its cells, one item each.
type doc struct {
	items  [][]string
	starts []int
	// verdicts are the lines of the verdicts, ends those after all that belongs to them.
	verdicts, ends []int
	total          int
}

func (d doc) end(item int) int { return d.starts[item] + len(d.items[item]) }

// at gives the item of a line.
func (d doc) at(line int) int {
	item := 0
	for i, s := range d.starts {
		if s <= line {
			item = i
		}
	}
	return item
}

// top is the first line of the window.
func (nb *notebook) top(d doc) int {
	a := nb.cursor().top
	if a.item >= len(d.items) {
		return 0
	}
	return d.starts[a.item] + max(0, min(a.line, len(d.items[a.item])-1))
}

// setTop keeps the place as an item and a line of it: items above may grow while one
// reads.
func (nb *notebook) setTop(d doc, line, height int) {
	line = max(0, min(line, d.total-height))
	item := d.at(line)
	nb.cursor().top = anchor{item, line - d.starts[item]}
}

// settle makes the selection visible unless the user scrolled away from it.
func (nb *notebook) settle(d doc, height int) {
	p := nb.cursor()
	p.item = max(0, min(p.item, len(d.items)-1))
	top := nb.top(d)
	if p.loose {
		nb.setTop(d, top, height)
		return
	}
	start, end := d.starts[p.item], d.end(p.item)
	switch w, watching := nb.watched(d); {
	case watching:
		// One line is left for the title of the cell that is selected.
		top = d.result(w, height-1)
	case end-start <= height:
		top = min(top, start)
		top = max(top, end-height)
	case nb.follow && nb.ran(p.item):
		top = d.result(p.item, height)
	default:
		top = max(start, min(top, end-height))
	}
	nb.setTop(d, top, height)
}

// result is where a window begins that shows an item's verdict, or what it prints, and as
// much before it as there is room for. Its title is pinned above, over the line before the
// verdict.
func (d doc) result(item, height int) int {
	start := d.starts[item]
	return max(start, min(start+d.ends[item]-height, start+d.verdicts[item]-1))
}

// watched is the item of the cell that was run when the next one was selected.
func (nb *notebook) watched(d doc) (item int, ok bool) {
	if nb.watch == "" {
		return 0, false
	}
	part, item, ok := nb.find(nb.watch)
	return item, ok && part == nb.part && item < len(d.items) && nb.ran(item)
}

func (nb *notebook) ran(item int) bool {
	all := nb.open().Cells
	return item >= 1 && item <= len(all) && nb.book.Cells[all[item-1].ID].Run > 0
}

// enter looks at a part for the first time: at its introduction, or at the first
// cell where both fit.
func (nb *notebook) enter() {
	p := nb.cursor()
	if p.seen || nb.width == 0 {
		return
	}
	p.seen = true
	d, h := nb.doc(), nb.layout().noteHeight
	if len(d.items) > 1 && d.end(1) <= h {
		p.item = 1
	}
}

// choose selects an item, and shows it from its title on where it is longer than the
// screen.
func (nb *notebook) choose(item int, d doc, h int) {
	p := nb.cursor()
	p.item, p.loose, nb.follow, nb.watch = item, false, false, ""
	if len(d.items[item]) > h {
		nb.setTop(d, d.starts[item], h)
	}
}

// down goes to the next cell, however long this one is.
func (nb *notebook) down() tea.Cmd {
	d, h := nb.doc(), nb.layout().noteHeight
	p := nb.cursor()
	switch {
	case p.item+1 < len(d.items):
		nb.choose(p.item+1, d, h)
	case d.end(p.item) > nb.top(d)+h:
		nb.notice = "the last cell: pgdn shows the rest of it, tab goes to the next part"
	case nb.part+1 < len(nb.parts()):
		nb.notice = "the end of this part; tab goes to the next"
	}
	return nil
}

func (nb *notebook) up() tea.Cmd {
	if p := nb.cursor(); p.item > 0 {
		nb.choose(p.item-1, nb.doc(), nb.layout().noteHeight)
	}
	return nil
}

// advance goes to the next cell, over the end of a part, too.
func (nb *notebook) advance() tea.Cmd {
	d, h := nb.doc(), nb.layout().noteHeight
	p := nb.cursor()
	if p.item+1 < len(d.items) {
		nb.choose(p.item+1, d, h)
		return nil
	}
	return nb.nextPart()
}

// goToPart opens a part where it was left.
func (nb *notebook) goToPart(i int) tea.Cmd {
	if i < 0 || i >= len(nb.parts()) {
		nb.notice = "there is no such part"
		return nil
	}
	nb.part, nb.follow, nb.watch = i, false, ""
	nb.layers.drop(outputLevel)
	nb.enter()
	return nil
}

func (nb *notebook) nextPart() tea.Cmd {
	if nb.part+1 >= len(nb.parts()) {
		nb.notice = "this is the last part"
		return nil
	}
	return nb.goToPart(nb.part + 1)
}

func (nb *notebook) previousPart() tea.Cmd {
	if nb.part == 0 {
		nb.notice = "this is the first part"
		return nil
	}
	return nb.goToPart(nb.part - 1)
}

// show selects a cell, wherever it is.
func (nb *notebook) show(id string) {
	part, item, ok := nb.find(id)
	if !ok {
		return
	}
	if nb.layers.has(outputLevel) && nb.output.page.cell != id {
		nb.layers.drop(outputLevel)
	}
	nb.part, nb.watch = part, ""
	p := nb.cursor()
	p.item, p.loose, p.seen = item, false, true
}

// scroll moves the window. The selection goes along when it would be out of sight:
// enter must not run what isn't seen.
func (nb *notebook) scroll(lines int) tea.Cmd {
	d, h := nb.doc(), nb.layout().noteHeight
	p := nb.cursor()
	nb.settle(d, h)
	before := nb.top(d)
	nb.setTop(d, before+lines, h)
	top := nb.top(d)
	p.loose, nb.watch = true, ""
	if top != before {
		nb.follow = false
	}
	if d.starts[p.item] >= top+h {
		p.item = d.at(top + h - 1)
	}
	if d.end(p.item) <= top {
		p.item = d.at(top)
		// Better one whose head is seen.
		if p.item+1 < len(d.items) && d.starts[p.item] < top && d.starts[p.item+1] < top+h {
			p.item++
		}
	}
	return nil
}

func (nb *notebook) pageDown() tea.Cmd { return nb.scroll(max(1, nb.layout().noteHeight-2)) }
func (nb *notebook) pageUp() tea.Cmd   { return nb.scroll(-max(1, nb.layout().noteHeight-2)) }
func (nb *notebook) halfDown() tea.Cmd { return nb.scroll(max(1, nb.layout().noteHeight/2)) }
func (nb *notebook) halfUp() tea.Cmd   { return nb.scroll(-max(1, nb.layout().noteHeight/2)) }

func (nb *notebook) home() tea.Cmd {
	d, h := nb.doc(), nb.layout().noteHeight
	nb.choose(0, d, h)
	nb.setTop(d, 0, h)
	return nil
}

func (nb *notebook) end() tea.Cmd {
	d, h := nb.doc(), nb.layout().noteHeight
	nb.choose(len(d.items)-1, d, h)
	nb.setTop(d, d.total, h)
	return nil
}

// openOutput opens the selected cell's output in the notebook's place.
func (nb *notebook) openOutput() tea.Cmd {
	c, ok := nb.selected()
	if !ok {
		return nil
	}
	return nb.output.openOutputOf(c)
}

// output is the layer of an opened output.
type output struct {
	*shared
	page             *page
	keys, searchKeys []chapter
	clickPart        func(row int, l layout) // of the list that stands beside it
}

// openOutputOf follows an output that still grows; one that is whole is read from its
// beginning.
func (out *output) openOutputOf(c steps.Cell) tea.Cmd {
	state := out.book.Cells[c.ID]
	if state.Output.Len() == 0 {
		out.notice = "it has printed nothing"
		return nil
	}
	out.layers.push(outputLevel)
	out.page = &page{cell: c.ID, run: state.Run, dropped: state.Output.Dropped(), follow: state.Running}
	if out.page.follow {
		out.pageLast()
	}
	return nil
}

func (out *output) closeOutput() tea.Cmd {
	out.layers.drop(outputLevel)
	return nil
}

func (out *output) pageState() steps.CellState { return out.book.Cells[out.page.cell] }

// pageHeight is how many lines of an opened output are seen.
func (out *output) pageHeight() int { return max(1, out.layout().noteHeight-2) }

// pageEnd is the first line that is seen at the end of an opened output.
func (out *output) pageEnd() int { return out.sheet().Line(out.pageEndRow()) }

func (out *output) pageEndRow() int {
	return max(0, out.sheet().Rows(out.pageState().Output.Len())-out.pageHeight())
}

// sheet is how the lines of the opened output stand there, set anew when it has grown or the
// screen has another width.
func (out *output) sheet() cells.Sheet {
	state := out.pageState()
	key := sheetKey{state.Run, state.Output.Dropped(), state.Output.Len(), out.layout().noteWidth}
	if p := out.page; p.sheetKey != key {
		c, _ := out.book.Tutorial.Cell(p.cell)
		p.sheetKey, p.sheet = key, cells.NewSheet(c, state, out.ranOn(state), key.width-1)
	}
	return out.page.sheet
}

// turn scrolls. Whoever arrives at the end of a running cell's output follows it from
// there.
func (out *output) turn(lines int) tea.Cmd {
	sheet, end := out.sheet(), out.pageEndRow()
	row := max(0, min(sheet.Row(out.page.top)+lines, end))
	out.page.top = sheet.Line(row)
	out.page.follow = row == end && out.pageState().Running
	return nil
}

// slide moves sideways by half a screen, as far as the lines that are seen reach.
func (out *output) slide(way int) tea.Cmd {
	l := out.layout()
	to := out.page.column + way*max(8, l.noteWidth/2)
	out.page.column = max(0, min(to, out.onPage().Reach(l.noteWidth-1, out.pageHeight())))
	return nil
}

// onPage is the opened output as cells draws it.
func (out *output) onPage() cells.Page {
	c, _ := out.book.Tutorial.Cell(out.page.cell)
	p := out.page
	return cells.Page{
		Cell: c, State: out.pageState(), Names: out.ranOn(out.pageState()), Column: p.column,
		Sheet: out.sheet(), Top: out.sheet().Row(p.top),
		Marks: func(line int, text string) []theme.Mark { return p.marks(p.dropped+line, text) },
	}
}

func (out *output) pageFirst() tea.Cmd {
	out.page.top, out.page.follow = out.sheet().Line(0), false
	return nil
}

func (out *output) pageLast() tea.Cmd {
	out.page.top, out.page.follow = out.pageEnd(), true
	return nil
}

// keepPage keeps an opened output at the end, or at the lines that are being read
// while older ones are dropped.
func (out *output) keepPage() {
	if !out.layers.has(outputLevel) {
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
	out.page.top = out.sheet().Line(min(out.sheet().Row(out.page.top), out.pageEndRow()))
	out.page.search.scan(state.Output)
	if state.Run == 0 {
		out.layers.drop(outputLevel)
	}
}

func (nb *notebook) toggleEvidence() tea.Cmd {
	if c, ok := nb.selected(); ok {
		nb.evidence[c.ID] = !nb.evidence[c.ID]
	}
	return nil
}

func (nb *notebook) toggleOutput() tea.Cmd {
	if c, ok := nb.selected(); ok {
		nb.folded[c.ID] = !nb.folded[c.ID]
	}
	return nil
}

func (nb *notebook) toggleScript() tea.Cmd {
	if c, ok := nb.selected(); ok {
		nb.scripts[c.ID] = !nb.scripts[c.ID]
	}
	return nil
}

// trust shows the selected cell's script whole, and when it is asked for again at once,
// lets it run: the user has read it.
func (nb *notebook) trust() tea.Cmd {
	c, ok := nb.selected()
	if !ok || c.Note() {
		nb.notice = "there is no script here"
		return nil
	}
	if nb.before != "T" || nb.reads != c.ID {
		nb.scripts[c.ID] = true
		nb.notice = "this is all of " + c.ID + ": read it; T again lets it run, in your name"
		nb.before, nb.reads = "T", c.ID
		return nil
	}
	nb.notice = c.ID + " is trusted, as long as nobody changes it"
	return nb.try(func(s Session) error { return s.Trust(c.ID) })
}

func (sh *shared) cycleGauges() tea.Cmd {
	switch {
	case sh.layers.has(gaugesLevel):
		sh.layers.drop(gaugesLevel)
		sh.noGauges = true
	case sh.noGauges:
		sh.noGauges = false
	default:
		sh.layers.push(gaugesLevel)
	}
	return nil
}

// closeGauges leaves the strip: esc goes back one step and hides nothing.
func (sh *shared) closeGauges() tea.Cmd {
	sh.layers.drop(gaugesLevel)
	return nil
}

func (hp *help) openHelp() tea.Cmd {
	hp.layers.push(helpLevel)
	hp.fitHelp()
	hp.page.GotoTop()
	return nil
}

// help is the keys of the screen that it was opened on.
type help struct {
	*shared
	page        viewport.Model
	chapters    func() []chapter
	openPalette func() tea.Cmd
}

// newHelpPage is the window over the help.
func newHelpPage() viewport.Model {
	page := viewport.New()
	page.KeyMap = viewport.KeyMap{
		Down: key.NewBinding(key.WithKeys("down", "j")), Up: key.NewBinding(key.WithKeys("up", "k")),
		PageDown:     key.NewBinding(key.WithKeys("pgdown", "space", "ctrl+f")),
		PageUp:       key.NewBinding(key.WithKeys("pgup", "ctrl+b")),
		HalfPageDown: key.NewBinding(key.WithKeys("ctrl+d")), HalfPageUp: key.NewBinding(key.WithKeys("ctrl+u")),
	}
	return page
}

// helpWidth is the widest that the help's text gets.
const helpWidth = 110

// fitHelp sets the help for the screen's size.
func (hp *help) fitHelp() {
	if !hp.layers.has(helpLevel) {
		return
	}
	width := max(1, min(helpWidth, hp.width-8))
	lines := hp.helpLines(width)
	hp.page.SetWidth(width)
	hp.page.SetHeight(max(1, min(len(lines), hp.height-2)))
	hp.page.SetContentLines(lines)
	hp.page.SetYOffset(hp.page.YOffset())
}

// Key scrolls the help, or closes it. / looks for a key by what it does.
func (hp *help) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "?", "q", "enter", "ctrl+c":
		hp.layers.drop(helpLevel)
	case "/", ":", "ctrl+p", "ctrl+k":
		hp.layers.drop(helpLevel)
		return hp.openPalette()
	case "home":
		hp.page.GotoTop()
	case "end", "G":
		hp.page.GotoBottom()
	default:
		hp.page, _ = hp.page.Update(msg)
	}
	return nil
}

// toggleParts folds the list of parts away, for a wider notebook.
func (nb *notebook) toggleParts() tea.Cmd {
	nb.noParts = !nb.noParts
	return nil
}

// toggleMouse leaves the mouse to the terminal, which can select text then.
func (nb *notebook) toggleMouse() tea.Cmd {
	nb.noMouse = !nb.noMouse
	nb.notice = "the mouse is railbench's: it selects and scrolls"
	if nb.noMouse {
		nb.notice = "the mouse is the terminal's, to select text; M takes it back"
	}
	return nil
}

// wheelStep is how many lines a notch of the wheel scrolls.
const wheelStep = 3

// wheel scrolls what is on top. Over a question it does nothing: one who scrolls answers
// nothing.
func (m *Model) wheel(e tea.Mouse) tea.Cmd {
	lines := wheelStep
	switch e.Button {
	case tea.MouseWheelUp:
		lines = -wheelStep
	case tea.MouseWheelDown:
	default:
		return nil
	}
	m.dirty = true
	return m.all[m.layers.top()].Wheel(lines)
}

// click selects; it never runs anything, because a click comes by accident.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	if e.Button != tea.MouseLeft {
		return nil
	}
	l := m.layout()
	row := e.Y - l.bodyTop
	if row < 0 || row >= l.noteHeight {
		return nil
	}
	return m.all[m.layers.top()].Click(e.X, row)
}

// clickPart goes to what a row of the list of parts names.
func (nb *notebook) clickPart(row int, l layout) {
	_, targets := nb.partList(l)
	if row >= len(targets) || targets[row].part < 0 {
		return
	}
	t := targets[row]
	nb.goToPart(t.part)
	if t.item > 0 {
		nb.choose(t.item, nb.doc(), l.noteHeight)
	}
}

// clickCell selects the cell that a row of the notebook belongs to.
func (nb *notebook) clickCell(row int) {
	d := nb.doc()
	if line := nb.top(d) + row; line < d.total {
		p := nb.cursor()
		p.item, p.loose, nb.follow, nb.watch = d.at(line), true, false, ""
	}
}

// Key acts by the table of keys.
func (out *output) Key(msg tea.KeyPressMsg) tea.Cmd { return press(out.keys, msg) }

// Paste does nothing: nothing is typed here.
func (out *output) Paste(string) tea.Cmd { return nil }

// Click goes to another part. An output of the checklist's has no list of parts beside it.
func (out *output) Click(x, row int) tea.Cmd {
	out.dirty, out.notice = true, ""
	if l := out.layout(); x < l.partsWidth {
		out.clickPart(row, l)
	}
	return nil
}

// Wheel scrolls.
func (out *output) Wheel(lines int) tea.Cmd { return out.turn(lines) }

// Bindings are those of the table.
func (out *output) Bindings() []chapter { return out.keys }

// Draw is the output with its title and where in it one is.
func (out *output) Draw(int, int) picture { return picture{lines: out.draw(out.layout())} }

// Paste does nothing: nothing is typed here.
func (hp *help) Paste(string) tea.Cmd { return nil }

// Click does nothing.
func (hp *help) Click(int, int) tea.Cmd { return nil }

// Wheel scrolls.
func (hp *help) Wheel(lines int) tea.Cmd {
	hp.page.SetYOffset(hp.page.YOffset() + lines)
	return nil
}

// Bindings are none: the box says which keys it has.
func (hp *help) Bindings() []chapter { return nil }

// Draw is the part of the help that is scrolled to.
func (hp *help) Draw(int, int) picture {
	more := " esc leave "
	if !hp.page.AtTop() || !hp.page.AtBottom() {
		more = " ↑↓ scroll  esc leave "
	}
	return picture{lines: strings.Split(hp.page.View(), "\n"), title: "help", more: more, columns: hp.page.Width()}
}
