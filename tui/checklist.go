package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/cells"
	"github.com/railbench/railbench/tui/dialog"
	"github.com/railbench/railbench/tui/screen"
	"github.com/railbench/railbench/tui/theme"
)

// The checklist stands in the notebook's place: a line for each check, and what it
// found below the one that is selected.

// checklist is where the user is in it.
type checklist struct {
	*screen.Shared
	screen.Tabled
	notebook *notebook
	output   *output
	form     *dialog.Form
	drill    *drill

	item     int         // index into the checks that are shown
	top      int         // first line of the list
	words    screen.Line // the symptom that is looked for
	pasted   string      // the text of several lines that it is from, as it was pasted; E explains it
	only     []string    // ids of the checks that could explain it; empty for all
	why      string      // the title of the cell whose verdict is to be explained; empty where none is
	explains string      // its id
	fixed    string      // the cell that runs again after a fix, and is shown then
	fixing   string      // the fix that was started last, until it has ended
	fixes    string      // the check that it is for
	// checkingAll says that many checks run and the user has not moved since: then the first finding is
	// selected at the end.
	checkingAll bool
}

// checks are those that are shown, in the order of their parts.
func (cl *checklist) checks() []steps.Cell {
	all := cl.Book.Tutorial.Checks()
	if cl.only == nil {
		return all
	}
	var some []steps.Cell
	for _, id := range cl.only {
		if c, ok := cl.Book.Tutorial.Cell(id); ok {
			some = append(some, c)
		}
	}
	return some
}

// check is the one that is selected.
func (cl *checklist) check() (steps.Cell, bool) {
	all := cl.checks()
	if cl.item < len(all) {
		return all[cl.item], true
	}
	return steps.Cell{}, false
}

func (cl *checklist) openChecklist() tea.Cmd {
	if len(cl.Book.Tutorial.Checks()) == 0 {
		cl.Notice = "this tutorial has no checklist"
		return nil
	}
	cl.Layers.Push(screen.Checklist)
	cl.Layers.Drop(screen.Output)
	cl.Follow = false
	return nil
}

func (cl *checklist) closeChecklist() tea.Cmd {
	cl.Layers.Drop(screen.Checklist, screen.Output)
	cl.notebook.enter()
	return nil
}

// leaveChecklist is esc: first out of what was looked for, then out of the list.
func (cl *checklist) leaveChecklist() tea.Cmd {
	if cl.only == nil {
		return cl.closeChecklist()
	}
	selected, _ := cl.check()
	cl.showAll()
	cl.chooseCheck(selected.ID)
	return nil
}

func (cl *checklist) chooseCheck(id string) {
	cl.item = max(0, slices.IndexFunc(cl.checks(), func(c steps.Cell) bool { return c.ID == id }))
}

// explain opens the checks that could explain the selected cell's verdict, and runs
// them.
func (cl *checklist) explain() tea.Cmd {
	c, ok := cl.notebook.selected()
	state := cl.Book.Cells[c.ID]
	if !ok || !hasProblem(state.Verdict.Grade) {
		cl.Notice = "it looks for what could explain a FAIL; C opens the checklist"
		return nil
	}
	found := cl.Book.Tutorial.Explaining(c.ID, state.Verdict, said(state.Output))
	if len(found) == 0 {
		cl.Notice = "no check is about this; C opens the checklist, and A checks everything"
		return nil
	}
	cmd := cl.openChecklist()
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	cl.showOnly(ids, c.Title, c.ID)
	return tea.Batch(cmd, cl.checkAll())
}

// explainable reports whether w does something.
func (cl *checklist) explainable() bool {
	c, ok := cl.notebook.selected()
	return ok && hasProblem(cl.Book.Cells[c.ID].Verdict.Grade)
}

// fixable reports whether f does something.
func (cl *checklist) fixable() bool {
	c, ok := cl.check()
	v := cl.Book.Cells[c.ID].Verdict
	return ok && c.Check.Cures(v) != "" && hasProblem(v.Grade)
}

