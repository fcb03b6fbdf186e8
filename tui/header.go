package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// asView is a frame with what every frame asks of the terminal.
func (sh *shared) asView(frame string) tea.View {
	if sh.opts.Terminal.ASCII {
		frame = theme.ASCII(frame)
	}
	v := tea.NewView(frame)
	v.AltScreen = true
	if !sh.noMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "railbench"
	return v
}

// header has on the right what must not be missed: the mark of the simulated rig, and
// whether the nodes answer.
func (sh *shared) header(title string) string {
	k := sh.styles
	left := " " + k.Focus.Render("railbench")
	if t := sh.book.Tutorial.Title; t != "" && sh.width >= 100 {
		left += "  " + k.Dim.Render(theme.Clean(t)+" ›")
	} else {
		left += " "
	}
	if title != "" {
		left += " " + k.Strong.Render(theme.Clean(title))
	}
	right := ""
	if sh.simulated() {
		badge := " SIMULATED RIG "
		if sh.width < 80 {
			badge = " SIMULATED "
		}
		right = k.Badge.Render(badge) + "  "
	} else if name := sh.rigName(); name != "" && sh.width >= 100 {
		right = k.Dim.Render(theme.Clean(name)) + "  "
	}
	names := sh.names()
	name := func(e steps.End) string { return ansi.Truncate(theme.Clean(names[e]), 20, "…") }
	right += sh.dot(steps.Here) + " " + name(steps.Here) +
		k.Faint.Render(" ⇄ ") + name(steps.Peer) + " " + sh.dot(steps.Peer) + " "
	room := sh.width - lipgloss.Width(left) - lipgloss.Width(right)
	if more := len(sh.book.Rig.Nodes) - len(steps.Ends); more > manyDots && 2*more > room {
		return theme.Sides(left, right+sh.dotCounts(), sh.width)
	}
	for e := len(steps.Ends); e < len(sh.book.Rig.Nodes); e++ {
		// The other nodes: their names if there is room, and always whether they answer.
		if beside := k.Dim.Render(name(steps.End(e))) + " " + sh.dot(steps.End(e)) +
			" "; lipgloss.Width(left)+lipgloss.Width(right)+lipgloss.Width(beside) < sh.width {
			right += beside
		} else {
			right += sh.dot(steps.End(e)) + " "
		}
	}
	return theme.Sides(left, right, sh.width)
}

// manyDots is from how many on the dots of the other nodes are counted if they don't fit.
const manyDots = 8

// dotCounts are the dots of the other nodes, each with how many have it.
func (sh *shared) dotCounts() string {
	var dots []string
	count := map[string]int{}
	for e := len(steps.Ends); e < len(sh.book.Rig.Nodes); e++ {
		dot := sh.dot(steps.End(e))
		if count[dot]++; count[dot] == 1 {
			dots = append(dots, dot)
		}
	}
	slices.SortStableFunc(dots, func(a, b string) int { return count[a] - count[b] }) // few that are apart come first
	var text strings.Builder
	for _, dot := range dots {
		text.WriteString(dot + sh.styles.Dim.Render(" "+steps.Thousands(count[dot])) + " ")
	}
	return text.String()
}

// dot is the state of a node's connection.
func (sh *shared) dot(e steps.End) string {
	switch link := sh.book.Connection(sh.number(e)); {
	case sh.opts.ReadOnly != "":
		return sh.styles.Dim.Render("○") // another railbench has the connections
	case link.Connected():
		return sh.styles.Pass.Render("●")
	case link.Lost():
		return sh.styles.Fail.Render("✗")
	default:
		return sh.styles.Warn.Render("◌")
	}
}
