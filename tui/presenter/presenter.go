// Package presenter is the screen for an audience, where its script is and what its slides reached, and the presenter's
// notes in another terminal. How numerals and bars are drawn is presentation's.
package presenter

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/calls"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/presentation"
	"github.com/railbench/railbench/tui/screen"
)

// Screen is the screen that an audience sees.
type Screen struct {
	*screen.Shared
	screen.Tabled
	foot     func() string // the last line
	Progress progress
	Results  results

	view presentation.View
	held bool // loads last until they are stopped

	called called
}

// New shows foot as its last line.
func New(sh *screen.Shared, foot func() string) *Screen {
	return &Screen{Shared: sh, foot: foot, Progress: progress{Slide: -1, Tick: tea.Tick}}
}

// Pressed ends a jump: the digit follows at once, or a load is meant by one that comes later.
func (pr *Screen) Pressed(key string) {
	if len(key) != 1 || key < "0" || key > "9" {
		pr.Progress.jumping = false
	}
}

// A load is a cell that keeps rails busy, and its key in a presentation.
type load struct{ key, cell, brief string }

// loads are those of the part load, in the order of their keys.
func loads() []load {
	return []load{
		{"1", "load-rail", "one rail"},
		{"2", "load-half", "one half"},
		{"3", "load-halves", "both halves"},
		{"4", "load-both-ways", "both directions"},
		{"5", "load-tcp", "TCP"},
		{"6", "load-beside", "TCP beside RDMA"},
		{"7", "load-nixl", "NIXL"},
		{"8", "load-all", "all rails"},
	}
}

// oneDay is how long a load lasts that is to go on until it is stopped: railbench's own limit
// ends it then, and its end does.
const oneDay = "86400"

// Open shows the screen; a script that has begun goes on.
func (pr *Screen) Open() tea.Cmd {
	pr.Layers.Push(screen.Presenting)
	return pr.ticks()
}

func (pr *Screen) close() tea.Cmd {
	pr.Layers.Drop(screen.Presenting)
	return nil
}

func (pr *Screen) nextView() tea.Cmd {
	pr.view = pr.view.Next(len(pr.Book.Rig.Nodes))
	return pr.Say("numerals of the " + pr.view.String())
}

// views are the views that nextView goes through, for the footer.
func (pr *Screen) views() string {
	nodes := len(pr.Book.Rig.Nodes)
	names := []string{presentation.Halves.String()}
	for v := presentation.Halves.Next(nodes); v != presentation.Halves; v = v.Next(nodes) {
		names = append(names, v.String())
	}
	return strings.Join(names, "/")
}

// startLoad starts a load in place of what runs.
func (pr *Screen) startLoad(n int) tea.Cmd {
	if pr.view == presentation.Results { // what it moves is seen
		pr.view = presentation.Halves
	}
	return pr.inPlace(loads()[n].cell)
}

// Choices are the loads, for the palette: they stand in no part of the notebook.
func (pr *Screen) Choices() (all []dialog.Choice) {
	for i, l := range loads() {
		if c, ok := pr.Book.Tutorial.Cell(l.cell); ok {
			all = append(all, dialog.Choice{Kind: "load", Name: c.Title + "  " + c.ID, Act: func() tea.Cmd {
				pr.LeaveList()
				return tea.Batch(pr.Open(), pr.startLoad(i))
			}})
		}
	}
	return all
}

// inPlace runs a cell; what runs or waits is interrupted first.
// In one call of the session, so that no other comes between the two.
func (pr *Screen) inPlace(id string) tea.Cmd {
	if _, ok := pr.Book.Tutorial.Cell(id); !ok {
		return pr.Say("this runbook has no cell " + id)
	}
	if pr.Book.Cells[id].Running && len(pr.Book.Queue) == 0 {
		return pr.NoteRun(screen.IsRunning)
	}
	busy := pr.Busy()
	return pr.Ask(func(s screen.Session) {
		if busy {
			s.Interrupt()
		}
		s.Run(id)
	})
}

// hold has loads go on until they are stopped, or for their own time again. It is for the next
// one that starts.
func (pr *Screen) hold() tea.Cmd {
	pr.held = !pr.held
	value := ""
	pr.Notice = "loads last as long as LOAD_SECONDS says, from the next one on"
	for _, p := range pr.Opts.Params {
		if p.Name == "LOAD_SECONDS" {
			value = p.Default
		}
	}
	if pr.held {
		value, pr.Notice = oneDay, "loads last until they are stopped (x), from the next one on"
	}
	return pr.Try(func(s screen.Session) error { return s.SetParam("", "LOAD_SECONDS", value) })
}