// hasProblem reports whether a verdict has something to explain.
func hasProblem(g steps.Grade) bool {
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

// checkAll runs all checks that are shown: those that only look before those that
// measure.
func (cl *checklist) checkAll() tea.Cmd {
	var quick, measure []string
	for _, c := range cl.checks() {
		if c.Check.Measures {
			measure = append(measure, c.ID)
		} else {
			quick = append(quick, c.ID)
		}
	}
	cl.checkingAll = true
	return cl.Start(append(quick, measure...)...)
}

// prove runs checks that a page names.
func (cl *checklist) prove(ids []string, why string) tea.Cmd {
	cmd := cl.openChecklist()
	cl.Layers.Drop(screen.Docs)
	cl.showOnly(ids, why, "")
	return tea.Batch(cmd, cl.checkAll())
}

// runCheck runs one, and ends checkAll: after choosing a check the user must not be moved away from it.
func (cl *checklist) runCheck() tea.Cmd {
	c, ok := cl.check()
	switch {
	case !ok:
		return nil
	case cl.Book.Cells[c.ID].Running:
		cl.NoteRun(screen.IsRunning)
		return nil
	}
	cl.checkingAll = false
	return cl.Start(c.ID)
}

// fix runs what puts the selected check's finding right, and then the check.
func (cl *checklist) fix() tea.Cmd {
	c, ok := cl.check()
	if !ok {
		return nil
	}
	f, has := cl.Book.Tutorial.Cell(c.Check.Cures(cl.Book.Cells[c.ID].Verdict))
	switch grade := cl.Book.Cells[c.ID].Verdict.Grade; {
	case grade == steps.NotRun:
		cl.Notice = "enter runs the check first"
	case !hasProblem(grade):
		cl.Notice = "there is nothing to fix"
	case !has:
		cl.Notice = "no command fixes this: its reason says what to do"
	default:
		cl.checkingAll = false
		cl.fixing, cl.fixes = f.ID, c.ID
		ids := []string{f.ID, c.ID}
		if cl.explains != "" {
			cl.fixed = cl.explains
			ids = append(ids, cl.fixed)
		}
		return cl.Start(ids...)
	}
	return nil
}

// recheck runs the checks again that were run before a fix: what they found may be gone, or there only now. Those that
// move data run again where they found something. In a drill each check costs points, so none runs by itself.
func (cl *checklist) recheck(e steps.CellEnded) tea.Cmd {
	if cl.fixing == "" || e.Cell != cl.fixing {
		return nil
	}
	cl.fixing = ""
	if g := e.Verdict.Grade; g == steps.Skipped || g == steps.Inconclusive || cl.drill.drilling() {
		return nil // it changed nothing
	}
	var ids []string
	for _, c := range cl.Book.Tutorial.Checks() {
		g := cl.Book.Cells[c.ID].Verdict.Grade
		if c.ID != cl.fixes && g != steps.NotRun && (!c.Check.Measures || hasProblem(g)) {
			ids = append(ids, c.ID)
		}
	}
	if ids == nil {
		return nil
	}
	return cl.Start(ids...)
}

// fixRan goes back to the cell that a fix was for, once it has run again.
func (cl *checklist) fixRan(e steps.CellEnded) {
	if cl.fixed == "" || e.Cell != cl.fixed {
		return
	}
	cl.fixed = ""
	cl.LeaveList()
	cl.showAll()
	cl.notebook.show(e.Cell)
	cl.Follow = true // its verdict is what one wants to see
	cl.Notice = "after the fix: " + e.Verdict.Grade.String()
}

// step is how far a check that is longer than the screen moves with one key.
const step = 3

// nextCheck selects another check, or moves in one that is longer than the screen.
// By more than one it is a jump, and goes past a long one.
func (cl *checklist) nextCheck(by int) tea.Cmd {
	cl.checkingAll = false
	if by == 1 || by == -1 {
		l := cl.Layout()
		_, starts, ends := cl.checkLines(l.NoteWidth)
		room := cl.checkRoom(l)
		if i := cl.item; i < len(starts) && ends[i]-starts[i] > room {
			to := max(starts[i], min(cl.top+by*step, ends[i]-room))
			if to != cl.top {
				cl.top = to
				return nil
			}
		}
	}
	cl.item = max(0, min(cl.item+by, len(cl.checks())-1))
	return nil
}

// nextFinding selects the next check that found something, from the top again after
// the last.
func (cl *checklist) nextFinding() tea.Cmd {
	cl.checkingAll = false
	all := cl.checks()
	for i := range all {
		at := (cl.item + 1 + i) % len(all)
		if hasProblem(cl.Book.Cells[all[at].ID].Verdict.Grade) {
			cl.item = at
			return nil
		}
	}
	cl.Notice = "no check that ran has found anything"
	return nil
}

// checkedAll selects the worst finding when the last check has ended.
func (cl *checklist) checkedAll() {
	if !cl.checkingAll || cl.Busy() {
		return
	}
	cl.checkingAll = false
	if cl.only != nil {
		// The best explanation stands first.
		slices.SortStableFunc(cl.only, func(a, b string) int { return cl.tellsMore(b) - cl.tellsMore(a) })
		cl.item, cl.top = 0, 0
		return
	}
	worst := steps.Pass
	for i, c := range cl.checks() {
		if g := cl.Book.Cells[c.ID].Verdict.Grade; g > worst {
			worst, cl.item = g, i
		}
	}
}

// tellsMore orders checks by how much they explain: certain faults, possible ones, unknown ones; those with a
// fix before those without.
func (cl *checklist) tellsMore(id string) int {
	c, _ := cl.Book.Tutorial.Cell(id)
	v := cl.Book.Cells[id].Verdict
	n := map[steps.Grade]int{steps.Fail: 6, steps.Warn: 4, steps.Inconclusive: 2}[v.Grade]
	if n > 0 && c.Check.Cures(v) != "" {
		n++
	}
	return n
}

func (cl *checklist) checkOutput() tea.Cmd {
	c, ok := cl.check()
	if !ok {
		return nil
	}
	return cl.output.openOutputOf(c)
}

func (cl *checklist) checkEvidence() tea.Cmd {
	if c, ok := cl.check(); ok {
		cl.Evidence[c.ID]++
	}
	return nil
}

func (cl *checklist) checkScript() tea.Cmd {
	if c, ok := cl.check(); ok {
		cl.Scripts[c.ID] = !cl.Scripts[c.ID]
	}
	return nil
}

func (cl *checklist) typeSymptom() tea.Cmd {
	cl.Layers.Push(screen.Symptom)
	cl.checkingAll = false
	if !cl.words.Begun {
		cl.words = screen.NewLine(maxSymptom)
	}
	return nil
}

// Key is a key while a symptom is typed.
func (cl *symptomLine) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		cl.Layers.Drop(screen.Symptom)
		cl.words.Set("")
		cl.causes()
	case "ctrl+c":
		cl.Layers.Drop(screen.Symptom)
	case "enter":
		cl.Layers.Drop(screen.Symptom)
		if cl.words.Text() != "" && len(cl.only) > 0 {
			return cl.checkAll()
		}
		if len(cl.only) == 0 {
			cl.words.Set("")
			cl.causes()
		}
	default:
		if cl.words.Key(msg) {
			cl.causes()
		}
	}
	return nil
}

