package screen

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// AsView is a frame with what every frame asks of the terminal.
func (sh *Shared) AsView(frame string) tea.View {
	if sh.Opts.Terminal.ASCII {
		frame = theme.ASCII(frame)
	}
	v := tea.NewView(frame)
	v.AltScreen = true
	if !sh.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "railbench"
	return v
}

// Header has on the right what must not be missed: the mark of the simulated rig, and
// whether the nodes answer.
func (sh *Shared) Header(title string) string {
	k := sh.Styles
	left := " " + k.Focus.Render("railbench")
	if t := sh.Book.Tutorial.Title; t != "" && sh.Width >= 100 {
		left += "  " + k.Dim.Render(theme.Clean(t)+" ›")
	} else {
		left += " "
	}
	if title != "" {
		left += " " + k.Strong.Render(theme.Clean(title))
	}
	right := ""
	if sh.Simulated() {
		badge := " SIMULATED RIG "
		if sh.Width < 80 {
			badge = " SIMULATED "
		}
		right = k.Badge.Render(badge) + "  "
	} else if name := sh.RigName(); name != "" && sh.Width >= 100 {
		right = k.Dim.Render(theme.Clean(name)) + "  "
	}
	names := sh.Names()
	name := func(e steps.End) string { return ansi.Truncate(theme.Clean(names[e]), 20, "…") }
	right += sh.dot(steps.Here) + " " + name(steps.Here) +
		k.Faint.Render(" ⇄ ") + name(steps.Peer) + " " + sh.dot(steps.Peer) + " "
	room := sh.Width - lipgloss.Width(left) - lipgloss.Width(right)
	if more := len(sh.Book.Rig.Nodes) - len(steps.Ends); more > manyDots && 2*more > room {
		return theme.Sides(left, right+sh.dotCounts(), sh.Width)
	}
	for e := len(steps.Ends); e < len(sh.Book.Rig.Nodes); e++ {
		// The other nodes: their names if there is room, and always whether they answer.
		if beside := k.Dim.Render(name(steps.End(e))) + " " + sh.dot(steps.End(e)) +
			" "; lipgloss.Width(left)+lipgloss.Width(right)+lipgloss.Width(beside) < sh.Width {
			right += beside
		} else {
			right += sh.dot(steps.End(e)) + " "
		}
	}
	return theme.Sides(left, right, sh.Width)
}

// manyDots is from how many on the dots of the other nodes are counted if they don't fit.
const manyDots = 8

// dotCounts are the dots of the other nodes, each with how many have it.
func (sh *Shared) dotCounts() string {
	var dots []string
	count := map[string]int{}
	for e := len(steps.Ends); e < len(sh.Book.Rig.Nodes); e++ {
		dot := sh.dot(steps.End(e))
		if count[dot]++; count[dot] == 1 {
			dots = append(dots, dot)
		}
	}
	slices.SortStableFunc(dots, func(a, b string) int { return count[a] - count[b] }) // few that are apart come first
	var text strings.Builder
	for _, dot := range dots {
		text.WriteString(dot + sh.Styles.Dim.Render(" "+steps.Thousands(count[dot])) + " ")
	}
	return text.String()
}

// dot is the state of a node's connection.
func (sh *Shared) dot(e steps.End) string {
	switch link := sh.Book.Connection(sh.Number(e)); {
	case sh.Opts.ReadOnly != "":
		return sh.Styles.Dim.Render("○") // another railbench has the connections
	case link.Connected():
		return sh.Styles.Pass.Render("●")
	case link.Lost():
		return sh.Styles.Fail.Render("✗")
	default:
		return sh.Styles.Warn.Render("◌")
	}
}
