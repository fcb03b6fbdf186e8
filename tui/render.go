package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// View gives the frame. It is drawn only when something changed: Bubble Tea asks
// after every message.
func (m *Model) View() tea.View {
	if m.dirty {
		m.frame, m.dirty = m.draw(), false
		if m.opts.Terminal.ASCII {
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
		lines = append(lines, m.styles.Faint.Render(strings.Repeat("─", m.width)))
	}
	if screen == gaugesLevel {
		lines = append(lines, m.gauges.Draw(m.width, l.bodyHeight).lines...)
	} else {
		lines = append(lines, m.body(l)...)
		if l.strip > 0 {
			lines = append(lines, fill(m.pane(m.width, l.strip, false).Lines(m.styles, m.board), l.strip, m.width)...)
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

// header has on the right what must not be missed: the mark of the simulated rig, and
// whether the nodes answer.
func (m *Model) header() string {
	k := m.styles
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
		text.WriteString(dot + m.styles.Dim.Render(" "+steps.Thousands(count[dot])) + " ")
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

// dot is the state of a node's connection.
func (m *Model) dot(e steps.End) string {
	switch link := m.book.Connection(m.number(e)); {
	case m.opts.ReadOnly != "":
		return m.styles.Dim.Render("○") // another railbench has the connections
	case link.Connected():
		return m.styles.Pass.Render("●")
	case link.Lost():
		return m.styles.Fail.Render("✗")
	default:
		return m.styles.Warn.Render("◌")
	}
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
		side = fill(m.pane(l.side, l.noteHeight, true).Lines(m.styles, m.board), l.noteHeight, l.side)
	}
	// Each line is as wide as its pane already. lipgloss.JoinHorizontal would measure
	// them all again, which takes as long as a third of a frame.
	line := m.styles.Faint.Render("│")
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

// scrollBar is a column of height glyphs; blank where everything is seen.
func scrollBar(k *theme.Styles, top, total, height int) []string {
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

// foot is the line of keys, behind what there is to say for the moment.
func (m *Model) foot() string {
	if n := len(m.questions.all); n > 0 && m.layers.typing() {
		notice := " " + m.styles.Warn.Render(plural(n, "question")+" waits: leave this to answer") + "  "
		return notice + m.footer(m.width-lipgloss.Width(notice))
	}
	covered := m.layers.has(outputLevel, checklistLevel, docsLevel)
	if said := m.finder.lookedFor(); said != "" && !covered && m.notice == "" {
		return said + m.footer(m.width-lipgloss.Width(said))
	}
	if m.notice != "" {
		notice := " " + m.styles.Accent.Render(theme.Clean(m.notice)) + "  "
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

// box puts text of so many columns in a frame in the middle of the screen, with a title in the frame's
// upper edge and a word in its lower one.
func (m *Model) box(screen, title, text, more string, columns int) string {
	k := m.styles
	frame := lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).BorderForeground(k.Accent.GetForeground()).Padding(0,
		1)
	framed := frame.Width(columns + frame.GetHorizontalFrameSize()).Render(text)
	width, height := lipgloss.Size(framed)
	x, y := max(0, (m.width-width)/2), max(0, (m.height-height)/2)
	screen = theme.Over(screen, framed, x, y)
	screen = theme.Over(screen, k.Accent.Render(more), x+width-2-lipgloss.Width(more), y+height-1)
	// It may stand over every place that says so, and an answer is of what is asked.
	mark := ""
	asks := m.layers.top() == questionLevel
	if m.simulated() && (asks || !strings.Contains(ansi.Strip(screen), "SIMULATED")) {
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