// maxSymptom bounds what a paste can bring, in characters.
const maxSymptom = 64 << 10

// maxPasted bounds the text that is kept of a paste, in bytes.
const maxPasted = 2 << 20

// causes shows the checks that could explain the words.
func (cl *checklist) causes() {
	cl.pasted = ""
	cl.only, cl.why, cl.explains, cl.item, cl.top = nil, "", "", 0, 0
	words := cl.words.Text()
	if strings.TrimSpace(words) == "" {
		return
	}
	cl.only = []string{}
	for _, c := range cl.Book.Tutorial.Symptom(words) {
		cl.only = append(cl.only, c.ID)
	}
}

// showAll shows all checks again.
func (cl *checklist) showAll() {
	cl.words.Set("")
	cl.only, cl.why, cl.explains = nil, "", ""
}

// showOnly shows some checks, and says why: what they could explain, and of which cell, if it is one.
func (cl *checklist) showOnly(ids []string, why, whose string) {
	cl.words.Set("")
	cl.only, cl.why, cl.explains, cl.item, cl.top = ids, why, whose, 0, 0
}

// Paste looks for what explains a pasted text. Each of its lines is a clause.
func (cl *checklist) Paste(text string) tea.Cmd {
	cl.typeSymptom()
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	if cl.words.Paste(strings.Join(lines, "; ")) {
		cl.causes()
	}
	if len(lines) < 2 || cl.Opts.Explain == nil {
		return nil
	}
	cl.pasted = text[:min(len(text), maxPasted)]
	return cl.explainPasted()
}

type explainedMsg struct{ text string }

