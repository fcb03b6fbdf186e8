package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/presentation"
)

// onStage is the screen that an audience sees.
type onStage struct {
	open bool
	view presentation.View
	held bool // loads last until they are stopped

	called called
}

// A load is a cell that keeps rails busy, and its key on the stage.
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

// forDay is how long a load lasts that is to go on until it is stopped: railbench's own limit
// ends it then, and its end does.
const forDay = "86400"

func (m *Model) openStage() tea.Cmd {
	m.stage.open = true
	return m.showTicks()
}

func (m *Model) closeStage() tea.Cmd {
	m.stage.open = false
	return nil
}

func (m *Model) nextView() tea.Cmd {
	m.stage.view = m.stage.view.Next(len(m.book.Rig.Nodes))
	m.notice = "numerals of the " + m.stage.view.String()
	return nil
}

// stageViews are the views that nextView goes through, for the footer.
func (m *Model) stageViews() string {
	nodes := len(m.book.Rig.Nodes)
	names := []string{presentation.Halves.String()}
	for v := presentation.Halves.Next(nodes); v != presentation.Halves; v = v.Next(nodes) {
		names = append(names, v.String())
	}
	return strings.Join(names, "/")
}

// startLoad starts a load in place of what runs.
func (m *Model) startLoad(n int) tea.Cmd {
	return m.inPlace(loads()[n].cell)
}

// loadChoices are the loads, for the palette: they stand in no part of the notebook.
func (m *Model) loadChoices() (all []choice) {
	for i, l := range loads() {
		if c, ok := m.book.Tutorial.Cell(l.cell); ok {
			all = append(all, choice{"load", c.Title + "  " + c.ID, "", func(m *Model) tea.Cmd {
				m.leaveList()
				return tea.Batch(m.openStage(), m.startLoad(i))
			}})
		}
	}
	return all
}

// inPlace runs a cell; what runs or waits is interrupted first.
// In one call of the session, so that no other comes between the two.
func (m *Model) inPlace(id string) tea.Cmd {
	if _, ok := m.book.Tutorial.Cell(id); !ok {
		m.notice = "this runbook has no cell " + id
		return nil
	}
	if m.book.Cells[id].Running && len(m.book.Queue) == 0 {
		m.noteRun(isRunning)
		return nil
	}
	busy := m.busy()
	return m.ask(func(s Session) {
		if busy {
			s.Interrupt()
		}
		s.Run(id)
	})
}

// hold has loads go on until they are stopped, or for their own time again. It is for the next
// one that starts.
func (m *Model) hold() tea.Cmd {
	m.stage.held = !m.stage.held
	value := ""
	m.notice = "loads last as long as LOAD_SECONDS says, from the next one on"
	for _, p := range m.opts.Params {
		if p.Name == "LOAD_SECONDS" {
			value = p.Default
		}
	}
	if m.stage.held {
		value, m.notice = forDay, "loads last until they are stopped (x), from the next one on"
	}
	return m.try(func(s Session) error { return s.SetParam("", "LOAD_SECONDS", value) })
}

// drawStage is the whole screen.
func (m *Model) drawStage() []string {
	names := m.names()
	s := presentation.Screen{
		Width: m.width, Height: m.height, Dials: presentation.NewDials(m.book.Rig, m.board), View: m.stage.view,
		Names: [2]string{names[steps.Here], names[steps.Peer]}, Simulated: m.simulated(),
		Recorded: m.opts.Recorded, Cell: m.stageCell(m.spinner.View() + " "), Foot: m.foot(),
	}
	m.staged(&s)
	if alerts := m.alerts(); len(alerts) > 0 {
		s.Alert, s.Warned = alerts[0].text, alerts[0].mild
	}
	return s.Lines(m.ink)
}

// stageCell is that of the stage, with its command as it runs.
func (m *Model) stageCell(spin string) presentation.Cell {
	out := stageCell(m.book, m.opts.RigNow(), spin)
	if c, ok := m.book.Tutorial.Cell(onStageNow(m.book)); ok {
		out.Command = m.command(c)
	}
	return out
}

// onStageNow is the running cell, or the one that ended last.
func onStageNow(book steps.Notebook) string {
	if book.Running != "" {
		return book.Running
	}
	return latest(book)
}

// stageCell is the running cell, or the one that ended last. spin stands before its time.
func stageCell(book steps.Notebook, now time.Time, spin string) presentation.Cell {
	id := onStageNow(book)
	c, ok := book.Tutorial.Cell(id)
	if !ok {
		return presentation.Cell{}
	}
	state := book.Cells[id]
	out := presentation.Cell{Title: c.Title, Places: cells.Places(c, namesIn(book.Rig)), Command: command(c)}
	if state.Running {
		out.State = spin + "running " + cells.Seconds(now.Sub(state.Started))
		return out
	}
	out.Grade, out.Verdict = state.Verdict.Grade, state.Verdict.Reason
	return out
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

// command is the line of a cell's script that moves data: the call of the tool that it needs, by
// its last role, which is the client.
func command(c steps.Cell) string {
	if len(c.Roles) == 0 || len(c.Needs) == 0 {
		return ""
	}
	tool := c.Needs[0]
	called, within, function := "", "", ""
	script := strings.ReplaceAll(c.Roles[len(c.Roles)-1].Text(), "\\\n", " ")
	// What several cells share comes first: the server's part, and then the client's.
	for line := range strings.Lines(script) {
		if m := functionHead.Regexp().FindStringSubmatch(line); m != nil {
			within = m[1]
		} else if strings.HasPrefix(line, "}") {
			within = ""
		}
		if at := strings.Index(line, tool+" "); at >= 0 && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			text, _, _ := strings.Cut(line[at:], " >")
			called, function = strings.Join(strings.Fields(text), " "), within
		}
	}
	return argued(called, function, script)
}

var (
	functionHead = lazyregexp.New(`^([a-z][a-z0-9_]*)\(\) *\{`)
	argument     = lazyregexp.New(`"?\$\{?([1-9])\}?"?`)
	shellWord    = lazyregexp.New(`"[^"]*"|[^\s"]+`)
)

// argued is a command in a function of a script with what the function is called with first: nobody in
// an audience knows what $2 is. What it isn't called with is nothing.
func argued(command, function, script string) string {
	if function == "" || !argument.Regexp().MatchString(command) {
		return command
	}
	for line := range strings.Lines(script) {
		args := shellWord.Regexp().FindAllString(strings.TrimSpace(line), -1)
		if len(args) < 2 || args[0] != function {
			continue
		}
		command = argument.Regexp().ReplaceAllStringFunc(command, func(word string) string {
			if n := int(argument.Regexp().FindStringSubmatch(word)[1][0] - '0'); n < len(args) {
				return args[n]
			}
			return ""
		})
		break
	}
	// A port is counted up from the one that was given.
	if strings.Contains(script, "\nport=$PORT\n") {
		command = strings.ReplaceAll(command, "$port", "$PORT")
	}
	return strings.Join(strings.Fields(command), " ")
}

// mark tells a recording of the cells that have begun.
func (m *Model) mark(events []steps.Event) tea.Cmd {
	if m.opts.Mark == nil {
		return nil
	}
	var titles []string
	for _, e := range events {
		if s, ok := e.(steps.CellStarted); ok {
			c, _ := m.book.Tutorial.Cell(s.Cell)
			titles = append(titles, c.Title)
		}
	}
	if titles == nil {
		return nil
	}
	mark := m.opts.Mark
	return func() tea.Msg {
		for _, title := range titles {
			mark(title)
		}
		return nil
	}
}
