package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/gauges"
	"github.com/railbench/railbench/tui/theme"
)

// The smallest terminal in which the workbench can be used.
const (
	leastWidth  = 60
	leastHeight = 20
)

// A layout says where everything is. It depends on the size, the gauges and what
// there is to warn of, and on nothing else.
type layout struct {
	small      bool // too small to be used
	bodyTop    int  // first row under the header
	bodyHeight int
	partsWidth int // without the line beside it
	noteLeft   int
	noteWidth  int
	noteHeight int
	strip      int // rows of gauges below
	side       int // columns of gauges on the right
	keep       int // lines of output under a cell
	rule       bool
}

// Where the notebook keeps so many columns and there are so many lines, the gauges stand on
// the right, each with its history, and the notebook has the whole height. In a narrower one
// prose would be set in shorter lines than on a smaller screen, and tables lose columns.
const (
	besideGauges = 128
	sideLeast    = 60
	sideHeight   = 30
)

// checklistGauges is the height from which the checklist leaves room for the gauges.
const checklistGauges = 44

// layout shares the screen out. The narrower it is, the less of it have gauges and the
// names of parts; the checklist and the pages take all of the latter.
func (sh *shared) layout() layout {
	l := layout{small: sh.width < leastWidth || sh.height < leastHeight}
	l.rule = sh.height >= 28
	l.bodyTop = 1 + len(sh.alertLines())
	if l.rule {
		l.bodyTop++
	}
	l.bodyHeight = max(1, sh.height-l.bodyTop-1)
	l.partsWidth = sh.partsWidth()
	switch {
	case sh.noGauges && !sh.layers.has(gaugesLevel):
	case sh.layers.has(docsLevel): // whoever reads wants the room
	case sh.layers.has(checklistLevel) && sh.height < checklistGauges: // the checks need the room, and most move nothing
	case sh.width-l.partsWidth-besideGauges-3 >= sideLeast && sh.height >= sideHeight:
		l.side = min(84, sh.width-l.partsWidth-besideGauges-3)
	default:
		most := sh.height * 2 / 5
		if sh.height < sideHeight {
			most = sh.height / 4 // a cell's verdict needs the room
		}
		l.strip = min(gauges.Height(sh.board, max(3, most)), max(0, l.bodyHeight-5))
	}
	if l.partsWidth > 0 {
		l.noteLeft = l.partsWidth + 1
	}
	l.noteWidth = sh.width - l.noteLeft - 1 // the last column is the scroll bar's
	if l.side > 0 {
		l.noteWidth -= l.side + 1
	}
	l.noteWidth = max(1, l.noteWidth)
	l.noteHeight = max(1, l.bodyHeight-l.strip)
	l.keep = max(5, min(20, l.noteHeight*2/5))
	return l
}

// partsWidth is how much of the screen the list of parts has; 0 where it isn't shown.
func (sh *shared) partsWidth() int {
	switch {
	case sh.layers.has(checklistLevel) || sh.layers.has(docsLevel) || sh.noParts:
		return 0
	case sh.width < 72:
		return 8
	case sh.width < 100:
		return 22
	case sh.width < 140:
		return 27
	default:
		return 32
	}
}

// View gives the frame. It is drawn only when something changed: Bubble Tea asks
// after every message.
func (m *Model) View() tea.View {
	if m.dirty {
		m.frame, m.dirty = m.draw(), false
		if m.opts.ASCII {
			m.frame = theme.ASCII(m.frame)
		}
	}
	return m.view()
}

// view is the frame with what every frame asks of the terminal.
func (m *Model) view() tea.View {
	v := tea.NewView(m.frame)
	v.AltScreen = true
	if !m.noMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "railbench"
	return v
}

