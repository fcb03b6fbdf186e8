package presenter

import (
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/calls"
	"github.com/railbench/railbench/tui/screen"
)

// called is the command line of a cell's run, worked out once a run and rail.
type called struct {
	cell string
	run  steps.RunID
	rail int
	// planned says that its values were known.
	planned bool
	text    string
}

// PlanCall works out what the cell that is shown calls, with the values in place of their names as far as anybody knows
// them: once a run and rail, and again when its plan is known.
func (pr *Screen) PlanCall() {
	c, ok := pr.Book.Tutorial.Cell(shownCell(pr.Book))
	if !ok {
		return
	}
	state, plan := pr.Book.Cells[c.ID], pr.Plan(c)
	now := called{cell: c.ID, run: state.Run, rail: state.Rail, planned: plan != nil}
	if was := pr.called; was.cell == now.cell && was.run == now.run && was.rail == now.rail &&
		(was.planned || !now.planned) {
		return
	}
	// A script that neither runs nor would run may be from an untrusted file.
	if len(c.Roles) > 0 && len(c.Needs) > 0 && (state.Running || now.planned) {
		role := c.Roles[len(c.Roles)-1] // the client
		known := screen.Values(plan, role.Name, state.Rail)
		delete(known, "RUN") // a dry run's own
		now.text = calls.Of(role.Text(), c.Needs[0], known)
	}
	pr.called = now
}
