package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// View gives the frame. It is drawn only when something changed: Bubble Tea asks
// after every message.
func (m *Model) View() tea.View {
	if m.Dirty {
		m.view, m.Dirty = m.AsView(m.draw()), false
	}
	return m.view
}

// draw is a whole frame, each line as wide as the terminal: what was there before is
// covered.
func (m *Model) draw() string {
	if m.Width <= 0 || m.Height <= 0 {
		return ""
	}
	l := m.Layout()
	if l.Small {
		return strings.Join(m.all[screen.TooSmall].Draw(m.Width, m.Height).Lines, "\n")
	}
	shown := m.Layers.Screen()
	if shown == screen.Presenting {
		return m.overlay(strings.Join(m.presenter.Draw(m.Width, m.Height).Lines, "\n"))
	}
	lines := make([]string, 0, m.Height)
	lines = append(lines, theme.Pad(m.Header(m.title()), m.Width))
	lines = append(lines, m.AlertLines()...)
	if l.Rule {
		lines = append(lines, m.Styles.Faint.Render(strings.Repeat("─", m.Width)))
	}
	if shown == screen.Gauges {
		lines = append(lines, m.gauges.Draw(m.Width, l.BodyHeight).Lines...)
	} else {
		lines = append(lines, m.body(l)...)
		if l.Strip > 0 {
			lines = append(lines, screen.Fill(m.Pane(m.Width, l.Strip, false).Lines(m.Styles, m.Snapshot), l.Strip, m.Width)...)
		}
	}
	lines = append(lines, theme.Pad(m.foot(), m.Width))
	return m.overlay(strings.Join(lines[:min(len(lines), m.Height)], "\n"))
}

// title is what the screen shows: the open part, the checklist, or a drill and its
// time.
func (m *Model) title() string {
	switch {
	case m.Opts.Drill.Fault != "" && m.drill.Found > 0:
		return fmt.Sprintf("Drill: %d points, in %s", m.drill.Score(), cells.Seconds(m.drill.Found))
	case m.Opts.Drill.Fault != "":
		return fmt.Sprintf("Drill: %d points left", m.drill.Score())
	case m.Layers.Has(screen.Docs):
		return "Pages"
	case m.Layers.Has(screen.Checklist):
		return "Checklist"
	}
	title := m.notebook.open().Title
	if n := m.notebook.hidden(); n > 0 {
		title += fmt.Sprintf(" (%d hidden)", n)
	}
	return title
}

// body is the list of parts, the notebook, and on a wide screen the gauges.
func (m *Model) body(l screen.Layout) []string {
	var list []string
	if l.PartsWidth > 0 {
		list, _ = m.notebook.partList(l)
	}
	note := m.all[m.Layers.Screen()].Draw(l.NoteWidth+1, l.NoteHeight).Lines
	var side []string
	if l.Side > 0 {
		side = screen.Fill(m.Pane(l.Side, l.NoteHeight, true).Lines(m.Styles, m.Snapshot), l.NoteHeight, l.Side)
	}
	// Each line is as wide as its pane already. lipgloss.JoinHorizontal would measure
	// them all again, which takes as long as a third of a frame.
	line := m.Styles.Faint.Render("│")
	rows := make([]string, l.NoteHeight)
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

// foot is the line of keys, behind what there is to say for the moment.
func (m *Model) foot() string {
	if n := len(m.questions.All); n > 0 && m.Layers.Typing() {
		notice := " " + m.Styles.Warn.Render(steps.Counted(n, "question")+" waits: leave this to answer") + "  "
		return notice + m.footer(m.Width-lipgloss.Width(notice))
	}
	covered := m.Layers.Has(screen.Output, screen.Checklist, screen.Docs)
	if said := m.finder.lookedFor(); said != "" && !covered && m.Notice == "" {
		return said + m.footer(m.Width-lipgloss.Width(said))
	}
	if m.Notice != "" {
		notice := " " + m.Styles.Accent.Render(theme.Clean(m.Notice)) + "  "
		return notice + m.footer(m.Width-lipgloss.Width(notice))
	}
	return m.footer(m.Width)
}

// overlay draws what stands over the screen: the help, the way out, a question.
func (m *Model) overlay(frame string) string {
	top := m.Layers.Top()
	if !top.Boxed() {
		return frame
	}
	p := m.all[top].Draw(m.Width-8, m.Height-2)
	return m.box(frame, p.Title, strings.Join(p.Lines[:min(len(p.Lines), m.Height-2)], "\n"), p.More, p.Columns)
}

// box puts text of so many columns in a frame in the middle of the screen, with a title in the frame's
// upper edge and a word in its lower one.
func (m *Model) box(frame, title, text, more string, columns int) string {
	k := m.Styles
	edge := lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).BorderForeground(k.Accent.GetForeground()).Padding(0,
		1)
	framed := edge.Width(columns + edge.GetHorizontalFrameSize()).Render(text)
	width, height := lipgloss.Size(framed)
	x, y := max(0, (m.Width-width)/2), max(0, (m.Height-height)/2)
	frame = theme.Over(frame, framed, x, y)
	frame = theme.Over(frame, k.Accent.Render(more), x+width-2-lipgloss.Width(more), y+height-1)
	// It may stand over every place that says so, and an answer is of what is asked.
	mark := ""
	asks := m.Layers.Top() == screen.Question
	if m.Simulated() && (asks || !strings.Contains(ansi.Strip(frame), "SIMULATED")) {
		mark = " SIMULATED"
	}
	title = ansi.Truncate(title, max(0, width-8-len(mark)), "…") + mark
	return theme.Over(frame, k.Focus.Render(" "+ansi.Truncate(title, width-8, "…")+" "), x+2, y)
}
