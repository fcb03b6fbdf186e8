package screen

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

// An alert is a line above the screen that stays.
type alert struct {
	Text string
	Mild bool // it stops nothing, by now
	// It says only that a node is being connected to: of many nodes they are counted.
	quiet bool
}

// Alerts say what is wrong with the nodes, one each, and what else has to be known; of the hardware
// the worst that can't wait.
// What another railbench has open is not this one's to warn of: the line says who has it.
func (sh *Shared) Alerts() (all []alert) {
	if sh.Opts.ReadOnly != "" {
		return []alert{{Text: sh.Opts.ReadOnly, Mild: true}}
	}
	all = hardwareAlerts(sh.Snapshot, trouble(sh.Book))
	if sh.ChangedFile != "" {
		all = append(all, alert{
			Text: sh.ChangedFile + " has changed on disk: r opens it again and keeps all results", Mild: true,
		})
	}
	return all
}

// hardwareAlerts are what is wrong with the nodes, with the alarm of the hardware that can't wait
// among them.
func hardwareAlerts(b meter.Board, trouble []alert) (all []alert) {
	urgent, hot := health.Urgent(b.Health)
	if hot && urgent.Grade == steps.Fail {
		all = append(all, alert{Text: urgent.String()})
	}
	all = append(all, trouble...)
	if hot && urgent.Grade != steps.Fail {
		all = append(all, alert{Text: urgent.String(), Mild: true})
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
			lines = append(lines, alert{Text: names[e] + " could not be looked at: " + book.Rig.At(e).Err})
		}
	}
	if why := book.Saved.Why; why != "" {
		text := "not saved: " + why + " (ctrl+s names another file)"
		if book.Saved.Kept {
			text = why
		}
		lines = append(lines, alert{Text: text, Mild: book.Saved.Kept})
	}
	switch {
	case connecting > AlertsHeight && connecting < len(names):
		lines = slices.DeleteFunc(lines, func(a alert) bool { return a.quiet })
		return append(lines, alert{
			Text: fmt.Sprintf("connecting to %s more nodes …", steps.Thousands(connecting)), Mild: true,
		})
	case connecting < len(lines) || connecting < len(names):
	case connecting == len(steps.Ends):
		return []alert{{Text: "connecting to both nodes …", Mild: true}}
	default:
		return []alert{{Text: fmt.Sprintf("connecting to all %d nodes …", connecting), Mild: true}}
	}
	return lines
}

// AlertsHeight is how many lines the alerts may have: what to do stands at their ends.
const AlertsHeight = 6

// AlertLines share alertsHeight lines among the alerts: a long one must not hide another. On a rig of many
// nodes the worst are shown, and how many more there are.
func (sh *Shared) AlertLines() []string {
	var lines []string
	alerts := sh.Alerts()
	if len(alerts) > AlertsHeight {
		slices.SortStableFunc(alerts, func(a, b alert) int {
			switch {
			case a.Mild == b.Mild:
				return 0
			case b.Mild:
				return -1
			}
			return 1
		})
		rest := alerts[AlertsHeight-1:]
		all := fmt.Sprintf("%d more, the first of them: %s", len(rest), rest[0].Text)
		alerts = append(alerts[:AlertsHeight-1:AlertsHeight-1], alert{Text: all, Mild: rest[0].Mild})
	}
	for _, a := range alerts {
		most := AlertsHeight / len(alerts)
		style, mark := sh.Styles.Fail, " ✗ "
		if a.Mild {
			style, mark = sh.Styles.Warn, " ◌ "
		}
		wrapped := theme.Wrap(theme.Clean(a.Text), sh.Width-1, mark, "   ")
		if len(wrapped) > most {
			wrapped = wrapped[:most]
			wrapped[most-1] = ansi.Truncate(wrapped[most-1], sh.Width-2, "") + "…"
		}
		for _, line := range wrapped {
			lines = append(lines, theme.Pad(style.Render(line), sh.Width))
		}
	}
	return lines
}
