package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/theme"
)

// run starts the selected cell, and follows it; on a text it goes on to the next cell.
func (nb *notebook) run() tea.Cmd {
	c, ok := nb.selected()
	if !ok || c.Note() {
		return nb.advance()
	}
	if nb.book.Cells[c.ID].Running {
		nb.noteRun(isRunning)
		return nil
	}
	nb.follow, nb.watch = true, ""
	nb.cursor().loose = false
	return nb.start(c.ID)
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
func (nb *notebook) runAndNext() tea.Cmd {
	c, ok := nb.selected()
	if !ok || c.Note() {
		return nb.advance()
	}
	if nb.opts.ReadOnly != "" {
		return nb.advance()
	}
	last := nb.cursor().item == len(nb.open().Cells)
	if nb.atEnd(c.ID) {
		return nb.nextPart()
	}
	cmd := tea.Cmd(nil)
	if nb.book.Running != c.ID {
		cmd = nb.start(c.ID)
	}
	if last {
		nb.follow, nb.cursor().loose = true, false
	} else {
		nb.advance()
	}
	nb.watch = c.ID
	return cmd
}

// spaceDoes is what the footer calls it.
func (nb *notebook) spaceDoes() string {
	switch c, ok := nb.selected(); {
	case nb.opts.ReadOnly != "" || !ok || c.Note():
		return "go on"
	case nb.atEnd(c.ID) && nb.part+1 == len(nb.parts()):
		return "the end"
	case nb.atEnd(c.ID):
		return "next part"
	default:
		return "run+next"
	}
}

// atEnd reports whether a part's last cell was run by runAndNext, and waits to be left.
func (nb *notebook) atEnd(cell string) bool {
	return nb.watch == cell && nb.cursor().item == len(nb.open().Cells)
}

func (nb *notebook) runAll() tea.Cmd { return nb.runCells(nb.book.Tutorial.Main()) }

func (nb *notebook) runPart() tea.Cmd { return nb.runCells(nb.open().Cells) }

func (nb *notebook) runFromHere() tea.Cmd { return nb.runCells(nb.fromHere()) }

// fromHere is the selected cell and all after it that don't stand aside.
func (nb *notebook) fromHere() (cells []steps.Cell) {
	here, _ := nb.selected()
	for i := nb.part; i < len(nb.parts()); i++ {
		p := nb.parts()[i].Cells
		if i == nb.part {
			p = p[min(len(p), max(0, nb.cursor().item-1)):]
		}
		cells = append(cells, p...)
	}
	return slices.DeleteFunc(cells, func(c steps.Cell) bool { return c.Aside && c.ID != here.ID })
}

// runRest runs what is left from the selected cell on: what never ran, went wrong, or
// is stale.
func (nb *notebook) runRest() tea.Cmd {
	var left []steps.Cell
	for _, c := range nb.fromHere() {
		switch nb.book.Cells[c.ID].Verdict.Grade {
		case steps.Pass, steps.Warn, steps.Skipped:
			if nb.book.Stale(c.ID) == "" {
				continue
			}
		case steps.NotRun, steps.Fail, steps.Inconclusive:
		}
		left = append(left, c)
	}
	if len(left) == 0 {
		nb.notice = "nothing is left to run from here on"
		return nil
	}
	return nb.runCells(left)
}

func (nb *notebook) runCells(cells []steps.Cell) tea.Cmd {
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		nb.notice = "there is no cell to run"
		return nil
	}
	nb.follow, nb.watch = true, ""
	return nb.start(ids...)
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

func (nb *notebook) clear() tea.Cmd {
	c, ok := nb.selected()
	if !ok {
		return nil
	}
	if nb.book.Cells[c.ID].Running {
		nb.noteRun(isRunning)
		return nil
	}
	return nb.ask(func(s Session) { s.Clear(c.ID) })
}

func (sh *shared) resetPeaks() tea.Cmd {
	sh.notice = "peaks and averages start anew"
	return sh.ask(Session.ResetPeaks)
}

// leaving asks whether to quit.
type leaving struct {
	*shared
	inert
}

// control is ctrl+c: the first time for the cell, then for railbench.
func (lv *leaving) control() tea.Cmd {
	if lv.opts.ReadOnly == "" && lv.book.Running != "" && lv.book.Cells[lv.book.Running].Run != lv.interrupted {
		cmd := lv.interrupt()
		lv.noteRun(interrupting + " (ctrl+c again asks whether to quit)")
		return cmd
	}
	if lv.opts.ReadOnly != "" {
		return tea.Quit // nothing ends with it
	}
	lv.layers.push(quitLevel)
	return nil
}

// quit asks while anything runs: it would be ended on its nodes.
func (lv *leaving) quit() tea.Cmd {
	if lv.busy() && lv.opts.ReadOnly == "" {
		lv.layers.push(quitLevel)
		return nil
	}
	return tea.Quit
}

// Key answers whether to quit.
func (lv *leaving) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "y", "Y", "enter", "ctrl+c", "q":
		return tea.Quit
	case "n", "N", "esc":
		lv.layers.drop(quitLevel)
	}
	return nil
}

// Draw is the question whether to quit.
func (lv *leaving) Draw(width, _ int) picture {
	width = min(boxWidth, width)
	lines := theme.Wrap(lv.quitText(), width, "", "")
	lines = append(lines, "", lv.ink.Focus.Render("y")+" quit   "+lv.ink.Focus.Render("n")+" stay")
	return picture{lines: lines, title: "Quit?", columns: width}
}