// explainPasted has the text explained that was pasted, or the words that were typed; explained shows the answer.
func (cl *checklist) explainPasted() tea.Cmd {
	text, explain := cl.pasted, cl.Opts.Explain
	if text == "" {
		text = cl.words.Text()
	}
	if strings.TrimSpace(text) == "" || explain == nil {
		cl.Notice = "paste a log or the output of tools here, or type a symptom after /: then E explains it"
		return nil
	}
	return func() tea.Msg { return explainedMsg{explain(text)} }
}

// Draw is the checklist, exactly height lines of width columns.
func (cl *checklist) Draw(width, height int) screen.Picture {
	head := cl.checkHead(width)
	room := max(1, height-len(head))
	list, starts, ends := cl.checkLines(width - 1)
	if n := len(starts); n > 0 {
		cl.item = min(cl.item, n-1)
		from, to := starts[cl.item], ends[cl.item]
		if to-from > room {
			cl.top = max(from, min(cl.top, to-room))
		} else {
			cl.top = min(cl.top, max(from-1, 0)) // with the part's title above the first
			cl.top = max(cl.top, to-room)
		}
	}
	cl.top = max(0, min(cl.top, len(list)-room))
	bar := screen.ScrollBar(cl.Styles, cl.top, len(list), room)
	lines := head
	for i := range room {
		line := strings.Repeat(" ", width-1)
		if at := cl.top + i; at < len(list) {
			line = list[at]
		}
		lines = append(lines, line+bar[i])
	}
	return screen.Picture{Lines: lines[:min(len(lines), height)]}
}

// clickCheck selects the check whose line was clicked.
func (cl *checklist) clickCheck(row int, l screen.Layout) {
	line := row - len(cl.checkHead(l.NoteWidth+1)) + cl.top
	_, starts, ends := cl.checkLines(l.NoteWidth)
	for i := range starts {
		if line >= starts[i] && line < ends[i] {
			cl.item, cl.checkingAll = i, false
		}
	}
}

// checkRoom is how many lines of the list are seen.
func (cl *checklist) checkRoom(l screen.Layout) int {
	return max(1, l.NoteHeight-len(cl.checkHead(l.NoteWidth+1)))
}

// checkHead counts, and says what is looked for.
func (cl *checklist) checkHead(width int) []string {
	k := cl.Styles
	counts := map[steps.Grade]int{}
	running := 0
	all := cl.checks()
	for _, c := range all {
		state := cl.Book.Cells[c.ID]
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
		right = k.Accent.Render(fmt.Sprintf("%s %d running ", cl.Spinner.View(), running))
	}
	if cl.Simulated() {
		right += k.Dim.Render("SIMULATED ")
	}
	left := " " + k.Focus.Render("Checklist") + "  " + strings.Join(parts, "  ")
	second, third := cl.lookedFor(width)
	lines := []string{theme.Sides(ansi.Truncate(left, width, "…"), right, width)}
	for _, l := range append(strings.Split(second, "\n"), third) {
		lines = append(lines, theme.Pad(" "+ansi.Truncate(l, width-2, "…"), width))
	}
	return lines
}

// lookedFor says what is looked for, or what can be done; the second line is a drill's.
func (cl *checklist) lookedFor(width int) (first, second string) {
	k := cl.Styles
	why := theme.Clean(cl.why)
	switch {
	case cl.Layers.Has(screen.Symptom):
		return k.Accent.Render("symptom: ") + cl.words.View(k, theme.Style{}, max(2, width-13)), ""
	case cl.why != "" && cl.fixable() && !cl.Busy() && cl.explains == "":
		first = fmt.Sprintf("f fixes what is selected: %q (D goes back to the page)", why)
	case cl.why != "" && cl.fixable() && !cl.Busy():
		first = fmt.Sprintf("f fixes it, and runs %q again (esc shows all)", why)
	case cl.why != "" && cl.explains == "":
		first = fmt.Sprintf("how to confirm %q (D goes back to the page, esc shows all)", why)
	case cl.why != "":
		first = fmt.Sprintf("what could explain %q (esc shows all)", why)
	case cl.drill.drilling():
		// All of it: it is what one starts from.
		first = k.Accent.Render("Reported: ") + theme.Clean(cl.Opts.Drill.Report)
		return strings.Join(theme.Wrap(first, width-2, "", "  "), "\n"), k.Dim.Render(cl.drill.drillHint())
	case cl.only != nil:
		return k.Dim.Render("symptom: ") + theme.Tail(cl.symptom(), max(1, width-30)) + k.Dim.Render(" (esc shows all)"), ""
	default:
		first = "A checks everything; / finds checks by a symptom or a pasted error"
	}
	return k.Dim.Render(first), ""
}

