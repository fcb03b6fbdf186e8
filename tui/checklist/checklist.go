// Package checklist is the checks and what they found, as a layer: it stands in the notebook's place, a line for each
// check, and what it found below the one that is selected. Drills, which are solved there, are here, too. What a check
// looks at and how it is judged is not known here.
package checklist

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

// A List is where the user is in the checklist.
type List struct {
	*screen.Shared
	screen.Tabled
	notebook   Notebook
	openOutput func(steps.Cell) tea.Cmd
	form       *dialog.Form
	Drill      *Drill

	Item     int         // index into the checks that are shown
	top      int         // first line of the list
	Words    screen.Line // the symptom that is looked for
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

// A Notebook is what the checklist asks of the notebook.
type Notebook interface {
	// Selected is the cell whose verdict is to be explained.
	Selected() (steps.Cell, bool)
	// Show goes to a cell.
	Show(id string)
	// Enter comes back to where the user was.
	Enter()
}

// New opens outputs by a function, and the parameters of checks in a form.
func New(sh *screen.Shared, nb Notebook, openOutput func(steps.Cell) tea.Cmd, form *dialog.Form) *List {
	cl := &List{Shared: sh, notebook: nb, openOutput: openOutput, form: form}
	cl.Drill = &Drill{Shared: sh, list: cl, began: sh.Opts.Clock.Now()}
	return cl
}

// Checks are those that are shown, in the order of their parts.
func (cl *List) Checks() []steps.Cell {
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

// Check is the one that is selected.
func (cl *List) Check() (steps.Cell, bool) {
	all := cl.Checks()
	if cl.Item < len(all) {
		return all[cl.Item], true
	}
	return steps.Cell{}, false
}

// Open shows the checklist.
func (cl *List) Open() tea.Cmd {
	if len(cl.Book.Tutorial.Checks()) == 0 {
		return cl.Say("this tutorial has no checklist")
	}
	cl.Layers.Push(screen.Checklist)
	cl.Layers.Drop(screen.Output)
	cl.Follow = false
	return nil
}

func (cl *List) closeChecklist() tea.Cmd {
	cl.Layers.Drop(screen.Checklist, screen.Output)
	cl.notebook.Enter()
	return nil
}

// leaveChecklist is esc: first out of what was looked for, then out of the list.
func (cl *List) leaveChecklist() tea.Cmd {
	if cl.only == nil {
		return cl.closeChecklist()
	}
	selected, _ := cl.Check()
	cl.ShowAll()
	cl.Choose(selected.ID)
	return nil
}

// Choose selects a check.
func (cl *List) Choose(id string) {
	cl.Item = max(0, slices.IndexFunc(cl.Checks(), func(c steps.Cell) bool { return c.ID == id }))
}

// Explain opens the checks that could explain the selected cell's verdict, and runs
// them.
func (cl *List) Explain() tea.Cmd {
	c, ok := cl.notebook.Selected()
	state := cl.Book.Cells[c.ID]
	if !ok || !hasProblem(state.Verdict.Grade) {
		return cl.Say("it looks for what could explain a FAIL; C opens the checklist")
	}
	found := cl.Book.Tutorial.Explaining(c.ID, state.Verdict, said(state.Output))
	if len(found) == 0 {
		return cl.Say("no check is about this; C opens the checklist, and A checks everything")
	}
	cmd := cl.Open()
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	cl.showOnly(ids, c.Title, c.ID)
	return tea.Batch(cmd, cl.checkAll())
}

// Explainable reports whether w does something.
func (cl *List) Explainable() bool {
	c, ok := cl.notebook.Selected()
	return ok && hasProblem(cl.Book.Cells[c.ID].Verdict.Grade)
}

// fixable reports whether f does something.
func (cl *List) fixable() bool {
	c, ok := cl.Check()
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
func (cl *List) checkAll() tea.Cmd {
	var quick, measure []string
	for _, c := range cl.Checks() {
		if c.Check.Measures {
			measure = append(measure, c.ID)
		} else {
			quick = append(quick, c.ID)
		}
	}
	cl.checkingAll = true
	return cl.Start(append(quick, measure...)...)
}

// Prove runs checks that a page names.
func (cl *List) Prove(ids []string, why string) tea.Cmd {
	cmd := cl.Open()
	cl.Layers.Drop(screen.Docs)
	cl.showOnly(ids, why, "")
	return tea.Batch(cmd, cl.checkAll())
}

// runCheck runs one, and ends checkAll: after choosing a check the user must not be moved away from it.
func (cl *List) runCheck() tea.Cmd {
	c, ok := cl.Check()
	switch {
	case !ok:
		return nil
	case cl.Book.Cells[c.ID].Running:
		return cl.NoteRun(screen.IsRunning)
	}
	cl.checkingAll = false
	return cl.Start(c.ID)
}

// fix runs what puts the selected check's finding right, and then the check.
func (cl *List) fix() tea.Cmd {
	c, ok := cl.Check()
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

// Recheck runs the checks again that were run before a fix: what they found may be gone, or there only now. Those that
// move data run again where they found something. In a drill each check costs points, so none runs by itself.
func (cl *List) Recheck(e steps.CellEnded) tea.Cmd {
	if cl.fixing == "" || e.Cell != cl.fixing {
		return nil
	}
	cl.fixing = ""
	if g := e.Verdict.Grade; g == steps.Skipped || g == steps.Inconclusive || cl.Drill.Drilling() {
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

// FixRan goes back to the cell that a fix was for, once it has run again.
func (cl *List) FixRan(e steps.CellEnded) {
	if cl.fixed == "" || e.Cell != cl.fixed {
		return
	}
	cl.fixed = ""
	cl.LeaveList()
	cl.ShowAll()
	cl.notebook.Show(e.Cell)
	cl.Follow = true // its verdict is what one wants to see
	cl.Notice = "after the fix: " + e.Verdict.Grade.String()
}

// step is how far a check that is longer than the screen moves with one key.
const step = 3

// Next selects another check, or moves in one that is longer than the screen.
// By more than one it is a jump, and goes past a long one.
func (cl *List) Next(by int) tea.Cmd {
	cl.checkingAll = false
	if by == 1 || by == -1 {
		l := cl.Layout()
		_, starts, ends := cl.checkLines(l.NoteWidth)
		room := cl.checkRoom(l)
		if i := cl.Item; i < len(starts) && ends[i]-starts[i] > room {
			to := max(starts[i], min(cl.top+by*step, ends[i]-room))
			if to != cl.top {
				cl.top = to
				return nil
			}
		}
	}
	cl.Item = max(0, min(cl.Item+by, len(cl.Checks())-1))
	return nil
}

// nextFinding selects the next check that found something, from the top again after
// the last.
func (cl *List) nextFinding() tea.Cmd {
	cl.checkingAll = false
	all := cl.Checks()
	for i := range all {
		at := (cl.Item + 1 + i) % len(all)
		if hasProblem(cl.Book.Cells[all[at].ID].Verdict.Grade) {
			cl.Item = at
			return nil
		}
	}
	return cl.Say("no check that ran has found anything")
}

// CheckedAll selects the worst finding when the last check has ended.
func (cl *List) CheckedAll() {
	if !cl.checkingAll || cl.Busy() {
		return
	}
	cl.checkingAll = false
	if cl.only != nil {
		// The best explanation stands first.
		slices.SortStableFunc(cl.only, func(a, b string) int { return cl.tellsMore(b) - cl.tellsMore(a) })
		cl.Item, cl.top = 0, 0
		return
	}
	worst := steps.Pass
	for i, c := range cl.Checks() {
		if g := cl.Book.Cells[c.ID].Verdict.Grade; g > worst {
			worst, cl.Item = g, i
		}
	}
}

// tellsMore orders checks by how much they explain: certain faults, possible ones, unknown ones; those with a
// fix before those without.
func (cl *List) tellsMore(id string) int {
	c, _ := cl.Book.Tutorial.Cell(id)
	v := cl.Book.Cells[id].Verdict
	n := map[steps.Grade]int{steps.Fail: 6, steps.Warn: 4, steps.Inconclusive: 2}[v.Grade]
	if n > 0 && c.Check.Cures(v) != "" {
		n++
	}
	return n
}

func (cl *List) checkOutput() tea.Cmd {
	c, ok := cl.Check()
	if !ok {
		return nil
	}
	return cl.openOutput(c)
}

func (cl *List) checkEvidence() tea.Cmd {
	if c, ok := cl.Check(); ok {
		cl.Evidence[c.ID]++
	}
	return nil
}

func (cl *List) checkScript() tea.Cmd {
	if c, ok := cl.Check(); ok {
		cl.Scripts[c.ID] = !cl.Scripts[c.ID]
	}
	return nil
}

func (cl *List) typeSymptom() tea.Cmd {
	cl.Layers.Push(screen.Symptom)
	cl.checkingAll = false
	if !cl.Words.Begun {
		cl.Words = screen.NewLine(MaxSymptom)
	}
	return nil
}

// Key is a key while a symptom is typed.
func (cl *SymptomLine) Key(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		cl.Layers.Drop(screen.Symptom)
		cl.Words.Set("")
		cl.causes()
	case "ctrl+c":
		cl.Layers.Drop(screen.Symptom)
	case "enter":
		cl.Layers.Drop(screen.Symptom)
		if cl.Words.Text() != "" && len(cl.only) > 0 {
			return cl.checkAll()
		}
		if len(cl.only) == 0 {
			cl.Words.Set("")
			cl.causes()
		}
	default:
		if cl.Words.Key(msg) {
			cl.causes()
		}
	}
	return nil
}

// MaxSymptom bounds what a paste can bring, in characters.
const MaxSymptom = 64 << 10

// maxPasted bounds the text that is kept of a paste, in bytes.
const maxPasted = 2 << 20

// causes shows the checks that could explain the words.
func (cl *List) causes() {
	cl.pasted = ""
	cl.only, cl.why, cl.explains, cl.Item, cl.top = nil, "", "", 0, 0
	words := cl.Words.Text()
	if strings.TrimSpace(words) == "" {
		return
	}
	cl.only = []string{}
	for _, c := range cl.Book.Tutorial.Symptom(words) {
		cl.only = append(cl.only, c.ID)
	}
}

// ShowAll shows all checks again.
func (cl *List) ShowAll() {
	cl.Words.Set("")
	cl.only, cl.why, cl.explains = nil, "", ""
}

// showOnly shows some checks, and says why: what they could explain, and of which cell, if it is one.
func (cl *List) showOnly(ids []string, why, whose string) {
	cl.Words.Set("")
	cl.only, cl.why, cl.explains, cl.Item, cl.top = ids, why, whose, 0, 0
}

// Paste looks for what explains a pasted text. Each of its lines is a clause.
func (cl *List) Paste(text string) tea.Cmd {
	cl.typeSymptom()
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	if cl.Words.Paste(strings.Join(lines, "; ")) {
		cl.causes()
	}
	if len(lines) < 2 || cl.Opts.Explain == nil {
		return nil
	}
	cl.pasted = text[:min(len(text), maxPasted)]
	return cl.explainPasted()
}

// ExplainedMsg is what follows from a text, as a page.
type ExplainedMsg struct{ Text string }

// explainPasted has the text explained that was pasted, or the words that were typed; explained shows the answer.
func (cl *List) explainPasted() tea.Cmd {
	text, explain := cl.pasted, cl.Opts.Explain
	if text == "" {
		text = cl.Words.Text()
	}
	if strings.TrimSpace(text) == "" || explain == nil {
		return cl.Say("paste a log or the output of tools here, or type a symptom after /: then E explains it")
	}
	return func() tea.Msg { return ExplainedMsg{explain(text)} }
}

// Draw is the checklist, exactly height lines of width columns.
func (cl *List) Draw(width, height int) screen.Picture {
	head := cl.checkHead(width)
	room := max(1, height-len(head))
	list, starts, ends := cl.checkLines(width - 1)
	if n := len(starts); n > 0 {
		cl.Item = min(cl.Item, n-1)
		from, to := starts[cl.Item], ends[cl.Item]
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
func (cl *List) clickCheck(row int, l screen.Layout) {
	line := row - len(cl.checkHead(l.NoteWidth+1)) + cl.top
	_, starts, ends := cl.checkLines(l.NoteWidth)
	for i := range starts {
		if line >= starts[i] && line < ends[i] {
			cl.Item, cl.checkingAll = i, false
		}
	}
}

// checkRoom is how many lines of the list are seen.
func (cl *List) checkRoom(l screen.Layout) int {
	return max(1, l.NoteHeight-len(cl.checkHead(l.NoteWidth+1)))
}

// checkHead counts, and says what is looked for.
func (cl *List) checkHead(width int) []string {
	k := cl.Styles
	counts := map[steps.Grade]int{}
	running := 0
	all := cl.Checks()
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
func (cl *List) lookedFor(width int) (first, second string) {
	k := cl.Styles
	why := theme.Clean(cl.why)
	switch {
	case cl.Layers.Has(screen.Symptom):
		return k.Accent.Render("symptom: ") + cl.Words.View(k, theme.Style{}, max(2, width-13)), ""
	case cl.why != "" && cl.fixable() && !cl.Busy() && cl.explains == "":
		first = fmt.Sprintf("f fixes what is selected: %q (D goes back to the page)", why)
	case cl.why != "" && cl.fixable() && !cl.Busy():
		first = fmt.Sprintf("f fixes it, and runs %q again (esc shows all)", why)
	case cl.why != "" && cl.explains == "":
		first = fmt.Sprintf("how to confirm %q (D goes back to the page, esc shows all)", why)
	case cl.why != "":
		first = fmt.Sprintf("what could explain %q (esc shows all)", why)
	case cl.Drill.Drilling():
		// All of it: it is what one starts from.
		first = k.Accent.Render("Reported: ") + theme.Clean(cl.Opts.Drill.Report)
		return strings.Join(theme.Wrap(first, width-2, "", "  "), "\n"), k.Dim.Render(cl.Drill.drillHint())
	case cl.only != nil:
		return k.Dim.Render("symptom: ") + theme.Tail(cl.symptom(), max(1, width-30)) + k.Dim.Render(" (esc shows all)"), ""
	default:
		first = "A checks everything; / finds checks by a symptom or a pasted error"
	}
	return k.Dim.Render(first), ""
}

// symptom is what is looked for, as one line.
func (cl *List) symptom() string {
	return theme.Clean(strings.Join(strings.Fields(cl.Words.Text()), " "))
}

// checkLines are all lines of the list, and where those of each check begin and end.
func (cl *List) checkLines(width int) (lines []string, starts, ends []int) {
	all := cl.Checks()
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
		lines = append(lines, cl.drawCheck(c, i == cl.Item, titles).Lines(cl.Styles, width)...)
		ends = append(ends, len(lines))
	}
	return lines, starts, ends
}

// measured heads the checks that run last.
const measured = "Measured, one after the other"

// checkPart is what a check's part is called. Those that measure stand together.
func (cl *List) checkPart(c steps.Cell) string {
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
func (cl *List) drawCheck(c steps.Cell, selected bool, titles int) cells.Check {
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
func (cl *List) Click(_, row int) tea.Cmd {
	cl.Dirty, cl.Notice = true, ""
	cl.clickCheck(row, cl.Layout())
	return nil
}

// Wheel goes to the next check, or to the one before.
func (cl *List) Wheel(lines int) tea.Cmd { return cl.Next(lines / screen.WheelStep) }

// SymptomLine is the checklist while a symptom is typed for it.
type SymptomLine struct{ *List }

// openCheckForm opens the form of the selected check or, if that reads no parameter, of its fix.
func (cl *List) openCheckForm() tea.Cmd {
	c, ok := cl.Check()
	if !ok {
		return nil
	}
	if f, has := cl.Book.Tutorial.Cell(c.Check.Fix); has && !cl.form.ReadsAny(c) && cl.form.ReadsAny(f) {
		c = f
	}
	return cl.form.Open(c)
}

// Bind has the keys that work while the checklist is on the screen.
func (cl *List) Bind(c screen.Common) {
	on := screen.On
	cl.Keys = []screen.Chapter{
		{Title: "checklist", Bindings: []screen.Binding{
			on("A", "check everything, or all that is shown", "A").To(cl.checkAll).Runs().Brief(1, "A", "check all"),
			on("enter, space", "run the selected check", "enter", "space").To(cl.runCheck).Runs().Brief(3, "enter", "check"),
			on("f", "fix what it found, and check again: shown and asked first", "f").
				To(cl.fix).Runs().Brief(2, "f", "fix").Only(cl.fixable),
			on("p", "the parameters that the selected check or its fix reads", "p").To(cl.openCheckForm),
			on("h", "in a drill: a hint, which costs points", "h").
				To(cl.Drill.hint).Runs().Brief(1, "h", "hint").Only(cl.Drill.Drilling),
			on("n", "the next check that found something", "n").To(cl.nextFinding).Brief(5, "n", "next finding"),
			on("/", "find checks by a symptom: type it, or paste an error's text", "/").
				To(cl.typeSymptom).Brief(4, "/", "symptom"),
			on("E", "explain the text that was pasted, or the symptom: causes, fixes, what to do next", "E").
				To(cl.explainPasted).Brief(7, "E", "explain").Only(func() bool { return cl.Opts.Explain != nil }),
			on("↓, j", "next check", "down", "j").By(cl.Next, 1),
			on("↑, k", "previous check", "up", "k").By(cl.Next, -1),
			on("pgdn, ctrl+f", "ten checks on", "pgdown", "ctrl+f").By(cl.Next, 10),
			on("pgup, ctrl+b", "ten checks back", "pgup", "ctrl+b").By(cl.Next, -10),
			on("home", "the first check", "home").To(func() tea.Cmd { return cl.Next(-len(cl.Checks())) }),
			on("end, G", "the last check", "end", "G").To(func() tea.Cmd { return cl.Next(len(cl.Checks())) }),
			on("O, o", "open what the check's script printed", "O", "o").To(cl.checkOutput).Brief(8, "O", "output"),
			on("y", "copy what the check's script printed and its verdict, if the terminal allows it", "y").To(c.CopyOutput),
			on("Y", "copy its script, with the values that it would run with", "Y").To(c.CopyScript),
			on("|", "open its log in $PAGER", "|").To(c.OpenPager),
			on("e", "show what decided; again: all of the evidence, or none", "e").
				To(cl.checkEvidence).Brief(9, "e", "evidence"),
			on("S, s", "show or hide the script", "S", "s").To(cl.checkScript),
			on("i i", "interrupt what runs and empty the queue", "i").
				To(cl.InterruptTwice).Runs().Brief(0, "i i", "interrupt").Only(cl.Busy),
			on("esc", "all checks, where only some are shown, and else back to the notebook", "esc").
				To(cl.leaveChecklist).Brief(6, "esc", "back"),
			on("C", "back to the notebook", "C").To(cl.closeChecklist),
			on("g", "gauges on the whole screen; g g: the top", "g").To(c.ToggleGauges),
			on("0", "reset the gauges' peaks and averages", "0").To(cl.ResetPeaks),
		}},
		c.Everywhere,
	}
}
