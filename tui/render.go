package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// View gives the frame. It is drawn only when something changed: Bubble Tea asks
// after every message.
func (m *Model) View() tea.View {
	if m.dirty {
		m.view, m.dirty = m.asView(m.draw()), false
	}
	return m.view
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
	lines = append(lines, theme.Pad(m.header(m.title()), m.width))
	lines = append(lines, m.alertLines()...)
	if l.rule {
		lines = append(lines, m.styles.Faint.Render(strings.Repeat("─", m.width)))
	}
	if screen == gaugesLevel {
		lines = append(lines, m.gauges.Draw(m.width, l.bodyHeight).lines...)
	} else {
		lines = append(lines, m.body(l)...)
		if l.strip > 0 {
			lines = append(lines, fill(m.pane(m.width, l.strip, false).Lines(m.styles, m.snapshot), l.strip, m.width)...)
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
	title := m.notebook.open().Title
	if n := m.notebook.hidden(); n > 0 {
		title += fmt.Sprintf(" (%d hidden)", n)
	}
	return title
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
		side = fill(m.pane(l.side, l.noteHeight, true).Lines(m.styles, m.snapshot), l.noteHeight, l.side)
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