// symptom is what is looked for, as one line.
func (cl *checklist) symptom() string {
	return theme.Clean(strings.Join(strings.Fields(cl.words.Text()), " "))
}

// checkLines are all lines of the list, and where those of each check begin and end.
func (cl *checklist) checkLines(width int) (lines []string, starts, ends []int) {
	all := cl.checks()
	if len(all) == 0 {
		return []string{theme.Pad("   "+cl.Styles.Warn.Render("No check knows that. ")+"esc shows all of them.",
			width)}, nil, nil
	}
	titles := 0
	for _, c := range all {
		titles = max(titles, len(c.Title))
	}
	part := ""
	for i, c := range all {
		if title := cl.checkPart(c); cl.only == nil && title != part {
			part = title
			if i > 0 {
				lines = append(lines, strings.Repeat(" ", width))
			}
			lines = append(lines, theme.Pad(" "+cl.Styles.Strong.Render(theme.Clean(part)), width))
		}
		starts = append(starts, len(lines))
		lines = append(lines, cl.drawCheck(c, i == cl.item, titles).Lines(cl.Styles, width)...)
		ends = append(ends, len(lines))
	}
	return lines, starts, ends
}

// measured heads the checks that run last.
const measured = "Measured, one after the other"

// checkPart is what a check's part is called. Those that measure stand together.
func (cl *checklist) checkPart(c steps.Cell) string {
	if c.Check.Measures {
		return measured
	}
	for _, p := range cl.Book.Tutorial.Checklist {
		if p.ID == c.Part {
			return p.Title
		}
	}
	return c.Part
}

// drawCheck shows a check with its fix, and how that went, as one thing.
func (cl *checklist) drawCheck(c steps.Cell, selected bool, titles int) cells.Check {
	state := cl.Book.Cells[c.ID]
	d := cells.Check{
		Cell:   cells.Cell{Cell: c, State: state, Names: cl.RanOn(state), View: cl.ViewOf(c, selected, cl.Layout())},
		Titles: titles,
	}
	if showsEvidence(state.Verdict) {
		d.Evidence = cells.EvidenceLevel(state, cells.Decided, cl.Evidence[c.ID])
	}
	if f, ok := cl.Book.Tutorial.Cell(c.Check.Cures(state.Verdict)); ok {
		fix := cl.Book.Cells[f.ID]
		d.Fix, d.FixState = f, fix
		for _, p := range cl.Opts.Params {
			if f.Reads(p) && !cl.form.ReadsAny(c) {
				d.FixReads = append(d.FixReads, p.Name)
			}
		}
		if fix.Running {
			d.FixTime = cl.Opts.Clock.Rig().Sub(fix.Started)
		}
	}
	return d
}

// shortEvidence is how much of it is shown by itself: more would push the other checks
// off the screen.
const shortEvidence = 8

// showsEvidence reports whether a verdict's evidence is shown unless the user hides it.
func showsEvidence(v steps.Verdict) bool {
	return hasProblem(v.Grade) && len(v.Evidence) <= shortEvidence
}

// Click selects the check that was clicked.
func (cl *checklist) Click(_, row int) tea.Cmd {
	cl.Dirty, cl.Notice = true, ""
	cl.clickCheck(row, cl.Layout())
	return nil
}

// Wheel goes to the next check, or to the one before.
func (cl *checklist) Wheel(lines int) tea.Cmd { return cl.nextCheck(lines / wheelStep) }

// symptomLine is the checklist while a symptom is typed for it.
type symptomLine struct{ *checklist }

// openCheckForm opens the form of the selected check or, if that reads no parameter, of its fix.
func (cl *checklist) openCheckForm() tea.Cmd {
	c, ok := cl.check()
	if !ok {
		return nil
	}
	if f, has := cl.Book.Tutorial.Cell(c.Check.Fix); has && !cl.form.ReadsAny(c) && cl.form.ReadsAny(f) {
		c = f
	}
	return cl.form.Open(c)
}
