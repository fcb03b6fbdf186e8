package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/theme"
)

// The checklist stands in the notebook's place: a line for each check, and what it
// found below the one that is selected.

// checklist is where the user is in it.
type checklist struct {
	open   bool
	item   int // index into the checks that are shown
	top    int // first line of the list
	typing bool
	words  string   // the symptom that is looked for; empty for none
	only   []string // ids of the checks that could explain the words; empty for all
	why    string   // the title of the cell whose verdict is to be explained; empty where none is
	whose  string   // its id
	cure   string   // the cell that runs again after a fix, and is shown then
	// surveying says that many checks run, and that nobody has moved since: then the
	// first finding is selected at the end.
	surveying bool
}

// checks are those that are shown, in the order of their parts.
func (m *Model) checks() []steps.Cell {
	all := m.book.Tutorial.Checks()
	if m.list.only == nil {
		return all
	}
	var some []steps.Cell
	for _, id := range m.list.only {
		if c, ok := m.book.Tutorial.Cell(id); ok {
			some = append(some, c)
		}
	}
	return some
}

// check is the one that is selected.
func (m *Model) check() (steps.Cell, bool) {
	all := m.checks()
	if m.list.item < len(all) {
		return all[m.list.item], true
	}
	return steps.Cell{}, false
}

func (m *Model) openChecklist() tea.Cmd {
	if len(m.book.Tutorial.Checks()) == 0 {
		m.notice = "this tutorial has no checklist"
		return nil
	}
	m.list.open, m.page, m.follow = true, nil, false
	return nil
}

func (m *Model) closeChecklist() tea.Cmd {
	m.list.open, m.list.typing, m.page = false, false, nil
	m.enter()
	return nil
}

// leaveChecklist is esc: first out of what was looked for, then out of the list.
func (m *Model) leaveChecklist() tea.Cmd {
	if m.list.only == nil {
		return m.closeChecklist()
	}
	selected, _ := m.check()
	m.list.words, m.list.only, m.list.why, m.list.whose = "", nil, "", ""
	m.chooseCheck(selected.ID)
	return nil
}

func (m *Model) chooseCheck(id string) {
	m.list.item = max(0, slices.IndexFunc(m.checks(), func(c steps.Cell) bool { return c.ID == id }))
}

// explain opens the checks that could explain the selected cell's verdict, and runs
// them.
func (m *Model) explain() tea.Cmd {
	c, ok := m.selected()
	state := m.book.Cells[c.ID]
	if !ok || !amiss(state.Verdict.Grade) {
		m.notice = "it looks for what could explain a FAIL; C opens the checklist"
		return nil
	}
	found := m.book.Tutorial.Explaining(c.ID, state.Verdict.Reason+"\n"+said(state.Output))
	if len(found) == 0 {
		m.notice = "no check is about this; C opens the checklist, and A checks everything"
		return nil
	}
	cmd := m.openChecklist()
	m.list.only, m.list.words, m.list.item, m.list.top = nil, "", 0, 0
	m.list.why, m.list.whose = c.Title, c.ID
	for _, f := range found {
		m.list.only = append(m.list.only, f.ID)
	}
	return tea.Batch(cmd, m.survey())
}

// explainable reports whether w does something.
func (m *Model) explainable() bool {
	c, ok := m.selected()
	return ok && amiss(m.book.Cells[c.ID].Verdict.Grade)
}

// fixable reports whether f does something.
func (m *Model) fixable() bool {
	c, ok := m.check()
	v := m.book.Cells[c.ID].Verdict
	return ok && c.Check.Cures(v) != "" && amiss(v.Grade)
}

// amiss reports whether a verdict has something to explain.
func amiss(g steps.Grade) bool {
	return g == steps.Fail || g == steps.Warn || g == steps.Inconclusive
}

// lastWords is how much of what a cell printed may name its trouble.
const lastWords = 40