// draw is a whole frame, each line as wide as the terminal: what was there before is
// covered.
func (m *Model) draw() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	l := m.layout()
	if l.small {
		return strings.Join(m.all[smallLevel].Draw(m.width, m.height).lines, "\n")
	}
	screen := m.layers.screen()
	if screen == presentationLevel {
		return m.overlay(strings.Join(m.presenter.Draw(m.width, m.height).lines, "\n"))
	}
	lines := make([]string, 0, m.height)
	lines = append(lines, theme.Pad(m.header(), m.width))
	lines = append(lines, m.alertLines()...)
	if l.rule {
		lines = append(lines, m.ink.Faint.Render(strings.Repeat("─", m.width)))
	}
	if screen == gaugesLevel {
		lines = append(lines, m.wide.Draw(m.width, l.bodyHeight).lines...)
	} else {
		lines = append(lines, m.body(l)...)
		if l.strip > 0 {
			lines = append(lines, fill(m.pane(m.width, l.strip, false).Lines(m.ink, m.board), l.strip, m.width)...)
		}
	}
	lines = append(lines, theme.Pad(m.foot(), m.width))
	return m.overlay(strings.Join(lines[:min(len(lines), m.height)], "\n"))
}

// fill adds empty lines up to height.
func fill(lines []string, height, width int) []string {
	lines = lines[:min(len(lines), height)]
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

func (sm *small) Draw(width, height int) picture {
	text := fmt.Sprintf("railbench needs %dx%d; this terminal has %dx%d", leastWidth, leastHeight, width, height)
	lines := theme.Wrap(text, width, "", "")
	return picture{lines: lines[:min(len(lines), height)]}
}

// simulated is true as soon as anybody says so. What is simulated is never shown as
// measured.
func (sh *shared) simulated() bool { return sh.opts.Simulated || sh.book.Rig.Simulated }

// header has on the right what must not be missed: the mark of the simulated rig, and
// whether the nodes answer.
func (m *Model) header() string {
	k := m.ink
	left := " " + k.Focus.Render("railbench")
	if t := m.book.Tutorial.Title; t != "" && m.width >= 100 {
		left += "  " + k.Dim.Render(theme.Clean(t)+" ›")
	} else {
		left += " "
	}
	if t := m.title(); t != "" {
		left += " " + k.Strong.Render(theme.Clean(t))
	}
	right := ""
	if m.simulated() {
		badge := " SIMULATED RIG "
		if m.width < 80 {
			badge = " SIMULATED "
		}
		right = k.Badge.Render(badge) + "  "
	} else if name := m.rigName(); name != "" && m.width >= 100 {
		right = k.Dim.Render(theme.Clean(name)) + "  "
	}
	names := m.names()
	name := func(e steps.End) string { return ansi.Truncate(theme.Clean(names[e]), 20, "…") }
	right += m.dot(steps.Here) + " " + name(steps.Here) +
		k.Faint.Render(" ⇄ ") + name(steps.Peer) + " " + m.dot(steps.Peer) + " "
	room := m.width - lipgloss.Width(left) - lipgloss.Width(right)
	if more := len(m.book.Rig.Nodes) - len(steps.Ends); more > manyDots && 2*more > room {
		return theme.Sides(left, right+m.dotCounts(), m.width)
	}
	for e := len(steps.Ends); e < len(m.book.Rig.Nodes); e++ {
		// The nodes beside the link: their names where there is room, and always whether they answer.
		if beside := k.Dim.Render(name(steps.End(e))) + " " + m.dot(steps.End(e)) +
			" "; lipgloss.Width(left)+lipgloss.Width(right)+lipgloss.Width(beside) < m.width {
			right += beside
		} else {
			right += m.dot(steps.End(e)) + " "
		}
	}
	return theme.Sides(left, right, m.width)
}

// manyDots is from how many on the dots of nodes beside the link are counted where they have no room.
const manyDots = 8

// dotCounts are the dots of the nodes beside the link, each with how many have it.
func (m *Model) dotCounts() string {
	var dots []string
	count := map[string]int{}
	for e := len(steps.Ends); e < len(m.book.Rig.Nodes); e++ {
		dot := m.dot(steps.End(e))
		if count[dot]++; count[dot] == 1 {
			dots = append(dots, dot)
		}
	}
	slices.SortStableFunc(dots, func(a, b string) int { return count[a] - count[b] }) // few that are apart come first
	var text strings.Builder
	for _, dot := range dots {
		text.WriteString(dot + m.ink.Dim.Render(" "+steps.Thousands(count[dot])) + " ")
	}
	return text.String()
}

// title is what the screen shows: the open part, the checklist, or a drill and its
// time.
func (m *Model) title() string {
	switch {
	case m.opts.Drill.Fault != "" && m.drill.found > 0:
		return fmt.Sprintf("Drill: %d points, in %s", m.drill.score(), cells.Seconds(m.drill.found))
	case m.opts.Drill.Fault != "":
		return fmt.Sprintf("Drill: %d points left", m.drill.score())
	case m.layers.has(docsLevel):
		return "Pages"
	case m.layers.has(checklistLevel):
		return "Checklist"
	}
	return m.notebook.open().Title
}

func (sh *shared) rigName() string {
	if sh.book.Rig.Name != "" {
		return sh.book.Rig.Name
	}
	return sh.opts.RigName
}

// dot is the state of a node's connection.
func (m *Model) dot(e steps.End) string {
	switch link := m.book.Connection(m.number(e)); {
	case m.opts.ReadOnly != "":
		return m.ink.Dim.Render("○") // another railbench has the connections
	case link.Connected():
		return m.ink.Pass.Render("●")
	case link.Lost():
		return m.ink.Fail.Render("✗")
	default:
		return m.ink.Warn.Render("◌")
	}
}

// An alert is a line above the screen that stays.
type alert struct {
	text string
	mild bool // it stops nothing, by now
	// It says only that a node is being connected to: of many nodes they are counted.
	quiet bool
}

// alerts say what is wrong with the nodes, one each, and what else has to be known; of the hardware
// the worst that can't wait.
// What another railbench has open is not this one's to warn of: the line says who has it.
func (sh *shared) alerts() (all []alert) {
	if sh.opts.ReadOnly != "" {
		return []alert{{text: sh.opts.ReadOnly, mild: true}}
	}
	all = hardwareAlerts(sh.board, trouble(sh.book))
	if sh.changedFile != "" {
		all = append(all, alert{
			text: sh.changedFile + " has changed on disk: r opens it anew, and keeps all results", mild: true,
		})
	}
	return all
}

// hardwareAlerts are what is wrong with the nodes, with the alarm of the hardware that can't wait
// among them.
func hardwareAlerts(b meter.Board, trouble []alert) (all []alert) {
	urgent, hot := health.Urgent(b.Health)
	if hot && urgent.Grade == steps.Fail {
		all = append(all, alert{text: urgent.String()})
	}
	all = append(all, trouble...)
	if hot && urgent.Grade != steps.Fail {
		all = append(all, alert{text: urgent.String(), mild: true})
	}
	return all
}

// trouble is what is wrong with the nodes.
func trouble(book steps.Notebook) []alert {
	var lines []alert
	names := namesIn(book.Rig)
	connecting := 0
	for i := range names {
		e := steps.End(i)
		link := book.Connection(numberIn(book.Rig, e))
		switch {
		case !link.Connected():
			s := link.State.String()
			quiet := link.Connecting() && link.Cause == ""
			if link.Connecting() {
				s += " …"
			}
			if quiet {
				connecting++
			}
			if link.Cause != "" {
				s += ": " + link.Cause
			}
			lines = append(lines, alert{names[e] + " " + s, link.Connecting(), quiet})
		case book.Rig.At(e).Err != "":
			lines = append(lines, alert{text: names[e] + " could not be looked at: " + book.Rig.At(e).Err})
		}
	}
	if why := book.Saved.Why; why != "" {
		lines = append(lines, alert{text: "not saved: " + why})
	}
	switch {
	case connecting > alertsHeight && connecting < len(names):
		lines = slices.DeleteFunc(lines, func(a alert) bool { return a.quiet })
		return append(lines, alert{
			text: fmt.Sprintf("connecting to %s more nodes …", steps.Thousands(connecting)), mild: true,
		})
	case connecting < len(lines) || connecting < len(names):
	case connecting == len(steps.Ends):
		return []alert{{text: "connecting to both nodes …", mild: true}}
	default:
		return []alert{{text: fmt.Sprintf("connecting to all %d nodes …", connecting), mild: true}}
	}
	return lines
}

// alertsHeight is how many lines the alerts may have: what to do stands at their ends.
const alertsHeight = 6

// alertLines share alertsHeight among the alerts: one that is long must not hide another. Of a rig of
// many nodes the worst are told, and how many there are besides.
func (sh *shared) alertLines() []string {
	var lines []string
	alerts := sh.alerts()
	if len(alerts) > alertsHeight {
		slices.SortStableFunc(alerts, func(a, b alert) int {
			switch {
			case a.mild == b.mild:
				return 0
			case b.mild:
				return -1
			}
			return 1
		})
		rest := alerts[alertsHeight-1:]
		all := fmt.Sprintf("%d more, the first of them: %s", len(rest), rest[0].text)
		alerts = append(alerts[:alertsHeight-1:alertsHeight-1], alert{text: all, mild: rest[0].mild})
	}
	for _, a := range alerts {
		most := alertsHeight / len(alerts)
		style, mark := sh.ink.Fail, " ✗ "
		if a.mild {
			style, mark = sh.ink.Warn, " ◌ "
		}
		wrapped := theme.Wrap(theme.Clean(a.text), sh.width-1, mark, "   ")
		if len(wrapped) > most {
			wrapped = wrapped[:most]
			wrapped[most-1] = ansi.Truncate(wrapped[most-1], sh.width-2, "") + "…"
		}
		for _, line := range wrapped {
			lines = append(lines, theme.Pad(style.Render(line), sh.width))
		}
	}
	return lines
}

// body is the list of parts, the notebook, and on a wide screen the gauges.
func (m *Model) body(l layout) []string {
	var list []string
	if l.partsWidth > 0 {
		list, _ = m.notebook.partList(l)
	}
	note := m.all[m.layers.screen()].Draw(l.noteWidth+1, l.noteHeight).lines
	var side []string
	if l.side > 0 {
		side = fill(m.pane(l.side, l.noteHeight, true).Lines(m.ink, m.board), l.noteHeight, l.side)
	}
	// Each line is as wide as its pane already. lipgloss.JoinHorizontal would measure
	// them all again, which takes as long as a third of a frame.
	line := m.ink.Faint.Render("│")
	rows := make([]string, l.noteHeight)
	for i := range rows {
		rows[i] = note[i]
		if list != nil {
			rows[i] = list[i] + line + note[i]
		}
		if side != nil {
			rows[i] += line + side[i]
		}
	}
	return rows
}

func (sh *shared) pane(width, height int, cards bool) gauges.Pane {
	// Who has rails will have gauges: of many nodes the first board takes a moment.
	has := slices.ContainsFunc(sh.book.Rig.Nodes, func(n steps.Node) bool { return len(n.Rails) > 0 })
	return gauges.Pane{
		Width: width, Height: height, Simulated: sh.simulated(),
		Names: sh.names(), Looked: !has && !sh.book.Rig.Probed.IsZero(), Cards: cards,
	}
}

// wide is the gauges on the whole screen.
type wide struct {
	*shared
	inert
	notebook *notebook
	keys     []chapter
}

// Draw is the gauges alone, with a line about the running cell above them: an
// audience wants to know what moves them.
func (wg *wide) Draw(width, height int) picture {
	lines := []string{theme.Pad(wg.caption(), width)}
	lines = append(lines, wg.pane(width, height-1, true).Lines(wg.ink, wg.board)...)
	return picture{lines: fill(lines, height, width)}
}

// Key acts by the table of keys.
func (wg *wide) Key(msg tea.KeyPressMsg) tea.Cmd { return press(wg.keys, msg) }

// Bindings are those of the table.
func (wg *wide) Bindings() []chapter { return wg.keys }

// caption tells the running cell, or the selected one and its verdict.
func (wg *wide) caption() string {
	k := wg.ink
	id := wg.book.Running
	if c, ok := wg.notebook.selected(); ok && id == "" {
		id = c.ID
	}
	c, ok := wg.book.Tutorial.Cell(id)
	if !ok {
		return " " + k.Dim.Render("nothing is running")
	}
	state := wg.book.Cells[id]
	left := " " + k.Strong.Render(theme.Clean(c.Title)) + "  " + k.Dim.Render(cells.Places(c, wg.names()))
	switch {
	case state.Running:
		left = " " + k.Accent.Render(wg.spinner.View()) + left
		return theme.Sides(left, k.Accent.Render("running "+cells.Seconds(wg.opts.RigNow().Sub(state.Started)))+" ", wg.width)
	case state.Verdict.Grade != steps.NotRun:
		g := state.Verdict.Grade
		verdict := cells.GradeStyle(k, g).Render(cells.Mark(g) + " " + g.String())
		if wg.simulated() {
			verdict += k.Dim.Render(" SIMULATED")
		}
		return left + "  " + verdict + "  " + theme.Clean(state.Verdict.Reason)
	}
	return left
}

// note is the window over the notebook with its scroll bar.
func (nb *notebook) note(l layout) []string {
	d := nb.doc()
	nb.settle(d, l.noteHeight)
	top := nb.top(d)
	bar := scrollBar(nb.ink, top, d.total, l.noteHeight)
	lines := make([]string, 0, l.noteHeight)
	if item := d.at(top); item > 0 && top > d.starts[item] && top < d.starts[item]+d.ends[item]-1 {
		// The cell goes on above the window: its title stays, with the time.
		lines = append(lines, d.items[item][0]+bar[0])
		top++
	}
	for item := d.at(top); item < len(d.items) && len(lines) < l.noteHeight; item++ {
		for i := max(0, top-d.starts[item]); i < len(d.items[item]) && len(lines) < l.noteHeight; i++ {
			lines = append(lines, nb.finder.marked(d.items[item][i])+bar[len(lines)])
		}
	}
	for len(lines) < l.noteHeight {
		lines = append(lines, strings.Repeat(" ", l.noteWidth)+bar[len(lines)])
	}
	if item := nb.cursor().item; d.starts[item] >= nb.top(d)+l.noteHeight {
		// Another cell's end is watched: what enter would run is seen all the same.
		lines[l.noteHeight-1] = d.items[item][0] + bar[l.noteHeight-1]
	}
	return lines
}

// scrollBar is a column of height glyphs; blank where everything is seen.
func scrollBar(k *theme.Ink, top, total, height int) []string {
	bar := make([]string, height)
	from, to := 0, 0
	if total > height {
		size := max(1, height*height/total)
		from = (height - size) * top / (total - height)
		to = from + size
	}
	thumb := k.Dim.Render("▐")
	for i := range bar {
		bar[i] = " "
		if i >= from && i < to {
			bar[i] = thumb
		}
	}
	return bar
}

// output is an opened output with its title and where in it one is.
func (out *output) draw(l layout) []string {
	state := out.pageState()
	height := max(1, l.noteHeight-2)
	out.page.top = out.sheet().Line(max(0, min(out.sheet().Row(out.page.top), out.pageEndRow())))
	p := out.onPage()
	title := " " + out.ink.Focus.Render(theme.Clean(p.Cell.Title)) + out.ink.Dim.Render(" · output")
	if state.Running {
		title += out.ink.Accent.Render("  " + out.spinner.View() + " " + cells.Seconds(out.opts.RigNow().Sub(state.Started)))
		if out.page.follow {
			title += out.ink.Dim.Render(" follows")
		}
	} else if g := state.Verdict.Grade; g != steps.NotRun {
		title += "  " + cells.GradeStyle(out.ink, g).Render(cells.Mark(g)+" "+g.String())
		if out.simulated() {
			title += out.ink.Dim.Render(" SIMULATED")
		}
	}
	lines := []string{theme.Pad(title, l.noteWidth) + " "}
	bar := scrollBar(out.ink, p.Top, out.sheet().Rows(state.Output.Len()), height)
	for i, s := range p.Lines(out.ink, l.noteWidth-1, height) {
		lines = append(lines, " "+s+bar[i])
	}
	position, found := p.Position(height), out.searched()
	if state.Log != "" {
		position += " · log: "
		// The folder is always the same: a narrow screen shows the end of the path.
		position += theme.Tail(theme.Clean(state.Log), l.noteWidth-1-lipgloss.Width(found+position))
	}
	lines = append(lines, theme.Pad(" "+found+out.ink.Dim.Render(position), l.noteWidth+1))
	return fill(lines, l.noteHeight, l.noteWidth+1)
}

// foot is the line of keys, behind what there is to say for the moment.
func (m *Model) foot() string {
	if n := len(m.questions.all); n > 0 && m.layers.typing() {
		notice := " " + m.ink.Warn.Render(plural(n, "question")+" waits: leave this to answer") + "  "
		return notice + m.footer(m.width-lipgloss.Width(notice))
	}
	if said := m.finder.lookedFor(); said != "" && !m.layers.has(outputLevel, checklistLevel, docsLevel) && m.notice == "" {
		return said + m.footer(m.width-lipgloss.Width(said))
	}
	if m.notice != "" {
		notice := " " + m.ink.Accent.Render(theme.Clean(m.notice)) + "  "
		return notice + m.footer(m.width-lipgloss.Width(notice))
	}
	return m.footer(m.width)
}

// overlay draws what stands over the screen: the help, the way out, a question.
func (m *Model) overlay(screen string) string {
	top := m.layers.top()
	if !top.boxed() {
		return screen
	}
	p := m.all[top].Draw(m.width-8, m.height-2)
	return m.box(screen, p.title, strings.Join(p.lines[:min(len(p.lines), m.height-2)], "\n"), p.more, p.columns)
}

// quitText tells what would be lost: a running cell, but not the session.
func (lv *leaving) quitText() string {
	c, ok := lv.book.Tutorial.Cell(lv.book.Running)
	if !ok && lv.book.Saved.Path != "" && lv.book.Saved.Why == "" {
		return "Nothing is running. The session is saved in " + theme.Clean(lv.book.Saved.Path)
	}
	if !ok {
		return "Nothing is running."
	}
	return fmt.Sprintf("%q is still running. Quitting ends it on its nodes.", theme.Clean(c.Title))
}

// box puts text of so many columns in a frame in the middle of the screen, with a title in the frame's
// upper edge and a word in its lower one.
func (m *Model) box(screen, title, text, more string, columns int) string {
	k := m.ink
	frame := lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).BorderForeground(k.Accent.GetForeground()).Padding(0,
		1)
	framed := frame.Width(columns + frame.GetHorizontalFrameSize()).Render(text)
	width, height := lipgloss.Size(framed)
	x, y := max(0, (m.width-width)/2), max(0, (m.height-height)/2)
	screen = theme.Over(screen, framed, x, y)
	screen = theme.Over(screen, k.Accent.Render(more), x+width-2-lipgloss.Width(more), y+height-1)
	// It may stand over every place that says so, and an answer is of what is asked.
	mark := ""
	if m.simulated() && ((m.layers.top() == questionLevel) || !strings.Contains(ansi.Strip(screen), "SIMULATED")) {
		mark = " SIMULATED"
	}
	title = ansi.Truncate(title, max(0, width-8-len(mark)), "…") + mark
	return theme.Over(screen, k.Focus.Render(" "+ansi.Truncate(title, width-8, "…")+" "), x+2, y)
}

// plural is for English words that take an s.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