// Draw is the whole screen.
func (pr *Screen) Draw(width, height int) screen.Picture {
	names := pr.Names()
	s := presentation.Screen{
		Width: width, Height: height, Dials: presentation.NewDials(pr.Book.Rig, pr.Snapshot), View: pr.view,
		Names: [2]string{names[steps.Here], names[steps.Peer]}, Simulated: pr.Simulated(),
		Recorded: pr.Opts.Rig.Recorded, ASCII: pr.Opts.Terminal.ASCII, Cell: pr.shown(pr.Spinner.View() + " "),
		Foot: pr.foot(),
	}
	s.Results = pr.Results.All(len(pr.Opts.Presentation.Script.Slides))
	pr.caption(&s)
	if alerts := pr.Alerts(); len(alerts) > 0 {
		s.Alert, s.Warned = alerts[0].Text, alerts[0].Mild
	}
	return screen.Picture{Lines: s.Lines(pr.Styles)}
}

// shown is the cell that runs or ran last, with its command. spin stands before its time.
func (pr *Screen) shown(spin string) presentation.Cell {
	id := shownCell(pr.Book)
	c, ok := pr.Book.Tutorial.Cell(id)
	if !ok {
		return presentation.Cell{}
	}
	state := pr.Book.Cells[id]
	out := presentation.Cell{Title: c.Title, Places: cells.Places(c, pr.Names())}
	if id == pr.called.cell {
		out.Command = pr.called.text
	}
	if state.Running {
		out.State = spin + "running " + pr.Since(state.Started)
		return out
	}
	out.Grade, out.Verdict = state.Verdict.Grade, state.Verdict.Reason
	return out
}

// shownCell is the running cell, or the one that ended last.
func shownCell(book steps.Notebook) string {
	if book.Running != "" {
		return book.Running
	}
	return latest(book)
}

// latest is the cell that began last.
func latest(book steps.Notebook) string {
	last := ""
	for id, c := range book.Cells {
		if c.Run > 0 && (last == "" || c.Run > book.Cells[last].Run) {
			last = id
		}
	}
	return last
}

// Mark names the cells that have begun to a recording.
func (pr *Screen) Mark(events []steps.Event) tea.Cmd {
	if pr.Opts.Presentation.Mark == nil {
		return nil
	}
	var titles []string
	for _, e := range events {
		if s, ok := e.(steps.CellStarted); ok {
			c, _ := pr.Book.Tutorial.Cell(s.Cell)
			titles = append(titles, c.Title)
		}
	}
	if titles == nil {
		return nil
	}
	mark := pr.Opts.Presentation.Mark
	return func() tea.Msg {
		for _, title := range titles {
			mark(title)
		}
		return nil
	}
}

// Bind has the keys that work on the screen for an audience.
func (pr *Screen) Bind(everywhere screen.Chapter, run, leave func() tea.Cmd) {
	on := screen.On
	starts := steps.Each(loads(), func(l load) string { return l.key + ": " + l.brief })
	pr.Keys = []screen.Chapter{
		{Title: "stage", Bindings: []screen.Binding{
			on("space, n, →", "the show: the next scene", "space", "n", "right", "pgdown").
				To(pr.nextSlide).Runs().Brief(1, "space", "next").Only(pr.scripted),
			on("b, ←", "the scene before", "b", "left", "pgup").To(pr.previousSlide),
			on("a", "the show goes on by itself, or waits for you again", "a").
				To(pr.Autoplay).Runs().Brief(6, "a", "autoplay").Only(pr.scripted),
			on("j", "jump to a scene: its digit follows", "j").To(pr.jump),
			on("1 … 9", "keep rails busy, in place of what runs ("+strings.Join(starts, ", ")+"); after j, a scene",
				"1", "2", "3", "4", "5", "6", "7", "8", "9").ToNumber(pr.digit).Runs().Brief(3, "1-8", "load"),
			on("u", "pull a cable of the simulated rig, or plug it in", "u").To(pr.pullOrPlug),
			on("x, i", "stop what runs", "x", "i").To(pr.Interrupt).Runs().Brief(0, "x", "stop").Only(pr.Busy),
			on("h", "loads go on until they are stopped, or for LOAD_SECONDS again", "h").To(pr.hold),
			on("tab, v", "numerals of halves, of cables, of rails; of nodes where there are more than two", "tab", "v").
				To(pr.nextView).Says(4, "tab", pr.views),
			on("enter", "run the selected cell", "enter").To(run),
			on("0", "reset the gauges' peaks, averages and history; after j, the tenth scene", "0").
				To(pr.zero).Runs().Brief(9, "0", "reset"),
			on("esc", "back to the notebook, after a question: the audience sees it", "esc").
				To(leave).Brief(5, "esc", "notebook"),
			on("ctrl+g", "back to the notebook at once", "ctrl+g").To(pr.close),
		}},
		everywhere,
	}
}

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
