package tui

import (
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
func (m *Model) top(d doc) int {
	a := m.cursor().top
	if a.item >= len(d.items) {
		return 0
	}
	return d.starts[a.item] + max(0, min(a.line, len(d.items[a.item])-1))
}

// setTop keeps the place as an item and a line of it: items above may grow while one
// reads.
func (m *Model) setTop(d doc, line, height int) {
	line = max(0, min(line, d.total-height))
	item := d.at(line)
	m.cursor().top = anchor{item, line - d.starts[item]}
}

// settle makes the selection visible unless the user scrolled away from it.
func (m *Model) settle(d doc, height int) {
	p := m.cursor()
	p.item = max(0, min(p.item, len(d.items)-1))
	top := m.top(d)
	if p.loose {
		m.setTop(d, top, height)
		return
	}
	start, end := d.starts[p.item], d.end(p.item)
	switch w, watching := m.watched(d); {
	case watching:
		// One line is left for the title of the cell that is selected.
		top = d.result(w, height-1)
	case end-start <= height:
		top = min(top, start)
		top = max(top, end-height)
	case m.follow && m.ran(p.item):
		top = d.result(p.item, height)
	default:
		top = max(start, min(top, end-height))
	}
	m.setTop(d, top, height)
}

// result is where a window begins that shows an item's verdict, or what it prints, and as
// much before it as there is room for. Its title is pinned above, over the line before the
// verdict.
func (d doc) result(item, height int) int {
	start := d.starts[item]
	return max(start, min(start+d.ends[item]-height, start+d.verdicts[item]-1))
}

// watched is the item of the cell that was run when the next one was selected.
func (m *Model) watched(d doc) (item int, ok bool) {
	if m.watch == "" {
		return 0, false
	}
	part, item, ok := m.find(m.watch)
	return item, ok && part == m.part && item < len(d.items) && m.ran(item)
}

func (m *Model) ran(item int) bool {
	all := m.open().Cells
	return item >= 1 && item <= len(all) && m.book.Cells[all[item-1].ID].Run > 0
}

// enter looks at a part for the first time: at its introduction, or at the first
// cell where both fit.
func (m *Model) enter() {
	p := m.cursor()
	if p.seen || m.width == 0 {
		return
	}
	p.seen = true
	d, h := m.doc(), m.layout().noteHeight
	if len(d.items) > 1 && d.end(1) <= h {
		p.item = 1
	}
}

// choose selects an item, and shows it from its title on where it is longer than the
// screen.
func (m *Model) choose(item int, d doc, h int) {
	p := m.cursor()
	p.item, p.loose, m.follow, m.watch = item, false, false, ""
	if len(d.items[item]) > h {
		m.setTop(d, d.starts[item], h)
	}
}

// down goes to the next cell, however long this one is.
func (m *Model) down() tea.Cmd {
	d, h := m.doc(), m.layout().noteHeight
	p := m.cursor()
	switch {
	case p.item+1 < len(d.items):
		m.choose(p.item+1, d, h)
	case d.end(p.item) > m.top(d)+h:
		m.notice = "the last cell: pgdn shows the rest of it, tab goes to the next part"
	case m.part+1 < len(m.parts()):
		m.notice = "the end of this part; tab goes to the next"
	}
	return nil
}

func (m *Model) up() tea.Cmd {
	if p := m.cursor(); p.item > 0 {
		m.choose(p.item-1, m.doc(), m.layout().noteHeight)
	}
	return nil
}

// advance goes to the next cell, over the end of a part, too.
func (m *Model) advance() tea.Cmd {
	d, h := m.doc(), m.layout().noteHeight
	p := m.cursor()
	if p.item+1 < len(d.items) {
		m.choose(p.item+1, d, h)
		return nil
	}
	return m.nextPart()
}

// goToPart opens a part where it was left.
func (m *Model) goToPart(i int) tea.Cmd {
	if i < 0 || i >= len(m.parts()) {
		m.notice = "there is no such part"
		return nil
	}
	m.part, m.follow, m.watch = i, false, ""
	m.layers.drop(outputLevel)
	m.enter()
	return nil
}

func (m *Model) nextPart() tea.Cmd {
	if m.part+1 >= len(m.parts()) {
		m.notice = "this is the last part"
		return nil
	}
	return m.goToPart(m.part + 1)
}

func (m *Model) previousPart() tea.Cmd {
	if m.part == 0 {
		m.notice = "this is the first part"
		return nil
	}
	return m.goToPart(m.part - 1)
}

// show selects a cell, wherever it is.
func (m *Model) show(id string) {
	part, item, ok := m.find(id)
	if !ok {
		return
	}
	if m.layers.has(outputLevel) && m.page.cell != id {
		m.layers.drop(outputLevel)
	}
	m.part, m.watch = part, ""
	p := m.cursor()
	p.item, p.loose, p.seen = item, false, true
}

// scroll moves the window. The selection goes along when it would be out of sight:
// enter must not run what isn't seen.
func (m *Model) scroll(lines int) tea.Cmd {
	d, h := m.doc(), m.layout().noteHeight
	p := m.cursor()
	m.settle(d, h)
	before := m.top(d)
	m.setTop(d, before+lines, h)
	top := m.top(d)
	p.loose, m.watch = true, ""
	if top != before {
		m.follow = false
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

func (m *Model) pageDown() tea.Cmd { return m.scroll(max(1, m.layout().noteHeight-2)) }
func (m *Model) pageUp() tea.Cmd   { return m.scroll(-max(1, m.layout().noteHeight-2)) }
func (m *Model) halfDown() tea.Cmd { return m.scroll(max(1, m.layout().noteHeight/2)) }
func (m *Model) halfUp() tea.Cmd   { return m.scroll(-max(1, m.layout().noteHeight/2)) }

func (m *Model) home() tea.Cmd {
	d, h := m.doc(), m.layout().noteHeight
	m.choose(0, d, h)
	m.setTop(d, 0, h)
	return nil
}

func (m *Model) end() tea.Cmd {
	d, h := m.doc(), m.layout().noteHeight
	m.choose(len(d.items)-1, d, h)
	m.setTop(d, d.total, h)
	return nil
}

// openOutput opens the selected cell's output in the notebook's place.
func (m *Model) openOutput() tea.Cmd {
	c, ok := m.selected()
	if !ok {
		return nil
	}
	return m.openOutputOf(c)
}

// openOutputOf follows an output that still grows; one that is whole is read from its
// beginning.
func (m *Model) openOutputOf(c steps.Cell) tea.Cmd {
	state := m.book.Cells[c.ID]
	if state.Output.Len() == 0 {
		m.notice = "it has printed nothing"
		return nil
	}
	m.layers.push(outputLevel)
	m.page = &page{cell: c.ID, run: state.Run, dropped: state.Output.Dropped(), follow: state.Running}
	if m.page.follow {
		m.pageLast()
	}
	return nil
}

func (m *Model) closeOutput() tea.Cmd {
	m.layers.drop(outputLevel)
	return nil
}

func (m *Model) pageState() steps.CellState { return m.book.Cells[m.page.cell] }

// pageHeight is how many lines of an opened output are seen.
func (m *Model) pageHeight() int { return max(1, m.layout().noteHeight-2) }

// pageEnd is the first line that is seen at the end of an opened output.
func (m *Model) pageEnd() int { return m.sheet().Line(m.pageEndRow()) }

func (m *Model) pageEndRow() int {
	return max(0, m.sheet().Rows(m.pageState().Output.Len())-m.pageHeight())
}

// sheet is how the lines of the opened output stand there, set anew when it has grown or the
// screen has another width.
func (m *Model) sheet() cells.Sheet {
	state := m.pageState()
	key := sheetKey{state.Run, state.Output.Dropped(), state.Output.Len(), m.layout().noteWidth}
	if p := m.page; p.sheetKey != key {
		c, _ := m.book.Tutorial.Cell(p.cell)
		p.sheetKey, p.sheet = key, cells.NewSheet(c, state, m.ranOn(state), key.width-1)
	}
	return m.page.sheet
}

// turn scrolls. Whoever arrives at the end of a running cell's output follows it from
// there.
func (m *Model) turn(lines int) tea.Cmd {
	sheet, end := m.sheet(), m.pageEndRow()
	row := max(0, min(sheet.Row(m.page.top)+lines, end))
	m.page.top = sheet.Line(row)
	m.page.follow = row == end && m.pageState().Running
	return nil
}

// slide moves sideways by half a screen, as far as the lines that are seen reach.
func (m *Model) slide(way int) tea.Cmd {
	l := m.layout()
	to := m.page.column + way*max(8, l.noteWidth/2)
	m.page.column = max(0, min(to, m.onPage().Reach(l.noteWidth-1, m.pageHeight())))
	return nil
}

// onPage is the opened output as cells draws it.
func (m *Model) onPage() cells.Page {
	c, _ := m.book.Tutorial.Cell(m.page.cell)
	p := m.page
	return cells.Page{
		Cell: c, State: m.pageState(), Names: m.ranOn(m.pageState()), Column: p.column,
		Sheet: m.sheet(), Top: m.sheet().Row(p.top),
		Marks: func(line int, text string) []theme.Mark { return p.marks(p.dropped+line, text) },
	}
}

func (m *Model) pageFirst() tea.Cmd {
	m.page.top, m.page.follow = m.sheet().Line(0), false
	return nil
}

func (m *Model) pageLast() tea.Cmd {
	m.page.top, m.page.follow = m.pageEnd(), true
	return nil
}

// keepPage keeps an opened output at the end, or at the lines that are being read
// while older ones are dropped.
func (m *Model) keepPage() {
	if !m.layers.has(outputLevel) {
		return
	}
	state := m.pageState()
	switch {
	case state.Run != m.page.run:
		// A new run: what was read is gone.
		m.page.run, m.page.top, m.page.column, m.page.follow = state.Run, 0, 0, true
		m.page.search.again()
		m.page.search.at, m.page.search.from = nowhere, view{follow: true}
	case !m.page.follow:
		m.page.top = max(0, m.page.top-(state.Output.Dropped()-m.page.dropped))
	}
	m.page.dropped = state.Output.Dropped()
	if m.page.follow {
		m.page.top = m.pageEnd()
	}
	m.page.top = m.sheet().Line(min(m.sheet().Row(m.page.top), m.pageEndRow()))
	m.page.search.scan(state.Output)
	if state.Run == 0 {
		m.layers.drop(outputLevel)
	}
}

func (m *Model) toggleEvidence() tea.Cmd {
	if c, ok := m.selected(); ok {
		m.evidence[c.ID] = !m.evidence[c.ID]
	}
	return nil
}

func (m *Model) toggleOutput() tea.Cmd {
	if c, ok := m.selected(); ok {
		m.folded[c.ID] = !m.folded[c.ID]
	}
	return nil
}

func (m *Model) toggleScript() tea.Cmd {
	if c, ok := m.selected(); ok {
		m.scripts[c.ID] = !m.scripts[c.ID]
	}
	return nil
}

// trust shows the selected cell's script whole, and when it is asked for again at once,
// lets it run: the user has read it.
func (m *Model) trust() tea.Cmd {
	c, ok := m.selected()
	if !ok || c.Note() {
		m.notice = "there is no script here"
		return nil
	}
	if m.before != "T" || m.reads != c.ID {
		m.scripts[c.ID] = true
		m.notice = "this is all of " + c.ID + ": read it; T again lets it run, in your name"
		m.before, m.reads = "T", c.ID
		return nil
	}
	m.notice = c.ID + " is trusted, as long as nobody changes it"
	return m.try(func(s Session) error { return s.Trust(c.ID) })
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

func (m *Model) openHelp() tea.Cmd {
	m.layers.push(helpLevel)
	m.fitHelp()
	m.helpPage.GotoTop()
	return nil
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
func (m *Model) fitHelp() {
	if !m.layers.has(helpLevel) {
		return
	}
	width := max(1, min(helpWidth, m.width-8))
	lines := m.helpLines(width)
	m.helpPage.SetWidth(width)
	m.helpPage.SetHeight(max(1, min(len(lines), m.height-2)))
	m.helpPage.SetContentLines(lines)
	m.helpPage.SetYOffset(m.helpPage.YOffset())
}

// helpKey scrolls the help, or closes it. / looks for a key by what it does.
func (m *Model) helpKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "?", "q", "enter", "ctrl+c":
		m.layers.drop(helpLevel)
	case "/", ":", "ctrl+p", "ctrl+k":
		m.layers.drop(helpLevel)
		return m.openPalette()
	case "home":
		m.helpPage.GotoTop()
	case "end", "G":
		m.helpPage.GotoBottom()
	default:
		m.helpPage, _ = m.helpPage.Update(msg)
	}
	return nil
}

// toggleParts folds the list of parts away, for a wider notebook.
func (m *Model) toggleParts() tea.Cmd {
	m.noParts = !m.noParts
	return nil
}

// toggleMouse leaves the mouse to the terminal, which can select text then.
func (m *Model) toggleMouse() tea.Cmd {
	m.noMouse = !m.noMouse
	m.notice = "the mouse is railbench's: it selects and scrolls"
	if m.noMouse {
		m.notice = "the mouse is the terminal's, to select text; M takes it back"
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
	switch m.layers.top() {
	case helpLevel:
		m.helpPage.SetYOffset(m.helpPage.YOffset() + lines)
	case docsLevel:
		return m.turnDocs(lines)
	case outputLevel, searchLevel:
		return m.turn(lines)
	case checklistLevel, symptomLevel:
		return m.nextCheck(lines / wheelStep)
	case notebookLevel, wordsLevel:
		return m.scroll(lines)
	case gaugesLevel, presentationLevel, editorLevel, formLevel, paletteLevel, quitLevel, drillLevel, questionLevel,
		smallLevel:
	}
	return nil
}

// click selects; it never runs anything, because a click comes by accident.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	if e.Button != tea.MouseLeft {
		return nil
	}
	l, top := m.layout(), m.layers.top()
	row := e.Y - l.bodyTop
	if row < 0 || row >= l.noteHeight {
		return nil
	}
	switch top {
	case checklistLevel, symptomLevel:
		m.dirty, m.notice = true, ""
		return m.clickCheck(row, l)
	case notebookLevel, wordsLevel, outputLevel, searchLevel:
		m.dirty, m.notice = true, ""
		switch {
		case m.layers.has(checklistLevel): // an output of the checklist's has no list of parts beside it
		case e.X < l.partsWidth:
			m.clickPart(row, l)
		case !m.layers.has(outputLevel) && e.X >= l.noteLeft && e.X < l.noteLeft+l.noteWidth:
			m.clickCell(row)
		}
	case gaugesLevel, presentationLevel, docsLevel, editorLevel, formLevel, paletteLevel, helpLevel, quitLevel,
		drillLevel, questionLevel, smallLevel:
	}
	return nil
}

// clickPart goes to what a row of the list of parts names.
func (m *Model) clickPart(row int, l layout) {
	_, targets := m.partList(l)
	if row >= len(targets) || targets[row].part < 0 {
		return
	}
	t := targets[row]
	m.goToPart(t.part)
	if t.item > 0 {
		m.choose(t.item, m.doc(), l.noteHeight)
	}
}

// clickCell selects the cell that a row of the notebook belongs to.
func (m *Model) clickCell(row int) {
	d := m.doc()
	if line := m.top(d) + row; line < d.total {
		p := m.cursor()
		p.item, p.loose, m.follow, m.watch = d.at(line), true, false, ""
	}
}
