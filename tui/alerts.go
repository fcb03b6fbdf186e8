package tui

import (
	"fmt"
	"slices"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/health"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/tui/theme"
)

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
	all = hardwareAlerts(sh.snapshot, trouble(sh.book))
	if sh.changedFile != "" {
		all = append(all, alert{
			text: sh.changedFile + " has changed on disk: r opens it again and keeps all results", mild: true,
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
		text := "not saved: " + why + " (ctrl+s names another file)"
		if book.Saved.Kept {
			text = why
		}
		lines = append(lines, alert{text: text, mild: book.Saved.Kept})
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

// alertLines share alertsHeight lines among the alerts: a long one must not hide another. On a rig of many
// nodes the worst are shown, and how many more there are.
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
		style, mark := sh.styles.Fail, " ✗ "
		if a.mild {
			style, mark = sh.styles.Warn, " ◌ "
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
