package checklist

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// What a drill costs, of 100 points. Running every check costs nearly all of them, so thinking first pays
// off.
const (
	drillPoints = 100
	checkPrice  = 2
	cellPrice   = 1
	hintPrice   = 15
	minutePrice = 2
)

// Drill is when a drill began, how long it took once it is over, and what it cost.
type Drill struct {
	*screen.Shared
	screen.Inert
	list *List

	began     time.Time
	Found     time.Duration
	spent     int    // points
	checksRun int    // how many checks were run
	hinted    int    // hints that were taken
	foundBy   string // the check that found it
}

// Drilling reports whether a drill goes on.
func (dr *Drill) Drilling() bool { return dr.Opts.Drill.Fault != "" && dr.Found == 0 }

// Pay takes the price of a cell that has begun to run, or that was asked for at the end.
func (dr *Drill) Pay(id string) {
	c, ok := dr.Book.Tutorial.Cell(id)
	switch {
	case !ok || !dr.Drilling():
	case c.Check.Any():
		dr.spent += checkPrice
		dr.checksRun++
	default:
		dr.spent += cellPrice
	}
}

// Score is what is left of the points.
func (dr *Drill) Score() int {
	took := dr.Found
	if took == 0 {
		took = dr.Opts.Clock.Now().Sub(dr.began)
	}
	return max(0, drillPoints-dr.spent-int(took/time.Minute)*minutePrice)
}

// hint gives one more hint, at a price.
func (dr *Drill) hint() tea.Cmd {
	switch {
	case !dr.Drilling():
		dr.Notice = "hints are for drills: railbench drill"
	case dr.hinted == len(dr.Opts.Drill.Hints):
		dr.Notice = "no other hint: " + dr.lastHint()
	default:
		dr.hinted++
		dr.spent += hintPrice
		dr.Notice = "hint: " + dr.lastHint()
	}
	return nil
}

// lastHint is the one that was taken last; empty for none.
func (dr *Drill) lastHint() string {
	if dr.hinted == 0 {
		return ""
	}
	return dr.Opts.Drill.Hints[dr.hinted-1]
}

// Used is how many checks ran in a drill and how many hints were taken.
func (dr *Drill) Used() (checks, hints int) { return dr.checksRun, dr.hinted }

// drillHint stands behind what was reported.
func (dr *Drill) drillHint() string {
	if said := dr.lastHint(); said != "" {
		return "Hint: " + theme.Clean(said)
	}
	return fmt.Sprintf("/ looks for it; a check costs %d points, h a hint for %d", checkPrice, hintPrice)
}

// Drilled notes how long a drill took, when a check has found its fault.
func (dr *Drill) Drilled(e steps.CellEnded) {
	if !dr.Drilling() || !hasProblem(e.Verdict.Grade) {
		return
	}
	c, ok := dr.Book.Tutorial.Cell(e.Cell)
	if !ok || !slices.Contains(c.Check.Finds, dr.Opts.Drill.Fault) {
		return
	}
	// Some faults make a measurement INCONCLUSIVE, and that is how it finds them: but not one that was interrupted, nor a
	// check that only looks.
	if e.Verdict.Grade == steps.Inconclusive && (!c.Check.Measures || dr.Interrupted == e.Run) {
		return
	}
	for _, id := range dr.Book.Queue { // running every check costs the same wherever the fault is found
		dr.Pay(id)
	}
	dr.Found = max(time.Second, dr.Opts.Clock.Now().Sub(dr.began))
	dr.Layers.Push(screen.DrillEnd)
	dr.foundBy = c.ID
}

// Key goes on after the end of a drill; f fixes what was found.
func (dr *Drill) Key(msg tea.KeyPressMsg) tea.Cmd {
	dr.Layers.Drop(screen.DrillEnd)
	if msg.String() != "f" {
		return nil
	}
	dr.Layers.Push(screen.Checklist)
	dr.Layers.Drop(screen.Symptom, screen.Output)
	dr.list.checkingAll = false
	dr.list.ShowAll()
	dr.list.Choose(dr.foundBy)
	return dr.list.fix()
}

// Draw is what is said at the end of a drill.
func (dr *Drill) Draw(width, _ int) screen.Picture {
	width = min(screen.BoxWidth, width)
	k := dr.Styles
	c, _ := dr.Book.Tutorial.Cell(dr.foundBy)
	say := func(text string) []string { return theme.Wrap(text, width, "", "") }
	lines := say(fmt.Sprintf("%s, after %s.",
		k.Strong.Render(theme.Clean(dr.Opts.Drill.Title)), cells.Seconds(dr.Found)))
	lines = append(lines, say(fmt.Sprintf("%s of %d points: %s and %s.",
		k.Focus.Render(fmt.Sprint(dr.Score())), drillPoints, steps.Counted(dr.checksRun, "check"),
		steps.Counted(dr.hinted, "hint")))...)
	lines = append(lines, say(k.Dim.Render("The simulated rig had the fault "+dr.Opts.Drill.Fault+"; the check \""+
		theme.Clean(c.Title)+"\" found it."))...)
	keys := k.Focus.Render("any key") + " go on"
	if c.Check.Cures(dr.Book.Cells[c.ID].Verdict) != "" {
		keys = k.Focus.Render("f") + " fix it   " + keys
	}
	return screen.Picture{Lines: append(lines, "", keys), Title: "Found", Columns: width}
}
