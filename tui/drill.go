package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// A Drill is a fault that the user does not know, to be found from what somebody reports.
type Drill struct {
	Fault, Title string
	Report       string   // what a user of the rig says
	Hints        []string // each says more than the one before
}

// What a drill costs, of 100 points. To check everything costs nearly all of them: whoever
// thinks first is better off.
const (
	drillPoints = 100
	checkPrice  = 2
	cellPrice   = 1
	hintPrice   = 15
	minutePrice = 2
)

// drilling reports whether a drill goes on.
func (m *Model) drilling() bool { return m.opts.Drill.Fault != "" && m.found == 0 }

// drillPays takes the price of a cell that has begun to run, or that was asked for at the end.
func (m *Model) drillPays(id string) {
	c, ok := m.book.Tutorial.Cell(id)
	switch {
	case !ok || !m.drilling():
	case c.Check.Any():
		m.paid += checkPrice
		m.checksRun++
	default:
		m.paid += cellPrice
	}
}

// Score is what is left of the points.
func (m *Model) Score() int {
	took := m.found
	if took == 0 {
		took = m.opts.Now().Sub(m.began)
	}
	return max(0, drillPoints-m.paid-int(took/time.Minute)*minutePrice)
}

// Drilled is how long it took to find a drill's fault; 0 where it was not found.
func (m *Model) Drilled() time.Duration { return m.found.Round(time.Second) }

// DrillUsed is how many checks ran in a drill and how many hints were taken.
func (m *Model) DrillUsed() (checks, hints int) { return m.checksRun, m.hinted }

// hint tells a little more, at a price.
func (m *Model) hint() tea.Cmd {
	switch {
	case !m.drilling():
		m.notice = "hints are for drills: railbench drill"
	case m.hinted == len(m.opts.Drill.Hints):
		m.notice = "there is no other hint: " + m.lastHint()
	default:
		m.hinted++
		m.paid += hintPrice
		m.notice = "hint: " + m.lastHint()
	}
	return nil
}

// lastHint is the one that was taken last; empty for none.
func (m *Model) lastHint() string {
	if m.hinted == 0 {
		return ""
	}
	return m.opts.Drill.Hints[m.hinted-1]
}

// drillHint stands behind what was reported.
func (m *Model) drillHint() string {
	if said := m.lastHint(); said != "" {
		return "Hint: " + theme.Clean(said)
	}
	return fmt.Sprintf("/ looks for it; a check costs %d points, h a hint for %d", checkPrice, hintPrice)
}

// drilled tells how long a drill took, when a check has found its fault.
func (m *Model) drilled(e steps.CellEnded) {
	if !m.drilling() || !amiss(e.Verdict.Grade) {
		return
	}
	c, ok := m.book.Tutorial.Cell(e.Cell)
	if !ok || !slices.Contains(c.Check.Finds, m.opts.Drill.Fault) {
		return
	}
	// Some faults make a measurement INCONCLUSIVE, and that is how it finds them: but not one that was interrupted, nor a
	// check that only looks.
	if e.Verdict.Grade == steps.Inconclusive && (!c.Check.Measures || m.interrupted == e.Run) {
		return
	}
	for _, id := range m.book.Queue { // whoever asked for everything pays for it, wherever it is found
		m.drillPays(id)
	}
	m.found = max(time.Second, m.opts.Now().Sub(m.began))
	m.layers.push(drillLevel)
	m.culprit = c.ID
}

// drillKey goes on after the end of a drill; f puts right what was found.
func (m *Model) drillKey(msg tea.KeyPressMsg) tea.Cmd {
	m.layers.drop(drillLevel)
	if msg.String() != "f" {
		return nil
	}
	m.layers.push(checklistLevel)
	m.layers.drop(symptomLevel, outputLevel)
	m.list.surveying = false
	m.list.words, m.list.only, m.list.why, m.list.whose = "", nil, "", ""
	m.chooseCheck(m.culprit)
	return m.fix()
}

// drillBox is what is said at the end of a drill.
func (m *Model) drillBox(width int) []string {
	k := m.ink
	c, _ := m.book.Tutorial.Cell(m.culprit)
	say := func(text string) []string { return theme.Wrap(text, width, "", "") }
	lines := say(fmt.Sprintf("%s, after %s.",
		k.Strong.Render(theme.Clean(m.opts.Drill.Title)), cells.Seconds(m.found)))
	lines = append(lines, say(fmt.Sprintf("%s of %d points: %s and %s.",
		k.Focus.Render(fmt.Sprint(m.Score())), drillPoints, plural(m.checksRun, "check"), plural(m.hinted, "hint")))...)
	lines = append(lines, say(k.Dim.Render("The simulated rig had the fault "+m.opts.Drill.Fault+"; the check \""+
		theme.Clean(c.Title)+"\" found it."))...)
	keys := k.Focus.Render("any key") + " go on"
	if c.Check.Cures(m.book.Cells[c.ID].Verdict) != "" {
		keys = k.Focus.Render("f") + " put it right   " + keys
	}
	return append(lines, "", keys)
}
