package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
)

// run starts the selected cell, and follows it; on a text it goes on to the next cell.
func (m *Model) run() tea.Cmd {
	c, ok := m.selected()
	if !ok || c.Note() {
		return m.advance()
	}
	if m.book.Cells[c.ID].Running {
		m.noteRun(isRunning)
		return nil
	}
	m.follow, m.watch = true, ""
	m.cursor().loose = false
	return m.start(c.ID)
}

// start queues cells that aren't in the queue yet.
func (sh *shared) start(ids ...string) tea.Cmd {
	waits := map[string]bool{}
	for _, id := range sh.book.Queue {
		waits[id] = true
	}
	var fresh []string
	for _, id := range ids {
		if !waits[id] {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) == 0 {
		sh.notice = "it waits for its turn already"
		return nil
	}
	if sh.linkable() && !sh.linked && sh.needsLink(fresh) {
		sh.chooseLink(fresh)
		sh.notice = "choose the link under test: here ⇄ peer"
		return nil
	}
	if sh.book.Running != "" {
		sh.notice = "queued behind the running cell"
	}
	return sh.ask(func(s Session) { s.Run(fresh...) })
}

// runAndNext runs the selected cell and selects the next one, while the window stays with
// what runs until its verdict is there. The last cell of a part stays selected: only what is
// asked for again goes on to the next part, whose screen would hide the verdict.
func (m *Model) runAndNext() tea.Cmd {
	c, ok := m.selected()
	if !ok || c.Note() {
		return m.advance()
	}
	if m.opts.ReadOnly != "" {
		return m.advance()
	}
	last := m.cursor().item == len(m.open().Cells)
	if m.atEnd(c.ID) {
		return m.nextPart()
	}
	cmd := tea.Cmd(nil)
	if m.book.Running != c.ID {
		cmd = m.start(c.ID)
	}
	if last {
		m.follow, m.cursor().loose = true, false
	} else {
		m.advance()
	}
	m.watch = c.ID
	return cmd
}

// spaceDoes is what the footer calls it.
func (m *Model) spaceDoes() string {
	switch c, ok := m.selected(); {
	case m.opts.ReadOnly != "" || !ok || c.Note():
		return "go on"
	case m.atEnd(c.ID) && m.part+1 == len(m.parts()):
		return "the end"
	case m.atEnd(c.ID):
		return "next part"
	default:
		return "run+next"
	}
}

// atEnd reports whether a part's last cell was run by runAndNext, and waits to be left.
func (m *Model) atEnd(cell string) bool {
	return m.watch == cell && m.cursor().item == len(m.open().Cells)
}

func (m *Model) runAll() tea.Cmd { return m.runCells(m.book.Tutorial.Main()) }

func (m *Model) runPart() tea.Cmd { return m.runCells(m.open().Cells) }

func (m *Model) runFromHere() tea.Cmd { return m.runCells(m.fromHere()) }

// fromHere is the selected cell and all after it that don't stand aside.
func (m *Model) fromHere() (cells []steps.Cell) {
	here, _ := m.selected()
	for i := m.part; i < len(m.parts()); i++ {
		p := m.parts()[i].Cells
		if i == m.part {
			p = p[min(len(p), max(0, m.cursor().item-1)):]
		}
		cells = append(cells, p...)
	}
	return slices.DeleteFunc(cells, func(c steps.Cell) bool { return c.Aside && c.ID != here.ID })
}

// runRest runs what is left from the selected cell on: what never ran, went wrong, or
// is stale.
func (m *Model) runRest() tea.Cmd {
	var left []steps.Cell
	for _, c := range m.fromHere() {
		switch m.book.Cells[c.ID].Verdict.Grade {
		case steps.Pass, steps.Warn, steps.Skipped:
			if m.book.Stale(c.ID) == "" {
				continue
			}
		case steps.NotRun, steps.Fail, steps.Inconclusive:
		}
		left = append(left, c)
	}
	if len(left) == 0 {
		m.notice = "nothing is left to run from here on"
		return nil
	}
	return m.runCells(left)
}

func (m *Model) runCells(cells []steps.Cell) tea.Cmd {
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		m.notice = "there is no cell to run"
		return nil
	}
	m.follow, m.watch = true, ""
	return m.start(ids...)
}

// interrupting begins the notice that stands until the cell has ended.
const interrupting = "interrupting …"

// isRunning answers a key that would start what runs already.
const isRunning = "it is running; i i interrupts it"

// noteRun gives a notice that ends with the run.
func (sh *shared) noteRun(text string) { sh.notice, sh.runNotice = text, text }

// interruptTwice interrupts at the second i in a row, as in Jupyter: one alone is typed
// sooner than a cell that ran for minutes is run again.
func (sh *shared) interruptTwice() tea.Cmd {
	if sh.busy() && sh.before != "i" {
		sh.notice, sh.before = "i again interrupts, and so does ctrl+c", "i"
		return nil
	}
	sh.before = ""
	return sh.interrupt()
}

// interrupt notes the run: a second ctrl+c for it asks whether to quit.
func (sh *shared) interrupt() tea.Cmd {
	if !sh.busy() {
		sh.notice = "nothing is running"
		return nil
	}
	sh.interrupted = sh.book.Cells[sh.book.Running].Run
	sh.noteRun(interrupting)
	return sh.ask(Session.Interrupt)
}

func (m *Model) clear() tea.Cmd {
	c, ok := m.selected()
	if !ok {
		return nil
	}
	if m.book.Cells[c.ID].Running {
		m.noteRun(isRunning)
		return nil
	}
	return m.ask(func(s Session) { s.Clear(c.ID) })
}

func (sh *shared) resetPeaks() tea.Cmd {
	sh.notice = "peaks and averages start anew"
	return sh.ask(Session.ResetPeaks)
}

// control is ctrl+c: the first time for the cell, then for railbench.
func (m *Model) control() tea.Cmd {
	if m.opts.ReadOnly == "" && m.book.Running != "" && m.book.Cells[m.book.Running].Run != m.interrupted {
		cmd := m.interrupt()
		m.noteRun(interrupting + " (ctrl+c again asks whether to quit)")
		return cmd
	}
	if m.opts.ReadOnly != "" {
		return tea.Quit // nothing ends with it
	}
	m.layers.push(quitLevel)
	return nil
}

// quit asks while anything runs: it would be ended on its nodes.
func (m *Model) quit() tea.Cmd {
	if m.busy() && m.opts.ReadOnly == "" {
		m.layers.push(quitLevel)
		return nil
	}
	return tea.Quit
}

func (m *Model) quittingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "y", "Y", "enter", "ctrl+c", "q":
		return tea.Quit
	case "n", "N", "esc":
		m.layers.drop(quitLevel)
	}
	return nil
}