// said is the end of an output, which is where a tool says why it failed.
func said(out steps.Scroll) string {
	var b strings.Builder
	for _, l := range out.Lines(max(0, out.Len()-lastWords), lastWords) {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// survey runs all checks that are shown: those that only look before those that
// measure.
func (m *Model) survey() tea.Cmd {
	var quick, measure []string
	for _, c := range m.checks() {
		if c.Check.Measures {
			measure = append(measure, c.ID)
		} else {
			quick = append(quick, c.ID)
		}
	}
	m.list.surveying = true
	return m.start(append(quick, measure...)...)
}

// runCheck runs one, and ends the survey: whoever chooses a check is not to be moved
// elsewhere at the end.
func (m *Model) runCheck() tea.Cmd {
	c, ok := m.check()
	switch {
	case !ok:
		return nil
	case m.book.Cells[c.ID].Running:
		m.noteRun(isRunning)
		return nil
	}
	m.list.surveying = false
	return m.start(c.ID)
}

// fix runs what puts the selected check's finding right, and then the check.
func (m *Model) fix() tea.Cmd {
	c, ok := m.check()
	if !ok {
		return nil
	}
	f, has := m.book.Tutorial.Cell(c.Check.Cures(m.book.Cells[c.ID].Verdict))
	switch grade := m.book.Cells[c.ID].Verdict.Grade; {
	case grade == steps.NotRun:
		m.notice = "enter runs the check first"
	case !amiss(grade):
		m.notice = "there is nothing to put right"
	case !has:
		m.notice = "no command puts this right: its reason says what to do"
	default:
		m.list.surveying = false
		ids := []string{f.ID, c.ID}
		if m.list.whose != "" {
			m.list.cure = m.list.whose
			ids = append(ids, m.list.cure)
		}
		return m.start(ids...)
	}
	return nil
}

// cured goes back to the cell that a fix was for, once it has run again.
func (m *Model) cured(e steps.CellEnded) {
	if m.list.cure == "" || e.Cell != m.list.cure {
		return
	}
	m.list.cure = ""
	m.leaveList()
	m.list.words, m.list.only, m.list.why, m.list.whose = "", nil, "", ""
	m.show(e.Cell)
	m.follow = true // its verdict is what one wants to see
	m.notice = "after the fix: " + e.Verdict.Grade.String()
}

// step is how far a check that is longer than the screen moves with one key.
const step = 3

// nextCheck selects another check, or moves in one that is longer than the screen.
// By more than one it is a jump, and goes past a long one.
func (m *Model) nextCheck(by int) tea.Cmd {
	m.list.surveying = false
	if by == 1 || by == -1 {
		l := m.layout()
		_, starts, ends := m.checkLines(l.noteWidth)
		room := m.checkRoom(l)
		if i := m.list.item; i < len(starts) && ends[i]-starts[i] > room {
			to := max(starts[i], min(m.list.top+by*step, ends[i]-room))
			if to != m.list.top {
				m.list.top = to
				return nil
			}
		}
	}
	m.list.item = max(0, min(m.list.item+by, len(m.checks())-1))
	return nil
}

// nextFinding selects the next check that found something, from the top again after
// the last.
func (m *Model) nextFinding() tea.Cmd {
	m.list.surveying = false
	all := m.checks()
	for i := range all {
		at := (m.list.item + 1 + i) % len(all)
		if amiss(m.book.Cells[all[at].ID].Verdict.Grade) {
			m.list.item = at
			return nil
		}
	}
	m.notice = "no check that ran has found anything"
	return nil
}

// surveyed selects the worst finding when the last check has ended.
func (m *Model) surveyed() {
	if !m.list.surveying || m.busy() {
		return
	}
	m.list.surveying = false
	if m.list.only != nil {
		// The best explanation stands first.
		slices.SortStableFunc(m.list.only, func(a, b string) int { return m.tellsMore(b) - m.tellsMore(a) })
		m.list.item, m.list.top = 0, 0
		return
	}
	worst := steps.Pass
	for i, c := range m.checks() {
		if g := m.book.Cells[c.ID].Verdict.Grade; g > worst {
			worst, m.list.item = g, i
		}
	}
}

// tellsMore orders checks by how much they explain: what is wrong for certain, what may be,
// and what nobody knows; with a fix before those without.
func (m *Model) tellsMore(id string) int {
	c, _ := m.book.Tutorial.Cell(id)
	v := m.book.Cells[id].Verdict
	n := map[steps.Grade]int{steps.Fail: 6, steps.Warn: 4, steps.Inconclusive: 2}[v.Grade]
	if n > 0 && c.Check.Cures(v) != "" {
		n++
	}
	return n
}

func (m *Model) checkOutput() tea.Cmd {
	c, ok := m.check()
	if !ok {
		return nil
	}
	return m.openOutputOf(c)
}

func (m *Model) checkEvidence() tea.Cmd {
	if c, ok := m.check(); ok {
		m.evidence[c.ID] = !m.evidence[c.ID]
	}
	return nil
}

func (m *Model) checkScript() tea.Cmd {
	if c, ok := m.check(); ok {
		m.scripts[c.ID] = !m.scripts[c.ID]
	}
	return nil
}

func (m *Model) typeSymptom() tea.Cmd {
	m.list.typing, m.list.surveying = true, false
	return nil
}

// symptomKey is a key while a symptom is typed.
func (m *Model) symptomKey(msg tea.KeyPressMsg) tea.Cmd {
	switch name := msg.String(); {
	case name == "esc":
		m.list.typing = false
		m.causes("")
	case name == "ctrl+c":
		m.list.typing = false
	case name == "enter":
		m.list.typing = false
		if m.list.words != "" && len(m.list.only) > 0 {
			return m.survey()
		}
		if len(m.list.only) == 0 {
			m.causes("")
		}
	case name == "backspace":
		if r := []rune(m.list.words); len(r) > 0 {
			m.causes(string(r[:len(r)-1]))
		}
	case name == "ctrl+u":
		m.causes("")
	case msg.Text != "":
		m.causes(m.list.words + msg.Text)
	}
	return nil
}

// maxWords bounds what a paste can bring.
const maxWords = 64 << 10

// causes shows the checks that could explain a text.
func (m *Model) causes(words string) {
	m.list.words = words[:min(len(words), maxWords)]
	m.list.only, m.list.why, m.list.whose, m.list.item, m.list.top = nil, "", "", 0, 0
	if strings.TrimSpace(words) == "" {
		return
	}
	m.list.only = []string{}
	for _, c := range m.book.Tutorial.Symptom(m.list.words) {
		m.list.only = append(m.list.only, c.ID)
	}
}

// pasteSymptom looks for what explains a pasted text.
func (m *Model) pasteSymptom(text string) {
	m.list.typing = true
	m.causes(m.list.words + text)
	m.dirty = true
}

// checkPane is the checklist, exactly height lines of width columns.
func (m *Model) checkPane(width, height int) []string {
	head := m.checkHead(width)
	room := max(1, height-len(head))
	list, starts, ends := m.checkLines(width - 1)
	if n := len(starts); n > 0 {
		m.list.item = min(m.list.item, n-1)
		from, to := starts[m.list.item], ends[m.list.item]
		if to-from > room {
			m.list.top = max(from, min(m.list.top, to-room))
		} else {
			m.list.top = min(m.list.top, max(from-1, 0)) // with the part's title above the first
			m.list.top = max(m.list.top, to-room)
		}
	}
	m.list.top = max(0, min(m.list.top, len(list)-room))
	bar := m.scrollBar(m.list.top, len(list), room)
	lines := head
	for i := range room {
		line := strings.Repeat(" ", width-1)
		if at := m.list.top + i; at < len(list) {
			line = list[at]
		}
		lines = append(lines, line+bar[i])
	}
	return lines[:min(len(lines), height)]
}

// clickCheck selects the check whose line was clicked.
func (m *Model) clickCheck(row int, l layout) tea.Cmd {
	if m.page != nil {
		return nil
	}
	line := row - len(m.checkHead(l.noteWidth+1)) + m.list.top
	_, starts, ends := m.checkLines(l.noteWidth)
	for i := range starts {
		if line >= starts[i] && line < ends[i] {
			m.list.item, m.list.surveying = i, false
		}
	}
	return nil
}

// checkRoom is how many lines of the list are seen.
func (m *Model) checkRoom(l layout) int { return max(1, l.noteHeight-len(m.checkHead(l.noteWidth+1))) }

// checkHead counts, and says what is looked for.
func (m *Model) checkHead(width int) []string {
	k := m.ink
	counts := map[steps.Grade]int{}
	running := 0
	all := m.checks()
	for _, c := range all {
		state := m.book.Cells[c.ID]
		counts[state.Verdict.Grade]++
		if state.Running {
			running++
		}
	}
	var parts []string
	for _, g := range []steps.Grade{steps.Fail, steps.Inconclusive, steps.Warn, steps.Pass, steps.Skipped} {
		if n := counts[g]; n > 0 {
			parts = append(parts, cells.GradeStyle(k, g).Render(fmt.Sprintf("%s %d %s", cells.Mark(g), n, g)))
		}
	}
	if n := counts[steps.NotRun]; n > 0 {
		parts = append(parts, k.Dim.Render(fmt.Sprintf("%d not run", n)))
	}
	right := ""
	if running > 0 {
		right = k.Accent.Render(fmt.Sprintf("%s %d running ", m.spinner.View(), running))
	}
	if m.simulated() {
		right += k.Dim.Render("SIMULATED ")
	}
	left := " " + k.Focus.Render("Checklist") + "  " + strings.Join(parts, "  ")
	second, third := "", ""
	switch {
	case m.list.typing:
		second = k.Accent.Render("symptom: ") + theme.Tail(m.symptom(), max(1, width-14)) + k.Cursor.Render(" ")
	case m.list.why != "":
		second = fmt.Sprintf("what could explain %q (esc shows all)", theme.Clean(m.list.why))
		if m.list.whose == "" {
			second = fmt.Sprintf("how to confirm %q (D goes back to the page, esc shows all)", theme.Clean(m.list.why))
		}
		switch {
		case !m.fixable() || m.busy():
		case m.list.whose == "":
			second = fmt.Sprintf("f puts right what is selected: %q (D goes back to the page)", theme.Clean(m.list.why))
		default:
			second = fmt.Sprintf("f puts it right, and runs %q again (esc shows all)", theme.Clean(m.list.why))
		}
		second = k.Dim.Render(second)
	case m.drilling():
		// All of it: it is what one starts from.
		second = strings.Join(theme.Wrap(k.Accent.Render("Reported: ")+theme.Clean(m.opts.Drill.Report), width-2, "", "  "),
			"\n")
		third = k.Dim.Render(m.drillHint())
	case m.list.only != nil:
		second = k.Dim.Render("symptom: ") + theme.Tail(m.symptom(), max(1, width-30)) + k.Dim.Render(" (esc shows all)")
	default:
		second = k.Dim.Render("A checks everything; / finds checks by a symptom or a pasted error")
	}
	lines := []string{theme.Sides(ansi.Truncate(left, width, "…"), right, width)}
	for _, l := range append(strings.Split(second, "\n"), third) {
		lines = append(lines, theme.Pad(" "+ansi.Truncate(l, width-2, "…"), width))
	}
	return lines
}

// symptom is what is looked for, as one line.
func (m *Model) symptom() string { return theme.Clean(strings.Join(strings.Fields(m.list.words), " ")) }

// checkLines are all lines of the list, and where those of each check begin and end.
func (m *Model) checkLines(width int) (lines []string, starts, ends []int) {
	all := m.checks()
	if len(all) == 0 {
		return []string{theme.Pad("   "+m.ink.Warn.Render("No check knows that. ")+"esc shows all of them.",
			width)}, nil, nil
	}
	titles := 0
	for _, c := range all {
		titles = max(titles, len(c.Title))
	}
	part := ""
	for i, c := range all {
		if title := m.checkPart(c); m.list.only == nil && title != part {
			part = title
			if i > 0 {
				lines = append(lines, strings.Repeat(" ", width))
			}
			lines = append(lines, theme.Pad(" "+m.ink.Strong.Render(theme.Clean(part)), width))
		}
		starts = append(starts, len(lines))
		lines = append(lines, m.drawCheck(c, i == m.list.item, titles).Lines(m.ink, width)...)
		ends = append(ends, len(lines))
	}
	return lines, starts, ends
}

// measured heads the checks that run last.
const measured = "Measured, one after the other"

// checkPart is what a check's part is called. Those that measure stand together.
func (m *Model) checkPart(c steps.Cell) string {
	if c.Check.Measures {
		return measured
	}
	for _, p := range m.book.Tutorial.Checklist {
		if p.ID == c.Part {
			return p.Title
		}
	}
	return c.Part
}

// drawCheck shows a check with its fix, and how that went, as one thing.
func (m *Model) drawCheck(c steps.Cell, selected bool, titles int) cells.Check {
	state := m.book.Cells[c.ID]
	d := cells.Check{
		Cell:   cells.Cell{Cell: c, State: state, Names: m.ranOn(state), View: m.viewOf(c, selected, m.layout())},
		Titles: titles,
	}
	d.Evidence = m.evidence[c.ID] != tells(state.Verdict)
	if f, ok := m.book.Tutorial.Cell(c.Check.Cures(state.Verdict)); ok {
		fix := m.book.Cells[f.ID]
		d.Fix, d.FixState = f, fix
		if fix.Running {
			d.FixTime = m.opts.RigNow().Sub(fix.Started)
		}
	}
	return d
}

// shortEvidence is how much of it is shown by itself: more would push the other checks
// off the screen.
const shortEvidence = 8

// tells reports whether a verdict's evidence is shown unless the user hides it.
func tells(v steps.Verdict) bool { return amiss(v.Grade) && len(v.Evidence) <= shortEvidence }
